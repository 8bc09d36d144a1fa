/* SPDX-License-Identifier: BSD-3-Clause */
/* Cortex-A9 of vexpress-a9 with exceptions of all kinds and handlers of several styles. */
    .syntax unified
    .arm
    .cpu cortex-a9
    .cfi_sections .debug_frame

    .equ MODE_USER, 0x10
    .equ MODE_IRQ, 0x12
    .equ MODE_SUPERVISOR, 0x13
    .equ MODE_ABORT, 0x17
    .equ MODE_UNDEFINED, 0x1b
    .equ MODE_SYSTEM, 0x1f
    .equ MODE_STACK, 256
    .equ PRIVATE, 0x1e000000 // interrupt controller, timer
    .equ PERIOD, 613

    .macro function name
    .global \name
    .type \name, %function
\name:
    .cfi_startproc
    .endm
    .macro endfunction name
    .cfi_endproc
    .size \name, . - \name
    .endm
    .macro stack mode, number
    cps #\mode
    ldr sp, =mode_stacks + (\number + 1) * MODE_STACK
    .endm

    .section .vectors, "ax"
    .balign 32
vectors:
    b start
    b undefined_entry
    b service_entry
    b prefetch_abort_entry
    b data_abort_entry
    b .
    b interrupt_entry
    b .

    .text
function start
    .cfi_undefined lr
    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0 // VBAR
    mrc p15, 0, r0, c1, c0, 0 // SCTLR
    orr r0, r0, #2 // accesses that are not aligned fault
    mcr p15, 0, r0, c1, c0, 0
    stack MODE_IRQ, 0
    stack MODE_SUPERVISOR, 1
    stack MODE_ABORT, 2
    stack MODE_UNDEFINED, 3
    cps #MODE_SYSTEM
    ldr sp, =stack_top
    bl start_timer
    cpsie i
    bl main
    b .
endfunction start

function start_timer
    ldr r1, =PRIVATE
    ldr r0, =PERIOD
    str r0, [r1, #0x600]
    mov r0, #1
    str r0, [r1, #0x100] // processor interface
    mov r0, #0xff
    str r0, [r1, #0x104] // priority mask
    mov r0, #7
    str r0, [r1, #0x608] // timer runs, again and again, interrupts
    ldr r1, =PRIVATE + 0x1000
    mov r0, #1
    str r0, [r1] // distributor
    mov r0, #1 << 29
    str r0, [r1, #0x100]
    bx lr
endfunction start_timer

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

// Handlers.

// r0: what it is about
function note
    push {r4, r5, lr}
    ldr r4, =notes
    and r5, r0, #7
    ldr r0, [r4, r5, lsl #2]
    add r0, r0, #1
    str r0, [r4, r5, lsl #2]
    pop {r4, r5, pc}
endfunction note

function interrupt_entry
    sub lr, lr, #4
    srsdb sp!, #MODE_SYSTEM
    cps #MODE_SYSTEM
    push {r0-r4, r12, lr}
    mov r4, sp
    bic sp, sp, #7
    ldr r1, =PRIVATE
    ldr r2, [r1, #0x10c]
    mov r0, #1
    str r0, [r1, #0x60c]
    str r2, [r1, #0x110]
    bl note
    mov sp, r4
    pop {r0-r4, r12, lr}
    rfeia sp!
endfunction interrupt_entry

// Gives r0 back; may be interrupted.
function service_entry
    push {r1-r3, r12, lr}
    mrs r12, spsr
    push {r12, lr}
    cpsie i
    mov r0, #2
    bl note
    cpsid i
    pop {r12, lr}
    msr spsr_cxsf, r12
    ldm sp!, {r1-r3, r12, pc}^
endfunction service_entry

// Goes on behind the instruction.
function data_abort_entry
    push {r0-r3, r12, lr}
    mov r0, #3
    bl note
    pop {r0-r3, r12, lr}
    subs pc, lr, #4
endfunction data_abort_entry

function prefetch_abort_entry
    srsdb sp!, #MODE_ABORT
    push {r0-r3, r12, lr}
    mov r0, #4
    bl note
    pop {r0-r3, r12, lr}
    rfeia sp!
endfunction prefetch_abort_entry

// All registers of the interrupted mode, as a scheduler saves them.
function undefined_entry
    sub sp, sp, #60
    stmia sp, {r0-r14}^
    mrs r0, spsr
    push {r0, lr}
    mov r0, #5
    bl note
    pop {r0, lr}
    msr spsr_cxsf, r0
    ldmia sp, {r0-r14}^
    nop
    add sp, sp, #60
    movs pc, lr
endfunction undefined_entry

// What they interrupt.

function in_supervisor
    push {r4, lr}
    mov r4, r0
    mov r0, #6
    bl note
    svc #7 // from the mode that it goes to
    add r0, r4, r0
    pop {r4, pc}
endfunction in_supervisor

function masked
    push {r4, lr}
    mrs r4, cpsr
    orr r1, r4, #0x80
    msr cpsr_c, r1
    mov r0, #7
    bl note
    msr cpsr_c, r4
    pop {r4, pc}
endfunction masked

    .thumb
    .thumb_func
function in_thumb
    push {r4, r5, r6, lr}
    movs r4, r0
    add r5, sp, #4
    adds r5, #2
    svc #3
    udf #1
    nop
    adds r4, r4, r0
    cps #MODE_SUPERVISOR
    mov r6, sp
    mov r0, r4
    blx masked
    adds r0, r4, r6
    cps #MODE_SYSTEM
    pop {r4, r5, r6, pc}
endfunction in_thumb
    .arm

function work_board
    push {r4-r8, lr}
    .cfi_def_cfa_offset 24
    .cfi_offset lr, -4
    mov r4, r0
    svc #1
    eor r5, r0, r4
    udf #0
    add r6, sp, #1
    ldr r7, [r6]
    str r5, [r6, #2]
    stm r6, {r4, r5}
    bkpt #0
    mov r0, r4
    bl masked
    tst r4, #1
    bne 1f
    cps #MODE_SUPERVISOR
    push {r4, lr}
    mov r0, r5
    bl in_supervisor
    pop {r4, lr}
    msr cpsr_c, #MODE_SYSTEM
1:  mov r0, r5
    blx in_thumb
    eor r0, r0, r4
    pop {r4-r8, pc}
endfunction work_board

    .bss
    .balign 8
notes:
    .space 32
mode_stacks:
    .space 4 * MODE_STACK
