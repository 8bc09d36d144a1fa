#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Thousands of steps back, one right after the other, as fast as the server answers: windows of values
take turns meanwhile. Each register that is told is compared with the truth."""

import os
import sys
import tempfile
from pathlib import Path

import bench

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from replay_gdb import Client, Server, Skipped, Suite, equal, expect  # noqa: E402

STEPS = 6000 if os.environ.get("BTRACED_FULL") else 2500
SP, LR = 13, 14
NO_STACK = 0xDEAD0000  # told where one of them is not known
# Of a status that an exception has stacked: what GDB needs of it is told where the rest is not known.
STATUS_T, STATUS = 0x01000000, 0x010003FF
suite = Suite()


def told(answer):
    """The sixteen registers, None where GDB is told nothing."""
    words = [answer[i:i + 8] for i in range(0, 16 * 8, 8)]
    return [None if "x" in w else int.from_bytes(bytes.fromhex(w), "little") for w in words]


def compare_memory(client, memory, words, position):
    """Words of RAM are told as they were, or not at all."""
    for at in words:
        answer = client.ask(f"m{at:x},4")
        if answer.startswith("E"):
            continue
        value, truth = int.from_bytes(bytes.fromhex(answer), "little"), memory.word(position, at)
        if not value & ~STATUS and value == truth & STATUS and truth & STATUS_T:
            continue
        equal(value, truth, f"word {at:#x} at {position}")


def walk(case, client):
    """(registers told but for SP, positions where SP is)"""
    known = sp = 0
    memory = bench.Memory(case)
    words = [at for at, (positions, _) in memory.words.items() if positions[-1] > case.count - STEPS]
    for position in range(case.count - 1, case.count - 1 - STEPS, -1):
        equal(client.ask("bs"), "T05thread:1;", f"bs to {position}")
        if position % 64 == 0:
            compare_memory(client, memory, words, position)
        for number, value in enumerate(told(client.ask("g"))):
            true = case.reg(position, number) & 0xffffffff
            if number == SP:
                sp += value == true
                expect(value in (true, NO_STACK), f"SP at {position} is {value:#x}, not {true:#x}")
            elif value is not None and (number, value) != (LR, NO_STACK):
                known += 1
                equal(value, true, f"register {number} at {position}")
    return known, sp


def check(kind, level, *commands):
    reason = bench.missing()
    if reason:
        raise Skipped(reason)
    with tempfile.TemporaryDirectory(prefix="btraced-reverse.") as place:
        case = bench.Case(place, kind, level, rounds=6).execute()
        expect(case.count > STEPS + 1000, f"only {case.count} instructions")
        with Server(case.recording, "--no-record", "--elf", str(case.elf)) as server, \
                Client(server.port, acks=False) as client:
            client.start()
            for command in commands:
                client.ask("qRcmd," + command.encode().hex())
                while client.reply() != "OK":
                    pass
            return walk(case, client)


for kind, level in (("t32", "O2"), ("m3", "Os")):
    @suite.test(f"steps, {kind}-{level}: what is told on the way is right, SP nearly always")
    def _(kind=kind, level=level):
        known, sp = check(kind, level)
        expect(known > 9 * STEPS and sp > 0.99 * STEPS, f"{known} registers told, SP {sp} times")

    @suite.test(f"steps, {kind}-{level}: beyond the longest window that ends at the halt")
    def _(kind=kind, level=level):
        known, _ = check(kind, level, "past window 1024")
        expect(known > 4 * STEPS, f"{known} registers told")


suite.run()
