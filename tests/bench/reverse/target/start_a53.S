/* SPDX-License-Identifier: BSD-3-Clause */
/* Cortex-A53 of virt, in EL3: a stack, and the end. */
    .section .vectors, "ax"
    .global start
    .type start, %function
start:
    ldr x0, =0x400a4000
    mov sp, x0
    bl main
    b .
    .size start, . - start

    .text
    .global finished
    .type finished, %function
finished:
    mov w0, #0x18
    ldr x1, =leave
    .global halt_here
halt_here:
    hlt #0xf000 // semihosting: end
    b halt_here
    .ltorg
    .size finished, . - finished

    .global work_board
    .type work_board, %function
work_board:
    eor w0, w0, #0x3e
    ret
    .size work_board, . - work_board

    .section .rodata
    .balign 8
leave:
    .quad 0x20026, 0
