# SPDX-License-Identifier: BSD-3-Clause
"""C programs from a seed that Csmith writes (https://github.com/csmith-project/csmith): pointers to pointers, unions, bit
fields, packed structures, jumps, numbers of 8 to 64 bits and floats, in rounds; a number from outside changes a variable, and on
Cortex-M interrupts come in between. Their variables get their first values from the end of the code, as firmware does it."""

import random
import re
import shutil
import subprocess

import bench
import corners

KINDS = {"m3": bench.KINDS["m3"], "m4": bench.KINDS["m4"], **bench.V4_KINDS, "a32": bench.KINDS["a32"], "t32": bench.KINDS["t32"],
         "a53": (bench.A53, ["-DINPUT=0x09010000ul"])}
STARTS = {"a32": "start_a.S", "t32": "start_a.S", "a53": "start_a53.S"}
SHORTEST, LONGEST = 400, 150000
HEADERS = "/usr/include/csmith"


def missing():
    return None if shutil.which("csmith") else "no program csmith"


def source(folder, seed, floats):
    """The program, between what it needs; None: Csmith gave up."""
    r = random.Random(f"csmith {seed}")
    sizes = {"funcs": r.randrange(2, 7), "block-depth": r.randrange(2, 5), "block-size": r.randrange(2, 6), "array-dim": r.randrange(1, 4),
             "array-len-per-dim": r.randrange(2, 7), "pointer-depth": r.randrange(1, 4), "struct-fields": r.randrange(2, 8)}
    options = [word for name, size in sizes.items() for word in (f"--max-{name}", str(size))]
    try:  # it writes a file of its own
        text = subprocess.run(["csmith", "-s", str(r.randrange(1, 1 << 31)), "--nomain", "--no-argc", "--no-checksum", *options,
                               *(["--float"] if floats else [])], cwd=folder, capture_output=True, text=True, check=True, timeout=20).stdout
    except subprocess.SubprocessError:
        return None
    # Others might look at its variables: then compilers keep what is stored.
    text = re.sub(r"^#include .*|^static (?=[^()]*\bg_\d+)", "", text, flags=re.MULTILINE)
    variables = re.findall(r"^(?:volatile )?u?int(?:8|16|32|64)_t (g_\d+) =", text, re.MULTILINE)
    change = f"({r.choice(variables)} ^= (x))" if variables and r.randrange(3) else "((void)(x))"
    return (f'#include "random_c.h"\n{text}\n'
            f'#define FROM_OUTSIDE(x) {change}\n#include "random_c_end.h"\n')


class RandomC(bench.Case):
    patience = 8
    more_truth = {"whole": 1}

    def __init__(self, folder, kind, level, seed):
        base, extra = KINDS[kind]
        self.seed, self.promises = seed, None if base.wide else ()
        r = random.Random(f"{seed} {kind} {level}")
        text = source(folder, f"{seed} {kind}", not base.wide and not r.randrange(3))
        if not text:
            raise bench.BenchError("Csmith gave up")
        path = f"{folder}/csmith-{kind}-{seed}.c"
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        flags = [flag for flag in base.flags if not flag.startswith("-DTICK")]
        if not base.wide and r.randrange(2):
            path = self._compile_by_clang(path, [*flags, *extra], level)
        machine = bench.Machine(base.qemu, base.core, base.ram, flags, (), base.script, base.plugin, base.unit, base.registers)
        super().__init__(folder, f"csmith-{kind}", level, r.choice((1, 3, 8)), (STARTS.get(kind, "board_m.c"), "main.c", path),
                         (machine, [*extra, "-w", f"-DTICK={r.choice((300, 1237, 20000))}", f"-I{HEADERS}",
                                    "-fno-zero-initialized-in-bss", "-Wl,--defsym=copies_data=1"]))
        sections = [word for name in (".text", ".data") for word in ("-j", name)]
        code = self.folder / "code.bin"
        bench.run([f"{'llvm-' if base.wide else 'arm-none-eabi-'}objcopy", "-O", "binary", *sections, str(self.elf), str(code)])
        self.code = code.read_bytes()

    def _compile_by_clang(self, path, flags, level):
        """The other compiler than of the rest."""
        target = str(bench.HERE / "target")
        bench.run(["clang", "--target=arm-none-eabi", *(flag for flag in flags if not flag.startswith("-Wl,")), f"-{level}", "-ffreestanding", "-w",
                   "-fno-zero-initialized-in-bss", f"-I{target}", f"-I{HEADERS}", "-c", path, "-o", f"{path}.o"])
        return f"{path}.o"

    def strays(self):
        return not SHORTEST <= self.count <= LONGEST


def programs(folder, kind, seed, count):
    return corners.that_run(lambda number: RandomC(folder, kind, corners.level_of(number, kind), number), seed, count)
