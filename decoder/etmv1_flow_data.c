/* SPDX-License-Identifier: BSD-3-Clause */
/* Data and whose it is: digest etmv1.md 5 and 9. */
#include "decoder/etmv1_flow_parts.h"

/* A WT always has a byte; this one is of no address. */
static bool waits_with_data(const struct etmv1_flow *f, uint64_t place)
{
    return (etmv1_info(f, place) & (RING_STATUS | RING_TRIGGER | RING_LOW | RING_APO)) == ETMV1_WT;
}

static bool unclaimed(const struct etmv1_flow *f, uint64_t from, uint64_t to)
{
    for (uint64_t i = from < f->first ? f->first : from; i < to; i++)
        if (waits_with_data(f, i))
            return true;
    return false;
}

bool etmv1_align(struct etmv1_flow *f, const struct etmv1_target *target)
{
    uint64_t from = f->data.place + (f->data.high ? 1 : 0);
    bool clean = !f->aligned || !unclaimed(f, from, target->start);
    bool high = f->config.port.bits == 16 && !(target->flags & ETMV1_HIGH);
    if (f->data.place <= target->end || !f->aligned)
        f->data = (struct etmv1_cursor){high ? target->end : target->end + 1, high};
    f->aligned = true;
    return clean;
}

/* The next byte or nibble of the FIFO's output that is no address's. */
static enum etmv1_step read_unit(const struct etmv1_flow *f, struct etmv1_cursor *c, uint8_t *unit)
{
    for (;; c->place++, c->high = false) {
        if (c->place >= f->end)
            return ETMV1_STEP_WAIT;
        uint8_t info = etmv1_info(f, c->place);
        if ((info & RING_STATUS) == ETMV1_TD && c->place > f->next)
            return ETMV1_STEP_LOST; /* the FIFO is empty */
        if ((info & RING_STATUS) != ETMV1_TD && !(info & RING_TRIGGER))
            break;
    }
    uint8_t info = etmv1_info(f, c->place);
    if (info & (c->high ? RING_HIGH : RING_LOW))
        return ETMV1_STEP_LOST; /* the address of a later branch: what comes before it is missing */
    uint16_t pkt = f->pkt[c->place % ETMV1_RING];
    *unit = (uint8_t)(c->high ? pkt >> 8 : pkt & 0xff);
    if (f->config.port.bits == 16 && !c->high) {
        c->high = true;
        return ETMV1_STEP_DONE;
    }
    c->place++;
    c->high = false;
    return ETMV1_STEP_DONE;
}

static enum etmv1_step read_byte(const struct etmv1_flow *f, struct etmv1_cursor *c, uint8_t *byte)
{
    uint8_t high;
    enum etmv1_step result = read_unit(f, c, byte);
    if (result != ETMV1_STEP_DONE || f->config.port.bits != 4)
        return result;
    result = read_unit(f, c, &high);
    *byte = (uint8_t)(*byte | high << 4);
    return result;
}

/* Digest 9.3. */
static enum etmv1_step read_address(struct etmv1_flow *f, struct etmv1_cursor *c, uint32_t *base,
                                    bool *known)
{
    uint8_t byte = 0x80;
    *base = f->data_base;
    *known = f->data_known;
    for (unsigned i = 0; i < 5 && (byte & 0x80); i++) {
        enum etmv1_step result = read_byte(f, c, &byte);
        if (result != ETMV1_STEP_DONE)
            return result;
        uint32_t mask = i == 4 ? 0xf : 0x7f;
        *base = (*base & ~(mask << 7 * i)) | (byte & mask) << 7 * i;
        *known |= i == 4;
        if (i == 4 && (byte & 0xf0))
            return ETMV1_STEP_LOST;
    }
    return ETMV1_STEP_DONE;
}

static enum etmv1_step read_value(const struct etmv1_flow *f, struct etmv1_cursor *c, unsigned size,
                                  uint32_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < size; i++) {
        uint8_t byte;
        enum etmv1_step result = read_byte(f, c, &byte);
        if (result != ETMV1_STEP_DONE)
            return result;
        *value |= (uint32_t)byte << 8 * (f->config.big_endian ? size - 1 - i : i);
    }
    return ETMV1_STEP_DONE;
}

static enum etmv1_step lost(struct etmv1_flow *f)
{
    f->aligned = false;
    f->data_known = false;
    return ETMV1_STEP_LOST;
}

/* Is any data of such an instruction traced, and can its amount be known? */
static bool measurable(const struct etmv1_flow *f, const struct transfer *t)
{
    if (t->kind == ACCESS_REGISTER)
        return f->config.monitor_cprt && t->count;
    if (t->kind == ACCESS_NONE || t->count > ETMV1_WORDS)
        return false;
    return t->count || !f->config.data_value;
}

enum etmv1_step etmv1_read_data(struct etmv1_flow *f, const struct trail_step *step,
                                struct etmv1_data *d)
{
    uint32_t opcode, base = f->data_base;
    bool known = f->data_known;
    if (!f->aligned || !trail_opcode(&f->trail, step, &opcode))
        return lost(f);
    *d = (struct etmv1_data){.offset = etmv1_offset(f)};
    d->transfer = transfer_of(opcode, step->size, (enum bt_isa)step->isa);
    if (!measurable(f, &d->transfer))
        return lost(f);
    struct etmv1_cursor c = f->data;
    if (c.place < f->earliest) { /* the FIFO was empty in between (digest 5.4) */
        if (unclaimed(f, c.place + (c.high ? 1 : 0), f->earliest))
            return lost(f);
        c = (struct etmv1_cursor){f->earliest, false};
    }
    bool memory = d->transfer.kind == ACCESS_MEMORY;
    enum etmv1_step result = ETMV1_STEP_DONE;
    if (memory && f->config.data_address)
        result = read_address(f, &c, &base, &known);
    d->has_values = !memory || f->config.data_value;
    for (unsigned i = 0; i < d->transfer.count && d->has_values && result == ETMV1_STEP_DONE; i++)
        result = read_value(f, &c, d->transfer.bytes, &d->values[i]);
    if (result == ETMV1_STEP_LOST)
        return lost(f);
    if (result == ETMV1_STEP_WAIT)
        return result;
    d->address = base;
    d->has_address = memory && f->config.data_address && known;
    f->data = c;
    f->data_base = base;
    f->data_known = known;
    return ETMV1_STEP_DONE;
}

void etmv1_tell_data(struct etmv1_flow *f, struct flow_out *out, const struct etmv1_data *d)
{
    const struct transfer *t = &d->transfer;
    unsigned count = d->has_values && t->count ? t->count : 1;
    for (unsigned i = 0; i < count; i++) {
        struct bt_event *e = trail_event(&f->trail, out, BT_EVENT_DATA, d->offset);
        bool store = t->store || (t->swap && i == 1);
        e->number = t->bytes;
        e->back = 1;
        e->flags =
            (uint8_t)((store ? BT_EVENT_STORE : 0) | (d->has_values ? BT_EVENT_HAS_VALUE : 0) |
                      (d->has_address ? BT_EVENT_HAS_ADDRESS : 0));
        if (d->has_address)
            e->address = (uint32_t)(d->address + (t->swap ? 0 : i * t->bytes));
        if (d->has_values)
            e->value = d->values[i];
    }
}
