#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A recording of SWO alone: packets of an ITM without any trace of instructions, encoded here as DDI
0403E.e appendix D4 has them from what a program did when. Its timeline has that, at these times, and
its profile the samples. Tests timeline_itm.c and profile_sample.c.
"""

import collections
import functools
import json
import os
import random
import re
import subprocess

from export_runs import SOURCES, command
from perfetto_reader import Timeline, judged_by_protoc
from replay_gdb import (BTRACED, PATIENCE, ROOT, Suite, environment, equal, expect, folder, has,
                        same_list)

suite = Suite()
ELF = SOURCES / "tasks-m4.elf"
SEED = int(os.environ.get("BTRACED_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
PRESCALER = 4
NAMES = {0: "Thread", 2: "NMI", 3: "HardFault", 11: "SVC", 14: "PendSV", 15: "SysTick"}
COUNTERS = ("CPI count", "exception count", "sleep count", "LSU count", "fold count", "cycle periods")
TASKS = ("measuring", "printing")


@functools.cache
def symbols():
    rows = [row.split() for row in command("arm-none-eabi-nm", ELF).splitlines()]
    return {name: int(at, 16) for at, _, name in rows}


def words(header, value, size):
    """A source packet."""
    return bytes([header | (3 if size == 4 else size)]) + value.to_bytes(size, "little")


def continued(header, value):
    """7 bits a byte, least significant first; the last one has no bit 7."""
    out = [header]
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


class Core:
    """What a core did, its packets, and what must be shown of it."""

    def __init__(self, dice, clock):
        self.dice, self.clock = dice, clock
        self.data, self.time, self.told = bytearray(), 0, 0
        self.lines, self.numbers, self.level, self.samples, self.gaps = [], [], [], [], []
        self.handlers, self.tasks = [], []
        self.counters = {name: [] for name in COUNTERS}
        self.stack, self.since, self.task = [], 0, None
        self.waiting = []

    def shown(self, row, *more):
        """`more` is shown at the time of the next timestamp."""
        self.waiting.append((row, more))

    def stamp(self):
        """The timestamp of all since the one before: the time that has passed, or the global one."""
        self.time += PRESCALER * self.dice.choice([1, 3, 6, 7, 100, 127, 128, 20000, 1 << 20])
        if self.clock == "local":
            passed, self.told = (self.time - self.told) // PRESCALER, self.time
            self.data += bytes([passed << 4]) if passed < 7 else continued(0xc0, passed)
        elif self.clock == "global":
            low = self.time & (1 << 26) - 1
            if self.time >> 26 != self.told >> 26 or not self.told:
                self.data += bytes([0x94, *(128 | low >> at & 127 for at in (0, 7, 14)), low >> 21 | 64])
                high = self.time >> 26
                self.data += bytes([0xb4, *(128 | high >> at & 127 for at in (0, 7, 14)), high >> 21])
            else:
                self.data += bytes([0x94, *(128 | low >> at & 127 for at in (0, 7, 14)), low >> 21])
            self.told = self.time
        for row, more in self.waiting:
            row.append((*more, self.time))
        self.waiting = []

    def text(self):
        line = self.dice.choice(["ready", "x", "temperature 21.5", "café"])
        for i, char in enumerate((line + "\r\n").encode()):
            self.data += words(0x00, char, 1)
            if i == 0:
                self.shown(self.lines, line)
            if self.dice.random() < 0.2:
                self.stamp()

    def number(self):
        size = self.dice.choice([1, 2, 4])
        value = self.dice.randrange(1 << 8 * size)
        self.data += words(3 << 3, value, size)
        self.shown(self.numbers, value)

    def watch(self):
        value = self.dice.randrange(1 << 32)
        if self.dice.random() < 0.5:
            self.data += words(0x57 & ~3, 0x08000100, 4)
        self.data += words(self.dice.choice([0x94, 0x9c]), value, 4)
        self.shown(self.level, value)

    def switch(self):
        self.stamp()
        name = self.dice.choice(TASKS)
        self.data += words(0x44, 0x08000100, 4) + words(0x8c, symbols()[name], 4)
        self.stamp()
        if self.task and self.task[0] != name:
            self.tasks.append((*self.task, self.time))
        if not self.task or self.task[0] != name:
            self.task = (name, self.time)

    def sample(self):
        name = self.dice.choice(["wait", "measure", "asleep"])
        self.data += words(0x14, 0, 1) if name == "asleep" else words(0x14, symbols()[name] & ~1, 4)
        self.shown(self.samples, name)

    def count(self):
        mask = self.dice.randrange(1, 64)
        self.data += words(0x04, mask, 1)
        for i, name in enumerate(COUNTERS):
            if mask >> i & 1:
                row = self.counters[name]
                before = row[-1][0] if row else 0
                self.shown(row, before + (1 if i == 5 else 256))
        self.stamp()

    def exception(self, number, action):
        self.data += words(0x0c, number | action << 12, 2)

    def handler(self):
        """Enters one, or returns from the one that runs."""
        self.stamp()
        number = self.dice.choice([2, 3, 11, 14, 15])
        before = self.stack[-1] if self.stack else None
        if self.stack and (self.dice.random() < 0.5 or number in self.stack):
            self.exception(self.stack.pop(), 2)
            self.exception(self.stack[-1] if self.stack else 0, 3)
        else:
            self.stack.append(number)
            self.exception(number, 1)
        self.stamp()
        if before:
            self.handlers.append((NAMES[before], self.since, self.time))
        self.since = self.time

    def overflow(self):
        """What ran before is not known to run any more."""
        self.stamp()
        self.data += b"\x70"
        if self.clock == "global":
            self.told = 0  # all of its bits again: without them nothing is known behind a loss
        self.stamp()
        self.gaps.append(("gap: overflow", self.time))
        self.end()

    def end(self):
        if self.stack:
            self.handlers.append((NAMES[self.stack[-1]], self.since, self.time))
        if self.task:
            self.tasks.append((*self.task, self.time))
        self.stack, self.task = [], None

    def run(self, steps):
        deeds = [self.text, self.number, self.watch, self.switch, self.sample, self.count, self.handler]
        for deed in [*deeds, self.overflow, *deeds]:
            deed()
        for _ in range(steps):
            self.dice.choice([*deeds, *deeds, *deeds, self.overflow])()
            if self.dice.random() < 0.5:
                self.stamp()
        self.stamp()
        self.end()


def recording(data):
    place = folder() / "swo"
    place.mkdir()
    (place / "swo.bin").write_bytes(data)
    (place / "snapshot.ini").write_text("[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=core.ini\n"
                                        "device1=itm.ini\n\n[trace]\nmetadata=trace.ini\n")
    (place / "core.ini").write_text("[device]\nname=cpu0\nclass=core\ntype=Cortex-M4\n")
    (place / "itm.ini").write_text(
        f"[device]\nname=ITM_0\nclass=trace_source\ntype=ITM\n\n[regs]\nITMTCR(0xE80)=0x10107\n"
        f"DWT_COMP0={symbols()['current_task']:#x}\nDWT_COMP1={symbols()['level']:#x}\n")
    (place / "trace.ini").write_text(
        "[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=SWO\nfile=swo.bin\nformat=source_data\n\n"
        "[source_buffers]\nITM_0=SWO\n\n[core_trace_sources]\ncpu0=ITM_0\n")
    return place


def shows(clock, steps=300):
    core = Core(random.Random(SEED), clock)
    core.run(steps)
    timeline = Timeline(ELF, recording(bytes(core.data)), "--max-size", "4000000")
    judged_by_protoc(timeline)
    equal(timeline.errors, "", "errors")
    gaps = len(core.gaps)
    has(timeline.process, rf"^btraced: ITM_0: {len(core.data)} bytes of trace; gaps: {gaps}; "
        + {"local": "1 ns is a cycle of its local timestamps",
           "global": "1 ns is a tick of its global timestamps"}[clock] + "$")
    expect(gaps and core.handlers and len(core.lines) > 20, f"{gaps} gaps, {len(core.lines)} lines")
    same_list(timeline.on(timeline.instants, "cpu0 ITM port 0"), core.lines, "text")
    same_list(timeline.on(timeline.values, "cpu0 ITM port 3"), core.numbers, "numbers")
    same_list(timeline.on(timeline.values, "cpu0 watch level"), core.level, "level")
    same_list(timeline.on(timeline.instants, "cpu0 PC samples"), core.samples, "samples")
    same_list(timeline.on(timeline.instants, "cpu0 ITM gaps"), core.gaps, "gaps")
    same_list(timeline.on(timeline.slices, "cpu0 handlers by DWT"), core.handlers, "handlers")
    same_list(timeline.on(timeline.slices, "cpu0 tasks"), core.tasks, "tasks")
    for name, values in core.counters.items():
        same_list(timeline.on(timeline.values, f"cpu0 DWT {name}"), values, name)


@suite.test(f"itm alone: text, values, tasks, handlers, counters at their local timestamps (seed {SEED})")
def _():
    shows("local")


@suite.test(f"itm alone: the same by global timestamps (seed {SEED})")
def _():
    shows("global")


@suite.test(f"itm alone: the profile counts samples (seed {SEED})")
def _():
    core = Core(random.Random(SEED), "local")
    core.run(600)
    place, ran = recording(bytes(core.data)), collections.Counter(name for name, _ in core.samples)
    asleep = ran.pop("asleep", 0)

    def profile(*options, code=0):
        done = subprocess.run([BTRACED, "profile", "--elf", str(ELF), *options, str(place)],
                              capture_output=True, text=True, timeout=PATIENCE, env=environment())
        equal(done.returncode, code, f"exit code: {done.stderr}")
        return done.stdout + done.stderr

    text = profile("--format", "text")
    has(text, rf"^{ran.total()} PC samples from {len(core.data)} bytes of trace; asleep {asleep}; gaps: "
        rf"overflow {len(core.gaps)}$")
    head, _, lines = text.partition(" line\n")
    equal({row[1]: int(row[0]) for row in re.findall(r"^ +(\d+) +[\d.]+%  (\w+)$", head, re.MULTILINE)},
          dict(ran), "functions")
    equal(sum(int(n) for n in re.findall(r"^ +(\d+) +[\d.]+%  .*tasks\.c:\d+$", lines, re.MULTILINE)),
          ran.total(), "lines")
    equal(collections.Counter({row.split()[0].split(";")[1]: int(row.split()[1])
                               for row in profile("--format", "folded").splitlines()}), ran, "folded")
    has(profile(), rf"^events: Samples\n(.*\n)*totals: {ran.total()}$")
    out = folder() / "callgrind.out"
    out.write_text(profile())
    has(command("callgrind_annotate", "--auto=no", out), rf"\b{ran.total():,}\b.* PROGRAM TOTALS")
    speedscope = json.loads(profile("--format", "speedscope"))
    equal(speedscope["profiles"][0]["endValue"], ran.total(), "speedscope")
    has(profile("--part", "1/2", "-o", str(folder() / "part"), code=4), "no parts")


@suite.test(f"itm alone: --max-size holds for the names of tracks, too (seed {SEED})")
def _():
    core = Core(random.Random(SEED), "local")
    for port in range(1, 32):
        core.data += words(port << 3, 0x80 + port, 1)
    core.run(400)
    place = recording(bytes(core.data))
    whole = Timeline(ELF, place)
    equal(whole.errors, "", "errors")
    for size in (4096, 5000, 9000):
        small = Timeline(ELF, place, "--max-size", str(size))
        expect(len(small.data) <= size < len(whole.data), f"{len(small.data)} bytes of {size}")
        has(small.errors, r"\d+ events of ITM or STM are left out")
        expect(set(small.values) <= set(whole.values), "something else")


def framed(data, trace_id):
    """IHI 0029E, trace formatter: each frame names the source, padding is of ID 0."""
    out = bytearray()
    for at in range(0, len(data), 14):
        piece = data[at:at + 14]
        frame, extra = bytearray([trace_id << 1 | 1]), 0
        for byte in piece:
            place = len(frame)
            frame.append(byte & 0xfe if place % 2 == 0 else byte)
            extra |= (byte & 1) << place // 2 if place % 2 == 0 else 0
        if len(frame) < 15:
            equal(len(frame) % 2, 0, "where a trace ID may stand")
            frame.append(1)
        out += frame.ljust(15, b"\0") + bytes([extra])
    return bytes(out)


@suite.test(f"itm alone: the page's recording of a CMSIS tool's trace buffer (seed {SEED})")
def _():
    core = Core(random.Random(SEED), "local")
    core.run(300)
    page = (ROOT / "docs" / "recordings.md").read_text()
    script = re.search(r"^    cd \.trace\n(?:    .*\n)*", page, re.MULTILINE)[0]
    place = folder() / "cmsis"
    (place / ".trace").mkdir(parents=True)
    data = bytes(core.data[:len(core.data) // 14 * 14 - 1])
    (place / ".trace" / "NAME.TB.raw").write_bytes(framed(data, 1))
    done = subprocess.run(["bash", "-ec", f'btraced() {{ "{BTRACED}" "$@"; }}\n{script}'], cwd=place, check=False,
                          capture_output=True, text=True, timeout=PATIENCE, env=environment())
    equal(done.returncode, 0, f"exit code: {done.stderr}")
    # The prescalers differ, and so do times.
    wanted, got = ([re.sub(r"(value|passed)=\d+", "", row) if "local-time" in row else row for row in rows.splitlines()]
                   for rows in (command(BTRACED, "decode", "--events", recording(data)), done.stdout))
    same_list(got, wanted, "events")
    expect(sum("stimulus" in row for row in got) > 20, f"{len(got)} events")


suite.run()
