#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# make run: orders of examples/orders.jsonl through the ring to a signer and back.
#
#   bench/run.sh BUILD [SPLIT]
#
# Makes a private directory with an operator, a manifest, a trader's identity and a key,
# starts sigring-local (or, with SPLIT=1, sigring-agent and sigring-signer), replays in a
# sealed session (with UNSEALED=1 in the environment in clear), verifies, stops.
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

# What an operator does once: keys, and a manifest that says who may use them. All of it
# is private, and gone in a minute; so nobody can restore a snapshot of the nonces.
provision() {
	mkdir -m 700 "$dir/keys"
	"$bin/sigringctl" key new --id 1 --nonce presign --out "$dir/keys/1.key" --permit "$types"
	"$bin/sigringctl" key public "$dir/keys/1.key" >"$dir/public"
	[ -z "${UNSEALED:-}" ] || return 0
	"$bin/sigringctl" operator new --out "$dir/operator" >"$dir/operators"
	"$bin/sigringctl" identity new --out "$dir/identity" >"$dir/trader"
	cat >"$dir/manifest" <<-EOF
		{ "sigring_manifest": 1, "version": 1,
		  "identities": [ { "name": "replay", "public_key": "$(cat "$dir/trader")" } ],
		  "keys": [ { "id": 1, "public_key": "$(cut -d' ' -f2 "$dir/public")",
		              "nonce": "presign", "permit": [ "${types//,/\", \"}" ],
		              "identities": [ "replay" ] } ] }
	EOF
	"$bin/sigringctl" manifest sign --operator "$dir/operator" "$dir/manifest"
}
types=ecdsa-sha256,ecdsa-keccak256,ecdsa-digest,bip340
# Not in front of ||, where bash would go on behind a command that failed.
set +e
(set -e; provision) >"$dir/provision" 2>&1
code=$?
set -e
[ $code -eq 0 ] || { cat "$dir/provision" >&2; exit 1; }
signer=(--keys "$dir/keys" --allow-snapshot $(on_cpu 1))
replay=(--unsealed)
if [ -z "${UNSEALED:-}" ]; then
	signer+=(--operators "$dir/operators" --operators-needed 1 --manifest "$dir/manifest"
		--trust-out "$dir/trust")
	replay=()
	export SIGRING_IDENTITY="$dir/identity" SIGRING_TRUST="$dir/trust"
fi

# One loop a core, where there is one for each; else all of them yield.
if [ -n "$split" ]; then
	"$bin/sigring-signer" --listen "unix:$dir/signer.sock" "${signer[@]}" 2>>"$dir/log" &
	pids="$pids $!"
	"$bin/sigring-agent" --signer "unix:$dir/signer.sock" --socket "$dir/agent.sock" \
		$(on_cpu 2) 2>>"$dir/log" &
	pids="$pids $!"
else
	"$bin/sigring-local" --socket "$dir/agent.sock" "${signer[@]}" 2>>"$dir/log" &
	pids="$pids $!"
fi
# A client has to know whom to believe before it can begin.
for _ in $(seq 100); do
	[ -n "${UNSEALED:-}" ] || [ -e "$dir/trust" ] || sleep 0.1
done
code=0
"$bin/sigring-replay" "${replay[@]}" --socket "$dir/agent.sock" --public "$dir/public" --count 20000 \
	--rate 10000 $(on_cpu 0) examples/orders.jsonl || code=$?
if [ $code -ne 0 ]; then
	sed 's/^/  /' "$dir/log" >&2
fi
exit $code
