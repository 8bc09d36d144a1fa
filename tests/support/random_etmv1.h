/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A random execution of random ARMv5 code, its ETMv1 trace, and what really happened. The same seed
 * and options always give the same flow.
 */
#ifndef TESTS_SUPPORT_RANDOM_ETMV1_H
#define TESTS_SUPPORT_RANDOM_ETMV1_H

#include "tests/model/etmv1_encoder.h"
#include "tests/support/port_truth.h"

/* Chances are in 1/1000 for each instruction, or in percent. */
struct random_etmv1_options {
    struct etmv1_encoder_options encoder; /* its seed is replaced */
    unsigned instructions;
    bool thumb;
    bool high_vectors;
    unsigned selected_percent; /* of data instructions, by ViewData */
    unsigned waits;            /* idle cycles */
    unsigned exceptions;
    unsigned filters;
    unsigned overflows;
    unsigned debugs;
    unsigned context_ids;
    unsigned triggers;
    unsigned syncs;
};

void random_etmv1_default_options(struct random_etmv1_options *o);

struct random_etmv1_work;

struct random_etmv1 {
    struct trace_bytes trace;
    struct arm5_code code;
    struct port_truth truth;
    uint64_t statuses[8];      /* cycles of them */
    uint64_t reasons[5];       /* branches */
    uint64_t address_bytes[6]; /* same */
    uint64_t offsets[16];      /* same */
    uint64_t abandoned;
    struct random_etmv1_work *work; /* private */
};

/* 0; BT_ERR_NOMEM; BT_ERR_INVAL (options). Release in any case. */
int random_etmv1_init(struct random_etmv1 *f, uint64_t seed, const struct random_etmv1_options *o);
void random_etmv1_release(struct random_etmv1 *f);

#endif
