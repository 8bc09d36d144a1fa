#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stock GDB on a capture of a Cortex-A53 that runs A64 code, traced by an ETMv4. What really ran
comes from OpenCSD's decode of the same bytes."""

import re

from replay_gdb import (Server, Suite, capture, copy_recording, equal, folder, gdb, has, history, run, tool, value)

FOLDER = "cc1-etmv4"
SOME = 128 * 1024  # bytes of trace
LAST = 5000        # instructions that are compared
suite = Suite()
cache = {}


def recording():
    """The first part of the capture, without the PC of its core: the trace's end stands in."""
    if "recording" not in cache:
        path = copy_recording(capture(FOLDER))
        trace = path / "cstrace.bin"
        trace.write_bytes(trace.read_bytes()[:SOME])
        for core in path.glob("cpu_*.ini"):
            core.write_text(re.sub(r"(?m)^PC.*\n", "", core.read_text()))
        cache["recording"] = path
    return cache["recording"]


def truth():
    """Addresses of all instructions that OpenCSD decodes."""
    if "truth" not in cache:
        listing = folder() / "listing"
        run([tool("trc_pkt_lister"), "-ss_dir", str(recording()), "-decode_only", "-id", "0x12",
             "-logfilename", str(listing)])
        ran = []
        for line in listing.read_text().splitlines():
            if "INSTR_RANGE" in line:
                m = has(line, r"exec range=0x([0-9a-f]+):\[0x([0-9a-f]+)\]")
                ran += range(int(m[1], 16), int(m[2], 16), 4)
        cache["truth"] = ran
    return cache["truth"]


@suite.test("A64: the history in GDB is what ran")
def same_history():
    ran = truth()
    with Server(recording()) as server:
        s = gdb(server.port, ["thread 2", "info record", "record instruction-history",
                              f"record instruction-history -,{LAST}", "p/x $pc"])
    count = int(has(s["info record"], r"Recorded (\d+) instructions")[1])
    rows = history(s["record instruction-history"])
    equal([row.address for row in rows], ran[-len(rows):], "the latest instructions")
    equal(rows[-1].number, count, "number of the latest")


@suite.test("A64: steps back, a jump to the begin, the place in the code")
def moves():
    ran = truth()
    back = 40
    with Server(recording()) as server:
        s = gdb(server.port, ["thread 2", f"record instruction-history 1,{LAST}",
                              *["reverse-stepi", "p/x $pc"] * back, "record goto begin",
                              "p/x $sp"])
    equal([value(output) for output in s.all("p/x $pc")], ran[-1:-1 - back:-1],
          "positions going back")
    rows = [row.address for row in history(s[f"record instruction-history 1,{LAST}"])]
    equal(len(rows), LAST, "rows of the begin")
    found = any(ran[i:i + LAST] == rows for i in range(len(ran)) if ran[i] == rows[0])
    equal(found, True, "the begin is a part of what ran")
    has(s["p/x $sp"], "unavailable")


@suite.test("A64: what is not known is refused in words")
def refused():
    with Server(recording(), "--no-record") as server:
        s = gdb(server.port, ["thread 2", "reverse-stepi", "set $x0 = 1", "p $x0", "p $sp"])
    has(s["reverse-stepi"], "0x[0-9a-f]+ in")
    has(s["set $x0 = 1"], "Could not write register")
    has(s["p $x0"], "unavailable")
    has(s["p $sp"], "unavailable")


if __name__ == "__main__":
    suite.run()
