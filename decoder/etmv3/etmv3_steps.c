/* SPDX-License-Identifier: BSD-3-Clause */
#include "etmv3_steps.h"

/* The blocks that one header led through, `behind` them the next one begins. An instruction that
 * failed inside of a range may be the last one of its function. False, and nothing is added: not in
 * this step. */
static bool etmv3_way_add(struct code_step_way *way, struct bt_block *blocks, size_t count,
                          uint64_t behind, const struct code_options *options)
{
    const uint32_t before = way->count, insns = way->insns, left = way->leaves;
    bool fits = before + count <= STEP_BLOCKS;
    for (size_t i = 0; i < count && fits; i++) {
        struct bt_block *b = &blocks[i];
        uint64_t to = i + 1 < count ? b[1].first : behind;
        bool leaves =
            b->info & CODE_LEAVES || (options->leaves && bt_block_cond(b) == BT_COND_FAIL &&
                                      options->leaves(options->ctx, bt_block_last(b), to));
        b->info &= ~CODE_LEAVES;
        way->leaves |= (uint32_t)leaves << way->count;
        fits = code_step_way_add_block(way, b);
    }
    if (!fits) {
        way->count = before;
        way->insns = insns;
        way->leaves = left;
    }
    return fits;
}

/* Takes as many of the headers as lead from place to place. False: a range is not linked yet. */
static bool etmv3_way_take(struct code_step_way *way, uint32_t headers,
                           const struct code_options *options)
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
        if (!to ||
            !etmv3_way_add(way, blocks, (size_t)(s.b - blocks), etmv3_position_first(&s), options))
            break;
        way->to = to;
        way->size++;
    }
    return true;
}

struct code_step *etmv3_learn(const struct code_cache *code, void *from, uint32_t headers)
{
    struct code_steps *steps = code->steps;
    struct code_step *known = code_step_find(steps, from, headers);
    struct code_step_way way;
    if (known || !code_step_has_room(steps, from, headers))
        return known;
    code_step_way_init(&way, from);
    if (!etmv3_way_take(&way, headers, &code->options))
        return NULL;
    if (way.size == 0)
        way.to = NULL;
    return code_step_add(steps, from, headers, &way);
}

void etmv3_position_unfold(struct etmv3_position *s, const struct bt_block *base,
                           struct code_steps *steps, bool leaves)
{
    const struct code_step *newest = s->b > base ? flow_step_of(s->b - 1) : NULL;
    if (!newest)
        return;
    const struct bt_block *blocks = code_step_blocks(steps, newest);
    steps->steps[newest - steps->steps].times--;
    s->more -= newest->blocks - 1u;
    s->b--;
    s->marks -= leaves && newest->leaves;
    s->number -= leaves ? newest->insns : 0;
    for (unsigned i = 0; i < newest->blocks; i++) {
        *s->b = blocks[i];
        etmv3_position_put(s, (struct kind){.times = true, .leaves = leaves}, true);
    }
}

uint32_t etmv3_step_size(const struct code_step *step)
{
    return step->size;
}
