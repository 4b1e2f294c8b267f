#!/bin/sh
# SPDX-License-Identifier: MIT
#
# headercheck.sh - every header compiles alone, within its layer.
#
# Each header is compiled as a file that includes it twice and nothing else, with
# the include path of its layer (the same as the Makefile's: what it must not
# include is not found), as C17 by gcc and clang. The public ones - sigring.h,
# sigring_order.h and whatever they include - also as strict C11, and as C++17 by g++ and clang++. So is
# the examples, which are what an integrator begins with.
#
# Prints `ok` or `not ok` for each header, for tests/run.sh.
set -u
cd "$(dirname "$0")/.." || exit 1

WARN="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
C_ONLY="-Wstrict-prototypes -Wmissing-prototypes"
CORE="-Iring/core"
SESSION="$CORE -Iring/session"
ORDER="$SESSION -Iring/order"
CLIENT="$ORDER -Iring/client"
LINE="$ORDER -Iring/line"
SHIM="$CLIENT -Iring/line -Isigner -Ihost_agent -Ienclave_shim"

less= # warnings that a layer does without
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

have=
for tool in gcc clang g++ clang++; do
	if command -v "$tool" >/dev/null; then
		have="$have $tool"
	else
		echo "skip headers with $tool: it is not installed"
	fi
done

# compile COMPILER FLAGS...: keeps what it says. Nothing when it is not installed.
compile()
{
	case " $have " in
	*" $1 "*) ;;
	*) return 0 ;;
	esac
	"$@" -fsyntax-only $WARN $less >>"$work/errors" 2>&1 || echo "$1 failed" >>"$work/errors"
}

# verdict NAME: `ok` when no compilation of it said anything.
verdict()
{
	if [ -s "$work/errors" ]; then
		echo "not ok $1"
		sed 's/^/    /' "$work/errors"
		failed=$((failed + 1))
	else
		echo "ok $1"
	fi
	: >"$work/errors"
}

# alone HEADER: a file that includes it twice. The declaration is for headers that
# have only macros: a file without any is no C.
alone()
{
	printf '#include "%s"\n#include "%s"\nextern int alone;\n' "${1##*/}" "${1##*/}" \
		>"$work/alone.c"
}

# layer DIRECTORY FLAGS...
layer()
{
	directory=$1
	shift
	for header in "$directory"/*.h; do
		[ -e "$header" ] || continue
		alone "$header"
		for compiler in gcc clang; do
			compile "$compiler" -x c -std=c17 $C_ONLY -D_GNU_SOURCE "$@" "$work/alone.c" &
		done
		wait
		verdict "$header as C17"
	done
}

: >"$work/errors"
layer ring/core $CORE
layer ring/session $SESSION
layer ring/order $ORDER
layer ring/client $CLIENT
layer ring/line $LINE
layer signer $ORDER -Isigner
layer host_agent $CORE -Ihost_agent
layer enclave_shim $SHIM
# Some of these are parts of one program, cut off for its length: it uses all of them.
less=-Wno-unused-function
layer bench $SHIM -Ibench -Itests
less=
layer tests $SHIM -Ibench -Itests

# both NAME FILE: as strict C11 and as C++17.
both()
{
	for compiler in gcc clang; do
		compile "$compiler" -x c -std=c11 $C_ONLY $CLIENT "$2" &
	done
	wait
	verdict "$1 as C11"
	for compiler in g++ clang++; do
		compile "$compiler" -x c++ -std=c++17 $CLIENT "$2" &
	done
	wait
	verdict "$1 as C++17"
}

# What they pull in, as the preprocessor sees it.
public=$(${CC:-cc} -std=c11 -MM $CLIENT ring/client/sigring.h ring/client/sigring_order.h | tr ' \\' '\n\n' | grep '\.h$' |
	sort -u)
if [ "$(echo "$public" | wc -l)" -lt 2 ]; then
	echo "not ok list of the headers behind sigring.h and sigring_order.h"
	failed=$((failed + 1))
fi
for header in $public; do
	alone "$header"
	both "$header" "$work/alone.c"
done
for example in examples/*.c; do
	both "$example" "$example"
done
# Each of them is installed, or an engine does not compile elsewhere.
installed=$(sed -n '/^PUBLIC_HEADERS :=/,/[^\\]$/p' Makefile)
echo "$public" | while read -r header; do
	echo "$installed" | grep -q "[ ,/]$(basename "$header")" || echo "$header is not in PUBLIC_HEADERS"
done >"$work/errors"
verdict "public headers are installed"

[ "$failed" -eq 0 ]
