#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a Cortex-M4 with two tasks shows in one timeline, from ETM, ITM and DWT in one stream, and
what the board's own account says: configs/virtual-m4-tasks.conf, one command. Tests timeline_itm.c.
"""

import subprocess

from live_gdb import PROGRAMS, board_file, symbol
from perfetto_reader import Timeline, judged_by_protoc
from replay_gdb import BTRACED, PATIENCE, Suite, environment, equal, expect, same_list

suite = Suite()
ELF = PROGRAMS / "tasks-m4.elf"
BURST = 64 * 15 * 4  # the core's trace comes in bursts: bytes, branches of each, instructions


class Board:
    """One run, its recording, and what the board did: (instruction from 0, ...)."""

    def __init__(self):
        path = board_file("virtual-m4-tasks")
        self.recording = path.parent / "kept"
        done = subprocess.run([BTRACED, "run", "-c", str(path), "--until", "stopped_here", "--record",
                               str(self.recording)], capture_output=True, text=True,
                              timeout=PATIENCE, env=environment())
        equal(done.returncode, 0, f"exit code of run: {done.stderr}")
        self.text, self.level, self.current = [], [], []
        for line in (path.parent / "truth.log").read_text().splitlines():
            at, what, *word = line.split()
            if what == "stimulus":
                self.text.append((int(at), chr(int(word[2], 16))))
            elif what == "watch":
                values = self.current if word[0] == "0" else self.level
                values.append((int(at), word[1], int(word[3], 16)))


def near(shown, happened, what):
    """Not later than it happened, and not earlier than a burst of the core's trace."""
    expect(happened - BURST < shown <= happened + 1, f"{what}: {happened}, shown at {shown}")


@suite.test("tracks: text, values and exceptions beside the calls of the core")
def _():
    board = Board()
    timeline = Timeline(ELF, board.recording)
    judged_by_protoc(timeline)
    equal(symbol(ELF, "current_task"), 0x20000004, "address in the board file")
    equal(symbol(ELF, "level"), 0x20000000, "address in the board file")

    lines = "".join(c for _, c in board.text).replace("\r", "").splitlines()
    text = timeline.on(timeline.instants, "cpu0 ITM port 0")
    same_list([name for name, _ in text], lines, "lines")
    expect(len(lines) == 40, f"{len(lines)} lines")
    begins = [at for (at, _), (_, before) in zip(board.text, [(0, "\n"), *board.text])
              if before == "\n"]
    for (line, shown), happened in zip(text, begins):
        near(shown, happened, line)

    for name, accesses in ("level", board.level), ("current_task", board.current):
        values = timeline.on(timeline.values, f"cpu0 watch {name}")
        same_list([value for value, _ in values], [value for _, _, value in accesses], name)
        for (value, shown), (happened, _, _) in zip(values, accesses):
            near(shown, happened, f"{name} = {value}")

    # The DWT and the ETM tell of the same exceptions.
    handlers = [name for name, _, _ in timeline.on(timeline.slices, "cpu0 handlers by DWT")]
    traced = [(begin, name.split("[")[1][:-1]) for track, name, begin, _ in timeline.slices
              if track == "cpu0 exceptions" and " [" in name]
    same_list(handlers, [name for _, name in sorted(traced)], "handlers")
    expect(len(handlers) > 50, f"{len(handlers)} handlers")
    samples = timeline.on(timeline.instants, "cpu0 PC samples")
    expect({"wait", "reset_handler"} <= {name for name, _ in samples}, f"samples: {samples}")


suite.run()
