#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Debug by OpenOCD, history by us: stock GDB on a server whose target is OpenOCD on the modelled
probe. The trace units are programmed through OpenOCD's memory packets; the trace is read out of the
ETB the same way, or comes over TCP from OpenOCD's capture of the SWO pin."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "bench" / "gdb"))

import remote_board  # noqa: E402
from live_gdb import Live, Wire, follow, symbol, split_at_gap  # noqa: E402
from replay_gdb import (GAP, Suite, equal, expect, folder, frame, has, record_counts,  # noqa: E402
                        logged, value, wait_for)
from remote_board import ELF, compared, free_port, run_control, session  # noqa: E402

suite = Suite()
SWO = 2000000

# Breakpoints by hand would be written to the flash, and unreadable memory would read as zeros.
OPENOCD = """
adapter driver cmsis-dap
cmsis_dap_backend usb_bulk
cmsis_dap_vid_pid 0x1209 0x0001
transport select swd
swd newdap chip cpu -irlen 4
dap create chip.dap -chain-position chip.cpu
target create chip.cpu cortex_m -dap chip.dap -ap-num 0
adapter speed 4000
gdb_port {port}
tcl_port disabled
telnet_port disabled
gdb_breakpoint_override hard
gdb_report_data_abort enable
{more}
init
{then}
"""


def board_file(trace, *options, more="", then=""):
    """Options of the test bench, keys of [trace], lines for OpenOCD."""
    remote_board.need("openocd")
    place, port = folder(), free_port()
    (place / "openocd.cfg").write_text(OPENOCD.format(port=port, more=more, then=then))
    return remote_board.board_file(place, port, ["openocd", "-f", place / "openocd.cfg"], trace,
                                     options)


@suite.test("openocd behind us: halt, registers, memory, steps, breakpoints, watchpoints, reset")
def _():
    with Live(board_file("sink = etb", "--flash", "0x08000000+0x100000")) as live:
        s = run_control(live, r"^Hardware watchpoint \d+: received(.|\n)*^New value = ",
                        "info registers pc xPSR", "monitor mdw 0xe000ed00", "monitor nosuch")
        has(s["monitor mdw 0xe000ed00"], r"^0xe000ed00: 410fc240")
        has(s["monitor nosuch"], r"^'nosuch' is no command of btraced")


@suite.test("openocd behind us: Tcl's exec and files are out of reach of whoever controls the board")
def _():
    goal = folder() / "goal"
    with Live(board_file("sink = etb")) as live, OpenOcdWire(live) as wire:
        for text in (f"exec touch {goal}", f"poll [exec touch {goal}]", f"halt; exec touch {goal}",
                     f"halt\nexec touch {goal}", f'mdw "[exec touch {goal}]"', f"mdw $[exec touch {goal}]",
                     f"mdw {{[exec touch {goal}]}}", f"eval exec touch {goal}", f"poll on; eval {{exec touch {goal}}}",
                     f"catch {{exec touch {goal}}}", f"poll\texec touch {goal}", f"halt\r\nexec touch {goal}",
                     f"set x [exec touch {goal}]", f"targets [eval [list exec touch {goal}]]", f"log_output {goal}", f"dump_image {goal} 0 16",
                     f"rtt server start {goal} 0", "arm semihosting enable", f"source {goal}",
                     f"echo [open {goal} w]", "shutdown"):
            has(wire.monitor(text), "no command of btraced|with plain words only")
            expect(not goal.exists(), f"'{text}' has made a file")
        answer = wire.ask("qRcmd," + b"mdw 0xe000ed00".hex())  # the text itself, without an O
        has(bytes.fromhex(answer).decode(), "^0xe000ed00: 410fc240")
        for packet in ("vRun;2f62696e2f7368", f"vFile:open:{str(goal).encode().hex()},601,1ff",
                       f"QTSave:{str(goal).encode().hex()}", "qXfer:exec-file:read::0,fff"):
            equal(wire.ask(packet), "", packet)


@suite.test("openocd behind us: [target] monitor = all: whoever controls the board has a shell")
def _():
    goal = folder() / "goal"
    path = board_file("sink = etb")
    path.write_text(path.read_text().replace("[trace]", "monitor = all\n[trace]", 1))
    with Live(path) as live, OpenOcdWire(live) as wire:
        wire.monitor(f"mdw [exec touch {goal}]")
        expect(goal.exists(), "the attack does not work: the test before proves nothing")


class OpenOcdWire(Wire):
    """OpenOCD names no thread in its stop replies."""

    def start(self):
        features = self.ask("qSupported:multiprocess+;swbreak+;hwbreak+;vContSupported+")
        equal(self.ask("Hg0"), "OK", "Hg0")
        has(self.ask("?"), "^S02$|^T0[25]")
        return features.split(";")

    def running(self, until=None):
        """Runs until it halts by itself, or is halted. Console packets come meanwhile, empty ones, too."""
        self.send(frame("vCont;c"))
        if until:
            wait_for(until, "a run")
            self.send(b"\x03")
        while (answer := self.reply())[:1] == "O":
            pass
        has(answer, "^T0[25]$", "stop reply")


@suite.test("openocd behind us: the history of each halt, read out of the ETB")
def _():
    with Live(board_file("sink = etb")) as live:
        logged(live, r"^trace clock +not needed: ETB, 4096 bytes at 0xe0043000")
        logged(live, r"^trace IDs +0x10 cpu \(silent so far\)$")
        show = "record instruction-history"
        s = session(live, "monitor reset halt", "record btrace", "tbreak add_value", "continue",
                    "set record instruction-history-size 2000", "info record", show, live.mark(),
                    "stepi", "stepi", "tbreak keep_average", "continue", show, live.mark(),
                    "tbreak stopped_here", "continue", "info record", show, live.mark(),
                    "record function-call-history", "monitor trace status", "monitor trace gaps",
                    "reverse-stepi", "p/x $pc")
        marks, lists = s.all(live.mark()), s.all(show)
        first, last = (record_counts(text) for text in s.all("info record"))
        equal(first[2], 0, "gaps before the buffer runs over")
        for mark, listed, least in zip(marks, lists, (2000, 2000, 2000)):
            compared(live, mark, listed, least)
        expect(last[0] > first[0], "no more instructions than before")
        has(s["monitor trace gaps"], "overwritten")
        has(s["record function-call-history"], r"\thard_fault_handler$")
        has(s["monitor trace status"], r"^rate .*[1-9]\d* (bytes|kB) in all$")
        has(s["monitor trace status"], r"^last run      complete up to the halt$")
        truth = live.truth(marks[2])
        equal(value(s["p/x $pc"]), truth[-1] & ~1, "PC one step back")


@suite.test("openocd behind us: trace units that a reset or a user has undone are programmed again")
def _():
    with Live(board_file("sink = etb")) as live:
        s = session(live, "record btrace", "monitor reset halt", "tbreak add_value", "continue",
                    "monitor mww 0xe0041000 0x411", "monitor mdw 0xe0041000", "stepi",
                    "monitor mdw 0xe0041000", "monitor reset halt", "tbreak add_value", "continue",
                    "set record instruction-history-size 500", "record instruction-history",
                    live.mark())
        before, after = (has(text, r"^0xe0041000: ([0-9a-f]{8})")[1]
                         for text in s.all("monitor mdw 0xe0041000"))
        equal((int(before, 16) & 0xc00, int(after, 16) & 0xc00), (0x800, 0x800), "ETMCR")
        compared(live, s[live.mark()], s["record instruction-history"], 500)


@suite.test("openocd behind us: tracing off and on: one gap, and history on both sides of it")
def _():
    with Live(board_file("sink = etb")) as live:
        show = "record instruction-history"
        s = session(live, "monitor reset halt", "record btrace", "tbreak add_value", "continue",
                    "set record instruction-history-size 300", live.mark(), "monitor trace off",
                    "info record", "monitor mdw 0xe0041000", "stepi", "stepi", "monitor trace status",
                    "monitor trace on", "stepi", "stepi", "stepi", "info record", show, live.mark(),
                    "monitor trace filter include 0-100")
        before, after = (record_counts(text) for text in s.all("info record"))
        equal(int(has(s["monitor mdw 0xe0041000"], r"^0xe0041000: ([0-9a-f]{8})")[1], 16) & 0x400,
              0x400, "programming bit of ETMCR while tracing is off")
        has(s["monitor trace off"], "^tracing is off")
        has(s["monitor trace status"], "^tracing +off by command$")
        has(s["monitor trace on"], "^tracing is on")
        has(s["monitor trace filter include 0-100"], "only an ETMv4 and a virtual board")
        equal(after[2] - before[2], 1, "gaps")
        off, end = (live.truth(mark) for mark in s.all(live.mark()))
        expect(len(end) >= len(off) + 5, "five steps")
        split_at_gap(off, end, s[show], 3)


@suite.test("openocd behind us: trace over TCP, from its capture of the SWO pin")
def _():
    port = free_port()
    more = ("tpiu create chip.tpiu -dap chip.dap -ap-num 0 -baseaddr 0xE0040000\n"
            f"chip.tpiu configure -protocol uart -output :{port} -traceclk 16000000 "
            f"-pin-freq {SWO} -formatter 1")
    trace = (f"sink = swo\nconnect = 127.0.0.1:{port}\nformat = tpiu\nswo_rate = {SWO}\n"
             "trace_clock = 16000000")
    # OpenOCD does not look at the probe while it waits: half syncs of an idle pin would run over.
    path = board_file(trace, "--sink", "swo-quiet", more=more, then="chip.tpiu enable")
    with Live(path) as live:
        logged(live, r"^trace clock +running: the source is connected$")
        s = session(live, "monitor reset halt", "record btrace", "tbreak add_value", "continue",
                    "set record instruction-history-size 1000", "record instruction-history",
                    live.mark(), "stepi", "stepi", "record instruction-history", live.mark(),
                    "monitor trace status")
        for mark, listed in zip(s.all(live.mark()), s.all("record instruction-history")):
            compared(live, mark, listed, 1000)
        has(s["monitor trace status"], r"^frame lock +yes")


@suite.test("openocd behind us: no trace unit there: told in words, debugging goes on")
def _():
    with Live(board_file("sink = tmc")) as live:
        logged(live, r"no history: this chip has no TMC; there is: sink = etb")
        s = session(live, "record btrace", "monitor trace status", "monitor reset halt",
                    "tbreak main", "continue", "p/x $pc")
        has(s["record btrace"], "this core has no trace: 'monitor trace status' says why")
        has(s["monitor trace status"], r"^no history: this chip has no TMC")
        equal(value(s["p/x $pc"]), symbol(ELF, "main"), "PC")


@suite.test("openocd behind us: a run that Ctrl-C ends, by hand")
def _():
    main = symbol(ELF, "main")
    with Live(board_file("sink = etb")) as live, OpenOcdWire(live) as wire:
        wire.monitor("reset halt")
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        equal(wire.ask(f"Z1,{main:x},2"), "OK", "Z1")
        wire.running()
        equal((wire.pc(), wire.ask(f"z1,{main:x},2")), (main, "OK"), "PC, z1")
        wire.write(symbol(ELF, "crash_after"), 0)
        for times in range(1, 4):
            before = live.truth_path().stat().st_size
            wire.running(lambda: live.truth_path().stat().st_size > before + 400000)
            found = wire.blocks("all")
            equal(found[0][1], wire.pc(), "newest end")
            expect(1 <= found.count(GAP) <= times, f"{found.count(GAP)} gaps in run {times}")
            expect(follow(found, live.truth(), wire.pc()) > 5000, "few instructions")


suite.run()
