#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The shipped board files of probes, served on the modelled probe and a system that fits: what they
say is taken as it is but for the program, and for what the test names. A halt, and the history of what
ran. The Zynq-7000 is in test_probe_a.py; chips whose map no model has are at their model's map."""

import os
import re
import shlex
import signal
import socket
import subprocess
import threading

from probe_gdb import LOADED_MACHINE, ROOT, Board, bench
from live_gdb import Live, gone, tail_of
from test_probe_a import A9, ENDLESS, KT_LINK, RULES, check_history
from test_probe_a import ELF as ELF_A
from replay_gdb import PATIENCE, Suite, equal, expect, folder, gdb, has, history, lacks, logged, tool, value
from streams import free_port

suite = Suite()
FULL = bool(os.environ.get("BTRACED_FULL"))
full_test = suite.test if FULL else lambda name: lambda function: function
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
# Name: (QEMU's machine, core, options of the test bench, changes).
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
    @(suite.test if board in QUICK else full_test)(f"board files: {board}")
    def _(board=board, machine=machine, core=core, options=options, changes=changes):
        elf = PROGRAMS / f"crash-{core}.elf"
        with Board(elf, *options, machine=machine, path=adapted(board, elf, *changes)) as server:
            checked(server)


# Cores with an ETMv4. The models have no funnel and no replicator, no trace components but the ones of the
# core, and plain memory where [setup] switches clocks on. Name: (machine, core, type, options of
# the test bench, changes, registers of [setup] and what they hold then).
FUNNEL = r"^funnel(_port)? = .*\n", ""
V4_BOARDS = {
    "stm32h7-cmsis-dap.conf": (
        "mps2-an500", "m7", "Cortex-M7", ("--etm-pairs", 4, "--sink", "tmc"),
        ((r"^tmc = .*$", "tmc = 0xE0043000"), FUNNEL, (r"^0x5C001004", "0x20300004")),
        {0x20300004: 0x00700007}),
    "nrf5340-cmsis-dap.conf": (
        "mps2-an505", "m33", "Cortex-M33", (),
        ((r"^etb = .*$", "etb = 0xE0043000"), (r"^replicator(_port)? = .*\n", ""),
         (r"^0xE0080", "0x38300"), (r"^0xE005([AB])", r"0x3831\1")),
        {0x38300500: 1, 0x38300004: 1, 0x38300000: 1, 0x3831AFB0: 0xC5ACCE55, 0x3831A000: 0x303,
         0x3831B000: 0x308}),
}

for board, of in V4_BOARDS.items():
    @suite.test(f"board files: {board}")
    def _(board=board, of=of):
        machine, core, kind, options, changes, words = of
        elf = PROGRAMS / f"crash-{core}.elf"
        with Board(elf, *options, machine=machine, core=kind,
                   path=adapted(board, elf, *changes)) as server:
            s = checked(server)
            has(s["monitor trace status"], r"traced by ETM4\.\d$")
            for address, word in words.items():
                equal(value(server.session(f"p/x *(unsigned *) {address:#x}").text), word,
                      f"[setup] at {address:#x}")


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
        # First of all: the test bench waits for the server alone, and takes the bus away then.
        client = int((self.place / "pid").read_text())
        os.kill(client, signal.SIGTERM)
        ended = gone(client)
        super().__exit__(*args)
        expect(ended, "the capturing program does not end")


# What arrives is ORBFLOW, as orbuculum passes it on, and the port's bytes. Two probes are on the bus, so
# one is named; the modelled module has its reset elsewhere with SWD. A machine under load drains later.
# Name: options of the test bench, and changes beside the place of the capturing program.
DRAIN = r"^tpiu_width = 4$", "tpiu_width = 4\ndrain_ms = 20000"
PLACE = r"^#usb = 1-2.3$", "usb = 1-2"
FTDIS = "--probe", "ftdi", "--beside", "ftdi", "--layout"
TCP_BOARDS = {
    "stm32f4-cmsis-dap-tpiu.conf": (("--probe", "orbtrace", "--beside", "cmsis-dap"),
                                    ((r"^type = cmsis-dap$", "type = cmsis-dap\nserial = MODEL0001"),
                                     DRAIN)),
    "stm32f4-ftdi.conf": ((*FTDIS, "minimodule-swd"),
                          (PLACE, (r"^nsrst = 0x0020$", "nsrst = 0x0010"), DRAIN)),
    "stm32f4-ftdi.conf, JTAG": ((*FTDIS, "minimodule", "--jtag"),
                                (PLACE, (r"^wire = swd$", "wire = jtag"), DRAIN)),
}

for board, (options, changes) in TCP_BOARDS.items():
    @(full_test if "JTAG" in board else suite.test)(f"board files: {board}")
    def _(board=board.partition(",")[0], options=options, changes=changes):
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
        logged(server, r"^halting +together")
        logged(server, r"^trace IDs     0x10 cpu0 .*0x11 cpu1")
        s = server.session(ENDLESS, "record btrace", "break checksum", "continue", "stepi 30", *LIST,
                           server.mark())
        check_history(server, s[LIST[1]], s[server.mark()], at_least=20)


AM335X = "am335x-openocd.conf"
# In the place of the files for the chip, whose router in the JTAG chain no model has.
OPENOCD = """
adapter driver cmsis-dap
cmsis_dap_backend usb_bulk
cmsis_dap_vid_pid 0x1209 0x0001
transport select swd
swd newdap am335x tap -irlen 4
dap create am335x.dap -chain-position am335x.tap
target create am335x.cpu cortex_a -dap am335x.dap -ap-num 1 -dbgbase 0x80090000
adapter speed 4000
tcl_port disabled
telnet_port disabled
reset_config srst_only srst_push_pull
"""
DUMMY = """
adapter driver dummy
transport select jtag
adapter speed 100
source [find target/am335x.cfg]
tcl_port disabled
telnet_port disabled
"""


def behind_openocd(place, config, words, *changes):
    """The shipped file in that folder, with other files for OpenOCD, on a free port, in the test bench of `words`:
    its path and the port."""
    tool("openocd")
    port = free_port()
    (place / "openocd.cfg").write_text(config)
    command = " ".join([*words, "openocd", "-f", str(place / "openocd.cfg")])
    path = adapted(AM335X, ELF_A, (r"openocd -f board/ti_beaglebone\.cfg", command),
                   (r"\b3334\b", str(port)), *changes)
    return path.rename(place / AM335X), port


@suite.test("board files: am335x-openocd.conf: its port leads to the Cortex-A8")
def _():
    path, port = behind_openocd(folder(), DUMMY, [])
    command = has(path.read_text(), r"^command = (.*)$")[1]
    done = subprocess.run([*shlex.split(command), "-c", "init", "-c", "shutdown"], timeout=PATIENCE,
                          capture_output=True, text=True)
    has(done.stderr, rf"^Info : starting gdb server for am335x\.cpu on {port}$")
    equal(done.stderr.count("starting gdb server"), 1, "GDB servers")


# A word takes OpenOCD tens of milliseconds, so the buffer is small, and synchronised more often.
@full_test("board files: am335x-openocd.conf, at the modelled map")
def _():
    """OpenOCD reaches trace unit and buffer as the core has them, by instructions of the halted core:
    at addresses that the program has mapped."""
    place = folder()
    words = bench("--core", f"qemu:vexpress-a9,{ELF_A}", "--plugin", ROOT / "build/virtual-board.so",
                "--truth", place / "truth", "--report", place / "report", "--etmv3", "--etb-words",
                256, "--window", "0x1E010000")
    path, _ = behind_openocd(place, OPENOCD, words, (r"0x4B162000", "0x1E011000"),
                             (r"0x4B140000", "0x1E0AC000"), (r"0x44E00414", "0x60043000"),
                             (r"^etb = .*$", r"\g<0>\nfunnel = 0x1E014000"),
                             (r"^ETMCR = 0$", r"\g<0>\nETMSYNCFR = 200"))
    with Live(path) as live:
        logged(live, r"^trace clock +not needed: ETB, 1024 bytes at 0x1e011000,")
        s = gdb(live.port, ["monitor reset halt", "maintenance flush register-cache", ENDLESS,
                            "p/x *(int *) 0x60043000", "record btrace", "tbreak report_topics",
                            "continue", *LIST, live.mark(), "stepi 3", LIST[1], live.mark()],
                elf=ELF_A, connect="target extended-remote", before=[LOADED_MACHINE])
        equal(value(s["p/x *(int *) 0x60043000"]), 2, "the register of [setup]")
        has(s["continue"], r"^Temporary breakpoint 1, report_topics")
        for mark, listed in zip(s.all(live.mark()), s.all(LIST[1])):
            check_history(live, listed, mark, at_least=100)
    lines = dict(line.split() for line in (place / "report").read_text().splitlines())
    broken = {name: lines[name] for name in (*RULES, "a-trace-locked", "a-trace-ignored")
              if int(lines[name])}
    expect(not broken, f"rules broken: {broken}")


RP2350 = "rp2350-openocd.conf"
# In the place of the file for the chip, whose access ports no model has.
OPENOCD_M33 = """
adapter driver cmsis-dap
cmsis_dap_backend usb_bulk
cmsis_dap_vid_pid 0x1209 0x0001
transport select swd
swd newdap rp2350 cpu -irlen 4
dap create rp2350.dap -chain-position rp2350.cpu
target create rp2350.cpu cortex_m -dap rp2350.dap -ap-num 0
tcl_port disabled
telnet_port disabled
"""


@suite.test("board files: rp2350-openocd.conf, at its addresses, modelled")
def _():
    """All of it goes by the memory packets of OpenOCD, which drives the modelled probe."""
    tool("openocd")
    place, port, elf = folder(), free_port(), PROGRAMS / "crash-m33.elf"
    words = bench("--core", f"qemu:mps2-an505,{elf}", "--plugin", ROOT / "build/virtual-board.so", "--truth",
                  place / "truth", "--report", place / "report", "--sink", "memory-ring")
    (place / "openocd.cfg").write_text(OPENOCD_M33)
    command = " ".join([*words, "openocd", "-f", str(place / "openocd.cfg")])
    path = adapted(RP2350, elf, (r"openocd -f interface/cmsis-dap\.cfg -f target/rp2350\.cfg", command),
                   (r"\b3334\b", str(port)), (r"adapter speed 5000", "adapter speed 4000"))
    with Live(path.rename(place / RP2350)) as live:
        logged(live, r"^trace clock +not needed: memory ring, 8192 bytes at 0x20040000,")
        s = gdb(live.port, ["monitor reset halt", "maintenance flush register-cache", ENDLESS, "record btrace",
                            "tbreak report_topics", "continue", *LIST, live.mark(), "stepi 3", LIST[1], live.mark()],
                elf=elf, connect="target extended-remote", before=[LOADED_MACHINE])
        has(s["continue"], r"^Temporary breakpoint 1, report_topics")
        for mark, listed in zip(s.all(live.mark()), s.all(LIST[1])):
            check_history(live, listed, mark, at_least=100)
    lines = dict(line.split() for line in (place / "report").read_text().splitlines())
    equal(lines["ring-bad-writes"], "0", "accesses against the rules of the chip")


if __name__ == "__main__":
    suite.run()
