# SPDX-License-Identifier: BSD-3-Clause
"""Stock GDB at many replay positions, and what it should have found there."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import bench

GDB = os.environ.get("GDB", "gdb-multiarch")
MOTIONS = ["reverse-next", "reverse-step", "reverse-finish", "finish", "next", "step"]
NO_STACK = 0xdead0000  # what GDB is told of an SP or LR that is not known
SP, LR, PC = 13, 14, 15


def gdb_at(case, port, positions, motions=(), explain=False, variables=False, before=(),
           connect="target remote", timeout=600):
    """One dictionary a position, see in_gdb.py."""
    with tempfile.TemporaryDirectory(prefix="btraced-gdb.") as place:
        out = Path(place) / "rows"
        job = {"positions": list(positions), "motions": list(motions), "out": str(out),
               "explain": explain, "locals": variables}
        path = Path(place) / "job"
        path.write_text(json.dumps(job))
        line = [shutil.which(GDB) or GDB, "-q", "-nx", "-batch"]
        for command in ("set confirm off", "set pagination off", "set debuginfod enabled off",
                        f"{connect} 127.0.0.1:{port}", *before):
            line += ["-ex", command]
        line += ["-x", str(Path(__file__).with_name("in_gdb.py")), "-ex", "disconnect", str(case.elf)]
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=timeout, env=dict(os.environ, REVERSE_JOB=str(path),
                                                        HOME=place, LC_ALL="C"))
        rows = [json.loads(text) for text in out.read_text().splitlines()] if out.exists() else []
    if len(rows) != len(job["positions"]):
        raise bench.BenchError(f"GDB ended after {len(rows)} positions: {done.stderr[-400:]}")
    return rows


class Score:
    """What was right and wrong over many positions; `faults` are the first ones in words."""

    def __init__(self):
        self.count = dict.fromkeys(
            ("positions", "bt", "bt_right", "known", "registers", "motions", "motions_right",
             "locals", "locals_known"), 0)
        self.faults = []  # never to happen
        self.misses = []  # allowed to some share

    def fault(self, text):
        self.faults.append(text)

    def __getitem__(self, name):
        return self.count[name]

    def add(self, name, by=1):
        self.count[name] += by

    def share(self, name, of):
        return 100 * self.count[name] / self.count[of] if self.count[of] else 100.0

    def merge(self, other):
        for name, value in other.count.items():
            self.count[name] += value
        self.faults += other.faults
        self.misses += other.misses


def unknown(row, name):
    """Not known, or not yet when GDB asked for it."""
    text = row.get("explain", {}).get(name, "")
    return "NOT known" in text or "asked before that was known" in text


def check_registers(score, case, row):
    position = row["position"]
    for number, value in enumerate(row["regs"]):
        score.add("registers")
        if number in (SP, LR) and unknown(row, {SP: "sp", LR: "lr"}[number]):
            continue
        if value is None:
            continue
        score.add("known")
        truth = case.reg(position, number)
        if value != truth:
            score.fault(f"{case.name} at {position}: register {number} is {truth:#x}, GDB has "
                        f"{value:#x}")


def check_backtrace(score, case, row, wanted, full):
    """`full`: what GDB says with everything known; there are places it cannot unwind at all."""
    got = [pc for pc in row["bt"] if pc < 0xffffff00]
    score.add("positions")
    if full is not None and [pc for pc in full["bt"] if pc < 0xffffff00][:len(wanted)] != wanted:
        return
    score.add("bt")
    if got[:len(wanted)] == wanted:
        score.add("bt_right")
        return
    same = 0
    while same < min(len(got), len(wanted)) and got[same] == wanted[same]:
        same += 1
    text = (f"{case.name} at {row['position']}: bt is {' '.join(f'{pc:#x}' for pc in got)}, not "
            f"{' '.join(f'{pc:#x}' for pc in wanted)}")
    score.misses.append(text)
    if any(pc != NO_STACK for pc in got[same:]):  # cut short it may be, but not wrong
        score.fault(text)


def check_motions(score, case, row, full):
    for command, there in full["motions"].items():
        here = row["motions"][command]
        if there in (0, case.count): # GDB has lost its way with everything known
            continue
        score.add("motions")
        if here == there or (isinstance(here, str) and isinstance(there, str)):
            score.add("motions_right")
        else:
            score.misses.append(f"{case.name} at {row['position']}: {command} goes to {here}, a "
                                f"full recording to {there}")


def check_locals(score, case, row, full):
    for name, truth in full.get("locals", {}).items():
        if truth is None or name not in row["locals"]:
            continue
        score.add("locals")
        value = row["locals"][name]
        if value is None or "unavailable" in value or "error" in value:
            continue
        score.add("locals_known")
        if value != truth:
            score.fault(f"{case.name} at {row['position']}: {name} is {truth}, GDB has {value}")


def score_rows(case, calls, rows, full_rows):
    """`full_rows`: those of a full recording, for the same positions or for none."""
    score = Score()
    full = {row["position"]: row for row in full_rows}
    for row in rows:
        position = row["position"]
        if row["at"] != position:
            score.fault(f"{case.name}: goto {position} goes to {row['at']}")
            continue
        check_registers(score, case, row)
        check_backtrace(score, case, row, calls.backtrace(position), full.get(position))
        if position in full:
            check_motions(score, case, row, full[position])
            check_locals(score, case, row, full[position])
    return score
