#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/live/board_process.c.
"""Live boards at their limits: what cannot work is told in words, and nothing is left running."""

import os
import random
import re
import struct
import subprocess
from pathlib import Path

from live_gdb import PROGRAMS, Live, Wire, board_file, follow, gone, symbol
from replay_gdb import (BTRACED, GAP, PATIENCE, Suite, environment, equal, expect, folder, gdb,
                        has, logged, wait_for)

suite = Suite()
ELF = PROGRAMS / "crash-a9.elf"
BASE = 0x60000000
SEED = int(os.environ.get("BTRACED_SEED", random.SystemRandom().randrange(1 << 32)))


def users_of(path):
    """Processes that were started with this folder in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(path).encode() in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def refused(path, code, pattern, *options, **variables):
    """Ends with the code and the message; nothing that it started is left."""
    done = subprocess.run([BTRACED, "serve", "-c", str(path), *options], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE,
                          env=dict(environment(), **variables))
    equal(done.returncode, code, f"exit code ({done.stderr[-300:]})")
    logged(done, pattern)
    wait_for(lambda: not users_of(path.parent), "the end of the board's program")


def program(path, encode, count):
    """An ELF file whose code are `count` words encode(number)."""
    code = b"".join(struct.pack("<I", encode(n)) for n in range(count))
    head = struct.pack("<4sBBB9xHHIIIIIHHHHHH", b"\x7fELF", 1, 1, 1, 2, 40, 1, BASE, 52, 0,
                       0x5000200, 52, 32, 1, 0, 0, 0)
    head += struct.pack("<8I", 1, 0x1000, BASE, BASE, len(code), len(code), 5, 0x1000)
    path.write_bytes(head.ljust(0x1000, b"\0") + code)
    return path


@suite.test("live: a program that never executes a branch")
def _():
    elf = program(folder() / "straight.elf", lambda n: 0xe2800001, 1 << 18)  # add r0, r0, #1
    path = board_file("virtual-a9")
    path.write_text(path.read_text().replace(str(ELF), str(elf)))
    with Live(path) as live, Wire(live) as wire:
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        for target in (BASE + 0x100, BASE + 0x40000):
            wire.run_to(target)
            found, truth = wire.blocks("all"), live.truth()
            equal((found[0][1], found.count(GAP)), (target, 0), "newest end, gaps")
            equal(follow(found, truth, target), min(len(truth), 99999), "instructions")
        wire.step()
        equal(wire.blocks("delta"), [(0, target + 4)], "the step")


@suite.test("live: what QEMU does not answer gets an error, and the connection stays")
def _():
    r = random.Random(SEED)
    print(f"# seed {SEED}", flush=True)
    odd = [f"{r.randrange(2, 1 << r.randrange(2, 64)):x}" for _ in range(8)] + ["0", "-1", "p1.-1", "p1.0", ""]
    with Live(board_file("virtual-a9")) as live, Wire(live) as wire:
        for thread in odd:
            equal(wire.ask(f"qThreadExtraInfo,{thread}"), "E01", f"the answer about thread '{thread}'")
        has(bytes.fromhex(wire.ask("qThreadExtraInfo,1")).decode(), "CPU")
        has(bytes.fromhex(wire.ask("qThreadExtraInfo,p1.1")).decode(), "CPU")


@suite.test("live: a trace ID that no source has is told in words")
def _():
    path = board_file("virtual-a9")
    path.write_text(path.read_text().replace("ETMTRACEIDR = 0x10", "ETMTRACEIDR = 0x22"))
    with Live(path) as live:
        logged(live, r"^trace IDs +0x22 cpu0 \(silent so far\)$", "summary")
        s = gdb(live.port, ["record btrace", "tbreak add_value", "continue", "info record",
                            "monitor trace status", "kill"], elf=ELF,
                connect="target extended-remote")
        has(s["monitor trace status"],
            r"^trace IDs +0x10 \(no core of the board file\), 0x22 cpu0 \(silent so far\)$")
        has(s["info record"], r"^Recorded 0 instructions")
        why = (r"no history: the trace has ID 0x10, which no core of the board file has; core cpu0 "
               r"has 0x22$")
        has(s["continue"], f"^{why}", "told to GDB")
        logged(live, f"^btraced: {why}", "the log")
        wire = Wire(live)
        equal(wire.pc(), symbol(ELF, "add_value"), "PC: run control works nevertheless")
        wire.close()


@suite.test("live: a stream that is not in the format of the board file is told in words")
def _():
    path = board_file("virtual-a9")
    path.write_text(path.read_text().replace("format=tpiu", "format=etb,etb=65536"))
    with Live(path) as live:
        s = gdb(live.port, ["break stopped_here", "continue", "kill"], elf=ELF,
                connect="target extended-remote")
        has(s["continue"], r"^no history: trace arrives, but no frames are found in it; ")
        logged(live, r"^btraced: no history: trace arrives, but no frames are found in it; ")


@suite.test("live: no QEMU: which package has it")
def _():
    refused(board_file("virtual-a9"), 4, "cannot start 'qemu-system-arm': it is not installed; on "
            "Debian 12 or newer: apt install qemu-system-arm", PATH="/nonexistent")


@suite.test("live: a QEMU that is too old or without plugins: which one is needed")
def _():
    place = folder()
    old = place / "qemu-system-arm"
    needed = "; a virtual board needs QEMU 7.2 or newer, built with plugins: on Debian 12 "
    for words in ("-plugin: invalid option",
                  "Could not load plugin x.so: plugin requires API version 1, but this QEMU "
                  "supports only up to version 0",
                  "Could not load plugin x.so: x.so: undefined symbol: qemu_plugin_insn_symbol"):
        old.write_text(f"#!/bin/sh\necho 'qemu-system-arm: {words}' >&2\nexit 1\n")
        old.chmod(0o755)
        refused(board_file("virtual-a9"), 4, f"has ended: exit code 1: .*{words}{needed}",
                PATH=f"{place}:{os.environ['PATH']}")
    # Other errors of QEMU have nothing to do with that.
    path = board_file("virtual-a9")
    path.write_text(path.read_text().replace("vexpress-a9", "vexpress-a99"))
    refused(path, 4, r"has ended: exit code 1: (?!.*7\.2).*machine")


@suite.test("live: folders of servers that were killed go at the next start, others stay")
def _():
    place = folder()

    def start():
        return Live(board_file("virtual-a9"), environ={"XDG_RUNTIME_DIR": str(place)})

    def left():
        return {entry.name for entry in place.iterdir()}

    killed, running = start(), start()
    equal(len(left()), 2, "folders of two servers")
    killed.process.kill()
    killed.process.wait()
    killed.process.stdout.close()
    Live.running.remove(killed)
    other = folder()
    (other / "lock").write_text("")
    (other / "kept").write_text("")
    (place / "btraced-linked").symlink_to(other)
    (place / "btraced-nolock").mkdir(mode=0o700)
    (place / "btraced-public").mkdir(mode=0o700)
    (place / "btraced-public" / "lock").write_text("")
    (place / "btraced-public").chmod(0o777)
    (place / "btraced-dirlck").mkdir(mode=0o700)
    (place / "btraced-dirlck" / "lock").mkdir()
    strangers = {"btraced-linked", "btraced-nolock", "btraced-public", "btraced-dirlck"}
    before = left()
    third = start()
    now = left()
    equal(len(before - now), 1, f"folders removed of {before}")
    equal(len(now - before), 1, "folders made")
    expect(strangers <= now and (other / "kept").exists(), "a stranger's folder was removed")
    with Wire(running) as wire:
        wire.step()
    for live in (running, third):
        live.stop()
        live.process.stdout.close()
    equal(left(), strangers, "folders left at the end")


@suite.test("live: what is refused leaves nothing behind: a port in use, a trace socket in use")
def _():
    with Live(board_file("virtual-a9")) as live:
        refused(board_file("virtual-a9"), 3, "cannot listen on", "--listen",
                f"127.0.0.1:{live.port}")
    path = board_file("virtual-a9", replace=[
        ("listen = unix:$RUN/trace", "listen = unix:/nonexistent/trace")])
    refused(path, 4, "cannot listen for trace on .*/nonexistent/trace")


@suite.test("live: a key that is misspelt, a value out of range: file, line, what is allowed")
def _():
    for old, new, pattern in (("ring = 16M", "rign = 16M", r":\d+: rign: .*ring"),
                              ("ring = 16M", "ring = 1", r":\d+: ring: "),
                              ("format = tpiu", "format = tpui", r":\d+: format: .*tpiu"),
                              ("[history]", "[histroy]", r":\d+: .*histroy")):
        path = board_file("virtual-a9")
        path.write_text(path.read_text().replace(f"\n{old}\n", f"\n{new}\n"))
        refused(path, 2, rf"{re.escape(path.name)}{pattern}")


@suite.test("live: the end of a server ends its own board, and only that")
def _():
    with Live(board_file("virtual-a9")) as other:
        live = Live(board_file("virtual-a9"))
        mine, others = live.children(), other.children()
        equal((len(mine), len(others)), (1, 1), "programs")
        live.stop()
        live.process.stdout.close()
        gone(mine[0])
        with Wire(other) as wire:
            wire.step()
        equal(other.children(), others, "programs of the other server")
        # So does that of one whose command is a script around the board.
        path = board_file("virtual-a9")
        script = path.parent / "board.sh"
        script.write_text('#!/bin/sh\nqemu-system-arm "$@"\nexit $?\n')
        script.chmod(0o755)
        path.write_text(path.read_text().replace("command = qemu-system-arm", f"command = {script}"))
        live = Live(path)
        equal(len(users_of(path.parent)), 3, "the server, the script and the board")
        live.stop()
        live.process.stdout.close()
        wait_for(lambda: not users_of(path.parent), "the end of what the script has started")
        # Killed outright, it takes its board along as well.
        live = Live(board_file("virtual-a9"))
        mine = live.children()
        live.process.kill()
        live.process.wait()
        live.process.stdout.close()
        Live.running.remove(live)
        gone(mine[0])
        expect(not users_of(live.path.parent), "something is left")


suite.run()
