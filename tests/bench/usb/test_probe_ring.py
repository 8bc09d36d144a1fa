#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`sink = memory-ring`: stock GDB on a Cortex-M33 behind the modelled probe, whose trace goes into
memory as on an RP2350, by what configs/rp2350-openocd.conf sets up. The core is QEMU's, its trace unit the
plugin's; funnel, TPIU, FIFO, DMA and RAM are modelled. The history equals what was executed. $RING_SEED
makes the random stops again. Tests coresight_ring.c."""

import os
import random
import re

from memory_gdb import LIST, check_first_session, check_history
from probe_gdb import ROOT, Board, refused
from live_gdb import PROGRAMS
from replay_gdb import Suite, equal, expect, folder, has, history, lacks

suite = Suite()
SEED = int(os.environ.get("RING_SEED") or random.SystemRandom().randrange(1 << 32))
print(f"RING_SEED={SEED}", flush=True)
FILE = (ROOT / "configs" / "rp2350-openocd.conf").read_text()
FUNCTIONS = ("add_value", "report_topics", "timer_tick", "file_message")


def place(size):
    """[coresight] and [setup] of the chip's board file, with another size of its ring."""
    sections = re.search(r"^\[coresight\].*?(?=^\[core )", FILE, re.MULTILINE | re.DOTALL)[0]
    expect("+8K" in sections and "0x006B9D49" in sections, "the board file has another ring")
    return sections.replace("+8K", f"+{size}").replace(
        "0x006B9D49", f"0x006B9{size.bit_length() - 1:X}49")


def board(*options, size=8192):
    elf = PROGRAMS / "crash-m33.elf"
    return Board(elf, "--sink", "memory-ring", *options, machine="mps2-an505", core="Cortex-M33",
                 trace="sink = memory-ring", more=place(size),
                 core_keys=f"program = {elf}\ntrace_unit = 0xE0041000\nfunnel_port = 1")


@suite.test("memory ring: set up, read at a breakpoint and after steps: what ran, without gaps")
def _():
    report = folder() / "report"
    with board("--report", report) as b:
        check_first_session(b, "ETM4.2", "memory ring, 8192 bytes at 0x20040000")
    counted = report.read_text()
    for name in "ring-bad-writes", "sub-word", "bus-errors":
        has(counted, rf"^{name} 0$")


@suite.test(f"memory ring: random stops; where it goes round, the oldest is a gap (seed {SEED})")
def _():
    dice = random.Random(SEED)
    rounds = 0
    for size in dice.sample([1024, 2048, 4096, 16384], 2):
        with board(size=size) as b:
            commands = ["set var crash_after = 0", "set var wait_when_idle = 0", "record btrace"]
            for _ in range(5):
                commands += [f"break {dice.choice(FUNCTIONS)}", f"ignore $bpnum {dice.choice([0, 2, 12])}",
                             "continue", "delete", f"stepi {dice.randrange(1, 90)}"]
            s = b.session("tbreak main", "continue", *commands, *LIST, b.mark(), "monitor trace gaps")
            check_history(b, s, 10)
            gaps = s["monitor trace gaps"]
            lacks(gaps, "overflow|bad-|desync|wire")
            rounds += gaps.count("overwritten")
    print(f"# went round {rounds} times", flush=True)


@suite.test("memory ring: a ring that is small: what it holds is what ran last, and the loss is counted")
def _():
    with board(size=1024) as b:
        s = b.session("record btrace", "tbreak report_topics", "continue", "stepi 5", *LIST, b.mark(),
                      "monitor trace gaps")
        check_history(b, s, 5)
        has(s["monitor trace gaps"], "overwritten")


@suite.test("memory ring: a word that the FIFO lost: nothing of that run is shown, and it is counted")
def _():
    with board("--ring-loses", "40") as b:
        s = b.session("record btrace", "tbreak add_value", "continue", "monitor trace gaps", "tbreak new_topic", "continue",
                      "stepi 9", *LIST, b.mark(), "monitor trace gaps")
        check_history(b, s, 9)
        has(s["monitor trace gaps"], "overflow")


@suite.test("memory ring: mistakes of the board file")
def _():
    for change, wanted in (("ring_position = 0x50000304", ""), r"ring_position.* sink = memory-ring needs"), \
            (("+8K", "+24"), "ring_memory: .* no place for a ring"), \
            (("ring_overflow_bits = 0x2", ""), "ring_overflow_bits"), \
            (("\ntpiu = 0x40148000", ""), "tpiu.* sink = memory-ring needs"):
        more = re.search(r"^\[coresight\].*?(?=^\[setup)", FILE, re.MULTILINE | re.DOTALL)[0]
        expect(change[0] in more, f"{change[0]} is not in the file")
        code, text = refused(core="Cortex-M33", trace="sink = memory-ring", more=more.replace(*change))
        equal(code, 2, f"exit code: {text}")
        has(text, wanted)


suite.run()
