# SPDX-License-Identifier: BSD-3-Clause
"""Live virtual boards for the GDB tests: a shipped board file with the truth switched on, the
server on it, and what really ran."""

import array
import re
import time
from pathlib import Path

from replay_gdb import ROOT, Failed, Server, Skipped, expect, folder, tool

CONFIGS = ROOT / "configs"
PROGRAMS = CONFIGS / "virtual"


def board_file(name, plugin="", **keys):
    """Path of a copy of a shipped board file: the truth goes to a file beside it, `plugin` are
    further arguments of the board, `keys` other values of keys ("drain_ms")."""
    tool("qemu-system-arm")
    if not (ROOT / "build" / "virtual-board.so").exists():
        raise Skipped("no virtual board: make virtual-board")
    place = folder()
    text = (CONFIGS / f"{name}.conf").read_text()
    text = text.replace("$DIR", str(CONFIGS)).replace("$PLUGIN",
                                                      str(ROOT / "build" / "virtual-board.so"))
    text = text.replace("out=unix:$RUN/trace",
                        f"out=unix:$RUN/trace,truth=file:{place}/truth{plugin}")
    for key, value in keys.items():
        text, n = re.subn(rf"^{key} = .*$", lambda _: f"{key} = {value}", text, flags=re.MULTILINE)
        expect(n, f"{name}.conf has no key {key}")
    path = place / f"{name}.conf"
    path.write_text(text)
    return path


class Live(Server):
    """`btraced serve` on a board file."""

    def __init__(self, path, *options):
        self.path = Path(path)
        super().__init__(path, *options, "-c", command=("serve",))

    def truth_path(self, core=0):
        return self.path.parent / ("truth" + (f".{core}" if core else ""))

    def mark(self, core=0):
        """A GDB command that prints how much of the truth there is: GDB lets the board run on
        when it leaves."""
        return f"shell stat -c executed=%s {self.truth_path(core)}"

    def truth(self, output=None, core=0):
        """Addresses executed, with the Thumb bit: so far, or up to what a mark() printed."""
        data = self.truth_path(core).read_bytes()
        if output is not None:
            data = data[:int(re.search(r"executed=(\d+)", output)[1])]
        ran = array.array("I")
        ran.frombytes(data[:len(data) & ~3])
        return ran

    def children(self):
        """Command lines of the processes that the server has started."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in path.read_text().split()]


def gone(pid, patience=10):
    """Waits until a process is no more."""
    for _ in range(patience * 100):
        try:
            if Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    raise Failed(f"process {pid} is still there")


def tail_of(rows, truth, count):
    """The last `count` listed instructions equal the last ones that ran."""
    listed = [row.address for row in rows][-count:]
    ran = [address & ~1 for address in truth[-len(listed):]]
    for back, (ours, theirs) in enumerate(zip(reversed(listed), reversed(ran)), 1):
        if ours != theirs:
            raise Failed(f"{back} before the halt: listed {ours:#x}, ran {theirs:#x}")
    expect(len(listed) == min(count, len(truth)), f"{len(listed)} listed, not {count}")
