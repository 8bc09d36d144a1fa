# SPDX-License-Identifier: BSD-3-Clause
"""Writes perf.data files, from the format's description: for tests of their reader."""
import struct
import subprocess

CS_PMU = 8
SAMPLE_TID, SAMPLE_TIME, SAMPLE_CPU, SAMPLE_IDENTIFIER = 2, 4, 0x80, 0x10000
SAMPLE = SAMPLE_TID | SAMPLE_TIME | SAMPLE_CPU | SAMPLE_IDENTIFIER
NO_CPU = 0xFFFFFFFF
TRUNCATED, OVERWRITE, PARTIAL, COLLISION, RAW = 1, 2, 4, 8, 0x100
EXEC, DATA, MAP_BUILD_ID, BUILD_ID_SIZE = 0x2000, 0x2000, 0x4000, 0x8000
MAGIC = {"etmv3": 0x3030303030303030, "etmv4": 0x4040404040404040, "ete": 0x5050505050505050}


class PerfFile:
    """Records in the order of the calls; bytes() puts the file together."""

    def __init__(self, big=False, pipe=False, version=1):
        self.order = ">" if big else "<"
        self.big, self.pipe, self.version = big, pipe, version
        self.records = b""
        self.build_ids = b""
        self.features = {}

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def record(self, kind, body, misc=0):
        body += b"\0" * (-len(body) % 8)
        size = 8 + len(body)
        if kind >= 32768:  # simpleperf's own
            return self.pack("IHH", kind, size >> 16, size & 0xFFFF) + body
        return self.pack("IHH", kind, misc, 8 + len(body)) + body

    def add(self, kind, body, misc=0):
        self.records += self.record(kind, body, misc)

    def end(self, pid, tid, cpu):
        return self.pack("IIQIIQ", pid, tid, 1000, cpu, 0, 77)

    def attr(self):
        """Bit 18: all records carry an identification. Bit fields start at the top on a big-endian
        machine."""
        flags = bytearray(8)
        flags[2] = 0x20 if self.big else 4
        return (self.pack("IIQQQQ", CS_PMU, 112, 0, 1, SAMPLE, 4) + bytes(flags)).ljust(112, b"\0")

    def units(self, units):
        """units: (kind, cpu, parameters)."""
        body = self.pack("IIQQQ", 3, 0, self.version, CS_PMU << 32 | len(units), 0)
        for kind, cpu, params in units:
            body += self.pack("QQ", MAGIC[kind], cpu)
            if self.version:
                body += self.pack("Q", len(params))
            body += self.pack("%dQ" % len(params), *params)
        self.add(70, body)

    def comm(self, pid, tid, name, misc=0):
        text = name.encode() + b"\0"
        text += b"\0" * (-len(text) % 8)
        self.add(3, self.pack("II", pid, tid) + text + self.end(pid, tid, 0), misc)

    def fork(self, pid, ppid, tid, ptid):
        self.add(7, self.pack("IIIIQ", pid, ppid, tid, ptid, 1000) + self.end(pid, tid, 0))

    def leave(self, pid, ppid, tid, ptid):
        self.add(4, self.pack("IIIIQ", pid, ppid, tid, ptid, 1000) + self.end(pid, tid, 0))

    def itrace_start(self, pid, tid, cpu):
        self.add(12, self.pack("II", pid, tid) + self.end(pid, tid, cpu))

    def mmap2(self, pid, tid, address, size, offset, path, build_id=None, prot=5):
        text = path.encode() + b"\0"
        text += b"\0" * (-len(text) % 8)
        inode = (bytes([len(build_id), 0, 0, 0]) + build_id.ljust(20, b"\0") if build_id
                 else self.pack("IIQQ", 8, 1, 4711, 0))
        self.add(10, self.pack("IIQQQ", pid, tid, address, size, offset) + inode +
                 self.pack("II", prot, 2) + text + self.end(pid, tid, 0),
                 MAP_BUILD_ID if build_id else 0)

    def mmap(self, pid, tid, address, size, offset, path, misc=0):
        text = path.encode() + b"\0"
        text += b"\0" * (-len(text) % 8)
        self.add(1, self.pack("IIQQQ", pid, tid, address, size, offset) + text +
                 self.end(pid, tid, 0), misc)

    def aux(self, offset, size, flags, tid, cpu):
        self.add(11, self.pack("QQQ", offset, size, flags) + self.end(tid, tid, cpu))

    def hw_id(self, value, cpu, tid):
        self.add(21, self.pack("Q", value) + self.end(tid, tid, cpu))

    def auxtrace(self, data, offset, tid, cpu):
        data += b"\0" * (-len(data) % 8)
        self.add(71, self.pack("QQQIIII", len(data), offset, 0, 0, tid, cpu, 0))
        self.records += data

    def index(self, at):
        """Says where the file's AUXTRACE record is: `at` bytes behind the first record."""
        self.features[18] = self.pack("QQQ", 1, 112 + len(self.attr()) + 16 + at, 48)

    def compress(self, start, chance=None):
        """What was added since `start` becomes records of one zstd stream, cut anywhere, or (no chance) as perf does."""
        plain, self.records = self.records[start:], self.records[:start]
        stream = subprocess.run(["zstd", "-q", "-c"], input=plain, capture_output=True, check=True).stdout
        kind = chance.choice([81, 83]) if chance else 81
        while stream:
            size = chance.randrange(1, 2 + chance.choice([8, 200, 60000])) if chance else 65527
            piece, stream = stream[:size], stream[size:]
            if kind == 83:
                self.add(83, self.pack("Q", len(piece)) + piece)
            else:
                self.records += self.pack("IHH", 81, 0, 8 + len(piece)) + piece
        self.features[27] = self.pack("IIIII", 1, 1, 1, 3, 528384)

    def build_id(self, pid, build_id, path):
        body = self.pack("I", pid) + build_id.ljust(20, b"\0") + bytes([len(build_id), 0, 0, 0])
        record = self.record(67, body + path.encode() + b"\0", BUILD_ID_SIZE)
        if self.pipe:
            self.records += record
        else:
            self.build_ids += record

    def bytes(self):
        magic = self.pack("Q", 0x32454C4946524550)
        attr = self.attr()
        if self.pipe:
            return magic + self.pack("Q", 16) + self.record(64, attr + self.pack("Q", 77)) \
                + self.records
        ids, attrs = 104, 112
        data = attrs + len(attr) + 16
        flags = [0, 0, 0, 0]
        features = dict(self.features)
        if self.build_ids:
            features[2] = self.build_ids
        for bit in features:
            flags[bit // 64] |= 1 << bit % 64
        table = data + len(self.records)
        at = table + 16 * len(features)
        tail, rest = b"", b""
        for bit in sorted(features):
            tail += self.pack("QQ", at + len(rest), len(features[bit]))
            rest += features[bit]
        return magic + self.pack("12Q", 104, len(attr) + 16, attrs, len(attr) + 16, data,
                                 len(self.records), 0, 0, *flags) + self.pack("Q", 77) \
            + attr + self.pack("QQ", ids, 8) + self.records + tail + rest


def elf64(segments, kind=2, build_id=b"", symbols=None):
    """An AArch64 file. segments: (address, bytes, offset in the file)."""
    note = struct.pack("<III", 4, len(build_id), 3) + b"GNU\0" + build_id if build_id else b""
    count = len(segments) + (1 if note else 0)
    first = 64 + 56 * count
    headers = [(1, 5, offset, address, len(data)) for address, data, offset in segments]
    if note:
        headers.append((4, 4, first, 0, len(note)))
    image = bytearray(first) + note
    for address, data, offset in segments:
        assert offset >= first + len(note)
        if len(image) < offset + len(data):
            image += bytes(offset + len(data) - len(image))
        image[offset:offset + len(data)] = data
    sections = 0
    if symbols:
        names, table = b"\0", bytes(24)
        for name, value in symbols:
            table += struct.pack("<IBBHQQ", len(names), 0x12, 0, 0xFFF1, value, 0)
            names += name.encode() + b"\0"
        image += bytes(-len(image) % 8)
        at = len(image)
        image += table + names
        image += bytes(-len(image) % 8)
        sections = len(image)
        image += bytes(64)
        image += struct.pack("<IIQQQQIIQQ", 0, 2, 0, 0, at, len(table), 2, 1, 8, 24)
        image += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, at + len(table), len(names), 0, 0, 1, 0)
    image[0:64] = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", kind, 183, 1, 0, 64,
                              sections, 0, 64, 56, count, 64, 3 if sections else 0, 0)
    for i, (type_, flags, offset, address, size) in enumerate(headers):
        image[64 + 56 * i:120 + 56 * i] = struct.pack("<IIQQQQQQ", type_, flags, offset, address,
                                                      address, size, size, 4)
    return bytes(image)
