/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Vectors, start-up and exception entries. Everything runs in System mode on the stack of its core:
 * a handler finds the frame of what it interrupted right above its own, and so does a debugger.
 */
    .file "start-a9.S" // else a random name gets into the symbol table
    .syntax unified
    .cpu cortex-a9
    .arm
    .cfi_sections .debug_frame

    .equ MODE_SYSTEM, 0x1f
    .equ STACK_SIZE, 4096
    .equ SECTION_NORMAL, 0x00000c0e // full access, write-back
    .equ SECTION_DEVICE, 0x00000c16 // full access, device, no code

    .macro function name
    .global \name
    .type \name, %function
\name:
    .endm
    .macro endfunction name
    .size \name, . - \name
    .endm

// Pushes CPSR, PC, LR, R12, R4-R0 of what was interrupted and calls the handler with that frame.
    .macro exception name, handler, ahead
    function \name
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column 15
    .cfi_undefined 15
    sub lr, lr, #\ahead
    srsdb sp!, #MODE_SYSTEM
    cps #MODE_SYSTEM
    push {r0-r4, r12, lr}
    mov r4, sp
    .cfi_def_cfa 4, 36
    .cfi_offset 0, -36
    .cfi_offset 1, -32
    .cfi_offset 2, -28
    .cfi_offset 3, -24
    .cfi_offset 4, -20
    .cfi_offset 12, -16
    .cfi_offset 14, -12
    .cfi_offset 15, -8
    mov r0, sp
    bic sp, sp, #7
    bl \handler
    mov sp, r4
    pop {r0-r4, r12, lr}
    rfeia sp!
    .cfi_endproc
    endfunction \name
    .endm

    .section .vectors, "ax"
    .balign 32
function vectors
    b start
    b undefined_entry
    b .
    b prefetch_abort_entry
    b data_abort_entry
    b .
    b interrupt_entry
    b .
endfunction vectors

    .text
// All cores come here out of reset.
function start
    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0 // VBAR
    cpsid if, #MODE_SYSTEM
    mrc p15, 0, r4, c0, c0, 5 // MPIDR
    ands r4, r4, #3
    ldr sp, =stacks_end
    mov r1, #STACK_SIZE
    mls sp, r4, r1, sp
    bl map_memory
    cmp r4, #0
    bne start_others
    ldr r0, =bss_start
    ldr r1, =bss_end
    mov r2, #0
1:  cmp r0, r1
    strlo r2, [r0], #4
    blo 1b
    bl wake_second_core
    bl main
    b stopped_here
endfunction start

function start_others
    cmp r4, #1
    bne sleep_for_ever
    bl wait_to_be_woken
    bl second_main
    b stopped_here
endfunction start_others

// Cores beyond the second have no work.
function sleep_for_ever
    wfi
    b sleep_for_ever
endfunction sleep_for_ever

function map_memory
    ldr r0, =translation_table
    mcr p15, 0, r0, c2, c0, 0 // TTBR0
    mov r0, #0
    mcr p15, 0, r0, c2, c0, 2 // TTBCR
    mcr p15, 0, r0, c8, c7, 0 // TLBIALL
    mov r0, #1
    mcr p15, 0, r0, c3, c0, 0 // DACR: domain 0 obeys the table
    dsb
    mrc p15, 0, r0, c1, c0, 0 // SCTLR
    orr r0, r0, #1 // MMU
    bic r0, r0, #1 << 13 // vectors are where VBAR says
    mcr p15, 0, r0, c1, c0, 0
    isb
    bx lr
endfunction map_memory

function core_number
    mrc p15, 0, r0, c0, c0, 5
    and r0, r0, #3
    bx lr
endfunction core_number

function data_fault_address
    mrc p15, 0, r0, c6, c0, 0 // DFAR
    bx lr
endfunction data_fault_address

function fetch_fault_address
    mrc p15, 0, r0, c6, c0, 2 // IFAR
    bx lr
endfunction fetch_fault_address

    exception undefined_entry, undefined_handler, 4
    exception prefetch_abort_entry, prefetch_abort_handler, 4
    exception data_abort_entry, data_abort_handler, 8
    exception interrupt_entry, interrupt_handler, 4

// One word a megabyte: the program, the core's own devices, nothing else. Page 0 is not there.
    .section .translation, "a"
    .balign 16384
translation_table:
    .fill 0x1e0, 4, 0
    .word 0x1e000000 + SECTION_DEVICE
    .fill 0x600 - 0x1e1, 4, 0
    .word 0x60000000 + SECTION_NORMAL
    .fill 0x1000 - 0x601, 4, 0

    .section .stacks, "aw", %nobits
    .balign 8
    .space 2 * STACK_SIZE
stacks_end:
