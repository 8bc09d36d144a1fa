# SPDX-License-Identifier: BSD-3-Clause
"""Runs inside GDB: stops a live target at random in many ways, and after each stop writes what
ran by the board's account and what GDB's history lists. A line a stop, JSON, to $STOPS_OUT; with $STOPS_GAPS there
may be gaps, and the new ones are written, too."""

import json
import os
import random
import subprocess

import gdb

SHOWN = 100
GAPS = bool(os.environ.get("STOPS_GAPS"))
BITS = int(os.environ.get("STOPS_BITS", "32"))  # of an address


def executed():
    """Instructions in the board's account, which is complete while it is halted."""
    return os.path.getsize(os.environ["STOPS_TRUTH"]) * 8 // BITS


def pc():
    return int(gdb.parse_and_eval("$pc")) & ((1 << BITS) - 1)


def listed():
    """Addresses of the newest instructions, newest last."""
    gdb.execute("info record", to_string=True)
    record = gdb.current_recording()
    rows = record.instruction_history
    found = []
    for row in reversed(rows[max(0, len(rows) - SHOWN):]):
        try:
            found.insert(0, row.pc & ((1 << BITS) - 1))
        except gdb.error:  # a gap
            if not GAPS:
                raise
            break
    return found


def gap_lines():
    text = gdb.execute("monitor trace gaps", to_string=True) if GAPS else ""
    return [line for line in text.splitlines() if line.startswith("before ")]


def run(command):
    try:
        gdb.execute(command, to_string=True)
    except KeyboardInterrupt:
        pass


# A Ctrl-C that comes before GDB waits for the target is none: the core runs, so its account grows, or
# it is asleep for that long.
CTRL_C = """
sleep $1
tries=0
while [ "$(stat -c %s "$STOPS_TRUTH")" -le $2 ] && [ $tries -lt 60 ]; do
    sleep 0.05
    tries=$((tries + 1))
done
kill -INT $3
"""


def interrupted(seconds):
    """Ctrl-C from outside: Python's threads stand still while GDB waits for the target."""
    size = os.path.getsize(os.environ["STOPS_TRUTH"])
    timer = subprocess.Popen(["sh", "-c", CTRL_C, "sh", str(seconds), str(size), str(os.getpid())])
    run("continue")
    timer.wait()


def stop_somehow(dice, functions):
    kind = dice.choice(["step", "steps", "break", "break", "here", "interrupt"])
    if kind == "step":
        run("stepi")
    elif kind == "steps":
        run(f"stepi {dice.randrange(2, 40)}")
    elif kind == "break":
        run(f"tbreak {dice.choice(functions)}")
        run("continue")
    elif kind == "here":  # not each place comes again: the next tick will do
        run(f"tbreak *{pc():#x}")
        run("tbreak timer_tick")
        run("continue")
        run("delete")
    else:
        interrupted(dice.uniform(0.05, 0.3))
    return kind


def main():
    dice = random.Random(int(os.environ["STOPS_SEED"]))
    functions = os.environ["STOPS_FUNCTIONS"].split()
    gdb.execute("set record btrace bts buffer-size 9600")
    gdb.execute("record btrace")
    gaps = gap_lines()
    with open(os.environ["STOPS_OUT"], "w") as out:
        for _ in range(int(os.environ["STOPS_COUNT"])):
            before = executed()
            kind = stop_somehow(dice, functions)
            now = gap_lines()
            print(json.dumps({"kind": kind, "ran": executed() - before, "executed": executed(), "pc": pc(),
                              "listed": listed(), "gaps": now[len(gaps):]}), file=out, flush=True)
            gaps = now


main()
