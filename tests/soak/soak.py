#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A live board that traces all the time, with clients that come, look, wait, hang, vanish and send
garbage at random: SOAK_SECONDS of it (600), seeded by SOAK_SEED. Memory of the daemon is flat after
the first minute, no descriptor is left over, and the history at the end is what ran."""

import os
import random
import re
import socket
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench" / "gdb"))
from live_gdb import PROGRAMS, Live, Wire, board_file  # noqa: E402
from replay_gdb import Client, Suite, equal, expect, frame, has, wait_for  # noqa: E402

suite = Suite()
ELF = PROGRAMS / "crash-a9.elf"
SECONDS = int(os.environ.get("SOAK_SECONDS", "600"))
SEED = int(os.environ.get("SOAK_SEED", "1"))
SETTLED = min(60, SECONDS / 3)  # seconds until the memory must be what it is
PAUSE = SETTLED / 2             # between two moments at which nobody is there
GROWTH = 8192                   # kilobytes that may come and go while they are
TREND = 2048                    # kilobytes from the first third of the pauses to the last
OBSERVERS = 5
STEPS = 300


class Observers:
    """Clients that look on, each at something else."""

    def __init__(self, live, rng):
        self.live, self.random, self.open, self.done = live, rng, [], {}

    def count(self, what):
        self.done[what] = self.done.get(what, 0) + 1

    def come(self):
        client = Client(self.live.port)
        client.socket.settimeout(20)
        self.open.append(client)
        client.send(frame("qSupported:multiprocess+") + b"+" + frame("?"))

    def leave(self, client):
        client.close(reset=self.random.random() < 0.5)
        self.open.remove(client)

    def drain(self, client):
        client.socket.setblocking(False)
        try:
            while client.socket.recv(65536):
                pass
        except (BlockingIOError, ConnectionError):
            pass
        client.socket.settimeout(20)

    def ask(self, client):
        packets = ["g", "m60000020,100", "qfThreadInfo", "Qbtrace:bts", "qXfer:btrace:read:all:0,ffb", "bs",
                   "vCont;c", "?", "M60100000,4:00000000", "Z0,60000100,4", "qRcmd," + b"status".hex(),
                   "qRcmd," + b"clients".hex(), "qXfer:features:read:target.xml:0,ffb"]
        for _ in range(self.random.randrange(1, 12)):
            client.send(b"+" + frame(self.random.choice(packets)))

    def act(self):
        """One thing that happens at a desk."""
        what = self.random.choice(["come", "come", "ask", "ask", "ask", "leave", "garbage", "half", "hang",
                                   "browser", "flood"])
        self.count(what)
        try:
            if what == "come" or not self.open:
                if len(self.open) < OBSERVERS:
                    self.come()
                return
            client = self.random.choice(self.open)
            if what == "ask":
                self.ask(client)
            elif what == "leave":
                self.leave(client)
            elif what == "garbage":
                client.send(self.random.randbytes(self.random.randrange(1, 3000)))
            elif what == "half":
                client.send(frame("qXfer:btrace:read:all:0,ffb")[:self.random.randrange(1, 20)])
                self.leave(client)
            elif what == "browser":
                with socket.create_connection(("127.0.0.1", self.live.port), 20) as other:
                    other.sendall(b"GET / HTTP/1.1\r\n\r\n")
            elif what == "flood":
                client.send(frame("m60000020,100") * 300)
            if what not in ("hang", "flood") and client in self.open:
                self.drain(client)
        except (ConnectionError, socket.timeout):
            if self.open and what != "come":
                dead = client if client in self.open else None
                if dead:
                    self.leave(dead)

    def all_leave(self):
        for client in list(self.open):
            self.leave(client)

    def crowd(self):
        """As many as may come look far back, all at once: more memory is never in use."""
        self.all_leave()
        crowd = [Client(self.live.port, acks=False) for _ in range(OBSERVERS)]
        for client in crowd:
            client.ask("qSupported:multiprocess+")
            client.ask("?")
            client.ask("Qbtrace:bts")
            for _ in range(20):
                has(client.ask("bs"), "^(T05|E)")
            client.ask("qXfer:btrace:read:all:0,ffb")
        for client in crowd:
            client.close()


def descriptors(live):
    return len(os.listdir(f"/proc/{live.process.pid}/fd"))


def at_rest(live, rest):
    """Kilobytes when all have left, and their memory, too."""
    wait_for(lambda: descriptors(live) == rest, "closing of all descriptors")
    sizes = []
    for _ in range(10):
        time.sleep(0.05)
        sizes.append(live.memory())
    return min(sizes)


@suite.test(f"soak: {SECONDS} s of live trace, clients at random, seed {SEED}")
def _():
    rng = random.Random(SEED)
    path = board_file("virtual-a9", memory="1M", ring="1M")
    # A file with all that really ran would fill the disk.
    text = re.sub(r",truth=file:[^, ]*", "", path.read_text())
    path.write_text(text.replace("[gdb]\n", "[gdb]\nothers = observe\n") +
                    "[limits]\nmemory = 256K\n")
    with Live(path) as live:
        wire = Wire(live)
        wire.run_to_main(ELF, idle=True)
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        wire.blocks()
        rest = descriptors(live)
        observers = Observers(live, rng)
        start = time.monotonic()
        crowded, halts, quiet, most = 0, 0, [], 0
        while time.monotonic() - start < SECONDS:
            wire.send(frame("vCont;c"))
            until = time.monotonic() + rng.uniform(0.05, 0.6)
            while time.monotonic() < until:
                observers.act()
                time.sleep(0.01)
            wire.send(b"\x03")
            has(wire.reply(), "^T0", f"halt {halts}")
            halts += 1
            for _ in range(rng.randrange(6)):
                observers.act()
            has(wire.ask("g"), "^[0-9a-f]{128}", f"registers at halt {halts}")
            gone = time.monotonic() - start
            if gone > PAUSE * (len(quiet) + 1) / 2:
                observers.crowd()
                crowded = max(crowded, live.memory()) if gone < SETTLED else crowded
                quiet.append(at_rest(live, rest))
            if gone > SETTLED:
                most = max(most, live.memory())
                expect(most - crowded < GROWTH, f"memory is {most} kB, with a crowd it was "
                                                f"{crowded}; at rest {quiet}")
        settled = quiet[int(SETTLED / PAUSE * 2):]
        third = len(settled) // 3
        early, late = (sum(part) / third for part in (settled[:third], settled[-third:]))
        expect(late - early < TREND, f"at rest memory grows: {quiet} kB")
        observers.all_leave()
        wait_for(lambda: descriptors(live) == rest, "closing of all descriptors")
        expect(halts > SECONDS, f"only {halts} halts")
        print(f"# {halts} halts; memory with a crowd {crowded} kB, at most {most} kB, at rest each "
              f"{PAUSE / 2:.0f} s {quiet}; {dict(sorted(observers.done.items()))}", flush=True)
        # At last, step by step: the history must be the places that were seen.
        seen = [wire.pc()]
        for _ in range(STEPS):
            wire.step()
            seen.append(wire.pc())
        at = len(seen) - 1
        for begin, end in wire.blocks():
            equal(seen[at], end, f"{len(seen) - 1 - at} before the halt: the end of a block")
            while at > 0 and seen[at] != begin:
                at -= 1
            at -= 1
            if at < 0:
                break
        expect(at < 0, f"the history ends {at} instructions behind the first step")
        wire.close()


suite.run()
