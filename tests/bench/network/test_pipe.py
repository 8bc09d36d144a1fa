#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/net/stream_connection.c.
"""`btraced connect` alone, against servers that are not btraced: large transfers in both directions
at once, slow readers, ends of one direction, servers that vanish."""

import hashlib
import os
import random
import socket
import ssl
import subprocess
import threading
import time

import certificates
from replay_gdb import (BTRACED, DEMO, PATIENCE, Client, Server, Suite, environment, equal, expect, frame,
                        has)

suite = Suite()
PLACE = certificates.make()
DATA = random.Random(9).randbytes(1 << 20) * (32 if os.environ.get("BTRACED_FULL") else 12)


class Peer:
    """A server for one connection: `talk` gets the socket, in a thread."""

    def __init__(self, talk, tls):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.talk, self.tls = talk, tls
        self.error = None
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        try:
            one, _ = self.listener.accept()
            one.settimeout(PATIENCE)
            if self.tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(PLACE / "server.pem", PLACE / "server.key")
                context.load_verify_locations(PLACE / "ca.pem")
                context.verify_mode = ssl.CERT_REQUIRED
                one = context.wrap_socket(one, server_side=True, suppress_ragged_eofs=False)
            with one:
                self.talk(one)
        except Exception as why:  # what a thread throws would be lost
            self.error = why

    def wait(self):
        self.thread.join(PATIENCE)
        self.listener.close()
        if self.error:
            raise OSError(f"the server's side: {self.error!r}")


def start(port, tls):
    options = ["--ca", "ca.pem", "--cert", "alice.pem", "--key", "alice.key"] if tls else ["--plain"]
    return subprocess.Popen([BTRACED, "connect", f"localhost:{port}", *options], cwd=PLACE,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            env=environment())


def read_all(one):
    got = hashlib.sha256()
    length = 0
    while part := one.recv(65536):
        got.update(part)
        length += len(part)
    return length, got.hexdigest()


WANTED = (len(DATA), hashlib.sha256(DATA).hexdigest())


def both_ways(talk, tls, pause=0.0):
    """(code, what came out, messages) of a pipe that is given DATA and then an end."""
    peer = Peer(talk, tls)
    process = start(peer.port, tls)

    def feed():
        try:
            process.stdin.write(DATA)
            process.stdin.close()
        except BrokenPipeError:
            pass
    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    time.sleep(pause)
    out = process.stdout.read()
    err = process.stderr.read().decode()
    code = process.wait(PATIENCE)
    feeder.join(PATIENCE)
    process.stdout.close()
    process.stderr.close()
    peer.wait()
    return code, (len(out), hashlib.sha256(out).hexdigest()), err


def names():
    return ((False, "plain"), (True, "TLS"))


@suite.test("pipe: much in both directions at once, each to its end")
def _():
    for tls, name in names():
        def talk(one):
            # TLS sockets of Python are not for two threads: what is read comes back at once.
            got, length = hashlib.sha256(), 0
            while part := one.recv(65536):
                got.update(part)
                length += len(part)
                one.sendall(part)
            equal((length, got.hexdigest()), WANTED, f"{name}: what the server got")
        if tls:
            equal(both_ways(talk_until_quiet, tls), (0, WANTED, ""), f"{name}: what came back")
        else:
            equal(both_ways(talk, tls), (0, WANTED, ""), f"{name}: what came back")


def talk_until_quiet(one):
    """An echo that answers all, and then closes: Python cannot send after the other side's end."""
    length = 0
    while length < len(DATA):
        part = one.recv(65536)
        expect(part, f"the end after {length} bytes")
        length += len(part)
        one.sendall(part)
    one.unwrap()


@suite.test("pipe: the answers come after the end of the questions")
def _():
    def talk(one):
        equal(read_all(one), WANTED, "what the server got")
        one.sendall(DATA)
    equal(both_ways(talk, False), (0, WANTED, ""), "what came back")


@suite.test("pipe: btraced answers all that was asked before the end")
def _():
    question = frame("qXfer:btrace:read:all:0,ffb")
    count = 3000
    conf = PLACE / "pipe.conf"
    conf.write_text("[tls]\nca = ca.pem\n"
                    "cert = server.pem\nkey = server.key\nallow = alice\n")
    for tls, name in names():
        with Server(DEMO / "recording", "-c", str(conf),
                    listen="tls:127.0.0.1:0" if tls else "127.0.0.1:0") as server:
            process = start(server.port, tls)
            out, err = process.communicate(frame("QStartNoAckMode") + question * count,
                                           timeout=PATIENCE)
            equal((process.returncode, err), (0, b""), f"{name}: exit code and messages")
            equal(out.count(b"$m<!DOCTYPE"), count, f"{name}: answers")


@suite.test("pipe: a client that asks much and does not read keeps no server from ending")
def _():
    server = Server(DEMO / "recording")
    with Client(server.port, acks=False, window=65536) as sleeper:
        sleeper.send(frame("m80010000,400") * 6000)
        sleeper.socket.shutdown(socket.SHUT_WR)
        time.sleep(0.5)
        server.stop()  # fails when it does not end
    server.process.stdout.close()


@suite.test("pipe: a reader that sleeps holds the server up, not the memory")
def _():
    data = DATA * 4  # more than the kernel's buffers of a connection grow to
    wanted = (len(data), hashlib.sha256(data).hexdigest())
    for tls, name in names():
        sent = []

        def talk(one):
            one.settimeout(None)
            for at in range(0, len(data), 65536):
                one.sendall(data[at:at + 65536])
                sent.append(at)
            if tls:
                one.unwrap()

        peer = Peer(talk, tls)
        process = start(peer.port, tls)
        time.sleep(1)
        status = open(f"/proc/{process.pid}/statm", encoding="ascii").read().split()
        resident = int(status[1]) * os.sysconf("SC_PAGE_SIZE")
        size = sent[-1] if sent else 0
        out = process.stdout.read()
        process.stdin.close()
        equal(process.wait(PATIENCE), 0, f"{name}: exit code")
        peer.wait()
        equal((len(out), hashlib.sha256(out).hexdigest()), wanted, f"{name}: what came")
        expect(size < len(data) - 65536, f"{name}: the server was not held up: {size} bytes")
        expect(resident < 64 << 20, f"{name}: {resident} bytes resident")
        process.stdout.close()
        process.stderr.close()


@suite.test("pipe: a server that closes at once, or cuts TLS in the middle, is told")
def _():
    def nothing(one):
        one.recv(1)
    for tls, name in names():
        peer = Peer(nothing if not tls else lambda one: (one.recv(1), one.unwrap()), tls)
        process = start(peer.port, tls)
        out, err = process.communicate(b"$", timeout=PATIENCE)
        peer.wait()
        equal((process.returncode, out), (6, b""), f"{name}: exit code and output")
        has(err.decode(), "the server has closed the connection")

    def cut(one):
        one.sendall(b"+$OK#9a")
        one.recv(1)
        socket.socket(fileno=os.dup(one.fileno())).shutdown(socket.SHUT_RDWR)
    peer = Peer(cut, True)
    process = start(peer.port, True)
    process.stdin.write(b"$")
    process.stdin.flush()
    equal(process.stdout.read(), b"+$OK#9a", "what came before the cut")
    has(process.stderr.read().decode(), "the connection was cut")
    equal(process.wait(PATIENCE), 6, "exit code after a cut")
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    peer.wait()


suite.run()
