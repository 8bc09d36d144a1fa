/* SPDX-License-Identifier: BSD-3-Clause */
/* Which instructions transfer data: data trace belongs to the latest of them (IHI 0014Q 7.4.2). */
#ifndef DECODER_ACCESS_H
#define DECODER_ACCESS_H

#include "btrace/types.h"

enum access_kind {
    ACCESS_NONE,
    ACCESS_MEMORY,
    ACCESS_REGISTER, /* coprocessor register transfer: data without an address */
};

struct access {
    uint8_t kind; /* enum access_kind */
    bool store;
    uint8_t bytes; /* of one transfer: 1, 2 or 4; multiple and double ones are several of 4 */
};

/* `opcode` as code_insn() gives it; `size` is the instruction's. Preloads are ACCESS_NONE. */
struct access access_of(uint32_t opcode, unsigned size, enum bt_isa isa);

struct transfer {
    uint8_t kind; /* enum access_kind */
    bool store;   /* SWP: of the first transfer, a load; the second is a store */
    bool swap;
    uint8_t bytes; /* of one transfer: 1, 2 or 4 */
    uint8_t count; /* of transfers; 0: depends on the coprocessor (LDC, STC) */
};

/* The same of ARMv4 and ARMv5, with how much is transferred: ETMv1 does not say how many bytes of a
 * value follow (IHI 0014Q chapter 5), ETMv2 not how wide an access is. */
struct transfer transfer_of(uint32_t opcode, unsigned size, enum bt_isa isa);

#endif
