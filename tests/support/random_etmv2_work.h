/* SPDX-License-Identifier: BSD-3-Clause */
/* State of a random ETMv2 flow while it runs. Private to random_etmv2*.c. */
#ifndef TESTS_SUPPORT_RANDOM_ETMV2_WORK_H
#define TESTS_SUPPORT_RANDOM_ETMV2_WORK_H

#include "tests/support/random_etmv2.h"

enum { MODE_ON, MODE_FILTERED, MODE_OVERFLOW, MODE_DEBUG };

#define TRANSFERS_MAX 17

/* A load that waits for its value. */
struct miss {
    bool out;
    bool wide;
    bool store;
    bool has_address;
    uint32_t address;
    uint8_t bytes;
    size_t owner;
};

/* A data instruction whose transfers are not all done. */
struct busy {
    bool on;
    bool overtaken;
    uint32_t index; /* of its code */
    size_t number;  /* of its execution */
    unsigned next;  /* transfer */
    uint32_t base;
    bool selected;
    bool traced_one; /* a packet has come */
};

struct random_etmv2_work {
    struct random_etmv2 *flow;
    struct random_etmv2_options options;
    struct trace_random random;
    struct etmv2_encoder *encoder;
    uint32_t pc;   /* index of the next instruction */
    bool starting; /* the TFO that comes is this flow's own */
    int mode;
    unsigned mode_left;
    struct busy busy;
    struct miss misses[4];
    size_t reopened;  /* LSM whose status comes after a trace on; PORT_TRUTH_NONE */
    size_t region;    /* number of the first instruction since trace came on */
    uint32_t last;    /* index of the newest instruction */
    bool last_aborts; /* it is a data instruction that may be aborted */
    bool last_fresh;  /* nothing but it since */
    uint32_t gap;     /* where trace stopped */
    bool gap_known;
    bool lost; /* a cycle was, since the flow stopped trace */
    uint32_t context_id;
    uint32_t shown_context_id;
    bool context_shown;
    uint32_t transfer_address;
    unsigned quiet; /* instructions until the next trigger */
};

bool random_etmv2_percent(struct random_etmv2_work *w, unsigned chance);
bool random_etmv2_per_mille(struct random_etmv2_work *w, unsigned chance);
uint32_t random_etmv2_below(struct random_etmv2_work *w, uint32_t limit);
struct etmv2_place random_etmv2_place(const struct random_etmv2_work *w, uint32_t index);

/* random_etmv2_data.c. All return 0 or a negative bt_error. */
/* Transfers of the instruction that just ran, all or the first of them. */
int random_etmv2_access(struct random_etmv2_work *w, const struct arm5_insn *i, size_t number);
/* More of those that are not done; `all`: until none is. */
int random_etmv2_continue(struct random_etmv2_work *w, bool all);
int random_etmv2_late(struct random_etmv2_work *w);
bool random_etmv2_may_be_busy(struct random_etmv2_work *w, const struct arm5_insn *i);

/* random_etmv2_events.c */
/* What the last cycle told is certain now, or lost. */
void random_etmv2_commit(struct random_etmv2_work *w, bool lost);
int random_etmv2_between(struct random_etmv2_work *w);
int random_etmv2_exception(struct random_etmv2_work *w, unsigned vector, bool cancel,
                           uint32_t resume);
int random_etmv2_start(struct random_etmv2_work *w, unsigned reason);

#endif
