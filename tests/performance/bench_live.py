#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The live server under load: trace at the pace of a High-Speed probe, trace as fast as it comes,
and what a step costs. Prints lines for report.py, fields are NAME=VALUE.

No emulator on a small machine makes 45 MB/s of trace, so a recorded stream of the virtual board is
sent through the trace socket at that pace, over and over; the row `board` is the emulator itself.

usage: bench_live.py
BENCH_SECONDS: length of each load, 60."""

import os
import re
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench" / "gdb"))
from live_gdb import Live, Wire  # noqa: E402
from live_runs import prepare, run_long  # noqa: E402
from replay_gdb import Failed, Skipped  # noqa: E402

SECONDS = float(os.environ.get("BENCH_SECONDS", "60"))
PACE = 45e6  # bytes a second of a High-Speed probe
PIECE = 1 << 16
STEPS = 200
SET = "M3, ETMv3"
UNITS = {"bytes": 1, "kB": 1 << 10, "MB": 1 << 20}


def row(kind, **fields):
    print(kind, *(f"{name}={value}" for name, value in fields.items()), sep="\t", flush=True)


def cpu(server):
    """Seconds that all threads of the server have run."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def status(wire):
    """(bytes in all, bytes dropped, gaps of lost bytes, text)"""
    text = wire.monitor("trace status")
    amount = re.search(r"^rate .*, (\d+) (bytes|kB|MB) in all", text, re.MULTILINE)
    drop = re.search(r"^lost +(\d+) (bytes|kB|MB) \(ring full, (\d+)", text, re.MULTILINE)
    gaps = re.search(r"^gaps.*?(\d+) lost-bytes", text, re.MULTILINE)
    if not amount:
        raise Failed(f"status: {text}")
    return (int(amount[1]) * UNITS[amount[2]], int(drop[1]) * UNITS[drop[2]] if drop else 0,
            int(gaps[1]) if gaps else 0, text)


class Load:
    """Memory of the server at the start (when its buffers are full), in the middle, at the end."""

    def __init__(self, live):
        self.live, self.begin, self.seen = live, time.monotonic(), []
        self.cpu = cpu(live)

    def goes_on(self):
        passed = time.monotonic() - self.begin
        if passed >= SECONDS * (0.3, 0.6, 1)[len(self.seen)]:
            self.seen.append(self.live.memory())
        return len(self.seen) < 3

    def report(self, name, sent):
        """Everything that was sent has been decoded or is told as lost."""
        seconds = time.monotonic() - self.begin
        spent = cpu(self.live) - self.cpu
        with Wire(self.live) as wire:
            received, dropped, gaps, text = status(wire)
        if dropped and not gaps:
            raise Failed(f"{name}: {dropped} bytes dropped without a gap: {text}")
        if sent is not None and abs(received - sent) > 2 << 20:
            raise Failed(f"{name}: {sent} bytes sent, {received} received: {text}")
        row("live", name=name, seconds=f"{seconds:.1f}", received=received,
            rate=f"{received / seconds / 1e6:.2f}", dropped=dropped, gaps=gaps,
            cpu=f"{100 * spent / seconds:.0f}", start_kb=self.seen[0], middle_kb=self.seen[1],
            end_kb=self.seen[2])


def recorded_stream():
    path, elf, _ = prepare(SET)
    with Live(path) as live:
        place, _ = run_long(live, elf, 1000000)
    return (place / "buffer_0.bin").read_bytes()


def send(live, stream, pace):
    """The stream over and over, at so many bytes a second; 0: as fast as it is taken."""
    data = memoryview(stream * (1 + (8 << 20) // len(stream)))
    with socket.socket(socket.AF_UNIX) as sink:
        sink.connect(str(live.path.parent / "trace"))
        load, sent = Load(live), 0
        while load.goes_on():
            at = sent % len(data)
            sent += sink.send(data[at:at + PIECE])
            early = sent / pace - (time.monotonic() - load.begin) if pace else 0
            if early > 0.002:
                time.sleep(early)
        while Path("/proc").joinpath(str(live.process.pid)).exists():
            with Wire(live) as wire:
                if status(wire)[0] >= sent - (2 << 20):
                    break
    return load, sent


def socket_load(name, stream, pace, **keys):
    path, _, _ = prepare(SET, replace=[
        ("out=unix:$RUN/trace", "out=file:/dev/null"),
        ("listen = unix:$RUN/trace", "listen = unix:$HERE/trace")], backpressure="no", memory="8M",
        **keys)
    path.write_text(re.sub(r",truth=file:[^, \n]*", "", path.read_text()))
    with Live(path) as live:
        load, sent = send(live, stream, pace)
        load.report(name, sent)


def board_load():
    path, elf, _ = prepare(SET, backpressure="no", memory="8M")
    path.write_text(re.sub(r",truth=file:[^, \n]*", "", path.read_text()))
    with Live(path) as live, Wire(live) as wire:
        wire.run_to_main(elf)
        load = Load(live)
        wire.run_while(load.goes_on)
        sent = int(live.ask_board("flush").split()[1])
        wire.close()
        load.report("board, full speed", sent)


def steps():
    """Step by step in the middle of a long history."""
    for name in (SET, "A9, PTM, return stack"):
        path, elf, _ = prepare(name)
        with Live(path) as live:
            run_long(live, elf, 1000000)
            with Wire(live) as wire:
                wire.ask("Qbtrace:bts")
                wire.blocks("all")
                for with_history in (0, 1):
                    times = []
                    for _ in range(STEPS):
                        begin = time.perf_counter()
                        wire.step()
                        if with_history:
                            wire.document("btrace:read:delta")
                        times.append(1e3 * (time.perf_counter() - begin))
                    times.sort()
                    row("step", name=name, history=with_history, count=STEPS,
                        median=f"{times[STEPS // 2]:.2f}", p99=f"{times[STEPS * 99 // 100]:.2f}")


def main():
    try:
        stream = recorded_stream()
        socket_load("socket, 45 MB/s", stream, PACE)
        socket_load("socket, as fast as taken", stream, 0, ring="1M")
        board_load()
        steps()
    except Skipped as why:
        print(f"SKIP live: {why}", file=sys.stderr)
    except Failed as why:
        print(f"FAIL live: {why}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
