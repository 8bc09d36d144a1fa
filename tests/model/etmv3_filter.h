/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TraceEnable of the ETMv3 model: traces what hits an address, and with it the data instruction
 * that is in progress and all that runs underneath (IHI 0014Q 7.10.5, LSiP I-sync). Stands between
 * the core and the encoder: give it all instructions and transfers instead.
 */
#ifndef DRIVERS_VIRTUAL_ETMV3_FILTER_H
#define DRIVERS_VIRTUAL_ETMV3_FILTER_H

#include "drivers/virtual/encoder/etmv3_encoder.h"

/* Both ends belong to it; first > last: empty. */
struct etmv3_range {
    uint32_t first;
    uint32_t last;
};

struct etmv3_filter {
    struct etmv3_encoder *encoder; /* borrowed; trace is off */
    struct etmv3_range insns;      /* trace instructions at these addresses */
    struct etmv3_range data;       /* and those with a transfer at these */
    enum bt_security security;     /* of the core */

    /* Private, zero at first. */
    bool on;
    bool busy; /* a data instruction is in progress */
    bool held; /* and it is traced: so is everything until its end */
    struct etmv3_state next;
};

/* As etmv3_encoder_insn(). */
int etmv3_filter_insn(struct etmv3_filter *f, const struct etmv3_insn *insn);

/* As etmv3_encoder_data(). `executing`: the instruction in the pipeline now, or NULL. */
int etmv3_filter_data(struct etmv3_filter *f, const struct etmv3_access *a,
                      const struct etmv3_state *executing);

/* As etmv3_encoder_data_done(). */
void etmv3_filter_data_done(struct etmv3_filter *f);

#endif
