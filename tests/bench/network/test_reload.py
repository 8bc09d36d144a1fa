#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The board file is read again while one client is in control and another looks on, both through
TLS: each kind of key by itself, by SIGHUP and by command. Nobody is dropped but who is not admitted
any more."""

import signal
import ssl

import certificates
from certificates import Desk, TlsClient
from live_gdb import PROGRAMS, board_file, symbol
from replay_gdb import Server, Suite, equal, expect, has, lacks, wait_for

suite = Suite()
PLACE = certificates.make()
ELF = PROGRAMS / "crash-a9.elf"
TLS = {"ca": "ca.pem", "cert": "server.pem", "key": "server.key", "allow": "alice"}


class Lab:
    """A live board with TLS, a client in control, one who looks on, and its file."""

    def __init__(self, listen="tls:127.0.0.1:0"):
        self.listen, self.gone = listen, False
        self.path = board_file("virtual-a9")
        self.base = self.path.read_text()
        self.write()

    def write(self, gdb="", more="", **keys):
        """The file with other keys of [gdb] and [tls], and further sections."""
        tls = "".join(f"{key} = {value if key == 'allow' else PLACE / value}\n"
                      for key, value in dict(TLS, **keys).items())
        text = self.base.replace("[gdb]\n", f"[gdb]\nothers = observe\n{gdb}")
        self.path.write_text(f"{text}\n[tls]\n{tls}{more}\n")

    def __enter__(self):
        self.server = Server(self.path, "-c", command=("serve",), listen=self.listen)
        self.server.__enter__()
        self.one, self.two = Desk(self.server), Desk(self.server)
        self.one.ask(f"Z1,{symbol(ELF, 'main'):x},4")
        has(self.one.ask("vCont;c"), "^T05")
        has(self.two.ask("vCont;c"), "^T05")
        return self

    def hang_up(self, pattern):
        """SIGHUP, and a new line of the log."""
        seen = len(self.server.stderr)
        self.server.process.send_signal(signal.SIGHUP)
        wait_for(lambda: pattern in self.server.stderr[seen:], f"'{pattern}' behind SIGHUP")

    def comes_in(self, name):
        """Whether somebody new is served, and with which certificate of the server."""
        try:
            with Desk(self.server, name) as three:
                has(three.features, "PacketSize=")
                return three.socket.getpeercert()["serialNumber"]
        except (ssl.SSLError, ConnectionError, EOFError):
            return None

    def __exit__(self, kind, *rest):
        if kind is None and not self.gone:
            # Who was here from the beginning still is, in the same place.
            has(self.two.ask("g"), "^[0-9a-f]{128}")
            has(self.one.monitor("clients"), r"\* client 1 .*in control.*\n +client 2 .*looks on")
            has(self.one.ask("vCont;s:p1.1"), "^T05")
            has(self.two.ask("vCont;c"), "^T05")
            lacks(self.server.stderr, "client [12] .* has left|client .*dropped")
        for client in (self.one, self.two):
            client.close()
        self.server.__exit__(kind, *rest)


@suite.test("reload: names of certificates: who comes, and who is here, is judged by the new ones")
def _():
    with Lab() as lab:
        expect(lab.comes_in("alice") and not lab.comes_in("bob"), "the names of the start")
        lab.write(allow="alice, bob@lab.example")
        lab.hang_up("is read again")
        expect(lab.comes_in("alice"), "the names by SIGHUP")
        three = Desk(lab.server, "bob")
        lab.write(allow="alice")
        has(lab.one.monitor("reload"),
            r"^\[tls\] allow has changed: it holds from now on, for those who are here, too$")
        three.closed()
        three.close()
        wait_for(lambda: "(bob@lab.example (" in lab.server.stderr and
                 "is disconnected: your name is not in 'allow' of [tls] any more" in lab.server.stderr,
                 "the end of who is not listed any more")
        expect(lab.comes_in("alice") and not lab.comes_in("bob"), "the names by 'monitor reload'")


@suite.test("reload: networks: the same")
def _():
    with Lab(listen="0.0.0.0:0") as lab:  # what the machine alone reaches is not judged by them
        lab.write(gdb="allow = 10.1.0.0/16\n")
        has(lab.one.monitor("reload"),
            r"^\[gdb\] allow has changed: it holds from now on, for those who are here, too$")
        expect(not lab.comes_in("alice"), "this machine is in none of the networks")
        lab.write(gdb="allow = 10.1.0.0/16 127.0.0.0/8\n")
        lab.hang_up("is read again")
        expect(lab.comes_in("alice"), "this machine is in one of the networks")


@suite.test("reload: certificates: a renewed one is shown, another authority is asked, errors change nothing")
def _():
    with Lab() as lab:
        first = lab.comes_in("alice")
        certificates.certificate("renewed", subject="/CN=server",
                                 extensions="subjectAltName = DNS:localhost,IP:127.0.0.1\n"
                                            "extendedKeyUsage = serverAuth")
        lab.write(cert="renewed.pem", key="renewed.key")
        lab.hang_up("is read again")
        second = lab.comes_in("alice")
        expect(second and second != first, f"the server's certificate is {second}, before {first}")
        for keys, pattern in (({"cert": "none.pem"}, "cannot use .*none.pem"),
                              ({"cert": "renewed.pem"}, "key: cannot use"),  # with the old key
                              ({"ca": "server.key"}, "cannot use .*server.key"),
                              ({"cert": "late.pem", "key": "late.key"}, "it has expired")):
            lab.write(**keys)
            has(lab.one.monitor("reload"), f"^nothing is changed: .*{pattern}")
            equal(lab.comes_in("alice"), second, f"the server's certificate behind {keys}")
        lab.write(ca="other-ca.pem")
        lab.one.monitor("reload")
        lab.one.closed()
        lab.two.closed()
        equal(lab.comes_in("alice"), None, "who is of the authority of before")
        expect(lab.comes_in("stranger"), "who is of the new authority")
        lab.gone = True


@suite.test("reload: limits: they hold for those who are here, too")
def _():
    with Lab() as lab:
        lab.write(more="[limits]\nclients = 2\n")
        lab.hang_up("[limits] clients has changed: it holds from now on")
        with TlsClient(lab.server.port) as three:
            has(three.ask("qSupported"), "^E.2 clients are connected, which is the limit$")
        lab.write(more="[limits]\nclients = 3\npacket = 1K\n")
        answer = lab.one.monitor("reload")
        for key in ("clients", "packet"):
            has(answer, rf"^\[limits\] {key} has changed: it holds from now on$")
        expect(lab.comes_in("alice"), "a third client")
        lab.write(more="[limits]\nidle = 1\n")
        lab.one.monitor("reload")
        with Desk(lab.server) as three:
            wait_for(lambda: lab.one.ask("qC") and lab.two.ask("qC") and
                     "is disconnected: idle for 1 s" in lab.server.stderr, "the end of who is idle")
            has(three.ask("qC"), "^E.nothing was heard from you")
        lab.write()
        lab.one.monitor("reload")


@suite.test("reload: addresses, board and trace want a restart, and are named; a file with an error")
def _():
    with Lab() as lab:
        before = lab.base
        lab.base = (before.replace("listen = 127.0.0.1:3333", "listen = 127.0.0.1:3334")
                    .replace("ring = 16M", "ring = 1M").replace("memory = 64M", "memory = 1M"))
        lab.write()
        answer = lab.one.monitor("reload")
        for key in (r"\[gdb\] listen", r"\[trace\] ring", r"\[history\] memory"):
            has(answer, rf"^{key} has changed: it holds after a restart$")
        expect(lab.comes_in("alice"), "the address of the start")
        has(lab.two.monitor("reload"), "^you look on: 'monitor reload' is for the client in control$")
        lab.write(gdb="others = sometimes\n")
        has(lab.one.monitor("reload"), "^nothing is changed: .*others")
        lab.path.unlink()
        has(lab.one.monitor("reload"), "^nothing is changed: cannot read")
        lab.base = before
        lab.write()
        lab.hang_up("[gdb] listen has changed")
        lab.hang_up("has not changed")


suite.run()
