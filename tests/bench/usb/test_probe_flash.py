#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/probe/probe_target_flash.c.
"""GDB's `load` into flash: the flash algorithm of the virtual board runs on QEMU's core, behind the
modelled probe. A debugger cannot write the flash of this board; its core can."""

import re
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "gdb")]

from probe_gdb import ROOT, ProbeServer, ask_bench, whole_session
from live_gdb import Wire
from replay_gdb import PATIENCE, Suite, equal, expect, folder, frame, has

PROGRAM = ROOT / "configs/virtual/crash-m3.elf"
ALGORITHM = ROOT / "configs/virtual/flash-m3.flm"
FLASH = f"[flash]\nalgorithm = {ALGORITHM}\nram = 0x20100000+32K\n"

suite = Suite()


def board(*options):
    return ProbeServer("--core", f"qemu:mps2-an385,{PROGRAM}", "--plugin",
                  ROOT / "build/virtual-board.so", "--flash", "0x0+0x40000", *options,
                  core="Cortex-M3", more=FLASH)


@suite.test("probe: load into flash, and run what was loaded")
def _():
    for options in (), ("--v1", "--jtag"):
        with board(*options) as server:
            out = whole_session(server, f"file {PROGRAM}", "monitor reset halt", "info mem",
                                "x/xw 0x700", "load", "compare-sections", "x/xw 0x700",
                                "x/xw 0x1000", "monitor reset halt", "break main", "continue",
                                "info registers pc")
        has(out, r"0x00000000 0x00040000 flash blocksize 0x1000")
        has(out, r"Start address 0x[0-9a-f]+, load size [1-9]")
        has(out, r"Section \.text, .*: matched")
        # The rest of the sector was erased, the next sector was not.
        has(out, r"(?s)0x700:\s+0x00000000.*0x700:\s+0xffffffff.*0x1000:\s+0x00000000")
        has(out, r"Breakpoint 1, main \(\)")


@suite.test("probe: flash that was not erased is not programmed, and that is told")
def _():
    with board() as server, Wire(server) as wire:
        wire.monitor("reset halt")
        equal(wire.ask("vFlashErase:00001000,00001000"), "OK", "erase")
        wire.send(frame(b"vFlashWrite:00001000:" + b"\x0f\xf0" * 512))
        equal(wire.reply(), "OK", "write")
        equal(wire.ask("vFlashDone"), "OK", "done")
        equal(wire.ask("m1000,4"), "0ff00ff0", "what is in flash")
        wire.send(frame(b"vFlashWrite:00001000:" + b"\xff\xff" * 512))
        answers = [wire.reply()]
        if answers[0] == "OK":
            answers.append(wire.ask("vFlashDone"))
        # What is left there is not compared: this board's flash does not outlive the reset before.
        has(answers[-1], r"^E")


@suite.test("probe: the cable is pulled while flash is programmed: an error, and it can be done again")
def _():
    control = folder() / "control"
    with board("--control", control) as server, Wire(server) as wire:
        wire.monitor("reset halt")
        equal(wire.ask("vFlashErase:00001000,00001000"), "OK", "erase")
        ask_bench(control, "unplug 40")
        wire.send(frame(b"vFlashWrite:00001000:" + b"\x0f\xf0" * 2048))
        answers = [wire.reply()]
        if answers[0] == "OK":
            answers.append(wire.ask("vFlashDone"))
        has(answers[-1], r"^E", "the end of a write without cable")
        end = time.monotonic() + PATIENCE
        while not re.search(r"(?m)^btraced: the probe does not answer any more", server.stderr):
            expect(time.monotonic() < end, "the server does not say that the probe is gone")
            time.sleep(0.1)
        ask_bench(control, "unplug 0")
        ask_bench(control, "replug")
        end = time.monotonic() + PATIENCE
        while wire.ask("m20000000,4")[:1] == "E":
            expect(time.monotonic() < end, "the probe does not come back")
            time.sleep(0.3)
        wire.monitor("reset halt")
        equal(wire.ask("vFlashErase:00001000,00001000"), "OK", "erase again")
        wire.send(frame(b"vFlashWrite:00001000:" + b"\x0f\xf0" * 512))
        equal(wire.reply(), "OK", "write again")
        equal(wire.ask("vFlashDone"), "OK", "done")
        equal(wire.ask("m1000,4"), "0ff00ff0", "what is in flash")


if __name__ == "__main__":
    suite.run()
