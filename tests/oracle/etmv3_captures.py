#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ETMv3 captures without a listing to compare with. Whatever was decoded must hang together: each
instruction leads to the next one, by what stands there and by its condition, unless an event
between them says otherwise. The reader of instructions is the disassembler's text, not the tables
of the decoder.
"""

import collections
import gzip
import os
import re
import subprocess
import tempfile
from pathlib import Path

import oracle

M3, R5 = "m3-etmv3-swo", "r5-etmv3-damaged"
# Events after which execution is somewhere else, and says so.
BREAKS = ("gap", "trace-on", "exception", "warning")
CONDITION = "(?:eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le|al|hs|lo)?"
DIRECT = re.compile(f"(?:b{CONDITION}|bl{CONDITION}|blx)" r"(?:\.w|\.n)? #(0x[0-9a-f]+)$")
COMPARE = re.compile(r"cbn?z \w+, #(0x[0-9a-f]+)$")
INDIRECT = re.compile(r"bxj?(?:[a-z]{2})? \w+$|blx(?:[a-z]{2})? [a-z]\w*$|tb[bh] "
                      r"|(?:pop|ldm)\S* .*pc\}|(?:ldr|mov|add|sub)s?\S* pc,|rfe|eret|subs pc, lr")


class Step:
    """One instruction of the listing."""

    def __init__(self, row):
        self.index, self.address, self.size = int(row[1]), int(row[2], 16), int(row[4])
        self.isa, self.condition, self.text = row[5], row[7], " ".join(row[8].split())

    def onward(self):
        return (self.address + self.size) & 0xffffffff

    def leads_to(self, address):
        """May `address` be executed next?"""
        m = DIRECT.match(self.text) or COMPARE.match(self.text)
        if self.condition == "fail" or not (m or INDIRECT.match(self.text)):
            return address == self.onward()
        return not m or address == int(m.group(1), 16)

    def __str__(self):
        return f"{self.index}: {self.address:#010x} {self.text} ({self.condition or 'inside'})"


def unexplained(steps, events):
    """Places where the history jumps without a reason."""
    breaks = {int(row[1]) for row in events if row[3] in BREAKS}
    problems = []
    for before, after in zip(steps, steps[1:]):
        if after.index in breaks:
            continue
        if not before.leads_to(after.address):
            problems.append(f"{before} cannot lead to {after}")
    return problems


def self_check(steps, events):
    """The checker must see a missing instruction, at (nearly) every place."""
    seen = 0
    tried = range(1, len(steps) - 1, max(1, len(steps) // 200))
    for i in tried:
        seen += bool(unexplained(steps[i - 1:i] + steps[i + 1:i + 2], events))
    return [] if seen > 0.6 * len(tried) else [f"only {seen} of {len(tried)} holes are noticed"]


def numbers(report, name, got, want):
    report.check(name, [f"{key}: {got.get(key, 0)}, expected {value}"
                        for key, value in want.items() if got.get(key, 0) != value],
                 ", ".join(f"{value} {key}" for key, value in want.items()))


def look(report, folder, elf):
    """The checks of both captures; returns the listings."""
    path = oracle.capture(folder)
    extra = ["--elf", str(elf)]
    steps = [Step(row) for row in oracle.instructions("ETM_0", str(path), extra)]
    events = oracle.events("ETM_0", str(path), extra)
    report.check(f"{folder}: every instruction leads to the next, or an event says why not",
                 unexplained(steps, events), f"{len(steps)} instructions, {len(events)} events")
    report.check(f"{folder}: the checker sees holes", self_check(steps, events))
    packets = oracle.packets("ETM_0", str(path), extra)
    return steps, events, packets


def check_m3(report):
    """Eight episodes of bubble_sort on the same five numbers: eight times the same path."""
    with tempfile.TemporaryDirectory() as scratch:
        elf = Path(scratch) / "program.elf"
        elf.write_bytes(gzip.open(oracle.capture(M3) / "trace_example.elf.gz").read())
        steps, events, packets = look(report, M3, elf)
    got = collections.Counter(row[3] for row in events)
    got["instructions"] = len(steps)
    got["other events"] = len(events) - got["trace-on"] - got["trigger"]
    numbers(report, f"{M3}: episodes", got,
            {"trace-on": 8, "trigger": 8, "instructions": 1200, "other events": 0})
    starts = [int(row[1]) - 1 for row in events if row[3] == "trace-on"] + [len(steps)]
    paths = {tuple((s.address, s.condition == "fail") for s in steps[a:b])
             for a, b in zip(starts, starts[1:])}
    report.check(f"{M3}: the same path in every episode",
                 [] if len(paths) == 1 else [f"{len(paths)} different paths"])
    kinds = collections.Counter(row[3] for row in packets)
    numbers(report, f"{M3}: packets", kinds, {"a-sync": 8, "i-sync": 8, "trigger": 8, "branch": 264,
                                             "atom": 376, "reserved": 0, "malformed": 0})


def check_r5(report):
    """The frames are damaged from byte 28,624 on, and the program file is of another build than
    what ran (an SVC is taken at 0x700009f8, where the file has none): losses are reported as what
    they are, and nothing is made up between them."""
    _, events, packets = look(report, R5, oracle.capture(R5) / "zephyr.elf")
    causes = collections.Counter(oracle.details(row[4])["cause"] for row in events
                                 if row[3] == "gap")
    first = next((row for row in packets if row[3] == "i-sync"), None)
    report.check(f"{R5}: the first I-sync", [] if first and int(first[1]) == 807 else [str(first)])
    losses = [int(row[2]) for row in events if row[3] == "gap" and "cause=wire" in row[4]]
    numbers(report, f"{R5}: frame losses", causes, {"wire": 274, "bad-packet": 0})
    bad = [row for row in packets if row[3] in ("reserved", "malformed")]
    report.check(f"{R5}: packets are whole between the losses", [str(row) for row in bad])
    svc = [row for row in events if row[3] == "exception" and "name=SVC" in row[4]]
    wrong = [row[4] for row in svc if "return=0x700009fc" not in row[4]
             or "vector=0x00000008" not in row[4]]
    report.check(f"{R5}: three SVC at one place, before the damage",
                 wrong + ([] if len(svc) == 3 else [f"{len(svc)} SVC"])
                 + ([] if losses and int(svc[-1][2]) < losses[0] else ["SVC behind the damage"]))


def logged(folder, name, old, new):
    """Standard error of `btraced decode` on a copy with another line in a device file."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / folder
        oracle.copy_of(oracle.capture(folder), copy)
        text = (copy / name).read_text()
        if old not in text:
            raise oracle.Failed(f"{folder}/{name} has no '{old}'")
        (copy / name).write_text(text.replace(old, new))
        program = os.environ.get("BTRACED", str(oracle.ROOT / "build" / "btraced"))
        run = subprocess.run([program, "decode", str(copy)], capture_output=True, text=True)
        return run.stderr


def check_messages(report):
    """A wrong configuration is told, with the file and the register."""
    for what, folder, name, old, new, words in (
            ("wrong trace ID", M3, "etm_0.ini", "=0x00000002", "=0x00000001",
             ("no A-sync in", "ETMCR", "etm_0.ini", "trace ID is 0x01")),
            ("not an ETMv3", M3, "etm_0.ini", "0x4114F242", "0x411CF312", ("ETMIDR", "0x411cf312")),
            ("no ETMCR", M3, "etm_0.ini", "ETMCR(0x000)", "ETMCX(0x900)", ("etm_0.ini", "ETMCR")),
            ("no ETMCCER", "tc2-etmv3-ptm", "device_5.ini", "ETMCCER(0x07A)", "ETMCX(0x900)",
             ("device_5.ini", "ETMCCER"))):
        if oracle.capture(folder) is None:
            continue
        text = logged(folder, name, old, new)
        report.check(f"message: {what}", [f"'{w}' is not in: {text.strip()[:200]}"
                                          for w in words if w not in text])


def main():
    report = oracle.Report()
    for folder, check in ((M3, check_m3), (R5, check_r5)):
        if oracle.capture(folder) is None:
            report.skip(folder, "capture not found")
            continue
        try:
            check(report)
        except oracle.Failed as failed:
            report.check(folder, [str(failed)])
    check_messages(report)
    report.exit()


if __name__ == "__main__":
    main()
