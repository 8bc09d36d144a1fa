#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/base/audit.c.
"""The audit: a line for each change, with who and what, to a file and to syslog, as text and as JSON;
a syslog that is gone or full holds nobody up, and what was lost is counted."""

import json
import os
import random
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
# pylint: disable=wrong-import-position
from live_gdb import Live, Wire, board_file
from replay_gdb import (BTRACED, PATIENCE, Suite, environment, equal, expect, folder, frame, has,
                        lacks, wait_for)

suite = Suite()
LINE = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ) client (\d+) \((.*)\) ([a-z-]+): (.*)$")


def lab(*lines):
    path = board_file("virtual-a9")
    path.write_text(path.read_text() + "\n[audit]\n" + "\n".join(lines) + "\n")
    return path


def entries(path):
    """(client, what, detail) of each line."""
    found = []
    for line in path.read_text().splitlines():
        match = LINE.match(line)
        expect(match, f"a line '{line}'")
        found.append((int(match[2]), match[4], match[5]))
    return found


def work(wire):
    for address in range(0x60001000, 0x60001400, 0x100):  # as a `load` does
        equal(wire.ask(f"M{address:x},100:" + "ab" * 0x100), "OK", "a write")
    equal(wire.ask("M60002000,4:00000000"), "OK", "a write elsewhere")
    equal(wire.ask("P0=11223344"), "OK", "a register")
    wire.ask("m60001000,4")
    wire.ask("g")
    wire.monitor("status")
    wire.monitor("record start ../evil")
    wire.monitor("trace off\x1b[2J\nclient 9 (root) control: in control")


@suite.test("audit: a line for each change, with who and what; what is read is none")
def _():
    path = folder() / "audit.log"
    with Live(lab(f"file = {path}")) as live:
        with Wire(live) as wire:
            work(wire)
        wait_for(lambda: (1, "control", "left") in entries(path), "the end of the session")
        found = entries(path)
        equal(found[0], (1, "control", "in control"), "the first line")
        equal([e for e in found if e[1] == "memory"],
              [(1, "memory", "0x60001000+0x400"), (1, "memory", "0x60002000+0x4")], "writes")
        expect((1, "registers", "of core 0") in found, "a register")
        has("\n".join(e[2] for e in found), r"^record start \.\./evil$")
        lacks(path.read_text(), r"client 9 \(root\) control: in control$")
        equal({e[1] for e in found}, {"control", "memory", "registers", "monitor"}, "what is there")
        expect(not any("status" in e[2] for e in found), "a question is a line")
        lacks(path.read_text(), "\x1b")
        # A file that is moved away is made anew.
        path.rename(path.with_suffix(".1"))
        live.process.send_signal(signal.SIGHUP)
        wait_for(lambda: path.exists() and "reload" in path.read_text(), "a new file")
        equal(path.stat().st_mode & 0o777, 0o640, "its mode")


@suite.test("audit: what GDB answers to semihosting, and what it writes into the target for it")
def _():
    path, at = folder() / "audit.log", 0x60100000
    seed = int(os.environ.get("BTRACED_SEED", time.time_ns() % 1000000))
    rng = random.Random(seed)
    print(f"# BTRACED_SEED={seed}")
    number, data = rng.randrange(1, 1 << 30), rng.randbytes(rng.randrange(1, 64))
    with Live(lab(f"file = {path}")) as live, Wire(live) as wire:
        for where, words in ((at, (0xef123456,)), (at + 0x20, (at + 0x40, 4, 1)), (at + 0x40, (0x41,))):  # svc; "A"
            equal(wire.ask(f"M{where:x},{4 * len(words):x}:{struct.pack(f'<{len(words)}I', *words).hex()}"), "OK", "M")
        for reg, value in ((0, 1), (1, at + 0x20), (15, at)):  # SYS_OPEN
            equal(wire.ask(f"P{reg:x}={struct.pack('<I', value).hex()}"), "OK", f"P{reg}")
        before = len(entries(path))
        wire.send(frame("vCont;s:p1.1"))
        has(wire.reply(), "^Fopen,")
        equal(wire.ask(f"M{at + 0x100:x},{len(data):x}:{data.hex()}"), "OK", "a write while the target waits")
        answer = f"F-1,{number:x}"
        wire.send(frame(answer))
        has(wire.reply(), "^[TS]")
        wait_for(lambda: len(entries(path)) >= before + 2, "lines")
        equal(sorted(entries(path)[before:]), [(1, "file-io", answer), (1, "memory", f"{at + 0x100:#x}+{len(data):#x}")],
              "the lines of the answer")


@suite.test("audit: JSON to syslog; one that is gone or full holds nobody up")
def _():
    place = folder()
    where = place / "log"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.settimeout(60)
        log.bind(str(where))
        with Live(lab(f"syslog = {where}", "json = yes")) as live, Wire(live) as wire:
            def heard():
                text = has(log.recv(4096).decode(), r"^<85>btraced\[\d+\]: (\{.*\})$")[1]
                return json.loads(text)
            first = heard()
            equal((first["client"], first["what"], first["detail"], first["lost"]),
                  (1, "control", "in control", 0), "the first")
            has(first["who"], r"^127\.0\.0\.1:\d+$")
            for number in range(600):  # nobody reads: its queue is full
                equal(wire.ask(f"P0={number:08x}"), "OK", "a write while nobody reads")
            lines = [heard()]
            while not lines[-1]["lost"]:
                if len(lines) > 1 and not readable(log):
                    equal(wire.ask("P0=00000001"), "OK", "a write when there is room")
                lines.append(heard())
            expect(0 < lines[-1]["lost"] < 600, f"lost: {lines[-1]}")
            expect(len(lines) + lines[-1]["lost"] >= 600, "those that came, and those that were lost")
            where.unlink()
            log.close()
            for _ in range(5):
                equal(wire.ask("P0=00000000"), "OK", "a write without a log")


def readable(log):
    return bool(select.select([log], [], [], 0)[0])


@suite.test("audit: a file that cannot be written is an error at the start")
def _():
    place = folder()
    (place / "link").symlink_to(place / "elsewhere")
    for path, pattern in ((place / "no" / "file", "No such file"), (place, "directory"),
                          (place / "link", "symbolic links")):
        done = subprocess.run([BTRACED, "serve", "-c", str(lab(f"file = {path}"))], capture_output=True,
                              text=True, timeout=PATIENCE, env=environment())
        equal(done.returncode, 4, f"exit code for {path}")
        has(done.stderr, rf"\[audit\] file: cannot write '.*': .*{pattern}")


suite.run()
