/* SPDX-License-Identifier: BSD-3-Clause */
/* A function ends with a call of itself: its POP returns to itself, as often as it was called. */
    .include "small.inc"
    fn start
    movs r0,#5
    bl unwind
    bl done_here
    endfn start
    fn unwind
    push {r4,lr}
    subs r0,r0,#1
    bmi 1f
    bl unwind
1:  pop {r4,pc}
    endfn unwind
