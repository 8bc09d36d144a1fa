#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The files in configs/ide, used as the front ends use them: what they start, the line they wait
for, and the commands they send to stock GDB's machine interface, against a virtual board and a
recording. All values are read from the files."""

import contextlib
import json
import os
import re
import select
import shlex
import socket
import subprocess
import time
import xml.etree.ElementTree as ElementTree

from live_gdb import Live, board_file
from replay_gdb import (BTRACED, DEMO, GDB, PATIENCE, ROOT, Failed, Mi, Server, Suite, demo_run, environment,
                        equal, expect, has, lacks, wait_for)

IDE = ROOT / "configs" / "ide"
LAUNCH = IDE / "vscode" / "launch.json"
ECLIPSE = IDE / "eclipse" / "btraced.launch"
M3 = ROOT / "configs/virtual/crash-m3.elf"
PAGE = (ROOT / "docs/ide.md").read_text()
JTAG = "org.eclipse.cdt.debug.gdbjtag.core."
suite = Suite()


# The files.

def configurations():
    text = LAUNCH.read_text()
    return json.loads("\n".join(line for line in text.splitlines()
                                if not line.lstrip().startswith("//")))["configurations"]


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


def configuration(kind, word, port, program, **instead):
    """One of VS Code's, with this machine's paths: each must be in the file, so that the test does
    not talk of another one."""
    found = [c for c in configurations() if c["type"] == kind and word in c["name"]]
    equal(len(found), 1, f"configurations of {kind} with '{word}'")
    text = json.dumps(found[0])
    for old, new in {"${workspaceFolder}/firmware.elf": str(program), ":3333": f":{port}",
                     "/usr/bin/gdb-multiarch": GDB, "${workspaceFolder}": str(ROOT),
                     **instead}.items():
        expect(old in text, f"{LAUNCH.name}: '{word}' lacks '{old}'")
        text = text.replace(old, new)
    lacks(text, r"\$\{", "what is left of a configuration")
    return json.loads(text)


def eclipse(port):
    """Attributes by the last part of their names."""
    root = ElementTree.parse(ECLIPSE).getroot()
    equal(root.get("type"), "org.eclipse.cdt.debug.gdbjtag.launchConfigurationType", "type")
    found = {e.get("key").rsplit(".", 1)[1]: e.get("value").replace("3333", str(port)) for e in root}
    equal(len(found), len(list(root)), "different attributes")
    return found


# What front ends do.

class Front(Mi):
    """GDB behind a front end: each command must succeed."""

    def ok(self, command):
        records = self.command(command)
        lacks(records, r"^\d+\^error.*", f"answer to {command}")
        return records

    def console(self, text):
        quoted = text.replace("\\", "\\\\").replace('"', '\\"')
        return self.ok(f'-interpreter-exec console "{quoted}"')

    def given(self, commands):
        """Commands as files have them: with a dash those of the machine interface."""
        for text in commands:
            if text.startswith("-"):
                self.ok(text)
            else:
                self.console(text)

    def move(self, command):
        """The record of the stop."""
        records = self.ok(command)
        if "*stopped" not in records:
            records = "\n".join(self._until(r"\*stopped"))
        return has(records, r"^\*stopped.*", f"records of {command}")[0]

    def start(self, command):
        """Does not wait for a stop."""
        self.token += 1
        self.process.stdin.write(f"{self.token}{command}\n")
        self.process.stdin.flush()
        has("\n".join(self._until(rf"{self.token}\^")), r"\^running", f"answer to {command}")

    def number(self, expression):
        return int(has(self.ok(f'-data-evaluate-expression "(long){expression}"'), r'value="(\d+)"')[1])

    def pc(self):
        """By the list of registers, as a window for them asks."""
        names = re.findall(r'"([^"]*)"', self.ok("-data-list-register-names").split("=[")[1])
        text = self.ok(f"-data-list-register-values x {names.index('pc')}")
        return int(has(text, r'value="(0x[0-9a-f]+)"')[1], 16)

    def functions(self):
        depth = int(has(self.ok("-stack-info-depth 100"), r'depth="(\d+)"')[1])
        frames = self.ok(f"-stack-list-frames 0 {depth - 1}")
        return re.findall(r'func="([^"]*)"', frames)

    def look(self):
        """What windows ask at each stop."""
        self.ok("-thread-info")
        self.ok("-stack-list-arguments 1 0 0")
        self.ok("-stack-list-variables --simple-values")
        self.ok("-data-list-register-values --skip-unavailable x")
        self.ok("-data-disassemble -s $pc -e $pc+8 -- 2")
        variable = has(self.ok('-var-create - * "$sp"'), r'name="(\w+)"')[1]
        self.ok(f"-var-update 1 {variable}")
        self.ok(f"-var-delete {variable}")


@contextlib.contextmanager
def started(config):
    """A server as VS Code's C/C++ starts it: up to the line that the file waits for, in the streams
    that it names. It must end by itself when the session is over."""
    command = [config["debugServerPath"], *shlex.split(config["debugServerArgs"])]
    server = subprocess.Popen(command, cwd=config["cwd"], env=environment(), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    streams = [stream for stream, key in ((server.stdout, "filterStdout"),
                                          (server.stderr, "filterStderr")) if config[key]]
    logged, end = "", time.monotonic() + max(config["serverLaunchTimeout"] / 1000, PATIENCE)
    try:
        while not re.search(config["serverStarted"], logged):
            expect(select.select(streams, [], [], end - time.monotonic())[0], f"silent: {logged}")
            part = os.read(streams[0].fileno(), 65536).decode()
            expect(part, f"the server has ended: {logged}")
            logged += part
        yield server
        equal(server.wait(PATIENCE), 0, "exit code when the session is over")
    finally:
        server.kill()
        server.communicate()


def cpptools(front, config):
    """From the start of GDB to the first stop."""
    equal(config["MIMode"], "gdb", "MIMode")
    front.ok("-gdb-set mi-async on")
    front.given(c["text"] for c in config.get("setupCommands", []))
    front.ok(f"-environment-cd {config['cwd']}")
    front.ok(f"-file-exec-and-symbols {config['program']}")
    kind = "extended-remote" if config["useExtendedRemote"] else "remote"
    has(front.ok(f"-target-select {kind} {config['miDebuggerServerAddress']}"), r"\^connected")
    front.given(c["text"] for c in config.get("postRemoteConnectCommands", []))
    expect(config["stopAtConnect"], "the board would run on")
    has(front.ok("-list-target-features"), '"reverse"', "what GDB says of the target")
    front.look()


def goodbye(front):
    front.ok("-target-disconnect")
    front.command("-gdb-exit")


def last_ran(board, back=1):
    """The instruction that ran last on a virtual board."""
    data = (board.parent / "truth").read_bytes()
    return int.from_bytes(data[len(data) - 4 * back:][:4], "little") & ~1


def crash(front):
    """To the end of the program on the board, with a breakpoint of the source window."""
    line = next(n for n, text in enumerate((ROOT / "configs/virtual/crash.c").read_text().splitlines(), 1)
                if "stopped_here(void)" in text)
    front.ok(f"-break-insert -f crash.c:{line + 1}")
    for _ in range(4):
        if 'func="stopped_here"' in front.move("-exec-continue"):
            return
    raise Failed("the program does not get to its end")


def look_back(front, board):
    """Every motion backwards, against what ran."""
    ran = last_ran(board)
    front.move("-exec-step-instruction --reverse")
    equal(front.pc(), ran, "the instruction before")
    front.look()
    front.move("-exec-step-instruction")
    equal(front.functions()[0], "stopped_here", "the function after")
    front.ok("-break-insert -t new_topic")
    stop = front.move("-exec-continue --reverse")
    has(stop, 'reason="breakpoint-hit".*func="new_topic"', "the stop")
    equal(front.functions(), ["new_topic", "file_message", "main"], "frames")
    has(front.ok("-stack-list-arguments 1 0 0"), r'name="keep@entry",value="0x1b7 <keep_average>"')
    front.look()
    has(front.move("-exec-finish --reverse"), 'func="file_message"', "the caller")
    front.move("-exec-next --reverse")
    front.move("-exec-step --reverse")
    front.console("monitor goto end")


# VS Code.

@suite.test("ide: VS Code C/C++ starts the server, sees the board's history, and the server ends with it")
def _():
    board = board_file("virtual-m3")
    config = configuration("cppdbg", "board", free_port(), M3,
                           **{"/usr/local/bin/btraced": BTRACED, "-c virtual-m3": f"-c {board}"})
    with started(config), Front() as front:
        cpptools(front, config)
        has(front.ok("-break-list"), 'func="main"', "breakpoints of the file")
        crash(front)
        front.look()
        look_back(front, board)
        goodbye(front)


@suite.test("ide: VS Code C/C++ starts a recording")
def _():
    config = configuration("cppdbg", "recording", free_port(), DEMO / "crash.elf",
                           **{"/usr/local/bin/btraced": BTRACED,
                              "exit-after-detach recording": f"exit-after-detach {DEMO}/recording"})
    ran = [address for address, _ in demo_run()]
    with started(config), Front() as front:
        cpptools(front, config)
        for back in range(1, 6):
            front.move("-exec-step-instruction --reverse")
            equal(front.pc(), ran[-back], f"{back} before the end")
        front.look()
        front.move("-exec-step-instruction")
        equal(front.pc(), ran[-4], "forward again")
        front.move("-exec-continue --reverse")
        front.look()
        goodbye(front)


@suite.test("ide: Cortex-Debug attaches to a server that runs")
def _():
    board = board_file("virtual-m3", replace=(("listen = 127.0.0.1:3333", "listen = 127.0.0.1:0"),))
    with Live(board) as live, Front(M3) as front:
        config = configuration("cortex-debug", "Cortex-Debug", live.port, M3)
        equal((config["request"], config["servertype"]), ("attach", "external"), "kind")
        front.given(["-gdb-set mi-async on", f"-environment-cd {config['cwd']}",
                     f"-file-exec-and-symbols {config['executable']}"])
        has(front.ok(f"-target-select extended-remote {config['gdbTarget']}"), r"\^connected")
        front.given(config["overrideAttachCommands"])
        start = front.pc()
        has(front.move("-exec-continue --all"), 'func="main"', "the stop")
        frames = front.ok("-stack-list-frames --thread 1 0 5")
        has(frames, r'frame=\{level="0".*func="main"')
        front.ok("-stack-list-variables --thread 1 --frame 0 --all-values")
        ran = last_ran(board)
        front.move("-exec-step-instruction --reverse")
        equal(front.pc(), ran, "the instruction before")
        front.given(config["overrideResetCommands"])
        equal(front.pc(), start, "the program counter after a reset")
        front.ok("-break-delete")
        before = live.truth_path().stat().st_size
        front.start("-exec-continue --all")
        wait_for(lambda: live.truth_path().stat().st_size > before, "an instruction")
        has(front.move("-exec-interrupt --all"), 'signal-name="SIG(INT|TRAP)"', "the stop")
        expect(front.pc() != start, "the board has not run")
        goodbye(front)


# Eclipse.

@suite.test("ide: Eclipse's hardware debugging, its reverse buttons, and btrace by its switch")
def _():
    board = board_file("virtual-m3", replace=(("listen = 127.0.0.1:3333", "listen = 127.0.0.1:0"),))
    with Live(board) as live, Front() as front:
        keys = eclipse(live.port)
        expect(keys["connection"] == f"gdb:{keys['ipAddress']}:{keys['portNumber']}",
               "two addresses for one server")
        equal(keys["useRemoteTarget"], "true", "useRemoteTarget")
        front.given(["-gdb-set breakpoint pending on", "-enable-pretty-printing",
                     "-gdb-set print object on", "-gdb-set remotetimeout 20"])
        front.ok(f"-file-exec-and-symbols {M3}")
        front.ok(f"-target-select {keys['protocol']} {keys['connection'].removeprefix('gdb:')}")
        front.given(keys["initCommands"].splitlines())
        front.ok(f"-break-insert -t {keys['stopAt']}")
        equal((keys["setStopAt"], keys["setResume"]), ("true", "true"), "stops and goes on")
        has(front.move("-exec-continue"), f'func="{keys["stopAt"]}"', "the stop")
        front.ok("-list-thread-groups")
        crash(front)
        for motion in ("reverse-stepi 3", "reverse-step 1", "reverse-next 1"):
            front.move(f'-interpreter-exec console "{motion}"')
            front.look()
        front.console("monitor goto end")
        front.move("-exec-step-instruction")
        ran = last_ran(board)
        has(front.console("record btrace bts"), '=record-started.*method="btrace",format="bts"')
        has(front.console("info record"), "Recorded [1-9][0-9]* instructions")
        front.move('-interpreter-exec console "reverse-stepi 1"')
        equal(front.number("$pc"), ran, "the instruction before")
        front.move('-interpreter-exec console "reverse-next 2"')
        front.move('-interpreter-exec console "reverse-continue"')
        front.console("record goto end")
        has(front.console("record stop"), "=record-stopped")
        goodbye(front)


# Native Debug: its step back and reverse buttons (mi2.ts: -exec-... --reverse).

@suite.test("ide: Native Debug attaches to a server that runs, and its reverse buttons go back")
def _():
    for options in ((), ("--no-record",)):
        with Server(DEMO / "recording", *options, "--elf", DEMO / "crash.elf") as server, \
                Front() as front:
            config = configuration("gdb", "Native Debug", server.port, DEMO / "crash.elf")
            front.ok("-gdb-set mi-async on")
            front.ok(f'-environment-directory "{config["cwd"]}"')
            front.ok(f'-file-exec-and-symbols "{config["executable"]}"')
            expect(config["remote"] and config["stopAtConnect"], "an entry that connects and stays")
            front.ok(f"-target-select remote {config['target']}")
            if options:
                has(front.ok("-list-target-features"), '"reverse"')
            has(front.ok("-exec-step --reverse"), r"^\*stopped,reason=\"end-stepping-range\"")
            front.ok("-break-insert read_number")
            has(front.ok("-exec-continue --reverse"), r"^\*stopped,reason=\"breakpoint-hit\"")
            has(front.ok("-data-evaluate-expression $pc"), "read_number")
            front.ok("-break-delete")
            stopped = front.ok("-exec-continue --reverse")
            has(stopped, r"^\*stopped")
            lacks(stopped, "breakpoint-hit")
            front.ok("-exec-continue")
            # Told to run on, a recording stops, with a reason.
            if options:
                has(front.ok("-exec-continue"), r"a recording cannot run on(.|\n)*\*stopped")


# Other front ends.

@suite.test("ide: the lines that other front ends wait for")
def _():
    with Live(board_file("virtual-m3",
                         replace=(("listen = 127.0.0.1:3333", "listen = 127.0.0.1:0"),))) as live:
        for name, pattern in (
                ("Cortex-Debug for OpenOCD", r"(?i)Info\s:[^\n]*Listening on port \d+ for gdb connection"),
                ("CDT GDB adapter", r"Listening on port ([0-9]+)\r?\n")):
            expect(re.search(pattern, live.stderr), f"{name} waits for ever")


# What is written about them.

@suite.test("ide: docs/ide.md explains each key of each file")
def _():
    keys = {key for c in configurations() for key in c}
    keys |= {e.get("key").removeprefix(JTAG) for e in ElementTree.parse(ECLIPSE).getroot()}
    missing = sorted(key for key in keys if not re.search(rf"^\|.*`{re.escape(key)}`.*\|", PAGE,
                                                         re.MULTILINE))
    equal(missing, [], "keys without a line")


@suite.test("ide: options in the files are options of btraced")
def _():
    for config in configurations():
        words = shlex.split(config.get("debugServerArgs", ""))
        if not words:
            continue
        shown = subprocess.run([BTRACED, words[0], "--help"], capture_output=True, text=True,
                               timeout=PATIENCE, env=environment()).stdout
        for word in words[1:]:
            if word.startswith("--"):
                has(shown, rf"^ +(-\w, )?{word}\b", f"options of {words[0]}")


suite.run()
