#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""btraced profile against what really ran on the virtual boards, and against callgrind_annotate. Tests
calls.c, calls_piece.c, profile.c and profile_callgrind.c."""

import collections
import json
import os
import random
import re
import time
from bisect import bisect_right

from export_runs import RUNS, Run, command
from replay_gdb import Suite, equal, expect, folder, has

suite = Suite()
CALL = re.compile(r"(bl|blx|blr|bl\.n|bl\.w)$")


class Functions:
    """Names by address, as nm has them: of two at one address any, and no more than one."""

    def __init__(self, run):
        self.names = run.functions()
        self.order = sorted(self.names)

    def entry(self, address):
        at = bisect_right(self.order, address)
        return self.order[at - 1] if at else None


def calls_that_ran(run, truth, listing, functions):
    """Counter of (call, callee's entry). Where an exception comes in between the callee is the target
    of the call, or runs when the handler is over."""
    found, handlers = collections.Counter(), set()
    for at, address in enumerate(truth[:-1]):
        name, operands = listing[address]
        if not CALL.match(name):
            continue
        target = re.search(r"(?:^|\s)(?:0x)?([0-9a-f]+) <", operands)
        if target:
            found[address, int(target[1], 16)] += 1
        else:
            callee = truth[at + 1]
            if functions.names.get(callee, "").endswith(("_handler", "_entry", "vectors")):
                handlers.add(address)
            else:
                found[address, callee] += 1
    return found, handlers


def parse_callgrind(text):
    """Self cost by instruction, {(site, callee's address): calls}, {(site, callee): cost of it}."""
    cost, calls, inclusive = collections.Counter(), collections.Counter(), collections.Counter()
    total, arc, skip = 0, None, False
    for row in text.splitlines():
        words = row.split()
        if row.startswith("calls="):
            arc = int(words[0].split("=")[1]), int(words[1], 16)
        elif row.startswith(("jcnd=", "jump=")):
            skip = True
        elif row.startswith("totals:"):
            total = int(words[1])
        elif row.startswith("0x") and skip:
            skip = False
        elif row.startswith("0x") and arc:
            calls[int(words[0], 16), arc[1]] += arc[0]
            inclusive[int(words[0], 16), arc[1]] += int(words[2])
            arc = None
        elif row.startswith("0x"):
            cost[int(words[0], 16)] += int(words[2])
    return cost, calls, inclusive, total


def annotated(run, text):
    """{function: instructions} as callgrind_annotate has it."""
    place = folder() / "callgrind.out"
    place.write_text(text)
    out = command("callgrind_annotate", "--auto=no", "--threshold=100", place)
    total = int(has(out, r"^([\d,]+) \(100\.0%\)  PROGRAM TOTALS")[1].replace(",", ""))
    found = collections.Counter()
    for row in re.finditer(r"^ *([\d,]+) \( *[\d.]+%\)  \S*?([^:\s]+)(?: \[|$)", out, re.MULTILINE):
        found[row[2]] += int(row[1].replace(",", ""))
    return found, total


def profile_against_truth(run):
    text = run.export("profile")
    truth, listing = run.proved(text), run.listing()
    functions = Functions(run)
    cost, calls, inclusive, total = parse_callgrind(text)
    equal(cost, collections.Counter(truth), "instructions")
    equal(total, len(truth), "totals")
    found, handlers = calls_that_ran(run, truth, listing, functions)
    # The last call may lead to what the log no longer has.
    for site, callee in set(found) | {arc for arc in calls if CALL.match(listing[arc[0]][0])}:
        if site not in handlers:
            expect(0 <= found[site, callee] - calls[site, callee] <= (site in truth[-2:]),
                   f"{site:#x} called {callee:#x} {calls[site, callee]} times, not "
                   f"{found[site, callee]}")
    by_name = collections.Counter()
    for address in truth:
        by_name[functions.names[functions.entry(address)]] += 1
    theirs, their_total = annotated(run, text)
    equal(their_total, len(truth), "callgrind_annotate: totals")
    equal({name: n for name, n in theirs.items() if n},
          {name: n for name, n in by_name.items() if n}, "callgrind_annotate: functions")
    return by_name, inclusive


def stacks_against_truth(run, by_name, inclusive):
    """What ran, stack by stack; what main called, and nothing of it in a handler."""
    found, below = collections.Counter(), 0
    for row in run.export("profile", "--format", "folded").splitlines():
        stack, _, count = row.rpartition(" ")
        names = [name.split(" ")[0] for name in stack.split(";")[1:]]
        found[names[-1]] += int(count)
        expect(not any("_handler [" in name for name in stack.split(";")[2:]),
               f"a handler has a caller: {row}")
        below += int(count) if "main" in names[:-1] else 0
    equal(found, by_name, "folded stacks")
    main = next(address for address, name in run.functions().items() if name == "main")
    listing, names = run.listing(), Functions(run)
    equal(sum(cost for (site, _), cost in inclusive.items() if names.entry(site) == main), below,
          "what main called")
    return listing


def in_parts(run, text):
    """16 of them, merged, are the same callgrind file."""
    files = [folder() / f"{i}.counts" for i in range(1, 17)]
    for i, file in enumerate(files):
        run.export("profile", "--part", f"{i + 1}/16", "-o", str(file))
    merged = command(run.btraced, "merge", "--elf", run.elf, "--format", "callgrind", *files)
    expect(merged == text, "16 parts are another profile")


def speedscope(run, by_name):
    data = json.loads(run.export("profile", "--format", "speedscope"))
    frames, found = data["shared"]["frames"], collections.Counter()
    [profile] = data["profiles"]
    equal(len(profile["samples"]), len(profile["weights"]), "weights")
    for stack, weight in zip(profile["samples"], profile["weights"]):
        found[frames[stack[-1]]["name"].split(" ")[0]] += weight
    equal(found, by_name, "speedscope's samples")
    equal(profile["endValue"], sum(by_name.values()), "endValue")
    has(data["name"], "instructions from")


for board, level in RUNS:
    @suite.test(f"profile: {board} {level}: instructions, calls and stacks that ran")
    def _(board=board, level=level):
        run = Run(board, level)
        by_name, inclusive = profile_against_truth(run)
        stacks_against_truth(run, by_name, inclusive)
        speedscope(run, by_name)
        in_parts(run, run.export("profile"))
        text = run.export("profile", "--format", "text")
        top, count = by_name.most_common(1)[0]
        has(text, rf"^ +{count} +[\d.]+% +\d+ +\d+  {top}$", "text")


@suite.test("profile: cycles that the trace counts, bad options")
def _():
    run = Run("a9", "-O1", count=20000, registers={"etmcr": 0x20001000})
    text = run.export("profile")
    has(text, "^events: Ir Cycles$")
    summary = command(run.btraced, "decode", "--elf", run.elf, run.recording)
    cycles = int(has(summary, r"cycles +(\d+)")[1])
    counted = int(has(text, r"^totals: \d+ (\d+)$")[1])
    expect(0 < counted <= cycles, f"{counted} cycles of {cycles}")
    in_parts(run, text)
    for options in (["--format", "lcov"], ["--objects"], ["--fail-under", "3"]):
        run.export("profile", *options, code=2)


@suite.test("profile: blocks that the decoder has counted are those that are looked up")
def _():
    """With -j 2 each block is looked up; with damage blocks are taken back, too."""
    seed = int(os.environ.get("BTRACED_SEED", time.time_ns() % 2**32))
    print(f"# BTRACED_SEED={seed}")
    rng = random.Random(seed)
    run = Run(*rng.choice(RUNS))
    trace = run.recording / "buffer_0.bin"
    whole = trace.read_bytes()
    for damage in 0, 1, 10, 100:
        data = bytearray(whole)
        for _ in range(damage):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        trace.write_bytes(data)
        for form in "callgrind", "folded":
            text = run.export("profile", "--format", form)
            expect(text == run.export("profile", "--format", form, "-j", "2"),
                   f"{form} differs; {damage} times damaged")


suite.run()
