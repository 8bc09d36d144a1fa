#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stock GDB debugs a Cortex-M through an FTDI adapter: modelled FT2232H, FT4232H and FT232H,
adapter, target and core."""

import subprocess

from probe_gdb import Board, ProbeServer, bench, refused, whole_session
from replay_gdb import BTRACED, Suite, environment, equal, folder, has, logged, value
from test_probe_board import LIST, M3, check_history
from test_probe_gdb import ADDS, STR, pulled_and_back, session

suite = Suite()
KT_LINK = ("layout = 0x8C28/0xFF3B\nnsrst = 0x0200 enable !0x0800\nntrst = 0x0100 enable !0x0400\n"
           "swd_enable = !0x0020 enable 0x2000\nswdio_enable = !0x1000\n")
SWD = "layout = 0x0000/0x000B\nnsrst = 0x0010\n"
JTAG = "wire = jtag\nnsrst = 0x0020\n"
# Options of the test bench, and the board file that goes with them.
ADAPTERS = {
    "SWD by a resistor": (["--layout", "minimodule-swd"], SWD),
    "JTAG": (["--jtag"], JTAG + "adaptive_clock = yes\nclock = 30M\n"),
    "SWD by a buffer, a port of version 2": (["--layout", "kt-link", "--dpv2"], KT_LINK),
    "JTAG in a chain": (["--layout", "kt-link", "--chain", "8:0x12345679,dap,5:0x23456781"],
                        KT_LINK + "wire = jtag\njtag_chain = 5 4 8\njtag_device = 1\n"),
    "JTAG under reset": (["--layout", "flyswatter2", "--jtag"],
                         "wire = jtag\nlayout = 0x0538/0x057B\nnsrst = 0x0020 enable !0x0100\n"
                         "ntrst = 0x0010\nconnect_under_reset = yes\n"),
    "an FT4232H, JTAG": (["--layout", "ft4232h", "--jtag"], JTAG + "clock = 10M\n"),
    "an FT232H, SWD": (["--layout", "ft232h-swd"],
                       "layout = 0x0030/0x003B\nnsrst = 0x0010\nntrst = 0x0020\nclock = 7M\n"),
}


def served(options, probe, *more):
    return ProbeServer("--probe", "ftdi", *options, *more, kind="ftdi", probe=probe)


@suite.test("ftdi: the list of probes")
def _():
    for layout, usb, product, wires, capture in (
            ("minimodule", "0403:6010", "FT2232H MiniModule", "FT2232H, channel A or B", "ftdi-fifo"),
            ("kt-link", "0403:bbe2", "KT-LINK", "FT2232H, channel A or B", "ftdi-fifo"),
            ("ft4232h", "0403:6011", "FT4232H MiniModule", "FT4232H, channel A or B", "ftdi-uart"),
            ("ft232h-swd", "0403:6014", "FT232H module", "FT232H, channel A", "ftdi-fifo")):
        done = subprocess.run([*bench("--probe", "ftdi", "--layout", layout), BTRACED, "probes"],
                              capture_output=True, text=True, timeout=60, env=environment())
        equal(done.returncode, 0, "exit code")
        has(done.stdout, rf"{product}$")
        has(done.stdout, r"^  type +ftdi$")
        has(done.stdout, rf"^  usb +{usb} 1-1$")
        has(done.stdout, rf"^  wires +SWD JTAG \({wires}\)$")
        has(done.stdout, rf"^  capture .*{capture}")


for name, (options, probe) in ADAPTERS.items():
    @suite.test(f"ftdi: {name}")
    def _(options=options, probe=probe):
        report = folder() / "report"
        with served(options, probe, "--report", report) as server:
            logged(server, r"^wire          (SWD|JTAG) at ")
            if "7M" in probe:
                logged(server, r"^wire          SWD at 6.000 MHz")  # 30 MHz by a whole number
            s = session(server, f"break *{ADDS:#x}", "continue", "stepi", "p/x $pc",
                        "set *(int *)0x20000200=0x12345678", "x/xw 0x20000200", "x/xw 0x60000000",
                        "monitor reset",
                        "maintenance flush register-cache", "p/x $pc", "monitor probe")
            pcs = [int(text.split("=")[1], 16) for text in s.all("p/x $pc")]
            equal(pcs, [STR, 0x08000040], "PC")
            has(s["x/xw 0x20000200"], "0x12345678")
            has(s["x/xw 0x60000000"], "Cannot access memory")
            has(s["monitor probe"], r"^line errors   0 ")
        lines = dict(line.split() for line in report.read_text().splitlines())
        for rule in ("mpsse-unlisted", "mpsse-wrong-edge", "mpsse-no-pins", "mpsse-long-tms", "fights",
                     "dropped", "eeprom-writes"):
            equal(lines[rule], "0", rule)


@suite.test("ftdi: a busy port and damaged bits cost time only")
def _():
    for fault, kinds in (("wait=40", ("SWD by a resistor", "JTAG")),
                         ("skip=60,parity=1", ("SWD by a resistor",))):
        for kind in kinds:
            options, probe = ADAPTERS[kind]
            with served(options, probe, "--fault", fault) as server:
                s = session(server, f"break *{ADDS:#x}", "continue", "stepi", "p/x $pc")
                equal(value(s["p/x $pc"]), STR, f"{kind}, {fault}: PC")


@suite.test("ftdi: an adapter that is pulled makes errors, never silence")
def _():
    options, probe = ADAPTERS["SWD by a resistor"]
    with served(options, probe, "--unplug-after", "300") as server:
        text = whole_session(server, "continue", "stepi", "continue", "monitor probe",
                             "echo still here\\n")
        has(text, r"^the probe does not answer: is it unplugged\?")
        has(text, r"^state         not known: the probe does not answer")
        has(text, r"^still here")


for name in ("SWD by a resistor", "JTAG"):
    @suite.test(f"ftdi: pulled in the middle of things, and put back, {name}")
    def _(options=ADAPTERS[name][0], probe=ADAPTERS[name][1]):
        pulled_and_back("--probe", "ftdi", *options, kind="ftdi", probe=probe)


@suite.test("ftdi: what goes wrong at the start is told")
def _():
    for probe, message in (("serial = NOSUCH", "no FTDI adapter with serial number 'NOSUCH'"),
                           ("usb = 0403:6014", "no FTDI adapter 0403:6014"),
                           ("channel = C", "channel C of adapter 'FT2232H MiniModule'"),
                           ("wire = swd", "the target does not answer")):
        code, text = refused("--probe", "ftdi", kind="ftdi", probe=probe)
        equal(code, 4, f"{probe}: exit code")
        has(text, rf"^btraced serve: .*{message}")


for name in ("SWD by a resistor", "JTAG"):
    @suite.test(f"ftdi: history from an ETB, {name}")
    def _(options=ADAPTERS[name][0], probe=ADAPTERS[name][1]):
        with Board(M3, "--probe", "ftdi", *options, kind="ftdi",
                   probe=probe.replace("clock = 30M\n", "") + "clock = 10M\n") as board:
            s = board.session("record btrace", "tbreak add_value", "continue", "info record",
                              "stepi 7", *LIST, board.mark())
            check_history(board, s, 300)


if __name__ == "__main__":
    suite.run()
