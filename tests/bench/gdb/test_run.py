#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/cmd/cmd_run.c, server/cmd/run_watch.c and server/history/open_fault.c.
"""btraced run: each exit code, the fault and the backtrace that it tells, and files that say what
`btraced coverage` and the others say of the recording that it keeps."""

import json
import os
import re
import struct
import subprocess
import xml.etree.ElementTree

from export_runs import build, command
from live_gdb import PROGRAMS, board_file, symbol
from live_runs import damaged
from replay_gdb import (BTRACED, PATIENCE, ROOT, Suite, complained, environment, equal, expect, folder,
                        has, lacks)

suite = Suite()
LONG = 86400  # seconds that never end here
CALLERS = ["report_topics"] * 5 + ["main"]


def run(path, *options, code, place=None):
    """`btraced run` with that exit code: (standard error, JSON or None). Nothing is left behind."""
    left = folder()
    done = subprocess.run([BTRACED, "run", "-c", str(path), *map(str, options)], cwd=place,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=5 * PATIENCE, env=dict(environment(), TMPDIR=str(left)))
    expect(not complained(done.stderr), done.stderr[-6000:])
    equal(done.returncode, code, f"exit code: {done.stderr[-2000:]}")
    equal(os.listdir(left), [], "what is left in TMPDIR")
    return done.stderr, json.loads(done.stdout) if done.stdout else None


def variant(board, elf):
    """The board with another program."""
    name = PROGRAMS / f"crash-{board}.elf"
    return board_file(f"virtual-{board}", replace=[(str(name), str(elf))])


def patched(board, *places):
    """The board's program with other bytes at (address, old, new)."""
    source = PROGRAMS / f"crash-{board}.elf"
    data = bytearray(source.read_bytes())
    table, count = struct.unpack_from("<I", data, 28)[0], struct.unpack_from("<H", data, 44)[0]
    for address, old, new in places:
        for i in range(count):
            kind, offset, start, _, size = struct.unpack_from("<5I", data, table + 32 * i)
            at = offset + address - start
            if kind == 1 and start <= address < start + size and \
                    data[at:at + len(old)] == old:
                data[at:at + len(new)] = new
                break
        else:
            expect(False, f"no segment of {source} has {old} at {address:#x}")
    out = folder() / source.name
    out.write_bytes(data)
    return out


def endless(board):
    """A program that never crashes."""
    place = symbol(PROGRAMS / f"crash-{board}.elf", "crash_after")
    return variant(board, patched(board, (place, struct.pack("<I", 29), bytes(4))))


def exported(what, recording, program, *options):
    done = subprocess.run([BTRACED, what, "--elf", str(program), *options, str(recording)],
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=5 * PATIENCE,
                          env=environment())
    equal(done.returncode, 0, f"btraced {what}: {done.stderr}")
    return done.stdout


def page_data(page):
    """Of a report, without the names that it was given."""
    text = re.search(rb'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    return {key: value for key, value in json.loads(text).items()
            if key not in ("recording", "programs")}


for board in ("m3", "a9", "a53"):
    @suite.test(f"run: {board}: a function is reached, and the files say what the recording says")
    def _(board=board):
        path, place = board_file(f"virtual-{board}"), folder()
        program = PROGRAMS / f"crash-{board}.elf"
        text, found = run(path, "--until", "report_topics", "--seconds", LONG, "--record", "kept",
                          "--coverage", "c", "--profile", "p", "--timeline", "t", "--report", "r",
                          "--json", "-",
                          "--junit", "j", "--max-lost", 0, code=0, place=place)
        has(text, r"^btraced run: reached: --until report_topics \(the goal was reached\)$")
        equal((found["result"], found["exit_code"]), ("reached", 0), "result")
        for what, file in (("coverage", "c"), ("profile", "p"), ("timeline", "t")):
            equal((place / file).read_bytes(), exported(what, place / "kept", program), what)
        equal(page_data((place / "r").read_bytes()),
              page_data(exported("report", place / "kept", program)), "report")
        wide = 8 if board == "a53" else 4
        ran = (path.parent / "truth").stat().st_size // wide
        expect(ran - 16 < found["instructions"] <= ran, f"{found['instructions']} of {ran}")
        found["lost"]["gaps"].pop("debug", None)  # of a look at a target that was silent for long
        equal(found["lost"], {"percent": 0, "at_least": False, "bytes_skipped": 0, "gaps": {},
                              "cores_cut_off": []}, "lost")
        equal(found["recording"], "kept", "recording")
        cases = xml.etree.ElementTree.parse(place / "j").getroot()
        equal([(c.get("name"), len(c)) for c in cases.iter("testcase")],
              [("--until report_topics", 0), ("no fault", 0), ("--max-lost 0", 0)], "JUnit")

    @suite.test(f"run: {board}: a crash is told in words, with who called whom")
    def _(board=board):
        text, found = run(board_file(f"virtual-{board}"), "--seconds", LONG, "--json", "-",
                          "--junit", "/dev/stderr", "--max-lost", 5, code=2)
        equal(found["result"], "crashed", "result")
        what = (r"HardFault: .*memory protection \(0x[0-9a-f]{8}\)" if board == "m3"
                else "data abort")
        has(found["fault"]["what"], what + r", in report_topics at 0x[0-9a-f]+$")
        frames = found["fault"]["backtrace"]
        names = [frame["function"] for frame in frames]
        at = names.index("report_topics")
        equal(names[at:at + len(CALLERS)], CALLERS, "callers")
        lacks(" ".join(names[:at]), "report_topics|main", "the handler's part")
        equal([i for i, frame in enumerate(frames) if frame.get("handler")], [at - 1], "handler")
        equal({os.path.basename(frame["file"]) for frame in frames[at:at + len(CALLERS)]},
              {"crash.c"}, "source file")
        expect(f"at {frames[at]['address']}" in found["fault"]["what"], "address of the fault")
        has(text, r'<testsuite name="btraced run" tests="3" failures="2">')
        has(text, r"^  #0 wait_for_interrupt at .*:\d+$")


@suite.test("run: halted before any instruction of a fault's handler, each call is told as it is there")
def _():
    board, elf, place = board_file("virtual-m3"), PROGRAMS / "crash-m3.elf", folder()
    starts = sorted((int(row[1], 16), row[2]) for row in re.finditer(
        r"^(\w{8}) [Tt] ([a-z]\w*)$", command("arm-none-eabi-nm", elf), re.MULTILINE))

    def function(address):
        return [name for start, name in starts if start <= address and name != "code_end"][-1]

    run(board, "--seconds", LONG, "--record", "kept", code=2, place=place)
    rows = [row.split("\t") for row in command(BTRACED, "decode", "--instructions", "--format", "tsv",
                                               place / "kept").splitlines()[1:]]
    ran = [(int(row[2], 16), row[-1]) for row in rows]
    first = max(i for i, (address, _) in enumerate(ran) if address == symbol(elf, "hard_fault_entry"))
    before, calls, told = {address for address, _ in ran[:first + 1]}, [], 0
    for address, text in ran[first:]:
        calls = calls or [function(address)]
        if address not in before:
            told += 1
            _, found = run(board, "--until", hex(address), "--seconds", LONG, "--json", "-", code=2)
            frames = found["fault"]["backtrace"]
            names = [frame["function"] for frame in frames]
            equal(names[:names.index("report_topics")], calls[::-1], f"calls at {address:#x}")
            equal([function(int(frame["address"], 16)) for frame in frames], names, "where these are")
            equal(int(frames[0]["address"], 16), address, "the halt")
            has(found["fault"]["what"], r"^HardFault: .*, in report_topics at 0x[0-9a-f]+$")
        called = re.match(r"(?:bl|b\.w) #0x(\w+)$", text)
        if called:
            calls.append(function(int(called[1], 16)))
        elif text == "bx lr":
            calls.pop()
    expect(told > 20, f"{told} places")


@suite.test("run: a handler of a fault that never sleeps is a crash, too")
def _():
    elf = PROGRAMS / "crash-m3.elf"
    start = symbol(elf, "wait_for_interrupt")
    # dsb (4 bytes); wfi becomes nop
    program = patched("m3", (start + 4, b"\x30\xbf", b"\x00\xbf"))
    _, found = run(variant("m3", program), "--seconds", LONG, "--json", "-", code=2)
    has(found["fault"]["what"], "^HardFault")
    equal(found["end"], "the target is in the handler of a fault", "end")


@suite.test("run: a goal that is not reached, and time that is the goal")
def _():
    path = endless("m3")
    text, found = run(path, "--until", "stopped_here", "--seconds", 1, "--json", "-", code=1)
    has(text, r"^btraced run: not reached: --until stopped_here \(the time was over\)$")
    equal((found["result"], found["end"]), ("not reached", "the time was over"), "result")
    lacks(json.dumps(found), '"fault"')
    _, found = run(path, "--seconds", 1, "--json", "-", code=0)
    equal(found["result"], "reached", "result")


@suite.test("run: trace that is lost is told, and is a failure from --max-lost on")
def _():
    for limit, code in ((0, 3), (100, 0)):
        path, _, _, relay = damaged("M3, ETMv3", ["drop"], 400)
        text, found = run(path, "--until", "report_topics", "--seconds", LONG, "--json", "-",
                          "--max-lost", limit, "--junit", "/dev/stderr", code=code)
        expect(relay.damaged, "nothing was damaged")
        equal(found["result"], "trace lost" if code else "reached", "result")
        expect(found["lost"]["percent"] > 0 and found["lost"]["at_least"], f"{found['lost']}")
        expect(found["lost"]["gaps"], f"{found['lost']}")
        has(text, rf'name="--max-lost {limit}"{"" if code else "/"}>')


@suite.test("run: trace that ends before the halt is lost")
def _():
    path = board_file("virtual-m3")
    path.write_text(path.read_text().replace("ETMTRACEIDR = 0x10", "ETMTRACEIDR = 0x22"))
    text, found = run(path, "--until", "report_topics", "--seconds", LONG, "--json", "-",
                      "--max-lost", 50, code=3)
    equal(found["lost"]["cores_cut_off"], ["cpu0"], "cores")
    equal(found["lost"]["percent"], 100, "percent")
    has(text, "^cpu0: the trace ends before the halt$")


def talking(ends):
    """A program that says "ready" when it starts its timer, and may end then."""
    source = folder() / "talk.c"
    source.write_text("""
        void __real_start_timer(void);
        void __wrap_start_timer(void);
        static void ask(int what, const char *text)
        {
            register int r0 __asm__("r0") = what;
            register const char *r1 __asm__("r1") = text;
            __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
        }
        void __wrap_start_timer(void)
        {
            ask(4, "the board is ready\\n");
            if (ENDS)
                ask(0x18, (const char *)0x20026);
            __real_start_timer();
        }
    """)
    elf = build("m3", "-O1", str(source), "-Wl,--wrap=start_timer", f"-DENDS={ends}")
    path = variant("m3", elf)
    path.write_text(path.read_text().replace("target=gdb", "target=native"))
    return path


@suite.test("run: text of the board is a goal; a board that ends is none")
def _():
    for ends in (0, 1):
        _, found = run(talking(ends), "--until-output", "is ready", "--seconds", LONG, "--json",
                       "-", code=0)
        equal(found["goal"], "--until-output is ready", "goal")
    text, found = run(talking(1), "--until-output", "never said", "--seconds", LONG, "--json", "-",
                      code=1)
    has(text, "the board's program '.*' has ended: ")
    equal(found["result"], "not reached", "result")


@suite.test("run: what cannot be: exit code 4, with the reason")
def _():
    path = board_file("virtual-m3")
    for options, why in (
            ([], "no goal"),
            (["--until", "main", "--until-output", "x"], "one goal"),
            (["--seconds", "0"], "from 1 to 86400"),
            (["--seconds", "1", "--max-lost", "101"], "percentage"),
            (["--seconds", "1", "--source-map", "x"], "FROM=TO"),
            (["--seconds", "1", "more"], "named with -c"),
            (["--listen", ":0"], "unrecognized option"),
            (["--until", "nobody"], "no such function"),
            (["--until", "0x1ffffffff"], "'0x1ffffffff': the program has no such function or address"),
            (["--until", "main", "--until", "exit"], "--until is given twice, now with 'exit'"),
            (["--until", "main", "--report", "f", "--coverage", "f"], "two outputs are to be written to 'f'"),
            (["--until", "main", "--json", "-", "--junit", "-"], "two outputs are to be written to '-'"),
            (["--until", "main", "--json", "/nonexistent/j"], "cannot create '/nonexistent/j'"),
            (["--until", "main", "--coverage", "/nonexistent/c"], "cannot create '/nonexistent/c'"),
            (["--seconds", "1", "--program", "/nonexistent"], "cannot use the program")):
        text, _ = run(path, *options, code=4)
        has(text, re.escape(why))
    text, _ = run("/nonexistent.conf", "--seconds", "1", code=4)
    has(text, "cannot")


@suite.test("run: the command of docs/ci.md")
def _():
    [line] = re.findall(r"^```sh\nbtraced run -c virtual-m3 (.*)$", (ROOT / "docs/ci.md").read_text(),
                        re.MULTILINE)
    place = folder()
    run(board_file("virtual-m3"), *line.split(), code=0, place=place)
    equal(sorted(os.listdir(place)), ["callgrind.out.run", "run.html", "run.info", "run.json", "run.pftrace",
                                      "run.xml"], "files")


suite.run()
