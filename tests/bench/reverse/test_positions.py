#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stock GDB at replay positions of `btraced replay`, one by one: registers against the truth,
backtraces against the calls that really happened, motions against a full recording in the same GDB.

BTRACED_FULL=1: half of all programs, other ones in each run (BTRACED_SEED), more positions.
"""

import os
import random
import sys
import tempfile
from pathlib import Path

import bench
import model
import positions
from full_recording import FullRecording

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gdb"))
from replay_gdb import Failed, Server  # noqa: E402

FULL = bool(os.environ.get("BTRACED_FULL"))
QUICK = (("a32", "O1"), ("t32", "O2"), ("mixed", "O0"), ("m3", "Os"), ("m4", "O2"),
         ("m33", "O1"))
MOTION_POSITIONS = 14 if FULL else 8
POSITIONS = 200 if FULL else 60
# Percent over all programs. What is missing is cut short where SP or LR is not known, or a motion that follows.
BT_LEAST, MOTIONS_LEAST = 97, 98
STATES_LEAST = 10  # percent of registers
FAR = (("t32", "O0"), ("mixed", "O0"), ("m3", "O1"), ("m33", "O0"))
FAR_ROUNDS, FAR_POSITIONS, FAR_WINDOW, FAR_LEAST = 30, 120, 1024, 10  # percent of registers
FAR_SPAN = 24000  # instructions from the begin on, all farther from the halt than a window is long


def spread(count, wanted):
    """`wanted` positions, evenly spread; all of them if there are no more."""
    return sorted({count * i // wanted for i in range(1, wanted)} if wanted < count
                  else set(range(1, count)))


def examine(case):
    calls = model.Calls(case)
    few, many = spread(case.count, MOTION_POSITIONS), spread(case.count, POSITIONS)
    with FullRecording(case) as full:
        full_few = positions.gdb_at(case, full.port, few, positions.MOTIONS, variables=True)
        full_many = positions.gdb_at(case, full.port, many)
    with Server(case.recording, "--elf", str(case.elf)) as server:
        before = ["record stop"]
        rows_few = positions.gdb_at(case, server.port, few, positions.MOTIONS, explain=True, variables=True,
                               before=before)
        rows_many = positions.gdb_at(case, server.port, many, explain=True, before=before)
    score = positions.score_rows(case, calls, rows_few, full_few)
    score.merge(positions.score_rows(case, calls, rows_many, full_many))
    return score


def examine_states(case):
    """Of a program with a Secure and a Non-secure part: its registers."""
    score = positions.Score()
    with Server(case.recording, "--elf", str(case.elf), "--elf", str(case.nonsecure)) as server:
        rows = positions.gdb_at(case, server.port, spread(case.count, 4 * POSITIONS), explain=True,
                           before=["record stop"])
    for row in rows:
        if row["at"] != row["position"]:
            score.fault(f"{case.name}: goto {row['position']} goes to {row['at']}")
        positions.check_registers(score, case, row)
    if score.share("known", "registers") < STATES_LEAST:
        score.fault(f"{case.name}: {score.share('known', 'registers'):.1f} % of registers known")
    return score


def examine_far(case):
    """Far from the halt, where a window around the position is all there is: present memory is no
    evidence there."""
    score = positions.Score()
    if case.count < 2 * FAR_SPAN:
        score.fault(f"{case.name}: only {case.count} instructions")
    with Server(case.recording, "--elf", str(case.elf)) as server:
        rows = positions.gdb_at(case, server.port, spread(FAR_SPAN, FAR_POSITIONS),
                           explain=True,
                           before=["record stop", f"monitor past window {FAR_WINDOW}"])
    for row in rows:
        positions.check_registers(score, case, row)
    if score.share("known", "registers") < FAR_LEAST:
        score.fault(f"{case.name}: {score.share('known', 'registers'):.1f} % of registers known")
    return score


def words(score):
    return (f"bt {score['bt_right']} of {score['bt']}, motions {score['motions_right']} of "
            f"{score['motions']}, registers known {score.share('known', 'registers'):.1f} %, "
            f"locals {score['locals_known']} of {score['locals']}")


def tell(name, score):
    """A verdict on one program. True: something wrong was shown as known."""
    if score.faults:
        print(f"FAIL {name}: {score.faults[0]}")
        for text in score.faults[1:10]:
            print(f"#   {text}")
    else:
        print(f"PASS {name}: {words(score)}")
    for text in score.misses[:4] if FULL else []:
        print(f"#   {text}")
    sys.stdout.flush()
    return bool(score.faults)


def main():
    reason = bench.missing()
    if reason:
        needed = os.environ.get("BTRACED_REQUIRE_DATA") == "1"
        print(f"{'FAIL' if needed else 'SKIP'} positions: {reason}")
        return needed
    total, failed = positions.Score(), False
    seed = int(os.environ.get("BTRACED_SEED", random.SystemRandom().randrange(1 << 32)))
    print(f"# BTRACED_SEED={seed}", flush=True)
    dice = random.Random(seed)
    kinds = list(bench.KINDS | bench.V4_KINDS)
    # About as many of each level as in all of them: the shares differ between levels.
    chosen = [(kind, level) for number, kind in enumerate(dice.sample(kinds, len(kinds)))
              for level in (bench.LEVELS[number % 2], dice.choice(bench.LEVELS[2:]))] if FULL else QUICK
    with tempfile.TemporaryDirectory(prefix="btraced-reverse.") as folder:
        for level in dice.sample(("O0", "O1", "O2"), 1):
            case = bench.TwoStates(folder, level, 40, bench.TWO_STATES[0]).execute()
            failed |= tell(case.name, examine_states(case))
        for kind, level in dice.sample(FAR, 2):
            case = bench.Case(folder, kind, level, FAR_ROUNDS).execute()
            failed |= tell(f"{case.name}, far from the halt", examine_far(case))
        for kind, level in chosen:
            case = bench.Case(folder, kind, level).execute()
            try:
                score = examine(case)
            except (Failed, bench.BenchError) as why:
                print(f"FAIL {case.name}: {why}")
                failed = True
                continue
            failed |= tell(case.name, score)
            total.merge(score)
    for what, name, of, least in (("backtraces", "bt_right", "bt", BT_LEAST),
                                  ("motions", "motions_right", "motions", MOTIONS_LEAST)):
        share = total.share(name, of)
        good = share >= least and total[of] > 100
        failed |= not good
        print(f"{'PASS' if good else 'FAIL'} positions: {what} right: {share:.2f} % of {total[of]}")
    return failed


sys.exit(main())
