#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""History over SWO: the trace of QEMU's core through the modelled TPIU, pin and probe, by the
endpoint that streams and by polling. What GDB lists is what was executed."""

import re
import struct

from probe_gdb import LOADED_MACHINE, ROOT, ProbeServer, ask_bench, bench, board_file
from live_gdb import Wire, goes_on, symbol
from replay_gdb import Server, Skipped, Suite, expect, folder, frame, gdb, has, lacks, logged, tool

suite = Suite()
ELF = ROOT / "configs/virtual/crash-m4.elf"
PLUGIN = ROOT / "build/virtual-board.so"
# Slow, and the core waits for it (ETMCR bit 7): nothing is lost however busy this machine is. The
# 4 KB of a probe that is polled last for two seconds at POLLED.
TRACE = "sink = swo\nswo_rate = 200k\ntrace_clock = 64M\n"
POLLED = "20k"
COMPARED = 3000


class Board(ProbeServer):
    def __init__(self, truth, *options, trace=TRACE):
        if not PLUGIN.exists():
            raise Skipped("no virtual board: make virtual-board")
        tool("qemu-system-arm")
        path = board_file(probe="at_exit = halt\nclock = 4M", trace=trace,
                          core_keys=f"program = {ELF}\nETMCR = 0x80\nETMTRACEIDR = 0x2a")
        Server.__init__(self, path, "-c", command=("serve",),
                        below=bench("--sink", "swo", "--core", f"qemu:netduinoplus2,{ELF}",
                                  "--truth", truth, *options))


def listed(rows):
    return [int(a, 16) for a in re.findall(r"^\d+\t(?:=> |   )(0x[0-9a-f]+)", rows, re.M)]


def runs(rows):
    """The listed addresses, in pieces without a gap."""
    pieces, last = [], None
    for number, address in re.findall(r"^(\d+)\t(?:=> |   )(0x[0-9a-f]+)", rows, re.M):
        if last is None or int(number) != last + 1:
            pieces.append([])
        last = int(number)
        pieces[-1].append(int(address, 16))
    return pieces


def executed(ran, piece):
    """Whether these instructions follow each other somewhere in the truth."""
    wanted = struct.pack(f"<{len(piece)}I", *(a | 1 for a in piece))
    at = ran.find(wanted)
    while at >= 0 and at % 4:
        at = ran.find(wanted, at + 1)
    return at >= 0


def stretches(*options, rate="200k"):
    """Up to a breakpoint, and on to its next hit. The truth is as long as it was at each halt: an
    interrupt that waits then runs before the instruction at the PC."""
    truth = folder() / "truth"
    show = "record instruction-history -"
    mark = f"shell stat -c executed=%s {truth}"
    with Board(truth, *options, trace=TRACE.replace("200k", rate)) as server:
        s = gdb(server.port, ["monitor reset halt", "break report_topics", "continue",
                              "monitor trace status", "record btrace",
                              f"set record instruction-history-size {COMPARED}", show, mark,
                              "continue", show, mark, "monitor trace gaps"], elf=ELF,
                connect="target extended-remote", before=[LOADED_MACHINE])
        logged(server, rf"^trace clock   seen by the probe: SWO, {rate[:-1]}000 bits/s$")
    words = truth.read_bytes()
    ran = [w & ~1 for w, in struct.iter_unpack("<I", words[:len(words) // 4 * 4])]
    has(s["monitor trace status"], r"^frame lock    yes, lost 0 times$")
    has(s["monitor trace status"],
        r"^trace IDs     0x2a m, 0x6e \(what pushes the last trace out at a halt\)$")
    has(s["monitor trace status"], r"^lost          nothing$")
    lacks(s["monitor trace gaps"], r"wire|lost|overflow|bad|desync|unknown")
    for number, (rows, size) in enumerate(zip(s.all(show), s.all(mark), strict=True)):
        found, end = listed(rows), int(has(size, r"executed=(\d+)")[1]) // 4
        expect(len(found) > 2000, f"run {number}: {len(found)} instructions listed")
        expect(ran[max(0, end - len(found)):end] == found,
               f"run {number}: this was not executed: ... {[hex(a) for a in found[-5:]]}, but "
               f"... {[hex(a) for a in ran[end - 5:end]]}")


@suite.test("probe: history over SWO, streamed")
def _():
    stretches()


@suite.test("probe: history over SWO, polled by a HID probe")
def _():
    stretches("--v1", rate=POLLED)


@suite.test("probe: history over SWO, from a pin that rests when it is idle")
def _():
    stretches("--sink", "swo-quiet")


@suite.test("probe: SWO bytes that the probe could not keep are a gap, and no history is made up")
def _():
    truth = folder() / "truth"
    control = folder() / "control"
    show = "record instruction-history -"
    fast = TRACE.replace("200k", "2M")
    with Board(truth, "--control", control, trace=fast) as server, Wire(server) as wire:
        wire.monitor("reset")
        wire.run_to(symbol(ELF, "main"), 2)
        wire.write(symbol(ELF, "crash_after"), 0)
        for _ in range(3):
            wire.send(frame("vCont;c"))
            goes_on(truth, 4000)
            ask_bench(control, "fault overrun=333")
            goes_on(truth)
            wire.send(b"\x03")
            has(wire.reply(), "^T02")
        wire.close()
        s = gdb(server.port, ["record btrace", f"set record instruction-history-size {COMPARED}",
                              *[show] * 4, "monitor trace status", "monitor trace gaps"], elf=ELF,
                connect="target extended-remote", before=[LOADED_MACHINE])
    words = truth.read_bytes()
    ran = words[:len(words) // 4 * 4]
    has(s["monitor trace status"], r"^lost .*\d lost-bytes")
    has(s["monitor trace gaps"], r"lost-bytes")
    pieces = 0
    for rows in s.all(show):
        for piece in runs(rows):
            pieces += len(piece) > 50
            expect(executed(ran, piece), f"not executed: {[hex(a) for a in piece[:4]]} ... "
                                         f"{[hex(a) for a in piece[-4:]]}")
    expect(pieces > 1, "no history was left")


if __name__ == "__main__":
    suite.run()
