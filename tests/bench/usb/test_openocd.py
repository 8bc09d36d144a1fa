#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""OpenOCD, which knows nothing of this project, drives the modelled probe through libusb."""

import sys
import tempfile

from openocd_bench import BENCH, RUN_CONTROL, cannot_run, check, etb, expect, passed, run, run_control, transfer


def rom_table(folder):
    expect("openocd: DPIDR and the ROM table", run("echo [chip.dap info 0]", folder=folder),
           r"SWD DPIDR 0x2ba01477", r"Cortex-M4 r0p1 processor detected",
           r"6 breakpoints, 4 watchpoints", r"AP ID register 0x24770011", r"Cortex-M4 ROM",
           r"Cortex-M4 SCS", r"Cortex-M3 DWT", r"Cortex-M3 FPB", r"Cortex-M3 ITM",
           r"Cortex-M4 TPIU", r"Cortex-M4 ETM", r"CoreSight ETB", r"Component not present",
           r"End of ROM table")


def faults(folder):
    transfer(folder, "openocd: 32 KiB out and back, untouched")
    transfer(folder, "openocd: 32 KiB out and back, 40 WAITs", "--fault", "skip=600,wait=40",
             waits=40)
    code, output, got = run("halt\necho [mdw 0x20000000 64]", "--fault", "skip=150,noack=1",
                            folder=folder)
    check("openocd: notices a target that stops answering",
          got.get("line-resets", 0) > 2 or code != 0, f"exit code {code}, {got}, {output[-800:]!r}")
    code, output, got = run("halt\ncatch {mdw 0x60000000}\necho [mdw 0x08000000]", folder=folder)
    check("openocd: recovers from a bus error", code == 0 and got["bus-errors"] > 0
          and "0x08000000: 20008000" in output, f"exit code {code}, {got}, {output[-800:]!r}")
    code, output, got = run("halt\necho [mdw 0x08000000 64]", "--unplug-after", "60", folder=folder)
    check("openocd: the probe is pulled", got.get("packets", 99) <= 60
          and "0x08000000: 20008000" not in output, f"exit code {code}, {got}, {output[-800:]!r}")


def main():
    lacking = cannot_run("openocd", ("openocd", "umockdev-wrapper"), ((BENCH, "usb-tests"),))
    if lacking is not None:
        return lacking
    with tempfile.TemporaryDirectory() as folder:
        rom_table(folder)
        run_control(folder, "swd")
        run_control(folder, "jtag", "--jtag")
        expect("openocd: a DPv2 that starts dormant",
               run("halt\necho [reg pc]", "--dpv2", folder=folder), r"SWD DPIDR 0x6ba02477",
               r"pc \(/32\): 0x0800004")
        expect("openocd: packets of 64 bytes, one at a time",
               run(RUN_CONTROL, "--packet-size", "64", "--packet-count", "1", folder=folder),
               r"0x20000200: 78 ab 34 12 00 00 fe ca", r"due to watchpoint")
        etb(folder)
        faults(folder)
    return passed()


if __name__ == "__main__":
    sys.exit(main())
