/* SPDX-License-Identifier: BSD-3-Clause */
/* What the Secure and the Non-secure part of a program know of each other. */
#ifndef TESTS_BOARD_SECURE_H
#define TESTS_BOARD_SECURE_H

#define NONSECURE_VECTORS 0x00200000u /* stack, function that Secure code calls */

/* What Non-secure handlers have seen: at the begin of that state's data. */
struct counts {
    unsigned services, faults, interrupts, ticks, pends;
};
#define COUNTS ((volatile struct counts *)0x28200000u)

void nonsecure_main(unsigned rounds);

/* Secure functions, by way of their gates. */
unsigned secure_sum(unsigned a, unsigned b);
unsigned secure_with_service(unsigned a);
void secure_raise(unsigned bits);
unsigned secure_calls_back(unsigned (*function)(unsigned), unsigned value);

#endif
