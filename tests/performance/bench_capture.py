#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trace from the modelled ORBTrace at the pace of a High-Speed probe, decoded live; and a plain
libusb loop on the same endpoint, which does nothing with what comes. Prints lines for report.py.

BENCH_SECONDS: length of each load, 60."""

import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "bench" / "usb"), str(ROOT / "tests" / "bench" / "gdb")]
from bench_live import PACE, SECONDS, SET, Load, recorded_stream, row  # noqa: E402
from live_runs import prepare  # noqa: E402
from probe_gdb import ProbeServer, ask_bench, bench, children  # noqa: E402
from replay_gdb import Failed, Skipped, folder  # noqa: E402

CLIENT = ROOT / "build/release/stream_client"
# What the test bench holds while this machine runs something else: a probe has less, a host more
# cores.
BUFFER = 8 << 20


class Inner:
    """The server below the test bench, as Load and Wire want it."""

    def __init__(self, live):
        self.port, self.process = live.port, self
        self.pid = children(live.process.pid)[0]

    def memory(self):
        text = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"^VmRSS:\s+(\d+) kB", text, re.MULTILINE)[1])


def spent(pid, *threads):
    """Seconds of CPU time of the threads of these names."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() in threads:
            total += int((task / "schedstat").read_text().split()[0]) / 1e9
    return total


def counters(control):
    return {name: int(number) for name, number in
            (line.split() for line in ask_bench(control, "counters"))}


def board_file():
    path, _, _ = prepare(SET, replace=[("out=unix:$RUN/trace", "out=file:/dev/null")],
                         backpressure="no", memory="8M")
    text = re.sub(r",truth=file:[^, \n]*", "", path.read_text())
    text = re.sub(r"^(listen = unix:.*/trace|control|format|backpressure) ?.*\n", "", text,
                  flags=re.MULTILINE)
    path.write_text(text.replace("[history]", "[capture]\ntype = orbtrace\n[history]"))
    return path


def live(name, unit, options):
    place = folder()
    control = place / "bench"
    with ProbeServer("--probe", unit, *options, "--control", control, path=board_file()) as server:
        inner = Inner(server)
        load, before = Load(inner), counters(control)
        cpu = spent(inner.pid, "capture", "decode")
        while load.goes_on():
            time.sleep(0.05)
        after = counters(control)
        lost = after["trace-lost"] - before["trace-lost"]
        seconds = time.monotonic() - load.begin
        cpu = spent(inner.pid, "capture", "decode") - cpu
        load.report(name, None)
        came = after["trace-captured"] - before["trace-captured"] - lost
        row("endpoint", name=name, seconds=f"{seconds:.1f}", rate=f"{came / seconds / 1e6:.2f}",
            lost=lost, cpu=f"{100 * cpu / seconds:.1f}")


def plain(name, unit, options):
    report = folder() / "report"
    done = subprocess.run([*bench("--probe", unit, *options, "--report", report), str(CLIENT), "-t",
                           str(SECONDS)],
                          capture_output=True, text=True, check=False, timeout=SECONDS + 60)
    figures = re.search(r"^([\d.]+) s CPU$", done.stdout, re.MULTILINE)
    if not figures:
        raise Failed(f"{name}: {done.stdout[-300:]} {done.stderr[-300:]}")
    counted = dict(line.split() for line in report.read_text().splitlines())
    lost = int(counted["trace-lost"])
    rate = (int(counted["trace-captured"]) - lost) / SECONDS / 1e6
    row("endpoint", name=name, seconds=SECONDS, rate=f"{rate:.2f}", lost=lost,
        cpu=f"{100 * float(figures[1]) / SECONDS:.1f}")


def main():
    try:
        stream = folder() / "port"
        data = recorded_stream()
        stream.write_bytes(data * (1 + (8 << 20) // len(data)))
        options = ("--paced", f"{stream},{int(PACE)},0", "--buffer", str(BUFFER))
        live("ORBTrace, 45 MB/s", "orbtrace", options)
        plain("plain libusb loop", "orbtrace", options)
    except Skipped as why:
        print(f"SKIP capture: {why}", file=sys.stderr)
    except Failed as why:
        print(f"FAIL capture: {why}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
