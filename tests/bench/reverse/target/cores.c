/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two Cortex-A9 of vexpress-a9, or two Cortex-A53 of virt, that share RAM: counters, a lock, a ring
 * of messages, variables beside each other, and words of each other's stacks. A timer makes QEMU
 * change cores often.
 */
typedef unsigned int u32;

#define REGISTER(address) (*(volatile u32 *)(address))
#define RING              8u

struct message {
    u32 number, text[3];
};

void main(u32 core);
void second_main(u32 core);

volatile u32 awake, lock, counter, loose, mine[2], put, taken;
volatile struct message ring[RING];
volatile u32 *volatile mailbox[2];
u32 own[2][16];
u32 kept[32]; /* the first core's alone */

static inline void start_timer(void)
{
#ifdef __aarch64__
    __asm__ volatile("msr cntv_tval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb" ::"r"(TICK + 0ul),
                     "r"(3ul));
#else
    REGISTER(0x1e000600u) = TICK;
    REGISTER(0x1e000608u) = 3;
#endif
}

/* That of the Cortex-A53 does not start again by itself. */
static inline void go_on(void)
{
#ifdef __aarch64__
    start_timer();
#endif
}

__attribute__((noinline)) static u32 input(void)
{
    return REGISTER(INPUT) >> 3 & 0xfff;
}

__attribute__((noinline)) static void take_lock(void)
{
    while (__atomic_exchange_n(&lock, 1, __ATOMIC_ACQUIRE))
        go_on();
}

__attribute__((noinline)) static void give_lock(void)
{
    __atomic_store_n(&lock, 0, __ATOMIC_RELEASE);
}

__attribute__((noinline)) static u32 count(u32 core, u32 by)
{
    take_lock();
    counter += by;
    give_lock();
    loose += core + 1;
    mine[core] += by;
    own[core][by & 15] += loose;
    return __atomic_add_fetch(&mine[!core], 3, __ATOMIC_SEQ_CST);
}

/* What the other core gets is a word of this one's stack. */
__attribute__((noinline)) static u32 lend(u32 core, u32 round)
{
    volatile u32 words[4] = {round, core, 7, 9};

    mailbox[core] = words;
    for (u32 i = 0; i < (round & 3); i++)
        words[1] += count(core, i);
    mailbox[core] = 0;
    return words[0] + words[1] + words[2] + words[3];
}

__attribute__((noinline)) static void borrow(u32 core)
{
    volatile u32 *there = mailbox[!core];

    if (there) {
        there[2] += 5;
        there[3] ^= input();
    }
}

__attribute__((noinline)) static void send(u32 core, u32 round)
{
    if (put - taken < RING) {
        volatile struct message *m = &ring[put % RING];
        m->number = round;
        m->text[0] = core;
        m->text[1] = own[core][round & 15];
        m->text[2] = round * 3;
        put++;
    }
}

__attribute__((noinline)) static u32 receive(void)
{
    u32 sum = 0;

    if (taken != put) {
        volatile struct message *m = &ring[taken % RING];
        sum = m->number + m->text[0] + m->text[1] + m->text[2];
        m->number = 0;
        taken++;
    }
    return sum;
}

__attribute__((noinline)) static u32 turn(u32 core, u32 round)
{
    go_on();
    u32 sum = lend(core, round);

    if (BORROWERS >> core & 1)
        borrow(core);
    if (core == ROLE)
        send(core, round);
    else
        sum += receive();
    own[core][round & 15] = sum;
    return sum + count(core, round & 7);
}

/* Of the first core alone. */
__attribute__((noinline)) void note(u32 round)
{
    own[0][0] = round;
    for (u32 i = 0; i < 4; i++)
        kept[(round + i) % 32] += kept[(round * 5 + i) % 32] + round + 1;
    __atomic_add_fetch(&kept[round * 3 % 32], round, __ATOMIC_SEQ_CST);
    __atomic_exchange_n((unsigned char *)&kept[round * 7 % 32] + 2, (unsigned char)round,
                        __ATOMIC_RELAXED);
}

void main(u32 core)
{
    start_timer();
    awake = 1;
    for (u32 round = 0; round < ROUNDS; round++) {
        note(round);
        turn(core, round);
    }
}

void second_main(u32 core)
{
    while (!awake)
        go_on();
    for (u32 round = 0;; round++)
        turn(core, round);
}
