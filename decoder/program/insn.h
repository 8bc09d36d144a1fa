/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class of one instruction: is it a waypoint, where does it go, how long is it.
 * Own opcode masks (waypoint instructions of IHI 0035B 2.2, P0 instructions of IHI 0064H.b); no
 * disassembler is asked.
 */
#ifndef DECODER_INSN_H
#define DECODER_INSN_H

#include "btrace/types.h"

enum insn_class {
    INSN_OTHER,    /* not a waypoint */
    INSN_DIRECT,   /* target in the opcode */
    INSN_INDIRECT, /* target computed or loaded */
    INSN_ISB,      /* barrier that is always a waypoint; its "target" is the next instruction */
    INSN_BARRIER,  /* DMB, DSB: waypoints only where the trace unit says so (ETMCCER[24]) */
    INSN_WAIT,     /* WFI, WFE: where the trace unit says so (TRCIDR2[31]) */
    INSN_START,    /* TSTART: where the trace unit is an ETE */
};

#define INSN_LINK        1u /* writes the return address: pushes on the return stack */
#define INSN_CONDITIONAL 2u /* by its own encoding (IT blocks are not seen here) */
#define INSN_EXC_RETURN  4u /* exception return instruction */
#define INSN_SWITCH_ISA  8u /* direct branch to the other of A32/T32 */

struct insn {
    uint64_t target; /* direct branches only */
    uint8_t size;    /* bytes: 2 or 4 */
    uint8_t cls;     /* enum insn_class */
    uint8_t flags;   /* INSN_* */
    uint8_t target_isa;
};

/* A32 word `op` at `address`. What is outside the lists of IHI 0035B 2.2 is INSN_OTHER. */
void insn_decode_a32(uint32_t op, uint64_t address, struct insn *out);

/* Size in bytes of the T32 instruction that starts with halfword `h1`. */
static inline unsigned insn_t32_size(uint16_t h1)
{
    return (h1 & 0xe000) == 0xe000 && (h1 & 0x1800) != 0 ? 4 : 2;
}

/* T32 instruction at `address`; `h2` is ignored for 16-bit ones. */
void insn_decode_t32(uint16_t h1, uint16_t h2, uint64_t address, struct insn *out);

/* A64 word `op` at `address` (P0 instructions of IHI 0064H.b). */
void insn_decode_a64(uint32_t op, uint64_t address, struct insn *out);

/* As insn_decode_t32, in ThumbEE state: handler branches are waypoints there. */
void insn_decode_t32ee(uint16_t h1, uint16_t h2, uint64_t address, struct insn *out);

#endif
