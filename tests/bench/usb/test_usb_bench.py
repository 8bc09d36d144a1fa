#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A libusb program sees the modelled probe, both versions, and every fault of the bus."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
BENCH = ROOT / "build/release/umockdev_probe"
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


# Runs inside the test bench: a client that stays, another one, and the cable between them.
CABLE = """
import socket, subprocess, sys
client, path = sys.argv[1:]
link = socket.socket(socket.AF_UNIX)
link.connect(path)
link.settimeout(200)
lines = link.makefile("rw")
def ask(text):
    print(text, file=lines, flush=True)
    answer = []
    while not answer or not answer[-1].startswith(("ok", "error")):
        answer.append(lines.readline().strip())
    return answer
def run():
    done = subprocess.run(["sh", "-c", "sh -c '%s; exit $?'" % client], stdout=subprocess.PIPE,
                          text=True, timeout=200)
    return " ".join(done.stdout.split("\\n")[:2]).strip()
print(ask("nonsense")[-1], "|", ask("fault wait=x")[-1])
print(run(), "|", run())
stays = subprocess.Popen([client, "follow"], stdout=subprocess.PIPE, text=True)
print(stays.stdout.readline().strip())
print(ask("unplug")[-1], "|", ask("unplug")[-1], "|", stays.stdout.readline().strip())
print(ask("replug")[-1], "|", stays.communicate(timeout=200)[0].strip(), "|", run())
ask("stall 1")
print(run(), "|", ask("unplug")[-1], run(), "|", ask("counters")[0])
"""


def cable():
    """Children of children see the probe; the cable is pulled and put back under a client."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "control")
        done = subprocess.run([BENCH, "--control", path, "--", sys.executable, "-c", CABLE, CLIENT,
                               path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=300)
    wanted = ["error unknown command | error bad fault", f"{BULK} {BULK} | {BULK} {BULK}", BULK,
              "ok | ok | LIBUSB_ERROR_NO_DEVICE", f"ok | {BULK} | {BULK} {BULK}",
              f"stall {BULK} {BULK} | ok no device | packets 22"]
    got = done.stdout.splitlines()
    ok = done.returncode == 0 and got == wanted
    print("PASS usb: control socket, cable pulled and put back" if ok
          else f"FAIL usb: control socket, cable: {done.returncode}, {got}", flush=True)
    return ok


def main():
    if not shutil.which("umockdev-wrapper"):
        required = os.environ.get("BTRACED_REQUIRE_DATA") == "1"
        print(f"{'FAIL' if required else 'SKIP'} usb: 'umockdev-wrapper' is not installed")
        return int(required)
    failed = False
    for name, options, wanted in CASES:
        done = subprocess.run([BENCH, *options, "--", CLIENT], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300)
        got = done.stdout.splitlines()
        ok = done.returncode == 0 and got == wanted
        failed |= not ok
        print(f"PASS usb: {name}" if ok else f"FAIL usb: {name}: {done.returncode}, {got}",
              flush=True)
    for code in (0, 3):
        done = subprocess.run([BENCH, "--", "sh", "-c", f"exit {code}"], timeout=300)
        ok = done.returncode == code
        failed |= not ok
        print(f"PASS usb: exit code {code}" if ok
              else f"FAIL usb: exit code {code}: {done.returncode}", flush=True)
    failed |= not cable()
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
