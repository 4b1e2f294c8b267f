#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# image.py BUILD - an enclave image, made by enclave_shim/image.sh around a kernel that is
# none: the same file twice, from another folder and at another time; what lies in it; and
# that mkeif, `sigringctl attest pcrs` and the lines below, which share no code, measure
# the same. Then images that are spoiled.
#
# Prints `ok`, `not ok` or `skip` for each check, for tests/run.sh.
import hashlib
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
build = os.path.join(root, sys.argv[1] if len(sys.argv) > 1 else "build")
failed = 0


def check(name, good, words=""):
    global failed
    print(("ok " if good else "not ok ") + name)
    if not good:
        failed += 1
        if words:
            print("    " + str(words)[:2000])


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    return path


# ---- a kernel and modules that are none ----

def inputs(folder):
    """All that an image is made of, but for the programs, in a folder of its own."""
    kernel = bytearray(0x1000)
    kernel[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", kernel, 0x20e, 0x400)
    kernel[0x600:0x610] = b"6.12.0-test (me)"
    write(folder + "/bzImage", bytes(kernel))
    modules = folder + "/lib/modules/6.12.0"
    needs = {"virtio_mmio": "", "vsock": "", "nsm": "", "common": "vsock",
             "vmw-vsock-virtio-transport": "common,vsock"}
    for name, need in needs.items():
        write("%s/kernel/%s.ko" % (modules, name), b"\0depends=" + need.encode() + b"\0")
    write(modules + "/modules.builtin", b"kernel/drivers/virtio/virtio.ko\n")
    write(folder + "/operators", b"ab" * 32 + b"\n")
    os.makedirs(folder + "/build")
    shutil.copy(os.path.join(build, "sigringctl"), folder + "/build")
    programs = folder + "/build/static"
    os.makedirs(programs)
    for name in ("sigring-init", "sigring-enclave"):
        shutil.copyfile(os.path.join(build, "static", name), os.path.join(programs, name))


def make(folder, **more):
    env = {"PATH": os.environ["PATH"], "BUILD": folder + "/build", "OPERATORS_NEEDED": "1",
           "OPERATORS": folder + "/operators", "KERNEL": folder + "/bzImage",
           "MODULES": folder + "/lib/modules/6.12.0"}
    env.update(more)
    env = {name: value for name, value in env.items() if value is not None}
    return subprocess.run([root + "/enclave_shim/image.sh"], env=env, capture_output=True,
                          text=True, cwd=folder)


def pcrs(path):
    done = subprocess.run([build + "/sigringctl", "attest", "pcrs", path], capture_output=True,
                          text=True)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


# ---- what an image is, once more and from its description alone ----

def sections(data):
    count = struct.unpack_from(">H", data, 26)[0]
    out = []
    for i in range(count):
        offset = struct.unpack_from(">Q", data, 28 + 8 * i)[0]
        kind, _, size = struct.unpack_from(">HHQ", data, offset)
        out.append((kind, data[offset + 12:offset + 12 + size]))
    return out


def register(data):
    return hashlib.sha384(b"\0" * 48 + hashlib.sha384(data).digest()).hexdigest()


def measured(data):
    of = {kind: [d for k, d in sections(data) if k == kind] for kind in range(1, 6)}
    boot = of[1][0] + of[2][0]
    return "image %s %s %s" % (register(boot + b"".join(of[3])), register(boot + of[3][0]),
                               register(b"".join(of[3][1:])))


def archive(data):
    """Names and modes of a newc archive, in its order, and whether any time is set."""
    at, names, times = 0, [], False
    while data[at:at + 6] == b"070701":
        field = [int(data[at + 6 + 8 * i:at + 14 + 8 * i], 16) for i in range(13)]
        name = data[at + 110:at + 109 + field[11]].decode()
        if name == "TRAILER!!!":
            return names, times, data[at + 124:].strip(b"\0") == b""
        names.append((name, oct(field[1])))
        times |= field[5] != 0 or field[2] != 0 or field[3] != 0
        at = (at + 110 + field[11] + 3) & ~3
        at = (at + field[6] + 3) & ~3
    return names, times, False


def with_crc(data):
    data = bytearray(data)
    data[544:548] = struct.pack(">I", zlib.crc32(bytes(data[548:]), zlib.crc32(bytes(data[:544]))))
    return bytes(data)


BOOT = ["dev", "dev/console", "init", "modules"] + ["modules/1%d-%s.ko" % (i, name) for i, name in (
    enumerate(("virtio_mmio", "vsock", "common", "vmw_vsock_virtio_transport", "nsm")))]
SIGNER = ["signer", "signer/operators", "signer/sigring-enclave", "signer/sigring-enclave.conf"]


def test_made(work):
    one, two = work + "/one", work + "/a/longer/path"
    inputs(one)
    done = make(one)
    check("make eif makes an image", done.returncode == 0, done.stderr)
    if done.returncode:
        return None
    time.sleep(1.1)  # another second
    inputs(two)
    make(two)
    with open(one + "/build/sigring.eif", "rb") as f:
        image = f.read()
    with open(two + "/build/sigring.eif", "rb") as f:
        check("from another folder and later it is the same, byte for byte", f.read() == image)
    with open(one + "/build/sigring.eif.image") as f:
        line = f.read().strip()
    check("the line in the file is the one that was printed", line == done.stdout.strip(), line)
    check("Python's hashlib measures the same", line == measured(image), line)
    code, out, err = pcrs(one + "/build/sigring.eif")
    check("sigringctl attest pcrs measures the same", code == 0 and out == line, out + err)
    check("its checksum is zlib's", with_crc(image) == image)
    ramdisks = [d for k, d in sections(image) if k == 3]
    for name, expected, data in (("first", BOOT, ramdisks[0]), ("second", SIGNER, ramdisks[1])):
        entries, times, whole = archive(data)
        check("the %s ramdisk holds these files and no others" % name,
              sorted(n for n, _ in entries) == sorted(expected), entries)
        check("the %s ramdisk carries no time, inode's owner or rest" % name, not times and whole)
    check("modules are loaded after what they need",
          [n for n, _ in archive(ramdisks[0])[0] if ".ko" in n] == BOOT[4:])
    check("no path of the build is in it", work.encode() not in image and
          root.encode() not in image)
    check("no key and no host's ground is in it",
          not any(word in image for word in (b"sigring-key 1", b"sigring mock", b"BEGIN PRIVATE")))
    return image


def test_kernel(work, image):
    other = work + "/other"
    inputs(other)
    with open(other + "/bzImage", "ab") as f:
        f.write(b"another")
    made = make(other)
    a, b = measured(image).split(), made.stdout.split()
    check("with another kernel PCR0 and PCR1 are others, and PCR2 is the same",
          a[1] != b[1] and a[2] != b[2] and a[3] == b[3], made.stderr)


def test_inputs(work):
    folder = work + "/missing"
    inputs(folder)
    for name in ("OPERATORS", "OPERATORS_NEEDED", "KERNEL"):
        done = make(folder, **{name: None})
        check("without %s there is no image, and it says so" % name,
              done.returncode != 0 and name in done.stderr, done.stderr)
    def refused(name, words, **more):
        done = make(folder, **more)
        check("no image holds " + name, done.returncode != 0 and words in done.stderr and
              not os.path.exists(folder + "/build/sigring.eif"), done.stdout + done.stderr)

    secret = folder + "/secret"
    subprocess.run([build + "/sigringctl", "operator", "new", "--out", secret], check=True,
                   capture_output=True)
    refused("an operator's secret", "line 1", OPERATORS=secret)
    refused("fewer operators than must sign", "1", OPERATORS_NEEDED="2")
    refused("a number of operators that is none", "--k wants", OPERATORS_NEEDED="0")
    refused("an operator twice", "line 2", OPERATORS=write(folder + "/twice",
                                                          (b"ab" * 32 + b"\n") * 2))
    refused("a list of nobody", "operator", OPERATORS=write(folder + "/none", b"# nobody\n"))
    with_manifest = make(folder, MANIFEST=write(folder + "/manifest", b"{}"))
    with open(folder + "/build/sigring.eif", "rb") as f:
        second = [d for k, d in sections(f.read()) if k == 3][1]
    check("a manifest is put into it, and its configuration says so",
          with_manifest.returncode == 0 and b"manifest /signer/manifest\n" in second and
          sorted(n for n, _ in archive(second)[0]) == sorted(SIGNER + ["signer/manifest"]),
          with_manifest.stderr)
    os.unlink(folder + "/lib/modules/6.12.0/kernel/vsock.ko")
    done = make(folder)
    check("a module that is missing is named", done.returncode != 0 and "vsock" in done.stderr,
          done.stderr)


def test_signed(work, image):
    folder = work + "/signed"
    inputs(folder)
    key, pem, der = folder + "/key.pem", folder + "/cert.pem", folder + "/cert.der"
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:secp384r1", "-nodes", "-keyout", key, "-out", pem,
                        "-subj", "/CN=test", "-days", "2"], check=True, capture_output=True)
        subprocess.run(["openssl", "x509", "-in", pem, "-outform", "DER", "-out", der], check=True)
    except OSError:
        print("skip a signed image: openssl is not installed")
        return
    other, small = folder + "/other.pem", folder + "/small"
    for out, curve in ((other, "secp384r1"), (small + ".pem", "prime256v1")):
        subprocess.run(["openssl", "ecparam", "-name", curve, "-genkey", "-noout", "-out", out],
                       check=True, capture_output=True)
    subprocess.run(["openssl", "req", "-x509", "-key", small + ".pem", "-out", small + ".cert",
                    "-subj", "/CN=test", "-days", "2"], check=True, capture_output=True)
    done = make(folder, SIGN_KEY=other, SIGN_CERT=pem)
    check("a key that is not the certificate's signs nothing", done.returncode == 1 and
          "is not the key of" in done.stderr and not os.path.exists(folder + "/build/sigring.eif"),
          done.stderr)
    done = make(folder, SIGN_KEY=small + ".pem", SIGN_CERT=small + ".cert")
    check("a key on another curve signs nothing", done.returncode == 1 and
          "is not a key on P-384" in done.stderr, done.stderr)
    done = make(folder, SIGN_KEY=key, SIGN_CERT=pem)
    with open(der, "rb") as f:
        expected = measured(image) + " 8=" + register(f.read())
    check("a signature leaves PCR0-2 and adds PCR8, that of its certificate",
          done.stdout.strip() == expected, done.stdout + done.stderr)
    code, out, err = pcrs(folder + "/build/sigring.eif")
    check("sigringctl reads the certificate out of the image", code == 0 and out == expected,
          out + err)
    with open(folder + "/build/sigring.eif", "rb") as f:
        check_signature(work, f.read(), pem)


def numbers(data, at):
    """A CBOR array of small numbers: the bytes, and where it ends."""
    wide = data[at] == 0x99
    count = struct.unpack_from(">H" if wide else ">B", data, at + 1)[0]
    at += 3 if wide else 2
    out = bytearray()
    for _ in range(count):
        if data[at] < 24:
            out.append(data[at])
            at += 1
        else:
            out.append(data[at + 1])
            at += 2
    return bytes(out), at


def check_signature(work, image, pem):
    """openssl verifies what mkeif signed: COSE_Sign1 over the index and value of PCR0."""
    data = [d for k, d in sections(image) if k == 4][0]
    _, at = numbers(data, 3 + 18 + 1)  # [ { "signing_certificate":
    cose, _ = numbers(data, at + 10)  # "signature":
    payload, raw = cose[9:9 + cose[8]], cose[-96:]
    message = (b"\x84\x6aSignature1\x44\xa1\x01\x38\x22\x40" +
               bytes([0x58, len(payload)]) + payload)

    def integer(n):
        n = n.lstrip(b"\0")
        n = b"\0" + n if n[0] & 0x80 else n
        return b"\x02" + bytes([len(n)]) + n

    inner = integer(raw[:48]) + integer(raw[48:])
    write(work + "/sig/der", b"\x30" + bytes([len(inner)]) + inner)
    public = subprocess.run(["openssl", "x509", "-in", pem, "-pubkey", "-noout"],
                            capture_output=True, check=True).stdout
    write(work + "/sig/pub", public)
    done = subprocess.run(["openssl", "dgst", "-sha384", "-verify", work + "/sig/pub",
                           "-signature", work + "/sig/der"], input=message, capture_output=True)
    check("the signature is one of that certificate over PCR0", done.returncode == 0,
          done.stdout + done.stderr)


# ---- images that are none ----

def patched(image, offset, form, value):
    data = bytearray(image)
    struct.pack_into(form, data, offset, value)
    return with_crc(data)


def test_spoiled(work, image):
    size = struct.unpack_from(">Q", image, 284)[0]
    spoiled = {
        "an empty file": b"",
        "a header alone": with_crc(image[:548]),
        "another magic": b"ELF." + image[4:],
        "a byte that was changed": image[:-600] + bytes([image[-600] ^ 1]) + image[-599:],
        "one that is cut": image[:-1],
        "one with a byte behind": with_crc(image + b"\0"),
        "version 5": patched(image, 4, ">H", 5),
        "version 1": patched(image, 4, ">H", 1),
        "33 sections": patched(image, 26, ">H", 33),
        "no sections": patched(image, 26, ">H", 0),
        "a section of 2^64 - 1 bytes": patched(image, 284, ">Q", 2 ** 64 - 1),
        "a section a byte shorter than it says": patched(image, 284, ">Q", size - 1),
        "a section upon the header": patched(image, 28, ">Q", 0),
        "a section far outside": patched(image, 28, ">Q", 2 ** 63),
        "a section of no known type": patched(image, 548, ">H", 6),
        "two kernels": patched(image, 548 + 12 + size, ">H", 1),
    }
    for name, data in spoiled.items():
        code, out, err = pcrs(write(work + "/spoiled.eif", data))
        check("not measured: " + name, code == 1 and not out and err.count("\n") == 0 and err,
              out + err)
    code, out, err = pcrs(work + "/nowhere")
    check("a file that is not there is said to be so", code == 1 and "No such file" in err, err)
    code, out, err = pcrs("/dev/zero")
    check("a device is not read", code == 1 and not out, err)


def main():
    with tempfile.TemporaryDirectory() as work:
        image = test_made(work)
        if image:
            test_kernel(work, image)
            test_inputs(work)
            test_signed(work, image)
            test_spoiled(work, image)
    sys.exit(failed > 0)


main()
