/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start-up, vectors and exception entries in AArch64 state, at EL1. The cores start where memory is;
 * the program itself is in the upper half of the address space. Of the lower half only memory is
 * there.
 */
    .cfi_sections .debug_frame
    .equ STACK_SIZE, 4096
    .equ FRAME_SIZE, 176
    .equ UPPER_HALF, 0xffffff8000000000

// Translation: blocks of 1 GB from 39-bit addresses.
    .equ BLOCK_DEVICE, 0x60000000000401 // attribute 0, no code
    .equ BLOCK_NORMAL, 0x40000705 // attribute 1, inner shareable, at 1 GB
    .equ MAIR, 0xff04
    .equ TCR_LOWER, 25 | 1 << 8 | 1 << 10 | 3 << 12
    .equ TCR_UPPER, 25 << 16 | 1 << 24 | 1 << 26 | 3 << 28 | 2 << 30

    .macro function name
    .global \name
    .type \name, %function
\name:
    .endm
    .macro endfunction name
    .size \name, . - \name
    .endm

// Pushes x0 to x18, x30, ELR and SPSR and calls the handler with that frame.
    .macro exception name, handler
    function \name
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column 32
    .cfi_def_cfa 31, 0
    sub sp, sp, #FRAME_SIZE
    .cfi_def_cfa_offset FRAME_SIZE
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
    mrs x0, elr_el1
    mrs x1, spsr_el1
    stp x0, x1, [sp, #160]
    .cfi_offset 30, 152 - FRAME_SIZE
    .cfi_offset 32, 160 - FRAME_SIZE
    mov x0, sp
    bl \handler
    ldp x0, x1, [sp, #160]
    msr elr_el1, x0
    msr spsr_el1, x1
    ldp x18, x30, [sp, #144]
    ldp x16, x17, [sp, #128]
    ldp x14, x15, [sp, #112]
    ldp x12, x13, [sp, #96]
    ldp x10, x11, [sp, #80]
    ldp x8, x9, [sp, #64]
    ldp x6, x7, [sp, #48]
    ldp x4, x5, [sp, #32]
    ldp x2, x3, [sp, #16]
    ldp x0, x1, [sp]
    add sp, sp, #FRAME_SIZE
    eret
    .cfi_endproc
    endfunction \name
    .endm

// All cores come here, the second one when the first has woken it.
    .section .start, "ax"
function start
    adr x0, lower_table
    msr ttbr0_el1, x0
    adr x0, upper_table
    msr ttbr1_el1, x0
    ldr x0, =MAIR
    msr mair_el1, x0
    ldr x0, =TCR_LOWER | TCR_UPPER
    msr tcr_el1, x0
    isb
    mrs x0, sctlr_el1
    orr x0, x0, #1 // MMU
    msr sctlr_el1, x0
    isb
    ldr x0, =start_upper
    br x0
endfunction start
    .ltorg

    .balign 4096
lower_table:
    .quad 0
    .quad BLOCK_NORMAL
    .fill 510, 8, 0
upper_table:
    .quad BLOCK_DEVICE
    .quad BLOCK_NORMAL
    .fill 510, 8, 0

    .text
    .balign 2048
    .macro vector entry
    .balign 128
    b \entry
    .endm
function vectors
    .rept 4 // with the stack pointer of EL0: not used
    vector .
    .endr
    vector data_abort_entry
    vector interrupt_entry
    .rept 10
    vector .
    .endr
endfunction vectors

function start_upper
    adr x0, vectors
    msr vbar_el1, x0
    isb
    mrs x19, mpidr_el1
    and x19, x19, #0xff
    ldr x0, =stacks_end
    mov x1, #STACK_SIZE
    msub x0, x19, x1, x0
    mov sp, x0
    mov x29, xzr
    cmp x19, #1
    b.eq start_second
    b.hi sleep_for_ever
    ldr x0, =bss_start
    ldr x1, =bss_end
1:  cmp x0, x1
    b.hs 2f
    str xzr, [x0], #8
    b 1b
2:  bl wake_second_core
    bl main
    b stopped_here
endfunction start_upper

function start_second
    bl open_interrupts
    bl second_main
    b stopped_here
endfunction start_second

// Cores beyond the second have no work.
function sleep_for_ever
    wfi
    b sleep_for_ever
endfunction sleep_for_ever

// PSCI: CPU_ON of core 1, which may not exist.
function wake_second_core
    ldr x0, =0xc4000003
    mov x1, #1
    ldr x2, =start
    mov x3, #0
    hvc #0
    ret
endfunction wake_second_core

function core_number
    mrs x0, mpidr_el1
    and w0, w0, #0xff
    ret
endfunction core_number

function fault_address
    mrs x0, far_el1
    ret
endfunction fault_address
    .ltorg

    exception data_abort_entry, data_abort_handler
    exception interrupt_entry, interrupt_handler

    .section .stacks, "aw", %nobits
    .balign 16
    .space 2 * STACK_SIZE
stacks_end:
