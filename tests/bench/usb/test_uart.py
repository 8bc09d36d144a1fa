#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests drivers/probe/ftdi/ftdi_channel.c and drivers/probe/serial_port.c.
"""Trace on a UART, decoded live: channel B of the modelled FT2232H, and a serial device. What comes is
a recorded capture, whose history is known, or the SWO pin of QEMU's core, whose history is what it
executed."""

import os
import random
import re

from probe_gdb import ROOT, Board, ProbeServer, ask_bench
from live_gdb import Wire, tail_of
from replay_gdb import GAP, Suite, equal, expect, folder, has, history, logged, same_list
from streams import Target, board, frames, orbflow, port, whole_history, wait_until, wanted_blocks

suite = Suite()
ELF = ROOT / "configs/virtual/crash-m4.elf"
UART = "[trace]\nformat = {}\n[capture]\ntype = ftdi-uart\nbaud = {}\n"
# The line waits for nobody: an emulated machine that reads it needs more time.
BAUD = int(os.environ.get("BTRACED_BAUD", "2000000"))
LIST = ("set record instruction-history-size 2000", "record instruction-history")
# Slow, and the core waits for it (ETMCR bit 7): nothing is lost however busy this machine is.
SWO = "sink = swo\nswo_rate = {}\ntrace_clock = 64M\nformat = tpiu\n"


def report_of(path):
    return {name: int(value) for name, value in (line.split() for line in
                                                 path.read_text().splitlines())}


@suite.test("uart: a recorded capture on channel B, at high and at full speed")
def _():
    place, wanted = folder(), wanted_blocks()
    data = frames()
    for form, stream, options in (("tpiu", port(data), ()),
                                  ("orbflow", b"\0" + orbflow(data), ("--full-speed",))):
        (place / "line").write_bytes(stream)
        with Target() as target:
            path = board(target.port, UART.format(form, BAUD), place)
            with ProbeServer("--probe", "ftdi", "--uart", f"{place}/line,{BAUD}", "--report",
                        place / "report", *options, path=path) as live, Wire(live) as wire:
                logged(live, r"^trace clock   running: FT2232H MiniModule, serial MODEL0002")
                equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace")
                same_list(whole_history(wire), wanted, f"the live history, {form}")
        got = report_of(place / "report")
        equal((got["uart-wrong-baud"], got["uart-overruns"]), (0, 0), "bytes lost on the line")


@suite.test("uart: at another rate nothing is decoded, and it is said what to look at")
def _():
    place = folder()
    # What a UART makes of a line at another rate: the model would keep it to itself.
    (place / "line").write_bytes(random.Random(1).randbytes(20000))
    with Target() as target:
        path = board(target.port, UART.format("tpiu", "2M"), place)
        with ProbeServer("--probe", "ftdi", "--uart", f"{place}/line,2000000", path=path) as live, \
                Wire(live) as wire:
            equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace")
            wait_until(lambda: "btraced: no history: trace arrives" in live.stderr, "a word of it")
            logged(live, r"no frames are found in it; is \[capture\] baud \(or swo_rate\) the rate ")
            status = wire.monitor("trace status")
            has(status, r"^frame lock    NO, ")
            has(status, r"^history       no instruction$")


@suite.test("uart: what the chip says that it lost is a gap")
def _():
    place = folder()
    (place / "line").write_bytes(port(frames())[3:])  # from a sync on, as it is sent over and over
    with Target() as target:
        path = board(target.port, UART.format("tpiu", "1M"), place)
        with ProbeServer("--probe", "ftdi", "--uart", f"{place}/line,1000000,0", "--control", place / "bench",
                    path=path) as live, Wire(live) as wire:
            equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace")
            wait_until(lambda: re.search(r"^history +instructions 1 to \d{4,} ",
                                         wire.monitor("trace status"), re.M), "history")
            before = wire.monitor("trace gaps").count("lost-bytes")
            ask_bench(place / "bench", "fault overrun=40")
            wait_until(lambda: wire.monitor("trace gaps").count("lost-bytes") > before, "the gap")
            expect(GAP in wire.blocks("all"), "no gap where bytes are missing")


class Core(Board):
    """Debugged over one probe, its SWO pin on a UART that is none of that probe's."""

    def __init__(self, *options, capture, rate="200k", **keys):
        self.report = folder() / "report"
        super().__init__(ELF, "--sink", "swo", "--report", self.report, *options,
                         machine="netduinoplus2", core="Cortex-M4", trace=SWO.format(rate),
                         more=f"[capture]\n{capture}", core_keys=f"program = {ELF}\nETMCR = 0x80",
                         **keys)


def history_is_what_ran(live):
    s = live.session("record btrace", "tbreak add_value", "continue", *LIST, live.mark(), "stepi 5",
                     "next", "tbreak report_topics", "continue", "monitor trace status", *LIST,
                     live.mark())
    for listing, mark in zip(s.all(LIST[1]), s.all(live.mark())):
        rows = history(listing)
        expect(len(rows) > 1000, f"only {len(rows)} instructions listed")
        tail_of(rows, live.truth(mark), len(rows))
    has(s["monitor trace status"], r"^lost          nothing$")


@suite.test("uart: the SWO pin on channel B, beside the debug port on channel A")
def _():
    with Core("--probe", "ftdi", "--layout", "minimodule-swd", kind="ftdi",
              probe="layout = 0x0000/0x000B\nnsrst = 0x0010\nclock = 10M\n",
              capture="type = ftdi-uart\nchannel = B\n") as live:
        logged(live, r"^trace clock   .*FT2232H MiniModule")
        history_is_what_ran(live)
    equal(report_of(live.report)["uart-overruns"], 0, "bytes lost in the chip")


@suite.test("uart: the SWO pin on a serial device, beside a CMSIS-DAP probe")
def _():
    device = folder() / "serial"
    # The kernel keeps 4 KB of what nobody reads: enough for a busy machine, if they come slowly.
    with Core("--tty", device, capture=f"type = tty\ndevice = {device}\n", rate="40k") as live:
        logged(live, rf"^trace clock   .*serial device {device} at 40000 bits a second")
        history_is_what_ran(live)
    got = report_of(live.report)
    equal((got["tty-wrong-baud"], got["tty-overruns"]), (0, 0), "bytes lost on the line")
    expect(got["tty-sent"] > 1000, f"{got['tty-sent']} bytes sent")


if __name__ == "__main__":
    suite.run()
