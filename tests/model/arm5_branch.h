/* SPDX-License-Identifier: BSD-3-Clause */
/* Branches of ARMv4T and v5TE cores, where Thumb BL and BLX are two instructions of 16 bits. */
#ifndef DRIVERS_VIRTUAL_ARM5_BRANCH_H
#define DRIVERS_VIRTUAL_ARM5_BRANCH_H

#include "drivers/virtual/encoder/waypoint.h"

/* The instruction that ran before; all zero is none. */
struct arm5_previous {
    uint32_t address;
    uint32_t opcode;
    enum bt_isa isa;
};

/*
 * Class of an instruction, and makes it the previous one. The second half of a Thumb BL or BLX is a
 * direct branch right behind a first half, else an indirect one.
 * ISB and barriers are none. */
enum waypoint_class arm5_classify(struct arm5_previous *previous, enum bt_isa isa, uint32_t opcode,
                                  uint32_t address);

#endif
