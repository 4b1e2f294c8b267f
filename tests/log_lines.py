#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# log_lines.py - each line that an agent, a signer or an enclave logs is in
# docs/operations.md: of the text of each call that logs, the longest piece between
# what is put into it.
import os
import re
import sys

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CALLS = r"\b(sr_porter_note|sr_agent_note|sr_agent_note_limited|note|say|fatal|die)\("


def calls(text):
    """The arguments of each call, up to the semicolon behind it."""
    for at in re.finditer(CALLS, text):
        yield text[at.end():text.index(";", at.end())]


def pieces(arguments):
    """Literals that stand together are one; so are the pieces between conversions."""
    for run in re.findall(r'(?:"(?:[^"\\]|\\.)*"\s*)+', arguments):
        text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', run))
        yield max(re.split(r"%[-+ 0-9.*]*(?:ll|l|z)?[a-zA-Z]|\\.", text), key=len).strip(" :;,.()`")


def main():
    with open(os.path.join(root, "docs/operations.md")) as f:
        page = f.read()
    page = re.sub(r"\s+", " ", page)
    failed = found = 0
    for folder in ("enclave_shim", "host_agent"):
        for name in sorted(os.listdir(os.path.join(root, folder))):
            if not name.endswith(".c") or name.startswith(("sr_ctl", "sigringctl", "sr_tune", "sigring_tune")):
                continue
            with open(os.path.join(root, folder, name)) as f:
                text = f.read()
            for arguments in calls(text):
                for piece in pieces(arguments):
                    if len(piece) < 8:
                        continue
                    found += 1
                    if piece not in page:
                        print("    %s/%s: %s" % (folder, name, piece))
                        failed += 1
    print("%s each of %d log lines is in docs/operations.md" % ("not ok" if failed or found < 40 else "ok", found))
    sys.exit(failed > 0)


main()
