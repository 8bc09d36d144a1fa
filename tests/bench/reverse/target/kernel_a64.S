/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small kernel for a Cortex-A53, entries: from EL3 through EL2 to EL1 with tables by which each
 * address is its own, tasks at EL0 or EL1 with SP_EL0. Their exceptions push all of a task on the
 * kernel's stack, interrupts of handlers push what a call may change.
 */
    .equ FRAME, 272      // x0 to x30, SP_EL0, ELR, SPSR
    .equ NESTED, 192     // x0 to x18, x30, ELR, SPSR
    .equ GICD, 0x08000000
    .equ GICC, 0x08010000
    .equ MASKED, 0x3c0
    .equ CONTROL, 0x30d00a00 // SCTLR_EL1: as it must be, and UMA
    .equ TCR, 25 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23

    .macro function name
    .global \name
    .type \name, %function
\name:
    .endm
    .macro endfunction name
    .size \name, . - \name
    .endm
    .macro vector entry
    .balign 128
    b \entry
    .endm

    .section .vectors, "ax"
    .balign 2048
vectors:
    vector service_entry // of EL1, with SP_EL0
    vector interrupt_entry
    vector .
    vector .
    vector .
    vector nested_entry
    vector .
    vector .
    vector service_entry // of EL0
    vector interrupt_entry
    .rept 6
    vector .
    .endr
    .balign 2048
upper_vectors: // of EL2 and EL3
    .rept 8
    vector .
    .endr
    vector upper_entry
    .rept 7
    vector .
    .endr
    .balign 4096
    .set unmapped, 0
#include "tables_a64.inc"

    .text
function start
    ldr x0, =0x531 // NS, HVC, EL2 in AArch64 state
    msr scr_el3, x0
    adr x0, upper_vectors
    msr vbar_el3, x0
    ldr x0, =upper_stack_end
    mov sp, x0
    msr cptr_el3, xzr
    ldr x1, =GICD
    mov w0, #-1
    str w0, [x1, #0x80] // all of them are Non-secure state's
    mov w0, #3
    str w0, [x1]
    ldr x1, =GICC
    mov w0, #0xff
    str w0, [x1, #4]
    ldr x0, =0x30c50830
    msr sctlr_el2, x0
    adr x0, start_el2
    msr elr_el3, x0
    mov x0, #MASKED | 9
    msr spsr_el3, x0
    eret
start_el2:
    mov x0, #0x80000000 // EL1 in AArch64 state
    msr hcr_el2, x0
    mov x0, #0x33ff
    msr cptr_el2, x0
    mov x0, #3
    msr cnthctl_el2, x0
    msr cntvoff_el2, xzr
    adr x0, upper_vectors
    msr vbar_el2, x0
    ldr x0, =upper_stack_end - 128
    mov sp, x0
    ldr x0, =CONTROL
    msr sctlr_el1, x0
    adr x0, start_el1
    msr elr_el2, x0
    mov x0, #MASKED | 5
    msr spsr_el2, x0
    eret
start_el1:
    ldr x0, =kernel_stack_end
    mov sp, x0
    adr x0, vectors
    msr vbar_el1, x0
    mov x0, #3 << 20
    msr cpacr_el1, x0
    isb
#ifdef TRANSLATION
    adr x0, table
    msr ttbr0_el1, x0
    ldr x0, =0xff04
    msr mair_el1, x0
    ldr x0, =TCR
    msr tcr_el1, x0
    isb
    tlbi vmalle1
    dsb sy
    isb
    mrs x0, sctlr_el1
    orr x0, x0, #1
    msr sctlr_el1, x0
    isb
#endif
    bl start_kernel
    sub sp, sp, #FRAME
    mov x0, sp
    bl take_task
    b give_back
endfunction start

// Of a lower level: x0 is a result.
function upper_entry
    stp x1, x2, [sp, #-16]!
    ldr x1, =upper_calls
    ldr w2, [x1]
    add w2, w2, #1
    str w2, [x1]
    add x0, x0, x2
    ldp x1, x2, [sp], #16
    eret
endfunction upper_entry

function call_upper
    hvc #0
    smc #0
    ret
endfunction call_upper

    .macro push_all
    sub sp, sp, #FRAME
    stp x0, x1, [sp]
    stp x2, x3, [sp, #16]
    stp x4, x5, [sp, #32]
    stp x6, x7, [sp, #48]
    stp x8, x9, [sp, #64]
    stp x10, x11, [sp, #80]
    stp x12, x13, [sp, #96]
    stp x14, x15, [sp, #112]
    stp x16, x17, [sp, #128]
    stp x18, x19, [sp, #144]
    stp x20, x21, [sp, #160]
    stp x22, x23, [sp, #176]
    stp x24, x25, [sp, #192]
    stp x26, x27, [sp, #208]
    stp x28, x29, [sp, #224]
    mrs x1, sp_el0
    stp x30, x1, [sp, #240]
    mrs x1, elr_el1
    mrs x2, spsr_el1
    stp x1, x2, [sp, #256]
    .endm

function service_entry
    push_all
    ldr w1, [x1, #-4]
    ubfx w1, w1, #5, #16
    mov x0, sp
    bl serve
    b give_back
endfunction service_entry

// Which one it is the controller tells: known is what both ways say.
    .macro acknowledge
    ldr x1, =GICC
    ldr w0, [x1, #0xc]
    cmp w0, #27
    b.ne 1f
    mov w0, #27
    b 2f
1:  mov w0, #1
2:
    .endm

function interrupt_entry
    push_all
    acknowledge
    mov w19, w0
    bl interrupt
    ldr x1, =GICC
    str w19, [x1, #0x10]
    mov x0, sp
    bl change_task_if_wanted
    b give_back
endfunction interrupt_entry

function give_back
    ldp x1, x2, [sp, #256]
    msr elr_el1, x1
    msr spsr_el1, x2
    ldp x30, x1, [sp, #240]
    msr sp_el0, x1
    ldp x28, x29, [sp, #224]
    ldp x26, x27, [sp, #208]
    ldp x24, x25, [sp, #192]
    ldp x22, x23, [sp, #176]
    ldp x20, x21, [sp, #160]
    ldp x18, x19, [sp, #144]
    ldp x16, x17, [sp, #128]
    ldp x14, x15, [sp, #112]
    ldp x12, x13, [sp, #96]
    ldp x10, x11, [sp, #80]
    ldp x8, x9, [sp, #64]
    ldp x6, x7, [sp, #48]
    ldp x4, x5, [sp, #32]
    ldp x2, x3, [sp, #16]
    ldp x0, x1, [sp], #FRAME
    eret
endfunction give_back

function nested_entry
    sub sp, sp, #NESTED
    stp x0, x1, [sp]
    stp x2, x3, [sp, #16]
    stp x4, x5, [sp, #32]
    stp x6, x7, [sp, #48]
    stp x8, x9, [sp, #64]
    stp x10, x11, [sp, #80]
    stp x12, x13, [sp, #96]
    stp x14, x15, [sp, #112]
    stp x16, x17, [sp, #128]
    stp x18, x30, [sp, #144]
    mrs x1, elr_el1
    mrs x2, spsr_el1
    stp x1, x2, [sp, #160]
    acknowledge
    str x0, [sp, #176]
    bl interrupt
    ldr x0, [sp, #176]
    ldr x1, =GICC
    str w0, [x1, #0x10]
    ldp x1, x2, [sp, #160]
    msr elr_el1, x1
    msr spsr_el1, x2
    ldp x18, x30, [sp, #144]
    ldp x16, x17, [sp, #128]
    ldp x14, x15, [sp, #112]
    ldp x12, x13, [sp, #96]
    ldp x10, x11, [sp, #80]
    ldp x8, x9, [sp, #64]
    ldp x6, x7, [sp, #48]
    ldp x4, x5, [sp, #32]
    ldp x2, x3, [sp, #16]
    ldp x0, x1, [sp], #NESTED
    eret
endfunction nested_entry

function set_jump
    stp x19, x20, [x0]
    stp x21, x22, [x0, #16]
    stp x23, x24, [x0, #32]
    stp x25, x26, [x0, #48]
    stp x27, x28, [x0, #64]
    mov x1, sp
    stp x29, x30, [x0, #80]
    str x1, [x0, #96]
    mov w0, #0
    ret
endfunction set_jump

function long_jump
    ldp x19, x20, [x0]
    ldp x21, x22, [x0, #16]
    ldp x23, x24, [x0, #32]
    ldp x25, x26, [x0, #48]
    ldp x27, x28, [x0, #64]
    ldp x29, x30, [x0, #80]
    ldr x2, [x0, #96]
    mov sp, x2
    mov w0, w1
    ret
endfunction long_jump

function finished
    msr daifset, #15
    mov w0, #0x18
    ldr x1, =leave
    .global halt_here
halt_here:
1:
    hlt #0xf000 // semihosting: end
    b 1b
endfunction finished
    .ltorg

    .section .rodata
    .balign 8
leave:
    .quad 0x20026, 0

    .bss
    .balign 16
upper_calls:
    .space 16
    .space 256
upper_stack_end:
    .space 2048
kernel_stack_end:
