/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random code of ARMv5TE cores, A32 and 16-bit Thumb, with what each instruction transfers: for the
 * random flows of ETMv1 and ETMv2. The same random source gives the same code.
 */
#ifndef TESTS_SUPPORT_RANDOM_ARM5_H
#define TESTS_SUPPORT_RANDOM_ARM5_H

#include "btrace/types.h"
#include "drivers/virtual/encoder/trace_bytes.h"

enum arm5_kind {
    ARM5_PLAIN,
    ARM5_DIRECT,
    ARM5_INDIRECT,
    ARM5_SWI,
    ARM5_UNDEFINED,
};

#define ARM5_CONDITIONAL 1u  /* may fail */
#define ARM5_SAME_ISA    2u  /* indirect, cannot change state */
#define ARM5_NO_TARGET   4u  /* second half of a Thumb BL: nothing branches here */
#define ARM5_STORE       8u  /* SWP: the second transfer only */
#define ARM5_SWAP        16u /* second transfer is a store to the address of the first */
#define ARM5_CPRT        32u /* coprocessor register transfer */
#define ARM5_LAST        64u /* never goes on behind itself */

struct arm5_insn {
    uint32_t address;
    uint32_t opcode;
    uint32_t target; /* direct: index of the instruction it goes to */
    uint8_t isa;
    uint8_t size;
    uint8_t kind;      /* enum arm5_kind */
    uint8_t flags;     /* ARM5_* */
    uint8_t transfers; /* of data; 0: none */
    uint8_t bytes;     /* of one transfer */
};

struct arm5_region {
    uint64_t address;
    uint8_t *bytes;
    size_t size;
};

#define ARM5_REGIONS 4
#define ARM5_VECTORS 8

/* All memory belongs to the code. Vector i is instruction `i`. */
struct arm5_code {
    struct arm5_region regions[ARM5_REGIONS];
    struct arm5_insn *insns; /* the next one in memory is the next, but behind ARM5_LAST */
    uint32_t insn_count;
    uint32_t *targets[2]; /* what may be branched to: A32, Thumb */
    uint32_t target_count[2];
    bool high_vectors;
};

/* 0 or BT_ERR_NOMEM. Release in any case. `thumb`: some code is. */
int arm5_code_init(struct arm5_code *c, bool thumb, bool high_vectors, struct trace_random *random);
void arm5_code_release(struct arm5_code *c);

#endif
