#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""History over SWO: the trace of QEMU's core through the modelled TPIU, pin and probe, by the
endpoint that streams and by polling. What GDB lists is what was executed."""

import re
import struct

from native_gdb import ROOT, Native, bed, board_file
from replay_gdb import Server, Skipped, Suite, expect, folder, gdb, has, lacks, tool, value

suite = Suite()
ELF = ROOT / "configs/virtual/crash-m4.elf"
PLUGIN = ROOT / "build/virtual-board.so"
# Slow, and the core waits for it (ETMCR bit 7): nothing is lost however busy this machine is.
TRACE = "sink = swo\nswo_rate = 200k\ntrace_clock = 64M\n"
COMPARED = 3000


class Board(Native):
    def __init__(self, truth, *options):
        if not PLUGIN.exists():
            raise Skipped("no virtual board: make virtual-board")
        tool("qemu-system-arm")
        path = board_file(probe="at_exit = halt\nclock = 4M", trace=TRACE,
                          core_keys=f"program = {ELF}\nETMCR = 0x80\nETMTRACEIDR = 0x2a")
        Server.__init__(self, path, "-c", command=("serve",),
                        below=bed("--sink", "swo", "--core", f"qemu:netduinoplus2,{ELF}",
                                  "--truth", truth, *options))


def listed(rows):
    return [int(a, 16) for a in re.findall(r"^\d+\t(?:=> |   )(0x[0-9a-f]+)", rows, re.M)]


def stretches(*options):
    truth = folder() / "truth"
    show = "record instruction-history -"
    with Board(truth, *options) as server:
        s = gdb(server.port, ["monitor reset halt", "break report_topics", "continue",
                              "p/x $pc", "monitor trace status", "record btrace",
                              f"set record instruction-history-size {COMPARED}", show, "continue",
                              "p/x $pc", show, "monitor trace gaps"], elf=ELF,
                connect="target extended-remote")
        has(server.stderr, r"^trace clock   seen by the probe: SWO, 200000 bits/s$")
    words = truth.read_bytes()
    ran = [w & ~1 for w, in struct.iter_unpack("<I", words[:len(words) // 4 * 4])]
    has(s["monitor trace status"], r"^frame lock    yes, lost 0 times$")
    has(s["monitor trace status"], r"^trace IDs     0x2a m")
    has(s["monitor trace status"], r"^lost          nothing$")
    lacks(s["monitor trace gaps"], r"wire|lost|overflow|bad|desync|unknown")
    ends = [i for i, address in enumerate(ran) if address == value(s["p/x $pc"])]
    expect(ends, "the breakpoint is not in what was executed")
    for number, rows in enumerate(s.all(show)):
        found, pc = listed(rows), value(s.all("p/x $pc")[number])
        expect(len(found) > 2000, f"stretch {number}: {len(found)} instructions listed")
        if found[-1] == pc:
            found.pop()
        expect(any(ran[max(0, end - len(found)):end] == found for end in ends + [len(ran)]),
               f"stretch {number}: this was not executed: ... {[hex(a) for a in found[-5:]]}")


@suite.test("native: history over SWO, streamed")
def _():
    stretches()


@suite.test("native: history over SWO, polled by a HID probe")
def _():
    stretches("--v1")


if __name__ == "__main__":
    suite.run()
