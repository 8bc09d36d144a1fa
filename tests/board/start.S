/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors, start-up, exception entries and the instructions that C does not make. */
    .syntax unified
    .cpu cortex-a9
    .arch_extension sec
    .arm

    .macro function name
    .global \name
    .type \name, %function
\name:
    .endm
    .macro thumb_function name
    .thumb
    .thumb_func
    function \name
    .endm

    .section .vectors, "ax"
    .balign 32
function vectors
    b start
    b undefined_entry
    b service_entry
    b prefetch_entry
    b data_entry
    b .
    b interrupt_entry
    b .

// As above, but the Undefined Instruction vector aborts in its turn: two exceptions in a row.
    .balign 32
function vectors_twice
    b .
    bkpt #1
    b service_entry
    b prefetch_entry
    b data_entry
    b .
    b interrupt_entry
    b .

// For SCTLR.TE: exceptions are entered in T32 state.
    .balign 32
thumb_function vectors_thumb
    b.w .
    b.w undefined_entry_thumb
    b.w service_entry_thumb
    b.w prefetch_entry_thumb
    b.w data_entry_thumb
    b.w .
    b.w interrupt_entry_thumb
    b.w .

    .arm
    .balign 32
function vectors_monitor
    b .
    b .
    b monitor_entry
    b .
    b .
    b .
    b .
    b .

    .text
    .arm
function start
    mrc p15, 0, r0, c0, c0, 5 // MPIDR
    tst r0, #3
    bne second_start
    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0 // VBAR
    cps #0x12
    ldr sp, =interrupt_stack_top
    cps #0x17
    ldr sp, =abort_stack_top
    cps #0x1b
    ldr sp, =undefined_stack_top
    cps #0x13
    ldr sp, =service_stack_top
    bl map_memory
    cps #0x1f // System mode: main
    ldr sp, =main_stack_top
    bl main
    mov r0, #0x18
    ldr r1, =0x20026
    svc 0x123456 // semihosting: end
    b .

// The second core, if there is one: some work, then nothing.
second_start:
    ldr r0, =vectors
    mcr p15, 0, r0, c12, c0, 0
    cps #0x12
    ldr sp, =second_interrupt_stack_top
    cps #0x1f
    ldr sp, =second_stack_top
    bl second
    wfi
    b . - 4

// void print(const char *): semihosting
function print
    mov r1, r0
    mov r0, #4
    svc 0x123456
    bx lr

// Sections of 1 MB: RAM, the private peripherals. Anything else aborts.
function map_memory
    ldr r0, =translation_table
    ldr r1, =0x60000c02
    add r2, r0, #0x600 * 4
    str r1, [r2]
    ldr r1, =0x1e000c02
    str r1, [r0, #0x1e0 * 4]
    mcr p15, 0, r0, c2, c0, 0 // TTBR0
    mov r1, #1
    mcr p15, 0, r1, c3, c0, 0 // DACR
    dsb
    mrc p15, 0, r1, c1, c0, 0 // SCTLR
    orr r1, r1, #1
    mcr p15, 0, r1, c1, c0, 0
    isb
    bx lr
    .ltorg

// Exceptions: A32 entries return in every way there is.
function undefined_entry
    push {r0, r1}
    mrs r0, spsr
    tst r0, #0x20
    subeq lr, lr, #4 // the instruction
    subne lr, lr, #2
    pop {r0, r1}
    push {r0-r3, r12, lr}
    mov r0, lr
    bl skip_undefined
    str r0, [sp, #20]
    ldm sp!, {r0-r3, r12, pc}^

function service_entry
    push {r0-r3, r12, lr}
    bl service
    pop {r0-r3, r12, lr}
    movs pc, lr

function prefetch_entry
    sub lr, lr, #4
    srsdb sp!, #0x17
    push {r0-r3, r12, lr}
    mov r0, lr
    bl prefetch_abort
    str r0, [sp, #24] // where it goes on
    pop {r0-r3, r12, lr}
    rfeia sp!

function data_entry
    push {r0-r3, r12, lr}
    bl data_abort
    pop {r0-r3, r12, lr}
    subs pc, lr, #4 // behind an A32 instruction

function interrupt_entry
    sub lr, lr, #4
    push {r0-r3, r12, lr}
    bl interrupt
    ldm sp!, {r0-r3, r12, pc}^

function monitor_entry
    movs pc, lr

thumb_function undefined_entry_thumb
    push {r0, r1}
    mrs r0, spsr
    tst r0, #0x20
    ite eq
    subeq lr, lr, #4
    subne lr, lr, #2
    pop {r0, r1}
    push {r0-r3, r12, lr}
    mov r0, lr
    bl skip_undefined
    mov lr, r0
    pop {r0-r3, r12}
    add sp, sp, #4
    subs pc, lr, #0

thumb_function service_entry_thumb
    srsdb sp!, #0x13
    push {r0-r3, r12, lr}
    bl service
    pop {r0-r3, r12, lr}
    rfeia sp!

thumb_function prefetch_entry_thumb
    sub lr, lr, #4
    srsdb sp!, #0x17
    push {r0-r3, r12, lr}
    mov r0, lr
    bl prefetch_abort
    str r0, [sp, #24]
    pop {r0-r3, r12, lr}
    rfeia sp!

thumb_function data_entry_thumb
    push {r0-r3, r12, lr}
    bl data_abort
    pop {r0-r3, r12, lr}
    subs pc, lr, #4

thumb_function interrupt_entry_thumb
    sub lr, lr, #4
    push {r0-r3, r12, lr}
    bl interrupt
    pop {r0-r3, r12, lr}
    subs pc, lr, #0

// void service_call(unsigned)
    .arm
function service_call
    svc #0
    bx lr
thumb_function service_call_thumb
    svc #0
    bx lr

    .arm
function set_monitor
    mcr p15, 0, r0, c12, c0, 1 // MVBAR
    isb
    bx lr

function monitor_call
    push {lr}
    smc #0
    pop {pc}

// The handler steps over the word or the halfwords.
function undefined_a32
    udf #7
    udfne #9 // not executed if Z is set
    bx lr
thumb_function undefined_t32
    udf #7
    cmp r0, r0
    ite eq
    moveq r1, #1
    udfne #1
    udf.w #300
    bx lr

// unsigned load(unsigned address): the handler steps over the load.
    .arm
function load
    mov r1, r0
    mov r0, #1
    ldr r0, [r1]
    bx lr
function load_first // at the target of a branch
    ldr r0, [r0]
    bx lr
// A return that aborts: pop from a stack that does not exist. The handler steps over it.
function load_pc
    mov r1, sp
    mov sp, r0
    ldm sp, {r2, pc}
    mov sp, r1
    bx lr

function breakpoint
    bkpt #5
    bx lr

// unsigned indirect(unsigned): every kind of indirect branch of A32.
function indirect
    push {r4, lr}
    add r1, pc, #4 // 2f
    mov pc, r1
    b .
    nop
    and r0, r0, #3
    add pc, pc, r0, lsl #2
    nop
    b 1f
    b 1f
    b 1f
    b 1f
1:  adr r1, 2f
    ldr r2, =scratch
    str r1, [r2]
    ldr pc, [r2]
    b .
2:  adr r1, 3f
    cmp r0, #2
    bxne r1
    bxeq r1
    b .
3:  cmp r0, #1
    moveq r0, #2
    blxeq r1 // once more
    cmp r0, #0
    popne {r4, pc}
    pop {r4, lr}
    bxeq lr
    b .
    .ltorg

// unsigned tables(unsigned): TBB, TBH, CBZ, IT blocks, wide branches.
thumb_function tables
#include "tables_t32.S"
11: it ne
    bxne lr
    .global isb_not_executed, isb_executed, isb_last
    itee eq
    moveq r1, #0
    addne r1, r1, #1
isb_not_executed:
    isbne
    itet ne
    movne r1, #0
isb_executed:
    isbeq
isb_last:
    isbne
    pop {r4, pc}
    .ltorg

    .arm
function barriers
    dmb
    isb
    dsb
    mcr p15, 0, r0, c7, c5, 4
    bx lr

function set_context_id
    mcr p15, 0, r0, c13, c0, 1
    isb
    bx lr

// A branch to the next instruction, taken or not.
function next_branches
    mov r1, lr
    cmp r0, #1
    .global branch_if_one, branch_if_not_one, call_if_not_one
branch_if_one:
    beq branch_if_not_one
branch_if_not_one:
    bne call_if_not_one
call_if_not_one:
    blne 12f
12: bx r1

// More than 4096 bytes without a waypoint.
function long_block
    .rept 1500
    add r0, r0, #1
    .endr
    bx lr
    .ltorg

// void set_exceptions(const void *base, unsigned te): VBAR and SCTLR.TE.
function set_exceptions
    cpsid i
    mcr p15, 0, r0, c12, c0, 0
    mrc p15, 0, r2, c1, c0, 0
    bic r2, r2, #0x40000000
    orr r2, r2, r1, lsl #30
    mcr p15, 0, r2, c1, c0, 0
    isb
    cpsie i
    bx lr

    .bss
    .balign 8
    .global scratch
scratch:
    .space 8
    .space 1024
main_stack_top:
    .space 512
service_stack_top:
    .space 512
interrupt_stack_top:
    .space 512
abort_stack_top:
    .space 512
undefined_stack_top:
    .space 512
second_stack_top:
    .space 512
second_interrupt_stack_top:
    .space 8

    .section .translation, "aw", %nobits
    .balign 16384
translation_table:
    .space 16384
