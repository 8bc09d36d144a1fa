/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vectors and handlers for programs of corners.py: faults that are repaired or gone over by a
 * changed frame, services that change what was stacked, interrupts that pend each other, threads on
 * either stack. What is to be done about the next fault is in `plan`.
 */
#include "corners.h"
#include "finish_m.h"

#define FRAME_LR  5
#define FRAME_PC  6
#define FRAME_PSR 7
#define PSR_T     (1u << 24)
#define PSR_IT    0x0600fc00u

extern u32 stack_top[];
void start(void);
void bad(void);
void fault_entry(void);
void service_entry(void);
void pend(void);
void tick(void);
void nmi(void);
void irq0(void);
void irq1(void);
void irq2(void);
void irq3(void);
void defer(void);

/* What blocks work on: fields of one structure keep their order. */
struct arena arena __attribute__((aligned(256)));
volatile u32 plan, landing, change, changed_by;
volatile u32 faults, services, pends, ticks, nmis, interrupts[4], chain, deferrals;
volatile u32 steps;
u32 process_stack[PROCESS_WORDS] __attribute__((aligned(256)));
u32 code_place[256] __attribute__((aligned(32))), jump_buffer[9];
#ifdef FLOATS
volatile float level;
#endif

__attribute__((section(".vectors"), used)) static void (*const vectors[])(void) = {
    (void (*)(void))stack_top,
    start,
    nmi,
    fault_entry,
    fault_entry,
    fault_entry,
    fault_entry,
    0,
    0,
    0,
    0,
    service_entry,
    bad,
    0,
    pend,
    tick,
    irq0,
    irq1,
    irq2,
    irq3,
    defer,
};

static void blend(u32 by);

void bad(void)
{
    finished();
}

/* The frame of whatever was interrupted, in r0. */
#if ENTRY == 0
#define WITH_FRAME(function)                                                                       \
    __asm__("tst lr, #4\n    ite eq\n    mrseq r0, msp\n    mrsne r0, psp\n    b " function)
#elif ENTRY == 1
#define WITH_FRAME(function)                                                                       \
    __asm__("mov r0, sp\n    tst lr, #4\n    it ne\n    mrsne r0, psp\n    push {r0, lr}\n    "    \
            "bl " function "\n    pop {r0, pc}")
#elif ENTRY == 2
#define WITH_FRAME(function)                                                                       \
    __asm__("lsls r1, lr, #29\n    bmi 1f\n    mrs r0, msp\n    b 2f\n1:  mrs r0, psp\n"           \
            "2:  push {r4-r11, lr}\n    sub sp, #4\n    bl " function                              \
            "\n    add sp, #4\n    ldmia sp!, {r4-r11, lr}\n    bx lr")
#else
#define WITH_FRAME(function)                                                                       \
    __asm__("mrs r0, msp\n    mrs r1, psp\n    ands r2, lr, #4\n    it ne\n    movne r0, r1\n"     \
            "    push {r3, lr}\n    bl " function "\n    ldr r3, [sp], #4\n    ldr pc, [sp], #4")
#endif

__attribute__((naked)) void fault_entry(void)
{
    WITH_FRAME("repair");
}

/* Number 15 gives its own frame up, and goes back by that of defer(). */
__attribute__((naked)) void service_entry(void)
{
    __asm__("tst lr, #4\n    bne 3f\n    ldr r0, [sp, #24]\n    ldrh r0, [r0, #-2]\n"
            "    movw r1, #0xdf0f\n    cmp r0, r1\n    bne 3f\n    add sp, #32\n"
            "    pop {r3, lr}\n    bx lr\n3:");
    /* Number 14 has its caller go on on the process stack. */
    __asm__("tst lr, #4\n    bne 3f\n    tst lr, #16\n    beq 3f\n    ldr r0, [sp, #24]\n"
            "    ldrh r0, [r0, #-2]\n    movw r1, #0xdf0e\n    cmp r0, r1\n    bne 3f\n"
            "    ldr r12, =process_stack + 4 * 200\n    msr psp, r12\n    pop {r0-r3}\n"
            "    stmia r12!, {r0-r3}\n    pop {r0-r3}\n    stmia r12!, {r0-r3}\n"
            "    lsls r3, #22\n    it mi\n    addmi sp, #4\n    orr lr, #4\n    bx lr\n"
            "    .ltorg\n3:");
    WITH_FRAME("serve");
}

/* The rest of an interrupt in thread mode, below the frame of what it interrupted. */
NOINLINE __attribute__((used)) void deferred(u32 a, u32 b)
{
    deferrals++;
    arena.words[deferrals % 16] += a + b;
    if (deferrals & 1)
        NVIC_ISPR = 2;
    blend(deferrals);
}

__attribute__((naked)) void defer(void)
{
    __asm__(
        "mov r0, sp\n    lsls r0, #29\n    it ne\n    bxne lr\n" /* a frame is at a multiple of 8 */
        "    push {r3, lr}\n    ldr r2, =deferred\n    bic r2, #1\n    mov r1, #0x01000000\n"
        "    ldr r3, =4f\n    orr r3, #1\n    sub sp, #32\n    str r1, [sp, #28]\n"
        "    str r2, [sp, #24]\n    str r3, [sp, #20]\n    mvn lr, #6\n    bx lr\n"
        "4:\n"
#ifdef FLOATS
        "    isb\n    mrs r0, control\n    bics r0, #4\n    msr control, r0\n    isb\n"
#endif
        "    svc 15\n    .ltorg\n");
}

static u32 code_size(u32 pc)
{
    return *(const volatile unsigned short *)pc >> 11 >= 0x1d ? 4 : 2;
}

/* The state of an IT block one instruction on. */
static u32 advanced(u32 psr)
{
    u32 it = (psr >> 25 & 3) | (psr >> 8 & 0xfc);

    it = it & 7 ? (it & 0xe0) | (it << 1 & 0x1f) : 0;
    return (psr & ~PSR_IT) | (it & 3) << 25 | (it & 0xfc) << 8;
}

NOINLINE __attribute__((used)) void repair(u32 *frame)
{
    u32 status = CFSR, now = plan;

    faults++;
    CFSR = status;
    HFSR = HFSR;
    if (change & 0x10 && !(status & (CFSR_MSTKERR | CFSR_STKERR | CFSR_STKOF))) {
        frame[change & 7] ^= changed_by & ((change & 7) == FRAME_PSR ? 0xf0000000u : ~0u);
        change = 0;
    }
    if (status & (CFSR_MSTKERR | CFSR_STKERR | CFSR_STKOF)) {
        /* The frame is not there, or not all of it: another one. */
        frame = process_stack + PROCESS_WORDS - 8;
        for (u32 i = 0; i < 6; i++)
            frame[i] = faults + i;
        frame[FRAME_PC] = landing & ~1u;
        frame[FRAME_PSR] = PSR_T;
        __asm__ volatile("msr psp, %0" ::"r"(frame));
    } else if (now == PLAN_BACK || status & CFSR_FETCH) {
        frame[FRAME_PC] = frame[FRAME_LR] & ~1u;
        frame[FRAME_PSR] |= PSR_T;
    } else if (now == PLAN_AGAIN) {
        MPU_CTRL = 0;
        CCR &= ~0x18u;
        CPACR |= 0xfu << 20;
        __asm__ volatile("dsb\n    isb" ::: "memory");
    } else if (now == PLAN_LAND) {
        frame[FRAME_PC] = landing & ~1u;
        frame[FRAME_PSR] &= ~PSR_IT;
    } else {
        frame[FRAME_PC] += code_size(frame[FRAME_PC]);
        if (now != PLAN_SKIP_SAME_IT)
            frame[FRAME_PSR] = advanced(frame[FRAME_PSR]);
    }
    plan = PLAN_SKIP;
    if (faults >= FAULTS)
        finished();
}

NOINLINE __attribute__((used)) void serve(u32 *frame)
{
    u32 number = ((const volatile unsigned char *)frame[FRAME_PC])[-2];

    services++;
    switch (number) {
    case 0:
        frame[0] = frame[0] * 3 + frame[1] + services;
        break;
    case 1:
        frame[1] ^= services;
        frame[2] += frame[3];
        frame[3] = chain;
        break;
    case 2: /* the next one is of two bytes */
        frame[FRAME_PC] += 2;
        break;
    case 3:
        frame[FRAME_PSR] ^= frame[0] << 28;
        break;
    case 4: /* an argument behind the SVC */
        frame[0] = *(const volatile unsigned short *)frame[FRAME_PC];
        frame[FRAME_PC] += 2;
        break;
    case 5:
        ICSR = ICSR_PENDSVSET;
        NVIC_ISPR = 2;
        break;
    case 6: {
        u32 control;
        __asm__ volatile("mrs %0, control" : "=r"(control));
        control &= ~1u;
        __asm__ volatile("msr control, %0\n    isb" ::"r"(control));
        break;
    }
    case 7:
        frame[4] = chain + 7;
        frame[FRAME_LR] += 0;
        break;
    case 8:
        frame[FRAME_PC] = landing & ~1u;
        break;
    default:
        break;
    }
}

void pend(void)
{
    if ((pends++ & 3) + PEND_AGAIN > 3)
        ICSR = ICSR_PENDSVSET;
    arena.words[pends % 16] += pends;
}

NOINLINE static void blend(u32 by)
{
#ifdef FLOATS
    level = level * 0.5f + (float)by;
#else
    chain += by;
#endif
}

void tick(void)
{
    if (++ticks == TICKS)
        finished();
    if (ticks % 3 == 0)
        ICSR = ICSR_PENDSVSET;
    if (ticks % 4 == 1)
        NVIC_ISPR = 1u << (ticks & 3);
    if (ticks % 5 == 0)
        blend(ticks);
}

void nmi(void)
{
    nmis++;
    arena.words[nmis % 16] ^= nmis;
}

void irq0(void)
{
    interrupts[0]++;
    if (interrupts[0] & 1)
        blend(2);
}

void irq1(void)
{
    interrupts[1]++;
    chain = chain * 3 + interrupts[1];
    if (interrupts[1] & 1)
        NVIC_ISPR = 1;
    blend(3);
}

/* Two of a kind that compilers do not make. */
__attribute__((naked)) void irq2(void)
{
    __asm__("push {r4, lr}\n    ldr r4, =interrupts\n    ldr r0, [r4, #8]\n    adds r0, #1\n"
            "    str r0, [r4, #8]\n    tst r0, #1\n    ldr r1, =0xe000e200\n    itt ne\n"
            "    movne r2, #2\n    strne r2, [r1]\n    ldr r4, [sp], #4\n    ldr pc, [sp], #4\n"
            "    .ltorg\n");
}

__attribute__((naked)) void irq3(void)
{
    __asm__(
        "ldr r2, =interrupts\n    ldr r3, [r2, #12]\n    add r3, r3, #1\n    str r3, [r2, #12]\n"
        "    ldr r1, =0xe000e200\n    movs r0, #6\n    str r0, [r1]\n    dsb\n    mov r12, r3\n"
        "    bx lr\n    .ltorg\n");
}

__attribute__((naked)) void finished(void)
{
    FINISH_M;
}

/* Nothing may be read or written in the guard; the second way is that of v8-M. */
void guard_on(void)
{
#ifdef MPU_V8
    for (u32 i = 0; i < 2; i++) {
        MPU_RNR = i;
        MPU_RBAR = (u32)arena.guard | 2u;
        MPU_RASR = ((u32)arena.guard + 0xe0u) | 1u;
    }
#else
    MPU_RNR = 0;
    MPU_RBAR = (u32)arena.guard;
    MPU_RASR = 7u << 1 | 1u;
#endif
    MPU_CTRL = 5;
    __asm__ volatile("dsb\n    isb" ::: "memory");
}

void guard_off(void)
{
    MPU_CTRL = 0;
    __asm__ volatile("dsb\n    isb" ::: "memory");
}

void start(void)
{
#ifdef FLOATS
    CPACR |= 0xfu << 20;
    __asm__ volatile("dsb\n    isb" ::: "memory");
    level = 1.5f;
#endif
#ifdef UNALIGNED
    CCR = 0;
#endif
#ifdef MANUAL
    FPCCR = 0;
    __asm__ volatile("dsb\n    isb\n    msr control, %0\n    isb" ::"r"(0) : "memory");
#endif
    NVIC_IPR = 0x80604020u;
    NVIC_IPR4 = 0xf8u;
    SHPR1 = 0;
    SHPR2 = SVC_PRIORITY << 24;
    SHPR3 = TICK_PRIORITY << 24 | 0xf0u << 16;
    SHCSR |= 7u << 16;
    NVIC_ISER = 0x1f;
    SYST_RVR = TICK;
    SYST_CVR = 0;
    SYST_CSR = 7;
    for (u32 i = 0; i < 64; i++)
        arena.words[i] = i * 0x01234567u;
    run_blocks();
    finished();
}
