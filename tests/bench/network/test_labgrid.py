#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The board farm's module: a board is one client's at a time, its server ends with whoever has it, and
its recording is what ran. Its resource and driver by labgrid itself."""

import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import PROGRAMS, Live, Wire, board_file  # noqa: E402
from replay_gdb import (BTRACED, PATIENCE, ROOT, Client, Server, Skipped, Suite, environment, equal,  # noqa: E402
                        expect, folder, has, wait_for)

MODULE = ROOT / "configs" / "labgrid"
sys.dont_write_bytecode = True
sys.path.insert(0, str(MODULE))
from btraced_labgrid import RESERVED, Board, BoardError  # noqa: E402

suite = Suite()
SHELL = ["sh", "-c"]  # takes a command line, as a remote shell behind ssh does


def refused(board, pattern):
    try:
        board.start()
    except BoardError as why:
        has(str(why), pattern)
        return
    board.stop()
    expect(False, f"no '{pattern}'")


@suite.test("board farm: one has the board, its recording is complete behind the end, then another has it")
def _():
    for prefix in ((), SHELL):
        path, place = board_file("virtual-a9"), folder()
        one = Board(path, BTRACED, prefix=prefix, recording=str(place / "a recording"))
        two = Board(path, BTRACED, prefix=prefix)
        live = Live.__new__(Live)
        live.port, live.wide = one.start(), False
        try:
            refused(two, "somebody else has this board")
            with Wire(live) as wire:
                wire.run_to_main(PROGRAMS / "crash-a9.elf")
                wire.send(b"$vCont;c#a8")
                wait_for(lambda: (place / "a recording" / "buffer_0.bin").stat().st_size > 0, "trace on disk")
                wire.send(b"\x03")
                has(wire.reply(), "^T0")
        finally:
            equal(one.stop(), 0, "end of the server")
        copied = one.fetch(place / "copy")
        with Server(copied) as server, Client(server.port, acks=False) as client:
            has(client.ask("?"), "^T05")
            has(client.ask("g"), "^[0-9a-fx]{128}")
        equal(two.start() > 0, True, "a port for the next one")
        equal(two.stop(), 0, "end of the next server")


@suite.test("board farm: who dies gives the board back; a server that does not start says why")
def _():
    path = board_file("virtual-a9")
    code = ("import sys, os; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[1])\n"
            "from btraced_labgrid import Board\n"
            "print(Board(sys.argv[2], sys.argv[3]).start(), flush=True)\n"
            "os.kill(os.getpid(), 9)\n")
    done = subprocess.run([sys.executable, "-c", code, str(MODULE), str(path), BTRACED], timeout=PATIENCE,
                          stdout=subprocess.PIPE, text=True, env=environment(), check=False)
    expect(int(done.stdout) > 0, "the one that dies had no port")
    again, left = Board(path, BTRACED), []

    def is_free():
        try:
            left.append(again.start())
        except BoardError as why:
            has(str(why), "somebody else")
        return bool(left)
    wait_for(is_free, "the board that a dead client had")
    equal(again.stop(), 0, "end of the server")
    wrong = folder() / "wrong.conf"
    wrong.write_text("[board]\nnonsense = 1\n")
    refused(Board(wrong, BTRACED), r"the server ended with 2: .*wrong\.conf:2: nonsense")
    expect(RESERVED not in range(0, 8), "an exit code that btraced has, too")


@suite.test("board farm: a link in the place of the lock makes no file elsewhere")
def _():
    place = folder()
    (place / "lock").symlink_to(place / "elsewhere")
    refused(Board(board_file("virtual-a9"), BTRACED, lock=str(place / "lock")), r"the server ended with \d+: .*lock")
    expect(not (place / "elsewhere").exists(), "the link was followed")


def with_labgrid():
    """A Python that has labgrid."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import labgrid"], cwd="/", capture_output=True, check=False).returncode == 0:
            return python
    raise Skipped("labgrid is not installed; the module below its driver is tried without")


@suite.test("board farm: labgrid's resource and driver")
def _():
    python = with_labgrid()
    place = folder()
    board = board_file("virtual-a9")
    (place / "lab.yaml").write_text(
        (MODULE / "virtual.yaml").read_text().replace("btraced_labgrid.py", str(MODULE / "btraced_labgrid.py"))
        .replace("virtual-a9", f"{board}\n        program: {BTRACED}").replace("/tmp/btraced-recordings", str(place)))
    code = ("import sys; sys.dont_write_bytecode = True\n"
            "from labgrid import Environment\n"
            "import socket\n"
            "target = Environment(sys.argv[1]).get_target('main')\n"
            "driver = target.get_driver('BtracedDriver')\n"
            "host, port = driver.gdb.split(':')\n"
            "with socket.create_connection((host, int(port))) as gdb:\n"
            "    gdb.sendall(b'$?#3f')\n"
            "    print(gdb.recv(1))\n"
            "target.deactivate(driver)\n"
            "print(driver.fetch_recording(sys.argv[2]))\n")
    done = subprocess.run([python, "-c", code, str(place / "lab.yaml"), str(place / "copy")], cwd="/",
                          capture_output=True, text=True, timeout=4 * PATIENCE, env=environment(), check=False)
    equal(done.stdout.split(), ["b'+'", str(place / "copy")], f"what labgrid's client printed ({done.stderr[-800:]})")
    expect((place / "copy" / "snapshot.ini").exists(), f"no recording in {os.listdir(place)}")


suite.run()
