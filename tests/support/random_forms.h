/* SPDX-License-Identifier: BSD-3-Clause */
/* Instruction forms that random code is made of. Private to random_code.c. */
#ifndef TESTS_SUPPORT_RANDOM_FORMS_H
#define TESTS_SUPPORT_RANDOM_FORMS_H

#include "tests/support/random_code.h"

/* How a branch offset goes into the opcode. */
enum code_field {
    FIELD_NONE,
    FIELD_A32_B,
    FIELD_A32_BLX,
    FIELD_T16_BCOND,
    FIELD_T16_B,
    FIELD_T16_CB,
    FIELD_T32_BCOND,
    FIELD_T32_B,
    FIELD_T32_BLX,
};

#define REG16     1u   /* four bits at 16 are a register 0..12, never SP, LR, PC */
#define REG12     2u   /* same at 12 */
#define REG8      4u   /* same at 8 */
#define REG0      8u   /* same at 0 */
#define LIST13    16u  /* low 13 bits: register list of two or more */
#define LIST8     32u  /* low 8 bits: register list, not empty */
#define ALWAYS    64u  /* A32: no condition field; T32: not in an IT block */
#define LAST_ONLY 128u /* T32: in an IT block only as its last instruction */

/*
 * `value` with random bits where `free` has ones. A32 values have no condition unless ALWAYS is
 * set. T32 values above 0xffff are 32-bit instructions.
 */
struct code_form {
    uint32_t value;
    uint32_t free;
    uint8_t fill;  /* REG16 ... */
    uint8_t kind;  /* enum code_kind */
    uint8_t flags; /* CODE_LINK, CODE_RETURN, CODE_SAME_ISA, CODE_CONDITIONAL, CODE_FAR_ISA */
    uint8_t field; /* enum code_field */
};

/* Tables by state (0 A32, 1 T32) and use. */
enum form_use { FORMS_PLAIN, FORMS_WAYPOINT, FORMS_USES };

struct form_table {
    const struct code_form *forms;
    unsigned count;
};

struct form_table code_forms(unsigned state, enum form_use use);

/* Opcode with the branch offset filled in. False if `target` is out of the field's reach. */
bool code_set_target(uint32_t *opcode, enum code_field field, uint32_t address, uint32_t target);

#endif
