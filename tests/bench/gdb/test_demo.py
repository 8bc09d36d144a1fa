#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stock GDB on the demo's recording with its ELF file: the same commands as on the capture, with
source lines, against the emulator's log of the run."""

import re

from replay_gdb import (DEMO, DEMO_PC, Server, Suite, demo_code, demo_run, equal, expect,
                        functions, gdb, has, history, lacks, record_counts, run, same_list, tool,
                        value)

ELF = DEMO / "crash.elf"
suite = Suite()
RUN = demo_run()
server = Server(DEMO / "recording")
server.__enter__()


def session(*commands, **options):
    return gdb(server.port, commands, elf=ELF, before=[f"directory {DEMO}"], **options)


def symbols():
    """[(address, name)] of the functions, sorted."""
    rows = re.findall(r"^([0-9a-f]{8}) [Tt] (\w+)$", run([tool("arm-none-eabi-nm"), "-n",
                                                          str(ELF)]), re.MULTILINE)
    return [(int(address, 16), name) for address, name in rows if name != "code_start"]


SYMBOLS = symbols()


def function_of(address):
    return [name for start, name in SYMBOLS if start <= address][-1]


def calls():
    """The run as GDB's function history has it, with the halted PC as its last instruction."""
    rows = []
    for number, address in enumerate([a for a, _ in RUN] + [DEMO_PC], 1):
        name = function_of(address)
        if rows and rows[-1][1] == name:
            rows[-1] = rows[-1][:3] + (number,)
        else:
            rows.append((len(rows) + 1, name, number, number))
    return rows


def line_table():
    """[(address, file, line)] of the ELF file, sorted."""
    rows = re.findall(r"^(\S+) +(\d+) +(0x[0-9a-f]+)\b",
                      run([tool("arm-none-eabi-objdump"), "--dwarf=decodedline", str(ELF)]),
                      re.MULTILINE)
    return sorted((int(address, 16), name, int(line)) for name, line, address in rows)


LINES = line_table()


def lines_at(address):
    """{(file, line)}: several lines may begin at one place."""
    start = max(a for a, _, _ in LINES if a <= address)
    return {(name, line) for a, name, line in LINES if a == start}


def line_of(text):
    """Number of the one line of crash.c with this text."""
    found = [n for n, line in enumerate((DEMO / "crash.c").read_text().splitlines(), 1)
             if text in line]
    equal(len(found), 1, f"lines with {text}")
    return found[0]


@suite.test("demo: recording found at attach, counts of the run")
def _():
    s = session("info record", "info threads", "p/x $pc", "backtrace 1")
    has(s[0], r"^Target is recording using Branch Trace Store\.$")
    has(s["info record"], r"^Recording format: Branch Trace Store\.")
    equal(record_counts(s["info record"]), (len(RUN), len(calls()), 0), "counts")
    has(s["info threads"], rf"^\* 1 +(Thread 1|core 0) \"cpu_0\" \(recorded, {len(RUN)} instructions\)")
    equal(value(s["p/x $pc"]), DEMO_PC, "PC")
    has(s["backtrace 1"], r"^#0  fault \(address=40\) at crash\.c:")
    lacks(s.text, "^warning:")


@suite.test("demo: the full instruction history is the run")
def _():
    s = session(f"record instruction-history /r 1,{len(RUN)}")
    rows = history(s[-1])
    same_list([(r.number, r.address) for r in rows],
              [(n, a) for n, (a, _) in enumerate(RUN, 1)], "instructions")
    code = demo_code()
    for row, (address, isa) in zip(rows, RUN):
        words = [bytes.fromhex(w)[::-1] for w in row.raw]
        at = address - 0x80010000
        if b"".join(words) != code[at:at + len(b"".join(words))]:
            equal(row.raw, code[at:at + 4].hex(), f"bytes at {address:#x}")
        # An A32 instruction is one word, a T32 instruction one or two halfwords.
        equal({len(w) for w in words}, {4 if isa == "A" else 2}, f"sizes at {address:#x}")
        name, _, offset = row.where.partition("+")
        equal((function_of(address), dict((n, a) for a, n in SYMBOLS)[name] + int(offset)),
              (name, address), f"place of {row.number}")
    lacks(s.text, "^warning:|decode error|UNDEFINED|Cannot access")


@suite.test("demo: function call history with instruction and line ranges")
def _():
    wanted = calls()
    s = session("record function-call-history", f"record function-call-history /i 1,{len(wanted)}",
                f"record function-call-history /l {len(wanted) - 9},{len(wanted)}")
    same_list(functions(s[-2]), wanted, "functions")
    rows = re.findall(r"^(\d+)\t(\w+)$", s["record function-call-history"], re.MULTILINE)
    equal(rows, [(str(n), name) for n, name, _, _ in wanted[-10:]], "the last ten")
    rows = re.findall(r"^(\d+)\t(\w+)\tat (\S+):(\d+)(?:,(\d+))?$", s[-1], re.MULTILINE)
    equal([(int(n), name) for n, name, _, _, _ in rows], [row[:2] for row in wanted[-10:]],
          "functions with lines")
    addresses = [a for a, _ in RUN] + [DEMO_PC]
    for (_, name, file, low, high), (_, _, first, last) in zip(rows, wanted[-10:]):
        lines = [lines_at(a) for a in addresses[first - 1:last]]
        expect(any((file.rsplit("/")[-1], int(low)) in at for at in lines), f"{name}: line {low}")
        expect(any((file.rsplit("/")[-1], int(high or low)) in at for at in lines),
               f"{name}: line {high}")
        # Of lines at one place GDB may choose any, but not one outside.
        expect(int(low) <= min(max(n for _, n in at) for at in lines), f"{name}: from {low}")
        expect(int(high or low) >= max(min(n for _, n in at) for at in lines),
               f"{name}: to {high}")


@suite.test("demo: instruction history with source lines")
def _():
    # From the last argument on; GDB shows no source for the ends of the functions before.
    start = min(a for a, file, line in LINES
                if (file, line) == ("crash.c", line_of("call->args[call->count] = value")))
    number = max(n for n, (a, _) in enumerate(RUN) if a == start)
    output = session(f"record instruction-history /s {number + 1},{len(RUN)}")[-1]
    place, shown = None, []
    for line in output.splitlines():
        if m := re.match(r"^(?:\./)?(crash\.c|start\.S):(\d+)\t(.*)$", line):
            place = (m[1], int(m[2]))
            equal(m[3], (DEMO / m[1]).read_text().splitlines()[place[1] - 1], f"text of {place}")
            shown.append(place)
        elif line:
            number += 1
            equal(history(line)[0].number, number, "number")
            # Lines that are no statements are not shown: what follows has an older line then.
            expect(place is None or place in lines_at(RUN[number - 1][0]),
                   f"{place} for instruction {number}")
            place = None
    equal(number, len(RUN), "last instruction")
    expect(len({name for name, _ in shown}) == 2 and len(shown) > 4, f"only {shown}")


@suite.test("demo: reverse-stepi to the start of the last message, stepi back to the halt")
def _():
    steps = 60
    s = session(*["reverse-stepi", "p/x $pc"] * steps, *["stepi", "p/x $pc"] * steps,
                "info record", "backtrace 1")
    back = [a for a, _ in RUN[:-steps - 1:-1]]
    same_list([value(o) for o in s.all("p/x $pc")], back + back[-2::-1] + [DEMO_PC], "PCs")
    lacks(s["info record"], "Replay in progress")
    # Live again: registers are there.
    has(s["backtrace 1"], r"^#0  fault \(address=40\)")


def names(positions):
    """Functions passed on the way, each once a run."""
    found = []
    for position in positions:
        if not found or found[-1] != function_of(RUN[position][0]):
            found.append(function_of(RUN[position][0]))
    return found


@suite.test("demo: reverse-step and step move by source lines, through every function")
def _():
    steps = 25
    s = session(*["reverse-step", "info record", "p/x $pc"] * steps,
                *["step", "info record", "p/x $pc"] * steps)
    at = [int(has(o, r"At instruction (\d+)\.")[1]) - 1 for o in s.all("info record")[:steps]]
    equal(at, sorted(at, reverse=True), "positions going back")
    forth = []
    for output in s.all("info record")[steps:]:
        m = re.search(r"At instruction (\d+)\.", output)
        forth.append(int(m[1]) - 1 if m else len(RUN))  # at the live position
    equal(forth, sorted(forth), "positions going forward")
    places = [a for a, _ in RUN] + [DEMO_PC]
    equal([value(o) for o in s.all("p/x $pc")], [places[n] for n in at + forth], "PCs")
    # Lines have no frames here: every function on the way is entered.
    equal(names(at), names(range(len(RUN) - 1, at[-1] - 1, -1))[1:], "functions going back")
    # Going forward GDB stops at the beginning of a line only, so not where a call returns to.
    on_way = iter(names(range(at[-1], min(forth[-1] + 1, len(RUN)))))
    for name in names([n for n in forth if n < len(RUN)]):
        expect(name in on_way, f"{name} is not on the way forward")
    for output, position in zip(s.all("reverse-step"), at):
        m = has(output, r"^(?:0x[0-9a-f]+\t)?(\d+)\t")
        expect(int(m[1]) in {n for _, n in lines_at(RUN[position][0])}, f"line {m[1]}")
    text = "return call.apply(call.args, call.count);"
    has(s.text, rf"^{line_of(text)}\t +{re.escape(text)}$")


@suite.test("demo: breakpoints at functions stop in both directions")
def _():
    for name in ("put_number", "read_arguments"):  # T32, A32
        # GDB plants behind the prologue: it says where.
        s = session(f"break {name}", "info breakpoints", *["reverse-continue", "info record"] * 3,
                    *["continue", "info record"] * 2, "delete", "continue", "p/x $pc")
        at = int(has(s["info breakpoints"], r"y +(0x[0-9a-f]+) in")[1], 16)
        equal(function_of(at), name, "place of the breakpoint")
        visits = [n for n, (a, _) in enumerate(RUN, 1) if a == at][-3:]
        found = [int(has(o, r"At instruction (\d+)\.")[1]) for o in s.all("info record")]
        equal(found, visits[::-1] + visits[1:], f"stops in {name}")
        for output in s.all("reverse-continue"):
            has(output, rf"^Breakpoint 1, (0x[0-9a-f]+ in )?{name} \(.*\) at .*crash\.c:\d+$")
        equal(value(s[-1]), DEMO_PC, "PC at the end")


@suite.test("demo: a breakpoint at a source line stops in replay")
def _():
    number = line_of("call->args[call->count] = value")
    s = session(f"break crash.c:{number}", "info breakpoints", *["reverse-continue", "p/x $pc"] * 2,
                "info record")
    at = int(has(s["info breakpoints"], r"y +(0x[0-9a-f]+) in")[1], 16)
    equal([value(o) for o in s.all("p/x $pc")], [at, at], "PCs")
    visits = [n for n, (a, _) in enumerate(RUN, 1) if a == at]
    has(s["info record"], rf"At instruction {visits[-2]}\.")


@suite.test("demo: record goto begin, end, numbers")
def _():
    s = session("record goto begin", "p/x $pc", "record goto 5000", "p/x $pc",
                "record goto end", "p/x $pc", "info record", f"record goto {len(RUN) + 2}")
    equal([value(o) for o in s.all("p/x $pc")], [RUN[0][0], RUN[4999][0], DEMO_PC], "PCs")
    lacks(s["info record"], "Replay in progress")
    has(s[-1], r"No such instruction")


@suite.test("demo: the ends of the history")
def _():
    s = session("reverse-continue", "info record", "reverse-stepi", "continue", "info record")
    has(s["reverse-continue"], "^No more reverse-execution history")
    has(s["reverse-continue"], "^start \\(\\) at .*start\\.S:")
    has(s.all("info record")[0], r"At instruction 1\.")
    has(s["reverse-stepi"], "^No more reverse-execution history")
    has(s["continue"], "^No more reverse-execution history")
    lacks(s.all("info record")[1], "Replay in progress")


@suite.test("demo: what runs on from the halt is refused with a reason, and GDB goes on")
def _():
    s = session("stepi", "continue", "info record", "reverse-stepi", "p/x $pc")
    for output in (s["stepi"], s["continue"]):
        has(output, "a recording cannot run on")
    equal(record_counts(s["info record"]), (len(RUN), len(calls()), 0), "counts")
    equal(value(s["p/x $pc"]), RUN[-1][0], "PC")


@suite.test("demo: registers and memory of the halt; neither can be written")
def _():
    s = session("info registers", 'printf "%s\\n", console', "set var $r0 = 1", "p $r0",
                "set var fault_address = 5", "p fault_address")
    has(s["info registers"], r"^r0 +0x28 +40$")
    has(s["info registers"], r"^sp +0x800112c0 ")
    has(s["info registers"], r"^cpsr +0x800001d7 ")
    has(s['printf "%s\\n", console'], r"^product\(6,7\)=42$")
    has(s["set var $r0 = 1"], "a recording is read-only")
    has(s["p $r0"], r"= 40$")
    has(s["set var fault_address = 5"], "Cannot access memory")
    has(s["p fault_address"], r"= 40$")


@suite.test("demo: record stop, detach, attach again")
def _():
    s = session("record stop", "info record", "record btrace bts", "info record", "detach")
    has(s["record stop"], r"^Process record is stopped and all execution logs are deleted\.")
    has(s["info record"], r"^No recording is currently active\.")
    # 64 kB, GDB's default, hold 2730 blocks.
    has(s.all("info record")[1], r"^Buffer size: 64kB\.")
    expect(2730 <= record_counts(s.all("info record")[1])[0] < len(RUN), "not the newest blocks")
    has(s["detach"], r"detached\]$")
    again = session("info record")
    equal(record_counts(again["info record"])[0], len(RUN), "instructions after attaching again")


@suite.test("demo: GDB quits without a word while it records and while it replays")
def _():
    for commands in ([], ["reverse-stepi"]):
        s = session(*commands)
        lacks(s.text, "Could not|rror")


@suite.test("demo: the server ends well")
def _():
    server.stop()


suite.run()
