/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/program/code_steps.h"

#include "decoder/base/array.h"

#include <stdlib.h>

#define PLACES 4u /* where a step may lie */

struct code_steps *code_steps_new(void)
{
    return calloc(1, sizeof(struct code_steps));
}

void code_steps_free(struct code_steps *s)
{
    if (s)
        free(s->pool);
    free(s);
}

static struct code_step *step_place(struct code_steps *s, const void *from, uint32_t header,
                                    unsigned i)
{
    return &s->steps[(code_step_place(from, header) + i) % CODE_STEPS];
}

struct code_step *code_step_find(struct code_steps *s, const void *from, uint32_t header)
{
    for (unsigned i = 0; i < PLACES; i++) {
        struct code_step *step = step_place(s, from, header, i);
        if (code_step_is(step, from, header))
            return step;
    }
    return NULL;
}

static struct code_step *step_free(struct code_steps *s, const void *from, uint32_t header)
{
    for (unsigned i = 0; i < PLACES; i++)
        if (!step_place(s, from, header, i)->from)
            return step_place(s, from, header, i);
    return NULL;
}

bool code_step_has_room(struct code_steps *s, const void *from, uint32_t header)
{
    return step_free(s, from, header);
}

bool code_step_way_add_block(struct code_step_way *way, const struct bt_block *block)
{
    if (way->count == CODE_STEP_BLOCKS || way->insns + bt_block_count(block) > UINT16_MAX)
        return false;
    way->blocks[way->count++] = *block;
    way->insns += bt_block_count(block);
    return true;
}

bool code_step_way_add(struct code_step_way *way, struct code_range *range, unsigned fail)
{
    const struct bt_block block = code_range_block(range, fail);
    bool call = !fail && range->last & INSN_LINK;
    if ((call && way->call) || !code_step_way_add_block(way, &block))
        return false;
    way->leaves |= (uint32_t) !!(range->info & CODE_LEAVES) << (way->count - 1);
    if (call)
        way->call = range;
    return true;
}

struct code_step *code_step_add(struct code_steps *s, const void *from, uint32_t header,
                                const struct code_step_way *way)
{
    struct code_step *step = step_free(s, from, header);
    if (!step || !array_room_for(&s->pool, s->pooled, &s->room, way->count, sizeof *s->pool))
        return NULL;
    *step = (struct code_step){.from = from,
                               .to = way->to,
                               .insns = (uint16_t)way->insns,
                               .header = header,
                               .blocks = (uint8_t)way->count,
                               .size = way->size & 7,
                               .due = way->due,
                               .calls = way->call != NULL,
                               .leaves = way->leaves != 0};
    s->calls[step - s->steps] = way->call;
    s->firsts[step - s->steps] = (uint32_t)s->pooled;
    s->leaves[step - s->steps] = way->leaves;
    for (uint32_t i = 0; i < way->count; i++)
        s->pool[s->pooled++] = way->blocks[i];
    return step;
}

void code_steps_report(struct code_steps *s, const struct code_options *options)
{
    for (struct code_step *step = s->steps; step < s->steps + CODE_STEPS; step++) {
        for (unsigned i = 0; step->times && i < step->blocks; i++)
            options->times(options->ctx, code_step_blocks(s, step) + i, step->times);
        step->times = 0;
    }
}

void code_steps_drop(struct code_steps *s)
{
    /* No range lies there; the place is not free. */
    for (struct code_step *step = s->steps; step < s->steps + CODE_STEPS; step++)
        if (step->from)
            step->from = s;
}
