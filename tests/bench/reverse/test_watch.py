#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/reverse/reverse_accesses.c, reverse_watch.c, reverse_written.c.
"""Watchpoints of stock GDB at replay positions, over `btraced replay` and on a virtual board that was halted at its
reset: where they stop is compared with every access of the run. The right instruction is named, or it is said that
nobody can know it; another one never is. So do `monitor written` and `monitor read`.

usage: test_watch.py [SEED]    BTRACED_FULL=1: more of it. The seed is a new one in each run.
"""

import bisect
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import bench
import firmware

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import Live, board_with  # noqa: E402
from replay_gdb import Client, Server, frame, in_words_of_13  # noqa: E402

FULL = bool(os.environ.get("BTRACED_FULL"))
PLACES = 50 if FULL else 12  # globals, and as many words of the stack
TIMES = 3                    # motions one after the other
QUESTIONS = 100 if FULL else 40
TYPES = {1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long"}
KINDS = ("m3", "m4", "m7", "m33")
A_KINDS = ("a32", "t32", "mixed")
LEVELS = ("O0", "O1", "O2", "Os")
BIT_BAND = 0x22000000  # a word for each bit of the RAM of a Cortex-M3 or M4
KNOWN_LEAST = 50  # percent of the stops over all programs that name the instruction


class Truth:
    """Accesses to each byte of the RAM: instructions in whose wake they were, in order."""

    def __init__(self, case):
        self.count = case.count
        base = case.machine.ram
        self.ram = range(base, base + bench.RAM_SIZE)
        self.changes, self.reads, self.writes = {}, {}, {}
        memory = bytearray(bench.RAM_SIZE)
        for index, address, size, flags, value in case.accesses:
            insn = index - 1 if flags & bench.FRAME else index
            bit = address - BIT_BAND if 0 <= address - BIT_BAND < 32 * bench.RAM_SIZE else None
            if bit is not None:
                address, size = base + bit // 32, 1
            for i in range(size):
                at = address + i
                if at not in self.ram:
                    continue
                byte = value >> 8 * i & 0xff
                if bit is not None:
                    mask = 1 << (bit >> 2 & 7)
                    byte = memory[at - base] & ~mask | (mask if value & 1 else 0)
                if not flags & bench.STORE:
                    self.reads.setdefault(at, []).append(insn)
                    continue
                self.writes.setdefault(at, []).append(insn)
                if memory[at - base] != byte:
                    self.changes.setdefault(at, []).append(insn)
                memory[at - base] = byte
        self.pcs = {}
        for position in range(case.count):
            self.pcs.setdefault(case.pc(position), []).append(position)
        self.breakpoints = [pc for pc in self.pcs if not self.may_be_in_block(case, pc)]

    @staticmethod
    def may_be_in_block(case, pc):
        """Behind an IT instruction: GDB moves a breakpoint out of its block."""
        at = pc - case.base
        before = struct.iter_unpack("<H", case.code[max(0, at - 16):max(0, at)])
        return any(half >> 8 == 0xbf and half & 0xf for half, in before)

    @staticmethod
    def latest(lists, before):
        found = [rows[i - 1] for rows in lists if (i := bisect.bisect_left(rows, before))]
        return max(found, default=None)

    @staticmethod
    def next(lists, start):
        found = [rows[i] for rows in lists if (i := bisect.bisect_left(rows, start)) < len(rows)]
        return min(found, default=None)

    def lists(self, kind, address, size):
        of = {"watch": (self.changes,), "rwatch": (self.reads,), "awatch": (self.reads, self.writes)}[kind]
        return [rows.get(at, []) for rows in of for at in range(address, address + size)]


def watch(kind, address, size):
    return f"{kind} *({TYPES[size]} *) {address:#x}"


def choose(r, truth, case, stack_from):
    """Cases for GDB, and what each one is about."""
    cases, about = [], []
    words = sorted({at & ~3 for at in truth.writes})
    places = {"global": [at for at in words if at < stack_from], "local": [at for at in words if at >= stack_from]}
    for name, all_words in places.items():
        for _ in range(PLACES if all_words else 0):
            size = r.choice((1, 2, 4, 4, 4, 8))
            at = r.choice(all_words)
            at = (at & ~7) if size == 8 else at + r.randrange(0, 4, size) if size < 4 else at
            forward = r.random() < 0.2
            start = r.randrange(1, truth.count) if forward or r.random() < 0.5 else truth.count
            kind = "watch" if name == "local" else r.choice(("watch", "watch", "watch", "rwatch", "awatch"))
            watches = [(kind, at, size)]
            if r.random() < 0.2:
                watches.append(("watch", r.choice(all_words), 4))
            stop = r.choice(truth.breakpoints) if r.random() < 0.2 else None
            commands = [watch(*w) for w in watches] + ([f"break *{stop:#x}"] if stop is not None else [])
            cases.append({"position": start, "commands": commands, "times": TIMES,
                          "motion": "continue" if forward else "reverse-continue"})
            about.append((name, watches, stop, forward))
    return cases, about


def run_gdb(case, cases, *begin):
    """For each case its stops: position, None for the halt, and what GDB said."""
    job = case.folder / "watch.json"
    job.write_text(json.dumps(cases))
    command = ["gdb-multiarch", "-nx", "-batch", "-q"]
    for text in ("set pagination off", "set confirm off", "set debuginfod enabled off", f"file {case.elf}",
                 *begin):
        command += ["-ex", text]
    done = subprocess.run([*command, "-x", str(bench.HERE / "watch_in_gdb.py"), "-ex", "disconnect"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=600, stdin=subprocess.DEVNULL, check=False,
                          env=dict(os.environ, WATCH_JOB=str(job), HOME=str(case.folder), LC_ALL="C"))
    rows = []
    for part in done.stdout.split("@@case\n")[1:]:
        words = re.split(r"^@@at (\w+)\n", part, flags=re.MULTILINE)
        rows.append([(None if at == "end" else int(at), said) for said, at in zip(words[::2], words[1::2])])
    if len(rows) != len(cases) or not all(rows):
        raise bench.BenchError(f"{case.name}: {len(rows)} of {len(cases)} cases: {done.stdout[-900:]}")
    return rows


def is_frame(case, at, read):
    """A handler ends there. What its core takes from the stack the truth does not have; with another handler right behind it,
    it may leave out that it takes a frame and puts it there again (DDI 0403E.e B1.5.12), and the trace does not tell."""
    if not case.machine.m_profile or not 0 <= at < case.count:
        return False
    before, after = case.psr(at) & 0x1ff, case.psr(at + 1) & 0x1ff
    return before not in (0, after) and (read or after != 0)


class Judge:
    def __init__(self, case, truth):
        self.case, self.truth = case, truth
        self.right = self.possible = self.named = 0
        self.wrong = []

    def expected(self, watches, stop, forward, start):
        """Position that GDB is to show: in front of the access going back, behind it going on."""
        truth = self.truth
        if forward:
            hits = [n + 1 for w in watches if (n := truth.next(truth.lists(*w), start)) is not None]
            if stop is not None and (n := truth.next([truth.pcs[stop]], start + 1)) is not None:
                hits.append(n)
            return min(hits, default=None)
        hits = [n for w in watches if (n := truth.latest(truth.lists(*w), start)) is not None]
        if stop is not None and (n := truth.latest([truth.pcs[stop]], start)) is not None:
            hits.append(n)
        return max(hits, default=None)

    def stop(self, row, about, start):
        _, watches, stop, forward = about
        at, said = row
        if at is None:
            at = self.truth.count
        right = self.expected(watches, stop, forward, start)
        over = "No more reverse-execution history" in in_words_of_13(said)
        if over and right is None or at == right:
            self.right += 1
        elif "possibly" in said:
            self.possible += 1
        elif self.is_unknown_write(at, said, right, forward):
            self.right += 1
        elif any(kind != "watch" for kind, *_ in watches) and is_frame(self.case, at - forward, True):
            self.possible += 1
        else:
            self.wrong.append(f"{self.case.name}: from {start} {'on' if forward else 'back'}, {about}: stops at {at}, "
                              f"not at {right}: {said[-400:]!r}")
        return at

    @staticmethod
    def is_unknown_write(at, said, right, forward):
        """A write of what may have been there before: as good as one that changes it, if none is passed."""
        unknown = "is not known" in said or "<unreadable>" in said
        return unknown and (right is None or (at <= right if forward else at >= right))


class Asker(Client):
    """Asks at a position who wrote or read a place."""

    def __init__(self, server):
        super().__init__(server.port, acks=False)
        self.start()

    def monitor(self, command):
        self.send(frame("qRcmd," + command.encode().hex()))
        text = ""
        while (reply := self.reply())[:1] == "O" and reply != "OK":
            text += bytes.fromhex(reply[1:]).decode()
        return text

    def ask_at(self, position, question):
        self.monitor(f"goto {position + 1}")
        self.ask("s")
        return self.monitor(question)


def answer_is_right(case, text, word, right):
    """Whether the answer, one line asked for, agrees with the last access `right`, a position or None; and whether it
    names the one. What rests on an assumption need not hold."""
    lines = text.splitlines()
    possible = [int(n) - 1 for n in re.findall(r"^possibly one of .* the latest: instruction (\d+)", text, re.MULTILINE)]
    sure = [line for line in lines if line.startswith("instruction ")]
    at = int(re.match(r"instruction (\d+)", sure[0])[1]) - 1 if sure else None
    if at is not None and ("(assumed)" in sure[0] or is_frame(case, at, word == "read")):
        return True, at == right
    if at is not None and "perhaps" in sure[0]:
        possible.append(at)
        at = None
    least = -1 if at is None else at
    if not possible:
        return at == right, at == right
    return right == at or (right is not None and least <= right <= max(possible)), False


def ask_questions(judge, truth, server, r):
    asker, places = Asker(server), sorted(truth.writes)
    places += [truth.ram[-1] - 3, truth.ram[0]]
    for _ in range(QUESTIONS):
        at = r.choice(places) & ~3
        start = r.randrange(1, truth.count)
        word = r.choice(("written", "read"))
        accesses = truth.writes if word == "written" else truth.reads
        right = truth.latest([accesses.get(at + i, []) for i in range(4)], start)
        text = asker.ask_at(start, f"{word} {at:#x} 1")
        agrees, known = answer_is_right(judge.case, text, word, right)
        judge.named += known
        if not agrees:
            judge.wrong.append(f"{judge.case.name}: '{word} {at:#x}' at {start}: {text!r}, not {right}")
    asker.close()


def examine(case, r, live=False):
    truth = Truth(case)
    stack = min(case.reg(position, 13) for position in range(0, case.count, 7)) & ~0xff
    cases, about = choose(r, truth, case, stack)
    judge = Judge(case, truth)
    if live:
        with Live(board_with(case.kind.removeprefix("firmware-"), case.elf)) as server:
            rows = run_gdb(case, cases, f"target extended-remote 127.0.0.1:{server.port}",
                           "tbreak halt_here", "continue")
            ask_questions(judge, truth, server, r)
    else:
        with Server(case.recording, "--elf", str(case.elf)) as server:
            rows = run_gdb(case, cases, f"target remote 127.0.0.1:{server.port}", "record stop")
            ask_questions(judge, truth, server, r)
    for case_row, row, one in zip(cases, rows, about):
        start = case_row["position"]
        for stop in row:
            start = judge.stop(stop, one, start)
    return judge


def ends_behind_return(case):
    """No branch follows the last return from an exception: where that went is not in the trace."""
    at = case.count
    while at > 1 and case.pc(at - 1) < case.pc(at) <= case.pc(at - 1) + 4:
        at -= 1
    return (case.psr(at - 1) ^ case.psr(at)) & 0x1ff != 0


def programs(place, seed):
    r = random.Random(seed)
    lives = KINDS if FULL else r.sample(KINDS, 2)
    for kind in KINDS:
        for i in range(2 if FULL else 1):
            case = firmware.Firmware(place, kind, r.choice(LEVELS), seed + i, r.choice((8, 16, 24)))
            yield case, kind in lives and i == 0
    for kind in A_KINDS if FULL else (r.choice(A_KINDS),):
        yield bench.Case(place, kind, r.choice(LEVELS), r.choice((1, 2, 3))), False
    if FULL:
        for kind in KINDS:
            yield bench.Case(place, kind, r.choice(LEVELS), r.choice((1, 2, 3))), False


def main():
    reason = bench.missing()
    if reason:
        needed = os.environ.get("BTRACED_REQUIRE_DATA") == "1"
        print(f"{'FAIL' if needed else 'SKIP'} watchpoints: {reason}")
        return needed
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(1 << 30)
    print(f"# seed {seed}", flush=True)
    right = possible = wrong = named = asked = 0
    with tempfile.TemporaryDirectory(prefix="btraced-watch.") as place:
        for case, live in programs(place, seed):
            case.execute()
            if case.machine.m_profile and ends_behind_return(case):
                print(f"# {case.name}: left out, its trace does not reach its end")
                continue
            judge = examine(case, random.Random(f"{seed} {case.name}"), live)
            right, possible = right + judge.right, possible + judge.possible
            wrong += len(judge.wrong)
            named, asked = named + live * judge.named, asked + live * QUESTIONS
            print(f"{'FAIL' if judge.wrong else 'PASS'} watchpoints, {'virtual board, ' if live else ''}{case.name}: {case.count} instructions, "
                  f"{judge.right} right, {judge.possible} cannot know, {len(judge.wrong)} wrong; of {QUESTIONS} questions {judge.named} name the access",
                  flush=True)
            for text in judge.wrong[:10]:
                print(f"#   {text}")
    share = 100 * right / max(1, right + possible + wrong)
    print(f"{'FAIL' if share < KNOWN_LEAST else 'PASS'} watchpoints: {share:.0f} % of the stops are known")
    print(f"# {named} of {asked} answers at boards name the access")
    return wrong > 0 or share < KNOWN_LEAST


if __name__ == "__main__":
    sys.exit(main())
