/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/source/detail.h"

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

static const char *exception_name(const struct bt_event *e)
{
    const char *name = e->back ? etmv4_exception(e->back - 1u) : NULL;
    if (name)
        return name;
    if (e->back && !(e->flags & BT_EVENT_M_PROFILE))
        return "?";
    return detail_exception(e->number, e->flags & BT_EVENT_M_PROFILE);
}

static void detail_add_data(struct detail *d, const struct bt_event *e)
{
    if (e->flags & BT_EVENT_HAS_ADDRESS)
        detail_add(d, "address=0x%08" PRIx64, e->address);
    if (e->flags & BT_EVENT_HAS_VALUE)
        detail_add(d, "value=0x%" PRIx64, e->value);
    detail_add(d, "bytes=%u", e->number);
    if (e->back)
        detail_add(d, "access=%s", e->flags & BT_EVENT_STORE ? "store" : "load");
    detail_add(d, "back=%u", e->back);
    if (e->flags & BT_EVENT_FAILED)
        detail_add(d, "failed=1");
}

static void detail_add_event(struct detail *d, const struct bt_event *e)
{
    switch ((enum bt_event_kind)e->kind) {
    case BT_EVENT_TRACE_ON:
        detail_add(d, "reason=%" PRIu64, e->value);
        if (e->flags & BT_EVENT_HAS_ADDRESS) {
            detail_add(d, "address=0x%08" PRIx64, e->address);
            detail_add(d, "isa=%s", bt_isa_name((enum bt_isa)e->isa));
        }
        detail_add(d, "sec=%s", detail_security((enum bt_security)e->number));
        if (e->cause)
            detail_add(d, "gap=%s", bt_gap_name((enum bt_gap_cause)e->cause));
        break;
    case BT_EVENT_GAP:
    case BT_EVENT_WARNING:
        detail_add(d, "cause=%s", bt_gap_name((enum bt_gap_cause)e->cause));
        if (e->flags & BT_EVENT_HAS_ADDRESS)
            detail_add(d, "address=0x%08" PRIx64, e->address);
        if (e->value)
            detail_add(d, e->flags & BT_EVENT_IN_DOUBT ? "doubtful=%" PRIu64 : "bytes=%" PRIu64,
                       e->value);
        break;
    case BT_EVENT_EXCEPTION:
        detail_add(d, "number=%u", e->number);
        detail_add(d, "name=%s", exception_name(e));
        if (e->flags & BT_EVENT_HAS_ADDRESS)
            detail_add(d, "return=0x%08" PRIx64, e->address);
        if (!(e->flags & BT_EVENT_NO_VECTOR)) {
            detail_add(d, "vector=0x%08" PRIx64, e->value);
            detail_add(d, "isa=%s", bt_isa_name((enum bt_isa)e->target_isa));
        }
        if (e->flags & BT_EVENT_CANCELED)
            detail_add(d, "canceled=1");
        break;
    case BT_EVENT_DATA:
        detail_add_data(d, e);
        break;
    case BT_EVENT_CONTEXT:
        detail_add(d, "cid=0x%" PRIx64, e->value);
        break;
    case BT_EVENT_VMID:
        detail_add(d, "vmid=0x%02" PRIx64, e->value);
        break;
    case BT_EVENT_STATE:
        detail_add(d, "sec=%s", detail_security((enum bt_security)e->value));
        break;
    case BT_EVENT_TIMESTAMP:
        detail_add(d, "value=0x%" PRIx64, e->value);
        if (e->number)
            detail_add(d, "freq=1");
        break;
    case BT_EVENT_SOFTWARE:
        detail_add(d, "el=%u", e->number);
        detail_add(d, "value=0x%" PRIx64, e->value);
        break;
    case BT_EVENT_TRIGGER:
        if (e->number)
            detail_add(d, "mask=%u", e->number);
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
    if (event->flags & BT_EVENT_HAS_CYCLES)
        detail_add(&d, "cycles=%u", event->cycles);
}
