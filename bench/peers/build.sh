#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the rings of other libraries that bench_ring --peers measures beside ours.
#
#	bench/peers/build.sh [FILE]
#
# Into FILE, build/bench/peers.so by default, where bench_ring looks. Takes what is
# installed (Debian: libck-dev, libboost-dev) and names what is not. No
# target of the Makefile runs this.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/../../build/bench/peers.so}
cxx=${CXX:-g++}
command -v "$cxx" >/dev/null || { echo "build.sh: no $cxx: install g++" >&2; exit 1; }
has() { printf '#include <%s>\n' "$1" | "$cxx" -E -x c++ - >/dev/null 2>&1; }
flags= objects= found=
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if has ck_ring.h; then
	"${CC:-cc}" -std=gnu17 -O2 -fPIC -Wall -c -o "$work/ck.o" "$here/ck.c"
	flags="$flags -DPEER_CK" objects="$work/ck.o" found="$found ck_ring"
else
	echo "skip ck_ring: libck-dev is not installed"
fi
if has boost/lockfree/spsc_queue.hpp; then
	flags="$flags -DPEER_BOOST" found="$found boost"
else
	echo "skip boost::lockfree::spsc_queue: libboost-dev is not installed"
fi
[ -n "$found" ] || { echo "build.sh: there is nothing to build" >&2; exit 1; }
mkdir -p "$(dirname "$out")"
# shellcheck disable=SC2086 # lists
"$cxx" -std=c++17 -O2 -fPIC -shared -Wall $flags -o "$out" "$here/peers.cc" $objects
echo "built $out:$found"
