# SPDX-License-Identifier: MIT
#
# steps.sh - what life.sh and upgrade.sh share. For sh, busybox's too, behind
#
#	bin    the programs as they are installed; bin/emulated those that believe the
#	       emulated security module
#	dir    of what is secret; started, if it is there, is when the enclave was (ns)
#	signer, heartbeat  addresses, for the agent
#
# `ok`, `not ok` and comments go to stdout.
export SIGRING_SOCKET="$dir/agent.sock" SIGRING_TRUST="$dir/trust" SIGRING_IDENTITY="$dir/trader"
. "${0%/*}/judge.sh"
agent=

stop() { [ -z "$agent" ] || kill "$agent" 2>/dev/null; }
trap stop EXIT
trap 'exit 1' INT TERM

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
number() { sed -n "s/.*\"$1\": *\([0-9][0-9]*\).*/\1/p" "$2"; } # NAME JSON-FILE
memory() { ctl enclave status | sed -n 's/^memory *\([0-9]*\) KiB.*/\1/p'; }

since_start() { # WHAT: how long after the enclave's start this is
	[ ! -e "$dir/started" ] || echo "# from the enclave's start to $1: $((($(date +%s%N) - $(cat "$dir/started")) / 1000000)) ms"
}

replay() { # NAME PROGRAM OPTION...
	name=$1
	program=$2
	shift 2
	"$program" --public "$dir/public" --in-flight 32 --patience-s 60 --wait yield --json "$dir/orders" \
		"$@" >"$dir/$name.json" 2>"$dir/$name.log"
}

engine() { # NAME: in the background
	"$bin/emulated/engine" "$dir/public" 50 420 >"$dir/$1.json" 2>"$dir/$1.log" &
	engine=$!
}

# engine_ended NAME: it goes on in another session, each signature is good, and nothing but
# what an engine has to expect became of its orders.
engine_ended() {
	wait "$engine" && [ "$(number before "$dir/$1.json")" -gt 0 ] &&
		there '"other":0,"bad":0,"unanswered":0,' "$dir/$1.json"
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

agent_start() {
	"$bin/sigring-agent" --socket "$SIGRING_SOCKET" --signer "$signer" --heartbeat "$heartbeat" --wait block \
		--write-bytes-max 2048 --allow-uid any 2>"$dir/agent.log" &
	agent=$!
	await 60 there "ready at" "$dir/agent.log"
	echo "# the agent listens"
	await 120 up 1
}

agent_end() {
	kill "$agent" && wait "$agent"
	judge "the agent ends well" $? "$dir/agent.log"
	agent=
}
