# SPDX-License-Identifier: MIT
#
# debian.sh - Debian packages, pinned in packages.txt, unpacked into a cache folder.
#
# For scripts that include it (bash), from the project's root. Nothing is installed.
# What is of Debian 12 comes through this machine's own apt. For other suites apt gets a
# configuration and lists of its own in the cache, with the address of the machine's own
# mirror and Debian's own keys. SIGRING_CACHE names the folder, by default
# $XDG_CACHE_HOME/sigring or ~/.cache/sigring.
#
# An archive keeps one version of a package, and replaces it. Where it has the pinned one
# no more, Debian 12's newest is taken instead, because updates of the kernel come every
# other week; of other suites only with SIGRING_NEWEST=1. Either is said on stderr. A
# package that was not pinned is what apt's signed lists say that it is, and no more.

cache=${SIGRING_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/sigring}
case $cache in /*) ;; *) cache=$PWD/$cache ;; esac
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
		[ "$suite" != bookworm ] || continue
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

debian_apt() { # SUITE COMMAND...: with the configuration for that suite
	local config=$cache/apt/apt.conf
	[ "$1" != bookworm ] || config=/dev/null
	shift
	APT_CONFIG=$config timeout 600 "$@"
}

# Lists are fetched once for all packages that are missing: they are good for an hour.
debian_lists() { # SUITE
	[ -z "${NO_INSTALL:-}" ] ||
		leave "NO_INSTALL is set; without it, Debian packages are fetched into $cache"
	[ "$1" != bookworm ] || return 0
	mkdir -p "$cache/apt"
	[ -z "$(find "$cache/apt/fresh" -newer $pins -mmin -60 2>/dev/null)" ] || return 0
	# shellcheck disable=SC2046 # a list of words
	debian_config "$cache/apt" $(awk '!/^#/ { print $1 }' $pins | sort -u)
	debian_apt "$1" apt-get update >>"$cache/apt.log" 2>&1 ||
		leave "Debian's mirror cannot be reached; what apt said is in $cache/apt.log"
	touch "$cache/apt/fresh"
}

# debian_whole FILE SUM - whether it is there and is that file; of a source package, the
# files that it names too.
debian_whole() {
	echo "$2  $1" | sha256sum -c --status 2>/dev/null || return
	[ "$1" != "${1%.dsc}" ] || return 0
	(cd "${1%/*}" && sed -n '/^Checksums-Sha256:/,/^[^ ]*:$/s/^ \([0-9a-f]\{64\}\) [0-9]* \(.*\)$/\1  \2/p' "$1" |
		sha256sum -c --status 2>/dev/null)
}

debian_file() { # PACKAGE VERSION: where apt leaves it
	case $1 in
	source:*) echo "$cache/deb/${1#source:}_${2#*:}.dsc" ;;
	*) ls "$cache/deb/$1_${2/:/%3a}"_*.deb 2>/dev/null || echo "$cache/deb/$1.deb" ;;
	esac
}

# debian_get SUITE PACKAGE VERSION SUM - sets $file. Fails when the archive does not have it.
debian_get() {
	local begin=$SECONDS
	file=$(debian_file "$2" "$3")
	debian_whole "$file" "$4" && return
	debian_lists "$1"
	mkdir -p "$cache/deb"
	rm -f "$file"
	case $2 in
	source:*)
		rm -f "$cache/deb/${2#source:}"_*
		(cd "$cache/deb" && debian_apt "$1" apt-get -q source --download-only --only-source "${2#source:}=$3")
		;;
	*) (cd "$cache/deb" && debian_apt "$1" apt-get -q -o APT::Sandbox::User= download "$2=$3") ;;
	esac >>"$cache/apt.log" 2>&1 || return 1
	file=$(debian_file "$2" "$3")
	debian_whole "$file" "$4" || leave "$file is not what $pins or apt's list says; see $cache/apt.log"
	echo "# fetched $2 $3 in $((SECONDS - begin)) s" >&2
}

debian_candidate() { # SUITE RELEASE PACKAGE: version
	debian_apt "$1" apt-cache -o "APT::Default-Release=$2" policy "$3" | awk '$1 == "Candidate:" { print $2 }'
}

# debian_newest SUITE PACKAGE - what the archive has now: its name, version and checksum. The
# name of a kernel has its version in it.
debian_newest() {
	local name=$2 version release=$1
	[ "$1" != bookworm ] || release=
	debian_lists "$1"
	case $2 in
	source:*)
		debian_apt "$1" apt-cache showsrc --only-source "${2#source:}" | awk -v name="$2" '
			$1 == "Version:" { version = $2 }
			/^[^ ]/ { sums = $1 == "Checksums-Sha256:" }
			sums && $3 ~ /\.dsc$/ { print name, version, $1; exit }'
		return
		;;
	linux-image-*)
		version=$(debian_candidate "$1" "$release" linux-image-cloud-amd64)
		name=$(debian_apt "$1" apt-cache show "linux-image-cloud-amd64=$version" |
			awk '$1 == "Depends:" { print $2; exit }')
		;;
	esac
	version=$(debian_candidate "$1" "$release" "$name")
	echo "$name $version $(debian_apt "$1" apt-cache show "$name=$version" | awk '$1 == "SHA256:" { print $2; exit }')"
}

# debian_fetch PACKAGE - sets $file, and $version and $package, which differ from what is
# pinned where that is to be had no more.
debian_fetch() {
	local suite sum
	package=$1
	read -r suite version sum <<<"$(awk -v p="$1" '$2 == p { print $1, $3, $4 }' $pins)"
	[ -n "$sum" ] || leave "$pins does not have $1"
	! debian_get "$suite" "$1" "$version" "$sum" || return 0
	[ "$suite" = bookworm ] || [ -n "${SIGRING_NEWEST:-}" ] ||
		leave "$suite has no $1 $version any more ($pins): SIGRING_NEWEST=1 takes what it has"
	read -r package version sum <<<"$(debian_newest "$suite" "$1" 2>>"$cache/apt.log")"
	[ -n "$sum" ] && debian_get "$suite" "$package" "$version" "$sum" ||
		leave "apt cannot fetch $1: run \`apt-get update\`; what it said is in $cache/apt.log"
	echo "# $1: the archive has the pinned version no more; this is ${package#source:} $version, by apt's word alone" >&2
}

# debian_unpack PACKAGE - fetches it, unpacks it into the cache, and prints the folder. A
# tree that is there already is compared with the package.
debian_unpack() {
	local root file version package
	debian_fetch "$1" || exit
	root=$cache/root/$package-${version#*:}
	if ! (cd "$root" && dpkg-deb -I "$file" md5sums | md5sum -c --status) 2>/dev/null; then
		rm -rf "$root" "$root.new"
		mkdir -p "$cache/root"
		dpkg-deb -x "$file" "$root.new" && mv "$root.new" "$root" || leave "cannot unpack $file"
	fi
	echo "$root"
}

debian_pinned() { # PACKAGE: version
	awk -v p="$1" '$2 == p { print $3 }' $pins
}

debian_kernel() { # SUITE: name of the kernel that is pinned
	awk -v suite="$1" '$1 == suite && /linux-image-/ { print $2 }' $pins
}
