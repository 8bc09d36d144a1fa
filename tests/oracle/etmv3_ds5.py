#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ETMv3 decode against ARM's DS-5 debugger: its listing of a Cortex-A7 capture, line by line:
index, address, opcode, cycles, condition of every instruction, and trace off, trace on, timestamps
and exception returns between them.
"""

import gzip
import re

import oracle

FOLDER = "tc2-etmv3-ptm"
SOURCE = "ETM_0"
NAME = f"{FOLDER} {SOURCE}: as DS-5 lists it"
INSTRUCTIONS = 7205  # lines that are compared: fewer would mean that the listing was not understood

# What stands before the first instruction says nothing about the trace: the debugger's own mark,
# and the function of the first address.
PREAMBLE = ["Debug stop\t\t\t\t\tDebug stop\t\t",
            "Function\t0\tS:0xC002115C\t\t\t<Unknown>\t\t"]


def their_line(line):
    """One line as a comparable tuple."""
    kind, index, address, opcode, cycles, detail, _, failure = line.split("\t")
    if kind == "Instruction":
        if failure not in ("", "fail"):
            raise oracle.Failed(f"condition of the listing without a rule: {line!r}")
        return ("insn", int(index), int(address.removeprefix("S:"), 16),
                opcode.removeprefix("0x").lower(), int(cycles), failure == "fail")
    if kind == "Cycle Count" and detail == "Tracing disabled":
        return ("trace-off", int(cycles))
    if kind == "Info" and detail == "Tracing enabled":
        return ("trace-on",)
    if kind == "Info" and detail == "Return from exception":
        return ("exception-return",)
    m = re.fullmatch(r"Timestamp: (\d+)", detail)
    if kind == "Timestamp" and m:
        return ("timestamp", int(m.group(1)))
    raise oracle.Failed(f"line of the listing without a rule: {line!r}")


def their_list(text):
    lines = text.splitlines()
    if lines[1:3] != PREAMBLE:
        raise oracle.Failed(f"the listing does not begin as it should: {lines[:3]}")
    return [their_line(line) for line in lines[3:]]


def our_event(kind, detail):
    """As the lines that DS-5 prints for it."""
    given = oracle.details(detail)
    if kind == "trace-on":
        if "gap" not in given:
            return []  # where the trace begins: DS-5 prints nothing
        if given["gap"] != "filter":
            raise oracle.Failed(f"gap {given['gap']}: DS-5 would print something else")
        return [("trace-off", int(given.get("cycles", -1))), ("trace-on",)]
    if kind == "timestamp":
        return [("timestamp", int(given["value"], 16))]
    if kind == "exception-return":
        return [("exception-return",)]
    return [(kind, detail)]


def our_list(folder):
    """Events before the first I-sync are left out: DS-5 begins there."""
    items = [(int(row[1]), 0, row) for row in oracle.events(SOURCE, folder)]
    items += [(int(row[1]), 1, row) for row in oracle.instructions(SOURCE, folder)]
    items.sort(key=lambda item: item[:2])
    merged, started = [], False
    for index, is_insn, row in items:
        if is_insn:
            merged.append(("insn", index - 1, int(row[2], 16), row[3].lower(), int(row[6]),
                           row[7] == "fail"))
        elif row[3] == "trace-on" or started:
            merged += our_event(row[3], row[4])
            started = True
    return merged


def show(item):
    if item and item[0] == "insn":
        return f"{item[1]} 0x{item[2]:08x} {item[3]} cycles={item[4]}{' fail' if item[5] else ''}"
    return str(item)


def differences(ours, theirs):
    problems = []
    for i in range(max(len(ours), len(theirs))):
        mine = ours[i] if i < len(ours) else None
        other = theirs[i] if i < len(theirs) else None
        if mine != other:
            problems.append(f"line {i}: ours {show(mine)}, DS-5 {show(other)}")
    return problems


def total(items):
    return sum(item[4] if item[0] == "insn" else item[1]
               for item in items if item[0] in ("insn", "trace-off"))


def running_total(folder):
    """The last `total` of the listing that `--cycles` gives."""
    rows = oracle.decode("cycles", SOURCE, folder,
                         ["core", "index", "address", "opcode", "size", "isa", "cycles",
                          "condition", "text", "total"])
    return int(rows[-1][-1])


def main():
    report = oracle.Report()
    path = oracle.capture(FOLDER)
    if path is None:
        report.skip(NAME, "capture not found")
        report.exit()
    try:
        with gzip.open(path / "ds5-dumps" / "etmv3_0x10.txt.gz", "rt") as file:
            theirs = their_list(file.read())
        ours = our_list(str(path))
        problems = differences(ours, theirs)
        if total(ours) != total(theirs):
            problems.append(f"cycles: ours {total(ours)}, DS-5 {total(theirs)}")
        if running_total(str(path)) != total(theirs):
            problems.append(f"--cycles ends at {running_total(str(path))}, not {total(theirs)}")
        count = sum(1 for item in theirs if item[0] == "insn")
        if count != INSTRUCTIONS:
            problems.append(f"the listing has {count} instructions, expected {INSTRUCTIONS}")
        report.check(NAME, problems,
                     f"{count} instructions, {len(theirs) - count} events, {total(ours)} cycles")
    except oracle.Failed as failed:
        report.check(NAME, [str(failed)])
    report.exit()


if __name__ == "__main__":
    main()
