/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Secure part of a program for a Cortex-M33 with both security states (mps2-an505): it gives
 * the Non-secure part its memory, calls it, is called by it, and takes exceptions from both.
 * Compiled with -mcmse. The other part is program_nonsecure.c,
 * what C does not make start_secure.S. */
#include <arm_cmse.h>

#include "print.h"
#include "secure.h"

#define ENTRY __attribute__((cmse_nonsecure_entry))

typedef void __attribute__((cmse_nonsecure_call)) (*nonsecure_work)(unsigned rounds);
typedef unsigned __attribute__((cmse_nonsecure_call)) (*nonsecure_function)(unsigned value);

#define SAU_CTRL   0xe000edd0u
#define SHCSR      0xe000ed24u
#define SHPR2      0xe000ed1cu
#define SHPR3      0xe000ed20u
#define ICSR       0xe000ed04u
#define NVIC_ISER  0xe000e100u
#define NVIC_ISPR  0xe000e200u
#define NVIC_ITNS  0xe000e380u
#define NVIC_IPR   0xe000e400u
#define SYSTICK    0xe000e010u
#define VTOR_NS    0xe002ed08u
#define NSCCFG     0x50080014u /* which Secure addresses may be called: those of code */
#define CODE_GATE  0x58007000u /* memory protection controllers: of the code memory, */
#define DATA_GATE  0x58009000u /* and of that of Non-secure data */
#define FAULTS     0x000c0000u /* of SHCSR: Secure and Usage instead of HardFault */
#define PEND_SV    0x10000000u
#define PEND_NMI   0x80000000u
#define ALL_BY_MAP 2u /* SAU: what the machine's own map says */

/* start_secure.S, link_secure.ld */
void set_nonsecure_stack(unsigned top);
void service_call(void);

int main(void);
void secure_interrupt(void);
void secure_interrupt_calls(void);
void secure_tick(void);
void secure_service(void);
void secure_pend(void);
void secure_fault(unsigned *frame);
void secure_nmi(void);

static volatile unsigned services, faults, interrupts, ticks, nmis, pends;
static nonsecure_function callback;
static volatile unsigned answers;

static void write_word(unsigned address, unsigned value)
{
    *(volatile unsigned *)address = value;
}

static unsigned read_word(unsigned address)
{
    return *(volatile unsigned *)address;
}

void secure_interrupt(void)
{
    interrupts++;
}

void secure_interrupt_calls(void)
{
    interrupts++;
    if (callback)
        answers += callback(interrupts & 3);
}

void secure_tick(void)
{
    ticks++;
    if (ticks % 3 == 0)
        write_word(ICSR, PEND_SV);
}

void secure_service(void)
{
    services++;
    if (services % 3 == 0)
        write_word(ICSR, PEND_SV);
    if (services % 8 == 0)
        write_word(ICSR, PEND_NMI);
}

void secure_pend(void)
{
    pends++;
}

void secure_nmi(void)
{
    nmis++;
}

/* Of either state: goes on behind the instruction that faulted. */
void secure_fault(unsigned *frame)
{
    unsigned half = *(const unsigned short *)frame[6];

    faults++;
    frame[6] += half >> 11 >= 0x1d ? 4 : 2;
}

/* What the other state may call. */

static __attribute__((noinline)) unsigned mix(unsigned a, unsigned b)
{
    for (unsigned i = 0; i < 3; i++)
        a = a * 33 ^ b >> i;
    return a;
}

ENTRY unsigned secure_sum(unsigned a, unsigned b)
{
    return mix(a, b) + 1;
}

ENTRY unsigned secure_with_service(unsigned a)
{
    service_call();
    return a ^ services;
}

/* Interrupts of both states come while Secure code runs. */
ENTRY void secure_raise(unsigned bits)
{
    write_word(NVIC_ISPR, bits);
    __asm__ volatile("dsb\n isb");
}

ENTRY unsigned secure_calls_back(unsigned (*function)(unsigned), unsigned value)
{
    callback = (nonsecure_function)cmse_nsfptr_create(function);
    return mix(value, callback(value)) + callback(value + 1);
}

/* From `first` of `parts` equal parts on, memory behind a protection controller is Non-secure. */
static void give_away(unsigned gate, unsigned first, unsigned parts)
{
    unsigned words = read_word(gate + 0x10) + 1; /* of 32 blocks each */

    for (unsigned i = words / parts * first; i < words; i++) {
        write_word(gate + 0x18, i);
        write_word(gate + 0x1c, ~0u);
    }
}

static void share(void)
{
    write_word(SAU_CTRL, ALL_BY_MAP);
    write_word(NSCCFG, 1);
    give_away(CODE_GATE, 1, 2);
    give_away(DATA_GATE, 0, 1);
    write_word(VTOR_NS, NONSECURE_VECTORS);
    set_nonsecure_stack(read_word(NONSECURE_VECTORS));
    write_word(NVIC_ITNS, 0xc);
    __asm__ volatile("dsb\n isb");
}

static void start_interrupts(void)
{
    write_word(SHCSR, FAULTS);
    write_word(SHPR2, 0x80000000u); /* SVC */
    write_word(SHPR3, 0x40c00000u); /* SysTick, PendSV */
    write_word(NVIC_IPR, 0x6020a040u);
    write_word(NVIC_ISER, 0x3);
    write_word(SYSTICK + 4, TICK - 1);
    write_word(SYSTICK + 8, 0);
    write_word(SYSTICK, 7);
}

int main(void)
{
    share();
    start_interrupts();
    ((nonsecure_work)cmse_nsfptr_create((nonsecure_work)read_word(NONSECURE_VECTORS + 4)))(ROUNDS);
    __asm__ volatile("cpsid i");
    print_count("services ", services + COUNTS->services);
    print_count("faults ", faults + COUNTS->faults);
    print_count("interrupts ", interrupts + COUNTS->interrupts);
    print_count("ticks ", ticks + COUNTS->ticks);
    print_count("nmis ", nmis);
    print_count("pends ", pends + COUNTS->pends);
    return (int)answers;
}
