/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors, start-up and exception entries of the demo program. */
    .syntax unified
    .arm
    .cpu cortex-a15

    .macro function name
    .global \name
    .type \name, %function
\name:
    .endm
    .macro endfunction name
    .size \name, . - \name
    .endm

    .section .vectors, "ax"
    .balign 32
function vectors
    b start
    b undefined_entry
    b service_entry
    b prefetch_abort_entry
    b data_abort_entry
    b .
    b .
    b .
endfunction vectors

    .text
function start
    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0 // VBAR
    cps #0x17
    ldr sp, =abort_stack_top
    cps #0x1b
    ldr sp, =abort_stack_top
    cps #0x13
    ldr sp, =service_stack_top
    bl map_memory
    cps #0x1f // System mode: main
    ldr sp, =main_stack_top
    bl main
    b .
endfunction start

// The first megabyte of RAM is all there is: any other address aborts.
function map_memory
    ldr r0, =translation_table
    ldr r1, =vectors
    lsr r1, r1, #20
    lsl r2, r1, #20
    orr r2, r2, #0x00000c00
    orr r2, r2, #0x00000002 // section, full access
    str r2, [r0, r1, lsl #2]
    mcr p15, 0, r0, c2, c0, 0 // TTBR0
    mov r1, #1
    mcr p15, 0, r1, c3, c0, 0 // DACR
    dsb
    mrc p15, 0, r1, c1, c0, 0 // SCTLR
    orr r1, r1, #1
    mcr p15, 0, r1, c1, c0, 0
    isb
    bx lr
endfunction map_memory

// The character in r0 goes to the console.
function service_call
    svc #0
    bx lr
endfunction service_call

function service_entry
    push {r0-r3, r12, lr}
    bl service
    ldm sp!, {r0-r3, r12, pc}^
endfunction service_entry

function undefined_entry
    sub r0, lr, #4
    b fault
endfunction undefined_entry

function prefetch_abort_entry
    sub r0, lr, #4
    b fault
endfunction prefetch_abort_entry

function data_abort_entry
    sub r0, lr, #8
    b fault
endfunction data_abort_entry

    .bss
    .balign 8
    .space 512
    .global main_stack_top
main_stack_top:
    .space 128
service_stack_top:
    .space 64
abort_stack_top:
    .space 8

    .section .translation, "aw", %nobits
    .balign 16384
translation_table:
    .space 16384
