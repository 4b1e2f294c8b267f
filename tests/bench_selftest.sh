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
here=$PWD
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

programs="bench_ring bench_local bench_order bench_agent bench_sign bench_session bench_scale bench_cancel \
	bench_flood"

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

for p in $programs bench_dudect bench_load; do
	timeout 300 "$B/bench/$p" --selftest >"$work/out" 2>&1
	code=$?
	check "$p passes its self-test" "$([ $code -eq 0 ] || cat "$work/out")"
done
peers=$([ ! -e "$B/bench/peers.so" ] || echo --peers) # where bench/peers/build.sh has built them
timeout 600 "$B/bench/bench_ring" --all $peers --selftest >"$work/out" 2>&1
code=$?
check "bench_ring --all${peers:+ $peers} passes its self-test" "$([ $code -eq 0 ] || cat "$work/out")"

# A tenth of a millisecond shows; the other rows stay far below it. One try may meet a
# busy machine, three will not.
for pair in bench_ring:ring_256:ring_384 bench_local:presigned:bare bench_agent:direct:bare \
	bench_order:sealed_order:digest_1 bench_order:digest_dydx:decode_1 bench_sign:finish_checked:presigned bench_session:seal_384:open_384; do
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

# ---- bench_load: who owes an answer is found, and says so with the exit code ----

for args in "--rate 0" "--depth 3" "--kill nobody@1" "--kill client@" "--kill agent@1" "--stop signer@1" \
	"--stop client@1:5" "--cpu 0" "--kill signer@1 ramp" slow "fixed fixed" "--interval 1 --seconds 86400"; do
	"$B/bench/bench_load" $args >"$work/out" 2>"$work/err"
	code=$?
	check "bench_load refuses $args" "$([ $code -eq 2 ] && [ -s "$work/err" ] ||
		{ echo "exit code $code"; cat "$work/out" "$work/err"; })"
done
timeout 300 "$B/bench/bench_load" --seconds 1 --rate 200 --drain-ms 1 --stop signer@0.5:2000 --json \
	>"$work/json" 2>"$work/err"
code=$?
check "bench_load exits 1 when orders are not answered" "$([ $code -eq 1 ] &&
	grep -q '"unanswered":[1-9]' "$work/json" || { echo "exit code $code"; cat "$work/json" "$work/err"; })"
timeout 300 "$B/bench/bench_load" --seconds 1 --rate 200 --sessions 2 --json storm >"$work/load" 2>"$work/err"
code=$?
check "bench_load exits 0 when all are" "$([ $code -eq 0 ] && grep -q '"unanswered":0' "$work/load" ||
	{ echo "exit code $code"; cat "$work/load" "$work/err"; })"

# ---- which build it was: not what lies in the folder by now ----

(cd / && timeout 300 "$here/$B/bench/bench_scale" --rounds 1 --keep-disturbed) >"$work/out" 2>"$work/err"
for file in out load; do
	check "the commit of the build is in the head, $file" "$(grep -qE \
		"^commit $(cat "$B/commit"), [0-9-]+ [0-9:]+ UTC; mitigated:|\"commit\":\"$(cat "$B/commit")\",\"date\"" \
		"$work/$file" || cat "$work/$file" "$work/err")"
done
timeout 300 "$B/bench/bench_load" --seconds 1 --rate 500 --target-us 1 --drain-ms 60000 --keep-disturbed ramp >"$work/out" 2>"$work/err"
code=$?
check "bench_load says that no rate held, and takes two samples to say so" "$([ $code -eq 0 ] &&
	grep -q '^capacity: less than 500 ' "$work/out" && grep -q '^2 samples, ' "$work/out" &&
	[ "$(grep -c 'does not hold' "$work/out")" -eq 2 ] ||
	{ echo "exit code $code"; cat "$work/out" "$work/err"; })"

# ---- bench_sign: its samples are what it prints, and what the figures are drawn from ----

# json FILE: nothing when it is one JSON document; its problem otherwise.
json()
{
	python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$1" 2>&1 | tail -n 1
}

# ranked FILE KEY SHARE: nearest rank of a column of the samples, in nanoseconds.
ranked()
{
	awk -v key="$2" '/^#/ { next }
		!at { for (i = 1; i <= NF; i++) if ($i == key) at = i; next }
		$at != "-" { print $at }' "$1" | sort -n |
		awk -v share="$3" '{ v[NR] = $1 }
			END { r = int(NR * share); if (r < NR * share) r++; print v[r] }'
}

timeout 300 "$B/bench/bench_sign" --samples-count 300 --keep-disturbed --json \
	--samples "$work/samples" >"$work/json" 2>"$work/err"
check "bench_sign takes as many samples as it is told" "$(
	lines=$(($(wc -l <"$work/samples") - 2))
	[ "$lines" -eq 300 ] || echo "$lines lines"; cat "$work/err")"
for row in bare finish_checked keccak256; do
	problem=
	for pair in p25:0.25 p50:0.5 p90:0.9; do
		name=${pair%%:*}_ns
		printed=$(sed -n \
			"s/.*\"$row\":{\"count\":300,[^}]*\"$name\":\([0-9]*\).*/\1/p" \
			"$work/json")
		own=$(ranked "$work/samples" "$row" "${pair#*:}")
		[ "${printed:-none}" = "$own" ] || problem="$problem $name: $printed, not $own;"
	done
	check "bench_sign prints the percentiles of the samples of $row" "$problem"
	check "bench_sign tells no percentile of $row that is one sample's" "$(
		grep -q "\"$row\":{\"count\":300,[^}]*\"p99_ns\":null,\"p99.9_ns\":null" "$work/json" ||
			cat "$work/json")"
done
timeout 300 "$B/bench/bench_dudect" --samples 20000 --json >"$work/dudect" 2>"$work/err"
check "bench_dudect finds the leak of its control" "$([ $? -eq 0 ] || cat "$work/err")"
if command -v python3 >/dev/null; then
	check "bench_sign --json is one document" "$(json "$work/json")"
	check "bench_load --json is one document" "$(json "$work/load")"
	check "bench_dudect --json is one document" "$(json "$work/dudect")"
else
	echo "skip bench_sign --json as a document: python3 is not installed"
fi
for args in "--samples-count 0" "--samples" "--samples-count 1x" surplus; do
	"$B/bench/bench_sign" $args >"$work/out" 2>"$work/err"
	code=$?
	check "bench_sign refuses $args" "$([ $code -eq 2 ] && [ -s "$work/err" ] &&
		[ ! -s "$work/out" ] || cat "$work/out" "$work/err")"
done
if command -v gnuplot >/dev/null; then
	bench/sign_figures.sh "$work/samples" "$work/figures" >"$work/out" 2>&1
	check "sign_figures.sh draws three figures" "$(
		for f in figure1 figure1_fine figure2; do
			grep -q '</svg>' "$work/figures/$f.svg" 2>/dev/null || echo "no $f.svg"
		done; grep -v '\.svg$' "$work/out")"
	check "sign_figures.sh says when, where and of which commit" "$(sed -n '1s/^# [^;]*; //p' "$work/samples" >"$work/head"
		grep -qE '; commit [^;]+; [0-9-]+ [0-9:]+ UTC$' "$work/head" || cat "$work/head"
		grep -qF "$(cat "$work/head")" "$work/figures/figure1.svg" || echo "figure1.svg does not say: $(cat "$work/head")")"
else
	echo "skip sign_figures.sh: gnuplot is not installed"
fi

# ---- exp01: its parts add up, and its files are what the figures are drawn from ----

timeout 300 "$B/bench/exp01" --selftest >"$work/out" 2>&1
check "exp01 passes its self-test" "$([ $? -eq 0 ] || cat "$work/out")"
for args in "--samples 999" "--wait block" "--signer nowhere" "--signer unix:/x" "--key 2 --trust x" \
	surplus; do
	timeout 20 "$B/bench/exp01" $args >"$work/out" 2>"$work/err"
	code=$?
	check "exp01 refuses $args" "$([ $code -eq 2 ] && [ -s "$work/err" ] &&
		[ ! -s "$work/out" ] || { echo "exit code $code"; cat "$work/out" "$work/err"; })"
done
timeout 300 "$B/bench/exp01" --samples 1000 --rate 5000 --segment 1024 --json --out "$work/exp01" \
	>"$work/json" 2>"$work/err"
check "exp01 makes a short run" "$([ $? -eq 0 ] || cat "$work/err")"
for row in untraced burst flat_64 slow_1 rate_16 paced; do
	file=$work/exp01/samples-$row.tsv.gz
	orders=$(sed -n "s/.*\"row\":\"$row\",.*\"orders\":\([0-9]*\),.*/\1/p" "$work/json")
	problem=
	lines=$(($(gzip -cd "$file" 2>/dev/null | wc -l) - 2))
	[ "$lines" -eq "${orders:-0}" ] || problem="$lines samples of ${orders:-no} orders"
	printed=$(sed -n "s/.*\"row\":\"$row\",.*\"round_trip_ns\":{[^}]*\"p75\":\([0-9]*\).*/\1/p" \
		"$work/json")
	gzip -cd "$file" >"$work/samples" 2>/dev/null
	own=$(ranked "$work/samples" round_trip 0.75)
	[ "${printed:-none}" = "$own" ] || problem="$problem p75: $printed, not $own"
	[ "$orders" -ge 100000 ] || grep -q "\"row\":\"$row\",.*\"round_trip_ns\":{[^}]*\"p99_99\":null" "$work/json" ||
		problem="$problem p99.99 of $orders orders is told"
	# Every stage of an order, and the sum of them.
	problem="$problem$(awk '/^#/ { next } !head { head = 1; next } NF == 2 { next }
		{ sum = 0; for (i = 3; i <= NF; i++) sum += $i }
		sum - $1 > 12 || $1 - sum > 12 { print " stages add up to", sum, "not", $1; exit }' \
		"$work/samples")"
	check "exp01 keeps each order of $row, whose stages add up" "$problem"
done
if command -v python3 >/dev/null; then
	check "exp01 --json is one document" "$(json "$work/json")"
	check "exp01's summary is one document" "$(json "$work/exp01/summary.json")"
else
	echo "skip exp01 --json as a document: python3 is not installed"
fi
if command -v gnuplot >/dev/null; then
	bench/exp01_figures.sh "$work/exp01" >"$work/out" 2>&1
	check "exp01_figures.sh draws four figures" "$(
		for n in 1 2 3 4; do
			grep -q '</svg>' "$work/exp01/figure$n.svg" 2>/dev/null || echo "no figure$n.svg"
			grep -q 'no enclave' "$work/exp01/figure$n.svg" 2>/dev/null ||
				echo "figure$n.svg does not say that there was no enclave"
			[ -s "$work/exp01/figure$n.png" ] || echo "no figure$n.png"
		done; grep -v '^/.*\.[sp][vn]g$' "$work/out")"
	check "exp01_figures.sh names the pool of each row" "$(for n in 1 2; do
		grep -q 'flat out, pool filled before: ' "$work/exp01/figure$n.svg" || echo "no flat row in figure$n"
		grep -q 'paced, pool refilled meanwhile' "$work/exp01/figure$n.svg" || echo "no paced row in figure$n"
	done)"
	# As of a signer elsewhere: a dry row, and a round trip beyond what the latency page has.
	sed -i 's/^dry_burst.*/dry_burst\t12/; s/^pool_burst.*/pool_burst\tpool refilled meanwhile/; s/^enclave.*/enclave\t1/' \
		"$work/exp01/figures/facts.tsv"
	sed -i 's/^1\t[0-9.]*/1\t8888.8/' "$work/exp01/figures/tails-paced.tsv"
	bench/exp01_figures.sh "$work/exp01" >"$work/out" 2>&1
	check "exp01_figures.sh leaves a dry row out, and says so" "$(for n in 1 2 3 4; do
		grep -q 'no row flat out: its pool was dry 12 times' "$work/exp01/figure$n.svg" || echo "figure$n.svg does not say so"
		grep -qE 'flat out(,|<)' "$work/exp01/figure$n.svg" && echo "figure$n.svg has it"
	done; grep -v '^/.*\.[sp][vn]g$' "$work/out")"
	check "exp01_figures.sh has room for a long round trip" \
		"$(grep -q '> *8000<' "$work/exp01/figure3.svg" || echo 'its axis ends before 8888.8 us')"
else
	echo "skip exp01_figures.sh: gnuplot is not installed"
fi

# ---- exp01 and a signer that runs already: at its address, and behind a hypervisor's proxy ----

cat >"$work/proxy.py" <<'END'
import re, select, socket, sys, threading

path = sys.argv[1]

def serve(host):
    line = b""
    while not line.endswith(b"\n"):
        line += host.recv(1)
    guest = socket.socket(socket.AF_UNIX)
    guest.connect("%s_%s" % (path, re.fullmatch(rb"CONNECT (\d+)\n", line)[1].decode()))
    host.sendall(b"OK 1073741824\n")
    other = {host: guest, guest: host}
    while True:
        for end in select.select(other, [], [])[0]:
            data = end.recv(65536)
            if not data:
                host.close()
                guest.close()
                return
            other[end].sendall(data)

listener = socket.socket(socket.AF_UNIX)
listener.bind(path)
listener.listen(64)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
END

# A key, an operator, a trader and what they agree on, as an operator would make them.
provision()
{
	mkdir -m 700 "$work/keys" &&
		"$B/sigringctl" key new --id 3 --permit ecdsa-sha256 --nonce presign --out "$work/keys/3.key" &&
		"$B/sigringctl" operator new --out "$work/operator" >"$work/operators" &&
		"$B/sigringctl" identity new --out "$work/identity" >"$work/public" &&
		cat >"$work/manifest" <<-END && "$B/sigringctl" manifest sign --operator "$work/operator" "$work/manifest"
		{ "sigring_manifest": 1, "version": 1,
		  "identities": [ { "name": "bench", "public_key": "$(head -c 64 "$work/public")" } ],
		  "keys": [ { "id": 3, "nonce": "presign", "permit": [ "ecdsa-sha256" ], "identities": [ "bench" ] } ] }
		END
}

ln -s vm_5001 "$work/vm_5000.control" # where it is looked for without a proxy
provision >"$work/out" 2>&1
check "a signer of its own is provisioned for exp01" "$([ $? -eq 0 ] || cat "$work/out")"
"$B/sigring-signer" --listen "unix:$work/vm_5000" --control "unix:$work/vm_5001" --keys "$work/keys" --wait yield \
	--allow-snapshot --pool-slots 8192 --pool-low 90 --refill idle --trace 4096 --operators "$work/operators" \
	--operators-needed 1 --manifest "$work/manifest" --trust-out "$work/trust" >"$work/log" 2>&1 &
signer=$!
proxy=
addresses="unix:$work/vm_5000"
if command -v python3 >/dev/null; then
	python3 "$work/proxy.py" "$work/vm" 2>"$work/proxy.log" &
	proxy=$!
	addresses="$addresses hybrid:$work/vm:5000"
else
	echo "skip exp01 behind a proxy: python3 is not installed"
fi
n=0
while [ ! -e "$work/trust" ] && [ $n -lt 600 ]; do
	sleep 0.1
	n=$((n + 1))
done
for address in $addresses; do
	timeout 300 "$B/bench/exp01" --samples 1000 --rate 20000 --segment 1024 --json --out "$work/there" \
		--signer "$address" --identity "$work/identity" --trust "$work/trust" --operator "$work/operator" \
		--key 3 >"$work/json" 2>"$work/err"
	code=$?
	check "exp01 measures a signer at ${address%%:*}:" "$([ $code -eq 0 ] &&
		grep -q "\"transport\":\"$address\",\"enclave\":false" "$work/json" &&
		grep -q '"signer":null' "$work/json" && grep -q '"row":"paced".*"not_joined":0,.*"pool_dry":0,' "$work/json" &&
		grep -q '"row":"burst".*"pool":"refilled meanwhile".*"signer_watched":false' "$work/json" ||
		{ echo "exit code $code"; cat "$work/err" "$work/json" "$work/log"; })"
done
kill $signer $proxy
wait $signer $proxy 2>/dev/null

mkdir "$work/path"
for tool in sh dirname; do ln -s "$(command -v $tool)" "$work/path/$tool"; done
PATH="$work/path" bench/sign_figures.sh "$work/samples" "$work/none" >"$work/out" 2>&1
check "sign_figures.sh names the package that it lacks" \
	"$([ $? -ne 0 ] && grep -q gnuplot-nox "$work/out" || cat "$work/out")"
PATH="$work/path" bench/exp01_figures.sh "$work/exp01" >"$work/out" 2>&1
check "exp01_figures.sh names the package that it lacks" \
	"$([ $? -ne 0 ] && grep -q gnuplot-nox "$work/out" || cat "$work/out")"

# ---- sizing.py: the model against theory ----

if command -v python3 >/dev/null; then
	timeout 300 bench/sizing.py --selftest >"$work/out" 2>&1
	code=$?
	check "sizing.py agrees with theory" "$([ $code -eq 0 ] || cat "$work/out")"
else
	echo "skip sizing.py: python3 is not installed"
fi

# ---- macro.sh: each figure, or the name of what is missing ----

RUNS=2 timeout 500 bench/macro.sh "$B" 1 >"$work/out" 2>"$work/err"
code=$?
check "macro.sh has each figure, or says what is missing" "$([ $code -eq 0 ] &&
	grep -qE '^  cold start .* ms|^skip .*hyperfine' "$work/out" &&
	grep -qE '^  trading thread: |^skip .*(perf|CPUs)' "$work/out" ||
	{ echo "exit code $code"; cat "$work/out" "$work/err"; })"

exit $failed
