#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a Cortex-M4 with two tasks shows in one timeline and in a profile, from ETM, ITM and DWT in one
stream, and what the board's own account says: configs/virtual-m4-tasks.conf, one command. Tests
timeline_itm.c and export_tasks.c, and calls.c, profile.c and profile_callgrind.c with tasks.
"""

import array
import bisect
import collections
import functools
import itertools
import json
import os
import random
import re
import subprocess

from export_runs import command
from live_gdb import PROGRAMS, board_file, symbol
from perfetto_reader import Timeline, judged_by_protoc
from replay_gdb import BTRACED, PATIENCE, ROOT, Suite, environment, equal, expect, folder, has, same_list

suite = Suite()
ELF = PROGRAMS / "tasks-m4.elf"
SEED = int(os.environ.get("BTRACED_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
CUTS = 100 if os.environ.get("BTRACED_FULL") else 12
BURST = 64 * 15 * 4  # the core's trace comes in bursts: bytes, branches of each, instructions


class Board:
    """One run, its recording, and what the board did: (instruction from 0, ...)."""

    def __init__(self, elf=ELF, **changes):
        self.elf = elf
        path = board_file("virtual-m4-tasks", replace=[(str(ELF), str(elf))], **changes)
        self.recording = path.parent / "kept"
        done = subprocess.run([BTRACED, "run", "-c", str(path), "--until", "stopped_here", "--record",
                               str(self.recording)], capture_output=True, text=True,
                              timeout=PATIENCE, env=environment())
        equal(done.returncode, 0, f"exit code of run: {done.stderr}")
        self.truth = [at & ~1 for at in array.array("I", (path.parent / "truth").read_bytes())]
        self.text, self.level, self.current = [], [], []
        for line in (path.parent / "truth.log").read_text().splitlines():
            at, what, *word = line.split()
            if what == "stimulus":
                self.text.append((int(at), chr(int(word[2], 16))))
            elif what == "watch":
                values = self.current if word[0] == "0" else self.level
                values.append((int(at), word[1], int(word[3], 16)))


@functools.cache
def undamaged():
    return Board()


def near(shown, happened, what):
    """Not later than it happened, and not earlier than a burst of the core's trace."""
    expect(happened - BURST < shown <= happened + 1, f"{what}: {happened}, shown at {shown}")


@suite.test("tracks: text, values and exceptions beside the calls of the core")
def _():
    board = undamaged()
    timeline = Timeline(ELF, board.recording)
    judged_by_protoc(timeline)
    done = subprocess.run([BTRACED, "profile", "--part", "1/2", "--elf", str(ELF), "-o",
                           str(folder() / "1.counts"), str(board.recording)], capture_output=True,
                          text=True, timeout=PATIENCE, env=environment())
    equal(done.returncode, 4, "exit code of a part of a profile with tasks")
    has(done.stderr, "tasks are known of the whole run alone", "complaint")
    equal(symbol(ELF, "current_task"), 0x20000004, "address in the board file")
    equal(symbol(ELF, "level"), 0x20000000, "address in the board file")

    lines = "".join(c for _, c in board.text).replace("\r", "").splitlines()
    text = timeline.on(timeline.instants, "cpu0 ITM port 0")
    same_list([name for name, _ in text], lines, "lines")
    expect(len(lines) == 120, f"{len(lines)} lines")
    begins = [at for (at, _), (_, before) in zip(board.text, [(0, "\n"), *board.text])
              if before == "\n"]
    for (line, shown), happened in zip(text, begins):
        near(shown, happened, line)

    for name, accesses in ("level", board.level), ("current_task", board.current):
        values = timeline.on(timeline.values, f"cpu0 watch {name}")
        same_list([value for value, _ in values], [value for _, _, value in accesses], name)
        for (value, shown), (happened, _, _) in zip(values, accesses):
            near(shown, happened, f"{name} = {value}")

    # The DWT and the ETM tell of the same exceptions.
    handlers = [name for name, _, _ in timeline.on(timeline.slices, "cpu0 handlers by DWT")]
    traced = [(begin, name.split("[")[1][:-1]) for track, name, begin, _ in timeline.slices
              if track == "cpu0 exceptions" and " [" in name]
    same_list(handlers, [name for _, name in sorted(traced)], "handlers")
    expect(len(handlers) > 40, f"{len(handlers)} handlers")
    samples = timeline.on(timeline.instants, "cpu0 PC samples")
    expect({"wait", "reset_handler"} <= {name for name, _ in samples}, f"samples: {samples}")


def switches(board, tasks=("nobody", "measuring", "printing")):
    """(first instruction behind the store, its name) of each switch to another task."""
    names = {symbol(board.elf, name): name for name in tasks}
    found = []
    for at, how, value in board.current:
        if how == "store" and value in names and (not found or found[-1][1] != names[value]):
            found.append((at + 1, names[value]))
    return found


@suite.test("tracks: each task has its slices and its calls, as the board ran them")
def _():
    board = undamaged()
    timeline = Timeline(ELF, board.recording)
    judged_by_protoc(timeline)
    slices = timeline.on(timeline.slices, "cpu0 tasks")
    # The start-up code stores there with an instruction that stores elsewhere, too: the first switch
    # comes so soon behind it that it is not known which store is which.
    ran = switches(board)[2:]
    expect(len(ran) > 20, f"only {len(ran)} switches")
    same_list([(begin, name) for name, begin, _ in slices], ran, "switches")
    same_list([end for _, _, end in slices[:-1]], [at for at, _ in ran[1:]], "ends")

    # Only one of them calls each of these functions.
    whose = {"measure": "measuring", "smooth": "measuring", "read_sensor": "measuring",
             "print": "printing", "print_text": "printing", "print_number": "printing"}
    seen = set()
    for track, name, begin, end in timeline.slices:
        if name in whose and begin >= ran[0][0]:
            equal(track, f"cpu0 task {whose[name]}", f"track of {name} at {begin}")
            seen.add(name)
            now = [task for at, task in ran if at <= begin][-1]
            equal(now, whose[name], f"task that runs when {name} begins")
    equal(seen, set(whose), "functions")
    whole = sorted(s for s in timeline.slices if s[0] == "cpu0 tasks")
    part = Timeline(ELF, board.recording, "--from", "20001", "--to", "30001")
    equal(sorted(s for s in part.slices if s[0] == "cpu0 tasks"),
          [(track, name, max(begin, 20000), min(end, 30000)) for track, name, begin, end in whole
           if end > 20000 and begin < 30000], "tasks of the window")


@suite.test("tracks: the ITM without the core has its text, values and tasks, in order")
def _():
    board = undamaged()
    timeline = Timeline(ELF, board.recording, "--source", "ITM_0")
    judged_by_protoc(timeline)
    has(timeline.process, r"^btraced: ITM_0: \d+ bytes of trace; gaps: 0; no timestamps: the order alone$")
    lines = "".join(c for _, c in board.text).replace("\r", "").splitlines()
    same_list([name for name, _ in timeline.on(timeline.instants, "cpu0 ITM port 0")], lines, "lines")
    for name, accesses in ("level", board.level), ("current_task", board.current):
        values = timeline.on(timeline.values, f"cpu0 watch {name}")
        same_list([value for value, _ in values], [value for _, _, value in accesses], name)
    same_list([name for name, _, _ in timeline.on(timeline.slices, "cpu0 tasks")],
              [name for _, name in switches(board)], "tasks")


def profile(board, form, *options):
    done = subprocess.run([BTRACED, "profile", "--elf", str(board.elf), "--format", form, *options,
                           str(board.recording)], capture_output=True, text=True,
                          timeout=PATIENCE, env=environment())
    equal(done.returncode, 0, f"exit code of profile: {done.stderr}")
    return done.stdout


def functions_of(elf):
    """[(address, name)] in order."""
    rows = (row.split() for row in command("arm-none-eabi-nm", elf).splitlines())
    return sorted((int(at, 16), name) for at, kind, name in rows if kind in "tT" and "$" not in name)


def function_at(names, address):
    return names[bisect.bisect_right(names, (address, "~")) - 1][1]


def ran_in_tasks(board, count):
    """{task: {function: instructions}} of the first `count` that the board executed, without its
    handlers', and how often each task became the current one."""
    names = functions_of(ELF)
    found, times = collections.defaultdict(collections.Counter), collections.Counter()
    ran = switches(board)[2:]
    for (begin, task), (end, _) in zip(ran, [*ran[1:], (count, "")]):
        times[task] += begin < count
        for address in board.truth[begin:min(end, count)]:
            name = function_at(names, address)
            if name not in ("pendsv_handler", "systick_handler", "choose_task"):
                found[task][name] += 1
    return found, times


def in_tasks(text):
    """The same from the folded stacks, and these."""
    found, ways = collections.defaultdict(collections.Counter), set()
    for row in text.splitlines():
        stack, _, instructions = row.rpartition(" ")
        _, root, *names = stack.split(";")
        if root.startswith("task "):
            found[root[5:]][names[-1]] += int(instructions)
            ways.add((root[5:], *names))
    return found, ways


@suite.test("tracks: a profile has each task's instructions, and no calls of the other")
def _():
    board = undamaged()
    text = profile(board, "text")
    count = int(has(text, r"^(\d+) instructions from \d+ bytes of trace; no gaps$")[1])
    ran, times = ran_in_tasks(board, count)
    equal(set(ran), {"measuring", "printing"}, "tasks that ran")
    for task, functions in ran.items():
        has(text, rf"^ +{functions.total()} +[\d.]+% +{times[task]}  cpu0 task {task}$")

    text = profile(board, "folded")
    equal(text, profile(board, "folded", "-j", "2"), "with two threads")
    folded, ways = in_tasks(text)
    equal(folded, ran, "functions of the tasks")
    # The last that began before its task was known ends as a root.
    equal({way[:2] for way in ways}, {("measuring", "measure"), ("measuring", "wait"),
                                      ("printing", "print")}, "roots")
    expect(not any({"print", "measure"} <= set(way) for way in ways), f"mixed: {ways}")

    scope = json.loads(profile(board, "speedscope"))
    frames, weights = scope["shared"]["frames"], collections.Counter()
    [core] = scope["profiles"]
    for stack, weight in zip(core["samples"], core["weights"]):
        weights[frames[stack[0]]["name"]] += weight
    equal({f"task {task}": functions.total() for task, functions in ran.items()},
          {name: n for name, n in weights.items() if name.startswith("task ")}, "speedscope")

    page = board.recording.parent / "report.html"
    command(BTRACED, "report", "--elf", ELF, "-o", page, board.recording)
    same_list(sorted(set(re.findall(r'"task (\w+)"', page.read_text()))), sorted(ran), "of the report")

    place = board.recording.parent / "callgrind.out"
    place.write_text(profile(board, "callgrind"))
    out = command("callgrind_annotate", "--auto=no", "--threshold=100", "--inclusive=yes", place)
    theirs = {row[2]: int(row[1].replace(",", "")) for row in re.finditer(
        r"^ *([\d,]+) \( *[\d.]+%\)  \?\?\?:task (\w+)", out, re.MULTILINE)}
    equal(theirs, {task: functions.total() for task, functions in ran.items()}, "callgrind_annotate")


def cooperative():
    """The program whose tasks give way by themselves."""
    elf = folder() / "cooperative.elf"
    command("arm-none-eabi-gcc", "-std=gnu11", "-O1", "-g", "-mcpu=cortex-m4", "-mthumb", "-fno-inline",
            "-fno-toplevel-reorder", "-fno-optimize-sibling-calls", "-ffreestanding",
            "-fno-tree-loop-distribute-patterns", "-Wall", "-Wextra", "-Werror", "-nostdlib", "-Wl,-n",
            "-Wl,-T,m4.ld", ROOT / "tests" / "bench" / "gdb" / "cooperative_program.c", "-o", elf,
            cwd=PROGRAMS)
    equal((symbol(elf, "current_task"), symbol(elf, "level")), (0x20000004, 0x20000000), "board file")
    return elf


def ways_of(board, ran, count):
    """{(task, function, ...): instructions} of the calls that were open at each instruction behind the
    first switch, each task's by themselves, from the code and what the board executed."""
    names = functions_of(board.elf)
    begins = {at: name for at, name in names}
    code = {int(at, 16): (size(data), word) for at, data, word in re.findall(
        r"^ *([0-9a-f]+):\t([0-9a-f ]+?) *\t(\S+)", command("arm-none-eabi-objdump", "-d", board.elf),
        re.MULTILINE)}
    found, stacks, task = collections.Counter(), {}, None
    switched = dict(ran)
    for at in range(ran[0][0], count):
        address, before = board.truth[at], board.truth[at - 1]
        if at in switched:
            task = switched[at]
            # Only yield() switches, and all that are away are in it.
            stack = stacks.setdefault(task, [("yield", None)])
            equal(stack[-1][0], "yield", f"what {task} was in")
        length, word = code[before]
        if word == "bl":
            stack.append((begins[address], before + length))
        elif address != before + length and word in ("pop", "ldmia.w", "bx"):
            back = [i for i, (_, behind) in enumerate(stack) if behind == address]
            stack[back[-1] if back else 0:] = [] if back else [(begins[address], None)]
        equal(stack[-1][0], function_at(names, address), f"function of instruction {at}")
        found[(task, *(name for name, _ in stack))] += 1
    return found


def size(data):
    """Bytes of an instruction, as a disassembler prints it."""
    return len(data.replace(" ", "")) // 2


@suite.test("tracks: tasks that give way by themselves, in a profile and a timeline")
def _():
    tasks = ("nobody", "reading", "adding", "once")
    board = Board(cooperative())
    ran = switches(board, tasks)[1:]
    expect(len(ran) > 400, f"only {len(ran)} switches")
    text = profile(board, "text")
    count = int(has(text, r"^(\d+) instructions from \d+ bytes of trace; no gaps$")[1])
    truth, folded = ways_of(board, ran, count), collections.Counter()
    for row in profile(board, "folded").splitlines():
        stack, _, instructions = row.rpartition(" ")
        _, root, *names = stack.split(";")
        if root.startswith("task "):
            folded[(root[5:], *names)] += int(instructions)
    equal(sorted((folded - truth).items()), [], "ways that are too many")
    equal(sorted((truth - folded).items()), [], "ways that are lacking")
    for task in tasks[1:]:
        sum_of = sum(n for way, n in truth.items() if way[0] == task)
        has(text, rf"^ +{sum_of} +[\d.]+% +{[name for _, name in ran].count(task)}  cpu0 task {task}$")
    timeline = Timeline(board.elf, board.recording)
    slices = timeline.on(timeline.slices, "cpu0 tasks")
    same_list([(begin, name) for name, begin, _ in slices], ran, "switches")
    same_list([end for _, _, end in slices[:-1]], [at for at, _ in ran[1:]], "ends")


@suite.test("tracks: cycles of each task, switched by an interrupt and by themselves")
def _():
    # The board takes a cycle for an instruction; those of a range are its last instruction's.
    for elf, tasks, handlers in ((ELF, ("measuring", "printing"), True),
                                 (cooperative(), ("reading", "adding", "once"), False)):
        board = Board(elf, registers={"etmcr": 0x1000})
        ran = switches(board, ("nobody", *tasks))[2 if handlers else 1:]
        text = profile(board, "text")
        count = int(has(text, r"^(\d+) instructions from \d+ bytes of trace; no gaps$")[1])
        names = functions_of(elf)
        spent = collections.Counter()
        begins = [at for at, _ in ran]
        if not handlers:  # the range with the store begins with its function
            for i, at in enumerate(begins):
                while function_at(names, board.truth[at - 1]) == "yield":
                    at -= 1
                begins[i] = at
        for begin, end, (_, task) in zip(begins, [*begins[1:], count], ran):
            spent[task] += sum(not handlers or function_at(names, address) not in (
                "pendsv_handler", "systick_handler", "choose_task") for address in board.truth[begin:min(end, count)])
        for task in tasks:
            has(text, rf"^ +\d+ +[\d.]+% +\d+ +{spent[task]}  cpu0 task {task}$")
        timeline = Timeline(elf, board.recording)
        expect(any("1 ns is a cycle" in name for name in timeline.tracks.values()), "no cycles")
        slices = timeline.on(timeline.slices, "cpu0 tasks")
        same_list([name for name, _, _ in slices], [name for _, name in ran], "tasks")
        for (name, begin, _), (at, _) in zip(slices, ran):
            expect(abs(begin - at) <= 8, f"{name} runs from {at}, shown at {begin}")


@suite.test(f"tracks: beside lost trace no task is named that did not run (seed {SEED})")
def _():
    board, dice = Board(), random.Random(SEED)
    ran, truth = switches(board), ran_in_tasks(board, len(board.truth))[0]
    [raw] = board.recording.glob("buffer_*.bin")
    data = raw.read_bytes()
    named = 0
    for _ in range(CUTS):
        cut, lost = dice.randrange(len(data)), dice.randrange(16, 2048)
        raw.write_bytes(data[:cut] + data[cut + lost:])
        timeline = Timeline(ELF, board.recording)
        begins = [] if "cpu0 tasks" not in timeline.tracks.values() else [
            (begin, name) for name, begin, _ in timeline.on(timeline.slices, "cpu0 tasks")]
        # Instructions that are lost have no numbers: all that comes behind is shifted alike.
        before = list(itertools.takewhile(lambda row: row in ran, begins))
        behind = begins[len(before):]
        expect(not behind or any(
            {(at + row[0] - behind[0][0], name) for at, name in behind} <= set(ran) for row in ran),
            f"cut {cut}, {lost} bytes: behind it {behind} of {ran}")
        named += len(begins)
        for task, functions in in_tasks(profile(board, "folded"))[0].items():
            expect(functions <= truth[task], f"cut {cut}, {lost} bytes: {task}: {functions - truth[task]}")
    expect(named > CUTS * len(ran) // 4, f"only {named} switches")


suite.run()
