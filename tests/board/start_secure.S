/* SPDX-License-Identifier: BSD-3-Clause */
/* A Cortex-M33 in Secure state: vectors, and the instructions that C does not make. */
    .syntax unified
    .thumb

    .macro function name
    .global \name
    .type \name, %function
    .thumb_func
\name:
    .endm

    .section .vectors, "a"
    .word secure_stack_top
    .word start
    .word secure_nmi
    .rept 4 // HardFault, MemManage, BusFault, UsageFault
    .word fault_entry
    .endr
    .word fault_entry // SecureFault
    .word 0, 0, 0
    .word secure_service
    .word 0, 0
    .word secure_pend
    .word secure_tick
    .word secure_interrupt
    .word secure_interrupt_calls
    .word secure_interrupt, secure_interrupt

    .text
function start
    bl main
    mov r0, #0x18
    ldr r1, =0x20026
    .global halt_here
halt_here:
    bkpt 0xab // semihosting: end
    b .

// void print(const char *): semihosting
function print
    mov r1, r0
    mov r0, #4
    bkpt 0xab
    bx lr

function set_nonsecure_stack
    msr msp_ns, r0
    sub r0, r0, #1024
    msr psp_ns, r0
    mov r0, #2
    msr control_ns, r0
    isb
    bx lr

// The frame is where EXC_RETURN says: S, and which stack that state's Thread mode has.
function fault_entry
    tst lr, #0x40
    bne 1f
    tst lr, #8
    ite eq
    mrseq r0, msp_ns
    mrsne r0, psp_ns
    b 2f
1:  mrs r0, msp
2:  push {r4, lr}
    bl secure_fault
    pop {r4, pc}

function service_call
    svc #1
    bx lr
    .ltorg
