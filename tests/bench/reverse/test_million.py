#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests reverse_forward.c, reverse_map.c and reverse_snapshot.c.
"""Firmware into which nothing comes from outside but its tick, on a virtual board from the reset to a halt a million
instructions later: at random positions what is known of registers and RAM is what it was, and in tasks all registers are known. What
r0 to r3 and r12 are when a handler begins the architecture leaves open (DDI 0403E.e B1.5.6), and so what it pushes of them; so are
registers of an LDM that it interrupts. On A profile it is the number that the interrupt controller tells.

usage: test_million.py [SEED [POSITIONS [KIND...]]]. With POSITIONS the runs are of a million instructions, on these KINDS or all, live
and recorded. Without it they are shorter, on one of them; BTRACED_FULL=1: on two of them, live and recorded. The seed is a new one
in each run.
"""

import os
import random
import re
import sys
import tempfile
import time
from pathlib import Path

import bench
import firmware

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import Live, Wire, board_with, recording  # noqa: E402
from replay_gdb import PATIENCE, Failed, Server, equal  # noqa: E402

FULL = bool(os.environ.get("BTRACED_FULL"))
KINDS = ("m3", "m4", "m7", "m33", "a53", "a9")
POSITIONS = int(sys.argv[2]) if len(sys.argv) > 2 else 0
LONGEST = 1000000 if POSITIONS else 100000
TICKS = {"m4": 6}  # of the timer in the time of one instruction
PIECE = 0x800  # bytes that are asked for at once
NO_STACK = 0xdead0000  # what GDB gets for SP and LR that are not known
FLAGS = 0xf81f0000  # NZCVQ, GE, and SFPA of RETPSR
NAMES = (*(f"r{i}" for i in range(13)), "sp", "lr", "pc")
WIDE_NAMES = (*(f"x{i}" for i in range(31)), "sp", "pc")
A_TASKS = {"Cortex-A9": (0x1f,), "Cortex-A53": (0, 4)}  # modes


class Ram:
    """All of it at one position after the other, from zeros and each store since."""

    def __init__(self, case):
        self.base, self.bytes, self.next = case.machine.ram, bytearray(bench.RAM_SIZE), 0
        self.stores = sorted((at if flags & bench.FRAME else at + 1, i, address - self.base, size, value)
                             for i, (at, address, size, flags, value) in enumerate(case.accesses)
                             if flags & bench.STORE and 0 <= address - self.base < bench.RAM_SIZE)

    def at(self, position):
        """Not before the position of the call before."""
        while self.next < len(self.stores) and self.stores[self.next][0] <= position:
            _, _, start, size, value = self.stores[self.next]
            self.bytes[start:start + size] = value.to_bytes(8, "little")[:size]
            self.next += 1
        return self.bytes


def in_task(case, position):
    psr = case.psr(position)
    return not psr & 0x1ff if case.machine.m_profile else psr & 0x1f in A_TASKS[case.machine.core]


class Score:
    def __init__(self, case):
        self.case, self.ram = case, Ram(case)
        self.names, self.size = (WIDE_NAMES, 8) if case.machine.wide else (NAMES, 4)
        self.registers = self.words = self.asked = self.in_tasks = self.open_in_tasks = 0
        self.wrong, self.unknown = [], []

    def look(self, wire, position):
        """Where the replay position is."""
        self.asked += 1
        self.in_tasks += in_task(self.case, position)
        digits, width = wire.ask("g"), 2 * self.size
        for number, name in enumerate(self.names):
            self._register(position, name, digits[width * number:width * (number + 1)], self.case.reg(position, number))
        true = self.ram.at(position)
        for start in range(0, bench.RAM_SIZE, PIECE):
            self._piece(wire, position, start, true[start:start + PIECE].hex())

    def _register(self, position, name, digits, true):
        if "x" in digits or int.from_bytes(bytes.fromhex(digits), "little") == NO_STACK:
            self._unknown_register(name, position)
        elif bytes.fromhex(digits) != true.to_bytes(self.size, "little"):
            self.wrong.append(f"{name} at {position} is {true:#x}, told {digits}")
        else:
            self.registers += 1

    def _unknown_register(self, name, position):
        if in_task(self.case, position):
            self.open_in_tasks += 1
            self.unknown.append(f"{name} at {position}")

    def _piece(self, wire, position, start, true):
        """An answer ends in front of a word that is not known, and one that begins there is an error."""
        at = 0
        while at < len(true):
            told = wire.ask(f"m{self.ram.base + start + at // 2:x},{(len(true) - at) // 2:x}")
            if told[:1] == "E":
                at += 8
                continue
            for i in range(0, len(told), 8):
                self._word(position, self.ram.base + start + (at + i) // 2, told[i:i + 8], true[at + i:at + i + 8])
            at += len(told)

    def _word(self, position, address, told, true):
        if told == true:
            self.words += 1
            return
        said, was = (int.from_bytes(bytes.fromhex(digits), "little") for digits in (told, true))
        # A status on the stack that is not known is told without flags (docs/values.md).
        if said >> 24 != 1 or said & FLAGS or (said ^ was) & ~FLAGS:
            self.wrong.append(f"{address:#x} at {position} is {was:#x}, told {said:#x}")

    def tell(self, name):
        registers, words = self.asked * len(self.names), self.asked * bench.RAM_SIZE // 4
        tasks = self.in_tasks * len(self.names)
        bar = 0.6 if self.case.machine.m_profile else 0.95  # of an A53 and an A9 all programs so far know more than 99 %
        good = not self.wrong and self.in_tasks and self.open_in_tasks <= (1 - bar) * tasks and self.words >= bar * words
        print(f"{'PASS' if good else 'FAIL'} million: {name}: {self.asked} positions of {self.case.count}, {len(self.wrong)} wrong; "
              f"known: registers {100 * self.registers / registers:.2f} %, in tasks {100 - 100 * self.open_in_tasks / tasks:.2f} %, "
              f"RAM {100 * self.words / words:.2f} %", flush=True)
        for text in [] if good else (self.wrong + self.unknown)[:8]:
            print(f"#   {text}")
        return bool(good)


def walk(wire, case, places, name):
    score = Score(case)
    for position in places:
        wire.monitor(f"goto {position + 1}")
        wire.step()
        equal(wire.pc(), case.pc(position), f"PC of position {position}")
        score.look(wire, position)
    return score.tell(name)


def read_all(wire):
    """RAM, while nothing is asked: until nothing is left."""
    before, end = -1, time.monotonic() + PATIENCE
    while time.monotonic() < end:
        time.sleep(0.2)
        found = re.search(r"(\d+) bytes of RAM read", wire.monitor("past"))
        if found and int(found[1]) == before:
            return
        before = int(found[1]) if found else -1
    raise Failed("RAM is not read")


def examine(case, places, r):
    good = True
    board = board_with(case.kind.removeprefix("firmware-"), case.elf)
    first, text = case.machine.ram, board.read_text()
    text = text.replace("thread = 1\n", f"thread = 1\nram = {first:#x}+{bench.RAM_SIZE}\n")
    text = text.replace("-M virt ", f"-M {case.machine.qemu} ")
    board.write_text(text if "[past]" in text else text + "\n[past]\nsnapshot = background\n")
    with Live(board) as live:
        with Wire(live) as wire:
            read_all(wire)
            wire.monitor("record start million")
            wire.run_to(case.symbols["halt_here"], 2 if case.machine.m_profile else 4)
            if r.randrange(2):  # else the recording lacks what was not read at its end
                read_all(wire)
            wire.monitor("record stop")
            good &= walk(wire, case, places, f"{case.name}, live")
        if FULL or POSITIONS:
            with Server(recording(live, "million"), "--elf", str(case.elf)) as server:
                server.wide = case.machine.wide
                with Wire(server) as wire:
                    good &= walk(wire, case, places, f"{case.name}, recorded")
    return good


def long_enough(place, kind, r):
    """Others come to an end before, or into a handler that they do not leave: a task has used up its stack."""
    while True:
        case = firmware.Firmware(place, kind, r.choice(("O0", "O1", "O2", "Os")), r.randrange(1 << 30), 1 << 30,
                                 alone=True, longest=LONGEST * TICKS.get(kind, 1)).execute()
        tasks = sum(in_task(case, position) for position in range(0, case.count, 1000))
        if case.count >= LONGEST and tasks >= case.count // 10000:
            return case


def main():
    reason = bench.missing()
    if reason:
        needed = os.environ.get("BTRACED_REQUIRE_DATA") == "1"
        print(f"{'FAIL' if needed else 'SKIP'} million: {reason}")
        return needed
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(1 << 30)
    print(f"# seed {seed}", flush=True)
    r = random.Random(seed)
    good = True
    for kind in sys.argv[3:] or (KINDS if POSITIONS else r.sample(KINDS, 2 if FULL else 1)):
        with tempfile.TemporaryDirectory(prefix="btraced-million.") as place:
            case = long_enough(place, kind, r)
            good &= examine(case, sorted(r.sample(range(1, case.count), min(POSITIONS or 200, case.count - 1))), r)
    return not good


if __name__ == "__main__":
    sys.exit(main())
