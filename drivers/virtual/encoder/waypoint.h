/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a PTM knows about an instruction that ran: is it a waypoint, does it link, where does it
 * go (PFT v1.1, list of waypoint instructions). Written for the trace unit model and independent
 * of the decoder's table, so that one can check the other.
 */
#ifndef DRIVERS_VIRTUAL_WAYPOINT_H
#define DRIVERS_VIRTUAL_WAYPOINT_H

#include "btrace/types.h"

enum waypoint_class {
    WAYPOINT_NONE,
    WAYPOINT_DIRECT,
    WAYPOINT_INDIRECT,
    WAYPOINT_ISB,
    WAYPOINT_BARRIER, /* DMB, DSB: waypoints only if ETMCCER[24] is set */
};

struct waypoint {
    enum waypoint_class cls;
    bool link;             /* writes a return address: pushes on the return stack */
    bool exception_return; /* LDM^ with PC, RFE, SUBS PC..., ERET */
    unsigned size;         /* bytes: 2 or 4 */
    uint64_t target;       /* direct branches only, modulo 2^32 */
    enum bt_isa target_isa;
};

/* Bytes of the T32 or ThumbEE instruction that begins with halfword `h1`: 2 or 4. */
unsigned waypoint_t32_size(uint16_t h1);

/*
 * Classifies one instruction. `opcode`: A32, the word; T32 and ThumbEE of 16 bits, the halfword;
 * of 32 bits, first halfword in [31:16], second in [15:0].
 * Other states are WAYPOINT_NONE, size 1. */
void waypoint_classify(enum bt_isa isa, uint32_t opcode, uint64_t address, struct waypoint *out);

#endif
