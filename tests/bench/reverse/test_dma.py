#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests reverse_proof.c and live_snapshot.c.
"""Memory that a second master writes: a Cortex-M33 whose samples a DMA controller brings, from a counter that nobody
knows. Stock GDB goes to random positions of the way from the reset to the halt: no register and no word of RAM is
another one than it was there, and `monitor past` names what the DMA controller has written.

BTRACED_FULL=1: more of everything."""

import os
import random
import re
import sys
import tempfile
from pathlib import Path

import bench
from test_forward import NAMES, Judge, aligned, written_down

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import PROGRAMS, Live, board_file, recording  # noqa: E402
from replay_gdb import Server, Skipped, Suite, expect, gdb, has, lacks  # noqa: E402

suite = Suite()
FULL = bool(os.environ.get("BTRACED_FULL"))
POSITIONS = 60 if FULL else 15
SEED = int(os.environ.get("BTRACED_SEED", random.SystemRandom().randrange(1 << 32)))
LEVELS = ("O0", "O1", "O2", "Os")
LOOK = "info registers " + " ".join(NAMES)


class Program(bench.Case):
    def __init__(self, folder, level, rounds):
        m33 = bench.M33
        flags = [flag for flag in m33.flags if not flag.startswith(("-DTICK", "-mf"))]
        super().__init__(folder, "dma", level, rounds, ("dma.c",),
                         (bench.Machine(m33.qemu, m33.core, m33.ram, [*flags, "-DTICK=997"], (), m33.script,
                                        m33.plugin, m33.unit, m33.registers), []))

    def board(self):
        """All of its RAM is written down, whoever has written there."""
        plugin = f"-plugin {bench.ROOT / 'build' / 'virtual-board.so'}"
        single = " ".join(bench.secure.board.one_instruction_a_block())
        truth = (f"{single} -plugin {bench.TRUTH},states=$HERE/states,accesses=$HERE/accesses,ram=$HERE/ram,"
                 f"base={self.machine.ram:x},size={bench.RAM_SIZE:x},halt={self.symbols['halt_here']:x},whole=1")
        return board_file("virtual-m33", replace=[(plugin, f"{truth} {plugin}"),
                                                  (str(PROGRAMS / "crash-m33.elf"), str(self.elf))])


def session(case, places, areas, halts):
    """What GDB says live, and in a recording of that; and the truth."""
    dumps = [f"x/{count}xw {start:#x}" for start, count in areas]
    ask = ["set mem inaccessible-by-default off"]
    ask += [f"mem {start:#x} {start + 4 * count:#x} rw cache" for start, count in areas]
    for place in places:
        ask += [f"monitor goto {place}", "stepi", LOOK, *dumps]
    ask += ["monitor explain samples", "monitor explain known", "monitor past", "disconnect"]
    run = ["monitor record start look", *halts, "tbreak *halt_here", "continue", "shell sleep 1",
           "monitor record stop"]
    with Live(case.board()) as live:
        done = gdb(live.port, run + ask, elf=case.elf, connect="target extended-remote")
        states, accesses = written_down(live.path.parent, False)
        where = aligned(states, bench.STATE, NAMES.index("pc"), live.truth())
        with Server(recording(live, "look"), "--elf", str(case.elf)) as server:
            replayed = gdb(server.port, ["record stop", *ask], elf=case.elf)
    # What the board has not written to its files yet is not compared.
    places = [place for place in places if place <= len(where) and where[place - 1] <= accesses[-1][0]]
    judge = Judge(NAMES, bench.STATE, False, where, states, accesses, places)
    return [(output, judge.told(output.all(LOOK), list(map(output.all, dumps)), areas)) for output in (done, replayed)]


def length(case):
    """Instructions up to its end."""
    with Live(case.board()) as live:
        done = gdb(live.port, ["tbreak *halt_here", "continue", "monitor where", "disconnect"], elf=case.elf,
                   connect="target extended-remote")
    return int(has(done["monitor where"], r"instructions \d+ to (\d+)")[1])


def with_dma(halted):
    reason = bench.missing()
    if reason:
        raise Skipped(reason)
    r = random.Random(f"{SEED} {halted}")
    print(f"seed {SEED}", flush=True)
    with tempfile.TemporaryDirectory(prefix="btraced-dma.") as place:
        case = Program(place, r.choice(LEVELS), r.randrange(20, 200 if FULL else 60))
        end = length(case)
        ram = case.machine.ram
        # GDB ends a dump at the first word that is not known.
        areas = [(at, 4) for at in range(ram, ram + 0x280, 16)]
        places = sorted(r.sample(range(2, end - 1), POSITIONS))
        halts = ["tbreak note", "continue", "shell sleep 0.3"] * r.randrange(1, 4) if halted else []
        for kind, (output, (share, of, _)) in zip(("live", "recorded"), session(case, places, areas, halts)):
            print(f"{case.name}, {kind}: {len(places)} positions of {end}, seed {SEED}: {share:.1%} of the registers and "
                  f"{of:.1%} of the words of RAM known, all right", flush=True)
            past = output.all("monitor past")[0]
            has(past, "the halt at its end proves it")
            lacks(past, "NOT shown.*")
            has(past, r"^  0x[0-9a-f]{8}\+64 samples: written from outside, last accessed by instruction \d+ at 0x")
            # What follows from them is not; what the program has written, too, need not be known.
            named = re.findall(r"^  0x[0-9a-f]{8}\+\d+ (\w*): written from outside", past, re.MULTILINE)
            expect(set(named) <= {"samples", "block"} and len(named) <= 2, f"{named} are named")
            has(output.all("monitor explain samples")[0], "not known at this place")
            has(output.all("monitor explain known")[0], r"^0x[0-9a-f]{8} = 0x[0-9a-f]{8}: known")
            expect(share >= 0.9, f"{share:.1%} of the registers are known")
            # Samples, what they were converted from, results and the block are a third of what is looked at.
            expect(of >= 0.5, f"{of:.1%} of the words of RAM are known")


suite.test("values forwards: a DMA buffer is found by the halt, and named")(lambda: with_dma(False))
suite.test("values forwards: a DMA buffer, with halts on the way")(lambda: with_dma(True))

if __name__ == "__main__":
    suite.run()
