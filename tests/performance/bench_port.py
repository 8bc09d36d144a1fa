#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Live trace at the pace of a port of 4 bits at 150 MHz, both edges: 150 MB/s of programs that really ran, over and over.
Prints lines for report.py, fields are NAME=VALUE.

A process of its own sends by the clock, a port does not wait: `age` is how long ago that byte was due which the server,
asked twenty times a second, had decoded last, and so has in it what waits anywhere on the way. What a program's
stream comes to is exact: its last instruction has the number that `btraced decode` counts.

usage: bench_port.py FOLDER   FOLDER: what programs/build.sh made
BENCH_SECONDS: length of each load, 60. BENCH_ONLY: of the programs those whose row has this in its name. BENCH_PACE: MB/s, 150."""

import mmap
import os
import re
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench" / "gdb"))
import bench_live  # noqa: E402
import bench_programs  # noqa: E402
from live_gdb import PROGRAMS, Live, Wire, board_file  # noqa: E402
from replay_gdb import BTRACED, Failed, Skipped, environment, equal, has  # noqa: E402

SECONDS = float(os.environ.get("BENCH_SECONDS", "60"))
PACE = float(os.environ.get("BENCH_PACE", "150")) * 1e6  # of 4 pins at 150 MHz, both edges
PROGRAM_ROWS = [("m4", "parser"), ("m33", "parser"), ("a53", "parser"), ("a9", "machine"), ("a9", "parser")]
ASKED = 0.05  # seconds between two questions
PENDING = 64  # instructions that the end of a stream may leave to what follows
SYNC = b"\xff\xff\xff\x7f"
SYNC_EVERY = 64 * 16  # bytes of frames
SYNCS = {"m4": 5, "a9": 5, "m33": 11, "a53": 11}  # zeros before an 80
SAME = 32  # bytes from a synchronisation on, its address is in them
TRACE_ID = 0x10


def busy():
    """Seconds that all cores together were not idle."""
    fields = [int(f) for f in Path("/proc/stat").read_text("ascii").split("\n")[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def framed(data):
    """IHI 0029E, trace formatter: frames full of one source, which the first one names; a sync before every 64th."""
    data = bytes([TRACE_ID << 1]) + data
    equal(len(data) % 15, 0, "bytes that are left over")
    out = bytearray(len(data) // 15 * 16)
    extra = 0
    for place in range(15):
        column = data[place::15]
        if place % 2 == 0:
            extra |= int.from_bytes(column.translate(bytes((b & 1) << place // 2 for b in range(256))), "little")
            column = column.translate(bytes(b & 0xfe for b in range(256)))
        out[place::16] = column
    out[15::16] = extra.to_bytes(len(out) // 16, "little")
    out[0] |= 1
    return b"".join(SYNC + out[at:at + SYNC_EVERY] for at in range(0, len(out), SYNC_EVERY))


def seamless(data, sync):
    """From one synchronisation of the unit to the farthest one that says the same, so that whole frames take it."""
    places, at = {}, data.index(sync)  # the first says that trace begins
    while (at := data.find(sync, at + len(sync), -SAME)) >= 0:
        places.setdefault(data[at:at + SAME], []).append(at)
    pairs = [(begin, end) for same in places.values() for begin in same for end in same
             if end > begin and (end - begin + 1) % 15 == 0]
    begin, end = max(pairs, key=lambda pair: pair[1] - pair[0])
    return data[begin:end]


def instructions(place, data, times):
    """What `decode` counts."""
    (place / "buffer_0.bin").write_bytes(data * times)
    done = subprocess.run([BTRACED, "decode", "--summary", str(place)], check=False, capture_output=True, text=True,
                          env=environment())
    equal(done.returncode, 0, f"exit code of decode: {done.stderr}")
    return int(has(done.stdout, r" instructions +(\d+)", "the summary")[1])


class Port:
    """The process that sends: `stream` over and over, by the clock, whole ones until `SECONDS` have passed."""

    def __init__(self, path, stream):
        self.size = len(stream)
        self.memory = os.memfd_create("stream")
        os.write(self.memory, stream)
        self.shared = mmap.mmap(-1, 64)
        with socket.socket(socket.AF_UNIX) as sink:
            sink.connect(str(path))
            self.begin = time.monotonic() + 0.2
            self.pid = os.fork()
            if self.pid == 0:
                try:
                    self._send(sink)
                finally:
                    os._exit(0)

    def _send(self, sink):
        whole = int(PACE * SECONDS / self.size) * self.size
        sent, late = 0, 0
        while sent < whole:
            due = min(whole, int((time.monotonic() - self.begin) * PACE))
            late = max(late, due - sent)
            while sent < due:
                at = sent % self.size
                sent += os.sendfile(sink.fileno(), self.memory, at, min(due - sent, self.size - at))
            time.sleep(0.001)
        used = time.process_time()
        self.shared[:40] = struct.pack("QddQQ", sent, time.monotonic() - self.begin, used, late, 1)

    def end(self):
        """(bytes, seconds, seconds of CPU time, most bytes that were late), or None while it sends."""
        sent, seconds, used, late, ended = struct.unpack("QddQQ", self.shared[:40])
        return (sent, seconds, used, late) if ended else None


def asked(wire):
    """(bytes that came, that wait, that were dropped, last instruction, gaps)"""
    text = wire.monitor("status")
    came = int(has(text, r"(\d+) bytes in all", "the status")[1])
    ring = has(text, r"ring +(\d+) of \d+ bytes wait; (\d+) dropped", "the status")
    last = re.search(r"instructions \d+ to (\d+),", text)
    gaps = sum(int(n) for n in re.findall(r"^gaps .*: (\d+)", text, re.MULTILINE))
    return came, int(ring[1]), int(ring[2]), int(last[1]) if last else 0, gaps


def load(live, name, frames, per_run):
    with Wire(live) as wire:
        before, all_before, own = bench_live.cpu(live), busy(), time.process_time()
        port = Port(live.path.parent / "trace", frames * (1 + (8 << 20) // len(frames)))
        ages, end = [], None
        while end is None:
            time.sleep(ASKED)
            end = port.end()
            came, wait, dropped, _, _ = asked(wire)
            now = time.monotonic() - port.begin
            if now > 0 and end is None:
                ages.append(now - (came - wait) / PACE)
            behind = re.search(r"; \d+ bytes wait(.*)", wire.monitor("trace status"))
            if behind and now > 3 and not re.match(r", about \d+ ms behind$", behind[1]):
                raise Failed(f"{name}: {behind[0]}: how much that is behind is not said")
        sent, seconds, sender, late = end
        os.waitpid(port.pid, 0)
        spent, own = bench_live.cpu(live) - before, time.process_time() - own
        others = busy() - all_before - spent - own - sender
        while asked(wire)[0] < sent or asked(wire)[1]:
            time.sleep(0.01)
        came, wait, dropped, last, gaps = asked(wire)
    ages.sort()
    first, more = per_run
    runs = sent // len(frames)
    expected = first + (runs - 1) * more
    if not dropped and (gaps or not 0 <= expected - last <= PENDING):
        raise Failed(f"{name}: nothing was dropped, but {last} of {expected} instructions are decoded, with {gaps} gaps")
    if dropped and not gaps:
        raise Failed(f"{name}: {dropped} bytes dropped without a gap")
    bench_live.row("port", name=name, seconds=f"{seconds:.1f}", rate=f"{sent / seconds / 1e6:.2f}", dropped=dropped, gaps=gaps,
                   decoded=last, cpu=f"{100 * spent / seconds:.0f}", sender=f"{100 * sender / seconds:.0f}",
                   asker=f"{100 * own / seconds:.0f}", others=f"{max(0, others) / seconds:.2f}",
                   late_ms=f"{1e3 * late / PACE:.0f}", age_ms=f"{1e3 * ages[-1]:.0f}",
                   age99_ms=f"{1e3 * ages[len(ages) * 99 // 100]:.0f}", median_ms=f"{1e3 * ages[len(ages) // 2]:.0f}")


def program(board, work, programs):
    name = f"{board} {work}, {PACE / 1e6:.0f} MB/s"
    if os.environ.get("BENCH_ONLY", "") not in name:
        return
    elf = programs / f"{board}-{work}.elf"
    registers = bench_programs.NO_RETURN_STACK if board == "a53" else {}
    place, _ = bench_programs.record(board, elf, registers, (("format=tpiu", "format=raw"), ("format = tpiu", "format = raw")))
    data = seamless((place / "buffer_0.bin").read_bytes(), bytes(SYNCS[board]) + b"\x80")
    once, twice = (instructions(place, data, times) for times in (1, 2))
    path = board_file(f"virtual-{board}", registers=registers, backpressure="no", replace=[
        (str(PROGRAMS / f"crash-{board}.elf"), str(elf)),
        ("out=unix:$RUN/trace", "out=file:/dev/null"),
        ("listen = unix:$RUN/trace", "listen = unix:$HERE/trace")])
    path.write_text(re.sub(r",truth=file:[^, \n]*", "", path.read_text()))
    with Live(path) as live:
        load(live, name, framed(data), (once, twice - once))


def main():
    failed = False
    for board, work in PROGRAM_ROWS:
        try:
            program(board, work, Path(sys.argv[1]).resolve())
        except Skipped as why:
            print(f"SKIP port: {why}", file=sys.stderr)
        except Failed as why:
            print(f"FAIL port: {why}", file=sys.stderr)
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
