#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""btraced timeline: read by protoc and by a reader of our own, and held against what really ran on the
virtual boards. Tests timeline.c and perfetto.c."""

import collections
import subprocess

from export_runs import BTRACED, Run
from replay_gdb import PATIENCE, Suite, environment, equal, expect, folder, has, lacks, tool

suite = Suite()

# Names and numbers of perfetto/trace/perfetto_trace.proto.
SCHEMA = """syntax = "proto2";
message Process { optional int32 pid = 1; optional string process_name = 6; }
message Thread { optional int32 pid = 1; optional int32 tid = 2; optional string thread_name = 5; }
message TrackDescriptor { optional uint64 uuid = 1; optional string name = 2;
  optional Process process = 3; optional Thread thread = 4; optional uint64 parent_uuid = 5; }
message EventName { optional uint64 iid = 1; optional string name = 2; }
message InternedData { repeated EventName event_names = 2; }
message TrackEvent { optional int32 type = 9; optional uint64 name_iid = 10;
  optional uint64 track_uuid = 11; optional string name = 23; }
message TracePacket { optional uint64 timestamp = 8; optional uint32 trusted_packet_sequence_id = 10;
  optional TrackEvent track_event = 11; optional InternedData interned_data = 12;
  optional uint32 sequence_flags = 13; optional TrackDescriptor track_descriptor = 60; }
message Trace { repeated TracePacket packet = 1; }
"""
BEGIN, END, INSTANT = 1, 2, 3


def fields(data):
    """(field, value) of a message: numbers and bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if not byte & 0x80:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 2:
            size = varint()
            expect(at + size <= len(data), "a message reaches out of its packet")
            yield tag >> 3, data[at:at + size]
            at += size
        else:
            equal(tag & 7, 0, "wire type")
            yield tag >> 3, varint()


class Timeline:
    """Tracks by name; slices (track, name, begin, end), instants (track, name, time)."""

    def __init__(self, run, *options):
        self.path = folder() / "run.pftrace"
        done = subprocess.run([BTRACED, "timeline", "--elf", str(run.elf), "-o", str(self.path),
                               *options, str(run.recording)], capture_output=True, text=True,
                              timeout=5 * PATIENCE, env=environment())
        equal(done.returncode, 0, f"exit code of timeline: {done.stderr}")
        self.errors = done.stderr
        self.data = self.path.read_bytes()
        self.tracks, self.names, self.slices, self.instants = {}, {}, [], []
        self.process = ""
        self.open = collections.defaultdict(list)
        self.newest = {}
        for number, (field, packet) in enumerate(fields(self.data)):
            equal(field, 1, "field of the file")
            self.packet(number, dict(fields(packet)))
        equal([name for stack in self.open.values() for name in stack], [], "slices without an end")

    def packet(self, number, packet):
        equal(packet[13], 2 if number else 3, "sequence_flags")
        expect(packet[10], "a packet without a sequence")
        for field, entry in fields(packet.get(12, b"")):
            equal(field, 2, "interned")
            entry = dict(fields(entry))
            expect(entry[1] not in self.names, "a name is interned twice")
            self.names[entry[1]] = entry[2].decode()
        if 60 in packet:
            track = dict(fields(packet[60]))
            if 3 in track:
                self.process = dict(fields(track[3]))[6].decode()
            else:
                name = dict(fields(track[4]))[5] if 4 in track else track[2]
                self.tracks[track[1]] = name.decode()
        if 11 in packet:
            self.event(packet[8], dict(fields(packet[11])))

    def event(self, time, event):
        track = self.tracks[event[11]]
        expect(time >= self.newest.get(track, 0), f"time goes back on {track}")
        self.newest[track] = time
        if event[9] == BEGIN:
            self.open[track].append((self.names[event[10]], time))
        elif event[9] == END:
            name, begin = self.open[track].pop()
            self.slices.append((track, name, begin, time))
        else:
            self.instants.append((track, self.names[event[10]], time))


def judged_by_protoc(timeline):
    place = timeline.path.parent
    (place / "trace.proto").write_text(SCHEMA)
    done = subprocess.run([tool("protoc"), "--decode=Trace", "trace.proto"], cwd=place,
                          input=timeline.data, capture_output=True, timeout=PATIENCE)
    equal(done.returncode, 0, f"protoc: {done.stderr[-300:]}")
    lacks(done.stdout.decode(), r"^ *\d+(:| \{)", "protoc: unknown fields")


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
        timeline = Timeline(run)
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
    whole = Timeline(run)
    begin, end = 5000, 9000
    part = Timeline(run, "--from", str(begin + 1), "--to", str(end + 1))
    wanted = sorted((t, n, max(b, begin), min(e, end)) for t, n, b, e in whole.slices
                    if b < end and e > begin)
    got = sorted(part.slices)
    # An exception's handler may hide that a call was open; what is within is the same.
    equal([s for s in got if begin < s[2] and s[3] < end],
          [s for s in wanted if begin < s[2] and s[3] < end], "calls in the window")
    expect(all(begin <= b <= e <= end for _, _, b, e in got), "calls out of the window")
    first = min(b for _, name, b, _ in whole.slices if name == "report_topics")
    named = Timeline(run, "--from", "report_topics")
    equal(min(b for _, _, b, _ in named.slices), first, "from a function")
    long = Timeline(run, "--shortest", "200")
    equal(sorted(long.slices), sorted(s for s in whole.slices if s[3] - s[2] >= 200),
          "calls of 200 instructions")
    left = int(has(long.errors, r"(\d+) calls are left out")[1])
    equal(left + len(long.slices), len(whole.slices), "calls and those left out")
    expect(len(whole.data) > 8192, f"only {len(whole.data)} bytes")
    small = Timeline(run, "--max-size", "8192")
    expect(len(small.data) <= 8192 and small.slices, f"{len(small.data)} bytes")
    has(small.errors, r"\d+ calls are left out")
    for options in (["--from", "nowhere"], ["--max-size", "3"]):
        run.export("timeline", *options, code=2)


@suite.test("timeline: gaps with their cause, time from timestamps and cycles")
def _():
    run = Run("m7", "-O1", count=30000, registers={"trcconfigr": 1 | 1 << 11})
    timeline = Timeline(run)
    expect(any("tick of the timestamps" in name for name in timeline.tracks.values()),
           f"tracks {timeline.tracks}")
    [raw] = run.recording.glob("buffer_*.bin")
    data = raw.read_bytes()
    third = len(data) // 48 * 16
    raw.write_bytes(data[:third] + data[third + 1024:])
    damaged = Timeline(run)
    expect(all(name.startswith("gap: ") and track == "cpu0 gaps"
               for track, name, _ in damaged.instants), f"instants {damaged.instants}")
    expect({name for _, name, _ in damaged.instants} - {"gap: debug", "gap: filter"},
           f"no gap of lost trace: {damaged.instants}")
    has(damaged.process, "; gaps: ")
    judged_by_protoc(damaged)
    run = Run("a9", "-O1", count=20000, registers={"etmcr": 0x20001000})
    expect(any("1 ns is a cycle" in name for name in Timeline(run).tracks.values()), "no cycles")


suite.run()
