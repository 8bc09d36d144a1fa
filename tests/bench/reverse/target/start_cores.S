/* SPDX-License-Identifier: BSD-3-Clause */
/* Two Cortex-A9 of vexpress-a9, whose stacks are neighbours; and the end. */
    .syntax unified
    .arm
    .cfi_sections .debug_frame

    .section .vectors, "ax"
    .global start
    .type start, %function
start:
    .cfi_startproc
    .cfi_undefined lr
    mrc p15, 0, r4, c0, c0, 5 // MPIDR
    and r4, r4, #3
    ldr sp, =stack_top
    sub sp, sp, r4, lsl #9
    cmp r4, #1
    bhi 1f
    mov r0, r4
    blo 2f
    bl second_main
1:  wfi
    b 1b
2:  bl main
    .global halt_here
halt_here:
    svc 0x123456
    b halt_here
    .cfi_endproc
    .size start, . - start
