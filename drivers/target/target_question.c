/* SPDX-License-Identifier: BSD-3-Clause */
#include "target_question.h"

#include <stdlib.h>
#include <string.h>

static const void *question_copy(char **to, const void *from, size_t size)
{
    const char *copy = *to;
    if (!from)
        return NULL;
    memcpy(*to, from, size);
    *to += size;
    return copy;
}

struct target_question *target_question_new(const struct target_request *r)
{
    bool has_bytes = r->bytes && r->kind != TARGET_READ_MEMORY && r->kind != TARGET_FLASH_ERASE;
    size_t length = has_bytes ? r->length : 0;
    struct target_question *q =
        malloc(sizeof *q + sizeof *r->regs + sizeof *r->resume + length + r->packet_length);
    if (!q)
        return NULL;
    char *to = q->copies;
    *q = (struct target_question){.request = *r};
    q->request.regs = question_copy(&to, r->regs, sizeof *r->regs);
    q->request.resume = question_copy(&to, r->resume, sizeof *r->resume);
    q->request.bytes = question_copy(&to, has_bytes ? r->bytes : NULL, length);
    q->request.packet = question_copy(&to, r->packet, r->packet_length);
    return q;
}

void target_question_finish(struct target_question *q, const struct target_answer *answer)
{
    if (q->done)
        q->done(q->ctx, answer);
    free(q);
}

void target_question_fail(struct target_question *q, int error, const char *why)
{
    target_question_finish(q, &(struct target_answer){.error = error, .why = why});
}

struct target_question *target_question_take(struct target_question **from)
{
    struct target_question *q = *from;
    if (q) {
        *from = q->next;
        q->next = NULL;
    }
    return q;
}

void target_question_add(struct target_question **to, struct target_question *q)
{
    while (*to)
        to = &(*to)->next;
    *to = q;
}
