#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What others wait for while one client asks the worst questions over a recording of 300 million instructions:
registers and the page of metrics, Ctrl-C of a second one who searches as far, SIGTERM; and what a question
takes. Prints lines for report.py, fields are NAME=VALUE, milliseconds.

usage: bench_questions.py BENCH_HISTORY   the program that makes the long recording"""

import subprocess
import sys
import threading
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "bench" / name) for name in ("gdb", "network")]
from bench_gdb import cpu, row  # noqa: E402
from metrics_page import numbers, page  # noqa: E402
from replay_gdb import Client, Failed, Server, folder, frame  # noqa: E402

RECORDING_MB = 20
LEAST = 300e6  # instructions
SEARCHES = 10
NOWHERE = 0x8000ff00  # in the program; does not run
DATA = 0x20000000
QUESTIONS = ("history 1000", f"when {NOWHERE:#x}", "when 0x12345678", f"written {DATA:#x}", f"read {DATA:#x}", "gaps")


class Searcher(Client):
    def __init__(self, server):
        super().__init__(server.port, acks=False)
        self.start()

    def end(self):
        """The answer, without the text before."""
        while (text := self.reply())[:1] == "O" and text != "OK":
            pass
        return text

    def monitor(self, command):
        self.send(frame("qRcmd," + command.encode().hex()))
        return self.end()


def timed(action):
    begin = time.perf_counter()
    action()
    return (time.perf_counter() - begin) * 1e3


def ask(server, client, other, question):
    """Milliseconds of the server's, and the longest that another one and the metrics have waited."""
    begun, waits = cpu(server), [[0], [0]]
    asking = threading.Thread(target=client.monitor, args=(question,))
    asking.start()
    while asking.is_alive():
        waits[0].append(timed(lambda: other.ask("g")))
        waits[1].append(timed(lambda: numbers(page(server))))
    asking.join()
    return (cpu(server) - begun) * 1e3, *map(max, waits)


def search(client, other):
    """Milliseconds from Ctrl-C to the halt that it brings, while `other` asks."""
    asking = threading.Thread(target=other.monitor, args=(QUESTIONS[1],))
    asking.start()
    client.send(frame("bc"))
    time.sleep(0.2)
    wait = timed(lambda: (client.send(b"\x03"), client.end()))
    client.monitor("goto end")
    asking.join()
    return wait


def main():
    place = folder()
    subprocess.run([sys.argv[1], "--write", place / "recording", str(RECORDING_MB)], check=True)
    path = place / "questions.conf"
    path.write_text("[metrics]\nlisten = 127.0.0.1:0\n")
    with Server(place / "recording", "-c", str(path), "--no-record") as server:
        client, other = Searcher(server), Searcher(server)
        found = sum(v for k, v in numbers(page(server)).items() if k.startswith("btraced_instructions_total"))
        if found < LEAST:
            raise Failed(f"only {found} instructions")
        for question in QUESTIONS:
            took, waited, metrics = ask(server, client, other, question)
            row("question", name=question, took=f"{took:.0f}", other=f"{waited:.1f}", metrics=f"{metrics:.1f}")
        waits = [search(client, other) for _ in range(SEARCHES)]
        found = numbers(page(server))
        client.send(frame("qRcmd," + QUESTIONS[1].encode().hex()))
        server.terminate()
        row("questions", name="all", ctrl_c=f"{max(waits):.1f}", sigterm=f"{timed(server.process.wait):.1f}",
            work=found["btraced_loop_work_longest_microseconds"] / 1e3,
            away=found["btraced_loop_away_longest_microseconds"] / 1e3)


if __name__ == "__main__":
    main()
