#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stock GDB on ETMv3 recordings of Cortex-M cores: profile, functions, exceptions."""

import gzip

from replay_gdb import (Server, Suite, capture, equal, expect, folder, functions, gdb, has, history,
                        lacks, record_counts, run, same_list, tool)

suite = Suite()

# SysTick between the second and the third instruction of main(), and back.
PROGRAM = """
    .syntax unified
    .cpu cortex-m4
    .thumb
    .text
    .globl main
    .type main, %function
main:
    nop
    nop
    nop
    nop
    .size main, . - main
    .org 0x138
    .globl SysTick_Handler
    .type SysTick_Handler, %function
SysTick_Handler:
    nop
    bx lr
    .size SysTick_Handler, . - SysTick_Handler
"""
TRACE = bytes.fromhex(
    "00 00 00 00 00 80"  # A-sync
    "08 21 01 80 00 08"  # I-sync, trace on at 0x08008000 in Thumb state
    "88"                 # E E: two NOPs of main()
    "B9 42 1E"           # branch to 0x08008138, exception 15: SysTick
    "88"                 # E E: the handler's NOP and BX LR
    "76"                 # exception return
    "85 00"              # branch to 0x08008004
    "88"                 # E E: the rest of main()
)


def program(where):
    source, obj, elf = where / "m4.s", where / "m4.o", where / "m4.elf"
    source.write_text(PROGRAM)
    run([tool("arm-none-eabi-as"), "-o", str(obj), str(source)])
    run([tool("arm-none-eabi-ld"), "-Ttext=0x08008000", "-e", "main", "-o", str(elf), str(obj)])
    return elf


def recording(where):
    """The trace above as a snapshot: registers as a Cortex-M4's ETM has them."""
    place = where / "recording"
    place.mkdir()
    files = {
        "snapshot.ini": "[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=core.ini\n"
                        "device1=etm.ini\n\n[trace]\nmetadata=trace.ini\n",
        "core.ini": "[device]\nname=cpu_0\nclass=core\ntype=Cortex-M4\n\n[regs]\n"
                    "PC=0x08008008\nSP=0x20001000\nLR=0xFFFFFFFF\nxPSR=0x01000000\n",
        "etm.ini": "[device]\nname=ETM_0\nclass=trace_source\ntype=ETM3.5\n\n[regs]\n"
                   "ETMCR(0x000)=0x00000000\nETMIDR(0x079)=0x4114F250\n"
                   "ETMCCER(0x07A)=0x18541800\nETMTRACEIDR(0x080)=0x00000002\n",
        "trace.ini": "[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=ETB_0\nfile=trace.bin\n"
                     "format=source_data\n\n[source_buffers]\nETM_0=ETB_0\n\n"
                     "[core_trace_sources]\ncpu_0=ETM_0\n",
    }
    for name, text in files.items():
        (place / name).write_text(text)
    (place / "trace.bin").write_bytes(TRACE)
    return place


def no_gaps(output):
    """Without the rows that stand for lost trace."""
    return "\n".join(line for line in output.splitlines() if "[decode error" not in line)


@suite.test("m profile: an exception is a jump to its handler and back")
def _():
    where = folder()
    elf = program(where)
    with Server(recording(where), "--elf", str(elf)) as server:
        session = gdb(server.port, ["info record", "record function-call-history /i",
                                    "record instruction-history", "maint print xml-tdesc",
                                    "record goto 3", "reverse-stepi"], elf=elf)
    equal(record_counts(session["info record"])[0], 6, "number of instructions")
    same_list([name for _, name, _, _ in functions(session["record function-call-history /i"])],
              ["main", "SysTick_Handler", "main"], "functions")
    same_list([i.address for i in history(session["record instruction-history"])],
              [0x08008000, 0x08008002, 0x08008138, 0x0800813a, 0x08008004, 0x08008006],
              "instructions")
    has(session["maint print xml-tdesc"], r"org\.gnu\.gdb\.arm\.m-profile")
    has(session["record goto 3"], "SysTick_Handler")
    has(session["reverse-stepi"], "main")


@suite.test("m profile: no ELF in GDB, all code is Thumb")
def _():
    where = folder()
    elf = program(where)
    with Server(recording(where), "--elf", str(elf)) as server:
        session = gdb(server.port, ["info record", "record instruction-history"],
                      before=["set record btrace replay-memory-access read-write"])
    equal(record_counts(session["info record"])[0], 6, "number of instructions")
    same_list([i.address for i in history(session["record instruction-history"])],
              [0x08008000, 0x08008002, 0x08008138, 0x0800813a, 0x08008004, 0x08008006],
              "instructions")


@suite.test("m profile: a real STM32F105, eight episodes of bubble_sort")
def _():
    source = capture("m3-etmv3-swo")
    elf = folder() / "trace_example.elf"
    elf.write_bytes(gzip.decompress((source / "trace_example.elf.gz").read_bytes()))
    with Server(source, "--elf", str(elf)) as server:
        session = gdb(server.port, ["info record", "record function-call-history /i 1,100",
                                    "record instruction-history 1,20000", "info registers xpsr"],
                      elf=elf)
    counts = record_counts(session["info record"])
    # 1,200 executed instructions; GDB counts each of the seven gaps as one more.
    equal((counts[0], counts[2]), (1207, 7), "instructions and gaps")
    names = [name for _, name, _, _ in
             functions(no_gaps(session["record function-call-history /i 1,100"]))]
    equal(set(names), {"bubble_sort", "TIM2_IRQ"}, "names of functions")
    equal(names.count("bubble_sort"), 8, "episodes")
    listed = history(no_gaps(session["record instruction-history 1,20000"]))
    equal(len(listed), 1200, "listed instructions")
    lacks(session["record instruction-history 1,20000"], "Cannot access memory")
    expect(all(i.text for i in listed), "an instruction has no text")


suite.run()
