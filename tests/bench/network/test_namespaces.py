#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A lab bench and a desk as two network namespaces with a cable between them: the desk reaches the
live board with its certificate, and in no other way; or from its address, where networks are admitted."""

import os
import re
import subprocess
import tempfile
import time
from pathlib import Path

import certificates
from live_gdb import board_file
from namespaces import BENCH, DESK, Cable, inside
from replay_gdb import (BTRACED, DEMO, GDB, PATIENCE, SETTINGS, Server, Suite,
                        environment, equal, expect, has, history, lacks, logged, tool,
                        wait_for)

suite = Suite()
FULL = bool(os.environ.get("BTRACED_FULL"))  # with limits as they are by default
LONGEST = 60 if FULL else 20


def gdb_at_desk(*commands, elf=None):
    line = [*inside(DESK), tool(GDB), "-q", "-nx", "-batch"]
    for command in [*SETTINGS, *commands]:
        line += ["-ex", command]
    return subprocess.run(line + ([str(elf)] if elf else []), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=environment(), timeout=PATIENCE).stdout


def pipe(where, name=None):
    place = certificates.make()
    words = [BTRACED, "connect", where, "--ca", f"{place}/ca.pem"]
    return " ".join(words + ([f"--cert {place}/{name}.pem --key {place}/{name}.key"]
                             if name else []))


@suite.test("namespaces: the desk reaches the board with its certificate, and in no other way")
def _():
    Cable.lay()
    place = certificates.make()
    board = board_file("virtual-a9")
    board.write_text(board.read_text() + f"\n[tls]\nca = {place}/ca.pem\ncert = {place}/server.pem\n"
                     f"key = {place}/server.key\nallow = alice\n")
    elf = Path(__file__).resolve().parents[3] / "configs" / "virtual" / "crash-a9.elf"
    with Server(board, "-c", command=("serve",), listen="[::]:3334", below=inside(BENCH)) as server:
        logged(server, r"target extended-remote \| btraced connect HOST:3334 --ca CA")
        for wrong in (pipe("10.77.0.1:3334", "mallory"), pipe("10.77.0.1:3334"),
                      pipe("[fd77::1]:3334", "alice"), pipe("10.77.0.1:3334", "stranger")):
            out = gdb_at_desk(f"target extended-remote | {wrong}", "info registers pc", elf=elf)
            has(out, "btraced connect: .*: the server")
            lacks(out, "^pc ")
        out = gdb_at_desk("set remotetimeout 5", "target extended-remote 10.77.0.1:3334",
                          "info registers pc", elf=elf)
        lacks(out, "^pc ")
        out = gdb_at_desk(f"target extended-remote | {pipe('10.77.0.1:3334', 'alice')}",
                          "record btrace", "break stopped_here", "continue",
                          "record instruction-history", "kill", elf=elf)
        has(out, r"Breakpoint 1, stopped_here")
        listed = "".join(line + "\n" for line in out.splitlines() if line[:1].isdigit() and
                         "\t" in line and "0x" in line)
        equal(len(history(listed)), 10, "instructions of the history")
        logged(server, r"refused 10\.77\.0\.2:\d+: its certificate names 'mallory'")
        logged(server, r"refused 10\.77\.0\.2:\d+: what it sends is not TLS")


@suite.test("namespaces: networks admit the desk's address, and no other one")
def _():
    Cable.lay()
    with tempfile.TemporaryDirectory() as place:
        conf = Path(place) / "access.conf"
        conf.write_text("[gdb]\nallow = 10.77.0.2, fd77::/64\n")
        with Server(DEMO / "recording", "-c", str(conf), listen="[::]:3334",
                    below=inside(BENCH)) as server:
            logged(server, "warning: .*an address proves nothing")
            for where in ("10.77.0.1:3334", "[fd77::1]:3334"):
                out = gdb_at_desk(f"target remote {where}", "info record")
                has(out, "^Recorded 19364 instructions", where)
            script = ("import socket; s = socket.create_connection(('10.77.0.1', 3334), 10, "
                      "('10.77.0.3', 0)); print(s.recv(100))")
            done = subprocess.run([*inside(DESK), tool("python3"), "-c", script],
                                  capture_output=True, text=True, timeout=PATIENCE)
            equal(done.stdout, "b''\n", f"what another address hears ({done.stderr[-200:]})")
            logged(server, r"refused 10\.77\.0\.3:\d+: its address is not in 'allow' of \[gdb\]")


PEER = """
import socket, sys
s = socket.create_connection(('10.77.0.1', 3334), 60)
s.sendall(b'+$QStartNoAckMode#b0')
got = b''
while b'OK' not in got:
    got += s.recv(100)
print(got, flush=True)
sys.stdin.read()
"""


SLOW = """
import socket, sys, threading
def trickle(s):
    s.sendall(b'+$qC')  # a packet that never ends
    try:
        while not done.wait(0.5):
            s.sendall(b'x')
    except OSError:
        pass
done = threading.Event()
all = [socket.create_connection(('127.0.0.1', 3334), 10) for _ in range(8)]
for s in all:
    threading.Thread(target=trickle, args=(s,)).start()
print('OK', flush=True)
sys.stdin.read()
done.set()
"""

# Comes again and again until it is answered with registers, and stays.
NEWCOMER = """
import re, socket, sys, time
def packet(text):
    return b'+$%s#%02x' % (text, sum(text) & 255)
while True:
    try:
        with socket.create_connection(('127.0.0.1', 3334), 3) as s:
            for text in (b'qSupported', b'?', b'g'):
                s.sendall(packet(text))
            got = b''
            while not re.search(rb'[$][0-9a-fx]{128}', got):
                if not (more := s.recv(4096)):
                    raise OSError
                got += more
            s.sendall(b'+')
            print('OK', flush=True)
            sys.stdin.read()
            break
    except OSError:
        time.sleep(0.5)
"""


def beside(name, script):
    program = subprocess.Popen([*inside(name), tool("python3"), "-c", script], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    has(program.stdout.readline(), "OK")
    return program


@suite.test("namespaces: 8 slow clients, and a laptop in control whose cable is cut, keep a newcomer out for "
            f"{LONGEST} s at most")
def _():
    Cable.lay()
    board = board_file("virtual-m3")
    limits = "" if FULL else "\n[limits]\nvanished = 6\nsilent = 3\n"
    board.write_text(board.read_text().replace("[gdb]\n", "[gdb]\nothers = queue\nallow = 10.77.0.2, 127.0.0.1\n")
                     + limits)
    with Server(board, "-c", command=("serve",), listen="0.0.0.0:3334", below=inside(BENCH)) as server:
        others = [beside(DESK, PEER)]
        try:
            logged(server, r"client 1 \(10\.77\.0\.2:\d+\) is in control")
            others.append(beside(BENCH, SLOW))
            Cable.cut()
            begun = time.monotonic()
            others.append(beside(BENCH, NEWCOMER))
            while not re.search(r"client \d\d+ \(127\.0\.0\.1:\d+\) is in control", server.stderr):
                expect(time.monotonic() - begun < LONGEST, "the newcomer has not come into control: "
                       + server.stderr[-1000:])
                time.sleep(0.1)
            logged(server, r"client 1 \(10\.77\.0\.2:\d+\) has left")
        finally:
            for other in others:
                other.kill()
                other.communicate()
            Cable.mend()


try:
    suite.run()
finally:
    Cable.take_away()
