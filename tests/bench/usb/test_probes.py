#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests server/probe/probe_table.c.
# Tests server/cmd/cmd_probes.c and server/cmd/cmd_arm.c.
"""`btraced probes` and `btraced arm` on the modelled probe: what they say, and what they refuse."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
BENCH = ROOT / "build/release/umockdev_probe"
BTRACED = pathlib.Path(os.environ.get("BTRACED", ROOT / "build/btraced")).resolve()
SYS = "$UMOCKDEV_DIR/sys/devices/pci0000:00/0000:00:14.0/usb1/1-1"
NODE = "/dev/bus/usb/001/002"
# Without the right to pass over file modes even root is refused.
PLAIN = "" if os.geteuid() else "setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-all"
LOCKED = f"echo 'Model CMSIS-DAP' >{SYS}/product; echo MODEL0001 >{SYS}/serial; " \
         f"chmod 000 $UMOCKDEV_DIR{NODE}; exec {PLAIN} "
BUSY = "int libusb_claim_interface(void *h, int i); " \
       "int libusb_claim_interface(void *h, int i) { (void)h, (void)i; return -6; }"
# Descriptors of devices whose strings the kernel does not tell, either.
UNNAMED = """P: /devices/pci0000:00/0000:00:14.0/usb1{place}
N: bus/usb/001/001={descriptors}
E: DEVTYPE=usb_device
E: DEVNAME=/dev/bus/usb/001/001
E: SUBSYSTEM=usb
H: descriptors={descriptors}
A: busnum=1\\n
A: devnum=1\\n
A: speed=480\\n
A: bConfigurationValue=1\\n

"""
DEVICE = "1201 0002 {0} 0000 40 {1} 0001 03 02 01 01"
ROOT_HUB = DEVICE.format("09", "6B1D 0200") + "0902 1900 01 01 00 E0 00" \
    "0904 00 00 01 09 00 00 00" "0705 81 03 0400 0C"
BULK = DEVICE.format("00", "0912 0100") + "0902 2000 01 01 00 80 32" \
    "0904 00 00 02 FF 00 00 04" "0705 01 02 0002 00" "0705 81 02 0002 00"
PROBE = "[probe]\ntype = cmsis-dap\n"
CORE = "[core cpu0]\ntype = Cortex-M4\n"
ETB = "[trace]\nsink = etb\n"
failed = 0


def report(name, problem):
    global failed
    failed += bool(problem)
    print(f"FAIL probes: {name}: {problem}" if problem else f"PASS probes: {name}", flush=True)


def bench(command, options=()):
    return subprocess.run([BENCH, *options, "--", "sh", "-c", command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60)


def check(name, done, code, *parts):
    text = " ".join(done.stdout.split())
    missing = [p for p in parts if p not in text]
    problem = ""
    if done.returncode != code:
        problem = f"exit code {done.returncode}, not {code}: {text}"
    elif missing:
        problem = f"{missing} not in: {text}"
    report(name, problem)


def listing(folder):
    for options in ([], ["--v1"], ["--jtag", "--dpv2"]):
        check(" ".join(["list"] + options), bench(f"{BTRACED} probes", options), 0,
              "btraced Model CMSIS-DAP", "type cmsis-dap", "usb 1209:0001 1-1 ", "serial MODEL0001",
              "firmware 1.0.0", "wires SWD JTAG", "SWO UART streamed", "speed 480 Mbit/s")
    done = subprocess.run(["umockdev-run", "--", BTRACED, "probes"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=60)
    check("list nothing", done, 5, "no probe is attached")
    check("list without permission", bench(LOCKED + f"{BTRACED} probes"), 5, "Model CMSIS-DAP",
          f"problem no permission to open {NODE}: install the udev rules 60-btraced.rules")
    shim = folder / "busy.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", shim], input=BUSY, text=True,
                   check=True)
    check("list one in use", bench(f"LD_PRELOAD={shim}:$LD_PRELOAD exec {BTRACED} probes"), 5,
          "Model CMSIS-DAP", "problem cannot use probe 'Model CMSIS-DAP': interface 0 is in use by "
          "another program")
    check("list takes no arguments", bench(f"{BTRACED} probes x"), 2, "takes no arguments")


def refusals(folder):
    board = folder / "board.conf"

    def arm(name, text, code, *parts, before="", options=()):
        board.write_text(text)
        check(name, bench(f"{before}{BTRACED} arm -c {board}", options), code, *parts)

    arm("another serial number", PROBE + "serial = X9\n" + ETB + CORE, 5,
        "no probe with serial number 'X9', but 1 attached: see 'btraced probes'")
    arm("other USB numbers", PROBE + "usb = 0d28:0204\n" + ETB + CORE, 5,
        "no probe 0d28:0204, but 1 attached: see 'btraced probes'")
    arm("the right ones", PROBE + "usb = 1209:0001\nserial = MODEL0001\n" + ETB + CORE
        + "[gdb]\nlisten = unix:$RUN/gdb\n", 0, "armed")
    for kind, noun in (("cmsis-dap", "CMSIS-DAP probes"), ("ftdi", "FTDI adapters")):
        two = ["--probe", kind, "--beside", kind]
        probe = f"[probe]\ntype = {kind}\n"
        if kind == "ftdi":
            two += ["--layout", "minimodule-swd"]
            probe += "layout = 0x0000/0x000B\n"
        for options in (two, two + ["--no-serial"]):  # the serial numbers are the same
            arm(" ".join(["two:", *options]), probe + ETB + CORE, 5, f"2 {noun} are attached; name "
                "one: 'usb = 1-", "'usb = 1-1'", "'usb = 1-2'", options=options)
        for place in ("1-1", "1-2"):
            arm(f"two {noun}, by {place}", probe + f"usb = {place}\n" + ETB + CORE, 0, "armed",
                options=two)
        arm(f"two {noun}, by a place where none is", probe + "usb = 1-3\n" + ETB + CORE, 5,
            "at 1-3", options=two)
    arm("no permission", PROBE + ETB + CORE, 5,
        f"no permission to open probe {NODE} (1209:0001): install the udev rules", before=LOCKED)
    arm("an access port that is not there", PROBE + "ap = 3\n" + ETB + CORE, 5, "access port 3",
        "there is: ap = 0 is AHB")
    arm("a target that is silent", PROBE + ETB + CORE, 5, "the target does not answer",
        options=["--fault", "noack=100000"])
    arm("a buffer that the chip has not", PROBE + "[trace]\nsink = tmc\n" + CORE, 5,
        "no history: this chip has no TMC; there is: sink = etb")
    arm("no buffer", PROBE + "[trace]\nsink = swo\nswo_rate = 1M\ntrace_clock = 16M\n" + CORE, 2,
        "has no buffer to record into")
    arm("no probe", "[target]\nconnect = :1\n" + ETB + CORE, 2, "has no [probe]")


def unnamed(folder):
    """What may not be opened, and has no name, is told if it can be a probe at all."""
    board, devices = folder / "board.conf", folder / "devices"
    board.write_text(PROBE + ETB + CORE)

    def run(name, place, descriptors, command, code, *parts):
        devices.write_text(UNNAMED.format(place=place, descriptors=descriptors.replace(" ", "")))
        done = subprocess.run(["umockdev-run", "-d", devices, "--", "sh", "-c",
                               "chmod 000 $UMOCKDEV_DIR/dev/bus/usb/001/001; "
                               f"exec {PLAIN} {BTRACED} {command}"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=60)
        check(name, done, code, *parts)

    serve, refusal = f"serve -c {board}", "no permission to open USB device /dev/bus/usb/001/001 " \
        "(1209:0001) and perhaps others: install the udev rules 60-btraced.rules"
    run("root hubs alone: serve", "", ROOT_HUB, serve, 4, "btraced serve: no CMSIS-DAP probe found on USB")
    run("root hubs alone: list", "", ROOT_HUB, "probes", 5, "no probe is attached")
    run("one that may be a probe: serve", "/1-1", BULK, serve, 4, refusal)
    run("one that may be a probe: list", "/1-1", BULK, "probes", 5, "(no name)", "usb 1209:0001",
        "problem no permission to open /dev/bus/usb/001/001")
    board.write_text(PROBE + "usb = 1209:0002\n" + ETB + CORE)
    run("one that is not meant", "/1-1", BULK, serve, 4, "no CMSIS-DAP probe found on USB")


def counters(path):
    lines = (line.split() for line in path.read_text().splitlines())
    return {name: int(value) for name, value in lines}


def leaves_alone(folder):
    """Neither a reset nor an access that the rules forbid, on either wire."""
    board, report_file = folder / "board.conf", folder / "report"
    setup = "[setup]\n0x20000000 = 0x12345678\n0x20000000 = set 0x80000000\n"
    for wire, options in (("swd", []), ("jtag", ["--jtag"]), ("swd", ["--v1", "--dpv2"])):
        board.write_text(PROBE + f"wire = {wire}\n" + ETB + setup + CORE)
        done = bench(f"{BTRACED} arm -c {board}", ["--report", report_file, *options])
        check(" ".join(["arm over", wire, *options]), done, 0,
              "armed: ETB, 4096 bytes at 0xe0043000", f"serve --attach -c {board}")
        got = counters(report_file)
        bad = {n: got[n] for n in ("resets", "locked-writes", "untraced", "sub-word", "bad-key",
                                   "malformed", "oversized", "unaligned") if got[n]}
        report(" ".join(["arm breaks no rule over", wire, *options]), str(bad) if bad else "")


def main():
    if not shutil.which("umockdev-wrapper"):
        required = os.environ.get("BTRACED_REQUIRE_DATA") == "1"
        print(f"{'FAIL' if required else 'SKIP'} probes: 'umockdev-wrapper' is not installed")
        return int(required)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        listing(folder)
        refusals(folder)
        unnamed(folder)
        leaves_alone(folder)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
