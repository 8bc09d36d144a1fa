#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Tests execute_ar.c and values_canceled.c, too.
"""Reconstructed values of firmware, compared with all that the core did: small programs that do what
rules about calls and exceptions must not be led astray by, firmware from a seed (firmware.py), and
blocks of random instructions among faults and interrupts (corners.py; on a Cortex-A9 corners_a.py, on a Cortex-A53
corners_a64.py, which is followed forwards only).
No value that is called known may be wrong, with assumptions and without, nor one that is executed
forwards from the beginning, or from halts on the way.

usage: test_firmware.py [SEED [PROGRAMS]]    BTRACED_FULL=1: more of it. The seed is a new one in each run.
PROGRAMS: firmware of so many seeds on each core, from that one on; how much is known at the end.
"""

import json
import os
import random
import sys
import tempfile

import bench
import corners
import corners_a
import corners_a64
import firmware
import random_c

FULL = bool(os.environ.get("BTRACED_FULL"))
LEVELS = ("O0", "O1", "O2", "O3", "Os")
# name: sources, levels of optimisation, whether it has one stack
SMALL = {
    "service": (("small_start.S", "service.c"), LEVELS, True),
    "coroutine": (("coroutine.S",), ("O0",), True),
    "same_address": (("same_address.S",), ("O0",), False),
    "bitband": (("bitband.S",), ("O0",), True),
    "longjmp": (("small_start.S", "longjmp.c"), LEVELS, True),
    "alias": (("alias.S",), ("O0",), True),
    "number_in_lr": (("number_in_lr.S",), ("O0",), True),
    "pop_to_itself": (("pop_to_itself.S",), ("O0",), True),
}
V8 = ("number_in_lr",)
KINDS = ("m3", "m4", "m7", "m33")
A_KINDS = (*bench.KINDS, *bench.TRAP_KINDS)  # what is known backwards of these: test_engine.py
BANDS = 5  # up to 10, 100, 1,000, 10,000, 100,000 instructions before the halt
GROUPS = {"SP": (13,), "LR": (14,), "r4-r11": range(4, 12)}
FORWARD = ("registers", "registers_known", "sp_known", "words", "words_known")
TWO_ADDRESSES = ("alias",)  # of the same memory: found at the next halt, which there is none here
CORNERS = 6 if FULL else 2  # programs of corners.py on each core
CORNERS_A = 20 if FULL else 3
CORNERS_A64 = 7 if FULL else 0
KERNELS_A64 = 5 if FULL else 1
CSMITH = 4 if FULL else 1
KNOWN_A = 1017  # its tasks pop from where nobody knows, what others have pushed
LENGTHS = range(8, 40, 4) if FULL else (20,)  # the last of a program are in another phase in each


A53_INPUT = ["-DINPUT=0x09010000ul"]  # of virt's clock, beside the counter
# Numbers from outside (target/sensor.c): machine, flags, levels. Without division by hardware -Os calls a function for it.
SENSORS = {"m4": (bench.M4, ["-DTICK=4000"], ("O0", "O1", "O2", "Os")), "m33": (bench.M33, ["-DTICK=700"], ("O0", "O1", "O2", "Os")),
           "a32": (bench.A9, ["-marm"], ("O0", "O1", "O2", "Os")), "t32": (bench.A9, ["-mthumb"], ("O0", "O1", "O2", "Os")),
           "a53": (bench.A53, A53_INPUT, ("O0", "O1", "Os")),
           **{f"{isa}-tick": (bench.A9, [flag, "-DTICK=300"], ("O0", "O1", "O2", "Os")) for isa, flag in (("a32", "-marm"), ("t32", "-mthumb"))}}
STYLES = 5  # of handlers (target/start_tick_a.S)
ROUNDS = 300 if FULL else 40
# A protocol's bytes (target/protocol.c), likewise.
PROTOCOLS = {"m4": (bench.M4, ["-DTICK=4000"], ("O1", "O2", "Os")), "m33": (bench.M33, ["-DTICK=500"], ("O1", "O2", "Os")),
             "a32": (bench.A9, ["-marm"], ("O0", "O1", "O2", "Os")), "t32": (bench.A9, ["-mthumb"], ("O0", "O1", "O2", "Os"))}
PROTOCOL_ROUNDS = 1500
# Drivers of an ADC and a motor (target/driver.c), likewise.
DRIVERS = {"m4": (bench.M4, ["-DTICK=4000"], ("O0", "O1", "O2", "Os")), "m33": (bench.M33, ["-DTICK=700"], ("O0", "O1", "O2")),
           "a32": (bench.A9, ["-marm"], ("O0", "O1", "O2")), "t32": (bench.A9, ["-mthumb"], ("O0", "O1")),
           "a53": (bench.A53, A53_INPUT, ("O0", "O1", "Os"))}
DRIVER_ROUNDS = 600


class Small(bench.Case):
    more_truth = {"whole": 1}


class Sensor(bench.Case):
    more_truth = {"whole": 1}

    def __init__(self, folder, kind, level, rounds, program="sensor", kinds=SENSORS, style=0):
        base, flags, _ = kinds[kind]
        kept = [flag for flag in base.flags if not flag.startswith("-DTICK")]
        machine = bench.Machine(base.qemu, base.core, base.ram, kept, (), base.script, base.plugin, base.unit, base.registers)
        start = ("start_a53.S",) if base.wide else ("start_tick_a.S",) if kind.endswith("-tick") else ("start_a.S",)
        start = () if base.m_profile else start
        super().__init__(folder, f"{program}-{kind}{style or ''}", level, rounds, (*start, f"{program}.c"), (machine, [*flags, f"-DSTYLE={style}"]))


def sensor(case, least=0.95, registers_least=None):
    """An index, a length or a structure that a number from outside chooses ends what is known where it may be, and no more."""
    case.execute()
    known = {}
    if not forwards(case.name, case, known):
        return False
    registers, words = (known[f"{what}_known"] / known[what] for what in ("registers", "words"))
    joined = ask(case, False, 1, "forward", "joined")[-1] if not case.machine.wide else {"wrong": 0}
    good = words >= least and registers >= (registers_least or (0.9 if case.level == "O0" else 0.65)) and not joined["wrong"]
    last = "; ".join(f"{way} " + " and ".join(f"{n / joined[what]:.1%}" for n, what in zip(joined[way], ("registers", "words")))
                     for way in ("forwards", "backwards", "either") if way in joined)
    print(f"{'PASS' if good else 'FAIL'} {case.name}, input: {case.count} instructions, {registers:.1%} of the registers and "
          f"{words:.1%} of RAM known forwards; in the last 100,000 {last}", flush=True)
    return good


def ask(case, one_stack, halts, *more):
    line = [str(bench.ENGINE), str(case.folder), hex(case.machine.ram), str(halts), "100000"]
    line += ["one-stack"] * one_stack + ["fpu"] * case.machine.fpu + [*(case.promises or ()), *more]
    return [json.loads(text) for text in bench.run(line, timeout=300).splitlines()]


def forwards(name, case, known):
    """False, with a line about it, if what is executed is wrong."""
    wide = ["wide"] * case.machine.wide
    for more in ((), ("halts",), *[("halts", "lacking")] * case.machine.wide):
        answer = ask(case, False, 1, "forward", *wide, *more)[-1]
        for key in FORWARD if known is not None and not more else ():
            known[key] = known.get(key, 0) + answer[key]
        if answer["wrong"] or answer["error"]:
            print(f"FAIL {name}: forwards {more} {answer}")
            return False
    return True


def check(name, case, one_stack, halts=4, known=None):
    """False, with a line about it, if anything is wrong. What is known with assumptions is added to `known`."""
    case.execute()
    bench.Memory(case)
    for answer in ask(case, one_stack, halts) if case.promises is not None else ():
        if known is not None and answer["infer"] and not answer["data"]:
            for key in ("total", *GROUPS):
                parts = [answer[f"r{reg}"] for reg in GROUPS.get(key, ())] or [answer[key]]
                known[key] = [a + sum(b) for a, b in zip(known.get(key, BANDS * [0]), zip(*parts))]
        wrong = {key: answer[key] for key in ("wrong", "wrong_inferred", "conflicts") if answer[key]}
        if wrong:
            print(f"FAIL {name}: {wrong}, assumptions {answer['infer']}, data trace {answer['data']}")
            return False
    if not name.startswith(TWO_ADDRESSES) and not forwards(name, case, known):
        return False
    print(f"PASS {name}: {case.count} instructions", flush=True)
    return True


def main():
    reason = bench.missing() or random_c.missing()
    if reason:
        needed = os.environ.get("BTRACED_REQUIRE_DATA") == "1"
        print(f"{'FAIL' if needed else 'SKIP'} values of firmware: {reason}")
        return needed
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(1 << 30)
    print(f"# seed {seed}", flush=True)
    good, known = True, {}
    with tempfile.TemporaryDirectory(prefix="btraced-firmware.") as place:
        for name, (sources, levels, one_stack) in SMALL.items():
            for level in levels:
                folder = os.path.join(place, name)
                case = Small(folder, "m33" if name in V8 else "m3", level, sources=sources)
                good &= check(f"{name}-{level}", case, one_stack)
        for number in range(seed, seed + (int(sys.argv[2]) if len(sys.argv) > 2 else 1)):
            for kind in KINDS:
                level = random.Random(f"{number} {kind}").choice(LEVELS)
                for steps in LENGTHS:
                    case = firmware.Firmware(place, kind, level, number, steps)
                    good &= check(f"{case.name}, seed {number}, {steps} steps", case, False, known=known)
        for kind in KINDS:
            for case in corners.programs(place, kind, seed, CORNERS):
                good &= check(f"{case.name}, corners of seed {case.seed}", case, False)
        for kind in random_c.KINDS:
            for case in random_c.programs(place, kind, seed, CSMITH):
                good &= check(f"{case.name}, Csmith with seed {case.seed}", case, False)
        known_a = {}
        for case in corners_a.programs(place, seed, CORNERS_A):
            good &= check(f"{case.name}, corners of seed {case.seed}", case, False, known=known_a)
        known_a64 = {}
        for case in corners_a64.programs(place, seed, CORNERS_A64) if CORNERS_A64 else ():
            good &= check(f"{case.name}, corners of seed {case.seed}", case, False, known=known_a64)
        for number in (KNOWN_A, *range(seed, seed + CORNERS)):
            r = random.Random(number)
            case = firmware.Firmware(place, "a9", r.choice(LEVELS), number, r.randrange(10, 60), (r.choice((2, 5)), 1000))
            good &= check(f"{case.name}, seed {number}", case, False)
        for number in range(seed, seed + KERNELS_A64):
            r = random.Random(number)
            case = firmware.Firmware(place, "a53", r.choice(LEVELS), number, r.randrange(8, 40))
            good &= check(f"{case.name}, seed {number}", case, False, known=known_a64)
        for kind, (_, _, levels) in SENSORS.items():
            for level in levels if FULL else (random.Random(f"{seed} {kind}").choice(levels),):
                rounds = ROUNDS // 4 if kind.endswith("-tick") else ROUNDS
                for style in (range(STYLES) if FULL else (seed % STYLES,)) if kind.endswith("-tick") else (0,):
                    good &= sensor(Sensor(place, kind, level, rounds, style=style))
        for kind, (_, _, levels) in DRIVERS.items():
            for level in levels if FULL else (random.Random(f"{seed} {kind}").choice(levels),):
                good &= sensor(Sensor(place, kind, level, DRIVER_ROUNDS, "driver", DRIVERS), 0.92 if kind == "a53" else 0.95, 0.78)
        for kind, (_, _, levels) in PROTOCOLS.items() if FULL else ():
            level = random.Random(f"{seed} {kind}").choice(levels)
            good &= sensor(Sensor(place, kind, level, PROTOCOL_ROUNDS, "protocol", PROTOCOLS), 0.9)
        for kind in A_KINDS:
            r = random.Random(f"{seed} {kind}")
            case = bench.Case(place, kind, r.choice(LEVELS), r.choice((1, 2, 3)))
            case.execute()
            name = f"{case.folder.name}, forwards"
            if forwards(name, case, None):
                print(f"PASS {name}: {case.count} instructions", flush=True)
            else:
                good = False
    share("schedulers", known)
    share("corners of a Cortex-A9", known_a)
    if known_a64:
        share("a Cortex-A53", known_a64, 32)
    return not good


def share(name, known, each=15):
    """What is known of the registers, `each` position has so many, and words that were compared."""
    for key, registers in GROUPS.items() if "total" in known else ():
        shares = (100 * n / max(1, of * len(registers)) for n, of in zip(known[key], known["total"]))
        print(f"# {name}, {key} known up to 10, 100, 1,000, 10,000, 100,000 instructions before the halt: "
              + ", ".join(f"{share:.1f} %" for share in shares))
    print(f"# {name}, forwards from the beginning: "
          f"{100 * known['registers_known'] / known['registers']:.1f} % of the registers, SP at "
          f"{100 * each * known['sp_known'] / known['registers']:.1f} %, {100 * known['words_known'] / known['words']:.1f} % of RAM")


if __name__ == "__main__":
    sys.exit(main())
