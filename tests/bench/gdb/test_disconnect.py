#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Clients that go away at any byte, send rubbish, or come when another one is there. After each
of them the next client is served as if nothing had been."""

import os
import random
import select
import socket
import threading

from replay_gdb import (BTRACED, DEMO, Client, Server, Suite, equal, expect, frame, gdb, has,
                        history, wait_for)

CUTS = 300
# Kilobytes of resident memory that may come and go; a sanitizer keeps some for itself.
GROWTH = 4096 if b"__asan_init" in open(BTRACED, "rb").read() else 1024
suite = Suite()
server = Server(DEMO / "recording")
server.__enter__()


def look(client):
    """What a client sees of the recording."""
    features = client.start()
    return (features, client.ask("g"), client.ask("qfThreadInfo"),
            client.document("btrace-conf:read:"), client.document("btrace:read:all"))


def descriptors():
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


with Client(server.port) as first:
    REFERENCE = look(first)
with Client(server.port) as second:  # the first is gone, and what libuv keeps in reserve is open
    second.start()
    AT_REST = descriptors() - 1


def check_next(after):
    """The next client comes at once, without a second try."""
    with Client(server.port) as client:
        try:
            equal(look(client) == REFERENCE, True, f"same state after {after}")
        except (EOFError, ConnectionError) as why:
            raise type(why)(f"next client after {after}: {why}") from why


class Tap:
    """Stands between GDB and the server and keeps what GDB sends."""

    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.server = socket.create_connection(("127.0.0.1", port))
        self.sent = b""
        self.thread = threading.Thread(target=self._pass, daemon=True)
        self.thread.start()

    def _pass(self):
        client, _ = self.listener.accept()
        peers = {client: self.server, self.server: client}
        for peer in peers:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while True:
            for source in select.select(list(peers), [], [])[0]:
                try:
                    data = source.recv(65536)
                except ConnectionError:
                    data = b""
                if not data:
                    client.close()
                    self.server.close()
                    self.listener.close()
                    return
                if source is client:
                    self.sent += data
                peers[source].sendall(data)


def gdb_bytes(before=()):
    """The bytes of a typical session of stock GDB."""
    tap = Tap(server.port)
    elf = DEMO / "crash.elf"
    # Small documents first: making a large one for each of the cuts would take its time.
    s = gdb(tap.port, ["record stop", "set record btrace bts buffer-size 4096",
                       "record btrace bts", "info record", "reverse-stepi", "break fault",
                       "reverse-continue", "continue", "stepi", "monitor trace status",
                       "record stop", "set record btrace bts buffer-size unlimited",
                       "record btrace bts", f"symbol-file {elf}", "record instruction-history",
                       "detach"], elf=elf, before=before)
    expect(len(history(s["record instruction-history"])) == 10, "the session has no history")
    tap.thread.join()
    for packet in (b"$qSupported", b"$qXfer:btrace:read:all:", b"$Qbtrace:bts#", b"$vCont;s",
                   b"$qRcmd,", b"$Z0,", b"$D#"):
        expect(packet in tap.sent, f"the session lacks {packet}")
    return tap.sent


def cut_everywhere(stream, name):
    """Connections that end after each of many positions in the stream, in one of three ways."""
    positions = sorted({round(n * len(stream) / CUTS) for n in range(CUTS + 1)})
    memory = None
    for number, position in enumerate(positions):
        client = Client(server.port)
        client.send(stream[:position])
        if number % 3 == 2:  # with answers on their way
            select.select([client.socket], [], [], 0.001)
        client.close(reset=number % 3 == 1)
        with Client(server.port) as following:
            equal(following.ask("qfThreadInfo"), "m1", f"answer after {name} cut at {position}")
        if number % 10 == 0 or position > len(stream) - 20:
            check_next(f"{name} cut at byte {position}")
        if number == len(positions) // 3:
            memory = server.memory()
    check_next(name)
    grown = server.memory() - memory
    expect(grown < GROWTH, f"memory grew by {grown} kB")


@suite.test("disconnect: at any byte of a GDB session")
def _():
    cut_everywhere(gdb_bytes(), "a session")


@suite.test("disconnect: at any byte of a GDB session with acknowledgements")
def _():
    stream = gdb_bytes(["set remote noack-packet off"])
    expect(stream.count(b"+$") > 100, "no acknowledgements in the session")
    cut_everywhere(stream, "a session with acknowledgements")


@suite.test("disconnect: at every byte of one packet")
def _():
    packet = frame("qXfer:btrace:read:all:0,ffb")
    for position in range(len(packet) + 1):
        with Client(server.port) as client:
            client.send(packet[:position])
        check_next(f"{position} bytes of a packet")


@suite.test("disconnect: while large answers are not read")
def _():
    memory = None
    for number in range(12):
        client = Client(server.port, acks=False)
        try:
            client.send(frame("qXfer:btrace:read:all:0,ffb") * 400)
        except OSError as why:
            raise OSError(f"request {number}: {why}") from why
        client.close(reset=number % 2 == 1)
        check_next("unread answers")
        if number == 5:
            memory = server.memory()
    grown = server.memory() - memory
    expect(grown < GROWTH, f"memory grew by {grown} kB")


RUBBISH = {
    "zeros": b"\0" * 5000,
    "interrupts": b"\x03" * 5000,
    "acks": b"+" * 5000,
    "refusals": b"-" * 50,
    "dollars": b"$" * 5000,
    "hashes": b"#" * 5000,
    "escapes": b"$" + b"}" * 5000 + b"#00",
    "HTTP": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "TLS": bytes.fromhex("16030100c8010000c40303") + b"\x55" * 200,
    "a wrong checksum": b"$g#00",
    "a checksum of letters": b"$g#zz",
    "an empty packet": b"$#00",
    "half a packet": b"$qSuppor",
    "a packet in a packet": b"$qSupp$g#67",
}


@suite.test("rubbish: the same connection answers afterwards, or the next one does")
def _():
    generator = random.Random(20)
    noise = {f"noise {n}": generator.randbytes(3000) for n in range(20)}
    for name, data in {**RUBBISH, **noise}.items():
        client = Client(server.port)
        try:
            client.send(data)
            # Rubbish may end inside a frame, whose rest this is; the questions come after it.
            client.send(b"#00" + frame("qC") * 2)
            answers = b""
            while b"$QC1#c5" not in answers and (part := client.socket.recv(65536)):
                answers += part
        except ConnectionError:  # closed with rubbish unread
            answers = b""
        finally:
            client.close()
        closed = name in ("refusals", "zeros", "hashes", "HTTP", "TLS") or "noise" in name
        expect(closed or b"$QC1#c5" in answers, f"no answer after {name}")
        check_next(name)


@suite.test("rubbish: malformed packets get an error or an empty answer, and harm nothing")
def _():
    generator = random.Random(7)
    words = ["qXfer:btrace:read:all:", "qXfer:", "Qbtrace:", "Qbtrace-conf:bts:size=0x", "m", "M",
             "X", "P", "p", "G", "Z0,", "z", "H", "Hg", "T", "vCont;", "vRun;", "qRcmd,", "qC",
             "qSupported:", "qThreadExtraInfo,", "vAttach;", "qAttached:", "qSymbol:", "C", "S",
             "bs", "bc", "c", "s", "!", "?", "qfThreadInfo"]
    tails = ["", "0", "ffffffffffffffff", "fffffffffffffffff", "-1", "0,0", "0,ffffffff", ",", ":",
             ";", "x", "80010000,ffffffffffffffff", "ffffffffffffffff,ffffffffffffffff", "=",
             "0=", "f=0", "p1.1", "p-1.-1", "all:0,0", "6", "67", "00", "\x00", "\xff" * 300]
    memory = None
    with Client(server.port) as client:
        client.start()
        for count in range(2500):
            word, tail = generator.choice(words), generator.choice(tails)
            packet = word + tail + (generator.choice(tails) if generator.random() < 0.5 else "")
            client.send(frame(packet.encode("latin-1").replace(b"}", b"").replace(b"#", b"")
                              .replace(b"$", b"")))
            answer = client.reply()
            while answer.startswith("O") and answer != "OK":  # console output comes before OK
                answer = client.reply()
            if count == 1000:
                memory = server.memory()
    check_next("malformed packets")
    grown = server.memory() - memory
    expect(grown < GROWTH, f"memory grew by {grown} kB")


@suite.test("rubbish: packets longer than PacketSize are refused with a text, whole or cut off")
def _():
    with Client(server.port) as client:
        size = next(int(f[11:], 16) for f in client.start() if f.startswith("PacketSize="))
        answer = client.ask("m" + "0" * (size - 4) + "4,4")
        expect(not answer.startswith("E.the packet"), f"a packet of PacketSize: {answer}")
        for length in (size + 1, 2 * size, 3_000_000):
            has(client.ask("m" + "0" * (length - 1)), r"^E\..*longer than PacketSize")
        equal(client.ask("qC"), "QC1", "the next answer")
    memory = server.memory()
    for _ in range(5):
        with Client(server.port) as client:
            client.send(b"$" + b"m" * 3_000_000)
            client.socket.shutdown(socket.SHUT_WR)
            client.closed()
        check_next("a packet without an end")
    grown = server.memory() - memory
    expect(grown < GROWTH, f"memory grew by {grown} kB")


@suite.test("rubbish: refused answers come again, but not for ever")
def _():
    with Client(server.port) as client:
        client.send(frame("qC"))
        one = client.socket.recv(100)
        while b"#" not in one[:-2]:
            one += client.socket.recv(100)
        equal(one, b"+$QC1#c5", "answer")
        client.send(b"-")
        equal(client.reply(), "QC1", "the same answer")
        equal(client.ask("qC"), "QC1", "the next answer")
        # A client that refuses everything is let go, and does not keep the server busy.
        client.send(frame("qC"))
        try:
            client.send(b"-" * 100000)
        except ConnectionError:
            pass
        client.closed()
    check_next("refusals")


@suite.test("more clients come and go, and one too many is told so: the first one is not disturbed")
def _():
    with Client(server.port) as client:
        client.start()
        start = client.ask("qXfer:btrace:read:all:0,ffb")
        others = [Client(server.port) for _ in range(7)]
        for number, other in enumerate(others):
            equal(look(other) == REFERENCE, True, f"what client {number} sees")
        extra = Client(server.port)
        has(extra.ask("qSupported"), r"^E\.8 clients are connected, which is the limit$")
        extra.close()
        for other in others:
            other.close(reset=True)
        offset = len(start) - 1
        rest = client.ask(f"qXfer:btrace:read:all:{offset:x},ffb")
        whole = REFERENCE[4]
        equal(start[1:] + rest[1:], whole[:offset + len(rest) - 1], "document of the first")
        equal(client.ask("qC"), "QC1", "the first client's next answer")
    check_next("clients that came and went")


@suite.test("a client that sends one byte at a time, and one that sends everything at once")
def _():
    packets = ["qSupported:swbreak+", "Hg0", "?", "qfThreadInfo", "g", "m80010000,20"]
    stream = b"".join(frame(p) for p in packets)
    answers = []
    for parts in ([stream], [stream[n:n + 1] for n in range(len(stream))]):
        with Client(server.port) as client:
            for part in parts:
                client.send(part)
            answers.append([client.reply() for _ in packets])
    equal(answers[0], answers[1], "answers")
    equal(answers[0][1], "OK", "answer to Hg0")


@suite.test("many connections one after the other leave nothing behind")
def _():
    wait_for(lambda: descriptors() == AT_REST, "closing of all descriptors")
    memory = server.memory()
    for _ in range(200):
        with Client(server.port, acks=False) as client:
            client.start()
            client.ask("qXfer:btrace:read:all:0,ffb")
    check_next("200 connections")
    wait_for(lambda: descriptors() == AT_REST, "closing of all descriptors")
    grown = server.memory() - memory
    expect(grown < GROWTH, f"memory grew by {grown} kB")


@suite.test("disconnect: the server ends well, with a client connected")
def _():
    with Client(server.port) as client:
        client.start()
        server.stop()
        client.closed()


suite.run()
