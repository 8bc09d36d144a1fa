#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ITM and DWT packets against sigrok's decoder, arm_itm: of a real capture, and of random streams.
What sigrok does not know is left out of these: pages, extensions, global timestamps, ARMv8-M."""

import collections
import os
import random
import re
import subprocess
import tempfile
import time
from pathlib import Path

import oracle

PACKETS = 3000
CHARACTERS = [c for c in range(256) if c != ord('"') and not 9 <= c <= 13]
ACTIONS = {"enter": "Enter", "exit": "Exit", "resume": "Resume"}
RELATIONS = {"exact": "exact", "late": "timestamp delayed", "event-early": "event delayed",
             "both": "event and timestamp delayed"}
SETUP = {
    "core.ini": "[device]\nname=cpu_0\nclass=core\ntype=Cortex-M3\n",
    "itm.ini": "[device]\nname=ITM_0\nclass=trace_source\ntype=ITM\n\n[regs]\n"
               "ITMTCR(0xE80)=0x0001000D\n",
    "snapshot.ini": "[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=core.ini\ndevice1=itm.ini\n\n"
                    "[trace]\nmetadata=trace.ini\n",
}
TRACE = "[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=SWO_0\nfile={file}\nformat={form}\n\n" \
        "[source_buffers]\nITM_0=SWO_0\n\n[core_trace_sources]\ncpu_0=ITM_0\n"


def write_snapshot(folder, data, form):
    for name, text in SETUP.items():
        (folder / name).write_text(text)
    (folder / "trace.ini").write_text(TRACE.format(file="trace.bin", form=form))
    (folder / "trace.bin").write_bytes(data)


def sigrok(data, folder):
    """The annotations, in order; the bytes go in as the line of a UART, four samples a bit."""
    line = bytearray(b"\1" * 40)
    for byte in data:
        for bit in (0, *(byte >> i & 1 for i in range(8)), 1, 1):
            line += bytes([bit]) * 4
    (folder / "line.bin").write_bytes(line + b"\1" * 80)
    run = subprocess.run(["sigrok-cli", "-I", "binary:numchannels=1:samplerate=4000000", "-i",
                          str(folder / "line.bin"), "-P", "uart:rx=0:baudrate=1000000,arm_itm",
                          "-A", "arm_itm=trace:timestamp:software:dwt_event:dwt_watchpoint:dwt_exc:"
                          "dwt_pc"], capture_output=True, text=True, check=True, timeout=300)
    return [text.partition(": ")[2] for text in run.stdout.splitlines()]


def exception(number):
    names = {0: "Thread", 1: "Reset", 2: "NMI", 3: "HardFault", 4: "MemManage", 5: "BusFault",
             6: "UsageFault", 11: "SVCall", 12: "Debug Monitor", 14: "PendSV", 15: "SysTick"}
    return names[number] if number < 16 else f"IRQ {number - 16}"


def sort_out(rows):
    """btraced's rows as sigrok words them: (all but software, words a port, text a port)."""
    others, words, text = [], collections.defaultdict(list), collections.defaultdict(str)
    ticks = 0
    for _, _, raw, kind, detail in rows:
        d = dict(item.split("=") for item in detail.split())
        if kind == "software":
            value, size = int(d["value"], 16), int(d["bytes"])
            if size == 1 and printable(value):
                text[d["port"]] += chr(value)
            else:
                words[d["port"]].append(f"0x{value:0{2 * size}x}")
        elif kind == "pc-sample":
            others.append(f"PC: {d['address']}")
        elif kind == "exception":
            others.append(f"{ACTIONS[d['action']]}: {exception(int(d['number'], 0))}")
        elif kind == "data-pc":
            others.append(f"Watchpoint {d['comparator']}: PC {d['address']}")
        elif kind == "data-address":
            others.append(f"Watchpoint {d['comparator']}: address 0x????{d['value'][2:]}")
        elif kind == "data-value":
            way = "Write" if d["access"] == "store" else "Read"
            others.append(f"Watchpoint {d['comparator']}: {way} data {d['value']}")
        elif kind == "counters":
            mask = int(d["mask"], 16)
            names = [n for bit, n in ((5, "Cyc"), (4, "Fold"), (3, "LSU"), (2, "Sleep"),
                                      (1, "Exc"), (0, "CPI")) if mask >> bit & 1]
            others.append(" ".join(["DWT events:", *names]))
        elif kind == "local-time":
            ticks += int(d["value"], 16)
            others.append(f"Timestamp: {ticks} ({RELATIONS[d['relation']]})")
        elif kind == "overflow":
            others.append("Overflow")
        elif kind != "sync":
            others.append(f"{kind}: {raw}")
    return others, words, text


def printable(value):
    return 32 <= value < 127 or 9 <= value <= 13


def sort_sigrok(lines):
    others, words, text = [], collections.defaultdict(list), collections.defaultdict(str)
    for line in lines:
        if line.startswith("Unhandled sync"):
            continue
        m = re.fullmatch(r'(\d+): (?:"(.*)"|(0x[0-9a-f]+))', line, re.S)
        if not m:
            others.append(line)
        elif m.group(3):
            words[m.group(1)].append(m.group(3))
        else:
            text[m.group(1)] += m.group(2)
    return others, words, text


def compare(data, rows, folder):
    """Problems. Text that sigrok still holds at the end it does not print."""
    ours, theirs = sort_out(rows), sort_sigrok(sigrok(data, folder))
    problems = [f"{i}: {a}, sigrok: {b}" for i, (a, b) in enumerate(zip(ours[0], theirs[0]))
                if a != b]
    if len(ours[0]) != len(theirs[0]):
        problems.append(f"{len(ours[0])} packets, sigrok has {len(theirs[0])}")
    if ours[1] != theirs[1]:
        problems.append("words that software wrote differ")
    problems += [f"text of port {port}: sigrok has {text[:60]!r}"
                 for port, text in theirs[2].items() if not ours[2][port].startswith(text)]
    return problems


def random_stream(rng):
    def number(size):
        return rng.randbytes(size)

    def groups(count):
        return bytes(rng.randrange(128) | (0x80 if i + 1 < count else 0) for i in range(count))

    def source(number_of, size, data):
        return bytes([number_of << 3 | {1: 1, 2: 2, 4: 3}[size]]) + data
    known = [2, 3, 4, 5, 6, 11, 12, 14, 15, *range(16, 512)]
    out = bytearray(b"\0\0\0\0\0\x80")
    for _ in range(PACKETS):
        kind, size, c = rng.randrange(9), rng.choice((1, 2, 4)), rng.randrange(4)
        if kind == 0:
            # Of single characters none that ends a line or a text of the listing.
            out += source(rng.randrange(32), size,
                          bytes([rng.choice(CHARACTERS)]) if size == 1 else number(size))
        elif kind == 1:
            n = rng.choice(known)
            out += bytes([0x0E, n & 0xff, n >> 8 | rng.randrange(1, 4) << 4])
        elif kind == 2:
            out += b"\x17" + number(4)
        elif kind == 3:
            out += bytes([0x47 | c << 4]) + number(4)
        elif kind == 4:
            out += bytes([0x4E | c << 4]) + number(2)
        elif kind == 5:
            out += bytes([(0x84 | c << 4 | rng.randrange(2) << 3) | {1: 1, 2: 2, 4: 3}[size]]) \
                + number(size)
        elif kind == 6:
            out += bytes([0xC0 | c << 4]) + groups(rng.randrange(1, 5))
        elif kind == 7:
            out += bytes([rng.randrange(1, 7) << 4])
        else:
            out += rng.choice((b"\x70", bytes([0x05, rng.randrange(64)])))
    return bytes(out)


def check_random(report):
    seed = int(os.environ.get("ITM_SEED", str(time.time_ns() & 0xffffffff)))
    data = random_stream(random.Random(seed))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_snapshot(folder, data, "source_data")
        rows = oracle.packets("ITM_0", folder)
        report.check("itm random", compare(data, rows, folder),
                     f"{len(rows)} packets, ITM_SEED={seed}")


def check_capture(report):
    capture = oracle.capture("m3-etmv3-swo")
    if not capture:
        report.skip("itm capture", "no captures")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_snapshot(folder, (capture / "trace_example.tpiu.bin").read_bytes(), "coresight")
        rows = oracle.packets("ITM_0", folder)
        data = bytes.fromhex("".join(row[2] for row in rows))
        problems = compare(data, rows, folder)
        text = subprocess.run([os.environ.get("BTRACED", str(oracle.ROOT / "build" / "btraced")),
                               "decode", "--text", "0", name], capture_output=True, check=True,
                              timeout=60).stdout
        if text != b"OnOff" * 5:
            problems.append(f"the text of port 0 is {text!r}")
        report.check("itm capture", problems, f"{len(rows)} packets")


def btraced(*arguments):
    program = os.environ.get("BTRACED", str(oracle.ROOT / "build" / "btraced"))
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False,
                          timeout=60)


def check_beside(report):
    """The ITM and the ETM of one core in one stream; what --text does not take."""
    capture = oracle.capture("m3-etmv3-swo")
    if not capture:
        report.skip("itm beside etm", "no captures")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_snapshot(folder, (capture / "trace_example.tpiu.bin").read_bytes(), "coresight")
        (folder / "etm_0.ini").write_bytes((capture / "etm_0.ini").read_bytes())
        for file, old, new in (("snapshot.ini", "[trace]", "device2=etm_0.ini\n\n[trace]"),
                               ("trace.ini", "ITM_0=SWO_0", "ETM_0=SWO_0\nITM_0=SWO_0"),
                               ("trace.ini", "cpu_0=ITM_0", "cpu_0=ETM_0,ITM_0")):
            (folder / file).write_text((folder / file).read_text().replace(old, new))
        run = btraced("decode", name)
        found = re.findall(r"^source (\w+) \(core cpu_0\)$", run.stdout, re.M)
        problems = [] if sorted(found) == ["ETM_0", "ITM_0"] else [f"sources {found}", run.stderr]
        if "not supported" in run.stderr:
            problems.append(run.stderr)
        for wrong in (("--text", "x"), ("--text", "65536"), ("--text", "1:"), ("--text", "-1"),
                      ("--text", "0", "--events")):
            if btraced("decode", *wrong, name).returncode != 2:
                problems.append(f"{wrong} is taken")
        report.check("itm beside etm", problems)


def main():
    report = oracle.Report()
    if not oracle.tool("sigrok-cli"):
        report.skip("itm", "no sigrok-cli")
        report.exit()
    check_capture(report)
    check_beside(report)
    check_random(report)
    report.exit()


if __name__ == "__main__":
    main()
