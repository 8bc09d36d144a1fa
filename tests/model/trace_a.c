/* SPDX-License-Identifier: BSD-3-Clause */
#include "trace_a.h"

#include <string.h>

#define LAR       0xfb0
#define LSR       0xfb4
#define KEY       0xc5acce55u
#define PORTS     0xffu
#define TAKES     64
#define ETB_WORDS 1024u

static const struct funnel_a reset_funnel = {.ctrl = 0x300, .prictl = 0x00fac688, .locked = true};

void trace_a_init(struct trace_a *t, const struct core_a *cores, const struct trace_a_options *o)
{
    memset(t, 0, sizeof *t);
    t->cores = *cores;
    for (unsigned i = 0; i < cores->count; i++)
        unit_a_init(&t->unit[i], o->etmv3);
    t->funnel = reset_funnel;
    tpiu_a_init(&t->tpiu, o->pins);
    sink_init(&t->sink, o->tmc, o->words ? o->words : ETB_WORDS);
}

void trace_a_reset(struct trace_a *t)
{
    for (unsigned i = 0; i < t->cores.count; i++)
        unit_a_reset(&t->unit[i]);
    t->funnel = reset_funnel;
    tpiu_a_reset(&t->tpiu);
    sink_reset(&t->sink);
}

void trace_a_release(struct trace_a *t)
{
    sink_release(&t->sink);
    tpiu_a_release(&t->tpiu);
}

/* A core that runs makes trace as fast as it is taken: some of it is enough for one look. */
static void take(struct trace_a *t, unsigned core)
{
    uint8_t bytes[4096], id = unit_a_trace_id(&t->unit[core]);
    size_t n;
    bool selected = t->funnel.ctrl >> core & 1;
    for (unsigned i = 0; i < TAKES; i++) {
        n = t->cores.ops->trace(t->cores.ctx, core, bytes, sizeof bytes);
        if (n == 0)
            return;
        if (selected) {
            sink_put(&t->sink, id, bytes, n);
            tpiu_a_put(&t->tpiu, id, bytes, n);
        } else {
            t->unselected += (unsigned)n;
        }
    }
}

static bool same(const struct core_a_trace *a, const struct core_a_trace *b)
{
    return a->on == b->on &&
           (!a->on || (a->etmcr == b->etmcr && a->exclude == b->exclude && a->ranges == b->ranges &&
                       memcmp(a->first, b->first, sizeof a->first) == 0 &&
                       memcmp(a->last, b->last, sizeof a->last) == 0));
}

/* How much fits on the pins; a trace unit that is off ends as it was told before. */
static void pace(struct trace_a *t, bool on)
{
    uint64_t rate = tpiu_a_rate(&t->tpiu);
    if (!on || rate == t->pace)
        return;
    t->cores.ops->pace(t->cores.ctx, rate);
    t->pace = rate;
}

void trace_a_run(struct trace_a *t)
{
    for (unsigned i = 0; i < t->cores.count; i++) {
        unit_a_update(&t->unit[i]);
        struct core_a_trace set = unit_a_setting(&t->unit[i]);
        pace(t, set.on);
        if (!same(&set, &t->set[i]))
            t->cores.ops->set_trace(t->cores.ctx, i, &set);
        t->set[i] = set;
        take(t, i);
    }
}

/* A flush asks the trace units for what they still hold. */
static void flush_units(struct trace_a *t)
{
    for (unsigned i = 0; i < t->cores.count; i++) {
        if (t->set[i].on)
            t->cores.ops->flush_trace(t->cores.ctx, i);
        take(t, i);
    }
}

void trace_a_write_sink(struct trace_a *t, unsigned offset, bool external, uint32_t value)
{
    if (!sink_write(&t->sink, offset, external, value))
        return;
    flush_units(t);
    sink_flush(&t->sink);
}

void trace_a_write_tpiu(struct trace_a *t, unsigned offset, bool external, uint32_t value)
{
    if (!tpiu_a_write(&t->tpiu, offset, external, value))
        return;
    flush_units(t);
    tpiu_a_flush(&t->tpiu);
}

/* LAR, or a write that the lock refuses: nothing is left to do. */
static bool guarded(struct trace_a *t, bool *locked, unsigned offset, bool external, uint32_t value)
{
    if (offset == LAR) {
        *locked = external ? *locked : value != KEY;
        return true;
    }
    if (!*locked || external)
        return false;
    t->locked_writes++;
    return true;
}

static uint32_t lock_status(bool locked, bool external)
{
    return external ? 0 : 1u | (locked ? 2u : 0);
}

uint32_t funnel_a_read(struct trace_a *t, unsigned offset, bool external)
{
    switch (offset) {
    case 0x000:
        return t->funnel.ctrl;
    case 0x004:
        return t->funnel.prictl;
    case LSR:
        return lock_status(t->funnel.locked, external);
    case 0xfc8: /* ports */
        return CORE_A_MAX;
    case 0xfcc:
        return 0x12;
    default:
        return 0;
    }
}

void funnel_a_write(struct trace_a *t, unsigned offset, bool external, uint32_t value)
{
    struct funnel_a *f = &t->funnel;
    if (guarded(t, &f->locked, offset, external, value))
        return;
    if (offset == 0x000)
        f->ctrl = value & 0xfff;
    if (offset == 0x004 && !(f->ctrl & PORTS)) /* only while all ports are off */
        f->prictl = value & 0xffffff;
}
