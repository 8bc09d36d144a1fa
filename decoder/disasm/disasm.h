/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text of instructions, from capstone; asked once per instruction and remembered. Only listings
 * need it: what is a waypoint and where it goes is decided in insn.h.
 */
#ifndef DECODER_DISASM_H
#define DECODER_DISASM_H

#include "btrace/types.h"

struct disasm; /* private */

/* M-profile cores decode some encodings differently. NULL: no memory. */
struct disasm *disasm_new(bool m_profile);
void disasm_free(struct disasm *d);

/* Calls of the disassembler, and different instructions asked for so far. */
void disasm_counts(const struct disasm *d, uint64_t *calls, uint64_t *texts);

#define DISASM_NO_IT 0xff

/*
 * Text such as "bl #0x8000". `size` is 2 or 4, `opcode` as code_insn() gives it, `it_cond` the
 * condition (0..14) that an IT block lends the instruction, or DISASM_NO_IT. What capstone does
 * not know, and disasm_a64.h neither, comes as ".inst 0x...". The text is the
 * disassembler's, valid until the next call.
 */
const char *disasm_text(struct disasm *d, uint64_t address, enum bt_isa isa, uint32_t opcode,
                        unsigned size, uint8_t it_cond);

/*
 * IT blocks, tracked along a path: say where each instruction stands, in order. A path that
 * jumps in or out of a block starts with no condition known.
 */
struct it_track {
    uint64_t next; /* address behind the last instruction */
    uint8_t state; /* ITSTATE as in the CPSR; 0: not in a block */
    struct {
        uint64_t address;
        uint8_t state;
    } saved[8]; /* blocks left by an exception, resumed at their address */
    uint8_t saved_next;
};

/* The condition for the instruction at `address`, before it is executed, or DISASM_NO_IT. */
uint8_t it_track_step(struct it_track *it, uint64_t address, enum bt_isa isa, uint32_t opcode,
                      unsigned size);

#endif
