#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stock GDB on the virtual Cortex-M33, live, with a program of a Secure and a Non-secure part: what
it lists at halts in either state is what ran, across SG, BXNS, FNC_RETURN and exceptions."""

import bisect
import re
import sys

from live_gdb import CONFIGS, Live, board_file, tail_of
from replay_gdb import (ROOT, Suite, equal, expect, folder, gdb, has, history, lacks, record_counts,
                        same_list)

sys.path.insert(0, str(ROOT / "tests" / "board"))
import secure  # noqa: E402

suite = Suite()
cache = {}
SIZE = 4000
# QEMU's GDB server does not read Secure memory while the core is in Non-secure state.
CODE = "set trust-readonly-sections on"


def program():
    if not cache:
        cache["it"] = secure.Program(folder(), 400, secure.MPS2)
    return cache["it"]


def live():
    """The board file of the virtual Cortex-M33, with both parts."""
    p, old = program(), f"{CONFIGS}/virtual/crash-m33.elf"
    return Live(board_file("virtual-m33", replace=[
        (f"-kernel {old}", f"-kernel {p.elf} {' '.join(p.more)}"), (f"program = {old}",
                                                                   f"program = {p.elf}")]))


def in_rows(names):
    """Each name once that stands several times in a row; a gate is of the function behind it."""
    names = [name.removeprefix("__acle_se_") for name in names]
    return [name for before, name in zip([None, *names], names) if name != before]


def functions_of(addresses):
    """By the programs' symbols."""
    code = sorted((address & ~1, name) for name, address in program().symbols.items()
                  if address < 0x18000000 and name not in ("code_start", "halt_here"))
    starts = [address for address, _ in code]
    return in_rows([code[bisect.bisect_right(starts, address & ~1) - 1][1]
                    for address in addresses])


def session(place):
    """At the fifth time there, and again after some steps. Names of the functions up to the first."""
    p, show = program(), ("record instruction-history", "record function-call-history")
    with live() as server:
        mark = server.mark()
        s = gdb(server.port, [f"add-symbol-file {p.nonsecure}", f"break {place}", "ignore 1 4",
                              "record btrace", f"set record instruction-history-size {SIZE}",
                              "set record function-call-history-size 600", "continue", mark,
                              *show, "info record", "stepi 20", mark, show[0]],
                elf=p.elf, connect="target extended-remote", before=[CODE])
        halts = [server.truth(text) for text in s.all(mark)]
    for text, halt in zip(s.all(show[0]), halts, strict=True):
        rows = history(text)
        expect(len(rows) > 1000, f"only {len(rows)} instructions listed")
        tail_of(rows, halt, len(rows))
    equal(record_counts(s["info record"])[2], 0, "gaps")
    lacks(s.text, "corrupted|internal-error|cannot be read")
    names = in_rows(re.findall(r"^\d+\t(\w+)", s[show[1]], re.MULTILINE))
    ran = functions_of(halts[0][-20 * SIZE:])
    expect(len(names) > 100, f"only {len(names)} functions")
    same_list(names[1:], ran[-len(names) + 1:], "the functions")
    return names


@suite.test("two security states: a halt in a Non-secure handler, the history is what ran")
def nonsecure():
    names = session("nonsecure_fault")
    for name in ("__secure_sum_veneer", "secure_sum", "mix", "nonsecure_main", "called_back",
                 "secure_calls_back", "__gnu_cmse_nonsecure_call", "nonsecure_fault_entry"):
        expect(name in names, f"no {name} among the functions: {sorted(set(names))}")


@suite.test("two security states: a halt in a Secure handler, the history is what ran")
def in_secure():
    names = session("secure_pend")
    expect("nonsecure_main" in names and "secure_service" in names, f"functions {set(names)}")


@suite.test("two security states: back in time from one to the other")
def back():
    p, show = program(), "p $pc"
    with live() as server:
        s = gdb(server.port, [f"add-symbol-file {p.nonsecure}", "break secure_fault", "ignore 1 3",
                              "continue", server.mark(), *["reverse-stepi", show] * 40,
                              "monitor explain", "stepi 39", show],
                elf=p.elf, connect="target extended-remote", before=[CODE])
        ran = server.truth(s[server.mark()])
        found = [int(has(text, r"0x([0-9a-f]+)")[1], 16) for text in s.all(show)]
        equal(found[:40], [address & ~1 for address in ran[-1:-41:-1]], "the way back")
        equal(found[-1], ran[-1] & ~1, "where it leads again")
        expect(any(address < secure.SECURE_CODE for address in found), "all of one state")


if __name__ == "__main__":
    suite.run()
