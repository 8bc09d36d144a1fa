# SPDX-License-Identifier: BSD-3-Clause
"""Runs inside GDB, connected to a target with reverse execution: sets watchpoints and breakpoints, moves, and
tells where GDB stops: what it says itself stands between the lines that begin with @@. WATCH_JOB names a file: cases,
each {"position": where it starts, "commands": [...], "motion": "reverse-continue", "times": n}."""

import json
import os
import re

import gdb


def quiet(command):
    return gdb.execute(command, to_string=True)


def where():
    match = re.search(r"instruction (\d+)", quiet("monitor where"))
    return int(match[1]) - 1 if match else None


def tell(text):
    gdb.write(f"@@{text}\n")
    gdb.flush()


def main():
    with open(os.environ["WATCH_JOB"], encoding="ascii") as file:
        cases = json.load(file)
    for case in cases:
        quiet("delete")
        quiet(f"monitor goto {case['position'] + 1}")
        quiet("stepi")
        for command in case["commands"]:
            quiet(command)
        tell("case")
        for _ in range(case["times"]):
            gdb.execute(case["motion"])
            at = where()
            tell(f"at {'end' if at is None else at}")
            if at in (0, None):
                break


main()
