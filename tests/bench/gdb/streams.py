# SPDX-License-Identifier: BSD-3-Clause
"""The demo's recording as a stream of trace: in each form that capture units send, served by socat,
and a halted target that belongs to it (`btraced replay` of the same recording)."""

import random
import re
import socket
import subprocess
import time

from replay_gdb import BTRACED, DEMO, PATIENCE, Client, Server, environment, expect, tool

RECORDING = DEMO / "recording"
SYNC = b"\xff\xff\xff\x7f"
HALF = b"\xff\x7f"


def frames():
    return (RECORDING / "buffer_0.bin").read_bytes()


# The forms: written from the specification, not from the decoder.

def port(data, period=8, seed=1):
    """What a TPIU in continuous mode sends: syncs between and half syncs in the frames, joined
    somewhere in the middle."""
    out, dice = bytearray(b"\x12\x34\x56"), random.Random(seed)
    for number, at in enumerate(range(0, len(data), 16)):
        if number % period == 0:
            out += SYNC
        for pair in range(at, at + 16, 2):
            out += HALF * (dice.random() < 0.1) + data[pair:pair + 2]
    return bytes(out)


def runs(data):
    """(ID, bytes) of frames, bytes of one source joined."""
    found, current, later = [], 0, None

    def put(source, byte):
        if source == 0:
            return
        if not found or found[-1][0] != source:
            found.append((source, bytearray()))
        found[-1][1].append(byte)

    for at in range(0, len(data), 16):
        for slot in range(15):
            byte, low = data[at + slot], data[at + 15] >> slot // 2 & 1
            if slot % 2:
                put(current, byte)
                current, later = (current if later is None else later), None
            elif byte & 1 and low and slot < 14:
                later = byte >> 1
            elif byte & 1:
                current = byte >> 1
            else:
                put(current, byte | low)
    return found


def cobs(packet):
    out = bytearray()
    for number, part in enumerate(bytes(packet).split(b"\0")):
        while len(part) >= 254:
            out += b"\xff" + part[:254]
            part = part[254:]
        out += bytes([len(part) + 1]) + part
    return bytes(out) + b"\0"


def orbflow(data, size=1024):
    out = bytearray()
    for source, payload in runs(data):
        for at in range(0, len(payload), size):
            packet = bytes([source]) + payload[at:at + size]
            out += cobs(packet + bytes([-sum(packet) & 0xff]))
    return bytes(out)


# The test bench.

REGISTERS = """source = PTM1.1
ETMCR = 0x30000400
ETMIDR = 0x411CF312
ETMCCER = 0x34C01AC2
ETMTRACEIDR = 0x10
"""


def board(target, trace, place, name="stream", more=""):
    """A board file: a target at a port, and lines of [trace] or other sections."""
    path = place / f"{name}.conf"
    path.write_text(f"[target]\nconnect = 127.0.0.1:{target}\n{trace}\n{more}"
                    f"[core cpu_0]\ntype = Cortex-A15\nprogram = {DEMO}/crash.elf\n{REGISTERS}")
    return path


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Process:
    """A helper program, ended by the `with` statement."""

    def __init__(self, *command, **options):
        tool(command[0])
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, **options)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


def wait_until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        expect(time.monotonic() < end, f"{what} does not come")
        time.sleep(0.01)


COUNT = 20545  # instructions of the recording


def whole_history(wire, count=COUNT):
    """Waits until the history is so long, and nothing is left to be decoded; its blocks then."""
    def all_there():
        text = wire.monitor("trace status")
        return "bytes wait" not in text and \
            re.search(rf"^history +instructions 1 to {count} ", text, re.MULTILINE)
    wait_until(all_there, f"instruction {count}")
    return wire.blocks("all")


def serve_file(path):
    """socat that sends a file to the first who connects; (process, port)."""
    number = free_port()
    process = Process("socat", "-u", f"OPEN:{path}", f"TCP-LISTEN:{number},bind=127.0.0.1,reuseaddr")
    listening = f":{number:04X} 00000000:0000 0A"
    wait_until(lambda: listening in open("/proc/net/tcp", encoding="ascii").read(), "socat")
    return process, number


def decoded(recording):
    """What `btraced decode` lists of instructions, by address alone."""
    out = subprocess.run([BTRACED, "decode", "--instructions", str(recording)], check=False,
                         capture_output=True, text=True, timeout=PATIENCE, env=environment())
    expect(out.returncode == 0, f"decode: {out.stderr[:300]}")
    return [line for line in out.stdout.splitlines() if line.strip()]


class Target(Server):
    """The halted target."""

    def __init__(self):
        super().__init__(RECORDING)


def wanted_blocks():
    with Target() as target, Client(target.port) as client:
        client.start()
        return client.blocks("all")
