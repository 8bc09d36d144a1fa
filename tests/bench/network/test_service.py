#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/base/log.c, notify.c and sandbox.c.
"""btraced as a service: sockets that are handed over, readiness, the end with the last client, how
much is logged, and what `make install` puts in place."""

import contextlib
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
# pylint: disable=wrong-import-position
import certificates
from live_gdb import board_file
from replay_gdb import (BTRACED, Client, DEMO, Failed, PATIENCE, ROOT, Server, Suite, environment,
                        equal, expect, folder, frame, gdb, has, lacks, logged, tool)

RECORDING = DEMO / "recording"
suite = Suite()


class Process:
    """A program whose messages are kept; ended with SIGTERM, and its exit code looked at."""

    def __init__(self, command, environ=(), code=0, **options):
        self.said, self.code, self.ending = "", code, False
        self.process = subprocess.Popen(command, env=dict(environment(), **dict(environ)),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, **options)

    def read(self, seconds):
        """What it says within a time, or until it ends."""
        end = time.monotonic() + seconds
        pipe = self.process.stderr
        while (left := end - time.monotonic()) > 0:
            if select.select([pipe], [], [], left)[0]:
                part = os.read(pipe.fileno(), 65536)
                self.said += part.decode()
                if not part:
                    return False
        return True

    def until(self, pattern):
        end = time.monotonic() + PATIENCE
        while not re.search(pattern, self.said, re.MULTILINE):
            expect(time.monotonic() < end and self.read(0.05), f"never says '{pattern}': {self.said}")

    def terminate(self):
        self.ending = True
        self.process.terminate()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if not self.ending and self.process.poll() is None:
            self.terminate()
        try:
            while self.read(0.2):
                pass
            code = self.process.wait(PATIENCE)
        finally:
            self.process.kill()
            self.process.stderr.close()
        if kind is None:
            equal(code, self.code, f"exit code ({self.said[-300:]})")


class Manager:
    """systemd's side of NOTIFY_SOCKET."""

    def __init__(self, name=None):
        self.name = name or str(folder() / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.name.replace("@", "\0", 1) if self.name[0] == "@" else self.name)
        self.environ = {"NOTIFY_SOCKET": self.name}

    def hear(self, first):
        """The next message, whose first line is known."""
        self.socket.settimeout(PATIENCE)
        lines = self.socket.recv(4096).decode().splitlines()
        equal(lines[0], first, "what systemd is told")
        return lines[1:]

    def any(self):
        """The first line of the next message."""
        self.socket.settimeout(PATIENCE)
        return self.socket.recv(4096).decode().splitlines()[0]

    def silent(self):
        return not select.select([self.socket], [], [], 0)[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def handed(command, *fds):
    """The command with these descriptors as systemd would hand them over."""
    takes = " ".join(f"{3 + i}<&{fd}" for i, fd in enumerate(fds))
    return ["sh", "-c", f'exec {takes}; LISTEN_PID=$$ LISTEN_FDS={len(fds)} exec "$@"', "sh",
            *command]


def greet(port):
    with Client(port) as client:
        has(client.ask("qSupported"), "PacketSize=", "what is answered")


def conf(text):
    path = folder() / "service.conf"
    path.write_text(text)
    return str(path)


def listening_on(what):
    """A virtual board with another address for GDB."""
    return board_file("virtual-m3", replace=(("listen = 127.0.0.1:3333", f"listen = {what}"),))


REPLAY = [BTRACED, "replay", "-c", conf("[gdb]\nlisten = systemd\n"), str(RECORDING)]


# Systemd.

@suite.test("service: who connects before it runs is served when it does")
def _():
    tool("systemd-socket-activate")
    board = listening_on("systemd")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with Manager() as manager:
        command = ["systemd-socket-activate", "-l", f"127.0.0.1:{port}", "-E",
                   f"NOTIFY_SOCKET={manager.name}", "-E", "ASAN_OPTIONS", "-E", "TSAN_OPTIONS",
                   BTRACED, "serve", "-c", str(board)]
        with Process(command) as service:
            service.until("Listening on 127")
            expect(manager.silent(), "told to be ready before anybody came")
            session = gdb(port, ["info threads", "stepi", "monitor clients"],
                          elf=ROOT / "configs/virtual/crash-m3.elf", connect="target extended-remote")
            has(session["info threads"], "Thread 1")
            has(session["monitor clients"], "1")
            manager.hear("READY=1")
            service.until(rf"^Listening on port {port}$")
            service.terminate()
            manager.hear("STOPPING=1")


@suite.test("service: systemd hears of it when a client is served, and not before")
def _():
    for name in (None, f"@btraced-test-{os.getpid()}"):
        with Manager(name) as manager, socket.create_server(("127.0.0.1", 0)) as tcp, \
                Process(handed(REPLAY, tcp.fileno()), manager.environ,
                        pass_fds=(tcp.fileno(),)) as service:
            equal(manager.hear("READY=1"), [f"STATUS={RECORDING}"], "what it is doing")
            greet(tcp.getsockname()[1])
            service.process.send_signal(signal.SIGHUP)
            manager.hear("RELOADING=1")
            manager.hear("READY=1")
            service.terminate()
            manager.hear("STOPPING=1")
    environ = {"NOTIFY_SOCKET": "/nonexistent/notify"}
    with Server(RECORDING, environ=environ) as server:
        greet(server.port)


@suite.test("service: a target that does not answer: neither ready lines, nor a listening port")
def _():
    with Manager() as manager, socket.create_server(("127.0.0.1", 0)) as silent, \
            socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        other.close()  # a port that is free
        path = conf(f"[target]\nconnect = 127.0.0.1:{silent.getsockname()[1]}\n[trace]\n"
                    f"connect = 127.0.0.1:{silent.getsockname()[1]}\nformat = raw\n[gdb]\n"
                    f"listen = 127.0.0.1:{port}\n[core cpu0]\ntype = Cortex-M3\nsource = ETM3.5\n"
                    "ETMCR = 0\nETMIDR = 0x4114F250\nETMCCER = 0x18541800\nETMTRACEIDR = 1\n")
        with Process([BTRACED, "serve", "-c", path], manager.environ) as service:
            silent.settimeout(PATIENCE)
            held = silent.accept()[0]  # it is called: all addresses are taken
            service.until("^waiting for the GDB server at 127.0.0.1:")
            lacks(service.said, "Listening", "messages")
            expect(manager.silent(), "ready without a target")
            try:
                socket.create_connection(("127.0.0.1", port), timeout=PATIENCE).close()
                raise Failed("the port listens")
            except ConnectionRefusedError:
                pass
            service.terminate()
            manager.hear("STOPPING=1")
            service.process.wait(PATIENCE)
            held.close()
            service.read(PATIENCE)
            equal(service.said.count("\n"), 1, f"lines of {service.said}")


@suite.test("service: each ready line comes when a client is served")
def _():
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Process([BTRACED, "replay", "--listen", "127.0.0.1:0",
                                              str(RECORDING)]))
        server.until(r"Listening on port \d+ for gdb connection")
        greet(int(re.search(r"^Info : Listening on port (\d+) for gdb connections$", server.said,
                            re.MULTILINE)[1]))
        server.until(r"^Listening on port \d+\n")


@suite.test("service: a socket of all addresses that is handed over asks for certificates")
def _():
    place = certificates.make()
    path = conf(f"[gdb]\nlisten = systemd\n[tls]\nca = {place}/ca.pem\ncert = {place}/server.pem\n"
                f"key = {place}/server.key\nallow = alice\n")
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as tcp:
        port = tcp.getsockname()[1]
        with Process(handed([BTRACED, "replay", "-c", path, str(RECORDING)], tcp.fileno()),
                     pass_fds=(tcp.fileno(),)) as service:
            service.until(rf"^Listening on port {port}$")
            has(service.said, rf"target remote \| btraced connect HOST:{port} --ca")
            for name, code, out in (("alice", 0, b"+$QC1#c5"), ("mallory", 6, b"")):
                done = subprocess.run(
                    [BTRACED, "connect", f"localhost:{port}", "--ca", f"{place}/ca.pem", "--cert",
                     f"{place}/{name}.pem", "--key", f"{place}/{name}.key"], input=frame("qC"),
                    capture_output=True, timeout=PATIENCE, env=environment())
                equal((done.returncode, done.stdout), (code, out), f"what {name} gets")


@suite.test("service: the watchdog hears of the event loop, again and again")
def _():
    for command in (["replay", str(RECORDING), "--listen", "127.0.0.1:0"],
                    ["serve", "-c", str(listening_on("127.0.0.1:0"))]):
        with Manager() as manager:
            environ = {**manager.environ, "WATCHDOG_USEC": "100000"}
            with Process([BTRACED, *command], environ) as service:
                heard = []
                while heard.count("WATCHDOG=1") < 5 or "READY=1" not in heard:
                    heard.append(manager.any())
                service.terminate()
                while manager.any() != "STOPPING=1":
                    pass
            environ["WATCHDOG_PID"] = "1"  # another one's
            with Process([BTRACED, *command], environ) as service:
                while (word := manager.any()) != "READY=1":
                    equal(word, "WATCHDOG=1", "what was left of before")
                service.terminate()
                equal(manager.any(), "STOPPING=1", "what is heard without a watchdog")


def status(pid, key):
    return has(Path(f"/proc/{pid}/status").read_text(), rf"^{key}:\s*(.*)$")[1]


def children(pid):
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@suite.test("service: what a server gives up, and its board's program does not")
def _():
    for options in ((), ("--no-sandbox",)):
        for command in (["replay", str(RECORDING), "--listen", "127.0.0.1:0"],
                        ["serve", "-c", str(listening_on("127.0.0.1:0"))]):
            with Process([BTRACED, *command, *options]) as server:
                server.until(r"^Listening on port \d+$")
                pid = server.process.pid
                for task in os.listdir(f"/proc/{pid}/task"):
                    equal(status(f"{pid}/task/{task}", "Seccomp"), "0" if options else "2",
                          f"filter of a thread of {command[0]}")
                equal(status(pid, "NoNewPrivs"), "0" if options else "1", "new rights")
                greet(int(has(server.said, r"^Listening on port (\d+)$")[1]))


@suite.test("service: root becomes a user when all is open, and the board's program with it")
def _():
    # The user must reach the board's plugin and program.
    if os.geteuid() != 0 or not all(p.stat().st_mode & 1 for p in (ROOT, *ROOT.parents)):
        return
    place = Path("/var/tmp") / f"btraced-user-{os.getpid()}"
    place.mkdir()
    try:
        board = listening_on("127.0.0.1:0")
        board.parent.chmod(0o777)  # where the board writes what it did
        with Process([BTRACED, "serve", "-c", str(board), "--user", "nobody"], cwd=place) as server:
            server.until(r"^Listening on port \d+$")
            for pid in (server.process.pid, *children(server.process.pid)):
                for key in ("Uid", "Gid"):
                    equal(set(status(pid, key).split()), {"65534"}, f"{key} of {pid}")
                equal(int(status(pid, "CapEff"), 16), 0, f"rights of {pid}")
            expect(children(server.process.pid), "the board's program")
            greet(int(has(server.said, r"^Listening on port (\d+)$")[1]))
        done = subprocess.run([BTRACED, "serve", "-c", str(board), "--user", "nobody-has-this-name"],
                              capture_output=True, text=True, timeout=PATIENCE, env=environment())
        equal(done.returncode, 2, "exit code of a user that is none")
        has(done.stderr, "--user: this machine has no user")
    finally:
        place.rmdir()


# The end.

@suite.test("service: --exit-after-detach ends with the last client that was served")
def _():
    board = listening_on("127.0.0.1:0\nothers = observe")
    for command in (["replay", str(RECORDING), "--listen", "127.0.0.1:0"],
                    ["serve", "-c", str(board)]):
        with Process([BTRACED, *command, "--exit-after-detach"]) as server:
            server.until(r"^Listening on port \d+$")
            port = int(re.search(r"^Listening on port (\d+)$", server.said, re.MULTILINE)[1])
            socket.create_connection(("127.0.0.1", port)).close()  # says nothing
            with socket.create_connection(("127.0.0.1", port)) as stranger:
                stranger.sendall(b"GET / HTTP/1.0\r\n\r\n")
                equal(stranger.recv(10), b"", "what a stranger hears")
            with Client(port) as one:
                one.start()
                with Client(port) as two:
                    two.ask("qSupported")
                server.until(r"client 2 .* has left")
                one.ask("qC")
                expect(server.process.poll() is None, "it ended though one is here")
                equal(one.ask("D"), "OK", "detach")
            server.read(PATIENCE)
            equal(server.process.wait(PATIENCE), 0, "exit code")


@suite.test("service: who is refused does not end it")
def _():
    board = listening_on("127.0.0.1:0")
    with Process([BTRACED, "serve", "-c", str(board), "--exit-after-detach"]) as server:
        server.until(r"^Listening on port \d+$")
        port = int(re.search(r"^Listening on port (\d+)$", server.said, re.MULTILINE)[1])
        with Client(port) as one:
            one.start()
            with Client(port) as two:
                has(two.ask("qSupported"), r"^E\.")
            server.read(0.3)
            one.ask("qC")
        server.read(PATIENCE)
        equal(server.process.wait(PATIENCE), 0, "exit code")


# How much is logged.

@suite.test("service: the level of the log, by option and by environment")
def _():
    ready = r"^Listening on port \d+$"
    for environ, options, typed, left, wire in (
            ({}, (), True, True, False),
            ({"BTRACED_LOG": "warning"}, (), False, False, False),
            ({"BTRACED_LOG": "debug"}, ("--log", "error"), False, False, False),
            ({"BTRACED_LOG": "error"}, ("--log", "debug"), True, True, True)):
        with Process([BTRACED, "replay", *options, "--exit-after-detach", "--listen", "127.0.0.1:0",
                      str(RECORDING)], environ) as server:
            server.until(ready)
            port = int(re.search(r"^Listening on port (\d+)$", server.said, re.MULTILINE)[1])
            greet(port)
            server.read(PATIENCE)
        for wanted, pattern in ((typed, "^in GDB, type"), (left, "client 1 .* has left"),
                                (wire, r"client 1 > \$qSupported#37$")):
            (has if wanted else lacks)(server.said, pattern, f"messages with {environ} {options}")
    for environ, options in (({"BTRACED_LOG": "loud"}, ()), ({}, ("--log", "loud"))):
        for command in (["replay", str(RECORDING)], ["serve", "-c", "virtual-m3"]):
            done = subprocess.run([BTRACED, *command, *options], capture_output=True, text=True,
                                  env=dict(environment(), **environ), timeout=PATIENCE)
            equal(done.returncode, 2, "exit code of a level that is none")
            logged(done, "error, warning, info, debug")


@suite.test("service: what cannot be printed is escaped in the log, and long packets are cut")
def _():
    with Process([BTRACED, "replay", "--log", "debug", "--exit-after-detach", "--listen",
                  "127.0.0.1:0", str(RECORDING)]) as server:
        server.until(r"^Listening on port \d+$")
        port = int(re.search(r"^Listening on port (\d+)$", server.said, re.MULTILINE)[1])
        with Client(port) as client:
            client.ask("qSupported")
            client.send(frame("qX\x1b[2J\\" + "y" * 1000))
            client.reply()
        server.read(PATIENCE)
    has(server.said, r"client 1 > .*\$qX\\x1b\[2J\\x5cyyy.*\.\.\. \(101\d bytes\)$")
    lacks(server.said, "\x1b")


# Installed.

def install(place, **variables):
    words = [f"{name}={value}" for name, value in variables.items()]
    done = subprocess.run(["make", "-s", "-C", str(ROOT), "install", f"DESTDIR={place}", *words],
                          capture_output=True, text=True, timeout=PATIENCE)
    equal(done.returncode, 0, f"make install: {done.stderr[-300:]}")


@suite.test("service: make install puts the service in place")
def _():
    place = folder()
    install(place, PREFIX="/opt/lab")
    units = place / "opt/lab/lib/systemd/system"
    service = (units / "btraced.service").read_text()
    program = has(service, r"^ExecStart=(/opt/lab/bin/btraced) serve -c (/etc/btraced/btraced.conf)$")
    expect(os.access(f"{place}{program[1]}", os.X_OK), f"no program {program[1]}")
    for path in ("lib/udev/rules.d/60-btraced.rules", "lib/sysusers.d/btraced.conf",
                 "share/btraced/ide/vscode/launch.json", "share/man/man1/btraced.1"):
        expect((place / "opt/lab" / path).is_file(), f"no file {path}")
    board = place / "etc/btraced/btraced.conf"
    shown = subprocess.run([BTRACED, "serve", "-c", str(board), "--check-config"],
                           capture_output=True, text=True, timeout=PATIENCE, env=environment())
    has(shown.stdout, "btraced.conf: good", "the default configuration")
    has(board.read_text(), "^listen = systemd$", "the default configuration")
    board.write_text("# mine\n")
    install(place, PREFIX="/opt/lab")
    equal(board.read_text(), "# mine\n", "a configuration that was there")


def units_here():
    """The installed units, with paths that exist on this machine."""
    place = folder()
    install(place, PREFIX="/usr")
    for unit in (place / "usr/lib/systemd/system").iterdir():
        unit.write_text(re.sub(r"=(/usr/bin/btraced)", rf"={place}\1", unit.read_text()))
    return place


@suite.test("service: systemd accepts the units, finds them closed, and makes the user")
def _():
    tool("systemd-analyze")
    place = units_here()
    units = sorted(str(u) for u in (place / "usr/lib/systemd/system").iterdir())
    equal([Path(u).name for u in units], ["btraced.service", "btraced.socket"], "units")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True,
                          text=True, timeout=PATIENCE, env=environment())
    equal((done.returncode, done.stdout + done.stderr), (0, ""), "systemd-analyze verify")
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager",
                           "--threshold=12", units[0]], capture_output=True, text=True,
                          timeout=PATIENCE, env=environment())
    equal(done.returncode, 0, f"systemd-analyze security: {done.stdout[-200:]}{done.stderr[-200:]}")
    if os.geteuid() == 0 and shutil.which("systemd-sysusers"):
        (place / "etc").mkdir(exist_ok=True)
        subprocess.run(["systemd-sysusers", f"--root={place}", "btraced.conf"], check=True,
                       capture_output=True, timeout=PATIENCE)
        has((place / "etc/passwd").read_text(), "^btraced:.*:/var/lib/btraced:.*nologin$")
        has((place / "etc/group").read_text(), r"^plugdev:.*:btraced$")


suite.run()
