#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The shipped board files of probes, served on the modelled probe and a system that fits: what they
say is taken as it is but for the program, and for what the test names. A halt, and the history of what
ran. The Zynq-7000 is in test_native_a.py; chips whose map no model has are at their model's map."""

import os
import re
import shlex
import signal
import socket
import threading

from native_gdb import ROOT, Board
from live_gdb import gone, tail_of
from test_native_a import A9, ENDLESS, KT_LINK, check_history
from test_native_a import ELF as ELF_A
from replay_gdb import Suite, expect, folder, has, history, lacks, said

suite = Suite()
FULL = bool(os.environ.get("BTRACED_FULL"))
PROGRAMS = ROOT / "configs" / "virtual"
ELF_M4 = PROGRAMS / "crash-m4.elf"
LIST = ("set record instruction-history-size 400", "record instruction-history")


def adapted(name, elf, *changes):
    """Path of the shipped file with another program, and with the changes that the model needs."""
    text = (ROOT / "configs" / name).read_text()
    for old, new in (("firmware.elf", str(elf)), *changes):
        expect(re.search(old, text, re.MULTILINE), f"{name} lacks {old!r}")
        text = re.sub(old, new, text, flags=re.MULTILINE)
    path = folder() / name
    path.write_text(text)
    return path


# The clock that the model's pin has, and a rate that the core can wait for (ETMCR bit 7).
CLOCK = (r"^swo_rate = .*$", "swo_rate = 200k"), (r"^trace_clock = .*$", "trace_clock = 64M"), \
    (r"^ETMCR = .*$", "ETMCR = 0x80")
# Name: (QEMU's machine, core, options of the bed, changes).
M_BOARDS = {
    "stm32f1-cmsis-dap.conf": ("mps2-an385", "m3", ("--sink", "swo"), CLOCK),
    "nrf52840-orbtrace.conf": ("netduinoplus2", "m4", ("--probe", "orbtrace", "--sink", "tpiu"), ()),
    "stm32f4-cmsis-dap.conf": ("netduinoplus2", "m4", ("--sink", "swo"), CLOCK),
    "cortex-m-etb.conf": ("netduinoplus2", "m4", (), ()),
}
QUICK = ("stm32f1-cmsis-dap.conf", "nrf52840-orbtrace.conf")

def checked(server, least=400):
    """A halt, and the history of what ran."""
    s = server.session("tbreak main", "continue", "record btrace", "tbreak add_value", "continue",
                       "info line", *LIST, server.mark(), "monitor trace status",
                       "monitor trace gaps")
    has(s.all("continue")[1], r"^Temporary breakpoint 2, add_value")
    rows = history(s[LIST[1]])
    expect(len(rows) == least, f"only {len(rows)} instructions listed")
    tail_of(rows, server.truth(s[server.mark()]), len(rows))
    lacks(s.text, "internal|corrupted|cannot be read|not traced")
    return s


for board, (machine, core, options, changes) in M_BOARDS.items():
    @(suite.test if FULL or board in QUICK else lambda name: lambda f: f)(f"board files: {board}")
    def _(board=board, machine=machine, core=core, options=options, changes=changes):
        elf = PROGRAMS / f"crash-{core}.elf"
        with Board(elf, *options, machine=machine, path=adapted(board, elf, *changes)) as server:
            checked(server)


class Captured(Board):
    """The trace comes over TCP: a plain libusb program reads a capture unit on the pins, and what
    comes is passed on to whoever has connected."""

    CLIENT = ROOT / "build/release/stream_client"

    def __init__(self, listener, *options, **keys):
        self.place, self.listener = folder(), listener
        os.mkfifo(self.place / "pipe")
        threading.Thread(target=self._pass_on, daemon=True).start()
        client = shlex.join(map(str, (self.CLIENT, "-P", 1, "-t", 3600, "-o", self.place / "pipe")))
        script = f'{client} >{self.place}/said & echo $! >{self.place}/pid; exec "$@"'
        super().__init__(ELF_M4, *options, "--sink", "tpiu", machine="netduinoplus2",
                         inside=("sh", "-c", script, "sh"), **keys)

    def _pass_on(self):
        with open(self.place / "pipe", "rb", buffering=0) as pipe, self.listener.accept()[0] as to:
            while data := pipe.read(65536):
                to.sendall(data)

    def __exit__(self, *args):
        # First of all: the bed waits for the server alone, and takes the bus away then.
        client = int((self.place / "pid").read_text())
        os.kill(client, signal.SIGTERM)
        ended = gone(client)
        super().__exit__(*args)
        expect(ended, "the capturing program does not end")


# What arrives is ORBFLOW, as orbuculum passes it on, and the port's bytes. Two probes are on the bus, so
# one is named; the modelled module has its reset elsewhere. A machine under load drains later.
# Name: options of the bed, and changes beside the place of the capturing program.
TCP_BOARDS = {
    "stm32f4-cmsis-dap-tpiu.conf": (("--probe", "orbtrace", "--beside", "cmsis-dap"),
                                    ((r"^type = cmsis-dap$", "type = cmsis-dap\nserial = MODEL0001"),
                                     (r"^tpiu_width = 4$", "tpiu_width = 4\ndrain_ms = 2000"))),
    "stm32f4-ftdi.conf": (("--probe", "ftdi", "--beside", "ftdi", "--layout", "minimodule-swd"),
                          ((r"^#usb = 1-2.3$", "usb = 1-2"), (r"^nsrst = 0x0020$", "nsrst = 0x0010"),
                           (r"^tpiu_width = 4$", "tpiu_width = 4\ndrain_ms = 2000"))),
}

for board, (options, changes) in TCP_BOARDS.items():
    @suite.test(f"board files: {board}")
    def _(board=board, options=options, changes=changes):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            place = r"^connect = localhost:\d+$", f"connect = localhost:{listener.getsockname()[1]}"
            path = adapted(board, ELF_M4, place, *changes)
            with Captured(listener, *options, path=path) as server:
                s = checked(server)
                has(s["monitor trace status"], r"^lost +nothing$")


@suite.test("board files: imx6q.conf, at the modelled map, with two of its cores")
def _():
    """The JTAG chain, both access ports, the funnel without ports, the cross triggers are its own;
    the adapter is one that has a chain."""
    changes = ((r"^type = cmsis-dap$", "type = ftdi\n" + KT_LINK.partition("wire")[0]),
               (r"^\[core cpu2\](.|\n)*", ""), (r"0x82141000", "0x80001000"),
               (r"0x82143000", "0x80003000"), (r"0x82144000", "0x80004000"),
               (r"0x82150000", "0x80090000"), (r"0x8215C000", "0x8009C000"),
               (r"0x82158000", "0x80098000"), (r"0x82152000", "0x80092000"),
               (r"0x8215D000", "0x8009D000"), (r"0x82159000", "0x80099000"))
    with A9("--probe", "ftdi", "--layout", "kt-link", "--chain", "5:0x12345679,4:0x23456781,dap",
            "--etb-words", 32768, smp=2, path=adapted("imx6q.conf", ELF_A, *changes)) as server:
        said(server, r"^halting +together")
        said(server, r"^trace IDs     0x10 cpu0 .*0x11 cpu1")
        s = server.session(ENDLESS, "record btrace", "break checksum", "continue", "stepi 30", *LIST,
                           server.mark())
        check_history(server, s[LIST[1]], s[server.mark()], at_least=20)


if __name__ == "__main__":
    suite.run()
