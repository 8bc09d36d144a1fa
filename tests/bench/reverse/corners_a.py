# SPDX-License-Identifier: BSD-3-Clause
"""Programs from a seed as those of corners.py, for a Cortex-A9: blocks of random instructions in A32 and T32, in all modes,
among exceptions whose handlers come in several styles and change what they interrupted (target/corners_a.c)."""

import random

import bench
import corners
from corners_stack import CONDITIONS

ABSENT = ("udiv", "sdiv", "vfma", "vfms")
MODES = {"fiq": 0x11, "irq": 0x12, "svc": 0x13, "abt": 0x17, "und": 0x1b, "sys": 0x1f}
STACKS = {"fiq": 512, "irq": 1024, "svc": 1536, "abt": 768, "und": 768, "sys": 2048}
SGIR = 0x1e001f00
NOWHERE = 0x50000000
CP15 = ("c0, c0, 0", "c0, c0, 5", "c0, c0, 1", "c1, c0, 0", "c13, c0, 2", "c13, c0, 3", "c13, c0, 4", "c5, c0, 0", "c6, c0, 0",
        "c5, c0, 1", "c12, c0, 0", "c1, c0, 2", "c2, c0, 0", "c9, c13, 0")
SHIFTS = ("", ", lsl #2", ", lsr #3", ", asr #1", ", ror #4", ", lsl #1", ", lsl #3")


def listed(numbers):
    return ", ".join(f"r{n}" for n in sorted(numbers))


class Block(corners.Block):
    """A function of random instructions, in one of the two instruction sets."""

    def __init__(self, r, number, blocks, thumb, seen, fast, mixed, hard):
        """`hard`: with what ends much of what is known, so that most programs are without it."""
        super().__init__(r, "a9", number, blocks, False, False)
        self.thumb, self.thumbs, self.seen, self.fast, self.mixed, self.hard, self.mode = thumb[number], thumb, seen, fast, mixed, hard, "sys"

    def some(self, low, high, *without):
        """Numbers of registers; r7 is the arena's address."""
        return sorted(self.r.sample([n for n in range(13) if n != 7 and f"r{n}" not in without], self.r.randrange(low, high)))

    def plain(self, suffix=""):
        while True:
            text = super().plain(suffix)
            if text.startswith(ABSENT) or (not self.thumb and text.startswith("orn")):
                continue
            if self.thumb:
                return text
            text = text.replace("#11206827", "#4080").replace("#510", "#1020")
            return self.wide(suffix) if not self.r.randrange(5) else text

    def wide(self, s):
        """What only A32 has."""
        r = self.r
        d, n, m, a = self.reg(), self.reg(), self.reg(), self.reg()
        k = r.randrange(8)
        if k < 3:
            op = r.choice(("add", "sub", "rsb", "and", "orr", "eor", "bic", "adc", "sbc", "rsc", "adds", "subs", "ands", "eors", "rscs", "adcs"))
            return f"{op}{s} {d}, {n}, {m}, {r.choice(('lsl', 'lsr', 'asr', 'ror'))} {a}"
        if k == 3:
            return f"{r.choice(('cmp', 'tst', 'teq', 'cmn'))}{s} {n}, {m}, {r.choice(('lsl', 'lsr', 'ror'))} {a}"
        if k == 4:
            return f"{r.choice(('add', 'sub', 'rsb', 'orr', 'adds'))}{s} {d}, pc, #{4 * r.randrange(32)}"
        if k == 5:
            return f"{r.choice(('mov', 'mvn'))}{s} {d}, pc"
        if k == 6:
            low, high = r.sample(corners.GENERAL, 2)
            return r.choice((f"muls{s} {d}, {n}, {m}", f"mlas{s} {d}, {n}, {m}, {a}", f"{r.choice(('umulls', 'smlals', 'umlals'))}{s} {low}, {high}, {n}, {m}"))
        return f"msr{s} {r.choice(('cpsr_f', 'cpsr_fs', 'cpsr_s'))}, #{r.choice((0xf0000000, 0x80000000, 0x50000000, 0xa0000000, 0xf0000, 0x50000))}"

    def load(self, suffix=""):
        r, s = self.r, suffix
        if self.thumb and r.randrange(3):
            return super().load(suffix)
        at, k = 4 * r.randrange(56), r.randrange(8)
        d = self.reg()
        if k == 0:
            n = r.choice((0, 2, 4, 8, 10))
            return f"{r.choice(('ldrd', 'strd'))}{s} r{n}, r{n + 1}, [r7, #{at}]"
        if k == 1:
            regs = self.some(2, 7)
            return f"{r.choice(('ldmia', 'stmia') if self.thumb else ('ldmia', 'stmia', 'ldmib', 'stmib'))}{s} r7, {{{listed(regs)}}}"
        if k == 2:
            return f"{r.choice(('ldrb', 'ldrh', 'ldrsb', 'ldrsh', 'ldr', 'strb', 'strh', 'str'))}{s} {d}, [r7, #{r.randrange(220)}]"
        if k == 3 and not self.thumb:
            return f"{r.choice(('ldr', 'ldrb', 'str', 'strb'))}{s} {d}, [r7, #{r.randrange(900)}]"
        return f"{r.choice(('ldr', 'str', 'ldr', 'str', 'ldrb', 'strh'))}{s} {d}, [r7, #{at}]"

    def floating(self, suffix=""):
        while True:
            self.double = self.r.randrange(2)
            text = super().floating(suffix)
            if not text.startswith(("vfma", "vfms")):
                return text

    def neon(self):
        r = self.r
        q, p, o = (f"q{r.randrange(16)}" for _ in range(3))
        d, e, f = (f"d{r.randrange(32)}" for _ in range(3))
        k = r.randrange(12) if self.hard else r.randrange(4, 12)
        if k < 2:
            size = r.choice((8, 16, 32, 64))
            n = r.randrange(1, 5)
            first = r.randrange(29)
            regs = ", ".join(f"d{first + i}" for i in range(n))
            pointer, step = self.reg(), self.reg()
            if pointer == step:
                return
            self.emit(f"add {pointer}, r7, #{4 * r.randrange(40)}", f"mov {step}, #{r.randrange(24)}")
            self.emit(f"{r.choice(('vld1', 'vst1'))}.{size} {{{regs}}}, [{pointer}]{r.choice(('', '!', ', ' + step))}")
            self.emit(f"{r.choice(('ldr', 'str'))} {self.reg(pointer)}, [{pointer}]")
        elif k == 2:
            n, pointer = r.randrange(2, 5), self.reg()
            first = r.randrange(28)
            regs = ", ".join(f"d{first + i}" for i in range(n))
            self.emit(f"add {pointer}, r7, #{4 * r.randrange(40)}", f"{r.choice(('vld', 'vst'))}{n}.{r.choice((8, 16, 32))} {{{regs}}}, [{pointer}]{r.choice(('', '!'))}")
        elif k == 3:
            size = r.choice((8, 16, 32))
            self.emit(f"{r.choice(('vld1', 'vst1'))}.{size} {{{d}[{r.randrange(64 // size)}]}}, [r7]", f"vld1.{size} {{{e}[]}}, [r7]")
        elif k == 4:
            size = r.choice((8, 16, 32))
            self.emit(f"vmov.{size} {d}[{r.randrange(64 // size)}], {self.reg()}")
            self.emit(f"vmov.{'32' if size == 32 else r.choice('us') + str(size)} {self.reg()}, {e}[{r.randrange(64 // size)}]")
        elif k == 5:
            self.emit(f"vdup.{r.choice((8, 16, 32))} {q}, {self.reg()}", f"vmov.i32 {p}, #{r.randrange(256)}")
        elif k == 6:
            self.emit(f"{r.choice(('vand', 'veor', 'vorr', 'vbic', 'vbsl', 'vbit'))} {q}, {p}, {o}")
        elif k == 7:
            self.emit(f"{r.choice(('vadd', 'vsub'))}.i{r.choice((8, 16, 32, 64))} {q}, {p}, {o}")
        elif k == 8:
            self.emit(f"{r.choice(('vldmia', 'vstmia'))} r7, {{{', '.join(f'd{n}' for n in range(*sorted(r.sample(range(16, 32), 2))))}}}")
        elif k == 9:
            self.emit(f"vmov {d}, {e}", f"vmov {q}, {p}", f"vswp {d}, {f}")
        elif k == 10:
            mode = r.randrange(4) << 22 | r.randrange(2) << 24 | r.randrange(2) << 25 | r.randrange(16) << 28
            self.emit(f"ldr {self.low()}, ={mode}", f"vmsr fpscr, {self.low()}" if r.randrange(9) == 0 else "vcmp.f32 s1, s2", "vmrs apsr_nzcv, fpscr")
        else:
            low = r.randrange(16, 28)
            regs = f"{{d{low}-d{low + r.randrange(1, 4)}}}"
            self.emit(f"vpush {regs}", self.one(), f"vpop {regs}")

    # Groups.

    def table(self):
        if self.thumb:
            super().table()
            return
        r, index, k = self.r, self.reg(), self.r.randrange(3)
        to, over, table = [self.label() for _ in range(3)], self.label(), self.label()
        self.emit(f"and {index}, {index}, #3", f"cmp {index}, #3", f"moveq {index}, #1")
        if k == 0:
            self.emit(f"add pc, pc, {index}, lsl #2", "nop", *(f"b {l}" for l in to))
        elif k == 1:
            self.emit(f"adr r12, {table}", f"ldr pc, [r12, {index}, lsl #2]")
        else:
            self.emit(f"cmp {index}, #3", f"ldrlo pc, [pc, {index}, lsl #2]", f"b {over}")
        if k:
            self.lines.append(f"{table}:")
            self.emit(*(f".word {l}" for l in to))
        for l in to:
            self.lines.append(f"{l}:")
            self.emit(self.one(), *([f"b {over}"] if r.randrange(2) else []))
        self.lines.append(f"{over}:")

    def skip(self):
        if self.thumb:
            super().skip()
            return
        to = self.label()
        self.emit(f"cmp {self.reg()}, #{self.r.randrange(64)}", f"b{self.r.choice(CONDITIONS)} {to}")
        for _ in range(self.r.randrange(1, 5)):
            self.emit(self.one())
        self.lines.append(f"{to}:")

    def walk(self):
        """Through a pointer that moves, up and down."""
        r, p = self.r, self.reg()
        self.emit(f"add {p}, r7, #{4 * r.randrange(24, 60)}")
        for _ in range(r.randrange(1, 6)):
            k = r.randrange(10)
            d = self.reg(p)
            cond = "" if self.thumb or r.randrange(3) else r.choice(CONDITIONS)
            if k < 3:
                way = r.choice(("ia", "db") if self.thumb else ("ia", "ib", "da", "db"))
                self.emit(f"{r.choice(('ldm', 'stm'))}{way}{cond} {p}{r.choice(('', '!'))}, {{{listed(self.some(2, 7, p))}}}")
            elif k == 3:
                regs = listed([*self.some(1, 4, p), int(p[1:])])
                if self.thumb:
                    self.emit(f"ldmia {p}, {{{regs}}}" if "," in regs else "nop")
                else:
                    lowest = listed([int(p[1:]), *[n for n in self.some(2, 6, p) if n > int(p[1:])]])
                    self.emit(r.choice((f"ldm{r.choice(('ia', 'db', 'ib'))}{cond} {p}, {{{regs}}}", f"stmib {p}, {{{regs}}}", f"stmia {p}!, {{{lowest}}}")))
                self.emit(f"add {p}, r7, #{4 * r.randrange(24, 60)}")
            elif k == 4:
                self.emit(f"{r.choice(('ldr', 'str', 'ldrb', 'strh', 'ldrsh'))}{cond} {d}, [{p}], #{r.choice((-4, 4, 1, -3, 8))}")
            elif k == 5:
                self.emit(f"{r.choice(('ldr', 'str', 'ldrsb', 'strb'))}{cond} {d}, [{p}, #{r.choice((-4, 4, 1, -3, 8))}]!")
            elif k == 6:
                n = r.choice([n for n in (0, 2, 4, 8, 10) if p not in (f"r{n}", f"r{n + 1}")])
                self.emit(f"{r.choice(('ldrd', 'strd'))}{cond} r{n}, r{n + 1}, [{p}{r.choice((', #-8]!', '], #8', ', #4]!'))}")
            elif k == 7:
                i = self.reg(p)
                self.emit(f"and {i}, {i}, #{r.choice((7, 15, 31, 24))}")
                if self.thumb:
                    self.emit(f"{r.choice(('ldr', 'str', 'ldrb', 'strb'))} {self.reg(p, i)}, [r7, {i}, lsl #{r.randrange(3)}]")
                else:
                    op = r.choice(("ldr", "str", "ldrb", "strb", "ldrh", "strh", "ldrsb"))
                    shift = r.choice(("", ", lsl #1", ", lsr #1", ", asr #2", ", ror #31")) if op in ("ldr", "str", "ldrb", "strb") else ""
                    sign = r.choice(("", "-")) if "ror" not in shift else ""
                    where = r.choice((f"[{p}, {sign}{i}{shift}]", f"[{p}, {sign}{i}{shift}]!", f"[{p}], {sign}{i}{shift}"))
                    self.emit(f"{op}{cond} {self.reg(p, i)}, {where}")
            elif k == 8:
                op = r.choice(("ldrt", "strt", "ldrbt", "strbt", "ldrht", "strht", "ldrsbt"))
                self.emit(f"{op} {d}, [{p}, #{r.randrange(16)}]" if self.thumb else f"{op}{cond} {d}, [{p}], #{r.choice((4, -4, 2))}")
            else:
                self.emit(f"ldr {p}, [r7, #{4 * r.randrange(8)}]", f"and {p}, {p}, #252", f"add {p}, {p}, r7")

    def exclusive(self):
        r, again = self.r, self.label()
        k = r.randrange(4)
        if k == 0:
            n, b = r.choice((0, 2, 4)), r.choice(("r8", "r9", "r10"))
            self.emit(f"add r12, r7, #{8 * r.randrange(16)}")
            self.lines.append(f"{again}:")
            self.emit(f"ldrexd r{n}, r{n + 1}, [r12]", f"adds r{n}, r{n}, #{r.randrange(9)}", f"strexd {b}, r{n}, r{n + 1}, [r12]",
                      f"cmp {b}, #0", f"bne {again}")
        elif k == 1:
            a, b, p = r.sample([n for n in corners.GENERAL if n != "r7"], 3)
            self.emit(f"add {p}, r7, #{4 * r.randrange(16)}", f"ldrex {a}, [{p}]", "clrex", f"strex {b}, {a}, [{p}]", self.plain())
        else:
            super().exclusive()

    def counter(self):
        r, d = self.r, self.reg()
        if not self.hard:
            return
        self.emit("ldr r12, =0x1e000604", f"ldr {d}, [r12]")
        if r.randrange(3):
            self.emit(f"and {d}, {d}, #{r.choice((1, 3, 7, 255))}")

    def status(self):
        r, d, o = self.r, self.reg(), self.reg()
        k = r.randrange(6)
        if self.mode == "usr":
            self.emit(f"mrs {d}, cpsr", f"msr cpsr_f, {o}")
        elif k == 0:
            self.emit(f"mrs {d}, cpsr", f"cpsid {r.choice(('i', 'if', 'aif', 'f'))}", self.one(), "cpsie aif", f"mrs {o}, cpsr")
        elif k == 1:
            self.emit(f"mrs {d}, cpsr", f"orr r12, {d}, #{r.choice((0xc0, 0x80))}", "msr cpsr_c, r12", f"bic {d}, r12, #0xc0", f"msr cpsr_cxsf, {d}")
        elif k == 2 and self.mode != "sys":
            self.emit("cpsid if", f"mrs {d}, spsr", f"msr spsr_f, {o}", f"mrs {o}, spsr", f"msr spsr_cxsf, {d}", "cpsie if")
        elif k == 3:
            self.emit(f"mrs {d}, cpsr", f"eor {d}, {d}, #0xf0000000", f"msr cpsr_f, {d}")
        elif k == 4:
            if not self.mixed:
                return
            self.emit("setend be", self.load(), self.load(), self.plain(), self.load(), "setend le")
        else:
            self.emit(r.choice(("dsb", "isb", "dmb", "nop", "wfe", "sev", "clrex", "pld [r7]", "yield")))

    def coprocessor(self):
        r, d = self.r, self.reg()
        k = r.randrange(4)
        if self.mode == "usr":
            self.emit(f"mrc p15, 0, {d}, c13, c0, 2", f"mcr p15, 0, {self.reg()}, c13, c0, 2")
        elif k == 0:
            which = r.choice(("c13, c0, 2", "c13, c0, 3", "c13, c0, 4", "c5, c0, 0", "c6, c0, 0"))
            self.emit(f"mcr p15, 0, {d}, {which}", self.plain(), f"mrc p15, 0, {self.reg()}, {which}")
        elif k == 1:
            self.emit(f"mrc p15, 0, {d}, c1, c0, 0", f"orr {d}, {d}, #0x800", f"mcr p15, 0, {d}, c1, c0, 0", "isb")
        elif k == 2:
            self.emit(f"vmrs {d}, {r.choice(('fpexc', 'fpsid', 'mvfr0'))}" if self.hard else self.one())
        else:
            self.emit(f"mrc p15, 0, {d}, {r.choice(CP15)}")

    def pend(self):
        r, d, number = self.r, self.low(), self.r.randrange(16)
        self.emit(f"ldr r12, ={SGIR}", f"ldr {d}, ={2 << 24 | (number < 8) << 15 | number}", f"str {d}, [r12]")
        if r.randrange(2):
            self.emit(r.choice(("dsb", "isb", "nop")))

    def pend_masked(self):
        r = self.r
        if self.mode == "usr":
            self.pend()
            return
        self.emit(f"cpsid {r.choice(('i', 'if', 'f'))}")
        for _ in range(r.randrange(1, 3)):
            self.pend()
        for _ in range(r.randrange(3)):
            self.emit(self.one())
        self.emit("cpsie if")
        r.choice((self.it_block, self.walk, self.service, lambda: self.emit(self.one(), self.one())))()

    def service(self):
        r, number = self.r, self.r.choice((0, 1, 2, 4, 5, 7, 8, 8, 11, *(3, 9) * self.hard))
        cond = r.choice(CONDITIONS) if not self.thumb and number in (0, 1, 3, 7, 9) and not r.randrange(3) else ""
        self.emit(f"svc{cond} #{number}")
        if number == 2:
            self.emit(r.choice(("movs r0, #1", "adds r1, r2, r3", "nop", "lsls r4, r4, #1")))
        if number == 4:
            self.emit(f".short {r.randrange(65536)}" if self.thumb else f".word {r.randrange(1 << 32)}")

    def set_plan(self, plan, to=None):
        r = self.r
        self.emit("ldr r12, =plan", f"mov lr, #{corners.PLANS[plan]}", "str lr, [r12]")
        if to:
            self.emit("ldr r12, =landing", f"ldr lr, ={to}{' + 1' if self.thumb else ''}", "str lr, [r12]")
        if plan != "again" and not r.randrange(3):
            self.emit("ldr r12, =change", f"mov lr, #{(r.choice((0x10, 0x20, 0x30)) if self.hard else 0x10) + r.randrange(16)}", "str lr, [r12]",
                      "ldr r12, =changed_by", "add lr, r0, r1", "str lr, [r12]")

    def fault(self):
        r, k = self.r, self.r.randrange(7)
        to = self.label()
        plan = r.choice(("skip", "skip", "same", "land"))
        land = to if plan == "land" else None
        p = self.reg()
        if k == 0:
            self.set_plan(plan, land)
            self.emit(r.choice(("udf #1", "bkpt #1", "udf #3") if self.hard else ("bkpt #1", "bkpt #3")))
        elif k == 1:
            self.set_plan(plan, land)
            self.emit(f"mov {p}, #{NOWHERE}", self.multiple(p, 0))
        elif k == 2:
            self.set_plan(plan, land)
            self.emit(f"add {p}, r7, #{1024 - 4 * r.randrange(1, 4)}", self.multiple(p, 0))
        elif k == 3 and self.mode != "usr":
            self.emit("mrc p15, 0, r12, c1, c0, 0", "orr r12, r12, #2", "mcr p15, 0, r12, c1, c0, 0", "isb")
            plan = r.choice((plan, "again", "again"))
            land = to if plan == "land" else None
            self.set_plan(plan, land)
            self.emit(f"add {p}, r7, #{r.choice((1, 2, 3)) + 4 * r.randrange(16)}", f"{r.choice(('ldr', 'str', 'ldrh', 'strh'))} {self.reg(p)}, [{p}]",
                      self.plain())
            self.lines.append(f"{to}:")
            self.emit("mrc p15, 0, r12, c1, c0, 0", "bic r12, r12, #2", "mcr p15, 0, r12, c1, c0, 0", "isb")
            return
        elif k == 4:
            self.set_plan("land", to)
            self.emit(f"mov r12, #{NOWHERE}", r.choice(("bx r12", "mov pc, r12" if not self.thumb else "bx r12", "blx r12")))
        elif k == 5:
            self.set_plan(plan, land)
            self.emit(f"add {p}, r7, #{r.choice((1, 2, 3))}", f"{r.choice(('ldmia', 'stmia'))} {p}{r.choice(('', '!'))}, {{{listed(self.some(2, 5, p))}}}")
        else:
            cond = r.choice(CONDITIONS)
            plan = r.choice(("skip", "same"))
            self.set_plan(plan)
            shape = r.randrange(1, 5)
            where = r.randrange(shape)
            self.emit(f"mov r12, #{NOWHERE}", f"it{'ttt'[:shape - 1]} {cond}")
            for i in range(shape):
                self.emit((f"udf #{i}" if self.thumb and self.hard else f"ldr{cond} r0, [r12]") if i == where else self.one(cond))
        self.emit(self.plain())
        self.lines.append(f"{to}:")

    def multiple(self, base, span):
        r = self.r
        text = listed(self.some(2, 7, base))
        k = r.randrange(7)
        if k < 3:
            return f"{r.choice(('ldmia', 'stmia', 'ldmdb'))} {base}{r.choice(('', '!'))}, {{{text}}}"
        if k == 3:
            n = r.choice([n for n in (0, 2, 4, 8) if base not in (f"r{n}", f"r{n + 1}")])
            return f"{r.choice(('ldrd', 'strd'))} r{n}, r{n + 1}, [{base}{r.choice((']', ', #4]!', '], #8'))}"
        if k == 4:
            return f"{r.choice(('ldr', 'str', 'ldrb', 'strh', 'ldrsh'))} {self.reg(base)}, [{base}], #{r.choice((1, 4, 8))}"
        if k == 5:
            return f"{r.choice(('ldr', 'str'))} {self.reg(base)}, [{base}, #{4 * r.randrange(3)}]!"
        low = r.randrange(20)
        return f"{r.choice(('vldmia', 'vstmia'))} {base}{r.choice(('', '!'))}, {{s{low}-s{low + r.randrange(1, 9)}}}"

    def in_mode(self):
        """In another mode for a while, on its stack."""
        r = self.r
        if self.mode != "sys":
            return
        # A handler that uses the registers of its mode alone does not give them back to its mode.
        mode = r.choice(("irq", "svc", "svc", "abt", "und", "usr", "usr", *["fiq"] * (not self.fast)))
        if mode == "usr":
            self.emit(r.choice(("cps #0x10", "mrs r12, cpsr\n    bic r12, r12, #15\n    msr cpsr_c, r12")))
        elif r.randrange(3):
            self.emit(f"cps{r.choice(('', '', 'id if,', 'id i,'))} #{MODES[mode]}")
        else:
            self.emit(f"mov r12, #{MODES[mode] | r.choice((0, 0xc0))}" if self.thumb else "nop",
                      "msr cpsr_c, r12" if self.thumb else f"msr cpsr_c, #{MODES[mode] | r.choice((0, 0xc0))}")
        self.mode = mode
        for _ in range(r.randrange(1, 6)):
            self.group(simple=True)
        self.leave(mode)
        self.mode = "sys"

    def leave(self, mode):
        """Back to System mode."""
        r, to = self.r, self.label()
        k = r.randrange(5)
        if mode == "usr":
            self.emit("svc #6")
        elif k == 0:
            self.emit("cpsid if", f"mov r12, #{0x1f | 0x20 * self.thumb}", "msr spsr_cxsf, r12", f"ldr lr, ={to}", "movs pc, lr")
        elif k == 1:
            self.emit("cpsid if", f"ldr lr, ={to}", f"mov r12, #{0x1f | 0x20 * self.thumb}", "push {r12}", "push {lr}", "rfeia sp!")
        elif k == 2:
            self.emit("cpsid if", f"mov r12, #{0x1f | 0x20 * self.thumb}", "msr spsr_cxsf, r12", f"ldr lr, ={to} + 4",
                      f"srsdb sp!, #{MODES[mode]}", "ldr r12, [sp], #8", "subs pc, lr, #4")
        else:
            self.emit("cpsie if, #0x1f" if k == 3 else "cps #0x1f")
        self.lines.append(f"{to}:")
        self.emit("cpsie if")

    def banked(self):
        """The user's registers from another mode."""
        r = self.r
        if self.thumb or self.mode != "sys":
            return
        mode, d = r.choice(("irq", "svc", "abt", "und", "fiq")), self.low()
        self.emit(f"cpsid if, #{MODES[mode]}", "ldr r12, =arena + 256", "stmia r12, {sp, lr}^", "nop", f"ldr {d}, [r12, #4]",
                  self.one() if mode != "fiq" else "nop", "ldr r12, =arena + 256", "ldmia r12, {sp, lr}^", "nop",
                  "sub sp, sp, #64", "stmia sp, {r0-r14}^", "nop", self.plain() if mode != "fiq" else "nop", "ldmia sp, {r0-r14}^", "nop", "add sp, sp, #64", "cpsie if, #0x1f")

    def moved_stack(self):
        """SP by arithmetic, from a register, from memory, perhaps; it comes back from where it was kept."""
        r, kept, k = self.r, self.reg(), self.r.randrange(6)
        a, cond = self.reg(kept), r.choice(CONDITIONS)
        place = f"[r7, #{4 * r.randrange(192, 250)}]"
        in_memory = r.randrange(3) == 0
        self.emit(f"str sp, {place}" if in_memory else f"mov {kept}, sp")
        if k == 0:
            self.emit(f"mov {a}, sp", f"bic {a}, {a}, #{r.choice((7, 31, 63))}", f"mov sp, {a}")
        elif k == 1:
            self.emit(f"and {a}, {a}, #{r.choice((3, 7, 15))}", f"sub sp, sp, {a}, lsl #{r.choice((2, 3))}")
        elif k == 2:
            self.emit(f"it {cond}", f"sub{cond} sp, sp, #{8 * r.randrange(1, 9)}")
        elif k == 3:
            self.emit("sub sp, sp, #24", f"add {a}, sp, #8", f"str {self.reg(a)}, [{a}, #4]", f"ldr {a}, [sp, #12]")
        elif k == 4:
            self.emit(f"str {a}, [sp, #-{8 * r.randrange(1, 5)}]!")
        else:
            n = r.choice((0, 2, 4, 8))
            self.emit(f"strd r{n}, r{n + 1}, [sp, #-{8 * r.randrange(1, 5)}]!")
        for _ in range(r.randrange(4)):
            one = self.one()
            if kept not in one.replace(",", " ").replace("{", " ").replace("}", " ").split() and not one.startswith(("st", "vst", "ldm")):
                self.emit(one)
        if r.randrange(2):
            d = "r0" if kept != "r0" else "r1"
            self.emit(f"ldr r12, ={SGIR}", f"ldr {d}, =0x02008001", f"str {d}, [r12]")
        self.emit(f"ldr sp, {place}" if in_memory else f"mov sp, {kept}")

    def other_state(self):
        """Some instructions of the other set."""
        r, to = self.r, self.label()
        back = self.label()
        if self.thumb:
            if r.randrange(2):
                self.emit(".balign 4", "bx pc", "nop")
            else:
                self.emit(f"ldr r12, ={to}", "bx r12", ".balign 4")
            self.lines.append("    .arm")
        else:
            self.emit(*r.choice((("add r12, pc, #1", "bx r12"), (f"ldr pc, ={to} + 1",), (f"adr r12, {to} + 1", "mov pc, r12"))))
            self.lines.append("    .thumb")
        self.lines.append(f"{to}:")
        self.thumb = not self.thumb
        for _ in range(r.randrange(1, 4)):
            r.choice((self.walk, self.it_block, self.service, lambda: self.emit(self.one())))()
        self.thumb = not self.thumb
        if self.thumb:
            self.emit(*r.choice(((f"ldr pc, ={back} + 1",), (f"ldr lr, ={back} + 1", "bx lr"), (f"ldr r12, ={back} + 1", "push {r12}", "pop {pc}"))))
            self.lines.append("    .thumb")
        else:
            self.emit(f"ldr r12, ={back}", "bx r12", ".balign 4")
            self.lines.append("    .arm")
        self.lines.append(f"{back}:")

    def call(self):
        r = self.r
        if self.number + 1 >= self.blocks or self.mode != "sys":
            return
        other = r.randrange(self.number + 1, self.blocks)
        cond, k = r.choice(CONDITIONS), r.randrange(5)
        if k == 0 and not self.thumb and not self.thumbs[other]:
            self.emit(f"bl{cond} block{other}")
        elif k == 1:
            self.emit(f"ldr r12, =block{other}", f"it {cond}", f"blx{cond} r12")
        elif k == 2 and not self.thumb:
            self.emit(f"ldr r12, =block{other}", "mov lr, pc", "bx r12")
        else:
            self.emit(f"bl block{other}")

    def leave_early(self):
        """Returns if a condition passes."""
        if self.mode != "sys" or self.frame or self.thumb:
            return
        self.emit(f"ldm{self.r.choice(CONDITIONS)} sp!, {{r4-r11, pc}}")

    def far(self):
        r, to, d, k = self.r, self.label(), self.reg(), self.r.randrange(4)
        cond, bit = r.choice(CONDITIONS), " + 1" if self.thumb else ""
        if k == 0:
            self.emit(f"ldr pc, ={to}{bit}")
        elif k == 1:
            self.emit(f"ldr {d}, ={to}{bit}", f"it {cond}", f"bx{cond} {d}")
        elif k == 2:
            self.emit(f"ldr {d}, ={to}{bit}", f"str {d}, [sp, #-8]!", f"it {cond}", f"ldr{cond} pc, [sp], #8", self.plain(), "add sp, sp, #8")
        else:
            self.emit(f"ldr {d}, ={to}{bit}", f"str {d}, [sp, #-4]!", "pop {pc}")
        if k != 2:
            for _ in range(r.randrange(1, 4)):
                self.emit(self.one())
        self.lines.append(f"{to}:")

    def one_by_one(self):
        """Pushed and popped otherwise than by PUSH and POP."""
        r, p, k = self.r, self.r.choice(("r4", "r5", "r6", "r8")), self.r.randrange(6)
        self.emit("push {r0-r3}")
        if r.randrange(2):
            self.emit(f"mov {p}, sp" if r.randrange(2) else f"add {p}, sp, #0",
                      f"{r.choice(('str', 'strb', 'strh'))} {self.reg(p)}, [{p}, #{4 * r.randrange(4)}]")
        for _ in range(r.randrange(3)):
            self.emit(self.plain())
        if k == 0:
            self.emit(f"ldr {self.reg()}, [sp], #8", "ldrd r8, r9, [sp], #8")
        elif k == 1:
            self.emit(f"ldm sp, {{r0-r{r.randrange(1, 4)}}}", "add sp, sp, #16")
        elif k == 2:
            self.emit(f"ldr {p}, [sp, #4]", f"ldr {self.reg()}, [sp, #8]!", "add sp, sp, #8")
        elif k == 3 and not self.thumb:
            self.emit(f"ldmib sp, {{{listed(self.some(2, 4))}}}", f"ldmda sp, {{{listed(self.some(1, 3))}}}", "add sp, sp, #16")
        elif k == 4 and not self.thumb:
            self.emit(f"mov {p}, sp", f"stmdb {p}, {{sp, lr}}", f"ldmdb {p}, {{r12, lr}}", f"ldmia {p}!, {{r0, r1}}", f"add sp, {p}, #8")
        else:
            self.emit("mov r12, #16", "add sp, sp, r12")

    def stack(self):
        kept, self.frame = self.frame, True
        super().stack()
        self.frame = kept

    frame = False

    def long_jump(self):
        if self.mode == "sys":
            self.emit("ldr r12, =jump_buffer", "stmia r12, {r4-r11}", "str sp, [r12, #32]")
            for _ in range(self.r.randrange(1, 4)):
                self.emit(f"push {{r0-r{self.r.randrange(1, 6)}}}" if self.r.randrange(2) else f"sub sp, sp, #{8 * self.r.randrange(1, 5)}", self.one())
            self.emit("ldr r12, =jump_buffer", "ldmia r12!, {r4-r11}", "ldr lr, [r12]", "mov sp, lr")

    def group(self, simple=False):
        r = self.r
        simple_ways = [lambda: self.emit(*(self.one() for _ in range(r.randrange(1, 6))))] * 5 + \
            [self.it_block, self.it_block, self.skip, self.walk, self.walk, self.table, self.counter, self.service, self.exclusive,
             self.stack, self.status, self.pend, self.fault, self.neon, self.one_by_one, self.coprocessor, self.other_state, self.pend_masked]
        ways = simple_ways + [self.in_mode] * 4 + [self.call] * 2 + [self.moved_stack, self.far, self.banked, self.leave_early, self.long_jump,
                                                                     self.fault, self.service]
        if self.seen is not None and not simple:
            ways = [way for way in ways if r.random() < self.seen]
        r.choice(simple_ways if simple or not ways else ways)()

    def text(self, groups):
        r, name = self.r, f"block{self.number}"
        self.emit("push {r4-r11, lr}", "ldr r7, =arena")
        for n in (0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11):
            if r.randrange(2):
                self.constant(f"r{n}", r.choice((r.randrange(256), r.randrange(1 << 32), 0, 1, 0x80000000)))
        for _ in range(groups):
            self.group()
        ends = ["pop {r4-r11, pc}", "pop {r4-r11, lr}\n    bx lr", "ldmia sp!, {r4-r11}\n    ldr pc, [sp], #4"]
        if not self.thumb:
            ends += ["ldmfd sp!, {r4-r11, pc}", "ldm sp!, {r4-r9}\n    ldmia sp!, {r10, r11, lr}\n    bx lr"]
        self.emit(r.choice(ends), ".ltorg")
        return (f"    .balign 4\n    .{'thumb' if self.thumb else 'arm'}\n{'    .thumb_func' if self.thumb else ''}\n    .global {name}\n"
                f"    .type {name},%function\n{name}:\n" + "\n".join(line for line in self.lines if ".cfi" not in line) + f"\n    .size {name},.-{name}\n")


def handler(r, name, mode, back, function, thumb, fast):
    """An entry of one of several styles; `back`: of LR, None: of an undefined instruction."""
    styles = ["own", "own", "srs"]
    if function != "serve":
        styles += ["sys", "svc"] + ([] if thumb else ["user"])
    style = r.choice(styles)
    if name == "fiq" and fast:
        style = "fast"
    number = MODES[mode]
    lines = [".balign 4", ".thumb" if thumb else ".arm", *([".thumb_func"] if thumb else []), f".type {name}_entry,%function", f"{name}_entry:"]
    lines += [f"sub lr, lr, #{back}"] if back else []
    if style == "fast":
        lines += ["ldr r8, =0x1e00010c", "ldr r9, [r8]", "str r9, [r8, #4]", "ldr r10, =fast", "ldr r11, [r10]", "add r11, r11, #1",
                  "str r11, [r10]", "and r12, r11, #7", "ldr r8, =arena", "str r11, [r8, r12, lsl #2]", "movs pc, lr", ".ltorg"]
        return lines
    if style == "own":
        lines += ["sub sp, sp, #8", "push {r0-r12, lr}", "mrs r0, spsr", "str lr, [sp, #56]", "str r0, [sp, #60]", "mov r0, sp"]
    else:
        where = MODES.get(style, number)
        lines += [f"srsdb sp!, #{where}", *([f"cps #{where}"] if where != number else []), "push {r0-r12, lr}", "mov r0, sp"]
    if back is None:
        lines += ["ldr r1, [r0, #60]", "ldr r2, [r0, #56]", "tst r1, #0x20", "ite eq", "subeq r2, r2, #4", "subne r2, r2, #2", "str r2, [r0, #56]"]
    if style == "user":
        lines += ["sub sp, sp, #8", "stmia sp, {sp, lr}^", "nop"]
    lines += [f"bl {function}"]
    if style == "user":
        lines += ["ldmia sp, {sp, lr}^", "nop", "add sp, sp, #8"]
    k = r.randrange(4) if style == "own" else 2 + (r.randrange(2) if style in ("srs", "user") else 0)
    if k == 0:
        lines += ["ldr r0, [sp, #60]", "msr spsr_cxsf, r0", "ldr lr, [sp, #56]", "ldm sp, {r0-r12}", "add sp, sp, #64", "movs pc, lr"]
    elif k == 1 and not thumb:
        lines += ["ldr r0, [sp, #60]", "msr spsr_cxsf, r0", "ldr r0, [sp, #56]", "str r0, [sp, #60]", "ldm sp!, {r0-r12}", "add sp, sp, #8", "ldm sp!, {pc}^"]
    elif k == 3:
        lines += ["add lr, sp, #56", "ldm sp, {r0-r12}", "add sp, sp, #64", "rfeia lr"]
    else:
        lines += ["pop {r0-r12, lr}", "rfeia sp!"]
    return [*lines, ".ltorg"]


def source(seed, blocks, groups, rounds, hard):
    r = random.Random(seed)
    entry_thumb = not r.randrange(3)
    thumb = [r.randrange(2) for _ in range(blocks)]
    seen, fast, mixed = r.choice((None, None, 0.3)), not r.randrange(3), hard and not r.randrange(3)
    text = "    .syntax unified\n    .cpu cortex-a9\n    .fpu neon-fp16\n    .text\n"
    text += "".join(Block(r, n, blocks, thumb, seen, fast, mixed, hard).text(groups) for n in range(blocks))
    entries = []
    for name, mode, back, function in (("und", "und", None, "fault"), ("svc", "svc", 0, "serve"), ("pabt", "abt", 4, "fault"), ("dabt", "abt", 8, "fault"),
                                       ("irq", "irq", 4, "interrupt"), ("fiq", "fiq", 4, "interrupt")):
        entries += handler(r, name, mode, back, function, entry_thumb, fast)
    text += "\n".join("    " + line if not line.endswith(":") else line for line in entries)
    jump = "b.w" if entry_thumb else "b"
    vectors = "\n".join(f"    {jump} {name}" for name in ("start_again", "und_entry", "svc_entry", "pabt_entry", "dabt_entry", "start_again", "irq_entry", "fiq_entry"))
    stacks = "\n".join(f"    cps #{number}\n    ldr sp, ={mode}_stack_end" for mode, number in MODES.items())
    calls = "\n".join(f"    bl block{n}" for n in range(blocks))
    space = "\n".join(f"    .space {size}\n{mode}_stack_end:" for mode, size in STACKS.items())
    return text + f"""
    .section .vectors, "ax"
    .balign 32
    .{'thumb' if entry_thumb else 'arm'}
vectors:
{vectors}
    .arm
    .global start
start:
    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0
    mrc p15, 0, r0, c1, c0, 0
    {'orr' if entry_thumb else 'bic'} r0, r0, #0x40000000
    mcr p15, 0, r0, c1, c0, 0
    mov r0, #0xf00000
    mcr p15, 0, r0, c1, c0, 2
    mov r0, #1
    mcr p15, 0, r0, c3, c0, 0
    ldr r0, =table
    mcr p15, 0, r0, c2, c0, 0
    mov r0, #0
    mcr p15, 0, r0, c2, c0, 2
    mcr p15, 0, r0, c8, c7, 0
    dsb
    isb
    mrc p15, 0, r0, c1, c0, 0
    orr r0, r0, #1
    mcr p15, 0, r0, c1, c0, 0
    isb
    mov r0, #0x40000000
    vmsr fpexc, r0
{stacks}
    bl begin
    cpsie if
    bl run_blocks
    bl finished
    .ltorg
    .text
    .balign 4
    .{'thumb' if entry_thumb else 'arm'}
    {'.thumb_func' if entry_thumb else ''}
start_again:
    b start_again
    .arm
    .type run_blocks,%function
    .global run_blocks
run_blocks:
    push {{r4, lr}}
    mov r4, #{rounds}
1:
{calls}
    subs r4, r4, #1
    bne 1b
    pop {{r4, pc}}
    .type task_b,%function
    .global task_b
task_b:
    bl block{blocks - 1}
    svc #8
    b task_b
    .type swap_banked,%function
    .global swap_banked
swap_banked:
    sub sp, sp, #8
    stmia sp, {{sp, lr}}^
    nop
    ldmia r0, {{sp, lr}}^
    nop
    ldr r1, [sp]
    ldr r2, [sp, #4]
    stmia r0, {{r1, r2}}
    add sp, sp, #8
    bx lr
    .type finished,%function
    .global finished
finished:
    cpsid aif
    ldr r1, =0x20026
    mov r0, #0x18
    .global halt_here
halt_here:
1:
    svc 0x123456
    b 1b
    .ltorg
    .section .rodata
    .balign 16384
table:
    .set page, 0
    .rept 4096
    .if page == 0x60000000
    .word second_table + 1
    .elseif page == {NOWHERE}
    .word 0
    .else
    .word page + 0xc0e
    .endif
    .set page, page + 0x100000
    .endr
second_table:
    .set page, 0x60000000
    .rept 256
    .if page == 0x60044000
    .word 0
    .else
    .word page + 0x3e
    .endif
    .set page, page + 0x1000
    .endr
    .bss
    .balign 8
jump_buffer:
    .space 40
fast:
    .space 8
{space}
"""


class Corners(corners.Drawn):
    """A program of one seed."""

    def __init__(self, folder, level, seed, rounds=3):
        self.seed = seed
        r = random.Random(f"corners {seed} a9 {level}")
        blocks, groups = r.randrange(2, 9), r.randrange(4, 30)
        hard = not r.randrange(3)
        path = f"{folder}/corners-a9-{level}-{seed}.S"
        with open(path, "w", encoding="ascii") as file:
            file.write(source(f"{seed} a9", blocks, groups, rounds, hard))
        a9 = bench.A9
        flags = [flag for flag in a9.flags if not flag.startswith(("-DTICK", "-DINPUT"))]
        machine = bench.Machine(a9.qemu, a9.core, a9.ram, flags, (), a9.script, a9.plugin, a9.unit, a9.registers)
        machine.fpu = True
        tick = r.choice((211, 500, 1300, 20000))
        defines = [r.choice(("-marm", "-mthumb")), "-fno-jump-tables", "-fno-tree-switch-conversion", *["-DHARD"] * hard, f"-DTICK={tick}", f"-DTICKS={2 + 60000 // tick}", f"-DFAULTS={r.randrange(20, 200)}",
                   f"-Wl,--defsym=arena={bench.A9.ram + bench.RAM_SIZE - 1024:#x}"]
        super().__init__(folder, "corners-a9", level, f"{seed}", ("corners_a.c", path), (machine, defines))

    def strays(self):
        """It runs where no code is, or for long: nothing is learnt from that."""
        code = range(self.base, self.base + len(self.code))
        taken = {int(line.split()[0]) for line in (self.folder / "path.log").read_text().splitlines() if " exception " in line}
        # The model of the trace unit does not tell of a fetch that fails behind a branch.
        if any(self.base <= pc < self.base + 32 and at not in taken for at, pc in enumerate(self.states[15::bench.STATE]) if at):
            return True
        return self.count > 60000 or any(pc not in code for pc in self.states[15::bench.STATE])


def programs(folder, seed, count):
    return corners.that_run(lambda number: Corners(folder, corners.level_of(number, "a9"), number), seed, count)
