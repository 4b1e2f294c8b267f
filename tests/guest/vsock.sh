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
. tests/guest/guest.sh
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

kernel=$(debian_unpack "$(debian_kernel bookworm)") || { echo "$kernel"; exit 77; }
busybox=$(debian_unpack busybox-static) || { echo "$busybox"; exit 77; }

work=$build/guest
root=$work/root
rm -rf "$work"
guest_root "$root" "$busybox" "$kernel" vsock vmw_vsock_virtio_transport_common vsock_loopback
# shellcheck disable=SC2046 # a list of words
guest_programs "$root" "$build" sigring-agent sigring-signer sigring-local sigring-replay sigringctl \
	$(awk '{ print "tests/" $1 }' <<<"$tests" | sort -u)
{
	echo "sha256sum /sigring/sigring-agent"
	sed 's,^,SIGRING_STREAM=vsock /sigring/tests/,' <<<"$tests"
} >"$root/tests"
guest_pack "$root" "$work/initrd" "$busybox"

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
if grep -q '^not ok\|^skip\|^# exit code' "$work/tests.log"; then
	exit 1
fi
# Each test that was asked for, and all of mp_vsock.
wanted=$(($(grep -c -- '--only' <<<"$tests") + $(grep -c '^\s*{ "vsock/' tests/mp_vsock.c)))
ran=$(grep -c '^ok' "$work/tests.log")
if [ "$ran" -ne $wanted ]; then
	echo "not ok - $ran tests ran in the guest, not $wanted"
	exit 1
fi
guest_agent_same "$work/tests.log" "$build"
code=$?
[ $code -eq 0 ] || printf 'not '
echo "ok the agent there was the very file"
echo "# fetched, booted and run in $SECONDS s"
exit $code
