/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of a program on the M profile: where a debugger halts, and a semihosting exit. */
#ifndef TESTS_REVERSE_TARGET_FINISH_M_H
#define TESTS_REVERSE_TARGET_FINISH_M_H

/* The body of a naked function. */
#define FINISH_M                                                                                   \
    __asm__("cpsid i\n"                                                                            \
            "    movs r0, #0x18\n"                                                                 \
            "    ldr r1, =0x20026\n"                                                               \
            "    .global halt_here\n"                                                              \
            "halt_here:\n"                                                                         \
            "1:\n"                                                                                 \
            "    bkpt 0xab\n"                                                                      \
            "    b 1b\n"                                                                           \
            "    .ltorg\n")

#endif
