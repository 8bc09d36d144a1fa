#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests live_snapshot.c, reverse_forward.c, reverse_map.c, reverse_path.c, reverse_proof.c and
# reverse_snapshot.c.
"""Values forwards: stock GDB attaches to a virtual board at its reset, lets it run until it has
crashed, and goes to random positions in between. No register and no word of RAM is another one than
it was there, and nearly all are known: devices give what nobody knows."""

import array
import os
import random
import re
import struct
import sys
from pathlib import Path

import bench
from test_crash import NAMES, board, registers

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import PROGRAMS, Live, symbol  # noqa: E402
from replay_gdb import Skipped, Suite, equal, expect, gdb, has  # noqa: E402

suite = Suite()
FULL = bool(os.environ.get("BTRACED_FULL"))
POSITIONS = 400 if FULL else 60
SEED = int(os.environ.get("BTRACED_SEED", random.SystemRandom().randrange(1 << 32)))
FRAME = 2  # of an access: by the core itself, before the instruction


class Ram:
    """Bytes at one position, from what was stored until then; all else is as a reset left it."""

    def __init__(self, accesses):
        self.accesses = list(struct.iter_unpack("<IIHHII", accesses))

    def at(self, position):
        stored = {}
        for index, address, size, flags, low, high in self.accesses:
            if flags & 1 and (index < position or (flags & FRAME and index == position)):
                value = (high << 32 | low).to_bytes(8, "little")
                for i in range(min(size, 8)):
                    stored[address + i] = value[i]
        return stored


def words(output):
    """{address: number} of an `x/w`."""
    found = {}
    for at, row in re.findall(r"^(0x[0-9a-f]+)[^:\n]*:((?:[ \t]+0x[0-9a-f]+)+)", output, re.MULTILINE):
        for i, word in enumerate(row.split()):
            found[int(at, 16) + 4 * i] = int(word, 16)
    return found


def forward(kind):
    reason = bench.missing()
    if reason:
        raise Skipped(reason)
    elf = PROGRAMS / f"crash-{kind}.elf"
    numbers = random.Random(f"{SEED} {kind}")
    start, stop = symbol(elf, "bss_start"), symbol(elf, "stack_top")
    count = (stop - start) // 4
    with Live(board(f"virtual-{kind}", elf)) as live:
        first = gdb(live.port, ["tbreak stopped_here", "continue", "reverse-stepi",
                                "monitor where"], elf=elf, connect="target extended-remote")
        end = int(has(first.all("monitor where")[0], r"instructions \d+ to (\d+)")[1])
    places = sorted(numbers.sample(range(2, end - 1), POSITIONS))
    commands = ["tbreak stopped_here", "continue"]
    for place in places:
        commands += [f"monitor goto {place}", "stepi", "info registers", f"x/{count}xw {start:#x}"]
    with Live(board(f"virtual-{kind}", elf)) as live:
        done = gdb(live.port, commands + ["monitor past"], elf=elf,
                   connect="target extended-remote")
        states = array.array("I", (live.path.parent / "states").read_bytes())
        ram = Ram((live.path.parent / "accesses").read_bytes())
    has(done.all("monitor past")[0], "the halt at its end proves it")
    known = registers_known = 0
    for place, told, memory in zip(places, done.all("info registers"),
                                   done.all(f"x/{count}xw {start:#x}")):
        at = place - 1
        told = registers(told)
        registers_known += len(told)
        for name, value in told.items():
            equal(value, states[17 * at + NAMES.index(name)], f"{name} at instruction {place}")
        stored = ram.at(at)
        for address, value in words(memory).items():
            was = bytes(stored.get(address + i, 0) for i in range(4))
            equal(value, int.from_bytes(was, "little"), f"{address:#x} at instruction {place}")
            known += 1
    share, of = registers_known / (len(places) * len(NAMES)), known / (count * len(places))
    print(f"{kind}: {len(places)} positions of {end}, seed {SEED}: {share:.1%} of the registers and "
          f"{of:.1%} of the words of RAM known, all right", flush=True)
    expect(share >= 0.9, f"{share:.1%} of the registers are known")
    expect(of >= 0.95, f"{of:.1%} of the words of RAM are known")


for chip in ("m3", "m4", "m7", "m33"):
    suite.test(f"values forwards: registers and RAM of virtual-{chip}")(
        lambda chip=chip: forward(chip))

if __name__ == "__main__":
    suite.run()
