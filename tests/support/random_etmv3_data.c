/* SPDX-License-Identifier: BSD-3-Clause */
/* Random ETMv3 flow: data transfers. */
#include "tests/support/random_etmv3_work.h"

#define NOT_SENT UINT64_MAX

static bool data_traced(const struct random_etmv3_work *w)
{
    return w->mode == ETMV3_TRACED &&
           (w->options.encoder.etmcr & (ETMV3_CR_DATA_ADDRESS | ETMV3_CR_DATA_VALUE));
}

static uint32_t random_address(struct random_etmv3_work *w, uint32_t last)
{
    uint32_t near = 1u << (3 + random_etmv3_below(w, 27));

    return (last ^ (uint32_t)trace_random_next(&w->random) % near) & ~3u;
}

int random_etmv3_begin_data(struct random_etmv3_work *w, const struct data_plan *plan, size_t insn)
{
    bool underneath = random_etmv3_percent(w, w->options.underneath);

    w->transfers = (struct etmv3_transfers){
        .plan = *plan,
        .insn = insn,
        .address = random_address(w, w->transfers.address),
        .delay = underneath ? 1 + random_etmv3_below(w, 3) : 0,
    };
    w->transferring = true;
    w->newest_late |= underneath;
    return 0;
}

/* What the next transfer is; the same for encoder and truth. */
static void make_access(struct random_etmv3_work *w, struct etmv3_access *a)
{
    const struct random_etmv3_options *o = &w->options;
    const struct etmv3_transfers *t = &w->transfers;
    uint32_t mask = t->plan.size == 4 ? UINT32_MAX : (1u << 8 * t->plan.size) - 1;
    uint32_t value = (uint32_t)trace_random_next(&w->random) >> random_etmv3_below(w, 33) % 32;

    *a = (struct etmv3_access){.address = t->address + 4 * t->done,
                               .value = value & mask,
                               .size = t->plan.size,
                               .first = t->done == 0,
                               .cprt = t->plan.cprt,
                               .big_endian = o->encoder.seed % 5 == 0};
    a->filtered = !a->cprt && random_etmv3_percent(w, o->filtered_data);
    a->late = random_etmv3_percent(w, o->late_values);
    a->failed = t->plan.store && !a->cprt && t->plan.count == 1 && !a->filtered &&
                random_etmv3_percent(w, o->failed_stores);
}

static int record(struct random_etmv3_work *w, const struct etmv3_access *a, int tag)
{
    const struct etmv3_transfers *t = &w->transfers;
    uint32_t etmcr = w->options.encoder.etmcr;
    struct random_etmv3_access access = {
        .offset = w->data_offset,
        .value_offset = w->data_offset,
        .insn = t->insn,
        .address = a->address,
        .value = a->failed ? 0 : a->value,
        .size = a->size,
        .store = t->plan.store,
        .cprt = a->cprt,
        .failed = a->failed && (etmcr & ETMV3_CR_DATA_VALUE),
        .has_address = (etmcr & ETMV3_CR_DATA_ADDRESS) && !a->cprt,
        .has_value = (etmcr & ETMV3_CR_DATA_VALUE) && !a->filtered && !tag,
    };

    if (tag) {
        w->tag_access[tag] = w->flow->access_count;
        w->newest_late |= t->insn == w->newest;
    }
    return random_etmv3_add_access(w, &access);
}

static int transfer(struct random_etmv3_work *w)
{
    struct etmv3_access a;

    make_access(w, &a);
    w->data_offset = NOT_SENT;
    int tag = etmv3_encoder_data(w->encoder, &a);
    w->transfers.done++;
    if (tag < 0 || w->data_offset == NOT_SENT)
        return tag < 0 ? tag : 0;
    return record(w, &a, tag);
}

int random_etmv3_finish_data(struct random_etmv3_work *w)
{
    int error = 0;

    while (!error && w->transferring && data_traced(w) &&
           w->transfers.done < w->transfers.plan.count)
        error = transfer(w);
    w->transferring = false;
    etmv3_encoder_data_done(w->encoder);
    return error;
}

int random_etmv3_late_values(struct random_etmv3_work *w, bool all)
{
    int error = 0;

    for (unsigned tag = 1; !error && tag < 4; tag++) {
        if (w->tag_access[tag] == NO_INSN || (!all && random_etmv3_below(w, 3)))
            continue;
        struct random_etmv3_access *a = &w->flow->accesses[w->tag_access[tag]];
        bool out = etmv3_encoder_tag_out(w->encoder, tag) && w->mode == ETMV3_TRACED;
        error = etmv3_encoder_late_value(w->encoder, tag, a->value);
        a->lost = !out;
        a->has_value = out;
        if (out)
            a->value_offset = w->data_offset;
        w->tag_access[tag] = NO_INSN;
    }
    return error;
}

int random_etmv3_data(struct random_etmv3_work *w)
{
    int error = 0;

    if (w->suppress_left && --w->suppress_left == 0)
        etmv3_encoder_suppress_data(w->encoder, false);
    if (w->transferring && w->transfers.delay-- == 0)
        error = random_etmv3_finish_data(w);
    if (!error)
        error = random_etmv3_late_values(w, false);
    return error;
}

int random_etmv3_push(struct random_etmv3_work *w)
{
    int error;

    if (!data_traced(w) || !w->options.encoder.m_profile)
        return 0;
    error = etmv3_encoder_exception_entry(w->encoder);
    w->transfers = (struct etmv3_transfers){.plan = {.count = 8, .size = 4, .store = true},
                                            .insn = NO_INSN,
                                            .address = random_address(w, w->transfers.address)};
    w->transferring = true;
    return error ? error : random_etmv3_finish_data(w);
}
