#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""PTM decode against ARM's DS-5 debugger: its listing of the first 10,000 instructions of a
Cortex-A15 capture, address and opcode of each, and the Debug state entries and exits between them.
"""

import gzip
import re

import oracle

FOLDER = "a15-ptm-return-stack"
SOURCE = "PTM_0_2"
NAME = f"{FOLDER}: as DS-5 lists it"


def their_list(text):
    """('insn', address, opcode) and events. Lines that say nothing about the trace are counted."""
    items, ignored = [], {"debug stop": 0, "unknown": 0}
    for line in text.splitlines():
        m = re.match(r"S:0x([0-9A-F]{8})\t([0-9A-F]{4}|[0-9A-F]{8})\t", line)
        if m:
            items.append(("insn", int(m.group(1), 16), m.group(2).lower()))
        elif re.match(r"\t\tException: HALTEXCP \(1\)$", line):
            items.append(("exception", 1))
        elif line == "\t\tExit from debug state":
            items.append(("trace-on", 3))
        elif line == "\t\tDebug stop":  # before the first packet: the debugger's own mark
            ignored["debug stop"] += 1
        elif re.match(r"S:0x80000554\t\t<Unknown>$", line):  # the I-sync's address, nothing ran
            ignored["unknown"] += 1
        else:
            raise oracle.Failed(f"line of the listing without a rule: {line!r}")
    return items, ignored


def our_list(folder):
    items = [(int(row[1]), 0, row) for row in oracle.events(SOURCE, folder)]
    items += [(int(row[1]), 1, row) for row in oracle.instructions(SOURCE, folder)]
    items.sort(key=lambda item: item[:2])
    merged = []
    for _, is_insn, row in items:
        if is_insn:
            merged.append(("insn", int(row[2], 16), row[3].lower()))
        elif row[3] == "exception":
            merged.append(("exception", int(oracle.details(row[4])["number"])))
        elif row[3] == "trace-on":
            merged.append(("trace-on", int(oracle.details(row[4])["reason"])))
        elif row[3] not in ("state",):  # DS-5 prints the state as a prefix of the address
            merged.append((row[3], row[4]))
    return merged


def show(item):
    return f"0x{item[1]:08x} {item[2]}" if item and item[0] == "insn" else str(item)


def main():
    report = oracle.Report()
    path = oracle.capture(FOLDER)
    if path is None:
        report.skip(NAME, "capture not found")
        report.exit()
    try:
        theirs, ignored = their_list(
            gzip.open(path / "ds-5_trace_dump" / "a15_rs.txt.gz", "rt").read())
        ours = our_list(str(path))
    except oracle.Failed as failed:
        report.check(NAME, [str(failed)])
        report.exit()
    problems = []
    if ignored != {"debug stop": 1, "unknown": 1}:
        problems.append(f"the listing's odd lines are not the known ones: {ignored}")
    count = sum(1 for item in theirs if item[0] == "insn")
    if count < 9999:
        problems.append(f"the listing has only {count} instructions")
    for i, item in enumerate(theirs):
        mine = ours[i] if i < len(ours) else None
        if mine != item:
            problems.append(f"line {i}: ours {show(mine)}, DS-5 {show(item)}")
    report.check(NAME, problems, f"{count} instructions, {len(theirs) - count} events")
    report.exit()


if __name__ == "__main__":
    main()
