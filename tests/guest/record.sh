#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# record.sh BUILD [NAME...] - records the hosts of tests/vectors/hosts/guest-NAME.txt.
#
# Each is a guest of four CPUs (QEMU, emulated) with Debian's cloud kernel, booted with
# the command line below; in one of them sigring-tune changes what it can before the
# record is made. The guest writes the files that sigring-tune reads, and what check said
# there, to a serial port. The record is kept when check says the same of it here. For
# the maintainer: no target of the Makefile runs this. Exit code 77: not here.
set -u
name=record
build=${1:-build}
shift
cd "$(dirname "$0")/../.." || exit 1
. tests/guest/debian.sh
. tests/guest/guest.sh
qemu=qemu-system-x86_64
limit_s=900

smp() { # NAME
	case $1 in
	tuned) echo 4,cores=4 ;;
	*) echo 4,cores=2,threads=2 ;;
	esac
}

options() { # NAME: of the kernel's command line
	case $1 in
	untuned) ;;
	tuned)
		echo "isolcpus=managed_irq,domain,1-3 nohz_full=1-3 rcu_nocbs=1-3 irqaffinity=0" \
			"processor.max_cstate=1 transparent_hugepage=madvise hugepagesz=2M hugepages=64"
		;;
	# Half of it done, and half of that wrong: two of three CPUs isolated, without
	# managed_irq; another list for nohz_full; too few huge pages; idle=poll with siblings.
	mistaken)
		echo "isolcpus=2-3 nohz_full=3 irqaffinity=0-2 idle=poll mitigations=off" \
			"transparent_hugepage=always hugepages=8"
		;;
	*) return 1 ;;
	esac
}

# What the guest does before it is looked at.
before() { # NAME
	[ "$1" != tuned ] || echo "/sigring/sigring-tune apply --state /tmp/state | sed 's/^/# apply: /'"
}

describe() { # NAME KERNEL: the head of the record
	echo "# Recorded by tests/guest/record.sh: $1, a guest of QEMU (emulated, -smp $(smp "$1"))."
	echo "# Debian 12, $2; command line: ${options:-nothing that matters}."
	[ -z "$(before "$1")" ] || echo "# Then, inside: sigring-tune apply."
	echo "#"
	echo "# PATH:FIRST LINE, as \`grep -r .\` prints it; what is not listed was not there."
}

# Every file that an item reads. That an interrupt's file may not be written is said in a
# line of its own: by that newer kernels tell those that they place themselves.
files='/proc/cmdline /proc/stat /proc/irq/default_smp_affinity /proc/irq/*/*affinity_list
/proc/sys/kernel/numa_balancing /proc/sys/kernel/sched_rt_runtime_us /proc/sys/kernel/*watchdog*
/proc/sys/kernel/timer_migration /proc/sys/vm/stat_interval
/sys/devices/system/cpu/online /sys/devices/system/cpu/present /sys/devices/system/cpu/possible
/sys/devices/system/cpu/isolated /sys/devices/system/cpu/nohz_full
/sys/fs/cgroup/cpuset.cpus.isolated /sys/module/nitro_enclaves/parameters/ne_cpus
/sys/devices/system/cpu/smt/active /sys/devices/system/cpu/smt/control
/sys/devices/system/cpu/cpuidle/current_driver
/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state*/disable
/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state*/latency
/sys/devices/system/cpu/cpu[0-9]*/cpuidle/state*/name
/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list
/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_driver
/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor
/sys/devices/system/cpu/vulnerabilities/*
/sys/devices/system/clocksource/clocksource0/*_clocksource
/sys/devices/virtual/workqueue/cpumask /sys/devices/virtual/dmi/id/product_name
/sys/devices/virtual/dmi/id/sys_vendor /sys/fs/cgroup/cpu.max /sys/kernel/mm/ksm/run
/sys/kernel/mm/hugepages/hugepages-2048kB/*_hugepages
/sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/mm/transparent_hugepage/defrag'

record() { # NAME ROOT WORK KERNEL
	local host=$1 root=$2 work=$3 kernel=$4 options out code tree
	options=$(options "$host") || { echo "record.sh: no host $host" >&2; exit 2; }
	{
		before "$host"
		echo "sleep 5 # the kernel is still at work"
		echo 'echo BEGIN'
		echo "grep -H -m 1 '' $(tr '\n' ' ' <<<"$files") 2>/dev/null"
		echo "for f in /proc/irq/*/smp_affinity_list; do case \$(ls -l \$f) in -r--r--r--*) echo \"# read-only: \$f\" ;; esac; done"
		echo 'echo CHECK; /sigring/sigring-tune check; echo END'
	} >"$root/record"
	echo ". /record" >"$root/tests"
	guest_pack "$root" "$work/initrd" "$busybox"
	echo "recording $host" >&2
	nice timeout $limit_s $qemu -M q35,accel=tcg -cpu max -smp "$(smp "$host")" -m 768M \
		-nodefaults -no-user-config -display none -no-reboot \
		-drive "file=$work/disk,format=raw,if=none,id=disk" \
		-device virtio-blk-pci,drive=disk,num-queues=4 \
		-netdev user,id=net,restrict=on -device virtio-net-pci,netdev=net \
		-kernel "$kernel" -initrd "$work/initrd" \
		-append "console=ttyS0 panic=-1 quiet $options" \
		-serial "file:$work/console.$host" -serial "file:$work/out.$host" \
		>"$work/qemu.$host" 2>&1
	code=$?
	out=$work/out.$host
	tr -d '\r' <"$work/out.$host" >"$work/text.$host"
	out=$work/text.$host
	grep -q '^END$' "$out" || { echo "record.sh: $host did not come to its end (QEMU: exit code $code)" >&2
		tail -n 20 "$out" "$work/console.$host" "$work/qemu.$host" >&2; exit 1; }
	tree=tests/vectors/hosts/guest-$host.txt
	{
		describe "$host" "$(basename "$kernel")"
		sed -n 's/^# apply: /# /p' "$out"
		sed -n '/^BEGIN$/,/^CHECK$/p' "$out" | sed '1d;$d'
		echo "/proc/sys/kernel/random/boot_id:11111111-2222-4333-8444-555555555555"
	} >"$work/new.$host"
	# The same verdicts of the record as of the guest?
	rm -rf "$work/tree"
	grep -v '^#' "$work/new.$host" | while IFS= read -r line; do
		mkdir -p "$work/tree$(dirname "${line%%:*}")"
		printf '%s\n' "${line#*:}" >"$work/tree${line%%:*}"
	done
	sed -n 's/^# read-only: //p' "$work/new.$host" | while IFS= read -r file; do
		chmod a-w "$work/tree$file"
	done
	"$build/sigring-tune" check --root "$work/tree" >"$work/here"
	sed -n '/^CHECK$/,/^END$/p' "$out" | sed '1d;$d' >"$work/there"
	# Of several interrupts, check names the one that the folder has first.
	sed -i 's,/proc/irq/[0-9]*/,/proc/irq/N/,' "$work/there" "$work/here"
	diff "$work/there" "$work/here" >&2 ||
		{ echo "record.sh: check says another thing of the record than of $host" >&2; exit 1; }
	mv "$work/new.$host" "$tree"
	echo "$tree"
}

[ "$(uname -m)" = x86_64 ] || leave "the guest is an x86-64 one"
command -v $qemu >/dev/null || leave "QEMU is not installed (qemu-system-x86)"
mkdir -p "$cache"
kernel=$(debian_unpack "$(debian_kernel bookworm)") || { echo "$kernel"; exit 77; }
busybox=$(debian_unpack busybox-static) || { echo "$busybox"; exit 77; }
work=$build/record
rm -rf "$work"
mkdir -p "$work"
truncate -s 16M "$work/disk"
guest_root "$work/root" "$busybox" "$kernel" \
	virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci failover net_failover virtio_net virtio_blk
guest_programs "$work/root" "$build" sigring-tune
for host in ${*:-untuned tuned mistaken}; do
	record "$host" "$work/root" "$work" "$(ls "$kernel"/boot/vmlinuz-*)"
done
