# SPDX-License-Identifier: MIT
#
# debian.sh - packages of other Debian suites, unpacked into a cache folder.
#
# For scripts that include it (bash), from the project's root. Nothing is installed:
# apt gets a configuration and lists of its own in the cache, with the address of this
# machine's own Debian mirror and Debian's own keys. SIGRING_CACHE names the folder,
# by default $XDG_CACHE_HOME/sigring or ~/.cache/sigring.

cache=${SIGRING_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sigring}
pins=tests/guest/packages.txt
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

leave() { # exit code 77: skipped as a whole
	echo "skip ${name:?}: $*"
	exit 77
}

debian_mirror() { # the machine's own, as apt has it
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
		"Codename: bookworm" 2>/dev/null | head -n 1
}

debian_config() { # DIR SUITE...
	local dir=$1 mirror suite kind
	shift
	mirror=$(debian_mirror)
	[ -n "$mirror" ] || leave "apt knows no Debian 12 mirror: run \`apt-get update\` first"
	[ -r $keyring ] || leave "$keyring is not here: install debian-archive-keyring"
	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial"
	: >"$dir/state/status"
	for suite; do
		kind=deb
		[ "$suite" != trixie ] || kind=deb-src
		echo "$kind [signed-by=$keyring] $mirror $suite main"
	done >"$dir/sources.list"
	cat >"$dir/apt.conf" <<-END
		APT::Architecture "amd64";
		APT::Architectures { "amd64"; };
		APT::Sandbox::User "";
		Acquire::Languages "none";
		Dir::State "$dir/state";
		Dir::State::status "$dir/state/status";
		Dir::Cache "$dir/cache";
		Dir::Etc::sourcelist "$dir/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
	END
}

debian_apt() { # with that configuration
	APT_CONFIG=$cache/apt/apt.conf timeout 600 "$@" >>"$cache/apt.log" 2>&1
}

debian_pin() { # PACKAGE: suite, version and checksum, as they are pinned
	awk -v p="$1" '$2 == p { print $1, $3, $4 }' $pins
}

# Lists are fetched once for all packages that are missing.
debian_lists() {
	[ -z "${debian_ready:-}" ] || return 0
	debian_ready=1
	[ -z "${NO_INSTALL:-}" ] ||
		leave "NO_INSTALL is set; without it, Debian packages are fetched into $cache"
	mkdir -p "$cache/apt"
	# shellcheck disable=SC2046 # a list of words
	debian_config "$cache/apt" $(awk '!/^#/ { print $1 }' $pins | sort -u)
	debian_apt apt-get update ||
		leave "Debian's mirror cannot be reached; what apt said is in $cache/apt.log"
}

# debian_fetch PACKAGE - leaves it, checked, in $cache/deb; prints nothing.
debian_fetch() {
	local suite version sum file
	read -r suite version sum <<<"$(debian_pin "$1")"
	file=$(debian_file "$1")
	[ -e "$file" ] && echo "$sum  $file" | sha256sum -c --quiet >/dev/null 2>&1 && return
	debian_lists
	mkdir -p "$cache/deb"
	case $1 in
	source:*) (cd "$cache/deb" && debian_apt apt-get source --download-only "${1#source:}=$version") ;;
	*) (cd "$cache/deb" && debian_apt apt-get download "$1=$version") ;;
	esac || leave "$suite has no $1 $version any more: see $pins"
	file=$(debian_file "$1")
	echo "$sum  $file" | sha256sum -c --quiet >>"$cache/apt.log" 2>&1 ||
		leave "$file is not what $pins says"
}

debian_file() { # PACKAGE: where debian_fetch() leaves it
	local version
	read -r _ version _ <<<"$(debian_pin "$1")"
	case $1 in
	source:*) echo "$cache/deb/${1#source:}_${version#*:}.dsc" ;;
	*) ls "$cache/deb/$1_${version/:/%3a}"_*.deb 2>/dev/null || echo "$cache/deb/$1.deb" ;;
	esac
}

# debian_unpack PACKAGE - fetches it, unpacks it into $cache/root/PACKAGE-VERSION once,
# and prints that folder.
debian_unpack() {
	local version root
	read -r _ version _ <<<"$(debian_pin "$1")"
	root=$cache/root/$1-${version#*:}
	if [ ! -e "$root" ]; then
		debian_fetch "$1" || exit
		rm -rf "$root.new"
		mkdir -p "$cache/root"
		dpkg-deb -x "$(debian_file "$1")" "$root.new" && mv "$root.new" "$root"
	fi
	echo "$root"
}

# newest PACKAGE - unpacked into the cache, as this machine's own apt has it; its folder.
newest() {
	local version root
	version=$(apt-cache policy "$1" | awk '$1 == "Candidate:" { print $2 }')
	[ -n "$version" ] && [ "$version" != "(none)" ] || return 1
	root=$cache/root/$1-${version#*:}
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
