/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/source/detail.h"
#include "decoder/flow/packet_scan.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void detail_add(struct detail *d, const char *format, ...)
{
    if (d->len && d->len < DETAIL_MAX - 1)
        d->text[d->len++] = ' ';
    va_list args;
    va_start(args, format);
    int n = vsnprintf(d->text + d->len, DETAIL_MAX - d->len, format, args);
    va_end(args);
    d->len += n > 0 ? (size_t)n : 0;
    if (d->len > DETAIL_MAX - 1)
        d->len = DETAIL_MAX - 1;
}

void detail_flag(struct detail *d, const char *key, bool set)
{
    if (set)
        detail_add(d, "%s=1", key);
}

void detail_target(struct detail *d, bool partial, uint64_t address, enum bt_isa isa)
{
    if (partial)
        detail_add(d, "address=partial");
    else
        detail_add(d, "address=0x%08" PRIx64, address);
    detail_add(d, "isa=%s", bt_isa_name(isa));
}

void detail_timestamp(struct detail *d, uint64_t value, unsigned bits, bool valid, bool gray)
{
    detail_add(d, "raw=0x%" PRIx64, value);
    detail_add(d, "bits=%u", bits);
    if (valid)
        detail_add(d, "value=0x%" PRIx64, packet_time(value, gray));
}

void detail_raw(struct detail *d, const uint8_t *bytes, unsigned count)
{
    char hex[DETAIL_MAX] = "";
    for (unsigned i = 0; i < count && 2 * i + 2 < sizeof hex; i++)
        snprintf(hex + 2 * i, 3, "%02X", bytes[i]);
    if (count)
        detail_add(d, "raw=%s", hex);
}

const char *detail_security(enum bt_security security)
{
    static const char *const names[] = {"S", "NS", "HYP"};
    return (unsigned)security < 3 ? names[security] : "?";
}

static const char *m_exception(unsigned number)
{
    static const char *const names[16] = {
        "none", "reset", "NMI", "HardFault", "MemManage",    "BusFault", "UsageFault", "?",
        "?",    "?",     "?",   "SVC",       "DebugMonitor", "?",        "PendSV",     "SysTick",
    };
    return number < 16 ? names[number] : "IRQ";
}

const char *detail_exception(unsigned number, bool m_profile)
{
    if (m_profile)
        return m_exception(number);
    static const char *const names[16] = {
        "none",  "debug", "SMC", "HYP",  "async-abort", "thumbee-check", "?",   "?",
        "reset", "UND",   "SVC", "pabt", "dabt",        "generic",       "IRQ", "FIQ",
    };
    return number < 16 ? names[number] : "?";
}

const char *detail_action(unsigned action)
{
    static const char *const names[] = {"?", "enter", "exit", "resume"};
    return names[action & 3];
}

const char *detail_relation(unsigned relation)
{
    static const char *const names[] = {"exact", "late", "event-early", "both"};
    return names[relation & 3];
}

/* ETMv4 and ETE tell more kinds (IHI 0064H.b chapter 6). */
static const char *etmv4_exception(unsigned type)
{
    static const char *const names[64] = {
        [0] = "reset",
        [1] = "debug",
        [2] = "call",
        [3] = "trap",
        [4] = "SError",
        [6] = "instruction-debug",
        [7] = "data-debug",
        [10] = "alignment",
        [11] = "instruction-fault",
        [12] = "data-fault",
        [14] = "IRQ",
        [15] = "FIQ",
        [24] = "failed-transaction",
        [32 + 7] = "SecureFault", /* from here on the M-profile's, where the number says less */
        [32 + 24] = "debug",
        [32 + 25] = "lazy-FP",
        [32 + 26] = "lockup",
    };
    return type < 64 ? names[type] : NULL;
}

static const char *exception_name(const struct bt_exception *x)
{
    bool typed = x->type != BT_NO_TYPE;
    const char *name = typed ? etmv4_exception(x->type + (x->m_type ? 32u : 0)) : NULL;
    if (name)
        return name;
    if (typed && !x->m_profile)
        return "?";
    return detail_exception(x->number, x->m_profile);
}

static void detail_add_trace_on(struct detail *d, const struct bt_event *e)
{
    const struct bt_trace_on *t = &e->u.trace_on;
    detail_add(d, "reason=%u", t->reason);
    if (t->has_address) {
        detail_add(d, "address=0x%08" PRIx64, t->address);
        detail_add(d, "isa=%s", bt_isa_name((enum bt_isa)t->isa));
    }
    detail_add(d, "sec=%s", detail_security((enum bt_security)t->security));
    if (e->cause)
        detail_add(d, "gap=%s", bt_gap_name((enum bt_gap_cause)e->cause));
}

static void detail_add_gap(struct detail *d, const struct bt_event *e)
{
    const struct bt_gap *g = &e->u.gap;
    detail_add(d, "cause=%s", bt_gap_name((enum bt_gap_cause)e->cause));
    if (g->has_address)
        detail_add(d, "address=0x%08" PRIx64, g->address);
    if (g->doubtful)
        detail_add(d, "doubtful=%" PRIu32, g->doubtful);
    if (g->bytes)
        detail_add(d, "bytes=%" PRIu64, g->bytes);
}

static void detail_add_exception(struct detail *d, const struct bt_exception *x)
{
    detail_add(d, "number=%u", x->number);
    detail_add(d, "name=%s", exception_name(x));
    if (x->has_return)
        detail_add(d, "return=0x%08" PRIx64, x->return_address);
    if (x->has_vector) {
        detail_add(d, "vector=0x%08" PRIx64, x->vector);
        detail_add(d, "isa=%s", bt_isa_name((enum bt_isa)x->vector_isa));
    }
    detail_flag(d, "canceled", x->canceled);
}

static void detail_add_access(struct detail *d, const struct bt_access *a)
{
    if (a->has_address)
        detail_add(d, "address=0x%08" PRIx64, a->address);
    if (a->has_value)
        detail_add(d, "value=0x%" PRIx64, a->value);
    detail_add(d, "bytes=%u", a->bytes);
    if (a->back)
        detail_add(d, "access=%s", a->store ? "store" : "load");
    detail_add(d, "back=%u", a->back);
    detail_flag(d, "failed", a->failed);
}

static void detail_add_stimulus(struct detail *d, const struct bt_stimulus *s)
{
    if (s->stm)
        detail_add(d, "master=0x%x", s->master);
    detail_add(d, s->stm ? "channel=0x%x" : "port=%u", s->channel);
    if (s->bits)
        detail_add(d, "value=0x%" PRIx64, s->value);
    detail_add(d, "bits=%u", s->bits);
    detail_flag(d, "marked", s->marked);
    if (s->has_time)
        detail_add(d, "time=0x%" PRIx64, s->time);
}

static void detail_add_exception_trace(struct detail *d, const struct bt_exception_trace *x)
{
    detail_add(d, "number=%u", x->number);
    detail_add(d, "name=%s", detail_exception(x->number, true));
    detail_add(d, "action=%s", detail_action(x->action));
}

static void detail_add_sample(struct detail *d, const struct bt_sample *s)
{
    if (s->state == BT_SAMPLE_RUNNING)
        detail_add(d, "address=0x%08" PRIx64, s->address);
    else
        detail_add(d, "state=%s", s->state == BT_SAMPLE_ASLEEP ? "asleep" : "prohibited");
}

static void detail_add_watch(struct detail *d, const struct bt_watch *w)
{
    detail_add(d, "comparator=%u", w->comparator);
    if (w->what == BT_WATCH_PC)
        detail_add(d, "pc=0x%08" PRIx32, w->place);
    else if (w->what == BT_WATCH_ADDRESS)
        detail_add(d, "address=0x%08" PRIx32, w->place);
    else if (w->what != BT_WATCH_NOTHING)
        detail_add(d, "address-low=0x%0*" PRIx32, w->what == BT_WATCH_ADDRESS_16 ? 4 : 2, w->place);
    if (!w->has_value)
        return;
    detail_add(d, "value=0x%" PRIx32, w->value);
    detail_add(d, "bytes=%u", w->bytes);
    detail_add(d, "access=%s", w->store ? "store" : "load");
}

static void detail_add_local_time(struct detail *d, const struct bt_local_time *t)
{
    detail_add(d, "value=%" PRIu64, t->value);
    detail_add(d, "passed=%" PRIu32, t->passed);
    detail_add(d, "relation=%s", detail_relation(t->relation));
    detail_flag(d, "doubtful", t->doubtful);
}

static void detail_add_event(struct detail *d, const struct bt_event *e)
{
    switch ((enum bt_event_kind)e->kind) {
    case BT_EVENT_TRACE_ON:
        detail_add_trace_on(d, e);
        break;
    case BT_EVENT_GAP:
    case BT_EVENT_WARNING:
        detail_add_gap(d, e);
        break;
    case BT_EVENT_EXCEPTION:
        detail_add_exception(d, &e->u.exception);
        break;
    case BT_EVENT_DATA:
        detail_add_access(d, &e->u.data);
        break;
    case BT_EVENT_CONTEXT:
        detail_add(d, "cid=0x%" PRIx32, e->u.context.id);
        break;
    case BT_EVENT_VMID:
        detail_add(d, "vmid=0x%02" PRIx32, e->u.vmid.id);
        break;
    case BT_EVENT_STATE:
        detail_add(d, "sec=%s", detail_security((enum bt_security)e->u.state.security));
        break;
    case BT_EVENT_TIMESTAMP:
        detail_add(d, "value=0x%" PRIx64, e->u.timestamp.value);
        detail_flag(d, "freq", e->u.timestamp.rate_changed);
        break;
    case BT_EVENT_SOFTWARE:
        detail_add(d, "el=%u", e->u.software.level);
        detail_add(d, "value=0x%" PRIx64, e->u.software.value);
        break;
    case BT_EVENT_TRANSACTION:
        detail_add(d, "start=%u", e->u.transaction.start);
        break;
    case BT_EVENT_STIMULUS:
        detail_add_stimulus(d, &e->u.stimulus);
        break;
    case BT_EVENT_EXCEPTION_TRACE:
        detail_add_exception_trace(d, &e->u.exception_trace);
        break;
    case BT_EVENT_SAMPLE:
        detail_add_sample(d, &e->u.sample);
        break;
    case BT_EVENT_COUNTERS:
        detail_add(d, e->u.counters.pmu ? "pmu=0x%02x" : "mask=0x%02x", e->u.counters.mask);
        break;
    case BT_EVENT_WATCH:
        detail_add_watch(d, &e->u.watch);
        break;
    case BT_EVENT_LOCAL_TIME:
        detail_add_local_time(d, &e->u.local_time);
        break;
    case BT_EVENT_FREQUENCY:
        detail_add(d, "hertz=%" PRIu32, e->u.frequency.hertz);
        break;
    case BT_EVENT_TRIGGER:
        if (e->u.trigger.mask)
            detail_add(d, "mask=%u", e->u.trigger.mask);
        break;
    default:
        break;
    }
}

void detail_event(const struct bt_event *event, char *out)
{
    struct detail d = {out, 0};
    out[0] = 0;
    detail_add_event(&d, event);
    if (event->has_cycles)
        detail_add(&d, "cycles=%u", event->cycles);
}
