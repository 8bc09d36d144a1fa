#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A plain libusb program reads the trace endpoints of the modelled probes; what an ORBTrace sends is
judged by decoders of ORBFLOW and of frames that know nothing of the model. OpenOCD uses its debug
side. Arguments: names of the parts to run."""

import pathlib
import random
import re
import subprocess
import sys
import tempfile

import openocd_bench
from openocd_bench import BENCH, ORBTRACE, PATIENCE, STREAM_CLIENT, cannot_run, check, expect, orbflow, passed

FULL, HALF = b"\xff\xff\xff\x7f", b"\xff\x7f"


def frame(source, payload):
    """One ID byte, then fourteen bytes of that source."""
    out, aux = bytearray(16), 0
    out[0] = source << 1 | 1
    for slot, byte in enumerate(payload, 1):
        out[slot] = byte if slot % 2 else byte & 0xfe
        aux |= 0 if slot % 2 else (byte & 1) << slot // 2
    out[15] = aux
    return bytes(out)


def port(count, sources):
    """What a port sends, with syncs of both kinds; the frames; and each source's bytes."""
    rnd = random.Random(count)
    out, frames, streams = bytearray(), bytearray(), {}
    for n in range(count):
        source = rnd.choice(sources)
        payload = bytes(rnd.choice((0, 0xff, rnd.randrange(256))) for _ in range(14))
        one = frame(source, payload)
        out += FULL if n % 64 == 0 else b""
        for i in range(0, 16, 2):
            out += (HALF if rnd.random() < 0.02 else b"") + one[i:i + 2]
        frames += one
        streams.setdefault(source, bytearray()).extend(payload)
    return bytes(out), bytes(frames), streams


def units(wire):
    """Frames, and the lost and total counters of the last keep-alive unit."""
    frames, lost, total = bytearray(), None, None
    for at in range(0, len(wire), 16):
        one = wire[at:at + 16]
        if one[12:] == FULL and one[0] == 0xa6:
            lost, total = (int.from_bytes(one[a:b], "little") for a, b in ((6, 8), (8, 12)))
        else:
            frames += one
    return bytes(frames), lost, total


class Run:
    """The client's last line in `figures`, what came in `wire`, lengths of transfers, counters."""

    def __init__(self, folder, probe, stream, *options, client=()):
        base = pathlib.Path(folder)
        wire, lengths, report = base / "wire", base / "lengths", base / "report"
        (base / "port").write_bytes(stream)
        done = subprocess.run([BENCH, "--probe", probe, "--report", report, *options,
                               "--", STREAM_CLIENT, *client, "-o", wire, "-l", lengths],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=2 * PATIENCE)
        self.text = done.stdout
        self.code = done.returncode
        self.wire = wire.read_bytes() if wire.exists() else b""
        self.lengths = [int(n) for n in lengths.read_text().split()] if lengths.exists() else []
        self.counters = {k: int(v) for k, v in
                         (line.split() for line in report.read_text().splitlines())}
        figures = re.search(r"^(\d+) bytes, ([\d.]+) MB/s, .*, (\d+) overruns, error (-?\d+)$",
                            self.text, re.M)
        self.rate = float(figures[2]) if figures else 0.0
        self.good = self.code == 0 and bool(figures) and figures[4] == "0"


def whole(folder):
    """Nothing is lost: every byte of each source arrives, in order, by both protocols."""
    stream, frames, streams = port(20000, (0x10, 0x22, 0x7d, 0))
    del streams[0]
    path = ("--paced", f"{folder}/port")
    for name, probe, options in (("", "orbtrace", ()),
                                 (", interfaces in another order", "orbtrace,reversed", ()),
                                 (", as an alternate setting", "orbtrace,both", ("-a", "1"))):
        run = Run(folder, probe, stream, *path, "--buffer", "0",
                  client=("-i", "3000", *options))
        got, bad = orbflow(run.wire)
        check(f"orbtrace: ORBFLOW{name}", run.good and not bad and got == streams,
              f"{run.text!r}, {bad} bad, { {k: len(v) for k, v in got.items()} }")
    run = Run(folder, "orbtrace,frames", stream, *path, "--buffer", "0",
              client=("-B", str(len(frames) + 16)))
    got, lost, total = units(run.wire)
    starts = all(n % 16 == 0 for n in run.lengths)
    check("orbtrace: frames of old gateware", run.good and got == frames and starts
          and (lost, total) == (0, 20000), f"{run.text!r}, {len(got)}, {lost}, {total}")


def slow(folder):
    """A trickle: transfers end early, at the ends of packets, at most ten times a second. A machine that gives nobody
    time for a second has less of them."""
    stream, _, streams = port(100, (5, 9))
    run = Run(folder, "orbtrace", stream, "--paced", f"{folder}/port,300", client=("-t", "4"))
    got, bad = orbflow(run.wire)
    begins = all(bytes(streams[tag]).startswith(got[tag]) for tag in got)
    at, ends = 0, True
    for n in run.lengths:
        at += n
        ends &= n > 0 and run.wire[at - 1:at] == b"\0"
    check("orbtrace: a slow port is flushed", run.good and not bad and begins and ends and got
          and 3 <= len(run.lengths) <= 41, f"{run.text!r}, {run.lengths}, {bad} bad")


def overflow(folder):
    """The host waits for nothing for a while: what the small memory does not hold is lost."""
    stream, frames, streams = port(20000, (0x10,))
    client = ("-s", "4096", "-n", "4", "-p", "200", "-B", "800000", "-t", str(PATIENCE))
    path = ("--paced", f"{folder}/port,2000000,0")
    # On a busy machine the client may have had enough before the unit that tells of the loss.
    for _ in range(3):
        run = Run(folder, "orbtrace,frames,pending", stream, *path, client=client)
        got, lost, total = units(run.wire)
        if lost:
            break
    endless = frames * (len(got) // len(frames) + 1)
    at = next(i for i in range(0, len(got) + 16, 16) if got[i:i + 16] != endless[i:i + 16])
    # The lost frames are counted in 16 bits.
    counted = run.counters["trace-lost"] // 16 & 0xffff
    check("orbtrace: lost frames are counted", run.good and lost and 1000 * 16 < at < len(got)
          and run.counters["trace-lost-frames"] == counted,
          f"{run.text!r}, {lost} lost of {total}, {counted} counted, others from {at}")
    for name, probe, damaged in (("bytes", "orbtrace", True), ("packets", "orbtrace,whole", False)):
        run = Run(folder, probe, stream, *path, client=client)
        got, bad = orbflow(run.wire)
        check(f"orbtrace: ORBFLOW that loses {name}",
              run.good and (bad > 0) == damaged and run.counters["trace-lost"] > 100000
              and bytes(got[0x10])[:10000] == bytes(streams[0x10])[:10000],
              f"{run.text!r}, {bad} bad, {run.counters['trace-lost']} lost")


# Runs inside the test bench: pulls the cable under a client that comes back, until it may not.
CABLE = """
import socket, subprocess, sys
client, path = sys.argv[1:]
link = socket.socket(socket.AF_UNIX)
link.connect(path)
link.settimeout(300)
lines = link.makefile("rw")
def ask(text):
    print(text, file=lines, flush=True)
    answer = lines.readline()
    while not answer.startswith(("ok", "error")):
        answer = lines.readline()
    return answer.strip()
stays = subprocess.Popen([client, "-r", "2", "-t", "300"], stdout=subprocess.PIPE, text=True,
                         bufsize=1)
for _ in range(3):
    line = ""
    while not line.startswith("streaming"):
        line = stays.stdout.readline()
        if not line:
            sys.exit("the client has ended")
        print(line, end="")
    print(ask("unplug"), end=" ")
    print(ask("replug"))
print(stays.communicate(timeout=300)[0], end="")
sys.exit(stays.returncode)
"""


def cable(folder):
    """The cable is pulled out of a stream, and the stream begins anew when it is back."""
    stream, _, _ = port(20000, (0x10,))
    path, control = pathlib.Path(folder) / "port", pathlib.Path(folder) / "control"
    path.write_bytes(stream)
    for probe in ("orbtrace", "ftdi"):
        done = subprocess.run([BENCH, "--probe", probe, "--control", control,
                               "--paced", f"{path},1000000,0", "--", sys.executable, "-c", CABLE,
                               STREAM_CLIENT, control], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=2 * PATIENCE)
        rounds = re.findall(r"^(\d+) bytes.* error (\d+)$", done.stdout, re.M)
        sizes, errors = [int(n) for n, _ in rounds], [e for _, e in rounds]
        check(f"{probe}: pulled out of a stream, and back", done.returncode == 0
              and done.stdout.count("ok ok\n") == 3 and errors == 3 * ["5"]
              and all(sizes), done.stdout)


def refused(folder):
    stream, _, _ = port(10, (1,))
    run = Run(folder, "orbtrace", stream, "--paced", f"{folder}/port", client=("-f", "4"))
    check("orbtrace: a format that does not exist", run.code == 1
          and "refused: LIBUSB_ERROR_PIPE" in run.text, run.text)


def debug(folder):
    for name, probe in (("", "orbtrace"), (", interfaces in another order", "orbtrace,reversed")):
        result = openocd_bench.run("halt\necho [reg pc]\necho [mdw 0x08000000]", "--probe", probe,
                                  folder=folder, adapter=ORBTRACE)
        expect(f"orbtrace: OpenOCD{name}", result, r"SWD DPIDR 0x2ba01477", r"pc \(/32\): 0x0800004",
               r"0x08000000: 20008000")


def main():
    lacking = cannot_run("orbtrace", ("openocd", "umockdev-wrapper"),
                         [(path, "usb-tests") for path in (BENCH, STREAM_CLIENT)])
    if lacking is not None:
        return lacking
    with tempfile.TemporaryDirectory() as folder:
        for part in (whole, slow, overflow, refused, cable, debug):
            if len(sys.argv) == 1 or part.__name__ in sys.argv[1:]:
                part(folder)
    return passed()


if __name__ == "__main__":
    sys.exit(main())
