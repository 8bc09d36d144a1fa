/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/itm/itm_flow.h"

#define LOW_BITS 26 /* of a global timestamp, in GTS1 */

void itm_flow_init(struct itm_flow *f, const struct itm_config *config, struct code_cache *code,
                   uint16_t core, uint32_t generation)
{
    memset(f, 0, sizeof *f);
    flow_core_init(&f->core, code, core, generation);
    f->prescaler = config->prescaler ? config->prescaler : 1;
}

static struct bt_event *itm_event(struct itm_flow *f, struct flow_out *out, enum bt_event_kind kind,
                                  const struct itm_packet *k)
{
    return flow_event(&f->core, out, kind, k->offset);
}

/* Comparator `i`'s access. Offsets never go back. */
static void itm_put_access(struct itm_flow *f, struct flow_out *out, unsigned i)
{
    struct bt_event *e = &out->events[out->event_count++];
    *e = f->half[i];
    e->offset = e->offset > f->latest ? e->offset : f->latest;
    f->latest = e->offset;
    f->pending &= (uint8_t) ~(1u << i);
}

/* Accesses of which no value follows any more, oldest first. */
static void itm_put_halves(struct itm_flow *f, struct flow_out *out)
{
    while (f->pending) {
        unsigned oldest = ITM_COMPARATORS - 1;
        for (unsigned i = 0; i < ITM_COMPARATORS; i++)
            if (f->pending >> i & 1 &&
                (!(f->pending >> oldest & 1) || f->half[i].offset < f->half[oldest].offset))
                oldest = i;
        itm_put_access(f, out, oldest);
    }
}

/* What was collected of more than one packet cannot be trusted any more. */
static void itm_forget(struct itm_flow *f, struct flow_out *out)
{
    itm_put_halves(f, out);
    f->global_known = f->clock_changed = false;
    f->local_doubtful = true;
}

static void itm_loss(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k,
                     enum bt_gap_cause cause)
{
    itm_forget(f, out);
    itm_event(f, out, BT_EVENT_GAP, k)->cause = (uint8_t)cause;
}

static void itm_stimulus(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k)
{
    struct bt_stimulus *s = &itm_event(f, out, BT_EVENT_STIMULUS, k)->u.stimulus;
    s->value = k->value;
    s->channel = k->number;
    s->bits = (uint8_t)(8 * k->bytes);
}

static void itm_sample(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k)
{
    struct bt_sample *s = &itm_event(f, out, BT_EVENT_SAMPLE, k)->u.sample;
    s->state = BT_SAMPLE_RUNNING;
    if (k->bytes == 4)
        s->address = k->value;
    else
        s->state = k->value ? BT_SAMPLE_PROHIBITED : BT_SAMPLE_ASLEEP;
}

static void itm_exception(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k)
{
    struct bt_exception_trace *x =
        &itm_event(f, out, BT_EVENT_EXCEPTION_TRACE, k)->u.exception_trace;
    x->number = k->number;
    x->action = k->relation;
}

static void itm_counters(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k)
{
    struct bt_counters *c = &itm_event(f, out, BT_EVENT_COUNTERS, k)->u.counters;
    c->mask = (uint8_t)k->value;
    c->pmu = k->kind == ITM_PMU;
}

static void itm_local_time(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k)
{
    f->local += k->value * f->prescaler;
    struct bt_local_time *t = &itm_event(f, out, BT_EVENT_LOCAL_TIME, k)->u.local_time;
    t->value = f->local;
    t->passed = (uint32_t)(k->value * f->prescaler);
    t->relation = k->relation;
    t->doubtful = f->local_doubtful;
    f->local_doubtful = false;
}

/* Only what is known as a whole is told: DDI 0403E.e D4.2.5. */
static void itm_global_time(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k)
{
    unsigned shift = k->kind == ITM_GLOBAL_HIGH ? LOW_BITS : 0;
    uint64_t mask = ((uint64_t)1 << k->bits) - 1;
    if (k->kind == ITM_GLOBAL_HIGH)
        f->global_known = true;
    else if (k->flags & ITM_WRAP)
        f->global_known = false;
    f->clock_changed |= k->flags & ITM_CLOCK_CHANGE;
    f->global = (f->global & ~(mask << shift)) | k->value << shift;
    if (!f->global_known)
        return;
    struct bt_event *e = itm_event(f, out, BT_EVENT_TIMESTAMP, k);
    e->u.timestamp.value = f->global;
    e->u.timestamp.rate_changed = f->clock_changed;
    f->clock_changed = false;
}

static struct bt_watch *itm_half(struct itm_flow *f, const struct itm_packet *k)
{
    struct bt_event *e = &f->half[k->number];
    memset(e, 0, sizeof *e);
    e->kind = BT_EVENT_WATCH;
    e->position = f->core.instructions;
    e->offset = k->offset;
    e->u.watch.comparator = (uint8_t)k->number;
    return &e->u.watch;
}

static void itm_data_first(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k)
{
    if (f->pending >> k->number & 1)
        itm_put_halves(f, out);
    struct bt_watch *w = itm_half(f, k);
    w->place = (uint32_t)k->value;
    w->what = BT_WATCH_PC;
    if (k->kind == ITM_DATA_ADDRESS)
        w->what = k->bytes == 4   ? BT_WATCH_ADDRESS
                  : k->bytes == 2 ? BT_WATCH_ADDRESS_16
                                  : BT_WATCH_ADDRESS_8;
    f->pending |= (uint8_t)(1u << k->number);
}

static void itm_data_value(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k)
{
    struct bt_watch *w = &f->half[k->number].u.watch;
    if (!(f->pending >> k->number & 1))
        w = itm_half(f, k);
    w->value = (uint32_t)k->value;
    w->bytes = k->bytes;
    w->has_value = true;
    w->store = k->flags & ITM_WRITE;
    f->half[k->number].offset = k->offset;
    itm_put_access(f, out, k->number);
}

static void itm_data_match(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k)
{
    itm_event(f, out, BT_EVENT_WATCH, k)->u.watch.comparator = (uint8_t)k->number;
}

static void itm_nothing(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k)
{
    (void)f, (void)out, (void)k;
}

static void itm_overflow(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k)
{
    itm_loss(f, out, k, BT_GAP_OVERFLOW);
}

static void itm_malformed(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k)
{
    itm_loss(f, out, k, BT_GAP_BAD_PACKET);
}

static void itm_odd(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k)
{
    itm_event(f, out, BT_EVENT_WARNING, k)->cause = BT_GAP_BAD_PACKET;
}

typedef void itm_taker(struct itm_flow *f, struct flow_out *out, const struct itm_packet *k);

static itm_taker *const takers[] = {
    [ITM_ASYNC] = itm_nothing,
    [ITM_OVERFLOW] = itm_overflow,
    [ITM_LOCAL_TIME] = itm_local_time,
    [ITM_GLOBAL_LOW] = itm_global_time,
    [ITM_GLOBAL_HIGH] = itm_global_time,
    [ITM_PAGE] = itm_nothing,
    [ITM_EXTENSION] = itm_nothing,
    [ITM_SOFTWARE] = itm_stimulus,
    [ITM_COUNTERS] = itm_counters,
    [ITM_PMU] = itm_counters,
    [ITM_EXCEPTION] = itm_exception,
    [ITM_SAMPLE] = itm_sample,
    [ITM_DATA_PC] = itm_data_first,
    [ITM_DATA_MATCH] = itm_data_match,
    [ITM_DATA_ADDRESS] = itm_data_first,
    [ITM_DATA_VALUE] = itm_data_value,
    [ITM_HARDWARE] = itm_odd,
    [ITM_RESERVED] = itm_odd,
    [ITM_MALFORMED] = itm_malformed,
    [ITM_UNSYNCED] = itm_nothing,
    [ITM_INCOMPLETE] = itm_nothing,
};

static bool itm_is_access(const struct itm_packet *k)
{
    return k->kind == ITM_DATA_PC || k->kind == ITM_DATA_ADDRESS || k->kind == ITM_DATA_VALUE;
}

size_t itm_flow_run(struct itm_flow *f, const struct itm_packet *packets, size_t count,
                    struct flow_out *out)
{
    for (size_t i = 0; i < count; i++) {
        if (!flow_room(out))
            return i;
        if (!itm_is_access(&packets[i]))
            itm_put_halves(f, out);
        f->core.started |= packets[i].kind != ITM_UNSYNCED;
        takers[packets[i].kind](f, out, &packets[i]);
    }
    return count;
}

void itm_flow_gap(struct itm_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                  struct flow_out *out)
{
    itm_forget(f, out);
    flow_core_gap(&f->core, offset, cause, bytes, out);
}

void itm_flow_finish(struct itm_flow *f, struct flow_out *out)
{
    itm_put_halves(f, out);
}
