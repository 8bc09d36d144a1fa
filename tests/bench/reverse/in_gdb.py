# SPDX-License-Identifier: BSD-3-Clause
"""Runs inside GDB, connected to a target with reverse execution: goes to positions and writes down what GDB
makes of each, one line of JSON a position. REVERSE_JOB names a file: {"positions": [...],
"motions": [...], "out": FILE, "locals": true}."""

import json
import os
import re

import gdb

DEPTH = 40  # frames of a backtrace
NAMES = [*(f"r{i}" for i in range(13)), "sp", "lr", "pc"]


def quiet(command):
    return gdb.execute(command, to_string=True)


def go(position):
    quiet(f"monitor goto {position + 1}")
    quiet("stepi")


def where():
    """The position; None if the target does not say."""
    match = re.search(r"instruction (\d+)", quiet("monitor where"))
    return int(match[1]) - 1 if match else None


def registers():
    """Numbers, None where a register is not known."""
    frame, values = gdb.newest_frame(), []
    for name in NAMES:
        try:
            values.append(int(frame.read_register(name)) & 0xffffffff)
        except gdb.error:
            values.append(None)
    return values


def backtrace():
    """PCs, the newest first."""
    frames, frame = [], gdb.newest_frame()
    try:
        while frame and len(frames) < DEPTH:
            if frame.type() != gdb.TAILCALL_FRAME:
                frames.append(frame.pc() & 0xffffffff)
            frame = frame.older()
    except gdb.error:
        pass
    return frames


def variables():
    """{name: value as text, None if GDB cannot tell} of frame 0, without what is static."""
    found = {}
    try:
        block = gdb.newest_frame().block()
    except RuntimeError:
        return found
    while block and not block.is_global and not block.is_static:
        for symbol in block:
            if not (symbol.is_variable or symbol.is_argument) or symbol.name in found:
                continue
            if symbol.addr_class == gdb.SYMBOL_LOC_STATIC:
                continue
            try:
                value = symbol.value(gdb.newest_frame())
                if value.is_optimized_out:
                    continue
                pointer = value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR
                found[symbol.name] = f"{int(value):#x}" if pointer else value.format_string()
            except gdb.error:
                found[symbol.name] = None
        block = None if block.function else block.superblock
    return found


def motion(command):
    """Where the command goes from here, or why it does not."""
    start = where()
    try:
        quiet(command)
    except gdb.error as error: # perhaps of a value that is shown after the motion
        return f"{error}" if where() == start else where()
    return where()


def main():
    with open(os.environ["REVERSE_JOB"], encoding="ascii") as file:
        job = json.load(file)
    with open(job["out"], "w", encoding="utf-8") as out:
        for position in job["positions"]:
            go(position)
            row = {"position": position, "regs": registers(), "bt": backtrace(), "at": where()}
            if job.get("locals"):
                row["locals"] = variables()
            if job.get("explain"):
                row["explain"] = {name: quiet(f"monitor explain {name}") for name in ("sp", "lr")}
            row["motions"] = {}
            for command in job["motions"]:
                go(position)
                row["motions"][command] = motion(command)
            print(json.dumps(row), file=out, flush=True)


main()
