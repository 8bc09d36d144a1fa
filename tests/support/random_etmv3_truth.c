/* SPDX-License-Identifier: BSD-3-Clause */
/* Random ETMv3 flow: the truth as it grows, mostly as packets come out. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/random_etmv3_work.h"

/* Room for one more item; the array may move. */
static void *reserve(void *array, size_t *room, size_t count, size_t size)
{
    if (count < *room)
        return array;
    size_t more = *room ? 2 * *room : 1024;
    void *grown = realloc(array, more * size);
    if (grown)
        *room = more;
    return grown;
}

int random_etmv3_add_insn(struct random_etmv3_work *w, const struct random_etmv3_insn *insn)
{
    struct random_etmv3 *f = w->flow;
    void *grown = reserve(f->insns, &w->insn_room, f->insn_count, sizeof *insn);

    if (!grown)
        return BT_ERR_NOMEM;
    f->insns = grown;
    f->insns[f->insn_count++] = *insn;
    f->traced_count += insn->traced;
    return 0;
}

int random_etmv3_add_event(struct random_etmv3_work *w, const struct bt_event *event)
{
    struct random_etmv3 *f = w->flow;
    void *grown = reserve(f->events, &w->event_room, f->event_count, sizeof *event);

    if (!grown)
        return BT_ERR_NOMEM;
    f->events = grown;
    f->events[f->event_count] = *event;
    f->events[f->event_count++].position = f->traced_count - w->before;
    return 0;
}

int random_etmv3_add_access(struct random_etmv3_work *w, const struct random_etmv3_access *access)
{
    struct random_etmv3 *f = w->flow;
    void *grown = reserve(f->accesses, &w->access_room, f->access_count, sizeof *access);

    if (!grown)
        return BT_ERR_NOMEM;
    f->accesses = grown;
    f->accesses[f->access_count++] = *access;
    return 0;
}

void random_etmv3_show(struct random_etmv3_work *w, size_t insn)
{
    w->flow->insns[insn].traced = true;
    w->flow->insns[insn].cycle = 0;
    w->flow->insns[insn].region = w->region;
    w->flow->insns[insn].context_id = w->shown_context_id;
    w->flow->traced_count++;
}

static void hide(struct random_etmv3 *f, size_t insn)
{
    f->insns[insn].traced = false;
    f->traced_count--;
    for (size_t i = f->event_count; i-- > 0 && f->events[i].position > f->traced_count;)
        f->events[i].position = f->traced_count;
}

void random_etmv3_cancel(struct random_etmv3_work *w)
{
    struct random_etmv3 *f = w->flow;

    hide(f, w->newest);
    f->insns[w->newest].canceled = true;
    for (size_t i = f->access_count; i-- > 0 && f->accesses[i].insn == w->newest;)
        f->accesses[i].canceled = true;
    w->newest = NO_INSN;
}

void random_etmv3_cancel_return(struct random_etmv3_work *w)
{
    struct random_etmv3 *f = w->flow;
    size_t i = f->event_count;

    while (i-- > 0)
        if (f->events[i].kind == BT_EVENT_EXCEPTION_RET)
            break;
    memmove(&f->events[i], &f->events[i + 1], (f->event_count - i - 1) * sizeof *f->events);
    f->event_count--;
}

void random_etmv3_take_back(struct random_etmv3_work *w, unsigned count)
{
    struct random_etmv3 *f = w->flow;

    for (size_t i = f->insn_count; count > 0; count--) {
        do
            i--;
        while (!f->insns[i].traced);
        hide(f, i);
    }
}

static uint32_t context_id_mask(const struct random_etmv3_work *w)
{
    static const uint32_t masks[] = {0, 0xff, 0xffff, 0xffffffff};

    return masks[w->options.encoder.etmcr >> 14 & 3];
}

static void add_event(struct random_etmv3_work *w, const struct bt_event *event)
{
    int error = random_etmv3_add_event(w, event);

    if (error && !w->error)
        w->error = error;
}

static void show_context_id(struct random_etmv3_work *w, uint64_t offset, bool always)
{
    uint32_t value = w->context_id & context_id_mask(w);
    struct bt_event event = {.offset = offset, .kind = BT_EVENT_CONTEXT, .u.context.id = value};

    if (context_id_mask(w) == 0)
        return;
    if (always || !w->context_id_shown || value != w->shown_context_id)
        add_event(w, &event);
    w->context_id_shown = true;
    w->shown_context_id = value;
}

/* A count that means what it says (IHI 0014Q 7.13). */
static bool count_known(const struct random_etmv3_work *w, unsigned reason, uint32_t count)
{
    unsigned minor = w->options.encoder.etmidr >> 4 & 0xf;

    if (count == 0 || (reason == 2 && minor == 5))
        return false;
    return reason == 1 || minor > 0;
}

/* W atoms of canceled instructions behind the last one that counts. */
static uint32_t canceled_idle(const struct random_etmv3_work *w)
{
    const struct random_etmv3 *f = w->flow;
    uint64_t canceled = 0;

    for (size_t i = f->insn_count - w->before; i-- > 0 && f->insns[i].region == w->region;) {
        if (f->insns[i].canceled && canceled == 0)
            canceled = f->insns[i].cycle;
        if (f->insns[i].traced)
            return canceled ? (uint32_t)(canceled - f->insns[i].cycle) : 0;
    }
    return (uint32_t)canceled;
}

/*
 * Rules of IHI 0014Q 7.10.5: a periodic I-sync has neither a count nor a second address; every
 * other one has one count in cycle-accurate mode, its own or in a packet before the next, lost by
 * overflows only. */
static void check_isync(struct random_etmv3_work *w, uint64_t offset, uint64_t detail)
{
    uint32_t etmcr = w->options.encoder.etmcr;
    bool counted = w->flow->trace.data[offset] == 0x70;
    bool wrong;

    if ((detail & 3) == 0) {
        wrong = counted || (detail & ETMV3_DETAIL_LSIP);
    } else {
        wrong = w->count_due && (detail & 3) != 2;
        w->count_due =
            !counted && (etmcr & ETMV3_CR_CYCLE_ACCURATE) && !(etmcr & ETMV3_CR_DATA_ONLY);
    }
    if (wrong && !w->error)
        w->error = BT_ERR_FORMAT;
}

static void saw_isync(struct random_etmv3_work *w, uint64_t offset, uint64_t detail)
{
    unsigned reason = detail & 3;
    const struct random_etmv3 *f = w->flow;
    bool data_only = w->options.encoder.etmcr & ETMV3_CR_DATA_ONLY;
    struct etmv3_state here = random_etmv3_state(w, w->pc);
    struct bt_event event = {.offset = offset,
                             .kind = BT_EVENT_TRACE_ON,
                             .u.trace_on = {.reason = (uint8_t)reason, .has_address = !data_only}};

    check_isync(w, offset, detail);

    if (reason != 0 && w->in_insn) {
        w->before = true;
        here.address = f->insns[f->insn_count - 1].address;
        here.isa = (enum bt_isa)f->insns[f->insn_count - 1].isa;
    } else if (reason != 0 && w->busy != NO_INSN) {
        here.address = f->insns[w->busy].address;
        here.isa = (enum bt_isa)f->insns[w->busy].isa;
    }
    event.u.trace_on.address = here.address;
    event.u.trace_on.isa = (uint8_t)here.isa;
    if (reason != 0)
        w->gap_idle = w->idle_reported + canceled_idle(w);
    if ((detail & ETMV3_DETAIL_COUNT) && count_known(w, reason, (uint32_t)(detail >> 32))) {
        event.has_cycles = true;
        event.cycles = (uint32_t)(detail >> 32) + w->gap_idle;
    }
    if (reason != 0) {
        w->region++;
        w->idle_reported = 0;
        add_event(w, &event);
    }
    show_context_id(w, offset, false);
    if (detail & ETMV3_DETAIL_LSIP)
        random_etmv3_show(w, w->busy);
}

/* A count that comes after its I-sync. */
static void saw_count(struct random_etmv3_work *w, uint64_t detail)
{
    struct random_etmv3 *f = w->flow;
    size_t i = f->event_count;

    if (!w->count_due && !w->error)
        w->error = BT_ERR_FORMAT;
    w->count_due = false;
    while (i-- > 0)
        if (f->events[i].kind == BT_EVENT_TRACE_ON)
            break;
    if (!count_known(w, f->events[i].u.trace_on.reason, (uint32_t)(detail >> 32)))
        return;
    f->events[i].has_cycles = true;
    f->events[i].cycles = (uint32_t)(detail >> 32) + w->gap_idle;
}

/* The branch of the instruction before may come late, in front of that of the exception. */
static void saw_branch(struct random_etmv3_work *w, uint64_t offset)
{
    if (!w->exception_due)
        return;
    w->exception.offset = offset;
    if (w->exception_seen)
        w->flow->events[w->flow->event_count - 1].offset = offset;
    else
        add_event(w, &w->exception);
    w->exception_seen = true;
}

/* W atoms behind the last instruction, from the headers (IHI 0014Q table 7-3). */
static void count_idle(struct random_etmv3_work *w, uint8_t header)
{
    if ((header & 0xe3) == 0xa0)
        w->idle_reported += (header >> 2 & 7u) + 1;
    else if (header == 0x80)
        w->idle_reported++;
    else
        w->idle_reported = 0;
}

static uint64_t timestamp_value(const struct random_etmv3_work *w)
{
    bool wide = w->options.encoder.etmccer & ETMV3_CCER_TIMESTAMP_64;

    return wide ? w->time : w->time & (((uint64_t)1 << 48) - 1);
}

static void saw_event(struct random_etmv3_work *w, enum etmv3_packet_kind kind, uint64_t offset)
{
    struct bt_event event = {.offset = offset};

    switch (kind) {
    case ETMV3_PACKET_VMID:
        event.kind = BT_EVENT_VMID;
        event.u.vmid.id = w->vmid;
        break;
    case ETMV3_PACKET_TIMESTAMP:
        event.kind = BT_EVENT_TIMESTAMP;
        event.u.timestamp.value = timestamp_value(w);
        event.u.timestamp.rate_changed = w->clock_changed;
        break;
    case ETMV3_PACKET_TRIGGER:
        event.kind = BT_EVENT_TRIGGER;
        break;
    case ETMV3_PACKET_EXCEPTION_RETURN:
        event.kind = BT_EVENT_EXCEPTION_RET;
        break;
    default:
        return;
    }
    add_event(w, &event);
}

void random_etmv3_observe(void *context, enum etmv3_packet_kind kind, uint64_t offset, size_t size,
                          uint64_t detail)
{
    struct random_etmv3_work *w = context;

    (void)size;
    if (kind != ETMV3_PACKET_VMID && kind != ETMV3_PACKET_IGNORE)
        w->before = false;
    if (kind == ETMV3_PACKET_PHEADER)
        count_idle(w, w->flow->trace.data[offset]);
    else if (kind == ETMV3_PACKET_ISYNC)
        saw_isync(w, offset, detail);
    else if (kind == ETMV3_PACKET_CONTEXT_ID)
        show_context_id(w, offset, true);
    else if (kind == ETMV3_PACKET_CYCLE_COUNT)
        saw_count(w, detail);
    else if (kind == ETMV3_PACKET_BRANCH)
        saw_branch(w, offset);
    else if (kind == ETMV3_PACKET_DATA || kind == ETMV3_PACKET_DATA_PLACEHOLDER ||
             kind == ETMV3_PACKET_NOT_TRACED || kind == ETMV3_PACKET_DATA_LATE)
        w->data_offset = offset;
    else
        saw_event(w, kind, offset);
}
