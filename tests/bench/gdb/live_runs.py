# SPDX-License-Identifier: BSD-3-Clause
"""Long runs of virtual boards through the live server: what it records, decoded, and the history
that it serves at the halt, against what the board executed; and the same with damage on the way."""

import array
import random
import re
import socket
import subprocess
import threading

from live_gdb import PROGRAMS, Live, Wire, board_file, follow, recording
from replay_gdb import BTRACED, GAP, PATIENCE, environment, equal, expect, wait_for

A9, A53, M3, M4, M7, M33 = (PROGRAMS / f"crash-{name}.elf"
                            for name in ("a9", "a53", "m3", "m4", "m7", "m33"))
PTM11 = {"replace": [("source = PTM1.0", "source = PTM1.1")]}
ETM_ON_A = {"replace": [("source = PTM1.0", "source = ETM3.5"),
                        ("type = Cortex-A9", "type = Cortex-A7"),
                        ("format=tpiu,", "format=tpiu,protocol=etmv3,")]}
A15 = {"etmidr": 0x411CF312, "etmccer": 0x34C01AC2}
A7 = {"etmidr": 0x410CF250, "etmccer": 0x344008F2}
DATA_ADDRESS, BROADCAST, CYCLES = 1 << 3, 1 << 8, 1 << 12
CONTEXT, STAMPS, RETURN_STACK = 3 << 14, 1 << 28, 1 << 29
EVERYTHING = RETURN_STACK | CYCLES | CONTEXT | STAMPS

# TRCCONFIGR
V4_BROADCAST, V4_CYCLES, V4_CONTEXT, V4_VMID = 1 << 3, 1 << 4, 1 << 6, 1 << 7
V4_STAMPS, V4_RETURN_STACK = 1 << 11, 1 << 12
V4_EVERYTHING = V4_CYCLES | V4_CONTEXT | V4_VMID | V4_STAMPS | V4_RETURN_STACK

# name: (board, program, cores, registers, further arguments of board_file())
SETS = {
    "A9, PTM, return stack": ("virtual-a9", A9, 1, {}, {}),
    "A9, PTM, no return stack": ("virtual-a9", A9, 1, {"etmcr": 0}, {}),
    "A9, PTM, branch broadcast": ("virtual-a9", A9, 1, {"etmcr": BROADCAST}, {}),
    "A9, PTM, cycle counts": ("virtual-a9", A9, 1, {"etmcr": CYCLES | RETURN_STACK}, {}),
    "A9, PTM v1.1, context ID, timestamps": (
        "virtual-a9", A9, 1, {**A15, "etmcr": CONTEXT | STAMPS | RETURN_STACK}, PTM11),
    "A9, PTM v1.1, everything": ("virtual-a9", A9, 1, {**A15, "etmcr": EVERYTHING}, PTM11),
    "A9, ETMv3": ("virtual-a9", A9, 1, {**A7, "etmcr": 0}, ETM_ON_A),
    "A9, ETMv3, branch broadcast": ("virtual-a9", A9, 1, {**A7, "etmcr": BROADCAST}, ETM_ON_A),
    "A9, ETMv3, cycle counts, context ID, timestamps": (
        "virtual-a9", A9, 1, {**A7, "etmcr": CYCLES | CONTEXT | STAMPS}, ETM_ON_A),
    "A9, ETMv3, data addresses": (
        "virtual-a9", A9, 1, {**A7, "etmcr": DATA_ADDRESS}, ETM_ON_A),
    "two A9, PTM": ("virtual-a9-smp", A9, 2, {}, {}),
    "M3, ETMv3": ("virtual-m3", M3, 1, {}, {}),
    "M3, ETMv3, branch broadcast": ("virtual-m3", M3, 1, {"etmcr": BROADCAST}, {}),
    "M3, ETMv3, timestamps, frequent syncs": (
        "virtual-m3", M3, 1, {"etmcr": STAMPS, "etmsyncfr": 100}, {}),
    "M4, ETMv3": ("virtual-m4", M4, 1, {}, {}),
    "M4, ETMv3, branch broadcast, timestamps": (
        "virtual-m4", M4, 1, {"etmcr": BROADCAST | STAMPS}, {}),
    "M7, ETMv4": ("virtual-m7", M7, 1, {}, {}),
    "M7, ETMv4, branch broadcast": ("virtual-m7", M7, 1, {"trcconfigr": 1 | V4_BROADCAST}, {}),
    "M7, ETMv4, return stack of 2, cycle counts, timestamps": (
        "virtual-m7", M7, 1, {"trcconfigr": 1 | V4_RETURN_STACK | V4_CYCLES | V4_STAMPS},
        {"plugin": ",returnstack=2"}),
    "M7, ETMv4, irregular, everything": (
        "virtual-m7", M7, 1, {"trcconfigr": 1 | V4_RETURN_STACK | V4_CYCLES | V4_STAMPS},
        {"plugin": ",irregular=20"}),
    "M33, ETMv4": ("virtual-m33", M33, 1, {}, {}),
    "M33, ETMv4, return stack, timestamps, frequent syncs": (
        "virtual-m33", M33, 1, {"trcconfigr": 1 | V4_RETURN_STACK | V4_STAMPS, "trcsyncpr": 8},
        {}),
    "A53, ETMv4, return stack": ("virtual-a53", A53, 1, {}, {}),
    "A53, ETMv4, no return stack, frequent syncs": (
        "virtual-a53", A53, 1, {"trcconfigr": 1, "trcsyncpr": 8}, {}),
    "A53, ETMv4, branch broadcast": (
        "virtual-a53", A53, 1, {"trcconfigr": 1 | V4_BROADCAST}, {}),
    "A53, ETMv4, everything": ("virtual-a53", A53, 1, {"trcconfigr": 1 | V4_EVERYTHING}, {}),
    "A53, ETMv4, 16 speculated elements, irregular": (
        "virtual-a53", A53, 1, {"trcconfigr": 1 | V4_EVERYTHING},
        {"plugin": ",trcidr8=16,irregular=15",
         "replace": [("TRCSYNCPR = 10", "TRCIDR8 = 16\nTRCSYNCPR = 10")]}),
    "two A53, ETMv4": ("virtual-a53-smp", A53, 2, {}, {}),
}


class Relay:
    """Between the board's output and the server: forwards, and damages `each`th byte or so in one
    of the `ways`. Its sockets are beside the board file."""

    def __init__(self, place, ways, each, seed=1):
        self.place, self.ways, self.each = place, ways, each
        self.chance = random.Random(seed)
        self.taken = self.damaged = self.doubled = 0
        self.next = self.distance()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(place / "relay"))
        self.listener.listen(1)
        threading.Thread(target=self.run, daemon=True).start()

    def distance(self):
        return self.chance.randrange(self.each // 2, 2 * self.each)

    def hurt(self, data, at):
        """One byte changed, or some dropped, doubled or put in."""
        way = self.chance.choice(self.ways)
        count = self.chance.randrange(1, 200)
        if way == "flip":
            data[at] ^= 1 << self.chance.randrange(8)
        elif way == "drop":
            del data[at:at + count]
        elif way == "double":
            again = data[at:at + count]
            data[at:at] = again
            self.doubled += len(again)
        else:
            data[at:at] = self.chance.randbytes(count)
        self.damaged += 1

    def run(self):
        source, _ = self.listener.accept()
        with source, socket.socket(socket.AF_UNIX) as sink:
            sink.connect(str(self.place / "trace"))
            while data := bytearray(source.recv(4096)):
                size = len(data)
                if self.next < size:
                    self.hurt(data, self.next)
                    self.next = size + self.distance()
                self.next -= size
                try:
                    sink.sendall(data)
                except OSError:
                    return
                self.taken += size


def prepare(name, **more):
    """Path of the board file, program, number of cores."""
    board, elf, cores, registers, options = SETS[name]
    options = {**options, **more}
    options["replace"] = [*SETS[name][4].get("replace", []), *more.get("replace", [])]
    options["registers"] = {**registers, **more.get("registers", {})}
    return board_file(board, **options), elf, cores


def run_long(live, elf, count, during=lambda wire: None):
    """Runs the program for so many instructions, recorded from reset on, with some halts between.
    Returns the recording, and for each core (blocks of the history, PC)."""
    place = recording(live, "run")
    with Wire(live) as wire:
        expect("recording to" in wire.monitor("record start run"), "not recording")
        wire.run_to_main(elf)
        threads = wire.threads()
        for thread in threads:
            equal(wire.ask("Hg" + thread), "OK", "Hg")
            equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        for part in (count // 3, count // 3, count - 2 * (count // 3)):
            wire.run_for(live, part, len(threads))
            during(wire)
            wire.step()
        histories = []
        for thread in threads:
            wire.ask("Hg" + thread)
            histories.append((wire.blocks("all"), wire.pc()))
        wire.monitor("record stop")
    return place, histories


def decoded(recording, core=0):
    """Runs of instructions between gaps: [array of addresses], and the events in between."""
    command = [BTRACED, "decode", "--instructions", "--events", str(recording)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                               env=environment())
    runs, events, name = [array.array("Q")], [], f"cpu{core}".encode()
    for line in process.stdout:
        words = line.split(None, 4)
        if words[0] != name:
            continue
        if words[2][:2] == b"0x":
            runs[-1].append(int(words[2], 16))
        elif words[3] in (b"gap", b"trace-on"):
            events.append(line.decode().rstrip())
            runs.append(array.array("Q"))
    equal(process.wait(PATIENCE), 0, "exit code of decode")
    process.stdout.close()
    return [run for run in runs if run], events


def plain(truth):
    return array.array("Q", [address & ~1 for address in truth])


def equal_run(live, recording, histories, cores):
    """Everything that ran is there, and nothing else; the history at the halt is its end. Returns
    how many instructions there are."""
    total = 0
    for core in range(cores):
        truth = plain(live.truth(core=core))
        runs, _ = decoded(recording, core)
        got = array.array("Q", [address for run in runs for address in run])
        if got != truth[:len(got)]:
            where = next(i for i, pair in enumerate(zip(got, truth)) if pair[0] != pair[1])
            expect(False, f"core {core}: instruction {where + 1} is {got[where]:#x}, "
                          f"{truth[where]:#x} ran")
        # What a recording ends with may still be held back by the decoder.
        expect(len(truth) - len(got) < 16, f"core {core}: {len(got)} decoded of {len(truth)}")
        found, pc = histories[core]
        equal(found.count(GAP), 0, "gaps of the history")
        expect(follow(found, truth, pc) >= min(90000, len(truth)), "a short history")
        total += len(truth)
    return total


WINDOW = 3000     # instructions that are enough to know a place in the run again
WRONG_MAX = 6000  # instructions after which no such place is looked for


class Alignment:
    """Runs of instructions between gaps, laid along what ran, in order. `right` instructions ran
    so; `wrong` are the spans that did not, or that had run before, (where in the listing,
    length): bytes that come twice, in a loop, are packets of a legal stream, and only who knows the
    truth sees it."""

    def __init__(self, runs, truth, reach):
        self.names = {}  # one character an address: Python searches text well
        self.truth, self.reach = self.text(truth), reach
        self.at = self.right = self.done = 0
        self.wrong = []
        for run in runs:
            self.place(self.text(run))
            self.done += len(run)

    def text(self, addresses):
        names = self.names
        return "".join([names.setdefault(a, chr(0x100 + len(names))) for a in addresses])

    def find(self, run):
        """Where the instructions ran, and how many of them: of all places near, that where most of
        them did, and then the nearest, since in loops a window alone fits more than one. (-1, 0):
        nowhere near."""
        best, count, wanted = -1, 0, run[:WINDOW]
        low, high = max(0, self.at - self.reach), self.at + self.reach
        while (place := self.truth.find(wanted, low, high)) >= 0:
            same, low = self.same(run, place), place + 1
            if same > count or (same == count and abs(place - self.at) < abs(best - self.at)):
                best, count = place, same
        return best, count

    def same(self, run, place):
        """How many of them ran from there on."""
        low, high = 0, min(len(run), len(self.truth) - place)
        while low < high:
            middle = (low + high + 1) // 2
            if self.truth[place + low:place + middle] == run[low:middle]:
                low = middle
            else:
                high = middle - 1
        return low

    def place(self, run):
        begin = 0
        while begin < len(run):
            first = begin
            while begin < len(run) and (found := self.find(run[begin:]))[0] < 0:
                begin += 1 + (begin - first) // 8
                if begin - first > WRONG_MAX:
                    begin = len(run)
            begin = min(begin, len(run))
            wrong = begin - first
            if begin < len(run):
                place, count = found
                # A short span may have run anywhere: it tells no place.
                if count >= WINDOW:
                    again = max(0, min(count, self.at - place))
                    wrong, self.at = wrong + again, max(self.at, place + count)
                    self.right -= again
                begin, self.right = begin + count, self.right + count
            if wrong:
                self.wrong.append((self.done + first, wrong))

    def silent(self, events):
        """Lengths of the wrong ones that no gap behind them tells to be doubtful."""
        doubts = []
        for event in events:
            if told := re.search(r"doubtful=(\d+)", event):
                end = int(event.split()[1]) - 1
                doubts.append((end - int(told[1]), end))
        return [length for at, length in self.wrong
                if not any(low < at + length and at < high for low, high in doubts)]


def damaged(name, ways, each, **more):
    """Path of the board file, program, number of cores, and the relay in the trace's way."""
    replace = [("out=unix:$RUN/trace", "out=unix:$HERE/relay"),
               ("listen = unix:$RUN/trace", "listen = unix:$HERE/trace")]
    path, elf, cores = prepare(name, replace=replace, drain_ms=200, **more)
    return path, elf, cores, Relay(path.parent, ways, each)


def check_damage(name, ways, count):
    """Damage makes gaps, and at most a short span at its place that did not run: a trace unit's
    bytes have no checksum, so what is changed is noticed when something contradicts it. Whole frames
    that are missing, with their sync words, leave the rest aligned, and the frame at the joint with
    the last byte of another one: bits 0 of its bytes are wrong, of an I-sync's address, too."""
    syncs = {"trcsyncpr": 8} if "ETMv4" in name else {"etmsyncfr": 200}
    path, elf, _, relay = damaged(name, ways, 4000, registers=syncs, plugin=",fullsync=8")
    with Live(path) as live:
        recording, _ = run_long(live, elf, count)
        wait_for(lambda: relay.taken > 0, "trace through the relay")
        truth = plain(live.truth())
    runs, events = decoded(recording)
    found = Alignment(runs, truth, len(truth) * 6000 // relay.taken)
    silent, wrong = found.silent(events), [length for _, length in found.wrong]
    text = (f"{relay.damaged} times damaged, {len(truth)} ran, {found.right} right, wrong "
            f"{sorted(wrong)}, silently {sorted(silent)}")
    expect(relay.damaged > 2, text)
    expect(any("gap" in event for event in events), f"no gap: {text}")
    # Addresses are relative to those before them: after a damaged one each may be a wrong one until
    # the next synchronisation, over and over in a loop. What contradicts the code there is told, and
    # what came before it is doubtful; what agrees with the code by chance nobody can tell.
    expect(len(silent) <= 2 * relay.damaged, text)
    # Bytes that come twice are packets of a legal stream: what they tell of ran twice then.
    twice = 2 * relay.doubled * len(truth) // relay.taken
    expect(sum(silent) < len(truth) // 100 + twice, text)
    expect(sum(wrong) < len(truth) // 50 + twice, text)
    expect(found.right > len(truth) * 8 // 10, text)
    return text


def check_overflow(name, count):
    """The trace unit's FIFO overflows while the program runs: gaps, and nothing else is wrong."""
    path, elf, _ = prepare(name)

    def overflows(live):
        return int(re.search(r"overflows=(\d+)", live.ask_board("status"))[1])

    def happens(live, before):
        # A core that does not run yet, after `c`, has nothing to lose.
        live.ask_board("overflow")
        return overflows(live) > before

    def ask(live):
        before = overflows(live)
        wait_for(lambda: happens(live, before), "an overflow")

    def overflow(live, wire):
        wire.run_for(live, 20000, during=lambda: ask(live))

    with Live(path) as live:
        recording, _ = run_long(live, elf, count, lambda wire: overflow(live, wire))
        truth = plain(live.truth())
        expect(overflows(live) >= 3, "an overflow after each part")
    runs, events = decoded(recording)
    found = Alignment(runs, truth, len(truth))
    expect(any("overflow" in event for event in events), "no overflow in the listing")
    equal(found.wrong, [], "spans that did not run")
    expect(found.right > len(truth) * 9 // 10, f"{found.right} of {len(truth)}")


def check_etb(name, count, size=2048):
    """With a trace buffer each halt shows what it holds, which ends at the halt; gaps in between."""
    path, elf, _ = prepare(name, replace=[("format=tpiu,", f"format=etb,etb={size},"),
                                          ("format = tpiu", f"format = frames\nbuffer = {size}")])
    with Live(path) as live:
        recording, [(found, pc)] = run_long(live, elf, count)
        truth = live.truth()
        expect(GAP in found, "the buffer has never run over")
        # The last run is one step; the one before it is what the buffer held.
        newest = follow(found[:found.index(GAP)], truth, pc)
        expect(newest > size // 2, f"{newest} instructions up to the halt")
        whole = follow(found, truth, pc)
        expect(newest < whole < len(truth), f"{whole} instructions of {len(truth)}")
    runs, _ = decoded(recording)
    placed = Alignment(runs, plain(truth), len(truth))
    equal(placed.wrong, [], "spans that did not run")
    expect(placed.right >= newest, f"{placed.right} instructions in the recording")
