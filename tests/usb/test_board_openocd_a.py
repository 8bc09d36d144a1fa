#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""OpenOCD drives QEMU's Cortex-A9 cores through the modelled ARMv7-A debug logic."""

import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import test_board_openocd as bed  # noqa: E402
import test_ftdi  # noqa: E402
import test_openocd  # noqa: E402

check, expect = test_openocd.check, test_openocd.expect

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
"""
SECOND = "target create chip.a1 cortex_a -dap chip.dap -ap-num 1 -dbgbase 0x80092000 -coreid 1"
SMP = SECOND + "\ntarget smp chip.a0 chip.a1"
# What a correct client leaves at zero, beside test_openocd.CLEAN.
CLEAN = ("undefined", "itr-ignored", "dtr-misused", "bad-restarts", "locked-writes", "refused",
         "sub-word")


class Program(bed.Program):
    def __init__(self, folder):
        super().__init__(folder, "crash-a9", bed.board.VEXPRESS)
        self.base = self.symbols["code_start"]


def run(folder, program, script, *options, second="", **more):
    cores = ("--smp", "2") if second else ()
    return test_openocd.run(script, "--core", f"qemu:{program.machine.name},{program.elf}",
                            "--plugin", bed.PLUGIN, *cores, *options, folder=folder,
                            base=BASE.format(second=second), **more)


def expect_a(name, result, *wanted, aborts=False):
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
chip.apb mww 0x8009001c 1
reset halt
chip.apb mww 0x8009001c 0
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
          code == 0 and same and test_openocd.clean(got) and got["a-aborts"] >= 2
          and "ok 0x60000000: ea" in output and output.count("0x60042000: cafeab") == 2,
          f"exit code {code}, same {same}, {got}, {output[-1500:]!r}")


SMP_RUN = """
halt
echo "first [chip.a0 curstate] [chip.a1 curstate]"
resume
bp {0:#x} 4 hw
wait_halt 4000
echo "both [chip.a0 curstate] [chip.a1 curstate]"
targets chip.a1
echo "other [get_reg pc]"
"""


def main():
    missing = next((name for name in bed.TOOLS if not shutil.which(name)), None)
    if missing:
        required = os.environ.get("BTRACED_REQUIRE_DATA") == "1"
        print(f"{'FAIL' if required else 'SKIP'} a9: '{missing}' is not installed")
        return int(required)
    for path, goal in ((bed.BED, "usb-tests"), (bed.PLUGIN, "virtual-board")):
        if not path.exists():
            print(f"FAIL a9: no {path.relative_to(bed.ROOT)}, make {goal}")
            return 1
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = Program(folder)
        tables(folder, program)
        run_control(folder, program, "SWD")
        run_control(folder, program, "JTAG of an FTDI", *test_ftdi.FTDI, "--jtag",
                    transport="jtag", adapter=test_ftdi.MINIMODULE)
        memory(folder, program)
    return int(test_openocd.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
