#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""btraced feedback against what really ran on the virtual boards, and against create_llvm_prof,
llvm-profgen and perf2bolt. Tests feedback.c."""

import collections
import re
import subprocess
from pathlib import Path

from export_runs import Run, command
from replay_gdb import PATIENCE, Skipped, Suite, equal, expect, folder, has, tool

suite = Suite()


def offset_of(run):
    """From an address to what create_llvm_prof counts from the first segment on."""
    text = command(run.prefix + "readelf", "-lW", run.elf)
    first = int(has(text, r"^ +LOAD +0x\w+ 0x(\w+)")[1], 16)
    return lambda at: at - first


def parse_autofdo(text):
    """{(first, last): count}, {(from, to): count}."""
    rows = iter(text.splitlines())
    ranges = [next(rows) for _ in range(int(next(rows)))]
    equal(next(rows), "0", "single addresses")
    branches = [next(rows) for _ in range(int(next(rows)))]

    def read(found, between):
        out = {}
        for row in found:
            pair, _, count = row.partition(":")
            first, last = (int(word, 16) for word in pair.split(between))
            expect((first, last) not in out, f"{row} comes twice")
            out[first, last] = int(count)
        return out
    return read(ranges, "-"), read(branches, "->")


def check_ranges(ranges, order, truth):
    """Each instruction is in ranges as often as it ran."""
    found = collections.Counter()
    place = {address: at for at, address in enumerate(order)}
    for (first, last), count in ranges.items():
        for address in order[place[first]:place[last] + 1]:
            found[address] += count
    wanted = collections.Counter(truth)
    differ = {hex(a): (found[a], wanted[a]) for a in set(found) | set(wanted)
              if found[a] != wanted[a]}
    equal(differ, {}, "instructions in ranges")


def check_branches(branches, order, truth):
    """Each branch went there as often as the log says; an exception may come before its target."""
    behind = dict(zip(order, order[1:]))
    seen = collections.Counter(pair for pair in zip(truth, truth[1:]) if pair[1] != behind[pair[0]])
    executed = collections.Counter(truth)
    for pair, count in branches.items():
        expect(seen[pair] <= count <= executed[pair[0]],
               f"branch {pair[0]:#x} -> {pair[1]:#x}: {count}, not {seen[pair]}")
    interrupted = sum(branches.values()) - sum(seen[pair] for pair in branches)
    left = sum(n for pair, n in seen.items() if pair not in branches)
    # What is no branch here is the entry of an exception, and its return.
    expect(interrupted <= left, f"{interrupted} branches were interrupted by {left} exceptions")


def judged_by_autofdo(run, text, truth):
    """Names of what is inlined are garbage in the text of create_llvm_prof 0.19."""
    path = folder()
    (path / "run.txt").write_text(text)
    usage = subprocess.run([tool("create_llvm_prof"), "--profiler=text", "--format=text"], stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=PATIENCE).stderr
    if "support was not enabled" in usage:
        raise Skipped("this create_llvm_prof was built without LLVM; all but its judgement is tried")
    command("create_llvm_prof", "--profiler=text", f"--binary={run.elf}", "--format=text",
            f"--profile={path}/run.txt", f"--out={path}/out")
    out = (path / "out").read_text(errors="replace")
    found = dict(re.findall(r"^(\w+):(\d+):\d+$", out, re.MULTILINE))
    expect(int(found.get("main", 0)) > 0, f"create_llvm_prof knows nothing of main: {out[:300]}")
    functions = run.functions()
    ran = {functions.get(address) for address in truth}
    expect(set(found) <= ran, f"functions that did not run: {set(found) - ran}")


def declared(run):
    """{function: line of its declaration} by readelf."""
    found = {}
    text = command(run.prefix + "readelf", "--debug-dump=info", run.elf)
    for entry in re.split(r"^ <\w+><\w+>: Abbrev Number", text, flags=re.MULTILINE):
        name = re.search(r"DW_AT_name .*?(\w+)$", entry, re.MULTILINE)
        line = re.search(r"DW_AT_decl_line +: (\d+)", entry)
        if "(DW_TAG_subprogram)" in entry and "DW_AT_declaration" not in entry and name and line:
            found[name[1]] = int(line[1])
    return found


def places(run, addresses):
    """{address: ((function, line in it), ...)}, the outermost first, by addr2line."""
    addresses, start, found = sorted(addresses), declared(run), {}
    text = command(run.prefix + "addr2line", "-a", "-f", "-i", "-e", run.elf,
                   input="\n".join(map(hex, addresses)))
    for part in re.split(r"^0x", text, flags=re.MULTILINE)[1:]:
        address, *rows = part.splitlines()
        lines = [re.search(r":(\d+|\?)( \(|$)", row)[1].replace("?", "0") for row in rows[1::2]]
        found[int(address, 16)] = tuple(
            (name, int(line) - start.get(name, 0) & 0xffff)
            for name, line in zip(reversed(rows[::2]), reversed(lines)))
    return found


def parse_profile(text):
    """{((function, line in it), ...): count}, {function: times entered} of a text profile of LLVM."""
    counts, heads, stack = {}, {}, []
    for row in text.splitlines():
        words = row.split()
        del stack[len(row) - len(row.lstrip()):]
        head = re.match(r"(\w+):\d+:(\d+)$", row)
        if head:
            heads[head[1]], stack = int(head[2]), [(None, head[1])]
            continue
        line = int(re.match(r"\d+", words[0])[0])
        inlined = re.match(r"(\w+):\d+$", words[1])
        if inlined:
            stack.append((line, inlined[1]))
            continue
        path = [(name, at) for (_, name), (at, _) in zip(stack, stack[1:])] + [(stack[-1][1], line)]
        counts[tuple(path)] = max(int(words[1]), counts.get(tuple(path), 0))
    return {path: count for path, count in counts.items() if count}, heads


def check_stacks(run, text, truth):
    """{(branch before or 0, first, last): count}: each was so often on the way, and what they count is what
    AutoFDO's text has. Branches with an exception right behind them stand alone."""
    found, alone = {}, collections.Counter()
    for count, *stack in re.findall(r"^(\d+)\n \w+ 0x(\w+)/0x(\w+)/P/-/-/0(?: 0x(\w+)/0x(\w+)/P/-/-/0)?$",
                                    text, re.MULTILINE):
        last, target, before, first = (int(word or "0", 16) for word in stack)
        if stack[3]:
            found[before, first, last] = int(count)
        else:
            alone[last, target] += int(count)
    listing = sorted(run.listing())
    behind, seen, start = dict(zip(listing, listing[1:])), collections.Counter(), 0
    for at, address in enumerate(truth):
        if at + 1 == len(truth) or truth[at + 1] != behind[address]:
            seen[truth[start - 1] if start else 0, truth[start], address] += 1
            start = at + 1
    differ = {way: (count, seen[way]) for way, count in found.items() if way[0] and count != seen[way]}
    equal(differ, {}, "branches with the range behind them")
    place, ranges, branches = offset_of(run), collections.Counter(), collections.Counter()
    for (before, first, last), count in found.items():
        ranges[place(first), place(last)] += count
        if before:
            branches[place(before), place(first)] += count
    for pair, count in alone.items():
        branches[tuple(map(place, pair))] += count
    equal((ranges, branches), parse_autofdo(run.export("feedback")), "ranges and branches in stacks")
    return found, alone


def judged_by_profgen(run, text, truth):
    """llvm-profgen names each line that ran, inlined ones by who called them, with its count."""
    found, alone = check_stacks(run, text, truth)
    path = folder()
    (path / "run.txt").write_text(text)
    command("llvm-profgen-19", f"--binary={run.elf}", f"--perfscript={path}/run.txt", "--format=text",
            f"--output={path}/out")
    lines, heads = parse_profile((path / "out").read_text())
    wanted, executed = {}, collections.Counter(truth)
    for address, place in places(run, executed).items():
        if place[0][0] in heads:
            wanted[place] = max(executed[address], wanted.get(place, 0))
    differ = {place: (lines.get(place), wanted.get(place)) for place in set(lines) | set(wanted)
              if lines.get(place) != wanted.get(place)}
    equal(differ, {}, "llvm-profgen's lines")
    entry, declarations, called = run.functions(), declared(run), collections.Counter()
    for (_, target), count in [*((way[:2], count) for way, count in found.items()), *alone.items()]:
        called[target] += count
    equal(heads, {entry[address]: called[address] for address in executed
                  if entry.get(address) in declarations}, "entries of functions, by llvm-profgen")


def judged_by_bolt(run, text, truth):
    """Each way between blocks that perf2bolt makes of it was taken so often. By its name in the folder
    of its LLVM: Debian's perf2bolt-19 does not know what it is called."""
    path = folder()
    (path / "run.preagg").write_text(text)
    said = command(Path(tool("perf2bolt-19")).resolve().parent / "perf2bolt", run.elf, "-pa", "-p",
                   path / "run.preagg", "-o", path / "fdata")
    has(said, rf"read {len(text.splitlines())} aggregated LBR entries")
    has(said, r"mismatching disassembled function contents: 0 ")
    has(said, r"involving unknown regions: 0 ")
    entry = {name: address for address, name in run.functions().items()}
    seen, executed = collections.Counter(zip(truth, truth[1:])), collections.Counter(truth)
    found = {}
    for row in (path / "fdata").read_text().splitlines():
        _, function, offset, _, target, target_offset, missed, count = row.split()
        pair = tuple(entry[name.split("/")[0]] + int(at, 16)
                     for name, at in ((function, offset), (target, target_offset)))
        expect(missed == "0" and pair not in found, f"perf2bolt: {row}")
        found[pair] = int(count)
        # An exception may come behind a branch, before its target.
        expect(seen[pair] <= found[pair] <= executed[pair[0]],
               f"perf2bolt: {row}, not {seen[pair]} times")
    listing = run.listing()
    for row in text.splitlines():
        kind, first, last, count, *_ = row.split()
        pair = int(first, 16), int(last, 16)
        if kind == "B" and listing[pair[0]][0] != "ret":  # it leaves returns out
            equal(found.get(pair), int(count), f"perf2bolt: {row}")


for board, level in (("m3", "-O2"), ("m33", "-Os"), ("a9", "-O1"), ("a53", "-O2")):
    @suite.test(f"feedback: {board} {level}: ranges, branches, stacks, create_llvm_prof")
    def _(board=board, level=level):
        run = Run(board, level, count=30000)
        text = run.export("feedback")
        truth, place = run.proved(text), offset_of(run)
        ranges, branches = parse_autofdo(text)
        order = sorted(place(address) for address in run.listing())
        in_file = [place(address) for address in truth]
        check_ranges(ranges, order, in_file)
        check_branches(branches, order, in_file)
        check_stacks(run, run.export("feedback", "--format", "brstack"), truth)
        judged_by_autofdo(run, text, truth)


@suite.test("feedback: BOLT's text, several recordings, bad options")
def _():
    run = Run("a53", "-O1", count=20000)
    place = offset_of(run)
    ranges, branches = parse_autofdo(run.export("feedback"))
    again, _ = parse_autofdo(run.export("feedback", str(run.recording)))
    equal(again, {pair: 2 * count for pair, count in ranges.items()}, "two runs")
    text = run.export("feedback", "--format", "bolt")
    got = {"B": {}, "F": {}}
    for row in text.splitlines():
        kind, first, last, count, *rest = row.split()
        equal(rest, ["0"] if kind == "B" else [], "mispredictions")
        got[kind][place(int(first, 16)), place(int(last, 16))] = int(count)
    equal(got, {"B": branches, "F": ranges}, "BOLT's ranges and branches")
    run.export("feedback", "--format", "lcov", code=2)
    run.export("feedback", "--format", "brstack", "--part", "1/2", code=2)
    small = Run("m3", "-O1", count=5000)
    small.export("feedback", "--format", "bolt", code=4)


for board, level in (("m3", "-O2"), ("a53", "-O2")):  # it does not know A32 beside Thumb
    @suite.test(f"feedback: {board} {level}: llvm-profgen")
    def _(board=board, level=level):
        tool("llvm-profgen-19", "package llvm-19, 44 MB with its libraries")
        run = Run(board, level, count=30000)
        text = run.export("feedback", "--format", "brstack")
        judged_by_profgen(run, text, run.proved(run.export("feedback")))


@suite.test("feedback: perf2bolt")
def _():
    tool("perf2bolt-19", "package bolt-19, 37 MB")
    run = Run("a53", "-O1", count=20000)
    judged_by_bolt(run, run.export("feedback", "--format", "bolt"), run.proved(run.export("feedback")))


suite.run()
