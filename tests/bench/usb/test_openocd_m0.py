#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A Cortex-M0+ with an MTB, judged by OpenOCD: it finds and debugs the modelled core; it programs the
modelled MTB (DDI 0486B chapter 3) around QEMU's Cortex-M0, and what it dumps then is decoded to what ran."""

import array
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import openocd_bench
from openocd_bench import PLUGIN, ROOT, cannot_run, check, expect, passed

VIRTUAL, TARGET = ROOT / "configs" / "virtual", ROOT / "tests" / "bench" / "usb" / "target"
FILES = {
    "snapshot.ini": "[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=core.ini\ndevice1=mtb.ini\n\n"
                    "[trace]\nmetadata=trace.ini\n",
    "core.ini": "[device]\nname=cpu0\nclass=core\ntype=Cortex-M0+\n",
    "mtb.ini": "[device]\nname=MTB_0\nclass=trace_source\ntype=MTB\n\n[regs]\nPOSITION(0x000)={position}\n"
               "MASTER(0x001)=0x80000008\n",
    "trace.ini": "[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=MTB\nfile=mtb.bin\nformat=source_data\n\n"
                 "[source_buffers]\nMTB_0=MTB\n\n[core_trace_sources]\ncpu0=MTB_0\n",
}
# {0}: where it stops, {1}: the dump. 4 KiB of the MTB's RAM; of POSITION its low bits count.
SCRIPT = """
reset halt
mww 0xe0043fb0 0xc5acce55
mww 0xe0043004 0
mww 0xe0043000 0x2000
mww 0xe0043008 0
mww 0xe0043004 0x80000008
bp {0:#x} 2 hw
resume
wait_halt 5000
echo "halted [get_reg pc]"
echo "position [read_memory 0xe0043000 32 1]"
dump_image {1} 0x1f002000 4096
"""


def program(place):
    elf = place / "crash-m0.elf"
    subprocess.run(["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb", "-std=gnu11", "-O1", "-gdwarf-4",
                    "-fno-inline", "-ffreestanding", "-nostdlib", "-fno-tree-loop-distribute-patterns",
                    f"-I{VIRTUAL}", f"-L{VIRTUAL}", f"-T{TARGET}/m0.ld", "-Wl,-n", "-o", str(elf),
                    str(TARGET / "board_m0.c"), str(VIRTUAL / "crash.c")], check=True)
    return elf


def address_of(elf, name):
    text = subprocess.run(["arm-none-eabi-nm", str(elf)], capture_output=True, text=True, check=True).stdout
    return int(re.search(rf"^([0-9a-f]+) \w {name}$", text, re.MULTILINE)[1], 16) & ~1


def history(place, elf, function):
    """What OpenOCD's dump is decoded to, and what ran."""
    stop = address_of(elf, function)
    result = openocd_bench.run(SCRIPT.format(stop, place / "mtb.bin"), "--core", f"qemu:microbit,{elf}",
                               "--plugin", PLUGIN, "--truth", place / "truth", "--sink", "mtb", folder=place)
    expect(f"openocd: an MTB is programmed and dumped, to {function}", result, rf"halted \D*0x0*{stop:x}",
           r"position 0x|position \d")
    position = re.search(r"^position (\S+)", result[1], re.MULTILINE)[1]
    for name, text in FILES.items():
        (place / name).write_text(text.replace("{position}", f"{int(position, 0):#x}"))
    text = subprocess.run([str(ROOT / "build" / "btraced"), "decode", "--instructions", "--elf", str(elf),
                           str(place)], capture_output=True, text=True, check=True, timeout=60).stdout
    rows = [int(row.split()[2], 16) for row in text.splitlines() if re.match(r"cpu0 +\d+ +0x", row)]
    ran = array.array("I")
    ran.frombytes((place / "truth").read_bytes())
    return rows, [address & ~1 for address in ran], int(position, 0) >> 2 & 1


def main():
    skipped = cannot_run("openocd, Cortex-M0+", ("openocd", "umockdev-wrapper", "qemu-system-arm",
                                                 "arm-none-eabi-gcc"), [(PLUGIN, "virtual-board")])
    if skipped is not None:
        return skipped
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        expect("openocd: a Cortex-M0+ is found with its MTB; halt, step, breakpoint, watchpoint",
               openocd_bench.run("echo [chip.dap info 0]\n" + openocd_bench.RUN_CONTROL, "--kind", "m0",
                                 folder=place),
               r"Cortex-M0\+ r\dp\d processor detected", r"4 breakpoints, 2 watchpoints", r"Cortex-M0 BPU",
               r"halted due to single-step", r"halted due to breakpoint", r"halted due to watchpoint")
        elf = program(place)
        for function in ("add_value", "report_topics"):
            rows, ran, wrapped = history(place, elf, function)
            # Behind the last branch it went on in a line, up to the halt.
            found = [n for n in range(64) if rows and rows == ran[len(ran) - n - len(rows):len(ran) - n]]
            check(f"openocd: the dump at {function} is what ran: {len(rows)} instructions, wrapped {wrapped}",
                  bool(found) and len(rows) > 100, f"{len(rows)} decoded, ends {list(map(hex, rows[-3:]))}, "
                  f"ran {list(map(hex, ran[-6:]))}")
    return passed()


if __name__ == "__main__":
    sys.exit(main())
