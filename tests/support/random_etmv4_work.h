/* SPDX-License-Identifier: BSD-3-Clause */
/* State of a random ETMv4 flow while it runs. Private to random_etmv4*.c. */
#ifndef TESTS_SUPPORT_RANDOM_ETMV4_WORK_H
#define TESTS_SUPPORT_RANDOM_ETMV4_WORK_H

#include "tests/support/random_etmv4_code.h"

#define V4_CALLS_MAX      64
#define V4_EXCEPTIONS_MAX 16
#define V4_HELD_MAX       32 /* more than the atoms that an encoder holds back */
#define V4_NO_EVENT       SIZE_MAX

/* Where execution goes on after an exception handler. */
struct v4_resume {
    uint32_t insn;
    struct etmv4_context context;
};

struct random_etmv4_work {
    struct random_etmv4_options options;
    struct random_etmv4 *flow;
    struct trace_random random;
    struct v4_code code;
    struct etmv4_encoder *encoder;

    uint32_t pc; /* index of the next instruction */
    struct etmv4_context context;
    bool tracing;
    bool announced;    /* the trace-on event of this run of trace is there */
    bool fresh;        /* nothing ran since an exception, or an M-profile exception return */
    unsigned off_left; /* instructions until trace may come back */
    size_t reported;   /* instructions before are final: traced, or never will be */
    size_t open;       /* exception event whose vector the trace has not told, or V4_NO_EVENT */
    uint64_t time;
    uint32_t calls[V4_CALLS_MAX];
    unsigned call_count;
    struct v4_resume exceptions[V4_EXCEPTIONS_MAX];
    unsigned exception_count;
    size_t before[V4_HELD_MAX]; /* `reported` before each of the newest P0 instructions */
    unsigned p0_count;          /* modulo V4_HELD_MAX: where the next one goes */
    size_t insn_room;
    size_t event_room;
};

/* random_etmv4.c */
uint32_t v4_below(struct random_etmv4_work *w, uint32_t limit);
bool v4_per_mille(struct random_etmv4_work *w, unsigned chance);
bool v4_percent(struct random_etmv4_work *w, unsigned chance);
struct etmv4_place v4_place(const struct random_etmv4_work *w, uint32_t insn);
uint32_t v4_target(struct random_etmv4_work *w, enum v4_state state);

/* random_etmv4_truth.c: what the trace will show. 0 or BT_ERR_NOMEM. */
int v4_add_insn(struct random_etmv4_work *w, const struct v4_insn *insn);
int v4_add_event(struct random_etmv4_work *w, const struct bt_event *event);
int v4_commit(struct random_etmv4_work *w);  /* the encoder has told where execution is */
void v4_report(struct random_etmv4_work *w); /* all that ran is in the trace */
void v4_skip(struct random_etmv4_work *w);   /* what is not told never will be */
void v4_take_back(struct random_etmv4_work *w, unsigned atoms);
void v4_lose_return(struct random_etmv4_work *w); /* before a loss and at the end */

/* random_etmv4_events.c: what happens beside instructions. 0 or a negative bt_error. */
int v4_start(struct random_etmv4_work *w);
int v4_between(struct random_etmv4_work *w);
int v4_after_insn(struct random_etmv4_work *w, enum v4_cause cause);
int v4_trap(struct random_etmv4_work *w);
void v4_change_context(struct random_etmv4_work *w);

#endif
