#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reconstructed values compared with an emulator that wrote down all that the core did: programs of ten
kinds at four levels of optimisation, recorded and decoded. Every value that is called known at any
position must be right, and enough must be known.

usage: test_engine.py [FIGURES.json]    BTRACED_FULL=1: longer runs
"""

import json
import os
import sys
import tempfile

import bench

FULL = bool(os.environ.get("BTRACED_FULL"))
ROUNDS, HALTS, WINDOW = (12, 3, 100000) if FULL else (3, 6, 100000)
STATES_ROUNDS = 150 if FULL else 40
LEVELS = bench.LEVELS if FULL else ("O0", "O2")
CHECKS = 10_000_000
NEAR = 3  # bands of the last 1,000 instructions
# Percent known of the last 1,000 instructions, with assumptions and without data trace.
LEAST = {"sp": 97, "lr": 97, "r4-r11": 80}
# The stacks of other modes are often known only where the trace shows how they were set.
LEAST_STATES = {"sp": 10, "lr": 45, "r4-r11": 10}  # two stacks each, an interrupt every 97 clocks
LEAST_TRAPS = {"sp": 85, "lr": 90, "r4-r11": 85}
GROUPS = {"sp": [13], "lr": [14], "r4-r11": range(4, 12), "r0-r3, r12": [0, 1, 2, 3, 12]}


def ask(case, halts=HALTS):
    """The engine's answers: one dictionary for each way of asking."""
    line = [str(bench.ENGINE), str(case.folder), hex(case.machine.ram), str(halts), str(WINDOW)]
    if case.machine.m_profile and not isinstance(case, bench.TwoStates):
        line += ["one-stack", "fpu"] if case.machine.fpu else ["one-stack"]
    text = bench.run(line, timeout=300)
    return [json.loads(line) for line in text.splitlines()]


def add(total, answer):
    for name, value in answer.items():
        if isinstance(value, list):
            total[name] = [a + b for a, b in zip(total.get(name, [0] * len(value)), value)]
        elif name not in ("infer", "data"):
            total[name] = total.get(name, 0) + value
    return total


def share(answer, registers, bands):
    """Percent of the registers known in these bands; None if there are no positions."""
    total = sum(answer["total"][b] for b in bands) * len(registers)
    known = sum(answer[f"r{r}"][b] for r in registers for b in bands)
    return 100 * known / total if total else None


def verdict(answers):
    """What is wrong with the answers of one program, or None."""
    for answer in answers:
        way = f"assumptions {answer['infer']}, data trace {answer['data']}"
        if answer["wrong"] or answer["wrong_inferred"]:
            return (f"{answer['wrong']} wrong values and {answer['wrong_inferred']} wrong "
                    f"assumptions, {way}")
        if answer["conflicts"]:
            return f"{answer['conflicts']} contradictions, {way}"
    return None


def little(answer, least_of):
    """What is known too seldom in the last 1,000 instructions of all levels together, or None."""
    for group, least in least_of.items():
        known = share(answer, GROUPS[group], range(NEAR))
        if known < least:
            return f"{group} known at {known:.1f} % of the last 1,000 instructions, not {least}"
    return None


def main():
    reason = bench.missing()
    if reason:
        needed = os.environ.get("BTRACED_REQUIRE_DATA") == "1"
        print(f"{'FAIL' if needed else 'SKIP'} reconstructed values: {reason}")
        return needed
    totals, failed = {}, False
    with tempfile.TemporaryDirectory(prefix="btraced-reverse.") as folder:
        for kind in (*bench.KINDS, *bench.V4_KINDS, *bench.TRAP_KINDS, *bench.TWO_STATES):
            for level in LEVELS:
                if kind in bench.TWO_STATES:
                    case = bench.TwoStates(folder, level, STATES_ROUNDS, kind).execute()
                else:
                    case = bench.Case(folder, kind, level, ROUNDS).execute()
                    bench.Memory(case)
                answers = ask(case)
                for answer in answers:
                    key = f"{case.kind},{answer['infer']},{answer['data']}"
                    add(totals.setdefault(key, {}), answer)
                why = verdict(answers)
                failed |= why is not None
                checks = sum(answer["checks"] for answer in answers)
                print(f"FAIL {case.name}: {why}" if why else
                      f"PASS {case.name}: {checks} registers compared", flush=True)
    checks = sum(total["checks"] for total in totals.values())
    print(f"{'PASS' if checks >= CHECKS else 'FAIL'} reconstructed values: {checks} compared")
    for key, total in totals.items():
        kind = key.split(",")[0]
        least = (LEAST_TRAPS if kind in bench.TRAP_KINDS else
                 LEAST_STATES if kind == bench.TwoStates.kind else LEAST)
        why = little(total, least) if key.endswith(",1,0") else None
        if why:
            failed = True
            print(f"FAIL known near the halt, {key.split(',')[0]}: {why}")
        print(f"#   {key}: " + ", ".join(
            f"{group} {share(total, registers, range(NEAR)):.1f} %"
            for group, registers in GROUPS.items()))
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w", encoding="ascii") as file:
            json.dump(totals, file, indent=1)
    return failed or checks < CHECKS


if __name__ == "__main__":
    sys.exit(main())
