#!/bin/sh
# SPDX-License-Identifier: MIT
# Compiles everything for aarch64 and runs the unit tests under qemu-user.
#
# The libraries of the target go into a root directory of their own, filled by
# apt with package lists of its own: the host's package database is left alone
# (as foreign packages, libcriterion-dev:arm64 would remove the native one), and
# only the compiler and qemu are installed.
#
# qemu-user on x86 keeps x86's order of loads and stores: this proves layout and
# arithmetic. Ordering rests on tests/model and tests/disasm.sh.
#
# Everything is made in build/aarch64. NO_INSTALL=1 only names what is missing.
# Exit code 77: skipped as a whole.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build/aarch64
cd "$root" && mkdir -p "build/aarch64/cross" || exit 1
cross=$build/cross # two levels deep: the makefile includes */*/*.d
sysroot=$cross/root
failed=0

leave() {
	echo "skip aarch64: $*"
	exit 77
}

# Tests that need what qemu-user does not have, each with its reason.
SR_SKIP='attach/descriptors_of_a_bad_message_are_closed qemu-user asks for more than the program and leaks them
secret/forked_child_finds_zeros qemu-user has no WIPEONFORK
secret/kernel_says_locked_undumped_and_wiped_on_fork qemu-user passes no WIPEONFORK or DONTDUMP on
batch/forked_child_finds_no_secret_in_any_phase qemu-user has no WIPEONFORK
pool/child_that_is_forked_at_any_piece_is_refused qemu-user has no WIPEONFORK
ticket/child_has_no_key qemu-user has no WIPEONFORK
core_admission/forked_child_has_no_keys_and_answers_nothing qemu-user has no WIPEONFORK
gate/a_forked_child_is_silent qemu-user has no WIPEONFORK
hazard/a_child_gets_no_keys_here qemu-user has no WIPEONFORK
seal/forked_child_has_no_key qemu-user has no WIPEONFORK
nsm/what_is_no_module_says_so qemu-user answers an ioctl it does not know by itself
nitro/no_byte_of_a_document_can_be_changed a minute of P-384, emulated
nitro/nor_any_that_was_tried_of_the_others half a minute of P-384, emulated
gate/each_changed_byte_of_a_document_ends_it half a minute of P-384, emulated
ticket/one_that_is_too_old_to_tell_counts_as_spent half a minute of handshakes, emulated'
export SR_SKIP

have_tools() {
	command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64 >/dev/null
}

ensure_tools() {
	have_tools && return
	PACKAGES="gcc-aarch64-linux-gnu qemu-user" NO_INSTALL="${NO_INSTALL:-}" \
		tests/packages.sh || leave "no cross compiler, or no qemu-user"
	have_tools || leave "packages are installed but give no compiler or no qemu"
}

packages="libsecp256k1-dev liburing-dev libnuma-dev libssl-dev libjansson-dev libcbor-dev libcriterion-dev"

apt_config() { # a package database of its own, empty, for arm64 alone
	mkdir -p "$cross/apt/state/lists/partial" "$cross/apt/cache/archives/partial"
	: >"$cross/apt/state/status"
	cat <<-END
		APT::Architecture "arm64";
		APT::Architectures { "arm64"; };
		APT::Install-Recommends "false";
		APT::Sandbox::User "";
		Acquire::Languages "none";
		Dir::State "$cross/apt/state";
		Dir::State::status "$cross/apt/state/status";
		Dir::Cache "$cross/apt/cache";
	END
}

ensure_sysroot() {
	[ "$(cat "$sysroot/.packages" 2>/dev/null)" = "$packages" ] && return
	if [ -n "${NO_INSTALL:-}" ]; then
		leave "NO_INSTALL is set; without it, packages for arm64 are fetched into $sysroot"
	fi
	if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
		leave "apt is not here to fetch libraries for arm64"
	fi
	echo "# fetching $packages for arm64 into $sysroot"
	rm -rf "$sysroot" "$cross/apt"
	mkdir -p "$sysroot"
	apt_config >"$cross/apt.conf"
	log=$cross/apt.log
	APT_CONFIG=$cross/apt.conf apt-get update >"$log" 2>&1
	# shellcheck disable=SC2086 # a list
	if ! APT_CONFIG=$cross/apt.conf apt-get -y --download-only install $packages >>"$log" 2>&1
	then
		tail -n 5 "$log" | sed 's/^/# /'
		leave "this machine's package sources do not have arm64"
	fi
	for package in "$cross"/apt/cache/archives/*.deb; do
		dpkg-deb -x "$package" "$sysroot" || leave "cannot unpack ${package##*/}"
	done
	rm -rf "$cross/apt"
	# Newer distributions ship everything below /usr.
	if [ ! -e "$sysroot/lib" ]; then
		ln -s usr/lib "$sysroot/lib"
	elif [ ! -e "$sysroot/lib/ld-linux-aarch64.so.1" ]; then
		ln -s ../usr/lib/ld-linux-aarch64.so.1 "$sysroot/lib/"
	fi
	echo "$packages" >"$sysroot/.packages"
}

compiler="aarch64-linux-gnu-gcc --sysroot=$sysroot"

cross_make() {
	make -j "$(nproc)" --no-print-directory VARIANT=aarch64 CC="$compiler" "$@" >>"$cross/make.log" 2>&1
}

# What nobody runs here is compiled, and neither optimised nor linked; nobody debugs any of it.
cross_build() {
	: >"$cross/make.log"
	# shellcheck disable=SC2046 # a list
	cross_make CFLAGS=-O2 all unit-programs build/aarch64/tests/fork_main.so &&
		cross_make CFLAGS=-O0 $(ls tests/mp_*.c tests/stress_*.c bench/*.c | sed 's,^,build/aarch64/,; s,c$,o,')
}

judge_programs() { # each is there, is aarch64, and starts
	for program in "$build"/sigring-agent "$build"/sigring-enclave "$build"/sigring-local "$build"/sigring-signer \
		"$build"/sigring-replay "$build"/sigringctl; do
		name=${program##*/}
		if [ "$(od -An -tx1 -j18 -N1 "$program")" != " b7" ]; then
			echo "not ok - $name is no aarch64 program"
			failed=1
		elif ! qemu-aarch64 -L "$sysroot" "$program" --help >"$cross/$name.log" 2>&1; then
			echo "not ok - $name --help"
			sed 's/^/# /' "$cross/$name.log"
			failed=1
		else
			echo "ok - $name is built and starts"
		fi
	done
}

emulate() { # emulate N: the programs that are named on stdin, N at once
	xargs -P "$1" -I PROGRAM sh -c '
		qemu-aarch64 -L "$0" -E LD_PRELOAD="$2/fork_main.so" PROGRAM \
			>"$1/$(basename PROGRAM).log" 2>&1
		echo $? >"$1/$(basename PROGRAM).code"' "$sysroot" "$cross" "$build/tests"
}

unit_tests() {
	find "$build/tests" -name 'test_*' -type f -executable | sort >"$cross/programs"
	# Threads that spin for each other need a CPU each, and emulated ones all the more.
	threads=$(grep -l pthread_create tests/test_*.c | sed 's,.*/,,; s,\.c$,,')
	grep -vwF "$threads" "$cross/programs" | emulate "$(nproc)"
	grep -wF "$threads" "$cross/programs" | emulate 1
	for log in "$cross"/test_*.log; do
		program=$(basename "$log" .log)
		echo "# $program"
		code=$(cat "$cross/$program.code")
		grep -E '^(ok|not ok|skip|#) ' "$log"
		if [ $code -ne 0 ]; then
			grep -q '^not ok' "$log" || echo "not ok - $program: exit code $code"
			failed=1
		fi
	done
}

# A name in the list above that no test has any more would hide the next failure.
judge_skips() {
	echo "$SR_SKIP" | while read -r name reason; do
		grep -q "^skip $name: $reason" "$cross"/test_*.log ||
			echo "not ok - $name is to be skipped, and is no test"
	done
}

ensure_tools
ensure_sysroot
rm -f "$cross"/test_*.log "$cross"/test_*.code
if cross_build; then
	echo "ok - everything compiles for aarch64, and links where it runs here"
else
	echo "not ok - cross-build"
	tail -n 20 "$cross/make.log" | sed 's/^/# /'
	exit 1
fi
judge_programs
unit_tests
stale=$(judge_skips)
if [ -n "$stale" ]; then
	echo "$stale"
	failed=1
fi
exit $failed
