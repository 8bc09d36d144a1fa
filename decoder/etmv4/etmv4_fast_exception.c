/* SPDX-License-Identifier: BSD-3-Clause */
/* Exceptions and their returns, from within the loop: no change of security, AArch64 or numbers. */
#include "etmv4_fast_parts.h"

#include <string.h>

#define HDR_FULL         0x9a /* an address of 32 bits; the next one: with IS */
#define HDR_EXCEPTION    0x06
#define HDR_EXC_RETURN   0x07
#define HDR_CONTEXT      0x81
#define HDR_WITH_CONTEXT 0x82 /* as HDR_FULL, and a context */

#define PLACE_MOST 8 /* bytes of a place that is looked at here, and of an exception's type */
#define TYPE_MOST  3

bool etmv4_fast_cursor_same_context(const struct etmv4_fast_cursor *t, uint8_t info)
{
    const struct etmv4_flow *f = t->f;
    return !(info & (ETMV4_INFO_VMID | ETMV4_INFO_CONTEXT)) &&
           etmv4_flow_security(f, info) == f->core.cur.security &&
           (f->config.m_profile || !(info & ETMV4_INFO_SF) == !f->aarch64);
}

/* As etmv4_near_address(), also with a context that is the same,
 * in the packet or in one before it. */
static bool parse_place(const struct etmv4_fast_cursor *t, const struct etmv4_address *last,
                        const uint8_t *at, const uint8_t *end, struct etmv4_target *a)
{
    unsigned h = *at - HDR_WITH_CONTEXT;
    if (end - at < PLACE_MOST)
        return false;
    if (h < 2) {
        if (!etmv4_near_address(last, (uint8_t)(HDR_FULL + h), at + 1, end, a))
            return false;
        a->size++;
        return etmv4_fast_cursor_same_context(t, at[a->size - 1]);
    }
    if (*at != HDR_CONTEXT)
        return etmv4_near_address(last, *at, at + 1, end, a);
    if (!etmv4_fast_cursor_same_context(t, at[1]) ||
        !etmv4_near_address(last, at[2], at + 3, end, a))
        return false;
    a->size += 2;
    a->packets++;
    return true;
}

bool etmv4_fast_cursor_leave(struct etmv4_fast_cursor *t, uint64_t offset, struct flow_out *out)
{
    if (out->event_max - out->event_count < FLOW_SLACK)
        return false;
    etmv4_fast_cursor_note(t);
    struct bt_event *e = flow_event(&t->f->core, out, BT_EVENT_EXCEPTION_RET, offset);
    e->position = t->instructions;
    flow_exception_return_address(e, t->f->last_p0, (uint8_t)code_range_isa(t->range));
    t->pops = false;
    return true;
}

static uint64_t offset_of(const struct etmv4_bytes *in)
{
    return in->p->offset + (size_t)(in->at - in->start);
}

static bool trail_return(struct etmv4_fast_cursor *t, struct etmv4_bytes *in, struct flow_out *out)
{
    if (in->p->config.ete || !etmv4_fast_cursor_leave(t, offset_of(in), out))
        return false;
    in->at++;
    return true;
}

/* The whole instructions of the range in front of `address`, which stands in it: *count, and the
 * offset of the last of them. False: it does not, or not so near. */
static bool find_inside(const struct code_range *range, uint64_t address, uint32_t *count,
                        uint32_t *offset)
{
    uint64_t ahead = address - code_range_first64(range);
    if (ahead >= code_range_length(range))
        return false;
    if (code_range_isa(range) != BT_ISA_T32) {
        *count = (uint32_t)ahead / 4;
        *offset = 4 * *count - 4;
        return true;
    }
    uint32_t behind = 0;
    for (*count = 0; *count < CODE_WIDE_BITS; ++*count) {
        uint32_t size = 2 + 2 * (range->wide >> *count & 1);
        if (ahead - behind < size)
            return true;
        *offset = behind;
        behind += size;
    }
    return false;
}

/* What ran between the last P0 instruction and the exception: a part of the range that is ahead. */
static void put_part(struct etmv4_fast_cursor *t, enum bt_isa isa, uint32_t count, uint32_t offset)
{
    etmv4_fast_cursor_note(t);
    if (count)
        *t->b++ = (struct bt_block){code_range_first64(t->range), offset,
                                    bt_block_info(count, isa, BT_COND_UNKNOWN)};
    t->base = t->b;
    t->instructions += count;
}

bool etmv4_fast_cursor_enter(struct etmv4_fast_cursor *t, const struct etmv4_entry *e,
                             struct flow_out *out, bool wide)
{
    const struct flow_core *core = &t->f->core;
    enum bt_isa isa = etmv4_fast_cursor_isa(t, e->from_isa, wide);
    enum bt_isa to_isa = etmv4_fast_cursor_isa(t, e->to_isa, wide);
    uint32_t count = 0, offset = 0;
    struct bt_event event;
    if (t->due || out->event_max - out->event_count < FLOW_SLACK || (!wide && e->to > UINT32_MAX))
        return false;
    struct code_range *range = code_find(core->code, core->view, e->to, to_isa);
    if (!range || isa != code_range_isa(t->range) ||
        !find_inside(t->range, e->from, &count, &offset) ||
        etmv4_flow_exception_event(t->f, &event, e->type))
        return false;
    put_part(t, isa, count, offset);
    flow_return_address(&event, e->from, (uint8_t)isa);
    flow_vector(&event, e->to, (uint8_t)to_isa);
    event.offset = e->offset;
    event.position = t->instructions;
    out->events[out->event_count++] = event;
    t->range = range;
    t->f->isa_bit = e->to_isa;
    return true;
}

/* IHI 0064H.b chapter 6: the packets of an exception with a return address, up to the vector. */
static bool trail_exception(struct etmv4_fast_cursor *t, struct etmv4_bytes *in,
                            struct flow_out *out, bool wide)
{
    const uint8_t *at = in->at;
    struct etmv4_address last[3]; /* address registers behind it */
    struct etmv4_target from, to;
    if (in->end - at < TYPE_MOST)
        return false;
    uint8_t b1 = at[1], two = b1 >> 7;
    struct etmv4_entry e = {.offset = offset_of(in),
                            .type = (uint16_t)((b1 >> 1 & 0x1f) | (two ? (at[2] & 0x1f) << 5 : 0))};
    if ((b1 & 0x41) != ETMV4_RETURN || (in->p->config.ete && !two))
        return false;
    at += 2 + two;
    memcpy(last, in->p->last, sizeof last);
    if (in->end - at < PLACE_MOST || !etmv4_near_address(last, *at, at + 1, in->end, &from))
        return false;
    at += from.size;
    etmv4_push_address(last, from.value, from.isa_bit);
    if (!parse_place(t, last, at, in->end, &to))
        return false;
    at += to.size;
    etmv4_push_address(last, to.value, to.isa_bit);
    e.from = from.value;
    e.from_isa = from.isa_bit;
    e.to = to.value;
    e.to_isa = to.isa_bit;
    if (!etmv4_fast_cursor_enter(t, &e, out, wide))
        return false;
    memcpy(in->p->last, last, sizeof last);
    in->inner += (size_t)(at - in->at) - 2 - to.packets;
    in->at = at;
    return true;
}

/* A place that is told with its context. */
static bool trail_place(struct etmv4_fast_cursor *t, struct etmv4_bytes *in, bool wide)
{
    struct etmv4_target a;
    if (*in->at < HDR_CONTEXT || *in->at > HDR_WITH_CONTEXT + 1)
        return false;
    return parse_place(t, in->p->last, in->at, in->end, &a) &&
           etmv4_fast_cursor_there(t, in, &a, wide);
}

bool etmv4_fast_cursor_rare(struct etmv4_fast_cursor *t, struct etmv4_bytes *in,
                            struct flow_out *out, bool wide)
{
    if (in->left || in->p->numbers_due)
        return false;
    switch (*in->at) {
    case HDR_EXCEPTION:
        return trail_exception(t, in, out, wide);
    case HDR_EXC_RETURN:
        return trail_return(t, in, out);
    default:
        return trail_place(t, in, wide);
    }
}
