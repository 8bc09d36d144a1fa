#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/recording/perf_args.c.
# Tests drivers/perf/perf_data.c, perf_root.c, perf_unpack.c, perf_snapshot.c and perf_snapshot_trace.c.
"""perf.data files of Linux: captures put into such files open like the recordings that they are
from, and what is wrong with a file is said with its place."""

import os
import random
import re
import shutil
import struct
import subprocess
import sys
import time

import perf_writer
from perf_writer import PerfFile, NO_CPU
from replay_gdb import BTRACED, Failed, Server, Suite, capture, equal, folder, gdb, has, history, tool

SOME = 64 * 1024  # bytes of the large capture
BASE = 0x400000   # of the compiler's program
BUILD_ID = bytes(range(1, 21))
PARAMS = (0x1, 0x12, 0x28000EA1, 0x4100F403, 0x488, 0, 0xCC)
JUNO = (0xC1, 0x10, 0x28000EA1, 0x4100F403, 0x488, 0, 0xCC)
SEED = int(os.environ.get("BTRACED_SEED", time.time_ns() % 2**32))
CHANCE = random.Random(SEED)
print(f"BTRACED_SEED={SEED}", flush=True)
suite = Suite()
cache = {}


def decode(*args):
    done = subprocess.run([BTRACED, "decode", *map(str, args)], capture_output=True, text=True,
                          timeout=120)
    return done.returncode, done.stdout, done.stderr


def listing(*args):
    """Rows of a listing without the source's name, which a perf.data file gives otherwise."""
    code, out, err = decode(*args, "--format", "tsv")
    if code:
        raise Failed(f"exit {code}: {err}")
    return [line.split("\t", 1)[1] for line in out.splitlines()], err


def compiler():
    """The recording cut to its first part, its program as a file, the bytes of its source."""
    if not cache:
        path = folder() / "cc1"
        shutil.copytree(capture("cc1-etmv4"), path)
        for each in [path, *path.iterdir()]:
            each.chmod(0o755)
        trace = path / "cstrace.bin"
        trace.write_bytes(trace.read_bytes()[:SOME])
        ini = (path / "cpu_1.ini").read_text()
        parts = [(int(address, 16), (path / name).read_bytes()) for name, address in
                 re.findall(r"file=(\S+)\s+address=(0x[0-9A-Fa-f]+)", ini)]
        segments = [(address, data, address - BASE) for address, data in parts]
        root = folder() / "root"
        (root / "usr").mkdir(parents=True)
        (root / "usr/cc1").write_bytes(perf_writer.elf64(segments, build_id=BUILD_ID))
        cache.update(path=path, root=root, trace=trace.read_bytes(),
                     blocks=listing("--blocks", "--source", "etm_1", path)[0])
    return cache


def unframed(trace, wanted):
    """One source's bytes out of frames, by the frames' description."""
    out, current = bytearray(), 0
    for at in range(0, len(trace) // 16 * 16, 16):
        frame = trace[at:at + 16]
        for i in range(15):
            byte, late = frame[i], None
            if i % 2 == 0 and byte & 1:
                if frame[15] >> i // 2 & 1 and i < 14:
                    late = byte >> 1
                else:
                    current = byte >> 1
                pending[0] = late
                continue
            if i % 2 == 0:
                byte |= frame[15] >> i // 2 & 1
            if current == wanted:
                out.append(byte)
            if pending[0] is not None:
                current, pending[0] = pending[0], None
    return bytes(out)


pending = [None]


def one_process(p, params=PARAMS, cpu=3, unit="etmv4", build_id=None):
    p.units([(unit, n, (params[0], params[1] if n == cpu else 0x40 + n) + tuple(params[2:]))
             for n in range(cpu + 1)])
    p.comm(500, 500, "make")
    p.mmap2(500, 500, BASE, 0x100000, 0, "/usr/gone")
    p.comm(500, 500, "cc1", perf_writer.EXEC)
    p.mmap2(500, 500, BASE, 0x200000, 0, "/usr/cc1", build_id)
    p.itrace_start(500, 500, cpu)


def behind_units(p):
    return struct.unpack(p.order + "IHH", p.records[:8])[2]


def write(p, name="perf.data"):
    path = folder() / name
    path.write_bytes(p.bytes())
    return path


def check_same(p, *options):
    c = compiler()
    rows, err = listing("--perf", "--root", c["root"], "--blocks", *options, write(p))
    equal(rows == c["blocks"], True, "that the blocks are the same")
    equal(err, "", "warnings")


@suite.test("perf.data: compressed records, cut anywhere, say what the plain ones say")
def compressed():
    trace = compiler()["trace"]
    for big in (False, True):
        for pipe in (False, True):
            p = PerfFile(big, pipe)
            one_process(p)
            for _ in range(CHANCE.randrange(60)):  # samples: of no use, and in the way
                p.add(9, CHANCE.randbytes(8 * CHANCE.randrange(CHANCE.choice([10, 5000]))))
            p.aux(0, len(trace), 0, 500, 3)
            p.compress(behind_units(p), CHANCE)
            p.auxtrace(trace, 0, 500, 3)
            check_same(p)


@suite.test("perf.data: files and pipes, both byte orders, each version: the same blocks")
def forms():
    trace = compiler()["trace"]
    for big in (False, True):
        for pipe in (False, True):
            for version in (0, 1, 2):
                p = PerfFile(big, pipe, version)
                late = version == 2
                one_process(p, PARAMS[:1] + (0x8000007F,) + PARAMS[2:] if late else PARAMS)
                if late:
                    p.hw_id(0x12, 3, 500)
                p.aux(0, len(trace), 0, 500, 3)
                p.auxtrace(trace, 0, 0, 3)
                check_same(p)


@suite.test("perf.data: simpleperf's own records, also those of more than 64 KiB, are passed over")
def simpleperf():
    trace = compiler()["trace"]
    for big in (False, True):
        p = PerfFile(big)
        one_process(p)
        p.add(CHANCE.randrange(32769, 32780), CHANCE.randbytes(CHANCE.randrange(66000, 400000)))
        p.aux(0, len(trace), 0, 500, 3)
        p.auxtrace(trace, 0, 500, 3)
        check_same(p)


@suite.test("perf.data: a thread's own buffer, and one without frames")
def threads():
    trace = compiler()["trace"]
    p = PerfFile()
    one_process(p)
    p.aux(0, len(trace), 0, 500, 3)
    p.auxtrace(trace, 0, 500, NO_CPU)
    check_same(p, "--source", "etm_thread_500")
    raw = unframed(trace, 0x12)
    for cpu in (3, NO_CPU):
        p = PerfFile()
        one_process(p)
        p.aux(0x1000, len(raw), perf_writer.RAW, 500, 3)
        p.auxtrace(raw, 0x1000, 500, cpu)
        check_same(p)


@suite.test("perf.data: pieces begin anew, and what is missing between them is a gap")
def pieces():
    c = compiler()
    trace, path = c["trace"], folder() / "two"
    cut = len(trace) // 2 // 16 * 16
    parts = []
    for part in (trace[:cut], trace[cut:]):
        shutil.copytree(c["path"], path, dirs_exist_ok=True)
        (path / "cstrace.bin").write_bytes(part)
        parts.append(listing("--blocks", "--source", "etm_1", path)[0])
    wanted = [row.split("\t")[1:] for row in parts[0] + parts[1][1:]]
    for flags, cause in ((0, "cause=filter"), (perf_writer.TRUNCATED, "lost-bytes")):
        p = PerfFile()
        one_process(p)
        p.aux(0, cut, flags, 500, 3)
        p.auxtrace(trace[:cut], 0, 0, 3)
        p.aux(cut, len(trace) - cut, 0, 500, 3)
        p.auxtrace(trace[cut:], cut, 0, 3)
        file = write(p)
        rows, _ = listing("--perf", "--root", c["root"], "--blocks", file)
        equal([row.split("\t")[1:] for row in rows], wanted, "blocks of both pieces")
        events, _ = listing("--perf", "--root", c["root"], "--events", file)
        found = [row for row in events if "\tgap\t" in row]
        if not any(cause in row for row in found):
            raise Failed(f"no gap '{cause}': {found[:5]}")


@suite.test("perf.data: programs by build ID; another build and another machine's are not used")
def programs():
    c = compiler()
    cache_folder = folder() / "cache"
    cached = cache_folder / ".build-id" / BUILD_ID.hex()[:2] / BUILD_ID.hex()[2:]
    cached.mkdir(parents=True)
    shutil.copy(c["root"] / "usr/cc1", cached / "elf")
    empty = folder() / "empty"
    empty.mkdir()

    def file(build_id=None, table=None, path="/usr/cc1"):
        p = PerfFile()
        if table:
            p.build_id(500, table, path)
        one_process(p, build_id=build_id)
        p.aux(0, len(c["trace"]), 0, 500, 3)
        p.auxtrace(c["trace"], 0, 0, 3)
        return write(p)

    for args in ({"build_id": BUILD_ID}, {"table": BUILD_ID}):
        rows, _ = listing("--perf", "--root", empty, "--buildid-dir", cache_folder,
                          "--blocks", file(**args))
        equal(rows == c["blocks"], True, "that the blocks are the same")
    code, _, err = decode("--perf", "--root", c["root"], file(build_id=BUILD_ID[::-1]))
    equal(code, 0, "exit")
    has(err, r"usr/cc1: no code of this program: it has another build ID \(wanted: build ID 1413")
    has(err, "no program image for 'cpu3'")
    (empty / "usr").mkdir()
    shutil.copy(sys.executable, empty / "usr/cc1")
    _, _, err = decode("--perf", "--root", empty, file())
    has(err, "usr/cc1: no code of this program: it is not for ARM or AArch64")


@suite.test("perf.data: neither '..' nor links lead out of --root")
def rooted():
    place = folder()
    root = place / "root"
    (root / "usr").mkdir(parents=True)
    (root / "lib").mkdir()
    program = perf_writer.elf64([(BASE, b"\x1f\x20\x03\xd5" * 64, 0x1000)])
    (place / "outside").write_bytes(program)
    (root / "lib/inside").write_bytes(program)
    for name, target in {"dots": "../../outside", "absolute": place / "outside", "folder": "../..",
                         "in": "/lib/inside", "loop": "loop"}.items():
        (root / "usr" / name).symlink_to(target)
    paths = {"/usr/dots": False, "/usr/absolute": False, "/usr/folder/outside": False, "/../outside": False,
             "/usr/../../outside": False, "/usr/loop": False, "/usr/in": True, "/usr/../lib/inside": True,
             "/usr/folder/lib/../lib/./inside": True, "/../lib/inside": True}
    p = PerfFile()
    one_process(p)
    for n, path in enumerate(paths):
        p.mmap2(500, 500, BASE + 0x300000 + n * 0x1000, 0x1000, 0, path)
    trace = compiler()["trace"][:4096]
    p.aux(0, len(trace), 0, 500, 3)
    p.auxtrace(trace, 0, 0, 3)
    _, _, err = decode("--perf", "--root", root, write(p))
    for path, found in paths.items():
        equal(f"{root}{path}: no code of this program" in err, not found, f"a complaint of {path} in\n{err}")


@suite.test("perf.data: a shared sink, and the kernel's code where it ran")
def shared():
    path = capture("juno-etmv4")
    trace, dump = (path / "cstrace.bin").read_bytes(), (path / "kernel_dump.bin").read_bytes()
    address = int(has((path / "cpu_0.ini").read_text(), r"address=(0x[0-9A-Fa-f]+)")[1], 16)
    ids = [int(has((path / f"device_{n}.ini").read_text(), r"TRCTRACEIDR\S*=(0x\S+)")[1], 16)
           for n in range(6, 12)]
    slide = 0x200000
    kernel = folder() / "vmlinux"
    kernel.write_bytes(perf_writer.elf64([(address - slide, dump, 0x1000)],
                                         symbols=[("_text", address - slide)]))
    p = PerfFile()
    p.units([("etmv4", n, JUNO[:1] + (i,) + JUNO[2:]) for n, i in enumerate(ids)])
    p.mmap(0xFFFFFFFF, 0, address, len(dump), address, "[kernel.kallsyms]_text")
    p.aux(0, len(trace), 0, 0, 5)
    p.auxtrace(trace, 0, 0, 5)
    file, compared = write(p), 0
    for n, wanted in enumerate(ids):
        rows, _ = listing("--blocks", "--id", wanted, path)
        if len(rows) < 2:
            continue
        mine, _ = listing("--perf", "--vmlinux", kernel, "--blocks", "--source", f"etm_cpu{n}",
                          file)
        equal(mine == rows, True, f"that the {len(rows)} blocks of cpu {n} are the same")
        compared += 1
    equal(compared > 1, True, "several sources have blocks")


@suite.test("perf.data: programs at one address are told apart by context ID")
def contexts():
    path = capture("juno-etmv4")
    trace, dump = (path / "cstrace.bin").read_bytes(), (path / "kernel_dump.bin").read_bytes()
    address = int(has((path / "cpu_1.ini").read_text(), r"address=(0x[0-9A-Fa-f]+)")[1], 16)
    root = folder() / "juno"
    root.mkdir()
    (root / "right").write_bytes(perf_writer.elf64([(address, dump, 0x1000)]))
    (root / "wrong").write_bytes(perf_writer.elf64([(address, bytes(len(dump)), 0x1000)]))
    rows, _ = listing("--blocks", "--id", 0x10, path)
    events, _ = listing("--events", "--id", 0x10, path)
    threads = {int(x, 16) for x in re.findall(r"cid=(0x[0-9a-f]+)", "\n".join(events))}
    p = PerfFile()
    p.units([("etmv4", 0, JUNO)])
    p.mmap2(50, 99999, address, len(dump), 0x1000, "/wrong")
    p.mmap2(100, 100, address, len(dump), 0x1000, "/right")
    for tid in threads:
        p.itrace_start(100, tid, 0)
    p.aux(0, len(trace), 0, 0, 0)
    p.auxtrace(trace, 0, 0, 0)
    mine, _ = listing("--perf", "--root", root, "--blocks", write(p))
    equal(len(threads) > 0 and len(rows) > 100, True, "that the capture has contexts and blocks")
    equal(mine == rows, True, f"that the {len(rows)} blocks are the same")


@suite.test("perf.data: GDB shows the history")
def in_gdb():
    c = compiler()
    p = PerfFile()
    one_process(p)
    p.aux(0, len(c["trace"]), 0, 500, 3)
    p.auxtrace(c["trace"], 0, 500, NO_CPU)
    ran = []
    for row in listing("--instructions", "--source", "etm_1", c["path"])[0][1:][-3000:]:
        ran.append(int(has(row, r"0x([0-9a-f]+)")[1], 16))
    with Server(write(p), "--perf", "--root", str(c["root"])) as server:
        s = gdb(server.port, ["info threads", "info record", "set record instruction-history-size 3000",
                              "record instruction-history"])
    has(s["info threads"], "thread_500")
    rows = history(s["record instruction-history"])
    equal([row.address for row in rows], ran[-len(rows):], "the latest instructions")


@suite.test("perf.data: perf itself reads the files of these tests")
def by_perf():
    perf = tool("perf")
    for packed in (False, True):
        p = PerfFile()
        p.build_id(500, BUILD_ID, "/usr/cc1")
        one_process(p)
        if packed:
            p.compress(behind_units(p))
        # perf 6.12 looks for AUX records first, in files with an index, and prints no trace without having found them.
        p.aux(0x40, 0x1000, perf_writer.TRUNCATED, 500, 3)
        p.index(len(p.records))
        p.auxtrace(bytes(0x2000), 0, 0, 3)
        done = subprocess.run([perf, "report", "-D", "-i", str(write(p))], capture_output=True,
                              text=True, timeout=60)
        for wanted in (r"PERF_RECORD_AUXTRACE_INFO type: 3", r"TRCTRACEIDR\s+12\n",
                       r"PERF_RECORD_COMM exec: cc1:500/500",
                       r"PERF_RECORD_MMAP2 500/500: \[0x400000\(0x200000\) @ 0 .*: r-xp /usr/cc1",
                       r"PERF_RECORD_ITRACE_START pid: 500 tid: 500",
                       r"PERF_RECORD_AUX offset: 0x40 size: 0x1000 flags: 0x1 \[T\]",
                       r"PERF_RECORD_AUXTRACE size: 0x2000 +offset: 0 .*cpu: 3"):
            has(done.stdout, wanted, "what perf reads")


@suite.test("perf.data: what is wrong is said, with its place")
def wrong():
    trace = compiler()["trace"]

    def start():
        p = PerfFile()
        one_process(p)
        return p

    def expect(data, pattern, code=None):
        path = folder() / "wrong.data"
        path.write_bytes(data)
        got, _, err = decode("--perf", path)
        has(err, pattern)
        if code is not None:
            equal(got, code, "exit")

    p = start()
    p.add(81, b"12345678")
    expect(p.bytes(), r"wrong.data: byte 0x[0-9a-f]+: its compressed record cannot be unpacked", 4)
    for hidden in (71, 81):  # where neither trace nor another stream can be
        p = start()
        at = len(p.records)
        p.add(hidden, bytes(40))
        p.compress(at, CHANCE)
        expect(p.bytes(), r"byte 0x[0-9a-f]+: unpacked byte 0x0: (trace in|a compressed record in)", 4)
    p = PerfFile()
    p.add(70, p.pack("IIQ", 1, 0, 0))
    expect(p.bytes(), "its trace is of Intel PT", 4)
    expect(PerfFile().bytes(), "it has no CoreSight trace", 4)
    expect(PerfFile(version=9).bytes(), "it has no CoreSight trace", 4)
    expect(b"PERFFILE" + bytes(200), "of version 1", 4)
    expect(b"hello, world, this is no trace", "not a perf.data file", 4)
    p = start()
    p.aux(0, len(trace), 0, 500, 3)
    p.auxtrace(trace, 0, 0, 3)
    whole = p.bytes()
    expect(whole[:len(whole) - 1000], "was cut off", 0)
    p = start()
    p.records += p.pack("IHH", 1, 0, 4)
    expect(p.bytes(), r"byte 0x[0-9a-f]+: a record of 4 bytes", 4)
    path = folder() / "data"
    path.write_bytes(whole)
    for place in (path, path.parent):
        code, _, err = decode(place)
        has(err, r"\(a perf\.data file of Linux: decode and replay open it, with --perf\)$")
        equal(code, 4, "exit")
    path.unlink()
    code, _, err = decode("--perf", path.parent)
    has(err, f"{path}: cannot open: No such file or directory$")
    code, _, err = decode("--root", "/", "x")
    has(err, "go with --perf")


@suite.test("perf.data: without trace, or with none of a unit that it describes: a warning, no error")
def no_trace():
    p = PerfFile()
    one_process(p)
    path = write(p)
    code, out, err = decode("--perf", path)
    equal((code, out), (0, ""), "exit and listing")
    has(err, r"^btraced decode: warning: perf\.data: there is no trace in it: it has no AUXTRACE records$")
    code, out, err = decode("--perf", "--format", "tsv", "--events", path)
    equal((code, out), (0, "core\tindex\toffset\tevent\tdetail\n"), "exit and listing")
    code, _, err = decode("--perf", "--source", "etm_cpu3", path)
    equal(code, 4, "exit")
    p = PerfFile()
    one_process(p)
    p.auxtrace(bytes(64), 0, 0, 3)
    code, out, err = decode("--perf", write(p))
    equal((code, out), (0, ""), "exit and listing")
    has(err, "^btraced decode: warning: .*: no trace that can be decoded$")


if __name__ == "__main__":
    suite.run()
