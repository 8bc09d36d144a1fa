#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Turns QEMU's log of a run (-singlestep -d exec,nochain,cpu,int) into a list of what ran.

usage: qemu_log.py LOG CODE BASE    list on standard output; CODE: bytes of memory from BASE on

    I 80010020 A        an instruction ran, in ARM (A) or Thumb (T) state
    X svc 80010098 A    exception, with the address to return to

QEMU logs an instruction before it runs. One that takes an exception instead of running would be in
the log although it did not complete: data aborts are therefore refused.
"""
import re
import struct
import sys

EXCEPTIONS = {1: "undefined", 2: "svc", 3: "prefetch-abort", 5: "irq", 6: "fiq"}
# What the hardware adds to the return address before it writes LR.
LR_OFFSET = {"undefined": 0, "svc": 0, "prefetch-abort": 4, "irq": 4, "fiq": 4}

TRACE = re.compile(r"Trace \d+: 0x[0-9a-f]+ \[[0-9a-f]+/([0-9a-f]+)/")
TAKING = re.compile(r"Taking exception (\d+) ")
REGISTER = re.compile(r"R(\d\d)=([0-9a-f]{8})")
STATUS = re.compile(r"PSR=([0-9a-f]{8})")


def records(path):
    """Yields ("exception", number) and ("insn", {register number: value}); 16 is the PSR."""
    registers = None
    with open(path, encoding="ascii", errors="replace") as log:
        for line in log:
            if match := TRACE.match(line):
                registers = {"trace": int(match[1], 16)}
            elif match := TAKING.match(line):
                yield "exception", int(match[1])
            elif match := STATUS.match(line):
                registers[16] = int(match[1], 16)
                if registers[15] != registers["trace"]:
                    sys.exit("QEMU's log is not as expected: PC and block address differ")
                yield "insn", registers
            else:
                for number, value in REGISTER.findall(line):
                    registers[int(number)] = int(value, 16)


def isa_of_target(registers, code, base):
    """State at the target of `bx` or `blx` with a register; else the state before."""
    thumb = registers[16] >> 5 & 1
    at = registers[15] - base
    if thumb:
        halfword = struct.unpack_from("<H", code, at)[0]
        if halfword & 0xFF07 in (0x4700, 0x4780):
            thumb = registers[halfword >> 3 & 15] & 1
    else:
        word = struct.unpack_from("<I", code, at)[0]
        if word & 0x0FFFFFD0 in (0x012FFF10,):
            thumb = registers[word & 15] & 1
    return "AT"[thumb]


def main():
    log, code_path, base = sys.argv[1], sys.argv[2], int(sys.argv[3], 0)
    with open(code_path, "rb") as file:
        code = file.read()
    last = None
    exception = None
    for kind, value in records(log):
        if kind == "exception":
            if value not in EXCEPTIONS:
                sys.exit(f"exception {value} is not handled here")
            if last is None or exception:
                sys.exit("exception without an instruction before it")
            exception = EXCEPTIONS[value]
            continue
        if exception:
            back = value[14] - LR_OFFSET[exception]
            print(f"X {exception} {back:08x} {isa_of_target(last, code, base)}")
            exception = None
        print(f"I {value[15]:08x} {'AT'[value[16] >> 5 & 1]}")
        last = value


main()
