#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A live board that traces all the time, with clients that come, look, wait, hang, vanish and send
garbage at random, and attackers who ask the worst questions, want a shell and a file, flood the metrics and
have the board file read again: SOAK_SECONDS of it (600), seeded by SOAK_SEED. Memory of the daemon is flat
after the first minute, no descriptor and no thread is left over, nobody waits for long, and the history at
the end is what ran. SOAK_NO_BARS=1 only says how long somebody waited."""

import http.client
import os
import random
import re
import socket
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "bench" / name) for name in ("gdb", "network")]
from live_gdb import PROGRAMS, Live, Wire, board_file  # noqa: E402
from metrics_page import numbers, page  # noqa: E402
from replay_gdb import Client, Suite, equal, expect, frame, has, logged, wait_for  # noqa: E402

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
CTRL_C, METRICS, SIGTERM, AWAY = 100, 100, 2000, 50  # milliseconds at most
BARS = not os.environ.get("SOAK_NO_BARS")
QUESTIONS = ("history 1000", "when 0x12345678", "when main", "gaps", "trace status", "status", "clients", "help",
             "goto begin", "goto end", "goto -100000", "where", "version", "history 200")
ATTACKS = ("migrate -d \"exec:touch /tmp/soak\"", "logfile /tmp/soak", "record start ../x", "kick 999", "reset",
           "\x1b[2J", "exec id", "reload", "record start x", "info `id`")
PACKETS = ("vFile:open:2f657463,0,0", "vRun;2f62696e", "qXfer:exec-file:read::0,100", "Qqemu.PhyMemMode:1", "vKill;1",
           "F-1,d", "QTSave:/tmp/soak", "jThreadsInfo", "qXfer:btrace:read:full:0,ffb", "vCont;s:p1.1", "bc", "R00")


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
                                   "browser", "flood", "question", "question", "attack", "attack", "stranger",
                                   "slow"])
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
            elif what == "question":
                client.send(frame("qRcmd," + self.random.choice(QUESTIONS).encode().hex()))
            elif what == "attack":
                text = self.random.choice(ATTACKS).encode().hex()
                client.send(b"+" + frame(self.random.choice(["qRcmd," + text, *PACKETS])))
            elif what == "stranger":
                status = ask_metrics(self.live, self.random.choice(["evil.example", "127.0.0.1.evil.example"]))
                equal(status, 403, "answer to a foreign host")
            elif what == "slow":
                client.send(b"$")
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


def ask_metrics(live, host):
    port = int(logged(live, r"^numbers at http://127\.0\.0\.1:(\d+)/metrics$")[1])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/metrics", headers={"Host": host})
    status = connection.getresponse().status
    connection.close()
    return status


class Waits:
    """How long those who do nothing wrong have waited, in milliseconds."""

    def __init__(self):
        self.longest, self.all = {}, {}

    def measure(self, what, action):
        start = time.monotonic()
        result = action()
        waited = (time.monotonic() - start) * 1000
        self.longest[what] = max(self.longest.get(what, 0), waited)
        self.all.setdefault(what, []).append(waited)
        return result

    def __str__(self):
        return ", ".join(f"{what} {self.longest[what]:.1f} ms at most, {sorted(all_)[len(all_) // 2]:.1f} in the middle"
                         for what, all_ in sorted(self.all.items()))

    def check(self, what, bar):
        expect(not BARS or self.longest[what] <= bar, f"{what} took {self.longest[what]:.0f} ms, and {bar} is the bar")


def threads(live):
    return len(os.listdir(f"/proc/{live.process.pid}/task"))


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
                    "[limits]\nmemory = 256K\n[metrics]\nlisten = 127.0.0.1:0\n")
    waits = Waits()
    with Live(path) as live:
        wire = Wire(live)
        wire.run_to_main(ELF, idle=True)
        equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
        wire.blocks()
        rest = descriptors(live)
        observers = Observers(live, rng)
        start = time.monotonic()
        crowded, halts, quiet, most, many = 0, 0, [], 0, []
        while time.monotonic() - start < SECONDS:
            wire.send(frame("vCont;c"))
            until = time.monotonic() + rng.uniform(0.05, 0.6)
            while time.monotonic() < until:
                observers.act()
                time.sleep(0.01)
            has(waits.measure("Ctrl-C", lambda: (wire.send(b"\x03"), wire.reply())[1]), "^T0", f"halt {halts}")
            halts += 1
            found = numbers(waits.measure("metrics", lambda: page(live)))
            many.append(threads(live))
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
        expect(halts > SECONDS or not BARS, f"only {halts} halts")
        expect(max(many[len(many) // 2:]) <= max(many[:len(many) // 2]), f"threads come and stay: {many}")
        away = found["btraced_loop_away_longest_microseconds"] / 1000
        print(f"# {waits}; event loop away {away:.1f} ms at most, {found['btraced_loop_away_long_total']} times for "
              f"more than 50 ms; {rest} descriptors and {min(many)} to {max(many)} threads", flush=True)
        work = found["btraced_loop_work_longest_microseconds"] / 1000
        print(f"# event loop at work {work:.1f} ms at most in a round", flush=True)
        expect(work <= AWAY, f"the event loop worked for {work} ms without looking at anybody else")
        waits.check("Ctrl-C", CTRL_C)
        waits.check("metrics", METRICS)
        expect(not BARS or away <= AWAY, f"the event loop was away for {away} ms")
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
        wire.send(frame("vCont;c"))
        for _ in range(OBSERVERS - 1):
            observers.come()
        for client in observers.open:
            client.send(frame("qRcmd," + b"when 0x12345678".hex()))
        live.terminate()
        waits.measure("SIGTERM", live.process.wait)
        print(f"# {waits}", flush=True)
        waits.check("SIGTERM", SIGTERM)
        wire.close()


suite.run()
