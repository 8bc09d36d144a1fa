#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The index beside a recording: with it `replay` answers as without. Tests replay_index.c: it is made by the first
replay, belongs to one recording, one program and one user, and what is anything else is not used, which is said."""

import os
import random
import shutil
import stat
import subprocess
import time

from replay_gdb import BTRACED, DEMO, PATIENCE, Suite, environment, equal, expect, folder, has, lacks

suite = Suite()
SEED = int(os.environ.get("BTRACED_SEED", time.time_ns() % 2**32))
print(f"BTRACED_SEED={SEED}", flush=True)
CHANCE = random.Random(SEED)
NAME = "replay.index"
LONG = 34 << 20  # shorter ones have no index
QUESTIONS = ["where", "trace status", "history 20", "goto 1", "history 5", "goto 12345678", "history 5"]


def long_recording():
    """The demo's, over and over."""
    made = folder() / "long"
    shutil.copytree(DEMO / "recording", made)
    trace = made / "buffer_0.bin"
    trace.write_bytes(trace.read_bytes() * (LONG // trace.stat().st_size + 1))
    return made


def packet(text):
    return b"$%s#%02x" % (text, sum(text) & 0xff)


def answers(recording, *options, **variables):
    """What a client hears: registers, and what `monitor` prints; and standard error."""
    asked = [b"?", b"g"] + [b"qRcmd," + q.encode().hex().encode() for q in QUESTIONS]
    done = subprocess.run(
        [BTRACED, "replay", "--stdio", *options, str(recording)],
        input=packet(b"QStartNoAckMode") + b"+" + b"".join(map(packet, asked)), capture_output=True,
        timeout=5 * PATIENCE, env=environment() | variables, check=False)
    equal(done.returncode, 0, f"exit code: {done.stderr[-2000:]}")
    expect(len(done.stdout) > 500, f"too few answers: {done.stdout}")
    return done.stdout, done.stderr.decode()


DECODES = r"decodes all \d+ MB first, for want of an index"


@suite.test("index: replay with it answers as without, and decodes nothing first")
def _():
    recording = long_recording()
    wanted, said = answers(recording, "--no-index")
    lacks(said, "index")
    expect(not (recording / NAME).exists(), "an index in spite of --no-index")
    got, said = answers(recording)
    equal(got, wanted, "answers of the first replay")
    has(said, DECODES)
    has(said, f"{NAME}' is there the next time")
    equal(stat.S_IMODE((recording / NAME).stat().st_mode), 0o600, "mode of the index")
    for path in (recording, recording / "snapshot.ini"):
        got, said = answers(path)
        equal(got, wanted, "answers with the index")
        lacks(said, "decodes|next time|not used")
    equal([p.name for p in recording.iterdir() if "index" in p.name], [NAME], "files of the index")


@suite.test("index: one that is changed, cut, of another time, program or user is not used, and made anew")
def _():
    recording = long_recording()
    wanted, _ = answers(recording)
    index = recording / NAME
    good = index.read_bytes()
    at = CHANCE.randrange(60, len(good))
    for bad in (good[:at] + bytes([good[at] ^ 1 << CHANCE.randrange(8)]) + good[at + 1:], good[:at], b"", b"x" * 500):
        index.write_bytes(bad)
        got, said = answers(recording)
        equal(got, wanted, "answers beside a bad index")
        has(said, f"{NAME}' is not used: ")
        has(said, DECODES)
        equal(len(index.read_bytes()), len(good), "bytes of the index made anew")
    os.utime(recording / "buffer_0.bin")
    has(answers(recording)[1], "not used: of another recording")
    has(answers(recording, "--elf", DEMO / "crash.elf")[1], "not used: of another recording")
    lacks(answers(recording, "--elf", DEMO / "crash.elf")[1], "not used|decodes")
    has(answers(recording, "--elf", DEMO / "crash.elf", XDG_STATE_HOME=str(folder()))[1],
        "not used: another user's, cut off or changed")


@suite.test("index: none for a short recording, and none without a key or a place")
def _():
    lacks(answers(DEMO / "recording", "--no-record")[1], "index")
    recording = long_recording()
    wanted, said = answers(recording, XDG_STATE_HOME="/dev/null/x")
    has(said, "keeps no index: no key of this user")
    expect(not (recording / NAME).exists(), "an index without a key")
    (recording / NAME).mkdir()
    got, said = answers(recording)
    equal(got, wanted, "answers with a folder in the place of the index")
    has(said, "keeps no index in '.*': ")


suite.run()
