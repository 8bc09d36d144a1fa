#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A lab bench and a desk as two network namespaces with a cable between them: the desk reaches the
live board with its certificate, and in no other way; or from its address, where networks are admitted."""

import re
import subprocess
import tempfile
from pathlib import Path

import certificates
from live_gdb import board_file
from namespaces import BENCH, DESK, Cable, inside
from replay_gdb import (BTRACED, DEMO, GDB, PATIENCE, SETTINGS, Server, Suite,
                        environment, equal, has, history, lacks, logged, tool,
                        wait_for)

suite = Suite()


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


@suite.test("namespaces: a laptop in control whose cable is cut loses its place")
def _():
    Cable.lay()
    board = board_file("virtual-m3")
    board.write_text(board.read_text().replace("[gdb]\n", "[gdb]\nothers = refuse\nallow = 10.77.0.2\n")
                     + "\n[limits]\nvanished = 6\n")
    with Server(board, "-c", command=("serve",), listen="0.0.0.0:3334", below=inside(BENCH)) as server:
        laptop = subprocess.Popen([*inside(DESK), tool("python3"), "-c", PEER], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        has(laptop.stdout.readline(), "OK")
        logged(server, r"client 1 \(10\.77\.0\.2:\d+\) is in control")
        Cable.cut()
        try:
            wait_for(lambda: re.search(r"client 1 \(10\.77\.0\.2:\d+\) has left", server.stderr),
                     "the end of the laptop")
        finally:
            laptop.kill()
            laptop.communicate()
            Cable.mend()


try:
    suite.run()
finally:
    Cable.take_away()
