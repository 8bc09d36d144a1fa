/* SPDX-License-Identifier: BSD-3-Clause */
/* Exceptions and their returns, from within the loop: no change of security, AArch64 or numbers. */
#include "decoder/etmv4_follow_parts.h"

#include <string.h>

#define HDR_FULL         0x9a /* an address of 32 bits; the next one: with IS */
#define HDR_EXCEPTION    0x06
#define HDR_EXC_RETURN   0x07
#define HDR_CONTEXT      0x81
#define HDR_WITH_CONTEXT 0x82 /* as HDR_FULL, and a context */

#define PLACE_MOST 8 /* bytes of a place that is looked at here, and of an exception's type */
#define TYPE_MOST  3

/* A context that is told again: security, AArch64, and no numbers. The exception level may be
 * another one. */
static bool same_context(const struct etmv4_trail *t, uint8_t info)
{
    const struct etmv4_flow *f = t->f;
    return !(info & (ETMV4_INFO_VMID | ETMV4_INFO_CONTEXT)) &&
           etmv4_flow_security(f, info) == f->core.cur.security &&
           (f->config.m_profile || !(info & ETMV4_INFO_SF) == !f->aarch64);
}

/* As etmv4_near_address(), also with a context that is the same, in the packet or in one before it.
 */
static bool parse_place(const struct etmv4_trail *t, const struct etmv4_address *last,
                        const uint8_t *at, const uint8_t *end, struct etmv4_target *a)
{
    unsigned h = *at - HDR_WITH_CONTEXT;
    if (end - at < PLACE_MOST)
        return false;
    if (h < 2) {
        if (!etmv4_near_address(last, (uint8_t)(HDR_FULL + h), at + 1, end, a))
            return false;
        a->size++;
        return same_context(t, at[a->size - 1]);
    }
    if (*at != HDR_CONTEXT)
        return etmv4_near_address(last, *at, at + 1, end, a);
    if (!same_context(t, at[1]) || !etmv4_near_address(last, at[2], at + 3, end, a))
        return false;
    a->size += 2;
    a->packets++;
    return true;
}

static struct bt_event *trail_event(struct etmv4_trail *t, const struct etmv4_bytes *in,
                                    enum bt_event_kind kind, struct flow_out *out)
{
    uint64_t offset = in->p->offset + (size_t)(in->at - in->start);
    struct bt_event *e = flow_event(&t->f->core, out, kind, offset);
    e->position = t->instructions;
    return e;
}

/* Digest 6.7: the last P0 instruction was the return. */
static bool trail_return(struct etmv4_trail *t, struct etmv4_bytes *in, struct flow_out *out)
{
    if (in->p->config.ete || out->event_max - out->event_count < FLOW_SLACK)
        return false;
    etmv4_trail_note(t);
    struct bt_event *e = trail_event(t, in, BT_EVENT_EXCEPTION_RET, out);
    flow_event_address(e, t->f->last_p0, (uint8_t)code_run_isa(t->run));
    t->pops = false;
    in->at++;
    return true;
}

/* An exception with a return address, and its vector. */
struct entry {
    struct code_run *run;         /* at the vector */
    struct etmv4_address last[3]; /* address registers behind it */
    struct etmv4_target from, to;
    unsigned type;
    unsigned size;
    unsigned packets;
};

/* Digest 6.6. False: it is something else, or leads to unknown code. */
static bool parse_entry(const struct etmv4_trail *t, const struct etmv4_bytes *in, struct entry *e,
                        bool wide)
{
    const struct flow_core *core = &t->f->core;
    const uint8_t *at = in->at;
    if (in->end - at < TYPE_MOST)
        return false;
    uint8_t b1 = at[1], two = b1 >> 7;
    e->type = (b1 >> 1 & 0x1fu) | (two ? (at[2] & 0x1fu) << 5 : 0);
    if ((b1 & 0x41) != ETMV4_RETURN || (in->p->config.ete && !two))
        return false;
    at += 2 + two;
    memcpy(e->last, in->p->last, sizeof e->last);
    if (in->end - at < PLACE_MOST || !etmv4_near_address(e->last, *at, at + 1, in->end, &e->from))
        return false;
    at += e->from.size;
    etmv4_push_address(e->last, e->from.value, e->from.isa_bit);
    if (!parse_place(t, e->last, at, in->end, &e->to))
        return false;
    at += e->to.size;
    etmv4_push_address(e->last, e->to.value, e->to.isa_bit);
    e->size = (unsigned)(at - in->at);
    e->packets = 2u + e->to.packets;
    e->run = !wide && e->to.value > UINT32_MAX
                 ? NULL
                 : code_find(core->code, core->view, e->to.value, etmv4_trail_isa(t, &e->to, wide));
    return e->run;
}

/* The whole instructions of the run in front of `address`, which stands in it: *count, and the
 * offset of the last of them. False: it does not, or not so near. */
static bool find_inside(const struct code_run *run, uint64_t address, uint32_t *count,
                        uint32_t *offset)
{
    uint64_t ahead = address - code_run_first64(run);
    if (ahead >= code_run_length(run))
        return false;
    if (code_run_isa(run) != BT_ISA_T32) {
        *count = (uint32_t)ahead / 4;
        *offset = 4 * *count - 4;
        return true;
    }
    uint32_t behind = 0;
    for (*count = 0; *count < CODE_WIDE_BITS; ++*count) {
        uint32_t size = 2 + 2 * (run->wide >> *count & 1);
        if (ahead - behind < size)
            return true;
        *offset = behind;
        behind += size;
    }
    return false;
}

static bool trail_exception(struct etmv4_trail *t, struct etmv4_bytes *in, struct flow_out *out,
                            bool wide)
{
    const struct code_run *run = t->run;
    uint32_t count = 0, offset = 0;
    struct bt_event event;
    struct entry entry;
    if (t->due || out->event_max - out->event_count < FLOW_SLACK ||
        !parse_entry(t, in, &entry, wide))
        return false;
    enum bt_isa isa = etmv4_trail_isa(t, &entry.from, wide);
    if (isa != code_run_isa(run) || !find_inside(run, entry.from.value, &count, &offset) ||
        etmv4_flow_exception_event(t->f, &event, entry.type))
        return false;
    etmv4_trail_note(t);
    if (count)
        *t->b++ = (struct bt_block){code_run_first64(run), offset,
                                    bt_block_info(count, isa, BT_COND_UNKNOWN)};
    t->base = t->b;
    t->instructions += count;
    flow_event_address(&event, entry.from.value, (uint8_t)isa);
    event.flags &= (uint8_t)~BT_EVENT_NO_VECTOR;
    event.value = entry.to.value;
    event.target_isa = (uint8_t)code_run_isa(entry.run);
    event.offset = in->p->offset + (size_t)(in->at - in->start);
    event.position = t->instructions;
    out->events[out->event_count++] = event;
    t->run = entry.run;
    t->f->isa_bit = entry.to.isa_bit;
    memcpy(in->p->last, entry.last, sizeof entry.last);
    in->at += entry.size;
    in->inner += entry.size - entry.packets;
    return true;
}

/* A place that is told with its context. */
static bool trail_place(struct etmv4_trail *t, struct etmv4_bytes *in, bool wide)
{
    struct etmv4_target a;
    if (*in->at < HDR_CONTEXT || *in->at > HDR_WITH_CONTEXT + 1)
        return false;
    return parse_place(t, in->p->last, in->at, in->end, &a) && etmv4_trail_there(t, in, &a, wide);
}

bool etmv4_trail_rare(struct etmv4_trail *t, struct etmv4_bytes *in, struct flow_out *out,
                      bool wide)
{
    if (in->left)
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
