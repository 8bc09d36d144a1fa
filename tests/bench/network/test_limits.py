#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/access/gdb_clients.c and server/base/console.c.
# Tests server/monitor/metrics.c, server/monitor/status.c and server/live/remote_link.c.
"""Limits: who meets one is told, and so is the log. The numbers of `monitor status` and of the page
of metrics. A board file that is read again."""

import signal
import socket
import sys
import time
import urllib.error
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import PROGRAMS, Live, Wire, board_file, never_ending  # noqa: E402
from metrics_page import numbers, page  # noqa: E402
from replay_gdb import (PATIENCE, Client, Suite, equal, expect, frame, has, lacks,  # noqa: E402
                        logged, wait_for)

suite = Suite()
ELF = PROGRAMS / "crash-a9.elf"


def lab(*lines, others="observe"):
    path = board_file("virtual-a9")
    text = path.read_text().replace("[gdb]\n", f"[gdb]\nothers = {others}\n")
    path.write_text(text + "\n" + "\n".join(lines) + "\n")
    return path


@suite.test("limits: one client too many is told so, and the others go on")
def _():
    with Live(lab("[limits]", "clients = 2")) as live, Wire(live) as one:
        with Client(live.port, acks=False) as two:
            with Client(live.port) as three:
                has(three.ask("qSupported"), r"^E\.2 clients are connected, which is the limit$")
                three.ask("qC")
                three.send(frame("qC"))
                three.closed()
            has(two.ask("qSupported"), "PacketSize")
        logged(live, r"client 3 \(127.* is refused: 2 clients are connected, which is the limit")
        has(one.monitor("status"), r"1 refused")
        with Client(live.port, acks=False) as again:
            has(again.ask("qSupported"), "PacketSize")


@suite.test("limits: a packet that is too long")
def _():
    with Live(lab("[limits]", "packet = 1K")) as live, Wire(live) as wire:
        has(";".join(wire.features), "PacketSize=400;")
        has(wire.ask("m0,4" + " " * 2000), r"^E\.the packet is longer than PacketSize")
        has(wire.ask("g"), "^[0-9a-f]{128}")


@suite.test("limits: a client that does not read is dropped, the target's state is kept")
def _():
    with Live(lab("[limits]", "memory = 64K")) as live, Wire(live) as one:
        two = Client(live.port, acks=False, window=65536)
        two.ask("qSupported")
        two.ask("?")
        expect(len(two.ask("m60000000,400")) == 2048, "memory for one who looks on")
        # Less than may be sent ahead of the answers, which are more than any kernel keeps.
        two.send(frame("m60000000,7f0") * 3000)
        wait_for(lambda: "is dropped: it has left more than 65536 bytes unread ([limits] memory)"
                 in live.stderr, "the end of a client that does not read")
        two.close(reset=True)
        has(one.ask("g"), "^[0-9a-f]{128}")
        wait_for(lambda: "1 dropped at a limit" in one.monitor("status"), "the count of it")


@suite.test("limits: an idle client loses its place, and is told so when it comes back")
def _():
    with Live(lab("[limits]", "idle = 1", others="queue")) as live, Wire(live) as one:
        two = Client(live.port, acks=False)
        two.ask("qSupported")
        wait_for(lambda: two.ask("qC") and "client 1 (" in live.stderr.rpartition("is disconnected")[0],
                 "the end of an idle client")
        logged(live, r"client 1 \(.*\) is disconnected: idle for 1 s \(\[limits\] idle\)")
        has(one.ask("g"), r"^E\.nothing was heard from you for 1 s")
        logged(live, r"client 2 \(.*\) is in control")
        two.close()


@suite.test("limits: one byte now and then takes no place: slow talkers go, a newcomer gets in")
def _():
    with Live(lab("[limits]", "clients = 8", "silent = 2", others="queue")) as live:
        begun = [Client(live.port) for _ in range(4)]
        for client in begun:
            client.send(b"+")  # a session, and never a packet
        started = [Client(live.port, acks=False) for _ in range(4)]
        for client in started:
            has(client.ask("qSupported"), "QStartNoAckMode")
            client.send(b"$qC")  # a second packet that never ends
        def trickle():
            for client in started:
                try:
                    client.send(b"x")
                except OSError:
                    pass
            return live.stderr.count("is not complete after 2 s ([limits] silent)") >= 8
        wait_for(trickle, "the end of all slow talkers")
        with Wire(live) as wire:
            has(wire.ask("g"), "^[0-9a-f]{128}")
            has(wire.monitor("clients"), r"\* client 9 .*in control")
            wait_for(lambda: "8 dropped at a limit" in wire.monitor("status"), "the count of it")
        for client in begun + started:
            client.close()


@suite.test("limits: 60 silent connections keep nobody out who speaks")
def _():
    with Live(lab("[limits]", "silent = 3600", others="refuse")) as live:
        silent = [Client(live.port) for _ in range(60)]
        with Wire(live) as wire:
            has(wire.ask("g"), "^[0-9a-f]{128}")
            logged(live, "has said nothing, and makes room for others")
            silent += [Client(live.port) for _ in range(30)]
            has(wire.ask("g"), "^[0-9a-f]{128}")
        for client in silent:
            client.close()


@suite.test("limits: silence, and what is not GDB, are in nobody's way")
def _():
    with Live(lab(others="refuse")) as live:
        silent = [Client(live.port) for _ in range(5)]
        with Client(live.port) as browser:
            browser.send(b"GET / HTTP/1.0\r\n\r\n")
            browser.closed()
        wait_for(lambda: "does not speak GDB's protocol; the connection is closed" in live.stderr,
                 "the end of a browser")
        with Wire(live) as wire:
            has(wire.ask("g"), "^[0-9a-f]{128}")
        for client in silent:
            client.close()


@suite.test("metrics: the page has the numbers of 'monitor status'")
def _():
    with Live(lab("[metrics]", "listen = 127.0.0.1:0")) as live:
        never_ending(live, ELF)
        with Wire(live) as wire:
            wire.run_for(live, 200000)
            time.sleep(1.1)
            status, found = wire.monitor("status"), numbers(page(live))
            equal(found['btraced_target_state{state="halted"}'], 1, "state")
            equal(found["btraced_clients"], 1, "clients")
            equal(found["btraced_trace_bytes_total"],
                  int(has(status, r"(\d+) bytes in all")[1]), "trace bytes")
            equal(found['btraced_instructions_total{core="cpu0"}'],
                  int(has(status, r"instructions \d+ to (\d+)")[1]), "instructions")
            expect(found['btraced_instructions_total{core="cpu0"}'] >= 200000, "too few instructions")
            equal(found["btraced_ring_dropped_bytes_total"],
                  int(has(status, r"wait; (\d+) dropped")[1]), "dropped")
            equal(found["btraced_halts_total"], int(has(status, r"(\d+) halts")[1]), "halts")
            wire.send(frame("vCont;c"))
            wait_for(lambda: numbers(page(live))['btraced_target_state{state="running"}'] == 1,
                     "a running target")
            wire.send(b"\x03")
            wire.reply()
        for path, code in (("/", 404), ("/metricsx", 404)):
            try:
                page(live, path)
                expect(False, f"{path} is served")
            except urllib.error.HTTPError as why:
                equal(why.code, code, path)
        try:
            page(live, method="POST", data=b"x")
            expect(False, "POST is served")
        except urllib.error.HTTPError as why:
            equal(why.code, 405, "POST")


@suite.test("metrics: 60 connections that say nothing keep nobody from the page, and go")
def _():
    with Live(lab("[metrics]", "listen = 127.0.0.1:0")) as live:
        port = int(logged(live, r"^numbers at http://127\.0\.0\.1:(\d+)/metrics$")[1])
        silent = [socket.socket() for _ in range(60)]
        for one in silent:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        has(page(live), "^btraced_")
        for one in silent:
            one.settimeout(PATIENCE)
            equal(one.recv(1), b"", "what is said to who says nothing")
            one.close()
        has(page(live), "^btraced_")


@suite.test("reload: by signal and by command, without dropping anybody")
def _():
    path = lab(others="refuse")
    with Live(path) as live, Wire(live) as wire:
        has(wire.monitor("reload"), "has not changed")
        text = path.read_text()
        path.write_text(text.replace("others = refuse", "others = observe") +
                        "[limits]\nclients = 3\n")
        answer = wire.monitor("reload")
        has(answer, r"^\[gdb\] others has changed: it holds from now on$")
        has(answer, r"^\[limits\] clients has changed: it holds from now on$")
        with Client(live.port, acks=False) as two:
            two.ask("qSupported")
            has(wire.monitor("clients"), "client 2.*looks on")
            path.write_text("[gdb]\nlisten = nonsense:\n")
            has(wire.monitor("reload"), r"^nothing is changed: .*conf:2: listen")
            path.write_text(text.replace("others = refuse", "others = queue")
                            .replace("ring = 16M", "ring = 1M"))
            live.process.send_signal(signal.SIGHUP)
            wait_for(lambda: "[trace] ring has changed: it holds after a restart" in live.stderr,
                     "the board file read again")
            has(two.ask("qC"), "^QC")
            has(wire.monitor("clients"), "client 2.*waits for control")
            two.send(frame("qRcmd," + b"reload".hex()))
            has(bytes.fromhex(two.reply()[1:]).decode(), "you look on")
        lacks(live.stderr, "closed|dropped")


suite.run()
