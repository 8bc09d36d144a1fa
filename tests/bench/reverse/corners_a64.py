# SPDX-License-Identifier: BSD-3-Clause
"""Programs from a seed as those of corners_a.py, for a Cortex-A53: blocks of random instructions of A64, encodings by chance
among them, at EL0 to EL3 with either stack pointer, among exceptions whose handlers come in several styles and change what
they interrupted (target/corners_a64.c)."""

import random
import re
import subprocess

import bench
import corners

CONDITIONS = ("eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le")
NUMBERS = (*range(7), *range(8, 16), *range(18, 29))  # x7: the arena; x16, x17, x29, x30: as groups need them
NOWHERE = 0x60000000
STACKS = {"user": 2560, "el1": 3584, "el2": 1536, "el3": 1536}
REGISTERS = ("tpidr_el0", "tpidr_el1", "tpidrro_el0", "contextidr_el1", "mair_el1", "afsr0_el1", "far_el1", "esr_el1", "par_el1", "csselr_el1")
READ = ("midr_el1", "mpidr_el1", "ctr_el0", "dczid_el0", "cntfrq_el0", "currentel", "spsel", "daif", "sctlr_el1", "tcr_el1", "ttbr0_el1", "vbar_el1",
        "cpacr_el1", "id_aa64pfr0_el1", "revidr_el1", "clidr_el1", "isr_el1", "spsr_el1", "elr_el1", "sp_el0")
OF_EL0 = ("tpidr_el0", "ctr_el0", "dczid_el0")
VALUES = (0, 1, 2, 0xff, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 1 << 63, (1 << 63) - 1, (1 << 64) - 1, 0x3ff0000000000000, 0x400921fb54442d18,
          0x7ff8000000000001, 0x7ff0000000000000, 0x7ff0000000000001, 0x3f8000004048f5c3, 0xff80000000000001, 0x0000000100000001, 0x8000000000000000, 0x41dfffffffc00000)


def encoding(r):
    """A word that may be an instruction: of data processing, SIMD, or a load or store through x16 and x17."""
    w, rd, k = r.randrange(1 << 32), r.choice(NUMBERS), r.randrange(12)
    if k < 2:
        return (w & ~0x1c00001f) | 0x10000000 | rd
    if k < 5:
        return (w & ~0x0e00001f) | 0x0a000000 | rd
    if k < 8:
        return (w & ~0x0e00001f) | 0x0e000000 | rd
    if k == 8:  # exclusive
        s, t, u = r.sample(NUMBERS, 3)
        w = (w & 0xc0e08000) | 0x08000000 | s << 16 | u << 10
        return w | t | 16 << 5 if w >> 21 & 1 and not w >> 23 & 1 else w | 0x1f7c00 & (0x1f << 10) | t | 16 << 5
    if k == 9:  # structures
        return (w & 0x40ffffff & ~0x1f03ff | w & 0x1c00) & ~0x1f0000 | 0x0c000000 | r.choice((0, 1)) << 24 | r.choice((0, 0x800000 | 17 << 16, 0x800000 | 31 << 16)) | 16 << 5 | rd
    if k == 10:  # pair
        t, u = r.sample(NUMBERS, 2)
        return (w & 0xc5c60000 & ~0x180000) | 0x28000000 | w & 0x78000 | u << 10 | 16 << 5 | t
    w = (w & 0xc5ffffff) | 0x38000000
    if w >> 24 & 1:
        w &= ~0x3f0000
    elif w >> 21 & 1:
        w = (w & ~0x1f0000) | 17 << 16
    return (w & ~0x3ff) | 16 << 5 | r.choice((rd, rd, 31 if not w >> 26 & 1 else rd))


def encodings(r, count):
    """(word, text) of those that a Cortex-A53 has."""
    words = [encoding(r) for _ in range(count)]
    text = "\n".join(" ".join(f"{w >> s & 255:#04x}" for s in (0, 8, 16, 24)) for w in words)
    done = subprocess.run(["llvm-mc", "--disassemble", "--triple=aarch64", "-mattr=+crc,+crypto", "--show-encoding"], input=text, capture_output=True, text=True,
                          check=False, timeout=60)
    found = []
    for line in done.stdout.splitlines():
        match = re.match(r"\s*(\S.*?)\s*// encoding: \[(.*)\]", line)
        if match:
            found.append((int.from_bytes(bytes(int(b, 16) for b in match[2].split(",")), "little"), match[1].replace("\t", " ")))
    return found


class Block(corners.Block):
    """A function of random instructions."""

    def __init__(self, r, number, blocks, pool, options):
        super().__init__(r, "a53", number, blocks, False, False)
        self.plain_words = [one for one in pool if "x16" not in one[1]]
        self.memory_words = [one for one in pool if "[x16" in one[1]]
        for name in ("mode", "home", "hard", "translated", "seen"):
            setattr(self, name, options[name])

    def num(self, *without):
        return self.r.choice([n for n in NUMBERS if n not in without])

    def reg(self, *without, wide=None):
        wide = self.r.randrange(3) if wide is None else wide
        return f"{'x' if wide else 'w'}{self.num(*without)}"

    def regs(self, count, *without, wide=None):
        wide = self.r.randrange(3) if wide is None else wide
        return [f"{'x' if wide else 'w'}{n}" for n in self.r.sample([n for n in NUMBERS if n not in without], count)]

    def set(self, reg, value):
        """`reg`: of 64 bits."""
        if self.r.randrange(2):
            self.emit(f"ldr {reg}, ={value:#x}")
        else:
            self.emit(f"movz {reg}, #{value & 0xffff:#x}", *(f"movk {reg}, #{value >> s & 0xffff:#x}, lsl #{s}" for s in (16, 32, 48) if value >> s & 0xffff))

    def value(self):
        r = self.r
        return r.choice((r.choice(VALUES), r.randrange(256), r.randrange(1 << 32), r.randrange(1 << 64)))

    def raw(self, memory):
        r = self.r
        word, text = r.choice(self.memory_words if memory else self.plain_words)
        if memory:
            self.emit(f"add x16, x7, #{8 * r.randrange(32, 56) + r.choice((0, 0, 0, 0, 1, 4))}", f"mov x17, #{r.choice((0, 8, 16, r.randrange(16)))}")
        self.emit(f".inst {word:#x} // {text}")

    def plain(self, suffix=""):
        r, cond = self.r, self.r.choice(CONDITIONS)
        d, n, m, a = self.regs(4)
        size = 64 if d[0] == "x" else 32
        k = r.randrange(13)
        if k == 0:
            return f"{r.choice(('add', 'sub', 'adds', 'subs', 'and', 'orr', 'eor', 'bic', 'orn', 'eon', 'ands', 'bics'))} {d}, {n}, {m}, {r.choice(('lsl', 'lsr', 'asr'))} #{r.randrange(size)}"
        if k == 1:
            return f"{r.choice(('add', 'sub', 'adds', 'subs'))} {d}, {n}, w{m[1:]}, {r.choice(('uxtb', 'uxth', 'uxtw', 'sxtb', 'sxth', 'sxtw'))} #{r.randrange(5)}"
        if k == 2:
            return f"{r.choice(('csel', 'csinc', 'csinv', 'csneg'))} {d}, {n}, {m}, {cond}"
        if k == 3:
            return f"{r.choice(('ccmp', 'ccmn'))} {n}, {r.choice((m, '#' + str(r.randrange(32))))}, #{r.randrange(16)}, {cond}"
        if k == 4:
            return f"{r.choice(('cmp', 'cmn', 'tst'))} {n}, {m}"
        if k == 5:
            low = r.randrange(size)
            return f"{r.choice(('ubfx', 'sbfx', 'bfxil', 'ubfiz', 'sbfiz', 'bfi'))} {d}, {n}, #{low}, #{r.randrange(1, size - low + 1)}"
        if k == 6:
            return f"{r.choice(('madd', 'msub'))} {d}, {n}, {m}, {a}" if r.randrange(2) else f"{r.choice(('udiv', 'sdiv', 'mul', 'ror', 'lsl', 'asr', 'lsr'))} {d}, {n}, {m}"
        if k == 7:
            return f"{r.choice(('smull', 'umull'))} x{d[1:]}, w{n[1:]}, w{m[1:]}" if r.randrange(2) else f"{r.choice(('smulh', 'umulh'))} x{d[1:]}, x{n[1:]}, x{m[1:]}"
        if k == 8:
            return f"{r.choice(('rbit', 'clz', 'cls', 'rev', 'rev16', 'mvn', 'neg', 'negs', 'ngc'))} {d}, {n}"
        if k == 9:
            return f"{r.choice(('adc', 'sbc', 'adcs', 'sbcs'))} {d}, {n}, {m}"
        if k == 10:
            return f"crc32{r.choice(('b', 'h', 'w', 'cb', 'ch', 'cw'))} w{d[1:]}, w{n[1:]}, w{m[1:]}"
        if k == 11:
            return f"extr {d}, {n}, {m}, #{r.randrange(size)}"
        return f"{r.choice(('cset', 'csetm'))} {d}, {cond}"

    def load(self, suffix=""):
        r, at = self.r, 8 * self.r.randrange(96)
        d, n = self.regs(2)
        k = r.randrange(6)
        if k == 0:
            return f"{r.choice(('ldp', 'stp'))} {d}, {n}, [x7, #{at & 255 & ~7}]"
        if k == 1:
            return f"{r.choice(('ldr', 'str'))} {r.choice('qdshb')}{r.randrange(32)}, [x7, #{at & ~15}]"
        if k == 2:
            return f"{r.choice(('ldrb', 'ldrh', 'strb', 'strh', 'ldrsb', 'ldrsh'))} w{d[1:]}, [x7, #{at + 2 * r.randrange(4)}]"
        if k == 3:
            return f"{r.choice(('ldur', 'stur', 'ldr', 'str'))} {d}, [x7, #{r.randrange(200)}]" if r.randrange(3) else f"ldrsw x{d[1:]}, [x7, #{at}]"
        return f"{r.choice(('ldr', 'str'))} {d}, [x7, #{at}]"

    def floating(self, suffix=""):
        r, p = self.r, self.r.choice("ds")
        d, n, m, a = (f"{p}{r.randrange(32)}" for _ in range(4))
        k = r.randrange(9)
        if k == 0:
            return f"{r.choice(('fadd', 'fsub', 'fmul', 'fdiv', 'fmax', 'fminnm', 'fnmul'))} {d}, {n}, {m}"
        if k == 1:
            return f"{r.choice(('fmadd', 'fmsub', 'fnmadd', 'fnmsub'))} {d}, {n}, {m}, {a}"
        if k == 2:
            return f"{r.choice(('fcvtzs', 'fcvtzu', 'fcvtns', 'fcvtau', 'fcvtms'))} {self.reg()}, {n}"
        if k == 3:
            return f"{r.choice(('scvtf', 'ucvtf'))} {d}, {self.reg()}"
        if k == 4:
            return r.choice((f"fcmp {n}, {m}", f"fcmpe {n}, #0.0", f"fccmp {n}, {m}, #{r.randrange(16)}, {r.choice(CONDITIONS)}"))
        if k == 5:
            return f"fcsel {d}, {n}, {m}, {r.choice(CONDITIONS)}"
        if k == 6:
            return r.choice((f"fmov d{d[1:]}, x{self.num()}", f"fmov x{self.num()}, d{n[1:]}", f"fmov v{d[1:]}.d[1], x{self.num()}", f"fmov x{self.num()}, v{n[1:]}.d[1]",
                             f"fmov {d}, #1.5", f"ins v{d[1:]}.s[{r.randrange(4)}], w{self.num()}", f"umov w{self.num()}, v{n[1:]}.b[{r.randrange(16)}]"))
        if k == 7:
            return r.choice((f"fsqrt {d}, {n}", f"frint{r.choice('nmpzaix')} {d}, {n}", f"fcvt d{d[1:]}, s{n[1:]}", f"fcvt s{d[1:]}, d{n[1:]}", f"fcvt h{d[1:]}, {n}", f"fcvt {d}, h{n[1:]}"))
        v, w, x = (f"v{r.randrange(32)}.{t}" for t in [r.choice(("2d", "4s", "2s"))] * 3)
        return f"{r.choice(('fadd', 'fmul', 'fmla', 'fsub', 'fdiv', 'add', 'fmaxnm') if v[-2:] != '2d' else ('fadd', 'fmul', 'fmls', 'add'))} {v}, {w}, {x}"

    def one(self, cond=None):
        return self.r.choice((self.plain, self.plain, self.plain, self.load, self.floating))()

    # Groups.

    def some(self):
        for _ in range(self.r.randrange(1, 6)):
            self.emit(self.one())

    def by_chance(self):
        for _ in range(self.r.randrange(1, 6)):
            self.raw(not self.r.randrange(4))

    def skip(self):
        r, to = self.r, self.label()
        n = self.reg()
        self.emit(*r.choice(((f"cbz {n}, {to}",), (f"cbnz {n}, {to}",), (f"tbz {n}, #{r.randrange(32)}, {to}",), (f"tbnz {n}, #{r.randrange(32)}, {to}",),
                             (f"cmp {n}, #{r.randrange(64)}", f"b.{r.choice(CONDITIONS)} {to}"))))
        for _ in range(r.randrange(1, 5)):
            self.emit(self.one())
        self.lines.append(f"{to}:")

    def loop(self):
        r, again, n = self.r, self.label(), self.num()
        self.emit(f"mov x{n}, #{r.randrange(1, 5)}")
        self.lines.append(f"{again}:")
        self.emit("ldr x16, [x7]", f"add x16, x16, x{n}", "str x16, [x7]", r.choice((f"subs w{n}, w{n}, #1", f"sub x{n}, x{n}, #1\n    cmp x{n}, #0")), f"b.ne {again}")

    def walk(self):
        """Through a pointer that moves."""
        r, p = self.r, self.num()
        self.emit(f"add x{p}, x7, #{8 * r.randrange(24, 60)}")
        for _ in range(r.randrange(1, 6)):
            d, e = self.regs(2, p)
            k, step = r.randrange(8), r.choice((-16, 16, 8, -8, 32))
            ways = ("[x{}], #{}", "[x{}, #{}]!", "[x{}, #{}]")
            how = r.choice(ways).format(p, step)
            if k < 2:
                self.emit(f"{r.choice(('ldp', 'stp'))} {d}, {e}, {how}")
            elif k == 2:
                self.emit(f"{r.choice(('ldp', 'stp'))} q{r.randrange(16)}, q{r.randrange(16, 32)}, {r.choice(ways).format(p, 2 * step)}")
            elif k == 3:
                self.emit(f"{r.choice(('ldr', 'str'))} {d}, [x{p}], #{r.choice((4, 8, -3, 1, -8))}")
            elif k == 4:
                i = self.num(p)
                self.emit(f"and x{i}, x{i}, #{r.choice((7, 15, 31, 0x18))}", f"{r.choice(('ldr', 'str'))} {self.reg(p, i, wide=1)}, [x7, {r.choice((f'x{i}, lsl #3', f'w{i}, uxtw', f'w{i}, sxtw #3', f'x{i}'))}]")
            elif k == 5:
                self.emit(f"ldpsw x{d[1:]}, x{e[1:]}, {how}")
            elif k == 6:
                n = r.randrange(1, 5)
                first = r.randrange(29)
                self.emit(f"{r.choice(('ld1', 'st1'))} {{{', '.join(f'v{first + i}.16b' for i in range(n))}}}, [x{p}]{r.choice(('', f', #{16 * n}', f', x{self.num(p)}'))}",
                          f"add x{p}, x7, #256")
            elif self.hard:
                self.emit(f"ldr x{p}, [x7, #{8 * r.randrange(8)}]", f"and x{p}, x{p}, #248", f"add x{p}, x{p}, x7")

    def exclusive(self):
        r, again = self.r, self.label()
        a, b, s, p = r.sample(NUMBERS, 4)
        s2 = r.choice(("", "b", "h"))
        w = "w" if s2 or r.randrange(2) else "x"
        acq, rel = r.choice(("", "a")), r.choice(("", "l"))
        middle = [f"add {w}{b}, {w}{a}, #{r.randrange(9)}", *([self.floating()] * (not r.randrange(3))), *(["clrex"] if not r.randrange(6) else [])]
        self.emit(f"add x{p}, x7, #{8 * r.randrange(16)}")
        k = r.randrange(4)
        if "clrex" in middle:
            k = 3
        self.lines.append(f"{again}:")
        if k == 0:
            c = self.num(a, b, s, p)
            self.emit(f"and x{p}, x{p}, #~15", f"ld{acq}xp {w if not s2 else 'x'}{a}, {w if not s2 else 'x'}{c}, [x{p}]", f"add x{b}, x{a}, x{c}",
                      f"st{rel}xp w{s}, {w if not s2 else 'x'}{b}, {w if not s2 else 'x'}{a}, [x{p}]", f"cbnz w{s}, {again}")
        else:
            self.emit(f"ld{acq}xr{s2} {w}{a}, [x{p}]", *middle, f"st{rel}xr{s2} w{s}, {w}{b}, [x{p}]")
            if k < 3:
                self.emit(r.choice((f"cbnz w{s}, {again}", f"cmp w{s}, #0\n    b.ne {again}", f"tbnz w{s}, #0, {again}")))
        self.emit(f"ldr x{a}, [x7, #{8 * r.randrange(16)}]", f"ldar x{b}, [x7]", *([f"stlr x{s}, [x7]"] * r.randrange(2)))

    def counter(self):
        r, d = self.r, self.num()
        self.emit(r.choice((f"mrs x{d}, cntvct_el0", f"ldr x{d}, =0x09010000\n    ldr w{d}, [x{d}]")) if not self.mode.startswith("el0") else f"mrs x{d}, cntvct_el0")
        if r.randrange(3):
            self.emit(f"and x{d}, x{d}, #{r.choice((1, 3, 7, 255))}")
        if self.hard and not r.randrange(3):
            self.emit(f"and x{d}, x{d}, #{r.choice((7, 15))}", f"{r.choice(('str', 'ldr'))} {self.reg(d, wide=1)}, [x7, x{d}, lsl #3]")

    def status(self):
        r = self.r
        d, o = self.regs(2, wide=1)
        k = r.randrange(7)
        if k == 0:
            self.emit(f"mrs {d}, nzcv", f"eor {d}, {d}, #0xf0000000", f"msr nzcv, {d}")
        elif k == 1:
            self.emit(f"msr nzcv, {o}", f"mrs {d}, nzcv")
        elif k == 2:
            self.emit(f"mov x16, #{r.choice((0, 1, 2, 3)) << 22 | r.choice((0, 0, 1, 2, 3)) << 24}", "msr fpcr, x16", *(self.floating() for _ in range(4)), f"mrs {d}, fpcr")
        elif k == 3:
            self.emit(f"msr fpsr, {o}", self.floating(), f"mrs {d}, fpsr")
            if r.randrange(2):
                self.emit(f"msr fpcr, {o}", f"mrs {d}, fpcr", self.floating(), "msr fpcr, xzr")
        elif k == 4:
            self.emit(r.choice(("dsb sy", "isb", "dmb ish", "nop", "sev", "yield", "prfm pldl1keep, [x7]", "dc cvac, x7", "dc civac, x7")))
        elif k == 5 and self.mode[:3] != "el0":
            self.emit(f"mrs {d}, daif", f"msr daifset, #{r.choice((2, 3, 15))}", self.one(), r.choice((f"msr daif, {d}", "msr daifclr, #2" if self.mode[:3] == "el1" else f"msr daif, {d}")))
        else:
            self.emit(f"add x16, x7, #{64 * r.randrange(4)}", "dc zva, x16", f"ldr {d}, [x16, #{8 * r.randrange(8)}]")

    def system(self):
        r = self.r
        d, o = self.regs(2, wide=1)
        k = r.randrange(8)
        if self.mode[:3] == "el0":
            self.emit(f"msr tpidr_el0, {o}", self.one(), f"mrs {d}, {r.choice(OF_EL0)}")
        elif k < 2:
            which = r.choice(REGISTERS)
            self.emit(f"msr {which}, {o}", self.one(), f"mrs {d}, {which}")
        elif k == 2:
            self.emit(f"mrs {d}, {r.choice([name for name in READ if name != 'sp_el0' or self.mode != 'el1t'])}" if self.mode[-1] == "h" else self.one())
        elif k == 3 and self.mode[:3] == "el1":
            self.emit(f"mrs {d}, sctlr_el1", f"{r.choice(('orr', 'bic'))} {d}, {d}, #{r.choice((1 << 12, 1 << 9, 1 << 15))}", f"msr sctlr_el1, {d}", "isb", self.load())
        elif k == 4 and self.mode == "el1h":
            self.emit("msr daifset, #15", f"msr elr_el1, {o}", f"mov w16, w{o[1:]}", "msr spsr_el1, x16", self.one(), f"mrs {d}, elr_el1", f"mrs {o}, spsr_el1", "msr daifclr, #15")
        elif k == 5 and self.mode in ("el2h", "el3h"):
            self.emit(f"mrs x16, sp_el{r.choice((0, 1))}", f"mrs {d}, sp_el1", f"msr sp_el1, {d}", f"mrs {o}, {r.choice(('elr_el1', 'spsr_el1', 'vbar_el1', 'sctlr_el2', 'hcr_el2', 'tpidr_el2', 'elr_el2', 'spsr_el2', 'vbar_el2', 'esr_el2'))}")
        elif k == 6:
            self.emit("at s1e1r, x7", f"mrs {d}, par_el1")
            if self.mode in ("el2h", "el3h"):
                self.emit(f"msr vmpidr_el2, {r.choice((d, 'x0'))}")
            self.odd()
        elif k == 7 and self.translated and self.mode[:3] == "el1":
            self.emit("tlbi vmalle1", "dsb sy", "isb") if r.randrange(2) or not self.hard else self.emit("msr daifset, #15", f"mrs {d}, sctlr_el1", f"bic x16, {d}, #1", "msr sctlr_el1, x16", "isb", self.load(), f"msr sctlr_el1, {d}", "isb", "msr daifclr, #15")

    def odd(self):
        """What is not done, but in other orders of data or illegally."""
        r, to = self.r, self.label()
        d, o = self.regs(2, wide=1)
        if self.mode[:3] != "el1":
            return
        k = r.randrange(3)
        if k == 0:
            self.emit("msr daifset, #15", f"mrs {d}, vbar_el1", f"msr vbar_el1, {o}", f"mrs {o}, vbar_el1", f"msr vbar_el1, {d}", "isb", "msr daifclr, #15")
        elif k == 1:
            self.emit("msr daifset, #15", "mrs x16, sctlr_el1", f"orr x17, x16, #{1 << 25}", "msr sctlr_el1, x17", "isb", f"str {d}, [x7, #64]", f"ldr {o}, [x7, #72]",
                      f"ldrh w{d[1:]}, [x7, #64]", "msr sctlr_el1, x16", "isb", f"ldr {o}, [x7, #64]", "msr daifclr, #15")
        else:
            self.set_plan("land", to)
            self.emit("msr daifset, #15", f"adr x16, {to}", "msr elr_el1, x16", f"mov x16, #{r.choice((9, 13, 1, 2, 0x3c9))}", "msr spsr_el1, x16", "eret")
            self.lines.append(f"{to}:")
            self.emit("msr daifclr, #15")

    def pend(self):
        r, number = self.r, self.r.choice((1, 2, 3, 4, 5, 6))
        if self.mode[:3] not in ("el1", "el2"):
            self.emit("svc #5")
            return
        d = self.num()
        self.emit("ldr x16, =0x08000f00", f"ldr w{d}, ={2 << 24 | number}", f"str w{d}, [x16]", *r.choice(((), ("dsb sy",), ("isb",))))

    def pend_masked(self):
        r = self.r
        if self.mode[:3] != "el1":
            self.pend()
            return
        self.emit("msr daifset, #2")
        for _ in range(r.randrange(1, 3)):
            self.pend()
        self.some()
        self.emit("msr daifclr, #2")
        r.choice((self.skip, self.walk, self.service, self.some))()

    def service(self):
        r = self.r
        number = r.choice((0, 1, 2, 4, 5, 7, 8, 8, 10, 11, *(3,) * self.hard))
        calls = {"el0": ("svc",), "el1": ("svc", "svc", "hvc", "smc"), "el2": ("svc", "hvc", "smc"), "el3": ("svc", "smc")}[self.mode[:3]]
        if number == 9:
            number = 0
        self.emit(f"{r.choice(calls)} #{number}")
        if number == 2:
            self.emit(self.plain())
        if number == 4:
            self.emit(f".inst {r.randrange(1 << 32):#x}")
        if self.mode in ("el0", "el1t") and r.randrange(4) == 0:
            self.emit("svc #9", self.one(), "add sp, sp, #32")

    def set_plan(self, plan, to=None):
        r = self.r
        a = self.num()
        self.emit("ldr x16, =plan", f"mov w{a}, #{corners.PLANS[plan]}", f"str w{a}, [x16]")
        if to:
            self.emit("ldr x16, =landing", f"adr x{a}, {to}", f"str x{a}, [x16]")
        if plan != "again" and not r.randrange(3):
            self.emit("ldr x16, =change", f"mov w{a}, #{(r.choice((0x20, 0x40, 0x60)) if self.hard else 0x20) + r.randrange(16)}", f"str w{a}, [x16]",
                      "ldr x16, =changed_by", f"add x{a}, x0, x1", f"str x{a}, [x16]")

    def multiple(self, base):
        r = self.r
        d, e = self.regs(2, int(base[1:]))
        return r.choice((f"{r.choice(('ldp', 'stp'))} {d}, {e}, [{base}]{r.choice(('', ', #16'))}", f"{r.choice(('ldp', 'stp'))} {d}, {e}, [{base}, #16]!",
                         f"{r.choice(('ldr', 'str'))} {d}, [{base}], #{r.choice((1, 4, 8))}", f"{r.choice(('ldp', 'stp'))} q1, q2, [{base}], #32", f"ldrb w{d[1:]}, [{base}, #1]!",
                         f"ld1 {{v4.16b, v5.16b}}, [{base}], #32", f"ldxr {d}, [{base}]", f"ldpsw x{d[1:]}, x{e[1:]}, [{base}], #8"))

    def fault(self):
        r, k, to = self.r, self.r.randrange(8), self.label()
        plan = r.choice(("skip", "skip", "land"))
        land = to if plan == "land" else None
        p = f"x{self.num()}"
        if k == 0:
            self.set_plan(plan, land)
            self.emit(r.choice(("brk #1", "udf #3", ".inst 0xffffffff", "hlt #1", "msr sp_el0, x0" if self.mode == "el0" else "brk #2", f".inst {r.randrange(1 << 25):#x}")))
        elif k == 1:
            self.set_plan(plan, land)
            self.emit(f"mov {p}, #{NOWHERE}", self.multiple(p))
        elif k == 2:
            self.set_plan(plan, land)
            self.emit(f"add {p}, x7, #{1024 - 4 * r.randrange(1, 8)}", self.multiple(p))
        elif k in (3, 4) and self.mode[:3] == "el1":
            plan = r.choice((plan, "again"))
            self.emit("mrs x16, sctlr_el1", "orr x16, x16, #2", "msr sctlr_el1, x16", "isb")
            self.set_plan(plan, to if plan == "land" else None)
            self.emit(f"add {p}, x7, #{r.choice((1, 2, 3, 4)) + 8 * r.randrange(16)}", self.multiple(p), self.plain())
            self.lines.append(f"{to}:")
            self.emit("mrs x16, sctlr_el1", "bic x16, x16, #2", "msr sctlr_el1, x16", "isb")
            return
        elif k == 5:
            self.set_plan("land", to)
            self.emit(r.choice((f"ldr x16, ={NOWHERE}", f"adr x16, {to} + 2")), r.choice(("br x16", "blr x16", "ret x16")))
        elif k == 6 and self.mode[:3] == "el1":
            plan = r.choice((plan, "again"))
            self.set_plan(plan, to if plan == "land" else None)
            self.emit("msr cpacr_el1, xzr", "isb", self.floating(), self.load())
            self.lines.append(f"{to}:")
            self.emit("mov x16, #0x300000", "msr cpacr_el1, x16", "isb")
            return
        elif k == 7 and self.mode == "el0":
            self.set_plan(plan, land)
            self.emit(f"mov x16, sp", f"sub sp, sp, #{r.choice((4, 8, 24))}", r.choice(("ldr x0, [sp]", "stp x0, x1, [sp, #-16]!", "ldr q3, [sp], #16")))
            self.lines.append(f"{to}:")
            self.emit("mov sp, x16")
            return
        self.emit(self.plain())
        self.lines.append(f"{to}:")

    def in_mode(self):
        """At another level for a while, on its stack."""
        r, to, kept, home = self.r, self.label(), self.mode, self.mode
        if home not in ("el1h", "el1t"):
            return
        mode = r.choice(("el0", "el0", "el2h", "el3h", "el2t", "other", "other"))
        number = {"el2h": 9, "el2t": 8, "el3h": 13}.get(mode)
        if mode == "other":
            mode = "el1t" if home == "el1h" else "el1h"
            self.emit(f"msr spsel, #{int(mode == 'el1h')}")
        elif mode == "el0":
            k = r.randrange(3)
            if k == 0:
                self.emit("svc #0x20")
            else:
                self.emit("msr daifset, #15", f"adr x16, {to}", "msr elr_el1, x16", *(("mov x17, #0", "msr spsr_el1, x17") if k == 1 else ("msr spsr_el1, xzr",)), "eret")
        else:
            self.emit(f"{'hvc' if mode < 'el3' else 'smc'} #{0x20 + number}")
        self.lines.append(f"{to}:")
        self.mode = mode
        for _ in range(r.randrange(1, 6)):
            self.group(simple=True)
        self.leave(mode, home)
        self.mode = kept

    def leave(self, mode, home):
        r, to = self.r, self.label()
        number = 5 if home == "el1h" else 4
        level = mode[2]
        if level == "1":
            self.emit(f"msr spsel, #{number & 1}")
        elif level == "0":
            self.emit(f"svc #{0x20 + number}")
        elif r.randrange(2):
            self.emit(f"{'hvc' if level == '2' else 'smc'} #{0x20 + number}")
        else:
            self.emit(f"adr x16, {to}", f"mov x17, #{number}", f"msr elr_el{level}, x16", f"msr spsr_el{level}, x17", "eret")
        self.lines.append(f"{to}:")
        self.emit("msr daifclr, #15")

    def stack(self):
        r, size = self.r, 16 * self.r.randrange(1, 5)
        a, b = self.regs(2, wide=1)
        k = r.randrange(5)
        if k == 0:
            self.emit(f"stp {a}, {b}, [sp, #-{size}]!", self.one(), self.one(), f"ldp {r.choice((a, b))}, {self.reg(int(a[1:]), int(b[1:]), wide=1)}, [sp], #{size}")
        elif k == 1:
            self.emit(f"sub sp, sp, #{size}", f"str {a}, [sp, #8]", self.one(), f"ldr {b}, [sp, #{r.choice((0, 8))}]", f"add sp, sp, #{size}")
        elif k == 2:  # alloca
            self.emit("mov x29, sp", f"and {a}, {a}, #{r.choice((48, 112))}", f"sub sp, sp, {a}", f"str {b}, [sp]", self.one(), self.one(), "mov sp, x29")
        elif k == 3:
            self.emit(f"mov x29, sp", f"and x16, x29, #{r.choice((-32, -64, -128))}", "mov sp, x16", f"stp q0, q1, [sp, #-64]!", self.one(), f"ldr {a}, [sp, #8]", "mov sp, x29")
        else:
            self.emit(f"str {a}, [sp, #-16]!", f"mov x16, sp", f"str {b}, [x16, #{r.choice((0, 4))}]", f"{r.choice(('strb', 'strh'))} w{b[1:]}, [sp, #2]", f"ldr {b}, [sp], #16")

    def call(self):
        r = self.r
        if self.number + 1 >= self.blocks or self.mode not in ("el1h", "el1t") or self.mode != self.home:
            return
        other = r.randrange(self.number + 1, self.blocks)
        self.emit(*r.choice(((f"bl block{other}",), (f"ldr x16, =block{other}", "blr x16"), (f"adr x30, 1f\n    b block{other}\n1:",), (f"adrp x16, block{other}", f"add x16, x16, :lo12:block{other}", "blr x16"))))

    def far(self):
        r, to, d = self.r, self.label(), self.num()
        self.emit(*r.choice(((f"adr x16, {to}", "br x16"), (f"ldr x16, ={to}", f"ret x16"), (f"adr x{d}, {to}", f"str x{d}, [sp, #-16]!", self.plain(), "ldr x16, [sp], #16", "br x16"))))
        self.lines.append(f"{to}:")

    def long_jump(self):
        if self.mode != self.home:
            return
        self.emit("ldr x16, =jump_buffer", "stp x19, x20, [x16]", "stp x21, x22, [x16, #16]", "mov x17, sp", "stp x30, x17, [x16, #32]")
        for _ in range(self.r.randrange(1, 4)):
            self.emit(*self.r.choice(((f"stp x0, x1, [sp, #-{16 * self.r.randrange(1, 4)}]!",), (f"sub sp, sp, #{16 * self.r.randrange(1, 4)}",))), self.one())
        self.emit("ldr x16, =jump_buffer", "ldp x19, x20, [x16], #16", "ldp x21, x22, [x16], #16", "ldp x30, x17, [x16]", "mov sp, x17")

    def group(self, simple=False):
        r = self.r
        ways = [self.some] * 4 + [self.by_chance] * 4 + [self.skip, self.loop, self.walk, self.walk, self.exclusive, self.counter, self.status, self.system, self.pend,
                                                       self.pend_masked, self.service, self.service, self.fault, self.stack, self.stack, self.far]
        if not simple:
            ways += [self.in_mode] * 6 + [self.call] * 2 + [self.long_jump]
        if self.seen is not None:
            ways = [way for way in ways if r.random() < self.seen] or [self.some]
        r.choice(ways)()

    def text(self, groups):
        r, name = self.r, f"block{self.number}"
        kept = [(f"x{n}", f"x{n + 1}") for n in range(19, 29, 2)]
        self.emit("stp x29, x30, [sp, #-96]!", *(f"stp {a}, {b}, [sp, #{16 * i}]" for i, (a, b) in enumerate(kept, 1)), "ldr x7, =arena")
        for n in NUMBERS:
            if r.randrange(3):
                self.set(f"x{n}", self.value())
        for n in r.sample(range(32), r.randrange(12)):
            self.emit(r.choice((f"fmov d{n}, x{self.num()}", f"dup v{n}.2d, x{self.num()}", f"ldr q{n}, [x7, #{16 * r.randrange(16)}]")))
        for at in range(groups):
            self.group()
            if at % 12 == 11:
                over = self.label()
                self.emit(f"b {over}", ".ltorg")
                self.lines.append(f"{over}:")
        if r.randrange(2):
            self.emit(*(f"ldp {a}, {b}, [sp, #{16 * i}]" for i, (a, b) in enumerate(kept, 1)), "ldp x29, x30, [sp], #96")
        else:
            self.emit("mov x16, sp", "ldp x29, x30, [x16], #16", *(f"ldp {a}, {b}, [x16], #16" for a, b in kept), "mov sp, x16")
        self.emit(r.choice(("ret", "br x30", "mov x16, x30\n    ret x16")), ".ltorg")
        return f"    .balign 4\n    .global {name}\n    .type {name},%function\n{name}:\n" + "\n".join(self.lines) + f"\n    .size {name},.-{name}\n"


FRAME = 288


def entry(r, name, el, function, lower):
    """A handler's entry and its end in one of several styles."""
    pairs = [(n, n + 1) for n in range(0, 30, 2)]
    lines, base = [f".type {name},%function", f"{name}:"], "sp"
    style = r.choice(("own", "pre", "base", "one"))
    if style == "own":
        lines += [f"sub sp, sp, #{FRAME}", "stp x0, x1, [sp]"]
    elif style == "pre":
        lines += [f"stp x0, x1, [sp, #-{FRAME}]!"]
    elif style == "one":
        lines += [f"sub sp, sp, #{FRAME}", "str x0, [sp]", "str x1, [sp, #8]"]
    else:
        lines += [f"msr tpidr_el{el}, x0", f"sub x0, sp, #{FRAME}", "mov sp, x0", "str x1, [x0, #8]", f"mrs x1, tpidr_el{el}", "str x1, [x0]"]
        base = "x0"
    for a, b in pairs[1:]:
        lines += [f"stp x{a}, x{b}, [{base}, #{8 * a}]"]
    lines += ["mrs x1, sp_el0", f"stp x30, x1, [{base}, #240]", f"mrs x1, elr_el{el}", f"mrs x2, spsr_el{el}", f"stp x1, x2, [{base}, #256]",
              f"mrs x1, esr_el{el}", f"mov x2, #{el}", f"stp x1, x2, [{base}, #272]", "mov x0, sp"]
    if lower and el == 1 and r.randrange(2):
        lines += ["ldr x1, =c_stack_end", "msr sp_el0, x1", "msr spsel, #0", f"bl {function}", "msr spsel, #1"]
    else:
        lines += [f"bl {function}"]
    end = r.randrange(3)
    if end == 0:
        lines += ["ldp x1, x2, [sp, #256]", f"msr elr_el{el}, x1", f"msr spsr_el{el}, x2", "ldp x30, x1, [sp, #240]", "msr sp_el0, x1"]
        lines += [f"ldp x{a}, x{b}, [sp, #{8 * a}]" for a, b in reversed(pairs[1:])] + [f"ldp x0, x1, [sp], #{FRAME}"]
    elif end == 1:
        lines += ["mov x19, sp", "ldr x1, [x19, #256]", f"msr elr_el{el}, x1", "ldr x1, [x19, #264]", f"msr spsr_el{el}, x1", "ldr x1, [x19, #248]", "msr sp_el0, x1"]
        lines += [f"ldp x{a}, x{b}, [sp], #16" for a, b in pairs] + ["ldr x30, [sp], #48"]
    else:
        lines += ["ldp x30, x0, [sp, #240]", "msr sp_el0, x0", "ldp x0, x1, [sp, #256]", f"msr spsr_el{el}, x1", f"msr elr_el{el}, x0"]
        lines += [f"ldp x{a}, x{b}, [sp, #{8 * a}]" for a, b in pairs] + [f"add sp, sp, #{FRAME}"]
    return [*lines, "eret", ".ltorg"]


def vectors(r, el):
    lines, entries = [".balign 2048", f"vectors_{el}:"], []
    for source in ("sp0", "spx", "lower", "lower32"):
        for kind in ("sync", "irq", "fiq", "error"):
            name = f"entry_{el}_{source}_{kind}"
            lines += [".balign 128", f"b {name}" if kind != "error" and source != "lower32" else "b ."]
            if kind != "error" and source != "lower32":
                entries += entry(r, name, el, "synchronous" if kind == "sync" else "interrupt", source == "lower")
    return lines + [".balign 128"], entries


def source(seed, blocks, groups, rounds, options):
    r = random.Random(seed)
    pool = encodings(r, 2500)
    text = f"    .arch armv8-a+crc+crypto\n    .global arena\n    .set arena, {bench.A53.ram + bench.RAM_SIZE - 1024:#x}\n    .text\n    .balign 4\n"
    text += "".join(Block(r, n, blocks, pool, options).text(groups) for n in range(blocks))
    tables, entries = [], []
    for el in (1, 2, 3):
        one, more = vectors(r, el)
        tables += one
        entries += more
    def joined(lines):
        return "\n".join("    " + line if not line.endswith(":") else line for line in lines)
    text += joined(entries)
    calls = "\n".join(f"    bl block{n}" for n in range(blocks))
    space = "\n".join(f"    .space {size}\n{name}_stack_end:" for name, size in STACKS.items())
    translation = """
    adr x0, table
    msr ttbr0_el1, x0
    ldr x0, =0xff04
    msr mair_el1, x0
    ldr x0, =0x803519
    msr tcr_el1, x0
    isb
    tlbi vmalle1
    dsb sy
    isb
    mrs x0, sctlr_el1
    orr x0, x0, #1
    msr sctlr_el1, x0
    isb""" if options["translated"] else ""
    return text + f"""
    .section .vectors, "ax"
{joined(tables)}
    .balign 4096
    .set unmapped, 0x400a4000
#include "tables_a64.inc"
    .text
    .global start
start:
    ldr x0, =0x535 // NS, HVC, FIQs to EL3, EL2 in AArch64 state
    msr scr_el3, x0
    adrp x0, vectors_3
    add x0, x0, :lo12:vectors_3
    msr vbar_el3, x0
    ldr x0, =el3_stack_end
    mov sp, x0
    msr cptr_el3, xzr
    ldr x1, =0x08000000
    ldr w0, =0xffff00ff
    str w0, [x1, #0x80]
    mov w0, #-1
    str w0, [x1, #0x84]
    str w0, [x1, #0x88]
    str w0, [x1, #0x100]
    ldr w0, =0x80808080
    str w0, [x1, #0x400]
    str w0, [x1, #0x404]
    ldr w0, =0x10101010
    str w0, [x1, #0x408]
    str w0, [x1, #0x40c]
    ldr w0, =0xa0a0a0a0
    str w0, [x1, #0x418]
    mov w0, #3
    str w0, [x1]
    ldr x1, =0x08010000
    mov w0, #0xff
    str w0, [x1, #4]
    mov w0, #0xb
    str w0, [x1]
    ldr x0, =0x30c50830
    msr sctlr_el2, x0
    adr x0, start_el2
    msr elr_el3, x0
    mov x0, #0x3c9
    msr spsr_el3, x0
    eret
start_el2:
    ldr x0, ={0x80000000 | 0x10 * (options['irq'] == 2):#x}
    msr hcr_el2, x0
    mov x0, #0x33ff
    msr cptr_el2, x0
    mov x0, #3
    msr cnthctl_el2, x0
    msr cntvoff_el2, xzr
    adrp x0, vectors_2
    add x0, x0, :lo12:vectors_2
    msr vbar_el2, x0
    ldr x0, =el2_stack_end
    mov sp, x0
    ldr x0, =0x30d0cb98
    msr sctlr_el1, x0
    ldr x0, =user_stack_end
    msr sp_el0, x0
    ldr x0, =el1_stack_end
    msr sp_el1, x0
    adr x0, start_el1
    msr elr_el2, x0
    mov x0, #0x3c5
    msr spsr_el2, x0
    eret
start_el1:
    adrp x0, vectors_1
    add x0, x0, :lo12:vectors_1
    msr vbar_el1, x0
    mov x0, #3 << 20
    msr cpacr_el1, x0
    mov x0, #3
    msr cntkctl_el1, x0
    isb{translation}
    bl begin
    msr spsel, #{int(options['mode'] == 'el1h')}
    msr daifclr, #15
    mov x19, #{rounds}
1:
{calls}
    subs x19, x19, #1
    b.ne 1b
    bl finished
    .ltorg
    .type task_b,%function
    .global task_b
task_b:
    stp x0, x1, [sp, #-16]!
    add x20, x20, #1
    ldr x7, =arena
    str x20, [x7, #512]
    ldp x0, x1, [sp], #16
    svc #8
    b task_b
    .type finished,%function
    .global finished
finished:
    msr daifset, #15
    mov w0, #0x18
    ldr x1, =leave
    .global halt_here
halt_here:
1:
    hlt #0xf000
    b 1b
    .ltorg
    .section .rodata
    .balign 8
leave:
    .quad 0x20026, 0
    .bss
    .balign 16
jump_buffer:
    .space 48
{space}
    .space 512
c_stack_end:
"""


class Corners(corners.Drawn):
    """A program of one seed."""

    more_truth = {"whole": 1}
    promises = None  # nothing is known backwards

    def __init__(self, folder, level, seed, rounds=3):
        self.seed = seed
        r = random.Random(f"corners {seed} a53 {level}")
        blocks, groups = r.randrange(2, 7), r.randrange(4, 40)
        mode = r.choice(("el1h", "el1t"))
        options = {"mode": mode, "home": mode, "hard": not r.randrange(3), "translated": r.randrange(2), "irq": r.choice((1, 1, 2)), "seen": r.choice((None, None, 0.3))}
        path = f"{folder}/corners-a53-{level}-{seed}.S"
        with open(path, "w", encoding="ascii") as file:
            file.write(source(f"{seed} a53", blocks, groups, rounds, options))
        tick = r.choice((211, 500, 1300, 20000))
        other = r.choice((0, 4))
        defines = [f"-DOTHER_MODE={other}", *["-DHARD"] * options["hard"], f"-DTICK={tick}", f"-DTICKS={2 + 30000 // tick}", f"-DFAULTS={r.randrange(20, 200)}"]
        super().__init__(folder, "corners-a53", level, f"{seed}", ("corners_a64.c", path), (bench.A53, defines))

    def strays(self):
        """It runs where no code is, or for long: nothing is learnt from that."""
        code = range(self.base, self.base + len(self.code))
        # The model of the trace unit does not tell of an exception whose handler another one takes the core from at once;
        # QEMU has a fetch fail from where the PC is not aligned.
        if re.search(" jump from | exception 11 preferred [0-9a-fx]*[^048c] ", (self.folder / "path.log").read_text()):
            return True
        return self.count > 60000 or any(pc not in code for pc in self.states[self.machine.pc_at::self.machine.state])


def programs(folder, seed, count):
    return corners.that_run(lambda number: Corners(folder, corners.level_of(number, "a53"), number), seed, count)
