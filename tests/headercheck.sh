#!/bin/sh
# SPDX-License-Identifier: MIT
#
# headercheck.sh - every header compiles alone, within its layer.
#
# Each header is compiled as a file that includes it twice and nothing else, with
# the include path of its layer (the same as the Makefile's: what it must not
# include is not found), as C17 by gcc; `make tsan` shows them to clang, in whatever
# includes them. The public ones - sigring.h, sigring_order.h and whatever they
# include - also as strict C11 by gcc and clang, and as C++17 by g++ and clang++. So
# are the examples, which are what an integrator begins with.
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

# compile COMPILERS FLAGS... FILE...: each file by itself, by each of the compilers that are installed,
# as many at once as there are CPUs. A compiler names the file in whatever it says of it.
compile()
{
	compilers=$1
	shift
	for compiler in $compilers; do
		case " $have " in
		*" $compiler "*) ;;
		*) continue ;;
		esac
		xargs -P "$(nproc)" -n 4 "$compiler" -fsyntax-only $WARN "$@" <"$work/files" || echo "$compiler failed"
	done >"$work/errors" 2>&1
}

# verdicts AS: a line for each file; `not ok` where a compiler said anything of it.
verdicts()
{
	blamed=0
	while read -r file; do
		name=${file#"$work"/}
		if grep -qF "$file:" "$work/errors"; then
			echo "not ok ${name%.alone.c} $1"
			blamed=1
		else
			echo "ok ${name%.alone.c} $1"
		fi
	done <"$work/files"
	[ -s "$work/errors" ] || return
	[ $blamed -eq 1 ] || echo "not ok compilation $1"
	sed 's/^/    /' "$work/errors"
	failed=1
}

# alone HEADER...: files that include one twice. The declaration is for headers that
# have only macros: a file without any is no C.
alone()
{
	for header; do
		[ -e "$header" ] || continue
		mkdir -p "$work/${header%/*}"
		printf '#include "%s"\n#include "%s"\nextern int alone;\n' "${header##*/}" "${header##*/}" \
			>"$work/$header.alone.c"
		echo "$work/$header.alone.c"
	done >"$work/files"
}

# layer DIRECTORY FLAGS...
layer()
{
	directory=$1
	shift
	alone "$directory"/*.h
	compile gcc -x c -std=c17 $C_ONLY -D_GNU_SOURCE "$@"
	verdicts "as C17"
}

layer ring/core $CORE
layer ring/session $SESSION
layer ring/order $ORDER
layer ring/client $CLIENT
layer ring/line $LINE
layer signer $ORDER -Isigner
layer host_agent $CORE -Ihost_agent
layer enclave_shim $SHIM
# Some of these are parts of one program, cut off for its length: it uses all of them.
layer bench $SHIM -Ibench -Itests -Wno-unused-function
layer tests $SHIM -Ibench -Itests

# What they pull in, as the preprocessor sees it.
public=$(${CC:-cc} -std=c11 -MM $CLIENT ring/client/sigring.h ring/client/sigring_order.h | tr ' \\' '\n\n' | grep '\.h$' |
	sort -u)
if [ "$(echo "$public" | wc -l)" -lt 2 ]; then
	echo "not ok list of the headers behind sigring.h and sigring_order.h"
	failed=1
fi
alone $public
ls docs/examples/*.c >>"$work/files"
compile "gcc clang" -x c -std=c11 $C_ONLY $CLIENT
verdicts "as C11"
compile "g++ clang++" -x c++ -std=c++17 $CLIENT
verdicts "as C++17"

# Each of them is installed, or an engine does not compile elsewhere.
installed=$(sed -n '/^PUBLIC_HEADERS :=/,/[^\\]$/p' Makefile)
missing=$(for header in $public; do
	echo "$installed" | grep -q "[ ,/]${header##*/}" || echo "    $header is not in PUBLIC_HEADERS"
done)
if [ -n "$missing" ]; then
	echo "not ok public headers are installed"
	echo "$missing"
	failed=1
else
	echo "ok public headers are installed"
fi
exit $failed
