#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a halt costs: from `record btrace` to complete history in stock GDB, next to the server's own
share of it, and how many ordinary requests a second the server answers. Prints lines for report.py,
fields are NAME=VALUE.

Where the system puts GDB and the server decides half of what the server costs, for to wake a process
on another CPU is dearer than all else that a small request is. So both are placed: on one CPU, and
on two.

usage: bench_gdb.py BENCH_HISTORY [BENCH_BARE]   programs: makes the long recording; answers packets, and
                                                 does nothing else; without it: no requests, only halts"""

import os
import statistics
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench" / "gdb"))
from replay_gdb import Client, Failed, Mi, Server, Skipped, capture, folder, frame, has  # noqa: E402

SIZES = [0, 64 << 10, 1 << 20, 16 << 20]  # 0: as the server has it, without a question
REPEATS = 5
GDB_RUNS = 3  # of which the one with the median share is told
REQUESTS = 1000
THINKING = 0.0004  # seconds between two of them: what GDB takes at a halt
TURNS = 5
RECORDING_MB = 10
BARE = "no server at all"
PACKET = 0xffb  # bytes of a document in one answer, as GDB asks for them
CPUS = sorted(os.sched_getaffinity(0))
PLACES = {"one": (CPUS[-1], CPUS[-1])}  # CPUs of the server, of GDB
if len(CPUS) > 1:
    PLACES["two"] = (CPUS[-1], CPUS[0])
CODE = "dump_0.bin", 0x80000000  # of the generated recording; T32


def row(kind, **fields):
    print(kind, *(f"{name}={value}" for name, value in fields.items()), sep="\t", flush=True)


def cpu(program):
    """Seconds that a process has run, all threads."""
    return sum(int(stat.read_text(encoding="ascii").split()[0])
               for stat in Path(f"/proc/{program.process.pid}/task").glob("*/schedstat")) / 1e9


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


def documents(server, size, repeats=REPEATS):
    """The same document several times, each asked for anew: the first one is cold."""
    times = []
    with Wire(server.port, acks=False) as wire:
        wire.start()
        for _ in range(repeats):
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


def stock_gdb(server, size, elf, trusted):
    """Until GDB knows the whole history: (timer, GDB's own seconds, instructions, seconds to
    connect). The server records from the start, with its own buffer size: another one needs a new
    start."""
    with Mi(elf) as mi:
        if trusted:  # code is read from the file
            mi.command('-interpreter-exec console "set trust-readonly-sections on"')
        begin = time.perf_counter()
        mi.command(f'-interpreter-exec console "target remote 127.0.0.1:{server.port}"')
        connected = time.perf_counter() - begin
        if size:
            mi.command('-interpreter-exec console "record stop"')
            mi.command(f'-interpreter-exec console "set record btrace bts buffer-size {size}"')
        own = cpu(mi)
        with Timer(server) as timer:
            if size:
                answer = mi.command('-interpreter-exec console "record btrace bts"')
                if "^error" in answer:
                    raise Failed(answer)
            text = mi.command('-interpreter-exec console "info record"')
        own = cpu(mi) - own
        mi.command('-interpreter-exec console "record stop"')
    found = has(text, r"Recorded (\d+) instructions in")
    return timer, own, int(found[1]), connected


@contextmanager
def where(server, place):
    """Server and client on their CPUs; programs that are started meanwhile are where the client is."""
    os.sched_setaffinity(server.process.pid, {PLACES[place][0]})
    os.sched_setaffinity(0, {PLACES[place][1]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, CPUS)


def placed(recording, size, place, elf, trusted):
    """Several runs of GDB with both where they are to be: the one of the median share."""
    runs = []
    for _ in range(GDB_RUNS):
        with Server(recording) as server:
            documents(server, size, 1)  # windows that were never decoded are the first column's
            with where(server, place):
                runs.append(stock_gdb(server, size, elf, trusted))
    return sorted(runs, key=lambda run: run[0].cpu / run[1])[GDB_RUNS // 2]


def halt(name, recording, size, elf=None, trusted=False):
    with Server(recording) as server:
        times, length, blocks = documents(server, size)
    fields = {}
    for place in PLACES:
        timer, own, instructions, connected = placed(recording, size, place, elf, trusted)
        fields |= {f"{place}_wall_ms": f"{timer.wall * 1e3:.3f}",
                   f"{place}_gdb_ms": f"{own * 1e3:.3f}",
                   f"{place}_server_ms": f"{timer.cpu * 1e3:.3f}"}
    code = "trusted ELF" if trusted else "ELF" if elf else "no ELF"
    row("gdb", name=name, code=code, buffer=size, blocks=blocks, document=length,
        insns=instructions, cold_ms=f"{times[0].cpu * 1e3:.3f}",
        server_ms=f"{statistics.median(t.cpu for t in times) * 1e3:.3f}",
        socket_ms=f"{statistics.median(t.wall for t in times) * 1e3:.3f}",
        connect_ms=f"{connected * 1e3:.1f}", **fields)


def program_file(path, recording):
    """The generated code as GDB would have it from a compiler: one section, one function of T32."""
    name, address = CODE
    code = (recording / name).read_bytes()
    strings, names = b"\0$t\0code\0", b"\0.text\0.symtab\0.strtab\0.shstrtab\0"
    symbols = bytes(16) + struct.pack("<IIIBBH", 1, address, 0, 0, 0, 1)  # $t, local
    symbols += struct.pack("<IIIBBH", 4, address | 1, len(code), 0x12, 0, 1)  # a global function
    parts, at = [code, symbols, strings, names], [52]
    for part in parts:
        at.append(at[-1] + len(part) + -len(part) % 4)
    sections = bytes(40)
    for name, kind, flags, place, link, info, part, size in [
            (1, 1, 6, address, 0, 0, 0, 0), (7, 2, 0, 0, 3, 2, 1, 16), (15, 3, 0, 0, 0, 0, 2, 0),
            (23, 3, 0, 0, 0, 0, 3, 0)]:
        sections += struct.pack("<10I", name, kind, flags, place, at[part], len(parts[part]), link,
                                info, 4 if part < 2 else 1, size)
    header = b"\x7fELF\1\1\1".ljust(16, b"\0") + struct.pack(
        "<HHIIIIIHHHHHH", 2, 40, 1, address | 1, 0, at[-1], 0x05000000, 52, 0, 0, 40, 5, 4)
    path.write_bytes(header + b"".join(part + bytes(-len(part) % 4) for part in parts) + sections)
    return path


def think(seconds):
    """Busy, as GDB is between two requests."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def ask_often(server, wire, packet):
    """Microseconds that a request takes, in each place: fields of a row. The best of several turns."""
    data, fields = frame(packet), {}
    wanted = wire.ask_for(data)
    for place in PLACES:
        turns = []
        for _ in range(TURNS):
            with where(server, place), Timer(server) as timer:
                for _ in range(REQUESTS):
                    check(wire.ask_for(data), wanted, packet)
                    think(THINKING)
            turns.append(timer)
        best = min(turns, key=lambda turn: turn.cpu)
        fields |= {f"{place}_server_us": f"{best.cpu / REQUESTS * 1e6:.2f}",
                   f"{place}_wall_us": f"{(best.wall / REQUESTS - THINKING) * 1e6:.2f}"}
    return fields


def requests(name, recording):
    """One request at a time, at GDB's pace."""
    with Server(recording) as server, Wire(server.port, acks=False) as wire:
        wire.start()
        registers = wire.ask("g")
        pc = int.from_bytes(bytes.fromhex(registers[15 * 8:16 * 8]), "little")
        for what, packet in [("g", "g"), ("m, 4 bytes", f"m{pc & ~63:x},4"),
                             ("m, 1 kB", f"m{pc & ~1023:x},400")]:
            if not wire.ask(packet).startswith("E"):
                row("requests", name=name, what=what, count=REQUESTS,
                    **ask_often(server, wire, packet))


class Bare:
    """The program that does nothing but answer."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())


def bare_requests(program):
    """What the system takes for them by itself."""
    bare = Bare(program)
    with Wire(bare.port) as wire:
        wire.acks = False
        row("requests", name=BARE, what="read, write", count=REQUESTS,
            **ask_often(bare, wire, "m0,4"))
    check(bare.process.wait(), 0, "the bare loop")


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
    elf = program_file(made.parent / "generated.elf", made)
    for trusted in (False, True):
        for size in SIZES:
            halt(recordings[0][0], made, size, elf, trusted)
    if len(sys.argv) < 3:
        return
    for name, recording in recordings:
        requests(name, recording)
    bare_requests(sys.argv[2])


if __name__ == "__main__":
    main()
