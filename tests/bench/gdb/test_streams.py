#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Trace streams that are no probe's: a recorded capture over TCP in every form, and through a serial
device, decoded live with the history that the recording has."""

import os
import re
import subprocess

from live_gdb import Live, Wire
from replay_gdb import (BTRACED, GAP, PATIENCE, Suite, environment, equal, expect, folder, has,
                        logged, same_list)
from streams import (COUNT, RECORDING, Process, Target, board, decoded, frames, orbflow, port, runs,
                     serve_file, whole_history, wait_until, wanted_blocks)

MAGIC = b"%%ORBFLOW1.0.0%%"
tests = Suite()


def forms():
    data = frames()
    source = b"".join(bytes(payload) for _, payload in runs(data))
    return {"tpiu": port(data), "frames": data, "orbflow": MAGIC + orbflow(data), "raw": source}


def history(wire):
    equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace")
    return whole_history(wire)


def same_history(path, wanted, record):
    with Live(path, "--record", str(record)) as live:
        with Wire(live) as wire:
            same_list(history(wire), wanted, "the live history")
        logged(live, r"^trace clock")
    same_list(decoded(record), decoded(RECORDING), "the listing of what was recorded")


for kind in ("tpiu", "frames", "orbflow", "raw"):
    @tests.test(f"streams: a capture over TCP, {kind}")
    def over_tcp(kind=kind):
        sent, place = forms()[kind], folder()
        (place / "capture").write_bytes(sent)
        wanted = wanted_blocks()
        process, number = serve_file(place / "capture")
        with process, Target() as target:
            trace = f"[trace]\nconnect = 127.0.0.1:{number}\nformat = {kind}"
            same_history(board(target.port, trace, place), wanted, place / "recorded")


class Cable(Process):
    """A pair of pseudo terminals; what is written to `far` comes out of the serial device `near`."""

    def __init__(self, place):
        self.near, self.far = place / "near", place / "far"
        super().__init__("socat", f"pty,raw,echo=0,link={self.near}",
                         f"pty,raw,echo=0,link={self.far}")
        wait_until(lambda: self.near.exists() and self.far.exists(), "socat's terminals")

    def send(self, data):
        with open(self.far, "wb", buffering=0) as far:
            at = 0
            while at < len(data):
                at += far.write(data[at:at + 512])

    def pull(self):
        self.kill()
        for link in (self.near, self.far):
            link.unlink(missing_ok=True)


def serial_board(target, place, kind, baud="921600"):
    return board(target.port, f"[trace]\nformat = {kind}\n[capture]\ntype = tty\n"
                 f"device = {place}/near\nbaud = {baud}", place)


@tests.test("streams: a serial device")
def serial():
    for kind in ("tpiu", "orbflow"):
        sent, place = forms()[kind], folder()
        wanted = wanted_blocks()
        with Target() as target, Cable(place) as cable:
            with Live(serial_board(target, place, kind), "--record", str(place / "r")) as live, \
                    Wire(live) as wire:
                equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace")
                has(wire.monitor("trace status"),
                    rf"^trace clock +running: serial device {place}/near at 921600 bits a second$")
                cable.send(sent)
                same_list(whole_history(wire), wanted, "the live history")
            same_list(decoded(place / "r"), decoded(RECORDING), "the listing of what was recorded")


@tests.test("streams: a serial device that goes and comes back")
def serial_again():
    sent, place = forms()["tpiu"], folder()
    wanted = wanted_blocks()
    with Target() as target:
        cable = Cable(place)
        with Live(serial_board(target, place, "tpiu")) as live, Wire(live) as wire:
            equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace")
            cable.send(sent)
            same_list(whole_history(wire), wanted, "the history before")
            cable.pull()
            wait_until(lambda: re.search(r"^trace clock +stopped: .*near", wire.monitor("trace status"),
                                         re.MULTILINE), "the end of the device")
            with Cable(place) as again:
                wait_until(lambda: "running" in wire.monitor("trace status"), "the device")
                again.send(sent)
                both = whole_history(wire, 2 * COUNT)
                gaps = wire.monitor("trace gaps") + wire.monitor("trace status")
            # Newest first; the older half stays, and one gap parts them.
            expect(both.count(GAP) == 2 * wanted.count(GAP) + 1,
                   f"{both.count(GAP)} gaps: {gaps}\n{live.stderr}")
            expect(both[:len(wanted)] == wanted, "the history after the gap is another one")


def refused(path):
    done = subprocess.run([BTRACED, "serve", "-c", str(path)], stdin=subprocess.DEVNULL, check=False,
                          capture_output=True, text=True, timeout=PATIENCE, env=environment())
    expect(done.returncode != 0, "the server starts")
    return done.stderr


@tests.test("streams: a serial device that is none")
def no_serial():
    place = folder()
    with Target() as target:
        path = serial_board(target, place, "tpiu")
        has(refused(path), r"^btraced serve: cannot open serial device '.*/near': No such file")
        (place / "near").write_bytes(b"")
        has(refused(path), r"^btraced serve: '.*/near' is not a serial device$")


@tests.test("streams: a capture unit that is not there")
def no_unit():
    place = folder()
    with Target() as target:
        path = board(target.port, "[capture]\ntype = orbtrace", place)
        has(refused(path), r"^btraced serve: (no ORBTrace found on USB|cannot use USB: .*)$")
        path = board(target.port, "[trace]\nformat = tpiu\n[capture]\ntype = ftdi-fifo", place)
        has(refused(path), r"^btraced serve: (no FTDI adapter found on USB|cannot use USB: .*)$")


if __name__ == "__main__":
    os.umask(0o077)
    tests.run()
