#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests reverse_forward.c and reverse_values.c.
"""Tasks of a preemptive kernel in stock GDB: SP, LR and backtraces of the past on a virtual board that was halted at its
reset, beside every instruction that ran. Two or five tasks, a tick every 1,000 or 20,000 instructions; what they do depends on a
counter that nobody knows, whose turn it is does not.

usage: test_task_stacks.py [SEED [PHASES]]    BTRACED_FULL=1: both numbers of tasks and both ticks, each in so many phases. The seed
is a new one in each run.
"""

import os
import random
import sys
import tempfile
from pathlib import Path

import bench
import firmware
import model
import positions

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from full_recording import FullRecording  # noqa: E402
from live_gdb import Live, board_with, recording, symbol  # noqa: E402
from replay_gdb import Server  # noqa: E402

FULL = bool(os.environ.get("BTRACED_FULL"))
KINDS, LEVELS = ("m3", "m4", "m7", "m33"), ("O0", "O1", "O2", "Os")
SHAPES = tuple((count, tick) for count in (2, 5) for tick in (1000, 20000))
PHASES = int(sys.argv[2]) if len(sys.argv) > 2 else 1
NEAR, FAR = 1000, 100000  # instructions from the halt
# Percent, with several phases. A store whose address depends on input may cost the rest of a program; on the A profile an
# interrupt between the conditional instructions that choose an address costs it in one of some sixty.
NEAR_LEAST, FAR_LEAST, BT_LEAST, A_LEAST = (99, 95, 98, 95) if FULL and PHASES > 2 else (45, 45, 45, 45)
PLACES = 60 if FULL else 80  # of each of the two


class TaskCalls(model.Calls):
    """Each task has its calls: the kernel says in a variable whose turn it is."""

    def __init__(self, case):
        self.memory, self.current = bench.Memory(case), symbol(case.elf, "current")
        self.tasks = {}
        super().__init__(case)

    def _task(self, position):
        return self.memory.word(position, self.current)

    def _of_task(self, position):
        """The innermost frame of the task whose turn it is; of one that has not run yet what began it."""
        return self.tasks.get(self._task(position)) or model.Frame(0, 0, None, position)

    def _enter(self, top, back, sp, position):
        if not self.case.psr(position - 1) & 0x1ff:
            self.tasks[self._task(position - 1)] = top
            return model.Frame(back, sp, top, position, True)
        inner = top
        while inner and not inner.exception:
            inner = inner.outer
        if inner and inner.sp == sp: # right behind another one
            top = self._of_task(position) if self._is_outermost(inner) else inner.outer
        return model.Frame(back, sp, top, position, True)

    @staticmethod
    def _is_outermost(frame):
        while frame := frame.outer:
            if frame.exception:
                return False
        return True

    def _after(self, position, top):
        after = position + 1
        if self.case.psr(position) & 0x1ff and not self.case.psr(after) & 0x1ff:
            return self._of_task(after)
        return super()._after(position, top)


class TaskCallsA(TaskCalls):
    """The same of the A profile: a task runs in System mode, and instructions return from exceptions."""

    RETURNS = ((0xfe50ffff, 0xf8100a00), (0xfffffff0, 0xe1b0f000), (0x0e508000, 0x08508000))  # RFE, MOVS PC, LDM ^

    def _after(self, position, top):
        after = position + 1
        back = self.taken.get(after)
        if not self._thumb(position) and any(self._word(self.case.pc(position)) & mask == bits
                                             for mask, bits in self.RETURNS):
            inner = self._innermost(top)
            top = inner.outer if inner and self._innermost(inner.outer) else self._of_task(after)
        else:
            top = model.Calls._after(self, position, top)
        if back is None:
            return top
        if not self._innermost(top):
            self.tasks[self._task(position)] = top
        return model.Frame(back, self.case.reg(after, 13), top, after, True)

    @staticmethod
    def _innermost(frame):
        while frame and not frame.exception:
            frame = frame.outer
        return frame


class Score:
    """LR counts where it is an address to return to: compilers compute with it, too, and what comes from input nobody knows."""

    def __init__(self):
        self.near = [0, 0]  # of SP and LR known, asked for
        self.far = [0, 0]
        self.backtraces = [0, 0]
        self.wrong, self.cut = [], []

    def registers(self, case, row, code):
        of = self.near if case.count - row["position"] <= NEAR else self.far
        for number in (positions.SP, positions.LR):
            value, there = row["regs"][number], case.reg(row["position"], number)
            counts = number == positions.SP or there & ~1 in code or there >> 8 == 0xffffff
            of[1] += counts
            if value in (None, positions.NO_STACK):
                continue
            of[0] += counts
            if value != there:
                self.wrong.append(f"{case.name} at {row['position']}: register {number} is {value:#x}")

    def backtrace(self, case, row, wanted, full):
        """What GDB cannot unwind with everything known is no fault of ours; where it has no banked stack it is not asked."""
        got, best = (model.without_exceptions(r["bt"]) for r in (row, full))
        right = got[:len(wanted)] == wanted
        if not right and best[:len(wanted)] != wanted and got[:1] == wanted[:1]:
            return
        self.backtraces[1] += 1
        self.backtraces[0] += right
        if right:
            return
        text = f"{case.name} at {row['position']}: {' '.join(map(hex, got))}, not {' '.join(map(hex, wanted))}"
        same = next((n for n, (a, b) in enumerate(zip(got, wanted)) if a != b), min(len(got), len(wanted)))
        is_cut = all(pc == positions.NO_STACK for pc in got[same:])
        (self.cut if is_cut else self.wrong).append(text)


def places(r, count):
    near = r.sample(range(max(1, count - NEAR), count), min(PLACES, NEAR, count - 1))
    return sorted({*near, *(r.randrange(max(1, count - FAR), count) for _ in range(PLACES))})


def examine(case, r, score):
    """On the board and, on the A profile, from its recording."""
    m_profile = case.machine.m_profile
    calls, at = TaskCalls(case) if m_profile else TaskCallsA(case), places(r, case.count)
    record = ("monitor record start look",), ("monitor record stop",)
    with Live(board_with(case.kind.removeprefix("firmware-"), case.elf)) as live:
        rows = positions.gdb_at(case, live.port, at, connect="target extended-remote",
                                before=(*record[0], "tbreak halt_here", "continue", "shell sleep 1", *record[1]))
        if not m_profile:
            with Server(recording(live, "look"), "--elf", str(case.elf)) as server:
                rows += positions.gdb_at(case, server.port, at, before=("record stop", "monitor goto 2", "stepi", "shell sleep 1"))
    with FullRecording(case) as full:
        best = positions.gdb_at(case, full.port, at)
    code = {case.pc(position) for position in range(case.count)}
    for row, there in zip(rows, 2 * best):
        if row["at"] != row["position"]:
            score.wrong.append(f"{case.name}: goto {row['position']} goes to {row['at']}")
            continue
        score.registers(case, row, code)
        score.backtrace(case, row, calls.backtrace(row["position"]), there)


def tell(name, of, least):
    share = 100 * of[0] / max(1, of[1])
    print(f"{'PASS' if share >= least and of[1] else 'FAIL'} tasks: {name}: {share:.1f} % of {of[1]}", flush=True)
    return share < least or not of[1]


def look(r, place, seed, kinds, phases):
    """A program of each kind and shape, `phases` of each: what came of it, and whether something was wrong."""
    score, failed = Score(), False
    for kind, shape in kinds:
        level = r.choice(LEVELS)
        for _ in range(phases):
            case = firmware.Firmware(place, kind, level, seed, r.randrange(20, 400), shape)
            wrong, cut = len(score.wrong), len(score.cut)
            examine(case.execute(), r, score)
            wrong, cut = score.wrong[wrong:], score.cut[cut:]
            failed |= bool(wrong)
            print(f"{'FAIL' if wrong else 'PASS'} tasks: {shape[0]} of them, a tick of {shape[1]}, {case.name}: "
                  f"{case.count} instructions, {len(wrong)} wrong, {len(cut)} cut short", flush=True)
            for text in (wrong + cut)[:5]:
                print(f"#   {text}")
    return score, failed


def main():
    reason = bench.missing()
    if reason:
        needed = os.environ.get("BTRACED_REQUIRE_DATA") == "1"
        print(f"{'FAIL' if needed else 'SKIP'} tasks: {reason}")
        return needed
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(1 << 30)
    print(f"# seed {seed}", flush=True)
    r = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="btraced-tasks.") as place:
        shapes = SHAPES if FULL else r.sample(SHAPES, 2)
        score, failed = look(r, place, seed, [(r.choice(KINDS), shape) for shape in shapes], PHASES)
        failed |= tell(f"SP and LR known within {NEAR} instructions", score.near, NEAR_LEAST)
        failed |= tell(f"SP and LR known within {FAR} instructions", score.far, FAR_LEAST)
        failed |= tell("backtraces right", score.backtraces, BT_LEAST)
        score, wrong = look(r, place, seed, [("a9", shape) for shape in shapes], 2 * PHASES if FULL else 1)
        failed |= tell("Cortex-A9, SP and LR known", [a + b for a, b in zip(score.near, score.far)], A_LEAST)
        return failed | wrong | tell("Cortex-A9, backtraces right", score.backtraces, A_LEAST)


if __name__ == "__main__":
    sys.exit(main())
