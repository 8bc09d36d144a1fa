#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a Cortex-M4 with two tasks shows in one timeline, from ETM, ITM and DWT in one stream, and
what the board's own account says: configs/virtual-m4-tasks.conf, one command. Tests timeline_itm.c and
export_tasks.c.
"""

import itertools
import os
import random
import subprocess

from live_gdb import PROGRAMS, board_file, symbol
from perfetto_reader import Timeline, judged_by_protoc
from replay_gdb import BTRACED, PATIENCE, Suite, environment, equal, expect, same_list

suite = Suite()
ELF = PROGRAMS / "tasks-m4.elf"
SEED = int(os.environ.get("BTRACED_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
CUTS = 100 if os.environ.get("BTRACED_FULL") else 12
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
    expect(len(lines) == 120, f"{len(lines)} lines")
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
    expect(len(handlers) > 40, f"{len(handlers)} handlers")
    samples = timeline.on(timeline.instants, "cpu0 PC samples")
    expect({"wait", "reset_handler"} <= {name for name, _ in samples}, f"samples: {samples}")


def switches(board):
    """(first instruction behind the store, its name) of each switch to another task."""
    names = {symbol(ELF, name): name for name in ("nobody", "measuring", "printing")}
    found = []
    for at, how, value in board.current:
        if how == "store" and value in names and (not found or found[-1][1] != names[value]):
            found.append((at + 1, names[value]))
    return found


@suite.test("tracks: each task has its slices and its calls, as the board ran them")
def _():
    board = Board()
    timeline = Timeline(ELF, board.recording)
    judged_by_protoc(timeline)
    slices = timeline.on(timeline.slices, "cpu0 tasks")
    # The start-up code stores there with an instruction that stores elsewhere, too: the first switch
    # comes so soon behind it that it is not known which store is which.
    ran = switches(board)[2:]
    expect(len(ran) > 20, f"only {len(ran)} switches")
    same_list([(begin, name) for name, begin, _ in slices], ran, "switches")
    same_list([end for _, _, end in slices[:-1]], [at for at, _ in ran[1:]], "ends")

    # Only one of them calls each of these functions.
    whose = {"measure": "measuring", "smooth": "measuring", "read_sensor": "measuring",
             "print": "printing", "print_text": "printing", "print_number": "printing"}
    seen = set()
    for track, name, begin, end in timeline.slices:
        if name in whose and begin >= ran[0][0]:
            equal(track, f"cpu0 task {whose[name]}", f"track of {name} at {begin}")
            seen.add(name)
            now = [task for at, task in ran if at <= begin][-1]
            equal(now, whose[name], f"task that runs when {name} begins")
    equal(seen, set(whose), "functions")
    whole = sorted(s for s in timeline.slices if s[0] == "cpu0 tasks")
    part = Timeline(ELF, board.recording, "--from", "20001", "--to", "30001")
    equal(sorted(s for s in part.slices if s[0] == "cpu0 tasks"),
          [(track, name, max(begin, 20000), min(end, 30000)) for track, name, begin, end in whole
           if end > 20000 and begin < 30000], "tasks of the window")


@suite.test(f"tracks: beside lost trace no task is named that did not run (seed {SEED})")
def _():
    board, dice = Board(), random.Random(SEED)
    ran = switches(board)
    [raw] = board.recording.glob("buffer_*.bin")
    data = raw.read_bytes()
    named = 0
    for _ in range(CUTS):
        cut, lost = dice.randrange(len(data)), dice.randrange(16, 2048)
        raw.write_bytes(data[:cut] + data[cut + lost:])
        timeline = Timeline(ELF, board.recording)
        begins = [] if "cpu0 tasks" not in timeline.tracks.values() else [
            (begin, name) for name, begin, _ in timeline.on(timeline.slices, "cpu0 tasks")]
        # Instructions that are lost have no numbers: all that comes behind is shifted alike.
        before = list(itertools.takewhile(lambda row: row in ran, begins))
        behind = begins[len(before):]
        expect(not behind or any(
            {(at + row[0] - behind[0][0], name) for at, name in behind} <= set(ran) for row in ran),
            f"cut {cut}, {lost} bytes: behind it {behind} of {ran}")
        named += len(begins)
    expect(named > CUTS * len(ran) // 4, f"only {named} switches")


suite.run()
