#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The virtual board's ETMv4, on cores of the A and the M profile, against our decoder and against
OpenCSD: what they make of its trace must be what QEMU executed."""

import os
import random
import sys
import tempfile

import board_etmv3 as etmv3
import board_opencsd as common
import oracle

sys.path.insert(0, str(oracle.ROOT / "tests" / "board"))
import board  # noqa: E402
import secure  # noqa: E402

AT_LEAST = 200_000
LONG_AT_LEAST = 2_000_000
FULL = os.environ.get("BTRACED_FULL") == "1"  # runs of two million instructions, with all options
ROUNDS = {board.MPS2_M7: (32, 310), board.MPS2_M7_BUSY: (32, 250), board.MPS2_M33: (32, 310),
          secure.MPS2: (300, 2600), secure.MPS2_BUSY: (230, 2300),
          board.VEXPRESS_V4: (32, 300), board.VIRT: (28, 260), board.VIRT_BUSY: (28, 150)}
M_INTERRUPT = 0x200  # type of the first interrupt, if it has no number of its own
# What the programs count, by types of exceptions.
COUNTED = {"a": {"undefined": [3], "aborts": [11, 12], "interrupts": [14]},
           "a64": {"services": [2], "traps": [3, 6], "faults": [10, 11, 12], "interrupts": [14]},
           "m": {"services": [11], "faults": [3, 4, 5, 6, 7], "ticks": [15], "nmis": [2],
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
    "M33": (board.MPS2_M33, {"format": "raw", "trcdevarch": 0x47724A13}, "source_data"),
    "M33, return stack of 2, timestamps, irregular": (
        board.MPS2_M33, {"format": "frames", "returnstack": 2, "irregular": 10,
                         "trcdevarch": 0x47724A13,
                         "trcconfigr": 1 | board.V4_TIMESTAMP | board.V4_RETURN_STACK},
        "coresight"),
    "M33 in both security states": (
        secure.MPS2, {"format": "raw", "trcdevarch": 0x47724A13}, "source_data"),
    "M33 in both security states, return stack of 2, cycles, timestamps, irregular": (
        secure.MPS2, {"format": "frames", "returnstack": 2, "irregular": 10,
                      "trcdevarch": 0x47724A13, "trcconfigr": 1 | ALL | board.V4_RETURN_STACK},
        "coresight"),
    "M33 in both security states, many interrupts, frequent sync": (
        secure.MPS2_BUSY, {"format": "raw", "trcsyncpr": 8, "trcdevarch": 0x47724A13},
        "source_data"),
    "A32 and T32": (board.VEXPRESS_V4, {"format": "raw"}, "source_data"),
    "A32 and T32, return stack, context, cycles, timestamps": (
        board.VEXPRESS_V4, {"format": "frames",
                            "trcconfigr": 1 | A_ALL | board.V4_RETURN_STACK}, "coresight"),
    "A32 and T32, branch broadcast, frequent sync": (
        board.VEXPRESS_V4, {"format": "raw", "trcsyncpr": 8,
                            "trcconfigr": 1 | board.V4_BROADCAST}, "source_data"),
    "A32 and T32, 16 speculated elements": (
        board.VEXPRESS_V4, {"format": "raw", "trcidr8": 16, "trcconfigr": 1 | A_ALL},
        "source_data"),
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

# OpenCSD 1.3.3 does not know a Cortex-M7: one of the same profile stands for it.
CORE_TYPES = {board.MPS2_M7: "Cortex-M4"}

# What OpenCSD reads whole. Of a chained exception it walks from the return to the address that
# says that there is none.
JUDGED = ("M7", "M7, branch broadcast, ETB", "M33", "M33 in both security states", "A32 and T32",
          "A32 and T32, branch broadcast, frequent sync", "A32 and T32, 16 speculated elements",
          "A64", "A64, branch broadcast, ETB",
          "A64, 16 speculated elements, cycle counts that commit, irregular")
# With a return stack it pops an entry at an exception that comes straight behind an indirect
# branch: up to the first of those.
JUDGED_TO_EXCEPTION = (
    "M7, return stack of 2, cycles, timestamps, frames",
    "A32 and T32, return stack, context, cycles, timestamps",
    "A64, return stack, context, cycles, timestamps, VMID")

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


def check_states(program, truth, events):
    """The security state at each instruction is that of its memory; a gate's is the one it leads to."""
    if not isinstance(program, secure.Program):
        return []
    changes = [(int(row[1]) - 1, oracle.details(row[4])["sec"]) for row in events
               if row[3] == "state"]
    problems, now, at = [], "S", 0
    for place, address in enumerate(truth.ran):
        while at < len(changes) and changes[at][0] <= place:
            now = changes[at][1]
            at += 1
        if now != ("S" if address >= secure.SECURE_CODE else "NS"):
            problems.append(f"instruction {place} at {address:#x}: in state {now}")
    returns, taken = sum(row[3] == "exception-return" for row in events), len(truth.exceptions())
    if returns != taken:
        problems.append(f"{taken} exceptions and {returns} returns")
    if len(changes) < 4000:
        problems.append(f"only {len(changes)} changes of the security state")
    return problems[:3]


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
    problems += check_states(program, truth, events)
    if "many interrupts" in name:
        problems += etmv3.check_rows(truth)
    text += f", {len(truth.exceptions())} exceptions, {len(truth.chained())} of them chained, " \
            f"{8 * len(trace) / max(len(truth.ran), 1):.2f} bit each"
    report.check(f"board, btraced: {name}", problems, text)


# OpenCSD.


def take_back_walks(truth, ran, exceptions):
    """Without what it has walked through to chained exceptions. (run, exceptions, how many)"""
    chained, kept, places, at, walks = set(truth.chained()), [], [], 0, 0
    for i, (entry, theirs) in enumerate(zip(truth.exceptions(), exceptions)):
        end = theirs[0]
        if i in chained and len(kept) + end - at > entry[0]:
            walks += 1
            kept += ran[at:at + entry[0] - len(kept)]
        else:
            kept += ran[at:end]
        at = end
        places.append((len(kept), theirs[1], None if i in chained else theirs[2]))
    return kept + ran[at:], places, walks


def their_run(program, folder, options=()):
    ran, exceptions, _, _, problems = common.their_run(
        program, common.lister_elements(folder, list(options)))
    return ran, exceptions, [text for text in problems if "ADDR_NACC" not in text], \
        sum("ADDR_NACC" in text for text in problems)


def test_opencsd(folder, program, name, arguments, source_format, least):
    arguments = {"protocol": "etmv4", **arguments}
    _, trace = common.run_board(folder, program, arguments)
    truth = board.Truth(f"{folder}/truth", wide=program.machine.wide)
    board.write_snapshot(f"{folder}/snapshot", program, trace, arguments, source_format,
                         core_type=CORE_TYPES.get(program.machine))
    ran, exceptions, problems, lost = their_run(program, f"{folder}/snapshot")
    ran, exceptions, walks = take_back_walks(truth, ran, exceptions)
    problems += common.compare_run(truth, ran, least)
    problems += compare_exceptions(program, truth, exceptions, len(ran), lambda number: number)
    chained = len(truth.chained())
    if {walks, lost} not in ({chained}, {0}):  # OpenCSD 1.3 walks at each, 1.5 at none
        problems.append(f"{walks} walks and {lost} addresses without code at {chained} chained "
                        "exceptions")
    report.check(f"board, opencsd: {name}", problems,
                 f"{len(ran)} instructions, {len(exceptions)} exceptions, {walks} walks")


def first_behind_branch(folder, truth):
    """Number of the first exception that shares the address of the branch before, or has none."""
    targets = [i for i, row in enumerate(row for row in oracle.packets("ETM_0", folder)
                                         if row[3] == "exception")
               if oracle.details(row[4])["address"] == "target"]
    return min(targets[:1] + truth.chained()[:1])


def test_to_exception(folder, program, name, arguments, source_format, _):
    """Up to the place where it goes wrong, and that it does."""
    arguments = {"protocol": "etmv4", **arguments}
    _, trace = common.run_board(folder, program, arguments)
    truth = board.Truth(f"{folder}/truth", wide=program.machine.wide)
    board.write_snapshot(f"{folder}/snapshot", program, trace, arguments, source_format,
                         core_type=CORE_TYPES.get(program.machine))
    number = first_behind_branch(f"{folder}/snapshot", truth)
    place = truth.exceptions()[number][0]
    elements = common.lister_elements(f"{folder}/snapshot", [], crashes=True)
    ran, exceptions, _, _, _ = common.their_run(program, elements)
    problems = [] if list(truth.ran[:place]) == ran[:place] else ["another way before it"]
    problems += compare_exceptions(program, truth, exceptions[:number], place - 1,
                                   lambda kind: kind)[:1]
    if len(ran) >= len(truth.ran) and list(truth.ran) == ran[:len(truth.ran)]:
        problems.append("it reads all: the list of what it does not is too long")
    report.check(f"board, opencsd, to the first exception at a branch: {name}", problems,
                 f"{place} instructions, {number} exceptions")


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
        least = LONG_AT_LEAST if FULL else AT_LEAST
        programs = {machine: machine.program(folder, rounds[FULL])
                    for machine, rounds in ROUNDS.items()}
        tests = [(test_run, folder, programs[machine], name, arguments, source_format, least)
                 for name, (machine, arguments, source_format) in SETS.items() if chosen(name)]
        if oracle.tool("trc_pkt_lister"):
            for function, names in ((test_opencsd, JUDGED), (test_to_exception, JUDGED_TO_EXCEPTION)):
                tests += [(function, folder, programs[SETS[name][0]], name, *SETS[name][1:], least)
                          for name in names if chosen("opencsd " + name)]
        else:
            report.skip("board, ETMv4, opencsd", "trc_pkt_lister is not installed")
        if FULL and len(sys.argv) == 1:  # a third of them, other ones in each run
            seed = int(os.environ.get("BTRACED_SEED", random.SystemRandom().randrange(1 << 32)))
            print(f"# BTRACED_SEED={seed}", flush=True)
            tests = random.Random(seed).sample(tests, len(tests) // 3)
        common.run_tests(report, tests)
    report.exit()


if __name__ == "__main__":
    main()
