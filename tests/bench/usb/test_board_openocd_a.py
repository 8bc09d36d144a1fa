#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""OpenOCD drives QEMU's Cortex-A9 cores through the modelled ARMv7-A debug logic."""

import os
import pathlib
import sys
import tempfile

import openocd_board
from openocd_bench import (FTDI, MINIMODULE, ORBTRACE, STREAM_CLIENT, check, clean, expect, orbflow,
                         passed)
from openocd_board import (TRACE_ID, board, cannot_run, check_end, decode, read_words, since_reset,
                           without_half_syncs)

BASE = """
dap create chip.dap -chain-position chip.cpu
target create chip.mem mem_ap -dap chip.dap -ap-num 0
target create chip.a0 cortex_a -dap chip.dap -ap-num 1 -dbgbase 0x80090000 -coreid 0
target create chip.apb mem_ap -dap chip.dap -ap-num 1
{second}
adapter speed {{speed}}
gdb_port disabled
tcl_port disabled
telnet_port disabled
reset_config srst_only srst_push_pull
init
targets chip.a0
# A Cortex-A9 is caught at its reset by its vector catch register alone.
proc reset_halt {{{{}}}} {{{{
    foreach debug {{{{{cores}}}}} {{{{ chip.apb mww [expr {{{{$debug + 0x1c}}}}] 1 }}}}
    reset halt
    foreach debug {{{{{cores}}}}} {{{{ chip.apb mww [expr {{{{$debug + 0x1c}}}}] 0 }}}}
}}}}
"""
SECOND = "target create chip.a1 cortex_a -dap chip.dap -ap-num 1 -dbgbase 0x80092000 -coreid 1"
DEBUG = "0x80090000 0x80092000"
# What a correct client leaves at zero, beside openocd_bench.CLEAN.
CLEAN = ("undefined", "itr-ignored", "dtr-misused", "bad-restarts", "locked-writes", "refused",
         "sub-word")
TRACE_CLEAN = ("trace-locked", "trace-ignored", "unselected")
A9 = {"etmidr": 0x411CF301, "etmccer": 0x000008EA}


class Program(openocd_board.Program):
    def __init__(self, folder):
        super().__init__(folder, "crash-a9", board.VEXPRESS)
        self.base = self.symbols["code_start"]


def run(folder, program, script, *options, second="", **more):
    cores = ("--smp", "2") if second else ()
    return openocd_board.run(folder, program, script, *cores, *options,
                             base=BASE.format(second=second, cores=DEBUG[:12 * 2 if second else 10]),
                             **more)


def expect_a(name, result, *wanted):
    broken = {k: result[2].get("a-" + k) for k in CLEAN if result[2].get("a-" + k)}
    if broken and result[0] == 0:
        check(name, False, f"rules broken: {broken}, {result[1][-600:]!r}")
    else:
        expect(name, result, *wanted)


def tables(folder, program):
    expect_a("a9: ROM table and identification",
             run(folder, program, "echo [chip.dap info 1]", second=SECOND),
             r"chip.a0: hardware has 6 breakpoints, 4 watchpoints",
             r"AP ID register 0x24770002", r"Type is MEM-AP APB",
             r"Part is 0xc09, Cortex-A9 Debug", r"Part is 0x9a0", r"Part is 0x906.*CTI",
             r"not present", r"End of ROM table")


# {0}: start, {1}: main, {2}: report_topics, {3}: reported, {4}: self_test
RUN_CONTROL = """
reset_halt
echo "reset [get_reg {{pc cpsr}}]"
bp {1:#x} 4 hw
resume
wait_halt 2000
echo "main [get_reg {{pc}}]"
rbp {1:#x}
cortex_a maskisr on
step
step
echo "steps [get_reg {{pc}}]"
bp {4:#x} 2 hw
resume
wait_halt 2000
echo "thumb [get_reg {{pc cpsr}}]"
rbp {4:#x}
step
echo "over [get_reg {{pc}}]"
wp {3:#x} 4 w
resume
wait_halt 4000
echo "watch [get_reg {{pc}}] [mdw {3:#x}]"
rwp {3:#x}
step
echo "[get_reg {{pc}}]"
bp {2:#x} 4
resume
wait_halt 4000
echo "soft [get_reg {{pc}}]"
rbp {2:#x}
reg r5 0x12345678
reg sp_svc 0x60009990
reg lr_und 0x13579bdf
resume
halt
echo "banked [reg sp_svc] [reg lr_und]"
echo "cp15 [format %08x [arm mrc 15 0 0 0 0]] [format %08x [arm mrc 15 0 1 0 0]]"
"""


def run_control(folder, program, name, *options, **more):
    s = program.symbols
    result = run(folder, program, RUN_CONTROL.format(s["start"], s["main"], s["report_topics"],
                                                     s["reported"], s["self_test"]),
                 *options, **more)
    expect_a(f"a9: run control over {name}", result,
             rf"reset pc {s['start']:#010x}", rf"main pc {s['main']:#010x}", rf"steps pc 0x\w+", r"due to breakpoint",
             rf"thumb pc {s['self_test']:#010x} cpsr 0x\w{{6}}[37f]\w",
             rf"over pc {s['self_test'] + 2:#010x}",
             r"due to watchpoint", r"watch pc 0x60000a74 0x600082cc: 00000000",
             rf"soft pc {s['report_topics']:#010x}",
             r"banked sp_svc \(/32\): 0x60009990\s+lr_und \(/32\): 0x13579bdf", r"cp15 410fc090 \w{7}[13579bdf]")


def memory(folder, program):
    """Through the core, and through the system's bus; what neither has."""
    image, back, bus = (folder / name for name in ("image", "back", "bus"))
    image.write_bytes(os.urandom(4096 - 3))
    for path in (back, bus):
        path.unlink(missing_ok=True)
    code, output, got = run(
        folder, program, f"halt\nload_image {image} 0x60040001 bin\n"
        f"dump_image {back} 0x60040001 {4096 - 3}\n"
        "mwh 0x60042002 0xcafe\nmwb 0x60042001 0xab\necho [mdw 0x60042000]\n"
        "catch {mdw 0xa0000000}\ncatch {mww 0xa0000000 1}\necho \"ok [mdw 0x60000000]\"\n"
        f"targets chip.mem\ndump_image {bus} 0x60040001 {4096 - 3}\n"
        "catch {mdw 0xa0000000}\necho [mdw 0x60042000]\n")
    same = all(p.exists() and p.read_bytes() == image.read_bytes() for p in (back, bus))
    check("a9: 4 KiB out, back through the core and through the bus; aborts",
          code == 0 and same and clean(got) and got["a-aborts"] >= 2
          and "ok 0x60000000: ea" in output and output.count("0x60042000: cafeab") == 2,
          f"exit code {code}, same {same}, {got}, {output[-1500:]!r}")


def locks(folder, program):
    expect_a("a9: OpenOCD clears the OS lock",
             run(folder, program, "halt\necho \"state [chip.a0 curstate]\"\n"
                 "echo \"lock [chip.apb read_memory 0x80090304 32 1]\"", "--fault", "oslock=1"),
             r"state halted", r"lock 0x1")
    code, output, got = run(folder, program, "halt", "--fault", "off=1")
    check("a9: OpenOCD refuses a core without power", code != 0 and got.get("a-refused", 0) > 0
          and "examination failed" in output, f"exit code {code}, {got}, {output[-600:]!r}")


# Reset and hold by PRCR; a halt that is asked for meanwhile; the PC by two instructions.
OWN_RESET = """
halt
poll off
set ignored [r 0x80090314]
w 0x80090310 6
echo "held [format "%x %x" [r 0x80090314] [expr {[r 0x80090088] & 1}]]"
w 0x80090090 1
w 0x80090310 0
until 0x80090088 1 1
w 0x80090088 [expr {[r 0x80090088] | 0x2000}]
foreach opcode {0xe1a0000f 0xee000e15} {
    w 0x80090084 $opcode
    until 0x80090088 0x01000000 0x01000000
}
echo "out [format "%x %x" [r 0x80090314] [expr {[r 0x80090088] & 0x3f}]] [format %#010x [r 0x8009008c]]"
"""


def resets(folder, program):
    result = run(folder, program, LIBRARY + OWN_RESET, "--resets", "core")
    expect_a("a9: a core's own reset, held until a halt is asked for", result, r"held d 0",
             rf"out 9 3 {program.symbols['start'] + 8:#010x}")
    check("a9: one reset", result[2].get("a-core-resets") == 1, result[2])
    expect_a("a9: a request for a reset that leads nowhere",
             run(folder, program, LIBRARY + "halt\nw 0x80090310 2\necho \"[chip.a0 curstate] "
                 "[format %x [expr {[r 0x80090314] & 4}]]\""), r"halted 0")


# {0}: a place of core 0
SMP_RUN = """
foreach core {{chip.a0 chip.a1}} {{ targets $core; halt; wait_halt 1000 }}
echo "halted [chip.a0 curstate] [chip.a1 curstate]"
targets chip.a0
resume
sleep 5
targets chip.a1
wait_halt 1000
echo "alone [chip.a0 curstate] [chip.a1 curstate]"
step
targets chip.a0
halt
wait_halt 1000
echo "both [get_reg pc] [chip.a1 curstate]"
"""

# Channel 0: who enters Debug state tells the other; channel 1 restarts both. {0}: a place.
CTI = """
reset_halt
targets chip.a1
poll off
cross_trigger
foreach debug {{0x80090000 0x80092000}} {{
    w [expr {{$debug + 0x88}}] [expr {{[r [expr {{$debug + 0x88}}]] & ~0x2000}}]
}}
w 0x80090100 {0:#x}
w 0x80090140 0x1e7
w 0x8009801c 2
until 0x80090088 0x3f 7
until 0x80092088 1 1
echo "reasons [format "%x %x" [expr {{[r 0x80090088] & 0x3f}}] [expr {{[r 0x80092088] & 0x3f}}]]"
w 0x80090140 0
foreach cti {{0x80098000 0x80099000}} {{ w [expr {{$cti + 0x10}}] 1 }}
w 0x8009801c 2
until 0x80090088 3 2
until 0x80092088 3 2
w 0x80098014 1
w 0x80098018 1
until 0x80090088 1 1
until 0x80092088 1 1
echo "asked [format "%x %x" [expr {{[r 0x80090088] & 0x3f}}] [expr {{[r 0x80092088] & 0x3f}}]]"
"""

# ETB, funnel (DDI 0314H) and PTM (IHI 0035B chapter 3), as OpenOCD's Tcl.
LIBRARY = """
proc w {a v} { chip.apb mww $a $v }
proc r {a} { return [chip.apb read_memory $a 32 1] }
proc until {a mask want} {
    for {set i 0} {$i < 200} {incr i} { if {([r $a] & $mask) == $want} { return } }
    error [format "0x%08x does not become %x" $a $want]
}
proc cross_trigger {} {
    foreach cti {0x80098000 0x80099000} {
        w $cti 1
        w [expr {$cti + 0x140}] 0xf
        w [expr {$cti + 0x20}] 1
        w [expr {$cti + 0xa0}] 1
        w [expr {$cti + 0xbc}] 2
    }
}
proc sink_arm {ffcr} {
    w 0x80001fb0 0xc5acce55; w 0x80001020 0; until 0x80001300 2 2
    w 0x80001018 0; w 0x80001014 0; w 0x8000101c 0; w 0x80001304 $ffcr; w 0x80001020 1
}
proc unit_on {core options id} {
    set u [expr {0x8009c000 + $core * 0x1000}]
    w 0x80004000 [expr {[r 0x80004000] | 1 << $core}]
    w [expr {$u + 0x300}] 0; w $u 0x400; until [expr {$u + 0x10}] 2 2
    w [expr {$u + 8}] 0x406f; w [expr {$u + 0x18}] 0; w [expr {$u + 0x20}] 0x6f
    w [expr {$u + 0x24}] 0x01000000; w [expr {$u + 0x200}] $id
    w $u [expr {$options | 0x400}]
    if {[r $u] != ($options | 0x400)} { error "options [format %x [r $u]]" }
}
proc unit_go {core} {
    set u [expr {0x8009c000 + $core * 0x1000}]
    w $u [expr {[r $u] & ~0x400}]; until [expr {$u + 0x10}] 2 0
}
proc unit_off {core} {
    set u [expr {0x8009c000 + $core * 0x1000}]
    w $u [expr {[r $u] | 0x400}]; until [expr {$u + 0x10}] 2 2
}
proc sink_stop {} {
    w 0x80001304 [expr {[r 0x80001304] | 0x1000}]; w 0x80001304 [expr {[r 0x80001304] | 0x40}]
    until 0x80001304 0x40 0
}
proc port_stop {} {
    w 0x80003fb0 0xc5acce55; w 0x80003304 0x1000; w 0x80003304 0x1040
    until 0x80003304 0x40 0; until 0x80003300 2 2
}
proc port_on {width syncs} {
    port_stop
    if {!([r 0x80003000] >> ($width - 1) & 1)} { error "no port of $width pins" }
    w 0x80003004 [expr {1 << ($width - 1)}]; w 0x80003308 $syncs; w 0x80003304 0x0103
}
proc etb_read {path} {
    sink_stop; w 0x80001020 0; until 0x80001300 2 2
    set full [expr {[r 0x8000100c] & 1}]
    set count [r 0x80001018]
    w 0x80001014 [expr {$full ? $count : 0}]
    if {$full} { set count [r 0x80001004] }
    set out [open $path w]
    for {set i 0} {$i < $count} {incr i} { puts $out [format %08x [r 0x80001010]] }
    close $out
    echo "etb full $full words $count"
}
proc tmc_read {path} {
    sink_stop; until 0x8000100c 4 4
    set full [expr {[r 0x8000100c] & 1}]
    set out [open $path w]
    for {set i 0} {[set word [r 0x80001010]] != 0xffffffff} {incr i} { puts $out [format %08x $word] }
    close $out
    w 0x80001020 0
    echo "etb full $full words $i"
}
"""

# {0}: place, {1}: options, {2}: file, {3}: cores, {4}: proc that reads
TRACE = """
reset_halt
sink_arm {5}
foreach core {{{3}}} {{ unit_on $core {1} [expr {{0x10 + $core}}]; unit_go $core }}
bp {0:#x} 4 hw
if {{[llength {{{3}}}] == 2}} {{ cross_trigger }}
chip.mem mww {7:#x} 0
foreach core {{{6}}} {{ targets $core; resume }}
wait_halt 4000
foreach core {{{3}}} {{ unit_off $core }}
{4} {2}
"""


def smp(folder, program):
    expect_a("a9: one core of two halts, runs and steps alone",
             run(folder, program, SMP_RUN.format(program.symbols["report_topics"]), second=SECOND),
             r"halted halted halted", r"alone running halted", r"both pc 0x\w+ halted")
    expect_a("a9: cross triggers halt and restart both cores",
             run(folder, program, LIBRARY + CTI.format(program.symbols["main"]), second=SECOND),
             r"reasons 7 13", r"asked 13 13")


def trace(folder, program, name, arguments, words, place, least, *options, tmc=False, cores=1,
          probe=(), **more):
    """From reset to `place`: the end of what ran is what the buffer holds, for each core."""
    words_file, truth_file = folder / "words", folder / "truth"
    words_file.unlink(missing_ok=True)
    script = LIBRARY + TRACE.format(program.symbols[place], arguments.get("etmcr", 0), words_file,
                                    " ".join(str(core) for core in range(cores)),
                                    "tmc_read" if tmc else "etb_read", 3 if tmc else 1,
                                    "chip.a1 chip.a0" if cores > 1 else "chip.a0", program.symbols["awake"])
    code, output, got = run(folder, program, script, "--etb-words", str(words), "--truth",
                            truth_file, *options, *probe, second=SECOND if cores > 1 else "",
                            **more)
    bad = {k: v for k, v in got.items() if v and k[:2] == "a-" and k[2:] in CLEAN + TRACE_CLEAN}
    if code != 0 or bad or "etb full" not in output or not clean(got):
        check(name, False, f"exit code {code}, {bad}, {got}, {output[-1200:]!r}")
        return
    full = "etb full 1" in output
    for core in range(cores):
        ran = since_reset(board.Truth(truth_file, core))
        check_end(f"a9: {name}" + (f", core {core}" if cores > 1 else ""), ran,
                  decode(folder, program, read_words(words_file), arguments, core, cores), least,
                  not full)


# {0}: width, {1}: options, {2}: cores, {3}: place, {4}: targets to resume, {5}: second core wakes
PORT = """
reset_halt
port_on {0} 0x10
foreach core {{{2}}} {{ unit_on $core {1} [expr {{0x10 + $core}}]; unit_go $core }}
bp {3:#x} 4 hw
if {{[llength {{{2}}}] == 2}} {{ cross_trigger }}
chip.mem mww {5:#x} 0
foreach core {{{4}}} {{ targets $core; resume }}
wait_halt 4000
foreach core {{{2}}} {{ unit_off $core }}
port_stop
echo "port [r 0x80003004]"
"""
UNITS = {
    "ORBTrace": (("--probe", "orbtrace"), {"adapter": ORBTRACE}),
    "FTDI FIFO": (("--probe", "ftdi", "--beside", "cmsis-dap"), {}),
}


def pins(folder, program, unit, width, arguments, place, least, *options, cores=1):
    """The same through the TPIU's pins, which a plain libusb program reads from a capture unit."""
    wire, truth_file = folder / "wire", folder / "truth"
    wire.unlink(missing_ok=True)
    script = LIBRARY + PORT.format(width, arguments.get("etmcr", 0), " ".join(map(str, range(cores))),
                                   program.symbols[place], "chip.a1 chip.a0" if cores > 1 else "chip.a0",
                                   program.symbols["awake"])
    probe, more = UNITS[unit]
    code, output, got = run(folder, program, script, "--sink", "tpiu", "--truth", truth_file, *probe,
                            *options, second=SECOND if cores > 1 else "",
                            beside=(STREAM_CLIENT, "-f", {1: 1, 2: 2, 4: 3}.get(width, 3), "-i",
                                    3000, "-t", 60, "-o", wire), **more)
    name = f"a9: {width} pins of the TPIU on {unit}" + (", two cores" if cores > 1 else "")
    bad = {k: v for k, v in got.items() if v and k[:2] == "a-" and k[2:] in CLEAN + TRACE_CLEAN +
           ("tpiu-unsent", "tpiu-holes")}
    if code != 0 or bad or not clean(got) or got["a-tpiu-width"] != width:
        check(name, False, f"exit code {code}, {bad}, {got}, {output[-1200:]!r}")
        return
    for core in range(cores):
        ran = since_reset(board.Truth(truth_file, core))
        if unit == "ORBTrace":
            streams, damaged = orbflow(wire.read_bytes())
            wanted = (bytes(streams.get(TRACE_ID + core, b"")),
                      {**arguments, "etmtraceidr": TRACE_ID + core}, 0, 1, "source_data")
        else:
            damaged = 0
            wanted = (without_half_syncs(wire.read_bytes()), arguments, core, cores, "coresight",
                      ["-tpiu"])
        runs, problems = decode(folder, program, *wanted)
        ok = runs == [ran] and len(ran) >= least and not problems and not damaged
        check(name + (f", core {core}" if cores > 1 else ""), ok,
              f"{len(ran)} ran, runs of {[len(r) for r in runs]}, {problems[:2]}, {damaged} damaged, "
              f"last {[hex(a) for a in ran[-3:]]} and {[hex(a) for a in (runs or [[]])[-1][-3:]]}, {got}")


def main():
    lacking = cannot_run("a9")
    if lacking is not None:
        return lacking
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = Program(folder)
        tables(folder, program)
        run_control(folder, program, "SWD")
        run_control(folder, program, "JTAG of an FTDI", *FTDI, "--jtag",
                    transport="jtag", adapter=MINIMODULE)
        memory(folder, program)
        locks(folder, program)
        resets(folder, program)
        smp(folder, program)
        trace(folder, program, "whole ETB of a PTM", A9, 8192, "report_topics", 1000)
        trace(folder, program, "wrapped ETB of a PTM, every branch, cycles",
              {**A9, "etmcr": 0x1100}, 512, "report_topics", 200)
        trace(folder, program, "wrapped TMC of an ETMv3 over JTAG of an FTDI",
              {**board.A7, "protocol": "etmv3", "etmcr": 0x940}, 256, "report_topics", 200,
              "--etmv3", "--sink", "tmc", tmc=True, probe=FTDI + ("--jtag",),
              transport="jtag", adapter=MINIMODULE)
        trace(folder, program, "ETB of two PTMs", A9, 2048, "start_timer", 40, cores=2)
        pins(folder, program, "ORBTrace", 4, A9, "report_topics", 1000)
        pins(folder, program, "FTDI FIFO", 16, A9, "start_timer", 40, cores=2)
        if os.environ.get("BTRACED_FULL"):
            pins(folder, program, "ORBTrace", 1, A9, "report_topics", 1000)
            pins(folder, program, "ORBTrace", 2, A9, "start_timer", 40, cores=2)
            pins(folder, program, "FTDI FIFO", 8, {**A9, "etmcr": 0x1100}, "report_topics", 1000)
            pins(folder, program, "FTDI FIFO", 16, {**board.A7, "protocol": "etmv3", "etmcr": 0x940},
                 "report_topics", 200, "--etmv3")
    return passed()


if __name__ == "__main__":
    sys.exit(main())
