#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A modelled probe in a lab: two clients at its board, a cable that is pulled and a board that loses
its power while both are there. Each is told, nobody is dropped, and the session goes on."""

import select
import time
from pathlib import Path

from probe_gdb import ROOT, Board, whole_session
from live_gdb import Wire, goes_on, symbol
from replay_gdb import PATIENCE, Client, Suite, equal, expect, frame, has, lacks, logged, wait_for

suite = Suite()
M3 = ROOT / "configs" / "virtual" / "crash-m3.elf"
RAM = 0x20000000


class Observer(Client):
    """One who looks on."""

    def __init__(self, board):
        super().__init__(board.port, acks=False)
        self.ask("qSupported:multiprocess+;swbreak+;hwbreak+;vContSupported+")
        has(self.ask("?"), "^T")


def lab(*options, others="observe"):
    return Board(M3, *options, more=f"[gdb]\nothers = {others}")


def running_for_ever(wire):
    """At main, without the program's crash, recording."""
    wire.monitor("reset")
    wire.run_to(symbol(M3, "main"), 2)
    wire.write(symbol(M3, "crash_after"), 0)
    equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
    wire.run_to(symbol(M3, "add_value"), 2)


def text_and_stop(client):
    """What a client that waits for a halt is told: (console text, stop reply)."""
    text = ""
    while (answer := client.reply())[:1] == "O":
        text += bytes.fromhex(answer[1:]).decode()
    return text, answer


def run_is_under_way(board, client):
    """The core has run, and the server is behind setting it going: a cable that is pulled before that is a resume
    that fails, and no run that ends."""
    goes_on(board.truth_path)
    wait_for(lambda: bytes.fromhex(client.ask("qThreadExtraInfo,1")).endswith(b": running"), "the run")


def answers_again(wire):
    end = time.monotonic() + PATIENCE
    while wire.ask("g")[:1] == "E":
        expect(time.monotonic() < end, "the target does not come back")
        time.sleep(0.3)


def same_view(one, two):
    """The observer goes on to where the target is, and sees what the one in control sees."""
    has(two.ask("vCont;c"), "^T")
    equal(two.ask("g")[:128], one.ask("g")[:128], "registers of the one who looks on")
    equal(two.ask(f"m{RAM:x},40"), one.ask(f"m{RAM:x},40"), "memory of the one who looks on")


@suite.test("probe lab: one in control, one who looks on, who changes nothing")
def _():
    with lab() as board, Wire(board) as one:
        running_for_ever(one)
        with Observer(board) as two:
            equal(two.ask("g")[:128], one.ask("g")[:128], "registers")
            equal(two.ask(f"m{RAM:x},40"), one.ask(f"m{RAM:x},40"), "memory")
            equal(two.ask("Qbtrace:bts"), "OK", "Qbtrace:bts of who looks on")
            equal(two.blocks(), one.blocks(), "the history")
            for packet in ("G" + "00" * 68, "P0=00000000", f"M{RAM:x},4:00000000", "Z1,100,2",
                           "vCont;c", "vCont;s", "R00"):
                if packet in ("vCont;c", "R00"):  # a wait for the next halt; no answer
                    continue
                has(two.ask(packet), r"^E\.you look on", packet)
            one.step()
            has(two.ask(f"m{RAM:x},4"), "^E", "memory of another halt")
            same_view(one, two)


@suite.test("probe lab: the cable is pulled while the core runs: both are told, both go on")
def _():
    with lab() as board, Wire(board) as one, Observer(board) as two:
        running_for_ever(one)
        before = one.blocks()
        one.send(frame("vCont;c"))
        run_is_under_way(board, two)
        two.send(frame("vCont;c"))
        board.bench("unplug")
        text, stop = text_and_stop(one)
        has(text, "^the probe does not answer: is it unplugged[?] The session goes on when it is back$")
        has(stop, "^T02")
        has(text_and_stop(two)[1], "^T02")
        logged(board, "^btraced: the probe does not answer any more; it is looked for$")
        for client in (one, two):
            has(client.ask("g"), "^E")
            has(client.ask(f"m{RAM:x},4"), "^E")
        board.bench("replug")
        answers_again(one)
        logged(board, "^btraced: the probe is back, the core is halted$")
        same_view(one, two)
        one.step()
        after = one.blocks()
        expect(before[3:] == after[-len(before) + 3:], "the history of before is another one")
        one.run_to(symbol(M3, "add_value"), 2)
        lacks(board.stderr, "has left|dropped")


@suite.test("probe lab: the cable is pulled while the core stands, and who comes then is told why")
def _():
    with lab() as board, Wire(board) as one, Observer(board) as two:
        running_for_ever(one)
        board.bench("unplug")
        logged(board, "^btraced: the probe does not answer any more; it is looked for$")
        with Client(board.port, acks=False) as three:
            has(three.ask("qSupported"), "PacketSize")
            three.ask("?")
            has(three.ask("g"), "^E[.]the probe does not answer: is it unplugged[?]$")
            has(three.ask(f"m{RAM:x},4"), "^E")
            has(one.monitor("probe"), "state +not known: the probe does not answer")
            has(one.monitor("status"), r"^target +lost, \d+ halts, lost 1 times")
        board.bench("replug")
        answers_again(one)
        has(one.monitor("status"), r"^target +halted, \d+ halts, lost 1 times")
        same_view(one, two)
        has(one.resume("vCont;s"), "^T05")


@suite.test("probe lab: who looks on gets control while the probe is away, and has it when it is back")
def _():
    with lab(others="queue") as board, Wire(board) as one, Wire(board) as two:
        running_for_ever(one)
        board.bench("unplug")
        logged(board, "^btraced: the probe does not answer any more")
        one.close(reset=True)
        logged(board, r"client 2 \(.*\) is in control$")
        board.bench("replug")
        logged(board, "^btraced: the probe is back, the core is halted$")
        told = ""
        for packet in "vCont;c", "vCont;s":  # the first one shows where the target is
            two.send(frame(packet))
            text, stop = text_and_stop(two)
            has(stop, "^T")
            told += text
        has(told, "^you are in control of the target now$")
        two.write(RAM + 0x3000, 0x12345678)
        equal(two.ask(f"m{RAM + 0x3000:x},4"), "78563412", "what was written")


@suite.test("probe lab: the board loses its power while it runs: told, waited for, gone on with")
def _():
    for options in [], ["--jtag"]:
        wire_key = {"probe": "clock = 10000000\nwire = jtag"} if options else {}
        with Board(M3, *options, more="[gdb]\nothers = observe", **wire_key) as board, \
                Wire(board) as one, Observer(board) as two:
            running_for_ever(one)
            before = one.blocks()
            one.send(frame("vCont;c"))
            run_is_under_way(board, two)
            two.send(frame("vCont;c"))
            board.bench("power off")
            text, stop = text_and_stop(one)
            has(text, "^the target does not answer: has it lost its power[?] The session goes on when "
                      "it is back$")
            has(stop, "^T02")
            has(text_and_stop(two)[1], "^T02")
            logged(board, "^btraced: the target does not answer any more; it is looked for$")
            for client in (one, two):
                has(client.ask("g"), "^E")
            has(one.monitor("probe"), "state +not known: the target does not answer")
            lacks(board.stderr, "probe does not answer")
            board.bench("power on")
            answers_again(one)
            logged(board, "^btraced: the target answers again, the core is halted$")
            same_view(one, two)
            after = one.blocks()
            expect(before[3:] == after[-len(before) + 3:], "the history of before is another one")
            expect((1, 0) in after, "no gap where the power was off")
            one.monitor("reset")
            one.run_to(symbol(M3, "main"), 2)
            one.step()
            expect(one.blocks()[0][1] == one.pc(), "the new history does not end at the PC")


@suite.test("probe lab: the board loses its power while it stands; breakpoints are set again")
def _():
    with lab() as board, Wire(board) as one:
        running_for_ever(one)
        at = symbol(M3, "add_value")
        equal(one.ask(f"Z1,{at:x},2"), "OK", "Z1")
        board.bench("power off")
        logged(board, "^btraced: the target does not answer any more; it is looked for$")
        has(one.ask(f"m{RAM:x},4"), "^E")
        board.bench("power on")
        answers_again(one)
        one.monitor("reset")  # the program has run, and crashed, before it was halted
        has(one.resume(), "^T05")
        equal(one.pc(), at, "where the breakpoint of before stops it")


@suite.test("probe lab: the power goes for a moment only")
def _():
    with lab() as board, Wire(board) as one:
        running_for_ever(one)
        one.send(frame("vCont;c"))
        goes_on(board.truth_path)
        board.bench("power off")
        board.bench("power on")
        text, stop = text_and_stop(one)
        has(text, "the target does not answer|the core was reset")
        has(stop, "^T0")
        answers_again(one)
        one.send(frame("vCont;s"))
        has(text_and_stop(one)[1], "^T05")


@suite.test("probe lab: stock GDB through a loss of power")
def _():
    with Board(M3, more="[gdb]\nothers = observe") as board:
        script = f"python import sys; sys.path.insert(0, '{Path(__file__).parent}'); " \
                 f"from probe_gdb import ask_bench; import threading; power = lambda how: " \
                 f"ask_bench('{board.control}', 'power ' + how)"
        text = whole_session(
            board, script, f"file {M3}", "monitor reset", "maintenance flush register-cache",
            "tbreak main", "continue", "set var crash_after = 0", "record btrace",
            "python threading.Timer(1, power, ['off']).start()", "continue", "info threads",
            "python power('on')", "monitor probe", "shell sleep 2",
            "maintenance flush register-cache", "info threads", "monitor reset",
            "maintenance flush register-cache", "tbreak main", "continue", "stepi 5", "info record",
            "bt", "echo still here\\n")
        has(text, "^the target does not answer: has it lost its power[?] The session goes on when it "
                  "is back$")
        has(text, r"\(the target does not answer\)")
        # The second time: behind the loss of power.
        equal(text.count("Temporary breakpoint 2, main () at"), 1, "how often main is reached again")
        has(text, r"^Recorded \d+ instructions in \d+ functions \([1-9]\d* gaps?\)")
        has(text, "^still here$")
        lacks(text, "(?i)ignoring packet|timed out|connection closed|internal-error")
        logged(board, "^btraced: the target answers again, the core is halted$")
        lacks(board.stderr, "behind GDB's back")


@suite.test("probe lab: a core that never halts: told in time, others are served, it halts later")
def _():
    with Board(M3, deadline=4000, more="[gdb]\nothers = observe") as board, \
            Wire(board) as one, Observer(board) as two:
        running_for_ever(one)
        one.send(frame("vCont;c"))
        goes_on(board.truth_path)
        board.bench("fault no-halt=1")
        one.send(b"\x03")
        two.send(frame("qRcmd," + b"status".hex()))
        while two.reply() != "OK":
            pass
        expect(not select.select([one.socket], [], [], 0)[0], "who looks on waits")
        _, answer = text_and_stop(one)
        waited = has(answer, r"^E\.the core does not halt: DHCSR\.C_HALT was set for (\d+) ms")[1]
        expect(int(waited) >= 2000, f"it was waited for {waited} ms")
        board.bench("fault no-halt=0")
        has(one.ask("?"), r"^T0")
        has(one.ask("g"), r"^[0-9a-f]{128}")


if __name__ == "__main__":
    suite.run()
