#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A HardFault, looked at after the fact: GDB attaches to a virtual board that has crashed already,
goes back out of the handler and on to the function that made the bad pointer. What the registers
are said to have been is compared with what they were."""

import array
import re
import sys
from pathlib import Path

import bench

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from live_gdb import PROGRAMS, Live, Wire, board_file, symbol  # noqa: E402
from replay_gdb import Skipped, Suite, equal, expect, gdb, has, lacks, same_list  # noqa: E402

suite = Suite()
HANDLER = ["stopped_here", "hard_fault_handler", "<signal handler called>"]
NAMES = [*(f"r{i}" for i in range(13)), "sp", "lr", "pc"]


def frames(output):
    return re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\w+|<signal handler called>)", output,
                      re.MULTILINE)


def board(name, elf):
    """The board file, with all that the core does written down until it has crashed."""
    plugin = f"-plugin {bench.ROOT / 'build' / 'virtual-board.so'}"
    single = " ".join(bench.secure.board.one_instruction_a_block())
    truth = (f"{single} -plugin {bench.TRUTH},states=$HERE/states,accesses=$HERE/accesses,"
             f"ram=$HERE/ram,base={symbol(elf, 'bss_start') & ~0xffff:x},size=4000,"
             f"halt={symbol(elf, 'stopped_here'):x}")
    return board_file(name, replace=[(plugin, f"{truth} {plugin}")])


def registers(output):
    """{name: number} of those that are known."""
    return {name: int(value, 16) & 0xffffffff for name, value in
            re.findall(r"^(\w+) +(0x[0-9a-f]+) ", output, re.MULTILINE) if name in NAMES}


def position(output):
    return int(has(output, r"^instruction (\d+),")[1]) - 1


def crash(name, elf):
    with Live(board(name, elf)) as live:
        with Wire(live) as wire:
            wire.run_to(symbol(elf, "stopped_here"), 2)
        done = gdb(live.port, [
            "bt", "reverse-finish", "bt", "reverse-finish", "bt", "reverse-finish", "bt",
            "info registers", "monitor where", "p *topic", "up", "p *topic", "tbreak new_topic",
            "reverse-continue", "bt", "info registers", "monitor where", "monitor explain sp",
            "finish", "bt", "continue"], elf=elf, connect="target extended-remote")
        states = array.array("I", (live.path.parent / "states").read_bytes())
    return done, [states[i:i + 17] for i in range(0, len(states), 17)]


def check(done, states, number):
    """`info registers` for the n-th time says nothing that is not so."""
    at = position(done.all("monitor where")[number])
    known = registers(done.all("info registers")[number])
    for name, value in known.items():
        equal(value, states[at][NAMES.index(name)], f"{name} at instruction {at + 1}")
    expect({"sp", "lr", "pc"} <= set(known), f"only {sorted(known)} are known")
    return known


def story(kind):
    reason = bench.missing()
    if reason:
        raise Skipped(reason)
    elf = PROGRAMS / f"crash-{kind}.elf"
    done, states = crash(f"virtual-{kind}", elf)
    backtraces = [frames(output) for output in done.all("bt")]
    report = backtraces[0][3:]
    equal(backtraces[0][:3], HANDLER, "the handler")
    expect(report[-1] == "main" and set(report[:-1]) == {"report_topics"}, f"frames {report}")
    equal(backtraces[1], HANDLER[1:] + report, "before stopped_here")
    equal(backtraces[2], ["hard_fault_entry", HANDLER[2]] + report, "at the entry")
    equal(backtraces[3], report, "out of the handler")
    equal(len(check(done, states, 0)), 16, "registers known at the fault")
    has(done["p *topic"], "Cannot access memory")
    has(done["up"], "^#1 .*report_topics")
    has(done.all("p *topic")[1], r"name = ")
    same_list(backtraces[4], ["new_topic", "file_message", "main"], "who made the topic")
    expect(len(check(done, states, 1)) >= 8, "too few registers are known there")
    has(done["monitor explain sp"], "^sp = .*: known")
    equal(backtraces[5], ["file_message", "main"], "finish")
    has(done["continue"], "No more reverse-execution history")
    lacks(done.text, "SIGTRAP|internal-error")


for chip in ("m3", "m4", "m7", "m33"):
    suite.test(f"crash: HardFault of virtual-{chip}, back to the bad pointer")(
        lambda chip=chip: story(chip))

if __name__ == "__main__":
    suite.run()
