#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/base/sandbox.c and server/cmd/cmd_serve.c.
"""What whoever has taken over a server can do on the machine, in each of its threads, with a probe in use and
with a virtual board: GDB attaches to the server and makes the system calls in its place. Nothing is written
outside of the server's own folders, no program is started, no right comes back; the board goes on."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from probe_gdb import ROOT, Board, children
from live_gdb import Live, Wire, board_file
from replay_gdb import (BTRACED, DEMO, GDB, PATIENCE, Client, Server, Skipped, Suite, environment, equal,  # noqa: E402
                        expect, has, tool)

suite = Suite()
M3 = ROOT / "configs" / "virtual" / "crash-m3.elf"
OPENAT, EXECVE, BPF, SETUID = 257, 59, 321, 105  # x86-64
EPERM, EACCES = 1, 13
SANITIZED = any(word in str(BTRACED) for word in ("asan", "tsan"))  # they start a program of their own


def landlocked():
    """Whether this kernel has it."""
    done = subprocess.run([sys.executable, "-c", "import ctypes; print(ctypes.CDLL(None).syscall(444, None, 0, 1))"],
                          capture_output=True, text=True, check=False)
    return int(done.stdout or "-1") >= 1


def calls_within(pid, calls):
    """Results of the system calls (number, arguments), by each thread: [{thread: error number}]. Paths are written
    where the thread's stack is free: what GDB allocates in the process would be a leak of it."""
    if os.uname().machine != "x86_64":
        raise Skipped("the numbers of system calls are those of x86-64")
    script = Path(tempfile.mkdtemp()) / "script"
    lines = []
    for i, (number, *arguments) in enumerate(calls):
        words = [str(a) if isinstance(a, int) else "(long)$sp - 8192" for a in arguments]
        lines.append(f"define attack{i}")
        lines += [f'set {{char[{len(str(a)) + 1}]}}((long)$sp - 8192) = "{a}"' for a in arguments
                  if not isinstance(a, int)]
        lines.append(f"printf \"= {i} %d %ld %d\\n\", $_thread, ((long(*)(long,...))syscall)({number}, "
                     f"{', '.join(words)}), *((int*(*)(void))__errno_location)()\nend")
    lines += [f"thread apply all -q attack{i}" for i in range(len(calls))]
    script.write_text("\n".join(lines) + "\n")
    done = subprocess.run([tool(GDB), "-q", "-nx", "-batch", "-p", str(pid), "-x", script], capture_output=True,
                          text=True, timeout=PATIENCE, env=environment(), check=False, stdin=subprocess.DEVNULL)
    shutil.rmtree(script.parent)
    if "Operation not permitted" in done.stderr:
        raise Skipped("no right to attach GDB to a process (ptrace)")
    found = [{} for _ in calls]
    for i, thread, result, error in re.findall(r"^= (\d+) (\d+) (-?\d+) (\d+)$", done.stdout, re.MULTILINE):
        found[int(i)][thread] = int(error) if result == "-1" else 0
    expect(all(found), f"GDB made no calls: {done.stdout[-500:]} {done.stderr[-500:]}")
    return found


def attack(pid, threads):
    outside = Path(tempfile.mkdtemp(dir="/var/tmp"))
    outside.chmod(0o777)
    inside = tempfile.NamedTemporaryFile(dir="/tmp")
    os.chmod(inside.name, 0o666)
    try:
        write = os.O_WRONLY | os.O_CREAT
        results = calls_within(pid, ((OPENAT, -100, outside / "file", write, 0o600),
                                     (OPENAT, -100, inside.name, os.O_WRONLY, 0),
                                     (EXECVE, "/bin/true", 0, 0) if not SANITIZED else (BPF, 0, 0, 0),
                                     (BPF, 0, 0, 0), (SETUID, 0)))
        for result in results:
            expect(len(result) >= threads, f"threads of the server: {result}")
        if landlocked():
            equal(set(results[0].values()), {EACCES}, "writing elsewhere, by thread")
            equal(list(outside.iterdir()), [], "files elsewhere")
        equal(set(results[1].values()), {0}, "writing where it may")
        equal(set(results[2].values()), {EPERM}, "starting a program")
        equal(set(results[3].values()), {EPERM}, "a call that is given up")
        return results[4]
    finally:
        for path in outside.iterdir():
            path.unlink()
        outside.rmdir()


def server_of(board):
    """The process of the server, below the test bench."""
    return next(pid for pid in children(board.process.pid) if Path(f"/proc/{pid}/comm").read_text() == "btraced\n")


@suite.test("probe sandbox: a probe in use: no thread writes elsewhere, starts a program or gets rights")
def _():
    with Board(M3) as board, Wire(board) as wire:
        wire.monitor("reset")
        wire.step()
        attack(server_of(board), 3)
        wire.step()
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        wire.step()
        has(wire.ask("g"), "^[0-9a-f]{128}")


@suite.test("probe sandbox: root that has become a user does not come back, and the probe is used on")
def _():
    if os.geteuid() != 0:
        raise Skipped("only root becomes another user")
    with Board(M3, more_options=("--user", "nobody")) as board, Wire(board) as wire:
        pid = server_of(board)
        for task in Path(f"/proc/{pid}/task").iterdir():
            status = (task / "status").read_text()
            equal(set(has(status, r"^Uid:\s*(.*)$")[1].split()), {"65534"}, "users of a thread")
            equal(int(has(status, r"^CapEff:\s*(.*)$")[1], 16), 0, "rights of a thread")
            equal(has(status, r"^Seccomp:\s*(.*)$")[1], "2", "filter of a thread")
        equal(set(attack(pid, 3).values()), {EPERM}, "becoming root")
        wire.monitor("reset")
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        wire.step()
        wire.step()
        expect(len(wire.blocks()) > 0, "no history")


@suite.test("probe sandbox: a virtual board: the same, in the threads that read its trace, too")
def _():
    with Live(board_file("virtual-m4")) as live, Wire(live) as wire:
        wire.run_to_main(ROOT / "configs" / "virtual" / "crash-m4.elf")
        attack(live.process.pid, 3)
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        wire.step()
        expect(len(wire.blocks()) > 0, "no history")


@suite.test("probe sandbox: a recording: the same")
def _():
    with Server(DEMO / "recording") as server, Client(server.port, acks=False) as client:
        has(client.ask("?"), "^T")
        attack(server.process.pid, 1)
        has(client.ask("g"), "^[0-9a-f]{100}")


if __name__ == "__main__":
    suite.run()
