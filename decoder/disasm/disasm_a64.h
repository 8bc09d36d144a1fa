/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text of A64 instructions that are younger than capstone 4: what a program of today meets on its
 * path (pointer authentication, landing pads, atomics of v8.1), and all branches. As GNU binutils
 * writes them, numbers and targets as capstone does. Not for use outside of disasm.c
 * and its tests. */
#ifndef DECODER_DISASM_A64_H
#define DECODER_DISASM_A64_H

#include "btrace/types.h"

/* The length of the text as snprintf() counts it; 0: not one of those. */
int disasm_a64_text(uint32_t opcode, uint64_t address, char *out, size_t size);

#endif
