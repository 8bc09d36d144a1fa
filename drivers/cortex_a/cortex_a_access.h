/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which memory an instruction is about to access: what the debug logic does not tell of a
 * watchpoint. From the encodings of the ARMv7-A and -R instruction sets.
 */
#ifndef DRIVERS_CORTEX_A_ACCESS_H
#define DRIVERS_CORTEX_A_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

struct cortex_a_access {
    uint32_t address;
    uint32_t length; /* bytes */
    bool load, store;
};

/*
 * `code`: an ARM instruction; or a Thumb one, its first halfword in the upper half if it has two,
 * else in the lower half. `regs`: r0 to r15 and CPSR before it is executed, r15 its address. False:
 * it is no access, or of a kind that is not known here.
 */
bool cortex_a_find_access(uint32_t code, const uint32_t *regs, struct cortex_a_access *access);

#endif
