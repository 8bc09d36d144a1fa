#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests drivers/usb/usb_libusb.c and usb_bulk_stream.c.
"""Trace through the modelled ORBTrace, decoded live: a recorded capture on its pins, and QEMU's core
that is debugged through the same device. What the history says is what was recorded, or executed."""

import os
import re
import time

from probe_gdb import LOADED_MACHINE, ROOT, Board, ProbeServer, children, refused
from live_gdb import Wire, goes_on, symbol, tail_of
from frozen import Frozen
from replay_gdb import (BTRACED, GAP, Suite, equal, expect, folder, frame, gdb, has, history, logged,
                        same_list)
from streams import Target, board, frames, port, whole_history, wait_until, wanted_blocks

suite = Suite()
ELF = ROOT / "configs/virtual/crash-m4.elf"
FULL = os.environ.get("BTRACED_FULL")
# Bytes a second that the decoder keeps up with, which ThreadSanitizer makes slow; seconds in which
# more come than the ring has room for.
RATE, PAUSE = (500000, 4) if b"__tsan_init" in open(BTRACED, "rb").read() else (4000000, 1.5)
ORBTRACE = "[capture]\ntype = orbtrace\n"


@suite.test("orbtrace: a recorded capture on its pins, by both protocols")
def _():
    place, wanted = folder(), wanted_blocks()
    (place / "port").write_bytes(port(frames()))
    for probe, says in (("orbtrace", "ORBFLOW"), ("orbtrace,reversed", "ORBFLOW"),
                        ("orbtrace,both", "ORBFLOW"), ("orbtrace,frames", "TPIU frames")):
        with Target() as target:
            path = board(target.port, ORBTRACE, place)
            with ProbeServer("--probe", probe, "--paced", f"{place}/port,100000,1", "--buffer", "0",
                        path=path) as live, Wire(live) as wire:
                logged(live, rf"^trace clock   running: Model ORBTrace mini, serial MODEL0003, {says}$")
                equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace")
                same_list(whole_history(wire), wanted, f"the live history, {probe}")


class Core(Board):
    """Debugged and traced through one ORBTrace."""

    def __init__(self, *options, unit="orbtrace", width=4, **keys):
        super().__init__(ELF, "--probe", unit, "--sink", "tpiu", *options, machine="netduinoplus2",
                         core="Cortex-M4", probe="usb = 1209:3443\nclock = 4M",
                         trace=f"sink = tpiu\ntpiu_width = {width}", more=ORBTRACE, **keys)


LIST = ("set record instruction-history-size 2000", "record instruction-history")


@suite.test("orbtrace: the history of a core at a breakpoint and after steps is what ran")
def _():
    for unit, width in (("orbtrace", 4), ("orbtrace,frames", 1))[:2 if FULL else 1]:
        with Core(unit=unit, width=width) as live:
            s = live.session("record btrace", "tbreak add_value", "continue", "stepi 5", "next",
                             "tbreak report_topics", "continue", "monitor trace status", *LIST,
                             live.mark())
            rows = history(s["record instruction-history"])
            expect(len(rows) == 2000, f"only {len(rows)} instructions listed, {unit}")
            tail_of(rows, live.truth(s[live.mark()]), len(rows))
            has(s["monitor trace status"], r"^lost          nothing$")
            has(s["monitor trace status"], r"^last run      complete")


@suite.test("orbtrace: pulled while the core runs: a gap, and it goes on when it is back")
def _():
    for unit in ("orbtrace,frames", "orbtrace")[:2 if FULL else 1]:
        # Behind the gap halts are waited for in vain, until the next sync.
        with Core(unit=unit, drain=1000) as live, Wire(live) as wire:
            wire.monitor("reset")
            wire.run_to(symbol(ELF, "main"), 2)
            wire.write(symbol(ELF, "crash_after"), 0)
            equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
            wire.run_to(symbol(ELF, "add_value"), 2)
            before = wire.blocks()
            expect(len(before) > 20, f"{len(before)} blocks before")
            wire.send(frame("vCont;c"))
            goes_on(live.truth_path)
            live.bench("unplug")
            answers = [wire.reply(), wire.reply()]
            expect(answers[0][:1] == "O" and answers[1][:3] == "T02", f"stop: {answers}")
            wait_until(lambda: "trace clock   stopped" in wire.monitor("trace status"), "the end")
            live.bench("replug")
            wait_until(lambda: wire.ask("g")[:1] != "E", "the probe")
            wait_until(lambda: "trace clock   running" in wire.monitor("trace status"), "capture")
            wire.step()

            def history_goes_on():
                # The port's next sync, and the trace unit's, are some runs away.
                wire.run_to(symbol(ELF, "add_value"), 2)
                return GAP not in wire.blocks()[:100]

            wait_until(history_goes_on, "history behind the gap")
            expect(GAP in wire.blocks(), "no gap where the cable was out")
            wire.close()
            s = gdb(live.port, ["record btrace", "set record instruction-history-size 40",
                                "record instruction-history", live.mark()], elf=ELF,
                    connect="target extended-remote", before=[LOADED_MACHINE])
            # GDB warns of the gap when it reads it.
            rows = s["record instruction-history"].rpartition("(pc = 0x1).\n")[2]
            tail_of(history(rows), live.truth(s[live.mark()]), 40)


@suite.test("orbtrace: with the decoder stopped what does not fit is counted, and is one gap")
def _():
    place = folder()
    (place / "port").write_bytes(port(frames())[3:])  # from a sync on, as it is sent over and over
    with Target() as target:
        path = board(target.port, f"[trace]\nring = 1M\n{ORBTRACE}", place)
        with ProbeServer("--probe", "orbtrace", "--paced", f"{place}/port,{RATE},0", "--buffer", "0",
                    path=path) as live, Wire(live) as wire:
            def dropped():
                text = wire.monitor("trace status")
                found = re.search(r"^lost +(\d+) [kM]B \(ring full, (\d+) transfers\)", text, re.M)
                return int(found[2]) if found else 0

            wait_until(lambda: re.search(r"^history +instructions 1 to \d{5,} ",
                                         wire.monitor("trace status"), re.M), "history")
            equal(dropped(), 0, "transfers dropped before")
            with Frozen(children(live.process.pid)[0], "decode"):
                time.sleep(PAUSE)
            wait_until(lambda: "bytes wait" not in wire.monitor("trace status"), "the decoder")
            expect(dropped() > 1, f"dropped: {wire.monitor('trace status')}")
            gaps = has(wire.monitor("trace status"), r"^gaps .*?(\d+) lost-bytes")
            equal(gaps[1], "1", "gaps of lost bytes")
            listed = re.findall(r"^.*lost-bytes.*$", wire.monitor("trace gaps"), re.M)
            equal(len(listed), 1, f"gaps listed: {listed}")
            has(listed[0], r"\b\d{6,} bytes")


@suite.test("orbtrace: what is not there, and what cannot be")
def _():
    def text(*options, more=ORBTRACE, trace="sink = tpiu"):
        return refused(*options, trace=trace, more=more)[1]

    has(text(), "^btraced serve: no ORBTrace found on USB$")
    has(text("--probe", "orbtrace", more=ORBTRACE + "serial = X"),
        "^btraced serve: no ORBTrace with serial number 'X', but 1 attached: see 'btraced probes'$")


if __name__ == "__main__":
    suite.run()
