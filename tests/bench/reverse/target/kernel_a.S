/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small kernel for a Cortex-A9, entries: tasks in System mode; services on the stack of Supervisor
 * mode, with a result in the pushed r0; a yield and an interrupt that switches push the whole task on
 * its own stack, SRS first, and give back another one's with RFE; interrupts push LR and SPSR on
 * their own stack, the rest on that of Supervisor mode, where they may be interrupted again.
 */
    .syntax unified
    .arm
    .cpu cortex-a9

    .equ MODE_IRQ, 0x12
    .equ MODE_SUPERVISOR, 0x13
    .equ MODE_SYSTEM, 0x1f
    .equ IRQ_STACK, 256
    .equ CONTROLLER, 0x1e000100

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
    b service_entry
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
    ldr sp, =kernel_stacks + IRQ_STACK
    cps #MODE_SUPERVISOR
    ldr sp, =kernel_stacks_end
    bl start_kernel
    b give_back
endfunction start

// What a task needs to go on, on its own stack; r1: task. LR and SPSR are those of the exception.
    .macro put_away
    srsdb sp!, #MODE_SYSTEM
    cps #MODE_SYSTEM
    push {r0-r12, lr}
    ldr r2, =nesting
    ldr r1, [r2]
    push {r1}
    ldr r0, =current
    ldr r1, [r0]
    str sp, [r1]
    .endm

function change_task
    mov r4, sp
    bic sp, sp, #7
    bl switch_context
    mov sp, r4
endfunction change_task
function give_back
    cps #MODE_SYSTEM
    ldr r0, =current
    ldr r1, [r0]
    ldr sp, [r1]
    ldr r0, =nesting
    pop {r1}
    str r1, [r0]
    pop {r0-r12, lr}
    rfeia sp!
endfunction give_back

function service_entry
    push {r0-r3, r12, lr}
    mrs r1, spsr
    push {r1, r2}
    tst r1, #0x20
    ldrhne r0, [lr, #-2]
    bicne r0, r0, #0xff00
    ldreq r0, [lr, #-4]
    biceq r0, r0, #0xff000000
    cmp r0, #2
    beq 1f
    add r0, sp, #8
    bl serve
    pop {r1, r2}
    msr spsr_cxsf, r1
    ldm sp!, {r0-r3, r12, pc}^
1:  add sp, sp, #8
    pop {r0-r3, r12, lr}
    put_away
    b change_task
endfunction service_entry

function interrupt_entry
    sub lr, lr, #4
    push {lr}
    mrs lr, spsr
    push {lr}
    cps #MODE_SUPERVISOR
    push {r0-r4, r12}
    ldr r3, =interrupted
    ldr r1, [r3]
    add r0, r1, #1
    str r0, [r3]
    push {r1}
    ldr r2, =CONTROLLER
    ldr r0, [r2, #0xc]
    mov r2, sp
    and r2, r2, #4
    sub sp, sp, r2
    push {r0-r4, lr}
    bl interrupt
    pop {r0-r4, lr}
    add sp, sp, r2
    cpsid i
    dsb
    isb
    ldr r2, =CONTROLLER
    str r0, [r2, #0x10]
    pop {r1}
    ldr r3, =interrupted
    str r1, [r3]
    cmp r1, #0
    bne 1f
    ldr r1, =yield_wanted
    ldr r0, [r1]
    cmp r0, #0
    bne 2f
1:  pop {r0-r4, r12}
    cps #MODE_IRQ
    pop {lr}
    msr spsr_cxsf, lr
    pop {lr}
    movs pc, lr
2:  mov r0, #0
    str r0, [r1]
    pop {r0-r4, r12}
    cps #MODE_IRQ
    pop {lr}
    msr spsr_cxsf, lr
    pop {lr}
    put_away
    b change_task
endfunction interrupt_entry

function set_jump
    stmia r0!, {r4-r11}
    str sp, [r0], #4
    str lr, [r0]
    mov r0, #0
    bx lr
endfunction set_jump

function long_jump
    ldmia r0!, {r4-r11}
    ldr sp, [r0], #4
    ldr lr, [r0]
    mov r0, r1
    bx lr
endfunction long_jump

function finished
    cpsid i
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
kernel_stacks:
    .space IRQ_STACK
    .space 1024
kernel_stacks_end:
