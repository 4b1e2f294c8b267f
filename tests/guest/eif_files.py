#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# eif_files.py EIF - the names, modes and sizes of what the ramdisks of an enclave image
# hold, a line each. Written apart from mkeif: it only reads.
import struct
import sys

data = open(sys.argv[1], "rb").read()
magic, version, _, _, _, _, count = struct.unpack_from(">4sHHQQHH", data)
if magic != b".eif" or version != 4 or count > 32:
    sys.exit("this is no EIF of version 4")
for at in struct.unpack_from(">32Q", data, 28)[:count]:
    kind, _, size = struct.unpack_from(">HHQ", data, at)
    if kind != 3:
        continue
    disk, pos = data[at + 12:at + 12 + size], 0
    while pos + 110 <= len(disk):
        if disk[pos:pos + 6] != b"070701":
            if disk[pos:].strip(b"\0"):
                sys.exit("a ramdisk has something behind its archive")
            break
        field = [int(disk[pos + 6 + 8 * i:pos + 14 + 8 * i], 16) for i in range(13)]
        mode, bytes_, named = field[1], field[6], field[11]
        name = disk[pos + 110:pos + 110 + named - 1].decode()
        pos = (pos + 110 + named + 3) & ~3
        pos = (pos + bytes_ + 3) & ~3
        if name == "TRAILER!!!":
            while pos < len(disk) and disk[pos] == 0:
                pos += 1
            continue
        print("%s %o %d" % (name.lstrip("/"), mode, bytes_))
