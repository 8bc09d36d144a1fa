/* SPDX-License-Identifier: BSD-3-Clause */
/* Data accesses of a random ETMv2 flow. */
#include "tests/support/random_etmv2_work.h"

static bool traces(const struct random_etmv2_work *w, uint32_t bit)
{
    return w->options.encoder.etmcr & bit;
}

static uint32_t random_value(struct random_etmv2_work *w, unsigned bytes)
{
    uint32_t value = (uint32_t)trace_random_next(&w->random);

    value >>= random_etmv2_below(w, 32);
    if (random_etmv2_below(w, 6) == 0)
        value = 0;
    return bytes == 4 ? value : value & ((1u << 8 * bytes) - 1);
}

/* `value` NULL: it comes later. */
static void describe(struct random_etmv2_work *w, struct bt_access *e, const struct arm5_insn *i,
                     uint32_t address, const uint32_t *value)
{
    e->bytes = i->bytes;
    if (traces(w, ETMV2_MODEL_CR_DATA_ADDRESS) && !(i->flags & ARM5_CPRT)) {
        e->has_address = true;
        e->address = address;
    }
    if (value && traces(w, ETMV2_MODEL_CR_DATA_VALUE)) {
        e->has_value = true;
        e->value = *value;
    }
}

/* One transfer of instruction number `owner`. */
static int transfer(struct random_etmv2_work *w, const struct arm5_insn *i, size_t owner,
                    struct etmv2_model_access *a, bool store)
{
    struct port_truth *t = &w->flow->truth;
    bool cprt = i->flags & ARM5_CPRT;
    int tag = etmv2_encoder_data(w->encoder, a);

    if (tag < 0)
        return tag;
    if (!etmv2_encoder_tracing(w->encoder) || (a->filtered && !cprt) ||
        (cprt && !traces(w, ETMV2_MODEL_CR_CPRT)) ||
        !traces(w, ETMV2_MODEL_CR_DATA_VALUE | ETMV2_MODEL_CR_DATA_ADDRESS))
        return 0;
    if (tag)
        w->misses[tag] = (struct miss){
            .out = true, .wide = a->wide, .address = a->address, .bytes = i->bytes, .owner = owner};
    struct port_truth_event *e = port_truth_event(t, BT_EVENT_DATA);
    describe(w, &e->event.u.data, i, a->address, tag ? NULL : &a->value);
    e->event.u.data.store = store;
    e->owner = owner;
    e->pending = true;
    return 0;
}

static int transfer_number(struct random_etmv2_work *w, const struct arm5_insn *i, size_t owner,
                           unsigned n, uint32_t base, bool selected)
{
    bool swap = i->flags & ARM5_SWAP;
    bool load = !(i->flags & (ARM5_STORE | ARM5_CPRT | ARM5_SWAP)) && i->kind == ARM5_PLAIN;
    struct etmv2_model_access a = {.address = base + (swap ? 0 : n * i->bytes),
                                   .value = random_value(w, i->bytes),
                                   .first = n == 0,
                                   .addressed = swap && n == 1,
                                   .cprt = i->flags & ARM5_CPRT};

    a.filtered =
        !selected || (i->transfers > 2 && random_etmv2_percent(w, w->options.partial_percent));
    a.miss = load && random_etmv2_percent(w, w->options.miss_percent);
    return transfer(w, i, owner, &a, (i->flags & ARM5_STORE) || (swap && n == 1));
}

static uint32_t random_base(struct random_etmv2_work *w, unsigned bytes)
{
    uint32_t far = (uint32_t)trace_random_next(&w->random);

    w->transfer_address += random_etmv2_below(w, 64);
    w->transfer_address ^= far >> (random_etmv2_below(w, 3) ? 24 : random_etmv2_below(w, 24));
    w->transfer_address &= ~(bytes - 1u);
    return w->transfer_address;
}

bool random_etmv2_may_be_busy(struct random_etmv2_work *w, const struct arm5_insn *i)
{
    return i->transfers > 1 && i->kind == ARM5_PLAIN && !(i->flags & (ARM5_CPRT | ARM5_SWAP)) &&
           random_etmv2_percent(w, w->options.busy_percent);
}

int random_etmv2_access(struct random_etmv2_work *w, const struct arm5_insn *i, size_t number)
{
    uint32_t base = random_base(w, i->bytes);
    bool selected = random_etmv2_percent(w, w->options.selected_percent);
    int error = 0;

    if (w->busy.on) { /* and is this instruction */
        w->busy.base = base;
        w->busy.selected = selected;
        return random_etmv2_continue(w, false);
    }
    for (unsigned n = 0; !error && n < i->transfers; n++)
        error = transfer_number(w, i, number, n, base, selected);
    return error;
}

int random_etmv2_continue(struct random_etmv2_work *w, bool all)
{
    struct busy *b = &w->busy;
    int error = 0;

    while (!error && b->on && (all || random_etmv2_below(w, 3))) {
        const struct arm5_insn *i = &w->flow->code.insns[b->index];
        error = transfer_number(w, i, b->number, b->next, b->base, b->selected);
        if (!error && random_etmv2_below(w, 4) == 0)
            error = etmv2_encoder_wait(w->encoder, random_etmv2_below(w, 3));
        if (++b->next < i->transfers)
            continue;
        b->on = false;
        if (!error)
            error = etmv2_encoder_data_done(w->encoder);
    }
    return error;
}

int random_etmv2_late(struct random_etmv2_work *w)
{
    unsigned tag = 1 + random_etmv2_below(w, 3);
    struct miss *m = &w->misses[tag];

    if (!m->out)
        return 0;
    bool known = etmv2_encoder_tag_out(w->encoder, tag) && etmv2_encoder_tracing(w->encoder);
    uint32_t value = random_value(w, m->bytes);
    int error = etmv2_encoder_late_value(w->encoder, tag, value);
    m->out = false;
    if (error || !known || !etmv2_encoder_tracing(w->encoder) ||
        !traces(w, ETMV2_MODEL_CR_DATA_VALUE))
        return error;
    struct port_truth_event *e = port_truth_event(&w->flow->truth, BT_EVENT_DATA);
    const struct arm5_insn of = {.bytes = m->bytes};
    describe(w, &e->event.u.data, &of, m->address, &value);
    e->owner = m->owner;
    e->pending = true;
    return 0;
}
