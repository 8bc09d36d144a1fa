/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/describe.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* Text that grows key by key and is cut, never overrun. */
struct detail {
    char *text;
    size_t len;
};

static void add(struct detail *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct detail *d, const char *format, ...)
{
    if (d->len && d->len < DESCRIBE_MAX - 1)
        d->text[d->len++] = ' ';
    va_list args;
    va_start(args, format);
    int n = vsnprintf(d->text + d->len, DESCRIBE_MAX - d->len, format, args);
    va_end(args);
    d->len += n > 0 ? (size_t)n : 0;
    if (d->len > DESCRIBE_MAX - 1)
        d->len = DESCRIBE_MAX - 1;
}

const char *describe_security(enum bt_security security)
{
    static const char *const names[] = {"S", "NS", "HYP"};
    return (unsigned)security < 3 ? names[security] : "?";
}

const char *describe_exception(unsigned number)
{
    static const char *const names[16] = {
        "none",  "debug", "SMC", "HYP",  "async-abort", "thumbee-check", "?",   "?",
        "reset", "UND",   "SVC", "pabt", "dabt",        "generic",       "IRQ", "FIQ",
    };
    return number < 16 ? names[number] : "?";
}

const char *describe_ptm_kind(enum ptm_kind kind)
{
    static const char *const names[] = {
        [PTM_ATOM] = "atom",
        [PTM_BRANCH] = "branch",
        [PTM_ISYNC] = "i-sync",
        [PTM_UPDATE] = "waypoint-update",
        [PTM_TIMESTAMP] = "timestamp",
        [PTM_CONTEXT] = "context-id",
        [PTM_VMID] = "vmid",
        [PTM_EXC_RETURN] = "exception-return",
        [PTM_TRIGGER] = "trigger",
        [PTM_IGNORE] = "ignore",
        [PTM_ASYNC] = "a-sync",
        [PTM_RESERVED] = "reserved",
        [PTM_MALFORMED] = "malformed",
        [PTM_UNSYNCED] = "unsynced",
        [PTM_INCOMPLETE] = "incomplete",
    };
    return (unsigned)kind < sizeof names / sizeof *names ? names[kind] : "?";
}

static void add_target(struct detail *d, const struct ptm_packet *k)
{
    if (k->flags & PTM_PARTIAL)
        add(d, "address=partial");
    else
        add(d, "address=0x%08" PRIx64, k->value);
    add(d, "isa=%s", bt_isa_name(ptm_packet_isa(k)));
}

static void add_branch(struct detail *d, const struct ptm_packet *k)
{
    add_target(d, k);
    if (!(k->flags & PTM_HAS_INFO))
        return;
    add(d, "sec=%s", describe_security(ptm_packet_security(k)));
    add(d, "exception=%u", k->number);
}

static void add_atoms(struct detail *d, const struct ptm_packet *k)
{
    char atoms[9] = {0};
    for (unsigned i = 0; i < k->n && i < 8; i++)
        atoms[i] = k->value >> (k->n - 1 - i) & 1 ? 'N' : 'E';
    add(d, "atoms=%s", atoms);
}

static void add_timestamp(struct detail *d, const struct ptm_config *config,
                          const struct ptm_packet *k)
{
    add(d, "raw=0x%" PRIx64, k->value);
    add(d, "bits=%u", k->n);
    if (k->flags & PTM_TS_VALID)
        add(d, "value=0x%" PRIx64, ptm_timestamp(config, k->value));
    if (k->flags & PTM_TS_FREQ)
        add(d, "freq=1");
}

static void add_fields(struct detail *d, const struct ptm_config *config,
                       const struct ptm_packet *k)
{
    switch ((enum ptm_kind)k->kind) {
    case PTM_ATOM:
        add_atoms(d, k);
        break;
    case PTM_BRANCH:
        add_branch(d, k);
        break;
    case PTM_ISYNC:
        add(d, "reason=%u", k->number);
        add_target(d, k);
        add(d, "sec=%s", describe_security(ptm_packet_security(k)));
        break;
    case PTM_UPDATE:
        add_target(d, k);
        break;
    case PTM_TIMESTAMP:
        add_timestamp(d, config, k);
        break;
    case PTM_ASYNC:
        if (k->size > 64)
            add(d, "count=%" PRIu64, k->value);
        break;
    case PTM_VMID:
        add(d, "vmid=0x%02" PRIx64, k->value);
        break;
    case PTM_RESERVED:
    case PTM_MALFORMED:
        add(d, "header=0x%02" PRIx64, k->value);
        break;
    case PTM_UNSYNCED:
    case PTM_INCOMPLETE:
        add(d, "count=%" PRIu64, k->value);
        break;
    default:
        break;
    }
}

void describe_ptm_packet(const struct ptm_config *config, const struct ptm_packet *packet,
                         char *out)
{
    struct detail d = {out, 0};
    out[0] = 0;
    add_fields(&d, config, packet);
    if (packet->flags & PTM_HAS_CYCLES)
        add(&d, "cycles=%u", packet->cycles);
    if (packet->flags & PTM_HAS_CONTEXT)
        add(&d, "cid=0x%x", packet->context);
}

static void add_event(struct detail *d, const struct bt_event *e)
{
    switch ((enum bt_event_kind)e->kind) {
    case BT_EVENT_TRACE_ON:
        add(d, "reason=%" PRIu64, e->value);
        add(d, "address=0x%08" PRIx64, e->address);
        add(d, "isa=%s", bt_isa_name((enum bt_isa)e->isa));
        add(d, "sec=%s", describe_security((enum bt_security)e->number));
        if (e->cause)
            add(d, "gap=%s", bt_gap_name((enum bt_gap_cause)e->cause));
        break;
    case BT_EVENT_GAP:
    case BT_EVENT_WARNING:
        add(d, "cause=%s", bt_gap_name((enum bt_gap_cause)e->cause));
        if (e->flags & BT_EVENT_HAS_ADDRESS)
            add(d, "address=0x%08" PRIx64, e->address);
        if (e->value)
            add(d, "bytes=%" PRIu64, e->value);
        break;
    case BT_EVENT_EXCEPTION:
        add(d, "number=%u", e->number);
        add(d, "name=%s", describe_exception(e->number));
        if (e->flags & BT_EVENT_HAS_ADDRESS)
            add(d, "return=0x%08" PRIx64, e->address);
        add(d, "vector=0x%08" PRIx64, e->value);
        add(d, "isa=%s", bt_isa_name((enum bt_isa)e->target_isa));
        break;
    case BT_EVENT_CONTEXT:
        add(d, "cid=0x%" PRIx64, e->value);
        break;
    case BT_EVENT_VMID:
        add(d, "vmid=0x%02" PRIx64, e->value);
        break;
    case BT_EVENT_STATE:
        add(d, "sec=%s", describe_security((enum bt_security)e->value));
        break;
    case BT_EVENT_TIMESTAMP:
        add(d, "value=0x%" PRIx64, e->value);
        if (e->number)
            add(d, "freq=1");
        break;
    default:
        break;
    }
}

void describe_event(const struct bt_event *event, char *out)
{
    struct detail d = {out, 0};
    out[0] = 0;
    add_event(&d, event);
    if (event->flags & BT_EVENT_HAS_CYCLES)
        add(&d, "cycles=%u", event->cycles);
}
