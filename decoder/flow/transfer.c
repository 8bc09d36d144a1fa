/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/flow/access.h"

static uint8_t transfer_ones(uint32_t bits)
{
    return (uint8_t)__builtin_popcount(bits);
}

static uint8_t a32_count(uint32_t op, bool *swap)
{
    if ((op & 0x0e000000) == 0x08000000) /* LDM, STM; RFE and SRS have two words */
        return op >> 28 == 0xf ? 2 : transfer_ones(op & 0xffff);
    if ((op & 0x0fb00ff0) == 0x01000090) { /* SWP, SWPB */
        *swap = true;
        return 2;
    }
    if ((op & 0x0e1000d0) == 0x000000d0) /* LDRD, STRD */
        return 2;
    if ((op & 0x0fe00000) == 0x0c400000) /* MCRR, MRRC */
        return 2;
    if ((op & 0x0e000000) == 0x0c000000) /* LDC, STC */
        return 0;
    return 1;
}

static uint8_t t16_count(uint32_t h)
{
    if ((h & 0xf600) == 0xb400) /* PUSH, POP */
        return transfer_ones(h & 0x1ff);
    if ((h & 0xf000) == 0xc000) /* LDMIA, STMIA */
        return transfer_ones(h & 0xff);
    return 1;
}

struct transfer transfer_of(uint32_t opcode, unsigned size, enum bt_isa isa)
{
    struct access a = access_of(opcode, size, isa);
    struct transfer t = {.kind = a.kind, .store = a.store, .bytes = a.bytes};
    if (a.kind == ACCESS_NONE)
        return t;
    if (isa == BT_ISA_A32)
        t.count = a32_count(opcode, &t.swap);
    else if (size == 2)
        t.count = t16_count(opcode);
    return t;
}
