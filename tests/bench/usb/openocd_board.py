# SPDX-License-Identifier: BSD-3-Clause
"""Boards that QEMU emulates, behind the modelled probe and driven by OpenOCD: their programs, what
OpenOCD is told, and OpenCSD's view of the trace beside what QEMU executed."""

import re
import struct
import sys

import openocd_bench
from openocd_bench import BENCH, PLUGIN, ROOT

sys.path[:0] = [str(ROOT / "tests/oracle"), str(ROOT / "tests/board")]
import board  # noqa: E402
import board_opencsd  # noqa: E402

TOOLS = ("openocd", "gdb-multiarch", "umockdev-wrapper", "qemu-system-arm", "trc_pkt_lister",
         "arm-none-eabi-objcopy", "arm-none-eabi-nm")
TRACE_ID = 0x10

# Tcl for the parts that M-profile boards share: DDI 0314H chapter 9, IHI 0014Q chapter 3.
M_LIBRARY = """
proc w {a v} { mww $a $v }
proc r {a} { return [read_memory $a 32 1] }
proc until {a mask want} {
    for {set i 0} {$i < 50} {incr i} { if {([r $a] & $mask) == $want} { return } }
    error [format "0x%08x does not become %x" $a $want]
}
proc etb_arm {} {
    w 0xe0043fb0 0xc5acce55; w 0xe0043020 0; until 0xe0043300 2 2
    w 0xe0043018 0; w 0xe0043014 0; w 0xe004301c 0; w 0xe0043304 1; w 0xe0043020 1
}
proc etm_on {options id} {
    w 0xe0041fb0 0xc5acce55; w 0xe0041000 0x400; until 0xe0041010 2 2
    w 0xe0041200 $id; w 0xe0041008 0x406f; w 0xe0041020 0x6f; w 0xe0041024 0x01000000
    w 0xe00411f0 0; w 0xe0041000 [expr {$options | 0xc00}]
    w 0xe0041000 [expr {$options | 0x800}]; until 0xe0041010 2 0
}
proc etm_off {} { w 0xe0041000 [expr {[r 0xe0041000] | 0x400}]; until 0xe0041010 2 2 }
proc etb_read {path} {
    w 0xe0043304 [expr {[r 0xe0043304] | 0x1000}]; w 0xe0043304 [expr {[r 0xe0043304] | 0x40}]
    until 0xe0043304 0x40 0; w 0xe0043020 0; until 0xe0043300 2 2
    set full [expr {[r 0xe004300c] & 1}]
    set count [r 0xe0043018]
    w 0xe0043014 [expr {$full ? $count : 0}]
    if {$full} { set count [r 0xe0043004] }
    set out [open $path w]
    for {set i 0} {$i < $count} {incr i} { puts $out [format %08x [r 0xe0043010]] }
    close $out
    echo "etb full $full words $count"
}
"""

# {0}: a place that is reached. OpenOCD reads SWO while it sleeps, not while it waits for a halt.
LOSSLESS = """
bp {0:#x} 2 hw
resume
for {{set i 0}} {{$i < 4000 && [chip.cpu curstate] ne "halted"}} {{incr i}} {{ poll; sleep 1 }}
"""


class Program:
    """A program of configs/virtual, as the comparisons want it."""

    straight = board.Program.straight
    size_at = board.Program.size_at
    dumps = property(lambda self: [(self.base, self.code)])

    def __init__(self, folder, name, machine):
        self.machine = machine
        self.elf = ROOT / "configs/virtual" / f"{name}.elf"
        code = folder / f"{name}.bin"
        board.run(["arm-none-eabi-objcopy", "-O", "binary", "-j", ".text", self.elf, code])
        self.code = code.read_bytes()
        self.code += bytes(-len(self.code) % 4)
        table = board.run(["arm-none-eabi-nm", self.elf])
        self.symbols = {symbol: int(value, 16) & ~1 if kind in "Tt" else int(value, 16)
                        for value, kind, symbol in re.findall(r"^(\w+) (\w) (\w+)$", table, re.M)}
        self.base = 0x08000000 if machine is board.NETDUINO else 0


def cannot_run(who):
    return openocd_bench.cannot_run(who, TOOLS, ((BENCH, "usb-tests"), (PLUGIN, "virtual-board")))


def run(folder, program, script, *options, **more):
    """openocd_bench.run() with the program's core."""
    return openocd_bench.run(script, "--core", f"qemu:{program.machine.name},{program.elf}", "--plugin",
                           PLUGIN, *options, folder=folder, **more)


def decode(folder, program, trace, arguments, core=0, cores=1, form="coresight", options=(),
           core_type=None):
    """OpenCSD's view of one core: (runs of addresses between two losses, problems). `arguments`: the
    unit's; the first core's trace ID is TRACE_ID if they name none."""
    register = "trctraceidr" if arguments.get("protocol") == "etmv4" else "etmtraceidr"
    first = arguments.get(register, TRACE_ID)
    snapshot = folder / "snapshot"
    board.write_snapshot(snapshot, program, trace, {**arguments, register: first}, form, cores,
                         core_type)
    runs, problems = [[]], []
    for name, text in board_opencsd.lister_elements(snapshot, options, first + core):
        if name in ("TRACE_ON", "NO_SYNC"):
            runs.append([])
        elif name == "INSTR_RANGE":
            ran, _, _, _, wrong = board_opencsd.their_run(program, [(name, text)])
            runs[-1] += ran
            problems += wrong
        elif name == "ADDR_NACC":
            problems.append(f"no code: {text}")
    return [one for one in runs if one], problems


def check_end(name, ran, decoded, least, whole):
    """The decoded trace is one run of `least` instructions or more: the end of what ran, or all."""
    runs, problems = decoded
    found = runs[-1] if runs else []
    ok = len(runs) == 1 and not problems and len(found) >= least and ran[-len(found):] == found and \
        (not whole or len(found) == len(ran))
    openocd_bench.check(name, ok, f"{len(ran)} ran, runs of {[len(r) for r in runs]}, whole {whole}, "
                      f"{problems[:2]}, last {[hex(a) for a in ran[-3:]]} and "
                      f"{[hex(a) for a in found[-3:]]}")


def without_half_syncs(data):
    """An idle port sends half syncs, also inside a frame: OpenCSD loses step among thousands of
    them. Halfwords are counted from the first frame sync, which ends with one that stays."""
    start = data.find(bytes.fromhex("ffffff7f"))
    if start < 0:
        return b""
    halves = [data[at:at + 2] for at in range(start, len(data) - 1, 2)]
    return b"".join(half for before, half in zip([b""] + halves, halves)
                    if half != b"\xff\x7f" or before == b"\xff\xff")


def read_words(path):
    return b"".join(struct.pack("<I", int(line, 16)) for line in path.read_text().split())


def since_reset(truth):
    """What ran after the last reset, from which the test traces on."""
    starts = [index for index, name, _ in truth.log if name == "on"]
    return list(truth.ran[starts[-1]:]) if starts else []


def in_order(runs, ran):
    """Each run is a part of what ran, behind the one before. How many are not."""
    text, at, wrong = struct.pack(f"<{len(ran)}I", *ran), 0, 0
    for one in runs:
        found = text.find(struct.pack(f"<{len(one)}I", *one), at)
        wrong += found < 0
        at = found + 4 * len(one) if found >= 0 else at
    return wrong
