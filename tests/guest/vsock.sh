#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# vsock.sh BUILD - agent, signer and engines over real AF_VSOCK.
#
# This machine's own AF_VSOCK is left alone: a guest is booted (QEMU, emulated), with
# Debian's kernel and its loopback transport, where CID 1 is the guest itself. It runs
# the test programs of BUILD, the very files, with SIGRING_STREAM=vsock. The kernel is
# fetched through apt and unpacked, not installed. Exit code 77: skipped as a whole.
set -u
name=vsock
build=${1:-build}
cd "$(dirname "$0")/../.." || exit 1
. tests/guest/debian.sh
qemu=qemu-system-x86_64
limit_s=600

# What the guest runs: programs, and of some the tests that concern the stream.
tests="mp_vsock
mp_sealed --only sealed/replay_signs_and_says_that_records_are_sealed
mp_sealed --only sealed/killed_agents_lose_nothing_and_sign_nothing_twice
mp_sealed --only sealed/killed_signers_leave_unknown_and_sessions_open_again
mp_sealed --only sealed/stopped_agent_is_replaced
mp_kill_sealed --only sealed/signer_dies_with_submits_outstanding
mp_sealed_open --only stream_that_comes_back_resumes_by_the_same_open
mp_reopen --only reopen/signer_that_dies_at_once_is_not_hammered"

[ "$(uname -m)" = x86_64 ] || leave "the guest is an x86-64 one"
command -v dpkg-deb >/dev/null || leave "this is no Debian: its kernel comes as a package"
command -v $qemu >/dev/null || PACKAGES=qemu-system-x86 tests/packages.sh ||
	leave "QEMU is not installed, and cannot be"

# newest PACKAGE - unpacked into the cache, as this machine's own apt has it; its folder.
newest() {
	local version root
	version=$(apt-cache policy "$1" | awk '$1 == "Candidate:" { print $2 }')
	[ -n "$version" ] && [ "$version" != "(none)" ] || return 1
	root=$cache/root/$1-$version
	if [ ! -e "$root" ]; then
		[ -z "${NO_INSTALL:-}" ] || return 1
		mkdir -p "$cache/deb" "$cache/root"
		(cd "$cache/deb" && apt-get -q -o APT::Sandbox::User= download "$1=$version") \
			>>"$cache/apt.log" 2>&1 || return 1
		rm -rf "$root.new"
		dpkg-deb -x "$(ls "$cache/deb/$1_${version/:/%3a}"_*.deb)" "$root.new" &&
			mv "$root.new" "$root" || return 1
	fi
	echo "$root"
}

mkdir -p "$cache"
image=$(apt-cache depends linux-image-cloud-amd64 2>/dev/null | awk '$1 == "Depends:" { print $2; exit }')
kernel=$(newest "${image:-linux-image-cloud-amd64}") && busybox=$(newest busybox-static) ||
	leave "apt has no kernel or no busybox; \`apt-get update\`? what it said is in $cache/apt.log"

# The root of the guest: busybox, modules, programs, and the libraries that they name.
work=$build/guest
root=$work/root
rm -rf "$work"
mkdir -p "$root/bin" "$root/lib" "$root/lib64" "$root/modules" "$root/sigring/tests"
cp "$busybox/bin/busybox" "$root/bin/"
install -m 755 tests/guest/init.sh "$root/init"
n=0
for module in vsock vmw_vsock_virtio_transport_common vsock_loopback; do
	file=$(find "$kernel/lib/modules" -name "$module.ko*" | head -n 1)
	n=$((n + 1))
	case $file in
	*.xz) xz -dc "$file" >"$root/modules/$n.ko" ;;
	*.ko) cp "$file" "$root/modules/$n.ko" ;;
	*) leave "$image has no $module" ;;
	esac
done
programs=$(awk '{ print $1 }' <<<"$tests" | sort -u)
for program in sigring-agent sigring-signer sigring-local sigring-replay sigringctl; do
	install -s "$build/$program" "$root/sigring/" || exit 1
done
for program in $programs; do
	install -s "$build/tests/$program" "$root/sigring/tests/" || exit 1
done
ldd "$root"/sigring/sigring* "$root"/sigring/tests/* | awk '$2 == "=>" { print $3 }' | sort -u |
	xargs -I{} cp {} "$root/lib/"
cp /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
sed 's,^,SIGRING_STREAM=vsock /sigring/tests/,' <<<"$tests" >"$root/tests"
(cd "$root" && find . | "$busybox/bin/busybox" cpio -o -H newc 2>/dev/null) | gzip -1 >"$work/initrd" || exit 1

# -smp 2: agent, signer and engines yield to each other, as they do under `make mp`.
timeout $limit_s $qemu -M q35,accel=tcg -cpu max -smp 2 -m 512M -nodefaults -no-user-config \
	-display none -no-reboot -kernel "$(ls "$kernel"/boot/vmlinuz-*)" -initrd "$work/initrd" \
	-append "console=ttyS0 panic=-1 quiet" \
	-serial "file:$work/console.log" -serial "file:$work/tests.log" \
	>"$work/qemu.log" 2>&1
code=$?
tr -d '\r' <"$work/tests.log"
if ! grep -q "^# the guest is done" "$work/tests.log"; then
	echo "not ok - the guest ended early, or took more than $limit_s s (QEMU: exit code $code)"
	tail -n 20 "$work/qemu.log" "$work/console.log" | sed 's/^/# /'
	exit 1
fi
! grep -q '^not ok\|^# exit code' "$work/tests.log"
