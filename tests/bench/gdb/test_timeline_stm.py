#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of an STM alone: packets encoded here from what software wrote when (MIPI STP 2.2). Their
timeline has that, at these times. Tests timeline_stm.c."""

import os
import random

from live_gdb import PROGRAMS
from perfetto_reader import Timeline, judged_by_protoc
from replay_gdb import Suite, equal, expect, folder, has, same_list

suite = Suite()
SEED = int(os.environ.get("BTRACED_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
DATA = {8: ("4", "8"), 16: ("5", "9"), 32: ("6", "A"), 64: ("7", "B")}  # plain; marked with a time
MASTERS = (0x41, 0x07, 0xc0)


class Writers:
    """What masters wrote, its packets, and what must be shown of it."""

    def __init__(self, dice, channels):
        self.dice, self.text, self.time = dice, "", dice.randrange(1 << 40)
        self.master = self.channel = 0
        self.lines, self.numbers, self.triggers, self.gaps, self.open = {}, {}, [], [], {}
        self.places = [(m, c) for m in MASTERS for c in dice.sample(range(65536), channels)]
        self.kinds = {place: dice.choice(["text", "number"]) for place in self.places}
        self.sync()

    def sync(self):
        """Then the next timestamp has all bits, and current master and channel are 0."""
        self.text += "F" * 21 + "0" + "F003"
        self.whole, self.master, self.channel = True, 0, 0

    def stamp(self):
        before = self.time
        self.time += self.dice.choice([0, 1, 15, 16, 300, 70000, 1 << 33])
        digits = 1
        while not self.whole and self.time >> 4 * digits != before >> 4 * digits:
            digits += 1
        if self.whole or digits > 12:
            self.whole = False
            return f"E{self.time:016X}"
        return f"{digits:X}{self.time & (1 << 4 * digits) - 1:0{digits}X}"

    def go(self, place):
        if place[0] != self.master:
            self.text += f"1{place[0]:02X}"
            self.channel = 0
        if place[1] != self.channel or place[0] != self.master:
            self.text += f"F3{place[1]:04X}"
        self.master, self.channel = place

    def write(self, value, bits, timed):
        self.text += DATA[bits][timed] + f"{value:0{bits // 4}X}" + (self.stamp() if timed else "")

    def number(self, place):
        self.go(place)
        bits = self.dice.choice([8, 16, 32])
        value = self.dice.randrange(128 if bits == 8 else 1 << 8, 1 << bits)
        self.write(value | 1, bits, True)
        self.numbers.setdefault(place, []).append((value | 1, self.time))

    def line(self, place):
        self.go(place)
        text = self.dice.choice(["ready", "temperature 21.5", "x"]) + self.dice.choice("abc")
        for i, char in enumerate(text):
            self.write(ord(char), 8, i == 0)
            if i == 0:
                self.lines.setdefault(place, []).append((text, self.time))
        if self.dice.random() < 0.5:
            self.text += "FE"  # a flag ends a line, too
        else:
            self.write(ord("\n"), 8, False)

    def trigger(self):
        mask = self.dice.randrange(256)
        self.text += f"F07{mask:02X}" + self.stamp()
        self.triggers.append((f"trigger 0x{mask:02x}", self.time))

    def lose(self):
        self.text += f"2{self.dice.randrange(256):02X}"
        self.channel = 0  # of the current master, which has lost something
        self.gaps.append(("gap: overflow", self.time))

    def run(self, steps):
        self.number(next(p for p in self.places if self.kinds[p] == "number"))
        for _ in range(steps):
            place = self.dice.choice(self.places)
            self.line(place) if self.kinds[place] == "text" else self.number(place)
            if self.dice.random() < 0.05:
                self.dice.choice([self.trigger, self.lose, self.sync])()

    def data(self):
        text = self.text + "0" * (len(self.text) % 2)
        return bytes(int(low, 16) | int(high, 16) << 4 for low, high in zip(text[::2], text[1::2]))


def recording(data):
    place = folder() / "stm"
    place.mkdir()
    for name, text in {
            "snapshot.ini": "[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=core.ini\n"
                            "device1=stm.ini\n\n[trace]\nmetadata=trace.ini\n",
            "core.ini": "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53\n",
            "stm.ini": "[device]\nname=STM_0\nclass=trace_source\ntype=STM\n\n[regs]\n"
                       "STMTCSR(0x3A0)=0x00A00007\n",
            "trace.ini": "[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=ETB_0\nfile=trace.bin\n"
                         "format=source_data\n\n[source_buffers]\nSTM_0=ETB_0\n"}.items():
        (place / name).write_text(text)
    (place / "trace.bin").write_bytes(data)
    return place


@suite.test(f"timeline: STM: text, numbers, triggers, losses of each channel at their times (seed {SEED})")
def _():
    writers = Writers(random.Random(SEED), 5)
    writers.kinds[writers.places[0]] = "number"
    writers.kinds[writers.places[1]] = "text"
    writers.run(400)
    data = writers.data()
    timeline = Timeline(PROGRAMS / "crash-a53.elf", recording(data), "--max-size", "4000000")
    judged_by_protoc(timeline)
    equal(timeline.errors, "", "errors")
    has(timeline.process, rf"^btraced: STM_0: {len(data)} bytes of trace; gaps: {len(writers.gaps)}; "
        "1 ns is a tick of its timestamps$")
    for what, all_of in (("instants", writers.lines), ("values", writers.numbers)):
        for (master, channel), rows in all_of.items():
            same_list(timeline.on(getattr(timeline, what),
                                  f"STM_0 STM master {master:#x} channel {channel}"), rows, what)
    if writers.triggers:
        same_list(timeline.on(timeline.instants, "STM_0 STM triggers"), writers.triggers, "triggers")
    if writers.gaps:
        same_list(timeline.on(timeline.instants, "STM_0 STM gaps"), writers.gaps, "gaps")


@suite.test(f"timeline: STM: --max-size holds for the names of tracks, too (seed {SEED})")
def _():
    writers = Writers(random.Random(SEED), 80)
    writers.run(2000)
    place = recording(writers.data())
    whole = Timeline(PROGRAMS / "crash-a53.elf", place)
    equal(whole.errors, "", "errors")
    for size in (4096, 6000, 20000, 60000):
        small = Timeline(PROGRAMS / "crash-a53.elf", place, "--max-size", str(size))
        expect(len(small.data) <= size, f"{len(small.data)} bytes of {size}")
        has(small.errors, r"\d+ events of ITM or STM are left out")
        expect(set(small.instants) <= set(whole.instants) and set(small.values) <= set(whole.values),
               "something else")


suite.run()
