/* SPDX-License-Identifier: BSD-3-Clause */
/* State of a random flow while it runs. Private to random_flow.c, random_events.c,
 * random_observe.c. */
#ifndef TESTS_SUPPORT_RANDOM_WORK_H
#define TESTS_SUPPORT_RANDOM_WORK_H

#include "tests/support/random_code.h"
#include "tests/support/random_flow.h"
#include "tests/support/random_truth.h"

#define CALLS_MAX      64
#define EXCEPTIONS_MAX 16

enum {
    EXC_SMC = 2,
    EXC_HYP = 3,
    EXC_ASYNC_ABORT = 4,
    EXC_RESET = 8,
    EXC_UNDEFINED = 9,
    EXC_SVC = 10,
    EXC_PREFETCH = 11,
    EXC_DATA_ABORT = 12,
    EXC_GENERIC = 13,
    EXC_IRQ = 14,
    EXC_FIQ = 15,
};

enum mode {
    MODE_TRACED,
    MODE_FILTERED,
    MODE_OVERFLOW,
};

/* Where execution goes on after an exception handler. */
struct resume {
    uint32_t insn;
    enum bt_security security;
};

struct random_flow_work {
    struct random_flow_options options;
    struct trace_random random;
    struct random_code code;
    struct truth truth;
    struct ptm_encoder *encoder;
    int error; /* first one, from the observer */

    uint32_t pc; /* index of the next instruction */
    enum bt_security security;
    enum bt_security shown_security; /* as the trace has told it */
    bool block_start;                /* nothing ran since the last waypoint or exception */
    enum mode mode;
    unsigned mode_left; /* instructions until trace may come back */
    uint32_t calls[CALLS_MAX];
    unsigned call_count;
    struct resume exceptions[EXCEPTIONS_MAX];
    unsigned exception_count;

    uint32_t context_id;
    uint32_t shown_context_id; /* as the trace has told it */
    bool context_id_shown;
    uint64_t time;
    uint64_t waypoint_time;

    /* What the packet that the observer is about to see means. */
    unsigned reason;    /* of an I-sync */
    unsigned exception; /* 0: not in one */
    uint64_t exception_return;
    enum bt_isa exception_isa;
    uint64_t exception_vector;
    bool clock_changed;
    uint8_t vmid;
};

/* random_flow.c */
uint32_t random_flow_below(struct random_flow_work *w, uint32_t limit);
bool random_flow_per_mille(struct random_flow_work *w, unsigned chance);
bool random_flow_percent(struct random_flow_work *w, unsigned chance);
bool random_flow_is_v11(const struct random_flow_work *w);
bool random_flow_cycle_accurate(const struct random_flow_work *w);
struct ptm_state random_flow_state(const struct random_flow_work *w, uint32_t insn);

/* Index of any instruction that may be branched to. */
uint32_t random_flow_target(struct random_flow_work *w, bool same_isa);

/* random_observe.c: turns the packets of the encoder into events of the truth. */
void random_flow_observe(void *context, enum ptm_packet_kind kind, uint64_t offset, size_t size);

/* random_events.c: what happens beside instructions. All return 0 or a negative bt_error. */
int random_flow_start_trace(struct random_flow_work *w, unsigned reason);
int random_flow_between(struct random_flow_work *w);
int random_flow_exception(struct random_flow_work *w, unsigned number, uint32_t resume);
int random_flow_change_context(struct random_flow_work *w);

#endif
