#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a halt costs: from `record btrace` to complete history in stock GDB, next to the server's own
share of it, and how many ordinary requests a second the server answers. Prints lines for report.py,
fields are NAME=VALUE.

usage: bench_gdb.py BENCH_HISTORY    the program that makes the long recording"""

import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from replay_gdb import Client, Failed, Mi, Server, Skipped, capture, folder, frame, has  # noqa: E402

SIZES = [0, 64 << 10, 1 << 20, 16 << 20]  # 0: as the server has it, without a question
REPEATS = 5
REQUESTS = 3000
RECORDING_MB = 10
PACKET = 0xffb  # bytes of a document in one answer, as GDB asks for them


def row(kind, **fields):
    print(kind, *(f"{name}={value}" for name, value in fields.items()), sep="\t", flush=True)


def cpu(server):
    """Seconds that the server has run."""
    stat = Path(f"/proc/{server.process.pid}/schedstat").read_text(encoding="ascii")
    return int(stat.split()[0]) / 1e9


class Timer:
    """Wall time of a `with` block, and the server's CPU time in it."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.cpu, self.wall = cpu(self.server), time.perf_counter()
        return self

    def __exit__(self, *_):
        self.wall = time.perf_counter() - self.wall
        self.cpu = cpu(self.server) - self.cpu


class Wire(Client):
    """Without the checks of the tests: the client must not be what is measured."""

    def reply(self):
        while (end := self.data.find(b"#", 1)) < 0 or len(self.data) < end + 3:
            more = self.socket.recv(1 << 20)
            if not more:
                raise EOFError("the server has closed the connection")
            self.data += more
        payload, self.data = self.data[:end], self.data[end + 3:]
        if self.acks:
            self.send(b"+")
        return payload[payload.index(b"$") + 1:].decode("latin-1")

    def ask_for(self, packet):
        self.send(packet)
        return self.reply()


def check(answer, wanted, what):
    if answer != wanted:
        raise Failed(f"{what}: {answer[:80]!r}")


def read_document(wire):
    """Bytes and blocks of the whole history, as GDB reads it."""
    size, blocks, offset = 0, 0, 0
    while True:
        answer = wire.ask_for(frame(f"qXfer:btrace:read:all:{offset:x},{PACKET:x}"))
        if answer[:1] not in ("m", "l"):
            raise Failed(f"history at {offset}: {answer[:80]!r}")
        size += len(answer) - 1
        blocks += answer.count("<block ")
        offset += len(answer) - 1
        if answer[0] == "l":
            return size, blocks


def documents(server, size):
    """The same document several times, each asked for anew: the first one is cold."""
    times = []
    with Wire(server.port, acks=False) as wire:
        wire.start()
        for _ in range(REPEATS):
            if size:
                check(wire.ask(f"Qbtrace-conf:bts:size=0x{size:x}"), "OK", "size")
            check(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
            with Timer(server) as timer:
                length, blocks = read_document(wire)
            times.append(timer)
            check(wire.ask("Qbtrace:off"), "OK", "Qbtrace:off")
    if blocks < 2:
        raise Failed(f"the history has {blocks} blocks")
    return times, length, blocks


def stock_gdb(server, size):
    """Until GDB knows the whole history: (timer, instructions, seconds to connect). The server
    records from the start, with its own buffer size: another one needs a new start."""
    with Mi() as mi:
        begin = time.perf_counter()
        mi.command(f'-interpreter-exec console "target remote 127.0.0.1:{server.port}"')
        connected = time.perf_counter() - begin
        if size:
            mi.command('-interpreter-exec console "record stop"')
            mi.command(f'-interpreter-exec console "set record btrace bts buffer-size {size}"')
        with Timer(server) as timer:
            if size:
                answer = mi.command('-interpreter-exec console "record btrace bts"')
                if "^error" in answer:
                    raise Failed(answer)
            text = mi.command('-interpreter-exec console "info record"')
        mi.command('-interpreter-exec console "record stop"')
    found = has(text, r"Recorded (\d+) instructions in")
    return timer, int(found[1]), connected


def halt(name, recording, size):
    with Server(recording) as server:
        times, length, blocks = documents(server, size)
        timer, instructions, connected = stock_gdb(server, size)
    row("gdb", name=name, buffer=size, blocks=blocks, document=length, insns=instructions,
        cold_ms=f"{times[0].cpu * 1e3:.3f}",
        server_ms=f"{statistics.median(t.cpu for t in times) * 1e3:.3f}",
        socket_ms=f"{statistics.median(t.wall for t in times) * 1e3:.3f}",
        gdb_ms=f"{timer.wall * 1e3:.3f}", gdb_server_ms=f"{timer.cpu * 1e3:.3f}",
        connect_ms=f"{connected * 1e3:.1f}")


def requests(name, recording):
    """One request at a time, as GDB does it."""
    with Server(recording) as server, Wire(server.port, acks=False) as wire:
        wire.start()
        registers = wire.ask("g")
        pc = int.from_bytes(bytes.fromhex(registers[15 * 8:16 * 8]), "little")
        for what, packet in [("g", "g"), ("m, 4 bytes", f"m{pc & ~63:x},4"),
                             ("m, 1 kB", f"m{pc & ~1023:x},400")]:
            data = frame(packet)
            wanted = wire.ask_for(data)
            if wanted.startswith("E"):
                continue
            with Timer(server) as timer:
                for _ in range(REQUESTS):
                    check(wire.ask_for(data), wanted, what)
            row("requests", name=name, what=what, count=REQUESTS,
                rate=f"{REQUESTS / timer.wall:.0f}",
                server_us=f"{timer.cpu / REQUESTS * 1e6:.2f}",
                wall_us=f"{timer.wall / REQUESTS * 1e6:.2f}")


def main():
    made = folder() / "recording"
    subprocess.run([sys.argv[1], "--write", str(made), str(RECORDING_MB)], check=True)
    recordings = [(f"generated, {RECORDING_MB} MB", made)]
    try:
        recordings.append(("capture a15", capture("a15-ptm-return-stack")))
    except Skipped as why:
        print(f"SKIP {why}", file=sys.stderr)
    for name, recording in recordings:
        for size in SIZES:
            halt(name, recording, size)
    for name, recording in recordings:
        requests(name, recording)


if __name__ == "__main__":
    main()
