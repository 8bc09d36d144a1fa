#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark's programs, short runs: each computes what it should, and OpenCSD and we find the
instructions that ran. A program that goes wrong, and a number that is not the one that ran, fail."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
os.environ.update(BENCH_RUN_MB="0.3", BENCH_MB="0.3", BENCH_RUNS="1", BENCH_ONLY="")
sys.path[:0] = [str(ROOT / "tests" / "performance"), str(ROOT / "tests" / "bench" / "gdb")]
import bench_programs  # noqa: E402
from replay_gdb import Failed, Suite, equal, expect, folder, has, run  # noqa: E402

BENCH = ROOT / "build/release/bench/bench_decode"
BUILT = ROOT / "build/bench-programs"
suite = Suite()


def bench(name, place, count):
    done = subprocess.run([BENCH, "--run", name, place, str(count)], capture_output=True, text=True,
                          check=False)
    return done.returncode, done.stdout, done.stderr


def measured(name, board, program, registers):
    @suite.test(f"bench: {name}")
    def _():
        place, count = bench_programs.record(board, BUILT / f"{program}.elf", registers)
        code, out, err = bench(name, place, count)
        equal((code, err), (0, ""), "exit code and messages")
        has(out, rf"^decode\tname={name}\t.*\tsame=(1\.000|0\.999)\d$")
        code, _, err = bench(name, place, count + count // 100)
        equal(code, 1, "exit code for a number that did not run")
        has(err, rf"{name}: \d+ instructions, ran \d+, OpenCSD")


for row in bench_programs.ROWS.items():
    measured(row[0], *row[1])


@suite.test("bench: a program whose third round goes wrong is not measured")
def _():
    source, elf = folder() / "wrong.c", folder() / "wrong.elf"
    source.write_text('#include "tests/performance/programs/work.h"\n'
                      "bool work(unsigned seed)\n{\n    return seed != 3;\n}\n")
    virtual = ROOT / "configs/virtual"
    run(["arm-none-eabi-gcc", "-O2", "-ffreestanding", "-mcpu=cortex-m4", "-mthumb", "-DBOARD_M4",
         "-gdwarf-4", f"-I{ROOT}", f"-I{virtual}", "-nostdlib", f"-L{virtual}", "-Wl,-T,m4.ld",
         str(virtual / "board-m.c"), str(ROOT / "tests/performance/programs/main.c"), str(source), "-o",
         str(elf)])
    bench_programs.PATIENCE = 3
    try:
        bench_programs.record("m4", elf, {})
    except Failed as why:
        has(str(why), "found a wrong result or a fault")
    else:
        expect(False, "it was recorded as if it were right")


suite.run()
