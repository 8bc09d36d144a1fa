# SPDX-License-Identifier: BSD-3-Clause
"""`btraced serve` on a modelled probe: below the test bench's program, with a board file of the test."""

import array
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "bench" / "gdb"))

from live_gdb import DEADLINE_MS, DRAIN_MS  # noqa: E402
from replay_gdb import (BTRACED, GDB, PATIENCE, SETTINGS, Server, Skipped,  # noqa: E402
                        environment, expect, folder, gdb, has, tool)

# A core that is emulated while other tests run may need more than GDB's two seconds for an answer.
LOADED_MACHINE = f"set remotetimeout {PATIENCE}"

BENCH = ROOT / "build/release/umockdev_probe"

# umockdev's fclose() goes past a sanitizer's that comes behind it, which then meets files at addresses that it takes
# for open ones: ThreadSanitizer's open_memstream() ends the program for that. So that comes in front.
IN_FRONT = ["env", "LD_PRELOAD=libtsan.so.2:libumockdev-preload.so.0"] if Path(BTRACED).parent.name == "tsan" else []

BOARD = """[board]
name = model
[probe]
type = {kind}
{probe}
[target]
deadline = {deadline}
[trace]
drain_ms = {drain}
{trace}
{more}
[core m]
type = {core}
{core_keys}
"""


def board_file(kind="cmsis-dap", probe="", trace="sink = none", more="", core="Cortex-M4",
               core_keys="", deadline=DEADLINE_MS, drain=DRAIN_MS):
    """Path of a board file in a folder of its own."""
    path = folder() / "model.conf"
    path.write_text(BOARD.format(kind=kind, probe=probe, trace=trace, more=more, core=core,
                                 core_keys=core_keys, deadline=deadline, drain=drain))
    return path


def bench(*options):
    """The command that the server runs below."""
    tool("umockdev-wrapper")
    if not BENCH.exists():
        raise Skipped("no modelled probe: make usb-tests")
    return [str(BENCH), *map(str, options), "--"]


def children(pid):
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(word) for word in path.read_text().split()]
    return found


def ask_bench(path, line):
    """A command of the test bench's control socket; its replies but the last."""
    with socket.socket(socket.AF_UNIX) as control:
        control.settimeout(PATIENCE)
        control.connect(str(path))
        control.sendall(line.encode() + b"\n")
        lines = []
        for text in control.makefile():
            lines.append(text.strip())
            if lines[-1].startswith(("ok", "error")):
                break
    expect(lines and lines[-1] == "ok", f"bench: {line}: {lines}")
    return lines[:-1]


class ProbeServer(Server):
    """Options of the test bench, then the keys of board_file(). `inside`: words in front of the server's
    command, below the test bench; `more_options`: of the server."""

    def __init__(self, *options, path=None, inside=(), more_options=(), **keys):
        self.path = path or board_file(**keys)
        super().__init__(self.path, "-c", command=("serve", *more_options), below=[*bench(*options), *inside, *IN_FRONT])

    def terminate(self):
        # QEMU ends with the test bench: without it the server's last accesses would find no core.
        for pid in children(self.process.pid):
            if not Path(f"/proc/{pid}/comm").read_text().startswith("qemu-system"):
                os.kill(pid, signal.SIGTERM)

    def kill(self):
        if self.process.poll() is None:
            for pid in children(self.process.pid):
                os.kill(pid, signal.SIGKILL)
        self.process.kill()


def whole_session(server, *commands):
    """All that GDB prints: where it loses its target, it swallows what comes between commands."""
    line = [tool(GDB), "-q", "-nx", "-batch"]
    for command in [*SETTINGS, LOADED_MACHINE, f"target extended-remote 127.0.0.1:{server.port}", *commands]:
        line += ["-ex", command]
    return subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=environment(),
                          timeout=PATIENCE).stdout


def refused(*options, path=None, **keys):
    """(exit code, standard error) of a server that does not come up."""
    done = subprocess.run([*bench(*options), BTRACED, "serve", "--listen", "127.0.0.1:0", "-c",
                           str(path or board_file(**keys))], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE, env=environment())
    expect(done.stdout == "", f"standard output: {done.stdout[:200]}")
    return done.returncode, done.stderr


class Board(ProbeServer):
    """The same with QEMU's core behind the probe, running `elf`, and the truth of what it executed."""

    def __init__(self, elf, *options, machine="mps2-an385", core="Cortex-M3", trace="sink = etb",
                 **keys):
        tool("qemu-system-arm")
        plugin = ROOT / "build" / "virtual-board.so"
        if not plugin.exists():
            raise Skipped("no virtual board: make virtual-board")
        place = folder()
        self.elf = elf
        self.truth_path = place / "truth"
        self.control = place / "control"
        keys.setdefault("probe", "clock = 10000000")
        keys.setdefault("core_keys", f"program = {elf}")
        super().__init__("--core", f"qemu:{machine},{elf}", "--plugin", plugin, "--truth",
                         self.truth_path, "--control", self.control, *options, core=core,
                         trace=trace, **keys)

    def mark(self):
        """A GDB command that prints how much of the truth there is."""
        return f"shell stat -c executed=%s {self.truth_path}"

    def truth(self, output):
        """Addresses executed, with the Thumb bit, up to what a mark() printed."""
        data = self.truth_path.read_bytes()[:int(has(output, r"executed=(\d+)")[1])]
        ran = array.array("I")
        ran.frombytes(data[:len(data) & ~3])
        return ran

    def bench(self, line):
        """A command of the test bench's control socket; its replies but the last."""
        return ask_bench(self.control, line)

    def session(self, *commands):
        return gdb(self.port, ["monitor reset", "maintenance flush register-cache", *commands],
                   elf=self.elf, connect="target extended-remote", before=[LOADED_MACHINE])
