# SPDX-License-Identifier: BSD-3-Clause
"""OpenOCD as a client of the modelled probes: how it is started, what it must say, which of the
models' counters must stay at zero; and what every probe has to pass."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[3]
BENCH = ROOT / "build/release/umockdev_probe"
PLUGIN = ROOT / "build/virtual-board.so"
STREAM_CLIENT = ROOT / "build/release/stream_client"
FTDI = ("--probe", "ftdi")
# Seconds after which something hangs, as in replay_gdb.py.
PATIENCE = int(os.environ.get("BTRACED_PATIENCE", "300"))

# Adapters: OpenOCD's configuration for each.
CMSIS_DAP = """
adapter driver cmsis-dap
cmsis_dap_backend usb_bulk
cmsis_dap_vid_pid 0x1209 0x0001
transport select {transport}
{tap}
"""
ORBTRACE = ("adapter driver cmsis-dap\ncmsis_dap_backend usb_bulk\ncmsis_dap_vid_pid 0x1209 0x3443\n"
            "transport select {transport}\n{tap}\n")
# OpenOCD's own descriptions of these boards. That of the SWD board selects the transport.
MINIMODULE = "source [find interface/ftdi/minimodule.cfg]\ntransport select {transport}\n{tap}\n"
MINIMODULE_SWD = "source [find interface/ftdi/minimodule-swd.cfg]\n{tap}\n"

BASE = """
dap create chip.dap -chain-position chip.cpu
target create chip.cpu cortex_m -dap chip.dap -ap-num 0
adapter speed {speed}
gdb_port disabled
tcl_port disabled
telnet_port disabled
init
poll
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
    done = subprocess.run([BENCH, "--report", report, *options, "--", *command],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
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


def passed():
    """Exit code: none of the checks has failed."""
    return int(failed > 0)


def cannot_run(who, tools, files):
    """Says SKIP or FAIL of `who` where a tool is not installed, or a file not built: (path, make's
    goal). Returns the exit code then, else None."""
    # Another test bench, in which the tests run, needs no umockdev.
    if "BTRACED_USB_BENCH" in os.environ:
        tools = [name for name in tools if name != "umockdev-wrapper"]
    for name in tools:
        if not shutil.which(name):
            required = os.environ.get("BTRACED_REQUIRE_DATA") == "1"
            print(f"{'FAIL' if required else 'SKIP'} {who}: '{name}' is not installed")
            return int(required)
    for path, goal in files:
        if not path.exists():
            print(f"FAIL {who}: no {path.relative_to(ROOT)}, make {goal}")
            return 1
    return None


# What every probe has to pass.

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
    expect(f"{who}: halt, step, breakpoints, registers and memory over {transport}",
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
for {set i 0} {$i < 50 && [read_memory 0xe0041010 32 1] != 0} {incr i} {}
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
           r"0xe0041010: 00000002", r"0xe0041010: 00000000",
           r"0xe0043304: 00001041", r"0xe0043304: 00001001", r"0xe0043018: 0000001c",
           r"0xe0043010: \w{4}0005", r"0xe0043010: ")


# What an ORBTrace sends.


def uncobs(packet):
    out, at = bytearray(), 0
    while at < len(packet):
        code = packet[at]
        if at + code > len(packet):
            return b""
        out += packet[at + 1:at + code]
        at += code
        if code < 255 and at < len(packet):
            out.append(0)
    return bytes(out)


def orbflow(wire):
    """Each tag's bytes, and how many packets were damaged."""
    streams, bad = {}, 0
    for packet in wire.split(b"\0")[:-1]:
        plain = uncobs(packet)
        if 3 <= len(plain) <= 1026 and sum(plain) % 256 == 0:
            streams.setdefault(plain[0], bytearray()).extend(plain[1:-1])
        else:
            bad += 1
    return streams, bad
