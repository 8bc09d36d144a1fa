#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Captures as other tools leave them: dumps with footers, without one of their files, with damage; and what
is listed of gaps and of the order of events."""

import os
import random
import re
import subprocess
import time

from replay_gdb import (BTRACED, DEMO, PATIENCE, Client, Server, Suite, capture, copy_recording,
                        environment, equal, expect, has, lacks)

RECORDING = DEMO / "recording"
SYNC = b"\xff\xff\xff\x7f"
SOURCE = 0x10  # the recording's ID
suite = Suite()


def decode(*arguments):
    done = subprocess.run([BTRACED, "decode", *map(str, arguments)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, env=environment(), timeout=PATIENCE)
    equal(done.returncode, 0, f"exit code ({done.stderr.strip()[:200]})")
    return done.stdout, done.stderr


def rows(listing, *arguments):
    lines = decode("--" + listing, "--format", "tsv", *arguments)[0].splitlines()
    return [dict(zip(lines[0].split("\t"), line.split("\t"))) for line in lines[1:]]


def port_stream(recording, stream):
    """A copy whose buffer is a port's stream."""
    copy = copy_recording(recording)
    ini = (copy / "trace.ini").read_text()
    (copy / "trace.ini").write_text(ini.replace("format=coresight", "format=dstream_coresight"))
    (copy / "buffer_0.bin").write_bytes(stream)
    return copy


def with_footers(stream):
    """504 bytes, then 8 with a count that goes down."""
    out = b""
    for n, at in enumerate(range(0, len(stream), 504)):
        part = stream[at:at + 504]
        footer = bytes((0, 0, 0, 0, 0x7E, n % 4 * 16)) + (0xFFE - n & 0xFFFF).to_bytes(2, "little")
        out += part + (footer if len(part) == 504 else b"")
    return out


def with_ids(data, source):
    """Frames that each name their source, as a formatter does now and then: what comes behind damage can be told."""
    out = b""
    for at in range(0, len(data), 14):
        part = data[at:at + 14].ljust(14, b"\0")
        low = sum((byte & 1) << k for k, byte in enumerate(part[1::2], 1))
        out += bytes((source << 1 | 1, part[0]))
        out += bytes(b for pair in zip(part[1::2], part[2::2]) for b in (pair[0] & 0xFE, pair[1]))
        out += bytes((part[13] & 0xFE, low))
    return out


@suite.test("captures: a DSTREAM dump with footers, and a stream of that name without them")
def _():
    frames = (RECORDING / "buffer_0.bin").read_bytes()
    wanted = decode("--instructions", "--events", RECORDING)[0]
    for period in (1, 3):  # frames between two syncs
        stream = b"".join((b"" if at // 16 % period else SYNC) + frames[at:at + 16]
                          for at in range(0, len(frames), 16))
        for bytes_there in (stream, with_footers(stream)):
            out, err = decode("--instructions", "--events", port_stream(RECORDING, bytes_there))
            equal((out == wanted, err), (True, ""), "that it is the same, and messages")


@suite.test("captures: damage in a port's stream ends nothing")
def _():
    seed = int(os.environ.get("BTRACED_SEED", time.time_ns() % 2**32))
    print(f"seed {seed}")
    rng = random.Random(seed)
    trace = bytes.fromhex("".join(row["bytes"] for row in rows("packets", RECORDING)))
    frames = with_ids(trace, SOURCE)
    stream = bytearray(b"".join(SYNC + frames[at:at + 16] for at in range(0, len(frames), 16)))
    for _ in range(4):
        stream[rng.randrange(len(stream))] ^= 1 << rng.randrange(8)
    whole = len(rows("instructions", RECORDING))
    equal(len(rows("instructions", port_stream(RECORDING, SYNC + frames))), whole, "instructions, undamaged")
    count = len(rows("instructions", port_stream(RECORDING, stream)))
    # A bit of an atom turns a branch round, and a loop may run longer. Each of the four may cost what is up to the
    # next synchronisation, one in a thousand bytes of seven.
    expect(whole // 5 < count < 2 * whole, f"{count} of {whole} instructions")


@suite.test("captures: a memory dump that is not there is a gap in the code, and is named")
def _():
    copy = copy_recording(RECORDING)
    (copy / "dump_0.bin").unlink()
    out, err = decode("--events", copy)
    has(err, r"^btraced decode: warning: device_0\.ini:\d+: 'dump_0\.bin' is missing: nothing is known of "
             r"the memory from 0x80010000 on that it held$")
    has(out, "gap .*cause=no-code")
    whole = decode("--instructions", "--elf", DEMO / "crash.elf", copy)[0]
    equal(whole, decode("--instructions", RECORDING)[0], "instructions with the program's file")
    with Server(copy) as server, Client(server.port) as client:
        client.start()
        equal(client.ask("m80010000,4")[:1], "E", "memory of the missing dump")
        has(client.ask("m80011000,4"), "^[0-9a-f]{8}$")
    has(server.stderr, "'dump_0.bin' is missing")
    (copy / "dump_0.bin").symlink_to("/etc/hostname")
    done = subprocess.run([BTRACED, "decode", str(copy)], capture_output=True, text=True,
                          env=environment(), timeout=PATIENCE)
    equal(done.returncode, 4, "exit code of a dump outside of the folder")


def history_lines(server, count):
    with Client(server.port) as client:
        client.start()
        answer = client.ask("qRcmd," + f"monitor history {count}"[8:].encode().hex())
        text = ""
        while answer != "OK":
            expect(answer.startswith("O"), f"answer {answer[:40]!r}")
            text += bytes.fromhex(answer[1:]).decode()
            answer = client.reply()
    return text.splitlines()


@suite.test("captures: monitor history lists a gap once, where trace ends and begins again")
def _():
    path = capture("juno-etmv4")
    with Server(path) as server:
        lines = history_lines(server, 1000)
    gaps = [line for line in lines if "--- gap: " in line]
    expect(len(gaps) > 10, f"{len(gaps)} gaps")
    places = [tuple(re.match(r" *(\d+) +--- gap: ([\w-]+);", line).groups()) for line in gaps]
    twice = [a for a, b in zip(places, places[1:]) if a == b]
    equal(twice, [], "gaps listed twice")
    lacks("\n".join(lines), "Sanitizer")


@suite.test("captures: events between two instructions are in the order of the trace")
def _():
    for name in ("juno-etmv4", "cc1-etmv4", "tc2-etmv3-ptm"):
        before, listed = {}, 0
        for row in rows("events", capture(name)):
            place = int(row["index"]), int(row["offset"])
            expect(before.get(row["core"], (0, 0)) <= place, f"{name}: {row} behind {before}")
            before[row["core"]] = place
            listed += 1
        expect(listed > 30, f"{name}: {listed} events")


suite.run()
