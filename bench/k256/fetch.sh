#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds RustCrypto's k256 for bench_sign, from Debian's packages of it.
#
#	bench/k256/fetch.sh [FOLDER]
#
# Debian packages it since 13 (trixie); an older one takes the packages of that suite
# ($SUITE names another), from the archive that this machine is configured for. apt
# resolves, checks against the keys of Debian's archive and downloads, with lists of its
# own: nothing is installed, and the host's package database is left alone. cargo (1.65
# or newer) then builds offline, from what was unpacked.
#
# Everything is in FOLDER, build/k256 by default, where bench_sign looks; anywhere else
# it is told by SIGRING_K256. Crates that are there already are not fetched again. No
# target of the Makefile runs this.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
suite=${SUITE:-trixie}
keys=/usr/share/keyrings/debian-archive-keyring.gpg
out=${1:-$here/../../build/k256}
mkdir -p "$out"
out=$(cd "$out" && pwd)
log=$out/log

leave()
{
	[ ! -s "$log" ] || tail -n 8 "$log" | sed 's/^/# /' >&2
	echo "fetch.sh: $*" >&2
	exit 1
}

apt_config()
{
	arch=$(dpkg --print-architecture)
	cat <<-END
	APT::Architecture "$arch";
	APT::Architectures { "$arch"; };
	APT::Install-Recommends "false";
	APT::Sandbox::User "";
	Acquire::Languages "none";
	Dir::State "$out/apt/state";
	Dir::State::status "$out/apt/state/status";
	Dir::Cache "$out/apt/cache";
	Dir::Etc::sourcelist "$out/apt/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	END
}

# This release may be named as such or by its rank. Others' archives may name it too:
# they do not have the keys.
sources()
{
	# shellcheck disable=SC1091 # of the host
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-sid}")
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(RELEASE) $(SITE)' 'Created-By: Packages' |
		grep -E "^($codename|oldstable|stable|testing|unstable|sid) " | cut -d ' ' -f 2 |
		sort -u | sed "s|.*|deb [signed-by=$keys] & $suite main|"
}

# The crates among what k256 depends on: the rest is for who installs them.
packages()
{
	apt-get -y --print-uris install librust-k256-dev 2>>"$log" |
		sed -n "s/^'.*' \(librust-[^_]*\)_.*/\1/p"
}

fetch()
{
	rm -rf "$out/apt" "$out/root"
	mkdir -p "$out/apt/state/lists/partial" "$out/apt/cache/archives/partial" \
		"$out/apt/debs" "$out/root"
	: >"$out/apt/state/status"
	sources >"$out/apt/sources.list"
	[ -s "$out/apt/sources.list" ] || leave "apt knows of no archive of Debian here"
	apt_config >"$out/apt/conf"
	export APT_CONFIG="$out/apt/conf"
	apt-get update >>"$log" 2>&1 || : # the next line judges
	packages >"$out/apt/packages"
	grep -qx librust-k256-dev "$out/apt/packages" ||
		leave "this machine's archive gives no librust-k256-dev of $suite"
	echo "# fetching $(wc -l <"$out/apt/packages") crates of $suite into $out"
	# shellcheck disable=SC2046 # a list
	(cd "$out/apt/debs" && apt-get download $(cat ../packages)) >>"$log" 2>&1 ||
		leave "apt could not download them"
	for package in "$out"/apt/debs/*.deb; do
		dpkg-deb -x "$package" "$out/root" || leave "cannot unpack ${package##*/}"
	done
	mv "$out/root/usr/share/cargo/registry" "$out/registry" # whole, or not there
	rm -rf "$out/apt" "$out/root"
}

# A copy: the lock file that cargo writes is of these crates, and not for the tree.
build()
{
	rm -rf "$out/crate"
	mkdir "$out/crate"
	cp -R "$here/Cargo.toml" "$here/build.rs" "$here/src" "$out/crate"
	CARGO_HOME=$out/cargo cargo build --release --offline \
		--manifest-path "$out/crate/Cargo.toml" --target-dir "$out/target" \
		--config "source.crates-io.replace-with='debian'" \
		--config "source.debian.directory='$out/registry'" >>"$log" 2>&1 ||
		leave "cargo could not build it; $log has all that it said"
	cp "$out/target/release/libsr_k256.so" "$out/libsr_k256.so"
}

: >"$log"
for tool in cargo apt-get dpkg-deb; do
	command -v $tool >/dev/null || leave "$tool is missing"
done
[ -d "$out/registry" ] || fetch
build
echo "$out/libsr_k256.so"
