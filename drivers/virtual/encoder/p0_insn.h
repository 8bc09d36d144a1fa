/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an ETMv4 or ETE knows about an instruction that ran: is it a P0 instruction, does it link,
 * where does it go (IHI 0064H.b, P0 instructions). Written for the trace unit model and independent
 * of the decoder's table, so that one can check the other.
 */
#ifndef DRIVERS_VIRTUAL_P0_INSN_H
#define DRIVERS_VIRTUAL_P0_INSN_H

#include "btrace/types.h"

enum p0_class {
    P0_NONE,
    P0_DIRECT,
    P0_INDIRECT,
    P0_ISB,
    P0_WAIT,  /* WFI, WFE and their kind: P0 only where TRCIDR2[31] says so */
    P0_START, /* TSTART: P0 on an ETE where TRCIDR0[30] is 0 */
};

struct p0_insn {
    enum p0_class cls;
    bool link;             /* writes a return address: pushes on the return stack */
    bool conditional;      /* by its own encoding; IT blocks are not seen here */
    bool exception_return; /* of A and R profile: ERET, RFE, SUBS PC ... */
    unsigned size;         /* bytes: 2 or 4 */
    uint64_t target;       /* direct branches only */
    enum bt_isa target_isa;
};

/*
 * Classifies one instruction. `opcode`: A64 and A32, the word; T32 of 16 bits, the halfword; of 32
 * bits, first halfword in [31:16], second in [15:0]. Other states are P0_NONE.
 */
void p0_classify(enum bt_isa isa, uint32_t opcode, uint64_t address, struct p0_insn *out);

#endif
