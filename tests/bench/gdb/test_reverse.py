#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/reverse/reverse_values.c, reverse_window.c, reverse_monitor.c.
# Tests server/live/live_reverse.c.
"""Reverse execution by the server in stock GDB: over the recorded demo and over live virtual
boards. Positions are compared with what really ran; reconstructed values have their own tests."""

import re
import signal
import threading

from live_gdb import PROGRAMS, Live, Wire, board_file, recording
from replay_gdb import (DEMO, DEMO_BASE, DEMO_PC, Client, Mi, Server, Suite, demo_code, demo_run,
                        equal, expect, frame, gdb, has, lacks, same_list, value)

ELF = DEMO / "crash.elf"
RUN = [address for address, _ in demo_run()]
suite = Suite()
server = Server(DEMO / "recording", "--no-record", "--elf", str(ELF))
server.__enter__()


def session(*commands, port=None, **options):
    return gdb(port or server.port, commands, elf=ELF, before=[f"directory {DEMO}"], **options)


def frames(output):
    """Function names of a backtrace."""
    return re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\w+|<signal handler called>)", output,
                      re.MULTILINE)


def pcs(batch, command="p/x $pc"):
    return [value(output) for output in batch.all(command)]


def last_before(address, position):
    """Position of the last time that the address ran before a position (0-based)."""
    return max(n for n in range(position) if RUN[n] == address)


PATH = RUN + [DEMO_PC]
STEP = "T05thread:1;"
END = len(RUN)


# Recordings.

@suite.test("reverse: steps go along the path, back and forth")
def _():
    commands = []
    for _ in range(20):
        commands += ["reverse-stepi", "p/x $pc"]
    for _ in range(20):
        commands += ["stepi", "p/x $pc"]
    s = session(*commands, "info threads")
    back = [PATH[END - 1 - n] for n in range(20)]
    same_list(pcs(s), back + back[-2::-1] + [DEMO_PC], "PCs")
    lacks(s.text, "rror|warning|SIGTRAP")


@suite.test("reverse: code that ran can be read without a program file, other memory cannot")
def _():
    with Server(DEMO / "recording", "--no-record") as other:
        s = session("reverse-continue", "x/i $pc", "x/256wx 0x80011000", port=other.port)
    has(s["x/i $pc"], r"^=> 0x[0-9a-f]+ .*:\s+\w+")
    has(s["x/256wx 0x80011000"], "Cannot access memory")


@suite.test("reverse: breakpoints are exact in both directions, in A32 and T32 code")
def _():
    wanted = [0x80010228, 0x80010178, 0x800102b4]
    commands = [f"break *{address:#x}" for address in wanted]
    for _ in range(12):
        commands += ["reverse-continue", "p/x $pc", "monitor where"]
    for _ in range(6):
        commands += ["continue", "p/x $pc", "monitor where"]
    s = session(*commands)
    got = [int(has(o, r"^instruction (\d+),")[1]) - 1 for o in s.all("monitor where")]
    hits = [n for n, address in enumerate(RUN) if address in wanted]
    equal(got, hits[-1:-13:-1] + hits[-11:-5], "positions")
    equal(pcs(s), [RUN[n] for n in got], "PCs")
    has(s["reverse-continue"], r"^Breakpoint \d, ")


@suite.test("reverse: the first and the last position, and breakpoints on them")
def _():
    s = session("reverse-continue", "p/x $pc", "reverse-stepi", "reverse-continue", "stepi",
                "p/x $pc", f"break *{RUN[0]:#x}", "reverse-stepi", "reverse-continue",
                "reverse-continue", "stepi", "delete", "continue", "p/x $pc", "reverse-stepi",
                "stepi", "p/x $pc", "continue", "p/x $pc")
    for command in ("reverse-continue", "continue"):
        has(s[command], "No more reverse-execution history")
    equal(pcs(s), [RUN[0], RUN[1], DEMO_PC, DEMO_PC, DEMO_PC], "PCs")
    has(s.all("reverse-stepi")[0], "No more reverse-execution history")
    has(s.all("continue")[1], "a recording cannot run on")


@suite.test("reverse: a continue that begins on a breakpoint reaches the end and GDB lives")
def _():
    s = session(f"break *{RUN[-1]:#x}", "reverse-continue", "p/x $pc", "continue", "p/x $pc",
                "reverse-stepi", "p/x $pc", "continue", "reverse-next", "p/x $pc")
    equal(pcs(s)[:3], [RUN[-1], DEMO_PC, RUN[-1]], "PCs")
    has(s["continue"], "No more reverse-execution history")


@suite.test("reverse: backtraces, reverse-finish, reverse-next, finish and up")
def _():
    s = session("break read_number", "reverse-continue", "bt", "p/x $sp", "reverse-finish", "bt",
                "reverse-next", "up", "delete", "finish", "bt")
    equal(frames(s["bt"]), ["read_number", "read_value", "read_arguments", "read_call",
                            "read_value", "main"], "frames")
    equal(frames(s.all("bt")[1]), frames(s["bt"])[1:], "frames of the caller")
    has(s["up"], r"^#1 .* in read_arguments")
    equal(frames(s.all("bt")[2]), frames(s["bt"])[3:], "frames behind finish")
    lacks(s.text, "not meaningful|is not available|SIGTRAP")


SAMPLES = 80
VECTORS = range(DEMO_BASE, DEMO_BASE + 32)


def is_call(code, isa):
    """BL, BLX."""
    if isa == "A":
        op = int.from_bytes(code[:4], "little")
        return op >> 25 == 0x7D or (op & 0x0F000000) == 0x0B000000 or \
            (op & 0x0FFFFFF0) == 0x012FFF30
    first, second = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:4], "little")
    return (first & 0xFF87) == 0x4780 or (first >> 11 == 30 and second & 0xC000 == 0xC000)


def callers(wanted):
    """{position: addresses that a backtrace there leads through, the innermost first} and whether
    a handler runs there: from the path that the emulator wrote down. A handler's own caller is
    what it interrupted, and nothing leads further, to another mode's stack."""
    run, code = demo_run(), demo_code()
    found, stack, last = {}, [], max(wanted)
    for n in range(last + 1):
        address, isa = run[n]
        if n in wanted:
            marks = [i for i, entry in enumerate(stack) if entry[1]]
            found[n] = ([address] + [entry[0] for entry in stack[marks[-1] if marks else 0:][::-1]],
                        bool(marks))
        following = run[n + 1][0]
        here = code[address - DEMO_BASE:address - DEMO_BASE + 4]
        size = 4 if isa == "A" or int.from_bytes(here[:2], "little") >> 11 > 28 else 2
        if following in VECTORS:
            stack.append((address + size, True))
        elif is_call(here, isa) and following != address + size:
            stack.append((address + size, False))
        elif stack and following != address + size and \
                following in [entry[0] for entry in stack[-1:]]:
            stack.pop()
    return found


@suite.test("reverse: backtraces at replay positions lead to main and are right")
def _():
    # The handler of the abort at the end does not return: it has lost its LR.
    aborted = max(n for n in range(END) if RUN[n] in VECTORS)
    wanted = {aborted - 1 - 15000 * n // SAMPLES for n in range(SAMPLES)}
    truth = callers(wanted)
    names = {}
    addresses = sorted({address for found, _ in truth.values() for address in found})
    s = session(*[f"info symbol {address:#x}" for address in addresses])
    for address in addresses:
        names[address] = s[f"info symbol {address:#x}"].split()[0]
    order = sorted(wanted)
    commands = [c for n in order for c in (f"monitor goto {n + 1}", "stepi", "bt")]
    for n, output in zip(order, session(*commands).all("bt")):
        expected, handler = truth[n]
        expected = expected if handler else expected[:-1]  # GDB ends at main
        got = frames(output)
        equal(got, [names[address] for address in expected], f"frames at {n}")
        expect(handler or got[-1] == "main", f"does not lead to main at {n}: {got}")


@suite.test("reverse: recursion is not mixed up by reverse-next")
def _():
    s = session("break put_number", "reverse-continue", "bt", "reverse-continue", "bt", "delete",
                "reverse-finish", "bt", "reverse-next", "bt")
    first, second = frames(s["bt"]), frames(s.all("bt")[1])
    expect(abs(first.count("put_number") - second.count("put_number")) <= 1, f"{first} {second}")
    equal(frames(s.all("bt")[2]), second[1:], "frames of the caller")


@suite.test("reverse: registers are known, or unavailable; SP, LR and CPSR are numbers")
def _():
    s = session("break read_number", "reverse-continue", "info registers", "monitor explain sp",
                "monitor explain r3", "monitor explain pc", "monitor explain nothing",
                "monitor past assume off", "monitor explain sp", "monitor explain")
    for name in ("sp", "lr", "pc", "cpsr"):
        has(s["info registers"], rf"^{name} +0x[0-9a-f]+ ")
    has(s["monitor explain sp"], r"^sp = 0x8001[0-9a-f]{4}: known")
    has(s["monitor explain pc"], "known, it is the traced path")
    has(s["monitor explain nothing"], "^monitor explain REGISTER")
    every = s["monitor explain"].splitlines()
    equal([re.match(r"\w+", line)[0] for line in every if not line.startswith("GDB has")],
          [*(f"r{n}" for n in range(13)), "sp", "lr", "pc", "psr"], "all registers")


WATCHED = ["watch cursor", "reverse-continue", "p/x $pc", "monitor where", "monitor explain cursor",
           "delete", "stepi", "monitor written cursor 2", "monitor read cursor 1", "monitor written nothing",
           "monitor written", "monitor written cursor 9999", "monitor possible"]


def position_of(text):
    return int(has(text, r"^instruction (\d+)")[1])


def check_watched(s, name="cursor"):
    """In front of the instruction that wrote, with both values; the same is told in words."""
    has(s["reverse-continue"], rf"Hardware watchpoint \d: {name}\n\nOld value = .*\nNew value = ")
    lacks(s["reverse-continue"], "possibly|SIGTRAP")
    where, written = position_of(s["monitor where"]), s[f"monitor written {name} 2"]
    equal(position_of(written), where, "who wrote it, in words")
    has(written, rf"^instruction {where}, {pcs(s)[0]:#010x} in \w+: 4 bytes at 0x[0-9a-f]{{8}}, 0x")
    equal(len(re.findall(r"^instruction", written, re.MULTILINE)), 2, "as many as asked for")
    has(s[f"monitor explain {name}"], r"^0x[0-9a-f]{8} = 0x[0-9a-f]{8}: known")
    equal(position_of(s[f"monitor read {name} 1"]) <= where, True, "who read it")
    for command in ("monitor written nothing", "monitor written", f"monitor written {name} 9999"):
        has(s[command], r"^monitor written VARIABLE\|ADDRESS.*; LINES up to 1000$")
    has(s["monitor possible"], "^0 instructions")


@suite.test("reverse: a watchpoint stops in front of the last write, and words say the same")
def _():
    check_watched(session(*WATCHED))


@suite.test("reverse: watchpoints on, with a breakpoint, two at once, by steps, none hit")
def _():
    s = session("watch cursor", "reverse-continue", "monitor where", "reverse-continue", "monitor where",
                "continue", "monitor where", "p/x $pc", "reverse-stepi", "monitor where", "stepi", "monitor where",
                "delete", "monitor goto end", "stepi", "watch cursor", "break read_number", "reverse-continue",
                "monitor where", "awatch cursor", "reverse-continue")
    last, before, on, back, again, both = (position_of(text) for text in s.all("monitor where"))
    equal(on, before + 1, "going on: behind the write")
    equal((back, again), (before, on), "by steps")
    for output in (s["continue"], s["reverse-stepi"], s.all("stepi")[0]):
        has(output, r"Hardware watchpoint \d: cursor\n\nOld value = ")
    equal(last > before, True, "going back")
    equal(both >= last, True, "the breakpoint or the watchpoint, what comes first")
    has(s.all("reverse-continue")[3], r"Hardware (access \(read/write\) )?watchpoint \d: cursor")


@suite.test("reverse: what cannot be: writes, watchpoints, recording at a replay position")
def _():
    s = session("reverse-stepi", "set var $r0 = 1", "set var cursor = 0", "record btrace",
                "monitor goto end", "stepi", "record btrace", "info record", "reverse-stepi",
                "record goto end", "record stop", "reverse-stepi", "p/x $pc")
    has(s["set var $r0 = 1"], "a recording is read-only")
    has(s["set var cursor = 0"], "Cannot access memory")
    has(s["record btrace"], "the core is at a replay position")
    has(s["info record"], r"^Recorded \d+ instructions")
    equal(pcs(s), [RUN[-1]], "PC")


@suite.test("reverse: a recording that GDB takes for its own, and record stop")
def _():
    with Server(DEMO / "recording", "--elf", str(ELF)) as other:
        s = session("info record", "reverse-stepi", "record goto end", "record stop",
                    "break read_number", "reverse-continue", "bt", port=other.port)
    has(s["info record"], r"^Recorded \d+ instructions")
    equal(frames(s["bt"])[-1], "main", "outermost frame")


@suite.test("reverse: goto, where, when, gaps and their mistakes")
def _():
    s = session("monitor where", "monitor goto 500", "stepi", "p/x $pc", "monitor goto -100",
                "reverse-stepi", "p/x $pc", "monitor goto +1", "stepi", "p/x $pc",
                "monitor goto begin", "stepi", "p/x $pc", "tbreak *0x80010228", "monitor goto 500", "continue",
                "p/x $pc", "delete", "monitor goto end", "stepi", "p/x $pc",
                "monitor goto 0", "monitor goto 99999999", "monitor goto x", "monitor goto",
                "monitor when read_number", "monitor gaps", "monitor past memory present",
                "monitor past memory maybe", "monitor past window 5", "monitor past window 5000",
                "monitor help")
    has(s["monitor where"], "^at the halt")
    # Over exclusives GDB steps by going on to a breakpoint.
    equal(pcs(s), [RUN[499], RUN[399], RUN[400], RUN[0], RUN[499], DEMO_PC], "PCs")
    for command in ("monitor goto 0", "monitor goto 99999999"):
        has(s[command], "^not in the history")
    for command in ("monitor goto x", "monitor goto"):
        has(s[command], r"^monitor goto N\|begin")
    when = [int(n) for n in re.findall(r"^instruction (\d+),", s["monitor when read_number"],
                                       re.MULTILINE)]
    hits = [n + 1 for n, address in enumerate(RUN) if address == 0x80010228]
    equal(when, hits[:-len(when) - 1:-1], "places")
    has(s["monitor gaps"], "^no gaps")
    has(s["monitor past memory maybe"], "not 'maybe'")
    has(s["monitor past window 5"], "not '5'")
    for command in ("goto", "where", "explain", "past memory"):
        has(s["monitor help"], rf"^monitor {command} ")


@suite.test("reverse: monitor history and monitor when end at the position")
def _():
    s = session("monitor history 3", "break read_number", "reverse-continue", "monitor history 3",
                "monitor where", "monitor when read_number")
    here = int(has(s["monitor where"], r"^instruction (\d+)")[1])
    when = re.findall(r"^instruction (\d+), (\d+) before this one$", s["monitor when read_number"],
                      re.MULTILINE)
    hits = [n + 1 for n, address in enumerate(RUN) if address == 0x80010228 and n + 1 < here]
    equal([int(n) for n, _ in when], hits[:-len(when) - 1:-1], "places before")
    equal([here - int(n) for n, _ in when], [int(back) for _, back in when], "distances")
    expect(when, "nothing before the position")
    lines = [int(n) for n in re.findall(r"^ +(\d+)  ", s.all("monitor history 3")[1],
                                        re.MULTILINE)]
    equal(len(lines), 3, "lines")
    expect(lines[-1] < here, f"{lines} at {here}")
    has(s["monitor history 3"], r"\*\*\* ")
    with Server(DEMO / "recording") as other:
        s = session("monitor when main", "monitor when 0x80010228", "monitor when", port=other.port)
    has(s["monitor when main"], "^no program file tells names .*--elf")
    has(s["monitor when 0x80010228"], r"^instruction \d+")
    has(s["monitor when"], "^monitor when FUNCTION")


@suite.test("reverse: the answers by hand")
def _():
    with Client(server.port) as client:
        features = client.start()
        expect("ReverseStep+" in features and "ReverseContinue+" in features, features)
        equal(client.ask("Z0,80010228,2"), "OK", "Z0")
        equal(client.ask("bc"), "T05swbreak:;thread:1;", "bc")
        equal(client.ask("z0,80010228,2"), "OK", "z0")
        equal(client.ask("bs"), "T05thread:1;", "bs")
        equal(client.ask("vCont;s:1;c"), "T05thread:1;", "vCont;s")
        equal(client.ask("bc"), "T05replaylog:begin;thread:1;", "bc")
        equal(client.ask("bs"), "T05replaylog:begin;thread:1;", "bs")
        equal(client.ask("vCont;c"), "T05replaylog:end;thread:1;", "vCont;c")
        # A step never tells of the end; a continue right behind one does.
        equal(client.ask("bs"), "T05thread:1;", "bs")
        equal(client.ask("vCont;s:1;c"), "T05thread:1;", "vCont;s")
        equal(client.ask("vCont;c"), "T05replaylog:end;thread:1;", "vCont;c behind a step")
        equal(client.ask("Z2,80011000,4"), "OK", "Z2")
        client.send(frame("bc"))
        texts = []
        while (reply := client.reply()).startswith("O") and reply != "OK":
            texts.append(bytes.fromhex(reply[1:]).decode())
        has(reply, "^T05(watch:|replaylog:begin)")
        equal(client.ask("z2,80011000,4"), "OK", "z2")
        client.ask("bs")
        has(client.ask("P0=00000000"), r"^E\.\w")
        has(client.ask("M80011000,4:00000000"), r"^E")


def gap_recording():
    """The demo with a hole in its code, so that its trace cannot be followed there."""
    from checklist_recordings import make_hole
    return make_hole()


@suite.test("reverse: missing trace is not passed unnoticed")
def _():
    with Server(gap_recording(), "--no-record") as other:
        s = session("monitor gaps", "reverse-continue", "monitor where", "reverse-stepi",
                    "monitor where", "stepi", "monitor where", "reverse-continue", "continue",
                    "continue", port=other.port)
    gaps = [int(n) for n in re.findall(r"^before instruction (\d+)", s["monitor gaps"],
                                       re.MULTILINE)]
    expect(gaps, "the recording has no gap")
    places = [int(has(o, r"^instruction (\d+)")[1]) for o in s.all("monitor where")]
    expect(places[0] in gaps, f"stopped at {places[0]}, gaps {gaps[-5:]}")
    equal(places[1:], [places[0] - 1, places[0]], "across the gap")
    for command in ("reverse-continue", "reverse-stepi", "stepi"):
        has(s[command], r"^trace is missing here \(no-code\)")


@suite.test("reverse: MI")
def _():
    with Mi(ELF) as mi:
        has(mi.command(f"-target-select remote 127.0.0.1:{server.port}"), r"^\d+\^connected")
        has(mi.command("-list-target-features"), r'features=\[.*"reverse"')
        out = mi.command("-exec-step-instruction --reverse")
        has(out, rf'^\*stopped,reason="end-stepping-range".*addr="{RUN[-1]:#010x}"')
        mi.command("-break-insert read_number")
        has(mi.command("-exec-continue --reverse"), r'^\*stopped,reason="breakpoint-hit"')
        has(mi.command("-stack-list-frames"), r'func="main"')
        has(mi.command("-exec-finish --reverse"), r'^\*stopped,.*func="read_value"')


@suite.test("reverse: several cores, only the selected one moves")
def _():
    from checklist_recordings import make_cores
    with Server(make_cores(), "--no-record") as other:
        s = session("reverse-stepi", "p/x $pc", "info threads", "thread 2", "stepi", "thread 2",
                    "reverse-stepi", "thread 1", "stepi", "p/x $pc", port=other.port)
    has(s["reverse-stepi"], "only the selected core moves: cpu_0")
    equal(pcs(s), [RUN[-1], DEMO_PC], "PCs")
    has(s["info threads"], "replaying, at")
    has(s["stepi"], "another core is at a replay position")
    has(s.all("reverse-stepi")[1], "nothing was traced|no trace")


# Live boards.

ELVES = {"virtual-a9": PROGRAMS / "crash-a9.elf", "virtual-m3": PROGRAMS / "crash-m3.elf",
         "virtual-m7": PROGRAMS / "crash-m7.elf", "virtual-m33": PROGRAMS / "crash-m33.elf"}


def each(name):
    def add(function):
        for board in ELVES:
            suite.test(f"reverse: {board}: {name}")(lambda board=board: function(board))
        return function
    return add


def board_session(live, board, *commands):
    return gdb(live.port, commands, elf=ELVES[board], connect="target extended-remote",
               before=[f"directory {PROGRAMS}"])


@each("from a crash back to where the bad pointer came from, and on to the crash")
def _(board):
    with Live(board_file(board)) as live:
        s = board_session(live, board, "break stopped_here", "continue", "bt", live.mark(),
                          "reverse-stepi", "p/x $pc", "bt", "p/x $sp", "tbreak report_topics",
                          "reverse-continue", "p/x $pc", "bt", "reverse-finish", "bt",
                          "tbreak new_topic", "reverse-continue", "p/x $pc", "bt",
                          "set var $r0 = 1", "set var *(int *)$sp = 1", "continue", "p/x $pc",
                          "stepi", "reverse-stepi", "reverse-stepi", "bt")
    truth = [address & ~1 for address in live.truth(s[live.mark()])]
    now = frames(s["bt"])
    equal(frames(s.all("bt")[1]), now[1:], "frames one step before")
    expect("<signal handler called>" in now, now)
    found = pcs(s)
    equal(found[0], truth[-1], "PC one step before")
    crashed = now[now.index("<signal handler called>") + 1:]
    equal(frames(s.all("bt")[2]), crashed, "frames before the exception")
    equal(frames(s.all("bt")[3])[:1], crashed[1:2], "frame of the caller")
    equal(frames(s.all("bt")[4])[:2], ["new_topic", "file_message"], "frames at a replay position")
    for command in ("set var $r0 = 1", "set var *(int *)$sp = 1"):
        has(s[command], "nothing can be written at a replay position|Cannot access memory")
    expect(found[1] in truth and found[2] in truth, "PCs that never ran")
    has(s["continue"], "^Breakpoint 1, stopped_here")
    has(s.all("continue")[1], "No more reverse-execution history")
    equal(frames(s.all("bt")[5])[0], now[1], "frame behind a real step and two back")


REVERSE = ["bt", "tbreak new_topic", "reverse-continue", "bt", "reverse-finish",
        "info registers r0 r1 r4 r5 r6 r7 r8 sp lr pc", "monitor explain", "reverse-next", "bt",
        "monitor goto -2000", "stepi", "bt", "monitor explain"]


def record_and_replay(board):
    # With what is known at halts on the way, which a recording has, too; and without.
    off = {"snapshot": "off"} if board == "virtual-m3" else {}
    with Live(board_file(board, **off)) as live:
        run = recording(live, "run")
        told = board_session(live, board, "monitor record start run", "break stopped_here",
                             "continue", "monitor record stop", *REVERSE)
    with Server(run, "--elf", str(ELVES[board])) as other:
        again = gdb(other.port, ["record stop", *REVERSE], elf=ELVES[board],
                    before=[f"directory {PROGRAMS}"])
    expect(len(frames(told["bt"])) > 3, "no frames")
    for command in dict.fromkeys(REVERSE):
        for live_text, text in zip(told.all(command), again.all(command), strict=True):
            number = r"breakpoint \d" # one less has been set
            equal(re.sub(number, "", text), re.sub(number, "", live_text), command)
    return run


@suite.test("reverse: a recording has the values that the live target had")
def _():
    for board in ("virtual-a9", "virtual-m3"):
        run = record_and_replay(board)
    # Registers of a halt that the recording does not end with.
    device = run / "device_0.ini"
    text = device.read_text()
    equal(text.count("STATE_BYTES(size:64)=0x0"), 1, "states")
    device.write_text(text.replace("STATE_BYTES(size:64)=0x0", "STATE_BYTES(size:64)=0x1"))
    with Server(run, "--elf", str(ELVES["virtual-m3"])) as other:
        old = gdb(other.port, ["record stop", "reverse-stepi", "monitor explain"],
                  elf=ELVES["virtual-m3"])
    lacks(old["monitor explain"], "halted|present")


@each("backtraces at replay positions lead to main")
def _(board):
    commands = []
    for n in range(SAMPLES):
        commands += ["monitor goto end", "stepi", f"monitor goto {-5 - 15000 * n // SAMPLES}",
                     "stepi", "bt"]
    with Live(board_file(board)) as live:
        s = board_session(live, board, "break stopped_here", "continue", *commands)
    found = [frames(output) for output in s.all("bt")]
    equal(len(found), SAMPLES, "backtraces")
    # Between a vector and the frame of its handler no unwind information holds.
    told = [names for names in found if not re.search("_entry$|^vectors$|^<", names[0])]
    astray = [names for names in told if names[-1] != "main"]
    expect(len(told) > 0.8 * SAMPLES and not astray,
           f"{len(astray)} of {len(told)} do not lead to main: {astray[:1]}")


@each("steps back and forth; live again; side by side with record btrace")
def _(board):
    commands = ["tbreak add_value", "continue", live_mark := "p/x $pc"]
    for _ in range(8):
        commands += ["reverse-stepi", live_mark]
    commands += ["continue", live_mark, "next", "next", "reverse-next", "next", "record btrace",
                 "reverse-stepi", "record goto end", "record stop", "reverse-stepi", live_mark,
                 "stepi", live_mark]
    with Live(board_file(board)) as live:
        commands[2:2] = [live.mark()]
        s = board_session(live, board, *commands)
    truth = [address & ~1 for address in live.truth(s[live.mark()])]
    found = pcs(s, live_mark)
    equal(found[1:9], truth[:-9:-1], "PCs going back")
    equal(found[9], found[0], "PC at the live position")
    lacks(s.text, "is not available|not meaningful|SIGTRAP|Remote failure")
    has(s["continue"], "add_value")


def long_recording():
    """Of a board: so much trace that a search through it takes several slices."""
    with Live(board_file("virtual-a9", registers={"etmcr": 1 << 12})) as live, Wire(live) as wire:
        place = recording(live, "long")
        wire.run_to_main(ELVES["virtual-a9"])
        has(wire.monitor("record start long"), "record")
        wire.run_for(live, 5_000_000)
        wire.monitor("record stop")
    return place


@suite.test("reverse: Ctrl-C while bc goes through a long history: raw, and in GDB")
def _():
    elf = ELVES["virtual-a9"]
    with Server(long_recording(), "--no-record", "--elf", str(elf)) as other:
        with Client(other.port) as client:
            client.start()
            client.send(frame("bc") + b"\x03")
            has(client.reply(), "^T02thread:1;")
            equal(client.ask("bs"), STEP, "bs")
            equal(client.ask("bc"), "T05replaylog:begin;thread:1;", "bc")
        with Mi(elf) as mi:
            mi.command(f"-target-select remote 127.0.0.1:{other.port}")
            mi.command("-exec-step-instruction --reverse")
            # GDB hears of Ctrl-C only while it waits: both come at once when the server goes on.
            other.process.send_signal(signal.SIGSTOP)
            for seconds, who, number in ((1, mi, signal.SIGINT), (2, other, signal.SIGCONT)):
                threading.Timer(seconds, who.process.send_signal, [number]).start()
            has(mi.command("-exec-continue --reverse"), r'signal-name="SIGINT"')
            has(mi.command("-exec-step-instruction --reverse"), "end-stepping-range")
            has(mi.command("-exec-continue --reverse"), r"No more reverse-execution history")


@each("a watchpoint stops in front of the last write, and words say the same")
def _(board):
    with Live(board_file(board)) as live:
        s = board_session(live, board, "break add_value", "continue", "continue", "delete",
                          *[text.replace("cursor", "queue_taken") for text in WATCHED])
    s.outputs, s.commands = s.outputs[4:], s.commands[4:]
    check_watched(s, "queue_taken")


@each("commands that only show something keep the position and its values")
def _(board):
    shows = ["monitor info registers", "monitor trace status", "monitor help", "monitor gaps"]
    with Live(board_file(board)) as live:
        s = board_session(live, board, "tbreak add_value", "continue", live.mark(),
                          *[c for show in shows for c in (show, "reverse-stepi")], "p/x $pc",
                          "monitor explain sp", "monitor stop", "monitor past", "monitor where",
                          "set var $r4 = 1", "monitor past stack")
    truth = [address & ~1 for address in live.truth(s[live.mark()])]
    equal(pcs(s), [truth[-len(shows)]], "PC")
    has(s["monitor explain sp"], r"^sp = 0x\w+: known")
    # Another one of the board's own might change anything, and what is mistyped is one of those.
    has(s["monitor stop"], "no command of btraced .* not at a replay position")
    has(s["monitor past"], "^memory that is not known is an error.*\n^values are worked out .*\n^calls are taken")
    has(s["monitor where"], r"^instruction \d+, \d+ before the halt")
    has(s["set var $r4 = 1"], "nothing can be written at a replay position")
    has(s["monitor past stack"], r"memory\|window\|assume, not 'stack'")


@suite.test("reverse: virtual-a9-smp: only the selected core moves, and none runs meanwhile")
def _():
    with Live(board_file("virtual-a9-smp")) as live:
        s = gdb(live.port, ["break stopped_here", "continue", "reverse-stepi", "bt", "thread 2",
                            "p/x $pc", "reverse-stepi", "reverse-stepi", "bt", "continue",
                            "p/x $pc", "continue", "thread 1", "continue", "p/x $pc",
                            "p/x (unsigned)&stopped_here"],
                elf=PROGRAMS / "crash-a9.elf", connect="target extended-remote")
    has(s["reverse-stepi"], "in reverse execution only the selected core moves: cpu0")
    expect("<signal handler called>" in frames(s["bt"]), s["bt"])
    has(s["continue"], "Breakpoint 1, ")
    has(s.all("continue")[1], "No more reverse-execution history")
    has(s.all("continue")[2], "another core is at a replay position")
    has(s.all("continue")[3], "No more reverse-execution history")
    found = pcs(s)
    equal(found[1], found[0], "PC of the second core, back at the halt")
    equal(found[2], value(s["p/x (unsigned)&stopped_here"]), "PC of the first core")


@suite.test("reverse: virtual-a9-smp: a step over one thread's breakpoint does not use up another one's goto")
def _():
    with Live(board_file("virtual-a9-smp")) as live:
        s = gdb(live.port, ["break stopped_here", "continue", "thread 2", "monitor goto -1000", "stepi", "disable",
                            "thread 2", "stepi", "monitor where"],
                elf=PROGRAMS / "crash-a9.elf", connect="target extended-remote")
    has(s["stepi"], "'monitor goto' waits for a step of another thread: 'disable' the breakpoint here first")
    has(s["monitor where"], r"^instruction \d+, 1000 before the halt")


suite.run()
