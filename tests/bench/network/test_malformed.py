#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Packets that are almost right: made from the grammar of GDB's protocol with faults in numbers,
separators, data and frames. The daemon answers afterwards, and no byte of memory has changed.
2,000 of them, 100,000 with BTRACED_FULL=1."""

import os
import random
import re
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import Live, board_file  # noqa: E402
from replay_gdb import (BTRACED, PATIENCE, Client, Failed, Suite, equal, expect, frame,  # noqa: E402
                        run)

suite = Suite()
COUNT = 100000 if os.environ.get("BTRACED_FULL") == "1" else 2000
BATCH = 50
RAM = 0x60100000  # nothing of the program is there
SIZE = 0x400
SEED = int(os.environ.get("BTRACED_SEED", "1"))
END = frame("qRcmd," + b"version".hex())
VERSION = run([BTRACED, "--version"]).encode().hex()
ANSWER = frame("O" + VERSION) + frame("OK")


class Grammar:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, *choices):
        return self.random.choice(choices)

    def number(self, good=None):
        value = good if good is not None else self.pick(0, 1, 4, RAM, RAM + 8, 0x60000020)
        return self.pick(b"%x" % value, b"%x" % value, b"%x" % value, b"", b"-1", b"0x%x" % value,
                         b"f" * 17, b"zz", b"1" * 40, b"%X" % value, b" ", b"%x%x" % (value, value))

    def address(self):
        return self.number(RAM + self.random.randrange(SIZE))

    def comma(self):
        return self.pick(b",", b",", b",", b",", b"", b",,", b";", b":")

    def colon(self):
        return self.pick(b":", b":", b":", b"", b"::", b",", b"=")

    def data(self):
        n = self.random.randrange(12)
        return self.pick(self.random.randbytes(n).hex().encode(), self.random.randbytes(n),
                         b"0" * (2 * n + 1), b"xx" * n, b"", b"00" * n + b"g")

    def thread(self):
        return self.pick(b"1", b"p1.1", b"p1", b"p", b"p1.", b"-1", b"0", b"p-1.-1", b"p1.99", b"ffffffffff",
                         b"p1.1.1", b"q")

    def tail(self):
        return self.pick(b"", b"", b"", b";", b":", b"\0", b"zz", b"\xff\xfe", b"," * 9)

    def packet(self):
        r = self
        return self.pick(
            lambda: self.pick(b"M", b"X") + r.address() + r.comma() + r.number(r.random.randrange(12)) +
            r.colon() + r.data() + r.tail(),
            lambda: b"m" + r.address() + r.comma() + r.number() + r.tail(),
            lambda: self.pick(b"Z", b"z") + r.number(r.random.randrange(7)) + r.comma() + b"zz" +
            r.comma() + r.number() + r.tail(),
            lambda: b"P" + self.pick(b"", b"zz", b"ffff", b"=") + b"=" + r.data() + b"g",
            lambda: b"G" + r.data() + b"x",
            lambda: b"p" + r.number() + r.tail(),
            lambda: b"g" + self.pick(b"g", b"0", b"\0"),
            lambda: b"H" + self.pick(b"g", b"c", b"z", b"") + r.thread() + r.tail(),
            lambda: b"T" + r.thread() + r.tail(),
            # Nothing that QEMU may take for a resume: the program would write where its registers
            # point to, and G has changed those.
            lambda: b"vCont;" + self.pick(b"", b"x", b"t:zz", b"q:1") + r.tail(),
            lambda: b"qXfer:" + self.pick(b"features", b"btrace", b"threads", b"memory-map", b"nothing",
                                          b"btrace-conf") + r.colon() +
            self.pick(b"read", b"write", b"") + r.colon() + self.pick(b"all", b"target.xml", b"new", b"",
                                                                     b"../../etc/passwd") +
            r.colon() + r.number() + r.comma() + r.number() + r.tail(),
            lambda: b"Qbtrace" + r.colon() + self.pick(b"bts", b"off", b"pt", b"") + r.tail(),
            lambda: b"Qbtrace-conf:bts:size" + self.pick(b"=", b"") + r.number() + r.tail(),
            lambda: b"qRcmd" + self.pick(b"", b",", b",zz", b",7", b",00", b",%s" % (b"no such thing".hex().encode())),
            lambda: b"vFlashWrite:" + r.address() + r.comma() + r.data(),
            lambda: b"vFlashErase:" + self.pick(b"zz", b"", b",") + r.tail(),
            lambda: b"qSupported" + r.colon() + r.random.randbytes(r.random.randrange(40)) + b";;;+-?=" * 3,
            lambda: b"qCRC:" + r.number() + r.comma() + r.number(4),
            lambda: b"vAttach" + self.pick(b"", b";zz", b";;1"),
            lambda: b"D" + self.pick(b"zz", b";zz", b",1"),
            lambda: b"vKill" + self.pick(b"", b";zz", b":1"),
            lambda: b"b" + self.pick(b"", b"x", b"ss", b"cc"),
            lambda: b"QStartNoAckMode" + self.pick(b"x", b"+", b"="),
            # QEMU does not answer for a thread that it does not have.
            lambda: b"qThreadExtraInfo" + r.pick(b",-1", b";1", b",p1.1;", b",q", b",,1", b"") + r.tail(),
            lambda: r.random.randbytes(r.random.randrange(1, 30)),
            lambda: b"",
            lambda: b"m" + b"0" * r.pick(100, 16000, 17000, 40000),
        )()

    def escaped(self, payload):
        return re.sub(rb"[#$}*]", lambda m: b"}" + bytes([m[0][0] ^ 0x20]), payload)

    def framed(self, payload):
        # What is not escaped may be a whole write by chance: it stays escaped.
        body = self.escaped(payload)
        good = b"$" + body + b"#%02x" % (sum(body) & 0xff)
        if self.random.randrange(4):
            return good
        return self.pick(good[:-1] + b"z", good[:-2] + b"zz", b"$" + body, b"$" + good, good[:-2] + b"#00",
                         good + b"+-+-", b"#" + good,
                         b"$" + body + b"}#%02x" % ((sum(body) + 0x7d) & 0xff), good[1:], good * 2)


def whole_write(payload):
    """A write that the target has every right to do."""
    match = re.fullmatch(rb"([MX])([0-9a-fA-F]{1,16}),([0-9a-fA-F]{1,16}):(.*)", payload, re.DOTALL)
    if not match:
        return False
    size = int(match[3], 16)
    return match[4] if match[1] == b"X" and len(match[4]) == size else \
        match[1] == b"M" and len(match[4]) == 2 * size and re.fullmatch(rb"[0-9a-fA-F]*", match[4]) is not None


def could_end_or_run(payload):
    """What ends the session, runs the target or resets it, and is not what is tested here."""
    return re.match(rb"(k|D$|D;[0-9a-f]+$|vKill;[0-9a-f]+$|R|vRun|c|s|C|S|bs$|bc$|vCont;[csCS](:|;|$)|F|!|t|i|I|A|r)",
                    payload) is not None


class Victim:
    """A connection that is made again when the daemon has ended it."""

    def __init__(self, live):
        self.live, self.ended = live, 0
        self.open()

    def open(self):
        self.client = Client(self.live.port, acks=False)
        self.client.ask("qSupported")

    def batch(self, data):
        """Sends it; the daemon answers behind it, or has ended the connection and takes another."""
        sock, asked = self.client.socket, 0
        seen, end = b"", time.monotonic() + PATIENCE
        sock.settimeout(0.05)
        try:
            # The rest of a frame that is not ended; a halt, for a server may take something for a
            # resume; a question that only this daemon answers.
            sock.sendall(data + b"#00")
            while ANSWER not in seen:
                if time.monotonic() > end:
                    raise Failed(f"no answer after {data[:2000]!r}")
                sock.sendall(b"\x03" + END)
                asked += 1
                try:
                    while ANSWER not in seen:
                        part = sock.recv(65536)
                        if not part:
                            raise ConnectionError
                        seen = seen[-400:] + part
                except socket.timeout:
                    continue
        except ConnectionError:
            self.ended += 1
            asked = 2
        sock.settimeout(PATIENCE)
        if asked > 1 or not seen.endswith(ANSWER):  # more answers are on their way
            self.client.close()
            self.open()

    def memory(self):
        # QEMU may have fallen silent on a packet: the connection to it is then made anew.
        end = time.monotonic() + PATIENCE
        while (answer := self.client.ask(f"m{RAM:x},{SIZE:x}"))[:1] == "E" and time.monotonic() < end:
            time.sleep(0.1)
        return answer


@suite.test(f"malformed: {COUNT} packets, an answer behind each batch, and memory as it was")
def _():
    grammar = Grammar(SEED)
    with Live(board_file("virtual-a9")) as live:
        victim = Victim(live)
        pattern = random.Random(7).randbytes(SIZE).hex()
        equal(victim.client.ask(f"M{RAM:x},{SIZE:x}:{pattern}"), "OK", "the pattern")
        equal(victim.memory(), pattern, "the pattern")
        made = 0
        while made < COUNT:
            batch = b""
            for _ in range(BATCH):
                payload = grammar.packet()
                while whole_write(payload) or could_end_or_run(payload):
                    payload = grammar.packet()
                batch += grammar.framed(payload)
            made += BATCH
            victim.batch(batch)
            if made % 500 == 0 and victim.memory() != pattern:
                raise Failed(f"memory has changed behind packet {made - 500} (BTRACED_SEED={SEED})")
        equal(victim.memory(), pattern, "memory")
        expect(victim.ended < COUNT / BATCH / 2, f"the daemon ended {victim.ended} connections")
        victim.client.close()


suite.run()
