#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compressed recordings: what `record --compress` wrote says what the same bytes say unpacked, in every command, whole,
cut off, in parts and from frames of `zstd` itself; a changed byte is an error, never another report. Tests
the compressed side of snapshot.c, snapshot_writer.c, recording_history.c and recorder.c."""

import os
import random
import shutil
import subprocess
import time

from replay_gdb import BTRACED, PATIENCE, ROOT, Suite, environment, equal, expect, folder, has

suite = Suite()
SEED = int(os.environ.get("BTRACED_SEED", time.time_ns() % 2**32))
print(f"BTRACED_SEED={SEED}", flush=True)
MAGIC = bytes.fromhex("28b52ffd")
CHANCE = random.Random(SEED)


def btraced(*words, code=0):
    done = subprocess.run([BTRACED, *map(str, words)], capture_output=True, text=True,
                          timeout=5 * PATIENCE, env=environment(), check=False)
    equal(done.returncode, code, f"exit code of {words}: {done.stderr[-2000:]}")
    return done.stderr if code else done.stdout


def zstd(*words, data):
    return subprocess.run(["zstd", "-q", "-c", *words], input=data, capture_output=True, check=True).stdout


def other_frames(data):
    """Frames of other lengths, each of which says its own."""
    made, at = b"", 0
    piece = folder() / "piece"
    while at < len(data):
        size = CHANCE.randrange(1 + len(data) // 12, min(7 << 20, 2 + len(data) // 3))
        piece.write_bytes(data[at:at + size])
        made += zstd(CHANCE.choice(["-1", "-9"]), piece, data=b"")
        at += size
    return made


def plain_copy(packed, name):
    """The recording with its trace unpacked, as far as whole frames go."""
    made = folder() / name
    shutil.copytree(packed, made)
    trace = made / "buffer_0.bin.zst"
    (made / "buffer_0.bin").write_bytes(zstd("-d", data=trace.read_bytes()))
    trace.unlink()
    ini = made / "trace.ini"
    ini.write_text(ini.read_text().replace("buffer_0.bin.zst", "buffer_0.bin"))
    return made


def reports(recording, board):
    elf = ROOT / "configs" / "virtual" / board.replace("virtual-", "crash-")
    elf = elf.with_suffix(".elf")
    part = folder() / "2.counts"
    btraced("coverage", "--elf", elf, "--part", "2/3", "-o", part, "--run", "x", recording)
    return [btraced("decode", "--events", recording), btraced("decode", recording),
            btraced("decode", "-j", "2", recording),
            btraced("coverage", "--elf", elf, "--format", "text", recording), part.read_bytes()]


def recorded(board):
    out = folder() / "run"
    btraced("record", "-c", board, "--record", out, "--compress", "--seconds", 2)
    expect((out / "buffer_0.bin.zst").stat().st_size > 100, "no trace")
    expect(not (out / "buffer_0.bin").exists(), "a plain buffer beside it")
    return out


@suite.test("compress: a live recording says what its bytes say unpacked")
def _():
    board = CHANCE.choice(["virtual-m3", "virtual-m33", "virtual-a9"])
    run = recorded(board)
    plain = plain_copy(run, "plain")
    wanted = reports(plain, board)
    equal(reports(run, board), wanted, "compressed")
    trace = run / "buffer_0.bin.zst"
    data = (plain / "buffer_0.bin").read_bytes()
    trace.write_bytes(other_frames(data))
    equal(reports(run, board), wanted, "frames of zstd itself, without a table")


@suite.test("compress: a recording that was cut off says what its whole frames hold; a changed byte is an error")
def _():
    run = recorded(CHANCE.choice(["virtual-m4", "virtual-a53"]))
    trace = run / "buffer_0.bin.zst"
    whole = trace.read_bytes()
    long = other_frames(zstd("-d", data=whole))
    ends = [at for at in range(len(long)) if long[at:at + 4] == MAGIC] + [len(long)]
    trace.write_bytes(long[:CHANCE.randrange(ends[-2] + 5, len(long))])
    cut = btraced("decode", "--events", run)
    trace.write_bytes(long[:ends[-2]])
    equal(cut, btraced("decode", "--events", plain_copy(run, "plain")), "cut off")
    damaged = bytearray(whole)
    damaged[CHANCE.randrange(40, len(whole) // 2)] ^= 1 << CHANCE.randrange(8)
    trace.write_bytes(damaged)
    older, elf = folder() / "older", ("--elf", ROOT / "tests" / "demo" / "crash.elf")
    older.write_text("older")
    for words in (("decode",), ("decode", "-j", "2"), ("coverage", *elf), ("coverage", *elf, "--part", "1/2", "-o", older),
                  ("timeline", *elf, "-o", older), ("replay", "--listen", "127.0.0.1:0")):
        has(btraced(*words, run, code=4), "its compressed trace is damaged|cannot open 'buffer_0.bin.zst'",
            "complaint")
    equal(older.read_text(), "older", "what was written before")
    trace.write_bytes(zstd(data=zstd("-d", data=whole)))  # from a pipe: it does not say its length
    has(btraced("decode", run, code=4), "cannot use 'buffer_0.bin.zst': its frames", "complaint")


suite.run()
