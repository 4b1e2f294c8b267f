#!/bin/sh
# SPDX-License-Identifier: MIT
# Proves from the machine code what sr_slot.h promises: a record is published by
# exactly one 8-byte store, after every other store to the slot, that nothing
# else covers; and is looked for by exactly one 8-byte load. On aarch64 the
# store is stlr and the load ldar or ldapr.
#
# Each compiler at -O2 and -O3, with the machine's own instruction set and with
# wider ones; with the geometry known at run time and at compile time, where the
# compiler may merge the most. Bad variants must be refused, or the check is
# worth nothing.
#
# usage: tests/disasm.sh [directory for generated files; build/disasm]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-build/disasm}
mkdir -p "$out/stub" || exit 1
failed=0
number=0

say() { # say 0|1 text
	number=$((number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $number - $2"
	else
		echo "not ok $number - $2"
		failed=1
	fi
}

# Headers enough for sr_slot.h, so that no C library of the target is needed.
printf '#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t);\n' >"$out/stub/string.h"
printf '#define EAGAIN 11\n#define EPROTO 71\n' >"$out/stub/errno.h"
printf '#define CHAR_BIT __CHAR_BIT__\n' >"$out/stub/limits.h"
for bits in 8 16 32 64; do
	echo "typedef __UINT${bits}_TYPE__ uint${bits}_t;"
done >"$out/stub/stdint.h"

cat >"$out/probe.c" <<'EOF'
#include "sr_slot.h"

#define FIXED(base) { base, 0, 384 }

#ifdef BAD_WHOLE /* the word goes with the rest */
#define PUBLISH(s, word, record) memcpy(sr_slot_at(s, word), record, (s)->slot_bytes)
#elif defined(BAD_COVERED) /* one store for the word, but not the only one */
#define PUBLISH(s, word, record) \
	(memcpy(sr_slot_at(s, word), record, (s)->slot_bytes), \
	 sr_store_release((uint64_t *)(void *)sr_slot_at(s, word), word))
#elif defined(BAD_EARLY) /* the word first */
#define PUBLISH(s, word, record) \
	(sr_store_release((uint64_t *)(void *)sr_slot_at(s, word), word), \
	 memcpy(sr_slot_at(s, word) + 8, (record) + 8, (s)->slot_bytes - 8))
#elif defined(BAD_HALVES) /* two stores of four bytes */
#define PUBLISH(s, word, record) \
	(memcpy(sr_slot_at(s, word) + 64, (record) + 64, (s)->slot_bytes - 64), \
	 sr_store32_release((uint32_t *)(void *)sr_slot_at(s, word), (uint32_t)(word)), \
	 sr_store32_release((uint32_t *)(void *)(sr_slot_at(s, word) + 4), \
			    (uint32_t)((word) >> 32)))
#else
#define PUBLISH(s, word, record) sr_slot_publish(s, word, record)
#endif

void any_publish(const struct sr_slots *s, uint64_t word, const unsigned char *record);
void any_publish(const struct sr_slots *s, uint64_t word, const unsigned char *record)
{
	PUBLISH(s, word, record);
}

void fixed_publish(unsigned char *slot, uint64_t word, const unsigned char *record);
void fixed_publish(unsigned char *slot, uint64_t word, const unsigned char *record)
{
	const struct sr_slots s = FIXED(slot);

	PUBLISH(&s, word, record);
}

void small_publish(unsigned char *slot, uint64_t word, const unsigned char *record);
void small_publish(unsigned char *slot, uint64_t word, const unsigned char *record)
{
	const struct sr_slots s = { slot, 0, 128 };

	PUBLISH(&s, word, record);
}

int fixed_look(unsigned char *slot, uint64_t word);
int fixed_look(unsigned char *slot, uint64_t word)
{
	const struct sr_slots s = FIXED(slot);

	return sr_slot_look(&s, word);
}
EOF

# Reads a disassembly, says what is wrong with function `name`, or nothing.
# Anything that it does not understand is wrong.
cat >"$out/judge.awk" <<'EOF'
function number_of(text,   sign, value, i)
{
	sign = sub(/^-/, "", text) ? -1 : 1
	if (text !~ /^0x/)
		return sign * text
	value = 0
	for (i = 3; i <= length(text); i++)
		value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
	return sign * value
}

function wrong(text)
{
	if (!reason)
		reason = line == "" ? text : text " (" line ")"
}

# A store to `place`, `offset` bytes behind it.
function stores(place, offset, is_word)
{
	count++
	place_of[count] = place
	offset_of[count] = offset
	word_of[count] = is_word
	line_of[count] = line
	if (is_word)
		words++
}

function call()
{
	if (line !~ /memcpy|memmove/)
		wrong("calls something else")
	copies()
	for (r in from)
		delete from[r]
}

# Where a copy goes was the last thing put into its register: `behind`.
function copies()
{
	if (!behind)
		wrong("copies to the start of the slot")
	if (words)
		wrong("copies after the word")
	behind = 0
}

function x86(op, args,   memory, place, offset)
{
	if (op ~ /^(nop|cs|endbr64|ret|retq|push|pop|vzeroupper|data16|xchg|int3)/)
		return
	if (line ~ /^rep movs/) { # memcpy, in line
		copies()
		return
	}
	if (op ~ /^(rep|lock|xchg|cmpxchg|movnt|vmovnt|.*stos|.*movs[bwlq]$)/)
		wrong("not a plain store")
	if (line ~ /lea +0x4[0-8]\(.*\),%rdi/ || line ~ /(add +\$0x40|sub +\$0xffffffffffffffc0),%rdi/)
		behind = 1
	if (args !~ /\(/ || op ~ /^(lea|prefetch)/)
		return
	if (args ~ /\)$/ && op !~ /^(cmp|test)/) {
		memory = args
		sub(/^.*,[^(]*\(/, "(", memory)
		place = memory
		offset = args
		sub(/\([^(]*$/, "", offset)
		sub(/^.*,/, "", offset)
		if (place ~ /%rsp/)
			return
		offset = offset == "" ? 0 : number_of(offset)
		stores(place, offset, op ~ /^movq?$/ && offset == 0 &&
		       args ~ /^%r([a-ds][xip]|[ds]i|bp|[89]|1[0-5]),/)
	} else {
		loads++
		if (op !~ /^movq?$/ || args !~ /,%r([a-ds][xip]|[ds]i|bp|[89]|1[0-5])$/)
			odd_loads++
	}
}

function arm(op, args,   place, offset, part)
{
	if (op ~ /^(dmb|swp|cas|ldx|stx|ldadd)/)
		wrong("neither a plain nor an ordered access")
	if (op == "add" && args ~ /^x[0-9]+, x[0-9]+, #/) {
		split(args, part, /, #?/)
		from[part[1]] = part[2]
		plus[part[1]] = number_of(part[3])
		if (part[1] == "x0" && plus["x0"] == 64)
			behind = 1
		return
	}
	if (args !~ /\[/)
		return
	place = args
	sub(/^.*\[/, "", place)
	if (place ~ /^sp/)
		return
	if (op !~ /^st/) {
		loads++
		if (op !~ /^(ldar|ldapr)$/ || args !~ /^x/)
			odd_loads++
		return
	}
	if (place !~ /\]$/)
		wrong("a store that moves its base")
	sub(/\].*$/, "", place)
	offset = 0
	if (place ~ /, #/) {
		offset = place
		sub(/^.*, #/, "", offset)
		offset = number_of(offset)
		sub(/, #.*$/, "", place)
	}
	if (place in from) {
		offset += plus[place]
		place = from[place]
	}
	stores(place, offset, op == "stlr" && args ~ /^x/)
}

function finish()
{
	line = ""
	if (!seen)
		wrong("not found")
	if (kind == "look") {
		if (loads != 1 || odd_loads)
			wrong("not exactly one load of eight bytes, with acquire")
		if (count)
			wrong("it stores")
	} else {
		if (words != 1)
			wrong("the word is stored " words + 0 " times by one ordered store of 8 bytes")
		else if (!word_of[count])
			wrong("a store comes after the word: " line_of[count])
		for (i = 1; i < count; i++)
			if (place_of[i] != place_of[count] || offset_of[i] < 8)
				wrong("another store may cover the word: " line_of[i])
	}
	if (reason)
		print reason
}

# Instructions wait for the relocation that may follow them.
function flush(   op, args)
{
	line = held
	held = ""
	if (line == "")
		return
	sub(/^[ \t]*[0-9a-f]+:[ \t]*/, "", line)
	if (line ~ /R_(X86_64|AARCH64)/) {
		call()
		return
	}
	sub(/[ \t]*(#|\/\/) .*$/, "", line)
	gsub(/[ \t]+/, " ", line)
	op = line
	sub(/ .*$/, "", op)
	args = line
	sub(/^[^ ]* ?/, "", args)
	if (op ~ /^(call|callq|blr?)$/)
		wrong("calls something unknown")
	if (machine == "x86_64")
		x86(op, args)
	else
		arm(op, args)
}

/^[0-9a-f]+ <.*>:$/ {
	flush()
	inside = index($0, "<" name ">") > 0
	seen = seen || inside
	next
}

inside && /^[ \t]*[0-9a-f]+:/ {
	if ($0 ~ /R_(X86_64|AARCH64)/) { # where the instruction before it goes
		held = held " " $0
		next
	}
	flush()
	held = $0
}

END {
	flush()
	finish()
}
EOF

reader() { # reader MACHINE: a disassembler that knows it, or nothing
	if [ "$1" = "$(uname -m)" ]; then
		echo objdump
	else
		command -v "$1-linux-gnu-objdump" || command -v llvm-objdump
	fi
}

dump() { # dump MACHINE OBJECT
	"$(reader "$1")" -d -r --no-show-raw-insn "$2"
}

judge() { # judge MACHINE CC FLAGS...: what is wrong with the probe's code
	machine=$1
	cc=$2
	shift 2
	# shellcheck disable=SC2086 # a compiler with its target
	if ! $cc -std=c17 "$@" -I"$out/stub" -I"$root/ring/core" -c -o "$out/probe.o" \
		"$out/probe.c" 2>"$out/probe.log"; then
		echo "does not compile: $(head -n 1 "$out/probe.log")"
		return
	fi
	dump "$machine" "$out/probe.o" >"$out/probe.txt"
	for name in any_publish fixed_publish small_publish fixed_look; do
		found=$(awk -v name=$name -v kind=${name#*_} -v machine="$machine" \
			-f "$out/judge.awk" "$out/probe.txt")
		[ -z "$found" ] || echo "$name: $found"
	done
}

accept() { # accept MACHINE CC FLAGS...
	wrong=$(judge "$@")
	shift
	if [ -z "$wrong" ]; then
		say 0 "$*: published by one store, found by one load"
	else
		say 1 "$*"
		echo "$wrong" | sed 's/^/# /'
	fi
}

refuse() { # refuse FUNCTIONS MACHINE CC FLAGS...: each of the functions is found bad
	want=$1
	shift
	wrong=$(judge "$@")
	shift
	missed=
	for name in $want; do
		echo "$wrong" | grep -q "^$name:" || missed="$missed $name"
	done
	if [ -z "$missed" ]; then
		say 0 "$*: refused, as it must be"
	else
		say 1 "$*: not refused:$missed"
	fi
}

try() { # try CC: everything with this compiler
	cc=$1
	if ! command -v "${cc%% *}" >/dev/null; then
		echo "skip disasm $cc: not installed"
		return
	fi
	# shellcheck disable=SC2086
	machine=$($cc -dumpmachine | sed 's/-.*//')
	case $machine in
	x86_64) wide="-march=x86-64-v3" ;;
	aarch64) wide="-march=armv8.3-a+rcpc" ;;
	*)
		echo "skip disasm $cc: no rules for $machine"
		return
		;;
	esac
	if [ -z "$(reader "$machine")" ]; then
		echo "skip disasm $cc: no disassembler for $machine"
		return
	fi
	[ "$machine" != "$(uname -m)" ] || wide="$wide -march=native"
	for level in -O2 -O3; do
		accept "$machine" "$cc" $level
		for march in $wide; do
			accept "$machine" "$cc" $level "$march"
		done
	done
	all="any_publish fixed_publish small_publish"
	for bad in BAD_WHOLE BAD_COVERED BAD_EARLY BAD_HALVES; do
		refuse "$all" "$machine" "$cc" -O2 -D$bad
	done
	[ "$machine" != aarch64 ] ||
		refuse "$all" "$machine" "$cc" -O2 -DSR_MUTANT_RELAXED
}

try gcc
try clang
case $(uname -m) in
x86_64)
	try aarch64-linux-gnu-gcc
	try "clang --target=aarch64-linux-gnu"
	;;
esac
exit $failed
