#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# make run: orders of examples/orders.jsonl through the ring to a signer and back.
#
#   bench/run.sh BUILD [SPLIT]
#
# Makes a private directory with a fresh development key, starts sigring-local (or,
# with SPLIT=1, sigring-agent and sigring-signer), replays, verifies, stops.
set -eu
bin=$1
split=${2:-}
dir=$(mktemp -d)
pids=
stop() {
	for pid in $pids; do kill "$pid" 2>/dev/null || :; done
	for pid in $pids; do wait "$pid" 2>/dev/null || :; done
	rm -rf "$dir"
}
trap stop EXIT
trap 'exit 130' INT TERM

loops=2
[ -z "$split" ] || loops=3
cpu_of() { # the N-th CPU that we may use; nothing where loops have to share
	local list
	list=$(taskset -cp $$ 2>/dev/null | sed 's/.*: //')
	local cpus=()
	local IFS=,
	for part in $list; do
		if [[ $part == *-* ]]; then
			IFS=' ' read -r -a more <<<"$(seq -s ' ' "${part%-*}" "${part#*-}")"
			cpus+=("${more[@]}")
		else
			cpus+=("$part")
		fi
	done
	[ "${#cpus[@]}" -lt $loops ] || echo "${cpus[$1]}"
}
on_cpu() { local c; c=$(cpu_of "$1"); [ -z "$c" ] || echo "--cpu $c"; }

mkdir -m 700 "$dir/keys"
# A fresh key, gone in a minute, so nobody can restore a snapshot of its nonces.
"$bin/sigringctl" key new --id 1 --nonce presign --out "$dir/keys/1.key" \
	--permit ecdsa-sha256,ecdsa-keccak256,ecdsa-digest,bip340 >/dev/null 2>"$dir/log" ||
	{ cat "$dir/log" >&2; exit 1; }
"$bin/sigringctl" key public "$dir/keys/1.key" >"$dir/public"
# One loop a core, where there is one for each; else all of them yield.
if [ -n "$split" ]; then
	"$bin/sigring-signer" --listen "unix:$dir/signer.sock" --keys "$dir/keys" \
		--allow-snapshot $(on_cpu 1) 2>>"$dir/log" &
	pids="$pids $!"
	"$bin/sigring-agent" --signer "unix:$dir/signer.sock" --socket "$dir/agent.sock" \
		$(on_cpu 2) 2>>"$dir/log" &
	pids="$pids $!"
else
	"$bin/sigring-local" --socket "$dir/agent.sock" --keys "$dir/keys" \
		--allow-snapshot $(on_cpu 1) 2>>"$dir/log" &
	pids="$pids $!"
fi
code=0
"$bin/sigring-replay" --unsealed --socket "$dir/agent.sock" --public "$dir/public" --count 20000 \
	--rate 10000 $(on_cpu 0) examples/orders.jsonl || code=$?
if [ $code -ne 0 ]; then
	sed 's/^/  /' "$dir/log" >&2
fi
exit $code
