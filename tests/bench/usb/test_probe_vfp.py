#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""VFP registers, which NEON uses, too, of emulated Cortex-A9 cores, in stock GDB: what a program has in them, and
what it makes of what GDB writes there."""

import subprocess

from test_probe_a import A9, ENDLESS
from replay_gdb import Suite, equal, folder, has, lacks, tool

suite = Suite()
PLACE = 0x60040000
SOURCE = """
    .arm
    .fpu neon
    mrc p15, 0, r0, c1, c0, 2       @ CPACR: coprocessors 10 and 11
    orr r0, r0, #0xf00000
    mcr p15, 0, r0, c1, c0, 2
    isb
    mov r0, #0x40000000             @ FPEXC
    vmsr fpexc, r0
enabled:
    vmov.f64 d0, #1.5
    vmov.f64 d31, #-2.0
    vmov.i32 q2, #7                 @ NEON
    mov r0, #0x00c00000             @ rounds to zero
    vmsr fpscr, r0
filled:
    vadd.f64 d2, d0, d1             @ d1, d17, s31 are GDB's
    vneg.f64 d18, d17
    vsub.f32 s31, s31, s31
summed:
    mov r0, #0                      @ off again
    vmsr fpexc, r0
off:
    b .
"""


def program():
    """(file, addresses of its labels)"""
    place = folder()
    source, objects, code = (place / name for name in ("vfp.s", "vfp.o", "vfp.bin"))
    source.write_text(SOURCE)
    subprocess.run([tool("arm-none-eabi-as"), "-mcpu=cortex-a9", "-o", objects, source], check=True)
    subprocess.run([tool("arm-none-eabi-objcopy"), "-O", "binary", objects, code], check=True)
    table = subprocess.run([tool("arm-none-eabi-nm"), objects], check=True, capture_output=True,
                           text=True).stdout
    return code, {name: PLACE + int(number, 16) for number, _, name in
                  (line.split() for line in table.splitlines())}


# Wherever it stands, in ARM or Thumb: in system mode, without interrupts.
BEGIN = ("set $cpsr = 0xdf", f"set $pc = {PLACE:#x}")


def to(label):
    return (f"tbreak *{label:#x}", "continue")


@suite.test("probe vfp: registers both ways, of a core that has switched them on")
def _():
    code, at = program()
    written = ("$d1 = 0.25", "$s30 = 8", "$s31 = 3", "$d17 = 1e10", "$fpscr = 0x00400000")
    with A9() as server:
        s = server.session(ENDLESS, "tbreak main", "continue", "p $d0",
                           f"restore {code} binary {PLACE:#x}", *BEGIN,
                           *to(at["enabled"]), "p $fpscr", *to(at["filled"]), "p $d0", "p $d31",
                           "p/x $fpscr", "info registers float", "info all-registers",
                           *(f"set var {one}" for one in written), *to(at["summed"]), "p $d2",
                           "p $d18", "p $s30", "p $s31", "p/x $fpscr & 0xc00000", "p $d1",
                           *to(at["off"]), "p $d2", "info registers pc")
        lacks(s.text, "[Ww]arning|[Ee]rror|failure")
        has(s["info registers float"], r"^s1 +1\.9375 +\(raw 0x3ff80000\)$")
        has(s["info registers float"], r"^s8 .*\(raw 0x00000007\)$")
        has(s["info all-registers"], r"(?s)^d0 +1\.5 .*^d31 +-2 .*^fpscr +0xc00000 ")
        for command, shown in (("p $fpscr", "0"), ("p $d31", "-2"), ("p/x $fpscr", "0xc00000"),
                               ("p $d2", r"1\.75"), ("p $d18", "-10000000000"), ("p $s30", "8"),
                               ("p $s31", "0"), ("p/x $fpscr & 0xc00000", "0x400000"),
                               ("p $d1", r"0\.25")):
            has(s.all(command)[0], rf"= {shown}$")
        equal([has(text, r"= (.*)$")[1] for text in s.all("p $d0")], ["<unavailable>", "1.5"],
              "d0 before and when it is on")
        has(s.all("p $d2")[1], "<unavailable>", "VFP that is switched off:")


@suite.test("probe vfp: each of two cores has its own")
def _():
    code, at = program()
    with A9(smp=2) as server:
        s = server.session(ENDLESS, "break second_main", "continue", "delete",
                           f"restore {code} binary {PLACE:#x}", "set scheduler-locking on",
                           *(line for core in "12" for line in
                             (f"thread {core}", *BEGIN, *to(at["filled"]),
                              f"set var $d1 = {core}.5")),
                           "p $d1", "thread 1", "p $d1", *to(at["summed"]), "p $d2",
                           "thread 2", *to(at["summed"]), "p $d2")
        for what, shown in ("p $d1", ["2.5", "1.5"]), ("p $d2", ["3", "4"]):
            equal([has(text, r"= (.*)$")[1] for text in s.all(what)], shown, what)


if __name__ == "__main__":
    suite.run()
