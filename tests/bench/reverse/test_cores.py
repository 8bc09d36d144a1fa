#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests reverse_cores.c, reverse_stores.c, reverse_forward.c, live_snapshot.c and reverse_machine.c.
"""Two Cortex-A9, or two Cortex-A53, that write the same RAM, with states read at halts. Stock GDB goes to random positions of the first
core: no register and no word of RAM that is known is another one than it was there, live and in the recording of it.
What only this core writes is known, unless the other one stores to addresses that nobody knows.
Where the board file calls RAM the core's own, `monitor past` names what the other core has written.

BTRACED_FULL=1: more positions."""

import os
import random
import sys
import tempfile
from pathlib import Path

import bench
from test_dma import length
from test_forward import NAMES, WIDE, Judge, aligned, written_down

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import CONFIGS, Live, board_file, recording  # noqa: E402
from replay_gdb import Server, Skipped, Suite, expect, gdb, has  # noqa: E402

suite = Suite()
FULL = bool(os.environ.get("BTRACED_FULL"))
POSITIONS = 60 if FULL else 25
SEED = int(os.environ.get("BTRACED_SEED", random.SystemRandom().randrange(1 << 32)))
KEPT = 8  # of the areas: what the first core alone writes


class Program(bench.Case):
    def __init__(self, folder, level, rounds, r, borrows=False, board="a9"):
        one, start = {"a9": (bench.A9, "start_cores.S"), "a53": (bench.A53, "start_cores_a53.S")}[board]
        flags = [*one.flags, f"-DTICK={r.randrange(40, 900)}", f"-DROLE={r.randrange(2)}",
                 f"-DBORROWERS={r.choice((2, 2, 3)) if borrows else 0}"]
        flags += ["-DINPUT=0x09010000ul"] if one.wide else [r.choice(("-marm", "-mthumb"))]
        super().__init__(folder, "cores", level, rounds, (start, "cores.c"),
                         (bench.Machine(one.qemu, one.core, one.ram, flags, (), one.script, one.plugin, one.unit,
                                        one.registers), []))
        self.board_name, self.names = board, WIDE if one.wide else NAMES
        self.snapshot, self.ram_key = r.choice(("background", "halt")), ""

    def board(self):
        plugin = f"-plugin {bench.ROOT / 'build' / 'virtual-board.so'}"
        single = " ".join(bench.secure.board.one_instruction_a_block())
        truth = (f"{single} -plugin {bench.TRUTH},states=$HERE/states,accesses=$HERE/accesses,ram=$HERE/ram,"
                 f"base={self.machine.ram:x},size={bench.RAM_SIZE:x},halt={self.symbols['halt_here']:x},whole=1")
        path = board_file(f"virtual-{self.board_name}-smp", replace=[
            (plugin, f"{truth} {plugin}"), (str(CONFIGS / "virtual" / f"crash-{self.board_name}.elf"), str(self.elf)),
            ("[core cpu1]", f"{self.ram_key}\n[core cpu1]")])
        path.write_text(path.read_text() + f"\n[past]\nsnapshot = {self.snapshot}\n")
        return path


def session(case, places, areas, halts):
    """What GDB says live, and in a recording of that; and the truth."""
    look, wide = "info registers " + " ".join(case.names), case.machine.wide
    dumps = [f"x/{count}xw {start:#x}" for start, count in areas]
    ask = ["thread 1", "set mem inaccessible-by-default off"]
    ask += [f"mem {start:#x} {start + 4 * count:#x} rw cache" for start, count in areas]
    for place in places:
        ask += [f"monitor goto {place}", "stepi", look, *dumps]
    ask += ["monitor past", "disconnect"]
    run = ["monitor record start look", *halts, "tbreak *halt_here", "continue", "shell sleep 1",
           "monitor record stop"]
    with Live(case.board()) as live:
        done = gdb(live.port, run + ask, elf=case.elf, connect="target extended-remote")
        states, accesses = written_down(live.path.parent, wide)
        where = aligned(states, case.machine.state, case.machine.pc_at, live.truth())
        with Server(recording(live, "look"), "--elf", str(case.elf)) as server:
            replayed = gdb(server.port, ["record stop", *ask], elf=case.elf)
    places = [place for place in places if place <= len(where) and where[place - 1] <= accesses[-1][0]]
    expect(len(places) > 5, f"{len(places)} positions are written down")
    judge = Judge(case.names, case.machine.state, wide, where, states, accesses, places)
    return [(output, judge.told(output.all(look), list(map(output.all, dumps)), areas),
             judge.told(output.all(look), list(map(output.all, dumps))[-KEPT:], areas[-KEPT:])[1])
            for output in (done, replayed)]


def with_two(halted, seed=SEED, borrows=False, board="a9"):
    reason = bench.missing()
    if reason:
        raise Skipped(reason)
    r = random.Random(f"{seed} {halted}")
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory(prefix="btraced-cores.") as place:
        case = Program(place, r.choice(bench.LEVELS), r.randrange(20, 60), r, borrows, board)
        end = length(case)
        ram, top = case.machine.ram, case.symbols["stack_top"]
        kept = range(case.symbols["kept"], case.symbols["kept"] + 16 * KEPT, 16)
        areas = [(at, 4) for at in (*(at for at in range(ram, ram + 0x1e0, 16) if at not in kept), *range(top - 0xa0, top, 16),
                                    *range(top - 0x2a0, top - 0x200, 16), *kept)]
        places = sorted(r.sample(range(2, end - 1), min(POSITIONS, end - 4)))
        halts = ["tbreak note", "continue", "shell sleep 0.3"] * r.randrange(1, 4) if halted else []
        for kind, (output, (share, of, _), kept) in zip(("live", "recorded"), session(case, places, areas, halts)):
            print(f"{case.name}, {case.snapshot}, {kind}: {len(places)} positions of {end}, seed {seed}: {share:.1%} of the "
                  f"registers and {of:.1%} of the words of RAM known, {kept:.1%} of those of its own, all right", flush=True)
            expect(share >= 0.05, f"{share:.1%} of the registers are known")
            past = output.all("monitor past")[0]
            # Where RAM could not be read before the core ran on, or the other one was off, it is not known where that stores.
            if not borrows and "(not all)" not in past and (halted or board == "a9"):
                expect(kept >= 0.9, f"{kept:.1%} of its own words are known: {past}")


def called_its_own():
    """What the board file promises, and is not so, is found at the halt."""
    reason = bench.missing()
    if reason:
        raise Skipped(reason)
    r = random.Random(f"{SEED} own")
    with tempfile.TemporaryDirectory(prefix="btraced-cores.") as place:
        print(f"seed {SEED}", flush=True)
        case = Program(place, "O1", 30, r, True)
        case.ram_key = f"ram = {case.machine.ram:#x}+{bench.RAM_SIZE:#x}"
        with Live(case.board()) as live:
            done = gdb(live.port, ["tbreak note", "continue", "shell sleep 0.5", "tbreak *halt_here", "continue", "shell sleep 1",
                                   "monitor goto 2000", "stepi", "monitor past", "disconnect"],
                       elf=case.elf, connect="target extended-remote")
    has(done["monitor past"], r"^  0x[0-9a-f]{8}\+\d+ \w*: written from outside")


suite.test("values forwards: two cores that share RAM")(lambda: with_two(False))
suite.test("values forwards: two cores that share RAM, with halts on the way")(lambda: with_two(True))
suite.test("values forwards: two Cortex-A53 that share RAM")(lambda: with_two(False, board="a53"))
suite.test("values forwards: two Cortex-A53 that share RAM, with halts on the way")(lambda: with_two(True, board="a53"))
# A word of the first core's stack that the other one writes.
suite.test("values forwards: two cores, a local variable that the other one writes")(lambda: with_two(False, 1, True))
suite.test("values forwards: RAM that is called its own and another core writes")(called_its_own)

if __name__ == "__main__":
    suite.run()
