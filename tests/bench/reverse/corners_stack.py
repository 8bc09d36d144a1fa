# SPDX-License-Identifier: BSD-3-Clause
"""Groups of instructions for corners.py that move or write the stack pointer in ways that compilers seldom take, that
leave what they run in, or that fault where an exception is masked or the handler of its kind is off."""

import re

CONDITIONS = ("eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le")
SHCSR = 0xe000ed24
UNALIGNED = ("ldrd {a}, {b}, [{p}, #4]", "strd {a}, {b}, [{p}]", "ldmia {p}, {{{few}}}", "stmia {p}, {{{few}}}", "ldrex {a}, [{p}]")


class Groups:
    """Mixed into Block."""

    def moved_stack(self):
        """SP by arithmetic, from a register, from memory, perhaps; it comes back from where it was kept."""
        r, kept, k = self.r, self.reg(), self.r.randrange(7)
        a, cond = self.reg(kept), self.r.choice(CONDITIONS)
        place = f"[r7, #{4 * r.randrange(16, 64)}]"  # handlers write those before
        in_memory = r.randrange(3) == 0
        self.emit(f"str.w sp, {place}" if in_memory else f"mov {kept}, sp")
        if k == 0:
            self.emit(f"mov {a}, sp", f"bic {a}, {a}, #{r.choice((7, 31, 63))}", f"orr {a}, {a}, #{r.randrange(4)}", f"mov sp, {a}")
        elif k == 1:
            self.emit(f"and {a}, {a}, #{r.choice((3, 7, 15))}", f"sub sp, sp, {a}, lsl #{r.choice((2, 3))}")
        elif k == 2:
            self.emit(f"it {cond}", f"sub{cond} sp, #{8 * r.randrange(1, 9)}")
        elif k == 3:
            self.emit(f"itt {cond}", f"sub{cond} sp, #16", f"str{cond} {a}, [sp, #4]")
        elif k == 4:
            self.emit("sub sp, #24", f"add {a}, sp, #8", f"str {self.reg(a)}, [{a}, #4]", f"ldr {a}, [sp, #12]")
        elif k == 5:
            self.emit(f"str {a}, [sp, #-{8 * r.randrange(1, 5)}]!")
        else:
            self.emit(f"strd {a}, {self.reg(a)}, [sp, #-{8 * r.randrange(1, 5)}]!")
        for _ in range(r.randrange(4)):
            one = self.one()
            if kept not in re.findall(r"\w+", one) and not re.match("v?st", one):
                self.emit(one)
        if r.randrange(2):
            self.pend_keeping(kept)
        self.emit(f"ldr.w sp, {place}" if in_memory else f"mov sp, {kept}")

    def pend_keeping(self, kept):
        """An interrupt, without the register."""
        d = "r0" if kept != "r0" else "r1"
        self.emit("ldr r12, =0xe000e200", f"movs {d}, #{self.r.randrange(1, 32)}", f"str {d}, [r12]")

    def one_by_one(self):
        """Pushed and popped otherwise than by PUSH and POP; what was pushed of r0 to r3 is written through a pointer."""
        r = self.r
        self.emit("push {r0-r3}", ".cfi_adjust_cfa_offset 16")
        p = r.choice(("r4", "r5", "r6", "r8"))
        if r.randrange(2):
            self.emit(f"mov {p}, sp" if r.randrange(2) else f"add {p}, sp, #0",
                      f"{r.choice(('str', 'strb', 'strh'))} {self.reg(p)}, [{p}, #{4 * r.randrange(4)}]")
        for _ in range(r.randrange(3)):
            self.emit(self.plain())
        k = r.randrange(4)
        if k == 0:
            self.emit(f"ldr {self.reg()}, [sp], #8", f"ldrd {p}, r9, [sp], #8")
        elif k == 1:
            self.emit(f"ldm sp, {{r0-r{r.randrange(1, 4)}}}", "add sp, #16")
        elif k == 2:
            self.emit(f"ldr {p}, [sp, #4]", f"ldr {self.reg()}, [sp, #8]!", "add sp, sp, #8")
        else:
            self.emit("mov r12, #16", "add sp, r12")
        self.emit(".cfi_adjust_cfa_offset -16")

    def far_branch(self):
        """Branches through registers and memory, some of them only if a condition passes."""
        r, to, d = self.r, self.label(), self.reg()
        cond, k = r.choice(CONDITIONS), r.randrange(5)
        if k == 0:
            self.emit(f"adr.w {d}, {to}", f"mov pc, {d}")
        elif k == 1:
            self.emit(f"ldr pc, ={to} + 1")
        elif k == 2:
            self.emit(f"ldr {d}, ={to} + 1", f"str {d}, [sp, #-8]!", f"it {cond}", f"ldr{cond} pc, [sp], #8", self.plain(),
                      "add sp, #8")
        elif k == 3:
            self.emit(f"ldr {d}, ={to} + 1", f"it {cond}", f"bx{cond} {d}")
        elif self.number + 1 < self.blocks:
            self.emit(f"it {cond}", f"bl{cond} block{r.randrange(self.number + 1, self.blocks)}")
        if k != 2:
            for _ in range(r.randrange(1, 4)):
                self.emit(self.one())
        self.lines.append(f"{to}:")

    def pend_masked(self):
        """Interrupts that wait until nothing holds them back."""
        r, d = self.r, self.low()
        how = r.choice((("cpsid i", "cpsie i"), ("cpsid i", f"mov {d}, #0\n    msr primask, {d}"), ("cpsid f", "cpsie f"),
                        (f"mov {d}, #{16 * r.randrange(1, 8)}\n    msr basepri, {d}", f"mov {d}, #0\n    msr basepri, {d}")))
        self.emit(how[0])
        for _ in range(r.randrange(1, 3)):
            self.pend()
        for _ in range(r.randrange(3)):
            self.emit(self.one())
        self.emit(how[1])
        k = r.randrange(5)
        if k == 0:
            self.it_block()
        elif k == 1:
            self.emit("push {r0-r3}", "pop {r0-r3}")
        elif k == 2 and self.floats:
            self.emit(self.floating())
        elif k == 3:
            self.service()
        else:
            self.emit(self.one())

    def odd_fault(self):
        """Faults that a HardFault's handler gets, and those of accesses that must be aligned."""
        r, k = self.r, self.r.randrange(6)
        to = self.label()
        plan = r.choice(("skip", "same", "land"))
        off = r.randrange(2)
        if off:
            self.emit(f"ldr r12, ={SHCSR}", "mov lr, #0", "str lr, [r12]")
        self.set_plan(plan, to if plan == "land" else None)
        if k == 0:
            self.emit("udf #3")
        elif k == 1:
            self.emit("mov r12, #0x50000000", f"{r.choice(('ldr', 'str', 'ldrb'))} {self.reg()}, [r12, #4]")
        elif k == 2:
            self.emit("cpsid i", "svc 0", "nop", "nop", "cpsie i")
        elif k == 3 and self.floats:
            self.emit(f"add r12, r7, #{r.choice((1, 2, 3))}", f"{r.choice(('vldr', 'vstr'))} s{r.randrange(16)}, [r12, #8]")
        else:
            a, b = self.r.sample([f"r{n}" for n in (0, 1, 2, 3, 4, 5, 6, 8)], 2)
            p = self.reg(a, b)
            few = ", ".join(f"r{n}" for n in sorted(r.sample([n for n in range(12) if n != 7 and f"r{n}" != p], 2)))
            self.emit(f"add {p}, r7, #{r.choice((1, 2, 3))}", r.choice(UNALIGNED).format(a=a, b=b, p=p, few=few))
        self.emit(self.plain())
        self.lines.append(f"{to}:")
        if k == 2:
            self.emit("cpsie i")
        if off:
            self.emit(f"ldr r12, ={SHCSR}", "mov lr, #0x70000", "str lr, [r12]")

    def to_process(self):
        """A service has its caller go on on the process stack."""
        self.emit("svc 14")
        for _ in range(self.r.randrange(1, 5)):
            self.r.choice((self.pend, self.service, self.one_by_one, self.skip, self.it_block))()
        self.emit("mov r12, #0", "msr control, r12", "isb")

    def without_privileges(self):
        """What only privileged code may write is ignored, or read as 0."""
        r, d = self.r, self.reg()
        self.emit("mov r12, #1", "msr control, r12", "isb")
        for _ in range(r.randrange(1, 6)):
            k = r.randrange(8)
            if k == 0:
                self.emit(f"msr psp, {d}")
            elif k == 1:
                self.emit(f"msr msp, {d}")
            elif k == 2:
                self.emit("cpsid i", f"mrs {d}, primask")
            elif k == 3:
                self.emit(f"mrs {d}, {r.choice(('msp', 'psp', 'control', 'basepri', 'ipsr', 'xpsr'))}")
            elif k == 4:
                self.emit("mov r12, #0", "msr control, r12", "isb")
            elif k == 5 and self.v8:
                self.emit(f"msr {r.choice(('psplim', 'msplim'))}, {d}", f"mrs {d}, {r.choice(('psplim', 'msplim'))}")
            elif k == 6:
                self.service()
            else:
                self.emit(f"{r.choice(('ldrt', 'strt', 'ldrbt', 'strht', 'ldrsht'))} {d}, [r7, #{4 * r.randrange(56)}]")
        self.emit("svc 6")

    def limited(self):
        """v8-M: SP below its limit, by any instruction; it is not written then."""
        r, to, d = self.r, self.label(), self.reg()
        self.emit("ldr r12, =process_stack + 512", "msr psplim, r12", "add r12, #64", "msr psp, r12", "mov r12, #2", "msr control, r12", "isb")
        for _ in range(r.randrange(1, 3)):
            self.set_plan("skip")
            self.emit(r.choice(("sub sp, #128", "sub.w sp, sp, #96", f"mov {d}, sp\n    sub {d}, #200\n    mov sp, {d}", f"str {d}, [sp, #-80]!",
                                "ldr r12, =process_stack + 256\n    mov sp, r12", "push {r0-r11}\n    push {r0-r11}", f"ldr {d}, [sp], #-72",
                                "stmdb sp!, {r0-r12, lr}\n    stmdb sp!, {r0-r12, lr}", "sub sp, #32\n    svc 0")))
            self.emit(self.plain(), "nop")
        self.lines.append(f"{to}:")
        self.emit("mov r12, #0", "msr control, r12", "isb", "msr psplim, r12")

    def literal(self):
        """A function in RAM whose literal is another one each time."""
        if self.number >= 8 or self.copies >= 4:
            return
        place, code, over = f"code_place + {32 * (4 * self.number + self.copies)}", self.label(), self.label()
        self.copies += 1
        d = f"r{self.r.randrange(4)}"
        self.emit("push {r0-r3}", f"ldr r12, ={code}", f"ldr lr, ={place}")
        for _ in range(2):
            self.emit("ldmia r12!, {r0-r3}", "stmia lr!, {r0-r3}")
        self.emit("pop {r0-r3}", f"str {self.reg()}, [lr, #-{4 * self.r.randrange(1, 4)}]", "dsb", "isb",
                  f"ldr r12, ={place} + 1", "blx r12", f"b {over}", ".align 2")
        self.lines.append(f"{code}:")
        self.emit(f"ldr.w {d}, [pc, #{self.r.choice((12, 16, 20, 14))}]", "mov r2, r3", "bx lr", ".align 2", "nop.w", "nop.w", "nop.w", "nop.w",
                  "nop.w", "nop.w", "nop.w")
        self.lines.append(f"{over}:")

    def odd(self):
        ways = [self.moved_stack, self.one_by_one, self.far_branch, self.pend_masked, self.odd_fault, self.to_process,
                self.without_privileges, self.literal]
        if self.v8:
            ways.append(self.limited)
        self.r.choice(ways)()
