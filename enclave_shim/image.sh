#!/bin/sh
# SPDX-License-Identifier: MIT
#
# image.sh - put an enclave image together: sigring.eif, and sigring.eif.image beside it,
# the line of it for sigring-trust(5). For `make eif`; everything comes as a variable.
#
#	OPERATORS         public keys of the operators, a line each      (needed)
#	OPERATORS_NEEDED  how many of them must sign                     (needed)
#	KERNEL            bzImage, or debian                             (needed)
#	MODULES           its tree of modules, lib/modules/VERSION; or
#	MODULE_FILES      *.ko in the order of loading; neither: all is built in
#	MANIFEST          signed, to begin with; without one operators load the first
#	CONFIG            of the signer (enclave_shim/sigring-enclave.conf)
#	CMDLINE           of the kernel
#	SIGN_KEY SIGN_CERT  who signs the image (PCR8)
#	BUILD             where the programs are, and where the image goes (build)
#
# The first ramdisk has what depends on the kernel, the second what does not: PCR2 is the
# same over kernels.
set -eu
here=$(dirname "$0")
BUILD=${BUILD:-build}
CONFIG=${CONFIG:-$here/sigring-enclave.conf}
CMDLINE=${CMDLINE:-reboot=k panic=30 console=ttyS0 quiet}
# What an enclave's devices need, and mkeif finds what that needs.
WANTED="virtio_mmio vsock vmw_vsock_virtio_transport nsm"

fail()
{
	echo "make eif: $*" >&2
	exit 1
}

[ -n "${OPERATORS:-}" ] ||
	fail "OPERATORS=FILE is missing: the public keys that \`sigringctl operator new\` printed"
[ -n "${OPERATORS_NEEDED:-}" ] || fail "OPERATORS_NEEDED=K is missing: how many of them must sign"
# The one that the tests in a guest use, out of Debian's archive and into a cache.
if [ "${KERNEL:-}" = debian ]; then
	tree=$(cd "$here/.." && bash -c 'name=eif; . tests/guest/debian.sh; debian_unpack "$(debian_kernel bookworm-backports)"') ||
		fail "$tree"
	KERNEL=$(echo "$tree"/boot/vmlinuz-*)
	MODULES=$(echo "$tree"/lib/modules/*)
fi
[ -n "${KERNEL:-}" ] ||
	fail "KERNEL=bzImage is missing (and MODULES=DIR, if it has modules): see docs/nitro.md"
for file in "$OPERATORS" "$KERNEL" "$CONFIG" ${MANIFEST:+"$MANIFEST"}; do
	[ -r "$file" ] || fail "cannot read $file"
done
# What the signer would refuse at its start, and a secret that everybody could read there.
"$BUILD/static/../sigringctl" operator check --k "$OPERATORS_NEEDED" "$OPERATORS" >/dev/null || exit 1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

{
	echo "dir /dev 0755 0 0"
	echo "nod /dev/console 0600 0 0 c 5 1"
	echo "file /init $BUILD/static/sigring-init 0755 0 0"
	[ -z "${MODULES:-}" ] || echo "modules /modules $MODULES $WANTED"
	number=10
	for path in ${MODULE_FILES:-}; do
		echo "file /modules/$number-$(basename "$path" .xz) $path 0644 0 0"
		number=$((number + 1))
	done
} >"$work/boot.list"

{
	sed 's/[ \t]*#.*//; /^[ \t]*$/d' "$CONFIG"
	echo "operators /signer/operators"
	echo "operators-needed $OPERATORS_NEEDED"
	[ -z "${MANIFEST:-}" ] || echo "manifest /signer/manifest"
} >"$work/config"
{
	echo "file /signer/sigring-enclave $BUILD/static/sigring-enclave 0755 0 0"
	echo "file /signer/sigring-enclave.conf $work/config 0644 0 0"
	echo "file /signer/operators $OPERATORS 0644 0 0"
	[ -z "${MANIFEST:-}" ] || echo "file /signer/manifest $MANIFEST 0644 0 0"
} >"$work/signer.list"

"$here/mkeif" --kernel "$KERNEL" --cmdline "$CMDLINE" \
	--ramdisk "$work/boot.list" --ramdisk "$work/signer.list" \
	--image-version "${VERSION:-0}" \
	${SIGN_KEY:+--sign-key "$SIGN_KEY"} ${SIGN_CERT:+--sign-cert "$SIGN_CERT"} \
	--image-out "$BUILD/sigring.eif.image" --out "$BUILD/sigring.eif"
