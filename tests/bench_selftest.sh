#!/bin/sh
# SPDX-License-Identifier: MIT
#
# bench_selftest.sh - do the benchmarks measure what they say?
#
#	tests/bench_selftest.sh [BUILD]
#
# Each benchmark checks itself with --selftest: percentiles against their definition,
# a ratio over another run's process refused, and a delay put into one row that must
# show in that row and in no other. Here: that it passes, that the same is so from
# outside, on the figures that are printed, and what is said when it cannot run.
#
# Prints `ok`, `not ok` or `skip` for each check, for tests/run.sh.
set -u
cd "$(dirname "$0")/.." || exit 1
B=${1:-build}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

# check NAME PROBLEM: an empty problem is a pass.
check()
{
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		echo "not ok $1"
		echo "$2" | sed 's/^/    /' | head -n 20
		failed=1
	fi
}

# field FILE ROW: a row's median in whole nanoseconds, out of one line of JSON.
field()
{
	sed -n "s/.*\"$2\":{\"unit\":\"[^\"]*\",\"median\":\([0-9]*\).*/\1/p" "$1"
}

programs="bench_ring bench_local bench_agent"

for p in $programs; do
	"$B/bench/$p" --help >"$work/help" 2>&1
	check "$p --help names each option" "$(for o in rounds json gates keep-disturbed delay \
		selftest; do grep -q -- "^  --$o" "$work/help" || echo "--$o is missing"; done)"
	"$B/bench/$p" --rounds 0 >"$work/out" 2>&1
	check "$p refuses a number of rounds that makes no sense" \
		"$([ $? -eq 2 ] && grep -q 'rounds must be' "$work/out" || cat "$work/out")"
	if command -v taskset >/dev/null; then
		first=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
		taskset -c "$first" "$B/bench/$p" --rounds 1 >"$work/out" 2>&1
		code=$?
		check "$p says that it cannot pin to one CPU" \
			"$([ $code -ne 0 ] && grep -q 'cannot pin' "$work/out" ||
				{ echo "exit code $code"; cat "$work/out"; })"
	else
		echo "skip $p on one CPU: taskset is not installed"
	fi
done

if [ "$(nproc)" -lt 2 ]; then
	echo "skip the benchmarks' self-tests: they need two CPUs"
	exit $failed
fi

for p in $programs; do
	timeout 300 "$B/bench/$p" --selftest >"$work/out" 2>&1
	code=$?
	check "$p passes its self-test" "$([ $code -eq 0 ] || cat "$work/out")"
done

# A tenth of a millisecond shows; the other rows stay far below it. One try may meet a
# busy machine, three will not.
for pair in bench_ring:ring_256:ring_384 bench_local:local:bare bench_agent:direct:bare; do
	p=${pair%%:*}
	row=${pair#*:}
	other=${row#*:}
	row=${row%:*}
	problem="not run"
	for try in 1 2 3; do
		timeout 300 "$B/bench/$p" --rounds 1 --keep-disturbed --json \
			--delay "$row:100000" >"$work/json" 2>"$work/err"
		with=$(field "$work/json" "$row")
		without=$(field "$work/json" "$other")
		problem=
		[ "${with:-0}" -ge 100000 ] || problem="$row shows ${with:-nothing} ns"
		[ "${without:-999999}" -lt 80000 ] || problem="$other shows ${without:-nothing} ns"
		[ -n "$problem" ] || break
	done
	check "$p prints a delay in the row that has it" "$problem${problem:+
$(cat "$work/err")}"
done
exit $failed
