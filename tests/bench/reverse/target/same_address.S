/* SPDX-License-Identifier: BSD-3-Clause */
/* two tasks on PSP, both yield at the same instruction: r4 = their number */
    .include "small.inc"
    fn start
    ldr r0,=t2
    ldr r1,=s2-64
    str r1,[r0]
    movs r2,#2
    str r2,[r1] /* r4 = 2 */
    ldr r2,=body
    str r2,[r1,#56]
    mov r2,#0x01000000
    str r2,[r1,#60]
    ldr r0,=now
    movs r1,#1
    str r1,[r0]
    ldr r0,=s1
    msr psp,r0
    movs r0,#2
    msr control,r0
    isb
    movs r4,#1
    b body
    endfn start
    fn body
    mov r5,#0
1: bl yield
    mov r6,r4 /* r4: mine again */
    adds r5,#1
    cmp r5,#50
    bne 1b
    movs r4,#0
    movs r6,#0
    bl done_here
    endfn body
    fn yield
    ldr r0,=0xe000ed04
    mov r1,#0x10000000
    str r1,[r0]
    dsb
    isb
    bx lr
    endfn yield
    fn pendsv_h
    mrs r0,psp
    stmdb r0!,{r4-r11}
    ldr r1,=now
    ldr r2,[r1]
    ldr r3,=t0
    str r0,[r3,r2,lsl #2]
    eor r2,r2,#3
    str r2,[r1]
    ldr r0,[r3,r2,lsl #2]
    ldmia r0!,{r4-r11}
    msr psp,r0
    bx lr
    endfn pendsv_h
    .bss
t0: .space 4
t1: .space 4
t2: .space 4
now: .space 4
    .space 512
s1: .space 512
s2:
