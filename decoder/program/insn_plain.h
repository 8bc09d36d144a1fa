/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Instructions that are no waypoints of any kind, told by a few bits: most of all code, which is
 * thus looked at without the tables of insn*.c. What is false here may still be none. Private to
 * decoder/.
 */
#ifndef DECODER_INSN_PLAIN_H
#define DECODER_INSN_PLAIN_H

#include "decoder/program/insn.h"

/* i[27:26] = 00 or 01 (data processing, loads and stores) with Rd or Rt other than the PC, but for
 * i[27:25] = 000 with i[24:23] = 10 and i[20] = 0, where BX, BLX and ERET are. */
static inline bool insn_a32_plain(uint32_t op)
{
    return op < 0xf0000000 && !(op & 0x08000000) && (op & 0xf000) != 0xf000 &&
           (op & 0x0f900000) != 0x01000000;
}

/* i[28:26] of all waypoints is 101. */
static inline bool insn_a64_plain(uint32_t op)
{
    return (op >> 26 & 7) != 5;
}

/* `h`: of 16 bits. By h[15:8]: 44, 46, 47, CBZ and CBNZ, BD, BF; from D0 on branches. */
static inline bool insn_t16_plain(uint32_t h)
{
    uint32_t high = h >> 8, b = high - 0xb0;
    return high < 0xd0 && (h & 0xfc00) != 0x4400 && (b >= 16 || !(0xaa0au >> b & 1));
}

/* Data processing: h1 = 11110 with bit 15 of h2 clear, or 1110101; loads and stores: h1 = 11111
 * with Rt other than the PC. */
static inline bool insn_t32_plain(uint32_t h1, uint32_t h2)
{
    if (h1 >= 0xf800)
        return h2 < 0xf000;
    if (h1 >= 0xf000)
        return h2 < 0x8000;
    return h1 >= 0xea00 && h1 < 0xec00;
}

#endif
