/* SPDX-License-Identifier: BSD-3-Clause */
/* Cortex-M3: the program has the process stack, interrupts have the main stack. */
#define SYST_CSR  (*(volatile unsigned *)0xe000e010u)
#define SYST_RVR  (*(volatile unsigned *)0xe000e014u)
#define SYST_CVR  (*(volatile unsigned *)0xe000e018u)
#define ICSR      (*(volatile unsigned *)0xe000ed04u)
#define PENDSTCLR (1u << 25)
#define FUNCTION  __attribute__((noinline, noclone))

void reset(void);
void tick(void);
int main(void);

unsigned main_stack[256], process_stack[256];
volatile unsigned ticks, sum;

__attribute__((section(".vectors"), used)) void (*const vectors[16])(void) = {
    (void (*)(void)) & main_stack[256], reset, [15] = tick};

/* Changes the stack, so it has no frame of its own. */
__attribute__((naked)) void reset(void)
{
    __asm__ volatile("msr psp, %0\n\tmovs r0, #2\n\tmsr control, r0\n\tisb\n\tb main"
                     :
                     : "r"(&process_stack[256])
                     : "r0");
}

FUNCTION void count_tick(unsigned by)
{
    ticks += by;
}

/* One interrupt, however late it is: none is tail-chained to it. */
void tick(void)
{
    SYST_CSR = 0;
    ICSR = PENDSTCLR;
    count_tick(1);
    sum ^= ticks;
}

FUNCTION unsigned leaf(unsigned value)
{
    for (unsigned i = 0; i < 6; i++)
        sum += value * i;
    return sum;
}

FUNCTION unsigned middle(unsigned depth)
{
    unsigned found = depth ? middle(depth - 1) : 0;
    return leaf(found + depth) + 1;
}

int main(void)
{
    SYST_RVR = 3000;
    for (unsigned round = 0;; round++) {
        /* However slow the machine is, some thousand instructions run between two interrupts. */
        if (round % 64 == 0 && (SYST_CSR & 1) == 0) {
            SYST_CVR = 0;
            SYST_CSR = 7;
        }
        sum = middle(round % 4);
    }
}
