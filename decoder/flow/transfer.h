/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much data an ARMv4 or ARMv5 instruction transfers: ETMv1 does not say how many bytes of a
 * value follow (IHI 0014Q chapter 5), ETMv2 not how wide an access is.
 */
#ifndef DECODER_TRANSFER_H
#define DECODER_TRANSFER_H

#include "decoder/flow/access.h"

struct transfer {
    uint8_t kind; /* enum access_kind */
    bool store;   /* SWP: of the first transfer, a load; the second is a store */
    bool swap;
    uint8_t bytes; /* of one transfer: 1, 2 or 4 */
    uint8_t count; /* of transfers; 0: depends on the coprocessor (LDC, STC) */
};

/* `opcode` as code_insn() gives it; `size` is the instruction's. Preloads are ACCESS_NONE. */
struct transfer transfer_of(uint32_t opcode, unsigned size, enum bt_isa isa);

#endif
