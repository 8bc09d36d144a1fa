/* SPDX-License-Identifier: BSD-3-Clause */
#include "arm5_branch.h"

#define FIRST_HALF(op)  (((op)&0xfffff800u) == 0xf000u)
#define SECOND_HALF(op) (((op)&0xfffff800u) == 0xf800u || ((op)&0xfffff801u) == 0xe800u)

enum waypoint_class arm5_classify(struct arm5_previous *previous, enum bt_isa isa, uint32_t opcode,
                                  uint32_t address)
{
    const struct arm5_previous p = *previous;
    struct waypoint w;

    *previous = (struct arm5_previous){.address = address, .opcode = opcode, .isa = isa};
    if (isa == BT_ISA_T32 && SECOND_HALF(opcode)) {
        bool pair = p.isa == BT_ISA_T32 && p.address + 2 == address && FIRST_HALF(p.opcode);
        return pair ? WAYPOINT_DIRECT : WAYPOINT_INDIRECT;
    }
    waypoint_classify(isa, opcode, address, &w);
    return w.cls == WAYPOINT_DIRECT || w.cls == WAYPOINT_INDIRECT ? w.cls : WAYPOINT_NONE;
}
