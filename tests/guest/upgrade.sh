#!/bin/sh
# SPDX-License-Identifier: MIT
#
# upgrade.sh BIN DIR SIGNER HEARTBEAT IMAGE - another image under a running engine, as
# docs/nitro.md has it: both images are allowed, the old enclave is drained and ended, the
# new one is given the key out of its blob, and the engine goes on. Behind life.sh, which
# left an enclave with a key; IMAGE is the line of the new image for the trust file.
#
# Between the two it prints `# now the enclave is to die`: whoever runs this ends it then,
# and starts the new image.
set -u
bin=$1 dir=$2 signer=$3 heartbeat=$4 image=$5
. "${0%/*}/steps.sh"

now_ms() { echo $(($(date +%s%N) / 1000000)); }

agent_start
judge "the agent reaches the old enclave" $? "$dir/agent.log"
cp -p "$dir/trust" "$dir/trust.old"
engine upgraded
await 60 there "the first order is signed" "$dir/upgraded.log"
judge "an engine trades through it" $? "$dir/upgraded.log"

cp -p "$dir/trust" "$dir/trust.both" && cat "$image" >>"$dir/trust.both" && mv "$dir/trust.both" "$dir/trust"
begin=$(now_ms)
ctl enclave drain >"$dir/drain.log" 2>&1
judge "operators drain it" $? "$dir/drain.log"
ctl enclave status >"$dir/drained.log" 2>&1 && there "^draining *yes" "$dir/drained.log"
judge "and it says so" $? "$dir/drained.log"
drained=$(now_ms)
echo "# now the enclave is to die"
await 180 up 2
judge "the new image has started, and the agent reaches it" $? "$dir/agent.log"
started=$(now_ms)
provision
judge "it is given the key out of the blob, and the manifest" $? "$dir/provision.log"
provisioned=$(now_ms)
engine_ended upgraded && [ "$(number draining "$dir/upgraded.json")" -gt 0 ]
judge "the engine was told of the drain, and goes on with the new image" $? "$dir/upgraded.log"
echo "# $(cat "$dir/upgraded.json")"
echo "# upgrade, under emulation: nothing was signed for $(number outage_ms "$dir/upgraded.json") ms: drain" \
	"$((drained - begin)), end and boot $((started - drained)), manifest and key $((provisioned - started)), the rest a session"

SIGRING_TRUST=$dir/trust.old replay old "$bin/emulated/sigring-replay" --count 1
[ $? -eq 3 ] && there "the enclave runs an image that is not allowed" "$dir/old.log"
judge "who allows the old image alone refuses the new one" $? "$dir/old.log"
{ grep -v "^image" "$dir/trust.old"; cat "$image"; } >"$dir/trust.new" && chmod 600 "$dir/trust.new" && mv "$dir/trust.new" "$dir/trust"
replay new "$bin/emulated/sigring-replay" --count 10
judge "with the old line gone orders are signed" $? "$dir/new.log"
agent_end
exit $failed
