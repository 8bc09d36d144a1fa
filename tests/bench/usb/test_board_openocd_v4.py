#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""OpenOCD drives a Cortex-M7 and a Cortex-M33 that QEMU emulates, and their ETMv4, in the order of
IHI 0064H.b chapter 4 and against it. What comes out is decoded by OpenCSD and compared
with what QEMU executed."""

import re
import sys
import tempfile
from pathlib import Path

import openocd_bench
import openocd_board
from openocd_bench import check, clean, expect, passed
from openocd_board import (LOSSLESS, M_LIBRARY, Program, TRACE_ID, board, cannot_run, check_end,
                           in_order, read_words, since_reset, without_half_syncs)

# Program, QEMU's machine, --kind of the same system around the built-in core.
M7 = ("crash-m7", board.Machine("mps2-an500", "Cortex-M7", [], (), "", "m"), "m7")
M33 = ("crash-m33", board.Machine("mps2-an505", "Cortex-M33", [], (), "", "m"), "m33")
RULES = ("locked-writes", "os-locked", "unpowered", "busy-writes", "early", "unprogrammed",
         "forbidden", "unmodelled")

LIBRARY = M_LIBRARY + """
proc e {offset} { return [expr {0xe0041000 + $offset}] }
proc etm4_unlock {} {
    w 0xe000edfc [expr {[r 0xe000edfc] | 0x01000000}]
    w [e 0xfb0] 0xc5acce55; w [e 0x300] 0; until [e 0x304] 2 0
    w [e 0x310] [expr {[r [e 0x310]] | 8}]; until [e 0x314] 1 1
}
proc etm4_program {config id} {
    w [e 0x004] 0; until [e 0x00c] 1 1
    w [e 0x010] $config
    foreach offset {0x018 0x020 0x024 0x02c 0x030 0x03c 0x08c} { w [e $offset] 0 }
    if {!([r [e 0x1ec]] & 0x02000000)} { w [e 0x034] 8 }
    w [e 0x038] 4; w [e 0x040] $id; w [e 0x080] 0x201; w [e 0x084] 0; w [e 0x088] 0
}
proc etm4_enable {} { w [e 0x004] 1; until [e 0x00c] 1 0 }
proc etm4_on {config id} { etm4_unlock; etm4_program $config $id; etm4_enable }
proc etm4_off {} { w [e 0x004] 0; until [e 0x00c] 3 3 }
proc tmc_arm {} {
    w 0xe0043fb0 0xc5acce55; w 0xe0043020 0; until 0xe004300c 4 4
    w 0xe0043028 0; w 0xe0043304 3; w 0xe0043020 1
}
proc tmc_read {path} {
    w 0xe0043304 [expr {[r 0xe0043304] | 0x1000}]; w 0xe0043304 [expr {[r 0xe0043304] | 0x40}]
    until 0xe0043304 0x40 0; until 0xe004300c 4 4
    set full [expr {[r 0xe004300c] & 1}]
    set out [open $path w]
    set count 0
    while {[set word [r 0xe0043010]] != 0xffffffff} { puts $out [format %08x $word]; incr count }
    close $out
    w 0xe0043020 0
    echo "etb full $full words $count"
}
"""


def run(folder, program, script, *options, **more):
    return openocd_board.run(folder, program, LIBRARY + script, *options, **more)


def broken_rules(counters):
    return {name: counters.get("etm4-" + name) for name in RULES if counters.get("etm4-" + name)}


# The debug side.


def built_in_core(folder, kind):
    expect(f"openocd: halt, step, breakpoints, registers and memory, {kind}",
           openocd_bench.run("echo [chip.dap info 0]\n" + openocd_bench.RUN_CONTROL, "--kind", kind,
                            folder=folder),
           rf"Cortex-{kind.upper()} r\dp\d processor detected", r"8 breakpoints, 4 watchpoints",
           *([r"Type is MEM-AP AHB3", r"0xe00fe003", r"Cortex-M7 ROM", r"Cortex-M7 PPB ROM",
              r"Cortex-M7 FPB", r"Cortex-M7 ETM", r"0x47704a13", r"Cortex-M7 TPIU", r"CoreSight ETB"]
             if kind == "m7" else
             [r"Type is MEM-AP AHB5", r"0xe00ff003", r"0x47702a04", r"DWT architecture",
              r"Flash Patch and Breakpoint unit", r"Instrumentation Trace", r"0x47724a13",
              r"CoreSight ETB"]),
           r"r7 \(/32\): 0x13572468", r"0x20000200: 78 ab 34 12 00 00 fe ca",
           r"pc \(/32\): 0x08000040", r"single-step", r"pc \(/32\): 0x08000042",
           r"due to breakpoint", r"pc \(/32\): 0x08000048", r"due to watchpoint",
           r"pc \(/32\): 0x0800004a")


# {0}: hard_fault_handler, {1}: RAM for two instructions, {2}: main, {3}: crash_after, {4}: RAM
RUN_CONTROL = """
halt
reset halt
set entry [dict get [get_reg pc] pc]
step
if {{[dict get [get_reg pc] pc] == $entry}} {{ error "no step" }}
bp {2:#x} 2 hw
resume
wait_halt 2000
echo "main [get_reg pc]"
rbp {2:#x}
wp {3:#x} 4 r
resume
wait_halt 2000
echo "watch [get_reg pc]"
rwp {3:#x}
cortex_m vector_catch hard_err
resume
wait_halt 3000
echo "caught [get_reg {{pc xPSR}}]"
cortex_m vector_catch none
mww {1:#x} 0x3001bf00
mwh [expr {{{1:#x} + 4}}] 0xe7fd
echo [mdw {1:#x} 2]
reset halt
bp [expr {{{1:#x} + 2}}] 2 hw
reg pc {1:#x}
reg r0 0x41
resume
wait_halt 2000
echo "in RAM [get_reg {{pc r0}}]"
rbp [expr {{{1:#x} + 2}}]
reg psp {4:#x}
reg primask 1
reg basepri 0x40
reg control 2
step
echo "special [get_reg {{psp primask basepri control sp pc}}]"
"""


def run_control(folder, program):
    s = program.symbols
    stack = s["stack_top"]
    ram = stack + 0x1000
    expect(f"board: OpenOCD's run control of {program.machine.core}",
           run(folder, program, RUN_CONTROL.format(s["hard_fault_handler"], ram, s["main"],
                                                   s["crash_after"], stack - 0x800)),
           rf"{program.machine.core} r\dp\d processor", r"single-step",
           rf"main pc {s['main']:#010x}", r"due to watchpoint", r"watch pc",
           rf"caught pc {s['hard_fault_entry']:#010x} xPSR 0x\w1000003",
           rf"{ram:#010x}: 3001bf00 ....e7fd",
           rf"in RAM pc {ram + 2:#010x} r0 0x00000041",
           rf"special psp {stack - 0x800:#010x} primask 0x01 basepri 0x40 control 0x02 "
           rf"sp {stack - 0x800:#010x} pc {ram + 4:#010x}")


BOTH_STATES = """
halt
proc get {n} { mww 0xe000edf4 $n; return [format "%x %08x" $n [r 0xe000edf8]] }
proc set_to {n value} { mww 0xe000edf8 $value; mww 0xe000edf4 [expr {$n | 0x10000}] }
echo "state [mdw 0xe000ee08]"
if {[lindex [get 0x1a] 1] != [lindex [get 13] 1]} { error "SP is not MSP_S" }
set_to 0x18 0x20001230; set_to 0x19 0x20002340; set_to 0x1b 0x20003450; set_to 0x1d 0x10001237
set_to 0x23 0x02000001
foreach n {0x18 0x19 0x1b 0x1d 0x22 0x23 0x14} { echo "is [get $n]" }
"""


def both_states(folder, program):
    """Registers of both security states; the core is in the secure one."""
    expect(f"board: registers of both security states of {program.machine.core}",
           run(folder, program, BOTH_STATES), r"state 0xe000ee08: 00010000", r"is 18 20001230",
           r"is 19 20002340", r"is 1b 20003450", r"is 1d 10001230", r"is 22 00000000",
           r"is 23 02000001", r"is 14 00000000")


# Registers of the trace unit.

REGISTERS = """
halt
w 0xe000edfc [expr {[r 0xe000edfc] | 0x01000000}]
echo [mdw [e 0xfbc]]
echo [mdw [e 0xfb4]]
echo [mdw [e 0x304]]
catch {mdw [e 0x1e0]} refused
echo "before: $refused"
etm4_unlock
echo [mdw [e 0x304]]
echo [mdw [e 0x1e0] 6]
etm4_program 0x1811 0x10
echo [mdw [e 0x010]]
echo [mdw [e 0x034]]
echo [mdw [e 0x00c]]
etm4_enable
echo [mdw [e 0x00c]]
w [e 0x040] 0x33
echo [mdw [e 0x040]]
etm4_off
echo [mdw [e 0x00c]]
"""


def registers(folder, program, locked):
    """Locked: has both locks and a power domain."""
    code, output, got = run(folder, program, REGISTERS)
    wanted = [r"0xe0041fbc: " + ("47704a13" if locked else "47724a13"),
              r"0xe0041fb4: 0000000" + ("3" if locked else "0"),
              r"0xe0041304: 0000000" + ("a" if locked else "0"),
              r"before: " + (r"(?!0x)" if locked else r"0xe00411e0: 280006e1"),
              r"0xe0041304: 0000000" + ("8" if locked else "0"), r"0xe00411e0: 280006\w1 4100f4",
              r"0xe0041010: 00001811", r"0xe0041034: 0000000" + ("8" if locked else "a"),
              r"0xe004100c: 00000003", r"0xe004100c: 00000000", r"0xe0041040: 00000010",
              r"0xe004100c: 00000003"]
    at, missing = 0, None
    for pattern in wanted:
        found = re.compile(pattern).search(output, at)
        missing = missing or (None if found else pattern)
        at = found.end() if found else at
    broken = broken_rules(got)
    right = {"busy-writes": 1}
    if locked:
        right["unpowered"] = broken.get("unpowered", 0)  # how often OpenOCD tries is its business
    check(f"board: registers of the ETMv4, {program.machine.core}",
          code == 0 and not missing and broken == right and (not locked or right["unpowered"] > 0),
          f"exit code {code}, no {missing}, {broken}, {output[-1200:]!r}")


# Trace.


def decode(folder, program, trace, config, options=()):
    devarch = 0x47704A13 if program.machine.core == "Cortex-M7" else 0x47724A13
    return openocd_board.decode(folder, program, trace, {"protocol": "etmv4", "trcconfigr": config,
                                                         "trcdevarch": devarch},
                                options=options, core_type="Cortex-M33")


BUFFER = """
reset halt
etm4_unlock
{5}_arm
etm4_program {1} {2}
{4}
etm4_enable
bp {0:#x} 2 hw
resume
wait_halt 3000
etm4_off
{5}_read {3}
"""


def capture(folder, program, place, config, *options, sink="etb", more=""):
    """(exit code, output, counters, bytes, what ran since the reset)"""
    words_file, truth_file = folder / "words", folder / "truth"
    words_file.unlink(missing_ok=True)
    code, output, got = run(folder, program, BUFFER.format(
        program.symbols[place], config, TRACE_ID, words_file, more, sink),
        "--truth", truth_file, "--sink", sink, *options)
    data = read_words(words_file) if words_file.exists() else b""
    return code, output, got, data, since_reset(board.Truth(truth_file))


def buffer(folder, program, words, place, least, config, sink="etb"):
    """Runs to `place`; the end of what ran is what the buffer holds."""
    full = words < 4096
    name = (f"board: {program.machine.core}, {'wrapped' if full else 'whole'} {sink.upper()} of "
            f"{words} words, TRCCONFIGR {config:#x}")
    code, output, got, data, ran = capture(folder, program, place, config, "--etb-words",
                                           str(words), sink=sink)
    if code != 0 or f"etb full {int(full)}" not in output or not clean(got) or broken_rules(got):
        check(name, False, f"exit code {code}, {broken_rules(got)}, {output[-800:]!r}")
        return
    check_end(name, ran, decode(folder, program, data, config), least, not full)


def silent(folder, program, what, more, rules, *options):
    """It is enabled, and traces nothing."""
    code, output, got, data, _ = capture(folder, program, "main", 1, *options, more=more)
    check(f"board: {what}: no trace of {program.machine.core}",
          code == 0 and "words 0" in output and not data and broken_rules(got) == rules,
          f"exit code {code}, {len(data)} bytes, {broken_rules(got)}, {output[-500:]!r}")


def sections(program):
    """[(first, last)] of its functions, by their size"""
    table = board.run(["arm-none-eabi-nm", "-S", str(program.elf)])
    found = re.findall(r"^(\w+) (\w+) [tT] (\w+)$", table, re.M)
    return {name: (int(at, 16) & ~1, (int(at, 16) & ~1) + int(size, 16) - 2)
            for at, size, name in found}


RANGE = """
w [e 0x400] {0:#x}; w [e 0x404] 0; w [e 0x408] {1:#x}; w [e 0x40c] 0; w [e 0x480] 0; w [e 0x488] 0
w [e 0x084] {2:#x}
"""


def ranges(folder, program, exclude):
    first, last = sections(program)["file_message"]
    code, output, got, data, ran = capture(
        folder, program, "report_topics", 1, "--etb-words", "8192", "--etm-pairs", "2",
        more=RANGE.format(first, last, 0x10000 if exclude else 1))
    runs, problems = decode(folder, program, data, 1)
    inside = [first <= address & ~1 <= last for address in ran]
    wanted = sum(on != exclude for on in inside)
    total = sum(len(one) for one in runs)
    strange = sum((first <= address & ~1 <= last) == exclude for one in runs for address in one)
    wrong = in_order(runs, ran)
    check(f"board: {program.machine.core} traces {'all but' if exclude else 'only'} a range",
          code == 0 and not problems and not broken_rules(got) and not wrong and not strange and
          len(runs) > 2 and 0 < wanted / 2 < total <= wanted,
          f"exit code {code}, {total} of {wanted}, {len(runs)} runs, {wrong} wrong, {strange} "
          f"strange, {problems[:2]}, {broken_rules(got)}, {output[-500:]!r}")


FAULTS = """
reset halt
etm4_unlock
etb_arm
etm4_program 1 {1}
etm4_enable
proc fault {{text}} {{ echo "bench [exec {2} -c "
import socket
bench = socket.socket(socket.AF_UNIX)
bench.connect('{3}')
bench.sendall(b'fault $text' + bytes((10,)))
print(bench.recv(100).decode().strip())
"]" }}
proc seen {{offset}} {{ if {{[catch {{r [e $offset]}} value]}} {{ return refused }}; return [format %08x $value] }}
bp {0:#x} 2 hw
resume
wait_halt 3000
rbp {0:#x}
fault etm-lock=1
echo "locked [seen 0x304] [seen 0x00c]"
w [e 0x300] 0
until [e 0x00c] 1 0
echo "goes on [seen 0x004] [seen 0x040]"
r [e 0x314]
fault etm-power=1
echo "power [seen 0x314]"
until [e 0x314] 1 1
echo "lost [seen 0x304] [seen 0x040]"
etm4_on 1 0x22
echo "again [seen 0x00c] [seen 0x040]"
fault etm-busy=1
catch etm4_off why
echo "busy: $why"
"""


def faults(folder, program):
    """The target takes the trace unit away; told by the test bench's control socket."""
    control = folder / "control"
    result = run(folder, program, FAULTS.format(program.symbols["main"], TRACE_ID,
                                                sys.executable, control), "--control", control)
    expect(f"board: {program.machine.core} locks its ETMv4, cuts its power, never is idle", result,
           r"bench ok", r"locked 0000000a refused", r"goes on 00000001 00000010", r"bench ok",
           r"power 0000002[23]", r"lost 0000000a refused", r"again 00000000 00000022", r"bench ok",
           r"busy: 0xe004100c does not become 3", counters=False)
    broken = broken_rules(result[2])
    check("board: what was refused is counted",
          broken.get("os-locked", 0) >= 2 and set(broken) == {"os-locked"}, f"{broken}")


SWO = """
tpiu create chip.tpiu -dap chip.dap -ap-num 0 -baseaddr 0xe0040000
reset halt
chip.tpiu configure -protocol uart -output {0} -traceclk 64000000 -pin-freq 500000 -formatter on
chip.tpiu enable
bp {1:#x} 2 hw
resume
wait_halt 3000
rbp {1:#x}
etm4_unlock
etm4_program 1 {2}
w [e 0x02c] 0x10c
etm4_enable
{3}
sleep 300
etm4_off
sleep 100
chip.tpiu disable
"""


def swo(folder, program):
    """The core is stalled rather than that trace is lost."""
    raw, truth_file, symbols = folder / "swo", folder / "truth", program.symbols
    raw.unlink(missing_ok=True)
    code, output, got = run(folder, program, SWO.format(
        raw, symbols["main"], TRACE_ID, LOSSLESS.format(symbols["report_topics"])),
        "--sink", "swo", "--truth", truth_file)
    ran = since_reset(board.Truth(truth_file))
    data = without_half_syncs(raw.read_bytes()) if raw.exists() else b""
    runs, problems = decode(folder, program, data, 1, ["-tpiu"]) if data else ([], [])
    total = sum(len(one) for one in runs)
    # The port's last frame is not complete, and waits.
    check(f"board: {program.machine.core}, ETMv4 on SWO",
          code == 0 and clean(got) and not broken_rules(got) and not problems and len(runs) == 1 and
          total >= 1000 and runs[0] == ran[:total] and len(ran) - total < 200,
          f"exit code {code}, {len(ran)} ran, runs of {[len(r) for r in runs]}, {problems[:2]}, "
          f"{broken_rules(got)}, {output[-500:]!r}")


def main():
    lacking = cannot_run("board")
    if lacking is not None:
        return lacking
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        m7, m33 = Program(folder, *M7[:2]), Program(folder, *M33[:2])
        m33.base = 0x10000000
        built_in_core(folder, "m7")
        built_in_core(folder, "m33")
        run_control(folder, m7)
        registers(folder, m7, True)
        registers(folder, m33, False)
        run_control(folder, m33)
        both_states(folder, m33)
        buffer(folder, m7, 256, "hard_fault_handler", 1000, 1)
        buffer(folder, m7, 8192, "report_topics", 1000, 0x1811)
        buffer(folder, m7, 256, "hard_fault_handler", 500, 9, "tmc")
        buffer(folder, m33, 1024, "hard_fault_handler", 1000, 0x801)
        buffer(folder, m33, 8192, "report_topics", 1000, 0x1801, "tmc")
        silent(folder, m7, "return stack with branch broadcast", "w [e 0x010] 0x1009",
               {"forbidden": 1})
        silent(folder, m33, "trace ID 0", "w [e 0x040] 0", {"forbidden": 1})
        silent(folder, m7, "non-invasive debug is not allowed", "", {}, "--fault", "etm-off=1")
        ranges(folder, m7, False)
        ranges(folder, m33, True)
        faults(folder, m7)
        swo(folder, m7)
        swo(folder, m33)
    return passed()


if __name__ == "__main__":
    sys.exit(main())
