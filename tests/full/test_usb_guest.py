#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The emulated probe on a real kernel's USB stack: tests of tests/bench/usb, run in a small guest. The first
and four others, drawn anew in each run: BTRACED_SEED."""

import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GUEST = ROOT / "tests/bench/usb/guest/run.sh"
NO_KERNEL = 3
# Each in a guest of its own, with the names of the tests to run: the test bench follows
# BTRACED_USB_BENCH.
TESTS = (
    ("test_usb_bench.py",),
    ("test_openocd.py",),
    ("test_probe_gdb.py", "registers of the core", "breakpoints, steps", "HID, JTAG",
     "a probe that is pulled"),
    ("test_trace_endpoint.py", "whole", "cable"),
    ("test_probe_ftdi.py", "ftdi: SWD by a resistor"),
    ("test_probe_board.py", "what ran", "the same over", "pulled"),
    ("test_probe_a.py", "a data abort"),
    ("test_orbtrace.py", "recorded"),
    ("test_ftdi_fifo.py", "three forms", "pulled"),
    ("test_uart.py", "recorded"),
)


def main():
    failed = 0
    seed = int(os.environ.get("BTRACED_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"# BTRACED_SEED={seed}", flush=True)
    environment = os.environ | {"GUEST_SECONDS": "1200", "BTRACED_PATIENCE": "600",
                                "BTRACED_BAUD": "250000",
                                "GUEST_ENV": "BTRACED_PATIENCE BTRACED BTRACED_BAUD"}
    for test, *names in (TESTS[0], *random.Random(seed).sample(TESTS[1:], 4)):
        done = subprocess.run([GUEST, "python3", f"tests/bench/usb/{test}", *names],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=environment)
        if done.returncode == NO_KERNEL:
            must = os.environ.get("BTRACED_REQUIRE_GUEST") == "1"
            print(f"{'FAIL' if must else 'SKIP'} guest: Debian's kernel package cannot be downloaded")
            return int(must)
        lines = done.stdout.splitlines()
        for line in lines:
            word, _, rest = line.partition(" ")
            print(f"{word} guest: {rest}" if word in ("PASS", "FAIL", "SKIP") else line)
        good = any(line.startswith("PASS") for line in lines)
        if done.returncode or not good:
            failed += 1
            print(f"FAIL guest: {test}: exit code {done.returncode}")
        sys.stdout.flush()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
