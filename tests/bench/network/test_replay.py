#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/replay/replay_monitor.c.
"""A recording that a lab serves: several clients, each with its own place in it; limits, numbers,
and a file that is read again."""

import re
import signal
import subprocess
import time

from metrics_page import numbers, page
from replay_gdb import (BTRACED, Client, DEMO, PATIENCE, Server, Suite, environment, equal, expect,
                        folder, frame, gdb, has, lacks, logged, wait_for)

RECORDING = DEMO / "recording"
suite = Suite()


def conf(text):
    path = folder() / "replay.conf"
    path.write_text(text)
    return path


def served(path, *options):
    return Server(RECORDING, "-c", str(path), "--no-record", *options)


class Looker(Client):
    def __init__(self, server, window=None):
        super().__init__(server.port, acks=False, window=window)
        self.start()

    def monitor(self, command):
        self.send(frame("qRcmd," + command.encode().hex()))
        text = ""
        while (answer := self.reply())[:1] == "O" and answer != "OK":
            text += bytes.fromhex(answer[1:]).decode()
        return text


@suite.test("replay: 'monitor clients' lists who is here, and where in the recording they are")
def _():
    with served(conf("[gdb]\n")) as server, Looker(server) as one, Looker(server) as two:
        for _ in range(3):
            has(two.ask("bs"), "^T05")
        answer = one.monitor("clients")
        has(answer, r"^\* client 1  127\.0\.0\.1:\d+  at the end, connected \d+ s, heard 0 s ago, \d+ "
                    r"bytes received, \d+ sent\n  client 2  127\.0\.0\.1:\d+  replaying, ")
        has(two.monitor("clients"), r"^  client 1.*\n\* client 2")
        for command in ("control", "release"):
            equal(one.monitor(command), "a recording has nothing to control: each client moves "
                                        "through it by itself\n", command)
        has(one.monitor("reload"), r"^/.*replay\.conf: read again")
    with Server(RECORDING) as server, Looker(server) as one:
        equal(one.monitor("reload"), "no file to read again: --config names one\n", "reload")
        has(one.monitor("help"), r"^monitor clients +who is connected$")


@suite.test("replay: limits hold: clients, length of packets, what is left unread, silence")
def _():
    path = conf("[limits]\nclients = 2\npacket = 1K\nmemory = 64K\nidle = 1\n")
    with served(path) as server, Looker(server) as one:
        with Looker(server, window=65536) as two:
            with Client(server.port) as three:
                has(three.ask("qSupported"), r"^E\.2 clients are connected, which is the limit$")
            try:
                for _ in range(400):
                    two.send(frame("m80010000,200") * 20)
                    one.ask("qC")
            except OSError:
                pass
            wait_for(lambda: one.ask("qC") and "is dropped: it has left more than 65536 bytes unread"
                     in server.stderr, "the end of a client that does not read")
        has(one.ask("m0,4" + " " * 2000), r"^E\.the packet is longer than PacketSize")
        has(one.monitor("status"), r"(?m)^clients +1 of 2, of which 0 look on; .* 1 refused, 1 "
                                   r"dropped at a limit$")
        logged(server, r"^btraced: client 1 \(.*\) is disconnected: idle for 1 s \(\[limits\] idle\)$")
        has(one.ask("qC"), r"^E\.nothing was heard from you for 1 s")


@suite.test("replay: the page of metrics has the numbers of 'monitor status'")
def _():
    path = conf("[metrics]\nlisten = 127.0.0.1:0\n")
    with served(path) as server, Looker(server) as one, Looker(server):
        found, status = numbers(page(server)), one.monitor("status")
        has(status, r"^target +a recording; up \d+ s$")
        equal(found["btraced_clients"], 2, "clients")
        equal(found["btraced_client_connections_total"], 2, "clients that have come")
        counts = {name: value for name, value in found.items() if "instructions_total" in name}
        equal(list(counts.values()), [int(has(status, r"instructions 1 to (\d+)")[1])],
              "instructions")
        expect(list(counts.values())[0] > 19000, f"too few instructions: {counts}")
        expect(not any("target" in name or "ring" in name for name in found),
               f"numbers of a live target: {found}")
    for listen, code, pattern in (("0.0.0.0:9333", 2, "listen: .*0.0.0.0:9333"),
                                  ("127.0.0.1:{taken}", 3, "cannot listen on 127.*: .*in use")):
        with Server(RECORDING) as other:
            path = conf(f"[gdb]\nlisten = 127.0.0.1:0\n[metrics]\n"
                        f"listen = {listen.format(taken=other.port)}\n")
            done = subprocess.run([BTRACED, "replay", "-c", str(path), str(RECORDING)],
                                  capture_output=True, text=True, timeout=PATIENCE,
                                  env=environment())
            equal(done.returncode, code, f"exit code for {listen}: {done.stderr}")
            has(done.stderr, pattern)


@suite.test("replay: of a whole board file what is meant for the board is left alone")
def _():
    for name in ("virtual-a9", "zynq-7000"):
        with Server(RECORDING, "-c", name, "--no-record") as server, Looker(server) as one:
            has(one.monitor("clients"), r"^\* client 1 ")
    done = subprocess.run([BTRACED, "replay", "-c", str(conf("[trace]\nfromat = tpiu\n")),
                           str(RECORDING)], capture_output=True, text=True, timeout=PATIENCE,
                          env=environment())
    equal(done.returncode, 2, "exit code of a key that is none")
    has(done.stderr, r"replay\.conf:2: fromat: .* did you mean 'format'")


@suite.test("replay: the file is read again with clients there: limits, networks, errors")
def _():
    path = conf("[limits]\nclients = 1\n")
    with served(path) as server, Looker(server) as one:
        def another():
            with Client(server.port) as two:
                return two.ask("qSupported")
        has(another(), "^E.1 client")
        path.write_text("[limits]\nclients = 3\n")
        server.process.send_signal(signal.SIGHUP)
        logged(server, r"^btraced replay: .*replay\.conf: read again; limits and who is admitted hold from now on")
        has(another(), "PacketSize=")
        path.write_text("[limits]\nclients = many\n")
        has(one.monitor("reload"), r"^.*replay\.conf:2: clients: 'many' is not possible.*; who may "
                                   r"connect stays as it was$")
        has(another(), "PacketSize=")
        path.write_text("[limits]\nclients = 2\nidle = 1\n")
        has(one.monitor("reload"), "read again")
        logged(server, r"client 1 \(.*\) is disconnected: idle for 1 s")
        lacks(server.stderr, "client 1 .* has left(.*\n)*.*is disconnected")


@suite.test("replay: four GDBs at once, each with its own place and history")
def _():
    with served(conf("[gdb]\n")) as server:
        lookers = [Looker(server) for _ in range(3)]
        for number, looker in enumerate(lookers):
            for _ in range(number + 1):
                has(looker.ask("bs"), "^T05")
        s = gdb(server.port, ["monitor where", "reverse-stepi", "monitor where", "monitor clients"])
        has(s.all("monitor where")[1], "1 before the halt")
        equal(len(re.findall("replaying", s["monitor clients"])), 4, "clients that replay")
        for number, looker in enumerate(lookers):
            has(looker.monitor("where"), rf"{number + 1} before the halt")
        lookers[1].close(reset=True)
        time.sleep(0.1)
        has(lookers[2].monitor("where"), "3 before the halt")
        has(lookers[2].ask("vCont;s"), "^T05")
        has(lookers[2].monitor("where"), "2 before the halt")
        has(lookers[0].monitor("where"), "1 before the halt")
        for looker in (lookers[0], lookers[2]):
            looker.close()


suite.run()
