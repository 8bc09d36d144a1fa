/* SPDX-License-Identifier: BSD-3-Clause */
/* Random A32 and T32 code for random_flow: every instruction with what it is and where
 * it may go. */
#ifndef TESTS_SUPPORT_RANDOM_CODE_H
#define TESTS_SUPPORT_RANDOM_CODE_H

#include "drivers/virtual/encoder/trace_bytes.h"
#include "tests/support/random_flow.h"

enum code_kind {
    CODE_PLAIN,
    CODE_DIRECT,
    CODE_INDIRECT,
    CODE_ISB,
    CODE_BARRIER, /* DMB, DSB */
    CODE_SVC,
    CODE_SMC,
    CODE_HVC,
    CODE_UDF,
    CODE_BKPT,
};

#define CODE_CONDITIONAL 1u /* may fail: condition field, IT block, CBZ */
#define CODE_LINK        2u
#define CODE_RETURN      4u  /* exception return */
#define CODE_SAME_ISA    8u  /* indirect, cannot change state */
#define CODE_NO_TARGET   16u /* inside an IT block: nothing branches here */
#define CODE_FAR_ISA     32u /* direct branch to the other state */

struct code_insn {
    uint32_t address;
    uint32_t opcode; /* as in waypoint_classify() */
    uint32_t target; /* direct: index of the instruction it goes to */
    uint8_t isa;
    uint8_t size;
    uint8_t kind;
    uint8_t flags;
    uint8_t form; /* private to the generator */
};

/* Table 0: vectors of Secure state; table 1: of the others. Index of the first of eight slots. */
#define CODE_VECTOR_TABLES 2

struct random_code {
    struct random_flow_region *regions;
    size_t region_count;
    struct code_insn *insns; /* chunk after chunk; the next in a chunk is the next in memory */
    uint32_t insn_count;
    uint32_t *targets[2]; /* indices of possible branch targets: A32, T32 */
    uint32_t target_count[2];
    uint32_t vectors[CODE_VECTOR_TABLES][8];
};

/* 0, BT_ERR_NOMEM, BT_ERR_INVAL. Release in any case. */
int random_code_init(struct random_code *c, const struct random_flow_options *o,
                     struct trace_random *random);
void random_code_release(struct random_code *c);

#endif
