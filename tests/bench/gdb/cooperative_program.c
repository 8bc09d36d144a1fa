/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For a virtual Cortex-M4: three tasks that give way by themselves, without an interrupt: in their
 * own function, in what it calls, and one of them for good. `current_task` and `level` are what the
 * board file of configs/virtual/tasks.c watches. It ends in stopped_here().
 */
#define ROUNDS      200
#define STACK_WORDS 128
#define SAVED       9 /* r4-r11, PC */

struct task {
    unsigned *top; /* of its stack, while it does not run */
    struct task *next;
    unsigned stack[STACK_WORDS];
};

extern unsigned data_load[], data_start[], data_end[], bss_start[], bss_end[], stack_top[];

void reset_handler(void);
void stopped_here(void);

static struct task nobody __attribute__((aligned(8)));
struct task reading __attribute__((aligned(8)));
struct task adding __attribute__((aligned(8)));
struct task once __attribute__((aligned(8)));
volatile unsigned level = 20;
struct task *volatile current_task = &nobody;
static volatile unsigned sum;

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))stack_top,
    reset_handler,
    stopped_here,
    stopped_here,
};

void stopped_here(void)
{
    for (;;)
        __asm__ volatile("nop");
}

__attribute__((naked)) static void swap(unsigned **old, unsigned *next)
{
    (void)old, (void)next; /* r0, r1 */
    __asm__("push {r4-r11, lr}\n"
            "    str sp, [r0]\n"
            "    mov sp, r1\n"
            "    pop {r4-r11, pc}\n");
}

static void yield(void)
{
    struct task *old = current_task, *next = old->next;
    current_task = next;
    swap(&old->top, next->top);
}

static void wait(unsigned rounds)
{
    for (volatile unsigned i = 0; i < rounds; i++)
        ;
}

static void deep(unsigned depth)
{
    if (depth)
        deep(depth - 1);
    else
        yield();
    wait(depth);
}

static void read(void)
{
    for (unsigned n = 0; n < ROUNDS; n++) {
        level = n * 7 + 1;
        wait(n % 5);
        deep(n % 4);
    }
    stopped_here();
}

static void add(void)
{
    for (;;) {
        for (unsigned i = 0; i < level % 9; i++)
            sum += level;
        yield();
    }
}

/* It leaves the ring, and is not come back to. */
static void do_once(void)
{
    wait(20);
    adding.next = &reading;
    yield();
}

static void prepare(struct task *t, struct task *next, void (*begin)(void))
{
    unsigned *top = t->stack + STACK_WORDS;

    *--top = (unsigned)begin;
    t->top = top - (SAVED - 1);
    t->next = next;
}

void reset_handler(void)
{
    unsigned *from = data_load;

    for (unsigned *to = data_start; to < data_end;)
        *to++ = *from++;
    for (unsigned *to = bss_start; to < bss_end;)
        *to++ = 0;
    prepare(&reading, &adding, read);
    prepare(&adding, &once, add);
    prepare(&once, &reading, do_once);
    nobody.next = &reading;
    wait(8000);
    yield();
}
