/* SPDX-License-Identifier: BSD-3-Clause */
/* Cortex-M3/M4 bit-band: a store to 0x22000000+ changes a word at 0x20000000+ */
    .include "small.inc"
    fn start
    ldr r0,=w
    movs r1,#0
    str r1,[r0]
    sub r2,r0,#0x20000000
    lsls r2,r2,#5
    add r2,r2,#0x22000000
    movs r3,#1
    str r3,[r2,#12] /* bit 3 of w = 1 */
    ldr r4,[r0] /* 8 */
    nop
    str r1,[r2,#12]
    ldr r5,[r0] /* 0 */
    movs r4,#0
    movs r5,#0
    bl done_here
    endfn start
    .bss
    .space 64
w: .space 4
