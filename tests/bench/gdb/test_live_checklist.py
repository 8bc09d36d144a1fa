#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The wire-level requirements of a server for GDB's branch trace, point by point, on live virtual
boards: those of test_checklist.py that a recording cannot meet, and the others once more. The last
test proves that no number is forgotten."""

import re
from array import array

from checklist_recordings import conf
from live_gdb import PROGRAMS, Live, Wire, board_file, follow, never_ending, symbol, tail_of
from replay_gdb import (GAP, Client, Mi, Suite, equal, expect, gdb, has, history,
                        lacks, record_counts, value)

suite = Suite()

# Points without a test here, and why.
NOT_HERE = dict.fromkeys(range(40, 54), "reverse execution by the server is not announced; that it "
                         "is not is tested with point 1")

ELVES = {"virtual-a9": PROGRAMS / "crash-a9.elf", "virtual-a9-smp": PROGRAMS / "crash-a9.elf",
         "virtual-m3": PROGRAMS / "crash-m3.elf"}
ONE_CORE = ["virtual-a9", "virtual-m3"]
TWO_CORES = ["virtual-a9-smp"]
TICK = {"virtual-a9": "interrupt_handler", "virtual-m3": "systick_handler"}
NEVER = "Error while trying to read delta trace|Failed to read branch|Error parsing|internal-error"
tested = set()
boards = {}


def point(numbers, name, names=ONE_CORE):
    """The test once a board."""
    tested.update(numbers)
    digits = "".join(f" {n}" for n in numbers)

    def add(function):
        for board in names:
            suite.test(f"checklist{digits}: {board}: {name}")(lambda board=board: function(board))
        return function
    return add


def shared(board):
    """One board for many tests, halted in a program that runs for ever. Who uses it leaves it
    halted and not recording."""
    if board not in boards:
        boards[board] = Live(board_file(board))
        boards[board].__enter__()
        never_ending(boards[board], ELVES[board], idle=False)
    return boards[board]


def session(board, *commands, live=None, elf="", connect="target extended-remote", end=None,
            **options):
    """GDB leaves the board halted and not recording."""
    end = ["delete", "record stop", "disconnect"] if end is None else end
    live = live or shared(board)
    s = gdb(live.port, [*commands, *end], elf=ELVES[board] if elf == "" else elf, connect=connect,
            **options)
    lacks(s.text, NEVER)
    return s


def recording(live):
    """A client that has switched recording on for all cores."""
    wire = Wire(live)
    for thread in wire.threads():
        equal(wire.ask("Hg" + thread), "OK", "Hg")
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
    equal(wire.ask("Hgp1.1"), "OK", "Hg")
    return wire


def stop_recording(wire):
    for thread in wire.threads():
        wire.ask("Hg" + thread)
        equal(wire.ask("Qbtrace:off"), "OK", "Qbtrace:off")


def size_at(board, address):
    """Kind of breakpoint: the T32 functions of the A9 program are known by name in the tests."""
    return 2 if board == "virtual-m3" or address in (symbol(ELVES[board], "add_value"),) else 4


def go(wire, board, function):
    address = symbol(ELVES[board], function)
    return wire.run_to(address, size_at(board, address))


# Start and configuration.

@point([1, 40], "the tokens of this server, reverse execution too", ONE_CORE + TWO_CORES)
def _(board):
    with Wire(shared(board)) as wire:
        features = wire.features
    for token in ("Qbtrace:bts+", "Qbtrace:off+", "Qbtrace-conf:bts:size+", "qXfer:btrace:read+",
                  "qXfer:btrace-conf:read+", "ReverseStep+", "ReverseContinue+"):
        equal(features.count(token), 1, token)
    for prefix in ("Qbtrace:pt", "Qbtrace-conf:pt", "QNonStop"):
        equal([f for f in features if f.startswith(prefix)], [], prefix)
    s = session(board, *[f"show remote {name}-packet" for name in
                         ("enable-btrace-bts", "disable-btrace", "read-btrace", "read-btrace-conf",
                          "btrace-conf-bts-size", "reverse-step", "reverse-continue",
                          "enable-btrace-pt")])
    for number, output in enumerate(s.outputs[1:9]):
        has(output, "currently enabled" if number < 7 else "currently disabled")


@point([2, 3, 12, 13], "before a run, while recording, after detach, kill and a lost connection")
def _(board):
    with Live(board_file(board)) as live:
        with Client(live.port) as client:
            client.start()
            equal(conf(client), None, "size before recording")
        s = session(board, "record btrace", "info record", "tbreak main", "continue", "info record",
                    live=live, end=["kill"])
        lacks(s[0], "Target is recording")
        has(s["info record"], r"^Recorded 0 instructions in 0 functions \(0 gaps\)")
        lacks(s.text, "warning")
        ran = len(live.truth())
        equal(record_counts(s.all("info record")[1])[::2], (ran, 0), "instructions, gaps")
        # kill leaves the board halted and recording; so does a connection that is lost.
        for _ in range(2):
            s = session(board, "info record", live=live, end=["disconnect"])
            has(s[0], r"^Target is recording using Branch Trace Store\.$")
            equal(record_counts(s["info record"])[::2], (ran, 0), "instructions, gaps")
            with Client(live.port) as client:
                client.start()
                expect(conf(client), "not recording")
                client.close(reset=True)
        equal(len(live.truth()), ran, "instructions that ran")
        # So does D, but the board runs on; GDB itself switches recording off before.
        with Wire(live) as wire:
            equal(wire.ask("D;1"), "OK", "D")
        s = session(board, "info record", "detach", live=live, end=[])
        has(s[0], "^Target is recording")
        expect(record_counts(s["info record"])[0] > ran, "the run after D is not there")
        s = session(board, "info record", live=live)
        lacks(s[0], "Target is recording")


@point([4, 10], "record btrace, record btrace bts; record stop", ONE_CORE + TWO_CORES)
def _(board):
    for command in ("record btrace", "record btrace bts", "record b"):
        s = session(board, command, "stepi", "info record", "record stop", "info record")
        equal(s[command], "", command)
        has(s["info record"], r"^Recording format: Branch Trace Store\.")
        has(s["record stop"], "^Process record is stopped and all execution logs are deleted")
        has(s.all("info record")[1], "No recording is currently active")
    with Wire(shared(board)) as wire:
        for packet in ("Qbtrace:off", "Qbtrace:off", "Qbtrace:bts", "Qbtrace:off", "Qbtrace:off"):
            equal(wire.ask(packet), "OK", packet)


@point([5, 6, 7], "the buffer size goes there, comes back, is clamped and remembered")
def _(board):
    for size, shown in ((1048576, "1MB"), (12345, "12345"), ("unlimited", "64MB")):
        s = session(board, f"set record btrace bts buffer-size {size}", "record btrace bts",
                    "info record", "set debug remote 1", "record stop", "record btrace bts",
                    "set debug remote 0", "info record")
        for output in s.all("info record"):
            has(output, rf"^Buffer size: {shown}\.")
        lacks(s.all("record btrace bts")[1], "Qbtrace-conf:bts:size")


@point([8, 11], "a core that has no trace unit: refused by name, and no core records", TWO_CORES)
def _(board):
    path = board_file(board)
    path.write_text(path.read_text().partition("\n[core cpu1]")[0])
    with Live(path) as live:
        s = session(board, "thread 2", "record btrace", "info record", live=live, end=["disconnect"])
        has(s["record btrace"], r"^Could not enable branch tracing for Thread 1\.2: "
                                "the board file names no trace unit for this core")
        has(s["info record"], "No recording is currently active")
        with Client(live.port) as client:
            client.start()
            for thread in ("p1.1", "p1.2"):
                client.ask("Hg" + thread)
                equal(conf(client), None, f"size of {thread}")


@point([9, 24], "switched on twice; errors have a text or a number, and are never empty")
def _(board):
    with Wire(shared(board)) as wire:
        for annex in ("all", "new", "delta"):
            has(wire.ask(f"qXfer:btrace:read:{annex}:0,1000"), r"^E", "read without recording")
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        has(wire.ask("Qbtrace:bts"), r"^(OK|E\..)", "Qbtrace:bts again")
        for packet in ("qXfer:btrace:read:nonsense:0,100", "qXfer:btrace:read:all:0",
                       "qXfer:btrace:read:all:x,100", "qXfer:btrace:read:all:0,",
                       "qXfer:btrace:write:all:0,00", "qXfer:btrace-conf:read:all:0,100",
                       "Qbtrace:pt", "Qbtrace:nonsense", "Qbtrace-conf:bts:size=x",
                       "Qbtrace-conf:bts:size="):
            has(wire.ask(packet), "^E", f"answer to {packet}")
        stop_recording(wire)


def run_to_core(wire, board, function, core):
    stop = wire.run_to(symbol(ELVES[board], function))
    has(stop, rf"thread:p0?1\.0?{core + 1};", "stop reply")


def each_core(board, live):
    with Wire(live) as wire:
        wire.ask("Hgp1.2")
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        wire.ask("Hgp1.1")
        equal(conf(wire), None, "size of the first core")
    with recording(live) as wire:
        equal(wire.ask("Hgp1.1"), "OK", "Hg")
        for function, core in (("second_tick", 1), ("timer_tick", 0), ("second_tick", 1)):
            run_to_core(wire, board, function, core)
            # No Hg since: this is the core that stopped.
            pc = symbol(ELVES[board], function)
            equal(wire.pc(), pc, "PC")
            found = wire.blocks("all")
            expect(follow(found, live.truth(core=core), pc) > 100, "a short history")
            equal(wire.ask(f"Hgp1.{2 - core}"), "OK", "Hg")
            expect(wire.blocks("all")[0] != found[0], "the other core has the same history")
            equal(wire.ask("Hg0"), "OK", "Hg0")
            equal(wire.blocks("all"), found, "history by Hg0")
        stop_recording(wire)
    s = session(board, "record btrace", "info record", "record instruction-history", live.mark(1),
                "thread 1", "info record", "record instruction-history", live.mark(0), live=live)
    for number, core in enumerate((1, 0)):
        has(s.all("info record")[number], rf"for thread {core + 1} ")
        tail_of(history(s.all("record instruction-history")[number]),
                live.truth(s[live.mark(core)], core), 10)


@point([11, 36, 37], "each core by itself: Hg, stop replies, Hg0", TWO_CORES)
def _(board):
    with Live(board_file(board)) as live:
        never_ending(live, ELVES[board], idle=False)
        each_core(board, live)


# Fetching.

@point([14, 15], "the full history by new and by all; nothing new is an empty document")
def _(board):
    live = shared(board)
    s = session(board, "record btrace", "stepi 20", "info record", "info record",
                f"symbol-file {ELVES[board]}", "info record", "maint btrace clear", "info record")
    equal(len({record_counts(o) for o in s.all("info record")}), 1, "different records")
    expect(record_counts(s["info record"])[0] > 20, "a short record")
    lacks(s.text, "warning")
    with recording(live) as wire:
        whole = wire.blocks("all")
        for annex in ("new", "delta", "new"):
            equal(wire.blocks(annex), [], annex)
        equal(wire.blocks("all"), whole, "all, again")
        wire.step()
        expect(wire.blocks("new"), "new is empty after a step")
        follow(wire.blocks("all"), live.truth(), wire.pc())
        stop_recording(wire)


@point([16, 17, 18, 20], "steps, several stops, loops: counts add up, no warning")
def _(board):
    live = shared(board)
    commands, steps = ["record btrace", "info record"], []
    for count in (1, 20, 1, 1):
        commands += [f"stepi {count}", "info record"]
        steps.append(count)
    commands += ["stepi 7"] * 3 + ["info record"]
    steps.append(21)
    marks = ["break checksum", "continue", "info record", live.mark()]
    for _ in range(8):
        marks += ["continue", "info record", live.mark(), "stepi", "stepi 3", "info record",
                  live.mark(), "next", "finish", "info record", live.mark()]
    s = session(board, *commands, *marks)
    counts = [record_counts(o) for o in s.all("info record")]
    equal([c[2] for c in counts], [0] * len(counts), "gaps")
    counts = [c[0] for c in counts]
    equal([b - a for a, b in zip(counts, counts[1:])][:len(steps)], steps, "steps")
    executed = [int(re.search(r"executed=(\d+)", o)[1]) // 4 for o in s.all(live.mark())]
    got = counts[-len(executed):]
    equal([b - a for a, b in zip(got, got[1:])], [b - a for a, b in zip(executed, executed[1:])],
          "instructions between stops")
    expect(min(b - a for a, b in zip(got, got[1:])) > 0, "a stop without progress")
    lacks(s.text, "^warning")


def move(kind, wire, board):
    """What happens between two reads: afterwards a delta may be refused or must be."""
    if kind == "step":
        wire.step()
    elif kind == "loop":
        go(wire, board, "checksum")
    elif kind == "PC":
        wire.set_pc(symbol(ELVES[board], "take_message"))
        wire.pc()
    elif kind == "far":
        for _ in range(3):
            go(wire, board, "timer_tick")


@point([16, 18, 19], "delta: from 0 on; an error after what cannot be joined")
def _(board):
    refused = ("first", "PC", "far")
    with Live(board_file(board)) as live, recording(live) as wire:
        go(wire, board, "main")
        wire.write(symbol(ELVES[board], "crash_after"), 0)
        last = joined = loops = 0
        for kind in ("first", "step", "step", "loop", "loop", "loop", "loop", "step", "far", "step",
                     "PC", "step", "step"):
            if kind == "far":
                equal(wire.ask("Qbtrace-conf:bts:size=0x600"), "OK", "size")
            before, ran = wire.pc(), len(live.truth())
            move(kind, wire, board)
            answer, truth = wire.document_or_error("delta"), live.truth()
            # An interrupt before the halted instruction leaves nothing to join, as a written PC.
            other = kind in ("step", "loop") and (last == "PC" or truth[ran:ran + 1] != array("I", [before]))
            if isinstance(answer, str):
                expect(kind in refused or other, f"{kind}: delta is refused")
                answer = wire.blocks("new")
                expect(answer, f"{kind}: no new blocks")
            else:
                expect(kind not in refused, f"{kind}: delta is not refused")
                equal(answer[-1][0], 0, f"{kind}: begin of the oldest block")
                answer[-1] = (before, answer[-1][1])
                joined += 1
                loops += before == wire.pc() and len(answer) > 1
            if kind != "PC":
                follow(answer, truth, wire.pc())
            last = kind
        expect(joined > 4 and loops > 0, f"{joined} deltas, {loops} of them around a loop")


@point([19], "jump, monitor reset, load: no nonsense, a full read follows")
def _(board):
    with Live(board_file(board)) as live:
        never_ending(live, ELVES[board])
        truths = []
        for command in ("jump *$pc", "monitor reset", "load"):
            more = ["stepi 3"] if command != "jump *$pc" else []
            s = session(board, "record btrace", "tbreak add_value", "continue", "info record",
                        "tbreak add_value", command, *more, "info record",
                        "record instruction-history", live.mark(), live=live)
            truth = live.truth(s[live.mark()])
            counts = [record_counts(o) for o in s.all("info record")]
            rows = [line for line in s["record instruction-history"].splitlines()
                    if "decode error" not in line]
            tail_of(history("\n".join(rows)), truth, 3)
            if command == "jump *$pc":
                expect(counts[1][0] > counts[0][0], "jump: the history has not grown")
            truths.append(len(truth))
        equal(truths, sorted(truths), "lengths of the truth")


@point([21, 22, 23], "chunks: any length, beyond the end, and a core that runs in between")
def _(board):
    live = shared(board)
    with recording(live) as wire:
        go(wire, board, "add_value")
        whole = wire.document("btrace:read:all")
        for length in (0xfb, 0x3fb, 0x1000, 0x18a, 7):
            if length > 100 or len(whole) < 20000:
                equal(wire.document("btrace:read:all", length), whole, f"by {length:#x}")
        for offset in (len(whole), len(whole) + 1, 0x7fffffff):
            equal(wire.ask(f"qXfer:btrace:read:all:{offset:x},100"), "l", f"at {offset:#x}")
        # Other questions in between change nothing; when the core has moved on it is another
        # document, and what is left of the first one is refused, not mixed.
        rest, at = "", 0
        while (answer := wire.ask(f"qXfer:btrace:read:all:{at:x},200"))[:1] == "m":
            rest, at = rest + answer[1:], at + len(answer) - 1
            wire.pc()
        equal(rest + answer[1:], whole, "a document with questions in between")
        wire.ask("qXfer:btrace:read:all:0,200")
        wire.step()
        answer = wire.ask("qXfer:btrace:read:all:200,200")
        expect(answer[:1] == "E" or answer[1:] == whole[0x200:0x400], f"mixed: {answer!r}")
        expect(wire.document("btrace:read:all") != whole, "the document is not made anew")
        stop_recording(wire)


@point([25], "documents are accepted by GDB's XML parser", ONE_CORE + TWO_CORES)
def _(board):
    s = session(board, "record btrace", "stepi 5", "set debug xml 1", "info record",
                "set debug xml 0")
    lacks(s["info record"], "rror|gnor|unknown")
    expect(record_counts(s["info record"])[0] >= 5, "few instructions")


@point([26, 27, 29, 32, 35], "order, ends, nothing twice, interrupts: the whole history is the run")
def _(board):
    live = shared(board)
    with recording(live) as wire:
        for _ in range(30):
            wire.run_to(symbol(ELVES[board], TICK[board]), size_at(board, 0))
        wire.run_for(live, 50000)
        equal(wire.ask("Qbtrace-conf:bts:size=0x4000000"), "OK", "size")
        found = wire.blocks("all")
        equal(found[0][1], wire.pc(), "the newest end")
        count = follow(found, live.truth(), wire.pc())
        expect(count > 50000, f"only {count} instructions")
        equal(found.count(GAP), 0, "gaps")
        stop_recording(wire)
    s = session(board, "record btrace", "stepi 10", "record instruction-history", live.mark())
    tail_of(history(s["record instruction-history"]), live.truth(s[live.mark()]), 10)
    s = session(board, f"break {TICK[board]}", "record btrace", "continue",
                "record instruction-history", live.mark())
    tail_of(history(s["record instruction-history"]), live.truth(s[live.mark()]), 10)


# Stops.

def stops(board, wire, live):
    """Halts in many ways; each time its name."""
    elf = ELVES[board]
    wire.step()
    yield "step"
    go(wire, board, "add_value")
    yield "breakpoint"
    go(wire, board, "checksum")
    go(wire, board, "checksum")
    yield "breakpoint in a loop"
    watched = f"{symbol(elf, 'ticks'):x},4"
    equal(wire.ask("Z2," + watched), "OK", "Z2")
    has(wire.ask("vCont;c"), "^T05.*watch:")
    equal(wire.ask("z2," + watched), "OK", "z2")
    yield "watchpoint"
    has(wire.run_for(live, 50000), "^T02")
    yield "Ctrl-C"


@point([28, 30], "the newest block ends at the halted PC, however it was halted")
def _(board):
    with Live(board_file(board)) as live:
        never_ending(live, ELVES[board])
        with recording(live) as wire:
            for kind in stops(board, wire, live):
                found = wire.blocks("new")
                equal(found[0][1], wire.pc(), f"{kind}: the newest end")
                equal(found.count(GAP), 0, f"{kind}: gaps")
                follow(found, live.truth(), wire.pc())
            wire.monitor("reset")
            wire.pc()
            found = wire.blocks("new")
            equal(found[:2], [(wire.pc(), wire.pc()), GAP], "reset: newest blocks")
            follow(found, live.truth(), wire.pc())
            wire.step()
            found = wire.blocks("all")
            equal(found[0][1], wire.pc(), "step after reset: the newest end")
            follow(found, live.truth(), wire.pc())


@point([28], "reverse-stepi and stepi come back to the halt")
def _(board):
    live = shared(board)
    commands = ["record btrace"]
    for stop in (["stepi"], ["break checksum", "continue", "delete"],
                 ["watch ticks", "continue", "delete"]):
        commands += [*stop, "p/x $pc", live.mark(), "reverse-stepi", "p/x $pc", "stepi",
                     "info record", "reverse-stepi", "record goto end", "p/x $pc"]
    s = session(board, *commands)
    pcs = [value(o) for o in s.all("p/x $pc")]
    for number in range(3):
        halted, before, again = pcs[3 * number:3 * number + 3]
        equal(halted, again, "PC at the end")
        truth = live.truth(s.all(live.mark())[number])
        equal(before, truth[-1] & ~1, "PC one step back")
    lacks("".join(s.all("info record")), "Replay in progress")


@point([30], "trace that was off is a gap; both ends of the history can be reached")
def _(board):
    with Live(board_file(board)) as live:
        never_ending(live, ELVES[board])
        trace_off(board, live)


def trace_off(board, live):
    s = session(board, "record btrace", "tbreak add_value", "continue", "info record",
                "monitor trace off", "stepi 30", "info record", "reverse-stepi", "reverse-continue",
                "info record", "continue", "p/x $pc", "info record", "monitor trace on",
                "stepi 5", "info record", "record instruction-history", live.mark(),
                live=live)
    counts = [record_counts(o) for o in s.all("info record")]
    equal(counts[0][2], 0, "gaps before")
    equal(counts[1][2], 1, "gaps while trace is off")
    has(s.all("info record")[2], r"At instruction 1\.")
    lacks(s.all("info record")[3], "Replay in progress")
    equal(counts[4][2], 1, "gaps when trace is on again")
    rows = history("\n".join(line for line in s["record instruction-history"].splitlines()
                             if "decode error" not in line))
    tail_of(rows, live.truth(s[live.mark()]), 5)


@point([31, 35], "a long listing: no unreadable address, no EXC_RETURN")
def _(board):
    live = shared(board)
    with Wire(live) as wire:
        wire.run_for(live, 30000)
    s = session(board, "set record btrace bts buffer-size 4194304", "record btrace",
                "tbreak timer_tick", "continue", "info record",
                "record instruction-history 1,100000", live.mark())
    lacks(s["record instruction-history 1,100000"], "Cannot access memory|decode error")
    rows = history(s["record instruction-history 1,100000"])
    expect(len(rows) > 20000, f"{len(rows)} rows")
    equal(len(rows), record_counts(s["info record"])[0], "rows")
    expect(max(row.address for row in rows) < 0xf0000000, "an EXC_RETURN value")
    tail_of(rows, live.truth(s[live.mark()]), len(rows))


@point([33], "an M-profile core is described as one; T32 without an ELF file", ["virtual-m3"])
def _(board):
    live = shared(board)
    with Wire(live) as wire:
        text = wire.document("features:read:target.xml")
        for annex in re.findall(r'xi:include href="([^"]+)"', text):
            text += wire.document(f"features:read:{annex}")
    has(text, "org.gnu.gdb.arm.m-profile")
    s = session(board, "record btrace", "stepi 10", "info record", "record instruction-history",
                live.mark(), elf=None)
    rows = history(s["record instruction-history"])
    tail_of(rows, live.truth(s[live.mark()]), 10)
    expect(any(row.address & 2 for row in rows), "no instruction at a halfword")


@point([34], "A profile without symbols: the fallback mode is the instruction set", ["virtual-a9"])
def _(board):
    live = shared(board)
    address = symbol(ELVES[board], "checksum")
    s = session(board, "set arm fallback-mode arm", f"tbreak *{address:#x}", "continue",
                "record btrace", "stepi 8", "record instruction-history", live.mark(), elf=None)
    # GDB can make nothing of the T32 code before.
    rows = [line for line in s["record instruction-history"].splitlines()
            if not re.match(r"warning:|\d+\t\[decode error", line)]
    tail_of(history("\n".join(rows)), live.truth(s[live.mark()]), 8)


# Threads, memory.

@point([38], "all cores are there from the start; no new thread, no warning", TWO_CORES)
def _(board):
    live = shared(board)
    with Wire(live) as wire:
        equal([int(t.split(".")[1], 16) for t in wire.threads()], [1, 2], "threads")
    s = session(board, "record btrace", "tbreak timer_tick", "continue", "info threads",
                *[c for n in "1212" for c in (f"thread {n}", "info record")])
    lacks(s.text, "warning|New Thread|does not support")
    has(s["info threads"], r"cpu1|Thread 1\.2")


@point([39], "m of code is the original, also where breakpoints are set")
def _(board):
    live, elf = shared(board), ELVES[board]
    address = symbol(elf, "add_value")
    with Wire(live) as wire:
        code = wire.ask(f"m{address:x},10")
        for kind in "01":
            for offset in (0, 2, 4):
                wire.ask(f"Z{kind},{address + offset:x},2")
            equal(wire.ask(f"m{address:x},10"), code, "code with breakpoints")
            for offset in (0, 2, 4):
                wire.ask(f"z{kind},{address + offset:x},2")
    s = session(board, "record btrace", "break add_value", "continue", "compare-sections .text",
                "x/3i $pc", "stepi 3", "record instruction-history /r", live.mark())
    lacks(s["compare-sections .text"], "MIS-MATCHED")
    has(s["compare-sections .text"], "matched")
    lacks(s.text, "bkpt|udf|UNDEFINED")
    rows = history(s["record instruction-history /r"])
    tail_of(rows, live.truth(s[live.mark()]), 3)
    equal(rows[-3].address, address, "the instruction under the breakpoint")


# Front ends.

@point([54], "both ready lines, each on its own, on standard error", ONE_CORE + TWO_CORES)
def _(board):
    port, text = shared(board).port, shared(board).stderr
    has(text, r"(?i)Info\s:[^\n]*Listening on port \d+ for gdb connection")
    has(text, rf"^Listening on port {port}$")


@point([55], "target remote and extended-remote, with and without acknowledgements")
def _(board):
    for connect in ("target remote", "target extended-remote"):
        for ack in ("on", "off"):
            s = session(board, "record btrace bts", "info record", "stepi", "info record",
                        "stepi 20", "info record", "reverse-stepi", "record goto end",
                        connect=connect, before=[f"set remote noack-packet {ack}"])
            counts = [record_counts(o)[0] for o in s.all("info record")]
            equal([counts[1] - counts[0], counts[2] - counts[1]], [1, 20],
                  f"steps with {connect}, no-ack {ack}")


@point([56], "MI: recording starts, reverse execution, notifications")
def _(board):
    live = shared(board)
    with Mi(ELVES[board]) as mi:
        has(mi.command(f"-target-select extended-remote 127.0.0.1:{live.port}"), r"\d+\^connected")
        has(mi.command('-interpreter-exec console "record btrace bts"'),
            r'^=record-started,thread-group="i1",method="btrace",format="bts"')
        has(mi.command("-break-insert add_value"), r"\^done,bkpt=")
        has(mi.command("-exec-continue"), r'^\*stopped,reason="breakpoint-hit".*func="add_value"')
        has(mi.command("-break-delete"), r"\^done")
        has(mi.command("-exec-step-instruction"), r'^\*stopped,reason="end-stepping-range"')
        halted = re.search(r'value="(\d+)', mi.command('-data-evaluate-expression "(long) $pc"'))[1]
        for command in ("-exec-step-instruction --reverse", "-exec-next --reverse"):
            has(mi.command(command), r'^\*stopped,(reason="end-stepping-range"|.*no-history)',
                command)
        has(mi.command("-exec-continue --reverse"), r"No more reverse-execution history")
        mi.command('-interpreter-exec console "record goto end"')
        again = re.search(r'value="(\d+)', mi.command('-data-evaluate-expression "(long) $pc"'))[1]
        equal(again, halted, "PC at the end")
        has(mi.command('-interpreter-exec console "record stop"'),
            r'^=record-stopped,thread-group="i1"')
        has(mi.command("-target-disconnect"), r"\^done")


@suite.test("checklist: every point is tested live or has a reason why not")
def _():
    equal(set(NOT_HERE) & tested, {40}, "points named twice")
    equal(set(NOT_HERE) | tested, set(range(1, 57)), "points")


@suite.test("checklist: the live servers end well")
def _():
    for live in boards.values():
        live.stop()


suite.run()
