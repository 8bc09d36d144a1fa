#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""LLDB on recordings and boards: its architecture, values, unknown registers, several cores, and motions
backwards in the way of LLDB 21 and of CodeLLDB, sent as packets by any LLDB, and by LLDB 21's own commands.
BTRACED_LLDB is the command line of another LLDB than the machine's."""

import os
import re
import shlex
import shutil
import subprocess

from live_gdb import Live, board_file
from replay_gdb import (DEMO, DEMO_PC, PATIENCE, ROOT, Client, Server, Suite, capture, demo_run, environment, equal, expect,
                        has, lacks, tool)

RUN = [address for address, _ in demo_run()]
suite = Suite()


def program():
    return shlex.split(os.environ.get("BTRACED_LLDB", "")) or [tool("lldb")]


def lldb(port, *commands, elf=DEMO / "crash.elf", log=False):
    """What LLDB printed for each command, in a dictionary; the last of equal ones."""
    # In front, so that no answer is later than LLDB waits, however busy the machine is.
    # Not in batch mode, which ends with an exception.
    line = [*program(), "--no-lldbinit", "--no-use-colors",
            "-o", f"settings set plugin.process.gdb-remote.packet-timeout {PATIENCE}"]
    line += ["-o", f"target create {elf}"] if elf else []
    line += ["-o", "log enable gdb-remote packets"] if log else []
    for command in (f"gdb-remote 127.0.0.1:{port}", *commands, "quit"):
        line += ["-o", command]
    done = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=environment(), timeout=PATIENCE)
    parts = re.split(r"^\(lldb\) (.*)$", done.stdout, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2])), done.stdout


def pc_of(output):
    return int(has(output, r"^ +pc = (0x[0-9a-f]+)")[1], 16)


def served(server):
    """The server is there for the next client: nothing ended with the one before."""
    with Client(server.port) as client:
        client.start()
        has(client.ask("pf"), "^[0-9a-f]{8}$")


@suite.test("lldb: a recording: registers, memory, a backtrace, breakpoints, steps")
def _():
    with Server(DEMO / "recording", "--elf", DEMO / "crash.elf") as server:
        out, text = lldb(server.port, "register read", "memory read -f x -s 4 -c 1 0x80010000",
                         "thread backtrace", "breakpoint set -n read_number",
                         "process plugin packet send bs", "thread step-inst", "thread step-inst",
                         "register read pc r4", "kill")
        has(out["register read"], r"^ +r3 = 0x800112c8")
        equal(pc_of(out["register read"]), DEMO_PC, "PC")
        has(out["memory read -f x -s 4 -c 1 0x80010000"], "^0x80010000: 0x[0-9a-f]{8}$")
        has(out["thread backtrace"], "frame #0: .*fault")
        has(out["breakpoint set -n read_number"], "address = 0x80010228")
        has(out["process plugin packet send bs"], "response: T05thread:1;")
        has(out["thread step-inst"], "stop reason = the history ends here|history boundary")
        equal(pc_of(out["register read pc r4"]), DEMO_PC, "PC at the end")
        lacks(text, "lost connection")
        served(server)  # `kill` is no power-off


@suite.test("lldb: back to the beginning and on to the end, in the way of CodeLLDB")
def _():
    with Server(DEMO / "recording", "--elf", DEMO / "crash.elf") as server:
        out, text = lldb(server.port, "process plugin packet send Hc1",
                         "process plugin packet send bc", "thread step-inst", "register read pc",
                         "process continue", "process detach")
        has(out["process plugin packet send bc"],
            r"response: T05reason:exception;description:[0-9a-f]+;replaylog:begin;thread:1;$")
        equal(pc_of(out["register read pc"]), RUN[1], "PC behind the first instruction")
        has(out["process continue"], "Process 1 resuming(.|\n)*Process 1 stopped")
        lacks(text, "lost connection")


def has_reverse():
    done = subprocess.run([*program(), "--no-lldbinit", "-b", "-o", "help process continue"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, env=environment(), timeout=PATIENCE)
    return "--reverse" in has(done.stdout, r"Syntax: process continue(.|\n)*")[0]


def reverse():
    with Server(DEMO / "recording", "--no-record", "--elf", DEMO / "crash.elf") as server:
        out, text = lldb(server.port, "breakpoint set -n read_number", "process continue --reverse",
                         "register read pc", "breakpoint delete 1", "process continue -R",
                         "register read -f x pc", "process continue --forward", "register read -f hex pc")
        lacks(text, "lost connection")
        has(out["process continue --reverse"], "stop reason = breakpoint 1.1")
        equal(pc_of(out["register read pc"]), 0x80010228, "PC at the breakpoint")
        has(out["process continue -R"], "stop reason = (the history begins here|history boundary)")
        equal(pc_of(out["register read -f x pc"]), RUN[0], "PC at the beginning")
        has(out["process continue --forward"], "stop reason = (the history ends here|history boundary)")
        equal(pc_of(out["register read -f hex pc"]), DEMO_PC, "PC at the end")
        served(server)


if shutil.which(program()[0]) and has_reverse():
    suite.test("lldb: process continue --reverse, to both ends of history and to a breakpoint")(reverse)


@suite.test("lldb: what is not known is unavailable, and no value")
def _():
    with Server(DEMO / "recording", "--no-record", "--elf", DEMO / "crash.elf") as server:
        out, text = lldb(server.port, "process plugin packet send bc", "thread step-inst",
                         "register read", "memory read -f x -s 4 -c 1 0x80012345")
        lacks(text, "0xcccccccc")
        has(out["register read"], r"^ +pc = 0x[0-9a-f]{8}")
        has(out["register read"], "registers were unavailable")


@suite.test("lldb: two cores: the one that stopped goes back, whatever was read before")
def _():
    with Server(capture("tc2-etmv3-ptm")) as server:
        out, text = lldb(server.port, "thread list", "thread select 2", "register read pc",
                         "process plugin packet send bs", elf=None, log=True)
        threads = set(re.findall(r"^.*thread #(\d+)", out["thread list"], re.MULTILINE))
        expect(len(threads) > 1, f"threads {threads}")
        first = re.search(r"< *\d+> read packet: \$T05(?:[^#]*;)?thread:(\w+);", text)
        expect(first, "no stop reply in the log")
        has(out["process plugin packet send bs"], rf"response: T05[^\n]*thread:{first[1]};")


@suite.test("lldb: boards: Thumb code without a program file, and a stop where there is no way back")
def _():
    with Live(board_file("virtual-m3")) as live:
        for elf in (ROOT / "configs/virtual/crash-m3.elf", None):
            out, text = lldb(live.port, "disassemble -b -c 1 -s $pc", "register read pc",
                             "process plugin packet send bs", "kill", elf=elf)
            has(out["disassemble -b -c 1 -s $pc"], r"0x[0-9a-f]+( <\+\d+>)?: 0x[0-9a-f]{4,8} +push ")
            pc_of(out["register read pc"])
            lacks(text, "lost connection")
            served(live)
    with Live(board_file("virtual-a53")) as live:
        out, text = lldb(live.port, "thread step-inst", "process plugin packet send bc",
                         "register read pc", elf=None)
        answer = has(out["process plugin packet send bc"], "response: (.*)$")[1]
        has(answer, r"^T05reason:exception;description:[0-9a-f]+;replaylog:begin;thread:")
        pc_of(out["register read pc"])
        lacks(text, "lost connection")


@suite.test("lldb: binary reads at a replay position are of then, in front of another server, too")
def _():
    with Live(board_file("virtual-a9")) as live, Client(live.port) as client:
        client.start()
        for _ in range(8):
            has(client.ask("vCont;s:1"), "^T05")
        has(client.ask("bs"), "^T05")
        pc = int.from_bytes(bytes.fromhex(client.ask("pf")), "little")
        code = client.ask(f"m{pc:x},8")
        has(code, "^[0-9a-f]{16}$")
        equal(client.ask(f"x{pc:x},8").encode("latin-1"), b"b" + bytes.fromhex(code), "x")
        equal(client.ask("x0,0"), "", "LLDB's question for its own form")


suite.run()
