# SPDX-License-Identifier: BSD-3-Clause
"""Programs from a seed that do what compilers seldom do: blocks of random instructions, of all kinds that a core has,
among faults that are repaired or gone over, services that change what was stacked, interrupts in any order,
threads on either stack with and without privileges (target/corners.c)."""

import array
import random

import bench
from corners_stack import CONDITIONS, Groups

MACHINES = {"m3": (bench.M3, []), "m4": (bench.M4, ["-DFLOATS"]), "m7": (bench.M7, ["-DFLOATS"]),
            "m33": (bench.M33, ["-DFLOATS", "-DMPU_V8"])}
GENERAL = [f"r{n}" for n in (0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11)]
LOW = [f"r{n}" for n in range(7)]
OPPOSITE = {name: CONDITIONS[i ^ 1] for i, name in enumerate(CONDITIONS)}
VECTORS = 84  # bytes
PLANS = {"skip": 0, "same": 1, "again": 2, "land": 3, "back": 4}
PLAIN2 = ("adds", "subs", "ands", "orrs", "eors", "bics", "adcs", "sbcs", "add", "sub", "and", "orr", "eor", "bic",
          "adc", "sbc", "rsb", "rsbs", "orn", "orns")
DSP3 = ("qadd", "qsub", "qdadd", "qdsub", "sadd16", "ssub16", "sadd8", "ssub8", "uadd8", "usub8", "uadd16", "usub16",
        "sasx", "ssax", "uasx", "usax", "shadd16", "uhadd8", "qadd8", "uqadd8", "uqsub16", "sel", "usad8", "smulbb",
        "smulbt", "smultt", "smulwb", "smulwt", "smuad", "smusd", "smuadx", "smmul", "smmulr", "uxtab", "sxtah", "uxtab16")
DSP4 = ("smlabb", "smlatb", "smlawb", "smlad", "smladx", "smlsd", "smmla", "smmls", "usada8")
LONG = ("umull", "smull", "umlal", "smlal")
DSP_LONG = ("umaal", "smlald", "smlsld", "smlalbb", "smlaltb")


class Block(Groups):
    """A function of random instructions."""

    def __init__(self, r, kind, number, blocks, changes, unaligned):
        self.r, self.kind, self.number, self.blocks, self.changes = r, kind, number, blocks, changes
        self.ccr = 0 if unaligned else 0x200
        self.dsp, self.floats = kind != "m3", kind != "m3"
        self.double, self.v8 = kind == "m7", kind == "m33"
        self.lines, self.labels, self.copies = [], 0, 0

    def emit(self, *lines):
        self.lines += ["    " + line for line in lines]

    def label(self):
        self.labels += 1
        return f".Lb{self.number}_{self.labels}"

    def reg(self, *without):
        return self.r.choice([name for name in GENERAL if name not in without])

    def low(self, *without):
        return self.r.choice([name for name in LOW if name not in without])

    def constant(self, reg, value):
        if self.r.randrange(3) and isinstance(value, int) and value < 65536:
            self.emit(f"movw {reg}, #{value}")
        elif self.r.randrange(2):
            self.emit(f"ldr {reg}, ={value}")
        elif isinstance(value, int):
            self.emit(f"movw {reg}, #{value & 0xffff}", f"movt {reg}, #{value >> 16}")
        else:
            self.emit(f"movw {reg}, #:lower16:{value}", f"movt {reg}, #:upper16:{value}")

    # One instruction that writes registers alone and may be in an IT block.

    def plain(self, suffix=""):
        """`suffix`: the condition in an IT block, where 16-bit instructions leave the flags."""
        r, s = self.r, suffix
        d, n, m, a = self.reg(), self.reg(), self.reg(), self.reg()
        k = r.randrange(16)
        if k < 4:
            op = r.choice(PLAIN2)
            if op.startswith("orn"):
                return f"{op}{s} {d}, {n}, {m}"
            op = op[:-1] if s and op.endswith("s") and op not in ("bics",) and r.randrange(2) else op
            if r.randrange(2):
                return f"{op}{s} {d}, {n}, #{r.choice((0, 1, 5, 255, 0xff00, 0x80000000, 0xab00ab, 0x1fe))}"
            return f"{op}{s} {d}, {n}, {m}" + r.choice(("", ", lsl #3", ", lsr #7", ", asr #32", ", ror #9", ", rrx"))
        if k == 4:
            return f"{r.choice(('lsl', 'lsr', 'asr', 'ror', 'lsls', 'lsrs', 'asrs', 'rors'))}{s} {d}, {n}, {m}"
        if k == 5:
            return f"{r.choice(('lsls', 'lsrs', 'asrs', 'rors'))}{s} {d}, {n}, #{r.randrange(1, 32)}"
        if k == 6:
            return f"{r.choice(('cmp', 'cmn', 'tst', 'teq'))}{s} {n}, {m}"
        if k == 7:
            return f"{r.choice(('cmp', 'cmn', 'tst'))}{s} {n}, #{r.randrange(256)}"
        if k == 8:
            return r.choice((f"mul{s} {d}, {n}, {m}", f"mla{s} {d}, {n}, {m}, {a}", f"mls{s} {d}, {n}, {m}, {a}",
                             f"udiv{s} {d}, {n}, {m}", f"sdiv{s} {d}, {n}, {m}"))
        if k == 9:
            lo, hi = r.sample(GENERAL, 2)
            return f"{r.choice(LONG + (DSP_LONG if self.dsp else ()))}{s} {lo}, {hi}, {n}, {m}"
        if k == 10:
            lsb = r.randrange(28)
            width = r.randrange(1, 32 - lsb)
            return r.choice((f"ubfx{s} {d}, {n}, #{lsb}, #{width}", f"sbfx{s} {d}, {n}, #{lsb}, #{width}",
                             f"bfi{s} {d}, {n}, #{lsb}, #{width}", f"bfc{s} {d}, #{lsb}, #{width}"))
        if k == 11:
            return f"{r.choice(('clz', 'rbit', 'rev', 'rev16', 'revsh', 'uxtb', 'uxth', 'sxtb', 'sxth', 'mvn', 'mov'))}{s} {d}, {n}"
        if k == 12:
            return r.choice((f"ssat{s} {d}, #{r.randrange(1, 32)}, {n}", f"usat{s} {d}, #{r.randrange(31)}, {n}, lsl #4",
                             f"mrs{s} {d}, apsr", f"msr{s} apsr_nzcvq, {n}"))
        if k == 13 and self.dsp:
            return r.choice((f"{r.choice(DSP4)}{s} {d}, {n}, {m}, {a}", f"ssat16{s} {d}, #7, {n}", f"usat16{s} {d}, #5, {n}",
                             f"pkhbt{s} {d}, {n}, {m}, lsl #6", f"msr{s} apsr_nzcvqg, {n}"))
        if k >= 13 and self.dsp:
            return f"{r.choice(DSP3)}{s} {d}, {n}, {m}"
        return f"mov{s} {d}, #{r.randrange(256)}"

    def load(self, suffix=""):
        """One access of the arena's first words; r7 is its base."""
        r, s, d = self.r, suffix, self.reg()
        at = r.randrange(56)
        k = r.randrange(9)
        if k == 0:
            return f"ldr{s} {d}, [r7, #{4 * at}]"
        if k == 1:
            return f"{r.choice(('ldrb', 'ldrh', 'ldrsb', 'ldrsh', 'ldr'))}{s} {d}, [r7, #{r.randrange(220)}]"
        if k == 2:
            return f"{r.choice(('strb', 'strh', 'str'))}{s} {d}, [r7, #{r.randrange(220)}]"
        if k in (3, 4):
            return f"str{s} {d}, [r7, #{4 * at}]"
        if k == 5:
            e = self.reg(d)
            return f"ldrd{s} {d}, {e}, [r7, #{4 * at}]"
        if k == 6:
            return f"strd{s} {d}, {self.reg()}, [r7, #{4 * at}]"
        if k == 7:
            regs = sorted(r.sample(range(7), r.randrange(2, 5)))
            return f"{r.choice(('ldmia', 'stmia'))}{s} r7, {{{', '.join(f'r{n}' for n in regs)}}}"
        return f"ldr{s} {d}, [r7, #{4 * at}]"

    def floating(self, suffix=""):
        r, s = self.r, suffix
        d, n, m = (f"s{r.randrange(32)}" for _ in range(3))
        if self.double and not r.randrange(3):
            d, n, m = (f"d{r.randrange(16)}" for _ in range(3))
        t = ".f64" if d[0] == "d" else ".f32"
        k = r.randrange(14)
        if k < 4:
            return f"{r.choice(('vadd', 'vsub', 'vmul', 'vnmul', 'vmla', 'vmls', 'vfma', 'vfms', 'vdiv'))}{s}{t} {d}, {n}, {m}"
        if k == 4:
            return f"{r.choice(('vabs', 'vneg', 'vsqrt', 'vmov'))}{s}{t} {d}, {n}"
        if k == 5:
            return f"vmov{s}{t} {d}, #{r.choice(('1.0', '-2.0', '0.5', '31.0', '-0.125'))}"
        if k in (6, 7):
            return f"{r.choice(('vldr', 'vstr'))}{s} {d}, [r7, #{8 * r.randrange(28)}]"
        if k == 8:
            low = r.randrange(24)
            high = low + r.randrange(1, 7)
            return f"{r.choice(('vldmia', 'vstmia'))}{s} r7, {{s{low}-s{high}}}"
        if k == 9:
            return f"vmov{s} {self.reg()}, s{r.randrange(32)}"
        if k == 10:
            return f"vmov{s} s{r.randrange(32)}, {self.reg()}"
        if k == 11:
            a, b = r.sample(GENERAL, 2)
            at = r.randrange(31)
            return r.choice((f"vmov{s} {a}, {b}, s{at}, s{at + 1}", f"vmov{s} s{at}, s{at + 1}, {a}, {b}",
                             f"vmov{s} {a}, {b}, d{at % 16}", f"vmov{s} d{at % 16}, {a}, {b}"))
        if k == 12:
            x, y = f"s{r.randrange(32)}", f"s{r.randrange(32)}"
            return f"vcvt{s}{r.choice(('.f32.s32', '.f32.u32', '.s32.f32', '.u32.f32'))} {x}, {y}"
        return f"vcmp{s}{t} {n}, {m}"

    def one(self, suffix=""):
        r = self.r
        if self.floats and r.randrange(5) == 0:
            return self.floating(suffix)
        return self.load(suffix) if r.randrange(3) == 0 else self.plain(suffix)

    # Groups of instructions.

    def it_block(self):
        r, cond = self.r, self.r.choice(CONDITIONS)
        shape = [r.choice("te") for _ in range(r.randrange(4))]
        self.emit(f"it{''.join(shape)} {cond}")
        for letter in ["t", *shape]:
            self.emit(self.one(cond if letter == "t" else OPPOSITE[cond]))

    def skip(self):
        r, to = self.r, self.label()
        k = r.randrange(4)
        if k == 0:
            self.emit(f"{r.choice(('cbz', 'cbnz'))} {self.low()}, {to}")
        elif k == 1:
            self.emit(f"cmp {self.reg()}, #{r.randrange(64)}", f"b{r.choice(CONDITIONS)} {to}")
        else:
            self.emit(f"b{r.choice(CONDITIONS)} {to}")
        for _ in range(r.randrange(1, 5)):
            self.emit(self.one())
        self.lines.append(f"{to}:")

    def table(self):
        r, index, way = self.r, self.reg(), self.r.choice("bh")
        to = [self.label() for _ in range(3)]
        base, over = self.label(), self.label()
        self.emit(f"and {index}, {index}, #3", f"cmp {index}, #3", "it eq", f"moveq {index}, #1")
        self.emit(f"tb{way} [pc, {index}" + (", lsl #1]" if way == "h" else "]"))
        self.lines.append(f"{base}:")
        self.emit(f".{'byte' if way == 'b' else 'short'} " + ", ".join(f"({l} - {base}) / 2" for l in to), ".align 1")
        for l in to:
            self.lines.append(f"{l}:")
            self.emit(self.one(), *([f"b {over}"] if r.randrange(2) else []))
        self.lines.append(f"{over}:")

    def stack(self):
        r = self.r
        regs = sorted(r.sample(range(12), r.randrange(1, 6)))
        regs = [n for n in regs if n != 7] or [3]
        text = ", ".join(f"r{n}" for n in regs)
        self.emit(r.choice((f"push {{{text}}}", f"stmdb sp!, {{{text}}}")))
        self.emit(f".cfi_adjust_cfa_offset {4 * len(regs)}")
        room = 4 * r.randrange(4)
        if room:
            self.emit(f"sub sp, sp, #{room}", f".cfi_adjust_cfa_offset {room}")
        for _ in range(r.randrange(5)):
            self.group(simple=True)
        if room:
            self.emit(f"add sp, sp, #{room}", f".cfi_adjust_cfa_offset -{room}")
        other = [n for n in r.sample([n for n in range(12) if n != 7], len(regs))]
        self.emit(f"pop {{{', '.join(f'r{n}' for n in sorted(other))}}}", f".cfi_adjust_cfa_offset -{4 * len(regs)}")

    def walk(self):
        """Blocks of memory through a pointer that moves."""
        r, p = self.r, self.reg()
        self.emit(f"add {p}, r7, #{4 * r.randrange(24)}")
        for _ in range(r.randrange(1, 5)):
            k = r.randrange(7)
            regs = ", ".join(f"r{n}" for n in sorted(r.sample([n for n in range(12) if n != 7 and f"r{n}" != p], r.randrange(2, 5))))
            if k == 0:
                self.emit(f"{r.choice(('ldmia', 'stmia'))} {p}!, {{{regs}}}")
            elif k == 1:
                self.emit(f"add {p}, {p}, #32", f"{r.choice(('ldmdb', 'stmdb'))} {p}!, {{{regs}}}")
            elif k == 2:
                self.emit(f"{r.choice(('ldr', 'str', 'ldrb', 'strh'))} {self.reg(p)}, [{p}], #{r.randrange(1, 9)}")
            elif k == 3:
                self.emit(f"{r.choice(('ldr', 'str', 'ldrsb', 'strb'))} {self.reg(p)}, [{p}, #{r.randrange(1, 9)}]!")
            elif k == 4:
                a = self.reg(p)
                self.emit(f"{r.choice(('ldrd', 'strd'))} {a}, {self.reg(p, a)}, [r7], #4", "sub r7, r7, #4")
            elif k == 5:
                i = self.reg(p)
                self.emit(f"and {i}, {i}, #{r.choice((7, 15, 31))}", f"{r.choice(('ldr', 'str', 'ldrb', 'strb'))} {self.reg(p, i)}, [r7, {i}, lsl #{r.randrange(3)}]")
            else:
                self.emit(f"ldr {p}, [r7, #{4 * r.randrange(8)}]", f"and {p}, {p}, #60", f"add {p}, {p}, r7")

    def exclusive(self):
        r, again, a, b = self.r, self.label(), self.reg(), self.reg()
        if a == b:
            return
        p = self.reg(a, b)
        kind = r.choice(("", "b", "h"))
        self.emit(f"add {p}, r7, #{4 * r.randrange(16)}")
        self.lines.append(f"{again}:")
        load = r.choice(("ldrex", "ldaex")) if self.v8 else "ldrex"
        store = r.choice(("strex", "stlex")) if self.v8 else "strex"
        self.emit(f"{load}{kind} {a}, [{p}]", f"add {a}, {a}, #{r.randrange(9)}", f"{store}{kind} {b}, {a}, [{p}]",
                  f"cmp {b}, #0", f"bne {again}")
        if self.v8 and r.randrange(2):
            self.emit(f"stl {a}, [{p}]", f"lda {b}, [{p}]")

    def counter(self):
        r, d = self.r, self.reg()
        self.emit("ldr r12, =0xe000e018", f"ldr {d}, [r12]")
        if r.randrange(2):
            self.emit(f"and {d}, {d}, #{r.choice((1, 3, 7, 255))}")

    def masks(self):
        r, d, o = self.r, self.reg(), self.reg()
        k = r.randrange(6)
        if k == 0:
            self.emit("cpsid i", self.one(), f"mrs {d}, primask", "cpsie i", f"mrs {o}, primask")
        elif k == 1:
            self.emit(f"mov {d}, #{16 * r.randrange(1, 16)}", f"msr basepri, {d}", self.one(), f"mov {o}, #{16 * r.randrange(16)}",
                      f"msr basepri_max, {o}", f"mrs {o}, basepri", f"mov {d}, #0", f"msr basepri, {d}")
        elif k == 2:
            self.emit("cpsid f", self.one(), f"mrs {d}, faultmask", "cpsie f")
        elif k == 3:
            self.emit(f"mrs {d}, {r.choice(('ipsr', 'xpsr', 'control', 'msp', 'psp', 'epsr', 'iepsr', 'iapsr'))}")
        elif k == 4:
            self.emit(f"mrs {d}, primask", f"mrs {o}, basepri", "cpsid i", f"mrs {self.reg(d)}, primask", f"msr primask, {d}")
            self.emit("cpsie i")
        else:
            self.emit(f"mov {d}, #0", f"msr primask, {d}", r.choice(("wfe", "sev", "nop", "dsb", "isb", "clrex", "dmb")))

    def pend(self):
        r, d = self.r, self.low()
        if r.randrange(3):
            self.emit("ldr r12, =0xe000e200", f"movs {d}, #{r.randrange(1, 32)}", f"str {d}, [r12]")
        else:
            self.emit("ldr r12, =0xe000ed04", f"mov {d}, #{r.choice((1 << 28, 1 << 31, 1 << 26, 5 << 26))}", f"str {d}, [r12]")
        if r.randrange(2):
            self.emit(r.choice(("dsb", "isb", "nop")))

    def service(self):
        r, number = self.r, self.r.choice((0, 1, 2, 3, 4, 5, 7, 9))
        if number == 8:
            return
        self.emit(f"svc {number}")
        if number == 2:
            self.emit(r.choice(("movs r0, #1", "adds r1, r2, r3", "nop", "lsls r4, r4, #1")))
        if number == 4:
            self.emit(f".short {r.randrange(65536)}")

    def set_plan(self, plan, to=None):
        r = self.r
        self.emit("ldr r12, =plan", f"mov lr, #{PLANS[plan]}", "str lr, [r12]")
        if to:
            self.emit("ldr r12, =landing", f"ldr lr, ={to}", "str lr, [r12]")
        if plan != "back" and not r.randrange(3):
            self.emit("ldr r12, =change", f"mov lr, #{0x10 + r.choice((0, 1, 2, 3, 4, 5, 7))}", "str lr, [r12]",
                      "ldr r12, =changed_by", "add lr, r0, r1", "str lr, [r12]")

    def multiple(self, base, span):
        """An access of some words through `base`, which faults."""
        r = self.r
        regs = sorted(r.sample([n for n in range(12) if n != 7 and f"r{n}" != base], r.randrange(2, 7)))
        text = ", ".join(f"r{n}" for n in regs)
        k = r.randrange(9 if self.floats else 7)
        if k == 0:
            return f"ldmia {base}, {{{text}}}"
        if k == 1:
            return f"ldmia {base}!, {{{text}}}"
        if k == 2:
            return f"stmia {base}, {{{text}}}"
        if k == 3:
            return f"stmia {base}!, {{{text}}}"
        if k == 4:
            a = self.reg(base)
            return f"{r.choice(('ldrd', 'strd'))} {a}, {self.reg(base, a)}, [{base}{r.choice((']', ', #4]!', '], #8'))}"
        if k == 5:
            return f"{r.choice(('ldr', 'str', 'ldrb', 'strh', 'ldrsh'))} {self.reg(base)}, [{base}], #{r.choice((1, 4, 8))}"
        if k == 6:
            return f"{r.choice(('ldr', 'str'))} {self.reg(base)}, [{base}, #{r.randrange(4)}]"
        low = r.randrange(20)
        return f"{r.choice(('vldmia', 'vstmia'))} {base}{r.choice(('', '!'))}, {{s{low}-s{low + r.randrange(1, 9)}}}"

    def fault(self):
        r, k = self.r, self.r.randrange(8)
        to = self.label()
        plan = r.choice(("skip", "skip", "same", "land"))
        if k == 0:
            self.set_plan(plan, to if plan == "land" else None)
            self.emit(r.choice(("udf #1", "udf.w #300")))
        elif k == 1:
            d, n, m = self.reg(), self.reg(), self.reg()
            self.emit("ldr r12, =0xe000ed14", f"mov lr, #{self.ccr | 0x10}", "str lr, [r12]")
            self.set_plan(plan, to if plan == "land" else None)
            self.emit(f"mov {m}, #0", f"{r.choice(('udiv', 'sdiv'))} {d}, {n}, {m}", self.one(),
                      "ldr r12, =0xe000ed14", f"mov lr, #{self.ccr}", "str lr, [r12]")
        elif k in (2, 3, 4):
            plan = r.choice((plan, "again"))
            base = self.reg()
            self.emit("bl guard_on")
            self.set_plan(plan, to if plan == "land" else None)
            self.emit(f"add {base}, r7, #{256 - 4 * r.randrange(8)}", self.multiple(base, 0))
            for _ in range(r.randrange(3)):
                self.emit(self.plain())
            self.emit("bl guard_off")
        elif k == 5:
            base = self.reg()
            self.set_plan(plan, to if plan == "land" else None)
            self.emit(f"mov {base}, #0x50000000", self.multiple(base, 0))
        elif k == 6:
            self.set_plan("back")
            self.emit(f"ldr r12, ={r.choice((0x50000001, 0x50000000, 0x60000101))}" if r.randrange(2) else f"add r12, r7, #{r.choice((0, 4))}")
            self.emit("blx r12")
        else:
            cond = r.choice(CONDITIONS)
            plan = r.choice(("skip", "same"))
            self.set_plan(plan)
            self.emit(f"it{'ttt'[:r.randrange(4)]} {cond}")
            shape = len(self.lines[-1].split()[0]) - 1
            where = r.randrange(shape)
            for i in range(shape):
                self.emit(f"udf #{i}" if i == where else self.one(cond))
        self.lines.append(f"{to}:")

    def process(self):
        """On the process stack for a while, perhaps without privileges."""
        r, low = self.r, self.r.randrange(2)
        self.emit("ldr r12, =process_stack + 4 * 256", "msr psp, r12", f"mov r12, #{2 + low}", "msr control, r12")
        if r.randrange(4):
            self.emit("isb")
        if low:
            self.emit("mrs r0, control", "msr basepri, r1", "mrs r2, basepri", "mrs r3, msp", "msr primask, r0", "mrs r0, primask")
        for _ in range(r.randrange(1, 6)):
            k = r.randrange(4)
            if k == 0 and not low:
                self.pend()
            elif k == 1:
                self.service()
            else:
                self.group(simple=True)
        if low:
            self.emit("svc 6")
        self.emit("mov r12, #0", "msr control, r12", "isb")

    def overflow(self):
        """No room for a frame, or for what is pushed."""
        r, to = self.r, self.label()
        limit = self.v8 and r.randrange(2)
        end = self.kind in ("m4", "m33") and not r.randrange(3)  # of memory; the other boards do not fault there
        if not limit and not end:
            self.emit("bl guard_on")
        self.set_plan("skip")
        self.emit("ldr r12, =landing", f"ldr lr, ={to}", "str lr, [r12]", "ldr r12, =change", "mov lr, #0", "str lr, [r12]")
        room = 8 * r.randrange(4)
        if limit:
            self.emit("ldr r12, =process_stack + 512", "msr psplim, r12", f"add r12, #{room}")
        else:
            self.emit(f"ldr r12, =ram_start + {8 + min(room, 16)}" if end else f"ldr r12, =arena + 512 + {room}")
        self.emit("msr psp, r12", "mov r12, #2", "msr control, r12", "isb")
        k = r.randrange(3)
        if k == 0:
            self.emit("svc 0")
        elif k == 1:
            self.emit("ldr r12, =0xe000e200", f"mov lr, #{r.choice((1, 2, 6, 8))}", "str lr, [r12]", "dsb", "isb")
        else:
            self.emit(f"push {{r0-r{r.randrange(4, 9)}}}")
        self.emit("nop", "svc 0", "nop")
        self.lines.append(f"{to}:")
        for _ in range(r.randrange(3)):
            self.emit(self.plain())
        self.emit("mov r12, #0", "msr control, r12", "isb", "ldr r7, =arena")
        self.emit("mov r12, #0", "msr psplim, r12") if limit else self.emit("nop" if end else "bl guard_off")

    def float_control(self):
        """Who stacks floating-point registers when, and how they round; without the unit a fault switches it on."""
        r, d, k = self.r, self.reg(), self.r.randrange(7)
        if k == 0:
            mode = r.randrange(4) << 22 | r.randrange(2) << 24 | r.randrange(2) << 25 | r.randrange(16) << 28
            self.emit(f"ldr {d}, ={mode}", f"vmsr fpscr, {d}")
        elif k == 1:
            self.emit(f"vmrs {d}, fpscr", "vcmp.f32 s1, s2", "vmrs apsr_nzcv, fpscr")
        elif k == 2 and self.changes:
            self.emit("ldr r12, =0xe000ef34", f"ldr lr, ={r.choice((0xc0000000, 0xc0000000, 0x80000000, 0x40000000, 0))}",
                      "str lr, [r12]", "dsb", "isb")
        elif k == 3:
            self.set_plan(r.choice(("again", "again", "skip")))
            self.emit("ldr r12, =0xe000ed88", "mov lr, #0", "str lr, [r12]", "dsb", "isb", self.floating(), self.plain())
            self.emit("ldr r12, =0xe000ed88", "mov lr, #0xf00000", "str lr, [r12]", "dsb", "isb")
        elif k == 4:
            self.emit(f"mrs {d}, control", f"bic {d}, {d}, #4", f"msr control, {d}", *(["isb"] if r.randrange(2) else []))
        elif k == 5:
            self.emit("ldr r12, =0xe000ef3c", f"ldr lr, ={r.choice((0, 0x01c00000, 0x02000000, 0x03400000))}", "str lr, [r12]")
        else:
            n = r.randrange(1, 9)
            self.emit(f"vpush {{s{16 - n}-s{16 + n}}}")
            for _ in range(r.randrange(4)):
                self.emit(self.one())
            self.emit(f"vpop {{s{15 - n}-s{15 + n}}}")

    def unaligned_frames(self):
        """Exceptions that are stacked where SP is, if the core can do so."""
        self.emit("ldr r12, =0xe000ed14", "mov lr, #0", "str lr, [r12]", "dsb", "push {r3}", ".cfi_adjust_cfa_offset 4")
        for _ in range(self.r.randrange(1, 4)):
            self.r.choice((self.service, self.pend, self.counter))()
        self.emit("pop {r3}", ".cfi_adjust_cfa_offset -4", "ldr r12, =0xe000ed14", f"mov lr, #{self.ccr}",
                  "str lr, [r12]")

    def in_ram(self):
        """A function that is copied to RAM each time."""
        place, code, over = f"code_place + {32 * (4 * self.number + self.copies % 4)}", self.label(), self.label()
        self.copies += 1
        if self.number >= 8 or self.copies > 4:
            return
        self.emit("push {r0-r3}", f"ldr r12, ={code}", f"ldr lr, ={place}")
        for _ in range(2):
            self.emit("ldmia r12!, {r0-r3}", "stmia lr!, {r0-r3}")
        self.emit("pop {r0-r3}", "dsb", "isb", f"ldr r12, ={place} + 1", "blx r12", f"b {over}", ".align 2")
        self.lines.append(f"{code}:")
        self.emit("push {r4-r11}")
        for _ in range(self.r.randrange(1, 6)):
            self.emit(self.r.choice((self.load, self.plain))())
        self.emit("pop {r4-r11}", "bx lr", "nop.w", "nop.w", "nop.w", "nop.w", "nop.w", "nop.w", "nop.w")
        self.lines.append(f"{over}:")

    def long_jump(self):
        r = self.r
        self.emit("ldr r12, =jump_buffer", "stmia r12, {r4-r11}", "str sp, [r12, #32]")
        for _ in range(r.randrange(1, 4)):
            self.emit(f"push {{r0-r{r.randrange(1, 6)}}}" if r.randrange(2) else f"sub sp, #{8 * r.randrange(1, 5)}")
            self.emit(self.one())
        if r.randrange(2):
            self.pend()
        self.emit("ldr r12, =jump_buffer", "ldmia r12!, {r4-r11}", "ldr lr, [r12]", "mov sp, lr")

    def bits(self):
        r, d = self.r, self.reg()
        at = 32 * (256 + r.randrange(200)) + 4 * r.randrange(8)
        self.emit(f"ldr r12, =0x22000000 + {at}", f"{r.choice(('ldr', 'str', 'str'))} {d}, [r12]")

    def special(self):
        r = self.r
        ways = [self.in_ram, self.long_jump]
        if self.floats:
            ways += [self.float_control] * 3
        if self.kind == "m3" and self.changes:
            ways.append(self.unaligned_frames)
        if self.kind in ("m3", "m4"):
            ways.append(self.bits)
        r.choice(ways)()

    def group(self, simple=False):
        r = self.r
        k = r.randrange(14 if simple else 35)
        if k >= 27:
            self.odd()
        elif k < 5:
            for _ in range(r.randrange(1, 6)):
                self.emit(self.one())
        elif k < 7:
            self.it_block()
        elif k == 7:
            self.skip()
        elif k == 8:
            self.walk()
        elif k == 9:
            self.table()
        elif k == 10:
            self.counter()
        elif k == 11:
            self.service()
        elif k == 12:
            self.exclusive()
        elif k == 13:
            self.stack()
        elif k == 14:
            self.masks()
        elif k in (15, 16):
            self.pend()
        elif k in (17, 18, 19):
            self.fault()
        elif k == 20:
            self.process()
        elif k == 21:
            self.overflow()
        elif k < 26:
            self.special()
        elif self.number + 1 < self.blocks:
            self.emit(f"bl block{r.randrange(self.number + 1, self.blocks)}")

    def text(self, groups):
        r = self.r
        saves = "{r4-r11, lr}"
        self.emit(f"push {saves}", ".cfi_def_cfa_offset 36")
        self.emit(*[f".cfi_offset r{n}, {4 * (n - 4) - 36}" for n in range(4, 12)], ".cfi_offset lr, -4")
        self.emit("ldr r7, =arena")
        for n in (0, 1, 2, 3, 4, 5, 6, 8, 9, 10, 11):
            if r.randrange(2):
                self.constant(f"r{n}", r.choice((r.randrange(256), r.randrange(1 << 32), 0, 1, 0x80000000)))
        for _ in range(groups):
            self.group()
        self.emit(r.choice(("pop {r4-r11, pc}", "pop {r4-r11, lr}\n    bx lr", "ldmia sp!, {r4-r11, lr}\n    mov pc, lr",
                            "ldmia sp!, {r4-r11}\n    ldr pc, [sp], #4", "ldm sp!, {r4-r10}\n    ldrd r11, r12, [sp], #8\n    bx r12")), ".ltorg")
        name = f"block{self.number}"
        return (f"    .thumb_func\n    .global {name}\n    .type {name},%function\n{name}:\n    .cfi_startproc\n"
                + "\n".join(self.lines) + f"\n    .cfi_endproc\n    .size {name},.-{name}\n")


def source(seed, kind, blocks, groups, rounds, changes, unaligned):
    """`changes`: of how exceptions stack, on the way; `unaligned`: where SP is."""
    r = random.Random(seed)
    cpu = {"m3": "cortex-m3", "m4": "cortex-m4", "m7": "cortex-m7", "m33": "cortex-m33"}[kind]
    text = f"    .syntax unified\n    .cpu {cpu}\n    .thumb\n    .cfi_sections .debug_frame\n"
    if kind != "m3":
        text += f"    .fpu {'fpv4-sp-d16' if kind == 'm4' else 'fpv5-d16' if kind == 'm7' else 'fpv5-sp-d16'}\n"
    text += "    .text\n"
    text += "".join(Block(r, kind, n, blocks, changes, unaligned).text(groups) for n in range(blocks))
    calls = "\n".join(f"    bl block{n}" for n in range(blocks))
    return text + f"""    .thumb_func
    .global run_blocks
    .type run_blocks,%function
run_blocks:
    .cfi_startproc
    push {{r4, lr}}
    .cfi_def_cfa_offset 8
    .cfi_offset lr, -4
    .cfi_offset r4, -8
    movs r4, #{rounds}
1:
{calls}
    subs r4, #1
    bne 1b
    pop {{r4, pc}}
    .cfi_endproc
    .size run_blocks,.-run_blocks
"""


class Drawn(bench.Case):
    """A program that may stray: it is executed to see that, and not again."""

    patience, ran = 20, False

    def execute(self):
        if not self.ran:
            super().execute()
        self.ran = True
        return self


class Corners(Drawn):
    """A program of one seed."""

    def __init__(self, folder, kind, level, seed, rounds=3):
        self.seed = seed
        r = random.Random(f"corners {seed} {kind} {level}")
        machine, extra = MACHINES[kind]
        blocks, groups = r.randrange(2, 9), r.randrange(4, 30)
        changes, manual, unaligned = (not r.randrange(4) for _ in range(3))
        # QEMU forgets that frames with floating-point registers are always aligned (DDI 0403E.e B1.5.7).
        manual, unaligned = manual and kind != "m3", unaligned and kind == "m3"
        self.promises = None if changes else (*["float-manual"] * manual, *["unaligned"] * unaligned)
        path = f"{folder}/corners-{kind}-{level}-{seed}.S"
        with open(path, "w", encoding="ascii") as file:
            file.write(source(f"{seed} {kind}", kind, blocks, groups, rounds, changes, unaligned))
        flags = [flag for flag in machine.flags if not flag.startswith(("-DTICK", "-DINPUT"))]
        if kind == "m7":
            flags = [flag.replace("fpv5-sp-d16", "fpv5-d16") for flag in flags]
        machine = bench.Machine(machine.qemu, machine.core, machine.ram, flags, (), "m.ld", machine.plugin,
                                machine.unit, machine.registers)
        tick = r.choice((97, 211, 500, 1300, 20000))
        defines = [*extra, *["-DMANUAL"] * manual, *["-DUNALIGNED"] * unaligned, f"-DTICK={tick}", f"-DTICKS={2 + 60000 // tick}", f"-DENTRY={r.randrange(4)}",
                   f"-DPEND_AGAIN={r.randrange(3)}", f"-DSVC_PRIORITY={r.choice((0, 0x60, 0x10))}",
                   f"-DTICK_PRIORITY={r.choice((0xe0, 0x30))}", f"-DFAULTS={r.randrange(20, 200)}"]
        self.more_truth = {"whole": 1}
        super().__init__(folder, f"corners-{kind}", level, f"{seed}", ("corners.c", path), (machine, defines))

    def strays(self):
        """It runs where no code is, or for long: nothing is learnt from that."""
        code = range(self.base + VECTORS, self.base + len(self.code))
        ram = range(self.symbols["code_place"], self.symbols["code_place"] + 1024)
        log = (self.folder / "path.log").read_text()
        arena = self.symbols["arena"]
        meant = [code, ram, range(arena, arena + 768), range(0x50000000, 0x50000002), range(0x60000100, 0x60000102)]
        backs = {int(line.split()[4], 16) for line in log.splitlines() if " preferred " in line}
        if any(not any(back in where for where in meant) for back in backs):
            return True
        taken = {int(line.split()[0]) for line in log.splitlines() if " exception " in line}
        # The model of the trace unit does not tell of a fault's handler that is chained to itself.
        entry = self.symbols["fault_entry"]
        if any(pc == entry and at not in taken for at, pc in enumerate(self.states[15::bench.STATE])):
            return True
        return self.changes_code(ram) or self.was_done() or " jump " in log or self.count > 60000 or any(pc not in code and pc not in ram for pc in self.states[15::bench.STATE])

    def was_done(self):
        """An instruction is called abandoned that has moved SP: the model reads from the frame where the exception
        returns to, and that was not written."""
        system, words = array.array("I", (self.folder / "system").read_bytes()), bench.SYSTEM // 4
        limit = self.symbols["process_stack"] + 512
        for at, sp in self.abandoned.items():
            back = self.reg(at, 14)
            frame, lowest = system[words * at + (back >> 2 & 1)], sp - (32 if back & 16 else 104)
            if frame not in (lowest, lowest & ~7) and not frame == limit > lowest & ~7:
                return True
        return False

    def changes_code(self, ram):
        """Something else is stored where code is copied to: all but its literals (corners_stack.py) is always the same."""
        words = {}
        stored = [(at, value) for _, at, _, flags, value in self.accesses if flags & bench.STORE and at & ~3 in ram and at % 32 < 20]
        return any(words.setdefault(at, value) != value for at, value in stored)


def that_run(make, seed, count):
    """So many of make(SEED) that have run: what is random may also hang, or jump anywhere."""
    for number in range(seed, seed + 8 * (count + 1)):
        case = make(number)
        try:
            case.execute()
        except (bench.BenchError, bench.subprocess.TimeoutExpired, FileNotFoundError):
            continue
        if case.strays():
            continue
        yield case
        count -= 1
        if not count:
            return
    raise bench.BenchError(f"seed {seed}: {count} programs are missing, the others hang or stray")


def level_of(number, kind):
    return random.Random(f"{number} {kind}").choice(("O0", "O1", "O2", "O3", "Os"))


def programs(folder, kind, seed, count):
    return that_run(lambda number: Corners(folder, kind, level_of(number, kind), number), seed, count)
