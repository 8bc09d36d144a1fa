#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The trace of emulated Cortex-A9 cores, one and two, streams out of the pins of their TPIU and is
captured by an ORBTrace, or by an FT2232H as FIFO. The history is what ran."""

import time
from pathlib import Path

from test_probe_a import A9, ELF, ENDLESS, FTDI_SWD, FULL, LIST, SWD_PINS, check_history
from live_gdb import Wire, follow, symbol
from replay_gdb import GAP, Suite, equal, expect, frame, has, logged

suite = Suite()
# For the long run only.
full_test = suite.test if FULL else lambda name: lambda function: function
# Beside the rules of the debug registers: what is lost, and what a TPIU does not take.
RULES = ("a-trace-locked", "a-trace-ignored", "a-tpiu-unsent", "a-tpiu-holes", "a-unselected",
         "trace-lost")
UNITS = {
    "orbtrace": (("--probe", "orbtrace"), "usb = 1209:3443\n", "[capture]\ntype = orbtrace\n",
                 r"Model ORBTrace mini, serial MODEL0003, ORBFLOW"),
    "old orbtrace": (("--probe", "orbtrace,frames"), "usb = 1209:3443\n",
                     "[capture]\ntype = orbtrace\n",
                     r"Model ORBTrace mini, serial MODEL0003, TPIU frames"),
    "orbtrace beside an ftdi": (("--probe", "orbtrace", "--beside", *FTDI_SWD[1:]), SWD_PINS,
                                "[capture]\ntype = orbtrace\n",
                                r"Model ORBTrace mini, serial MODEL0003, ORBFLOW"),
    # A chip whose FIFO is in use does not debug: another probe does.
    "fifo": (("--probe", "ftdi", "--beside", "cmsis-dap"), "",
             "format = tpiu\n[capture]\ntype = ftdi-fifo\n", "FT2232H MiniModule, serial MODEL0002"),
}


class Pins(A9):
    def __init__(self, unit, *options, width=4, smp=1, wire="", **keys):
        bench, probe, capture, says = UNITS[unit]
        super().__init__(*bench, "--sink", "tpiu", *options, smp=smp, cti=smp > 1,
                         probe=probe + wire, trace=f"sink = tpiu\ntpiu_width = {width}",
                         more=capture, **keys)
        logged(self, rf"^trace clock   running: {says}$")

    def __exit__(self, *args):
        super().__exit__(*args)
        if args[0]:
            return
        lines = dict(line.split() for line in self.report.read_text().splitlines())
        broken = {name: lines[name] for name in RULES if int(lines.get(name, 0))}
        expect(not broken, f"rules broken: {broken}")


def nothing_lost(status):
    has(status, r"^frame lock    yes, lost 0 times$")
    has(status, r"^lost          nothing$")
    has(status, r"^last run      complete up to the halt$")


# The first one is quick.
WAYS = {
    "an ORBTrace, two cores": ("orbtrace", (), {"smp": 2}),
    "an ORBTrace with TPIU frames, one pin": ("old orbtrace", (), {"width": 1}),
    "an ORBTrace, ETMv3, two pins": ("orbtrace", ("--etmv3",), {"width": 2}),
    "an ORBTrace, cycle counts and all branches": ("orbtrace", (), {"keys": "ETMCR = 0x1100"}),
    "an ORBTrace, debugged by an FTDI, SWD": ("orbtrace beside an ftdi", (), {"kind": "ftdi"}),
    "a FIFO, two cores, 16 pins": ("fifo", (), {"smp": 2, "width": 16}),
    "a FIFO, ETMv3, JTAG, eight pins": ("fifo", ("--etmv3", "--jtag"),
                                        {"wire": "wire = jtag\n", "width": 8}),
}


for number, (way, (unit, options, keys)) in enumerate(WAYS.items()):
    @(full_test if number else suite.test)(f"probe a, pins: history is what ran: {way}")
    def _(unit=unit, options=options, keys=keys):
        smp = keys.get("smp", 1)
        with Pins(unit, *options, **keys) as server:
            look = [line for core in range(smp, 0, -1) for line in
                    (f"thread {core}", LIST[1], server.mark(core - 1))]
            second = ["break second_main", "continue", "delete"] if smp > 1 else []
            third = "second_tick" if smp > 1 else "report_topics"
            s = server.session(ENDLESS, *second, "record btrace", LIST[0], "tbreak add_value",
                               "continue", *look, "info record", "stepi", "stepi 3",
                               LIST[1], server.mark(), f"break {third}", "continue", *look,
                               "monitor trace status", "reverse-stepi", "p $pc")
            marks = [iter(s.all(server.mark(core))) for core in range(smp)]
            cores = [*range(smp - 1, -1, -1), 0, *range(smp - 1, -1, -1)]
            for core, listing in zip(cores, s.all(LIST[1])):
                check_history(server, listing, next(marks[core]), core, 20 if core else 300)
            nothing_lost(s["monitor trace status"])
            ran = server.truth(s.all(server.mark())[-1])
            equal(int(has(s["p $pc"], r"0x\w+")[0], 16), ran[-1] & ~1, "PC one instruction ago")


@full_test("probe a, pins: halted by hand again and again: all of both histories is what ran")
def _():
    with Pins("orbtrace", smp=2) as server, Wire(server) as wire:
        wire.monitor("reset")
        wire.run_to(symbol(ELF, "second_main"))
        wire.write(symbol(ELF, "crash_after"), 0)
        for core in (1, 2):
            wire.ask(f"Hg{core}")
            equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        for _ in range(6):
            wire.send(frame("vCont;c"))
            time.sleep(0.2)
            wire.send(b"\x03")
            while (answer := wire.reply())[:1] == "O":
                pass
            has(answer, "^T0[25]")
            for core in (1, 2):
                equal(wire.ask(f"Hg{core}"), "OK", "Hg")
                found, pc = wire.blocks("all"), wire.pc()
                expect(GAP not in found, f"core {core} has a gap")
                path = Path(f"{server.truth_path}" + (".1" if core == 2 else ""))
                ran = server.truth(f"executed={path.stat().st_size}", core - 1)
                count = follow(found, ran, pc)
                expect(count > 300, f"core {core}: only {count} instructions")
        nothing_lost(wire.monitor("trace status"))


if __name__ == "__main__":
    suite.run()
