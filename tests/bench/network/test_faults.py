#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Faults, each with its outcome: the daemon stays up, keeps what it has, and says what happened to
GDB and in the log."""

import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import PROGRAMS, Live, Wire, board_file, goes_on, gone, symbol  # noqa: E402
from replay_gdb import (PATIENCE, Client, Mi, Server, Suite, equal, expect, folder, frame, gdb,  # noqa: E402
                        has, lacks, record_counts, tool, wait_for)

suite = Suite()
ELF = PROGRAMS / "crash-a9.elf"


class Bench:
    """A board whose GDB server is started apart from the daemon, and can die and come back."""

    def __init__(self, *lines, target=""):
        self.path = board_file("virtual-a9")
        place = self.path.parent
        text = self.path.read_text()
        self.command = shlex.split(has(text, r"^command = (.*)$")[1].replace("$RUN", str(place)))
        text = re.sub(r"^command = .*\n", "", text, flags=re.MULTILINE).replace("$RUN", str(place))
        text = text.replace("[target]\n", f"[target]\n{target}\n")
        self.path.write_text(text.replace("[gdb]\n", "[gdb]\nothers = observe\n") +
                             "\n".join(lines) + "\n")
        self.process = None

    def start(self):
        (self.path.parent / "gdb").unlink(missing_ok=True)
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.kill()


@suite.test("faults: the target's GDB server dies while the target runs, and is started again")
def _():
    with Bench() as bench:
        bench.start()
        with Live(bench.path) as live, Mi(ELF) as one:
            def do(text):
                return one.command(f'-interpreter-exec console "{text}"')
            do(f"target extended-remote 127.0.0.1:{live.port}")
            do("record btrace")
            do("tbreak main")
            do("continue")
            do("set var crash_after = 0")
            before = record_counts(gdb_text(do("info record")))[0]
            one.token += 1
            one.process.stdin.write(f"{one.token}-exec-continue\n")
            one.process.stdin.flush()
            time.sleep(0.3)
            bench.kill()
            seen = "\n".join(one._until(r"\*stopped"))
            has(seen, "the target's GDB server closed the connection")
            wait_for(lambda: "it is called again until it answers, the history is kept" in live.stderr,
                     "a line in the log")
            with Client(live.port) as two:
                two.ask("qSupported")
                has(two.ask("?"), "^E.the target's GDB server closed the connection")
                two.send(frame("qRcmd," + b"status".hex()))
                text = ""
                while (answer := two.reply()) != "OK":
                    text += bytes.fromhex(answer[1:]).decode()
                has(text, "^target +lost")
            bench.start()
            wait_for(lambda: "the target's GDB server is back" in live.stderr, "the server's return")
            # GDB takes the program for killed; the same GDB connects again.
            do(f"target extended-remote 127.0.0.1:{live.port}")
            do("tbreak main")
            has(do("continue"), r"\*stopped.*func=\"main\"")
            expect(record_counts(gdb_text(do("info record")))[0] > before, "no history of before")
            has(do("record instruction-history"), "bl.*0x60000a30 <main>")


def gdb_text(mi):
    """What a console command printed."""
    return "".join(line[2:-1].replace("\\n", "\n") for line in mi.splitlines() if line[:2] == '~"')


@suite.test("faults: the server dies while the target is halted: each question is an error, then not")
def _():
    with Bench() as bench:
        bench.start()
        with Live(bench.path) as live:
            with Wire(live) as wire:
                bench.kill()
                wait_for(lambda: "closed the connection" in live.stderr, "a line in the log")
                has(wire.ask("g"), "^E")
                equal(wire.ask("m60000000,4"), "E05", "memory")
                has(wire.ask("vCont;c"), "^E.the target's GDB server closed the connection")
                has(wire.monitor("status"), "target +lost")
                bench.start()
                wait_for(lambda: "is back" in live.stderr, "the server's return")
                wait_for(lambda: wire.ask("g")[:1] != "E", "registers")
                has(wire.ask("m60000020,4"), "^[0-9a-f]{8}$")
                has(wire.resume("vCont;s:p1.1"), "^T05")


@suite.test("faults: a client that vanishes in a packet, or sends garbage, harms nobody")
def _():
    with Bench() as bench:
        bench.start()
        with Live(bench.path) as live, Wire(live) as one:
            memory = one.ask("m60000020,40")
            for number, bad in enumerate((b"$", b"$M60000020,4:0000", b"$g#0", b"\xff" * 5000,
                                          b"$" + b"}" * 999, b"+" * 999 + b"$X60000020,ff:")):
                two = Client(live.port)
                two.send(frame("qSupported"))
                two.reply()
                two.send(bad)
                two.close(reset=number % 2 == 1)
            equal(one.ask("m60000020,40"), memory, "memory")
            has(one.resume("vCont;s:p1.1"), "^T05")


@suite.test("faults: the one in control vanishes while the target runs")
def _():
    with Bench() as bench:
        bench.start()
        with Live(bench.path) as live:
            wire = Wire(live)
            wire.run_to_main(ELF)
            wire.send(frame("vCont;c") + b"$m6000")
            goes_on(live.truth_path())
            wire.close(reset=True)
            s = gdb(live.port, ["record btrace", "info record", "stepi", "info registers pc"], elf=ELF,
                    connect="target extended-remote")
            expect(record_counts(s["info record"])[0] > 1000, "the history is not there")
            has(s["info registers pc"], "^pc ")


class Limited(Live):
    """The daemon with a limit of the size of its files."""

    def __init__(self, path, limit, *options):
        self.path = path
        Server.__init__(self, path, *options, "-c", command=("serve",),
                        below=(tool("prlimit"), f"--fsize={limit}"))


def replayed(path):
    with Server(path) as server:
        return gdb(server.port, ["info record"], elf=ELF)["info record"]


@suite.test("faults: the disk is full while recording")
def _():
    place = folder()
    with Bench() as bench:
        bench.start()
        limit = 300000

        # A limit of the size of files stands for a disk without room.
        with Limited(bench.path, limit, "--record", str(place / "run")) as live, Wire(live) as wire:
            wire.run_to_main(ELF)
            wire.send(frame("vCont;c"))
            wait_for(lambda: re.search(r"recording to '.*' has ended: File too large", live.stderr),
                     "a line in the log")
            text = bytes.fromhex(wire.reply()[1:]).decode()
            has(text, "recording to '.*' has ended: File too large; what was written before can be replayed")
            wire.send(b"\x03")
            has(wire.reply(), "^T02")
            has(wire.monitor("status"), "recording +recording to '.*' has ended")
            equal(wire.ask("Qbtrace:bts"), "OK", "Qbtrace:bts")
            expect(len(wire.blocks()) > 10, "no history")
        s = replayed(place / "run")
        expect(record_counts(s)[0] > 1000, "the recording cannot be replayed")


@suite.test("faults: SIGTERM closes the recording, and the daemon ends well while the target runs")
def _():
    place = folder()
    with Live(board_file("virtual-a9"), "--record", str(place / "run")) as live:
        wire = Wire(live)
        wire.run_to_main(ELF)
        wire.send(frame("vCont;c"))
        goes_on(live.truth_path())
        children = live.children()
    wire.close()
    gone(children[0])
    text = replayed(place / "run")
    expect(record_counts(text)[0] > 1000, "the recording cannot be replayed")


class Stub:
    """The board's own GDB server, without btraced and without a question that cleans it up."""

    def __init__(self, bench):
        self.socket = socket.socket(socket.AF_UNIX)
        self.data = b""
        self.socket.settimeout(PATIENCE)
        self.socket.connect(str(bench.path.parent / "gdb"))

    def ask(self, packet):
        """Its answer; a target that ran tells of the stop which the connection has made."""
        self.socket.sendall(frame(packet))
        answer = self.answer()
        while answer and re.match(r"[ST][0-9a-f]{2}", answer):
            answer = self.answer()
        return answer

    def answer(self, seconds=PATIENCE):
        """The next payload, or None: there is none in this time."""
        self.socket.settimeout(seconds)
        try:
            while not (found := re.search(rb"\$([^#]*)#..", self.data)):
                more = self.socket.recv(4096)
                expect(more, "the board's server has closed the connection")
                self.data += more
        except socket.timeout:
            return None
        self.data = self.data[found.end():]
        self.socket.sendall(b"+")
        return found[1].decode()


def runs(bench, patience=2):
    """Whether the board executes anything in so many seconds."""
    truth = bench.path.parent / "truth"
    sizes = [truth.stat().st_size]
    for _ in range(20 * patience):
        time.sleep(0.05)
        sizes.append(truth.stat().st_size)
        if sizes[-1] > sizes[-2] > sizes[0]:
            return True
    return False


def stops_in_crash(bench, patience=3):
    """Whether a breakpoint is there: the program is made to run into it."""
    stub = Stub(bench)
    stub.ask("qSupported:multiprocess+")
    data = (1).to_bytes(4, "little").hex()
    equal(stub.ask(f"M{symbol(ELF, 'crash_after'):x},4:{data}"), "OK", "M")
    stub.socket.sendall(frame("vCont;c"))
    answer = stub.answer(patience)
    stub.socket.close()
    return answer is not None


@suite.test("faults: SIGTERM leaves a target that goes on without us as [target] at_exit says")
def _():
    for word, was, then in (("run", True, True), ("run", False, True), ("halt", True, False),
                            ("halt", False, False), ("leave", True, True), (None, False, False)):
        what = f"at_exit = {word}, {'running' if was else 'halted'} before"
        with Bench(target=f"at_exit = {word}" if word else "") as bench:
            bench.start()
            with Live(bench.path) as live:
                wire = Wire(live)
                wire.run_to_main(ELF)
                equal(wire.ask(f"Z1,{symbol(ELF, 'stopped_here'):x},4"), "OK", "Z1")
                if was:
                    wire.send(frame("vCont;c"))
                    goes_on(live.truth_path())
            wire.close()
            lacks(live.stderr, "does not answer|in control.*\n(.*\n)*.*in control")
            equal(runs(bench, PATIENCE if then else 2), then, f"{what}: whether it runs")
            equal(stops_in_crash(bench), False, f"{what}: whether a breakpoint is left")


@suite.test("faults: a breakpoint of somebody who vanished would be found by that test")
def _():
    with Bench() as bench:
        bench.start()
        place = str(folder())  # what a killed daemon leaves behind
        live = Live(bench.path, environ={"TMPDIR": place, "XDG_RUNTIME_DIR": place})
        wire = Wire(live)
        wire.run_to_main(ELF)
        equal(wire.ask(f"Z1,{symbol(ELF, 'stopped_here'):x},4"), "OK", "Z1")
        Server.running.remove(live)
        live.kill()
        live.process.wait()
        live.process.stdout.close()
        wire.close()
        equal(stops_in_crash(bench, PATIENCE), True, "whether a breakpoint is left")


@suite.test("faults: SIGTERM does not wait for a server that does not answer; twice, for nobody")
def _():
    for signals, least in ((1, 1.5), (2, 0)):
        with Bench(target="at_exit = halt") as bench:
            bench.start()
            live = Live(bench.path)
            wire = Wire(live)
            wire.run_to_main(ELF)
            wire.send(frame("vCont;c"))
            goes_on(live.truth_path())
            bench.process.send_signal(signal.SIGSTOP)
            begin = time.monotonic()
            live.terminate()
            if signals == 2:
                time.sleep(0.2)
                live.terminate()
            code = live.process.wait(20)
            took = time.monotonic() - begin
            live.stop()
            wire.close()
            equal(code, 0, "exit code")
            expect(least <= took <= 15, f"{signals} signals: the end takes {took:.1f} s")
            (has if signals == 1 else lacks)(live.stderr, "does not answer: the target is left as it is")
            bench.process.send_signal(signal.SIGCONT)


suite.run()
