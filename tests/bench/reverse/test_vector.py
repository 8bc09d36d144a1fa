#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests reverse_snapshot.c and gdb_data.c.
"""SIMD registers of AArch64 in the past: stock GDB halts a virtual Cortex-A53 at random places and reads v0 to v31; in
another run of the same program they are what they were there, wherever they are known.

BTRACED_FULL=1: more places."""

import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import PROGRAMS, Live, board_file  # noqa: E402
from replay_gdb import Suite, equal, expect, gdb, has, tool  # noqa: E402

suite = Suite()
PLACES = 30 if os.environ.get("BTRACED_FULL") else 8
SEED = int(os.environ.get("BTRACED_SEED", random.SystemRandom().randrange(1 << 32)))
SOURCE = Path(__file__).resolve().parent / "target" / "vector_a53.S"
ROUNDS = 200
FOLLOWED = (*range(8), 16, 17, *range(22, 32))  # from RAM that is known, and computed from that
UNKNOWN = 20                        # from the counter
ASK = [f"p/x $v{n}.d.u" for n in range(32)]


def program(place):
    elf, made = Path(place) / "vector.elf", Path(place) / "vector.o"
    subprocess.run([tool("aarch64-linux-gnu-as"), "-march=armv8-a", "--defsym", f"ROUNDS={ROUNDS}", "-o", made, SOURCE],
                   check=True)
    subprocess.run([tool("aarch64-linux-gnu-ld"), "-Ttext=0x40080000", "-Tdata=0x40090000", "-o", elf, made], check=True)
    return elf


def board(elf, snapshot):
    return board_file("virtual-a53", replace=[(str(PROGRAMS / "crash-a53.elf"), str(elf))], snapshot=snapshot)


def vectors(output, places):
    """For each place [(lower half, upper half), or None]."""
    rows = [output.all(question) for question in ASK]
    found = []
    for at in range(places):
        halves = [re.search(r"= \{(0x[0-9a-f]+), (0x[0-9a-f]+)\}", row[at]) for row in rows]
        found.append([h and (int(h[1], 16), int(h[2], 16)) for h in halves])
    return found


@suite.test("values forwards: AArch64, SIMD registers")
def _():
    r = random.Random(f"{SEED} vectors")
    print(f"seed {SEED}", flush=True)
    with tempfile.TemporaryDirectory(prefix="btraced-vector.") as place:
        elf = program(place)
        run = []
        for _ in range(PLACES):
            run += ["tbreak compute", f"ignore $bpnum {1 + r.randrange(ROUNDS // PLACES - 2)}", "continue",
                    f"stepi {r.randrange(1, 28)}", "monitor where", *ASK]
        with Live(board(elf, "off")) as live:
            now = gdb(live.port, [*run, "disconnect"], elf=elf, connect="target extended-remote")
        places = [int(has(text, r"instructions \d+ to (\d+)")[1]) + 1 for text in now.all("monitor where")]
        go = [c for at in places for c in (f"monitor goto {at}", "stepi", *ASK)]
        with Live(board(elf, "background")) as live:
            past = gdb(live.port, ["tbreak halt_here", "continue", *go, "monitor past", "monitor explain v1", "disconnect"],
                       elf=elf, connect="target extended-remote")
    has(past["monitor past"], "the halt at its end proves it")
    known = 0
    for at, true, told in zip(places, vectors(now, PLACES), vectors(past, PLACES)):
        for n, (was, value) in enumerate(zip(true, told)):
            expect(value is None or value == was, f"v{n} at instruction {at} is {value}, not {was}")
            known += value is not None
        equal([n for n in FOLLOWED if told[n] is None], [], f"registers that are not known at instruction {at}")
        equal(told[UNKNOWN], None, f"v{UNKNOWN}, from the counter, at instruction {at}")
    print(f"{known / PLACES / 32:.1%} of v0 to v31 are known at {PLACES} places, all right", flush=True)


if __name__ == "__main__":
    suite.run()
