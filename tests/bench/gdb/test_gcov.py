#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""btraced coverage against gcov: a program from a seed, with --coverage on this machine and without
any instrumentation on a virtual board, has the same lines that ran and the same calls of each function.
Tests coverage.c and dwarf_lines.c."""

import os
import random
import re
import subprocess

from export_runs import BOARDS, FULL, SOURCES, build, command, tracefile
from replay_gdb import BTRACED, PATIENCE, Suite, environment, equal, expect, folder

suite = Suite()
FUNCTIONS = 9  # the last one is never called
SEED = int(os.environ.get("GCOV_SEED", random.SystemRandom().randrange(1 << 32)))


def condition(r):
    """Of what runs always, now and then, and never."""
    return r.choice((f"(next() & {r.choice((1, 1, 3, 15, 255))}) == 0",
                     f"(next() & 1) && x > {r.randrange(1 << 16)}u",
                     f"x == {r.randrange(1 << 30)}u || (next() & 3) == 1", f"x % {r.randrange(2, 9)}"))


def simple(r, number):
    callee = min(r.randrange(number + 1, number + 4), FUNCTIONS - 1)
    return r.choice((f"x += {r.randrange(1, 999)};", "x ^= next();", "x = (x << 3) + (x >> 7);",
                     "x += next() & 1 ? 5 : x;",
                     f"x += f{callee}(x);" if callee < FUNCTIONS - 1 else "total += x;"))


def statement(r, number, depth, loop):
    """Lines of one, indented from 0 on."""
    def inner(loop=loop):
        return ["    " + line for _ in range(r.randrange(1, 4))
                for line in statement(r, number, depth + 1, loop)]
    kind = r.randrange(8 if depth < 3 else 2)
    if kind == 0 and depth:
        return [r.choice((*(("break;", "continue;") if loop else ()), "return x;", "goto out;"))]
    if kind < 3:
        return [simple(r, number)]
    if kind < 5:
        way = r.choice((["} else {", *inner()], [f"}} else if ({condition(r)}) {{", *inner()], []))
        return [f"if ({condition(r)}) {{", *inner(), *way, "}"]
    if kind == 5:
        i = f"i{depth}"
        return [f"for (u32 {i} = 0; {i} < (x & 3); {i}++) {{", *inner(True), "}"]
    if kind == 6:
        n = f"n{depth}"
        body = [f"    {n}--;", *inner(True)]
        return [f"{n} = next() & 3;", *([f"while ({n}) {{", *body, "}"] if r.randrange(2) else
                                            ["do {", *body, f"}} while ({n} & 3);"])]
    cases = []
    for at in range(r.randrange(2, 5)):
        cases += [f"case {at}:", *inner(loop), *([] if r.randrange(4) == 0 else ["    break;"])]
    return [f"switch (next() & {r.choice((3, 7))}) {{", *cases, "default:", *inner(loop), "}"]


def source(seed):
    r = random.Random(seed)
    rows = ["typedef unsigned u32;", "volatile u32 total;", f"static u32 state = {seed % 65521};",
            "static u32 fuel = 600;", "", "static u32 next(void)", "{",
            "    state = state * 1664525u + 1013904223u;", "    return state >> 16;", "}", ""]
    for number in reversed(range(FUNCTIONS)):
        rows += [f"u32 f{number}(u32 x)", "{", "    u32 n0 = 0, n1 = 0, n2 = 0;", "", "    if (fuel == 0)", "        return 0;", "    fuel--;"]
        for _ in range(r.randrange(3, 7)):
            rows += ["    {", *("        " + row for row in statement(r, number, 0, False)), "    }"]
        rows += ["    goto out;", "out:", "    return x;", "}", ""]
    return "\n".join([*rows, "void work(void)", "{", "    for (u32 i = 0; i < 20; i++)",
                      "        total += f0(i);", "}", ""])


# What the board calls, and what calls the program: not compared.
AROUND = """
#if __STDC_HOSTED__ == 0
#include "board.h"
struct fault fault;
volatile unsigned wait_when_idle;
void timer_tick(void) { }
void stopped_here(void) { for (;;) wait_for_interrupt(); }
#else
static void stopped_here(void) { }
#endif
#include "random.c"
int main(void)
{
    work();
    stopped_here();
    return 0;
}
"""


def by_gcov(board, place):
    """{line: times}, {function: times}, by the coverage of the compiler that the board's program is made
    with."""
    compiler, reader = ("clang", ["llvm-cov", "gcov"]) if board == "a53" else ("gcc", ["gcov"])
    command(compiler, "-O0", "--coverage", "-c", "around.c", cwd=place)
    command(compiler, "--coverage", "around.o", "-o", "program", cwd=place)
    command(place / "program", cwd=place)
    command(*reader, "-b", "-c", "around.gcda", cwd=place)
    lines, functions = {}, {}
    for row in (place / "random.c.gcov").read_text().splitlines():
        line = re.match(r" *(\d+|#####)\*?: *(\d+):", row)
        function = re.match(r"function (\w+) called (\d+)", row)
        if line:
            lines[int(line[2])] = int(line[1].replace("#####", "0"))
        if function:
            functions[function[1]] = int(function[2])
    return lines, functions


def by_trace(board, place):
    elf = build(board, "-O0", f"-I{SOURCES}", source=str(place / "around.c"))
    done = subprocess.run([BTRACED, "run", "-c", f"virtual-{board}", "--program", elf, "--until",
                           "stopped_here", "--max-lost", "0", "--coverage", place / "run.info"],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=5 * PATIENCE, env=environment())
    equal(done.returncode, 0, f"btraced run: {done.stderr[-2000:]}")
    found = tracefile((place / "run.info").read_text())["random.c"]
    return found["DA"], found["FN"]


# What gcov alone lists: the compiler for this machine marks it, and no instruction is made of it.
JUMP = r"(break|continue|goto out|return x);"  # those to one place share their code, which has the line of one
NO_CODE = (r"case \d+:|default:|out:"  # labels
           r"|(static )?\w+ \w+\(.*\)"  # a function's head: its code begins at the line of its brace
           rf"|{JUMP}")
# What the object code alone has: the begin and the end of a block, where a loop or a function jumps. At
# a function's brace gcov has, at most, what no statement leads to.
NO_STATEMENT = r"\{|\}|do \{|\} else \{"


def check(board, seed):
    for another in range(20):  # some programs are over at once
        place, text = folder(), source(seed + another * (1 << 32))
        (place / "random.c").write_text(text)
        (place / "around.c").write_text(AROUND)
        theirs, their_functions = by_gcov(board, place)
        if sum(map(bool, theirs.values())) > 4 * FUNCTIONS:
            break
    ours, our_functions = by_trace(board, place)
    equal(our_functions, their_functions, "calls of functions")
    rows = dict(enumerate(map(str.strip, text.splitlines()), 1))
    both = set(ours) & set(theirs)
    equal([f"{n}: {rows[n]}: {ours[n]} times, gcov {theirs[n]}" for n in sorted(both)
           if bool(ours[n]) != bool(theirs[n]) and
           not re.fullmatch(rf"{JUMP}|{NO_STATEMENT}", rows[n])], [], "lines that ran")
    unreachable = {n for n in theirs if board == "a53" and not theirs[n]}  # clang lists them
    for alone, pattern, whose in ((set(theirs) - both - unreachable, NO_CODE, "gcov"),
                                  (set(ours) - both, NO_STATEMENT, "btraced")):
        equal([f"{n}: {rows[n]}" for n in sorted(alone) if not re.fullmatch(pattern, rows[n])], [],
              f"lines that {whose} alone has")
    expect(sum(bool(ours[n]) for n in both) > FUNCTIONS and len(both) > len(theirs) // 2,
           f"{len(both)} lines to compare")


for at in range(3 if FULL else 1):
    for board in BOARDS if FULL else ("m3", "a9", "a53"):
        @suite.test(f"coverage: {board}: gcov has the same lines (GCOV_SEED={SEED + at})")
        def _(board=board, seed=SEED + at):
            check(board, seed)


suite.run()
