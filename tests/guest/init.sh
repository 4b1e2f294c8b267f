#!/bin/busybox sh
# SPDX-License-Identifier: MIT
# Process 1 of a guest (guest.sh): runs what /tests lists, one command a line, and ends
# the machine. What they print goes to the second serial port, or to sigring_out= of the
# kernel's command line.
B=/bin/busybox
$B mkdir -p /proc /sys /dev /tmp
$B --install -s /bin
$B mount -t proc proc /proc
$B mount -t sysfs sys /sys
$B mount -t devtmpfs dev /dev
$B mkdir -p /dev/shm
$B mount -t tmpfs -o mode=1777 tmp /tmp
$B mount -t tmpfs -o mode=1777 shm /dev/shm
exec >"/dev/${sigring_out:-ttyS1}" 2>&1
for module in /modules/*; do
	$B insmod "$module" || echo "not ok - cannot load $module"
done
export PATH=/bin LD_LIBRARY_PATH=/lib SIGRING_BIN=/sigring
while read -r test; do
	echo "# $test"
	$B timeout 600 $B sh -c "$test" </dev/null
	code=$?
	[ $code -eq 0 ] || echo "# exit code $code: $test"
done </tests
echo "# the guest is done"
$B sync
$B reboot -f
