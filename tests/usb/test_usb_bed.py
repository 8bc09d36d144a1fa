#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A libusb program sees the modelled probe, both versions, and every fault of the bus."""

import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BED = ROOT / "build/release/umockdev_probe"
CLIENT = ROOT / "build/release/usb_client"
BULK = "3: 00 01 04"
HID = "64: 00 01 04 00"
CASES = (
    ("v2, bulk", [], [BULK] * 5),
    ("v1, HID", ["--v1"], [HID] * 5),
    ("a stall is cleared", ["--stall-after", "2"], [BULK, "stall " + BULK] + [BULK] * 3),
    ("a short packet", ["--short-after", "3"], [BULK, BULK, "1: 00", BULK, BULK]),
    ("a lost response", ["--lose-after", "2"],
     [BULK, "LIBUSB_ERROR_TIMEOUT"] + [BULK] * 3),
    ("unplugged", ["--unplug-after", "3"], [BULK, BULK] + ["LIBUSB_ERROR_NO_DEVICE"] * 3),
)


def main():
    if not shutil.which("umockdev-wrapper"):
        required = os.environ.get("BTRACED_REQUIRE_DATA") == "1"
        print(f"{'FAIL' if required else 'SKIP'} usb: 'umockdev-wrapper' is not installed")
        return int(required)
    failed = False
    for name, options, wanted in CASES:
        done = subprocess.run([BED, *options, "--", CLIENT], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        got = done.stdout.splitlines()
        ok = done.returncode == 0 and got == wanted
        failed |= not ok
        print(f"PASS usb: {name}" if ok else f"FAIL usb: {name}: {done.returncode}, {got}",
              flush=True)
    for code in (0, 3):
        done = subprocess.run([BED, "--", "sh", "-c", f"exit {code}"], timeout=60)
        ok = done.returncode == code
        failed |= not ok
        print(f"PASS usb: exit code {code}" if ok
              else f"FAIL usb: exit code {code}: {done.returncode}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
