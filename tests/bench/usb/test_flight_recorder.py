#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The crash story: `btraced arm`, a program that runs into a HardFault with nobody watching, and
`btraced serve --attach` afterwards. The core is QEMU's; what it executed is known instruction by
instruction, and the history in stock GDB must end with the same ones. And the firmware of docs/."""

import re
import shlex
import struct
import subprocess

from probe_gdb import ROOT, ProbeServer, bench, board_file
from live_gdb import symbol
from replay_gdb import (BTRACED, Failed, Server, Skipped, Suite, equal, expect, folder, functions,
                        gdb, has, record_counts, tool, value)

suite = Suite()
ELF = ROOT / "configs/virtual/crash-m4.elf"
PLUGIN = ROOT / "build/virtual-board.so"
MACHINE = "netduinoplus2"
# How many messages it survives, about 1500 a second, and how long it is left alone, in s. On a busy
# machine it may crash before the trace begins, which `arm` tells, or live longer than the wait.
STORIES = ((1500, 2), (1500, 6), (6000, 12), (24000, 40))
LATE = "warning: the core is"
COMPARED = 3000  # instructions at the end of the history


def late_crash(messages, elf=ELF):
    """The program with another number of messages that it survives."""
    data = bytearray(elf.read_bytes())
    address = symbol(elf, "crash_after")
    start, = struct.unpack_from("<I", data, 28)
    count, = struct.unpack_from("<H", data, 44)
    for i in range(count):
        kind, offset, virtual, _, size = struct.unpack_from("<5I", data, start + 32 * i)
        if kind == 1 and virtual <= address < virtual + size:
            struct.pack_into("<I", data, offset + address - virtual, messages)
            path = folder() / "late.elf"
            path.write_bytes(data)
            return path
    raise Failed("crash_after is in no segment")


class Story(ProbeServer):
    """Armed after each of `delays` with the options in `arms`, left alone for `wait` seconds, then
    served."""

    def __init__(self, elf, truth, wait, *arms, options=(), delays=(0,)):
        if not PLUGIN.exists():
            raise Skipped("no virtual board: make virtual-board")
        tool("qemu-system-arm")
        board = board_file(probe="at_exit = halt\nclock = 4M", trace="sink = etb",
                           core_keys=f"program = {elf}")
        story = [f"sleep {delay} && {shlex.join([str(BTRACED), 'arm', '-c', str(board), *arm])} >&2"
                 for delay, arm in zip(delays, arms, strict=True)]
        below = bench("--core", f"qemu:{MACHINE},{elf}", "--truth", truth, *options)
        below += ["sh", "-c", " && ".join([*story, f'sleep {wait} && exec "$@" --attach']), "sh"]
        Server.__init__(self, board, "-c", command=("serve",), below=below)


def tell(*arm, options=(), crashed="hard_fault_handler"):
    """The session after the crash: GDB's answers, what the server said, what was executed."""
    truth = folder() / "truth"
    for messages, wait in STORIES:
        elf = late_crash(messages)
        with Story(elf, truth, wait, arm, options=options) as server:
            s = gdb(server.port, ["p/x $pc", "bt", "monitor trace gaps", "monitor fault",
                                  "record btrace", "info record",
                                  "record function-call-history /i",
                                  f"set record instruction-history-size {COMPARED}",
                                  "record instruction-history -"], elf=elf,
                    connect="target extended-remote")
            said = server.stderr
        if crashed in s["bt"] and LATE not in said:
            words = truth.read_bytes()
            ran = [w & ~1 for w, in struct.iter_unpack("<I", words[:len(words) // 4 * 4])]
            return s, said, listed(s["record instruction-history -"]), ran
    raise Failed(f"it has not crashed, or too early: {s['bt']}, {said}")


def listed(rows):
    """Addresses; GDB tells of source files that it does not find in between."""
    return [int(a, 16) for a in re.findall(r"^\d+\t(?:=> |   )(0x[0-9a-f]+)", rows, re.M)]


def same_end(rows, ran, pc):
    expect(len(rows) > 2000, f"{len(rows)} instructions listed")
    if rows[-1] == pc:  # where the core stands: not executed
        rows = rows[:-1]
    expect(rows == ran[-len(rows):], f"ends with {[hex(a) for a in rows[-5:]]}, but executed was "
           f"{[hex(a) for a in ran[-5:]]}")


@suite.test("flight recorder: armed, crashed, attached: the history ends at the crash")
def _():
    s, said, rows, ran = tell()
    has(said, r"^armed: ETB, 4096 bytes at 0xe0043000$")
    has(said, r"^state         running$")  # attaching alone halts nothing
    has(s["monitor trace gaps"], r"^before instruction 1, trace byte 0: overwritten$")
    equal(len(s["monitor trace gaps"].split("\n")), 2, "gaps")
    has(s["monitor fault"], r"^HardFault: an access was not allowed by the memory protection")
    equal(record_counts(s["info record"])[2], 0, "gaps of GDB")
    calls = [name for _, name, _, _ in functions(s["record function-call-history /i"])]
    equal(calls[-7:], ["report_topics", "hard_fault_entry", "hard_fault_handler", "stopped_here",
                       "stop_interrupts", "stopped_here", "wait_for_interrupt"], "the last calls")
    same_end(rows, ran, value(s["p/x $pc"]))


@suite.test("flight recorder: a fault that halts the core ends the history, over HID")
def _():
    s, said, rows, ran = tell("--halt-on-fault", options=["--v1"], crashed="signal handler")
    has(said, r"^armed: ETB, 4096 bytes at 0xe0043000; a HardFault halts the core$")
    has(said, r"^state         halted")
    expect(rows, f"nothing listed: {said}")
    equal(value(s["p/x $pc"]), symbol(ELF, "hard_fault_entry"), "PC")
    pc = value(s["p/x $pc"])
    end = ran.index(pc) if pc in ran else len(ran)  # GDB lets it go on when it leaves
    same_end(rows, ran[:end], pc)


@suite.test("flight recorder: a core that has crashed before is told of when it is armed")
def _():
    truth = folder() / "truth"
    for delay in (1, 5, 20):
        with Story(late_crash(1), truth, 0, (), delays=(delay,)) as server:
            said = server.stderr
        if LATE in said:
            break
    has(said, f"^btraced arm: {LATE} in its HardFault handler already: what led there is not "
        "recorded$")
    for messages, delay in ((1500, 3), (6000, 12), (24000, 40)):
        with Story(late_crash(messages), truth, 0, ("--halt-on-fault",), (),
                   delays=(0, delay)) as server:
            said = server.stderr
        if "is halted" in said:
            break
    has(said, f"^btraced arm: {LATE} halted: nothing is recorded before it goes on$")


@suite.test("flight recorder: the firmware of the page is compiled")
def _():
    compiler = tool("arm-none-eabi-gcc")
    for core in ("cortex-m3", "cortex-m4"):
        subprocess.run([compiler, f"-mcpu={core}", "-mthumb", "-Os", "-std=c11", "-ffreestanding",
                        "-Wall", "-Wextra", "-Wconversion", "-Werror", "-c",
                        ROOT / "docs/flight-recorder.c", "-o", folder() / "flight.o"], check=True)


@suite.test("flight recorder: the recipes are good")
def _():
    for name in ("cortex-m-etb", "stm32f4-cmsis-dap", "stm32f4-cmsis-dap-tpiu"):
        done = subprocess.run([BTRACED, "serve", "-c", ROOT / "configs" / f"{name}.conf",
                               "--check-config"], capture_output=True, text=True)
        equal((done.returncode, done.stderr), (0, ""), name)


if __name__ == "__main__":
    suite.run()
