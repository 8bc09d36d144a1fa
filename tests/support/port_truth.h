/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What really happened in a random flow of ETMv1 or ETMv2, and as far as the trace shows it: grows
 * with the flow, then is compared with what a decoder found.
 */
#ifndef TESTS_SUPPORT_PORT_TRUTH_H
#define TESTS_SUPPORT_PORT_TRUTH_H

#include "tests/support/decoded.h"
#include "tests/support/random_arm5.h"

#define PORT_TRUTH_NONE SIZE_MAX

struct port_truth_insn {
    uint32_t address;
    uint8_t isa;
    uint8_t cond; /* enum bt_cond: PASS or FAIL */
    bool traced;
};

struct port_truth_event {
    struct bt_event event; /* position and back are filled in by the comparison */
    size_t after;          /* instruction before it, PORT_TRUTH_NONE: before all */
    size_t owner;          /* data: its instruction, PORT_TRUTH_NONE: not in the trace */
    bool pending;          /* in a cycle that may still be lost */
    bool dropped;
    bool optional; /* where a gap begins, if the code does not say it: trace-on has the cause */
};

/* All memory belongs to the truth: port_truth_release(). */
struct port_truth {
    struct port_truth_insn *insns;
    size_t insn_count, insn_room;
    struct port_truth_event *events;
    size_t event_count, event_room;
    size_t reported; /* instructions before this one are final: in the trace, or never */
    bool started;    /* trace was on */
};

/* Adds an instruction, not traced. Its number. */
size_t port_truth_insn(struct port_truth *t, const struct arm5_insn *insn, bool pass);

/* The next instruction that is not final is in the trace, or those up to `end` never will be. */
void port_truth_report(struct port_truth *t);
void port_truth_skip(struct port_truth *t, size_t end);

/* The instruction is not in the trace after all, nor its data: it was canceled. */
void port_truth_cancel(struct port_truth *t, size_t insn);

/* Its data does not count: it was aborted. */
void port_truth_drop_data(struct port_truth *t, size_t insn);

/* Adds an event behind the newest instruction; returned for its details, valid until the next. */
struct port_truth_event *port_truth_event(struct port_truth *t, enum bt_event_kind kind);

/*
 * Trace begins at `address`, behind instruction `after`, and with a gap unless it is the first
 * time; `gap` is where that begins, NULL: not known.
 */
void port_truth_trace_on(struct port_truth *t, unsigned reason, uint32_t address, size_t after,
                         const uint32_t *gap);

/* Pending events are certain now, or never happened. */
void port_truth_commit(struct port_truth *t, bool lost);

void port_truth_release(struct port_truth *t);

/* NULL if a decoder found just that; else a text that says where not, in static storage. */
const char *port_truth_difference(const struct port_truth *t, const struct decoded *d);

/* Code memory as a decoder's image. Aborts without memory. */
void port_truth_image(const struct arm5_code *c, struct code_image *image);

#endif
