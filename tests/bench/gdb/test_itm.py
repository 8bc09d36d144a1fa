#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/live/live_itm.c, drivers/virtual/board/board_data.c and
# drivers/virtual/board/board_itm.c.
"""A program that writes to ports of the ITM, with watched data and a timer, beside the core's own
trace, on virtual boards: GDB's console, a client as Cortex-Debug is one, and a recording get what
the board really did."""

import re
import socket
import struct
import subprocess

from live_gdb import PROGRAMS, Live, board_file, recording, tail_of
from replay_gdb import (BTRACED, PATIENCE, ROOT, Suite, equal, expect, folder, gdb, has, history,
                        lacks, logged, run, same_list, tool)

suite = Suite()
CORES = {"virtual-m4": ("m4", ["-mcpu=cortex-m4", "-DBOARD_M4", "-mfloat-abi=soft"]),
         "virtual-m33": ("m33", ["-mcpu=cortex-m33", "-DBOARD_M33", "-mfloat-abi=soft"])}
LEAST = 2_000_000  # instructions
ITM_ID = 5
SYSTICK = 15

_PROGRAMS = {}


def program(board):
    """(ELF file, {symbol: address})"""
    if board not in _PROGRAMS:
        name, options = CORES[board]
        elf = folder() / f"itm-{name}.elf"
        run([tool("arm-none-eabi-gcc"), "-std=gnu11", "-O1", "-g", "-mthumb", "-fno-inline", "-ffreestanding",
             "-fno-tree-loop-distribute-patterns", "-Wall", "-Wextra", "-Werror", "-nostdlib",
             f"-I{ROOT}", f"-L{PROGRAMS}", "-Wl,-n", "-Wl,--build-id=none", *options,
             f"-Wl,-T,{name}.ld", str(PROGRAMS / "board-m.c"),
             str(ROOT / "tests" / "bench" / "gdb" / "itm_program.c"), "-o", str(elf)], cwd=PROGRAMS)
        table = subprocess.run([tool("arm-none-eabi-nm"), str(elf)], capture_output=True, text=True,
                               check=True, timeout=PATIENCE).stdout
        _PROGRAMS[board] = elf, {n: int(v, 16) for v, n in
                                 re.findall(r"^(\w+) \w (\w+)$", table, re.MULTILINE)}
    return _PROGRAMS[board]


def live_board(board, *keys):
    elf, symbols = program(board)
    watched, small = symbols["watched"], symbols["small"]
    name = CORES[board][0]
    itm = "".join(f"\n{key}" for key in ("itm = all", f"itm_id = {ITM_ID}", "dwt = exceptions",
                                         "watch = watched value pc", *keys))
    return board_file(board, plugin=f",itm={ITM_ID},itmperiod=700,watch={watched:#x}-{watched+3:#x},"
                                    f"watch={small:#x}-{small+2:#x}",
                      replace=[(f"{PROGRAMS}/crash-{name}.elf", str(elf)),
                               ("\n[trace]\n", f"\n[trace]{itm}\n")]), elf


def keep_log(live):
    """A GDB command: the log of the halted board as it is."""
    return f"shell cp {live.path.parent}/truth.log {live.path.parent}/truth.at-halt"


class Truth:
    """What the board did up to a halt, from its log."""

    def __init__(self, live):
        self.writes, self.accesses, self.entered = [], [], 0
        for line in (live.path.parent / "truth.at-halt").read_text().splitlines():
            word = line.split()
            if word[1] == "stimulus":
                self.writes.append((int(word[2]), int(word[3]), int(word[4], 16)))
            elif word[1] == "watch":
                self.accesses.append((int(word[2]), word[3], int(word[4]), int(word[5], 16),
                                      int(word[6], 16)))
            elif word[1] == "exception":
                self.entered += 1

    def text(self):
        shown = b"".join(value.to_bytes(size, "little") for port, size, value in self.writes
                         if port == 0)
        return shown.decode().replace("\r", "")


def packets_of(data):
    """As Cortex-Debug takes packets apart, and strictly: (writes, accesses, exceptions, samples).
    An access is a PC packet and a value of the same comparator."""
    writes, accesses, exceptions, samples, pcs, at = [], [], [], [], {}, 0
    while at < len(data):
        head = data[at]
        if head == 0:
            end = data.index(0x80, at)
            equal(data[at:end], bytes(5), "zeros of a synchronisation packet")
            at = end + 1
            continue
        expect(head & 3, f"packet {head:#x} at byte {at}")
        size = (0, 1, 2, 4)[head & 3]
        if at + 1 + size > len(data):
            break
        value = int.from_bytes(data[at + 1:at + 1 + size], "little")
        kind, comparator = head >> 3, head >> 4 & 3
        at += 1 + size
        if not head & 4:
            writes.append((kind, size, value))
        elif kind == 1:
            exceptions.append((value & 0x1ff, value >> 12 & 3))
        elif kind == 2:
            samples.append(value)
        elif kind & 0x19 == 8:
            pcs[comparator] = value
        elif kind & 0x18 == 16:
            accesses.append((comparator, "store" if kind & 1 else "load", size, value,
                             pcs.pop(comparator)))
        else:
            expect(False, f"packet {head:#x}")
    return writes, accesses, exceptions, samples


def read_all(client):
    """What waits, and what comes until the server ends the connection."""
    data = b""
    client.settimeout(PATIENCE)
    while piece := client.recv(65536):
        data += piece
    return data


def complete_run(board):
    path, elf = live_board(board, "itm_listen = 127.0.0.1:0", "itm_console = yes")
    with Live(path) as live:
        port = int(logged(live, r"^packets of the ITM at 127\.0\.0\.1:(\d+)$")[1])
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
            equal(client.recv(6, socket.MSG_WAITALL), bytes.fromhex("000000000080"), "the beginning")
            s = gdb(live.port, ["monitor record start run", "hbreak stopped_here", "continue",
                                "record btrace", "record instruction-history -", "monitor trace status",
                                "monitor record stop", live.mark(), keep_log(live)], elf=elf,
                    connect="target extended-remote")
            live.terminate()
            data = read_all(client)
        truth, ran = Truth(live), live.truth(s[live.mark()])
    expect(len(ran) >= LEAST, f"{len(ran)} instructions")
    shown = [line for line in s["continue"].splitlines() if line.startswith("round ")]
    same_list(shown, truth.text().splitlines(), "lines in GDB's console")
    writes, accesses, exceptions, samples = packets_of(data)
    same_list(writes[:len(truth.writes)], truth.writes, "writes of software")
    same_list(accesses[:len(truth.accesses)], truth.accesses, "watched data")
    # The board stands still at the breakpoint: nothing of what it did is under way any more.
    at_halt = s["monitor trace status"]
    counted = has(at_halt, r"^ITM +(\d+) writes, (\d+) exceptions, (\d+) samples, (\d+) values; "
                           r"0 overflows, 0 damaged packets$")
    equal((int(counted[1]), int(counted[4])), (len(truth.writes), len(truth.accesses)), "counted")
    expect(len(truth.writes) > 20000 and len(truth.accesses) > 20000, f"{counted[0]}: too few")
    entered = [number for number, what in exceptions[:int(counted[2])] if what == 1]
    equal(entered, [SYSTICK] * truth.entered, "exceptions entered")
    code = {address & ~1 for address in ran}
    samples = samples[:int(counted[3])]
    expect(samples and set(samples) <= code, "samples of code that did not run")
    tail_of(history(s["record instruction-history -"]), ran, 10)
    has(at_halt, rf"^trace IDs +0x05 ITM, 0x10 cpu0$")
    lacks(s.text, "warning|Error|internal")
    return live, truth, int(counted[1]), int(counted[4]), shown


def check_vcd(place, truth):
    """The value change dump has the watched data in order."""
    text = run([str(BTRACED), "decode", "--vcd", str(place)])
    ids = dict(re.findall(r"^\$var wire \d+ (\S) (\w+) \$end$", text, re.MULTILINE))
    changes, time = [], -1
    for line in text[text.index("\n#") + 1:].splitlines():
        if line[0] == "#":
            expect(int(line[1:]) >= time, f"time goes back to {line}")
            time = int(line[1:])
        elif ids[line[-1]].startswith("watch"):
            changes.append((int(ids[line[-1]][5:]), int(line[1:-2], 2)))
    same_list(changes, [(comparator, value) for comparator, _, _, value, _ in truth.accesses],
              "values of the dump")


@suite.test("itm: virtual-m4: two million instructions: console, client and recording have what happened")
def _():
    live, truth, count, values, shown = complete_run("virtual-m4")
    place = recording(live, "run")
    text = run([str(BTRACED), "decode", "--text", "0", str(place)])
    same_list([line for line in text.replace("\r", "").splitlines() if line], shown, "decode --text 0")
    events = run([str(BTRACED), "decode", "--events", "--source", "ITM_0", str(place)])
    rows = re.findall(r"stimulus\b.*port=(\d+) .*value=(0x[0-9a-f]+).*bits=(\d+)", events)
    equal(count, len(rows), "stimulus events")
    same_list([(int(p), int(b) // 8, int(v, 16)) for p, v, b in rows], truth.writes, "stimulus")
    equal(len(re.findall(r"\bwatch\b.*comparator=", events)), values, "watch events")
    check_vcd(place, truth)


@suite.test("itm: virtual-m33: two million instructions: console and client have what happened")
def _():
    complete_run("virtual-m33")


@suite.test("itm: text is shown on request, and a client may come late or go")
def _():
    path, elf = live_board("virtual-m4", "itm_listen = 127.0.0.1:0")
    with Live(path) as live:
        port = int(logged(live, r"^packets of the ITM at 127\.0\.0\.1:(\d+)$")[1])
        s = gdb(live.port, ["monitor trace set watch none", "monitor trace console", "tbreak print_number if number == 1000",
                            "continue", "monitor trace console on", "delete",
                            "tbreak print_number if number == 2000", "continue",
                            "monitor trace console off", "tbreak print_number if number == 3000",
                            "continue", "monitor help"], elf=elf, connect="target extended-remote")
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as client:
            equal(client.recv(6, socket.MSG_WAITALL), bytes.fromhex("000000000080"), "the beginning")
    runs = s.all("continue")
    lacks(runs[0], r"^round")
    has(runs[1], r"^1000$")
    has(runs[1], r"^round 1500$")
    lacks(runs[2], r"^round")
    has(s["monitor trace set watch none"], "no sink: somebody else sets up the ITM")
    has(s["monitor trace console"], r"^monitor trace console on, or off, not ''$")
    has(s["monitor help"], r"^monitor trace console ")


suite.run()
