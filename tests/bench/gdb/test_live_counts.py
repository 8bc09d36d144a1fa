#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/live/live_counts.c, server/history/history_counts.c and
# server/recording/record_place.c.
"""`monitor coverage` and `monitor profile` of a live target: the same as of its recording, since a
start or since the cores were resumed last, as files below the record folder and as text."""

import re
import subprocess

from live_gdb import PROGRAMS, Live, Wire, board_file, recording, symbol
from replay_gdb import (BTRACED, PATIENCE, Suite, environment, equal, expect, frame, has,
                        lacks)

suite = Suite()
HELD_BACK = 16  # instructions at the end that a decoder may hold back


def lines(text):
    """{(file, line): count} of a tracefile."""
    found, file = {}, None
    for row in text.splitlines():
        key, _, rest = row.partition(":")
        if key == "SF":
            file = rest.split("/")[-1]
        elif key == "DA":
            number, count = rest.split(",")[:2]
            found[file, int(number)] = int(count)
    return found


def instructions(text):
    return int(has(text, r"(\d+) instructions of the history")[1])


def about(got, wanted, what):
    expect(abs(got - wanted) <= HELD_BACK, f"{what}: {got} instructions, {wanted} ran")


def exported(what, place, elf):
    done = subprocess.run([BTRACED, what, "--elf", str(elf), str(place)], capture_output=True,
                          text=True, timeout=5 * PATIENCE, env=environment())
    equal(done.returncode, 0, f"exit code of btraced {what}: {done.stderr}")
    return done.stdout


for board in ("m3", "a9", "a53"):
    @suite.test(f"live counts: {board}: coverage and profile are those of the recording")
    def _(board=board):
        elf = PROGRAMS / f"crash-{board}.elf"
        with Live(board_file(f"virtual-{board}")) as live, Wire(live) as wire:
            has(wire.monitor("coverage start"), "from now on counts")
            has(wire.monitor("profile start"), "from now on counts")
            has(wire.monitor("record start run"), "recording to")
            wire.run_to(symbol(elf, "main"))
            wire.run_to(symbol(elf, "report_topics"))
            has(wire.monitor("coverage write run.info"), r"^written to .*/recordings/run\.info$")
            said = wire.monitor("profile write callgrind.out")
            has(said, r"^written to .*/recordings/callgrind\.out$")
            about(instructions(said), len(live.truth()), "profile")
            wire.monitor("record stop")
            place = recording(live, "run")
            got = lines((place.parent / "run.info").read_text())
            wanted = lines(exported("coverage", place, elf))
            equal(list(got), list(wanted), "lines")
            more = {line: n - got[line] for line, n in wanted.items() if n != got[line]}
            expect(all(0 < n <= HELD_BACK for n in more.values()) and
                   sum(more.values()) <= HELD_BACK, f"not counted: {more}")
            calls = re.compile(r"^(fn|cfn|calls)=", re.MULTILINE)
            got = len(calls.findall((place.parent / "callgrind.out").read_text()))
            wanted = len(calls.findall(exported("profile", place, elf)))
            expect(abs(got - wanted) <= 4, f"{got} functions and calls, not {wanted}")


@suite.test("live counts: since a start, up to a stop, and of the last run without one")
def _():
    elf = PROGRAMS / "crash-m3.elf"
    with Live(board_file("virtual-m3")) as live, Wire(live) as wire:
        wire.run_to(symbol(elf, "main"))
        first = len(live.truth())
        about(instructions(wire.monitor("coverage")), first, "the first run")
        has(wire.monitor("profile stop"), "was not started")
        wire.monitor("profile start")
        wire.run_to(symbol(elf, "add_value"))
        second = len(live.truth())
        about(instructions(wire.monitor("coverage")), second - first, "the last run")
        about(instructions(wire.monitor("profile")), second - first, "since the start")
        wire.run_to(symbol(elf, "add_value"))
        third = len(live.truth())
        about(instructions(wire.monitor("coverage")), third - second, "the last run")
        text = wire.monitor("profile")
        about(instructions(text), third - first, "since the start")
        has(text, r"\bself_test\b|\bchecksum\b", "profile")
        has(wire.monitor("profile stop"), "does not count")
        wire.run_to(symbol(elf, "add_value"))
        equal(wire.monitor("profile"), text, "behind the stop")
        has(wire.monitor("coverage"), r"^all +\d+/\d+ ")


@suite.test("live counts: names as of recordings, and no file is written twice")
def _():
    path = board_file("virtual-m3", replace=[("[gdb]\n", "[gdb]\nothers = observe\n")])
    with Live(path) as live, Wire(live) as wire:
        wire.run_to(symbol(PROGRAMS / "crash-m3.elf", "main"))
        for name in ("../x", "/tmp/x", ".x", "-x", "a b", "a/b", "x" * 65):
            has(wire.monitor(f"coverage write {name}"), "a recording has a name, not a path")
        has(wire.monitor("coverage write x.info"), "^written to ")
        before = (path.parent / "recordings" / "x.info").read_text()
        has(wire.monitor("profile write x.info"), "'x.info' is there already")
        equal((path.parent / "recordings" / "x.info").read_text(), before, "the file")
        has(wire.monitor("coverage write"), "not 'write'")
        has(wire.monitor("profile more"), "not 'more'")
        with Wire(live) as other:
            has(other.monitor("profile start"), "you look on")
            lacks(other.monitor("history 1"), "you look on")


@suite.test("live counts: what the history has no room for is told, and does not count")
def _():
    elf = PROGRAMS / "crash-m3.elf"
    with Live(board_file("virtual-m3", memory="64K", checkpoint="8K")) as live, Wire(live) as wire:
        wire.run_to(symbol(elf, "main"))
        wire.write(symbol(elf, "crash_after"), 0)
        for what in ("coverage", "profile"):
            wire.monitor(f"{what} start")
        wire.run_while(lambda: live.truth_path().stat().st_size < 8 << 20)
        ran = len(live.truth())
        for what in ("coverage", "profile"):
            text = wire.monitor(what)
            has(text, "gaps: .*overwritten 1")
            expect(0 < instructions(text) < ran // 2, f"{instructions(text)} of {ran}")


@suite.test("live counts: a client that leaves, or presses Ctrl-C, meanwhile")
def _():
    elf = PROGRAMS / "crash-m3.elf"
    with Live(board_file("virtual-m3")) as live:
        with Wire(live) as wire:
            wire.run_to(symbol(elf, "report_topics"))
        for number in range(6):
            with Wire(live) as wire:
                what = ("coverage", "profile", f"coverage write left{number}")[number % 3]
                wire.send(frame("qRcmd," + what.encode().hex()))
        with Wire(live) as wire:
            wire.send(frame("qRcmd," + b"coverage".hex()) + b"\x03")
            answer = wire.reply()
            while answer != "OK":
                expect(answer[:1] == "O", f"answer is {answer!r}")
                answer = wire.reply()
            has(wire.monitor("version"), "^btraced ")


@suite.test("live counts: nothing is traced, or the board file names no place")
def _():
    path = board_file("virtual-m3")
    path.write_text(re.sub(r"^dir = .*$", "", path.read_text(), flags=re.MULTILINE))
    with Live(path) as live, Wire(live) as wire:
        wire.run_to(symbol(PROGRAMS / "crash-m3.elf", "main"))
        has(wire.monitor("coverage write x"), r"no place for recordings: \[record\] dir")
        has(wire.monitor("coverage"), "instructions of the history")


suite.run()
