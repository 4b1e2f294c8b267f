#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# qemu.sh - QEMU's nitro-enclave machine, built once into the cache folder.
#
# Debian builds QEMU without libcbor, and so without that machine: the source package of
# Debian 13 is built with it and next to nothing else. Some five minutes on two cores.
# Prints the path of the program. Exit code 77: it cannot be had here.
set -u
name=${1:-qemu}
cd "$(dirname "$0")/../.." || exit 1
. tests/guest/debian.sh

begin=$SECONDS
built() { # of a version: prints the program, if it is there
	root=$cache/qemu-${1#*:}
	program=$root/qemu-system-x86_64
	[ -x "$program" ] && echo "$program"
}
built "$(debian_pinned source:qemu)" && exit
debian_fetch source:qemu
built "$version" && exit

PACKAGES="dpkg-dev libcbor-dev libfdt-dev libglib2.0-dev libgnutls28-dev libpcre2-dev ninja-build \
	pkg-config python3-venv zlib1g-dev" tests/packages.sh >&2 ||
	leave "QEMU's build needs packages that cannot be installed"
meson=$(debian_unpack meson) || { echo "$meson"; exit 77; }
log=$root/build.log
echo "building QEMU's nitro-enclave machine, once; $log tells how far it is" >&2
rm -rf "$root"
mkdir -p "$root"
{
	dpkg-source -x "$file" "$root/source" &&
		cat >"$root/source/configs/devices/x86_64-softmmu/nitro.mak" <<-END &&
			CONFIG_MICROVM=y
			CONFIG_NITRO_ENCLAVE=y
			CONFIG_VHOST_USER_VSOCK=y
		END
		mkdir "$root/build" && cd "$root/build" &&
		export PYTHONPATH="$meson/usr/lib/python3/dist-packages" &&
		../source/configure --target-list=x86_64-softmmu --without-default-features \
			--enable-system --enable-tcg --enable-gnutls --enable-libcbor \
			--enable-vhost-user --enable-fdt=system --enable-trace-backends=nop \
			--without-default-devices --with-devices-x86_64=nitro \
			--disable-install-blobs --disable-download &&
		nice -n 15 ninja qemu-system-x86_64 && strip -o "$program.new" qemu-system-x86_64
} >"$log" 2>&1
if [ ! -x "$program.new" ]; then
	tail -n 20 "$log" >&2
	leave "QEMU does not build here; see $log"
fi
rm -rf "$root/source" "$root/build"
mv "$program.new" "$program"
echo "# QEMU was fetched and built in $((SECONDS - begin)) s" >&2
echo "$program"
