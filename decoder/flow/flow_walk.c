/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/flow/flow_walk.h"

/* Ranges passed on the way, joined to one block. */
struct walked {
    uint64_t first;
    uint32_t extent;
    uint32_t count;
    uint8_t isa;
};

/* An address as trace told it, or behind the end of them all, may have more bits than there are. */
static uint64_t flow_walk_address_of(uint64_t address, uint8_t isa)
{
    return isa == BT_ISA_A64 ? address : (uint32_t)address;
}

static void flow_walk_begin(const struct flow_core *f, struct walked *s)
{
    *s = (struct walked){.first = flow_walk_address_of(f->cur.address, f->cur.isa),
                         .isa = f->cur.isa};
}

static void flow_walk_extend(struct walked *s, uint64_t last, uint32_t count)
{
    s->extent = (uint32_t)(last - s->first);
    s->count += count;
}

static void flow_walk_put_out(struct flow_core *f, struct flow_out *out, const struct walked *s,
                              enum bt_cond cond, uint64_t cycles)
{
    if (s->count)
        flow_block(f, out, s->first, s->extent, bt_block_info(s->count, (enum bt_isa)s->isa, cond),
                   cycles);
}

struct code_range *flow_walk_to_waypoint(struct flow_core *f, struct flow_out *out, uint64_t offset,
                                         enum bt_cond cond, uint64_t cycles)
{
    struct walked s;
    flow_walk_begin(f, &s);
    struct code_range *r = flow_range_here(f, out, offset);
    if (!r)
        return NULL;
    while (r && r->end == CODE_END_PAGE && s.count < FLOW_WALK_LIMIT) {
        flow_walk_extend(&s, code_range_last64(r), code_range_count(r));
        r = code_onward(f->code, f->view, r);
    }
    if (r && r->end < CODE_END_PAGE) {
        flow_walk_extend(&s, code_range_last64(r), code_range_count(r));
        flow_walk_put_out(f, out, &s, cond, cycles);
        return r;
    }
    if (r && r->end == CODE_END_NO_CODE && code_range_count(r))
        flow_walk_extend(&s, code_range_last64(r), code_range_count(r));
    flow_walk_put_out(f, out, &s, BT_COND_UNKNOWN, FLOW_NO_CYCLES);
    flow_lose(f, out, offset, r && r->end == CODE_END_PAGE ? BT_GAP_DESYNC : BT_GAP_NO_CODE,
              r ? code_range_behind64(r) : f->cur.address);
    return NULL;
}

/* Size of instruction `index` of a range, at `address`; 0: it cannot be read any more. */
static unsigned insn_size(const struct flow_core *f, const struct code_range *range, uint32_t index,
                          uint64_t address)
{
    struct insn insn;
    uint32_t opcode;
    if (code_range_isa(range) == BT_ISA_A32 || code_range_isa(range) == BT_ISA_A64)
        return 4;
    if (index < CODE_WIDE_BITS)
        return range->wide >> index & 1 ? 4 : 2;
    if (code_insn(f->code, f->view, address, code_range_isa(range), &insn, &opcode))
        return 0;
    return insn.size;
}

/*
 * Instructions of a range that are whole before `stop`, at most `max` of them: adds them to `s` and
 * gives the address behind them.
 */
static uint64_t part_of_range(const struct flow_core *f, const struct code_range *range,
                              uint64_t stop, uint32_t max, struct walked *s)
{
    uint64_t address = code_range_first64(range), last = address;
    uint32_t index = 0;
    while (index < max && index < code_range_count(range)) {
        unsigned size = insn_size(f, range, index, address);
        if (size == 0 || stop - address < size)
            break;
        last = address;
        address += size;
        index++;
    }
    if (index)
        flow_walk_extend(s, last, index);
    return address;
}

enum flow_walk_end flow_walk_before(struct flow_core *f, struct flow_out *out, uint64_t address,
                                    bool over)
{
    struct walked s;
    struct code_view *view = flow_view(f);
    flow_walk_begin(f, &s);
    struct code_range *range = NULL;
    if (view)
        range = f->range ? f->range : code_lookup(f->code, view, s.first, (enum bt_isa)s.isa);
    while (range && address - code_range_first64(range) >= code_range_length(range)) {
        bool to_the_end = range->end == CODE_END_NO_CODE;
        if (range->end < CODE_END_PAGE && !over)
            return FLOW_WALK_PASSED;
        if (code_range_count(range))
            flow_walk_extend(&s, code_range_last64(range), code_range_count(range));
        if (code_range_behind64(range) == address) {
            range = NULL;
            break;
        }
        if (to_the_end || s.count >= FLOW_WALK_LIMIT)
            return FLOW_WALK_LOST;
        range = code_onward(f->code, view, range);
        if (!range)
            return FLOW_WALK_LOST;
    }
    uint64_t behind = range ? part_of_range(f, range, address, UINT32_MAX, &s) : address;
    flow_walk_put_out(f, out, &s, BT_COND_UNKNOWN, FLOW_NO_CYCLES);
    flow_go_to(f, behind, s.isa);
    return FLOW_WALK_THERE;
}

/* Instructions of a range up to the one that holds `wanted`: adds them to `s`,
 * and goes behind them. */
static bool walk_inside(struct flow_core *f, const struct code_range *range, uint64_t wanted,
                        struct walked *s)
{
    struct walked passed = *s;
    uint64_t address = part_of_range(f, range, wanted, UINT32_MAX, &passed);
    uint32_t index = passed.count - s->count;
    unsigned size = index < code_range_count(range) ? insn_size(f, range, index, address) : 0;
    if (size == 0)
        return false;
    flow_walk_extend(&passed, address, 1);
    *s = passed;
    flow_go_to(f, flow_walk_address_of(address + size, s->isa), s->isa);
    return true;
}

void flow_walk_through(struct flow_core *f, struct flow_out *out, uint64_t offset, uint64_t wanted)
{
    struct walked s;
    bool warned = false;
    flow_walk_begin(f, &s);
    struct code_range *range = flow_range_here(f, out, offset);
    if (!range)
        return;
    while (range && wanted - code_range_first64(range) >= code_range_length(range) &&
           range->end != CODE_END_NO_CODE && s.count < FLOW_WALK_LIMIT) {
        flow_walk_extend(&s, code_range_last64(range), code_range_count(range));
        if (range->end != CODE_END_PAGE && !warned) {
            flow_warn(f, out, offset, BT_GAP_DESYNC, code_range_last64(range));
            warned = true;
        }
        range = code_onward(f->code, f->view, range);
    }
    bool found = range && wanted - code_range_first64(range) < code_range_length(range) &&
                 walk_inside(f, range, wanted, &s);
    bool no_code = range && range->end == CODE_END_NO_CODE;
    if (!found && no_code && code_range_count(range))
        flow_walk_extend(&s, code_range_last64(range), code_range_count(range));
    flow_walk_put_out(f, out, &s, BT_COND_UNKNOWN, FLOW_NO_CYCLES);
    if (!found)
        flow_lose(f, out, offset, no_code ? BT_GAP_NO_CODE : BT_GAP_DESYNC,
                  range ? code_range_behind64(range) : wanted);
}

/* Execution came from behind the last instruction of a walk, in `range`, to `to`. */
static bool can_lead(const struct flow_core *f, struct code_range *range, uint64_t behind,
                     uint64_t to)
{
    enum bt_isa isa;
    if (behind == to)
        return true;
    if (!range || range->end >= CODE_END_PAGE || behind != code_range_behind64(range))
        return false;
    return range->end == CODE_END_INDIRECT || code_target(f->code, f->view, range, &isa) == to;
}

enum flow_walk_end flow_walk_count(struct flow_core *f, struct flow_out *out, uint32_t count,
                                   uint64_t to)
{
    struct walked s;
    struct code_view *view = flow_view(f);
    flow_walk_begin(f, &s);
    uint64_t behind = s.first;
    struct code_range *range =
        view ? code_lookup(f->code, view, s.first, (enum bt_isa)s.isa) : NULL;
    while (range && s.count < count) {
        uint32_t left = count - s.count;
        if (range->end == CODE_END_NO_CODE && code_range_count(range) < left)
            return FLOW_WALK_LOST;
        if (range->end < CODE_END_PAGE && code_range_count(range) < left)
            return FLOW_WALK_PASSED;
        behind = part_of_range(f, range, UINT64_MAX, left, &s);
        if (s.count < count)
            range = code_onward(f->code, view, range);
    }
    if (!range && count)
        return FLOW_WALK_LOST;
    if (!can_lead(f, count ? range : NULL, behind, to))
        return FLOW_WALK_PASSED;
    flow_walk_put_out(f, out, &s, BT_COND_UNKNOWN, FLOW_NO_CYCLES);
    flow_go_to(f, behind, s.isa);
    return FLOW_WALK_THERE;
}
