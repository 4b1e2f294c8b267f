#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the rings of other libraries that bench_ring --peers measures beside ours.
#
#	bench/peers/build.sh [FILE]
#
# Into FILE, build/bench/peers.so by default, where bench_ring looks. Takes what is
# installed (Debian: libck-dev, libboost-dev) and names what is not. Of DPDK the headers
# are enough: where they are not installed (libdpdk-dev needs more than two hundred
# packages), that one package is fetched through apt, unpacked beside FILE and not
# installed; NO_INSTALL=1 does without. No target of the Makefile runs this.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/../../build/bench/peers.so}
cxx=${CXX:-g++} cc="${CC:-cc} -std=gnu17 -O2 -fPIC -Wall"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$(dirname "$out")"
objects= found=

# has HEADER [FLAG...]: does it compile?
has()
{
	header=$1
	shift
	printf '#include <%s>\n' "$header" | $cc "$@" -E -x c - >/dev/null 2>&1
}

# add NAME FILE COMPILER...: one more object.
add()
{
	name=$1 file=$2
	shift 2
	"$@" -c -o "$work/$name.o" "$here/$file"
	objects="$objects $work/$name.o" found="$found $name"
}

# dpdk_flags: what finds DPDK's headers; nothing when they cannot be had.
dpdk_flags()
{
	! has rte_ring.h $(pkg-config --cflags libdpdk 2>/dev/null) ||
		{ pkg-config --cflags libdpdk 2>/dev/null; return; }
	root=$(dirname "$out")/dpdk
	if [ ! -d "$root" ] && [ -z "${NO_INSTALL:-}" ] && command -v dpkg-deb >/dev/null &&
		(cd "$work" && apt-get -q -o APT::Sandbox::User= download libdpdk-dev) >/dev/null 2>&1; then
		dpkg-deb -x "$work"/libdpdk-dev_*.deb "$root.new" && mv "$root.new" "$root"
	fi
	for folder in "$root"/usr/include/*/dpdk; do
		[ ! -d "$folder" ] || echo "-isystem $root/usr/include/dpdk -isystem $folder"
	done
}

# shellcheck disable=SC2086 # lists
if has ck_ring.h; then
	add ck ck.c $cc
else
	echo "skip ck_ring: libck-dev is not installed"
fi
if ! command -v "$cxx" >/dev/null; then
	echo "skip boost::lockfree::spsc_queue: there is no $cxx; install g++"
elif printf '#include <boost/lockfree/spsc_queue.hpp>\n' | "$cxx" -E -x c++ - >/dev/null 2>&1; then
	add boost boost.cc "$cxx" -std=c++17 -O2 -fPIC -Wall
else
	echo "skip boost::lockfree::spsc_queue: libboost-dev is not installed"
fi
dpdk=$(dpdk_flags)
# shellcheck disable=SC2086
if [ -n "$dpdk" ] && has rte_ring.h $dpdk; then
	add dpdk dpdk.c $cc $dpdk
else
	echo "skip rte_ring: DPDK's headers are not installed, and apt has no libdpdk-dev"
fi
[ -n "$found" ] || { echo "build.sh: there is nothing to build" >&2; exit 1; }
# shellcheck disable=SC2086
${CC:-cc} -shared -Wl,-z,defs -o "$out" $objects
echo "built $out:$found"
