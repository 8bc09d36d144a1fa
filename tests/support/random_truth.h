/* SPDX-License-Identifier: BSD-3-Clause */
/* The ground truth of a random flow as it grows. Private to random_flow. */
#ifndef TESTS_SUPPORT_RANDOM_TRUTH_H
#define TESTS_SUPPORT_RANDOM_TRUTH_H

#include "tests/support/random_flow.h"

/*
 * Instructions before `reported` are final: the trace shows them or never will. Those behind have
 * run since the last boundary.
 */
struct truth {
    struct random_flow *flow;
    size_t reported;
    size_t insn_room;
    size_t event_room;
};

int truth_add_insn(struct truth *t, const struct random_flow_insn *insn);

/* The trace shows instructions up to and without `end`; the one before `end` closes a range. */
void truth_report(struct truth *t, size_t end);

/* What has run since the last boundary never shows. */
void truth_skip(struct truth *t);

/* The last `waypoints` waypoints never show, nor what ran with and after them. */
void truth_take_back(struct truth *t, unsigned waypoints);

/* Adds an event at the present position. */
int truth_add_event(struct truth *t, const struct bt_event *event);

#endif
