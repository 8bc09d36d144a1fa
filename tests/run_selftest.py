#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run.sh and its second attempts, in a tree of tests that fail as they are told."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent
# What the file prints the first time, and when it is asked for one test.
PROGRAM = """#!/bin/sh
echo "$0 $*" >>ran
if [ $# -eq 0 ]; then
{first}
else
{again}
fi
"""
FILES = {
    "gdb/test_busy.py": ("echo PASS one; echo 'FAIL two: was late: by 3 s'; exit 1", "echo \"PASS $1\""),
    "gdb/test_broken.py": ("echo PASS one; echo 'FAIL three: is wrong'; exit 1",
                           "echo \"FAIL $1: is wrong still\"; exit 1"),
    "gdb/test_crash.py": ("echo 'FAIL four: no answer'; echo '#   SERVER CRASHED'; exit 1", "echo \"PASS $1\""),
    "gdb/test_sanitizer.py": ("echo 'FAIL five: ERROR: AddressSanitizer: x'; exit 1", "echo \"PASS $1\""),
    "gdb/test_exact.py": ("echo 'FAIL six: differs'; exit 1", "echo \"PASS $1\""),
}
UNLISTED = "gdb/test_exact.py"


def run(files):
    """The lines of run.sh's last part, and which programs ran with which argument."""
    with tempfile.TemporaryDirectory(prefix="btraced-test.") as name:
        root = Path(name)
        for file, (first, again) in files.items():
            path = root / "tests" / "bench" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(PROGRAM.format(first=first, again=again))
            path.chmod(0o755)
        shutil.copy(TESTS / "run.sh", root / "tests" / "run.sh")
        (root / "tests" / "attempts.txt").write_text(
            "# a comment\n" + "".join(f"tests/bench/{file}  late\n" for file in files if file != UNLISTED))
        done = subprocess.run(["tests/run.sh", "quick"], cwd=root, env=dict(os.environ, TEST_JOBS="4"),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
        log = (root / "build" / "check-quick.log").read_text()
        return done.stdout, log, (root / "ran").read_text().splitlines()


def main():
    failed = 0
    out, log, ran = run(FILES)

    def check(name, good):
        nonlocal failed
        failed += not good
        print(f"{'PASS' if good else 'FAIL'} {name}{'' if good else ': ' + out[-1500:]}")

    again = [line for line in ran if len(line.split()) > 1]
    check("a late test runs again by itself and counts as passed",
          "PASS [gdb] two" in log and "FAIL [gdb] two" not in log)
    check("the run says what it tried again",
          re.search(r"^second attempt \(tests/attempts.txt\): \[gdb\] two: was late: by 3 s$", out, re.M))
    check("what fails again has failed", "FAIL [gdb] three: is wrong still" in log)
    check("what crashed is not tried again", "FAIL [gdb] four" in log and "PASS [gdb] four" not in log)
    check("nor what a sanitizer complained of", "FAIL [gdb] five" in log)
    check("nor what is not on the list", "FAIL [gdb] six" in log and "PASS [gdb] six" not in log)
    check("only what failed runs again",
          sorted(again) == sorted(["tests/bench/gdb/test_broken.py three", "tests/bench/gdb/test_busy.py two"]))
    many = {f"gdb/test_{n}.py": ("echo 'FAIL it: was late'; exit 1", "echo \"PASS $1\"") for n in range(7)}
    out, log, ran = run(many)
    check("more than six second attempts are a failure", "FAIL [run] 7 tests were tried again" in log)
    sys.exit(failed != 0)


main()
