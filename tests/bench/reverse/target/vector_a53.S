/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * virt of qemu-system-aarch64: SIMD registers that are loaded, stored, copied, and computed with; a
 * value that nobody knows comes from a counter.
 */
    .text
    .global _start
_start:
    mov     x0, #3 << 20
    msr     cpacr_el1, x0
    isb
    ldr     x1, =data
    ldr     x2, =room
    mov     x3, #ROUNDS
again:
    ldp     q0, q1, [x1]
    ldr     d2, [x1, #24]
    ldr     s3, [x1, #36]
    ldr     b4, [x1, #3]
    ldp     d5, d6, [x1, #40]
    stp     q1, q0, [x2]
    str     q2, [x2, #32]
    ldr     q7, [x2, #16]
    ld1     {v16.2d, v17.2d}, [x1]
    bl      compute
    mrs     x5, cntvct_el0
    str     x5, [x2, #48]
    ldr     q20, [x2, #48]
    str     x3, [x1, #8]
    subs    x3, x3, #1
    b.ne    again
    .global halt_here
halt_here:
    b       halt_here

    .global compute
compute:
    add     v21.4s, v0.4s, v1.4s
    fadd    d23, d0, d6
    scvtf   d24, x3
    fdiv    d25, d24, d5
    fmul    v26.2d, v1.2d, v25.d[0]
    fsqrt   v27.2d, v26.2d
    fmla    v28.2d, v27.2d, v24.2d
    fcvt    s29, d27
    dup     v30.4s, v29.s[0]
    fcvtzs  x4, d27
    fmov    d31, x4
    fmov    x4, d2
    add     x4, x4, x3
    str     x4, [x1, #24]
    ldr     q22, [x1, #16]
    ret
    .ltorg

    .data
    .balign 16
data:
    .quad   0x0123456789abcdef, 0xfedcba9876543210, 1, 2
    .quad   0x400921fb54442d18, 0x3ff0000000000000, 0x7ff8000000000001, 7
room:
    .fill   128, 1, 0
