#!/bin/sh
# SPDX-License-Identifier: MIT
#
# readme.sh - what is written about the programs agrees with the programs.
#
# Runs the C of README.md and the examples against a sigring-local with keys of its
# own, in a temporary directory; then compares man pages, configuration
# files and docs/operations.md with --help, the symbol map and the sources.
# BUILD names the build directory, default build. Prints `ok`, `not ok` or `skip`
# for each check, for tests/run.sh.
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
CC=${CC:-cc}
MAN=docs/man
failed=0

work=$(mktemp -d) || exit 1
signer=
finish()
{
	[ -z "$signer" ] || kill "$signer" 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

# check NAME OFFENDERS: ok when there are none.
check()
{
	if [ -z "$2" ]; then
		echo "ok $1"
	else
		echo "not ok $1"
		echo "$2" | sed 's/^/    /'
		failed=$((failed + 1))
	fi
}

# ---- the code that integrators copy ----

FLAGS="-std=c11 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
INCLUDE="-Iring/core -Iring/session -Iring/order -Iring/client"
LINK="$BUILD/libsigring.a -lcbor -lcrypto -lnuma -lpthread"

sed -n '/^<!-- tests\/readme.sh/,/^<!-- readme.sh: end/p' README.md |
	sed -n '/^```c$/,/^```$/p' | sed '/^```/d' >"$work/snippet.c"
lines=$(wc -l <"$work/snippet.c")
check "README.md shows ten lines of C or less, and some" \
	"$([ "$lines" -gt 0 ] && [ "$lines" -le 10 ] || echo "there are $lines")"
check "the C of README.md compiles" \
	"$($CC $FLAGS $INCLUDE "$work/snippet.c" $LINK -o "$work/snippet" 2>&1)"
for example in engine hyperliquid; do
	check "docs/examples/$example.c compiles" \
		"$($CC $FLAGS $INCLUDE docs/examples/$example.c $LINK -o "$work/$example" 2>&1)"
done

mkdir -m 700 "$work/keys"
"$BUILD/sigringctl" key new --id 1 --permit ecdsa-sha256,ecdsa-keccak256 \
	--out "$work/keys/1.key" >"$work/key" 2>&1 || cat "$work/key"
"$BUILD/sigringctl" key new --id 2 --permit ecdsa-sha256 \
	--out "$work/keys/2.key" >"$work/key" 2>&1 || cat "$work/key"
# An operator, a trader, and what the one lets the other do: README's first steps.
"$BUILD/sigringctl" operator new --out "$work/operator" >"$work/operators" 2>"$work/key"
trader=$("$BUILD/sigringctl" identity new --out "$work/identity" 2>>"$work/key")
cat >"$work/manifest" <<END
{ "sigring_manifest": 1, "version": 1,
  "identities": [ { "name": "engine", "public_key": "$trader" } ],
  "keys": [
$(sed -n '/^    { "id": 1,/,/^      } },/p' docs/examples/manifest-development.json |
	sed 's/^    { "id": 1,.*/    { "id": 2,/; /^      "nonce":/d; s/"developer"/"engine"/')
    { "id": 1, "permit": [ "ecdsa-sha256", "ecdsa-keccak256" ], "identities": [ "engine" ] } ] }
END
"$BUILD/sigringctl" manifest sign --operator "$work/operator" "$work/manifest" >>"$work/key" 2>&1 ||
	cat "$work/key"

# start OPTION...: a sigring-local, until it answers.
start()
{
	rm -f "$work/agent.sock"
	"$BUILD/sigring-local" --socket "$work/agent.sock" --keys "$work/keys" --no-huge-pages "$@" \
		>"$work/log" 2>&1 &
	signer=$!
	tries=0
	while [ ! -S "$work/agent.sock" ] && [ $tries -lt 100 ]; do
		sleep 0.05
		tries=$((tries + 1))
	done
}
export SIGRING_SOCKET="$work/agent.sock" SIGRING_IDENTITY="$work/identity" SIGRING_TRUST="$work/trust"

if "$BUILD/sigring-local" --help 2>&1 | grep -q -- --trust-out; then
	start --operators "$work/operators" --operators-needed 1 --manifest "$work/manifest" \
		--trust-out "$work/trust"
	# A signature of zeros is what a completion without one holds.
	timeout 20 "$work/snippet" >"$work/out" 2>&1
	check "the C of README.md prints a signature" \
		"$(grep -qxE '[0-9a-f]{128}' "$work/out" && ! grep -qxE '0{128}' "$work/out" ||
			cat "$work/out" "$work/log")"
	timeout 20 "$work/engine" 5 >"$work/out" 2>&1
	check "docs/examples/engine.c has five orders signed" \
		"$([ "$(grep -cE '^order [0-4]: OK [0-9a-f]{128} recovery id [0-3]$' "$work/out")" -eq 5 ] ||
			cat "$work/out")"
	# What a start forgets denies, for some seconds.
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		timeout 20 "$work/hyperliquid" 5 2 >"$work/out" 2>"$work/err"
		[ "$(wc -l <"$work/out")" -lt 5 ] || break
		sleep 1
	done
	check "docs/examples/hyperliquid.c has five quotes to post" "$(
		hex='"0x[0-9a-f]{64}"'
		for price in 60000 60001 60002 60003 60004; do
			id=$(printf '%02x' $((price - 60000)))
			grep -qxE "\{\"action\":\{\"type\":\"order\",\"orders\":\[\{\"a\":0,\"b\":true,\
\"p\":\"$price\",\"s\":\"0.001\",\"r\":false,\"t\":\{\"limit\":\{\"tif\":\"Alo\"\}\},\
\"c\":\"0x${id}0{30}\"\}\],\"grouping\":\"na\"\},\"nonce\":[0-9]{13},\
\"signature\":\{\"r\":$hex,\"s\":$hex,\"v\":2[78]\},\"vaultAddress\":null,\"expiresAfter\":null\}" \
				"$work/out" || { echo "no quote at $price:"; cat "$work/out" "$work/err"; }
		done)"
	kill "$signer" 2>/dev/null
	wait "$signer"
	signer=
else
	echo "skip the C of README.md: this sigring-local takes no sealed sessions"
	echo "skip examples: this sigring-local takes no sealed sessions"
fi
start
check "sigring-local says in its first line that records are UNSEALED" \
	"$(head -n 1 "$work/log" | grep -q UNSEALED || head -n 1 "$work/log")"
kill "$signer" 2>/dev/null
wait "$signer"
signer=

# ---- man pages ----

for page in "$MAN"/*.[1358]; do
	if grep -q '^\.so ' "$page"; then
		target=$(sed -n 's/^\.so man[1-8]\///p' "$page")
		check "$page points at a page" "$([ -e "$MAN/$target" ] || echo "at $target")"
	elif command -v mandoc >/dev/null; then
		check "$page passes mandoc's lint" "$(mandoc -T lint -W warning "$page" 2>&1)"
	else
		echo "skip lint of $page: mandoc is not installed"
	fi
done

symbols=$(sed -n '/global:/,/local:/s/^[ \t]*\([a-z0-9_]*\);.*/\1/p' ring/client/libsigring.map)
check "each function of libsigring has a man page" \
	"$(for name in $symbols; do
		[ -e "$MAN/$name.3" ] || echo "$name"
	done)"
check "and its page names it" \
	"$(for name in $symbols; do
		page="$MAN/$name.3"
		[ -e "$page" ] || continue
		target=$(sed -n 's/^\.so man[1-8]\///p' "$page")
		[ -z "$target" ] || page="$MAN/$target"
		grep -qE "^\.(Nm|Fo|Fn) $name" "$page" || echo "$name is not in $page"
	done)"

# options PROGRAM...: the names of the long options that its help shows.
options()
{
	"$@" --help 2>&1 | grep -oE -- '--[a-z][a-z-]*' | sed 's/^--//' | sort -u
}

# lacks PAGE NAME...: the options that a page does not describe.
lacks()
{
	page=$1
	shift
	for name in "$@"; do
		grep -qE "(Fl -|Ic |\\\\-\\\\-)$name( |\$)" "$page" 2>/dev/null ||
			echo "$name is not in $page"
	done
}

for pair in sigring-agent:8 sigring-enclave:8 sigring-local:8 sigring-signer:8 sigring-replay:1; do
	program=${pair%:*}
	names=$(options "$BUILD/$program")
	check "each option of $program is in its man page" \
		"$(if [ -z "$names" ]; then echo "it has none"; fi
		lacks "$MAN/$program.${pair#*:}" $names)"
	[ "$program" != sigring-replay ] || continue
	check "each option of $program is in sigring.conf(5)" \
		"$(lacks "$MAN/sigring.conf.5" $(echo "$names" |
			grep -vxE 'check|config|help|version|system-calls'))"
done
check "each option of sigringctl is in its man page" \
	"$(lacks "$MAN/sigringctl.1" $(options "$BUILD/sigringctl" key) \
		$(options "$BUILD/sigringctl" status))"
check "each option of sigring-tune is in its man page" \
	"$(lacks "$MAN/sigring-tune.8" $(for c in check apply revert c2c jitter; do
		options "$BUILD/sigring-tune" $c
	done))"

# ---- configuration files ----

# Lines `#name value` are options that are not set: they have to be right as well,
# and where --help names a default, it is that.
for pair in agent:host_agent signer:enclave_shim local:enclave_shim; do
	program=sigring-${pair%:*}
	file=${pair#*:}/$program.conf
	"$BUILD/$program" --config "$file" --check >"$work/out" 2>&1
	check "$file is accepted" \
		"$(grep -qE '^[0-9]+ failed, [0-9]+ warned$' "$work/out" || cat "$work/out")"
	sed 's/^#\([a-z]\)/\1/' "$file" >"$work/all.conf"
	"$BUILD/$program" --config "$work/all.conf" --check >"$work/out" 2>&1
	check "$file is accepted with every line in force" \
		"$(grep -qE '^[0-9]+ failed, [0-9]+ warned$' "$work/out" || cat "$work/out")"
	"$BUILD/$program" --help |
		sed -n 's/^  --\([a-z-]*\) [^ ]* .*(\([^ )]*\))$/\1 \2/p' >"$work/defaults"
	check "$file shows the defaults of --help" \
		"$(while read -r name value; do
			grep -qxE "#?$name $value" "$file" || echo "$name $value"
		done <"$work/defaults")"
	check "$file has each option" \
		"$(for name in $(options "$BUILD/$program" |
			grep -vxE 'check|config|help|version'); do
			grep -qE "^#?$name( |\$)" "$file" || echo "$name"
		done)"
done

# ---- docs/operations.md ----

OPS=docs/operations.md

# enumerators FILE NAME: of `enum NAME`, without the prefix in $3.
enumerators()
{
	sed -n "/^enum $2 {/,/^};/s/^\t$3\([A-Z0-9_]*\) = .*/\1/p" "$1"
}

check "each status of a completion is in $OPS" \
	"$(names=$(enumerators ring/core/sr_record.h sr_status SR_)
	if [ -z "$names" ]; then echo "none was found"; fi
	for name in $names; do
		grep -q "^| \`$name\`" "$OPS" || echo "$name"
	done)"
check "each policy code is in $OPS" \
	"$(names=$(enumerators ring/session/sr_message.h sr_policy SR_POLICY_ | grep -vx NONE)
	if [ -z "$names" ]; then echo "none was found"; fi
	for name in $names; do
		grep -q "^| \`$name\`" "$OPS" || echo "$name"
	done)"
check "each field of the status is in $OPS" \
	"$(names=$(sed -n 's/^\t\t{ "\([a-z_]*\)", &[cn]->.*/\1/p' host_agent/sr_agent_status.c)
	if [ -z "$names" ]; then echo "none was found"; fi
	for name in $names; do
		grep -q "^| \`$name\`" "$OPS" || echo "$name"
	done)"
# ---- lessons ----

LESSONS=tests/vectors/lessons.txt
check "each lesson of $LESSONS has its test" \
	"$(sed -n 's/^\t\([a-z]*\/[a-z0-9_]*\.c\) \([a-z0-9_/]*\)$/\1 \2/p' $LESSONS |
		while read -r file name; do
			case $file in
			tests/test_*) line="^Test(${name%%/*}, ${name#*/}[,)]" ;;
			tests/mp_*) line="ROW($name)" ;;
			*) line="\"$name\"" ;;
			esac
			grep -q "$line" "$file" || echo "$file has no $name"
		done
	[ "$(grep -c '^	[a-z]*/[a-z0-9_]*\.c ' $LESSONS)" -eq "$(grep -c '^[^#	]' $LESSONS)" ] ||
		echo "not every report has a test")"
BUGS=../shared/vectors/BUGS.txt
if [ -e $BUGS ]; then
	check "each report of $BUGS is among them" \
		"$(sed -n 's,^https://\(github\.com/\)\{0\,1\}\([^ ]*\).*,\2,p' $BUGS |
			while read -r report; do
				grep -qxF "$report" $LESSONS || echo "$report"
			done)"
else
	echo "skip reports that $LESSONS lacks: the collection is not here"
fi

check "each page and file that the docs name is there" \
	"$(grep -ohE '`(docs|tests|bench|ring|signer|host_agent|enclave_shim)/[a-zA-Z0-9_./-]*`' \
		README.md CONTRIBUTING.md docs/*.md | tr -d '`' | sort -u |
		while read -r path; do
			[ -e "$path" ] || echo "$path"
		done)"

[ "$failed" -eq 0 ]
