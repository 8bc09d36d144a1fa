#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Long runs of every virtual board, protocol and option set through the live server: the history is
what QEMU executed, instruction by instruction; with an ETB, what that holds."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench" / "gdb"))
from live_gdb import Live  # noqa: E402
from live_runs import (SETS, check_damage, check_etb, check_overflow, equal_run,  # noqa: E402
                       prepare, run_long)
from replay_gdb import Suite, expect  # noqa: E402

suite = Suite()
COUNT = 2000000


def add(name, cores):
    @suite.test(f"live: {COUNT} instructions and more: {name}")
    def _():
        path, elf, _ = prepare(name)
        with Live(path) as live:
            recording, histories = run_long(live, elf, COUNT)
            ran = equal_run(live, recording, histories, cores)
        expect(ran >= COUNT, f"only {ran} instructions")


def also(text, function, name, *arguments):
    suite.test(f"live: {text}: {name}")(lambda: function(name, *arguments))


for title, (_, _, number, _, _) in SETS.items():
    add(title, number)
CYCLES = "A9, ETMv3, cycle counts, context ID, timestamps"
A53 = "A53, ETMv4, return stack"
for title in ("A9, PTM, return stack", "M3, ETMv3", "M7, ETMv4", A53):
    for how in ("flip", "drop", "double", "insert"):
        also(f"damaged on the way ({how})", check_damage, title, [how], 300000)
for title in (CYCLES, "M4, ETMv3", "M33, ETMv4"):
    also("damaged on the way", check_damage, title, ["flip", "drop", "double", "insert"], 300000)
for title in ("A9, PTM, return stack", CYCLES, "M3, ETMv3", "M7, ETMv4", A53):
    also("overflow", check_overflow, title, 300000)
for title in ("A9, PTM, return stack", "A9, ETMv3", "M3, ETMv3", "M4, ETMv3", "M7, ETMv4", A53):
    also("trace buffer", check_etb, title, 300000)

suite.run()
