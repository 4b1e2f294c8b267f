#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# make run: orders of docs/examples/orders.jsonl through the ring to a signer and back,
# typed, under the policies of docs/examples/manifest-development.json.
#
#   bench/run.sh BUILD [SPLIT]
#
# Makes a private directory with an operator, a manifest, a trader's identity and a key,
# starts sigring-local (or, with SPLIT=1, sigring-agent and sigring-signer), replays in a
# sealed session (with UNSEALED=1 in the environment: bytes, in clear), verifies, stops.
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

# What an operator does once: keys, and a manifest that says who may use them for what: the
# one of docs/examples/, for a trader of our own. All of it is private, and gone in a minute; so
# nobody can restore a snapshot of the nonces.
provision() {
	mkdir -m 700 "$dir/keys"
	for id in $new; do
		"$bin/sigringctl" key new --id "$id" --nonce presign --permit "$types" \
			--out "$dir/keys/$id.key"
	done
	[ -n "${UNSEALED:-}" ] || published
	for key in "$dir"/keys/*.key; do "$bin/sigringctl" key public "$key"; done >"$dir/public"
	[ -z "${UNSEALED:-}" ] || return 0
	"$bin/sigringctl" operator new --out "$dir/operator" >"$dir/operators"
	"$bin/sigringctl" identity new --out "$dir/identity" >"$dir/trader"
	sed -E 's/("public_key": )"[0-9a-f]{64}"/\1"'"$(cat "$dir/trader")"'"/' \
		docs/examples/manifest-development.json >"$dir/manifest"
	"$bin/sigringctl" manifest sign --operator "$dir/operator" "$dir/manifest"
}
# Some orders name the key that has to sign them: those of published tests of Polymarket's,
# dYdX's, GRVT's and Nado's SDKs, which the whole world knows.
published() {
	while read -r id secret; do
		(umask 077; printf 'sigring-key 1\nid %s\npermit %s\nuid any\nsecret %s\n' \
			"$id" "$types" "$secret" >"$dir/keys/$id.key")
	done <<-EOF
		3 ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80
		4 0a7ff605269ed00853a425beda719da038a11792f6dddf31c087b2988b4dc8fe
		5 f7934647276a6e1fa0af3f4467b4b8ddaf45d25a7368fa1a295eef49a446819d
		9 45917429615b8a68cd372c96f63092f3d672a0bc60202b188670354b89c43ae3
	EOF
}
types=ecdsa-sha256,ecdsa-keccak256,ecdsa-digest,bip340
new='1 2 6 7 8' orders=docs/examples/orders.jsonl rate=5000
# Without a manifest nobody says what a typed order may do: bytes, then.
[ -z "${UNSEALED:-}" ] || new=1 orders=docs/examples/blind.jsonl rate=10000
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
	--rate $rate $(on_cpu 0) "$orders" || code=$?
if [ $code -ne 0 ]; then
	sed 's/^/  /' "$dir/log" >&2
fi
exit $code
