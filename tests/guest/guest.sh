# SPDX-License-Identifier: MIT
#
# guest.sh - the first file system of a guest: busybox, modules, programs and the
# libraries that they name. For scripts that include it (bash), behind debian.sh.

# guest_root ROOT BUSYBOX KERNEL MODULE...: folders that debian.sh unpacked; modules in
# the order of loading.
guest_root() {
	local root=$1 busybox=$2 kernel=$3 n=0 module file
	shift 3
	mkdir -p "$root/bin" "$root/lib" "$root/lib64" "$root/modules" "$root/sigring" "$root/tmp"
	cp "$busybox/bin/busybox" "$root/bin/"
	install -m 755 tests/guest/init.sh "$root/init"
	for module; do
		file=$(find "$kernel/lib/modules" -name "$module.ko*" | head -n 1)
		n=$((n + 1))
		case $file in
		*.xz) xz -dc "$file" >"$root/modules/$n.ko" ;;
		*.ko) cp "$file" "$root/modules/$n.ko" ;;
		*) leave "the kernel has no $module" ;;
		esac
	done
}

# guest_programs ROOT BUILD PROGRAM...: into /sigring, the very files.
guest_programs() {
	local root=$1 build=$2 program
	shift 2
	for program; do
		install -D "$build/$program" "$root/sigring/$program" || exit 1
		ldd "$root/sigring/$program" | awk '$2 == "=>" { print $3 }'
	done | sort -u | xargs -I{} cp {} "$root/lib/"
	cp /lib64/ld-linux-x86-64.so.2 "$root/lib64/"
}

# guest_agent_same LOG BUILD: whether the agent that a guest had, by what `sha256sum
# /sigring/sigring-agent` said there, is the file that lies here.
guest_agent_same() {
	[ "$(tr -d '\r' <"$1" | awk '/ \/sigring\/sigring-agent$/ && !/^#/ { print $1 }')" = \
		"$(sha256sum <"$2/sigring-agent" | cut -d' ' -f1)" ]
}

guest_pack() { # ROOT OUT BUSYBOX
	(cd "$1" && find . | "$3/bin/busybox" cpio -o -H newc 2>/dev/null) | gzip -1 >"$2" || exit 1
}
