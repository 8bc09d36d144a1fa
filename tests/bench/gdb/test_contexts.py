#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Context IDs in the trace as tasks: a program that writes CONTEXTIDR for its tasks, also in its
interrupt, on virtual boards with a PTM, an ETMv3 and an ETMv4. The timeline's track of tasks and the
roots of the profile are held against what ran. Tests export_tasks.c."""

import collections
import re

import export_runs
from live_gdb import Live, board_file
from live_runs import A7, A15, CONTEXT, ETM_ON_A, RETURN_STACK, V4_CONTEXT, V4_RETURN_STACK, run_long
from perfetto_reader import Timeline, judged_by_protoc
from replay_gdb import Suite, equal, expect, folder, has

suite = Suite()
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
    unsigned random = 12345;
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


class ContextRun(export_runs.Run):
    def __init__(self, board, registers, more):
        self.board, self.m_profile = board, False
        source = folder() / "contexts.c"
        source.write_text(PROGRAM)
        self.elf = export_runs.build(board, "-O1", f"-I{export_runs.SOURCES}", source=source)
        more = {**more, "replace": [*more.get("replace", []),
                                    (str(export_runs.SOURCES / f"crash-{board}.elf"), str(self.elf))]}
        with Live(board_file(f"virtual-{board}", registers=registers, **more)) as live:
            self.recording, _ = run_long(live, self.elf, 60000)
            ran = live.truth()
        self.truth = [address & ~1 for address in ran]
        self.prefix = "aarch64-linux-gnu-" if board == "a53" else "arm-none-eabi-"

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
    if told[0][1] <= switches[0][0] + NEAR and told[0][2] != switches[0][1]:
        told.pop(0)  # what the register held before
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


for name in SETS:
    @suite.test(f"contexts: {name}: each context ID is a task of timeline and profile")
    def _(name=name):
        shows(name)


@suite.test("contexts: one ID all the time is no task")
def _():
    run = export_runs.Run("a9", "-O1", count=20000, registers={"etmcr": CONTEXT | RETURN_STACK})
    expect("task context" not in run.export("profile", "--format", "text"), "a task")
    timeline = Timeline(run.elf, run.recording)
    expect("cpu0 tasks" not in timeline.tracks.values(), f"tracks {timeline.tracks}")


suite.run()
