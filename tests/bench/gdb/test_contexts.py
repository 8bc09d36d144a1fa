#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Context IDs in the trace as tasks: a program that writes CONTEXTIDR for its tasks, also in its
interrupt, on virtual boards with a PTM, an ETMv3 and an ETMv4. The timeline's track of tasks and the
roots of the profile are held against what ran, and so is what GDB is told at random places of the
past, live and of the recording. Tests export_tasks.c and contexts.c.

BTRACED_FULL=1: 100 places. BTRACED_SEED makes them again, and the program's switches."""

import collections
import os
import random
import re
import shutil

import export_runs
from live_gdb import Live, Wire, board_file, symbol
from live_runs import A7, A15, CONTEXT, ETM_ON_A, RETURN_STACK, V4_CONTEXT, V4_RETURN_STACK, run_long
from perfetto_reader import Timeline, judged_by_protoc
from replay_gdb import BTRACED, Server, Suite, equal, expect, folder, has, same_list

suite = Suite()
SEED = int(os.environ.get("BTRACED_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)
PLACES = 100 if os.environ.get("BTRACED_FULL") == "1" else 10
print(f"BTRACED_SEED={SEED}", flush=True)
PROGRAM = """
#include "board.h"
volatile unsigned done, ticks, switches, wait_when_idle, crash_after;
struct fault fault;
#ifdef __aarch64__
#define WRITE "msr contextidr_el1, %0\\nisb"
#define ID(id) ((unsigned long)(id))
#else
#define WRITE "mcr p15, 0, %0, c13, c0, 1\\nisb"
#define ID(id) (id)
#endif
#define TASK(name, id, steps) \\
    __attribute__((noinline)) static void set_##name(void) \\
    { __asm__ volatile(WRITE : : "r"(ID(id)) : "memory"); } \\
    __attribute__((noinline)) static void work_##name(unsigned n) \\
    { while (n-- % 64 != steps % 64) done += steps; }
TASK(first, 0x1d0a, 7)
TASK(second, 0, 21)
TASK(third, 0xfffffff3, 40)
static void choose(unsigned n)
{
    switches++;
    if (n % 3 == 0)
        set_first();
    else if (n % 3 == 1)
        set_second();
    else
        set_third();
}
void timer_tick(void)
{
    if (ticks++ % 2)
        choose(ticks / 2);
}
int main(void)
{
    unsigned random = SEED;
    start_timer();
    for (;;) {
        random = random * 1103515245u + 12345u;
        choose(random >> 16);
        if (random >> 20 & 1)
            work_first(random >> 8);
        else if (random >> 21 & 1)
            work_second(random >> 8);
        else
            work_third(random >> 8);
    }
}
void stopped_here(void) { for (;;) wait_for_interrupt(); }
"""
IDS = {"set_first": "context 0x1d0a", "set_second": "context 0x0", "set_third": "context 0xfffffff3"}
SETS = {
    "PTM": ("a9", {**A15, "etmcr": CONTEXT | RETURN_STACK}, {"replace": [("PTM1.0", "PTM1.1")]}),
    "ETMv3": ("a9", {**A7, "etmcr": CONTEXT}, ETM_ON_A),
    "ETMv4": ("a53", {"trcconfigr": 1 | V4_CONTEXT | V4_RETURN_STACK}, {}),
}
NEAR = 24  # instructions from the branch before the write to the barrier behind it


def steps_to(wire, number):
    """Takes the client to an instruction of the past; what it is told of it there."""
    wire.step()
    has(wire.monitor("where"), rf"^instruction {number},")
    shown = has(wire.monitor("tasks"), rf"^the context at instruction {number}: (.*)$")[1]
    status = bytes.fromhex(wire.ask(f"qThreadExtraInfo,{wire.thread}")).decode()
    equal(status.removeprefix("cpu0: "), f"replaying, at {number}" + (f", runs {shown}" if shown != "not known" else ""), "thread")
    return shown


def past(wire, switches, what):
    """What a client is told of the past: `switches` are those that were made."""
    dice = random.Random(f"{SEED} {what}")
    listed = [(int(at), name) for at, name in
              re.findall(r"^ *(\d+)  (context 0x.*)$", wire.monitor("tasks history 4096"), re.M)]
    if listed[0][0] <= NEAR < switches[0][0]:  # what the register held before
        switches = switches[listed.pop(0)[1] == switches[0][1]:]
    expect(100 < len(listed) < 4096, f"{len(listed)} switches")
    same_list([name for _, name in listed], [name for _, name in switches[:len(listed)]], "tasks in turn")
    expect(len(switches) - len(listed) <= 1, f"{len(listed)} of {len(switches)} switches")
    for (at, name), (number, _) in zip(listed, switches):  # they count from 0
        expect(abs(at - 1 - number) <= NEAR, f"{name} begins at {at}, was written behind {number}")
    equal(wire.monitor("tasks history 3").split(), [word for at, name in listed[-3:] for word in (str(at), *name.split())],
          "the last three")
    for number in [dice.randrange(listed[0][0], listed[-1][0]) for _ in range(PLACES)]:
        before = [(at, name) for at, name in listed if at < number]
        now = [name for at, name in listed if at <= number][-1]
        later = [(at, name) for at, name in listed if at > number]
        wire.monitor(f"goto {number}")
        equal(steps_to(wire, number), now, f"context at {number}")
        has(wire.monitor("tasks history 2"), "^" + "".join(rf" *{at}  {name}\n" for at, name in before[-2:]) + "$")
        if before:
            has(wire.monitor("tasks previous"), rf"^ *{before[-1][0]}  {before[-1][1]}\nthe next stepi .* goes there$")
            equal(steps_to(wire, before[-1][0]), before[-1][1], "context at the previous switch")
            wire.monitor(f"goto {number}")
            wire.step()
        has(wire.monitor("tasks next"), rf"^ *{later[0][0]}  {later[0][1]}\nthe next stepi .* goes there$")
        equal(steps_to(wire, later[0][0]), later[0][1], "context at the next switch")
    wire.monitor(f"goto {listed[-1][0]}")
    equal(steps_to(wire, listed[-1][0]), listed[-1][1], "context at the last switch")
    equal(wire.monitor("tasks next"), "no switch comes behind this place\n", "next")
    wire.monitor("goto begin")
    wire.step()
    equal(wire.monitor("tasks previous"), "no switch comes before in the history\n", "previous")
    has(wire.monitor("tasks history 5000"), r"^monitor tasks, .* not 'tasks history 5000'$")
    has(wire.monitor("tasks histories"), r"^monitor tasks, .* not 'tasks histories'$")


class ContextRun(export_runs.Run):
    def __init__(self, board, registers, more):
        self.board, self.m_profile, self.begin = board, False, 0
        source = folder() / "contexts.c"
        source.write_text(PROGRAM.replace("SEED", f"{SEED}u"))
        self.elf = export_runs.build(board, "-O1", f"-I{export_runs.SOURCES}", source=source)
        more = {**more, "replace": [*more.get("replace", []),
                                    (str(export_runs.SOURCES / f"crash-{board}.elf"), str(self.elf))]}
        self.prefix = "aarch64-linux-gnu-" if board == "a53" else "arm-none-eabi-"
        with Live(board_file(f"virtual-{board}", registers=registers, checkpoint="4K", **more)) as live:
            self.recording, _ = run_long(live, self.elf, 60000, self.count)
            self.truth = [address & ~1 for address in live.truth()]
            with Wire(live) as wire:
                wire.thread = wire.threads()[0]
                past(wire, self.switches(self.truth), f"{board} live")
                self.profiled(wire.monitor("profile"))
        with Server(self.recording, "--elf", str(self.elf)) as server, Wire(server) as wire:
            wire.thread = wire.threads()[0]
            past(wire, self.switches(self.truth), f"{board} replay")

    def count(self, wire):
        """Behind the first part of the run: `monitor profile` counts the others."""
        if not self.begin:
            has(wire.monitor("profile start"), "from now on counts")
            self.begin = int(has(wire.monitor("where"), r"to (\d+)$")[1])

    def profiled(self, text):
        """Who executed how much, but for handlers."""
        switches = [(0, ""), *self.switches(self.truth), (len(self.truth), "")]
        ran, times = collections.Counter(), collections.Counter()
        for (number, task), (behind, _) in zip(switches, switches[1:]):
            ran[task] += max(0, behind - max(number, self.begin))
            times[task] += behind > self.begin
        rows = {row[2]: (int(row[0]), int(row[1])) for row in
                re.findall(r"^ *(\d+) +[\d.]+% +(\d+)  cpu0 task (.*)$", text, re.MULTILINE)}
        equal(set(rows), set(IDS.values()), "tasks of monitor profile")
        for task, (count, calls) in rows.items():
            expect(abs(calls - times[task]) <= 1, f"{task}: {calls} times, not {times[task]}")
            slack = NEAR * times[task]
            expect(0.7 * ran[task] - slack <= count <= ran[task] + slack, f"{task}: {count}, {ran[task]} ran")

    def switches(self, ran):
        """(number of the first instruction behind the write, name), where it is another one."""
        names, listing = self.functions(), self.listing()
        order = sorted(names)
        at = {}
        for address, (name, operands) in listing.items():
            function = names[max(f for f in order if f <= address)] if address >= order[0] else ""
            if function in IDS and (name == "mcr" or name == "msr"):
                at[address] = IDS[function]
        equal(len(at), len(IDS), f"writes of the context ID: {at}")
        found = []
        for number, address in enumerate(ran):
            if address in at and (not found or found[-1][1] != at[address]):
                found.append((number + 1, at[address]))
        return found


def shows(name):
    board, registers, more = SETS[name]
    run = ContextRun(board, registers, more)
    text = run.export("profile", "--format", "text")
    ran = run.proved(text)
    switches = run.switches(ran)
    expect(len(switches) > 100, f"{len(switches)} switches")
    timeline = Timeline(run.elf, run.recording, "--max-size", "8000000")
    judged_by_protoc(timeline)
    told = sorted((begin, end, task) for task, begin, end in timeline.on(timeline.slices, "cpu0 tasks"))
    if told[0][0] <= NEAR < switches[0][0]:  # what the register held before
        switches = switches[told.pop(0)[2] == switches[0][1]:]
    equal([task for _, _, task in told], [task for _, task in switches], "tasks in turn")
    for (begin, end, task), (number, _) in zip(told, switches):
        expect(abs(begin - number) <= NEAR, f"{task} begins at {begin}, was written at {number}")
    equal([end for _, end, _ in told[:-1]], [begin for begin, _, _ in told[1:]], "no time between")
    # The profile: what ran with each of them, but for handlers.
    rows = {row[1]: int(row[0].split()[0])
            for row in re.findall(r"^( *\d+) +[\d.]+% +\d+  cpu0 task (.*)$", text, re.MULTILINE)}
    expect(set(IDS.values()) <= set(rows), f"tasks of the profile: {rows}")
    folded = collections.Counter()
    works = collections.Counter()
    for row in run.export("profile", "--format", "folded").splitlines():
        stack, count = row.rsplit(" ", 1)
        frames = stack.split(";")
        if frames[1].startswith("task "):
            folded[frames[1][5:]] += int(count)
        works[frames[1]] += int(count)
    equal(sum(works.values()), len(ran), "instructions of all stacks")
    equal({task: folded[task] for task in rows}, rows, "tasks of both formats")
    spans = collections.Counter()
    for (number, task), following in zip(switches, [*switches[1:], (len(ran), "")]):
        spans[task] += following[0] - number
    outside = sum(count for root, count in works.items() if not root.startswith("task "))
    for task, count in spans.items():
        expect(count - outside - NEAR * len(switches) <= rows[task] <= count + NEAR * len(switches),
               f"{task}: {rows[task]} instructions, {count} ran")
    has(run.export("profile"), r"^fn=task context 0x1d0a$")
    damaged(run, name)


LOSES = ("bad-packet", "wire", "lost-bytes", "overwritten", "silent", "overflow")  # bytes of the trace


def of_events(text):
    """Switches as `decode --events` tells of contexts, and of bytes that are missing."""
    found = [(0, "not known")]
    for at, kind, detail in re.findall(r"^cpu0 +(\d+) +\d+ +(context|gap) +(.*)$", text, re.MULTILINE):
        if kind == "context":
            state = "context " + has(detail, r"\bcid=(\w+)")[1]
        elif has(detail, r"\bcause=([\w-]+)")[1] in LOSES:
            state = "not known"
        else:
            continue
        if found[-1][0] == int(at):
            found.pop()
        if not found or found[-1][1] != state:
            found.append((int(at), state))
    return found[found[0] == (0, "not known"):]


def damaged(run, name):
    """Where trace is missing nothing is said, and behind it what is told there."""
    dice = random.Random(f"{SEED} damage {name}")
    place = folder() / "damaged"
    shutil.copytree(run.recording, place)
    data = bytearray((place / "buffer_0.bin").read_bytes())
    for _ in range(8):  # mostly the frames stay whole
        at, size = dice.randrange(len(data) - 100), dice.choice((1, 16, 40))
        data[at:at + size] = dice.randbytes(size)
    at = dice.randrange(len(data) // 2, len(data))
    del data[at:at + dice.randrange(1, 100)]
    (place / "buffer_0.bin").write_bytes(data)
    wanted = of_events(export_runs.command(BTRACED, "decode", "--events", "--elf", run.elf, place))
    with Server(place, "--elf", str(run.elf)) as server, Wire(server) as wire:
        wire.thread = wire.threads()[0]
        listed = re.findall(r"^ *(\d+)  (context 0x.*|not known)$", wire.monitor("tasks history 4096"), re.M)
        end = int(has(wire.monitor("where"), r"^history .* to (\d+)$")[1])
        wanted = [(at, state) for at, state in wanted if at <= end]
        expect(len(wanted) > 1, f"{wanted}")
        same_list([(int(at), state) for at, state in listed], wanted, "switches of damaged trace")
        for number in [dice.randrange(wanted[0][0], wanted[-1][0]) for _ in range(PLACES)]:
            wire.monitor(f"goto {number}")
            equal(steps_to(wire, number), [state for at, state in wanted if at <= number][-1],
                  f"context at {number} of damaged trace")


for name in SETS:
    @suite.test(f"contexts: {name}: each context ID is a task of timeline, profile and the past")
    def _(name=name):
        shows(name)


@suite.test("contexts: one ID all the time is no task")
def _():
    run = export_runs.Run("a9", "-O1", count=20000, registers={"etmcr": CONTEXT | RETURN_STACK})
    expect("task context" not in run.export("profile", "--format", "text"), "a task")
    timeline = Timeline(run.elf, run.recording)
    expect("cpu0 tasks" not in timeline.tracks.values(), f"tracks {timeline.tracks}")


suite.run()
