#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""OpenOCD drives a core that QEMU emulates, through the modelled probe and debug logic; what comes
out of the ETB and the SWO pin is decoded by OpenCSD and compared with what QEMU executed."""

import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import tempfile

import openocd_board
from openocd_bench import BENCH, FTDI, MINIMODULE, MINIMODULE_SWD, check, clean, expect, passed
from openocd_board import (LOSSLESS, M_LIBRARY, Program, TRACE_ID, board, cannot_run, check_end,
                           in_order, read_words, since_reset, without_half_syncs)

# The crash programs: name, machine, and what differs between the cores.
M3 = ("crash-m3", board.MPS2)
M4 = ("crash-m4", board.NETDUINO)


def run(folder, program, script, *options, **more):
    return openocd_board.run(folder, program, M_LIBRARY + script, *options, **more)


def decode(folder, program, trace, options):
    return openocd_board.decode(folder, program, trace, {"protocol": "etmv3"}, options=options)


# Run control.

# {0}: hard_fault_handler, {1}: RAM for two instructions and a word, {2}: main, {3}: crash_after
RUN_CONTROL = """
halt
echo [mdw 0xe000ed08]
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
wait_halt 2000
echo "caught [get_reg {{pc xPSR}}]"
echo [mdw 0xe000ed28 2]
cortex_m vector_catch none
mww {1:#x} 0x3001bf00
mwh [expr {{{1:#x} + 4}}] 0xe7fd
mwb [expr {{{1:#x} + 9}}] 0x5a
echo [mdb [expr {{{1:#x} + 8}}] 2]
reset halt
bp [expr {{{1:#x} + 2}}] 2
reg pc {1:#x}
reg r0 0x41
resume
wait_halt 2000
echo "soft [get_reg {{pc r0}}]"
step
echo "over [get_reg {{pc r0}}]"
rbp [expr {{{1:#x} + 2}}]
mwh [expr {{{1:#x} + 2}}] 0xbe2a
reg pc {1:#x}
resume
wait_halt 2000
echo "bkpt [get_reg {{pc r0}}]"
reg psp 0x20001ff0
reg primask 1
reg basepri 0x40
reg control 2
reg pc {1:#x}
step
echo "special [get_reg {{psp primask basepri control sp pc}}]"
"""


def run_control(folder, program):
    s = program.symbols
    ram = 0x20008000
    script = RUN_CONTROL.format(s["hard_fault_handler"], ram, s["main"], s["crash_after"])
    expect(f"board: OpenOCD's run control of {program.machine.core}",
           run(folder, program, script),
           rf"0xe000ed08: {program.base:08x}", r"single-step", rf"main pc {s['main']:#010x}",
           r"due to watchpoint", r"watch pc",
           rf"caught pc {s['hard_fault_entry']:#010x} xPSR 0x\w1000003",
           r"0xe000ed28: 000000[08]2 40000000", r"5a", rf"soft pc {ram + 2:#010x} r0 0x00000041",
           rf"over pc {ram + 4:#010x} r0 0x00000042", rf"bkpt pc {ram + 2:#010x} r0 0x00000042",
           r"special psp 0x20001ff0 primask 0x01 basepri 0x40 control 0x02 sp 0x20001ff0 "
           rf"pc {ram + 2:#010x}")


def floats(folder, program):
    expect("board: floating-point registers",
           run(folder, program, "halt\nreg d1 0x3ff0000040490fdb\nreg fpscr 0x03000000\n"
               "resume\nhalt\necho [reg d1]\necho [reg d0]\necho [reg fpscr]"),
           r"d1 \(/64\): 0x3ff0000040490fdb", r"d0 \(/64\): 0x0000000000000000",
           r"fpscr \(/32\): 0x03000000")


def rom_table(folder, program, *parts):
    expect(f"board: ROM table of {program.machine.core}",
           run(folder, program, "echo [chip.dap info 0]"), rf"{program.machine.core} r\dp\d",
           *parts)


def memory(folder, program):
    """64 KiB out, checked by OpenOCD and read back; and what a debugger must not write."""
    image, back = folder / "image", folder / "back"
    image.write_bytes(os.urandom(65536 - 3))
    back.unlink(missing_ok=True)
    code, output, got = run(
        folder, program, f"halt\nload_image {image} 0x20004001 bin\n"
        f"verify_image {image} 0x20004001 bin\ndump_image {back} 0x20004001 {65536 - 3}\n"
        "catch {mww 0x100 0x12345678}\ncatch {mdw 0x60000000}\n", "--flash", "0+0x100000")
    same = back.exists() and back.read_bytes() == image.read_bytes()
    check("board: 64 KiB out, verified and back, flash refuses",
          code == 0 and same and clean(got) and got["bus-errors"] == 2,
          f"exit code {code}, same {same}, {got}, {output[-800:]!r}")


# Trace.


ETB = """
reset halt
w 0xe000edfc [expr {{[r 0xe000edfc] | 0x01000000}}]
etb_arm
etm_on {1} {2}
bp {0:#x} 2 hw
resume
wait_halt 3000
etm_off
etb_read {3}
"""


def etb(folder, program, words, place, least, options=0, probe=(), **more):
    """Runs to `place`; the end of what ran is what the buffer holds."""
    words_file, truth_file = folder / "etb", folder / "truth"
    words_file.unlink(missing_ok=True)
    full = words < 4096
    name = (f"board: {program.machine.core}, {'wrapped' if full else 'whole'} ETB of {words} words, "
            f"ETMCR {options:#x}"
            + (f", {probe[1]} over {more['transport']}" if probe else ""))
    code, output, got = run(folder, program,
                            ETB.format(program.symbols[place], options, TRACE_ID, words_file),
                            "--etb-words", str(words), "--truth", truth_file, *probe, **more)
    if code != 0 or f"etb full {int(full)}" not in output or not clean(got):
        check(name, False, f"exit code {code}, {got}, {output[-800:]!r}")
        return
    ran = since_reset(board.Truth(truth_file))
    check_end(name, ran, decode(folder, program, read_words(words_file), ()), least, not full)


SWO = """
tpiu create chip.tpiu -dap chip.dap -ap-num 0 -baseaddr 0xe0040000
reset halt
chip.tpiu configure -protocol uart -output {0} -traceclk 64000000 -pin-freq {1} -formatter on
chip.tpiu enable
bp {3:#x} 2 hw
resume
wait_halt 1000
rbp {3:#x}
etm_on {4} {2}
{5}
etm_off
sleep 100
chip.tpiu disable
"""


# The program goes on without its crash.
LOSSY = """
w {1:#x} 0
resume
sleep 400
halt
"""


def swo(folder, program, baud, least, lossless):
    raw, truth_file, symbols = folder / "swo", folder / "truth", program.symbols
    raw.unlink(missing_ok=True)
    name = f"board: {program.machine.core}, ETM on SWO at {baud} baud"
    code, output, got = run(folder, program,
                            SWO.format(raw, baud, TRACE_ID, symbols["main"],
                                       0x80 if lossless else 0x100,
                                       (LOSSLESS if lossless else LOSSY).format(
                                           symbols["report_topics"], symbols["crash_after"])),
                            "--sink", "swo", "--truth", truth_file)
    if code != 0 or not raw.exists() or not clean(got):
        check(name, False, f"exit code {code}, {got}, {output[-800:]!r}")
        return
    ran = since_reset(board.Truth(truth_file))
    runs, problems = decode(folder, program, without_half_syncs(raw.read_bytes()), ["-tpiu"])
    if not lossless:
        runs = runs[:-1]  # the last may have been cut when the probe stopped
    total, wrong = sum(len(one) for one in runs), in_order(runs, ran)
    # The port's last frame is not complete, and waits: what it has so far is not seen.
    behind = len(ran) - total
    ok = not problems and not wrong and total >= least and \
        (len(runs) == 1 and runs[0] == ran[:total] and behind < 200 if lossless else len(runs) > 1)
    check(name, ok, f"{len(ran)} ran, {len(runs)} runs with {total}, {wrong} wrong, {problems[:2]}, "
          f"{raw.stat().st_size} bytes")


ITM = """
tpiu create chip.tpiu -dap chip.dap -ap-num 0 -baseaddr 0xe0040000
reset halt
chip.tpiu configure -protocol uart -output {0} -traceclk 64000000 -pin-freq 500000 -formatter {1}
chip.tpiu enable
w 0xe0000fb0 0xc5acce55
w 0xe0000e80 0x0001000d
w 0xe0001000 [expr {{[r 0xe0001000] | 0x11000}}]
{2}
{3}
sleep 100
chip.tpiu disable
"""


def itm_packets(data):
    """(PC samples, exceptions [(number, function)], bytes that are neither)"""
    at, samples, exceptions, other = 0, [], [], 0
    while at < len(data):
        if data[at] == 0x17:
            samples += struct.unpack_from("<I", data, at + 1) if at + 5 <= len(data) else ()
            at += 5
        elif data[at] == 0x0e:
            if at + 3 <= len(data):
                exceptions.append((data[at + 1] | (data[at + 2] & 1) << 8, data[at + 2] >> 4))
            at += 3
        elif data[at:at + 6] == bytes((0, 0, 0, 0, 0, 0x80)):
            at += 6
        else:
            other += data[at] != 0x70  # overflow
            at += 1
    return samples, exceptions, other


def itm_alone(folder, program):
    """The DWT's packets without formatter: each PC was executed, exceptions come and go."""
    raw, truth_file, symbols = folder / "swo", folder / "truth", program.symbols
    raw.unlink(missing_ok=True)
    code, output, got = run(folder, program, ITM.format(
        raw, "off", "", LOSSLESS.format(symbols["hard_fault_handler"])), "--itm",
        "--truth", truth_file)
    samples, exceptions, other = itm_packets(raw.read_bytes() if raw.exists() else b"")
    known = {address & ~1 for address in board.Truth(truth_file).ran}
    ok = code == 0 and clean(got) and len(samples) > 20 and set(samples) <= known \
        and {(15, 1), (15, 2)} <= set(exceptions) and (3, 1) in exceptions and other == 0
    check("board: DWT packets on SWO", ok, f"exit code {code}, {got}, {len(samples)} samples, "
          f"{exceptions[-4:]}, {other} other bytes, {output[-500:]!r}")


def both(folder, program):
    """ETM and DWT through the formatter: both sources whole."""
    raw, truth_file, symbols = folder / "swo", folder / "truth", program.symbols
    raw.unlink(missing_ok=True)
    code, output, got = run(folder, program, ITM.format(
        raw, "on", f"etm_on 0x80 {TRACE_ID}", LOSSLESS.format(symbols["report_topics"])), "--itm",
        "--sink", "swo", "--truth", truth_file)
    ran = since_reset(board.Truth(truth_file))
    data = without_half_syncs(raw.read_bytes()) if raw.exists() else b""
    runs, problems = decode(folder, program, data, ["-tpiu"]) if code == 0 else ([], [])
    check("board: ETM and DWT packets on SWO", code == 0 and runs == [ran] and not problems,
          f"exit code {code}, {got}, {len(ran)} ran, runs of {[len(r) for r in runs]}, {problems[:2]}")


DAEMON = """
sed 's/^gdb_port .*/gdb_port {port}/; /^shutdown/d' {config} >{config}.daemon
openocd -f {config}.daemon >{log} 2>&1 &
pid=$!
gdb-multiarch -q -nx -batch -ex 'set tcp connect-timeout 20' {elf} \
    -ex 'target extended-remote 127.0.0.1:{port}' -ex 'monitor reset halt' -ex 'hbreak report_topics' \
    -ex continue -ex backtrace -ex 'delete' -ex 'watch reported' -ex continue -ex 'info registers pc'
kill $pid
wait
"""


def daemon(folder, program):
    """OpenOCD in the background and GDB beside it, both children of the test bench's command."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config, log = folder / "run.cfg", folder / "openocd.log"
    run(folder, program, "")  # writes run.cfg
    script = DAEMON.format(port=port, config=config, log=log, elf=program.elf)
    done = subprocess.run([BENCH, "--core", f"qemu:{program.machine.name},{program.elf}", "--",
                           "sh", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=120)
    ok = re.search(r"Breakpoint 1, .*report_topics.*#1 .*in main.*atchpoint 2: reported.*"
                   r"Old value = 0.*New value = [1-9]", done.stdout, re.S)
    check("board: OpenOCD in the background, GDB beside it", ok,
          f"exit code {done.returncode}, {done.stdout[-800:]!r}, {log.read_text()[-500:]!r}")


def main():
    lacking = cannot_run("board")
    if lacking is not None:
        return lacking
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        m3, m4 = Program(folder, *M3), Program(folder, *M4)
        rom_table(folder, m3, r"Part is 0x4c3", r"Part is 0x923", r"Part is 0x924", r"Part is 0x907")
        rom_table(folder, m4, r"Part is 0x4c4", r"Part is 0x9a1", r"Part is 0x925", r"Part is 0x907")
        run_control(folder, m3)
        run_control(folder, m4)
        floats(folder, m4)
        memory(folder, m3)
        etb(folder, m3, 256, "hard_fault_handler", 1000)
        etb(folder, m4, 256, "report_topics", 200, 0x10000100)
        etb(folder, m4, 8192, "report_topics", 1000)
        etb(folder, m3, 256, "hard_fault_handler", 1000, 0, FTDI + ("--jtag",),
            transport="jtag", adapter=MINIMODULE)
        etb(folder, m4, 256, "report_topics", 200, 0x10000100,
            FTDI + ("--layout", "minimodule-swd"), transport="swd",
            adapter=MINIMODULE_SWD)
        daemon(folder, m4)
        itm_alone(folder, m3)
        both(folder, m4)
        swo(folder, m4, 500000, 1000, True)
        swo(folder, m4, 115200, 1000, False)
    return passed()


if __name__ == "__main__":
    sys.exit(main())
