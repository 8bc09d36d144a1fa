#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The CDT GDB adapter from npm, which Eclipse's and Arm's extensions of VS Code use, as they start it: with the entry of
configs/ide, as it is and with the patch in docs/examples. It is fetched once, below build/."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bench" / "gdb"))
from dap_client import Dap  # noqa: E402
from replay_gdb import (DEMO, DEMO_PC, GDB, PATIENCE, Server, Skipped, Suite, demo_run, environment,  # noqa: E402
                        equal, expect, folder, has)

VERSION = "1.7.0"
PATCH = ROOT / "docs/examples/cdt-gdb-adapter-step-back.patch"
STORE = ROOT / "build/npm" / f"cdt-gdb-adapter-{VERSION}"
RUN = [address for address, _ in demo_run()]
suite = Suite()


def fetched():
    """The package's folder."""
    package = STORE / "node_modules/cdt-gdb-adapter"
    if package.is_dir():
        return package
    npm = shutil.which("npm")
    if not npm or not shutil.which("node"):
        raise Skipped("no npm, or no node: the adapter is an npm package")
    fresh = folder() / "npm"
    fresh.mkdir()
    done = subprocess.run([npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix",
                           str(fresh), f"cdt-gdb-adapter@{VERSION}"],
                          capture_output=True, text=True, timeout=10 * PATIENCE)
    if done.returncode:
        raise Skipped("npm cannot fetch the adapter: " + done.stderr.strip().replace("\n", "; ")[-200:])
    STORE.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(fresh, STORE, dirs_exist_ok=True)
    return package


def patched():
    copy = folder() / "patched"
    shutil.copytree(fetched().parents[1], copy)
    subprocess.run(["patch", "-p1", "-s", "-d", str(copy / "node_modules/cdt-gdb-adapter"), "-i",
                    str(PATCH)], check=True, timeout=PATIENCE)
    return copy / "node_modules/cdt-gdb-adapter"


def entry(port):
    """The `gdbtarget` configuration, with this machine's paths."""
    text = (ROOT / "configs/ide/vscode/launch.json").read_text()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("//")]
    found = [c for c in json.loads("\n".join(lines))["configurations"] if c["type"] == "gdbtarget"]
    equal(len(found), 1, "gdbtarget configurations")
    text = json.dumps(found[0])
    for old, new in {"${workspaceFolder}/firmware.elf": str(DEMO / "crash.elf"), '"3333"': f'"{port}"',
                     "/usr/bin/gdb-multiarch": GDB, "${workspaceFolder}": str(ROOT)}.items():
        expect(old in text, f"the entry lacks {old}")
        text = text.replace(old, new)
    return json.loads(text)


def start(dap, server):
    capabilities = dap.ask("initialize", adapterID="gdbtarget", linesStartAt1=True,
                           pathFormat="path")
    configuration = entry(server.port)
    dap.ask(configuration.pop("request"), **configuration)
    while not any(event["event"] == "initialized" for event in dap.events):
        dap.take()
    dap.ask("setFunctionBreakpoints", breakpoints=[{"name": "read_number"}])
    dap.ask("configurationDone")
    return capabilities


def pc(dap):
    thread = dap.ask("threads")["threads"][0]["id"]
    frame = dap.ask("stackTrace", threadId=thread, levels=1)["stackFrames"][0]
    return int(frame["instructionPointerReference"], 16)


def adapter(package):
    return "node", str(package / "dist/debugTargetAdapter.js")


@suite.test("cdt adapter: the entry, a stack, breakpoints, and reverse from the console")
def _():
    package = fetched()
    with Server(DEMO / "recording", "--no-record", "--elf", DEMO / "crash.elf") as server, \
            Dap(*adapter(package)) as dap:
        capabilities = start(dap, server)
        expect(not capabilities.get("supportsStepBack"), "the adapter has got step back by itself")
        dap.stopped()
        equal(pc(dap), DEMO_PC, "PC at the halt")
        dap.ask("evaluate", expression=">reverse-continue", context="repl",
                frameId=dap.ask("stackTrace", threadId=1)["stackFrames"][0]["id"])
        dap.stopped()
        equal(pc(dap), 0x80010228, "PC at the breakpoint")


@suite.test("cdt adapter: with the patch: Step Back and Reverse, up to the beginning")
def _():
    package = patched()
    with Server(DEMO / "recording", "--no-record", "--elf", DEMO / "crash.elf") as server, \
            Dap(*adapter(package)) as dap:
        equal(start(dap, server).get("supportsStepBack"), True, "supportsStepBack")
        dap.stopped()
        dap.ask("stepBack", threadId=1, granularity="instruction")
        dap.stopped()
        equal(pc(dap), RUN[-1], "PC one instruction back")
        dap.ask("reverseContinue", threadId=1)
        dap.stopped()
        equal(pc(dap), 0x80010228, "PC at the breakpoint")
        dap.ask("stepBack", threadId=1)
        dap.stopped()
        expect(pc(dap) in RUN and pc(dap) != 0x80010228, "PC a statement back")
        dap.ask("setFunctionBreakpoints", breakpoints=[])
        dap.ask("reverseContinue", threadId=1)
        dap.stopped()
        equal(pc(dap), RUN[0], "PC at the beginning")
        dap.ask("continue", threadId=1)
        dap.stopped()
        equal(pc(dap), DEMO_PC, "PC at the end")


suite.run()
