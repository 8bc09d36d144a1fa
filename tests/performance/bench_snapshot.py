#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""256 KiB of RAM, known in the background of a halt behind the modelled CMSIS-DAP probe, whose answers take the
time of the wire at 10 MHz and of a High-Speed bus: how long until all is known, and what a client that
asks every ten milliseconds waits for at most: at the best of some halts, as other work can only make it worse. Prints
lines for report.py, milliseconds."""

import re
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "bench" / "usb"), str(ROOT / "tests" / "bench" / "gdb")]
from bench_questions import Searcher, timed  # noqa: E402
from bench_gdb import row  # noqa: E402
from probe_gdb import ProbeServer  # noqa: E402
from replay_gdb import Failed, frame  # noqa: E402

BYTES = 256 << 10
HALTS = 5
PAUSE = 0.01  # between two questions
PATIENCE = 20
QUESTIONS = ("g", "m20000100,40", "m20000000,4")


def console(client, command):
    """What a monitor command says."""
    client.send(frame("qRcmd," + command.encode().hex()))
    lines = []
    while (text := client.reply())[:1] == "O" and text != "OK":
        lines.append(bytes.fromhex(text[1:]).decode())
    return "".join(lines)


def known(client):
    """Bytes of RAM that were read, at all halts so far."""
    found = re.search(r"(\d+) bytes of RAM read", console(client, "past"))
    return int(found[1]) if found else 0


def halt(client):
    """Milliseconds until all of RAM is known, and the longest that an answer took meanwhile."""
    before, waits, number = known(client), [], 0
    client.send(frame("vCont;c"))
    time.sleep(0.1)
    client.send(b"\x03")
    client.reply()
    begun = time.perf_counter()
    while (now := known(client)) < before + BYTES:
        if time.perf_counter() - begun > PATIENCE:
            raise Failed(f"after {PATIENCE} s only {now - before} bytes are known")
        waits.append(timed(lambda: client.ask(QUESTIONS[number % len(QUESTIONS)])))
        number += 1
        time.sleep(PAUSE)
    return (time.perf_counter() - begun) * 1e3, max(waits)


def main():
    for name, keys in (("10 MHz", "clock = 10M"), ("1 MHz", "clock = 1M")):
        with ProbeServer("--timed", "--packet-size", 512, probe=keys, trace="sink = etb",
                         core_keys=f"ram = 0x20000000+{BYTES}") as server:
            client = Searcher(server)
            client.ask("?")
            took, wait = map(min, zip(*(halt(client) for _ in range(HALTS))))
            row("snapshot", name=name, known=f"{took:.0f}", wait=f"{wait:.1f}")
            client.close()


if __name__ == "__main__":
    main()
