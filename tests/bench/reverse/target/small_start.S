/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts a small program in C. */
    .include "small.inc"

    fn start
    ldr r0, =0xe000e014
    ldr r1, =0xffff
    str r1, [r0]
    movs r1, #5
    str r1, [r0, #-4]
    bl work_small
    bl done_here
    endfn start
    .ltorg
