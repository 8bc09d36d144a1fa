#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A long recording with the index beside it: the first answer of `replay` costs no more time than that of a
short one, and memory stays as it is there. The program is not the sanitizer build, whose time and memory
are not what is measured. Time is that of the processor: other work on the machine makes no difference."""

import os
import re
import shutil
import socket
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
os.environ["BTRACED"] = str(ROOT / "build" / "btraced")
sys.path.insert(0, str(ROOT / "tests" / "bench" / "gdb"))
from replay_gdb import DEMO, PATIENCE, Server, Suite, equal, expect, folder, has, lacks  # noqa: E402

suite = Suite()
SHORT, LONG = 10 << 20, 300 << 20
SECONDS = 1.0
MORE_MEMORY = 4 << 10  # kilobytes of its own
QUESTIONS = ["where", "goto 1", "history 5", "goto 123456789", "history 5", "trace status"]


def recording(size):
    """The demo's, over and over."""
    made = folder() / f"{size >> 20} MB"
    shutil.copytree(DEMO / "recording", made)
    trace = made / "buffer_0.bin"
    one = trace.read_bytes()
    with open(trace, "wb") as out:
        for _ in range(size // len(one) + 1):
            out.write(one)
    return made


class Replay:
    """Its answers, seconds of CPU time until the first one, kilobytes of its own at the end."""

    def __init__(self, place, *options):
        with Server(place, *options) as server:
            self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
            self.data = b""
            self.ask(b"QStartNoAckMode")
            self.answers = [self.ask(b"?")]
            fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            self.seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            self.answers += [self.ask(b"g")]
            self.answers += [self.ask(b"qRcmd," + q.encode().hex().encode()) for q in QUESTIONS]
            status = Path(f"/proc/{server.process.pid}/status").read_text()
            self.memory = int(re.search(r"^RssAnon:\s+(\d+) kB", status, re.MULTILINE)[1])
            self.socket.close()
            self.said = server.stderr

    def ask(self, text):
        """All replies up to the one that ends the answer."""
        self.socket.sendall(b"+$%s#%02x" % (text, sum(text) & 0xff))
        got = []
        while True:
            while not (whole := re.match(rb"\+*\$([^#]*)#..", self.data, re.DOTALL)):
                more = self.socket.recv(1 << 16)
                expect(more, f"the server closed the connection after {got}")
                self.data += more
            self.data = self.data[whole.end():]
            got.append(whole[1])
            if not (text.startswith(b"qRcmd") and re.match(rb"O[0-9a-f]", whole[1])):
                return got


@suite.test("long index: 300 MB answer as soon as 10 MB, in as much memory, with the same answers as without an index")
def _():
    short, place = Replay(recording(SHORT)), recording(LONG)
    wanted = Replay(place)
    has(wanted.said, "for want of an index")
    got = Replay(place)
    lacks(got.said, "for want of an index")
    equal(got.answers, wanted.answers, "answers with the index")
    expect(b"".join(got.answers[-1]) != b"".join(short.answers[-1]), "the same status as of the short one")
    print(f"{SHORT >> 20} MB: {short.seconds:.2f} s, {short.memory} kB; {LONG >> 20} MB: "
          f"{wanted.seconds:.2f} s, {wanted.memory} kB; with its index {got.seconds:.2f} s, {got.memory} kB")
    expect(wanted.seconds > got.seconds, "the index has saved nothing")
    expect(got.seconds < SECONDS, f"{got.seconds:.2f} s until the first answer")
    expect(got.memory < short.memory + MORE_MEMORY, f"{got.memory} kB, the short one {short.memory}")


suite.run()
