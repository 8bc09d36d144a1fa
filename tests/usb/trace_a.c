/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/usb/trace_a.h"

#include <string.h>

#define LAR         0xfb0
#define LSR         0xfb4
#define KEY         0xc5acce55u
#define PORTS       0xffu
#define SSPSR       0x8000808bu /* 1, 2, 4, 8, 16 and 32 bits */
#define FFCR_MANUAL (1u << 6)
#define FFCR_STOPFL (1u << 12)
#define FFCR_RW     0x3733u
#define TAKES       64
#define ETB_WORDS   1024u

void trace_a_init(struct trace_a *t, const struct core_a *cores, const struct trace_a_options *o)
{
    memset(t, 0, sizeof *t);
    t->cores = *cores;
    for (unsigned i = 0; i < cores->count; i++)
        unit_a_init(&t->unit[i], o->etmv3);
    t->funnel = (struct funnel_a){.ctrl = 0x300, .prictl = 0x00fac688, .locked = true};
    t->tpiu = (struct tpiu_a){.cspsr = 1, .fscr = 0x40, .locked = true};
    sink_init(&t->sink, o->tmc, o->words ? o->words : ETB_WORDS);
}

void trace_a_release(struct trace_a *t)
{
    sink_release(&t->sink);
}

/* ---- the flow ---------------------------------------------------------------------------------
 */

/* A core that runs makes trace as fast as it is taken: some of it is enough for one look. */
static void take(struct trace_a *t, unsigned core)
{
    uint8_t bytes[4096];
    size_t n;
    bool selected = t->funnel.ctrl >> core & 1;
    for (unsigned i = 0; i < TAKES; i++) {
        n = t->cores.ops->trace(t->cores.ctx, core, bytes, sizeof bytes);
        if (n == 0)
            return;
        if (selected)
            sink_put(&t->sink, unit_a_trace_id(&t->unit[core]), bytes, n);
        else
            t->unselected += (unsigned)n;
    }
}

static bool same(const struct core_a_trace *a, const struct core_a_trace *b)
{
    return a->on == b->on &&
           (!a->on || (a->etmcr == b->etmcr && a->exclude == b->exclude && a->ranges == b->ranges &&
                       memcmp(a->first, b->first, sizeof a->first) == 0 &&
                       memcmp(a->last, b->last, sizeof a->last) == 0));
}

void trace_a_run(struct trace_a *t)
{
    for (unsigned i = 0; i < t->cores.count; i++) {
        unit_a_settle(&t->unit[i]);
        struct core_a_trace set = unit_a_setting(&t->unit[i]);
        if (!same(&set, &t->set[i]))
            t->cores.ops->set_trace(t->cores.ctx, i, &set);
        t->set[i] = set;
        take(t, i);
    }
}

/* A flush asks the trace units for what they still hold. */
void trace_a_write_sink(struct trace_a *t, unsigned offset, bool external, uint32_t value)
{
    if (!sink_write(&t->sink, offset, external, value))
        return;
    for (unsigned i = 0; i < t->cores.count; i++) {
        if (t->set[i].on)
            t->cores.ops->flush_trace(t->cores.ctx, i);
        take(t, i);
    }
    sink_flush(&t->sink);
}

/* ---- funnel -----------------------------------------------------------------------------------
 */

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

/* ---- TPIU -------------------------------------------------------------------------------------
 */

static uint32_t *plain(struct tpiu_a *p, unsigned offset)
{
    switch (offset) {
    case 0x004:
        return &p->cspsr;
    case 0x104:
        return &p->tcvr;
    case 0x108:
        return &p->tmr;
    case 0x204:
        return &p->ctpmr;
    case 0x208:
        return &p->tprcr;
    case 0x308:
        return &p->fscr;
    default:
        return NULL;
    }
}

uint32_t tpiu_a_read(struct trace_a *t, unsigned offset, bool external)
{
    struct tpiu_a *p = &t->tpiu;
    const uint32_t *value = plain(p, offset);
    if (value)
        return *value;
    switch (offset) {
    case 0x000:
        return SSPSR;
    case 0x100:
        return 0x11f;
    case 0x200:
        return 0x3000f;
    case 0x300: /* without TRACECTL; a stop is done at once */
        return p->ffcr & FFCR_STOPFL ? 2 : 0;
    case 0x304:
        if (p->flush_reads == 0)
            return p->ffcr;
        p->flush_reads--;
        return p->ffcr | FFCR_MANUAL;
    case LSR:
        return lock_status(p->locked, external);
    case 0xfc8:
        return 0xa0;
    case 0xfcc:
        return 0x11;
    default:
        return 0;
    }
}

void tpiu_a_write(struct trace_a *t, unsigned offset, bool external, uint32_t value)
{
    struct tpiu_a *p = &t->tpiu;
    uint32_t *to = plain(p, offset);
    if (guarded(t, &p->locked, offset, external, value))
        return;
    if (offset == 0x304) {
        p->flush_reads = value & FFCR_MANUAL ? 1 : p->flush_reads;
        p->ffcr = value & FFCR_RW;
    } else if (to && (offset != 0x004 || (value & SSPSR && !(value & (value - 1))))) {
        *to = value;
    }
}
