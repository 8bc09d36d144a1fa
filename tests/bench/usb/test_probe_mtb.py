#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""`sink = mtb`: stock GDB on a Cortex-M0+ and a Cortex-M33 behind the modelled probe. The core is QEMU's
(its Cortex-M0, which calls itself an M0+), what the MTB writes is the plugin's, registers and RAM are
modelled. The history equals what was executed. $MTB_SEED makes the random stops again."""

import json
import os
import random
import re
import shlex
import struct
import subprocess
from bisect import bisect_left, bisect_right
from pathlib import Path

from memory_gdb import LIST, check_first_session, check_history
from probe_gdb import LOADED_MACHINE, ROOT, Board, ProbeServer, bench, board_file, refused
from live_gdb import recording, split_at_gap, symbol, tail_of
from replay_gdb import (BTRACED, GDB, PATIENCE, SETTINGS, Server, Suite, environment, equal, expect,
                        folder, functions, gdb, has, history, record_counts, tool, value)
from test_flight_recorder import late_crash

suite = Suite()
FULL = os.environ.get("BTRACED_FULL") == "1"
CORES = ("Cortex-M0+", "Cortex-M33")
NESTED = 3  # handlers that were interrupted may return
SEED = int(os.environ.get("MTB_SEED") or random.SystemRandom().randrange(1 << 32))
print(f"MTB_SEED={SEED}", flush=True)
VIRTUAL = ROOT / "configs" / "virtual"
TARGET = ROOT / "tests" / "bench" / "usb" / "target"
BUILT = {}


def program():
    """The example program for QEMU's Cortex-M0."""
    if "elf" not in BUILT:
        BUILT["elf"] = folder() / "crash-m0.elf"
        subprocess.run([tool("arm-none-eabi-gcc"), "-mcpu=cortex-m0", "-mthumb", "-std=gnu11", "-O1",
                        "-gdwarf-4", "-fno-inline", "-ffreestanding", "-nostdlib", "-Wall", "-Wextra",
                        "-Werror", "-fno-tree-loop-distribute-patterns", f"-I{VIRTUAL}", f"-L{VIRTUAL}",
                        f"-T{TARGET}/m0.ld", "-Wl,-n", "-Wl,--build-id=none", "-o", str(BUILT["elf"]),
                        str(TARGET / "board_m0.c"), str(VIRTUAL / "crash.c")], check=True)
    return BUILT["elf"]


def place(size):
    """Board file lines: a buffer of `size` bytes, up to 8 KiB, somewhere in the MTB's RAM."""
    return f"[coresight]\nmtb_memory = {-(-0x1f001800 // size) * size:#x}+{size}"


def board(core="Cortex-M0+", *options, size=4096, **keys):
    elf, machine = {"Cortex-M0+": (program, "microbit"),
                    "Cortex-M33": (lambda: VIRTUAL / "crash-m33.elf", "mps2-an505")}[core]
    keys.setdefault("more", place(size))
    return Board(elf(), "--sink", "mtb", *options, machine=machine, core=core, trace="sink = mtb", **keys)


def each(name, always=CORES[:1]):
    """A test of the cores in `always`; with $BTRACED_FULL of one that is drawn, unless that is both."""
    def add(function):
        drawn = (random.Random(f"{SEED} {name}").choice(CORES),)
        for core in drawn if FULL and always != CORES else always:
            suite.test(f"MTB of a {core}: {name}")(lambda core=core: function(core))
    return add


@each("found, programmed, read: the history at a breakpoint and after steps is what ran, without gaps",
      always=CORES)
def _(core):
    report = folder() / "report"
    with board(core, "--report", report) as b:
        check_first_session(b, "MTB", "MTB, 4096 bytes at 0xe0043000")
    counted = report.read_text()
    for name in "mtb-unprogrammed", "sub-word", "bus-errors":
        has(counted, rf"^{name} 0$")


@each("a small buffer that has gone round often: what it holds is what ran last, and the loss is counted")
def _(core):
    for size in (16, 256, 64, 2048)[:4 if FULL else 2]:
        with board(core, size=size) as b:
            s = b.session("record btrace", "tbreak report_topics", "continue", *LIST, b.mark(),
                          "monitor trace gaps")
            count = check_history(b, s, size // 8)
            expect(size > 256 or count < 40 * size // 8, f"{count} instructions of {size} bytes")
            has(s["monitor trace gaps"], "^before instruction 1, trace byte 0: overwritten$")


@each("halts and steps are no break: each instruction of a run that fits is there")
def _(core):
    dice = random.Random(SEED)
    steps = [f"stepi {dice.randrange(1, 9)}" for _ in range(30)]
    with board(core) as b:
        s = b.session("tbreak add_value", "continue", "record btrace", b.mark(), *steps, *LIST, b.mark())
        before, after = (len(b.truth(mark)) for mark in s.all(b.mark()))
        equal(after - before, sum(int(step.split()[1]) for step in steps), "instructions stepped")
        count = check_history(b, s, after - before)
        equal(record_counts(s["info record"])[2], 0, "gaps")
        expect(count > after - before, "the run before the steps is not there")


@each("exceptions, taken in place of the return from another, are in the history; so is the way back")
def _(core):
    handler, calls = {"Cortex-M0+": ("service_handler", ["systick_handler", "pended_handler",
                                                         "service_handler"]),
                      "Cortex-M33": ("timer_tick", ["systick_handler", "timer_tick"])}[core]
    with board(core) as b:
        s = b.session("tbreak main", "continue", "set var crash_after = 0", f"break {handler}", "continue",
                      "continue", "delete", "stepi 30", "record btrace", *LIST,
                      "record function-call-history /i", b.mark(), "reverse-stepi", "p/x $pc", "reverse-stepi", "p/x $pc",
                      "record goto end")
        check_history(b, s, 60)
        names = [name for _, name, _, _ in functions(s["record function-call-history /i"])]
        expect(all(name in names for name in calls), f"{calls} in {names}")
        ran = [address & ~1 for address in b.truth(s[b.mark()])]
        equal([value(text) for text in s.all("p/x $pc")], [ran[-1], ran[-2]], "PCs on the way back")


@each("back in time: each step back is what ran", always=())
def _(core):
    steps = 60
    with board(core) as b:
        s = b.session("tbreak add_value", "continue", "stepi 9", b.mark(),
                      *(("reverse-stepi", "p/x $pc") * steps), "stepi", "p/x $pc")
        ran = [address & ~1 for address in b.truth(s[b.mark()])]
        back = [ran[-1 - i] for i in range(steps)]
        equal([value(text) for text in s.all("p/x $pc")], back + back[-2:-1], "PCs")


@each("a PC that was written at a halt: the jump is in the trace", always=())
def _(core):
    with board(core) as b:
        s = b.session("tbreak add_value", "continue", "record btrace", "set $pc = *(int *) $sp",
                      "p/x $pc", "info symbol compare", f"set $pc = {symbol(b.elf, 'compare'):#x}",
                      "stepi", "stepi", *LIST, b.mark())
        rows = history(s["record instruction-history -"])
        tail_of(rows, b.truth(s[b.mark()]), len(rows))
        expect(len(rows) > 100, f"{len(rows)} listed")


@each("tracing off and on: one gap, and history on both sides of it")
def _(core):
    with board(core) as b:
        s = b.session("record btrace", "tbreak add_value", "continue", "info record", b.mark(),
                      "monitor trace off", "stepi", "stepi", "stepi", "monitor trace on", "stepi",
                      "info record", "stepi 40", *LIST, b.mark(),
                      "monitor trace filter exclude 0-0x100")
        equal([record_counts(text)[2] for text in s.all("info record")], [0, 1, 1], "gaps")
        off, end = (b.truth(mark) for mark in s.all(b.mark()))
        split_at_gap(off, end, s["record instruction-history -"], 2)
        has(s["monitor trace filter exclude 0-0x100"], "is MTB, which is programmed to trace all")


@each("a reset that takes its settings: it is programmed again", always=())
def _(core):
    with board(core, "--resets", "trace") as b:
        s = b.session("record btrace", "tbreak add_value", "continue", "monitor reset",
                      "maintenance flush register-cache", "tbreak main", "continue", "stepi 20",
                      *LIST, b.mark())
        check_history(b, s, 20)


def random_stops(b, seed, count):
    """What random_stops.py wrote, and what was executed."""
    out = folder() / "stops"
    done = subprocess.run(
        [tool(GDB), "-q", "-nx", "-batch"] +
        [word for setting in (*SETTINGS, LOADED_MACHINE) for word in ("-ex", setting)] +
        [str(b.elf), "-ex", f"target extended-remote 127.0.0.1:{b.port}", "-ex", "monitor reset", "-ex",
         "maintenance flush register-cache", "-ex", "tbreak main", "-ex", "continue", "-ex",
         "set var crash_after = 0", "-x", str(ROOT / "tests/bench/gdb/random_stops.py")],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=5 * PATIENCE, check=False,
        env=dict(environment(), STOPS_GAPS="1", STOPS_SEED=str(seed), STOPS_COUNT=str(count), STOPS_OUT=str(out),
                 STOPS_TRUTH=str(b.truth_path),
                 STOPS_FUNCTIONS="add_value compare timer_tick find_topic checksum read_number"))
    stops = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    equal(len(stops), count, f"stops ({done.stdout[-300:]}{done.stderr[-600:]})")
    return stops


def check_stops(stops, data, entries, packets):
    """Each stop lists what ran, and all that a buffer of `packets` must hold. An exception is three packets, and a
    handler's last instruction may be one of them: at least an instruction for each other one. Returns how often it
    went round, which is the only reason for a gap."""
    known, rounds = 0, 0
    for number, stop in enumerate(stops, 1):
        what = f"{packets} packets, stop {number} ({stop['kind']}, PC {stop['pc']:#x}, {stop['ran']} ran)"

        def extra(span, end=stop["executed"]):
            return 2 * (bisect_right(entries, end) - bisect_left(entries, end - span))

        fits = stop["ran"] + extra(stop["ran"]) < packets
        known = known + stop["ran"] if fits else packets - extra(packets) - 2 * NESTED
        end = 4 * stop["executed"]
        ran = [a & ~1 for a, in struct.iter_unpack("<I", data[max(0, end - 400):end])]
        listed, gaps, least = stop["listed"], stop["gaps"], min(known, 100)
        expect(len(listed) >= least, f"{what}: {len(listed)} listed, not {least}: {gaps}")
        equal(listed, ran[len(ran) - len(listed):], f"{what}: history")
        expect(len(gaps) <= (not fits), f"{what}: {gaps}")
        for gap in gaps:
            has(gap, "^before instruction .*: overwritten(, address 0x[0-9a-f]+)?$")
        rounds += len(gaps)
    return rounds


@each("random stops, each with its history; a gap only where the buffer went round",
      always=(random.Random(SEED).choice(CORES),))
def _(core):
    for size in (1024, 8192, 64)[:3 if FULL else 1]:
        with board(core, size=size) as b:
            stops = random_stops(b, SEED + size, 16 if FULL else 12)
        log = Path(f"{b.truth_path}.log").read_text()
        entries = [int(index) for index in re.findall(r"(?m)^(\d+) exception ", log)]
        rounds = check_stops(stops, b.truth_path.read_bytes(), entries, size // 8)
        print(f"# {core}, {size} bytes: {len(stops)} stops, {rounds} gaps, all of a buffer that went round", flush=True)


@suite.test("MTB: a recording of the session, replayed: the same history")
def _():
    with board(more=place(4096) + "\n[record]\ndir = $DIR/recordings\nstart = no") as b:
        s = b.session("tbreak add_value", "continue", "monitor record start one", "stepi 3", "tbreak compare",
                      "continue", "stepi 25", "record btrace", *LIST, b.mark(), "monitor record stop")
        check_history(b, s, 100)
        ran = [a & ~1 for a in b.truth(s[b.mark()])]
        where = recording(b, "one")
    with Server(where, "--elf", b.elf) as r:
        s = gdb(r.port, ["record btrace", *LIST], elf=b.elf)
        rows = [row.address for row in history(s["record instruction-history -"])]
        expect(len(rows) > 40, f"{len(rows)} listed")
        equal(rows, ran[-len(rows):], "what ran last")
        has(s["info record"], "^Recorded")


@suite.test("MTB: armed, left alone, attached: what it holds leads to where the core is")
def _():
    elf, truth = late_crash(0, program()), folder() / "truth"
    conf = board_file(core="Cortex-M0+", trace="sink = mtb", probe="at_exit = halt\nclock = 4M",
                      core_keys=f"program = {elf}", more=place(1024))
    arm = shlex.join([str(BTRACED), "arm", "-c", str(conf)])
    below = bench("--core", f"qemu:microbit,{elf}", "--sink", "mtb", "--truth", truth)
    below += ["sh", "-c", f'{arm} >&2 && sleep 1 && exec "$@" --attach', "sh"]
    server = ProbeServer.__new__(ProbeServer)
    Server.__init__(server, conf, "-c", command=("serve",), below=below)
    with server:
        has(server.stderr, r"^armed: MTB, 1024 bytes at 0xe0043000$")
        s = gdb(server.port, ["p/x $pc", f"shell stat -c executed=%s {truth}", "record btrace", *LIST,
                              "monitor trace gaps"], elf=elf, connect="target extended-remote",
                before=[LOADED_MACHINE])
        rows = history(s["record instruction-history -"])
        size = int(has(s.text, r"^executed=(\d+)")[1])
        ran = struct.unpack(f"<{size // 4}I", truth.read_bytes()[:size // 4 * 4])
        expect(len(rows) > 128, f"{len(rows)} listed")
        tail_of(rows, ran, len(rows))
        has(s["monitor trace gaps"], "^before instruction 1, trace byte 0: overwritten$")


@suite.test("MTB: what the chip does not have is told, and run control goes on")
def _():
    for options, memory, why in (
            (("--kind", "m33"), "0x1f002000+4K", r"no history: this chip has no MTB; there is: sink = etb, tpiu"),
            (("--sink", "mtb"), "0x1f000000+4K", r"no history: the MTB at 0xe0043000 cannot be used: "
                                                 r"mtb_memory is not in the RAM that it writes to"),
            (("--sink", "mtb"), "0x20000000+32K", r"not traced: mtb_memory is larger than the RAM")):
        with ProbeServer(*options, core="Cortex-M33", trace="sink = mtb",
                         more=f"[coresight]\nmtb_memory = {memory}") as b:
            s = gdb(b.port, ["stepi", "p $pc"], connect="target extended-remote", before=[LOADED_MACHINE])
            has(s["p $pc"], "= ")
            has(b.stderr + s.text, why)


@suite.test("MTB: a board file that cannot be right: file, line, key, and what is allowed")
def _():
    for core, keys, why in (
            ("Cortex-M0+", {}, r"model\.conf: \[coresight\] mtb_memory: is missing, which sink = mtb needs; "
                               r"allowed: ADDRESS\+SIZE of RAM that the MTB writes to"),
            ("Cortex-M0+", {"more": "[coresight]\nmtb_memory = 0x20000800+4K"},
             r"model\.conf:12: mtb_memory: is no place for an MTB; allowed: ADDRESS\+SIZE"),
            ("Cortex-M4", {"more": place(4096)}, r"model\.conf:10: sink: mtb is not in \[core m\], a "
                                                 r"Cortex-M4; allowed: mtb with a Cortex-M0\+")):
        code, text = refused(core=core, trace="sink = mtb", **keys)
        equal(code, 2, "exit code")
        has(text, why)


if __name__ == "__main__":
    suite.run()
