#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What picks vector instructions by the processor runs on one that has none of them: unit tests and whole
captures on an emulated Core 2, which knows neither AVX2 nor POPCNT and stops at them."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("BTRACED_DATA", ROOT.parent / "shared/data"))
OLD = ["qemu-x86_64", "-cpu", "core2duo"]
UNITS = ("test_history_reach", "test_history", "test_etmv3_pheaders", "test_formatter")
CAPTURES = ("cc1-etmv4", "juno-etmv4", "tc2-etmv3-ptm", "a15-ptm-return-stack", "m3-etmv3-swo")


def result(ok, name, why):
    print(f"PASS old processor: {name}" if ok else f"FAIL old processor: {name}: {why}", flush=True)
    return ok


def run(command):
    return subprocess.run(command, capture_output=True, check=False, timeout=300)


def unit(name):
    done = run([*OLD, ROOT / "build/release/unit" / name])
    return result(done.returncode == 0, name, f"exit code {done.returncode}: {done.stdout[-500:]}")


def capture(name):
    command = [ROOT / "build/btraced", "decode", DATA / name]
    want, got = run(command), run([*OLD, *command])
    ok = want.returncode == got.returncode == 0 and want.stdout == got.stdout and len(want.stdout) > 0
    return result(ok, name, f"exit codes {want.returncode} and {got.returncode}: {got.stderr[-500:]}")


def main():
    good = all([unit(name) for name in UNITS])
    if DATA.is_dir():
        good &= all([capture(name) for name in CAPTURES])
    else:
        must = os.environ.get("BTRACED_REQUIRE_DATA") == "1"
        print(f"{'FAIL' if must else 'SKIP'} old processor: {DATA}: no captures")
        good &= not must
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
