/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random execution of random ARMv5 code, its ETMv2 trace, and what really happened. The same seed
 * and options always give the same flow.
 */
#ifndef TESTS_SUPPORT_RANDOM_ETMV2_H
#define TESTS_SUPPORT_RANDOM_ETMV2_H

#include "tests/model/etmv2_encoder.h"
#include "tests/support/port_truth.h"

/* Chances are in 1/1000 for each instruction, or in percent. */
struct random_etmv2_options {
    struct etmv2_encoder_options encoder; /* its seed is replaced */
    unsigned instructions;
    bool thumb;
    bool high_vectors;
    unsigned selected_percent; /* of data instructions, by ViewData */
    unsigned partial_percent;  /* of the transfers of a selected one that are left out */
    unsigned busy_percent;     /* LSM whose transfers come beside later instructions */
    unsigned miss_percent;     /* loads that miss */
    unsigned waits;            /* idle cycles */
    unsigned exceptions;
    unsigned filters;
    unsigned overflows;
    unsigned debugs;
    unsigned context_ids;
    unsigned triggers;
    unsigned syncs;
};

void random_etmv2_default_options(struct random_etmv2_options *o);

struct random_etmv2_work;

struct random_etmv2 {
    struct trace_bytes trace;
    struct arm5_code code;
    struct port_truth truth;
    uint64_t packets[ETMV2_MODEL_KINDS];
    uint64_t statuses[16];
    struct random_etmv2_work *work; /* private */
};

/* 0; BT_ERR_NOMEM; BT_ERR_INVAL (options). Release in any case. */
int random_etmv2_init(struct random_etmv2 *f, uint64_t seed, const struct random_etmv2_options *o);
void random_etmv2_release(struct random_etmv2 *f);

#endif
