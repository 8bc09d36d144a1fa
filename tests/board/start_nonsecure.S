/* SPDX-License-Identifier: BSD-3-Clause */
/* A Cortex-M33 in Non-secure state. There is no reset: Secure code calls what its vector names. */
    .syntax unified
    .thumb

    .macro function name
    .global \name
    .type \name, %function
    .thumb_func
\name:
    .endm

    .section .vectors, "a"
    .word nonsecure_stack_top
    .word nonsecure_main
    .word 0, 0, 0, 0
    .word nonsecure_fault_entry // UsageFault
    .word 0, 0, 0, 0
    .word nonsecure_service_entry
    .word 0, 0
    .word nonsecure_pend
    .word nonsecure_tick
    .word 0, 0
    .word nonsecure_interrupt
    .word nonsecure_interrupt_calls

    .text
function nonsecure_fault_entry
    tst lr, #4
    ite eq
    mrseq r0, msp
    mrsne r0, psp
    push {r4, lr}
    bl nonsecure_fault
    pop {r4, pc}

function nonsecure_service_entry
    push {r4, lr}
    bl nonsecure_service
    pop {r4, lr}
    bx lr

function nonsecure_service_call
    svc #2
    bx lr

function nonsecure_undefined
    udf #7
    cmp r0, r0
    udf.w #9
    bx lr

// unsigned nonsecure_load(unsigned address): faults
function nonsecure_load
    mov r1, r0
    movs r0, #1
    ldr r0, [r1]
    bx lr
