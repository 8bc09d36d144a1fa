#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""libftdi1 and OpenOCD's ftdi driver, which know nothing of this project, meet the modelled
FT2232H: its chip's ways, and a target over JTAG and SWD behind several boards' wiring."""

import os
import pathlib
import subprocess
import sys
import tempfile

import openocd_bench
from openocd_bench import (BENCH, FTDI, MINIMODULE, MINIMODULE_SWD, ROOT, STREAM_CLIENT, cannot_run, check,
                         expect, passed)

CLIENT = ROOT / "build/release/ftdi_client"

KT_LINK = ("source [find interface/ftdi/kt-link.cfg]\nftdi device_desc KT-LINK\n"
           "transport select {transport}\n{tap}\n")
FLYSWATTER2 = ("source [find interface/ftdi/flyswatter2.cfg]\ntransport select {transport}\n{tap}\n"
               "reset_config trst_and_srst\n")
SMT2 = ("source [find interface/ftdi/digilent_jtag_smt2.cfg]\ntransport select {transport}\n{tap}\n"
        "reset_config srst_only srst_push_pull\n")
FT232H_SWD = "source [find interface/ftdi/ft232h-module-swd.cfg]\n{tap}\nreset_config srst_only\n"
FT4232H = MINIMODULE.replace("transport", "ftdi device_desc {{FT4232H MiniModule}}\n"
                             "ftdi vid_pid 0x0403 0x6011\ntransport", 1)
# From TDO to TDI, the way OpenOCD wants it.
CHAIN = ("source [find interface/ftdi/minimodule.cfg]\ntransport select jtag\n"
         "jtag newtap last tap -irlen 3\n{tap}\n"
         "jtag newtap first tap -irlen 5 -expected-id 0x12345677\n")
CLIENT_SAYS = [
    "found 1: btraced, FT2232H MiniModule, MODEL0002",
    "eeprom: 0 0 0403",
    "type 4, packet 512, ends 02 81, latency 0 20, modem 0 6032",
    "baud 0 0, flow 0, line 0",
    "mpsse 0",
    "echo 2: fa aa",
    "echo 2: fa ab",
    "loop sync: 1 5000 same",
    "loop async: 1 5000 same",
    "idle: 0 in time",
    "channel B: 0, ends 04 83",
]


def client(name, arguments, wanted, *options):
    done = subprocess.run([BENCH, *FTDI, *options, "--", CLIENT, *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    got = done.stdout.splitlines()
    check(f"libftdi1: {name}", got == wanted, f"exit code {done.returncode}, {got}")


def stream(folder):
    """A synchronous FIFO: as fast as it goes, and at a rate."""
    wanted, got = pathlib.Path(folder) / "wanted", pathlib.Path(folder) / "got"
    for size, rate in ((4000000, ""), (500000, ",2000000")):
        wanted.write_bytes(os.urandom(size))
        done = subprocess.run([BENCH, *FTDI, "--fifo", f"{wanted}{rate}", "--", CLIENT,
                               "stream", str(size), got], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        same = got.exists() and got.read_bytes() == wanted.read_bytes()
        check(f"libftdi1: synchronous FIFO, {size} bytes{' at a rate' if rate else ''}",
              same and "stream: 0, left 0" in done.stdout, f"same {same}, {done.stdout!r}")


def read_stream(folder):
    """The same by libftdi1's own streaming; and packets of full speed."""
    wanted, got = pathlib.Path(folder) / "wanted", pathlib.Path(folder) / "got"
    wanted.write_bytes(os.urandom(1000000))
    for name, command, options in (
            ("ftdi_readstream", [CLIENT, "readstream", "4000000", got], ()),
            ("full speed, plain libusb", [STREAM_CLIENT, "-B", "4000000", "-o", got],
             ("--full-speed",))):
        got.unlink(missing_ok=True)
        done = subprocess.run([BENCH, *FTDI, *options, "--paced", f"{wanted},0,0", "--",
                               *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=60)
        bytes_got = got.read_bytes() if got.exists() else b""
        same = bytes_got[:4000000] == 4 * wanted.read_bytes()
        check(f"ftdi: synchronous FIFO, {name}", done.returncode == 0 and same,
              f"same {same}, {len(bytes_got)} bytes, {done.stdout!r}")


def overflow(folder):
    """Nothing waits for a while: the logic beside the FIFO loses bytes, the chip does not say so."""
    wanted, got = pathlib.Path(folder) / "wanted", pathlib.Path(folder) / "got"
    report = pathlib.Path(folder) / "report"
    wanted.write_bytes(b"".join(n.to_bytes(4, "little") for n in range(1000000)))
    done = subprocess.run([BENCH, *FTDI, "--report", report, "--buffer", "65536",
                           "--paced", f"{wanted},2000000,0", "--", STREAM_CLIENT, "-s", "4096",
                           "-n", "4", "-p", "200", "-B", "800000", "-t", "30", "-o", got],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    lost = int(dict(line.split() for line in report.read_text().splitlines())["fifo-lost"])
    came, begin = got.read_bytes(), wanted.read_bytes()
    at = next((i for i, (a, b) in enumerate(zip(came, begin)) if a != b), len(came))
    check("ftdi: a FIFO that overflows", done.returncode == 0 and lost > 100000
          and at > 100 * 4096 // 2 and at < len(came) - 1000 and " 0 overruns" in done.stdout,
          f"{done.stdout!r}, {lost} lost, other bytes from {at} of {len(came)}")


def run(script, folder, adapter, *options, transport="jtag", **more):
    options = FTDI + (("--jtag",) if transport == "jtag" else ()) + options
    return openocd_bench.run(script, *options, transport=transport, folder=folder, adapter=adapter,
                            **more)


def jtag(folder):
    options = FTDI + ("--jtag",)
    more = {"transport": "jtag", "adapter": MINIMODULE}
    expect("ftdi: scan chain and ROM table over jtag",
           run("echo [chip.dap info 0]", folder, MINIMODULE),
           r"tap/device found: 0x4ba00477", r"AP ID register 0x24770011", r"Cortex-M4 SCS",
           r"CoreSight ETB", r"End of ROM table")
    openocd_bench.run_control(folder, "jtag", *options, who="ftdi", adapter=MINIMODULE)
    openocd_bench.etb(folder, *options, who="ftdi over jtag", **more)
    openocd_bench.transfer(folder, "ftdi: 32 KiB out and back over jtag, 40 WAITs", *options,
                          "--fault", "skip=3000,wait=40", more=more, **{"jtag-waits": 40})
    expect("ftdi: the DAP between two other devices",
           run("halt\necho [reg pc]\necho [mdw 0x08000000]", folder, CHAIN, "--chain",
               "5:0x12345677,dap,3:0"),
           r"last.tap does not have valid IDCODE", r"chip.cpu tap/device found: 0x4ba00477",
           r"first.tap tap/device found: 0x12345677", r"0x08000000: 20008000")
    expect("ftdi: adaptive clock", run("halt\necho [mdw 0x08000000]", folder, MINIMODULE, speed=0),
           r"RCLK \(adaptive clock speed\)", r"0x08000000: 20008000")


def swd(folder):
    options = FTDI + ("--layout", "minimodule-swd")
    more = {"transport": "swd", "adapter": MINIMODULE_SWD}
    openocd_bench.run_control(folder, "swd", *options, who="ftdi", adapter=MINIMODULE_SWD)
    openocd_bench.etb(folder, *options, who="ftdi over swd", **more)
    openocd_bench.transfer(folder, "ftdi: 32 KiB out and back over swd", *options, more=more)
    expect("ftdi: a DPv2 that starts dormant",
           run("halt\necho [reg pc]", folder, MINIMODULE_SWD, "--layout", "minimodule-swd",
               "--dpv2", transport="swd"),
           r"SWD DPIDR 0x6ba02477", r"pc \(/32\): 0x0800004")


RESET = """
reset_config {0} srst_nogate
adapter srst delay 20
halt
reset halt
echo "after {{[get_reg pc]}}"
"""


def boards(folder):
    for name, adapter, transport, lines in (("kt-link", KT_LINK, "swd", "srst_only"),
                                            ("kt-link", KT_LINK, "jtag", "trst_and_srst"),
                                            ("flyswatter2", FLYSWATTER2, "jtag", "trst_and_srst"),
                                            ("smt2", SMT2, "jtag", "srst_only srst_push_pull"),
                                            ("ft232h-swd", FT232H_SWD, "swd", "srst_only"),
                                            ("ft4232h", FT4232H, "jtag", "srst_only")):
        result = run(RESET.format(lines), folder, adapter, "--layout", name, transport=transport)
        code, output, got = result
        resets = got.get("target-resets", 0)
        expect(f"ftdi: {name}'s wiring, {transport} and its reset lines",
               (code or (0 if resets else "no reset"), output, got), r"after \{pc 0x08000040\}")


def faults(folder):
    code, output, got = run("halt\necho [mdw 0x08000000 64]", folder, MINIMODULE,
                            "--unplug-after", "30")
    check("ftdi: the probe is pulled", code and "0x08000000: 20008000" not in output,
          f"exit code {code}, {got}, {output[-800:]!r}")
    code, output, got = run("halt\ncatch {mdw 0x60000000}\necho [mdw 0x08000000]", folder,
                            MINIMODULE)
    check("ftdi: a bus error, and on", code == 0 and got["bus-errors"] > 0
          and "0x08000000: 20008000" in output, f"exit code {code}, {got}, {output[-800:]!r}")


def main():
    lacking = cannot_run("ftdi", ("openocd", "umockdev-wrapper"),
                         [(path, "usb-tests") for path in (BENCH, CLIENT, STREAM_CLIENT)])
    if lacking is not None:
        return lacking
    client("both channels, EEPROM, settings, MPSSE, loopback", [], CLIENT_SAYS)
    client("who does not read comes to a stop", ["stuck"],
           [CLIENT_SAYS[0], "stuck: timed out", "behind it: what fits"])
    with tempfile.TemporaryDirectory() as folder:
        stream(folder)
        read_stream(folder)
        overflow(folder)
        jtag(folder)
        swd(folder)
        boards(folder)
        faults(folder)
    return passed()


if __name__ == "__main__":
    sys.exit(main())
