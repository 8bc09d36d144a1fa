#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The virtual board's ETMv4, on cores of the A and the M profile, against our decoder and against
OpenCSD: what they make of its trace must be what QEMU executed."""

import os
import sys
import tempfile

import board_etmv3 as etmv3
import board_opencsd as common
import oracle

sys.path.insert(0, str(oracle.ROOT / "tests" / "board"))
import board  # noqa: E402

AT_LEAST = 200_000
LONG_AT_LEAST = 2_000_000
ROUNDS = {board.MPS2_M7: 32, board.MPS2_M7_BUSY: 32, board.VEXPRESS_V4: 32, board.VIRT: 28,
          board.VIRT_BUSY: 28}
LONG_ROUNDS = {board.MPS2_M7: 300, board.VEXPRESS_V4: 300, board.VIRT: 260}
M_INTERRUPT = 0x200  # type of the first interrupt, if it has no number of its own
# What the programs count, by types of exceptions.
COUNTED = {"a": {"undefined": [3], "aborts": [11, 12], "interrupts": [14]},
           "a64": {"services": [2], "traps": [3, 6], "faults": [10, 11, 12], "interrupts": [14]},
           "m": {"services": [11], "faults": [3, 4, 5, 6], "ticks": [15], "nmis": [2],
                 "pends": [14], "interrupts": [*range(16, 24), *range(M_INTERRUPT, 0x400)]}}

ALL = board.V4_CYCLES | board.V4_TIMESTAMP
A_ALL = ALL | board.V4_CONTEXT | board.V4_VMID

# name: (machine, arguments of the plugin, snapshot format)
SETS = {
    "M7": (board.MPS2_M7, {"format": "raw"}, "source_data"),
    "M7, return stack of 2, cycles, timestamps, frames": (
        board.MPS2_M7, {"format": "frames", "returnstack": 2,
                        "trcconfigr": 1 | ALL | board.V4_RETURN_STACK}, "coresight"),
    "M7, branch broadcast, ETB": (
        board.MPS2_M7, {"format": "etb", "etb": 1 << 22, "trcconfigr": 1 | board.V4_BROADCAST},
        "coresight"),
    "M7, many interrupts, return stack, frequent sync": (
        board.MPS2_M7_BUSY, {"format": "raw", "trcsyncpr": 8,
                             "trcconfigr": 1 | board.V4_RETURN_STACK}, "source_data"),
    "A32 and T32": (board.VEXPRESS_V4, {"format": "raw"}, "source_data"),
    "A32 and T32, return stack, context, cycles, timestamps": (
        board.VEXPRESS_V4, {"format": "frames",
                            "trcconfigr": 1 | A_ALL | board.V4_RETURN_STACK}, "coresight"),
    "A32 and T32, branch broadcast, frequent sync": (
        board.VEXPRESS_V4, {"format": "raw", "trcsyncpr": 8,
                            "trcconfigr": 1 | board.V4_BROADCAST}, "source_data"),
    "A32 and T32, 16 speculated elements, irregular": (
        board.VEXPRESS_V4, {"format": "raw", "trcidr8": 16, "irregular": 15,
                            "trcconfigr": 1 | A_ALL}, "source_data"),
    "A64": (board.VIRT, {"format": "raw"}, "source_data"),
    "A64, return stack, context, cycles, timestamps, VMID": (
        board.VIRT, {"format": "frames", "trcconfigr": 1 | A_ALL | board.V4_RETURN_STACK},
        "coresight"),
    "A64, branch broadcast, ETB": (
        board.VIRT, {"format": "etb", "etb": 1 << 22, "trcconfigr": 1 | board.V4_BROADCAST},
        "coresight"),
    "A64, frequent interrupts and syncs, return stack": (
        board.VIRT_BUSY, {"format": "raw", "trcsyncpr": 8,
                          "trcconfigr": 1 | board.V4_RETURN_STACK}, "source_data"),
    "A64, 16 speculated elements, cycle counts that commit, irregular": (
        board.VIRT, {"format": "raw", "trcidr8": 16, "irregular": 15, "trcidr0": 0x08000EA1,
                     "trcconfigr": 1 | A_ALL}, "source_data"),
    "A64, WFI as P0, v4.3, irregular": (
        board.VIRT, {"format": "raw", "irregular": 10, "trcdevarch": 0x47734A13,
                     "trcidr2": 0x80000488, "trcconfigr": 1 | board.V4_RETURN_STACK},
        "source_data"),
    "M7, irregular, v4.3": (
        board.MPS2_M7, {"format": "raw", "irregular": 20, "trcdevarch": 0x47734A13,
                        "trcconfigr": 1 | ALL | board.V4_RETURN_STACK}, "source_data"),
}

LONG = "a long run"
report = oracle.Report()


def number_of(program, number):
    """Number as `btraced` tells it, for a type in a packet."""
    if program.machine.profile == "m":
        return number - M_INTERRUPT + 16 if number >= M_INTERRUPT else number
    return {2: 10, 3: 13, 6: 13, 7: 13, 10: 12}.get(number, number)


def compare_exceptions(program, truth, exceptions, n, number):
    """Numbers, places and return addresses; those that come straight after another have none. A
    PC that is not aligned is not told."""
    chained = set(truth.chained())
    low = 3 if program.machine.wide else 1
    expected = [(index, number(kind), None if i in chained else address & ~low)
                for i, (index, kind, address) in enumerate(truth.exceptions()) if index <= n]
    for ours, theirs in zip(expected, exceptions):
        if ours != theirs:
            return [f"exception (index, number, return) was {ours}, decoded {theirs}"]
    if len(expected) - len(exceptions) not in (0, 1):
        return [f"{len(expected)} exceptions, {len(exceptions)} decoded"]
    return []


def counters(program, printed, truth):
    """The program's own counts of what its handlers saw."""
    return etmv3.counters(program, printed, truth, COUNTED[program.machine.profile])


def judge_ours(program, folder, truth, least):
    ran, events = common.our_run(folder, "ETM_0")
    problems = common.compare_run(truth, ran, least)
    problems += compare_exceptions(program, truth, common.our_exceptions(events), len(ran),
                                   lambda number: number_of(program, number))
    problems += [f"unexpected event {row}" for row in events if row[3] in ("gap", "warning")]
    return problems, events, f"{len(ran)} instructions"


def numbered(events, kind, name):
    """[(place in the run, value)] of a kind of events; without the value None."""
    found = [(int(row[1]) - 1, oracle.details(row[4]).get(name)) for row in events
             if row[3] == kind]
    return [(place, value and int(value, 0)) for place, value in found]


def check_counts(events):
    """On this board an instruction takes a cycle: the counts tell how many ran in between."""
    counts = numbered(events, "count", "cycles")
    if len(counts) < 1000:
        return [f"{len(counts)} cycle counts"]
    for (before, _), (place, cycles) in zip(counts, counts[1:]):
        if cycles != place - before:
            return [f"cycle count {cycles} at instruction {place}, the one before at {before}"]
    return []


def check_times(events):
    """The time is that of the instructions."""
    times = numbered(events, "timestamp", "value")
    if len(times) < 500:
        return [f"{len(times)} timestamps"]
    return [f"time {value} at instruction {place}" for place, value in times if value != place][:3]


def check_options(program, truth, events, arguments):
    """What the trace tells beside the path."""
    configr, problems = arguments.get("trcconfigr", 1), []
    speculates = arguments.get("trcidr8", 0)
    if configr & board.V4_CYCLES and not speculates:
        problems += check_counts(events)
    if configr & board.V4_TIMESTAMP and not speculates:
        problems += check_times(events)
    if configr & board.V4_CONTEXT:
        contexts = numbered(events, "context", "cid")
        problems += common.compare_contexts(truth, contexts, 4, program.rounds)
    return problems


def test_run(folder, program, name, arguments, source_format, least):
    arguments = {"protocol": "etmv4", **arguments}
    printed, trace = common.run_board(folder, program, arguments)
    truth = board.Truth(f"{folder}/truth", wide=program.machine.wide)
    board.write_snapshot(f"{folder}/snapshot", program, trace, arguments, source_format)
    problems, events, text = judge_ours(program, f"{folder}/snapshot", truth, least)
    problems += counters(program, printed, truth) + etmv3.unexplained(truth)
    problems += check_options(program, truth, events, arguments)
    if "many interrupts" in name:
        problems += etmv3.check_rows(truth)
    text += f", {len(truth.exceptions())} exceptions, {len(truth.chained())} of them chained, " \
            f"{8 * len(trace) / max(len(truth.ran), 1):.2f} bit each"
    report.check(f"board, btraced: {name}", problems, text)


def chosen(name):
    """Parts of names on the command line: only those."""
    return len(sys.argv) == 1 or any(part in name for part in sys.argv[1:])


def main():
    lacking = board.missing()
    if lacking:
        report.skip("board, ETMv4", f"{lacking} is not installed")
        report.exit()
    common.report = report
    with tempfile.TemporaryDirectory() as folder:
        programs = {machine: board.Program(folder, rounds, machine)
                    for machine, rounds in ROUNDS.items()}
        tests = [(test_run, folder, programs[machine], name, arguments, source_format, AT_LEAST)
                 for name, (machine, arguments, source_format) in SETS.items() if chosen(name)]
        tests += [(test_run, folder, board.Program(folder, rounds, machine),
                   f"{machine.core}{machine.variant}, {LONG}", {"format": "frames"}, "coresight",
                   LONG_AT_LEAST) for machine, rounds in LONG_ROUNDS.items() if chosen(LONG)]
        common.run_tests(report, tests)
    report.exit()


if __name__ == "__main__":
    main()
