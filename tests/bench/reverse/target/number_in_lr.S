/* SPDX-License-Identifier: BSD-3-Clause */
/* mps2-an505: in a handler LR holds a number that could be the EXC_RETURN of the other state */
    .include "small.inc"
    fn start
    movs r4,#0
    svc #0
    svc #0
    bl done_here
    endfn start
    fn svc_h
    push {r4,lr}
    ldr r0,=1f+1
    mvn lr,#71 /* 0xffffffb8 */
    bx r0
1:  adds r4,#1
    pop {r4,pc}
    endfn svc_h
