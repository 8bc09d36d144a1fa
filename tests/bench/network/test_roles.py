#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/net/identity.c and server/live/live_control.c; of cmd_connect.c `btraced ctl`.
"""Roles by [access]: who may control, look on or ask is told by certificates and users, whoever comes
first; control is taken over, sessions are ended, and a role that is taken away is gone at the reload."""

import os
import socket
import subprocess
import sys

import certificates
from certificates import CLIENT, Desk, TlsClient, certificate
from live_gdb import PROGRAMS, board_file, symbol
from replay_gdb import (BTRACED, PATIENCE, Server, Suite, environment, equal, folder, frame, has, lacks,
                        logged)

suite = Suite()
PLACE = certificates.make()
ELF = PROGRAMS / "crash-a9.elf"
ROLES = {"control": "cert:alice cert:bob@lab.example", "observe": "cert:olga", "query": "cert:quinn"}


def lab(others="queue", more="", **roles):
    """The path of a board file."""
    if not (PLACE / "olga.pem").exists():
        certificate("olga", extensions=CLIENT)
        certificate("quinn", extensions=CLIENT)
    path = board_file("virtual-a9")
    write(path, path.read_text(), others, more, **roles)
    return path


def write(path, base, others="queue", more="", **roles):
    lines = "".join(f"{k} = {v}\n" for k, v in {**ROLES, **roles}.items() if v)
    path.write_text(base.partition("\n[tls]\n")[0].replace("[gdb]\n", f"[gdb]\nothers = {others}\n", 1) +
                    f"\n[tls]\nca = {PLACE}/ca.pem\ncert = {PLACE}/server.pem\n"
                    f"key = {PLACE}/server.key\n[access]\n{lines}{more}")


def served(path):
    return Server(path, "-c", command=("serve",), listen="tls:127.0.0.1:0")


@suite.test("roles: an observer who comes first, waits or asks for control does not get it")
def _():
    with served(lab()) as server, Desk(server, "olga") as olga:
        has(olga.monitor("control"), "you look on: \[access\] does not let you control")
        has(olga.monitor("take-control"), "\[access\] does not let you control")
        has(olga.monitor("kick 1"), "\[access\] does not let you")
        has(olga.ask("g"), "^[0-9a-f]{128}")
        for packet in ("M60000000,4:00000000", "P0=00000000", f"Z1,{symbol(ELF, 'main'):x},4"):
            has(olga.ask(packet), "^E.*(look on|only the client in control)", f"answer to {packet}")
        has(olga.ask("vCont;c"), "^E.*look on")
        with Desk(server, "alice") as alice:
            has(alice.monitor("clients"), r" client 1 +olga .*looks on, by \[access\](.*\n)*\* client 2 .*in control")
            equal(alice.ask(f"Z1,{symbol(ELF, 'main'):x},4"), "OK", "a breakpoint")
            has(olga.monitor("take-control"), "\[access\] does not let you control")
        logged(server, r"client 2 \(alice .* has left")
        has(olga.monitor("clients"), r"\* client 1 .*looks on, by")
        lacks(server.stderr, "client 1 .* is in control")


@suite.test("roles: who asks has the answers of 'monitor', and neither registers nor memory")
def _():
    with served(lab()) as server, TlsClient(server.port, "quinn") as quinn:
        has(quinn.ask("qSupported"), "QStartNoAckMode")
        for packet in ("?", "g", "m60000000,4", "M60000000,4:00000000", "vCont;c", "bs", "Qbtrace:bts",
                       "qXfer:features:read:target.xml:0,100", "vRun;", "vFile:setfs:0"):
            equal(quinn.ask(packet), "E.you may ask 'monitor' questions, and nothing else",
                  f"answer to {packet}")
        ask = lambda text: Desk.monitor(quinn, text)
        has(ask("status"), "^state|target|clients")
        has(ask("clients"), r"^\* client 1 +quinn .*asks")
        for text in ("reset", "record start x", "control", "take-control", "kick 1", "system_reset", "goto 1"):
            has(ask(text), "look on|you may ask", f"answer to monitor {text}")
        with Desk(server, "alice") as alice:
            has(alice.monitor("clients"), r"\* client 2 .*in control")


@suite.test("roles: control is taken over from a GDB whose target runs, and from one that stands")
def _():
    with served(lab(others="observe")) as server, Desk(server, "alice") as alice, \
            Desk(server, "bob") as bob:
        equal(alice.ask(f"Z1,{symbol(ELF, 'main'):x},4"), "OK", "a breakpoint")
        alice.send(frame("vCont;c"))
        has(alice.reply(), "^T05")
        equal(alice.ask(f"z1,{symbol(ELF, 'main'):x},4"), "OK", "no breakpoint")
        has(bob.ask("vCont;c"), "^T05")
        has(bob.monitor("take-control"), "^you are in control of the target now; client 1 looks on")
        logged(server, r"client 2 \(bob@lab.example .* takes control from client 1 \(alice ")
        has(alice.ask("P0=00000000"), "^E.*look on")
        has(alice.monitor("clients"), r"\* client 1 .*looks on(.*\n)* +client 2 .*in control")
        equal(bob.ask("P0=00000000"), "OK", "a write of who has control now")
        # And back, while it runs.
        bob.send(frame("vCont;c"))
        has(alice.monitor("take-control"), "you are in control of the target now; client 2 looks on")
        told = ""
        while "taken control" not in told:  # first that it had control
            told = bytes.fromhex(has(bob.reply(), "^O([0-9a-f]+)$")[1]).decode()
        has(told, r"client 1 \(alice .* has taken control of the target; you look on")
        alice.send(frame("?"))
        has(alice.reply(), "^T")
        has(bob.reply(), "^T|^O")
        equal(alice.ask("P0=00000000"), "OK", "a write of who has control again")


@suite.test("roles: a session is ended by who may, and its GDB is told why")
def _():
    with served(lab()) as server, Desk(server, "alice") as alice, Desk(server, "olga") as olga:
        for text in ("", "9", "x", "2 3"):
            has(alice.monitor(f"kick {text}"), "no such client", f"kick {text}")
        has(alice.monitor("kick 1"), "that is you")
        has(alice.monitor("kick 2"), "^client 2 is disconnected")
        olga.closed()
        logged(server, r"client 2 \(olga .* is disconnected: client 1 \(alice .* has ended your session")
        has(alice.ask("g"), "^[0-9a-f]{128}")


def ctl(port, name, *words):
    done = subprocess.run([BTRACED, "ctl", "--ca", "ca.pem", "--cert", f"{name}.pem", "--key", f"{name}.key",
                           f"localhost:{port}", *words], cwd=PLACE, capture_output=True, text=True, timeout=PATIENCE,
                          env=environment(), check=False)
    return done.returncode, done.stdout, done.stderr


@suite.test("roles: btraced ctl asks, and ends sessions, with the rights of its certificate")
def _():
    with served(lab()) as server, Desk(server, "olga") as olga:
        code, said, _ = ctl(server.port, "quinn", "clients")
        equal(code, 0, "ctl clients")
        has(said, r"client 1 .*looks on|client 1 .*observe", "who is there")
        _, said, why = ctl(server.port, "quinn", "kick", "1")
        lacks(said, "disconnected")
        has(said + why, "does not let you|query")
        equal(ctl(server.port, "alice", "kick", "1"), (0, "client 1 is disconnected\n", ""), "ctl kick")
        olga.closed()
        code, said, why = ctl(server.port, "mallory", "clients")
        equal((code, said), (6, ""), "ctl of a stranger")
        has(why, "^btraced ctl: localhost:")
    code, said, why = ctl(server.port, "alice", "clients")
    equal((code, said), (6, ""), "ctl without a server")
    equal(subprocess.run([BTRACED, "ctl", "localhost:1"], capture_output=True, check=False).returncode, 2, "no command")


@suite.test("roles: so many clients of one identity, and no more")
def _():
    with served(lab(more="[limits]\nidentity = 2\n")) as server, Desk(server) as one, Desk(server) as two:
        with TlsClient(server.port) as three:
            has(three.ask("qSupported"), "^E.2 clients of yours are connected, which is the limit for one")
        with Desk(server, "bob") as other:
            has(other.ask("g"), "^[0-9a-f]{128}")
        two.close()
        logged(server, "client 2 .* has left")
        with Desk(server) as three:
            has(three.ask("g"), "^[0-9a-f]{128}")
        has(one.ask("g"), "^[0-9a-f]{128}")


@suite.test("roles: a reload takes control from who may look on now, and ends who may nothing")
def _():
    path = lab(others="observe")
    base = path.read_text().replace("[gdb]\nothers = observe\n", "[gdb]\n")
    with served(path) as server, Desk(server, "bob") as bob, Desk(server, "alice") as alice:
        write(path, base, "observe", control="cert:alice", observe="cert:bob@lab.example cert:olga")
        has(bob.monitor("reload"), r"^\[access\] control has changed: it holds from now on, for those who are here")
        logged(server, r"client 1 \(bob@lab.example .* looks on, by \[access\]")
        has(bob.ask("P0=00000000"), "^E.*look on")
        has(alice.monitor("control"), "you are in control")
        write(path, base, "observe", control="cert:alice", none="cert:bob@lab.example")
        alice.monitor("reload")
        bob.closed()
        logged(server, r"client 1 \(bob@lab.example .* is disconnected: ")
        has(alice.ask("g"), "^[0-9a-f]{128}")


AS_USER = """
import os, socket, sys
os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
s = socket.socket(socket.AF_UNIX); s.settimeout(60); s.connect(sys.argv[1])
s.sendall(b'+$qSupported#37')
heard = b''
while b'#' not in heard:
    more = s.recv(4096)
    if not more: break
    heard += more
print(heard.decode(errors='replace'))
"""


@suite.test("roles: users of this machine, on a Unix socket")
def _():
    place = folder()
    place.chmod(0o755)
    path = board_file("virtual-m3")
    path.write_text(path.read_text().replace("[gdb]\n", "[gdb]\nunix_mode = 0666\nothers = observe\n") +
                    f"\n[access]\ncontrol = user:{os.geteuid()}\nobserve = user:4711\n")
    where = place / "gdb"
    with Server(path, "-c", command=("serve",), listen=f"127.0.0.1:0,unix:{where}") as server:
        def comes(uid):
            return subprocess.run([sys.executable, "-c", AS_USER, str(where), str(uid)], text=True,
                                  capture_output=True, timeout=PATIENCE, check=False).stdout
        if os.geteuid() == 0:
            has(comes(4711), "QStartNoAckMode")
            logged(server, r"client 1 \(user .*process \d+\) looks on")
            equal(comes(4712).strip(), "", "what a user hears who is not named")
            logged(server, r"refused user .*: \[access\] grants it nothing")
        with socket.socket(socket.AF_UNIX) as own:
            own.settimeout(PATIENCE)
            own.connect(str(where))
            own.sendall(b"+$qSupported#37")
            logged(server, r"client \d+ \(user .*\) is in control")


@suite.test("roles: what is no line of [access], and a certificate's without [tls]")
def _():
    for text, pattern in (("control = alice", "'alice': it begins with none of cert:"),
                          ("control = cert:alice", r"\[access\]: cert: wants a section \[tls\]"),
                          ("observe = net:10.0.0.1/8", "it has bits behind its prefix"),
                          ("query = user:nobody-has-this-name", "no such user"),
                          ("admin = user:root", "admin: is not a key of")):
        path = board_file("virtual-m3")
        path.write_text(path.read_text() + f"\n[access]\n{text}\n")
        done = subprocess.run([BTRACED, "serve", "-c", str(path), "--check-config"],
                              capture_output=True, text=True, timeout=PATIENCE, check=False,
                              env=environment())
        equal(done.returncode, 2, f"exit code for {text}")
        has(done.stderr, pattern)


suite.run()
