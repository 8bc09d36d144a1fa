#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A target that hangs: within [target] deadline GDB gets an error or a stop that says so, others
are served meanwhile, Ctrl-C and SIGTERM work, and when it goes on again so does the session."""

import re
import select
import signal
import sys
import time
from contextlib import suppress
from os import kill
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import PROGRAMS, Live, Wire, board_file, gone  # noqa: E402
from replay_gdb import PATIENCE, Client, Suite, equal, expect, frame, has, wait_for  # noqa: E402

suite = Suite()
ELF = PROGRAMS / "crash-a9.elf"
DEADLINE = 1.0


def hanging_board(name="virtual-a9"):
    """A board file with a short deadline, for more than one client."""
    return board_file(name, replace=(
        ("[target]\n", f"[target]\ndeadline = {DEADLINE * 1000:.0f}\n"),
        ("[gdb]\n", "[gdb]\nothers = observe\n")))


def patient_board():
    """A board file that lets the board take as long as it likes to answer, for more than one client."""
    path = board_file("virtual-a9")
    text = re.sub(r"^drain_ms = .*\n", "", path.read_text(), flags=re.MULTILINE)
    path.write_text(text.replace("[trace]\n", "[trace]\ndrain_ms = 60000\n").replace("[gdb]\n", "[gdb]\nothers = queue\n"))
    return path


class Hung:
    """The board's program does not get on while this lasts."""

    def __init__(self, live):
        self.program = live.children()[0]

    def __enter__(self):
        kill(self.program, signal.SIGSTOP)
        wait_for(self.stands, "the end of its threads' turns")
        return self

    def stands(self):
        """Each thread, not only the one that has taken the signal."""
        threads = Path(f"/proc/{self.program}/task").glob("*/stat")
        return all(stat.read_text().rpartition(") ")[2][0] == "T" for stat in threads)

    def __exit__(self, *_):
        with suppress(ProcessLookupError):
            kill(self.program, signal.SIGCONT)


def not_before(what, begin):
    """No sooner than the deadline. How much later is a matter of the machine."""
    took = time.monotonic() - begin
    expect(took >= DEADLINE * 0.8, f"{what} takes {took:.1f} s")


def status(client):
    """What `monitor status` says of the target, at once."""
    client.send(frame("qRcmd," + b"status".hex()))
    text = ""
    while (answer := client.reply()) != "OK":
        expect(answer[:1] == "O", f"monitor status: {answer}")
        text += bytes.fromhex(answer[1:]).decode()
    return has(text, r"^target +(\w+)")[1]


@suite.test("deadline: a halted target that hangs: each question is an error, then not")
def _():
    with Live(hanging_board()) as live, Wire(live) as wire, Client(live.port) as other:
        wire.run_to_main(ELF)
        registers, memory = wire.ask("g"), wire.ask("m60000020,40")
        with Hung(live):
            for packet in ("m60000020,40", "g", "P0=00000000"):
                begin = time.monotonic()
                wire.send(frame(packet))
                equal(status(other), "halted", "the target, for another client")
                has(wire.reply(), "^E")
                not_before(packet, begin)
        wait_for(lambda: wire.ask("m60000020,40") == memory, "memory")
        equal(wire.ask("g"), registers, "registers")
        has(wire.resume("vCont;s:p1.1"), "^T05")


@suite.test("deadline: a running target that hangs: Ctrl-C is answered, and works again later")
def _():
    with Live(hanging_board()) as live, Wire(live) as wire, Client(live.port) as other:
        wire.run_to_main(ELF)
        wire.send(frame("vCont;c"))
        wait_for(lambda: status(other) == "running", "a running target")
        with Hung(live):
            begin = time.monotonic()
            wire.send(b"\x03")
            equal(status(other), "running", "the target, for another client")
            has(wire.reply(), "^E.*halt")
            not_before("Ctrl-C", begin)
        wait_for(lambda: wire.ask("g")[:1] != "E", "registers")
        has(wire.resume("vCont;s:p1.1"), "^T05")
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        expect(len(wire.blocks()) > 10, "no history")


@suite.test("deadline: a board that hangs: who tells it to trace keeps nobody waiting, and may leave")
def _():
    with Live(patient_board()) as live:
        for command in "trace off", "trace filter include 0x60001000-0x60001fff":
            with Wire(live) as wire, Wire(live) as two:
                with Hung(live):
                    wire.send(frame("qRcmd," + command.encode().hex()))
                    has(two.monitor("clients"), "in control")
                    equal(select.select([wire.socket], [], [], 0)[0], [], f"answer to '{command}' so far")
                    wire.close(reset=True)
                    wait_for(lambda: two.monitor("clients").count("127.0.0.1") == 1, "the end of who has asked")
                    has(two.monitor("trace on"), "the board is being asked: ask again")
                wait_for(lambda: "being asked" not in two.monitor("trace on"), "the board's answer")
                has(two.monitor("trace filter none"), "^all addresses are traced\nnone is left out$")
                has(two.monitor("trace on"), "^tracing is on$")
        with Wire(live) as wire:
            with Hung(live):
                wire.send(frame("qRcmd," + b"trace off".hex()))
                wire.send(b"\x03")
                has(bytes.fromhex(wire.reply()[1:]).decode(), "^interrupted: the board has not answered yet$")
                equal(wire.reply(), "OK", "the command that was interrupted")
                live.path.write_text(live.path.read_text().replace("drain_ms = 60000", "drain_ms = 50000"))
                has(wire.monitor("reload"), "drain_ms")
                has(wire.monitor("trace off"), "the board is being asked: ask again")
            wait_for(lambda: "being asked" not in wire.monitor("trace off"), "the board's answer")


@suite.test("deadline: SIGTERM ends a server whose board is being told to trace and hangs")
def _():
    for leaves in (False, True):
        with Live(patient_board()) as live, Wire(live) as wire:
            wire.monitor("trace on")
            with Hung(live) as hung:
                wire.send(frame("qRcmd," + b"trace filter none".hex()))
                if leaves:
                    wire.close(reset=True)
                live.terminate()
                live.process.wait(PATIENCE)
                gone(hung.program)


@suite.test("deadline: SIGTERM ends a server whose target hangs, and the board's program")
def _():
    for runs in (False, True):
        with Live(hanging_board()) as live, Wire(live) as wire, Client(live.port) as other:
            wire.run_to_main(ELF)
            if runs:
                wire.send(frame("vCont;c"))
                wait_for(lambda: status(other) == "running", "a running target")
            with Hung(live) as hung:
                wire.send(b"\x03" if runs else frame("g"))
                live.terminate()
                live.process.wait(PATIENCE)
                gone(hung.program)


@suite.test("deadline: QEMU hangs by itself when one of two cores runs alone")
def _():
    with Live(hanging_board("virtual-a53-smp")) as live, Wire(live) as wire, \
            Client(live.port) as other:
        wire.send(frame("vCont;c"))
        wait_for(lambda: status(other) == "running", "a running target")
        wire.send(b"\x03")
        has(wire.reply(), "^T02")
        wire.send(frame("vCont;c:p1.1"))
        wait_for(lambda: status(other) == "running", "a running target")
        # Whether QEMU hangs by then is its own affair: there is an answer, and others are served.
        for ask in (b"\x03", frame("g")):
            wire.send(ask)
            has(status(other), "^(running|halted)$")
            has(wire.reply(), "^(E|T|[0-9a-fx]{100})")
        live.terminate()
        live.process.wait(PATIENCE)


suite.run()
