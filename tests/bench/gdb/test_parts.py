#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Parts of recordings and `btraced merge`: every report is that of one run, byte by byte, in whatever
order the files come, and what is broken, foreign, missing or double is named. Tests part.c,
part_identity.c, counts_file.c, calls_piece.c, merge.c, cmd_merge.c, cmd_export.c and export_args.c."""

import hashlib
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

from replay_gdb import (BTRACED, PATIENCE, ROOT, Suite, capture, environment, equal, expect, folder,
                        has)

suite = Suite()
SEED = int(os.environ.get("BTRACED_SEED", time.time_ns() % 2**32))
print(f"BTRACED_SEED={SEED}", flush=True)
ELF = ROOT / "tests" / "demo" / "crash.elf"
DEMO = ROOT / "tests" / "demo" / "recording"
PARTS = 16
CAPTURES = (("a15-ptm-return-stack", "PTM_0_2.bin"), ("tc2-etmv3-ptm", "cstrace.bin"),
            ("r5-etmv3-damaged", "zephyr.data"))


def btraced(*words, code=0):
    """Standard output, or of a command that fails standard error."""
    done = subprocess.run([BTRACED, *map(str, words)], capture_output=True, text=True,
                          timeout=5 * PATIENCE, env=environment(), check=False)
    equal(done.returncode, code, f"exit code of {words}: {done.stderr[-2000:]}")
    return done.stderr if code else done.stdout


def long_recording(name, times, damage, seed):
    """The demo's trace over and over, with changed, dropped and doubled bytes in it."""
    made = folder() / name
    shutil.copytree(DEMO, made)
    chance = random.Random(seed)
    trace = made / "buffer_0.bin"
    data = bytearray(trace.read_bytes() * times)
    for _ in range(damage):
        at = chance.randrange(len(data))
        data[at:at + 1] = chance.choice([bytes([chance.randrange(256)]), b"", data[at:at + 1] * 2])
    trace.write_bytes(data)
    return made


def part(command, recording, i, count, *more, elf=ELF):
    out = folder() / f"{i}.counts"
    btraced(command, "--part", f"{i}/{count}", "--elf", elf, "-o", out, *more, recording)
    return out


def reports(*recordings):
    """{format: what one run says}."""
    found = {name: btraced("coverage", "--elf", ELF, "--format", name, *recordings)
             for name in ("lcov", "text", "objects")}
    found["autofdo"] = btraced("feedback", "--elf", ELF, *recordings)
    return found


def profiles(recording, elf=ELF):
    """The same, of its calls."""
    return {merged: btraced("profile", "--elf", elf, "--format", name, recording)
            for merged, name in (("callgrind", "callgrind"), ("folded", "folded"),
                                 ("speedscope", "speedscope"), ("profile", "text"))}


def check_merged(files, wanted, elf=ELF):
    for name, text in wanted.items():
        equal(btraced("merge", "--elf", elf, "--format", name, *files), text, name)


@suite.test("parts: 16 of a recording, damaged or not, say what one run says")
def _():
    for damage in (0, 12):
        recording = long_recording(f"run{damage}", 24, damage, SEED)
        files = [part("feedback", recording, i, PARTS) for i in range(1, PARTS + 1)]
        again = PARTS // 3
        files[again].unlink()  # interrupted: nothing else is done again
        files[again] = part("feedback", recording, again + 1, PARTS)
        random.Random(SEED).shuffle(files)
        wanted = reports(recording)
        wanted["summary"] = btraced("decode", "--elf", ELF, recording)
        check_merged(files, wanted)


@suite.test("parts: 16 with calls, damaged or not, are the profile of one run")
def _():
    damage = random.Random(SEED).choice([0, 12])
    recording = long_recording("calls", 24, damage, SEED)
    files = [part("profile", recording, i, PARTS) for i in range(1, PARTS + 1)]
    random.Random(SEED).shuffle(files)
    wanted = profiles(recording)
    expect(damage or wanted["folded"].count("\n") > 20, "a profile of few calls")
    wanted["lcov"] = btraced("coverage", "--elf", ELF, recording)
    wanted["summary"] = btraced("decode", "--elf", ELF, recording)
    check_merged(files, wanted)
    refused(r"has no calls: 'btraced profile --part'", part("coverage", recording, 1, 1),
            more=("--elf", ELF, "--format", "folded"))


for capture_name, trace_name in CAPTURES:
    @suite.test(f"parts: those of {capture_name}, damaged more or not, are the profile of one run")
    def _(name=capture_name, trace=trace_name):
        recording, chance = folder() / name, random.Random(SEED)
        shutil.copytree(capture(name), recording, copy_function=shutil.copyfile)
        recording.chmod(0o755)
        elf = recording / "zephyr.elf" if name.startswith("r5") else ELF
        data = bytearray((recording / trace).read_bytes())
        for _ in range(chance.choice([0, 10])):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        (recording / trace).write_bytes(data)
        count = chance.choice([3, PARTS])
        files = [part("profile", recording, i, count, elf=elf) for i in range(1, count + 1)]
        check_merged(files, profiles(recording, elf), elf)


@suite.test("parts: tasks by context IDs are of the whole run: a profile in parts of juno-etmv4 is without them")
def _():
    recording = capture("juno-etmv4")
    err = btraced("profile", "--part", "1/3", "--elf", ELF, "-o", folder() / "1.counts", recording, code=4)
    has(err, r"tasks are known of the whole run alone: --no-tasks counts without them", "message")
    profiles = {i: folder() / f"{i}.profile" for i in (1, 2, 3)}
    for i, file in profiles.items():
        btraced("profile", "--no-tasks", "--part", f"{i}/3", "--run", "x", "--elf", ELF, "-o", file, recording)
    equal(btraced("merge", "--elf", ELF, "--format", "folded", *profiles.values()),
          btraced("profile", "--no-tasks", "--elf", ELF, "--format", "folded", recording), "profile")
    files = [part("coverage", recording, i, 3) for i in (1, 2, 3)]
    equal(btraced("merge", "--elf", ELF, "--format", "lcov", *files),
          btraced("coverage", "--elf", ELF, "--format", "lcov", recording), "coverage")


@suite.test("parts: a file of the version before is read, a newer one is named")
def _():
    seeds = ROOT / "tests" / "fuzz" / "seeds" / "fuzz_counts_file"
    old = folder() / "old.counts"
    data = (seeds / "coverage").read_bytes()
    has(data[:17].decode(), "^btraced counts 1$", "seed")
    old.write_bytes(data + hashlib.sha256(data).digest())
    has(btraced("merge", "--format", "summary", old), "instructions", "summary")
    data = b"btraced counts 3" + data[16:]
    old.write_bytes(data + hashlib.sha256(data).digest())
    refused(r"byte 0x0: expected 'btraced counts 2', or 1: this is no file of counts, or a newer",
            old)


@suite.test("parts: a folder of recordings, one file each, adds up to one report")
def _():
    runs = [long_recording(f"night{i}", 1 + i, i, SEED + i) for i in range(5)]
    files = [part("feedback", run, 1, 1) for run in runs[:4]]
    files += [part("feedback", runs[4], i, 3) for i in range(1, 4)]
    check_merged(files, reports(*runs))
    text = btraced("merge", "--format", "summary", *files)
    for run in runs:
        has(text, f"^recording {run.name}$")


def refused(text, *files, more=("--elf", ELF)):
    has(btraced("merge", *more, *files, code=4), text, "complaint")


@suite.test("parts: what is missing, double or of another run is named")
def _():
    recording = long_recording("run", 6, 0, SEED)
    one, two, three = (part("coverage", recording, i, 3) for i in range(1, 4))
    refused(r"part 2/3 of 'run' is missing", one, three)
    refused(r"part 3/3 of 'run' is missing", one, two)
    refused(r"1\.counts' and '\S*1\.counts' are both part 1/3 of 'run'", one, two, three, one)
    refused(r"not made alike", one, two, three, part("coverage", recording, 2, 2))
    refused(r"1\.counts' is a part of 'run' made by 'btraced coverage', '\S*2\.counts' one made by "
            "'btraced profile'", one, part("profile", recording, 2, 3), three)
    refused(r"part [12]/3 of 'run' is missing \(of [12] that are there, one is '\S*[12]\.counts'",
            one, three, part("coverage", long_recording("run", 7, 0, SEED), 2, 3))
    refused(r"has no ranges and branches: 'btraced feedback --part'", one, two, three,
            more=("--elf", ELF, "--format", "autofdo"))
    whole = part("coverage", recording, 1, 1)
    refused(r"both part 1/1", whole, part("coverage", recording, 1, 1))
    twice = btraced("merge", "--format", "summary", whole,
                    part("coverage", recording, 1, 1, "--run", "again"))
    equal(twice.count("recording "), 2, "recordings of equal trace with names of their own")


@suite.test("parts: files of another program, cut off, changed, or something else, are named")
def _():
    recording = long_recording("run", 2, 0, SEED)
    whole = part("coverage", recording, 1, 1)
    other = ROOT / "configs" / "virtual" / "crash-m3.elf"
    refused(r"1\.counts' counts another program 'crash\.elf' \(\w{8}", whole,
            more=("--elf", other))
    refused(r"1\.counts' was made without program 'crash-m3\.elf'", whole,
            more=("--elf", ELF, "--elf", other))
    data = whole.read_bytes()
    chance = random.Random(SEED)
    for _ in range(8):
        bad = folder() / "bad.counts"
        at = chance.randrange(17, len(data))
        bad.write_bytes(data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1:])
        refused(r"bad\.counts': the checksum of \d+ bytes is wrong", bad)
        bad.write_bytes(data[:at])
        refused(r"bad\.counts': the checksum of \d+ bytes is wrong", bad)
    refused(r"ELF': byte 0x0: expected 'btraced counts 2'".replace("ELF", ELF.name), ELF)
    refused(r"cannot read '\S*none'", folder() / "none")


@suite.test("parts: what is not a file stays what it is, and gets the counts")
def _():
    wanted = part("coverage", DEMO, 1, 1).read_bytes()
    for command in ("coverage", "feedback", "profile"):
        pipe, link, target = folder() / "pipe", folder() / "link", folder() / "target"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        btraced(command, "--part", "1/1", "--elf", ELF, "-o", pipe, DEMO)
        expect(pipe.is_fifo(), "a pipe became a file")
        got = os.read(reader, 65536)
        os.close(reader)
        target.write_text("old")
        link.symlink_to(target)
        btraced(command, "--part", "1/1", "--elf", ELF, "-o", link, DEMO)
        expect(link.is_symlink(), "a link became a file")
        equal(target.read_bytes(), got, "what a link leads to")
        if command == "coverage":
            equal(got, wanted, "through a pipe")
        for made in (pipe, link, target):
            made.unlink()


@suite.test("parts: command lines that make no sense are refused")
def _():
    for words in (("--part", "0/3", "-o", "x"), ("--part", "4/3", "-o", "x"),
                  ("--part", "1", "-o", "x"), ("--part", "1/3"), ("--run", "x"),
                  ("--part", "1/3", "-o", "x", "-j", "2"),
                  ("--part", "1/3", "-o", "x", DEMO)):
        has(btraced("coverage", "--elf", ELF, *words, DEMO, code=2), "part", f"complaint {words}")
    has(btraced("timeline", "--elf", ELF, "--part", "1/3", "-o", "x", DEMO, code=2),
        "no such option here", "complaint")
    btraced("merge", "--format", "text", "x", code=2)
    missing = folder() / "no" / "folder"
    has(btraced("coverage", "--elf", ELF, "--part", "1/1", "-o", missing, DEMO, code=4),
        "cannot write", "complaint")
    expect(not Path("x").exists(), "a file was made")


suite.run()
