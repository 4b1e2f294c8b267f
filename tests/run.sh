#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs test programs, one after another or N at once, and counts their checks.
#
#   tests/run.sh [-o LOGDIR] [-a] [-j N] NAME=COMMAND...
#
# A command prints a line `ok ...`, `not ok ...` or `skip ...` for each check (or
# Criterion's TAP, which does the same). Exit code 77 means that it was skipped as a
# whole. A command that fails without saying so, hangs, or checks nothing counts
# as one failure. Its output goes to LOGDIR/NAME.log and is shown when it failed.
# With -a the sums are added to LOGDIR/total and nothing is printed at the end.
set -u
logs=build/logs
append=0
jobs=1
while getopts o:aj: opt; do
	case $opt in
	o) logs=$OPTARG ;;
	a) append=1 ;;
	j) jobs=$OPTARG ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
mkdir -p "$logs"

# Prints what is to be said of one item, and its counts on the last line.
run()
{
	local name=${1%%=*} begin=$SECONDS log code ok bad skip
	log=$logs/${name//\//-}.log
	# Loops that yield can keep the kernel's own threads off both CPUs for many
	# seconds, and then nothing that waits for them (an exit, say) gets on.
	nice -n 10 timeout -k 10 "${TEST_TIMEOUT:-900}" bash -c "${1#*=}" </dev/null >"$log" 2>&1
	code=$?
	ok=$(grep -acE '^ok( |$)' "$log")
	skip=$(grep -acE '^(skip |ok .*# (SKIP|skip))' "$log")
	bad=$(grep -acE '^not ok( |$)' "$log")
	ok=$((ok - $(grep -acE '^ok .*# (SKIP|skip)' "$log")))
	if [ $code -eq 77 ]; then
		skip=$((skip + 1))
	elif [ $code -ne 0 ] && [ "$bad" -eq 0 ]; then
		bad=1
		echo "exit code $code" >>"$log"
	elif [ $((ok + bad + skip)) -eq 0 ]; then
		bad=1
		echo "it checked nothing" >>"$log"
	fi
	printf '%-34s %4d passed, %d failed, %d skipped  (%d s)\n' \
		"$name" "$ok" "$bad" "$skip" $((SECONDS - begin))
	grep -aE '^(skip |ok .*# (SKIP|skip))' "$log" | sed 's/^/    /'
	if [ "$bad" -gt 0 ]; then
		grep -aE '^not ok' "$log" | head -20 | sed 's/^/    /'
		echo "    --- the end of $log:"
		tail -n 40 "$log" | sed 's/^/    /'
	fi
	echo "$ok $bad $skip"
}

# Waits for whichever item ends first; prints what was said of it, adds up its counts.
collect()
{
	wait -n -p pid
	sed '$d' "$said/$pid"
	read -r ok bad skip < <(tail -n 1 "$said/$pid")
	passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + skip))
	running=$((running - 1))
}

said=$(mktemp -d) || exit 1
trap 'rm -rf "$said"' EXIT
passed=0 failed=0 skipped=0 running=0
for item; do
	[ $running -lt "$jobs" ] || collect
	{ run "$item" >"$said/$BASHPID"; } &
	running=$((running + 1))
done
while [ $running -gt 0 ]; do
	collect
done
if [ $append -eq 1 ]; then
	echo "$passed $failed $skipped" >>"$logs/total"
else
	echo "$passed passed, $failed failed, $skipped skipped"
fi
[ $failed -eq 0 ]
