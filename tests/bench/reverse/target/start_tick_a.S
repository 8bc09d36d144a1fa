/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cortex-A9 of vexpress-a9 with one interrupt, its timer, at times of no pattern: a stack, handlers
 * that put away what they interrupt as STYLE says, and the end. The program's tick() is called.
 */
    .syntax unified
    .arm
    .cpu cortex-a9

    .equ MODE_IRQ, 0x12
    .equ MODE_SUPERVISOR, 0x13
    .equ MODE_SYSTEM, 0x1f
    .equ STACK, 512
    .equ CONTROLLER, 0x1e000100
    .equ DISTRIBUTOR, 0x1e001000
    .equ TIMER, 0x1e000600
    .equ TIMER_INTERRUPT, 29

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
vectors:
    b start
    b .
    b .
    b .
    b .
    b .
    b interrupt_entry
    b .

    .text
function start
    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0 // VBAR
    cps #MODE_IRQ
    ldr sp, =handler_stacks + STACK
    cps #MODE_SUPERVISOR
    ldr sp, =handler_stacks + 2 * STACK
    cps #MODE_SYSTEM
    ldr sp, =stack_top
    ldr r0, =DISTRIBUTOR
    mov r1, #1
    lsl r2, r1, #TIMER_INTERRUPT
    str r2, [r0, #0x100]
    str r1, [r0]
    ldr r0, =CONTROLLER
    mov r2, #0xf0
    str r2, [r0, #4]
    str r1, [r0]
    bl set_timer
    cpsie i
    bl main
    b .
endfunction start

// The next tick comes TICK instructions from now or up to twice as many.
function set_timer
    ldr r0, =random
    ldr r1, [r0]
    ldr r2, =1664525
    mul r1, r1, r2
    ldr r2, =1013904223
    add r1, r1, r2
    str r1, [r0]
    ldr r2, =TICK
    lsr r1, r1, #16
    mul r1, r1, r2
    add r1, r2, r1, lsr #16
    add r1, r1, r1, lsl #1
    ldr r0, =TIMER
    mov r2, #1
    str r2, [r0, #12]
    str r1, [r0]
    mov r2, #5
    str r2, [r0, #8]
    bx lr
endfunction set_timer

function serve
    push {r4, lr}
    ldr r4, =CONTROLLER
    ldr r0, [r4, #0xc]
    push {r0, r1}
    bl set_timer
    bl tick
    pop {r0, r1}
    str r0, [r4, #0x10]
    pop {r4, pc}
endfunction serve

function interrupt_entry
    sub lr, lr, #4
#if STYLE == 0 // as a compiler makes it
    push {r0-r3, r12, lr}
    bl serve
    ldm sp!, {r0-r3, r12, pc}^
#elif STYLE == 1 // on the stack of Supervisor mode
    srsdb sp!, #MODE_SUPERVISOR
    cps #MODE_SUPERVISOR
    push {r0-r3, r12}
    and r1, sp, #4
    sub sp, sp, r1
    push {r1, lr}
    bl serve
    pop {r1, lr}
    add sp, sp, r1
    pop {r0-r3, r12}
    rfeia sp!
#elif STYLE == 2 // LR and SPSR on a stack of their own
    push {lr}
    mrs lr, spsr
    push {lr}
    cps #MODE_SUPERVISOR
    push {r0-r4, r12}
    mov r2, sp
    and r2, r2, #4
    sub sp, sp, r2
    push {r2, lr}
    bl serve
    pop {r2, lr}
    add sp, sp, r2
    pop {r0-r4, r12}
    cps #MODE_IRQ
    pop {lr}
    msr spsr_cxsf, lr
    pop {lr}
    movs pc, lr
#elif STYLE == 3 // on the stack that is interrupted, which is aligned
    srsdb sp!, #MODE_SYSTEM
    cps #MODE_SYSTEM
    push {r0-r3, r12, lr}
    mov r0, sp
    bic sp, sp, #7
    push {r0, r1}
    bl serve
    pop {r0, r1}
    mov sp, r0
    pop {r0-r3, r12, lr}
    rfeia sp!
#else // all of a task, as kernels do
    stmdb sp, {r0-r14}^
    nop
    sub sp, sp, #60
    mrs r0, spsr
    push {r0, lr}
    bl serve
    pop {r0, lr}
    msr spsr_cxsf, r0
    ldm sp, {r0-r14}^
    nop
    add sp, sp, #60
    movs pc, lr
#endif
endfunction interrupt_entry

function finished
    cpsid i
    mov r4, r0
    ldr r1, =0x20026
    mov r0, #0x18
    .global halt_here
halt_here:
1:
    svc 0x123456 // semihosting: end
    b 1b
endfunction finished

    .bss
    .balign 8
handler_stacks:
    .space 2 * STACK
random:
    .space 4
