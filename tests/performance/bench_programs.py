#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trace of compiled programs that really ran: each is recorded on its virtual board, which also
counts what it executes, and given to bench_decode, whose lines for report.py go to standard output.
One of each board is also given to `decode --summary`, `coverage` and `profile`, in turns; that of the
Cortex-A9 once more as a long recording, as a whole and in parts.

usage: bench_programs.py BENCH_DECODE FOLDER   FOLDER: what programs/build.sh made
BENCH_RUN_MB: trace of each run, 2; BENCH_MB: so often repeated for counts, 20; BENCH_LONG_MB: for the
long one, 200; BENCH_RUNS: turns, of which the fastest counts, 5, of the long one 2. BENCH_ONLY: part of a row's name."""

import array
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench" / "gdb"))
from live_gdb import PROGRAMS, board_file, symbol  # noqa: E402
from replay_gdb import BTRACED, Failed, Skipped, environment, equal, expect, folder  # noqa: E402

SIZE = float(os.environ.get("BENCH_RUN_MB", "2")) * 1e6
COUNTS_SIZE = float(os.environ.get("BENCH_MB", "20")) * 1e6
LONG_SIZE = float(os.environ.get("BENCH_LONG_MB", "200")) * 1e6
LONG_BOARD, LONG_RUNS, PARTS = "a9", 2, 2
RUNS = int(os.environ.get("BENCH_RUNS", "5"))
COUNTED = "parser"
PATIENCE = 20  # seconds without more trace; QEMU makes about a megabyte in one
PIECE = 1 << 20

BOARDS = {"a9": "PTM return stack", "m4": "ETMv3", "m33": "ETMv4 M", "a53": "ETMv4 A64"}
WORK = ("parser", "packer", "machine", "interrupts")
NO_RETURN_STACK = {"trcconfigr": 1}
# name: (board, program, registers). OpenCSD 1.3.3 ends with a fault where an ETMv4 with a return
# stack tells of interrupts.
ROWS = {f"run {board} {unit}, {work}": (board, f"{board}-{work}",
                                        NO_RETURN_STACK if board == "a53" else {})
        for board, unit in BOARDS.items() for work in WORK}
ROWS["run a53 ETMv4 A64 return stack, calm"] = ("a53", "a53-calm", {})


class Executed(threading.Thread):
    """Reads from a pipe what the board executes, and counts: all, and the given addresses."""

    def __init__(self, path, wide, addresses):
        super().__init__(daemon=True)
        self.path, self.type = path, "Q" if wide else "I"
        self.all, self.at = 0, dict.fromkeys(addresses, 0)
        os.mkfifo(path)
        self.start()

    def run(self):
        with open(self.path, "rb") as pipe:
            rest = b""
            while data := pipe.read(PIECE):
                data = rest + data
                ran = array.array(self.type)
                whole = len(data) // ran.itemsize * ran.itemsize
                ran.frombytes(data[:whole])
                rest = data[whole:]
                self.all += len(ran)
                for address in self.at:  # in T32 code they are odd
                    self.at[address] += ran.count(address) + ran.count(address | 1)


def record(board, elf, registers, replace=()):
    """(recording, number of instructions that ran); `replace`: as for board_file()"""
    shipped = str(PROGRAMS / f"crash-{board}.elf")
    path = board_file(f"virtual-{board}", registers=registers, replace=[(shipped, str(elf)), *replace])
    right, stopped = symbol(elf, "round_right"), symbol(elf, "stopped_here")
    executed = Executed(path.parent / "truth", board == "a53", (right, stopped))
    place = folder() / "run"
    trace = place / "buffer_0.bin"
    with subprocess.Popen([BTRACED, "record", "-c", str(path), "--record", str(place), "--log",
                           "error"], env=environment()) as server:
        size, end = 0, time.monotonic() + PATIENCE
        while size < SIZE and server.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
            now = trace.stat().st_size if trace.exists() else 0
            if now > size:
                size, end = now, time.monotonic() + PATIENCE
        server.send_signal(signal.SIGINT)
        try:
            equal(server.wait(PATIENCE), 0, "exit code of record")
        finally:
            server.kill()
    executed.join(PATIENCE)
    expect(not executed.is_alive(), "the board has not closed its log of what it executed")
    equal(executed.at[stopped], 0, "times that the program found a wrong result or a fault")
    expect(size >= SIZE, f"only {size} bytes of trace")
    expect(executed.at[right] > 0, "not one round of the program's work has ended")
    return place, executed.all


def cost(*args):
    """(CPU seconds, kilobytes of memory at most as far as was seen)"""
    memory = done = 0
    with subprocess.Popen([BTRACED, *args], stdout=subprocess.DEVNULL, env=environment()) as process:
        status = Path(f"/proc/{process.pid}/status")
        while not done:  # what wait4() tells of memory is at least this program's own
            grown = re.search(r"VmHWM:\s+(\d+)", status.read_text(encoding="ascii"))
            memory = int(grown[1]) if grown else memory
            done, code, usage = os.wait4(process.pid, os.WNOHANG)
            time.sleep(0 if done else 0.02)
        process.returncode = os.waitstatus_to_exitcode(code)
    equal(process.returncode, 0, f"exit code of {args[0]}")
    return usage.ru_utime + usage.ru_stime, memory


def parts_cost(what, place, elf):
    """Of all parts together."""
    out = str(place / "part.counts")
    each = [cost(what, "--part", f"{i + 1}/{PARTS}", "--elf", elf, "-o", out, str(place))
            for i in range(PARTS)]
    return sum(seconds for seconds, _ in each), max(memory for _, memory in each)


def in_turns(place, elf, turns, parts):
    """{what: (CPU seconds of the fastest, memory)}"""
    best = {}
    for _ in range(turns):
        now = {"decode": cost("decode", "--summary", str(place))}
        for what in "coverage", "profile":
            now[what] = cost(what, "--elf", elf, str(place))
            if parts:
                now[f"{what}_parts"] = parts_cost(what, place, elf)
        best = {what: min(best.get(what, now[what]), now[what]) for what in now}
    return best


def counts(name, place, elf, board):
    """What counting takes, against decoding alone."""
    trace = place / "buffer_0.bin"
    data = trace.read_bytes()
    data = data[:len(data) // 16 * 16]  # whole frames
    trace.write_bytes(data * max(1, int(COUNTS_SIZE // len(data))))
    fields = [f"{what}={seconds:.3f}"
              for what, (seconds, _) in in_turns(place, elf, RUNS, False).items()]
    if board == LONG_BOARD:
        with open(trace, "wb") as long:
            for _ in range(max(1, int(LONG_SIZE // len(data)))):
                long.write(data)
        fields.append(f"long_mb={trace.stat().st_size / 1e6:.0f}")
        for what, (seconds, memory) in in_turns(place, elf, LONG_RUNS, True).items():
            fields += [f"long_{what}={seconds:.3f}", f"long_{what}_kb={memory}"]
    print("counts", f"name={name}", *fields, sep="\t", flush=True)


def measure(name, bench, programs):
    board, program, registers = ROWS[name]
    place, count = record(board, programs / f"{program}.elf", registers)
    done = subprocess.run([bench, "--run", name, str(place), str(count)], check=False)
    expect(done.returncode == 0, f"bench_decode: exit code {done.returncode}")
    if program.endswith(COUNTED):
        counts(name, place, str(programs / f"{program}.elf"), board)


def main():
    bench, programs = sys.argv[1], Path(sys.argv[2]).resolve()
    failed = 0
    for name in ROWS:
        if os.environ.get("BENCH_ONLY", "") not in name:
            continue
        try:
            measure(name, bench, programs)
        except Skipped as why:
            print(f"SKIP {name}: {why}", file=sys.stderr)
        except (Failed, OSError, subprocess.SubprocessError) as why:
            print(f"FAIL {name}: {why}", file=sys.stderr)
            failed += 1
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
