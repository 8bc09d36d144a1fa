#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compares OpenCSD's decode of the demo recording with the run it was made from.

usage: compare_run.py LISTING RUN.GZ CODE BASE    LISTING: output of trc_pkt_lister -decode

Instruction by instruction with its state, and exception by exception with its return address.
Anything in the listing that is not known to be harmless is an error.
"""
import gzip
import re
import struct
import sys

# PFT exception numbers.
EXCEPTIONS = {9: "undefined", 10: "svc", 11: "prefetch-abort", 14: "irq", 15: "fiq"}
DEBUG_HALT = 1
PACKETS = {
    "ASYNC",
    "ISYNC",
    "ATOM",
    "BRANCH_ADDRESS",
    "WP_UPDATE",
    "TIMESTAMP",
    "ERET",
}
HARMLESS = {"PE_CONTEXT", "TIMESTAMP", "EXCEPTION_RET", "EO_TRACE"}

ELEMENT = re.compile(r"Idx:(\d+); ID:[0-9a-f]+; OCSD_GEN_TRC_ELEM_(\w+)\((.*)\)")
PACKET = re.compile(r"Idx:\d+; ID:[0-9a-f]+; \[0x.*\];\s+(\w+) :")
RANGE = re.compile(r"exec range=0x([0-9a-f]+):\[0x([0-9a-f]+)\] num_i\((\d+)\).*\(ISA=(A32|T32)\)")
EXCEPTION = re.compile(r"pref ret addr:0x([0-9a-f]+); excep num \(0x([0-9a-f]+)\)")


def fail(text):
    print(text)
    sys.exit(1)


def expand(match, code, base):
    """The instructions of one executed range, as lines of run.txt."""
    address, end, count, isa = int(match[1], 16), int(match[2], 16), int(match[3]), match[4][0]
    while address < end:
        yield f"I {address:08x} {isa}"
        size = 4
        if isa == "T":
            halfword = struct.unpack_from("<H", code, address - base)[0]
            size = 4 if halfword >> 11 in (0b11101, 0b11110, 0b11111) else 2
        address += size
        count -= 1
    if count or address != end:
        fail(f"range up to {end:#x} does not consist of whole instructions")


def decoded(path, code, base):
    """What the listing says, in the form of run.txt but for the state of exceptions."""
    trace_on = 0
    halted = False
    with open(path, encoding="ascii") as listing:
        for line in listing:
            if match := PACKET.match(line):
                if match[1] not in PACKETS:
                    fail(f"unexpected packet: {line.strip()}")
                continue
            if not (match := ELEMENT.match(line)):
                if re.search(r"\bID:10;|ERR|error", line, re.IGNORECASE):
                    fail(f"unexpected line: {line.strip()}")
                continue
            index, kind, text = int(match[1]), match[2], match[3]
            if halted and kind != "EO_TRACE":
                fail(f"trace goes on after the halt: {line.strip()}")
            if kind == "INSTR_RANGE" and (match := RANGE.match(text)):
                yield from expand(match, code, base)
            elif kind == "EXCEPTION" and (match := EXCEPTION.match(text)):
                number = int(match[2], 16)
                if number == DEBUG_HALT:
                    halted = True
                elif number in EXCEPTIONS:
                    yield f"X {EXCEPTIONS[number]} {int(match[1], 16):08x}"
                else:
                    fail(f"unexpected exception: {line.strip()}")
            elif kind == "TRACE_ON":
                trace_on += 1
            elif kind not in HARMLESS and not (kind == "NO_SYNC" and index == 0):
                fail(f"unexpected element: {line.strip()}")
    if trace_on != 1 or not halted:
        fail(f"{trace_on} starts of trace, {'one' if halted else 'no'} halt")


def main():
    with gzip.open(sys.argv[2], "rt", encoding="ascii") as file:
        run = [line.rsplit(" ", 1)[0] if line[0] == "X" else line.strip() for line in file]
    with open(sys.argv[3], "rb") as file:
        code = file.read()
    got = list(decoded(sys.argv[1], code, int(sys.argv[4], 0)))
    for number, (ours, theirs) in enumerate(zip(run, got), 1):
        if ours != theirs:
            fail(f"line {number}: the run has '{ours}', the trace '{theirs}'")
    if len(run) != len(got):
        fail(f"the run has {len(run)} lines, the trace {len(got)}")
    if len(run) < 1000:
        fail(f"only {len(run)} lines")


main()
