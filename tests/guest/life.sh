#!/bin/sh
# SPDX-License-Identifier: MIT
#
# life.sh BIN DIR SIGNER HEARTBEAT ORDERS SESSIONS - what operators and an engine have to do with
# an enclave, from its heartbeat to its second life. For nitro.sh, on the machine that
# has the enclave behind a socket, and for the parent guest that has it at a CID.
#
# BIN and DIR are those of steps.sh, which lies beside this. Between the two lives it
# prints `# now the enclave is to die`: whoever runs this ends it then, and starts it anew.
set -u
bin=$1 dir=$2 signer=$3 heartbeat=$4 orders=$5 sessions=$6
. "${0%/*}/steps.sh"
unsigned="the document is not signed with ES384, or its header says what we do not know"

agent_start
judge "the enclave says that it is up, and the agent reaches its signer" $? "$dir/agent.log"
since_start "its signer being connected"
there "an enclave has started" "$dir/agent.log"
judge "its heartbeat was answered" $? "$dir/agent.log"
[ $failed -eq 0 ] || exit 1
first=$(boot_id)

# ---- its document ----

"$bin/sigringctl" key list --operator "$dir/operator" >"$dir/strict.log" 2>&1
[ $? -eq 1 ] && there "$unsigned" "$dir/strict.log"
judge "operators refuse a document whose signature is zeros" $? "$dir/strict.log"

sed '/^image /{s/image //;y/0123456789abcdef/123456789abcdef0/;s/^/image /}' "$dir/trust" >"$dir/trust.other" &&
	chmod 600 "$dir/trust.other"
SIGRING_TRUST="$dir/trust.other" ctl key list >"$dir/other.log" 2>&1
[ $? -eq 1 ] && there "the enclave runs an image that is not allowed" "$dir/other.log"
judge "another image than the one that is measured is refused" $? "$dir/other.log"

# What the module says is what was asked for, or it is refused. A register is in the document
# of this module when it is locked.
refused() { # FIELD TEXT
	SIGRING_EMULATED_SPOIL=$1 ctl key list >"$dir/spoilt.log" 2>&1
	[ $? -eq 1 ] && there "$2" "$dir/spoilt.log"
	judge "a document with another $1 is refused" $? "$dir/spoilt.log"
}
refused nonce "the nonce is not ours"
refused user_data "the user data are not those expected"
refused public_key "PCR16 was locked for another boot or key" # a session would use the key that is given
refused pcr16 "PCR16 was locked for another boot or key"

# ---- keys, and a first signature ----

provision
judge "a key is generated in the enclave, and a manifest brought to it" $? "$dir/provision.log"
ctl key list >"$dir/list.log" 2>&1 && there "$(cut -d' ' -f2 "$dir/public")" "$dir/list.log"
judge "the enclave holds the key" $? "$dir/list.log"

"$bin/sigring-replay" --public "$dir/public" --count 1 "$dir/orders" >"$dir/engine.log" 2>&1
[ $? -ne 0 ] && there "$unsigned" "$dir/engine.log"
judge "engines refuse that document too" $? "$dir/engine.log"

replay one "$bin/emulated/sigring-replay" --count 1
judge "an order is signed" $? "$dir/one.log"
since_start "the first signature, with all of the above"

# Open at once, each with a process of its own, some orders a second; set up a few at a
# time, because a handshake takes an emulated signer long.
# A sealed session whose client left stays for a while, as an orphan.
signer_sessions() {
	"$bin/sigringctl" status --json >"$dir/status.json" || return 1
	all=$(sed -n 's/.*"sessions": *\([0-9][0-9]*\),"orphans.*/\1/p' "$dir/status.json")
	orphans=$(number orphans "$dir/status.json")
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

# ---- under load: all that it needs it has by now ----

before=$(memory)
replay orders "$bin/emulated/sigring-replay" --count "$orders"
judge "$orders orders are signed by the enclave and verified" $? "$dir/orders.log"
echo "# in $(number seconds "$dir/orders.json") s"
after=$(memory)
[ -n "$before" ] && [ -n "$after" ] && [ "$after" -le $((before + 64)) ]
judge "and its memory is what it was" $?
echo "# at its peak $before KiB before them, $after KiB after"

# ---- its end, under load, and the second life ----

has_only() { # STATUS|STATUS... JSON-FILE
	statuses=$(sed -n 's/.*"statuses":{\([^}]*\)}.*/\1/p' "$2")
	[ -n "$statuses" ] && ! echo "$statuses" | tr ',' '\n' | grep -qvE "^\"($1)\":"
}
engine reopening
await 60 there "the first order is signed" "$dir/reopening.log"
replay death "$bin/emulated/sigring-replay" --count 1000000 &
dying=$!
await 60 signer_sessions 2
sleep 3
echo "# now the enclave is to die"
wait $dying
code=$?
[ $code -eq 1 ] && [ "$(number signed "$dir/death.json")" -gt 0 ] &&
	[ "$(number signed "$dir/death.json")" = "$(number verified "$dir/death.json")" ] &&
	[ "$(number UNKNOWN "$dir/death.json")" -gt 0 ] &&
	has_only "OK|UNKNOWN|NOT_SENT|SESSION_LOST" "$dir/death.json" &&
	there '"broken":{"missing":0,"twice":0,"out_of_order":0,"never_submitted":0}' "$dir/death.json"
judge "an engine is told what became of its orders when the enclave dies" $? "$dir/death.log"
echo "# $(sed 's/.*\("statuses".*\)/\1/' "$dir/death.json")"

await 180 up 2
judge "the agent finds the enclave's second life" $? "$dir/agent.log"
there "the signer was restarted: its sessions are lost" "$dir/agent.log" && [ "$(boot_id)" != "$first" ]
judge "which is another boot, and its sessions are lost" $? "$dir/agent.log"
replay empty "$bin/emulated/sigring-replay" --count 1
[ $? -eq 3 ]
judge "without its operators it signs nothing" $? "$dir/empty.log"
provision
judge "the key comes back out of its sealed blob" $? "$dir/provision.log"
engine_ended reopening
judge "an engine opens its session again, and goes on" $? "$dir/reopening.log"
echo "# $(cat "$dir/reopening.json")"
replay second "$bin/emulated/sigring-replay" --count 100
judge "orders are signed with the same key as before" $? "$dir/second.log"
agent_end
exit $failed
