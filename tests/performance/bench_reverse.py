#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What reverse execution costs when stock GDB asks: the server's CPU time for a reverse-next with all
that GDB wants to know, and, over TCP with a raw client, for a reverse-stepi. Recorded, and on live
boards. Prints lines for report.py, fields are NAME=VALUE. What a single step takes at most is
bench_reverse.c's: on a machine that does other things a client cannot tell.

BENCH_STEPS: reverse-stepi of each row, 15000"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench" / "gdb"))
from bench_gdb import Wire, cpu, row  # noqa: E402
from live_gdb import PROGRAMS, Live, board_file  # noqa: E402
from live_gdb import Wire as LiveWire  # noqa: E402
from replay_gdb import DEMO, Failed, Mi, Server, Skipped, frame  # noqa: E402

STEPS = int(os.environ.get("BENCH_STEPS", "15000"))
NEXTS = 100
LIVE_INSNS = 2_000_000
BEGIN = "replaylog:begin"
DONE = ("end-stepping-range", "breakpoint-hit")


def report(name, what, times, at_most=True):
    """Seconds."""
    ordered = sorted(times)
    fields = {"first": times[0], "p50": ordered[len(times) // 2],
              "p99": ordered[len(times) * 99 // 100]} | ({"max": ordered[-1]} if at_most else {})
    row("reverse", name=name, what=what, count=len(times),
        **{key: f"{value * 1e3:.3f}" for key, value in fields.items()})


def answer(wire, packet):
    """Without what goes to GDB's console before."""
    wire.send(frame(packet))
    while (text := wire.reply()).startswith("O") and text != "OK":
        pass
    return text


def steps(name, server, wire):
    times = []
    for _ in range(STEPS):
        begun = cpu(server)
        stop = answer(wire, "bs")
        registers = answer(wire, "g")
        times.append(cpu(server) - begun)
        if BEGIN in stop:
            break
        if not stop.startswith("T05") or len(registers) < 16 * 8:
            raise Failed(f"bs: {stop!r}, g: {registers[:40]!r}")
    report(name, "reverse-stepi, TCP", times, at_most=False)


def nexts(name, server, elf, *start):
    times, n = [], 0
    with Mi(elf) as mi:
        for command in start:
            mi.command(command)
        while n < NEXTS:
            begun = cpu(server)
            text = mi.command("-exec-next --reverse")
            if not any(reason in text for reason in DONE):
                break
            times.append(cpu(server) - begun)
            n += 1
    if n < 10:
        raise Failed(f"reverse-next: only {n}, then {text[-300:]!r}")
    report(name, "reverse-next, GDB", times)


def recorded():
    elf = DEMO / "crash.elf"
    options = (DEMO / "recording", "--no-record", "--elf", str(elf))
    with Server(*options) as server, Wire(server.port, acks=False) as wire:
        wire.start()
        steps("recorded demo", server, wire)
    with Server(*options) as server:
        nexts("recorded demo", server, elf, f"-target-select remote 127.0.0.1:{server.port}")


def live(board, elf):
    name = f"live {board}, 2 million"
    with Live(board_file(board)) as server, LiveWire(server) as wire:
        wire.run_to_main(elf)
        wire.run_for(server, LIVE_INSNS)
        steps(name, server, wire)
    with Live(board_file(board)) as server:
        nexts(name, server, elf, f"-target-select extended-remote 127.0.0.1:{server.port}",
              "-break-insert stopped_here", "-exec-continue")


def main():
    recorded()
    try:
        for core in ("a9", "m3"):
            live(f"virtual-{core}", PROGRAMS / f"crash-{core}.elf")
    except Skipped as why:
        print(f"SKIP {why}", file=sys.stderr)


if __name__ == "__main__":
    main()
