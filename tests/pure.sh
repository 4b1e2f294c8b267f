#!/bin/sh
# SPDX-License-Identifier: MIT
#
# pure.sh - no allocation, lock, system call or floating point in decode, policy and digest.
#
# Reads the machine code of what an order goes through in the signer before it is signed:
# typed orders, policy, Keccak. tests/mp_pure.c runs the same where the kernel forbids calls.
# BUILD names the build directory, default build. Each check is shown something bad first,
# or it is worth nothing. Prints `ok`, `not ok` or `skip`, for tests/run.sh.
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
failed=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

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

sources="$(ls ring/order/*.c) ring/session/sr_keccak.c ring/session/sr_hash.c signer/sr_policy.c
	signer/sr_policy_judge.c"
objects=
for source in $sources; do
	object=$BUILD/${source%.c}.o
	[ -e "$object" ] || { echo "not ok $object is not there: run make first"; exit 1; }
	objects="$objects $object"
done

# ---- calls ----

# calls OBJECT...: `function callee` for each call that leaves an object.
calls()
{
	objdump -dr --no-show-raw-insn "$@" | awk '
		/^[0-9a-f]+ <.*>:$/ { name = $2; gsub(/[<>:]/, "", name); sub(/\.(cold|part|isra|constprop).*/, "", name) }
		/R_X86_64_(PLT32|GOTPCRELX?|REX_GOTPCRELX|PC32)|R_AARCH64_(CALL26|JUMP26)/ {
			callee = $3; sub(/[-+]0x[0-9a-f]+$/, "", callee); print name, callee }' | sort -u
}

# Of the C library only what touches the memory that it is given.
memory='mem(cpy|move|set|cmp|chr)|bcmp|str(len|n?cmp|chr|str|n?cpy|c?spn)|__(memcpy|memset)_chk'
compiler='__stack_chk_fail|__u(div|mod|divmod)ti[34]|__cpu_(model|indicator_init)|\..*'
sha256='SHA256_(Init|Update|Final)'
# What makes and frees them, off the hot path.
makers='(sr_order_env_new|sr_order_env_delete|sr_hasher_new|sr_hasher_delete|sr_policy_book_new|sr_policy_book_delete) (calloc|malloc|free)'
# impure OBJECT...: calls of what is none of these, nor ours.
impure()
{
	ours=$(nm --defined-only "$BUILD"/ring/order/*.o "$BUILD"/ring/session/*.o \
		"$BUILD"/signer/*.o 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u)
	calls "$@" | grep -vxE "$makers" | grep -vE " ($memory|$compiler|$sha256)$" |
		while read -r name callee; do
			echo "$ours" | grep -qxF "$callee" || echo "$name calls $callee"
		done
}

if command -v objdump >/dev/null; then
	cat >"$work/bad.c" <<-'END'
		#include <pthread.h>
		#include <stdlib.h>
		#include <time.h>
		void *bad_memory(void) { return malloc(8); }
		int bad_lock(pthread_mutex_t *m) { return pthread_mutex_lock(m); }
		long bad_call(void) { return time(NULL); }
		double bad_product(double a, double b) { return a * b; }
		int bad_float(float a) { return a > 1; }
		long bad_atomic(long *a) { return __atomic_fetch_add(a, 1, __ATOMIC_SEQ_CST); }
	END
	${CC:-cc} -O2 -fPIC -c -o "$work/bad.o" "$work/bad.c"
	check "a call of malloc, of a lock and of the clock would be seen" \
		"$([ "$(impure "$work/bad.o" | wc -l)" -eq 3 ] || impure "$work/bad.o")"
	check "decode, policy and digest call memory, SHA-256 and themselves" "$(impure $objects)"
else
	echo "skip calls: objdump is not installed"
fi

# ---- floating point and locks ----

# float OBJECT...: instructions that calculate with it. Moves and logic of the same registers
# are how compilers copy memory.
float()
{
	objdump -d --no-show-raw-insn "$@" | awk -F'\t' '
		/^[0-9a-f]+ <.*>:$/ { name = $0 }
		$2 ~ /^v?((add|sub|mul|div|sqrt|min|max|rcp|rsqrt|hadd|hsub|round|fn?m(add|sub)[0-9]*|u?comi|cmp[a-z]*)[sp][sd]|cvt[a-z0-9]*)( |$)/ ||
		$2 ~ /^f[a-z0-9]+( |$)/ { print name, $2 }'
}
locked()
{
	objdump -d --no-show-raw-insn "$@" | awk -F'\t' '
		/^[0-9a-f]+ <.*>:$/ { name = $0 }
		$2 ~ /^lock / || $2 ~ /^xchg .*\(/ || $2 ~ /^(syscall|int)( |$)/ { print name, $2 }'
}

if command -v objdump >/dev/null && [ "$(uname -m)" = x86_64 ]; then
	check "a product and a comparison of floating point would be seen" \
		"$([ "$(float "$work/bad.o" | cut -d'<' -f2 | sort -u | wc -l)" -eq 2 ] ||
			float "$work/bad.o")"
	check "a locked instruction would be seen" \
		"$([ "$(locked "$work/bad.o" | wc -l)" -eq 1 ] || locked "$work/bad.o")"
	check "no instruction of theirs calculates with floating point" "$(float $objects)"
	check "none is locked, or enters the kernel" "$(locked $objects)"
else
	echo "skip floating point and locks: this looks at x86-64 code"
fi

# The compiler refuses the type itself where it has no registers for it.
general()
{
	for source in "$@"; do
		gcc -std=c17 -D_GNU_SOURCE -O1 -mgeneral-regs-only -Iring/core -Iring/session \
			-Iring/order -Isigner -S -o /dev/null "$source" 2>&1 | grep -E 'error' | head -n 2
	done
}
if command -v gcc >/dev/null && gcc -dumpmachine | grep -q x86_64; then
	check "a double would not compile" \
		"$([ "$(general "$work/bad.c")" ] || echo "it did")"
	check "all of it compiles without registers for floating point" \
		"$(general $(echo "$sources" | tr ' ' '\n' | grep -v '_avx512\.c$'))"
else
	echo "skip compilation without floating point: this is gcc's for x86-64"
fi
exit $failed
