#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/cmd/cmd_connect.c and server/net/tls.c.
"""`btraced connect` and a server that means harm: what a good server of TLS says with bytes changed, left
out, doubled or cut, and garbage. The pipe ends with a reason, a stranger hears nothing of GDB, and no control
character of the server's reaches the terminal. BTRACED_SEED=N does the same again."""

import os
import random
import re
import socket
import ssl
import subprocess
import threading
import time

import certificates
from replay_gdb import BTRACED, PATIENCE, Failed, Suite, complained, environment, equal, expect

suite = Suite()
SEED = int(os.environ.get("BTRACED_SEED") or time.time_ns() & 0xffffffff)
TRIES = 60
SECRET = b"$qSupported:secret#00"


class Changes:
    """Leaves the first `good` pieces as they are."""

    def __init__(self, rng, good):
        self.rng, self.good = rng, good

    def __call__(self, data):
        self.good -= 1
        return data if self.good >= 0 else mutate(self.rng, data)


def mutate(rng, data):
    data = bytearray(data)
    at, n = rng.randrange(len(data)), rng.randrange(1, 40)
    kind = rng.randrange(5)
    if kind == 0:
        data[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        data[at:at + n] = rng.randbytes(n)
    elif kind == 2:
        del data[at:at + n]
    elif kind == 3:
        data[at:at] = data[at:at + n]
    else:
        del data[at:]
    return bytes(data)


class Hostile(threading.Thread):
    """Serves one connection. `harm` changes what is sent, or says it all: bytes. What was deciphered is
    `heard`."""

    def __init__(self, place, harm, name="server", patience=0.5):
        super().__init__(daemon=True)
        self.harm, self.heard, self.done, self.patience = harm, b"", False, patience
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(place / f"{name}.pem", place / f"{name}.key")

    def serve(self, connection):
        into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self.context.wrap_bio(into, out, server_side=True)
        while True:
            try:
                if not self.done:
                    tls.do_handshake()
                    self.done = True
                self.heard += tls.read(65536)
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError:
                return
            if out.pending:
                connection.sendall(self.harm(out.read()))
            data = connection.recv(65536)
            if not data:
                return
            into.write(data)

    def run(self):
        connection, _ = self.listener.accept()
        connection.settimeout(self.patience)  # of a client that waits for more: it is ended so
        with connection, self.listener:
            try:
                if isinstance(self.harm, bytes):
                    connection.sendall(self.harm)
                    connection.shutdown(socket.SHUT_WR)
                    while connection.recv(65536):
                        pass
                else:
                    self.serve(connection)
            except OSError:
                pass


def connect(server, *options):
    """What the pipe printed on both sides, and its exit code."""
    server.start()
    done = subprocess.run([BTRACED, "connect", f"127.0.0.1:{server.port}", *map(str, options)], input=SECRET,
                          capture_output=True, timeout=PATIENCE, env=environment(), check=False)
    server.join(PATIENCE)
    text = done.stderr.decode(errors="replace")
    if complained(text) or done.returncode not in (0, 6):
        raise Failed(f"exit code {done.returncode}: {text[-1500:]}")
    expect(not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text), f"control characters: {text!r}")
    return done.returncode, done.stdout, text


@suite.test(f"hostile server: {TRIES} handshakes that are changed, BTRACED_SEED={SEED}")
def _():
    rng, place, ended = random.Random(SEED), certificates.make(), 0
    options = ("--ca", place / "ca.pem", "--cert", place / "alice.pem", "--key", place / "alice.key")
    server = Hostile(place, lambda data: data, patience=PATIENCE)
    code, _, text = connect(server, *options)
    equal(server.heard, SECRET, f"what a good server heard ({code} {text})")
    server = Hostile(place, lambda data: data, name="stranger", patience=PATIENCE)
    code, _, text = connect(server, *options)
    equal((code, server.heard), (6, b""), f"exit code, and what a stranger heard ({text})")
    for n in range(TRIES):
        harm = Changes(rng, rng.randrange(2))
        if n % 6 == 0:
            harm = rng.randbytes(rng.randrange(1, 3000))
        elif n % 6 == 1:
            harm = b"\x16\x03\x03" + rng.randbytes(rng.randrange(1, 3000))
        server = Hostile(place, harm)
        code, out, text = connect(server, *options)
        ended += code == 6
        equal(out, b"", f"try {n}: what GDB got")
        expect(code == 0 or text.startswith("btraced connect: "), f"try {n}: {text!r}")
    expect(ended > TRIES // 2, f"only {ended} of {TRIES} ended with a reason")


@suite.test(f"hostile server: without TLS GDB gets what comes, and the pipe ends, BTRACED_SEED={SEED}")
def _():
    rng, place = random.Random(SEED), certificates.make()
    for _ in range(10):
        said = rng.randbytes(rng.randrange(1, 100000))
        code, out, text = connect(Hostile(place, said), "--plain")
        equal((code, out == said), (0, True), f"what came through ({len(out)} of {len(said)} bytes, {text})")


def answer(rng):
    """Packets of a `monitor`'s answer, or nearly."""
    text = "".join(rng.choice("0123456789abcdefx\x1b") for _ in range(rng.choice((0, 3, 40, 20000))))
    body = (rng.choice(("O", "O1b5b324a", "E", "E.\x1b[2J", "T05", "")) + text + rng.choice(("", "*!"))).encode()
    return b"+$" + body + b"#%02x" % (sum(body) & 0xff)


@suite.test(f"hostile server: answers of all kinds to btraced ctl, BTRACED_SEED={SEED}")
def _():
    rng, place, codes = random.Random(SEED), certificates.make(), set()
    for n in range(TRIES):
        said = b"".join(answer(rng) for _ in range(rng.randrange(1, 6))) + (b"+$OK#9a" if n % 2 else b"")
        said = said if rng.randrange(3) else mutate(rng, said)
        server = Hostile(place, said)
        server.start()
        done = subprocess.run([BTRACED, "ctl", "--plain", f"127.0.0.1:{server.port}", "past"], capture_output=True,
                              timeout=PATIENCE, env=environment(), check=False)
        server.join(PATIENCE)
        text = (done.stdout + done.stderr).decode(errors="replace")
        expect(not complained(text) and done.returncode in (0, 6), f"try {n}: {done.returncode} {text[-900:]}")
        expect(not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", text), f"try {n}: control characters: {text!r}")
        codes.add(done.returncode)
    expect(len(codes) > 1, f"all ended with {codes}")


suite.run()
