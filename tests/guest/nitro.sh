#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# nitro.sh BUILD - an enclave image, booted on QEMU's nitro-enclave machine: attested,
# provisioned, under load, in its second life, and upgraded. LONG=1: a million orders.
#
# No AF_VSOCK of this machine is touched: vhost-device-vsock gives the enclave's ports as
# a Unix socket. QEMU is built at the first run (qemu.sh), and what else is needed comes
# out of Debian's archive into a cache folder (debian.sh). Exit code 77: skipped.
set -u
name=nitro
build=${1:-build}
cd "$(dirname "$0")/../.." || exit 1
. tests/guest/debian.sh
. tests/guest/guest.sh
. tests/guest/judge.sh

[ "$(uname -m)" = x86_64 ] || leave "the enclave is an x86-64 one"
command -v dpkg-deb >/dev/null || leave "this is no Debian: what it needs comes as packages"
qemu=$(tests/guest/qemu.sh nitro) || { echo "$qemu"; exit 77; }
kernel=$(debian_unpack "$(debian_kernel bookworm-backports)") || { echo "$kernel"; exit 77; }
vhost=$(debian_unpack vhost-device-vsock) || { echo "$vhost"; exit 77; }
seabios=$(debian_unpack seabios) || { echo "$seabios"; exit 77; }
firmware=$(debian_unpack qemu-system-data) || { echo "$firmware"; exit 77; }
busybox=$(debian_unpack busybox-static) || { echo "$busybox"; exit 77; }
version=$(ls "$kernel/lib/modules")
vhost=$vhost/usr/bin/vhost-device-vsock

# Paths of sockets have to be short.
work=$(mktemp -d /tmp/sigring-nitro-XXXXXX) || exit 1
pids=
stop() {
	for pid in $pids; do kill "$pid" 2>/dev/null; done
	for pid in $pids; do wait "$pid" 2>/dev/null; done
	if [ $failed -eq 0 ]; then rm -rf "$work"; else echo "# $work has the logs"; fi
}
trap stop EXIT
trap 'exit 1' INT TERM

# ---- what operators, the trader and the engine have ----

secrets() { # DIR
	mkdir -m 700 "$1" &&
		"$build/sigringctl" operator new --out "$1/operator" >"$1/operators" &&
		"$build/sigringctl" identity new --out "$1/recovery" >/dev/null &&
		"$build/sigringctl" identity new --out "$1/trader" >"$1/trader.pub" &&
		cat >"$1/manifest" <<-END &&
			{ "sigring_manifest": 1, "version": 1,
			  "identities": [ { "name": "engine", "public_key": "$(head -n 1 "$1/trader.pub")" } ],
			  "keys": [ { "id": 1, "nonce": "presign", "permit": [ "ecdsa-sha256" ],
			              "identities": [ "engine" ] } ] }
		END
		"$build/sigringctl" manifest sign --operator "$1/operator" "$1/manifest" &&
		echo '{"scheme":"ecdsa-sha256","key":1,"message":"buy 1 at 100"}' >"$1/orders"
}
secrets "$work/engine" >"$work/secrets.log" 2>&1 || { judge "keys and a manifest" 1 "$work/secrets.log"; exit 1; }

# ---- the image ----

# image NAME PARENT CONFIG [STATIC]: an enclave whose parent is that CID, in all else the one of
# AWS, of the two programs in that folder.
image() {
	mkdir -p "$work/image-$1"
	ln -sfn "${4:-$PWD/$build/static}" "$work/image-$1/static"
	BUILD=$work/image-$1 VERSION=${VERSION:-0} KERNEL=$kernel/boot/vmlinuz-$version \
		MODULES=$kernel/lib/modules/$version OPERATORS=$work/engine/operators OPERATORS_NEEDED=1 \
		CONFIG=$3 CMDLINE="reboot=k panic=30 console=ttyS0 quiet tsc_early_khz=2000000 sigring_parent=$2" \
		enclave_shim/image.sh >"$work/image-$1.log" 2>&1
}
# The emulated device loses bytes of longer writes between two guests.
sed 's/^#signer-write-bytes-max .*/signer-write-bytes-max 2048/' enclave_shim/sigring-enclave.conf >"$work/config"
sed 's/^signer-sessions-max .*/signer-sessions-max 63/' "$work/config" >"$work/config-new"
image 2 2 "$work/config" && image 3 3 "$work/config" && image new 2 "$work/config-new"
judge "an image is made of Debian's kernel and two static programs" $? "$work/image-2.log"
[ $failed -eq 0 ] || exit 1
eif=$work/image-2/sigring.eif
echo "# the image has $(stat -c %s "$eif") bytes, of which the kernel $(stat -c %s "$kernel/boot/vmlinuz-$version")"
{
	echo "sigring-trust 1"
	echo "root aws"
	cat "$work/image-2/sigring.eif.image"
	echo "manifest-min 1"
	echo "require boot-pcr"
} >"$work/engine/trust"
chmod 600 "$work/engine/trust"

python3 tests/guest/eif_files.py "$eif" >"$work/files" 2>"$work/files.log"
judge "the image holds what it is said to hold" $? "$work/files.log"
grep -vE '^(dev|dev/console|init|modules|modules/[0-9]+-[a-z0-9_-]+\.ko|signer|signer/(operators|sigring-enclave|sigring-enclave\.conf)) ' \
	"$work/files" >"$work/files.more"
[ ! -s "$work/files.more" ]
judge "no shell, no tools, no library, no key is in it" $? "$work/files.more"
sed 's/^/# /' "$work/files"
[ "$(cut -d' ' -f4 "$work/image-2/sigring.eif.image")" = "$(cut -d' ' -f4 "$work/image-3/sigring.eif.image")" ] &&
	[ "$(cut -d' ' -f2 "$work/image-2/sigring.eif.image")" != "$(cut -d' ' -f2 "$work/image-3/sigring.eif.image")" ]
judge "another command line is another PCR0 and the same PCR2" $?

# Whoever has the sources and the compiler has the image: from a copy, in another folder.
begin=$SECONDS
again=$work/a/longer/path
mkdir -p "$again" && cp -r Makefile ring signer enclave_shim host_agent "$again/" &&
	CCACHE_DISABLE=1 make -s -j "$(nproc)" -C "$again" "$build"/static/sigring-{init,enclave} >"$work/again.log" 2>&1 &&
	ln -s "$PWD/$build/sigringctl" "$again/$build/" &&
	image again 2 "$work/config" "$again/$build/static" &&
	cmp "$eif" "$work/image-again/sigring.eif" >>"$work/again.log" 2>&1
judge "compiled again from a copy of the sources it is the same, byte for byte" $? "$work/again.log"
echo "# compiled and put together again in $((SECONDS - begin)) s"

# ---- booting it ----

bios=(-L "$firmware/usr/share/qemu" -L "$seabios/usr/share/seabios")

# enclave EIF SOCKET LOG: sets $enclave.
enclave() {
	mkdir -p "$work/tmp"
	date +%s%N >"$work/engine/started"
	TMPDIR=$work/tmp setpriv --pdeathsig KILL "$qemu" "${bios[@]}" -M nitro-enclave,vsock=c,id=i-test-enc0123,accel=tcg,acpi=on,pcie=off -cpu max -smp 2 -m 128M \
		-chardev "socket,id=c,path=$2" -kernel "$1" -append "tsc_early_khz=2000000" \
		-nodefaults -no-user-config -display none -serial "file:$3" -no-reboot >>"$3.qemu" 2>&1 &
	enclave=$!
	pids="$pids $enclave"
}

device() { # CID...: one process for all of them
	local cid vms=()
	for cid; do
		vms+=(--vm "guest-cid=$cid,uds-path=$work/vm$cid.vsock,socket=$work/vhost$cid.sock")
	done
	setpriv --pdeathsig KILL "$vhost" "${vms[@]}" >>"$work/vhost.log" 2>&1 &
	vhost_pid=$!
	pids="$pids $vhost_pid"
	for _ in $(seq 100); do
		[ -S "$work/vhost$cid.sock" ] && break
		sleep 0.1
	done
}

# second_life LOG: when it says so, the enclave is ended, and then `start_again` runs.
second_life() {
	local pid=$1 log=$2 again=
	while kill -0 "$pid" 2>/dev/null; do
		if [ -z "$again" ] && grep -q "^# now the enclave is to die" "$log" 2>/dev/null; then
			again=1
			kill -9 $enclave
			wait $enclave 2>/dev/null
			start_again
		fi
		sleep 0.5
	done
	wait "$pid"
}

tell() { # LOG FILE...: the log, and of the files what they end with when something failed
	tr -d '\r' <"$1"
	shift
	[ $failed -eq 0 ] || for file in "$@" "$work/vhost.log"; do echo "$file:"; tail -n 15 "$file"; done | tr -d '\r' | sed 's/^/# /'
}

# The agent on this machine, and the enclave's ports behind a socket.
behind_a_socket() {
	local begin=$SECONDS
	local orders=10000 next=$eif number=1
	[ -z "${LONG:-}" ] || orders=1000000
	start_again() {
		kill $vhost_pid 2>/dev/null
		wait $vhost_pid 2>/dev/null
		rm -f "$work"/vhost4.sock "$work"/vm4.vsock
		number=$((number + 1))
		device 4
		enclave "$next" "$work/vhost4.sock" "$work/console$number"
	}
	device 4
	enclave "$eif" "$work/vhost4.sock" "$work/console1"
	tests/guest/life.sh "$build" "$work/engine" "hybrid:$work/vm4.vsock:5000" \
		"unix:$work/vm4.vsock_9000" $orders 64 >"$work/life.log" 2>&1 &
	pids="$pids $!"
	second_life $! "$work/life.log" || failed=1
	tell "$work/life.log" "$work"/console[12] "$work/engine/agent.log"
	if [ $failed -eq 0 ]; then
		next=$work/image-new/sigring.eif
		tests/guest/upgrade.sh "$build" "$work/engine" "hybrid:$work/vm4.vsock:5000" \
			"unix:$work/vm4.vsock_9000" "$work/image-new/sigring.eif.image" >"$work/upgrade.log" 2>&1 &
		pids="$pids $!"
		second_life $! "$work/upgrade.log" || failed=1
		tell "$work/upgrade.log" "$work"/console[23] "$work/engine/agent.log"
	fi
	kill -9 $enclave
	wait $enclave 2>/dev/null
	kill $vhost_pid
	echo "# three lives behind a socket took $((SECONDS - begin)) s"
}

# As on AWS: a parent with CID 3 and enclaves above, unmodified AF_VSOCK on all sides. The
# second life has another CID, and nobody tells the agent but the heartbeat.
beside_a_parent() {
	local begin=$SECONDS root=$work/parent
	start_again() { enclave "$work/image-3/sigring.eif" "$work/vhost5.sock" "$work/console5"; }
	cp -r "$work/engine" "$work/engine3"
	rm -f "$work"/engine3/{blob,key,public,started,agent.sock,*.log,*.json}
	{ grep -v ^image "$work/engine/trust"; cat "$work/image-3/sigring.eif.image"; } >"$work/engine3/trust"
	guest_root "$root" "$busybox" "$kernel" virtio_mmio vsock \
		vmw_vsock_virtio_transport_common vmw_vsock_virtio_transport
	guest_programs "$root" "$build" sigring-agent sigring-replay sigringctl emulated/{sigring-replay,sigringctl,engine}
	cp -r "$work/engine3" "$root/engine"
	cp tests/guest/{life,steps,judge}.sh "$root/"
	# Its kernel counts ticks, and on a busy machine misses some: like a host it is told the time.
	cat >"$root/tests" <<-END
		sha256sum /sigring/sigring-agent
		(while :; do hwclock -s -u; sleep 1; done) >/dev/null 2>&1 &
		sh /life.sh /sigring /engine vsock:auto:5000 vsock:any:9000 1000 4
	END
	guest_pack "$root" "$work/parent.cpio" "$busybox"
	device 3 4 5
	setpriv --pdeathsig KILL "$qemu" "${bios[@]}" -cpu max -smp 2 -m 512M \
		-M microvm,accel=tcg,acpi=on,pcie=off,memory-backend=m \
		-object memory-backend-memfd,id=m,size=512M,share=on \
		-chardev "socket,id=c,path=$work/vhost3.sock" -device vhost-user-vsock-device,chardev=c \
		-nodefaults -no-user-config -display none -no-reboot \
		-kernel "$kernel/boot/vmlinuz-$version" -initrd "$work/parent.cpio" \
		-append "console=ttyS0 panic=-1 quiet reboot=t tsc_early_khz=2000000 sigring_out=ttyS0" \
		-serial "file:$work/parent.log" >"$work/parent.qemu" 2>&1 &
	parent=$!
	pids="$pids $parent"
	# The device loses a guest to whom another one speaks before it is up.
	for _ in $(seq 240); do
		grep -qs "^# the agent listens" "$work/parent.log" && break
		sleep 0.5
	done
	enclave "$work/image-3/sigring.eif" "$work/vhost4.sock" "$work/console4"
	second_life $parent "$work/parent.log" || failed=1
	grep -q "^# the guest is done" "$work/parent.log" && ! grep -q "^# exit code" "$work/parent.log"
	judge "the parent's guest came to its end" $? "$work/parent.qemu"
	guest_agent_same "$work/parent.log" "$build"
	judge "the agent there was the very file that was here" $?
	tell "$work/parent.log" "$work"/console[45] "$work/parent.qemu"
	kill -9 $enclave 2>/dev/null
	wait $enclave 2>/dev/null
	echo "# two lives beside a parent took $((SECONDS - begin)) s"
}

case ${SIGRING_NITRO:-both} in
socket) behind_a_socket ;;
parent) beside_a_parent ;;
*) behind_a_socket; beside_a_parent ;;
esac
exit $failed
