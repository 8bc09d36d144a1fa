/* SPDX-License-Identifier: BSD-3-Clause */
#include "etmv3_steps.h"

/* The blocks that one header led through. False, and nothing is added: not in this step. */
static bool etmv3_way_add(struct code_step_way *way, const struct bt_block *blocks, size_t count)
{
    const uint32_t before = way->count, insns = way->insns;
    bool fits = before + count <= STEP_BLOCKS;
    for (size_t i = 0; i < count && fits; i++)
        fits = code_step_way_add_block(way, blocks + i);
    if (!fits) {
        way->count = before;
        way->insns = insns;
    }
    return fits;
}

/* Takes as many of the headers as lead from place to place. False: a range is not linked yet. */
static bool etmv3_way_take(struct code_step_way *way, uint32_t headers)
{
    struct etmv3_position s = {.range = NULL};
    const struct kind kind = {.times = false};
    struct code_calls calls = {.count = 0};
    struct bt_block blocks[STEP_BLOCKS];
    etmv3_position_go_to(&s, way->to);
    for (; headers && !s.pending; headers >>= 8) {
        const struct etmv3_header *h = &etmv3_plain_headers[headers >> 1 & 63];
        s.b = blocks;
        if (h->n == 0)
            break;
        if (etmv3_position_header(&s, &calls, h, kind))
            return false;
        void *to = etmv3_position_place(&s);
        if (!to || !etmv3_way_add(way, blocks, (size_t)(s.b - blocks)))
            break;
        way->to = to;
        way->size++;
    }
    return true;
}

struct code_step *etmv3_learn(struct code_steps *steps, void *from, uint32_t headers)
{
    struct code_step *known = code_step_find(steps, from, headers);
    struct code_step_way way;
    if (known || !code_step_has_room(steps, from, headers))
        return known;
    code_step_way_init(&way, from);
    if (!etmv3_way_take(&way, headers))
        return NULL;
    if (way.size == 0)
        way.to = NULL;
    return code_step_add(steps, from, headers, &way);
}

void etmv3_position_unfold(struct etmv3_position *s, const struct bt_block *base,
                           struct code_steps *steps)
{
    const struct code_step *newest = s->b > base ? flow_step_of(s->b - 1) : NULL;
    if (!newest)
        return;
    const struct bt_block *blocks = code_step_blocks(steps, newest);
    steps->steps[newest - steps->steps].times--;
    s->more -= newest->blocks - 1u;
    s->b--;
    for (unsigned i = 0; i < newest->blocks; i++) {
        *s->b = blocks[i];
        etmv3_position_put(s, (struct kind){.times = true}, true);
    }
}

void *etmv3_learn_target(const struct flow_core *core, void *from, uint32_t address,
                         enum bt_isa isa)
{
    struct code_steps *steps = core->code->steps;
    struct code_step *known = code_step_find(steps, from, address | isa);
    struct code_range *range = code_find(core->code, core->view, address, isa);
    if (range && !known && code_step_has_room(steps, from, address | isa)) {
        struct code_step_way way;
        code_step_way_init(&way, range);
        code_step_add(steps, from, address | isa, &way);
    }
    return range;
}

uint32_t etmv3_step_size(const struct code_step *step)
{
    return step->size;
}
