/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What handlers of a Cortex-A53 do in programs of corners_a64.py, which has their entries, at EL1
 * to EL3. As corners_a.c.
 */
typedef unsigned int u32;
typedef unsigned long u64;

#define NOINLINE __attribute__((noinline))

#define REGISTER(address) (*(volatile u32 *)(address))
#define GICD_SGIR         REGISTER(0x08000f00ul)
#define GICC_IAR          REGISTER(0x0801000cul)
#define GICC_EOIR         REGISTER(0x08010010ul)

#define TIMER_INTERRUPT 27u
#define FAST            8u /* software interrupts from here on are Secure, FIQs to EL3 */
#define TO_ITSELF       (2u << 24)
#define TO_GROUP_1      (1u << 15)

#define CLASS(esr) ((esr) >> 26 & 63)
#define CLASS_SVC  0x15u /* HVC, SMC */
#define FLAGS      0xf0000000ul
#define MASKED     0x3c0ul

enum { PLAN_SKIP, PLAN_AGAIN = 2, PLAN_LAND };

struct frame {
    u64 x[31], sp, pc, psr, esr, level;
};

void finished(void);
void task_b(void);
void synchronous(struct frame *f);
void interrupt(struct frame *f);

extern u64 arena[128]; /* what blocks work on: the end of memory */
volatile u32 plan, change;
volatile u64 landing, changed_by;
volatile u32 faults, services, ticks, interrupts[16], chain, swaps;
struct {
    struct frame frame;
    u64 stack[64];
} other __attribute__((aligned(16)));

static void ask(u32 number, u64 level)
{
    if (number < FAST || level == 3)
        GICD_SGIR = TO_ITSELF | (number < FAST && level == 3 ? TO_GROUP_1 : 0) | number;
}

NOINLINE static void fault(struct frame *f)
{
    u32 now = plan;

    if (++faults >= FAULTS)
        finished();
    plan = PLAN_SKIP;
    if (now == PLAN_AGAIN && f->level == 1) {
        u64 control;
        __asm__ volatile("mrs %0, sctlr_el1\n    bic %0, %0, #2\n    msr sctlr_el1, %0\n    mov "
                         "%0, #0x300000\n    msr cpacr_el1, %0\n    isb"
                         : "=r"(control)::"memory");
        return;
    }
    if (change & 0x20)
        f->x[change & 15 & 11] ^= changed_by;
    if (change & 0x40)
        f->psr ^= changed_by & FLAGS;
    change = 0;
    f->pc = now == PLAN_LAND ? landing : f->pc + 4;
}

/* All that a task has with what another one has: both asked for it here. */
NOINLINE static void change_task(struct frame *f)
{
    u64 *one = (u64 *)f, *two = (u64 *)&other.frame;

    if ((f->psr & 15) != 0 && (f->psr & 15) != 4)
        return;
    if (++swaps == 1) {
        other.frame.pc = (u64)task_b;
        other.frame.psr = OTHER_MODE;
        other.frame.sp = (u64)(other.stack + 64);
    }
    for (u32 i = 0; i < 34; i++) {
        u64 kept = one[i];
        one[i] = two[i];
        two[i] = kept;
    }
}

NOINLINE static void serve(struct frame *f, u32 number)
{
    services++;
    switch (number) {
    case 0:
        f->x[0] = f->x[0] * 3 + f->x[1] + services;
        break;
    case 1:
        f->x[1] ^= services;
        f->x[2] += f->x[3];
        f->x[3] = chain;
        break;
    case 2:
        f->pc += 4;
        break;
    case 3:
        f->psr ^= f->x[0] << 28 & FLAGS;
        break;
    case 4: /* an argument behind the SVC */
        f->x[0] = *(const u32 *)f->pc;
        f->pc += 4;
        break;
    case 5:
        ask(1, f->level);
        ask(9, f->level);
        break;
    case 7:
        f->x[19] = chain + 7;
        break;
    case 8:
        change_task(f);
        break;
    case 9:
        f->sp -= 32;
        break;
    case 10:
        f->x[30] += 4;
        f->x[29] = f->sp;
        break;
    default:
        if (number >= 0x20 && number < 0x30 && f->level >= (number >> 2 & 3))
            f->psr = (number & 15) | ((number & 15) >= 8 ? MASKED : 0);
        break;
    }
}

NOINLINE void synchronous(struct frame *f)
{
    u64 class = CLASS(f->esr);

    if (class >= CLASS_SVC && class < CLASS_SVC + 3)
        serve(f, *(const u32 *)(f->pc - 4) >> 5 & 0xffff); /* nobody knows ESR */
    else
        fault(f);
}

static void start_timer(void)
{
    __asm__ volatile("msr cntv_tval_el0, %0\n    msr cntv_ctl_el0, %1" ::"r"((u64)TICK * 2),
                     "r"(1ul));
}

static void tick(u64 level)
{
    start_timer();
    if (++ticks == TICKS)
        finished();
    if (ticks % 3 == 0)
        ask(ticks / 3 % 8, level);
}

/* Each number by a comparison of its own: which one it is nobody knows but by the path. */
NOINLINE void interrupt(struct frame *f)
{
    u32 number = GICC_IAR, which = number & 0x3ff;

    if (which == TIMER_INTERRUPT) {
        tick(f->level);
    } else if (which == 1) {
        chain = chain * 3 + ++interrupts[1];
        if (chain & 1)
            ask(2, f->level);
    } else if (which == 2) {
        arena[32 + ++interrupts[2] % 16] += chain;
    } else if (which == 3) {
        __asm__ volatile("svc #0" ::: "x0", "memory");
#ifdef HARD
    } else if (which == 4) {
        u32 kept = plan, kept_change = change;
        plan = change = 0;
        __asm__ volatile("brk #1" ::: "memory");
        plan = kept;
        change = kept_change;
#endif
    } else if (which == 5) {
        f->x[9] ^= chain; /* it should not */
    } else if (which == 9) {
        arena[++interrupts[9] % 16] ^= interrupts[9];
    } else {
        interrupts[0]++;
    }
    GICC_EOIR = number;
    if (interrupts[1] & 1)
        __asm__ volatile("msr daifclr, #2\n    nop\n    msr daifset, #2" ::: "memory");
}

void begin(void)
{
    for (u32 i = 0; i < 120; i++)
        arena[i] = i * 0x0123456789abcdeful;
    start_timer();
}
