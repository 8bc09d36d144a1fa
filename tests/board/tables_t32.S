/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * T32, the first part of tables() of the boards' programs: TBB, TBH, CBZ, IT blocks, wide branches.
 * It goes on at 11, which the file that includes it has.
 */
    push {r4, lr}
    and r0, r0, #3
    tbb [pc, r0]
4:  .byte (5f - 4b) / 2, (6f - 4b) / 2, (7f - 4b) / 2, (12f - 4b) / 2
5:  adds r0, r0, #1
    cbz r0, 8f
    b.w 8f
6:  cmp r0, #1
    itt eq
    addeq r0, r0, #4
    beq 8f
7:  subs r0, r0, #2
    cbnz r0, 8f
    tbh [pc, r0, lsl #1]
9:  .hword (10f - 9b) / 2
10: cmp r0, #0
    itet eq
    moveq r1, #3
    movne r1, #4
    popeq {r4, pc}
12: subs r0, r0, #3
8:  cmp r0, #0
    it ne
    popne {r4, pc}
    bne.w tables
    ldr r1, =scratch
    ldr r2, =11f + 1
    str r2, [r1]
    ldr.w pc, [r1]
    b .
