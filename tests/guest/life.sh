#!/bin/sh
# SPDX-License-Identifier: MIT
#
# life.sh BIN DIR SIGNER HEARTBEAT ORDERS SESSIONS - what operators and an engine have to do with
# an enclave, from its heartbeat to its second life. For nitro.sh, on the machine that
# has the enclave behind a socket, and for the parent guest that has it at a CID.
#
# BIN has the programs as they are installed, and BIN/emulated the two that believe the
# emulated security module. DIR has what is secret. Between the two lives it prints `# now
# the enclave is to die`: whoever runs this ends it then, and starts it anew. `ok`, `not
# ok` and comments on stdout.
set -u
bin=$1 dir=$2 signer=$3 heartbeat=$4 orders=$5 sessions=$6
export SIGRING_SOCKET="$dir/agent.sock" SIGRING_TRUST="$dir/trust" SIGRING_IDENTITY="$dir/trader"
failed=0
agent=

stop() { [ -z "$agent" ] || kill "$agent" 2>/dev/null; }
trap stop EXIT
trap 'exit 1' INT TERM

judge() { # NAME CODE [LOG]
	if [ "$2" -eq 0 ]; then
		echo "ok $1"
	else
		echo "not ok $1"
		[ -z "${3:-}" ] || tail -n 12 "$3" | sed 's/^/#   /'
		failed=1
	fi
}

await() { # SECONDS COMMAND...: until it succeeds
	left=$1
	shift
	until "$@" 2>/dev/null; do
		left=$((left - 1))
		[ "$left" -gt 0 ] || return 1
		sleep 1
	done
}

up() { [ "$(grep -c "connected to the signer" "$dir/agent.log")" -ge "$1" ]; }
there() { grep -q "$1" "$2"; }
ctl() { "$bin/emulated/sigringctl" "$@" --operator "$dir/operator"; }
boot_id() { "$bin/sigringctl" status --json | sed 's/.*"boot_id": *"\([^"]*\)".*/\1/'; }

replay() { # NAME PROGRAM OPTION...
	"$2" --public "$dir/public" --in-flight 32 --patience-s 60 --wait yield --json "$dir/orders" \
		$(shift 2 && echo "$@") >"$dir/$1.json" 2>"$dir/$1.log"
}

# Keys came with neither the image nor the machine: operators make one, and bring the
# manifest that says who may use it.
provision() {
	: >"$dir/provision.log"
	if [ ! -e "$dir/blob" ]; then
		ctl key generate --id 1 --recovery "$dir/recovery" --out "$dir/blob" >"$dir/key" 2>>"$dir/provision.log" || return 1
		sed -n 's/.*\(0[23][0-9a-f]\{64\}\).*/1 \1/p' "$dir/key" | head -n 1 >"$dir/public"
	else
		ctl key restore --recovery-identity "$dir/recovery" "$dir/blob" >>"$dir/provision.log" 2>&1 || return 1
	fi
	"$bin/emulated/sigringctl" manifest load "$dir/manifest" >>"$dir/provision.log" 2>&1
}

"$bin/sigring-agent" --socket "$SIGRING_SOCKET" --signer "$signer" --heartbeat "$heartbeat" --wait block \
	--write-bytes-max 2048 --allow-uid any 2>"$dir/agent.log" &
agent=$!
await 60 there "ready at" "$dir/agent.log"
echo "# the agent listens"
await 120 up 1
judge "the enclave says that it is up, and the agent reaches its signer" $? "$dir/agent.log"
there "an enclave has started" "$dir/agent.log"
judge "its heartbeat was answered" $? "$dir/agent.log"
[ $failed -eq 0 ] || exit 1
first=$(boot_id)

"$bin/sigringctl" key list --operator "$dir/operator" >"$dir/strict.log" 2>&1
[ $? -eq 1 ] && there "attestation\|document" "$dir/strict.log"
judge "operators refuse a document whose signature is zeros" $? "$dir/strict.log"
sed 's/^/# /' "$dir/strict.log" | head -n 3

sed 's/^image \(.\)/image f/; t; ' "$dir/trust" >"$dir/trust.other" && chmod 600 "$dir/trust.other"
SIGRING_TRUST="$dir/trust.other" ctl key list >"$dir/other.log" 2>&1
[ $? -eq 1 ] && there "image" "$dir/other.log"
judge "another image than the one that is measured is refused" $? "$dir/other.log"

provision
judge "a key is generated in the enclave, and a manifest brought to it" $? "$dir/provision.log"
ctl key list >"$dir/list.log" 2>&1 && there "$(cut -d' ' -f2 "$dir/public")" "$dir/list.log"
judge "the enclave holds the key" $? "$dir/list.log"

"$bin/sigring-replay" --public "$dir/public" --count 1 "$dir/orders" >"$dir/engine.log" 2>&1
[ $? -ne 0 ] && there "attestation\|document" "$dir/engine.log"
judge "engines refuse that document too" $? "$dir/engine.log"

replay orders "$bin/emulated/sigring-replay" --count "$orders"
judge "$orders orders are signed by the enclave and verified" $? "$dir/orders.log"
tail -c 300 "$dir/orders.json" | head -c 300 | sed 's/^/# /'
echo

# Open at once, each with a process of its own, some orders a second; set up a few at a
# time, because a handshake takes an emulated signer long.
# A sealed session whose client left stays for a while, as an orphan.
signer_sessions() {
	"$bin/sigringctl" status --json >"$dir/status.json" || return 1
	all=$(sed -n 's/.*"sessions": *\([0-9][0-9]*\),"orphans.*/\1/p' "$dir/status.json")
	orphans=$(sed -n 's/.*"orphans": *\([0-9][0-9]*\).*/\1/p' "$dir/status.json")
	[ $((all - orphans)) -eq "$1" ]
}
engines=
for i in $(seq "$sessions"); do
	replay "many$i" "$bin/emulated/sigring-replay" --count 200 --rate 5 &
	engines="$engines $!"
	[ $((i % 4)) -ne 0 ] || sleep 1
done
await 60 signer_sessions "$sessions"
judge "$sessions sessions are open in the enclave at once" $? "$dir/many$sessions.log"
code=0
for engine in $engines; do wait "$engine" || code=1; done
judge "and each of their orders is signed and verified" $code "$dir/many1.log"

# The enclave dies under load.
replay death "$bin/emulated/sigring-replay" --count 1000000 &
engine=$!
sleep 3
echo "# now the enclave is to die"
wait $engine
code=$?
[ $code -eq 1 ] && ! there '"forged": *[1-9]' "$dir/death.json"
judge "an engine is told what became of its orders when the enclave dies" $? "$dir/death.log"
echo "# $(tr -d '\n' <"$dir/death.json" | cut -c1-600)"

await 180 up 2
judge "the agent finds the enclave's second life" $? "$dir/agent.log"
there "the signer was restarted: its sessions are lost" "$dir/agent.log" && [ "$(boot_id)" != "$first" ]
judge "which is another boot, and its sessions are lost" $? "$dir/agent.log"
replay empty "$bin/emulated/sigring-replay" --count 1
[ $? -ne 0 ]
judge "without its operators it signs nothing" $? "$dir/empty.log"
provision
judge "the key comes back out of its sealed blob" $? "$dir/provision.log"
replay second "$bin/emulated/sigring-replay" --count 100
judge "orders are signed with the same key as before" $? "$dir/second.log"
kill "$agent" && wait "$agent"
judge "the agent ends well" $? "$dir/agent.log"
agent=
exit $failed
