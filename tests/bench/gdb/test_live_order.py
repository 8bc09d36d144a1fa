#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A client that sends its packets ahead of the answers: the history that it is given is that of the
state which the packets before have made."""

from live_gdb import PROGRAMS, Live, Wire, board_file, symbol
from replay_gdb import Suite, equal, expect, frame, has

suite = Suite()
ELVES = {"virtual-a9": PROGRAMS / "crash-a9.elf", "virtual-m3": PROGRAMS / "crash-m3.elf"}
READ = "qXfer:btrace:read:all:0,4000"


def newest_end(answer):
    """End of the newest block of a document's first piece."""
    has(answer, "^[ml]", "document")
    return int(has(answer, r'<block begin="0x[0-9a-f]+" end="0x([0-9a-f]+)"', "blocks")[1], 16)


def send_at_once(wire, *packets):
    """The answers to packets that are sent in one piece."""
    wire.send(b"".join(map(frame, packets)))
    answers = []
    for packet in packets:
        answer = wire.reply()
        while packet.startswith("qRcmd,") and answer[:1] == "O" and answer != "OK":
            answer = wire.reply()
        answers.append(answer)
    return answers


for board, elf in ELVES.items():
    @suite.test(f"live: {board}: history asked for in one breath with what moves the PC")
    def _(board=board, elf=elf):
        with Live(board_file(board)) as live, Wire(live) as wire:
            equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
            wire.run_to(symbol(elf, "add_value"), 2 if elf.name == "crash-m3.elf" else 4)
            start = wire.pc()
            equal(newest_end(wire.ask(READ)), start, "before")
            for target in [symbol(elf, "main"), symbol(elf, "compare")] * 10:
                write = "Pf=" + target.to_bytes(4, "little").hex()
                ok, document, pc = send_at_once(wire, write, READ, "pf")
                equal((ok, int.from_bytes(bytes.fromhex(pc), "little")), ("OK", target), "P")
                equal(newest_end(document), target, "newest end behind a P")
            # Two writes, of which the second is under way while the first is looked at.
            target = symbol(elf, "take_message")
            answers = send_at_once(wire, "Pf=" + start.to_bytes(4, "little").hex(),
                                   "Pf=" + target.to_bytes(4, "little").hex(), READ)
            equal(newest_end(answers[2]), target, "newest end behind two P")
            done, document, pc = send_at_once(wire, "qRcmd," + b"reset".hex(), READ, "pf")
            equal(done, "OK", "monitor reset")
            pc = int.from_bytes(bytes.fromhex(pc), "little")
            expect(pc not in (start, target), "the board was not reset")
            equal(newest_end(document), pc, "newest end behind a reset")


suite.run()
