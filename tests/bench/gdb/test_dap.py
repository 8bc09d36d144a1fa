#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""GDB's own DAP server with configs/ide/gdb/dap_reverse.py, driven by a client of that protocol, where GDB has one
(16 and newer; BTRACED_DAP_GDB is the command line of another GDB than the tests'). An older GDB is told so."""

import os
import shlex
import subprocess

from dap_client import Dap
from replay_gdb import (DEMO, DEMO_PC, GDB, PATIENCE, ROOT, Server, Suite, demo_run, environment,
                        equal, expect, has, lacks)

ADD_ON = ROOT / "configs/ide/gdb/dap_reverse.py"
COMMAND = shlex.split(os.environ.get("BTRACED_DAP_GDB", GDB))
ELF = os.environ.get("BTRACED_DAP_ELF", str(DEMO / "crash.elf"))
FILE = os.environ.get("BTRACED_DAP_FILE", str(ADD_ON))
OPTIONS = ["-q", "-nx", "-i=dap", "-x", FILE]
RUN = [address for address, _ in demo_run()]
suite = Suite()


def version():
    done = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, timeout=PATIENCE,
                          env=environment())
    return int(has(done.stdout, r"^GNU gdb .*?(\d+)\.\d+")[1])


def session(dap, server):
    """Up to the first stop."""
    capabilities = dap.ask("initialize", adapterID="btraced", linesStartAt1=True)
    equal(capabilities.get("supportsStepBack"), True, "supportsStepBack")
    attach = dap.send("attach", program=ELF, target=f"127.0.0.1:{server.port}")
    while not any(event["event"] == "initialized" for event in dap.events):
        dap.take()
    dap.ask("setFunctionBreakpoints", breakpoints=[{"name": "read_number"}])
    dap.ask("configurationDone")
    dap.answer(attach)
    dap.stopped()


@suite.test("dap: a GDB without that server says what is needed; with it, the file is taken")
def _():
    if version() >= 16:
        with Dap(*COMMAND, *OPTIONS) as dap:
            equal(dap.ask("initialize", adapterID="x").get("supportsStepBack"), True, "capability")
        return
    done = subprocess.run([*COMMAND, "-q", "-nx", "-batch", "-x", FILE], capture_output=True, text=True,
                          timeout=PATIENCE, env=environment())
    has(done.stderr, r"has no DAP server that can be extended: 16 or newer is needed")
    lacks(done.stderr, "Traceback")


def reverse(*options):
    with Server(DEMO / "recording", *options, "--elf", DEMO / "crash.elf") as server, \
            Dap(*COMMAND, *OPTIONS) as dap:
        session(dap, server)
        equal(dap.pc(), DEMO_PC, "PC at the halt")
        dap.ask("stepBack", threadId=1, granularity="instruction")
        dap.stopped()
        equal(dap.pc(), RUN[-1], "PC one instruction back")
        dap.ask("reverseContinue", threadId=1)
        equal(dap.stopped()["reason"], "breakpoint", "reason")
        equal(dap.pc(), 0x80010228, "PC at the breakpoint")
        dap.ask("stepBack", threadId=1)
        dap.stopped()
        expect(dap.pc() in RUN and dap.pc() != 0x80010228, f"PC {dap.pc():#x} a statement back")
        dap.ask("setFunctionBreakpoints", breakpoints=[])
        dap.ask("reverseContinue", threadId=1)
        dap.stopped()
        equal(dap.pc(), RUN[0], "PC at the beginning")
        dap.ask("continue", threadId=1)
        dap.stopped()
        equal(dap.pc(), DEMO_PC, "PC at the end")
        dap.ask("disconnect")


if version() >= 16:
    suite.test("dap: stepBack and reverseContinue with the server's values")(lambda: reverse("--no-record"))
    suite.test("dap: the same with record btrace, as a recording has it at first")(reverse)
suite.run()
