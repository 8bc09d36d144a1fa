#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames of a trace port against sigrok's decoder, arm_tpiu: the bytes of the one source in the demo's
recording, with full syncs between frames. Half syncs are left out: sigrok does not know them."""

import subprocess
import tempfile
from pathlib import Path

import oracle

RECORDING = oracle.ROOT / "tests/demo/recording"
TRACE_ID = 0x10
SYNC = b"\xff\xff\xff\x7f"


def sigrok(data, folder):
    """Bytes of that source; they go in as the line of a UART, four samples a bit."""
    line = bytearray(b"\1" * 40)
    for byte in data:
        for bit in (0, *(byte >> i & 1 for i in range(8)), 1, 1):
            line += bytes([bit]) * 4
    (folder / "line.bin").write_bytes(line + b"\1" * 80)
    run = subprocess.run(["sigrok-cli", "-I", "binary:numchannels=1:samplerate=4000000", "-i",
                          str(folder / "line.bin"), "-P",
                          f"uart:rx=0:baudrate=1000000,arm_tpiu:stream={TRACE_ID}", "-A",
                          "arm_tpiu=data"], capture_output=True, text=True, check=True, timeout=300)
    return bytes(int(text.partition(": ")[2], 16) for text in run.stdout.splitlines())


def main():
    report = oracle.Report()
    if not oracle.tool("sigrok-cli"):
        report.skip("tpiu frames", "no sigrok-cli")
        report.exit()
    data = (RECORDING / "buffer_0.bin").read_bytes()
    port = b"".join((SYNC if at % 128 == 0 else b"") + data[at:at + 16]
                    for at in range(0, len(data), 16))
    ours = bytes.fromhex("".join(row[2] for row in oracle.packets("PTM_0", RECORDING)))
    with tempfile.TemporaryDirectory() as name:
        theirs = sigrok(port, Path(name))
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), None)
    problems = [] if at is None else [f"byte {at}: {ours[at]:#x}, sigrok: {theirs[at]:#x}"]
    if not 0 <= len(ours) - len(theirs) <= 16:  # it waits for a sync behind the last frame
        problems.append(f"{len(ours)} bytes, sigrok has {len(theirs)}")
    report.check("tpiu frames", problems, f"{len(theirs)} bytes")
    report.exit()


if __name__ == "__main__":
    main()
