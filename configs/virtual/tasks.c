/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two tasks on a Cortex-M4, without a library: one measures, one prints what was measured to port 0
 * of the ITM. The timer's interrupt lets the other one run. `current_task` and `level` are what the
 * board file watches; they are the only initialised data, so that their addresses stay.
 */
#define REGISTER(address) (*(volatile unsigned *)(address))
#define PORT0             (*(volatile unsigned char *)0xe0000000u)
#define SYST_CSR          REGISTER(0xe000e010u)
#define SYST_RVR          REGISTER(0xe000e014u)
#define SYST_CVR          REGISTER(0xe000e018u)
#define ICSR              REGISTER(0xe000ed04u)

#define PENDSVSET    (1u << 28)
#define TICK_CYCLES  60000u
#define STACK_WORDS  128
#define FIRST_STATUS 0x01000000u
#define LINES        120

struct task {
    unsigned *top; /* of its stack, while it does not run */
    unsigned stack[STACK_WORDS];
};

/* Of the linker script. */
extern unsigned data_load[], data_start[], data_end[], bss_start[], bss_end[], stack_top[];

void reset_handler(void);
void stopped_here(void);
void choose_task(void);
void pendsv_handler(void);
void systick_handler(void);

static struct task nobody __attribute__((aligned(8)));
struct task measuring __attribute__((aligned(8)));
struct task printing __attribute__((aligned(8)));
struct task *volatile current_task = &nobody;
volatile unsigned level = 20;
volatile unsigned ticks;

__attribute__((section(".vectors"), used)) static void (*const vectors[16])(void) = {
    (void (*)(void))stack_top,
    reset_handler,
    stopped_here,
    stopped_here,
    stopped_here,
    stopped_here,
    stopped_here,
    0,
    0,
    0,
    0,
    stopped_here,
    stopped_here,
    0,
    pendsv_handler,
    systick_handler,
};

void stopped_here(void)
{
    for (;;)
        __asm__ volatile("nop");
}

void systick_handler(void)
{
    ticks++;
    ICSR = PENDSVSET;
}

__attribute__((used)) void choose_task(void)
{
    current_task = current_task == &measuring ? &printing : &measuring;
}

/* Registers of the one go to its stack, those of the other come from there. */
__attribute__((naked)) void pendsv_handler(void)
{
    __asm__("mrs r0, psp\n"
            "    stmdb r0!, {r4-r11}\n"
            "    ldr r3, =current_task\n"
            "    ldr r1, [r3]\n"
            "    str r0, [r1]\n"
            "    push {r3, lr}\n"
            "    bl choose_task\n"
            "    pop {r3, lr}\n"
            "    ldr r1, [r3]\n"
            "    ldr r0, [r1]\n"
            "    ldmia r0!, {r4-r11}\n"
            "    msr psp, r0\n"
            "    mvn lr, #2\n"
            "    bx lr\n"
            "    .ltorg\n");
}

static unsigned read_sensor(unsigned seed)
{
    return (seed * 1664525u + 1013904223u) >> 26;
}

static unsigned smooth(unsigned old, unsigned sample)
{
    return (7 * old + sample + 4) / 8;
}

static void wait(unsigned rounds)
{
    for (volatile unsigned i = 0; i < rounds; i++)
        ;
}

static void measure(void)
{
    for (unsigned n = 0;; n++) {
        level = smooth(level, read_sensor(n));
        wait(50);
    }
}

static void print_text(const char *text)
{
    while (*text)
        PORT0 = (unsigned char)*text++;
}

static void print_number(unsigned number)
{
    if (number >= 10)
        print_number(number / 10);
    PORT0 = (unsigned char)('0' + number % 10);
}

static void print(void)
{
    for (unsigned line = 1; line <= LINES; line++) {
        print_text("line ");
        print_number(line);
        print_text(": level ");
        print_number(level);
        print_text("\r\n");
        wait(200);
    }
    stopped_here();
}

/* Its first switch takes these registers: as if it had been interrupted before it began. */
static void prepare(struct task *t, void (*begin)(void))
{
    unsigned *top = t->stack + STACK_WORDS;

    *--top = FIRST_STATUS;
    *--top = (unsigned)begin & ~1u;
    *--top = (unsigned)stopped_here;
    t->top = top - 5 - 8;
}

void reset_handler(void)
{
    unsigned *from = data_load;

    for (unsigned *to = data_start; to < data_end;)
        *to++ = *from++;
    for (unsigned *to = bss_start; to < bss_end;)
        *to++ = 0;
    prepare(&measuring, measure);
    prepare(&printing, print);
    __asm__ volatile("msr psp, %0" ::"r"(nobody.stack + STACK_WORDS));
    SYST_RVR = TICK_CYCLES - 1;
    SYST_CVR = 0;
    SYST_CSR = 7;
    ICSR = PENDSVSET;
    for (;;)
        __asm__ volatile("wfi");
}
