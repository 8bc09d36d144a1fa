# SPDX-License-Identifier: BSD-3-Clause
"""What tests with somebody else's GDB server share: the modelled probe with QEMU's Cortex-M4 behind it,
the board file, sessions of stock GDB, and the comparison with what ran."""

import shutil
import socket
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "gdb"))

from live_gdb import tail_of  # noqa: E402
from replay_gdb import Skipped, expect, gdb, history, lacks  # noqa: E402

BED = ROOT / "build/release/umockdev_probe"
ELF = ROOT / "configs/virtual/crash-m4.elf"

BOARD = """[target]
connect = 127.0.0.1:{port}
command = {command}
reset = reset halt
[trace]
{trace}
drain_ms = 2000
[gdb]
listen = 127.0.0.1:0
[core cpu]
type = Cortex-M4
program = {elf}
ETMTRACEIDR = 0x10
{core}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def need(*programs):
    for program in (*programs, "umockdev-wrapper", "qemu-system-arm"):
        if not shutil.which(program):
            raise Skipped(f"'{program}' is not installed")
    if not BED.exists():
        raise Skipped("no modelled probe: make usb-tests")


def board_file(place, port, server, trace, options, core="", machine=True):
    """`server`: the words that start it behind the probe; `trace`: keys of [trace]; `options`: the
    bed's."""
    words = [BED, "--truth", place / "truth", *options]
    if machine:
        words[1:1] = ["--core", f"qemu:netduinoplus2,{ELF}", "--plugin",
                      ROOT / "build/virtual-board.so"]
    command = " ".join(map(str, [*words, "--", *server]))
    path = place / "upstream.conf"
    path.write_text(BOARD.format(port=port, command=command, elf=ELF, core=core, trace=trace))
    return path


def session(live, *commands):
    s = gdb(live.port, commands, elf=ELF, connect="target extended-remote")
    lacks(s.text, "Remote failure|internal-error|Error while trying to read")
    return s


def compared(live, mark, listed, least):
    """The end of what GDB lists is what ran up to the mark; at least so many instructions."""
    rows = history(listed)
    expect(len(rows) >= least, f"only {len(rows)} instructions listed")
    tail_of(rows, live.truth(mark), len(rows))
