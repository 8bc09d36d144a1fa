#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trace through the modelled FT2232H or FT232H as a synchronous FIFO, decoded live: the history is that of the
recording whose bytes are put in."""

import re

from probe_gdb import ProbeServer, ask_bench, refused
from live_gdb import Wire
from replay_gdb import GAP, Suite, equal, expect, folder, has, logged, same_list
from streams import Target, board, frames, orbflow, port, whole_history, wait_until, wanted_blocks

suite = Suite()
FIFO = "[trace]\nformat = {}\n[capture]\ntype = ftdi-fifo"


@suite.test("ftdi fifo: a recorded capture, in three forms")
def _():
    place, wanted = folder(), wanted_blocks()
    data = frames()
    module = ["--layout", "ft232h-swd"]
    for name, stream, chip in (("tpiu", port(data), []), ("frames", data, []),
                               ("orbflow", b"\0" + orbflow(data), []), ("tpiu", port(data), module)):
        (place / name).write_bytes(stream)
        with Target() as target:
            path = board(target.port, FIFO.format(name), place)
            with ProbeServer("--probe", "ftdi", *chip, "--fifo", f"{place}/{name},1000000", path=path) as live, \
                    Wire(live) as wire:
                logged(live, rf"^trace clock   running: FT{'232H m' if chip else '2232H MiniM'}odule, "
                           "serial MODEL0002$")
                equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace")
                same_list(whole_history(wire), wanted, f"the live history, {name}")


def instructions(wire):
    found = re.search(r"^history +instructions 1 to (\d+) ", wire.monitor("trace status"), re.M)
    return int(found[1]) if found else 0


def lost(wire):
    return wire.monitor("trace gaps").count("lost-bytes")


@suite.test("ftdi fifo: pulled and back: the history of before, a gap, and what came then")
def _():
    place = folder()
    (place / "port").write_bytes(port(frames())[3:])  # from a sync on, as it is sent over and over
    with Target() as target:
        path = board(target.port, FIFO.format("tpiu"), place)
        # Slow: of a longer history GDB is given the newest part, however much comes later.
        with ProbeServer("--probe", "ftdi", "--paced", f"{place}/port,5000,0", "--control", place / "bench",
                    path=path) as live, Wire(live) as wire:
            def pull():
                ask_bench(place / "bench", "unplug")
                wait_until(lambda: "trace clock   stopped" in wire.monitor("trace status") and
                           "bytes wait" not in wire.monitor("trace status"), "the end")

            equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace")
            wait_until(lambda: instructions(wire) > 100, "history")
            pull()
            # The newest two are the target's PC, and the gap between it and this trace.
            count, before = instructions(wire), wire.blocks("all")[2:]
            equal(lost(wire), 0, "gaps of lost bytes before")
            ask_bench(place / "bench", "replug")
            wait_until(lambda: "trace clock   running" in wire.monitor("trace status"), "the unit")
            wait_until(lambda: instructions(wire) > count + 1000, "more history")
            equal(lost(wire), 1, "gaps where it was away")
            pull()
            after = wire.blocks("all")[2:]
            # Where the file begins anew there is a gap, too.
            gaps = [at + 1 for at, block in enumerate(after[:-100]) if block == GAP]
            expect(any(after[at:] == before[:len(after) - at] for at in gaps),
                   f"no gap in front of the history of before: {len(before)} blocks, then {len(after)}, "
                   f"gaps before {gaps}")


@suite.test("ftdi fifo: chips and channels that cannot do it")
def _():
    place = folder()
    with Target() as target:
        path = board(target.port, FIFO.format("tpiu") + "\nserial = X", place)
        has(refused("--probe", "ftdi", path=path)[1],
            "^btraced serve: no FTDI adapter with serial number 'X', but 1 attached: see 'btraced probes'$")
        path = board(target.port, FIFO.format("tpiu"), place)
        has(refused("--probe", "ftdi", "--layout", "ft4232h", path=path)[1],
            r"\(FT4232H\) has no synchronous FIFO: an FT2232H or FT232H has$")
        path = board(target.port, "[trace]\nformat = tpiu\n[capture]\ntype = ftdi-uart\n"
                     "baud = 2M\nchannel = C", place)
        has(refused("--probe", "ftdi", path=path)[1], r"\(FT2232H\) has no channel C$")
        path = board(target.port, "[trace]\nformat = tpiu\n[capture]\ntype = ftdi-uart\n"
                     "baud = 11M", place)
        has(refused("--probe", "ftdi", path=path)[1],
            "cannot capture at 11000000 bits a second")


if __name__ == "__main__":
    suite.run()
