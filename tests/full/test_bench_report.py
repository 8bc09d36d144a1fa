#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The report of the benchmarks: bars, and which of several measurements of a row counts."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "bench" / "gdb"))

from replay_gdb import Suite, equal, folder, has, lacks  # noqa: E402

suite = Suite()


def decode(name, full, ocsd_full, packets=400, ocsd_packets=50, blocks_per_byte=1.5):
    fields = {"name": name, "code_bytes": 65536, "blocks_per_byte": blocks_per_byte,
              "insns_per_byte": 5, "full": full, "full_wall": full, "blocks": full * blocks_per_byte,
              "insns": full * 5, "ocsd_full": ocsd_full, "ocsd_blocks": ocsd_full,
              "packets": packets, "packets_wall": packets, "ocsd_packets": ocsd_packets}
    return "\t".join(["decode", *(f"{key}={value}" for key, value in fields.items())])


def history(megabytes, cpu, owned_kb=9000):
    return (f"history\tmegabytes={megabytes}\tinsns=1e6\tcpu={cpu}\twall={cpu}\tkept_kb=100\t"
            f"visit_us=100\tvisit_p99_us=200\tnewest_us=100\tpeak_kb=9000\towned_kb={owned_kb}")


def report(*rows, options=(), **more):
    path = folder() / "rows.tsv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = subprocess.run([ROOT / "tests/performance/report.py", *options, path], text=True,
                          capture_output=True, env=os.environ | more, check=False)
    equal(done.stderr, "", "complaints")
    return done.returncode, done.stdout


@suite.test("bench report: a missed bar is told, by row, and is the exit code")
def _():
    code, text = report(decode("calls", 120, 3), decode("slow", 90, 3), decode("near", 120, 13))
    equal(code, 1, "exit code")
    has(text, r"^MISS slow: full decode 90 MB/s, bar 100 MB/s: 0\.90 of it$")
    has(text, r"^MISS near: full decode against OpenCSD 9\.23 x")
    lacks(text, "MISS calls")
    has(text, r"^10 of 12 bars reached")
    equal(report(decode("slow", 90, 3), BENCH_NO_BARS="1")[0], 0, "exit code without bars")
    equal(report(decode("calls", 120, 3))[0], 0, "exit code with all bars reached")


@suite.test("bench report: of several measurements the one counts in which OpenCSD was fastest")
def _():
    rows = [decode("calls", 90, 3), decode("other", 120, 3), decode("calls", 130, 4),
            decode("calls", 140, 3.5)]
    code, text = report(*rows)
    equal(code, 0, "exit code")
    has(text, r"^calls +64 +1\.50 +5\.00 +130\.0 ")
    has(text, r"^1 rows measured again")
    code, text = report(decode("calls", 130, 3), decode("calls", 90, 4))
    equal(code, 1, "exit code: the calmer one is below the bar")
    has(text, r"^MISS calls: full decode 90 MB/s")


@suite.test("bench report: how fast the machine is, by what OpenCSD does there")
def _():
    text = report(decode("PTM, calls, 64 kB", 60, 0.81), decode("ETMv3, calls, 64 kB", 70, 2.022),
                  decode("ETMv4 A64, calls, 64 kB", 120, 3.23))[1]
    has(text, r"^OpenCSD reached 0\.60 of its speed ")
    lacks(report(decode("calls", 120, 3))[1], "OpenCSD reached")


@suite.test("bench report: packets and full decode are judged by their own OpenCSD")
def _():
    code, text = report(decode("calls", 90, 3, packets=420, ocsd_packets=60),
                        decode("calls", 120, 4, packets=250, ocsd_packets=45))
    equal(code, 0, "exit code")
    has(text, r"^calls +420\.0 +420\.0 +60\.0 ")


@suite.test("bench report: a long recording that takes more than its share, and once more")
def _():
    rows = [history(1, 0.01), history(10, 0.10), history(1000, 12.0)]
    code, text = report(*rows)
    equal(code, 1, "exit code")
    has(text, r"^MISS history of 1000 MB: time a MB against 10 MB 1\.2 x")
    equal(report(*rows, options=["--missed"]), (0, "history\thistory of 1000 MB\n"), "what is missed")
    equal(report(*rows, history(10, 0.11), history(1000, 10.5))[0], 0, "exit code")
    equal(report(history(10, 0.1), history(1000, 10.0, owned_kb=12000))[0], 1, "exit code: memory")


def halted(server, gdb, share, code="ELF"):
    fields = {"name": "a", "code": code, "buffer": 0, "blocks": 100, "document": 1000, "insns": 500,
              "cold_ms": server, "server_ms": server, "socket_ms": 20, "one_gdb_ms": gdb,
              "one_server_ms": gdb * share, "two_gdb_ms": gdb, "two_server_ms": gdb * share}
    return "\t".join(["gdb", *(f"{key}={value}" for key, value in fields.items())])


@suite.test("bench report: halts and frames, once more")
def _():
    frames = "formatter\tname=ETB\tbytes=1\trate={}\twall=1\tocsd={}\tjudged=1"
    rows = [halted(12, 400, 0.05), halted(5, 400, 0.05, "no ELF"), frames.format(900, 400)]
    code, text = report(*rows, options=["--missed"])
    equal((code, text), (0, "formatter\tETB\ngdb\ta, default buffer, ELF\n"), "what is missed")
    equal(report(*rows, halted(6, 380, 0.04), frames.format(1450, 500))[0], 0, "exit code")
    # GDB was calmer when its share was too large.
    equal(report(halted(6, 400, 0.05), halted(6, 300, 0.2))[0], 1, "exit code: the share")


def port(dropped, others=0, age_ms=40, rate=150):
    return "\t".join(["port", "name=m4 parser", "seconds=60", f"rate={rate}", f"dropped={dropped}", "gaps=1", "cpu=150", "sender=4",
                      f"others={others}", f"age_ms={age_ms}", "age99_ms=30", "median_ms=10"])


@suite.test("bench report: live at a port's pace counts where the machine was free; frames in turns")
def _():
    code, text = report(port(7))
    equal(code, 1, "exit code")
    has(text, r"^MISS m4 parser: dropped 7 bytes")
    has(report(port(0, age_ms=201))[1], r"^MISS m4 parser: age of the newest position 201 ms")
    equal(report(port(0, rate=148))[0], 1, "exit code: slower")
    for row in port(0), port(7, others=1.5):
        equal(report(row)[0], 0, f"exit code of {row}")
    turns = "formatter\tname=turns\tbytes=1\trate={}\twall=1\tocsd={}\tjudged=0"
    pairs = (999, 300), (1001, 300), (1001, 401)
    equal([report(turns.format(*pair))[0] for pair in pairs], [1, 0, 1], "exit codes")


def counted(unit, coverage=0.5, profile=0.5):
    return f"counts\tname=run x {unit}, parser\tdecode=1.0\tcoverage={coverage}\tprofile={profile}"


@suite.test("bench report: counting is judged by the unit")
def _():
    for unit, good, bad in ("ETMv4 M", 0.76, 0.78), ("PTM return stack", 1.04, 1.06), ("ETMv3", 0.76, 0.78):
        equal(report(counted(unit, good))[0], 0, f"exit code of {unit}")
        code, text = report(counted(unit, bad))
        equal(code, 1, f"exit code of {unit}, slower")
        has(text, rf"^MISS run x {unit}, parser: coverage ")
    for unit, good, bad in ("ETMv4 M", 1.44, 1.46), ("PTM return stack", 1.74, 1.76), ("ETMv3", 1.24, 1.26):
        equal(report(counted(unit, profile=good))[0], 0, f"exit code of {unit}")
        code, text = report(counted(unit, profile=bad))
        equal(code, 1, f"exit code of {unit}, slower")
        has(text, rf"^MISS run x {unit}, parser: profile ")


@suite.test("bench report: what is measured again is what missed, each row once")
def _():
    rows = [decode("calls", 90, 13, packets=100), decode("fine", 130, 3), history(10, 0.1)]
    equal(report(*rows, options=["--missed"]), (0, "decode\tcalls\n"), "what is missed")


if __name__ == "__main__":
    suite.run()
