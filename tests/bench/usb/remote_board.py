# SPDX-License-Identifier: BSD-3-Clause
"""What tests with somebody else's GDB server share: the modelled probe with QEMU's Cortex-M4 behind it,
the board file, sessions of stock GDB, and the comparison with what ran."""

import shutil
import socket
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "bench" / "gdb"))

from live_gdb import DEADLINE_MS, DRAIN_MS, symbol, tail_of  # noqa: E402
from replay_gdb import Skipped, equal, expect, gdb, has, history, lacks, value  # noqa: E402

BENCH = ROOT / "build/release/umockdev_probe"
ELF = ROOT / "configs/virtual/crash-m4.elf"

BOARD = """[target]
connect = 127.0.0.1:{port}
command = {command}
reset = reset halt
deadline = {deadline}
[trace]
{trace}
drain_ms = {drain}
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
    if not BENCH.exists():
        raise Skipped("no modelled probe: make usb-tests")


def board_file(place, port, server, trace, options, core="", machine=True):
    """`server`: the words that start it behind the probe; `trace`: keys of [trace]; `options`: the
    test bench's."""
    words = [BENCH, "--truth", place / "truth", *options]
    if machine:
        words[1:1] = ["--core", f"qemu:netduinoplus2,{ELF}", "--plugin",
                      ROOT / "build/virtual-board.so"]
    command = " ".join(map(str, [*words, "--", *server]))
    path = place / "remote.conf"
    path.write_text(BOARD.format(port=port, command=command, elf=ELF, core=core, trace=trace,
                                 deadline=DEADLINE_MS, drain=DRAIN_MS))
    return path


def session(live, *commands):
    s = gdb(live.port, commands, elf=ELF, connect="target extended-remote")
    lacks(s.text, "Remote failure|internal-error|Error while trying to read")
    return s


def run_control(live, watched, *more):
    """Halt, registers, memory, steps, breakpoints, watchpoints, reset. `watched`: how GDB tells of the
    watchpoint on `received`; `more`: commands beside these."""
    s = session(live, "info threads", "monitor reset halt", "tbreak main", "continue", "p/x $pc",
                "stepi", "stepi", "stepi", "p/x $pc", "set var crash_after = 0x1234",
                "p/x crash_after", "x/2xw 0x60000000", "p/x *(unsigned *) 0xe000ed00", *more,
                "watch received", "continue", "delete", "break add_value", "continue", "delete",
                "set $r7 = 0x5a5a", "p/x $r7", "set $pc = main", "stepi", "p/x $pc")
    has(s["info threads"], r"^\* 1 ")
    pcs = [value(text) for text in s.all("p/x $pc")]
    equal(pcs[0], symbol(ELF, "main"), "PC at main")
    ran = [address & ~1 for address in live.truth()]
    expect(pcs[:2] in [[ran[n], ran[n + 3]] for n in range(len(ran) - 3)],
           f"three steps from {pcs[0]:#x} to {pcs[1]:#x}")
    equal(value(s["p/x crash_after"]), 0x1234, "memory")
    has(s["x/2xw 0x60000000"], "Cannot access memory")
    equal(value(s["p/x *(unsigned *) 0xe000ed00"]), 0x410fc240, "CPUID")
    to_main, at_watch, to_break = s.all("continue")
    has(to_main, r"breakpoint \d, main ")
    has(at_watch, watched)
    has(to_break, r"Breakpoint \d+, add_value ")
    equal(value(s["p/x $r7"]), 0x5a5a, "r7")
    expect(0 < pcs[2] - symbol(ELF, "main") <= 4, f"PC {pcs[2]:#x} behind main's start")
    return s


def compared(live, mark, listed, least):
    """The end of what GDB lists is what ran up to the mark; at least so many instructions."""
    rows = history(listed)
    expect(len(rows) >= least, f"only {len(rows)} instructions listed")
    tail_of(rows, live.truth(mark), len(rows))
