#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks the model in ring.pml with spin: as designed, without an error; and each
# mutant, where spin must find one, or the model proves nothing.
#
# usage: tests/model/run.sh [directory for generated files; build/model]
# LONG=1 adds larger bounds (some minutes, up to 4 GB of memory).
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-build/model}
failed=0
number=0

for tool in spin gcc; do
	if ! command -v "$tool" >/dev/null; then
		echo "skip model: $tool is not installed"
		exit 77
	fi
done
mkdir -p "$out" || exit 1
out=$(cd "$out" && pwd)

say() { # say 0|1 text
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2"
		failed=1
	fi
}

# explore NAME MODE LEVEL BOUNDS...: mode is "safety" or "cycles"; LEVEL is what pays, of
# gcc's time and the checker's. Leaves NAME/result.
explore() {
	name=$1
	mode=$2
	level=$3
	shift 3
	defs=
	for bound; do
		defs="$defs -D$bound"
	done
	rm -rf "${out:?}/$name"
	mkdir -p "$out/$name"
	(
		cd "$out/$name" || exit 1
		flags=-DSAFETY
		args=
		if [ "$mode" = cycles ]; then
			flags=-DNP
			args=-l
		fi
		# shellcheck disable=SC2086 # lists of options
		spin -a $defs "$here/ring.pml" >spin.log 2>&1 &&
			gcc $level -w $flags -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c &&
			./pan -m100000 -n $args
	) >"$out/$name/result" 2>&1
}

count() { # count NAME WORDS: a figure of spin's report
	sed -n "s/^ *\([0-9.e+]*\) $2.*/\1/p" "$out/$1/result" | head -n 1
}

entire() { # the whole state space, and nothing found in it
	grep -q 'errors: 0$' "$out/$1/result" &&
		! grep -q -i -E 'too small|truncated|out of memory|not completed|memory limit' \
			"$out/$1/result"
}

good() { # good NAME MODE BOUNDS...
	name=$1
	mode=$2
	shift 2
	explore "$name" "$mode" -O2 "$@"
	if entire "$name"; then
		say 0 "$mode, all $(count "$name" 'states, stored') states: $*"
	else
		say 1 "$mode: $* (see $out/$name/result)"
		grep -E 'pan:|errors:|rror:' "$out/$name/result" | head -n 3 | sed 's/^/# /'
	fi
}

mutant() { # mutant NAME WHAT PATTERN BOUNDS...: the error must be the expected one
	name=$1
	what=$2
	pattern=$3
	shift 3
	explore "$name" safety -O1 "$name" "$@"
	error=$(grep -E '^pan:1: ' "$out/$name/result" | head -n 1)
	if echo "$error" | grep -q -F -- "$pattern"; then
		say 0 "$name: $what: found"
	else
		say 1 "$name: $what: not found"
		echo "# ${error:-no error}"
	fi
}

small="DEPTH=2 MODULO=8"
wide="DEPTH=4 MODULO=16"
none="LETGO=1 FAULTS=0 LOSSES=0 TIMEOUTS=0 EXPIRIES=0"
fault="LETGO=1 FAULTS=1 LOSSES=0 TIMEOUTS=0 EXPIRIES=0"

# shellcheck disable=SC2086 # lists of bounds
{
	good words safety $small N=10 LETGO=1 FAULTS=0 LOSSES=1 TIMEOUTS=1 EXPIRIES=1
	good wide safety $wide N=6 LETGO=1 FAULTS=0 LOSSES=1 TIMEOUTS=0 EXPIRIES=1
	good death safety $wide N=5 LETGO=0 FAULTS=1 LOSSES=0 TIMEOUTS=0 EXPIRIES=0
	good deaths safety $small N=4 LETGO=0 FAULTS=2 LOSSES=0 TIMEOUTS=0 EXPIRIES=0
	good loss safety $small N=4 LETGO=1 FAULTS=1 LOSSES=1 TIMEOUTS=0 EXPIRIES=0
	good deadlines safety $small N=4 LETGO=1 FAULTS=1 LOSSES=0 TIMEOUTS=1 EXPIRIES=1
	good progress cycles $small N=4 LETGO=1 FAULTS=1 LOSSES=1 TIMEOUTS=0 EXPIRIES=0
	if [ "${LONG:-0}" = 1 ]; then
		good long-all safety $small N=4 LETGO=1 FAULTS=1 LOSSES=1 TIMEOUTS=1 EXPIRIES=1
		good long-wide safety $wide N=6 LETGO=1 FAULTS=1 LOSSES=0 TIMEOUTS=0 EXPIRIES=0
		good long-faults safety $small N=3 LETGO=1 FAULTS=2 LOSSES=0 TIMEOUTS=0 EXPIRIES=0
		good long-progress cycles $small N=4 LETGO=1 FAULTS=1 LOSSES=1 TIMEOUTS=1 EXPIRIES=1
	fi

	mutant MUTANT_CREDIT "one submit too many in flight" \
		"==answered" $small N=4 $none
	mutant MUTANT_UNKNOWN "a time-out returns the credit" \
		"==answered" $small N=4 LETGO=1 FAULTS=0 LOSSES=0 TIMEOUTS=1 EXPIRIES=0
	mutant MUTANT_RELEASE "a word may be seen before its record" \
		"==answered" $small N=3 $none
	mutant MUTANT_ACQUIRE "the record is loaded before the word" \
		"a==sent" $small N=3 $none
	mutant MUTANT_PARK "the next agent is told a number that still moves" \
		"assertion violated 0" $small N=4 $fault
	mutant MUTANT_PEEK "a parked session still pops from the old region" \
		"assertion violated 0" $small N=4 $fault
	mutant MUTANT_CACHE "the signer keeps no replies" \
		"was_signed" $small N=3 $fault
	mutant MUTANT_EXPIRE "an agent calls EXPIRED what may have been forwarded" \
		"was_signed" $small N=3 LETGO=1 FAULTS=1 LOSSES=0 TIMEOUTS=0 EXPIRIES=1
	mutant MUTANT_EPOCH "the signer listens to an agent that was replaced" \
		">=signer_next" $small N=4 $fault
}
exit $failed
