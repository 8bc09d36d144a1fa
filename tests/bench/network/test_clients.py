#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Several GDBs on one live board: one in control, others look on, wait for control, or are refused.
Each has its own history and its own replay position."""

import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import PROGRAMS, Live, Wire, board_file, symbol  # noqa: E402
from replay_gdb import (Client, DEMO, Mi, Server, Suite, equal, expect, frame, gdb, has, logged,  # noqa: E402
                        wait_for)

suite = Suite()
ELF = PROGRAMS / "crash-a9.elf"


def lab(others, *more):
    """A board file with [gdb] others, and further lines of any sections."""
    path = board_file("virtual-a9")
    text = path.read_text().replace("[gdb]\n", f"[gdb]\nothers = {others}\n")
    expect("others = " in text, "no [gdb] in the board file")
    path.write_text(text + "\n" + "\n".join(more) + "\n")
    return path


class Desk(Mi):
    """A GDB at a desk."""

    def __init__(self, live):
        super().__init__(ELF)
        self.live = live

    def do(self, text):
        return self.command(f'-interpreter-exec console "{text}"')

    def connect(self):
        return self.do(f"target extended-remote 127.0.0.1:{self.live.port}")

    def begin(self, text):
        """A command that goes on."""
        self.token += 1
        self.process.stdin.write(f"{self.token}{text}\n")
        self.process.stdin.flush()
        said = "\n".join(self._until(rf"{self.token}\^running"))
        time.sleep(0.3)  # GDB says so before it tells the server
        return said

    def stopped(self):
        return "\n".join(self._until(r"\*stopped"))

    def interrupt(self):
        self.process.send_signal(2)
        return self.stopped()

    def registers(self):
        return self.do("info registers")


class Observer(Client):
    """The remote protocol by hand, for one who looks on."""

    def __init__(self, port):
        super().__init__(port, acks=False)
        self.ask("qSupported:multiprocess+;swbreak+;hwbreak+;vContSupported+")
        self.state = self.ask("?")

    def monitor(self, command):
        self.send(frame("qRcmd," + command.encode().hex()))
        text = ""
        while (answer := self.reply())[:1] == "O" and answer != "OK":
            text += bytes.fromhex(answer[1:]).decode()
        return text


def to_main(desk):
    desk.connect()
    desk.do("record btrace")
    desk.do("tbreak main")
    desk.do("continue")
    desk.do("set var crash_after = 0")


@suite.test("clients: one who looks on sees the halted target as the one in control does")
def _():
    with Live(lab("observe")) as live, Desk(live) as one, Desk(live) as two:
        to_main(one)
        has(two.connect(), "main \\(\\) at")
        for command in ("info registers", "x/16x $sp", "bt", "x/4i $pc", "record instruction-history"):
            mine, theirs = (re.sub(r"\d+\^done", "", desk.do(command)) for desk in (one, two))
            # The log of a missing source file comes once for each GDB.
            equal([line for line in theirs.splitlines() if line[:1] == "~"],
                  [line for line in mine.splitlines() if line[:1] == "~"], command)
        has(two.do("monitor trace status"), "complete up to the halt")
        has(two.do("monitor clients"), r"client 1.*in control.*\n.*\* client 2.*looks on")


@suite.test("clients: one who looks on changes nothing, and is told so")
def _():
    with Live(lab("observe")) as live, Desk(live) as one:
        to_main(one)
        before = one.registers()
        # The board's own clock stands when nothing runs.
        pc = symbol(ELF, "main")
        with Observer(live.port) as two:
            memory = two.ask(f"m{pc:x},10")
            for packet in ("M{:x},4:00000000", "X{:x},4:abcd", "Z0,{:x},4", "z0,{:x},4", "Z1,{:x},4",
                           "vFlashErase:{:x},1000"):
                has(two.ask(packet.format(pc)), r"^E\.you look on: only the client in control changes")
            for packet in ("G" + "00" * 168, "P0=00000000", "vRun;"):
                has(two.ask(packet), r"^E\.you look on: only the client in control changes")
            for packet in ("c", "s", "vCont;c", "vCont;s:p1.1", "C05", f"c{pc:x}"):
                has(two.ask(packet), r"^E\.you look on: only the client in control runs")
            for command in ("reset", "trace off", "record start", "release", "system_reset", "info version"):
                has(two.monitor(command), r"you look on: ")
            two.send(b"\x03" + frame("R00"))
            equal(two.ask("QPassSignals:e;10"), "", "a setting of the other server")
            equal(two.ask(f"m{pc:x},10"), memory, "memory")
            equal(two.ask("vKill;1"), "OK", "vKill")
        equal(re.sub(r"\d+\^", "", one.registers()), re.sub(r"\d+\^", "", before), "registers")
        has(one.do("stepi"), "stopped")
        with Observer(live.port) as three:
            three.send(frame("k"))
            three.closed()
        has(one.do("stepi"), "stopped")


@suite.test("clients: values of another halt are not shown as those of now")
def _():
    with Live(lab("observe")) as live, Desk(live) as one, Desk(live) as two:
        to_main(one)
        two.connect()
        one.do("tbreak timer_tick")
        one.do("continue")
        has(two.do("x/4x 0x60008000"), "Cannot access memory")
        has(two.do("info record"), "Failed to read branch trace")
        has(two.do("continue"), "timer_tick")
        equal(two.do("p/x $pc").splitlines()[-2][-12:], one.do("p/x $pc").splitlines()[-2][-12:], "PC")
        has(two.do("bt"), "interrupt_handler")
        has(two.do("record instruction-history"), "bl.*timer_tick")
        # Written by the one in control: the other's view is of before.
        one.do("set var crash_after = 0")
        has(two.do("x/4x 0x60008000"), "Cannot access memory")


@suite.test("clients: one who looks on waits for a halt, ends the wait, and comes while the target runs")
def _():
    with Live(lab("observe")) as live, Desk(live) as one, Desk(live) as two, Desk(live) as three:
        to_main(one)
        two.connect()
        one.begin("-exec-continue")
        two.begin("-exec-continue")
        has(two.interrupt(), 'signal-name="SIGINT"')
        has(three.connect(), "done")
        has(three.do("monitor clients"), "client 3.*looks on")
        for command in ("where", "goto 5"):
            has(three.do(f"monitor {command}"), "the target runs")
        two.begin("-exec-continue")
        three.begin("-exec-continue")
        time.sleep(0.2)
        has(one.interrupt(), 'signal-name="SIGINT"')
        pcs = {re.search(r'addr="(0x[0-9a-f]+)"', text)[1] for text in (two.stopped(), three.stopped())}
        pcs.add(re.search(r"(0x[0-9a-f]+)", one.do("p/x $pc"))[1])
        equal(len(pcs), 1, f"places of the halt: {pcs}")


@suite.test("clients: the next in the queue takes over, halted or while the target runs")
def _():
    with Live(lab("queue")) as live, Desk(live) as one, Desk(live) as two, Desk(live) as three:
        to_main(one)
        two.connect()
        three.connect()
        # One goes without a word; the next one is told as soon as its GDB takes text.
        one.process.kill()
        wait_for(lambda: "client 2 (" in live.stderr.rpartition("in control")[0].rpartition("\n")[2], "client 2 in control")
        has(two.do("monitor clients"), r"you are in control of the target now(.|\n)*\* client 2.*in control")
        has(two.do("stepi"), "end-stepping-range")
        three.do("continue")
        has(three.do("stepi"), "Remote failure reply: E.you look on")
        two.begin("-exec-continue")
        three.begin("-exec-continue")
        time.sleep(0.2)
        two.process.kill()
        wait_for(lambda: live.stderr.count("in control") == 3, "client 3 in control")
        has(three.interrupt(), 'signal-name="SIGINT"')
        has(three.do("stepi"), "end-stepping-range")
        has(three.do("monitor clients"), r"\* client 3.*in control")


@suite.test("clients: control is given away, and taken")
def _():
    with Live(lab("observe")) as live, Desk(live) as one, Desk(live) as two:
        to_main(one)
        two.connect()
        has(two.do("monitor control"), r"client 1 \(.*\) is in control")
        has(one.do("monitor release"), "nobody is in control now")
        has(one.do("stepi"), "Remote failure reply: E.you look on")
        has(two.do("monitor control"), "you are in control of the target now")
        has(two.do("stepi"), "end-stepping-range")
        has(one.do("continue"), "stopped")
        equal(one.do("p/x $pc").splitlines()[-2][-12:], two.do("p/x $pc").splitlines()[-2][-12:], "PC")


@suite.test("clients: each has its own replay position")
def _():
    with Live(lab("observe")) as live, Desk(live) as one, Desk(live) as two:
        to_main(one)
        for desk in (one, two):
            if desk is two:
                desk.connect()
            desk.do("record stop")
        now = one.do("p/x $pc").splitlines()[-2][-14:]
        for _ in range(3):
            two.do("reverse-stepi")
        has(two.do("monitor where"), "3 before the halt")
        has(one.do("monitor where"), "at the halt, not replaying")
        one.do("reverse-stepi")
        has(two.do("monitor where"), "3 before the halt")
        has(one.do("monitor where"), "1 before the halt")
        two.do("stepi")
        has(two.do("monitor where"), "2 before the halt")
        one.do("stepi")
        equal(one.do("p/x $pc").splitlines()[-2][-14:], now, "PC of the one in control")
        one.do("stepi")
        has(two.do("monitor where"), "at the halt, not replaying")


@suite.test("clients: each has its own mark in the history: a delta is what ran since it has read")
def _():
    with Live(lab("observe")) as live, Wire(live) as one, Observer(live.port) as two:
        one.run_to_main(ELF)
        has(two.ask("vCont;c"), "^T05")
        for client in (one, two):
            equal(client.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
            expect(len(client.blocks()) > 3, "no history")
        deltas = []
        for name in "add_value", "add_value":
            one.run_to(symbol(ELF, name))
            deltas.append(one.blocks("delta"))
            expect(len(deltas[-1]) > 3 and deltas[-1][-1][0] == 0, f"no delta: {deltas[-1]}")
        has(two.ask("vCont;c"), "^T05")
        both = two.blocks("delta")
        # Newest first. Where one delta ends and the next begins is one block of the other's.
        equal(both[:len(deltas[1]) - 1], deltas[1][:-1], "the later part")
        equal(both[-len(deltas[0]) + 1:], deltas[0][1:], "the earlier part")
        equal(len(both), len(deltas[0]) + len(deltas[1]) - 1, "blocks of the one who looks on")
        for client in (one, two):
            equal(client.blocks("new"), [], "what is new behind that")


@suite.test("clients: [gdb] others = refuse says who is in control")
def _():
    with Live(lab("refuse")) as live, Desk(live) as one:
        to_main(one)
        s = gdb(live.port, ["info target"], elf=ELF)
        has(s[0], r"Remote failure reply: (E\.)?client 1 \(127\.0\.0\.1:\d+\) is in control, and .gdb. others = refuse")
        logged(live, r"client 2 \(.*\) is refused: client 1")
        has(one.do("stepi"), "end-stepping-range")
    with Live(lab("refuse")) as live:
        for _ in range(3):  # one after the other, all of them come in
            gdb(live.port, ["info registers pc"], elf=ELF)


@suite.test("clients: a recording has a replay position for each")
def _():
    with Server(DEMO / "recording", "--no-record") as server:
        with Client(server.port, acks=False) as one, Client(server.port, acks=False) as two:
            for client in (one, two):
                client.start()
            here = one.ask("g")
            for _ in range(5):
                has(one.ask("bs"), "^T05")
            equal(two.ask("g"), here, "registers of the second")
            expect(one.ask("g") != here, "the first did not move")
            equal(two.ask("Z0,80010000,4"), "OK", "a breakpoint of the second")
            has(one.ask("bc"), "replaylog:begin")


suite.run()
