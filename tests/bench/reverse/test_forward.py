#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests live_snapshot.c, replay_known.c, reverse_forward.c, reverse_map.c, reverse_path.c,
# reverse_proof.c, reverse_recorded.c and reverse_snapshot.c.
"""Values forwards: stock GDB attaches to a virtual board at its reset, lets it run until it has
crashed, and goes to random positions in between, and in a recording of that as well. No register and
no word of RAM is another one than it was there. Nearly all are known, but for what a program takes from a counter (firmware.py)."""

import array
import os
import random
import re
import struct
import sys
import tempfile
from pathlib import Path

import bench
import firmware
from test_crash import NAMES, board, frames

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import PROGRAMS, Live, board_file, board_with, recording, symbol  # noqa: E402
from replay_gdb import Server, Skipped, Suite, equal, expect, gdb, has, lacks, same_list  # noqa: E402

suite = Suite()
FULL = bool(os.environ.get("BTRACED_FULL"))
POSITIONS = 60 if FULL else 15
WIDE_POSITIONS = 60
A_POSITIONS = 60 if FULL else 20
A_MESSAGES = 330 if FULL else 60  # about 3,100 instructions each
SEED = int(os.environ.get("BTRACED_SEED", random.SystemRandom().randrange(1 << 32)))
NO_STACK = 0xdead0000  # what GDB gets for SP and LR that are not known
WIDE = [*(f"x{i}" for i in range(31)), "sp", "pc", "cpsr"]  # a state of AArch64
FRAME = 2  # of an access: by the core itself, before the instruction
STACKED = 0xfe1ffc00  # of a stacked status: flags, GE, SFPA and IT
FRAME_BYTES = 0x6c  # with floating-point registers and what aligns it
ROW = 8  # words of an `x`


class Ram:
    """Bytes at one position after the other, from what was stored until then; all else is as a reset
    left it."""

    def __init__(self, accesses):
        self.accesses, self.next, self.stored = accesses, 0, {}

    def store(self, access):
        _, address, size, flags, value = access
        if flags & 1:
            for i, byte in enumerate(value.to_bytes(8, "little")[:size]):
                self.stored[address + i] = byte

    def at(self, position):
        """Not before the position of the call before."""
        while self.next < len(self.accesses) and self.accesses[self.next][0] < position:
            self.store(self.accesses[self.next])
            self.next += 1
        at = self.next  # frames only, which come first: they are stored again on the way on
        while at < len(self.accesses) and self.accesses[at][0] == position:
            if self.accesses[at][3] & FRAME:
                self.store(self.accesses[at])
            at += 1
        return self.stored


def written_down(folder, wide):
    """The states and accesses that the plugin of a board wrote, up to the last whole one."""
    states = array.array("Q" if wide else "I")
    data = (folder / "states").read_bytes()
    states.frombytes(data[:len(data) // states.itemsize * states.itemsize])
    accesses = (folder / "accesses").read_bytes()
    return states, list(struct.iter_unpack("<IIHHQ", accesses[:len(accesses) // 20 * 20]))


def words(output):
    """{address: number} of an `x/w`."""
    found = {}
    for at, row in re.findall(r"^(0x[0-9a-f]+)[^:\n]*:((?:[ \t]+0x[0-9a-f]+)+)", output, re.MULTILINE):
        for i, word in enumerate(row.split()):
            found[int(at, 16) + 4 * i] = int(word, 16)
    return found


def registers(output, names):
    """{name: number} of those that are known."""
    return {name: int(value, 16) & (1 << 64) - 1
            for name, value in re.findall(r"^(\w+) +(0x[0-9a-f]+) ", output, re.MULTILINE)
            if name in names}


def aligned(states, size, pc, path):
    """For each instruction of the path its state: one that gave an exception instead of being
    executed has a state, too."""
    found = []
    for at in range(pc, len(states), size):
        if len(found) < len(path) and states[at] == path[len(found)] & ~1:
            found.append(at // size)
    return found


def last_store(accesses, before, address):
    """The instruction in front of `before` that wrote the word last; None: none has."""
    for index, start, size, flags, _ in reversed(accesses):
        index -= bool(flags & FRAME)
        if index < before and flags & 1 and start < address + 4 and address < start + size:
            return index
    return None


def is_estimate(accesses, before, address, value, true):
    """A status that an exception has stacked is told without its flags where it is not known (docs/values.md)."""
    stores = [flags for index, start, size, flags, _ in accesses
              if index < before + bool(flags & FRAME) and flags & 1 and start < address + 4 and address < start + size]
    return bool(stores and stores[-1] & FRAME and not value & STACKED and not (value ^ true) & ~STACKED)


def stacked_again(accesses, index, address, value):
    """Whether `index` stacked a frame over the word, whose value that left as it was: the truth has of a frame with
    floating-point registers only what has changed."""
    frames = [start for at, start, _, flags, _ in accesses if flags & FRAME and at - 1 == index]
    before = [number for at, start, size, flags, number in accesses
              if at <= index and flags & 1 and size == 4 and start == address]
    return any(abs(start - address) < FRAME_BYTES for start in frames) and before[-1:] == [value]


def answers(told, accesses, where, places, asked):
    """Whose answers name the instruction that wrote the word last, or that none did. All that do are right."""
    known = 0
    for place, address, text in zip(places, asked, told):
        if re.search("possibly|perhaps|assumed|not looked for", text):
            continue
        at = re.match(r"instruction (\d+)", text)
        # Of addresses of 64 bits the truth has the lower half.
        said, true = at and where[int(at[1]) - 1], last_store(accesses, where[place - 1], address & 0xffffffff)
        value = re.search(rf": 4 bytes at {address:#x}, (0x[0-9a-f]+)$", text, re.MULTILINE)
        if said != true and at and value and stacked_again(accesses, said, address, int(value[1], 16)):
            true = said
        equal(said, true,
              f"who wrote {address:#x} before instruction {place}: {text!r}")
        known += 1
    return known


def look(elf, board_of, stop, areas, seed, truth=None, halts=(), wide=False, count=POSITIONS, before=()):
    """Random positions of a run from the reset to `stop`, told and true; what share is known. It is
    halted on its way where `halts` says. `areas`: (address, words) of RAM. `before`: commands at the reset."""
    numbers = random.Random(seed)
    names, size = (WIDE, len(WIDE)) if wide else (NAMES, 17)
    shown = "info registers " + " ".join(names)
    # A word that is not known ends what GDB shows.
    dumps = [f"x/{min(ROW, words - at)}xw {start + 4 * at:#x}" for start, words in areas for at in range(0, words, ROW)]
    with Live(board_of()) as live:
        first = gdb(live.port, [*before, f"tbreak {stop}", "continue", "reverse-stepi", "monitor where", "disconnect"],
                    elf=elf, connect="target extended-remote")
        end = int(has(first.all("monitor where")[0], r"instructions \d+ to (\d+)")[1])
    places = sorted(numbers.sample(range(2, end - 1 - 1000 * len(halts)), count))
    # By lines instead of words; where a line has something that is not known, GDB asks for each word.
    ask = ["set mem inaccessible-by-default off"]
    ask += [f"mem {start:#x} {start + 4 * words:#x} rw cache" for start, words in areas]
    asked = [start + 4 * numbers.randrange(numbers.choice((40, words)))
             for start, words in numbers.choices(areas, k=len(places))]
    for place, address in zip(places, asked):
        ask += [f"monitor goto {place}", "stepi", shown, *dumps, f"monitor written {address:#x} 1"]
    ask += ["monitor past", "disconnect"]
    run = ["monitor record start look", *before, *halts, f"tbreak {stop}", "continue", "shell sleep 1",
           "monitor record stop"]
    with Live(board_of()) as live:
        done = gdb(live.port, run + ask, elf=elf, connect="target extended-remote")
        states, accesses = truth or written_down(live.path.parent, wide)
        where = range(end) if truth else aligned(states, size, names.index("pc"), live.truth())
        with Server(recording(live, "look"), "--elf", str(elf)) as server:
            replayed = gdb(server.port, ["record stop", *ask], elf=elf)
    # What the board has not written to its files yet is not compared.
    places = [place for place in places
              if place <= len(where) and where[place - 1] <= accesses[-1][0]]
    judge = Judge(names, size, wide, where, states, accesses, places)
    told = [judge.told(output.all(shown), list(map(output.all, dumps)), areas)
            for output in (done, replayed)]
    for kind, output, (share, of, stacks) in zip(("live", "recorded"), (done, replayed), told):
        texts = [text for command, text in zip(output.commands, output.outputs) if command.startswith("monitor written")]
        named = answers(texts, accesses, where, places, asked)
        expect(wide or share < 0.99 or named >= 0.8 * len(places), f"{named} answers of {len(places)} are known")
        print(f"{elf.name}, {kind}: {len(places)} positions of {end}, seed {seed}: SP known at {stacks}, "
              f"{share:.1%} of the registers and {of:.1%} of the words of RAM, {named} answers to 'written' known, all right", flush=True)
    has(replayed.all("monitor past")[0], "the halt at its end proves it")
    return min(told)[0], min(of for _, of, _ in told), done.all("monitor past")[0]


class Judge:
    """What was really so, at positions of a run in their order."""

    def __init__(self, names, size, wide, where, states, accesses, places):
        self.names, self.size, self.wide, self.where = names, size, wide, where
        self.states, self.accesses, self.places = states, accesses, places

    def told(self, tables, dumps, areas):
        """What share is known, of registers and of RAM, and how often SP is."""
        ram = Ram(self.accesses)
        known = registers_known = stacks = 0
        for place, told, *memory in zip(self.places, tables, *dumps):
            at = self.where[place - 1]
            told = {name: value for name, value in registers(told, self.names).items()
                    if self.wide or value != NO_STACK}
            for name, value in told.items():
                equal(value, self.states[self.size * at + self.names.index(name)],
                      f"{name} at instruction {place}")
            registers_known += len(told)
            stacks += "sp" in told
            stored = ram.at(at)
            for address, value in words("\n".join(memory)).items():
                was = bytes(stored.get((address & 0xffffffff) + i, 0) for i in range(4))
                true = int.from_bytes(was, "little")
                if value != true and is_estimate(self.accesses, at, address, value, true):
                    continue
                equal(value, true, f"{address:#x} at instruction {place}")
                known += 1
        count = len(self.places)
        return (registers_known / (count * len(self.names)),
                known / (sum(words for _, words in areas) * count), stacks)


def forward(kind):
    reason = bench.missing()
    if reason:
        raise Skipped(reason)
    elf = PROGRAMS / f"crash-{kind}.elf"
    start, stop = symbol(elf, "bss_start"), symbol(elf, "stack_top")
    share, of, past = look(elf, lambda: board(f"virtual-{kind}", elf), "stopped_here",
                           [(start, (stop - start) // 4)], f"{SEED} {kind}")
    has(past, "the halt at its end proves it")
    expect(share >= 0.9, f"{share:.1%} of the registers are known")
    expect(of >= 0.95, f"{of:.1%} of the words of RAM are known")


def with_halts(kind):
    """Meanwhile time goes on: an exception waits for the core to run again, and is taken before the
    instruction at which it was halted. A step is no halt of which more is read than before."""
    reason = bench.missing()
    if reason:
        raise Skipped(reason)
    r = random.Random(f"{SEED} halts {kind}")
    elf = PROGRAMS / f"crash-{kind}.elf"
    start, stop = symbol(elf, "bss_start"), symbol(elf, "stack_top")
    halts = []
    for function in r.sample(("file_message", "new_topic", "skip_name", "timer_tick"), 2):
        halts += [f"tbreak {function}", "continue", "shell sleep 0.3", f"stepi {r.randrange(1, 9)}"]
    share, of, past = look(elf, lambda: board(f"virtual-{kind}", elf), "stopped_here",
                           [(start, (stop - start) // 4)], f"{SEED} halts {kind}", halts=halts)
    has(past, "the halt at its end proves it")
    lacks(past, "NOT shown.*")
    expect(share >= 0.9, f"{share:.1%} of the registers are known")
    expect(of >= 0.95, f"{of:.1%} of the words of RAM are known")


def snapshot_board(kind, elf):
    """The A-profile boards of 32 bits do not take snapshots as they are."""
    path = board(f"virtual-{kind}", elf)
    text = path.read_text()
    if "[past]" not in text:
        path.write_text(text + "\n[past]\nsnapshot = background\n")
    return path


def with_translation(kind, wide):
    """At the reset translation is off, and with 64 bits RAM cannot be read where it will be."""
    reason = bench.missing()
    if reason:
        raise Skipped(reason)
    r = random.Random(f"{SEED} {kind}")
    elf = PROGRAMS / f"crash-{kind}.elf"
    bss, end, stacks = (symbol(elf, name) for name in ("bss_start", "bss_end", "stacks_end"))
    areas = [(bss, (end - bss) // 4), (stacks - 0x400, 0x100)]
    if not FULL:
        areas = [(bss + 4 * r.randrange((end - bss) // 4 - 96), 96), (stacks - 0x100, 0x40)]
    halts = ["tbreak main", "continue"] if wide else []
    if FULL or r.randrange(2):
        halts += [f"tbreak {r.choice(('file_message', 'new_topic', 'timer_tick'))}", "continue",
                  "shell sleep 0.3", f"stepi {r.randrange(1, 9)}"]
    before = () if wide else (f"set var crash_after = {A_MESSAGES}",)
    share, of, past = look(elf, lambda: snapshot_board(kind, elf), "stopped_here", areas, f"{SEED} {kind}",
                           halts=halts, wide=wide, count=WIDE_POSITIONS if wide else A_POSITIONS, before=before)
    has(past, "the halt at its end proves it")
    lacks(past, "NOT shown.*")
    expect(share >= 0.99, f"{share:.1%} of the registers are known")
    # With 32 bits the number that the interrupt controller tells is pushed, and a word that is not known costs its row.
    # One of the positions may be where translation is set up.
    expect(of >= (0.97 if wide else 0.95), f"{of:.1%} of the words of RAM are known")


def written_at_a_halt():
    """Without snapshots: what was before a register was written is known as if nobody had, its own value too."""
    elf = PROGRAMS / "crash-m3.elf"
    shown = ["reverse-stepi", "info registers", "bt", "disconnect"]
    seen = []
    for writes in ([], ["set var $r0 = 1", "set var $r4 = 7", "set var $sp = $sp - 8"], ["set var $pc = main"]):
        with Live(board_file("virtual-m3", snapshot="off")) as live:
            done = gdb(live.port, ["tbreak new_topic", "continue", *writes, *shown], elf=elf,
                       connect="target extended-remote")
        seen.append((registers(done["info registers"], NAMES), frames(done["bt"])))
    for with_writes in seen[1:]:
        equal(seen[0], with_writes, "registers and frames, without writes and with")
    expect({"r0", "r4", "sp", "lr"} <= set(seen[0][0]) and seen[0][1][-1] == "main", f"known is {seen[0]}")


REGISTERS = "info registers " + " ".join(WIDE)


def nothing_known(output):
    """AArch64: where no halt tells of it there is the PC, and no number for anything else."""
    equal(list(registers(output, WIDE)), ["pc"], "registers that are known")
    equal(output.count("<unavailable>"), len(WIDE) - 1, "registers that are not")


def wide_story():
    """What GDB makes of it: out of the handler of a fault, and elsewhere; then without a halt
    before, and from a recording."""
    elf = PROGRAMS / "crash-a53.elf"
    with Live(board_file("virtual-a53")) as live:
        done = gdb(live.port, [
            "monitor record start wide", "tbreak main", "continue", "tbreak stopped_here", "continue",
            "monitor record stop", "bt", "reverse-stepi", "reverse-finish", "bt", "reverse-finish",
            "reverse-finish", "bt", "tbreak new_topic", "reverse-continue", "bt", "info locals",
            "up", "p text", "finish", "reverse-step", "rwatch topics[0].kept", "reverse-continue",
            "monitor written topics 2", "monitor read topics 2", "monitor explain sp", "monitor explain topic_count", "p topic_count",
            "monitor explain x99", "disconnect"],
            elf=elf, connect="target extended-remote")
        folder = recording(live, "wide")
        now, entry, vector, made = (frames(output) for output in done.all("bt"))
        equal(now[:3], ["stopped_here", "data_abort_handler", "data_abort_entry"], "frames")
        equal(entry, now[1:], "frames in the handler")
        equal(vector[0], "vectors", "where it was taken")
        same_list(made, ["new_topic", "file_message", "main"], "frames")
        has(done["p text"], '0x[0-9a-f]+ .*"[a-z]+.*:')
        lacks(done["info locals"], "unavailable|Cannot")
        has(done.all("reverse-continue")[1], r"Hardware read watchpoint 4: topics\[0\].kept")
        for what in ("written", "read"):
            expect(len(re.findall(r"^instruction \d+, 0x[0-9a-f]{16} in \w+: \d bytes? at 0xf[0-9a-f]{15}", done[f"monitor {what} topics 2"],
                                  re.MULTILINE)) == 2, f"{what}: {done[f'monitor {what} topics 2']}")
        has(done["monitor written topics 2"], ", 0x[0-9a-f]+$")
        has(done["monitor explain sp"], "^sp = 0x[0-9a-f]+: known, executed from an earlier halt on$")
        count = int(has(done["p topic_count"], r"= (\d+)")[1])
        has(done["monitor explain topic_count"],
            rf"^0x[0-9a-f]+ = {count:#010x}: known, executed from an earlier halt on$")
        has(done["monitor explain x99"], "^monitor explain REGISTER.*not 'x99'$")
        with Server(folder, "--elf", str(elf)) as server:
            done = gdb(server.port, ["record stop", "bt", "reverse-stepi", "reverse-finish", "bt",
                                     "tbreak new_topic", "reverse-continue", "bt", "up", "p text",
                                     "disconnect"], elf=elf, connect="target extended-remote")
            same_list([frames(output) for output in done.all("bt")], [now, entry, made], "frames")
            has(done["p text"], '0x[0-9a-f]+ .*"[a-z]+.*:')
    with Live(board_file("virtual-a53", snapshot="off")) as live:
        done = gdb(live.port, ["tbreak new_topic", "continue", "reverse-stepi", REGISTERS,
                               "p topic_count", "disconnect"],
                   elf=elf, connect="target extended-remote")
    nothing_known(done[REGISTERS])
    has(done["p topic_count"], "Cannot access memory")


WATCHED = ("ticks", "received", "queue_put", "queue_taken", "topic_count", "topics[0].messages",
           "topics[1].kept", "topics[2].messages")


def changes(accesses, ranges):
    """The instructions that change what lies in one of these (address, bytes), in their order."""
    found, stored = [], {}
    for index, address, size, flags, value in accesses:
        for start, count in ranges if flags & 1 else ():
            for i, byte in enumerate(value.to_bytes(8, "little")[:size]):
                if start <= address + i < start + count and stored.get(address + i, 0) != byte:
                    stored[address + i] = byte
                    found.append(index)
    return sorted(set(found))


def wide_watches(seed=SEED):
    """Back from the halt from change to change, and on again."""
    reason = bench.missing()
    if reason:
        raise Skipped(reason)
    r = random.Random(f"{seed} watches")
    elf = PROGRAMS / "crash-a53.elf"
    names, back = r.sample(WATCHED, 2), r.randrange(3, 8)
    steps = ["reverse-continue"] * back + ["continue"] * r.randrange(1, back)
    commands = ["tbreak main", "continue", "tbreak stopped_here", "continue"]
    commands += [f"{word}{name}" for name in names for word in ("p/x (unsigned)&", "watch ")]
    with Live(snapshot_board("a53", elf)) as live:
        done = gdb(live.port, commands + [c for s in steps for c in (s, "monitor where")] +
                   ["disconnect"], elf=elf, connect="target extended-remote")
        states, accesses = written_down(live.path.parent, True)
        where = aligned(states, len(WIDE), WIDE.index("pc"), live.truth())
    ranges = [(int(has(done[f"p/x (unsigned)&{name}"], "= (0x[0-9a-f]+)")[1], 16), 4)
              for name in names]
    number = {at: position for position, at in enumerate(where, 1)}
    true = [number[at] for at in changes(accesses, ranges) if at in number]
    expect(len(true) > back, f"{names} change {len(true)} times")
    told = [int(has(output, r"^instruction (\d+),")[1]) for output in done.all("monitor where")]
    same_list(told[:back], true[:-back - 1:-1], f"{names}, back, seed {seed}")
    # A stop in front of a store is gone over first, and shown behind it.
    same_list(told[back:], [at + 1 for at in true[len(true) - back:]][:len(told) - back],
              f"{names}, on, seed {seed}")


EXPLAINED = ("queue_put", "topic_count")


def explained(kind="m3"):
    """Words and variables whose values came forwards: those that GDB shows, and no others."""
    elf = PROGRAMS / f"crash-{kind}.elf"
    places = sorted(random.Random(f"{SEED} explained").sample(range(1000, 90000), 5))
    ask = []
    for place in places:
        ask += [f"monitor goto {place}", "stepi"]
        ask += [c for name in EXPLAINED for c in (f"monitor explain {name}", f"p/x {name}")]
        ask += ["monitor explain *0xe000e010"]
    with Live(board_file(f"virtual-{kind}")) as live:
        done = gdb(live.port, ["tbreak stopped_here", "continue", "reverse-stepi", *ask, "disconnect"], elf=elf,
                   connect="target extended-remote")
    ahead = 0
    for name in EXPLAINED:
        for told, shown in zip(done.all(f"monitor explain {name}"), done.all(f"p/x {name}")):
            value = int(has(told, r"^0x[0-9a-f]{8} = (0x[0-9a-f]+): known")[1], 16)
            equal(value, int(has(shown, "= (0x[0-9a-f]+)")[1], 16), f"{name} as it is explained")
            ahead += "executed from an earlier halt on" in told
    expect(ahead >= len(places), f"only {ahead} are told to come forwards, seed {SEED}")
    for told in done.all("monitor explain *0xe000e010"):
        has(told, "^0xe000e010: not known at this place; nobody says that it is RAM")


def known_bytes(past):
    return [int(number) for number in re.findall(r": (\d+) bytes of RAM known at its begin", past)]


def budgets():
    """What is read at a halt, in bytes: with `halt` all of it, though the core is told to go on at once; no more than
    the board file allows."""
    elf = PROGRAMS / "crash-m3.elf"
    go = ["tbreak main", "continue", "tbreak file_message", "continue", "tbreak stopped_here", "continue",
          "monitor goto 50000", "stepi", "monitor past", "disconnect"]
    pasts = {}
    for kind, keys in (("halt", {}), ("halt", {"snapshot_bytes": "4K"}), ("background", {"snapshot_bytes": "4K"})):
        path = board_file("virtual-m3", snapshot=kind + "".join(f"\n{key} = {keys[key]}" for key in keys))
        with Live(path) as live:
            done = gdb(live.port, go, elf=elf, connect="target extended-remote")
        pasts[kind, *keys] = done["monitor past"]
    all_of_it = known_bytes(pasts["halt",])
    expect(len(all_of_it) == 3 and min(all_of_it) > 4096, f"{all_of_it} bytes are read")
    lacks(pasts["halt",], "not all")
    for kind in ("halt", "background"):
        known = known_bytes(pasts[kind, "snapshot_bytes"])
        expect(max(known) <= 4096, f"{known} bytes were read, and 4096 are allowed")
        has(pasts[kind, "snapshot_bytes"], r"begin \(not all\), ")
    equal(known_bytes(pasts["halt", "snapshot_bytes"]), [4096] * 3, "bytes that were read at each halt")


def with_tasks(kind):
    reason = bench.missing()
    if reason:
        raise Skipped(reason)
    r = random.Random(f"{SEED} {kind}")
    with tempfile.TemporaryDirectory(prefix="btraced-forward.") as place:
        case = firmware.Firmware(place, kind, r.choice(("O0", "O1", "O2", "Os")), SEED,
                                 r.randrange(8, 40))
        case.execute()
        look(case.elf, lambda: board_with(kind, case.elf), "halt_here",
             [(case.machine.ram, bench.RAM_SIZE // 4)], f"{SEED} {kind}", (case.states, case.accesses), count=15)


for chip in ("m3", "m4", "m7", "m33"):
    suite.test(f"values forwards: registers and RAM of virtual-{chip}")(
        lambda chip=chip: forward(chip))

suite.test("values forwards: explained")(explained)
suite.test("values forwards: all at a halt, and no more than is allowed")(budgets)
suite.test("values: registers that are written at a halt")(written_at_a_halt)
suite.test("values forwards: AArch64 in GDB")(wide_story)
suite.test("values forwards: AArch64, watchpoints")(wide_watches)
# Five motions that GDB does not look into, and then a value that is the one it saw first.
suite.test("values forwards: AArch64, a watchpoint that was shown long ago")(lambda: wide_watches(4007778065))

for chip in ("a9", "a53") if FULL else ("a53",):
    suite.test(f"values forwards: registers and RAM of virtual-{chip}")(
        lambda chip=chip: with_translation(chip, chip == "a53"))

for chip in ("m3", "m7", "m33") if FULL else ("m4",):
    suite.test(f"values forwards: with halts on the way, virtual-{chip}")(
        lambda chip=chip: with_halts(chip))

# At every position: test_firmware.py.
for chip in random.Random(SEED).sample(("m3", "m4", "m33"), 2 if FULL else 1):
    suite.test(f"values forwards: firmware with tasks, virtual-{chip}")(
        lambda chip=chip: with_tasks(chip))

if __name__ == "__main__":
    suite.run()
