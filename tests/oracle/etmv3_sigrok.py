#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""ETMv3 packets against sigrok's decoder, arm_etmv3: those of a real capture, and random ones with branches of
every length, exceptions and cancelled instructions, in A32 and T32 code. sigrok takes bit 6 of a one-byte branch
address in the alternative encoding from the address before, too (IHI 0014Q 7.3.3: it is the packet's): that many
addresses differ, and none else."""

import os
import random
import re
import subprocess
import tempfile
import time
from pathlib import Path

import oracle

PACKETS = 1500
CAPTURE = "m3-etmv3-swo"
SETUP = {
    "core.ini": "[device]\nname=cpu_0\nclass=core\ntype=Cortex-A8\n",
    "etm.ini": "[device]\nname=ETM_0\nclass=trace_source\ntype=ETM3.3\n\n[regs]\nETMCR(0x000)=0x00000080\n"
               "ETMIDR(0x079)=0x4114F240\nETMCCER(0x07A)=0x00000000\nETMTRACEIDR(0x080)=0x00000010\n",
    "snapshot.ini": "[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=core.ini\ndevice1=etm.ini\n\n"
                    "[trace]\nmetadata=trace.ini\n",
    "trace.ini": "[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=ETB_0\nfile=trace.bin\nformat=source_data\n\n"
                 "[source_buffers]\nETM_0=ETB_0\n\n[core_trace_sources]\ncpu_0=ETM_0\n",
}


def sigrok(data, folder):
    """The annotations, in order; the bytes go in as the line of a UART, four samples a bit."""
    line = bytearray(b"\1" * 40)
    for byte in data:
        for bit in (0, *(byte >> i & 1 for i in range(8)), 1, 1):
            line += bytes([bit]) * 4
    (folder / "line.bin").write_bytes(line + b"\1" * 80)
    run = subprocess.run(["sigrok-cli", "-I", "binary:numchannels=1:samplerate=4000000", "-i",
                          str(folder / "line.bin"), "-P", "uart:rx=0:baudrate=1000000,arm_etmv3", "-A",
                          "arm_etmv3=trace:branch:exception:execution"],
                         capture_output=True, text=True, check=True, timeout=300)
    return [text.partition(": ")[2] for text in run.stdout.splitlines()]


def branch(rng, last, shift):
    """(bytes, address): up to four bytes in the alternative encoding, with an exception now and then: the low bits of a
    new address, the others as they were."""
    count = rng.choice([1, 1, 1, 2, 2, 3, 4])
    widths = [6] + [7] * (count - 2) + [6] * (count > 1)
    mask = (1 << sum(widths)) - 1 << shift
    address = last & ~mask | rng.getrandbits(32) & mask
    bits, out = address >> shift, []
    for width in widths:
        out.append(bits & (1 << width) - 1)
        bits >>= width
    out[0] = out[0] << 1 | 1
    out[:-1] = [byte | 0x80 for byte in out[:-1]]
    if count > 1 and rng.random() < 0.2:
        out[-1] |= 0x40
        out.append(rng.randrange(1, 16) << 1 | rng.getrandbits(1) << 5)
    return out, address


def random_stream(rng):
    data, address, shift = [], 0, 1
    for number in range(PACKETS):
        if number % 100 == 0:
            thumb = rng.getrandbits(1)
            shift = 1 if thumb else 2
            address = rng.getrandbits(31) >> shift << shift
            data += [0, 0, 0, 0, 0, 0x80, 0x08, 0x21, *(address | thumb).to_bytes(4, "little")]
        elif rng.random() < 0.4:
            more, address = branch(rng, address, shift)
            data += more
        elif rng.random() < 0.8:
            data.append(0x80 | rng.randrange(1, 16) << 2 | rng.getrandbits(1) << 6)
        else:
            data.append(0x82 | rng.randrange(4) << 2)
    return bytes(data)


def in_their_words(rows):
    """Our packets as sigrok tells them, and how many addresses it misreads."""
    out, their_last, misread = [], 0, 0
    for _, _, raw, kind, detail in rows:
        d = dict(item.split("=", 1) for item in detail.split() if "=" in item)
        if kind == "i-sync":
            their_last = int(d["address"], 16)
            out.append(f"PC {d['address']}, {'thumb' if d['isa'] == 'T32' else 'arm'} state")
        elif kind == "branch":
            address, bit = int(d["address"], 16), 0x40 if d["isa"] == "T32" else 0x80
            one = int(raw.split()[0], 16) < 0x80
            theirs = address | their_last & bit if one else address
            misread += theirs != address
            their_last = theirs
            out.append(f"Branch to 0x{theirs:08x}{' cancelled' if 'cancel' in detail else ''}")
        elif kind == "atom" and re.fullmatch("E*N?", d["atoms"]) and int(raw, 16) & 0x83 == 0x80:
            executed, skipped = d["atoms"].count("E"), d["atoms"].count("N")
            out.append(f"{executed} executed, {skipped} skipped")
        elif kind == "atom":
            out.append(d["atoms"])
    return out, misread


def in_our_order(lines):
    """The same of what sigrok says; all else is left out."""
    out = []
    for line in lines:
        if found := re.search(r"I-Sync: .*(PC 0x[0-9a-f]{8}, \w+ state)", line):
            out.append(found[1])
        elif found := re.match(r"(Branch to 0x[0-9a-f]{8})", line):
            out.append(found[1] + (" cancelled" if "cancelled" in line else ""))
        elif found := re.match(r"(\d+) instructions executed(?:, (\d+) skipped)?", line):
            out.append(f"{found[1]} executed, {found[2] or 0} skipped")
        elif found := re.match(r"Instruction 1 (\w+), instruction 2 (\w+)", line):
            out.append("".join("E" if word == "executed" else "N" for word in found.groups()))
    return out


def compare(report, name, recording, folder):
    rows = list(oracle.packets("ETM_0", recording))
    ours, misread = in_their_words(rows)
    theirs = in_our_order(sigrok(bytes.fromhex("".join(row[2] for row in rows)), folder))
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), None)
    problems = [] if at is None else [f"packet {at}: {ours[at]}, sigrok: {theirs[at]}"]
    if len(ours) != len(theirs):
        problems.append(f"{len(ours)} packets, sigrok has {len(theirs)}")
    report.check(name, problems, f"{len(theirs)} packets, {misread} addresses that sigrok misreads")


def main():
    report = oracle.Report()
    if not oracle.tool("sigrok-cli"):
        report.skip("etmv3 packets", "no sigrok-cli")
        report.exit()
    seed = int(os.environ.get("BTRACED_SEED", time.time_ns() % 10**9))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, text in SETUP.items():
            (folder / file).write_text(text)
        (folder / "trace.bin").write_bytes(random_stream(random.Random(seed)))
        compare(report, f"etmv3 packets, seed {seed}", folder, folder)
        capture = oracle.capture(CAPTURE)
        if capture:
            compare(report, f"etmv3 packets, {CAPTURE}", capture, folder)
    report.exit()


if __name__ == "__main__":
    main()
