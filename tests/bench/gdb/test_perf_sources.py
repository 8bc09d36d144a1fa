#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""perf.data files with trace of all kinds of units, of several CPUs, threads and processes, with the
kernel's code and without: what is listed must be what QEMU executed. Where a capture stands for a
process, what is listed of the recording that it is from. perf itself says what the records are."""

import re
import subprocess
import sys

import perf_writer
from perf_writer import PerfFile, NO_CPU
from replay_gdb import (BTRACED, ROOT, Skipped, Suite, capture, equal, expect, folder, has,
                        same_list, tool)

sys.path.insert(0, str(ROOT / "tests" / "board"))
import board  # noqa: E402

ETE = 0x47705A13
LEAST = 10_000  # instructions
TAIL = 100      # that may be behind the last one that the trace tells of
suite = Suite()
cache = {}


def decode(*args):
    done = subprocess.run([BTRACED, "decode", "--perf", *map(str, args)], capture_output=True,
                          text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def write(p):
    path = folder() / "perf.data"
    path.write_bytes(p.bytes())
    return path


def executed(path, *options):
    """Addresses of one source's listing, with the Thumb bit, and what was said."""
    code, out, err = decode("--instructions", "--format", "tsv", *options, path)
    equal(code, 0, f"exit ({err.strip()})")
    rows = [line.split("\t") for line in out.splitlines()[1:]]
    return [int(row[2], 16) | (row[5] == "T32") for row in rows], err


def is_truth(ran, truth, least=LEAST):
    same_list(ran, list(truth.ran[:len(ran)]), "what ran")
    expect(len(ran) >= max(least, len(truth.ran) - TAIL), f"only {len(ran)} of {len(truth.ran)}")


def unframed(trace):
    """{trace ID: bytes} out of frames without sync words, by the frames' description."""
    sources, current = {}, 0
    for at in range(0, len(trace) // 16 * 16, 16):
        frame, late = trace[at:at + 16], None
        for i in range(15):
            byte, flag = frame[i], frame[15] >> i // 2 & 1
            if i % 2 == 0 and byte & 1:
                if flag and i < 14:
                    late = byte >> 1
                else:
                    current = byte >> 1
                continue
            if i % 2 == 0:
                byte |= flag
            sources.setdefault(current, bytearray()).append(byte)
            if late is not None:
                current, late = late, None
    sources.pop(0, None)
    return {number: bytes(data) for number, data in sources.items()}


def run_board(name, machine, rounds, arguments, extra=()):
    """(the board's program, its bytes, the folder with the truth)"""
    if board.missing() or not board.PLUGIN.exists():
        raise Skipped(f"no virtual board: {board.missing() or 'make virtual-board'}")
    if name not in cache:
        place = folder()
        program = machine.program(place, rounds)
        board.run_to_end(program, {"out": f"file:{place}/out", "truth": f"file:{place}/truth",
                                   **arguments}, extra=extra)
        cache[name] = program, (place / "out").read_bytes(), place
    return cache[name]


def rooted(program):
    """Its file in a root folder, and what perf says of it: [(address, size, offset)]."""
    root = folder() / "root"
    root.mkdir()
    maps, segments, offset = [], [], 0x1000
    for address, data in program.dumps:
        segments.append((address, data, offset))
        maps.append((address, len(data), offset))
        offset += (len(data) + 0xFFF) // 0x1000 * 0x1000
    (root / "work").write_bytes(perf_writer.elf64(segments))
    return root, maps


def runs(p, maps, pid=500, path="/work"):
    p.comm(pid, pid, "work", perf_writer.EXEC)
    for address, size, offset in maps:
        p.mmap2(pid, pid, address, size, offset, path)


# Trace units.

def cores():
    """Two cores with an ETE each, in frames, which are taken apart again."""
    program, trace, place = run_board(
        "ete", board.VIRT_SMP, 3, {"protocol": "etmv4", "format": "frames", "trcdevarch": ETE,
                                    **{k: v for k, v in board.A53.items() if k != "trcdevarch"}},
        ["-smp", "2"])
    return program, trace, [board.Truth(f"{place}/truth", core, True) for core in range(2)]


def ete_units(p, ids, newer=()):
    """`newer`: registers that later versions of perf keep, too: TS_SOURCE."""
    p.units([("ete", n, (1, number, board.A53["trcidr0"], 0x4100F403, board.A53["trcidr2"], 0,
                         0xCC, ETE, *newer)) for n, number in enumerate(ids)])


@suite.test("perf.data: ETE, a TRBE on each of two CPUs")
def ete():
    program, trace, truths = cores()
    raw = unframed(trace)
    equal(sorted(raw), [0x10, 0x11], "the board's trace IDs")
    root, maps = rooted(program)
    for late, newer in ((False, ()), (True, (9,))):
        p = PerfFile(version=2)
        ete_units(p, [0x8000007F if late else 0x10 + n for n in range(2)], newer)
        runs(p, maps)
        for cpu in range(2):
            if late:  # minor version 1 of the record: with the number of the sink
                p.hw_id(1 << 56 | 5 << 8 | 0x10 + cpu, cpu, 500)
            p.itrace_start(500, 500, cpu)
            p.aux(0x4000, len(raw[0x10 + cpu]), perf_writer.RAW, 500, cpu)
        for cpu in range(2):
            p.auxtrace(raw[0x10 + cpu], 0x4000, 0, cpu)
        path = write(p)
        for cpu in range(2):
            ran, err = executed(path, "--root", root, "--source", f"etm_cpu{cpu}")
            equal(err, "", "warnings")
            is_truth(ran, truths[cpu])


@suite.test("perf.data: ETE, both CPUs in the frames of a shared sink")
def shared():
    program, trace, truths = cores()
    root, maps = rooted(program)
    p = PerfFile(version=2)
    ete_units(p, [0x8000007F] * 2)
    runs(p, maps)
    for cpu in range(2):
        p.hw_id(1 << 56 | 0xDEADBEEF << 8 | 0x10 + cpu, cpu, 500)
    p.aux(0, len(trace), 0, 500, 1)
    p.auxtrace(trace, 0, 0, 1)
    path = write(p)
    for cpu in range(2):
        ran, err = executed(path, "--root", root, "--source", f"etm_cpu{cpu}")
        equal(err, "", "warnings")
        is_truth(ran, truths[cpu])


@suite.test("perf.data: PTM and ETMv3")
def older():
    sets = (("PTM", board.VEXPRESS, {"etmidr": 0x411CF312, "etmccer": 0x34C01AC2}, {}),
            ("ETMv3", board.VEXPRESS_ETM, dict(board.A7), {"protocol": "etmv3"}))
    for name, machine, unit, more in sets:
        program, trace, place = run_board(name, machine, 3, {"format": "frames", "etmcr": 0,
                                                              **unit, **more})
        root, maps = rooted(program)
        for version in (0, 1):
            p = PerfFile(version=version)
            p.units([("etmv3", 0, (0, 0x10, unit["etmccer"], unit["etmidr"]))])
            runs(p, maps)
            p.aux(0, len(trace), 0, 500, 0)
            p.auxtrace(trace, 0, 0, 0)
            ran, err = executed(write(p), "--root", root)
            equal(err, "", f"{name}: warnings")
            is_truth(ran, board.Truth(f"{place}/truth"))


# Threads and processes.

@suite.test("perf.data: threads with buffers of their own, which change the CPU")
def threads():
    program, trace, truths = cores()
    raw = unframed(trace)
    root, maps = rooted(program)
    p = PerfFile()
    ete_units(p, [0x10, 0x11])
    runs(p, maps)
    p.fork(500, 500, 501, 500)
    runs(p, maps, 600, "/gone")
    for tid, cpu in ((500, 1), (501, 0), (600, 0)):
        p.aux(0, len(raw[0x11 if tid == 500 else 0x10]), perf_writer.RAW, tid, cpu)
    p.aux(len(raw[0x11]), len(raw[0x11]), perf_writer.RAW, 500, 0)
    p.auxtrace(raw[0x11] * 2, 0, 500, NO_CPU)
    p.auxtrace(raw[0x10], 0, 501, NO_CPU)
    p.auxtrace(raw[0x10], 0, 600, NO_CPU)
    path = write(p)
    ran, _ = executed(path, "--root", root, "--source", "etm_thread_501")
    is_truth(ran, truths[0])
    ran, _ = executed(path, "--root", root, "--source", "etm_thread_500")
    half = len(ran) // 2
    equal(ran[:half], ran[half:], "what ran on the second CPU, the same bytes,")
    is_truth(ran[:half], truths[1])
    _, out, err = decode("--instructions", "--root", root, "--source", "etm_thread_600", path)
    has(err, "gone: no code of this program: No such file or directory")
    equal(out.strip(), "", "what a thread of a process ran whose program is not there")


def contexts(history, tail=()):
    """Blocks of a capture with context IDs, its code that of a file to which `history(p, tids,
    map)` leads; and what they should be."""
    source = capture("juno-etmv4")
    trace, dump = (source / "cstrace.bin").read_bytes(), (source / "kernel_dump.bin").read_bytes()
    address = int(has((source / "cpu_1.ini").read_text(), r"address=(0x[0-9A-Fa-f]+)")[1], 16)
    root = folder() / "juno"
    root.mkdir()
    (root / "right").write_bytes(perf_writer.elf64([(address, dump, 0x1000)]))
    (root / "wrong").write_bytes(perf_writer.elf64([(address, bytes(len(dump)), 0x1000)]))

    def plain(*args):
        return subprocess.run([BTRACED, "decode", "--format", "tsv", "--id", "0x10", *args,
                               str(source)], capture_output=True, text=True, timeout=60).stdout
    tids = sorted({int(x, 16) for x in re.findall(r"cid=(0x[0-9a-f]+)", plain("--events"))})
    wanted = [line.split("\t", 1)[1] for line in plain("--blocks").splitlines()]
    expect(tids and len(wanted) > 100, "the capture has no contexts")
    p = PerfFile()
    p.units([("etmv4", 0, (0xC1, 0x10, 0x28000EA1, 0x4100F403, 0x488, 0, 0xCC))])
    p.mmap2(9, 9, address, len(dump), 0x1000, "/wrong")  # somebody else
    history(p, tids, lambda pid, path: p.mmap2(pid, pid, address, len(dump), 0x1000, path))
    p.aux(0, len(trace), 0, 0, 0)
    p.auxtrace(trace, 0, 0, 0)
    code, out, err = decode("--blocks", "--format", "tsv", "--root", root, *tail, write(p))
    equal(code, 0, f"exit ({err})")
    return [line.split("\t", 1)[1] for line in out.splitlines()], wanted


@suite.test("perf.data: FORK, EXEC and EXIT: whose code a thread ran")
def forks():
    def of_parent(p, tids, mapped):
        mapped(50, "/right")
        for tid in tids:
            p.fork(tid, 50, tid, 50)
        p.leave(50, 1, 50, 1)

    def of_grandparent(p, tids, mapped):
        mapped(50, "/right")
        p.fork(60, 50, 60, 50)
        mapped(50, "/wrong")  # after the fork: not the child's
        for tid in tids:
            p.fork(tid, 60, tid, 60)

    def by_exec(p, tids, mapped):
        mapped(50, "/wrong")
        for tid in tids:
            p.fork(tid, 50, tid, 50)
            p.comm(tid, tid, "right", perf_writer.EXEC)
            mapped(tid, "/right")

    def second_life(p, tids, mapped):
        """The number of a process that has ended is given to another one."""
        mapped(50, "/right")
        for tid in tids:
            p.fork(tid, 9, tid, 9)
            p.leave(tid, 9, tid, 9)
            p.fork(tid, 50, tid, 50)

    def of_stranger(p, tids, mapped):
        mapped(50, "/right")
        for tid in tids:
            p.fork(tid, 9, tid, 9)

    for history in (of_parent, of_grandparent, by_exec, second_life):
        got, wanted = contexts(history)
        equal(got == wanted, True, f"{history.__name__}: that the blocks are the same")
    got, wanted = contexts(of_stranger)
    equal(got == wanted, False, "another's child: that the blocks are the same")


# The kernel.

@suite.test("perf.data: the kernel's code out of a copy of kcore, and without any")
def kernel():
    source = capture("juno-etmv4")
    trace, dump = (source / "cstrace.bin").read_bytes(), (source / "kernel_dump.bin").read_bytes()
    address = int(has((source / "cpu_1.ini").read_text(), r"address=(0x[0-9A-Fa-f]+)")[1], 16)
    half = len(dump) // 2 // 16 * 16
    kcore = folder() / "kcore"
    kcore.write_bytes(perf_writer.elf64([(address, dump[:half], 0x1000),
                                         (address + half, dump[half:], 0x1000 + half)], kind=4))
    p = PerfFile()
    p.units([("etmv4", 0, (0xC1, 0x10, 0x28000EA1, 0x4100F403, 0x488, 0, 0xCC))])
    p.mmap(0xFFFFFFFF, 0, address, len(dump), address, "[kernel.kallsyms]_text")
    p.aux(0, len(trace), 0, 0, 0)
    p.auxtrace(trace, 0, 0, 0)
    path = write(p)
    wanted = subprocess.run([BTRACED, "decode", "--format", "tsv", "--blocks", "--id", "0x10",
                             str(source)], capture_output=True, text=True, timeout=60).stdout
    wanted = [line.split("\t", 1)[1] for line in wanted.splitlines()]
    expect(len(wanted) > 100, "the capture has no blocks")
    code, out, err = decode("--blocks", "--format", "tsv", "--kcore", kcore, path)
    equal(code, 0, f"exit ({err})")
    equal([line.split("\t", 1)[1] for line in out.splitlines()] == wanted, True,
          "that the blocks are the same")
    code, out, err = decode("--blocks", "--format", "tsv", path)
    equal((code, len(out.splitlines())), (0, 1), "exit and rows without the kernel's code")
    has(err, "no program image for 'cpu0'")
    none = folder() / "none"
    code, _, err = decode("--vmlinux", none, path)
    equal(code != 0, True, "that a kernel that is not there is an error")
    has(err, f"{path}: {none}: cannot open: No such file or directory")


# Another reader.

@suite.test("perf.data: perf itself reads such records as they are meant")
def by_perf():
    perf = tool("perf")
    p = PerfFile()
    ete_units(p, [0x10, 0x11])
    p.fork(700, 500, 701, 502)
    p.leave(700, 500, 701, 502)
    p.hw_id(1 << 56 | 5 << 8 | 0x10, 1, 500)
    p.aux(0x20, 0x40, perf_writer.RAW | perf_writer.PARTIAL, 500, 1)
    p.index(len(p.records))
    p.auxtrace(bytes(0x100), 0, 500, NO_CPU)
    path = str(write(p))
    done = subprocess.run([perf, "report", "-D", "-i", path], capture_output=True, text=True,
                          timeout=60)
    for wanted in (r"Magic number\s+5050505050505050", r"CPU\s+1$", r"TRCTRACEIDR\s+11$",
                   rf"TRCDEVARCH\s+{ETE:x}$", r"PERF_RECORD_FORK\(700:701\):\(500:502\)",
                   r"PERF_RECORD_EXIT\(700:701\):\(500:502\)",
                   r"PERF_RECORD_AUX_OUTPUT_HW_ID hw_id: 0x100000000000510",
                   r"PERF_RECORD_AUX offset: 0x20 size: 0x40 flags: 0x104 \[P\]",
                   r"PERF_RECORD_AUXTRACE size: 0x100 .*tid: 500"):
        has(done.stdout, wanted, "what perf reads")
    done = subprocess.run([perf, "script", "--show-task-events", "-F", "comm,tid", "-i", path],
                          capture_output=True, text=True, timeout=60)
    has(done.stdout, r"PERF_RECORD_FORK\(700:701\):\(500:502\)", "perf script")
    has(done.stdout, r"PERF_RECORD_EXIT\(700:701\):\(500:502\)", "perf script")


if __name__ == "__main__":
    suite.run()
