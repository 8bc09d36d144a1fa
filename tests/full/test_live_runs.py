#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Long runs of virtual boards, protocols and option sets through the live server: the history is
what QEMU executed, instruction by instruction; with an ETB, what that holds. Each run has other ones,
half of them: BTRACED_SEED."""

import os
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench" / "gdb"))
from live_gdb import Live  # noqa: E402
from live_runs import (SETS, check_damage, check_etb, check_overflow, equal_run,  # noqa: E402
                       prepare, run_long)
from replay_gdb import Suite, expect  # noqa: E402

suite = Suite()
COUNT = 1000000
SEED = int(os.environ.get("BTRACED_SEED", random.SystemRandom().randrange(1 << 32)))
print(f"# BTRACED_SEED={SEED}", flush=True)
tests = []


def add(name, cores):
    def run():
        path, elf, _ = prepare(name)
        with Live(path) as live:
            recording, histories = run_long(live, elf, COUNT)
            ran = equal_run(live, recording, histories, cores)
        expect(ran >= COUNT, f"only {ran} instructions")

    tests.append((f"live: {COUNT} instructions and more: {name}", run))


def also(text, function, name, *arguments):
    tests.append((f"live: {text}: {name}", lambda: function(name, *arguments)))


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

for title, test in tests if len(sys.argv) > 1 else random.Random(SEED).sample(tests, len(tests) // 2):
    suite.test(title)(test)
suite.run()
