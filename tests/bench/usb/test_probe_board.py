#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stock GDB debugs a program on an emulated Cortex-M through the probe drivers, with its history
out of the trace buffer behind the modelled probe: the history equals what was executed."""

import re
import time

from probe_gdb import LOADED_MACHINE, ROOT, Board, whole_session
from live_gdb import Wire, goes_on, split_at_gap, symbol, tail_of
from replay_gdb import (PATIENCE, Suite, equal, expect, folder, frame, gdb, has, history, lacks,
                        record_counts)

suite = Suite()
PROGRAMS = ROOT / "configs" / "virtual"
M3, M4 = PROGRAMS / "crash-m3.elf", PROGRAMS / "crash-m4.elf"
FLASH = f"[flash]\nalgorithm = {PROGRAMS}/flash-m3.flm\nram = 0x20010000+0x4000"


def check_history(board, s, at_least):
    """All that GDB lists is what ran last."""
    rows = history(s["record instruction-history"])
    expect(len(rows) >= at_least, f"only {len(rows)} instructions listed")
    tail_of(rows, board.truth(s[board.mark()]), len(rows))
    lacks(s.text, "corrupted|internal|cannot be read|not traced")


LIST = ("set record instruction-history-size 300", "record instruction-history")


@suite.test("probe board: functions, steps and the way back from a function")
def _():
    with Board(M3) as board:
        s = board.session("tbreak add_value", "continue", "bt", "finish", "next", "step", "info line",
                          "p/x $pc", "info registers control")
        has(s["continue"], r"^Temporary breakpoint 1, add_value \(topic=")
        has(s["bt"], r"^#2  0x\w+ in main \(\)")
        has(s["finish"], r"^0x\w+ in file_message \(")
        lacks(s["next"] + s["step"], "handler")


@suite.test("probe board: a Cortex-M4 with FPU")
def _():
    with Board(M4, machine="netduinoplus2", core="Cortex-M4") as board:
        s = board.session("tbreak add_value", "continue", "set $s3=2.5", "p $s3", "p $fpscr",
                          "stepi 20", "record btrace", "tbreak add_value", "continue", *LIST,
                          board.mark())
        has(s["p $s3"], r"= 2\.5$")
        check_history(board, s, 300)


@suite.test("probe board: the history at a breakpoint and after steps is what ran")
def _():
    with Board(M3) as board:
        s = board.session("record btrace", "tbreak add_value", "continue", "info record", "stepi 7",
                          "next", "finish", *LIST, board.mark())
        check_history(board, s, 300)
        equal(record_counts(s["info record"])[2], 0, "gaps")


@suite.test("probe board: the same over HID, over JTAG, on a bad line")
def _():
    for options, keys in ((["--v1"], {}), (["--jtag"], {"probe": "wire = jtag"}),
                          (["--fault", "wait=40"], {})):
        with Board(M3, *options, **keys) as board:
            s = board.session("record btrace", "tbreak add_value", "continue", "stepi", *LIST,
                              board.mark())
            check_history(board, s, 300)


@suite.test("probe board: tracing off and on: one gap, and history on both sides of it")
def _():
    with Board(M3) as board:
        s = board.session("record btrace", "tbreak add_value", "continue", "info record",
                          board.mark(), "monitor trace off", "stepi", "stepi", "stepi",
                          "monitor trace status", "monitor trace on", "stepi", "stepi", "info record", *LIST, board.mark(),
                          "monitor trace filter exclude 0-0x100", "monitor help")
        before, after = (record_counts(text) for text in s.all("info record"))
        has(s["monitor trace off"], "^tracing is off")
        has(s["monitor trace status"], "^tracing +off by command$")
        has(s["monitor trace on"], "^tracing is on")
        has(s["monitor trace filter exclude 0-0x100"], "is ETM3.5, .* only an ETMv4 and a virtual")
        equal(after[2] - before[2], 1, "gaps")
        off, end = (board.truth(mark) for mark in s.all(board.mark()))
        expect(len(end) >= len(off) + 5, "five steps")
        split_at_gap(off, end, s["record instruction-history"], 2)


@suite.test("probe board: a fault is told in words")
def _():
    with Board(M3) as board:
        s = board.session("record btrace", "continue", "bt 3", "monitor fault", "monitor trace status",
                          "monitor probe", *LIST, board.mark(), "stepi", "info threads")
        has(s["continue"], r"^HardFault: an access was not allowed by the memory protection "
                           r"\(0x\w+\); at 0x\w+$")
        has(s["continue"], r"^Program received signal SIGSEGV")
        has(s["bt 3"], r"^#1  <signal handler called>\n#2  report_topics")
        has(s["monitor fault"], r"^CFSR 0x00000082, HFSR 0x40000000")
        lacks(s["monitor trace status"], "^state ", "how the core was when the probe was opened:")
        has(s["monitor trace status"], "^probe ")
        has(s["monitor probe"], r"^state +halted at 0x\w+$")
        lacks(s["stepi"], "HardFault", "told twice:")
        has(s["info threads"], r"\(HardFault\)")
        check_history(board, s, 300)


@suite.test("probe board: vector catch none lets the handler run")
def _():
    with Board(M3) as board:
        s = board.session("monitor vector_catch none", "break stopped_here", "continue", "bt 2")
        has(s["continue"], r"^Breakpoint 1, stopped_here")
        has(s["continue"], r"^HardFault: ")


@suite.test("probe board: load into flash, and what runs then")
def _():
    with Board(M3, more=FLASH) as board:
        s = board.session("set var *(int *) &crash_after = 0", "load", "compare-sections",
                          "info mem", "break main", "continue", "record btrace", "next", "next",
                          "stepi 10", *LIST, board.mark(), "monitor flash",
                          "flash-erase", "x/2xw 0x0", "load")
        has(s["load"], r"^Transfer rate")
        lacks(s["compare-sections"], "MIS-MATCHED")
        has(s["compare-sections"], r"^Section \.text, .*: matched")
        has(s["info mem"], r"flash")
        has(s["continue"], r"^Breakpoint 1, main")
        check_history(board, s, 100)
        has(s["x/2xw 0x0"], r"0xffffffff\s+0xffffffff")


@suite.test("probe board: without an algorithm flash does not take a program, and the words say why")
def _():
    for flash in ("0x0+0x40000", "0x0+0x40000,silent"):
        with Board(M3, "--flash", flash) as board:
            text = whole_session(board, f"restore {M4} binary 0", "monitor why",
                                 "set var *(int *) 0x100 = 0x12345678", "monitor why",
                                 "set var *(int *) 0x20001000 = 0x1234",
                                 "p/x *(int *) 0x20001000")
            words = re.findall(r"^the memory at 0x\w+ does not take what is written: for flash name an "
                               r"algorithm in the board file, \[flash\] algorithm = FILE.FLM$", text,
                               re.MULTILINE)
            equal(len(words), 2, f"{flash}: the words in: {text}")
            has(text, r"= 0x1234$")


@suite.test("probe board: a program in RAM, with breakpoints there")
def _():
    place = folder() / "code"
    # movs r0, #0; adds r0, #1; bl .-2 (to the adds); nop
    place.write_bytes(bytes.fromhex("0020" "0130" "fff7fdff" "00bf"))
    with Board(M3) as board:
        s = board.session(f"restore {place} binary 0x20008000", "set $pc = 0x20008000",
                          "break *0x20008004", "continue", "p $r0", "continue", "p $r0",
                          "x/xh 0x20008004", "hbreak *0x20008002", "monitor why")
        equal(s.all("p $r0"), ["$1 = 1\n", "$2 = 2\n"], "r0")
        has(s["x/xh 0x20008004"], "0xf7ff", "memory where a BKPT stands")


def stopped_or_refused(wire):
    """The stop when the probe is gone; an error if that was before the resume had all its answers."""
    answer = wire.reply()
    while answer[:1] == "O":
        answer = wire.reply()
    has(answer, r"^(T02|E\.the probe does not answer)")


@suite.test("probe board: pulled and put back: the session goes on, the history of before is there")
def _():
    with Board(M3) as board, Wire(board) as wire:
        wire.monitor("reset")
        wire.run_to(symbol(M3, "main"), 2)
        wire.write(symbol(M3, "crash_after"), 0)
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        wire.run_to(symbol(M3, "add_value"), 2)
        before = wire.blocks()
        expect(len(before) > 20, f"{len(before)} blocks before")
        wire.send(frame("vCont;c"))
        goes_on(board.truth_path)
        board.bench("unplug")
        stopped_or_refused(wire)
        has(wire.ask("g"), r"^E")
        board.bench("replug")
        end = time.monotonic() + PATIENCE
        while wire.ask("g")[:1] == "E":
            expect(time.monotonic() < end, "the probe does not come back")
            time.sleep(0.3)
        wire.step()
        wire.step()
        after = wire.blocks()
        expect(before[3:] == after[-len(before) + 3:], "the history of before is another one")
        expect((1, 0) in after[:len(after) - len(before) + 4], "no gap where the cable was out")
        wire.run_to(symbol(M3, "add_value"), 2)


@suite.test("probe board: pulled while the buffer is read out: no history is made up, and it goes on")
def _():
    with Board(M3) as board, Wire(board) as wire:
        wire.monitor("reset")
        wire.run_to(symbol(M3, "main"), 2)
        wire.write(symbol(M3, "crash_after"), 0)
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        for after in 6, 15, 30:
            wire.send(frame("vCont;c"))
            goes_on(board.truth_path)
            board.bench(f"unplug {after}")
            wire.send(b"\x03")
            stopped_or_refused(wire)
            board.bench("unplug")
            end = time.monotonic() + PATIENCE
            while wire.ask("m20000000,4")[:1] != "E":
                expect(time.monotonic() < end, "nobody notices")
                time.sleep(0.1)
            board.bench("unplug 0")
            board.bench("replug")
            while wire.ask("m20000000,4")[:1] == "E":
                expect(time.monotonic() < end, "the probe does not come back")
                time.sleep(0.3)
        wire.run_to(symbol(M3, "add_value"), 2)
        wire.close()
        s = gdb(board.port, ["record btrace", *LIST, board.mark()], elf=M3,
                connect="target extended-remote", before=[LOADED_MACHINE])
        rows = [int(a, 16) for a in re.findall(r"^\d+\t(?:=> |   )(0x[0-9a-f]+)",
                                               s["record instruction-history"], re.MULTILINE)]
        ran = [address & ~1 for address in board.truth(s[board.mark()])]
        expect(len(rows) > 20, f"only {len(rows)} instructions listed")
        equal(rows[-20:], ran[-20:], "what ran last")


if __name__ == "__main__":
    suite.run()
