/* SPDX-License-Identifier: BSD-3-Clause */
/* Cortex-M: vectors, start-up, exception entries and the instructions that C does not make. */
    .syntax unified
    .thumb

    .macro function name
    .global \name
    .type \name, %function
    .thumb_func
\name:
    .endm

    .section .vectors, "a"
    .word handler_stack_top
    .word start
    .word nmi_entry
    .word fault_entry // HardFault
    .word fault_entry // MemManage
    .word fault_entry // BusFault
    .word fault_entry // UsageFault
    .word 0, 0, 0, 0
    .word service_entry
    .word fault_entry // DebugMonitor
    .word 0
    .word pend_entry
    .word tick_entry
    .rept 3
    .word interrupt
    .endr
    .word interrupt_loads_pc // IRQ3
    .rept 5
    .word interrupt
    .endr
    .word interrupt_pops_all // IRQ9
    .rept 6
    .word interrupt
    .endr

    .text
// Thread mode works on the process stack, handlers on the main stack.
function start
    ldr r0, =thread_stack_top
    msr psp, r0
    mov r0, #2
    msr control, r0
    isb
    bl main
    mov r0, #0x18
    ldr r1, =0x20026
    bkpt 0xab // semihosting: end
    b .

// void print(const char *): semihosting
function print
    mov r1, r0
    mov r0, #4
    bkpt 0xab
    bx lr

// Exceptions, which return in every way there is.

function fault_entry
    tst lr, #4
    ite eq
    mrseq r0, msp
    mrsne r0, psp
    push {r4, lr}
    bl skip_fault
    pop {r4, pc}

function service_entry
    push {r4, lr}
    bl service
    pop {r4, lr}
    bx lr

function tick_entry
    push {r3, lr}
    bl tick
    ldmia sp!, {r3, pc}

function nmi_entry
    b nmi

function pend_entry
    mov r1, lr
    movs r0, #3
1:  subs r0, r0, #1
    bne 1b
    ldr r2, =pends
    ldr r3, [r2]
    adds r3, r3, #1
    str r3, [r2]
    cmp r3, #0
    it ne
    bxne r1
    bx lr

function interrupt_loads_pc
    push {r3, lr}
    bl interrupt
    pop {r3}
    ldr pc, [sp], #4

function interrupt_pops_all
    push {r4-r7, lr}
    bl interrupt
    pop {r4-r7, pc}

// What faults, and what calls.

function service_call
    svc #1
    bx lr

// void undefined(void): UDF of both sizes; not executed, executed and last in IT blocks.
function undefined
    udf #7
    cmp r0, r0
    ite ne
    udfne #1
    udfeq #2
    itt eq
    moveq r1, #1
    udfeq.w #300
    udf.w #9
    bx lr

// unsigned load(unsigned address)
function load
    mov r1, r0
    movs r0, #1
    ldr r0, [r1]
    bx lr
function load_first // at the target of a branch
    ldr r0, [r0]
    bx lr
// void load_many(unsigned address), not aligned; void load_pc(unsigned address)
function load_many
    ldmia r0!, {r1, r2}
    bx lr
function load_pc
    ldmia r0!, {r2, pc}
    bx lr

// void pend_and_call(unsigned bits): interrupts come before the first instruction of SVC's handler.
function pend_and_call
    ldr r1, =0xe000e200 // NVIC_ISPR0
    str r0, [r1]
    svc #2
    bx lr

// void pend_together(unsigned bits): interrupts and PendSV wait for each other.
function pend_together
    cpsid i
    ldr r1, =0xe000e200
    str r0, [r1]
    ldr r1, =0xe000ed04 // ICSR
    mov r0, #0x10000000
    str r0, [r1]
    cpsie i
    isb
    bx lr

// Flow.

// unsigned tables(unsigned): TBB, TBH, CBZ, IT blocks, wide branches, PC written by data processing.
function tables
#include "tables_t32.S"
11: adr r1, 13f
    mov pc, r1
    b .
    .balign 4
13: it ne
    bxne lr
    itee eq
    moveq r1, #0
    addne r1, r1, #1
    isbne
    itet ne
    movne r1, #0
    isbeq
    isbne
    adr r1, 14f
    adds r1, r1, #1
    blx r1
    cmp r0, #0
    ite lt
    poplt {r4, pc}
    popge {r4, pc}
    .balign 4
14: bx lr

// A branch to the next instruction, taken or not.
function next_branches
    mov r1, lr
    cmp r0, #1
    .global branch_if_one, branch_if_not_one
branch_if_one:
    beq branch_if_not_one
branch_if_not_one:
    bne 12f
12: bx r1

// Many instructions without a branch, each second one not executed.
function long_block
    cmp r0, r0
    .global not_added, added
    ite ne
not_added:
    addne r0, r0, #1
added:
    addeq r0, r0, #2
    .rept 300
    ite ne
    addne r0, r0, #1
    addeq r0, r0, #2
    .endr
    bx lr
    .ltorg

    .bss
    .balign 8
    .global scratch
scratch:
    .space 8
    .space 1024
thread_stack_top:
    .space 1024
handler_stack_top:
    .space 8
