/* SPDX-License-Identifier: BSD-3-Clause */
/* Which data transfers an instruction makes, for programs made by random_code. */
#ifndef TESTS_SUPPORT_RANDOM_DATA_H
#define TESTS_SUPPORT_RANDOM_DATA_H

#include "tests/support/random_code.h"

struct data_plan {
    unsigned count; /* transfers; 0: not a data instruction */
    uint8_t size;   /* bytes each: 1, 2, 4 */
    bool store;
    bool cprt; /* coprocessor register transfer */
};

/* Knows the forms of random_forms.c. */
void data_plan(enum bt_isa isa, uint32_t opcode, struct data_plan *plan);

#endif
