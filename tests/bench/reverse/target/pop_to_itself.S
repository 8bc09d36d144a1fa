/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that end with a call of themselves: their POP returns to itself, as often as they were
 * called. It begins a block of QEMU's, or the first one does not; and interrupts come in between. */
    .include "small.inc"
    fn start
    ldr r4,=0xe000e010 /* SYST_CSR */
    movs r0,#52
    str r0,[r4,#4]
    movs r0,#3
    str r0,[r4]
    movs r5,#60
1:  and r0,r5,#7
    bl unwind
    and r0,r5,#3
    bl unwind_through
    subs r5,r5,#1
    bne 1b
    str r5,[r4]
    movs r0,#5
    bl unwind
    movs r0,#3
    bl unwind_through
    bl done_here
    .ltorg
    endfn start
    fn systick_h
    push {r4,lr}
    adds r7,r7,#1
    pop {r4,pc}
    endfn systick_h
    fn unwind
    push {r4,lr}
    subs r0,r0,#1
    bmi 1f
    bl unwind
1:  pop {r4,pc}
    endfn unwind
    fn unwind_through
    push {r4,lr}
    subs r0,r0,#1
    bpl 2f
    adds r6,r6,#1
1:  pop {r4,pc}
2:  ldr r3,=1b+1
    mov lr,r3
    b unwind_through
    .ltorg
    endfn unwind_through
