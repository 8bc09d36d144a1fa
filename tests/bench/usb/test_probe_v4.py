#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stock GDB on a Cortex-M7 and a Cortex-M33 behind the modelled probe, their ETMv4 found and programmed by
the drivers: the history equals what was executed."""

import os
import re

from probe_gdb import ROOT, Board
from live_gdb import Wire, split_at_gap, symbol, tail_of
from replay_gdb import (Suite, equal, expect, folder, has, history, lacks, record_counts, run, logged,
                        value)

suite = Suite()
FULL = os.environ.get("BTRACED_FULL") == "1"
PROGRAMS = ROOT / "configs" / "virtual"
CORES = {"Cortex-M7": (PROGRAMS / "crash-m7.elf", "mps2-an500", ("--etm-pairs", 4)),
         "Cortex-M33": (PROGRAMS / "crash-m33.elf", "mps2-an505", ())}
RULES = ("locked-writes", "os-locked", "unpowered", "busy-writes", "early", "unprogrammed", "forbidden",
         "unmodelled")
LIST = ("set record instruction-history-size 300", "record instruction-history")


def board(core, *options, wishes="", **keys):
    elf, machine, more = CORES[core]
    return Board(elf, *more, *options, machine=machine, core=core,
                 core_keys=f"program = {elf}\n{wishes}", **keys)


def check_history(b, s, at_least=300):
    """All that GDB lists is what ran last."""
    rows = history(s["record instruction-history"])
    expect(len(rows) >= at_least, f"only {len(rows)} instructions listed:\n{s.text}\n{b.stderr}")
    tail_of(rows, b.truth(s[b.mark()]), len(rows))
    lacks(s.text, "corrupted|internal|cannot be read|not traced")


def each(name):
    def add(function):
        for core in CORES:
            suite.test(f"probe {core}: {name}")(lambda core=core: function(core))
    return add


@each("the summary, breakpoints, steps; the history is what ran")
def _(core):
    with board(core) as b:
        logged(b, rf"^core +{core} r\dp\d")
        s = b.session("record btrace", "tbreak add_value", "continue", "bt", "info record", "stepi 7",
                      "next", "finish", *LIST, b.mark(), "info threads", "monitor trace status")
        has(s["continue"], r"^Temporary breakpoint 1, add_value \(topic=")
        has(s["bt"], r"^#2  0x\w+ in main \(\)")
        check_history(b, s)
        equal(record_counts(s["info record"])[2], 0, "gaps")
        has(s["monitor trace status"], r"traced by ETM4\.\d$")
        lacks(b.stderr, "warning")


@each("each wish for the trace unit: the history is what ran")
def _(core):
    for config in 0x8, 0x10, 0x800, 0x1000, 0x1810, 0x818:
        with board(core, wishes=f"TRCCONFIGR = {config:#x}\nTRCTRACEIDR = 0x2a") as b:
            logged(b, "0x2a m")
            s = b.session("record btrace", "tbreak add_value", "continue", "next", *LIST, b.mark())
            check_history(b, s)
            lacks(b.stderr, "TRCCONFIGR is")


@each("a TMC as buffer")
def _(core):
    with board(core, "--sink", "tmc", trace="sink = tmc") as b:
        s = b.session("record btrace", "tbreak add_value", "continue", "stepi", *LIST, b.mark())
        check_history(b, s)


@each("tracing off and on: one gap, and history on both sides of it")
def _(core):
    with board(core) as b:
        s = b.session("record btrace", "tbreak add_value", "continue", "info record", b.mark(),
                      "monitor trace off", "stepi", "stepi", "stepi", "monitor trace on", "stepi",
                      "stepi", "info record", *LIST, b.mark())
        before, after = (record_counts(text) for text in s.all("info record"))
        equal(after[2] - before[2], 1, "gaps")
        off, end = (b.truth(mark) for mark in s.all(b.mark()))
        expect(len(end) >= len(off) + 5, "five steps")
        split_at_gap(off, end, s["record instruction-history"], 2)


@each("a reset ends the trace unit's settings: it is programmed again")
def _(core):
    with board(core) as b:
        s = b.session("record btrace", "tbreak add_value", "continue", "monitor reset",
                      "maintenance flush register-cache", "tbreak main", "continue", "stepi 20",
                      *LIST, b.mark())
        check_history(b, s, 20)


@each("a fault is told in words, and what led to it is in the history")
def _(core):
    with board(core) as b:
        s = b.session("record btrace", "continue", "bt 3", "monitor fault", *LIST, b.mark())
        has(s["continue"], r"^HardFault: ")
        has(s["continue"], r"^Program received signal SIGSEGV")
        has(s["bt 3"], r"^#1  <signal handler called>")
        check_history(b, s)


@each("back in time: positions and values")
def _(core):
    with board(core) as b:
        s = b.session("tbreak add_value", "continue", "p topic", "p $r0", b.mark(), "reverse-stepi",
                      "p/x $pc", "reverse-stepi", "p/x $pc", "reverse-finish", "p/x $pc",
                      "monitor goto end", "stepi", "p $r0")
        ran = [address & ~1 for address in b.truth(s[b.mark()])]
        pcs = [value(text) for text in s.all("p/x $pc")]
        equal(pcs[:2], [ran[-1], ran[-2]], "PCs of the last two instructions")
        expect(pcs[2] in ran, f"no such PC: {pcs[2]:#x}")
        numbers = [has(text, r"= (.*)$")[1] for text in s.all("p $r0")]
        equal(numbers[0], numbers[1], "r0 at the halt")


def values_of(output):
    """{register: number} of those that `info registers` knows."""
    return {name: int(number, 16) for name, number in
            re.findall(r"^(r\d+|sp|lr|pc) +(0x[0-9a-f]+)\b", output, re.MULTILINE)}


@each("reconstructed values are what they were")
def _(core):
    stops, steps = 10, 16
    look = ("info registers",)
    ask = (*look, "monitor explain sp", "monitor explain lr")
    with board(core) as b:
        s = b.session("break compare", "break add_value", "break read_number", "break copy_name",
                      *(("continue", *look) * stops), *(("stepi", *look) * steps),
                      *(("reverse-stepi", *ask) * steps), *(("reverse-continue", *ask) * (stops - 1)))
    halts = [values_of(text) for text in s.all("info registers")]
    was, now = halts[:stops + steps], halts[stops + steps:]
    known = 0
    for then, again, sp, lr in zip(was[-2::-1], now, s.all("monitor explain sp"),
                                   s.all("monitor explain lr"), strict=True):
        for name, text in (("sp", sp), ("lr", lr)):
            if "NOT known" in text:
                del again[name]
        for name, number in again.items():
            equal(number, then[name], f"{name}, PC {then['pc']:#x}")
        expect("pc" in again, "no PC")
        known += len(again) - 1
    expect(known >= len(now) * 15 * 9 // 10, f"only {known} of {len(now) * 15} registers known")


@suite.test("probe Cortex-M7: an excluded function is not in the history, an included one alone is")
def _():
    elf = CORES["Cortex-M7"][0]
    names = run(["arm-none-eabi-nm", "-S", str(elf)])
    start, size = (int(n, 16) for n in
                   has(names, r"^([0-9a-f]+) ([0-9a-f]+) \w compare$").groups())
    start &= ~1
    filters = f"{start:#x}-{start + size - 1:#x}"
    calls = ("tbreak add_value", "continue", "tbreak add_value", "continue",
             "set record function-call-history-size 0", "record function-call-history")
    with board("Cortex-M7") as b:
        s = b.session("record btrace", *calls)
        has(s["record function-call-history"], r"\tcompare$")
    with board("Cortex-M7") as b:
        s = b.session("record btrace", f"monitor trace filter exclude {filters}", *calls,
                      "monitor trace filter nonsense")
        has(s[f"monitor trace filter exclude {filters}"], r"^the filter is set: exclude 0x")
        lacks(s["record function-call-history"], r"\tcompare$")
        has(s["record function-call-history"], r"\tfind_topic$")
        has(s["monitor trace filter nonsense"], "^trace filter include START-END, exclude")
    with board("Cortex-M7") as b:
        s = b.session("record btrace", f"monitor trace filter include {filters}", *calls)
        names = set(re.findall(r"^\d+\t(\w+)$", s["record function-call-history"], re.MULTILINE))
        expect("compare" in names and not names & {"find_topic", "main"}, f"traced: {names}")


@each("no rule of the trace unit is broken, from its discovery to its stop")
def _(core):
    report = folder() / "report"
    with board(core, "--report", report) as b:
        b.session("record btrace", "tbreak add_value", "continue", "monitor trace off", "stepi",
                  "monitor trace on", "stepi", "monitor reset", "stepi")
    counted = dict(re.findall(r"^(etm4-[a-z-]+) (\d+)", report.read_text(), re.MULTILINE))
    expect(counted, f"no counters of the trace unit: {report.read_text()[:300]}")
    broken = {name: n for name, n in counted.items() if n != "0" and name[5:] in RULES}
    expect(not broken, f"{broken}")


@each("a trace unit that may not trace: run control without history, and why")
def _(core):
    why = r"may not trace: the chip is closed \(TRCAUTHSTATUS"
    with board(core, "--fault", "etm-off=1") as b:
        logged(b, rf"core m: no history: the trace unit at 0xe0041000 {why}")
        s = b.session("tbreak add_value", "continue", "stepi", "monitor trace status")
        has(s["continue"], r"^Temporary breakpoint 1, add_value \(topic=")
        has(s["monitor trace status"], why)


@suite.test("probe Cortex-M33: a chip that is closed for Secure debug: GDB takes the registers that it has")
def _():
    with board("Cortex-M33", "--fault", "secure-off=1") as b:
        logged(b, "only Non-secure code can be debugged")
        s = b.session("tbreak add_value", "continue", "p/x $msp_ns", "p $msp_s")
        has(s["continue"], r"^Temporary breakpoint 1, add_value \(topic=")
        value(s["p/x $msp_ns"])
        has(s["p $msp_s"], "= void$")
        lacks(s.text, "rejected|missing required")


@each("a trace unit that never becomes idle, and one that loses its power")
def _(core):
    with board(core, "--fault", "etm-busy=1") as b:
        s = b.session("tbreak add_value", "continue", "monitor trace off", "stepi")
        has(s["stepi"], r"not traced: the trace unit of core m does not become idle \(TRCSTATR\)")
    with board(core) as b, Wire(b) as wire:
        wire.monitor("reset")
        wire.run_to(symbol(b.elf, "main"), 2)
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        before = len(wire.blocks())
        b.bench("fault etm-power=1")
        wire.run_to(symbol(b.elf, "add_value"), 2)
        after = len(wire.blocks())
        expect(after > before + 100, f"{before} blocks, {after} after the power was lost")


@suite.test("probe Cortex-M33: no comparators, no filter")
def _():
    with board("Cortex-M33") as b:
        s = b.session("monitor trace filter include 0-0xfff")
        has(s["monitor trace filter include 0-0xfff"],
            "^the trace unit of core m has no address comparators: it traces all addresses$")


# Slow, and the core waits for it (TRCSTALLCTLR): nothing is lost however busy this machine is.
SWO = "sink = swo\nswo_rate = 200k\ntrace_clock = 64M"
STALL = "TRCSTALLCTLR = 0x10c\nTRCTRACEIDR = 0x2a"


def over_pins(core, *options, **keys):
    """Two runs of a core whose trace goes through its TPIU: what is listed is what ran, and
    nothing is lost."""
    with board(core, *options, wishes=STALL, **keys) as b:
        s = b.session("record btrace", "tbreak add_value", "continue", *LIST, b.mark(), "stepi 7",
                      "tbreak report_topics", "continue", "info record", "monitor trace status",
                      "set record instruction-history-size 2000", LIST[-1], b.mark(),
                      "monitor trace gaps")
        for rows, mark in zip(s.all(LIST[-1]), s.all(b.mark()), strict=True):
            found = history(rows)
            expect(len(found) >= 300, f"only {len(found)} instructions listed")
            tail_of(found, b.truth(mark), len(found))
        equal(record_counts(s["info record"])[2], 0, "gaps")
        status = s["monitor trace status"]
        for line in (r"lost +nothing", r"last run +complete up to the halt",
                     r"trace IDs +0x2a m\b", r"core +m, traced by ETM4\.\d"):
            has(status, f"^{line}")
        lacks(s["monitor trace gaps"], r"wire|lost|overflow|bad|desync|unknown")
        return status


@each("its ETMv4 over SWO, streamed and polled: the history is what ran")
def _(core):
    for options, rate in (((), "200k"), (("--v1",), "20k"))[:2 if FULL else 1]:
        over_pins(core, "--sink", "swo", *options, trace=SWO.replace("200k", rate),
                  probe="at_exit = halt\nclock = 4M")


@each("its ETMv4 over the pins of the TPIU, by an ORBTrace: the history is what ran")
def _(core):
    for unit, width in (("orbtrace", 4), ("orbtrace,frames", 1))[:2 if FULL else 1]:
        status = over_pins(core, "--probe", unit, "--sink", "tpiu",
                           probe="usb = 1209:3443\nclock = 4M",
                           trace=f"sink = tpiu\ntpiu_width = {width}",
                           more="[capture]\ntype = orbtrace\n")
        has(status, "^trace clock +running: Model ORBTrace mini")


if __name__ == "__main__":
    suite.run()
