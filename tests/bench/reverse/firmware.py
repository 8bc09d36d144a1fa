# SPDX-License-Identifier: BSD-3-Clause
"""Firmware from a seed: tasks of a preemptive kernel (target/kernel.c) that call functions which nobody
has looked at, on a Cortex-M3, M4, M7 or M33, or one program without a kernel; with target/kernel_a.c on a Cortex-A9."""

import random
import re

import bench

MACHINES = {"m3": (bench.M3, ["-DBIT_BAND"]), "m4": (bench.M4, ["-DHAS_FPU", "-DBIT_BAND"]),
            "m7": (bench.M7, ["-DHAS_FPU"]), "m33": (bench.M33, ["-DHAS_FPU"]),
            "a9": (bench.A9, ["-DINPUT=0x1000005c"]), "a53": (bench.A53, [])}
FUNCTIONS = 7


def statement(r, number, floats, plain):
    """One of a function's: it may call those with a higher number, so that all of it ends. `plain`: see Firmware."""
    callee = r.randrange(number + 1, FUNCTIONS + 1)
    call = f"f{callee}(a + {r.randrange(9)}, b ^ {r.randrange(9)})" if callee < FUNCTIONS else "input()"
    choices = [
        f"    a = a * {r.randrange(3, 9)} + {call};",
        f"    s += {call};",
        f"    for (u32 i = 0; i < (b & 3) + 1; i++)\n        s ^= {call} + i;",
        f"    v[(input() + a) % {r.choice((4, 8))}] = s + {r.randrange(99)};",
        "    b ^= v[s & 3] + words[a % 8];",
        f"    words[(s + input()) % 8] = a - {r.randrange(99)};",
        "    global_sum += s;",
        "    *(volatile u32 *)pick(a) = b;",
        "    s = service_mix(s, input() & 7);",
        "    if (input() & 1)\n        yield();",
        "    if (a & 1)\n        service_yield();",
        "    queue_send(a);",
        "    s += queue_receive();",
        "    s = coroutine_step(s);",
        f"    set_bit(&words[{r.randrange(8)}], s, a & 1);",
        f"    b += with_room((a & 7) + {r.randrange(1, 5)});",
        "    s += jumps(a);",
        "    copy(v, words, 4);",
    ]
    if floats:
        choices += ["    x = x * 2 + (float)(a & 15);", "    s += (u32)x & 7;"]
    return r.choice([text for text in choices if not (plain and re.search("coroutine|jumps|with_room", text))])


def function(r, number, floats, plain):
    body = "\n".join(statement(r, number, floats, plain) for _ in range(r.randrange(2, 6)))
    number_type = "    float x = (float)(a & 3);\n" if floats else ""
    use = " + (u32)x" if floats else ""
    return (f"NOINLINE u32 f{number}(u32 a, u32 b)\n{{\n    volatile u32 v[8] = {{a, b}};\n"
            f"    u32 s = {r.randrange(99)};\n{number_type}{body}\n    return s + v[a & 3] + a + b{use};\n}}\n")


HEAD = """#include "kernel.h"

volatile u32 words[8], global_sum, pad[4];
u32 f%(names)s(u32 a, u32 b);

static inline volatile u32 *pick(u32 a)
{
    return a & 4 ? &pad[a & 3] : &words[a & 7];
}

NOINLINE void copy(volatile u32 *to, volatile u32 *from, u32 count)
{
    while (count--)
        *to++ = *from++;
}

NOINLINE u32 with_room(u32 n)
{
    u32 *room = __builtin_alloca(4 * n), sum = 0;

    for (u32 i = 0; i < n; i++)
        room[i] = input() + i;
    for (u32 i = 0; i < n; i++)
        sum += room[i];
    return sum;
}

NOINLINE u32 deeper(u32 *env, u32 n)
{
    volatile u32 room[3];

    room[n %% 3] = input();
    if (n == 0) {
        long_jump(env, 1);
        return 0;
    }
    return deeper(env, n - 1) + room[0];
}

NOINLINE u32 jumps(u32 n)
{
    u32 env[JUMP_WORDS] __attribute__((aligned(8)));
    volatile u32 sum = n;

    if (set_jump(env) == 0)
        sum += deeper(env, n & 3);
    return sum + 1;
}

"""


def source(seed, floats, plain):
    r = random.Random(seed)
    text = HEAD % {"names": "(u32 a, u32 b);\nu32 f".join(str(n) for n in range(FUNCTIONS))}
    text += "\n".join(function(r, n, floats, plain) for n in range(FUNCTIONS))
    work = "\n".join(f"        case {n}:\n            s += f{r.randrange(3)}(s & 15, number);\n            break;"
                     for n in range(3))
    return text + f"""
void task_main(u32 number)
{{
    u32 s = number;

    for (;;) {{
        switch ((s + number) % 3) {{
{work}
        }}
        count_step();
    }}
}}
"""


class Firmware(bench.Case):
    """`steps`: how long it runs, and so in which phase it ends. `plain`: tasks, instructions of a tick; no stack is left
    without a return or has room of a size that comes from outside, and the kernel itself knows whose turn it is.
    `alone`: nothing comes from outside but the tick. `longest`: instructions, roughly."""

    def __init__(self, folder, kind, level, seed, steps, plain=None, alone=False, longest=100000):
        r = random.Random(f"{seed} {kind} {level}")
        self.machine, extra = MACHINES[kind]
        count, self.tick = plain or (r.choice((2, 3, 5)), r.choice((600, 1000, 2500, 20000)))
        tasks = f"{folder}/tasks-{kind}-{level}-{seed}.c"
        with open(tasks, "w", encoding="ascii") as file:
            file.write(source(f"{seed} {kind}", self.machine.fpu, bool(plain)))
        flags = [flag for flag in self.machine.flags if not flag.startswith(("-DTICK", "-DINPUT"))]
        m_profile = self.machine.m_profile
        machine = bench.Machine(self.machine.qemu, self.machine.core, self.machine.ram, flags, (), self.machine.script,
                                self.machine.plugin, self.machine.unit, self.machine.registers)
        self.defines = [*extra, *(["-DPLAIN"] if plain else []), *(["-DNO_INPUT"] if alone else []),
                        f"-DTASKS={count}", f"-DSTEPS={steps}", f"-DTICK={self.tick}",
                        f"-DTICKS={1 + longest // self.tick}", f"-DINTERRUPT={r.choice((2, 5, 7))}"]
        kernel = ("kernel.c",) if m_profile else (f"kernel_a{'64' if self.machine.wide else ''}.S", "kernel_a.c")
        if m_profile:
            self.more_truth = {"whole": 1}
        elif self.machine.wide:
            self.promises = None  # forwards only
            self.defines += [f"-DLEVEL={r.choice((0, 4))}", *r.choice(([], ["-DTRANSLATION"]))]
        else:
            self.defines.append(r.choice(("-marm", "-mthumb")))
        super().__init__(folder, f"firmware-{kind}", level, f"{seed}-{steps}", (*kernel, tasks),
                         (machine, self.defines))
