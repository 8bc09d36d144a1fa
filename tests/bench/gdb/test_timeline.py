#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""btraced timeline: read by protoc and by a reader of our own, and held against what really ran on the
virtual boards. Tests timeline.c and perfetto.c."""

import collections

from export_runs import Run
from perfetto_reader import Timeline, judged_by_protoc
from replay_gdb import Suite, equal, expect, has

suite = Suite()

def against_truth(run, timeline):
    """An instruction is a nanosecond: each call begins at its function and ends behind it."""
    truth, functions = run.truth, run.functions()
    handlers = collections.Counter()
    # A function that is called, and interrupted before its first instruction, runs behind that.
    behind = {begin: end for _, name, begin, end in timeline.slices if " [" in name
              and end < len(truth)}
    for track, name, begin, end in timeline.slices:
        function = name.split(" [")[0]
        expect(begin < end, f"{name} from {begin} to {end}")
        if begin < len(truth):
            ran = functions.get(truth[begin])
            expect(ran == function or track == "cpu0 (1 ns is an instruction)" and begin == 0 or
                   ran is None or " [" not in name and begin in behind and
                   functions.get(truth[behind[begin]]) == function,
                   f"{name} begins at {begin}, where {ran} does")
        handlers[name] += " [" in name
    return handlers


for board in ("m3", "m33", "a9"):
    @suite.test(f"timeline: {board}: calls and exceptions, packet by packet")
    def _(board=board):
        run = Run(board, "-O1", count=30000)
        timeline = Timeline(run.elf, run.recording)
        judged_by_protoc(timeline)
        has(timeline.process, r"instructions from \d+ bytes of trace.*; no gaps$")
        expect(any("1 ns is an instruction" in name for name in timeline.tracks.values()),
               f"tracks {timeline.tracks}")
        against_truth(run, timeline)
        # Each path of the profile has as many calls as there are slices.
        text = run.export("profile", "--format", "text")
        slices = collections.Counter(name.split(" [")[0] for _, name, _, _ in timeline.slices)
        for name, count in slices.items():
            listed = int(has(text, rf"^ +\d+ +[\d.]+% +\d+ +(\d+)  {name}$", "profile")[1])
            equal(count, listed, f"calls of {name}")
        raised = [s for s in timeline.slices if s[0] == "cpu0 exceptions"]
        expect(any(" [" in name for _, name, _, _ in raised), "no exception")
        expect(all(" [" not in name for track, name, _, _ in timeline.slices
                   if track != "cpu0 exceptions"), "an exception among the calls")


@suite.test("timeline: window, shortest call, size")
def _():
    run = Run("m4", "-O0", count=60000)
    whole = Timeline(run.elf, run.recording)
    begin, end = 5000, 9000
    part = Timeline(run.elf, run.recording, "--from", str(begin + 1), "--to", str(end + 1))
    wanted = sorted((t, n, max(b, begin), min(e, end)) for t, n, b, e in whole.slices
                    if b < end and e > begin)
    got = sorted(part.slices)
    # An exception's handler may hide that a call was open; what is within is the same.
    equal([s for s in got if begin < s[2] and s[3] < end],
          [s for s in wanted if begin < s[2] and s[3] < end], "calls in the window")
    expect(all(begin <= b <= e <= end for _, _, b, e in got), "calls out of the window")
    first = min(b for _, name, b, _ in whole.slices if name == "report_topics")
    named = Timeline(run.elf, run.recording, "--from", "report_topics")
    equal(min(b for _, _, b, _ in named.slices), first, "from a function")
    long = Timeline(run.elf, run.recording, "--shortest", "200")
    equal(sorted(long.slices), sorted(s for s in whole.slices if s[3] - s[2] >= 200),
          "calls of 200 instructions")
    left = int(has(long.errors, r"(\d+) calls are left out")[1])
    equal(left + len(long.slices), len(whole.slices), "calls and those left out")
    expect(len(whole.data) > 8192, f"only {len(whole.data)} bytes")
    small = Timeline(run.elf, run.recording, "--max-size", "8192")
    expect(len(small.data) <= 8192 and small.slices, f"{len(small.data)} bytes")
    has(small.errors, r"\d+ calls are left out")
    for options in (["--from", "nowhere"], ["--max-size", "3"]):
        run.export("timeline", *options, code=2)


@suite.test("timeline: gaps with their cause, time from timestamps and cycles")
def _():
    run = Run("m7", "-O1", count=30000, registers={"trcconfigr": 1 | 1 << 11})
    timeline = Timeline(run.elf, run.recording)
    expect(any("tick of the timestamps" in name for name in timeline.tracks.values()),
           f"tracks {timeline.tracks}")
    [raw] = run.recording.glob("buffer_*.bin")
    data = raw.read_bytes()
    third = len(data) // 48 * 16
    raw.write_bytes(data[:third] + data[third + 1024:])
    damaged = Timeline(run.elf, run.recording)
    expect(all(name.startswith("gap: ") and track == "cpu0 gaps"
               for track, name, _ in damaged.instants), f"instants {damaged.instants}")
    expect({name for _, name, _ in damaged.instants} - {"gap: debug", "gap: filter"},
           f"no gap of lost trace: {damaged.instants}")
    has(damaged.process, "; gaps: ")
    judged_by_protoc(damaged)
    run = Run("a9", "-O1", count=20000, registers={"etmcr": 0x20001000})
    cycles = Timeline(run.elf, run.recording)
    expect(any("1 ns is a cycle" in name for name in cycles.tracks.values()), "no cycles")


suite.run()
