/* SPDX-License-Identifier: BSD-3-Clause */
/* Random code for random_etmv4: A64 of its own making, A32 and T32 from random_code. */
#ifndef TESTS_SUPPORT_RANDOM_ETMV4_CODE_H
#define TESTS_SUPPORT_RANDOM_ETMV4_CODE_H

#include "drivers/virtual/encoder/p0_insn.h"
#include "tests/support/random_etmv4.h"

/* Instructions that end in an exception when they run, or instead of running. */
enum v4_cause {
    V4_NO_CAUSE,
    V4_CALL, /* SVC, HVC, SMC: it runs, and the exception comes behind it */
    V4_TRAP, /* UDF, BRK, BKPT: it does not run */
};

struct v4_insn {
    struct p0_insn p0;
    uint64_t address;
    uint32_t opcode;
    uint32_t target; /* direct: index of the instruction it goes to */
    uint8_t isa;
    uint8_t cause;       /* enum v4_cause */
    uint8_t offset_bits; /* A64, direct: width of the offset field */
    bool conditional;    /* may fail */
    bool no_target;      /* inside an IT block: nothing branches here */
    bool same_isa;       /* indirect, cannot change between A32 and T32 */
};

enum v4_state { V4_A32, V4_T32, V4_A64, V4_STATES };

struct v4_code {
    struct v4_insn *insns; /* the next in a chunk is the next in memory */
    uint32_t insn_count;
    uint32_t *targets[V4_STATES]; /* indices of possible branch targets */
    uint32_t target_count[V4_STATES];
};

/* Code into `c`, its bytes into the regions of `f`. 0, BT_ERR_NOMEM, BT_ERR_INVAL. */
int v4_code_init(struct v4_code *c, struct random_etmv4 *f, const struct random_etmv4_options *o,
                 struct trace_random *random);
void v4_code_release(struct v4_code *c);

enum v4_state v4_state_of(enum bt_isa isa);

#endif
