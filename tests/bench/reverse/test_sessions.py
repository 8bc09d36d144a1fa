#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Sessions of stock GDB that walk back and forth over source lines of a recorded program: steps into
and over calls, finish, until, breakpoints one after the other, watchpoints."""

import re
import sys
from pathlib import Path

import bench

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from replay_gdb import (Server, Skipped, Suite, equal, expect, folder, gdb, has,  # noqa: E402
                        lacks, same_list)

suite = Suite()
SOURCE = bench.HERE / "target" / "steps.c"
LINES = {match[1]: number for number, text in enumerate(SOURCE.read_text().splitlines(), 1)
         if (match := re.search(r"/\* (\w[\w ]*\w) \*/$", text))}
BUILDS = {}


def build(kind):
    """The program, run and recorded."""
    reason = bench.missing()
    if reason:
        raise Skipped(reason)
    if kind not in BUILDS:
        BUILDS[kind] = bench.Case(folder(), kind, "O0", sources=("start_a.S", "steps.c")).execute()
    return BUILDS[kind]


def session(kind, *commands):
    """From the first line of main. The commands see the program's lines as $line_name."""
    case = build(kind)
    with Server(case.recording, "--elf", str(case.elf)) as server:
        start = ["record stop", "monitor goto begin", "stepi", "tbreak main", "continue"]
        done = gdb(server.port, [*start, *commands], elf=case.elf)
    lacks(done.text, "is not available|internal-error|SIGTRAP")
    done.outputs, done.commands = done.outputs[len(start) + 1:], done.commands[len(start) + 1:]
    return done


def at(name):
    return f"steps.c:{LINES[name]}"


def lines(done):
    """Names of the lines that GDB showed, one for each motion."""
    names = {number: name for name, number in LINES.items()}
    motion = re.compile(r"^(reverse-|step|next|finish|until|advance|continue)")
    found = []
    for command, output in zip(done.commands, done.outputs):
        if motion.match(command):
            shown = re.findall(r"^(?:0x[0-9a-f]+\t)?(\d+)\t", output, re.MULTILINE)
            found.append(names.get(int(shown[-1]), shown[-1]) if shown else output.strip()[-60:])
    return found


def both(name):
    """Adds the test for A32 and T32 code."""
    def add(function):
        for kind in ("a32", "t32"):
            suite.test(f"sessions, {kind}: {name}")(lambda kind=kind: function(kind))
    return add


@both("step into and out of functions, in both directions")
def _(kind):
    into = ["outer call", "inner first", "inner middle", "inner last", "inner end"]
    done = session(kind, "next", "next", *["step"] * 6, *["reverse-step"] * 6)
    same_list(lines(done), ["main mark", "main outer", *into, "outer again", *into[::-1],
                            "main outer"], "lines")


@both("next goes over calls and recursion, in both directions")
def _(kind):
    forward = ["main mark", "main outer", "main second mark"]
    done = session(kind, "next", "next", "next", "reverse-next", "reverse-next", "reverse-next",
                   f"tbreak {at('main countdown')}", "continue", "next", "next", "reverse-next",
                   "reverse-next", "p value", "p total")
    got = lines(done)
    same_list(got[:6], forward + ["main outer", "main mark", "main first"], "lines")
    same_list(got[6:], ["main countdown", "main third mark", "main end", "main third mark",
                        "main countdown"], "lines over recursion")


@both("finish and reverse-finish")
def _(kind):
    done = session(kind, "tbreak inner", "continue", "bt", "finish", "reverse-step",
                   "reverse-finish", "bt", "reverse-finish", "bt")
    names = [re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\w+)", o, re.MULTILINE)
             for o in done.all("bt")]
    same_list(names, [["inner", "outer", "main"], ["outer", "main"], ["main"]], "backtraces")
    got = lines(done)
    equal(got[0], "inner first", "the breakpoint")
    equal(got[1:], ["outer call", "inner end", "outer call", "main outer"], "lines")
    has(done["finish"], r"^Value returned is \$\d+ = 7$")


@both("until and advance, in both directions")
def _(kind):
    done = session(kind, f"advance {at('main loop')}", "bt 1", f"until {at('main third mark')}",
                   "set exec-direction reverse", f"until {at('main countdown')}",
                   f"advance {at('outer last')}", f"until {at('outer call')}", "bt")
    same_list(lines(done), ["main loop", "main third mark", "main countdown", "outer last",
                            "outer call"], "lines")
    has(done["bt"], r"^#1 .* main ")


@both("breakpoints in reverse order")
def _(kind):
    forward = ["main mark", "outer call", "outer again", "main second mark", "countdown end"]
    breaks = [f"break {at(name)}" for name in forward]
    done = session(kind, *breaks, *["continue"] * 6, *["reverse-continue"] * 6)
    same_list(lines(done)[:5], forward, "lines")
    has(done.all("continue")[5], "No more reverse-execution history")
    same_list(lines(done)[6:11], forward[::-1], "lines back")
    has(done.all("reverse-continue")[5], "No more reverse-execution history")


@both("breakpoints on one instruction after the other")
def _(kind):
    done = session(kind, "break *main", "tbreak inner", "continue", "set $first = $pc", "stepi",
                   "break *$pc", "stepi", "break *$pc", "stepi", "reverse-stepi",
                   "reverse-stepi", "break *$first", "reverse-continue", "p $pc == $first",
                   "stepi", "reverse-stepi", "p $pc == $first", "reverse-continue")
    has(done["reverse-continue"], r"^Breakpoint \d+, ")
    for answer in done.all("p $pc == $first"):
        has(answer, "= 1$")
    has(done.all("reverse-continue")[1], r"^Breakpoint \d+, .*main")


@both("reconstructed values: arguments, locals, depth of a recursion")
def _(kind):
    done = session(kind, f"tbreak {at('countdown end')}", "continue", "bt", "p left", "up",
                   "p left", "up 2", "p left", "tbreak mark", "reverse-continue", "p number",
                   "p total")
    same_list([int(has(o, r"= (-?\d+)$")[1]) for o in done.all("p left")], [0, 1, 3], "left")
    equal(done["bt"].count("countdown"), 5, "depth")
    has(done["p number"], "= 1$")


@both("software watchpoints see what is known to have changed")
def _(kind):
    done = session(kind, f"tbreak {at('countdown end')}", "continue", "tbreak inner",
                   "reverse-continue", "set can-use-hw-watchpoints 0", "watch twice",
                   "continue", "continue")
    has(done.all("continue")[1], r"Old value = .*\nNew value = ")
    expect("twice" in done.all("continue")[1], "the watchpoint has no name")


@both("a breakpoint within a function ends motions that would go over it")
def _(kind):
    done = session(kind, "next", "next", "next", f"break {at('inner middle')}", "reverse-next",
                   "reverse-finish", "delete", "reverse-finish", f"tbreak {at('main second mark')}",
                   "continue", "break inner", "reverse-next", "reverse-step", "reverse-step",
                   "stepi 3", "reverse-finish")
    got = lines(done)
    same_list(got[:3], ["main mark", "main outer", "main second mark"], "lines")
    has(done.all("reverse-next")[0], r"^Breakpoint \d+, inner ")
    equal(got[4:6], ["outer again", "main outer"], "lines behind reverse-finish")
    has(done.all("reverse-next")[1], r"^Breakpoint \d+, .*inner ")


@both("many steps at once, and back the same way")
def _(kind):
    done = session(kind, "step 12", "p $pc", "stepi 40", "reverse-stepi 40", "p $pc",
                   "reverse-step 12", "next 3", "p $pc", "reverse-next 3", "next 3", "p $pc")
    pcs = [has(o, r"0x\w+")[0] for o in done.all("p $pc")]
    equal(pcs[1], pcs[0], "PC behind as many steps back")
    equal(pcs[3], pcs[2], "PC behind as many nexts")


@suite.test("sessions, m4: a floating-point result is not known, and GDB lives")
def _():
    reason = bench.missing()
    if reason:
        raise Skipped(reason)
    case = bench.Case(folder(), "m4", "O0").execute()
    with Server(case.recording, "--elf", str(case.elf)) as server:
        done = gdb(server.port, ["record stop", "break weighted", "reverse-continue", "finish",
                                 "bt 1", "p $s0", "p $d0"],
                   elf=case.elf)
    has(done["finish"], r" in blend \(")
    has(done["bt 1"], r"^#0 .* in blend \(")
    for command in ("p $s0", "p $d0"):
        has(done[command], "= <unavailable>$")


suite.run()
