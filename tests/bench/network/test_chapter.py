#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The page's way from a fresh machine to a GDB on another one: each of its commands is run as it
stands there, between two network namespaces, with a real ssh and real certificates. What needs a
systemd that runs the machine is taken from the installed units here, and run by
tests/full/test_service_guest.py."""

import contextlib
import os
import re
import shutil
import subprocess

import certificates
from chapter import bench_lines, commands, option_lines
from live_gdb import board_file
from namespaces import BENCH, DESK, Cable, etc, inside
from replay_gdb import (GDB, PATIENCE, ROOT, SETTINGS, Failed, Suite, environment, equal, expect,
                        folder, has, lacks, run, tool)

suite = Suite()


class Machine:
    """A namespace with a home, a host name for the other, and what was installed in its PATH."""

    def __init__(self, name, program):
        self.name, self.home = name, folder()
        (self.home / ".ssh").mkdir(mode=0o700)
        self.path = f"{program}:{os.environ['PATH']}"
        (self.home / ".bashrc").write_text(f"export PATH={self.path}\n")
        users = re.sub(r"^(root:.*):/root:.*$", rf"\1:{self.home}:/bin/bash",
                       open("/etc/passwd", encoding="utf-8").read(), flags=re.MULTILINE)
        etc(name, "passwd", users)
        etc(name, "hosts", "127.0.0.1 localhost\n::1 localhost\n10.77.0.1 lab-7\n")
        os.chmod(self.home, 0o700)

    def environ(self):
        return dict(environment(), HOME=str(self.home), PATH=self.path)

    def start(self, *words, **options):
        return subprocess.Popen([*inside(self.name), *words], env=self.environ(),
                                stdin=subprocess.DEVNULL, text=True, **options)

    def shell(self, line, **options):
        return subprocess.run([*inside(self.name), "bash", "-c", line], env=self.environ(),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=PATIENCE, check=False, **options)

    def listens(self, port):
        return self.shell(f"exec 3<>/dev/tcp/127.0.0.1/{port}").returncode == 0


@contextlib.contextmanager
def going(process):
    """Ended behind the `with` statement."""
    try:
        yield process
    finally:
        process.terminate()
        process.wait(PATIENCE)


class Chapter:
    """The machines, made once."""

    def __init__(self):
        for name in ("dropbear", "dropbearkey", "ssh", "ssh-keygen", "systemd-socket-activate"):
            tool(name)
        Cable.lay()
        self.root = folder()
        self.bench = Machine(BENCH, self.root / "usr/local/bin")
        self.desk = Machine(DESK, self.root / "usr/local/bin")
        self.extra = []  # sockets that were added
        self.let_in()

    def let_in(self):
        """The account that somebody has: keys of the desk, and of the bench's own."""
        ssh = self.desk.home / ".ssh"
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(ssh / "id_ed25519")])
        (self.bench.home / ".ssh/authorized_keys").write_text((ssh / "id_ed25519.pub").read_text())
        (self.bench.home / ".ssh/authorized_keys").chmod(0o600)
        self.host_key = self.bench.home / "host"
        out = run(["dropbearkey", "-t", "ed25519", "-f", str(self.host_key)])
        (ssh / "known_hosts").write_text("lab-7 " + has(out, "^(ssh-ed25519 .*)$")[1] + "\n")

    def sshd(self):
        return self.bench.start("dropbear", "-F", "-E", "-s", "-r", str(self.host_key), "-p", "22",
                                "-P", str(self.bench.home / "pid"), stderr=subprocess.DEVNULL)

    def service(self):
        """What the socket unit does: it listens, and starts the service for the first who comes."""
        unit = (self.root / "usr/local/lib/systemd/system/btraced.socket").read_text()
        service = unit.replace("/run/btraced.sock", str(self.bench.home / "btraced.sock"))
        program = (self.root / "usr/local/lib/systemd/system/btraced.service").read_text()
        words = has(program, r"^ExecStart=(.*)$")[1].split()
        equal(words[0], "/usr/local/bin/btraced", "the service's program")
        words = [str(self.root) + word if word[0] == "/" else word for word in words]
        listen = re.findall(r"^ListenStream=(.*)$", service, re.MULTILINE) + self.extra
        equal(listen[:1], [str(self.bench.home / "btraced.sock")], "where the socket unit listens")
        equal(len(listen), 1 + len(self.extra), f"addresses of the socket unit: {listen}")
        options = [word for address in listen for word in ("-l", address)]
        return self.bench.start("systemd-socket-activate", *options, *words,
                                stderr=subprocess.DEVNULL)

    def gdb(self, line, *more):
        """A GDB at the desk that is given the page's line."""
        words = [*inside(DESK), tool(GDB), "-q", "-nx", "-batch"]
        for command in [*SETTINGS, line, *more]:
            words += ["-ex", command]
        return subprocess.run([*words, str(ROOT / "configs/virtual/crash-m3.elf")],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env=self.desk.environ(),
                              timeout=PATIENCE, check=False).stdout

    def debugs(self, line):
        out = self.gdb(line, "break main", "continue", "reverse-stepi", "monitor clients")
        has(out, r"^Breakpoint 1, main \(\)", line)
        has(out, r"^\* client \d+ .*in control", line)
        return out


chapter = None


def the_chapter():
    global chapter
    chapter = chapter or Chapter()
    return chapter


def good(done):
    equal(done.returncode, 0, f"exit code of {done.args[-1]}: {done.stdout}{done.stderr}")
    return done.stdout


@suite.test("chapter: each command of the page's chapter is known here, in this order")
def _():
    known = (r"make install", r"systemd-sysusers && systemctl daemon-reload && udevadm control --reload",
             r"editor /etc/btraced/btraced\.conf", r"btraced serve -c /etc/btraced/btraced\.conf "
             r"--check-config", r"systemctl enable --now btraced\.socket",
             r"\(gdb\) target extended-remote \| ssh lab-7 btraced connect --plain "
             r"unix:/run/btraced\.sock",
             r"systemctl edit btraced\.socket", r"systemctl restart btraced\.socket btraced\.service",
             r"\(gdb\) target extended-remote \| btraced connect lab-7:3334")
    lines = commands()
    for line, pattern in zip(lines, known):
        expect(re.fullmatch(pattern, line), f"nobody runs '{line}'")
    equal(len(lines), len(known), f"number of commands in {lines}")
    expect(set(bench_lines()) < set(lines), "the commands for a machine with systemd")


@suite.test("chapter: make install, the user, a board, --check-config")
def _():
    c = the_chapter()
    lines = commands()
    good(subprocess.run(lines[0].split() + ["-s", f"DESTDIR={c.root}"], cwd=ROOT, text=True,
                        capture_output=True, timeout=PATIENCE, check=False))
    (c.root / "etc").mkdir(exist_ok=True)
    users = lines[1].split("&&", maxsplit=1)[0].split() + [f"--root={c.root}"]
    good(subprocess.run(users, text=True, capture_output=True, timeout=PATIENCE, check=False))
    has((c.root / "etc/passwd").read_text(), "^btraced:")
    # Who edits has a board in QEMU.
    board = board_file("virtual-m3", replace=(("listen = 127.0.0.1:3333", "listen = systemd"),))
    shutil.copy(board, c.root / lines[2].split()[1].lstrip("/"))
    out = good(c.bench.shell(lines[3].replace("/etc/", f"{c.root}/etc/")))
    has(out, "btraced.conf: good")


@suite.test("chapter: over SSH, to the service's socket")
def _():
    c = the_chapter()
    line = commands()[5].removeprefix("(gdb) ").replace("/run/btraced.sock",
                                                        str(c.bench.home / "btraced.sock"))
    with going(c.sshd()), going(c.service()):
        lacks(c.gdb("target extended-remote lab-7:3333", "info registers pc"), "^pc ",
              "GDB at the desk without ssh")
        c.debugs(line)


@suite.test("chapter: over SSH, GDB starts btraced")
def _():
    c = the_chapter()
    line = option_lines()["SSH"].replace("BOARD", "virtual-m3")
    with going(c.sshd()):
        c.debugs(line)


@suite.test("chapter: over TLS, with a certificate and in no other way")
def _():
    c = the_chapter()
    place = certificates.make()
    certificates.certificate("lab-7", extensions="subjectAltName = DNS:lab-7\n"
                                                 "extendedKeyUsage = serverAuth")
    settings = c.root / "etc/btraced"
    for source, name in (("ca.pem", "ca.pem"), ("lab-7.pem", "server.pem"), ("lab-7.key", "server.key")):
        shutil.copy(place / source, settings / name)
    (settings / "server.key").chmod(0o640)
    with open(settings / "btraced.conf", "a", encoding="utf-8") as board:
        board.write("\n[tls]\nca = ca.pem\ncert = server.pem\nkey = server.key\nallow = alice\n")
    # The drop-in as the page has it beside the command.
    edit, restart, connect = (line for line in commands(comments=True) if "edit b" in line or
                              "restart" in line or "connect lab-7" in line)
    c.extra.append(has(edit, r"# \[Socket\], ListenStream=(\S+)$")[1])
    has(restart, r"btraced\.socket btraced\.service$")
    line = connect.removeprefix("(gdb) ")
    with going(c.service()):
        has(c.gdb(line, "info registers pc"), "it wants a certificate \\(--cert\\)", "GDB without one")
        own = c.desk.home / ".config/btraced"
        own.mkdir(parents=True)
        for source, name in (("ca.pem", "ca.pem"), ("mallory.pem", "cert.pem"), ("mallory.key", "key.pem")):
            shutil.copy(place / source, own / name)
        out = c.gdb(line, "info registers pc")
        has(out, "does not let this certificate in")
        lacks(out, "^pc ")
        for source, name in (("alice.pem", "cert.pem"), ("alice.key", "key.pem")):
            shutil.copy(place / source, own / name)
        has(c.debugs(line), r"client \d+ +alice \(10\.77\.0\.2")


try:
    suite.run()
finally:
    Cable.take_away()
