/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * AArch64: start-up at EL1, vectors, exception entries, and the instructions that C does not make.
 * The program is in the upper half of the address space, what runs at EL0 in the lower one.
 */
    .equ FRAME, 192
    .equ ATTRIBUTES, 0xff04
    .equ CONTROL, 25 | 1 << 8 | 1 << 10 | 3 << 12 | 25 << 16 | 1 << 24 | 1 << 26 | 3 << 28 | 2 << 30

    .macro function name
    .global \name
    .type \name, %function
\name:
    .endm

    .section .low, "ax"
function start
    adr x0, low_table
    msr ttbr0_el1, x0
    adr x0, high_table
    msr ttbr1_el1, x0
    ldr x0, =ATTRIBUTES
    msr mair_el1, x0
    ldr x0, =CONTROL
    msr tcr_el1, x0
    isb
    mrs x0, sctlr_el1
    orr x0, x0, #1
    msr sctlr_el1, x0
    isb
    ldr x0, =high_start
    br x0
    .ltorg

// At EL0: a loop of calls and branches, then a service that ends it.
function user
    mov x1, x0
1:  bl user_leaf
    subs x1, x1, #1
    b.ne 1b
    svc #2
    tbnz x0, #0, 2f
    add x0, x0, #1
2:  svc #1
    b .
user_leaf:
    cbz x1, 1f
    add x0, x0, x1, lsl #1
1:  ret

    .balign 4096
low_table: // memory, to be read at EL0 too
    .quad 0
    .quad 0x400007c5
    .fill 510, 8, 0
high_table: // devices, memory
    .quad 0x60000000000401
    .quad 0x40000705
    .fill 510, 8, 0

    .text
    .macro vector entry
    .balign 128
    b \entry
    .endm
    .balign 2048
vectors:
    .rept 4
    vector .
    .endr
    .rept 2 // from EL1, from EL0
    vector synchronous_entry
    vector interrupt_entry
    vector .
    vector .
    .endr
    .rept 4
    vector .
    .endr

high_start:
    adr x0, vectors
    msr vbar_el1, x0
    isb
    mrs x19, mpidr_el1
    and x19, x19, #0xff
    ldr x0, =stacks_end
    sub x0, x0, x19, lsl #13
    mov sp, x0
    cbnz x19, second_start
    bl main
    adr x1, exit_block
    mov w0, #0x18
    hlt #0xf000 // semihosting: end
    b .
second_start:
    bl second
1:  wfi
    b 1b
    .balign 8
exit_block:
    .quad 0x20026, 0

// void print(const char *): semihosting
function print
    mov x1, x0
    mov w0, #4
    hlt #0xf000
    ret

// void wake_second(void): PSCI CPU_ON of core 1.
function wake_second
    ldr x2, =start
    ldr x0, =0xc4000003
    mov x1, #1
    mov x3, #0
    hvc #0
    ret

    .macro entry name, handler
function \name
    sub sp, sp, #FRAME
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
    add sp, sp, #FRAME
    eret
    .endm
    entry synchronous_entry, synchronous
    entry interrupt_entry, interrupt

// void run_user(unsigned long count): user() at EL0, until its service 1 leads to user_done.
function run_user
    stp x29, x30, [sp, #-96]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    msr daifset, #2
    ldr x1, =user
    msr elr_el1, x1
    mov x1, #0
    msr spsr_el1, x1
    eret
function user_done
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp x29, x30, [sp], #96
    ret

function service_call
    svc #0
    ret
function undefined
    udf #7
    ret
function floating // not allowed by CPACR_EL1
    .inst 0x9e670000 // FMOV D0, X0
    ret
function breakpoint
    brk #5
    ret
function load
    mov x1, x0
    mov x0, #1
    ldr x0, [x1]
    ret
function load_first // at the target of a branch
    ldr x0, [x0]
    ret
function load_pair // unaligned for a device
    ldp x1, x2, [x0]
    ret

// unsigned tables(unsigned): computed branches, and each kind of conditional one.
function tables
    stp x29, x30, [sp, #-16]!
    and x0, x0, #3
    adr x1, 1f
    add x1, x1, x0, lsl #3
    br x1
1:  add x0, x0, #3
    b 2f
    cbnz w0, 2f
    b 2f
    tbz x0, #1, 2f
    b 3f
    adr x2, 4f
    blr x2
3:  sub x0, x0, #1
2:  cmp x0, #2
    b.ls 5f
    tbnz w0, #2, 6f
    cbz x0, 5f
6:  add x0, x0, #1
5:  ldp x29, x30, [sp], #16
    ret
4:  isb
    ret x30

// A branch to the next instruction, taken or not.
function next_branches
    cmp x0, #1
    .global branch_if_one, branch_if_not_one
branch_if_one:
    b.eq branch_if_not_one
branch_if_not_one:
    b.ne 1f
1:  ret

function set_context_id
    msr contextidr_el1, x0
    isb
    ret

// More than 4096 bytes without a branch.
function long_block
    .rept 1500
    add x0, x0, #1
    .endr
    ret
    .ltorg

    .section .stacks, "aw", %nobits
    .balign 16
    .space 16384
stacks_end:
