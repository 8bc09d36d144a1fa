/* SPDX-License-Identifier: BSD-3-Clause */
/* Data and whose it is: IHI 0014Q chapter 5. */
#include "etmv1_flow_parts.h"

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

/*
 * IHI 0014Q chapter 5, 16-bit ports, the choice in which a byte waits for another: is it certain
 * that the entry has a byte although just one of the status at f->next is left? So if it is a WT,
 * if a later status has put bytes behind it, or if its own branch address follows.
 */
static bool lets_one_out(const struct etmv1_flow *f, uint64_t place)
{
    if (etmv1_status_at(f, f->next) == ETMV1_BD)
        return true;
    for (uint64_t i = f->next + 1; i <= place; i++) {
        unsigned status = etmv1_status_at(f, i);
        bool pushes = status == ETMV1_ID || status == ETMV1_BE || status == ETMV1_BD;
        if (!(etmv1_info(f, i) & RING_APO) && (pushes || (status == ETMV1_WT && i == place)))
            return true;
    }
    return place < f->next && etmv1_status_at(f, place) == ETMV1_WT;
}

/* The entry's TRACEPKT is not the FIFO's. `last`: of the status at f->next no other
 * byte is left. */
static bool has_none(const struct etmv1_flow *f, uint64_t place, bool last)
{
    uint8_t info = etmv1_info(f, place);
    if ((info & RING_STATUS) == ETMV1_TD || (info & RING_TRIGGER))
        return true;
    return last && etmv1_holds(&f->config) && !lets_one_out(f, place);
}

/* The next byte or nibble of the FIFO's output that is no address's. */
static enum etmv1_step read_unit(const struct etmv1_flow *f, struct etmv1_cursor *c, bool last,
                                 uint8_t *unit)
{
    bool waits = last && etmv1_holds(&f->config);
    for (; !c->high; c->place++) {
        if (c->place >= f->end)
            return ETMV1_STEP_WAIT;
        uint8_t info = etmv1_info(f, c->place);
        if ((info & RING_STATUS) == ETMV1_TD && c->place > f->next && !waits)
            return ETMV1_STEP_LOST; /* the FIFO is empty */
        if (!has_none(f, c->place, last))
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

static enum etmv1_step read_byte(const struct etmv1_flow *f, struct etmv1_cursor *c, bool last,
                                 uint8_t *byte)
{
    uint8_t high;
    enum etmv1_step result = read_unit(f, c, last, byte);
    if (result != ETMV1_STEP_DONE || f->config.port.bits != 4)
        return result;
    result = read_unit(f, c, last, &high);
    *byte = (uint8_t)(*byte | high << 4);
    return result;
}

/* IHI 0014Q chapter 5, data addresses. `alone`: nothing else of the status follows. */
static enum etmv1_step read_address(const struct etmv1_flow *f, struct etmv1_cursor *c, bool alone,
                                    uint32_t *base, bool *known)
{
    uint8_t byte = 0x80;
    for (unsigned i = 0; i < 5 && (byte & 0x80); i++) {
        struct etmv1_cursor before = *c;
        enum etmv1_step result = read_byte(f, c, false, &byte);
        /* What would end the data here may be the TRACEPKT of a cycle without a byte. */
        bool ends = result == ETMV1_STEP_LOST || i == 4 || !(byte & 0x80);
        if (result != ETMV1_STEP_WAIT && alone && ends) {
            *c = before;
            result = read_byte(f, c, true, &byte);
        }
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

/* `alone`: as above. */
static enum etmv1_step read_value(const struct etmv1_flow *f, struct etmv1_cursor *c, bool alone,
                                  unsigned size, uint32_t *value)
{
    *value = 0;
    for (unsigned i = 0; i < size; i++) {
        uint8_t byte;
        enum etmv1_step result = read_byte(f, c, alone && i + 1 == size, &byte);
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

/*
 * Where data of the status at f->next begins, from the first byte on that nobody has. False: a byte
 * before it is nobody's.
 */
static bool data_start(const struct etmv1_flow *f, struct etmv1_cursor *c)
{
    if (c->place < f->earliest) { /* the FIFO was empty in between */
        if (unclaimed(f, c->place + (c->high ? 1 : 0), f->earliest))
            return false;
        *c = (struct etmv1_cursor){f->earliest, false};
    }
    if (!f->config.late_data || c->place > f->next)
        return true;
    /* Early data waits for its status; what is put into an empty FIFO comes behind its own. */
    uint64_t place = c->place;
    while (place < f->next && !waits_with_data(f, place))
        place++;
    if (place != c->place || place == f->next)
        *c = (struct etmv1_cursor){place == f->next ? place + 1 : place, false};
    return true;
}

/* The bytes of `d` from the cursor on. */
static enum etmv1_step read_transfers(const struct etmv1_flow *f, struct etmv1_cursor *c,
                                      struct etmv1_data *d, uint32_t *base, bool *known)
{
    const struct transfer *t = &d->transfer;
    bool address = t->kind == ACCESS_MEMORY && f->config.data_address;
    bool second = address && t->swap && f->config.swp_addresses;
    enum etmv1_step result = ETMV1_STEP_DONE;
    if (address)
        result = read_address(f, c, !d->has_values && !second, base, known);
    for (unsigned i = 0; i < t->count && result == ETMV1_STEP_DONE; i++) {
        bool ends = i + 1u == t->count;
        if (i == 1 && second)
            result = read_address(f, c, !d->has_values, base, known);
        if (d->has_values && result == ETMV1_STEP_DONE)
            result = read_value(f, c, ends, t->bytes, &d->values[i]);
    }
    return result;
}

enum etmv1_step etmv1_read_data(struct etmv1_flow *f, const struct flow_cursor_step *step,
                                struct etmv1_data *d)
{
    uint32_t opcode, base = f->data_base;
    bool known = f->data_known;
    if (!f->aligned || !flow_cursor_opcode(&f->cursor, step, &opcode))
        return lost(f);
    *d = (struct etmv1_data){.offset = etmv1_offset(f)};
    d->transfer = transfer_of(opcode, step->size, (enum bt_isa)step->isa);
    if (!measurable(f, &d->transfer))
        return lost(f);
    bool memory = d->transfer.kind == ACCESS_MEMORY;
    d->has_values = f->config.data_value || (!memory && f->config.cprt_values);
    struct etmv1_cursor c = f->data;
    if (!data_start(f, &c))
        return lost(f);
    enum etmv1_step result = read_transfers(f, &c, d, &base, &known);
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

void etmv1_report_data(struct etmv1_flow *f, struct flow_out *out, const struct etmv1_data *d)
{
    const struct transfer *t = &d->transfer;
    unsigned count = d->has_values && t->count ? t->count : 1;
    for (unsigned i = 0; i < count; i++) {
        struct bt_event *e = flow_cursor_event(&f->cursor, out, BT_EVENT_DATA, d->offset);
        struct bt_access *a = &e->u.data;
        a->bytes = t->bytes;
        a->back = 1;
        a->store = t->store || (t->swap && i == 1);
        a->has_value = d->has_values;
        a->has_address = d->has_address;
        if (d->has_address)
            a->address = (uint32_t)(d->address + (t->swap ? 0 : i * t->bytes));
        if (d->has_values)
            a->value = d->values[i];
    }
}
