#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/live/live_join.c.
"""Trace of a virtual board through somebody who cannot be asked how much there is: one that holds bytes
back, one that goes silent, one that is restarted. A halt is told as complete only if it is."""

import re
import select
import socket
import threading
import time

from live_gdb import PROGRAMS, Live, board_file, tail_of
from replay_gdb import PATIENCE, Failed, Instruction, Suite, expect, folder, gdb, has, history, lacks

ELF = PROGRAMS / "crash-m3.elf"
SHOW = "record instruction-history -"
PLACE = "add_value"
PATIENT = 30000  # ms: only a way to end
SHORT = 3000     # ms, which a halt without its trace takes

suite = Suite()


class Sender(threading.Thread):
    """Between the board and btraced. The file `mode` says what becomes of the bytes, `seen` that it is so:
    forward; drop: they are read, and go nowhere; again: as drop, and the connection is a new one."""

    def __init__(self, place, hold):
        super().__init__(daemon=True)
        self.place, self.hold = place, hold
        self.board = socket.socket(socket.AF_UNIX)
        self.board.bind(str(place / "board"))
        self.board.listen()
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port = self.server.getsockname()[1]
        self.waiting = []  # (when they are due, bytes)
        self.ended = False
        self.live = None

    def switch(self, mode):
        """A GDB command that returns when it is so."""
        return f"shell echo {mode} >{self.place}/mode; " \
               f"until [ \"$(cat {self.place}/seen)\" = {mode} ]; do sleep 0.05; done"

    def mode(self):
        path = self.place / "mode"
        return path.read_text().strip() if path.exists() else "forward"

    def flush(self):
        try:
            self.live.ask_board("flush")
        except (OSError, Failed):
            pass  # it is about to end, or has no time: asked again

    def run(self):
        source, _ = self.board.accept()
        sink, _ = self.server.accept()
        mode = "forward"
        while not self.ended:
            wanted = self.mode()
            if wanted != mode and wanted:
                mode = wanted
                if mode == "again":
                    sink.close()
                    sink, _ = self.server.accept()
                (self.place / "seen").write_text(mode)
            readable = select.select([source], [], [], 0.01)[0]
            if readable:
                data = source.recv(65536)
                if not data:
                    break
                if mode == "forward":
                    self.waiting.append((time.monotonic() + self.hold, data))
            elif self.live:
                self.flush()
            while self.waiting and self.waiting[0][0] <= time.monotonic():
                sink.sendall(self.waiting.pop(0)[1])
        sink.close()


def sent(form, hold, drain, commands):
    """(the output, the server's log) of GDB's commands at a board whose trace goes through a Sender."""
    place = folder()
    sender = Sender(place, hold)
    path = board_file("virtual-m3", registers={"etmsyncfr": 128}, drain_ms=drain, replace=(
        ("format=tpiu", f"format={form}"), ("format = tpiu", f"format = {form}"),
        ("listen = unix:$RUN/trace", f"connect = 127.0.0.1:{sender.port}")))
    text = re.sub(r"out=unix:[^,]*", f"out=unix:{place}/board", path.read_text())
    path.write_text(re.sub(r"^control = .*$", "", text, flags=re.MULTILINE))
    sender.start()
    try:
        with Live(path) as live:
            sender.live = live
            s = gdb(live.port, [f"break {PLACE}", *(c(sender, live) if callable(c) else c
                                                    for c in commands)], elf=ELF,
                    connect="target extended-remote")
            sender.live = None
            return s, live.stderr, live.truth(s[live.mark()])
    finally:
        sender.ended = True
        sender.join(PATIENCE)


def mark(_, live):
    return live.mark()


@suite.test("late trace: a halt waits for what is held back")
def _():
    for form in "tpiu", "raw":
        s, log, truth = sent(form, 0.1, PATIENT, ["continue", "record btrace", "continue",
                                                  "monitor trace status", SHOW, mark])
        has(s["monitor trace status"], r"^last run +complete up to the halt$")
        has(s["monitor trace status"], r"^lost +nothing$")
        rows = history(s[SHOW])
        expect(len(rows) >= 10, f"{form}: {len(rows)} instructions")
        tail_of(rows, truth, len(rows))


def newest(text, truth):
    """What is listed behind the last gap ends with what ran last; how many instructions that are."""
    lines = []
    for line in text.splitlines():
        if Instruction.ROW.match(line):
            lines.append(line)
        elif line and "warning" not in line:
            lines.clear()
    rows = history("\n".join(lines))
    tail_of(rows, truth, len(rows))
    return len(rows)


@suite.test("late trace: a source that is connected and silent is a gap")
def _():
    for form in "tpiu", "raw":
        s, log, truth = sent(form, 0, SHORT, [
            "continue", "record btrace", lambda sender, _: sender.switch("drop"), "continue",
            "monitor trace status", "monitor trace gaps", SHOW,
            lambda sender, _: sender.switch("forward"), "continue", "continue", "continue",
            "continue", "monitor trace status", "monitor trace gaps", SHOW, mark])
        silent, later = s.all("monitor trace status")
        has(silent, r"^last run +NOT complete: the source is connected, but sent nothing while the cores "
                    r"ran; core cpu0: .* the halt (is )?at 0x")
        has(silent, r"^trace clock +running: .*; NOTHING came of the last run$")
        has(silent, r"^lost +.*1 silent")
        has(s.all("monitor trace gaps")[0], r"silent")
        has(log, r"^btraced: the trace source is connected, but sent nothing while the core ran")
        lacks(later, r"NOTHING came")
        if re.search(r"^last run +complete up to the halt$", later, re.MULTILINE):
            expect(newest(s.all(SHOW)[1], truth) > 0, "complete, but nothing is listed")


@suite.test("late trace: a source that is restarted is a gap, and complete only where it is")
def _():
    for form in "tpiu", "raw":
        s, log, truth = sent(form, 0, SHORT, [
            "continue", "record btrace", lambda sender, _: sender.switch("again"), "continue",
            "monitor trace status", lambda sender, _: sender.switch("forward"), "continue", "continue",
            "continue", "continue", "monitor trace status", "monitor trace gaps", SHOW, mark])
        missing, later = s.all("monitor trace status")
        has(missing, r"^last run +NOT complete: ")
        has(s["monitor trace gaps"], r"silent|lost-bytes")
        if re.search(r"^last run +complete up to the halt$", later, re.MULTILINE):
            expect(newest(s[SHOW], truth) > 0, "complete, but nothing is listed")


if __name__ == "__main__":
    suite.run()
