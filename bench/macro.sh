#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# macro.sh - what whole programs take, and what an order costs a machine.
#
#	bench/macro.sh BUILD [SECONDS]
#
# By hyperfine: provisioning (operator, identity, key, signed manifest), a cold start up to
# the first signature, verified, and a handshake (a new process attaches, attests, has one
# order signed and leaves). By perf stat, for SECONDS (5) of a steady load: system calls,
# context switches, cycles, instructions and cache misses an order, of the trading thread and
# of sigring-local. What is missing on this machine is said by name, and is no failure.
# RUNS in the environment: of hyperfine (20).
set -eu
bin=$1
seconds=${2:-5}
runs=${RUNS:-20}
rate=5000
dir=$(mktemp -d)
load=
stop() {
	[ ! -e "$dir/pid" ] || kill "$(cat "$dir/pid")" 2>/dev/null || :
	[ -z "$load" ] || kill "$load" 2>/dev/null || :
	wait
	rm -rf "${dir:?}"
}
trap stop EXIT
trap 'exit 130' INT TERM

# ---- what is run: small scripts, so that hyperfine can time them ----

cat >"$dir/provision" <<-EOF
	rm -rf "$dir/new" && mkdir -p -m 700 "$dir/new/keys" && cd "$dir/new" || exit 1
	ctl=$(realpath "$bin")/sigringctl
	types=ecdsa-sha256,ecdsa-keccak256,ecdsa-digest,bip340
	\$ctl key new --id 1 --permit \$types --out keys/1.key || exit 1
	\$ctl key public keys/1.key >public || exit 1
	\$ctl operator new --out operator >operators || exit 1
	\$ctl identity new --out identity >trader || exit 1
	cat >manifest.\$1 <<-END
		{ "sigring_manifest": 1, "version": 1,
		  "identities": [ { "name": "macro", "public_key": "\$(cat trader)" } ],
		  "keys": [ { "id": 1, "nonce": "\$1", "identities": [ "macro" ],
		    "permit": [ "ecdsa-sha256", "ecdsa-keccak256", "ecdsa-digest", "bip340" ] } ] }
	END
	\$ctl manifest sign --operator operator manifest.\$1
EOF
cat >"$dir/start" <<-EOF
	nonce=\$1; shift
	rm -f "$dir/trust" && ln -sfn "$dir/rig.\$nonce" "$dir/rig"
	"$bin/sigring-local" --socket "$dir/sock" --keys "$dir/rig/keys" --trust-out "$dir/trust" \\
		--operators "$dir/rig/operators" --operators-needed 1 \\
		--manifest "$dir/rig/manifest.\$nonce" "\$@" >>"$dir/log" 2>&1 &
	echo \$! >"$dir/pid"
	while [ ! -e "$dir/trust" ]; do sleep 0.001; kill -0 \$! || exit 1; done
EOF
cat >"$dir/order" <<-EOF
	SIGRING_IDENTITY="$dir/rig/identity" SIGRING_TRUST="$dir/trust" "$bin/sigring-replay" \\
		--socket "$dir/sock" --public "$dir/rig/public" --count 1 \\
		docs/examples/blind.jsonl >"$dir/replay" 2>&1 || { cat "$dir/replay" >>"$dir/log"; exit 1; }
EOF
cat "$dir/start" "$dir/order" >"$dir/cold"
cat >"$dir/stop" <<-EOF
	[ -e "$dir/pid" ] || exit 0
	kill "\$(cat "$dir/pid")" 2>/dev/null
	while kill -0 "\$(cat "$dir/pid")" 2>/dev/null; do sleep 0.001; done
	rm -f "$dir/pid"
EOF

# What perf runs: the answers that the agent has given when it begins to count and when it ends.
cat >"$dir/window" <<-EOF
	answers() {
		"$bin/sigringctl" status --json --socket "$dir/sock" |
			sed -n 's/.*"agent":{[^}]*"replies":\([0-9]*\).*/\1/p'
	}
	before=\$(answers)
	sleep "$seconds"
	echo \$((\$(answers) - before)) >"$dir/\$1.orders"
EOF

# timed NAME PREPARE COMMAND...: a line of the table.
timed() {
	local name=$1 prepare=$2
	shift 2
	if ! hyperfine -N --warmup 1 --runs "$runs" --prepare "$prepare" \
		--export-csv "$dir/csv" "$*" >"$dir/out" 2>&1; then
		cat "$dir/out" "$dir/log" >&2
		return 1
	fi
	awk -F, -v name="$name" 'NR == 2 { printf "  %-52s %9.2f ms  (%.2f .. %.2f)\n", name,
		$4 * 1e3, $7 * 1e3, $8 * 1e3 }' "$dir/csv"
}

echo "$("$bin/sigring-local" --version | head -n 1); $(nproc) CPUs, Linux $(uname -r)"
for nonce in hedged presign; do
	bash "$dir/provision" $nonce >>"$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
	mv "$dir/new" "$dir/rig.$nonce"
done
if command -v hyperfine >/dev/null; then
	echo "by hyperfine, $runs runs: median (fastest .. slowest)"
	timed "provisioning: operator, identity, key, manifest" true bash "$dir/provision" hedged
	timed "cold start to a verified signature, no pool" "bash $dir/stop" bash "$dir/cold" hedged
	timed "cold start to a verified signature, pool of 4096" "bash $dir/stop" \
		bash "$dir/cold" presign --allow-snapshot
	timed "handshake: attach, attest, one order, leave" true bash "$dir/order"
	bash "$dir/stop"
else
	echo "skip provisioning, cold start and handshake: hyperfine is not installed"
fi

# ---- what an order costs ----

if ! command -v perf >/dev/null; then
	echo "skip system calls, switches and cycles an order: perf is not installed"
	exit 0
fi
cpus=()
for ((c = 0; c < 1024 && ${#cpus[@]} < 2; c++)); do
	if taskset -c $c true 2>/dev/null; then cpus+=($c); fi
done
if [ "${#cpus[@]}" -lt 2 ]; then
	echo "skip system calls, switches and cycles an order: two loops need two CPUs"
	exit 0
fi
bash "$dir/start" presign --allow-snapshot --wait spin --cpu "${cpus[1]}"
SIGRING_IDENTITY=$dir/rig/identity SIGRING_TRUST=$dir/trust "$bin/bench/bench_load" \
	--socket "$dir/sock" --cpu "${cpus[0]}" --sessions 1 --rate $rate \
	--seconds $((seconds + 4)) --quiet fixed >"$dir/load" 2>&1 &
load=$!
for ((i = 0; i < 100; i++)); do
	if grep -q microseconds "$dir/load"; then break; fi
	sleep 0.1
done
sleep 1
trader=$(pgrep -P $load -x bench_load | head -n 1)
events=raw_syscalls:sys_enter,context-switches,cycles,instructions,cache-misses
perf stat -x, -o "$dir/trader" -e $events -t "$trader" -- bash "$dir/window" trader 2>"$dir/perf" &
perf stat -x, -o "$dir/local" -e $events -p "$(cat "$dir/pid")" -- bash "$dir/window" local \
	2>>"$dir/perf" || :
wait $! || :
code=0
wait $load || code=$?
load=
[ $code -eq 0 ] || { cat "$dir/load" "$dir/log" >&2; exit 1; }
echo "by perf stat, $seconds s at $rate orders a second, sealed, both loops spin; an order:"
# of FILE WHO: a line for each event, or why it was not counted; by the orders of that time.
of() {
	if ! grep -q '^[^#]' "$1" 2>/dev/null; then
		echo "  $2: not counted: $(grep -m 1 . "$dir/perf")"
		return
	fi
	orders=$(cat "$1.orders" 2>/dev/null)
	if ! [ "${orders:-0}" -gt 0 ]; then
		echo "  $2: the agent does not tell how many orders there were" >&2
		return 1
	fi
	echo "  $2: $orders orders"
	awk -F, -v who="$2" -v orders="$orders" '/^#/ || NF < 3 { next }
		$1 ~ /^[0-9.]+$/ { printf "  %-52s %9.3f\n", who ": " $3, $1 / orders; next }
		{ printf "  %-52s  not here: %s\n", who ": " $3, $1 }' "$1"
}
of "$dir/trader" "trading thread"
of "$dir/local" "sigring-local"
echo "waiting is in it: a loop that spins has cycles whether there are orders or not"
