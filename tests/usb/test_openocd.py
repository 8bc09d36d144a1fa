#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""OpenOCD, which knows nothing of this project, drives the modelled probe through libusb."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BED = ROOT / "build/release/umockdev_probe"
CMSIS_DAP = """
adapter driver cmsis-dap
cmsis_dap_backend usb_bulk
cmsis_dap_vid_pid 0x1209 0x0001
transport select {transport}
{tap}
"""
BASE = """
dap create chip.dap -chain-position chip.cpu
target create chip.cpu cortex_m -dap chip.dap -ap-num 0
adapter speed {speed}
gdb_port disabled
tcl_port disabled
telnet_port disabled
init
"""
# Counters that a correct client and a correct model leave at zero.
CLEAN = ("overruns", "oversized", "malformed", "overflowed", "unknown", "unconnected", "ignored",
         "contention", "write-parity", "unpowered", "unaligned", "locked-writes", "sub-word",
         "bad-key", "maskints-races", "running-accesses")
# Those that an FTDI probe has beside them.
CLEAN_FTDI = ("mpsse-wrong-edge", "mpsse-long-tms", "mpsse-bad-commands", "fights", "dropped",
              "eeprom-writes")
failed = 0


def check(name, ok, why=""):
    global failed
    failed += not ok
    print(f"PASS {name}" if ok else f"FAIL {name}: {why}", flush=True)


def run(script, *options, transport="swd", folder=".", adapter=CMSIS_DAP, speed=4000, base=BASE,
        beside=()):
    """Exit code, output and the model's counters. `adapter`: its configuration and the taps'; `base`:
    that of the target; `beside`: a command that says something before OpenOCD begins, and ends by
    itself."""
    config = pathlib.Path(folder) / "run.cfg"
    report = pathlib.Path(folder) / "report"
    report.unlink(missing_ok=True)
    tap = ("swd newdap chip cpu -irlen 4" if transport == "swd"
           else "jtag newtap chip cpu -irlen 4 -expected-id 0x4ba00477")
    config.write_text(adapter.format(transport=transport, tap=tap) + base.format(speed=speed)
                      + script + "\nshutdown\n")
    command = ["openocd", "-f", str(config)]
    if beside:
        said = pathlib.Path(folder) / "beside"
        said.unlink(missing_ok=True)
        command = ["sh", "-c", f"{shlex.join(map(str, beside))} >{said} & until [ -s {said} ]; do "
                               f"sleep 0.02; done; {shlex.join(command)}; code=$?; wait; "
                               f"cat {said}; exit $code"]
    done = subprocess.run([BED, "--report", report, *options, "--", *command],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    counters = {}
    if report.exists():
        counters = {k: int(v) for k, v in (line.split() for line in report.read_text().splitlines())}
    return done.returncode, done.stdout, counters


def clean(counters):
    names = CLEAN + (CLEAN_FTDI if "mpsse-commands" in counters else ())
    return bool(counters) and not any(counters[name] for name in names)


def expect(name, result, *wanted, counters=True):
    """The run succeeded, each pattern is in its output, in order, and no rule was broken."""
    code, output, got = result
    at = 0
    for pattern in wanted:
        found = re.compile(pattern).search(output, at)
        if not found:
            check(name, False, f"no '{pattern}' in: {output[-1500:]!r}")
            return
        at = found.end()
    bad = {k: got.get(k) for k in CLEAN + CLEAN_FTDI if got.get(k)}
    check(name, code == 0 and (not counters or clean(got)), f"exit code {code}, counters {bad}")


def rom_table(folder):
    expect("openocd: DPIDR and the ROM table", run("echo [chip.dap info 0]", folder=folder),
           r"SWD DPIDR 0x2ba01477", r"Cortex-M4 r0p1 processor detected",
           r"6 breakpoints, 4 watchpoints", r"AP ID register 0x24770011", r"Cortex-M4 ROM",
           r"Cortex-M4 SCS", r"Cortex-M3 DWT", r"Cortex-M3 FPB", r"Cortex-M3 ITM",
           r"Cortex-M4 TPIU", r"Cortex-M4 ETM", r"CoreSight ETB", r"Component not present",
           r"End of ROM table")


RUN_CONTROL = """
halt
echo [reg r7 0x13572468]
echo [reg r7]
mww 0x20000200 0x12345678
mwb 0x20000201 0xab
mwh 0x20000206 0xcafe
echo [mdb 0x20000200 8]
echo [mdw 0x08000000 2]
reset halt
echo [reg pc]
step
echo [reg pc]
bp 0x08000048 2 hw
resume
wait_halt 1000
echo [reg pc]
echo [reg r0]
rbp 0x08000048
wp 0x20000100 4 w
resume
wait_halt 1000
echo [reg pc]
rwp 0x20000100
resume
"""


def run_control(folder, transport, *options, who="openocd", **more):
    expect(f"{who}: halt, step, points, registers and memory over {transport}",
           run(RUN_CONTROL, *options, transport=transport, folder=folder, **more),
           r"r7 \(/32\): 0x13572468", r"0x20000200: 78 ab 34 12 00 00 fe ca",
           r"0x08000000: 20008000 08000041", r"pc \(/32\): 0x08000040", r"single-step",
           r"pc \(/32\): 0x08000042", r"due to breakpoint", r"pc \(/32\): 0x08000048",
           r"r0 \(/32\): 0x00000001", r"due to watchpoint", r"pc \(/32\): 0x0800004a")


# OpenOCD lets a Cortex-M4's AHB-AP increment over 4 KiB, so --wrap-1k is not for it.
def transfer(folder, name, *options, more=None, **counts):
    """32 KiB out and back, byte for byte, over the ends of TAR's increment."""
    image = pathlib.Path(folder) / "image"
    back = pathlib.Path(folder) / "back"
    image.write_bytes(os.urandom(32768 - 3))
    back.unlink(missing_ok=True)
    code, output, got = run(f"halt\nload_image {image} 0x20000001 bin\n"
                            f"dump_image {back} 0x20000001 {32768 - 3}", *options, folder=folder,
                            **(more or {}))
    same = back.exists() and back.read_bytes() == image.read_bytes()
    happened = all(got.get(k, 0) >= v for k, v in counts.items())
    check(name, code == 0 and same and clean(got) and happened,
          f"exit code {code}, same {same}, {got}, {output[-800:]!r}")


ETB = """
halt
proc w {a v} { mww $a $v }
w 0xe000edfc 0x01000000
w 0xe0043fb0 0xc5acce55
w 0xe0043020 0
w 0xe0043018 0
w 0xe0043014 0
w 0xe0043304 1
w 0xe0043020 1
w 0xe0041fb0 0xc5acce55
w 0xe0041000 0x400
echo [mdw 0xe0041010]
w 0xe0041200 2
w 0xe0041020 0x6f
w 0xe0041000 0xd00
w 0xe0041000 0x900
echo [mdw 0xe0041010]
echo [mdw 0xe0041010]
w 0xe0043304 0x1001
w 0xe0043304 0x1041
echo [mdw 0xe0043304]
echo [mdw 0xe0043304]
w 0xe0043020 0
echo [mdw 0xe0043018]
w 0xe0043014 0
echo [mdw 0xe0043010]
echo [mdw 0xe0043010]
"""


def etb(folder, *options, who="openocd", **more):
    # Frame 0: ID 2 in its first byte (2 << 1 | 1 = 05), then trace bytes 00, 01, 02...
    expect(f"{who}: ETM and ETB programmed, trace read back as frames",
           run(ETB, "--fault", "trace=100", *options, folder=folder, **more),
           r"0xe0041010: 00000002", r"0xe0041010: ", r"0xe0041010: 00000000",
           r"0xe0043304: 00001041", r"0xe0043304: 00001001", r"0xe0043018: 0000001c",
           r"0xe0043010: \w{4}0005", r"0xe0043010: ")


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
    for program in ("openocd", "umockdev-wrapper"):
        if not shutil.which(program):
            missing = os.environ.get("BTRACED_REQUIRE_DATA") == "1"
            print(f"{'FAIL' if missing else 'SKIP'} openocd: '{program}' is not installed")
            return int(missing)
    if not BED.exists():
        print(f"FAIL openocd: no {BED.relative_to(ROOT)}, make usb-tests")
        return 1
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
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
