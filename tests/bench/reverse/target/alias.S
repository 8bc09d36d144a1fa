/* SPDX-License-Identifier: BSD-3-Clause */
/* mps2-an385: 0x20400000 is a second address of 0x20000000; stands for DMA, too */
    .include "small.inc"
    fn start
    ldr r0,=w
    movs r1,#0
    str r1,[r0]
    add r2,r0,#0x400000
    movs r3,#1
    str r3,[r2]
    ldr r4,[r0] /* 1 */
    nop
    str r1,[r2]
    ldr r5,[r0] /* 0 */
    movs r4,#0
    movs r5,#0
    bl done_here
    endfn start
    .bss
    .space 64
w: .space 4
