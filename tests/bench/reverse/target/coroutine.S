/* SPDX-License-Identifier: BSD-3-Clause */
/* two coroutines, same code, switched by a function: r4 = their number */
    .include "small.inc"
    fn start
    ldr r0,=c2
    ldr r1,=s2-36 /* frame of coroutine 2: r4-r11, pc */
    str r1,[r0]
    movs r2,#2
    str r2,[r1] /* r4 = 2 */
    ldr r2,=body+1
    str r2,[r1,#32]
    ldr r0,=s1
    mov sp,r0
    movs r4,#1
    b body
    endfn start
    fn body
    mov r5,#0
1: mov r0,r4
    bl yield
    mov r6,r4 /* r4: mine again */
    adds r5,#1
    cmp r5,#50
    bne 1b
    movs r4,#0
    movs r6,#0
    bl done_here
    endfn body
    fn yield /* r0: 1 or 2 */
    ldr r1,=c0
    eor r2,r0,#3
    ldr r3,[r1,r2,lsl #2]
    push {r4-r11,lr}
    str sp,[r1,r0,lsl #2]
    mov sp,r3
    pop {r4-r11,pc}
    endfn yield
    .bss
c0: .space 4
c1: .space 4
c2: .space 4
    .space 512
s1: .space 512
s2:
