#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""STM packets against OpenCSD's lister: random streams of what it knows of MIPI STP 2.2, packet for
packet. It calls M16, USER and what this has of FREQ reserved, and prints no payload of an error."""

import os
import random
import re
import subprocess
import tempfile
import time
from pathlib import Path

import oracle

PACKETS = 1500
GRAY_MAX = 8  # OpenCSD 1.3.3 converts up to 32 bits of Gray code right, up to 28 can be sent
PERIOD = 200  # packets between two synchronisations
FILES = {
    "core.ini": "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A53\n",
    "stm.ini": "[device]\nname=STM_0\nclass=trace_source\ntype=STM\n\n[regs]\n"
               "STMTCSR(0x3A0)=0x00A00007\n",
    "snapshot.ini": "[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=core.ini\ndevice1=stm.ini\n\n"
                    "[trace]\nmetadata=trace.ini\n",
    "trace.ini": "[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=ETB_0\nfile=trace.bin\n"
                 "format=source_data\n\n[source_buffers]\nSTM_0=ETB_0\n",
}
DATA = {4: ("C", "FD", "FC", "D"), 8: ("4", "F8", "F4", "8"), 16: ("5", "F9", "F5", "9"),
        32: ("6", "FA", "F6", "A"), 64: ("7", "FB", "F7", "B")}


class Stream:
    """Nibbles, as text."""

    def __init__(self, rng):
        self.rng, self.text = rng, ""
        self.gray = rng.random() < 0.5

    def value(self, bits):
        value = self.rng.getrandbits(bits) if self.rng.random() < 0.9 else (1 << bits) - 1
        return f"{value:0{bits // 4}X}"

    def stamp(self):
        length = self.rng.randrange(GRAY_MAX if self.gray else 15)
        return f"{length:X}" + "".join(self.rng.choice("0123456789ABCDEF")
                                       for _ in range({13: 14, 14: 16}.get(length, length)))

    def sync(self):
        self.text += "F" * 21 + "0" + "F00" + ("4" if self.gray else "3")

    def packet(self):
        kind, form = self.rng.randrange(10), self.rng.randrange(4)
        if kind < 4:
            bits = self.rng.choice(list(DATA))
            self.text += DATA[bits][form] + self.value(bits) + (self.stamp() if form & 2 else "")
        elif kind == 4:
            self.text += self.rng.choice(("FE", "E" + self.stamp()))
        elif kind == 5:
            self.text += "1" + self.value(8)
        elif kind == 6:
            self.text += self.rng.choice(("3" + self.value(8), "F3" + self.value(16)))
        elif kind == 7:
            self.text += self.rng.choice(("F06" + self.value(8), "F07" + self.value(8) + self.stamp()))
        elif kind == 8:
            self.text += self.rng.choice(("F08" + self.value(32), "0"))
        else:
            self.text += self.rng.choice(("2", "F2")) + self.value(8)

    def bytes(self):
        text = self.text + "0" * (len(self.text) % 2)
        return bytes(int(low, 16) | int(high, 16) << 4 for low, high in zip(text[::2], text[1::2]))


class Times:
    """Timestamps as OpenCSD sums them up: from 0, whether a whole one was sent or not."""

    def __init__(self, gray):
        self.gray, self.sent = gray, 0

    def take(self, d):
        """Its text of a packet's timestamp, and what is wrong with ours."""
        if "stamp" not in d:
            return "", None
        stamp, mask = int(d["stamp"], 16), (1 << int(d["stamp-bits"])) - 1
        self.sent = self.sent & ~mask | stamp
        time = self.sent
        for shift in (1, 2, 4, 8, 16, 32) if self.gray else ():
            time ^= time >> shift
        wrong = "time" in d and int(d["time"], 16) != time
        sent = "" if d["stamp-bits"] == "0" or self.gray else f" ~[0x{stamp:X}]"
        return f"; TS=0x{time:016X}{sent}", f"time {d['time']}" if wrong else None


def lister_words(kind, d):
    """A packet as OpenCSD's lister has it: its name, and what comes before the timestamp."""
    stamped = "TS" if "stamp" in d else ""
    if kind == "data":
        bits, value = int(d["bits"]), int(d["value"], 16)
        marked = "M" if "marked" in d else ""
        return (f"D{bits}{marked}{stamped}", f"; Data=0x{value:0{bits // 4}x}")
    value = int(d.get("value", "0"), 16)
    return {
        "null": ("NULL", ""), "async": ("ASYNC", ""), "flag": ("FLAG" + stamped, ""),
        "version": ("VERSION", f"; Ver={value}"), "trigger": ("TRIG" + stamped,
                                                             f"; TrigData=0x{value:02x}"),
        "master": ("M8", f"; Master=0x{int(d.get('master', '0'), 16):02x}"),
        "channel": ("C8" if len(d.get("nibbles", "")) == 3 else "C16",
                    f"; Chan=0x{int(d.get('channel', '0'), 16):04x}"),
        "frequency": ("FREQ", f"; Freq={d.get('hertz')}Hz"),
        "master-error": ("MERR", ""), "global-error": ("GERR", ""),
    }.get(kind, (kind, ""))


def theirs(folder, buffer):
    """(name, values) of each packet that the lister prints."""
    with tempfile.TemporaryDirectory() as place:  # it leaves a file there
        run = subprocess.run(["trc_pkt_lister", "-ss_dir", str(folder), "-src_name", buffer,
                              "-pkt_mon", "-logstdout"], capture_output=True, text=True, check=False,
                             timeout=300, cwd=place)
    lines = re.findall(r"Idx:\d+; ID:\w+; \[.*?\];\t(\w+):([^;\n]*)(.*)", run.stdout)
    return [(name, values) for name, _, values in lines]


def compare(folder, gray, source="STM_0", buffer="ETB_0"):
    # What is no packet yet at the end has no row there.
    problems, times = [], Times(gray)
    rows = [row for row in oracle.packets(source, folder) if row[3] != "unsynced"]
    listed = theirs(folder, buffer)
    for row, (name, values) in zip(rows, listed):
        d = dict(item.split("=") for item in row[4].split())
        our_name, our_values = lister_words(row[3], d)
        stamp, wrong = times.take(d)
        if wrong:
            problems.append(f"offset {row[1]}: {wrong}")
        if gray:  # the lister prints converted bits there
            values = re.sub(r" ~\[.*\]", "", values)
        if (our_name, our_values + stamp) != (name, values):
            problems.append(f"offset {row[1]}: {our_name}{our_values}{stamp}, "
                            f"OpenCSD: {name}{values}")
    if len(rows) != len(listed):
        problems.append(f"{len(rows)} packets, OpenCSD has {len(listed)}")
    return problems, len(rows)


def check_capture(report):
    """The one real stream of an STM that is at hand."""
    capture = oracle.capture("juno-etmv4")
    if not capture:
        report.skip("stm capture", "no captures")
        return
    problems, count = compare(capture, False, "STM_12", "ETB_1")
    report.check("stm capture", problems, f"{count} packets of juno-etmv4")


def main():
    report = oracle.Report()
    if not oracle.tool("trc_pkt_lister"):
        report.skip("stm", "no trc_pkt_lister")
        report.exit()
    seed = int(os.environ.get("STM_SEED", str(time.time_ns() & 0xffffffff)))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in FILES.items():
            (folder / file).write_text(text)
        stream = Stream(random.Random(seed))
        for i in range(PACKETS):
            if i % PERIOD == 0:
                stream.sync()
            stream.packet()
        (folder / "trace.bin").write_bytes(stream.bytes())
        problems, count = compare(folder, stream.gray)
        report.check("stm random", problems, f"{count} packets, STM_SEED={seed}")
    check_capture(report)
    report.exit()


if __name__ == "__main__":
    main()
