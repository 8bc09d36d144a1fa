/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text of T32 instructions of the M profile that capstone 4 lacks or takes for others: those
 * between the security states, the loops and conditional selects of v8.1-M. Operands as GNU
 * binutils writes them, targets as capstone does. Not for use outside of disasm.c
 * and its tests. */
#ifndef DECODER_DISASM_M_H
#define DECODER_DISASM_M_H

#include "btrace/types.h"

/* `opcode` of 2 or 4 bytes; `cond` of an IT block, 14 without. The length of the text as snprintf()
 * counts it; 0: not one of those. */
int disasm_m_text(uint32_t opcode, unsigned size, uint64_t address, unsigned cond, char *out,
                  size_t room);

#endif
