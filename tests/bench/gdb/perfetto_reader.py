# SPDX-License-Identifier: BSD-3-Clause
"""A reader of Perfetto's traces, written from the format alone, and protoc as its judge."""

import collections
import subprocess

from replay_gdb import BTRACED, PATIENCE, environment, equal, expect, folder, lacks, tool

# Names and numbers of perfetto/trace/perfetto_trace.proto.
SCHEMA = """syntax = "proto2";
message Process { optional int32 pid = 1; optional string process_name = 6; }
message Counter { }
message Thread { optional int32 pid = 1; optional int32 tid = 2; optional string thread_name = 5; }
message TrackDescriptor { optional uint64 uuid = 1; optional string name = 2;
  optional Process process = 3; optional Thread thread = 4; optional uint64 parent_uuid = 5;
  optional Counter counter = 8; }
message EventName { optional uint64 iid = 1; optional string name = 2; }
message InternedData { repeated EventName event_names = 2; }
message TrackEvent { optional int32 type = 9; optional uint64 name_iid = 10;
  optional uint64 track_uuid = 11; optional string name = 23; optional int64 counter_value = 30; }
message TracePacket { optional uint64 timestamp = 8; optional uint32 trusted_packet_sequence_id = 10;
  optional TrackEvent track_event = 11; optional InternedData interned_data = 12;
  optional uint32 sequence_flags = 13; optional TrackDescriptor track_descriptor = 60; }
message Trace { repeated TracePacket packet = 1; }
"""
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


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
    """Tracks by name; slices (track, name, begin, end), instants (track, name, time), values (track,
    value, time)."""

    def __init__(self, elf, recording, *options):
        self.path = folder() / "run.pftrace"
        done = subprocess.run([BTRACED, "timeline", "--elf", str(elf), "-o", str(self.path),
                               *options, str(recording)], capture_output=True, text=True,
                              timeout=5 * PATIENCE, env=environment())
        equal(done.returncode, 0, f"exit code of timeline: {done.stderr}")
        self.errors = done.stderr
        self.data = self.path.read_bytes()
        self.tracks, self.names, self.slices = {}, {}, []
        self.instants, self.values, self.counters = [], [], set()
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
                if 8 in track:
                    self.counters.add(name.decode())
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
        elif event[9] == COUNTER:
            expect(track in self.counters, f"{track} is no counter")
            self.values.append((track, event[30], time))
        else:
            equal(event[9], INSTANT, "type of event")
            name = event[23].decode() if 23 in event else self.names[event[10]]
            self.instants.append((track, name, time))

    def on(self, what, track):
        """Those of `slices`, `instants` or `values` on a track, without its name."""
        expect(track in self.tracks.values(), f"no track {track} in {self.tracks}")
        return [row[1:] for row in what if row[0] == track]


def judged_by_protoc(timeline):
    place = timeline.path.parent
    (place / "trace.proto").write_text(SCHEMA)
    done = subprocess.run([tool("protoc"), "--decode=Trace", "trace.proto"], cwd=place,
                          input=timeline.data, capture_output=True, timeout=PATIENCE)
    equal(done.returncode, 0, f"protoc: {done.stderr[-300:]}")
    lacks(done.stdout.decode(), r"^ *\d+(:| \{)", "protoc: unknown fields")
