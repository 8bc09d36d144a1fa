#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The virtual board's ETMv3, on cores of the A and the M profile, against OpenCSD and against our
decoder: what they make of its trace must be what QEMU executed."""

import re
import sys
import tempfile

import board_opencsd as common
import oracle

sys.path.insert(0, str(oracle.ROOT / "tests" / "board"))
import board  # noqa: E402

AT_LEAST = 200_000
LONG_AT_LEAST = 2_000_000
ROUNDS = {"vexpress-a9": 32, "mps2-an385": 32, "netduinoplus2": 32}
LONG_ROUNDS = {"vexpress-a9": 300, "mps2-an385": 320, "netduinoplus2": 300}

# name: (machine, arguments of the plugin, snapshot format, further options of the dump)
SETS = {
    "M3, v3.5": (board.MPS2, {"format": "raw"}, "source_data", []),
    "M3, v3.4, branch broadcast, ETB": (
        board.MPS2, {**board.M3_OLD, "format": "etb", "etb": 1 << 22,
                     "etmcr": board.CR_BROADCAST}, "coresight", []),
    "M4, timestamps of 48 bits, frequent sync": (
        board.NETDUINO, {"format": "frames", "etmsyncfr": 100, "etmcr": board.CR_TIMESTAMP},
        "coresight", []),
    "A7, v3.5": (board.VEXPRESS_ETM, {"format": "raw"}, "source_data", []),
    "A7, cycles, timestamps, context ID, port with half syncs": (
        board.VEXPRESS_ETM,
        {"format": "tpiu", "halfsync": 7, "etmcr": board.CR_CYCLE_ACCURATE | board.CR_TIMESTAMP |
         board.cr_context_id(3)}, "coresight", ["-tpiu_hsync"]),
    "A8, v3.3, branch broadcast, short context ID": (
        board.VEXPRESS_ETM, {"format": "frames", "etmidr": 0x410CF230,
                             "etmcr": board.CR_BROADCAST | board.cr_context_id(1)},
        "coresight", []),
    "M3, many interrupts": (board.MPS2_BUSY, {"format": "raw"}, "source_data", []),
    "A7, many interrupts": (board.VEXPRESS_BUSY, {"format": "raw"}, "source_data", []),
    "v3.5, alternative branch encoding, cycles": (
        board.VEXPRESS_ETM, {"format": "frames", "etmidr": 0x411CF250,
                             "etmcr": board.CR_CYCLE_ACCURATE}, "coresight", []),
}

# What OpenCSD cannot read, and why (found with OpenCSD 1.3.3).
OURS = {
    # After a BLX with no branch packet it keeps the old instruction set
    "A7, BLX without branch packets": (
        board.VEXPRESS_ETM, {"format": "raw", "blxpackets": "off"}, "source_data"),
    # A-syncs with more than five zeros are errors
    "A7, irregular, cycles, timestamps, context ID": (
        board.VEXPRESS_ETM,
        {"format": "raw", "irregular": 15, "etmcr": board.CR_CYCLE_ACCURATE |
         board.CR_TIMESTAMP | board.cr_context_id(2)}, "source_data"),
    "M3, irregular, timestamps": (
        board.MPS2, {"format": "frames", "irregular": 20, "etmcr": board.CR_TIMESTAMP},
        "coresight"),
    # It refuses data trace
    "A7, data addresses": (
        board.VEXPRESS_ETM, {"format": "frames", "etmcr": board.CR_DATA_ADDRESS}, "coresight"),
    "A7, data addresses, irregular, cycles": (
        board.VEXPRESS_ETM, {"format": "raw", "irregular": 10,
                             "etmcr": board.CR_DATA_ADDRESS | board.CR_CYCLE_ACCURATE},
        "source_data"),
}

report = oracle.Report()


# What is known of the programs.

# Exception numbers in packets of the M profile, in order of the architecture's numbers (IHI 0014Q
# 7.5).
M_NUMBERS = [0, 17, 10, 19, 13, 21, 9, 22, 16, 20, 18, 11, 12, 23, 14, 15, 8, 1, 2, 3, 4, 5, 6, 7]
CONDITIONS = {"a": common.CONDITIONS,
              "m": {"branch_if_one": "NE", "branch_if_not_one": "EN", "not_added": "N",
                    "added": "E"}}


def architectural(program, number):
    """Number as `btraced` tells it: the M profile's packets have another order."""
    if program.machine.profile == "a" or number not in M_NUMBERS:
        return number
    return M_NUMBERS.index(number)


COUNTED = {"services": [11], "faults": [9, 12, 13, 19, 21], "ticks": [15], "nmis": [10],
           "pends": [14], "interrupts": [*range(1, 9), *range(24, 512)]}


def counters(program, printed, truth, expected=COUNTED):
    """The program's own counts of what its handlers saw."""
    if program.machine.profile == "a" and expected is COUNTED:
        return common.counters(printed, truth)
    numbers = [entry[1] for entry in truth.exceptions()]
    found = dict(re.findall(r"(\w+) (\d+)", printed))
    return [f"the program counted {name}={found.get(name)}, the board {count}"
            for name, wanted in expected.items()
            for count in [sum(number in wanted for number in numbers)]
            if found.get(name) != str(count)]


def check_conditions(program, atoms):
    """`atoms`: {address: its E and N}."""
    problems = []
    for name, pattern in CONDITIONS[program.machine.profile].items():
        seen = "".join(atom or "-" for atom in atoms.get(program.symbols[name] & ~1, []))
        if seen != (pattern * len(seen))[:len(seen)] or len(seen) < program.rounds // 8:
            problems.append(f"{name}: atoms {seen[:20]}, expected {pattern} repeated")
    return problems


def unexplained(truth):
    return [f"step without a rule: {entry}" for entry in truth.events("jump")[:3]]


def check_rows(truth):
    """Exceptions came before the first instruction of a handler."""
    places = [entry[0] for entry in truth.exceptions()]
    rows = sum(before == after for before, after in zip(places, places[1:]))
    return [] if rows > 0 else [f"only {rows} exceptions before a handler's first instruction"]


# OpenCSD.


def return_address(program, number, address):
    return common.seen_return(program, number, address) if program.machine.profile == "a" \
        else address & ~1


def compare_exceptions(program, truth, exceptions, n, number_of=lambda number: number):
    """Numbers and places; and the return address, if the decoder can tell it."""
    expected = [(index, number_of(number), return_address(program, number, address))
                for index, number, address in truth.exceptions() if index <= n]
    for ours, theirs in zip(expected, exceptions):
        if ours[:2] != theirs[:2] or theirs[2] is not None and ours[2] != theirs[2]:
            return [f"exception (index, number, return) was {ours}, decoded {theirs}"]
    if len(expected) - len(exceptions) not in (0, 1):
        return [f"{len(expected)} exceptions, {len(exceptions)} decoded"]
    return []


def judge_opencsd(program, folder, truth, options):
    """(problems, what to tell)"""
    ran, exceptions, contexts, atoms, problems = common.their_run(
        program, common.lister_elements(folder, options))
    missed = common.forgive(truth, ran, exceptions)
    ran = common.without(missed, ran)
    exceptions, contexts = \
        common.shifted(missed, exceptions), common.shifted(missed, contexts)
    problems += common.compare_run(truth, ran, AT_LEAST)
    problems += compare_exceptions(program, truth, exceptions, len(ran))
    problems += check_conditions(program, atoms)
    cancelled = sum(words[-1] == "cancelled" for _, _, words in truth.events("exception"))
    if len(missed) * 4 > cancelled:
        problems.append(f"{len(missed)} of {cancelled} cancelled instructions not taken back")
    return problems, contexts, f"{len(ran)} instructions, {len(exceptions)} exceptions, " \
        f"{cancelled} cancelled ({len(missed)} not taken back)"


def test_opencsd(folder, programs, name):
    machine, arguments, source_format, options = SETS[name]
    program = programs[machine]
    arguments = {"protocol": "etmv3", **arguments}
    printed, trace = common.run_board(folder, program, arguments)
    truth = board.Truth(f"{folder}/truth")
    board.write_snapshot(f"{folder}/snapshot", program, trace, arguments, source_format)
    problems, contexts, text = judge_opencsd(program, f"{folder}/snapshot", truth, options)
    size = (0, 1, 2, 4)[arguments.get("etmcr", 0) >> 14 & 3]
    if size:
        problems += common.compare_contexts(truth, contexts, size, program.rounds)
    problems += counters(program, printed, truth) + unexplained(truth)
    if "many interrupts" in name:
        problems += check_rows(truth)
    report.check(f"board, opencsd: {name}", problems,
                 f"{text}, {8 * len(trace) / max(len(truth.ran), 1):.2f} bit each")
    if options:
        return  # half syncs are for a trace port, not for a file
    problems, text = judge_ours(program, f"{folder}/snapshot", truth, AT_LEAST)
    report.check(f"board, btraced: {name}", problems, text)


# Btraced.


def our_run(program, folder, source="ETM_0"):
    """(executed addresses, {address: E and N}, events)"""
    rows = oracle.instructions(source, folder)
    ran = [int(row[2], 16) | (row[5] == "T32") for row in rows]
    wanted = {program.symbols[name] & ~1 for name in CONDITIONS[program.machine.profile]}
    atoms = {}
    for address, row in zip(ran, rows):
        if address & ~1 in wanted:
            atoms.setdefault(address & ~1, []).append("N" if row[7] == "fail" else "E")
    return ran, atoms, oracle.events(source, folder)


def compare_data(truth, events, n):
    """Transfers of the instructions that completed, in their order."""
    expected = [(index, int(words[0], 16)) for index, _, words in truth.events("data")
                if index < n]
    cancelled = {int(row[1]) - 1 for row in events
                 if row[3] == "exception" and "canceled=1" in row[4]}
    seen = [(int(row[1]) - 2, int(oracle.details(row[4])["address"], 16))
            for row in events if row[3] == "data"]
    if not cancelled or len(expected) < 10_000:
        return [f"{len(cancelled)} cancelled instructions, {len(expected)} transfers"]
    for i, (ours, theirs) in enumerate(zip(expected, seen)):
        if ours != theirs:
            return [f"transfer {i} (instruction, address) was {ours}, decoded {theirs}"]
    return [] if 0 <= len(expected) - len(seen) < 40 else \
        [f"{len(expected)} transfers, {len(seen)} decoded"]


def judge_ours(program, folder, truth, least):
    ran, atoms, events = our_run(program, folder)
    problems = common.compare_run(truth, ran, least) + check_conditions(program, atoms)
    problems += compare_exceptions(program, truth, common.our_exceptions(events), len(ran),
                                   lambda number: architectural(program, number))
    problems += [f"unexpected event {row}" for row in events if row[3] == "gap"]
    if truth.events("data"):
        problems += compare_data(truth, events, len(ran))
    return problems, f"{len(ran)} instructions"


def test_ours(folder, program, name, arguments, source_format, least):
    arguments = {"protocol": "etmv3", **arguments}
    printed, trace = common.run_board(folder, program, arguments)
    truth = board.Truth(f"{folder}/truth")
    board.write_snapshot(f"{folder}/snapshot", program, trace, arguments, source_format)
    problems, text = judge_ours(program, f"{folder}/snapshot", truth, least)
    problems += counters(program, printed, truth) + unexplained(truth)
    report.check(f"board, btraced: {name}", problems, text)


# Both.


def test_single_steps(folder, program):
    """
    Conditions are read from a PSR that QEMU keeps up to date at the ends of its blocks only. With
    blocks of one instruction each nothing can be stale: the trace must be the same.
    """
    arguments = {"protocol": "etmv3", "format": "raw"}
    first = common.run_board(folder, program, arguments)
    second = common.run_board(folder, program, arguments, extra=board.one_instruction_a_block(),
                              timeout=120)
    name = program.machine.core + program.machine.variant
    report.check(f"board: {name}, blocks of one instruction make no difference",
                 [] if first == second else ["bytes differ"], f"{len(first[1])} bytes")


def main():
    lacking = board.missing()
    if lacking:
        report.skip("board, ETMv3", f"{lacking} is not installed")
        report.exit()
    with tempfile.TemporaryDirectory() as folder:
        machines = (board.MPS2, board.NETDUINO, board.VEXPRESS_ETM)
        programs = {machine: board.Program(folder, ROUNDS[machine.name], machine)
                    for machine in (*machines, board.MPS2_BUSY, board.VEXPRESS_BUSY)}
        tests = [(test_ours, folder, programs[machine], name, arguments, source_format,
                  AT_LEAST) for name, (machine, arguments, source_format) in OURS.items()]
        tests += [(test_ours, folder, board.Program(folder, LONG_ROUNDS[machine.name], machine),
                   f"{machine.core}, a long run", {"format": "frames"}, "coresight",
                   LONG_AT_LEAST) for machine in machines]
        tests += [(test_single_steps, folder, program) for program in programs.values()]
        if oracle.tool("trc_pkt_lister"):
            tests = [(test_opencsd, folder, programs, name) for name in SETS] + tests
        else:
            report.skip("board, ETMv3, opencsd", "trc_pkt_lister is not installed")
        common.run_tests(report, tests)
    report.exit()


if __name__ == "__main__":
    main()
