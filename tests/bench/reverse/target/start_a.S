/* SPDX-License-Identifier: BSD-3-Clause */
/* Cortex-A9 of vexpress-a9: a stack, and the end. */
    .syntax unified
    .arm
    .cfi_sections .debug_frame

    .section .vectors, "ax"
    .global start
    .type start, %function
start:
    .cfi_startproc
    .cfi_undefined lr
    ldr sp, =stack_top
    bl main
    b .
    .cfi_endproc
    .size start, . - start

    .text
    .global finished
    .type finished, %function
finished:
    .cfi_startproc
    mov r4, r0
    ldr r1, =0x20026
    mov r0, #0x18
    .global halt_here
halt_here:
1:
    svc 0x123456 // semihosting: end
    b 1b
    .cfi_endproc
    .size finished, . - finished

    .global work_board
    .type work_board, %function
work_board:
    .cfi_startproc
    eor r0, r0, #0x5a
    bx lr
    .cfi_endproc
    .size work_board, . - work_board
