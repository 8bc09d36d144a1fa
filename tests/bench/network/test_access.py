#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/access/access_control.c, server/net/listener.c and tls.c.
# Tests server/cmd/cmd_connect.c.
"""Access control: certificates, networks, Unix sockets, systemd's sockets. Whoever is not admitted
hears nothing of the protocol, and whoever is at work does not notice."""

import os
import re
import signal
import socket
import ssl
import stat
import subprocess
import time
import warnings
from pathlib import Path

import certificates
from certificates import TlsClient
from replay_gdb import (BTRACED, Client, DEMO, Failed, GDB, PATIENCE, SETTINGS, Server, Suite,
                        environment, equal, expect, folder, frame, has, lacks, logged, tool, wait_for)

RECORDING = DEMO / "recording"
suite = Suite()
PLACE = certificates.make()


def config(text="", **keys):
    """Path of a file with [gdb] and [tls]."""
    tls = {"ca": "ca.pem", "cert": "server.pem", "key": "server.key",
           "allow": 'alice bob@lab.example', "handshake": "5", **keys}
    path = PLACE / f"access{len(list(PLACE.glob('access*.conf')))}.conf"
    lines = "".join(f"{k} = {v}\n" for k, v in tls.items() if v is not None)
    path.write_text(f"[gdb]\n{text}\n" + (f"[tls]\n{lines}" if lines else ""))
    return path


def tls_server(*options, below=(), listen="tls:127.0.0.1:0", **keys):
    return Server(RECORDING, "-c", str(config(**keys)), *options, listen=listen, below=below)


def shown(name, ca="ca"):
    """Options of `btraced connect` for a certificate."""
    return ["--ca", str(PLACE / f"{ca}.pem")] + (
        ["--cert", str(PLACE / f"{name}.pem"), "--key", str(PLACE / f"{name}.key")]
        if name else [])


def connect(port, *options, data=frame("qC"), host="localhost", environ=(), below=()):
    """(exit code, output, messages) of `btraced connect` that is given bytes and then an end."""
    done = subprocess.run([*below, BTRACED, "connect", f"{host}:{port}", *options], input=data,
                          capture_output=True, timeout=PATIENCE,
                          env=dict(environment(), **dict(environ)))
    return done.returncode, done.stdout, done.stderr.decode()


def gdb_through(pipe, *commands, below=()):
    """What GDB prints when it starts the pipe itself."""
    line = [*below, tool(GDB), "-q", "-nx", "-batch"]
    for command in [*SETTINGS, f"target remote | {pipe}", *commands]:
        line += ["-ex", command]
    return subprocess.run(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, env=environment(),
                          timeout=PATIENCE).stdout


def descriptors(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def logged(server, pattern):
    wait_for(lambda: re.search(pattern, server.stderr, re.MULTILINE), f"a line '{pattern}'")


# Certificates.

@suite.test("access: GDB comes through the pipe with its certificate, and sees the history")
def _():
    with tls_server() as server:
        logged(server, rf"target remote \| btraced connect 127\.0\.0\.1:{server.port} --ca")
        pipe = f"{BTRACED} connect localhost:{server.port} {' '.join(shown('alice'))}"
        out = gdb_through(pipe, "info record", "record instruction-history")
        has(out, r"^Recorded 19364 instructions")
        has(out, r"^19364\t +0x80010448:\tstr")
        lacks(server.stderr, "refused")


@suite.test("access: the user's own folder of certificates needs no options")
def _():
    own = folder()
    (own / "btraced").mkdir()
    for name, source in (("ca.pem", "ca.pem"), ("cert.pem", "bob.pem"), ("key.pem", "bob.key")):
        (own / "btraced" / name).write_bytes((PLACE / source).read_bytes())
        (own / "btraced" / name).chmod(0o600)
    with tls_server() as server:
        equal(connect(server.port, environ={"XDG_CONFIG_HOME": str(own)}), (0, b"+$QC1#c5", ""),
              "the pipe with a mail address that is allowed")
        code, out, err = connect(server.port, "--plain", environ={"XDG_CONFIG_HOME": str(own)})
        equal((code, out), (6, b""), "exit code and output without TLS")
        has(err, "may want a certificate|wants a certificate")


REFUSALS = (
    ("mallory", "ca", "does not let this certificate in", "names 'mallory', which is not in 'allow'"),
    ("stranger", "ca", "does not know the authority", "certificate 'alice' is not accepted"),
    ("late", "ca", "has expired", "certificate has expired"),
    ("early", "ca", "expired|has refused|not let", "certificate is not yet valid"),
    ("as-server", "ca", "has refused|not let", "unsuit|unsupported certificate purpose"),
    (None, "ca", "wants a certificate: give --cert", "it has no certificate"),
    ("alice", "other-ca", "the server's certificate .* is not accepted", "the client has refused"),
)


@suite.test("access: wrong, expired and missing certificates, the server's or the client's")
def _():
    with tls_server() as server, TlsClient(server.port) as first:
        first.start()
        for name, ca, told, log in REFUSALS:
            code, out, err = connect(server.port, *shown(name, ca))
            equal((code, out), (6, b""), f"exit code and output for {name}")
            has(err, rf"^btraced connect: localhost:{server.port}: .*({told})")
            equal(err.count("\n"), 1, f"lines for {name}: {err}")
            logged(server, rf"^btraced replay: refused 127\.0\.0\.1:\d+: .*({log})")
        code, out, err = connect(server.port, *shown("alice"), "--name", "lab-7")
        equal((code, out), (6, b""), "exit code and output for another name of the server")
        has(err, "is for 'server' and not for 'lab-7'")
        equal(first.ask("qC"), "QC1", "the answer to who was there")


@suite.test("access: each version of TLS from 1.2 on, none before")
def _():
    with tls_server() as server:
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            with TlsClient(server.port, version=version) as client:
                equal(client.socket.version(), version.name.replace("_", "."), "version")
                equal(client.ask("qC"), "QC1", f"answer through {version.name}")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                TlsClient(server.port, version=ssl.TLSVersion.TLSv1_1)
        except ssl.SSLError as why:
            has(str(why), "alert protocol version")
        else:
            raise Failed("TLS 1.1 is accepted")
        logged(server, "refused .*: unsupported protocol")


@suite.test("access: plain text on a TLS port, port scans: nothing is said, nobody is disturbed")
def _():
    with tls_server() as server, TlsClient(server.port) as first:
        first.start()
        for data in (frame("qSupported"), b"+", b"GET / HTTP/1.1\r\n\r\n", b"\0", b"\x15\3\1\0\2\1\0"):
            with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as client:
                client.sendall(data)
                equal(client.recv(1000), b"", f"answer to {data}")
        logged(server, "refused .*: what it sends is not TLS")
        for _ in range(60):
            socket.create_connection(("127.0.0.1", server.port), PATIENCE).close()
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as client:
            client.sendall(b"\x16\3\1\xff\xff" + b"\xff" * 70000)
            client.settimeout(PATIENCE)
            heard = client.recv(1000)
            expect(heard[:1] in (b"", b"\x15"), f"more than an alert: {heard}")
        equal(first.ask("qC"), "QC1", "the answer to who was there")
        lines = server.stderr.count("refused")
        expect(lines <= 21, f"{lines} lines of refusals")


@suite.test("access: 200 half-open handshakes: the controller goes on, limits hold, a friend gets in")
def _():
    hello = bytes.fromhex("16030100c8010000c40303")
    with tls_server(handshake="2") as server:
        def flood():
            sockets = []
            for number in range(200):
                sockets.append(socket.create_connection(("127.0.0.1", server.port), PATIENCE))
                if number % 2:
                    sockets[-1].sendall(hello)
            return sockets
        with TlsClient(server.port) as first:
            first.start()
            at_rest = descriptors(server)
            half_open = flood()
            for _ in range(20):
                equal(first.ask("qC"), "QC1", "the answer to who was there")
            expect(descriptors(server) <= at_rest + 64, f"{descriptors(server)} descriptors")
            logged(server, "refused .*: too many handshakes at once")
            wait_for(lambda: descriptors(server) == at_rest, "the end of all handshakes")
            for one in half_open:
                one.close()
            equal(first.ask("qC"), "QC1", "the answer afterwards")
        half_open = flood()
        with TlsClient(server.port) as friend:
            friend.start()
            equal(friend.ask("qC"), "QC1", "the answer to who came in the flood")
        for one in half_open:
            one.close()


@suite.test("access: a handshake that takes its time is ended")
def _():
    with tls_server(handshake="1") as server:
        with socket.create_connection(("127.0.0.1", server.port), PATIENCE) as slow:
            slow.settimeout(PATIENCE)
            begin = time.monotonic()
            slow.sendall(b"\x16\3\1")
            try:
                heard = slow.recv(1000)
            except ConnectionResetError:
                heard = b""
            equal(heard, b"", "what the slow one hears")
            expect(0.5 < time.monotonic() - begin, "ended at once")
        logged(server, "refused .*: the handshake takes too long")


@suite.test("access: clients that vanish or send garbage in the middle of TLS")
def _():
    with tls_server() as server:
        for number in range(6):
            client = TlsClient(server.port)
            client.start()
            raw = socket.socket(fileno=os.dup(client.socket.fileno()))
            if number % 3 == 0:
                raw.sendall(b"\x17\3\3\0\x40" + os.urandom(64))
            elif number % 3 == 1:
                raw.sendall(os.urandom(500))
            raw.close()
            client.close(reset=number % 2 == 1)
            with TlsClient(server.port, "bob") as following:
                equal(following.ask("qC"), "QC1", "the next one's answer")


@suite.test("access: what the manual says to type, from the authority to GDB")
def _():
    page = (Path(__file__).resolve().parents[3] / "docs" / "lab-server.md").read_text()
    place = folder()
    steps = re.findall(r"^```sh\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    equal(len(steps), 3, "steps")
    for step in steps:
        subprocess.run(["sh", "-e", "-c", step], cwd=place, check=True, capture_output=True,
                       timeout=PATIENCE)
    board = re.search(r"^```ini\n(\[gdb\].*?\[tls\].*?)^```", page, re.MULTILINE | re.DOTALL)[1]
    (place / "board.conf").write_text(board)
    with Server(RECORDING, "-c", str(place / "board.conf"), listen="[::]:0") as server:
        code, out, err = connect(server.port, "--name", "lab-7", *(
            f"--{key}={place}/{name}" for key, name in
            (("ca", "ca.pem"), ("cert", "alice.pem"), ("key", "alice.key"))))
        equal((code, out, err), (0, b"+$QC1#c5", ""), "the pipe")
    table = re.findall(r"^\|([^|]+)\|([^|]*)\|[^|]+\|$", page, re.MULTILINE)
    server_folder = Path(__file__).resolve().parents[3] / "server"
    sources = "".join(path.read_text() for folder in ("net", "access", "cmd")
                      for path in (server_folder / folder).glob("*.c"))
    sources = re.sub(r'"\n\s*"', "", sources)
    rows = [row for row in table if row[0].startswith((" the server", " nobody", " no answer"))]
    equal(len(rows), 11, "messages that the manual explains")
    for text in (text for row in rows for text in row):
        words = re.sub(r"(?<= )'[^']+'", "'%s'", text.split("...")[0].strip())
        expect(words[:28] in sources or words in ("its certificate", "the server's certificate"),
               f"no message '{text}'")


# The configuration.

def refused(code, pattern, *options):
    done = subprocess.run([BTRACED, "replay", *options, str(RECORDING)], capture_output=True,
                          text=True, timeout=PATIENCE, env=environment())
    equal((done.returncode, done.stdout), (code, ""), f"exit code and output: {done.stderr}")
    logged(done, pattern)
    return done.stderr


@suite.test("access: what is wrong with the configuration is told with file, line and key")
def _():
    readable = PLACE / "readable.key"
    readable.write_bytes((PLACE / "server.key").read_bytes())
    readable.chmod(0o644)
    open_all = "listen = 0.0.0.0:0"
    for text, keys, pattern in (
            (open_all, {"ca": "none.pem"}, r":\d+: ca: cannot use '.*none\.pem': No such file"),
            (open_all, {"cert": "server.key"}, r":\d+: cert: cannot use '.*server\.key': "),
            (open_all, {"key": "alice.key"}, r":\d+: key: cannot use '.*alice\.key': key values mis"),
            (open_all, {"key": "readable.key"}, r":\d+: key: .*others may read.*allowed: at most"),
            (open_all, {"cert": "late.pem", "key": "late.key"}, r":\d+: cert: .*it has expired"),
            (open_all, {"key": None}, r":\d+: \[tls\]: 'key' is missing"),
            (open_all, {"allow": None}, r":\d+: \[tls\]: 'allow' is missing: names"),
            (open_all, {"handshake": "0"}, r":\d+: handshake: '0' is not possible; allowed: sec"),
            ("allow = 10.1.0.1/16", {}, r":\d+: allow: '10\.1\.0\.1/16': it has bits behind"),
            ("allow = 10.1.0.0/33", {}, r":\d+: allow: '10\.1\.0\.0/33': its prefix must be"),
            ("allow = desk", {}, r":\d+: allow: 'desk': it is no address; allowed: networks")):
        path = config(text, **keys)
        refused(2, rf"^btraced replay: {path}{pattern}", "-c", str(path))
    alone = config(open_all, ca=None, cert=None, key=None, allow=None, handshake=None)
    refused(2, r":2: listen: '0\.0\.0\.0:0' .*wants a section \[tls\].*or 'allow'", "-c", str(alone))
    alone = config("listen = tls:127.0.0.1:0", ca=None, cert=None, key=None, allow=None,
                   handshake=None)
    refused(2, r"listen: 'tls:127\.0\.0\.1:0' wants a section \[tls\]", "-c", str(alone))
    refused(3, r"cannot listen on 192\.0\.2\.1:0: .*no such address", "-c", str(config()),
            "--listen", "192.0.2.1:0")


@suite.test("access: the file is read again at SIGHUP: names and certificates change, and who is not named goes")
def _():
    path = config(allow="alice")
    before = path.read_text()
    with Server(RECORDING, "-c", str(path), listen="tls:127.0.0.1:0") as server, \
            TlsClient(server.port) as first:
        first.start()

        def again(text, answer):
            path.write_text(text)
            count = len(re.findall(answer, server.stderr))
            server.process.send_signal(signal.SIGHUP)
            wait_for(lambda: len(re.findall(answer, server.stderr)) > count, f"'{answer}'")
        equal(connect(server.port, *shown("bob"))[0], 6, "exit code for who is not listed yet")
        again(before.replace("allow = alice", "allow = alice bob@lab.example"), "read again")
        equal(first.ask("qC"), "QC1", "the answer to who is listed still")
        again(before.replace("allow = alice", "allow = bob@lab.example"), "read again")
        first.closed()
        logged(server, "client 1 \\(alice .* is disconnected: your name is not in 'allow'")
        equal(connect(server.port, *shown("bob"))[:2], (0, b"+$QC1#c5"), "who is listed now")
        equal(connect(server.port, *shown("alice"))[0], 6, "exit code for who is not any more")
        again(before.replace("server.pem", "none.pem"), "none.pem.*stays as it was")
        again("[gdb]\n", "wants a section .tls..*stays as it was")
        again(before.replace("hand", "hond"), "hondshake.*stays as it was")
        equal(connect(server.port, *shown("bob"))[:2], (0, b"+$QC1#c5"), "who is still listed")
        again(before.replace("ca.pem", "other-ca.pem"), "read again")
        equal(connect(server.port, *shown("stranger"))[:2], (0, b"+$QC1#c5"), "the new authority's")


@suite.test("access: networks alone admit with a warning")
def _():
    text = "allow = 127.0.0.0/8 10.1.0.0/16\n"
    path = config(text, ca=None, cert=None, key=None, allow=None, handshake=None)
    with Server(RECORDING, "-c", str(path), listen="0.0.0.0:0") as server:
        logged(server, r"warning: .*an address proves nothing, and nothing is encrypted")
        with Client(server.port) as client:
            client.start()
        equal(connect(server.port), (0, b"+$QC1#c5", ""), "the pipe without TLS")
    path = config("allow = 10.1.0.0/16\n", ca=None, cert=None, key=None, allow=None, handshake=None)
    with Server(RECORDING, "-c", str(path), listen="[::]:0") as server:
        for host in ("127.0.0.1", "::1"):
            with socket.create_connection((host, server.port), PATIENCE) as client:
                equal(client.recv(100), b"", f"what {host} hears")
        logged(server, r"refused 127\.0\.0\.1:\d+: its address is not in 'allow' of \[gdb\]")


# Other ways in.

class Daemon:
    """`btraced replay` that listens on no port of its own."""

    def __init__(self, command, ready, **options):
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                        text=True, env=environment(), **options)
        self.said = ""
        for line in self.process.stderr:
            self.said += line
            if re.search(ready, line):
                return
        raise Failed(f"not ready: {self.said}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        self.process.stderr.close()
        equal(code, 0, "exit code")


class UnixClient(Client):
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(str(path))
        self.data = b""
        self.acks = True


@suite.test("access: a Unix socket with mode and owner; stale files, files in use")
def _():
    place = folder()
    path = place / "gdb"
    owner = f"{os.getuid()}:{os.getgid()}"
    conf = config(f"listen = unix:{path}, 127.0.0.1:0\nunix_mode = 0660\nunix_owner = {owner}")
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(path))
    stale.close()
    with Daemon([BTRACED, "replay", "-c", str(conf), str(RECORDING)], "^Listening on port") as d:
        has(d.said, rf"^Listening on unix:{path}$")
        mode = path.stat().st_mode
        expect(stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o660, f"mode {mode:o}")
        with UnixClient(path) as client:
            client.start()
        done = subprocess.run([BTRACED, "connect", f"unix:{path}"], input=frame("qC"),
                              capture_output=True, timeout=PATIENCE, env=environment())
        equal(done.stdout, b"+$QC1#c5", "through the pipe")
        refused(3, "cannot listen on unix:.*another program listens there", "-c", str(conf))
        expect(path.exists(), "the socket of the first was removed")
    expect(not path.exists(), "the socket is left behind")
    (place / "file").write_text("kept")
    refused(3, "cannot listen on unix:.* is no socket", "--listen", f"unix:{place}/file")
    equal((place / "file").read_text(), "kept", "a file that is no socket")


@suite.test("access: sockets that systemd hands over")
def _():
    conf = config("listen = systemd", ca=None, cert=None, key=None, allow=None, handshake=None)
    command = [BTRACED, "replay", "-c", str(conf), str(RECORDING)]
    path = folder() / "gdb"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(path))
        unix.listen()
        handed = ["sh", "-c", f'exec 3<&{tcp.fileno()} 4<&{unix.fileno()}; LISTEN_PID=$$ '
                  'LISTEN_FDS=2 exec "$@"', "sh", *command]
        with Daemon(handed, "^Listening on unix",
                    pass_fds=(tcp.fileno(), unix.fileno())) as d:
            with Client(tcp.getsockname()[1]) as client:
                client.start()
            with UnixClient(path) as client:
                client.start()
            has(d.said, rf"^Listening on unix:{path}$")
        expect(path.exists(), "the socket file is systemd's own")
    refused(3, "no sockets were handed over", "-c", str(conf))
    with socket.create_server(("0.0.0.0", 0)) as tcp:
        handed = ["sh", "-c", f'exec 3<&{tcp.fileno()}; LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"',
                  "sh", *command]
        done = subprocess.run(handed, pass_fds=(tcp.fileno(),), capture_output=True, text=True,
                              timeout=PATIENCE, env=environment())
        equal(done.returncode, 2, "exit code for a socket that others reach")
        logged(done, r"'0\.0\.0\.0:\d+' is not an address of this machine alone")


# The pipe.

@suite.test("access: what the pipe says when it cannot connect")
def _():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    for options, code, pattern in (
            ((), 6, rf"localhost:{free}: nobody listens there"),
            (shown("alice"), 6, "nobody listens there"),
            (["--plain", "--ca", "x"], 2, "--plain is without certificates"),
            (["--key", "x"], 2, "--key wants --cert"),
            (["--ca", "/nonexistent"], 4, "--ca: cannot use '/nonexistent': No such file"),
            (["--cert", str(PLACE / "ca.key")], 4, "--cert: cannot use ")):
        got = connect(free, *options)
        equal(got[:2], (code, b""), f"exit code and output of {options}")
        has(got[2], f"^btraced connect: .*{pattern}")
    equal(connect(1, host="no-such-host.invalid")[0], 6, "exit code for a name that is not known")
    done = subprocess.run([BTRACED, "connect", f"localhost:{free}"], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=PATIENCE, env=environment())
    equal(done.returncode, 2, "exit code without a pipe")
    logged(done, "target remote | btraced")
    if os.environ.get("BTRACED_FULL"):  # ten seconds
        with Server(RECORDING) as server:  # a server without TLS
            code, out, err = connect(server.port, *shown("alice"))
            equal((code, out), (6, b""), "exit code and output at a server without TLS")
            has(err, "what it sends is not TLS|no answer to the handshake|"
                     "it has ended the connection in the handshake")


suite.run()
