/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that wait for their turn or their answer. For target.c. */
#ifndef DRIVERS_TARGET_QUESTION_H
#define DRIVERS_TARGET_QUESTION_H

#include "drivers/target/target.h"

#include <stddef.h>

struct target_question {
    struct target_question *next;
    struct target_request request; /* points at the copies below */
    struct target_client *client;  /* NULL: the owner's, or its client has gone */
    target_done_fn done;           /* NULL: nobody wants to know */
    void *ctx;
    uint64_t since_ms;
    bool from_client;
    bool abandoned; /* nobody waits any more: its client has gone, or it was late */
    _Alignas(max_align_t) char copies[];
};

/* With copies of all that the request points to; NULL: out of memory. */
struct target_question *target_question_new(const struct target_request *r);

/* Whoever asked is told, and the question is freed. */
void target_question_finish(struct target_question *q, const struct target_answer *answer);
void target_question_fail(struct target_question *q, int error, const char *why);

/* Queues: the first of one, which may be empty; and to the end of one. */
struct target_question *target_question_take(struct target_question **from);
void target_question_add(struct target_question **to, struct target_question *q);

#endif
