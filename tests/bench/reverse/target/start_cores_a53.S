/* SPDX-License-Identifier: BSD-3-Clause */
/* Two Cortex-A53 of virt, in EL1, whose stacks are neighbours; and the end. */
    .section .vectors, "ax"
    .global start
    .type start, %function
start:
    ldr x0, =stack_top
    mov sp, x0
    ldr x0, =0xc4000003 // PSCI: CPU_ON
    mov x1, #1
    adr x2, start_second
    mov x3, #0
    hvc #0
    mov w0, #0
    bl main
    mov w0, #0x18
    ldr x1, =leave
    .global halt_here
halt_here:
    hlt #0xf000 // semihosting: end
    b halt_here
    .size start, . - start

    .type start_second, %function
start_second:
    ldr x0, =stack_top - 0x200
    mov sp, x0
    mov w0, #1
    bl second_main
    b .
    .ltorg
    .size start_second, . - start_second

    .section .rodata
    .balign 8
leave:
    .quad 0x20026, 0
