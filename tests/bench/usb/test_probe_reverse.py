#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reverse execution in stock GDB behind the modelled probe, on a Cortex-M3, M7 and M33 whose program has
the process stack while interrupts have the main stack: positions and frames against what was executed.

BTRACED_FULL=1: the Cortex-M7, too."""

import os
import re
import subprocess
from pathlib import Path

from probe_gdb import Board, ProbeServer, ask_bench
from replay_gdb import Client, Suite, equal, expect, folder, frame, has, lacks, tool, wait_for

suite = Suite()
SOURCE = Path(__file__).resolve().parent / "target" / "two_stacks.c"
# QEMU's machine, where code and data begin
CORES = {"Cortex-M3": ("mps2-an385", 0, 0x20000000), "Cortex-M7": ("mps2-an500", 0, 0x20000000),
         "Cortex-M33": ("mps2-an505", 0x10000000, 0x38000000)}
TRIED = [core for core in CORES if core != "Cortex-M7" or os.environ.get("BTRACED_FULL")]
BUILT = {}
HANDLER = "<signal handler called>"


def program(core):
    """(ELF file, {function: (first address, one past the last)})"""
    if core not in BUILT:
        _, code, data = CORES[core]
        elf = folder() / "two_stacks.elf"
        subprocess.run([tool("arm-none-eabi-gcc"), f"-mcpu={core.lower()}", "-mthumb", "-O1",
                        "-gdwarf-4", "-ffreestanding", "-nostdlib", "-Wall", "-Wextra", "-Werror",
                        f"-Wl,--section-start=.vectors={code:#x},-Ttext={code + 0x100:#x},"
                        f"-Tbss={data:#x},-e,reset", "-o", str(elf), str(SOURCE)], check=True)
        names = subprocess.run([tool("arm-none-eabi-nm"), "-S", str(elf)], check=True,
                               capture_output=True, text=True).stdout
        found = [line.split() for line in names.splitlines()]
        BUILT[core] = (elf, {words[3]: (int(words[0], 16) & ~1,
                                        (int(words[0], 16) & ~1) + int(words[1], 16))
                             for words in found if len(words) == 4 and words[2] in "tT"})
    return BUILT[core]


def board(core):
    return Board(program(core)[0], machine=CORES[core][0], core=core)


def each(name):
    def add(function):
        for core in TRIED:
            suite.test(f"probe past, {core}: {name}")(lambda core=core: function(core))
    return add


def frames_along(ran, functions):
    """For each place of the path the functions that a backtrace there shows."""
    names = {at: name for name, (first, end) in functions.items() for at in range(first, end, 2)}
    entry = {first: name for name, (first, _) in functions.items()}
    stack, along, before = [], [], 0  # of (return address, frames of the caller)
    for at in ran:
        name = names[at]
        while stack and stack[-1][0] is None and name not in ("tick", "count_tick"):
            before = stack.pop()[2]  # of what was interrupted
        if stack and at == stack[-1][0]:
            stack.pop()
        if entry.get(at) == "tick":
            stack.append((None, [HANDLER, *along[-1]], before))
        elif at in entry and name not in ("reset", "main"):
            stack.append((before + 4, along[-1]))  # BL
        along.append([name, *(stack[-1][1] if stack else [])])
        before = at
    return along


def shown(output):
    return re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\w+|<signal handler called>|\?\?)", output,
                      re.MULTILINE)


def run_to(*last):
    """GDB commands that pass three interrupts."""
    return ["break count_tick", "continue", "continue", "continue", "delete", *last]


def go(*distances):
    return [c for n in distances
            for c in ("monitor goto end", "stepi", f"monitor goto -{n}", "stepi", "p/x $pc", "bt",
                      "monitor explain sp")]


def path_of(core, b, s):
    ran = [address & ~1 for address in b.truth(s[b.mark()])]
    functions = program(core)[1]
    reset = len(ran) - 1 - ran[::-1].index(functions["reset"][0])  # the session begins with one
    return ran[reset:], frames_along(ran[reset:], functions)


@each("halted in the program: its frames, before and behind interrupts")
def _(core):
    distances = [1, 2, 3, 5, 8, 13, 21, 34, 90, 145, 234, 378, 611, 988, 1600, 2588, 4181]
    with board(core) as b:
        s = b.session(*run_to("finish", "finish", "tbreak leaf", "continue"), b.mark(),
                      *go(*distances))
        ran, frames = path_of(core, b, s)
    pcs = [int(has(o, r"0x\w+")[0], 16) for o in s.all("p/x $pc")]
    equal(pcs, [ran[-n] for n in distances], "PCs")
    handlers = 0
    for n, output, sp in zip(distances, s.all("bt"), s.all("monitor explain sp")):
        wanted = frames[-n]
        handlers += HANDLER in wanted
        if "NOT known" in sp:
            # What a handler has interrupted is not to be had then.
            expect(HANDLER in wanted, f"{n} before the halt, in the program: {sp}")
            wanted = wanted[:wanted.index(HANDLER)]
            equal(shown(output)[:len(wanted)], wanted, f"newest frames {n} before the halt")
        else:
            stack = "0x\\w+" if HANDLER in wanted else rf"{CORES[core][2] + 0x300 >> 8:#x}\w\w"
            has(sp, rf"^sp = {stack}: known")
            equal(shown(output), wanted, f"frames {n} before the halt")
    expect(handlers < len(distances) / 3, f"{handlers} of the places are in handlers")


@each("halted in a handler: its frames, through the exception to the program")
def _(core):
    with board(core) as b:
        s = b.session(*run_to(), b.mark(), "bt", "reverse-stepi", "bt", "reverse-stepi",
                      "bt", "reverse-finish", "p/x $pc")
        ran, frames = path_of(core, b, s)
    for n, output in zip((1, 2), s.all("bt")[1:]):
        inner = frames[-n].index(HANDLER) + 1
        equal(shown(output)[:inner], frames[-n][:inner], f"frames {n} before the halt")
        equal(shown(output)[inner:], shown(s["bt"])[3:], "frames of what was interrupted")
        equal(shown(output)[-1], "main", "the outermost frame")
    expect(HANDLER in frames[-1], f"no handler: {frames[-1]}")
    out = next(n for n in range(1, 100) if HANDLER not in frames[-n])
    equal(int(has(s["p/x $pc"], r"0x\w+")[0], 16), ran[-out], "PC where the interrupt came")


@each("values of the past from an earlier halt on, without a key of the board file")
def _(core):
    with board(core) as b:
        s = b.session("tbreak main", "continue", "shell sleep 1", "tbreak count_tick", "continue", "shell sleep 1",
                      b.mark(), "monitor goto -200", "stepi", "monitor explain", "monitor explain ticks", "p/x ticks",
                      "monitor past")
    has(s["monitor past"], r"bytes of RAM known at its begin, the halt at its end proves it")
    lacks(s["monitor past"], "NOT shown")
    lacks(s["monitor explain"], "not known|NOT")
    has(s["monitor explain"], "executed from an earlier halt on")
    value = int(has(s["p/x ticks"], "= (0x[0-9a-f]+)")[1], 16)
    has(s["monitor explain ticks"], rf"^0x[0-9a-f]{{8}} = {value:#010x}: known")


RAM = 256 << 10
WIRE = 1000000  # microseconds of a wire at 10 MHz and of a High-Speed bus, all in all


def known_bytes(past):
    return sum(int(number) for number in re.findall(r"(\d+) bytes of RAM read", past))


@suite.test("probe past: 256 KiB of RAM are known after less than a second of the wire, and what it costs is told")
def _():
    place = folder() / "control"
    with ProbeServer("--packet-size", 512, "--control", place, probe="clock = 10M", trace="sink = etb",
                     core_keys=f"ram = 0x20000000+{RAM}") as server:
        with Client(server.port, acks=False) as client:
            client.start()
            best = min(time_of_halt(client, place) for _ in range(3))
    print(f"# {RAM} bytes in {best} us of the wire and the bus", flush=True)
    expect(best < WIRE, f"it took {best} us of the wire, and {WIRE} are allowed")


def spent(place):
    return int(dict(line.split() for line in ask_bench(place, "counters"))["bus-us"])


def past(client):
    client.send(frame("qRcmd," + b"past".hex()))
    said = ""
    while (text := client.reply())[:1] == "O" and text != "OK":
        said += bytes.fromhex(text[1:]).decode()
    return said


def time_of_halt(client, place):
    """Microseconds on the wire for all of RAM. A piece is made smaller when this machine is slow: the best of some halts
    counts."""
    before, begun = known_bytes(past(client)), spent(place)
    client.send(frame("vCont;c"))
    client.send(b"\x03")
    client.reply()
    wait_for(lambda: known_bytes(past(client)) >= before + RAM, "RAM that is known")
    return spent(place) - begun


suite.run()
