#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Debug by pyOCD, history by us: stock GDB on a server whose target is pyOCD's GDB server on the
modelled probe, a CMSIS-DAP of version 1. The trace unit is programmed, and the ETB read out, through
pyOCD's memory packets: a word costs it some HID reports each way, 50 ms here, so they end before the
buffer is full."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "bench" / "gdb"), str(ROOT / "tests" / "bench" / "usb")]

import remote_board  # noqa: E402
from live_gdb import Live  # noqa: E402
from replay_gdb import Suite, equal, expect, folder, has, lacks, record_counts, logged, value  # noqa: E402
from remote_board import compared, free_port, run_control, session  # noqa: E402

suite = Suite()
SERVER = ROOT / "tests/bench/usb/pyocd_server.py"


def board_file():
    remote_board.need("pyocd-gdbserver")
    port = free_port()
    server = ["env", "PYOCD_USB_BACKEND=pyusb", "/usr/bin/python3", SERVER, "-t", "cortex_m",
              "--port", port, "--telnet-port", free_port(), "--soft-bkpt-as-hard", "--vector-catch",
              "none"]
    # It takes a register for ready at its first look, as it is on most boards.
    return remote_board.board_file(folder(), port, server, "sink = etb",
                                     ("--v1", "--quick-registers"))


@suite.test("pyocd behind us: halt, registers, memory, steps, breakpoints, watchpoints, reset")
def _():
    with Live(board_file()) as live:
        # It halts behind the write, and does not tell GDB that a watchpoint did it.
        s = run_control(live, r"SIGTRAP(.|\n)*receive \(\) at crash\.c:215", "monitor nosuch")
        has(s["monitor nosuch"], r"\[target\] monitor allows")


@suite.test("pyocd behind us: the history of each halt, read out of the ETB")
def _():
    with Live(board_file()) as live:
        logged(live, r"^trace clock +not needed: ETB, 4096 bytes at 0xe0043000")
        logged(live, r"^trace IDs +0x10 cpu \(silent so far\)$")
        show = "record instruction-history"
        s = session(live, "monitor reset halt", "record btrace", "tbreak add_value", "continue",
                    "set record instruction-history-size 2000", "info record", show, live.mark(),
                    "stepi", "stepi", "tbreak keep_average", "continue", "info record", show,
                    live.mark(), "record function-call-history", "monitor trace status",
                    "monitor trace gaps", "reverse-stepi", "p/x $pc")
        marks, lists = s.all(live.mark()), s.all(show)
        first, last = (record_counts(text) for text in s.all("info record"))
        equal((first[2], last[2]), (0, 0), "gaps")
        expect(last[0] > first[0], "no more instructions than before")
        for mark, listed in zip(marks, lists):
            compared(live, mark, listed, 2000)
        has(s["record function-call-history"], r"\tadd_value$")
        has(s["monitor trace status"], r"^last run      complete up to the halt$")
        lacks(s["monitor trace gaps"], "overwritten|overflow")
        equal(value(s["p/x $pc"]), live.truth(marks[1])[-1] & ~1, "PC one step back")


@suite.test("pyocd behind us: reconstructed values, bt and reverse-finish")
def _():
    with Live(board_file()) as live:
        s = session(live, "monitor reset halt", "tbreak add_value", "continue", "tbreak read_number",
                    "reverse-continue", "bt", "monitor explain lr", "reverse-finish", "info threads",
                    "monitor where")
        has(s["bt"], r"^#0  read_number ")
        has(s["bt"], r"^#1 .* file_message ")
        has(s["monitor explain lr"], "^lr = 0x[0-9a-f]{8}: known")
        lacks(s["reverse-finish"], "New|Switching")
        has(s["info threads"], r"^\* 1 .*file_message")
        has(s["monitor where"], "before the halt")


suite.run()
