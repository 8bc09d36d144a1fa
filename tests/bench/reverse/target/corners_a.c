/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What handlers of a Cortex-A9 do in programs of corners_a.py, which has their entries: faults that
 * are repaired, gone over or left, services that change what their caller has, interrupts that ask
 * for others. What is to be done about the next fault is in `plan`.
 */
typedef unsigned int u32;

#define NOINLINE __attribute__((noinline))

#define REGISTER(address) (*(volatile u32 *)(address))
#define GICC_CTLR         REGISTER(0x1e000100u)
#define GICC_PMR          REGISTER(0x1e000104u)
#define GICC_IAR          REGISTER(0x1e00010cu)
#define GICC_EOIR         REGISTER(0x1e000110u)
#define TIMER_LOAD        REGISTER(0x1e000600u)
#define TIMER_CONTROL     REGISTER(0x1e000608u)
#define TIMER_STATUS      REGISTER(0x1e00060cu)
#define GICD_CTLR         REGISTER(0x1e001000u)
#define GICD_IGROUPR0     REGISTER(0x1e001080u)
#define GICD_ISENABLER0   REGISTER(0x1e001100u)
#define GICD_IPRIORITYR   ((volatile unsigned char *)0x1e001400u)
#define GICD_SGIR         REGISTER(0x1e001f00u)

#define TIMER_INTERRUPT 29u
#define FAST            8u /* software interrupts from here on are FIQs */
#define TO_GROUP_1      (1u << 15)
#define TO_ITSELF       (2u << 24)

#define PSR_MODE 0x1fu
#define PSR_T    0x20u
#define PSR_IT   0x0600fc00u
#define SYSTEM   0x1fu
#define USER     0x10u

enum { PLAN_SKIP, PLAN_SKIP_SAME_IT, PLAN_AGAIN, PLAN_LAND };

struct frame {
    u32 r[13], lr, pc, psr;
};

void run_blocks(void);
void finished(void);
void swap_banked(u32 *two); /* SP and LR of System mode with these */
void task_b(void);
void fault(struct frame *f);
void serve(struct frame *f);
void interrupt(struct frame *f);
void begin(void);

extern u32 arena[256]; /* what blocks work on: the end of memory, nothing is behind it */
volatile u32 plan, landing, change, changed_by;
volatile u32 faults, services, ticks, interrupts[16], chain, swaps;
struct {
    struct frame frame;
    u32 banked[2];
    u32 stack[128];
} other __attribute__((aligned(8)));

static u32 code_size(const struct frame *f)
{
    return !(f->psr & PSR_T) || *(const volatile unsigned short *)f->pc >> 11 >= 0x1d ? 4 : 2;
}

/* The state of an IT block one instruction on. */
static u32 advanced(u32 psr)
{
    u32 it = (psr >> 25 & 3) | (psr >> 8 & 0xfc);

    it = it & 7 ? (it & 0xe0) | (it << 1 & 0x1f) : 0;
    return (psr & ~PSR_IT) | (it & 3) << 25 | (it & 0xfc) << 8;
}

static void ask(u32 number)
{
    GICD_SGIR = TO_ITSELF | (number < FAST ? TO_GROUP_1 : 0) | number;
}

NOINLINE void fault(struct frame *f)
{
    u32 now = plan, control;

    if (++faults >= FAULTS)
        finished();
    plan = PLAN_SKIP;
    if (now == PLAN_AGAIN) {
        __asm__ volatile("mrc p15, 0, %0, c1, c0, 0" : "=r"(control));
        control &= ~2u;
        __asm__ volatile("mcr p15, 0, %0, c1, c0, 0\n    isb" ::"r"(control) : "memory");
        return;
    }
    if (change & 0x10)
        f->r[change & 15 & 11] ^= changed_by;
    if (change & 0x20)
        f->psr ^= changed_by & 0xf0000000u;
    change = 0;
    if (now == PLAN_LAND) {
        f->pc = landing & ~1u;
        f->psr &= ~(PSR_IT | PSR_T);
        f->psr |= landing & 1 ? PSR_T : 0;
        return;
    }
    f->pc += code_size(f);
    if (now != PLAN_SKIP_SAME_IT)
        f->psr = advanced(f->psr);
}

/* All that a task has with what another one has: both asked for it here. */
NOINLINE static void change_task(struct frame *f)
{
    u32 mode = f->psr & PSR_MODE;

    if (mode != SYSTEM && mode != USER)
        return;
    if (++swaps == 1) {
        other.frame.pc = (u32)task_b & ~1u;
        other.frame.psr = SYSTEM | ((u32)task_b & 1) << 5;
        other.banked[0] = (u32)(other.stack + 128);
    }
    for (u32 i = 0; i < 16; i++) {
        u32 *one = (u32 *)f + i, *two = (u32 *)&other.frame + i, kept = *one;
        *one = *two;
        *two = kept;
    }
    swap_banked(other.banked);
}

NOINLINE void serve(struct frame *f)
{
    u32 number = f->psr & PSR_T ? ((const volatile unsigned short *)f->pc)[-1] & 0xff
                                : ((const volatile u32 *)f->pc)[-1] & 0xffff;

    services++;
    switch (number) {
    case 0:
        f->r[0] = f->r[0] * 3 + f->r[1] + services;
        break;
    case 1:
        f->r[1] ^= services;
        f->r[2] += f->r[3];
        f->r[3] = chain;
        break;
    case 2: /* the next one is of two bytes, or four */
        f->pc += f->psr & PSR_T ? 2 : 4;
        break;
    case 3:
        f->psr ^= f->r[0] << 28;
        break;
    case 4: /* an argument behind the SVC */
        f->r[0] =
            f->psr & PSR_T ? *(const volatile unsigned short *)f->pc : *(const volatile u32 *)f->pc;
        f->pc += f->psr & PSR_T ? 2 : 4;
        break;
    case 5:
        ask(1);
        ask(9);
        break;
    case 6:
        f->psr |= SYSTEM;
        break;
    case 7:
        f->r[12] = chain + 7;
        break;
    case 8:
        change_task(f);
        break;
    case 9:
        f->psr ^= f->r[1] & 0x080f0000u;
        break;
    default:
        break;
    }
}

static void tick(void)
{
    TIMER_STATUS = 1;
    if (++ticks == TICKS)
        finished();
    if (ticks % 3 == 0)
        ask(ticks / 3 % 16);
}

/* Each number by a comparison of its own: which one it is nobody knows but by the path. */
NOINLINE void interrupt(struct frame *f)
{
    u32 number = GICC_IAR, which = number & 0x3ff;

    (void)f;
    if (which == TIMER_INTERRUPT) {
        tick();
    } else if (which == 1) {
        chain = chain * 3 + ++interrupts[1];
        if (chain & 1)
            ask(10);
    } else if (which == 2) {
        arena[64 + ++interrupts[2] % 16] += chain;
    } else if (which == 3) {
        __asm__ volatile("svc #0" ::: "r0", "lr", "cc", "memory");
#ifdef HARD
    } else if (which == 4) {
        u32 kept = plan, kept_change = change;
        plan = change = 0;
        __asm__ volatile("udf #1" ::: "lr", "memory");
        plan = kept;
        change = kept_change;
#endif
    } else if (which == 9) {
        arena[++interrupts[9] % 16] ^= interrupts[9];
        if (chain & 2)
            ask(2);
    } else {
        interrupts[0]++;
    }
    GICC_EOIR = number;
    if (interrupts[1] & 1)
        __asm__ volatile("cpsie i\n    nop\n    cpsid i" ::: "lr", "memory");
}

void begin(void)
{
    for (u32 i = 0; i < 128; i++)
        arena[i] = i * 0x01234567u;
    GICD_IGROUPR0 = 0xffff0000u | ((1u << FAST) - 1);
    for (u32 i = 0; i < 32; i++)
        GICD_IPRIORITYR[i] = i < FAST ? 0x80 + 8 * i : 0xa0;
    for (u32 i = FAST; i < 16; i++)
        GICD_IPRIORITYR[i] = 0x20;
    GICD_ISENABLER0 = 1u << TIMER_INTERRUPT | 0xffffu;
    GICC_PMR = 0xff;
    GICC_CTLR = 0xf;
    GICD_CTLR = 3;
    TIMER_LOAD = TICK * 16u / 5u;
    TIMER_CONTROL = 7;
}
