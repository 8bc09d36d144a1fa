/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv3/etmv3_flow.h"
#include "etmv3_flow_internal.h"

#include <string.h>

#define STACKED 4 /* bytes of one transfer at the entry to an exception and at its exit */

void etmv3_flow_init(struct etmv3_flow *f, const struct etmv3_config *config,
                     struct code_cache *code, uint16_t core, uint32_t generation)
{
    memset(f, 0, sizeof *f);
    f->config = *config;
    flow_core_init(&f->core, code, core, generation);
}

bool etmv3_flow_position(const struct etmv3_flow *f, uint64_t *address, enum bt_isa *isa)
{
    *address = f->pending_block.count ? f->pending_block.first : f->first;
    *isa = (enum bt_isa)(f->pending_block.count ? f->pending_block.isa : f->core.cur.isa);
    return f->pending_block.count || f->core.cur.known || f->core.cur.halted;
}

/* Data packets to events of the instructions that made them: IHI 0014Q 7.4. */

/* A transfer: its address as the packet says, or behind the one before it (IHI 0014Q 7.4). */
static bool transfer_address(struct etmv3_flow *f, const struct etmv3_packet *k, uint64_t *address)
{
    struct etmv3_data *d = &f->data;
    bool known = false;
    if (k->flags & ETMV3_HAS_ADDRESS) {
        known = k->extra == 32;
        *address = k->address;
    } else if (d->has_next && !d->no_address) {
        known = true;
        *address = d->next;
    }
    d->has_next = known;
    d->next = (uint32_t)(*address + (d->bytes ? d->bytes : 4));
    return known;
}

static uint8_t etmv3_distance(const struct etmv3_flow *f, const struct etmv3_data *d)
{
    uint64_t back = f->core.instructions + f->pending_block.count - d->owner;
    return d->has_owner && back <= UINT8_MAX ? (uint8_t)back : 0;
}

/* Always behind the pending block, where a cancel and a failed store can still reach it. */
static struct bt_event *data_event(struct etmv3_flow *f, const struct etmv3_data *d,
                                   uint64_t offset, struct flow_out *out)
{
    if (f->queued == ETMV3_QUEUE)
        etmv3_release(f, out);
    struct flow_out tray = {.events = f->queue, .event_count = f->queued, .event_max = ETMV3_QUEUE};
    struct bt_event *e = flow_event(&f->core, &tray, BT_EVENT_DATA, offset);
    f->queued = (uint8_t)tray.event_count;
    e->u.data.bytes = d->bytes;
    e->u.data.store = d->has_owner && d->store;
    e->u.data.back = etmv3_distance(f, d);
    return e;
}

static void set_address(struct bt_event *e, uint64_t address)
{
    e->u.data.address = address;
    e->u.data.has_address = true;
}

static void set_value(struct bt_event *e, const struct etmv3_packet *k)
{
    if (!(k->flags & ETMV3_HAS_VALUE))
        return;
    e->u.data.value = k->value;
    e->u.data.has_value = true;
    if (e->u.data.bytes == 0)
        e->u.data.bytes = k->n;
}

static void etmv3_access(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    uint64_t address = 0;
    bool known = transfer_address(f, k, &address);
    struct bt_event *e = data_event(f, &f->data, k->offset, out);
    if (known)
        set_address(e, address);
    set_value(e, k);
}

static void etmv3_placeholder(struct etmv3_flow *f, const struct etmv3_packet *k,
                              struct flow_out *out)
{
    struct etmv3_waiting *w = &f->waiting[(k->number - 1) % 3];
    if (w->used) { /* its value never came */
        struct bt_event *e = data_event(f, &w->data, w->offset, out);
        if (w->has_address)
            set_address(e, w->address);
    }
    *w = (struct etmv3_waiting){.offset = k->offset, .used = true};
    w->has_address = transfer_address(f, k, &w->address);
    w->data = f->data;
}

/* Without a placeholder it is consumed and nothing else (IHI 0014Q 7.4). */
static void late_value(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    struct etmv3_waiting *w = &f->waiting[(k->number - 1) % 3];
    if (!w->used)
        return;
    struct bt_event *e = data_event(f, &w->data, k->offset, out);
    if (w->has_address)
        set_address(e, w->address);
    set_value(e, k);
    w->used = false;
}

/* Values that will never come: their accesses are told without. */
static void etmv3_data_drop(struct etmv3_flow *f, struct flow_out *out)
{
    for (unsigned i = 0; i < 3; i++) {
        struct etmv3_waiting *w = &f->waiting[i];
        if (!w->used)
            continue;
        struct bt_event *e = data_event(f, &w->data, w->offset, out);
        if (w->has_address)
            set_address(e, w->address);
        w->used = false;
    }
    etmv3_data_disown(f, 0);
}

static void store_failed(struct etmv3_flow *f)
{
    struct bt_event *e = f->queued ? &f->queue[f->queued - 1] : NULL;
    if (e && e->kind == BT_EVENT_DATA)
        e->u.data.failed = true;
}

/* Data is lost, the flow is not (IHI 0014Q 7.4). */
static void etmv3_suppressed(struct etmv3_flow *f, const struct etmv3_packet *k,
                             struct flow_out *out)
{
    struct flow_out tray;
    struct flow_out *to = etmv3_events(f, out, &tray);
    flow_event(&f->core, to, BT_EVENT_WARNING, k->offset)->cause = BT_GAP_OVERFLOW;
    etmv3_events_end(f, to, &tray);
    f->data.has_next = false;
}

/* A data packet of any kind. */
static void etmv3_data_packet(struct etmv3_flow *f, const struct etmv3_packet *k,
                              struct flow_out *out)
{
    etmv3_close(f);
    etmv3_data_scan(f);
    switch ((enum etmv3_kind)k->kind) {
    case ETMV3_DATA:
    case ETMV3_NOT_TRACED:
        etmv3_access(f, k, out);
        break;
    case ETMV3_PLACEHOLDER:
        etmv3_placeholder(f, k, out);
        break;
    case ETMV3_OOO_DATA:
        late_value(f, k, out);
        break;
    case ETMV3_STORE_FAILED:
        store_failed(f);
        break;
    default:
        etmv3_suppressed(f, k, out);
        break;
    }
}

/* ARMv7-M: a packet's exception number as the architecture counts (16 = IRQ 0). The frequent
 * ones were moved below 16: IHI 0014Q 7.5. */
static uint16_t etmv3_architectural(uint16_t number)
{
    static const uint8_t numbers[24] = {0,  17, 18, 19, 20, 21, 22, 23, 16, 6, 2, 11,
                                        12, 4,  14, 15, 8,  1,  10, 3,  9,  5, 7, 13};
    return number < 24 ? numbers[number] : number;
}

/* State of the instructions that follow. */

/* Events that change who executes. */
static struct flow_out *etmv3_key_events(struct etmv3_flow *f, struct flow_out *out,
                                         struct flow_out *tray)
{
    etmv3_rebase(f);
    etmv3_split(f, out);
    struct flow_out *to = etmv3_events(f, out, tray);
    if (to == tray && !f->keyed)
        flow_core_key(&f->core, &f->key);
    f->keyed |= to == tray;
    return to;
}

static void set_security(struct etmv3_flow *f, const struct etmv3_packet *k,
                         enum bt_security security, struct flow_out *out)
{
    struct flow_out tray;
    if (f->core.cur.security == security)
        return;
    struct flow_out *to = etmv3_key_events(f, out, &tray);
    flow_set_security(&f->core, to, k->offset, security, true);
    etmv3_events_end(f, to, &tray);
}

/* `repeat`: tell it even if it is the one before. */
static void etmv3_set_context(struct etmv3_flow *f, const struct etmv3_packet *k, bool repeat,
                              struct flow_out *out)
{
    struct flow_out tray;
    bool same = f->core.cur.has_context && f->core.cur.context == k->context;
    if (!(k->flags & ETMV3_HAS_CONTEXT) || (same && !repeat))
        return;
    struct flow_out *to = etmv3_key_events(f, out, &tray);
    f->core.cur.has_context = false;
    flow_set_context(&f->core, to, k->offset, k->context);
    etmv3_events_end(f, to, &tray);
}

static void set_vmid(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    struct flow_out tray;
    struct flow_out *to = etmv3_key_events(f, out, &tray);
    flow_set_vmid(&f->core, to, k->offset, (uint8_t)k->value);
    etmv3_events_end(f, to, &tray);
}

/* I-sync (IHI 0014Q 7.10.5). */

/* IHI 0014Q 7.13: is a count of the gap before an I-sync of this reason to be believed? */
static bool count_is_valid(const struct etmv3_flow *f, unsigned reason, uint32_t cycles)
{
    unsigned v = f->config.version_minor;
    if (v == 0 && reason >= ISYNC_OVERFLOW)
        return false;
    if (v >= 5 && reason == ISYNC_OVERFLOW)
        return false;
    return cycles != 0;
}

static void etmv3_trace_on(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_TRACE_ON, k->offset);
    e->cause = (uint8_t)flow_isync_gap(&f->core, f->synced, k->number);
    e->u.trace_on.reason = (uint8_t)k->number;
    e->u.trace_on.security = (uint8_t)etmv3_packet_security(k);
    if (!(k->flags & ETMV3_DATA_ONLY))
        flow_trace_on_address(e, k->flags & ETMV3_LSIP ? k->address : k->value,
                              k->flags & ETMV3_LSIP ? k->extra & 0xf : etmv3_packet_isa(k));
    if (k->flags & ETMV3_LSIP)
        e->u.trace_on.security = k->extra >> 4;
    f->reason = (uint8_t)k->number;
    f->gap_waited = (uint32_t)f->waited; /* W atoms behind the last instruction belong to the gap */
    f->count_due = f->config.cycle_accurate && !(k->flags & ETMV3_HAS_CYCLES);
    f->due_changes++;
    if ((k->flags & ETMV3_HAS_CYCLES) && count_is_valid(f, k->number, k->cycles)) {
        flow_event_cycles(e, f->gap_waited + k->cycles);
        f->core.cycles += k->cycles;
    }
}

/* The position that the packet gives; a reserved state gives none. */
static void take_position(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    f->blind = k->flags & ETMV3_ODD_STATE;
    if (k->flags & ETMV3_DATA_ONLY)
        return;
    if (f->blind) {
        f->core.cur.isa = etmv3_packet_isa(k);
        flow_lose(&f->core, out, k->offset, BT_GAP_BAD_PACKET, k->value);
        f->begin = f->done = 0;
        return;
    }
    if (k->flags & ETMV3_LSIP) { /* the data instruction is executed, then goes on elsewhere */
        etmv3_go_to(f, k->address, k->extra & 0xf);
        etmv3_implied(f, k->offset, out);
        set_security(f, k, etmv3_packet_security(k), out);
    }
    etmv3_go_to(f, k->value, (uint8_t)etmv3_packet_isa(k));
}

static void start_isync(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    unsigned security = k->flags & ETMV3_LSIP ? k->extra >> 4u : etmv3_packet_security(k);
    etmv3_rebase(f);
    etmv3_release(f, out);
    if (k->number == ISYNC_OVERFLOW)
        etmv3_data_drop(f, out);
    etmv3_data_disown(f, 0);
    etmv3_release(f, out);
    etmv3_trace_on(f, k, out);
    f->pending = false;
    f->branched = ETMV3_BRANCHED_NOT;
    f->waited = 0;
    f->since = 0;
    f->core.agreed = f->core.instructions;
    flow_set_security(&f->core, out, k->offset, (enum bt_security)security, false);
    etmv3_set_context(f, k, false, out);
    take_position(f, k, out);
    f->synced = f->core.started = true;
}

/* With the range rebased: what is pending stays, since nothing behind this can cancel it. */
static void etmv3_contradict(struct etmv3_flow *f, const struct etmv3_packet *k, uint64_t here,
                             struct flow_out *out)
{
    etmv3_release(f, out);
    flow_contradict(&f->core, out, k->offset, BT_GAP_DESYNC, here);
}

static void periodic_isync(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    struct flow_out tray;
    uint8_t isa = (uint8_t)etmv3_packet_isa(k);
    bool odd = k->flags & ETMV3_ODD_STATE;
    set_security(f, k, etmv3_packet_security(k), out);
    etmv3_set_context(f, k, false, out);
    if (k->flags & ETMV3_DATA_ONLY)
        return;
    bool known = f->core.cur.known;
    uint64_t here = known ? etmv3_here(f) : 0;
    uint64_t before = f->core.instructions + f->pending_block.count + etmv3_open(f);
    if (known && here == k->value && f->core.cur.isa == isa && !odd) {
        f->core.agreed = before;
        return;
    }
    etmv3_rebase(f);
    if (known && !odd) /* a packet that cannot be right says nothing against what was followed */
        etmv3_contradict(f, k, here, out);
    struct flow_out *to = etmv3_events(f, out, &tray);
    take_position(f, k, to);
    etmv3_events_end(f, to, &tray);
    if (!odd)
        f->core.agreed = before;
}

static void etmv3_isync(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    if (k->number == ISYNC_PERIODIC && f->synced)
        periodic_isync(f, k, out);
    else
        start_isync(f, k, out);
}

/* A count on its own, later than right behind its I-sync (IHI 0014Q 7.13). */
static void late_count(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    struct flow_out tray;
    bool due = f->count_due;
    f->count_due = false;
    f->due_changes++;
    if (due && !count_is_valid(f, f->reason, k->cycles))
        return;
    etmv3_close(f);
    struct flow_out *to = etmv3_events(f, out, &tray);
    if (due) {
        flow_event_cycles(flow_event(&f->core, to, BT_EVENT_CYCLES, k->offset),
                          f->gap_waited + k->cycles);
        f->core.cycles += k->cycles;
    } else { /* for no I-sync: a second one, or one that was lost */
        flow_event(&f->core, to, BT_EVENT_WARNING, k->offset)->cause = BT_GAP_DESYNC;
    }
    etmv3_events_end(f, to, &tray);
}

/* Branch packets (IHI 0014Q 7.3). */

struct bt_event *etmv3_exception(struct etmv3_flow *f, const struct etmv3_packet *k,
                                 const struct etmv3_origin *from, struct flow_out *out)
{
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_EXCEPTION, k->offset);
    flow_exception_number(e, f->config.m_profile ? etmv3_architectural(k->number) : k->number);
    flow_vector(e, k->value, (uint8_t)etmv3_packet_isa(k));
    e->u.exception.m_profile = f->config.m_profile;
    e->u.exception.canceled = from->canceled;
    if (from->known)
        flow_return_address(e, from->address, from->isa);
    return e;
}

/* Debug state is entered: where to is not what the packet's address says. */
static void etmv3_halt(struct etmv3_flow *f, const struct etmv3_origin *from)
{
    if (from->known)
        etmv3_go_to(f, from->address, from->isa);
    f->core.cur.known = false;
    f->core.cur.halted = from->known;
}

static void exception_branch(struct etmv3_flow *f, const struct etmv3_packet *k,
                             const struct etmv3_origin *from, struct flow_out *out)
{
    etmv3_release(f, out);
    etmv3_exception(f, k, from, out);
    f->pending = false;
    f->branched = ETMV3_BRANCHED_PACKET;
    if (k->number == ETMV3_EXC_DEBUG && !f->config.m_profile) {
        etmv3_halt(f, from);
        return;
    }
    set_security(f, k, etmv3_packet_security(k), out);
    etmv3_go_to(f, k->value, (uint8_t)etmv3_packet_isa(k));
}

/* A packet that is no exception, where the code says that execution is elsewhere. */
static bool etmv3_unexplained(const struct etmv3_flow *f, const struct etmv3_packet *k,
                              uint64_t here)
{
    if (!f->core.cur.known || here == k->value)
        return false;
    if ((k->flags & ETMV3_HAS_INFO) || f->branched == ETMV3_BRANCHED_PACKET)
        return false;
    return f->branched == ETMV3_BRANCHED_DIRECT || f->since > 1;
}

static void etmv3_plain_branch(struct etmv3_flow *f, const struct etmv3_packet *k, uint64_t here,
                               struct flow_out *out)
{
    uint8_t isa = (uint8_t)etmv3_packet_isa(k);
    if (etmv3_unexplained(f, k, here))
        etmv3_contradict(f, k, here, out);
    struct code_range *from = f->pending ? f->core.range : NULL;
    set_security(f, k, etmv3_packet_security(k), out);
    f->pending = false;
    f->branched = ETMV3_BRANCHED_PACKET;
    if (f->core.cur.known && here == k->value && f->core.cur.isa == isa)
        return;
    etmv3_go_to(f, k->value, isa);
    if (from && !f->core.view_stale && isa <= BT_ISA_T32)
        f->core.range = code_indirect(f->core.code, f->core.view, from, k->value, (enum bt_isa)isa);
}

/* IHI 0014Q 7.3, cancelled instructions. A return that is taken back (M profile) is no cancelled
 * instruction. */
static void etmv3_flow_cancel(struct etmv3_flow *f, const struct etmv3_packet *k,
                              struct etmv3_origin *from, struct flow_out *out)
{
    uint8_t isa = f->pending_block.count ? f->pending_block.isa : f->last_isa;
    bool was_return = f->return_pending;
    uint64_t address;
    bool done = etmv3_cancel(f, &address);
    if (!done)
        flow_warn(&f->core, out, k->offset, BT_GAP_DESYNC, k->value);
    else if (!was_return)
        *from = (struct etmv3_origin){address, isa, true, true};
    etmv3_release(f, out);
}

static void etmv3_branch(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    etmv3_rebase(f);
    uint64_t here = f->core.cur.address;
    struct etmv3_origin from = {here, f->core.cur.isa, f->core.cur.known, false};
    if (k->flags & ETMV3_CANCEL)
        etmv3_flow_cancel(f, k, &from, out);
    if (f->blind)
        return;
    if (k->number != 0)
        exception_branch(f, k, &from, out);
    else
        etmv3_plain_branch(f, k, here, out);
}

static void etmv3_exception_return(struct etmv3_flow *f, const struct etmv3_packet *k,
                                   struct flow_out *out)
{
    struct flow_out tray;
    etmv3_close(f);
    bool m = f->config.m_profile; /* the instruction is complete then: IHI 0014Q 7.5 */
    if (m)
        etmv3_release(f, out);
    struct flow_out *to = etmv3_events(f, out, &tray);
    if (m) {
        tray = (struct flow_out){.events = f->queue, .event_max = ETMV3_QUEUE};
        to = &tray;
        f->return_pending = true;
        etmv3_data_disown(f, STACKED);
    }
    uint64_t last =
        f->pending_block.count ? f->pending_block.first + f->pending_block.extent : f->last;
    flow_exception_return_address(flow_event(&f->core, to, BT_EVENT_EXCEPTION_RET, k->offset), last,
                                  f->pending_block.count ? f->pending_block.isa : f->last_isa);
    etmv3_events_end(f, to, &tray);
}

static void etmv3_timestamp(struct etmv3_flow *f, const struct etmv3_packet *k,
                            struct flow_out *out)
{
    struct flow_out tray;
    if (!(k->flags & ETMV3_TS_VALID) || k->value == 0) /* 0: the unit does not know the time */
        return;
    etmv3_close(f);
    struct flow_out *to = etmv3_events(f, out, &tray);
    struct bt_event *e = flow_event(&f->core, to, BT_EVENT_TIMESTAMP, k->offset);
    e->u.timestamp.value = packet_time(k->value, f->config.timestamp_gray);
    e->u.timestamp.rate_changed = k->flags & ETMV3_TS_FREQ;
    etmv3_events_end(f, to, &tray);
}

static void etmv3_trigger(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    struct flow_out tray;
    etmv3_close(f);
    struct flow_out *to = etmv3_events(f, out, &tray);
    flow_event(&f->core, to, BT_EVENT_TRIGGER, k->offset);
    etmv3_events_end(f, to, &tray);
}

/* Packets that mean something before the first I-sync, too. */
static bool etmv3_early_packet(struct etmv3_flow *f, const struct etmv3_packet *k,
                               struct flow_out *out)
{
    switch ((enum etmv3_kind)k->kind) {
    case ETMV3_ISYNC:
        etmv3_isync(f, k, out);
        return true;
    case ETMV3_TIMESTAMP:
        etmv3_timestamp(f, k, out);
        return true;
    case ETMV3_TRIGGER:
        etmv3_trigger(f, k, out);
        return true;
    case ETMV3_RESERVED:
    case ETMV3_MALFORMED:
        etmv3_flow_gap(f, k->offset, BT_GAP_BAD_PACKET, 0, out);
        return true;
    default:
        return !f->synced;
    }
}

static void etmv3_other_packet(struct etmv3_flow *f, const struct etmv3_packet *k,
                               struct flow_out *out)
{
    if (etmv3_early_packet(f, k, out))
        return;
    switch ((enum etmv3_kind)k->kind) {
    case ETMV3_BRANCH:
        etmv3_branch(f, k, out);
        break;
    case ETMV3_CYCLE_COUNT:
        late_count(f, k, out);
        break;
    case ETMV3_CONTEXT:
        etmv3_set_context(f, k, true, out);
        break;
    case ETMV3_VMID:
        set_vmid(f, k, out);
        break;
    case ETMV3_EXC_RETURN:
        etmv3_exception_return(f, k, out);
        break;
    case ETMV3_EXC_ENTRY:
        etmv3_close(f);
        if (etmv3_has_data(f))
            etmv3_data_scan(f);
        etmv3_data_disown(f, STACKED);
        break;
    case ETMV3_DATA:
    case ETMV3_PLACEHOLDER:
    case ETMV3_OOO_DATA:
    case ETMV3_NOT_TRACED:
    case ETMV3_STORE_FAILED:
    case ETMV3_SUPPRESSED:
        etmv3_data_packet(f, k, out);
        break;
    default: /* ignore, A-sync, skipped bytes: no meaning for the flow */
        break;
    }
}

/*
 * In cycle-accurate mode an I-sync without a count waits for the packet behind it: a count there
 * is its own, and both forms give the same history (IHI 0014Q 7.13). True: `k` is used up.
 */
static bool etmv3_defer(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    if (f->has_deferred) {
        if (k->kind == ETMV3_IGNORE)
            return true;
        bool count = k->kind == ETMV3_CYCLE_COUNT;
        if (count) {
            f->deferred.cycles = k->cycles;
            f->deferred.flags |= ETMV3_HAS_CYCLES;
        }
        f->has_deferred = false;
        etmv3_other_packet(f, &f->deferred, out);
        if (count)
            return true;
    }
    if (k->kind != ETMV3_ISYNC || (k->flags & (ETMV3_HAS_CYCLES | ETMV3_DATA_ONLY)) ||
        (k->number == ISYNC_PERIODIC && f->synced))
        return false;
    f->deferred = *k;
    f->has_deferred = true;
    return true;
}

/* Events that only wait to learn whether a store failed. */
static void commit_queue(struct etmv3_flow *f, const struct etmv3_packet *k, struct flow_out *out)
{
    if (f->queued && f->pending_block.count == 0 && !f->return_pending &&
        k->kind != ETMV3_STORE_FAILED)
        etmv3_release(f, out);
}

size_t etmv3_flow_run(struct etmv3_flow *f, const struct etmv3_packet *packets, size_t count,
                      struct flow_out *out)
{
    for (size_t i = 0; i < count; i++) {
        if (!flow_room(out))
            return i;
        const struct etmv3_packet *k = &packets[i];
        if (!f->core.range && f->done)
            etmv3_relink(f, out, k->offset);
        if (f->queued)
            commit_queue(f, k, out);
        if (f->config.cycle_accurate && etmv3_defer(f, k, out))
            continue;
        if (k->kind == ETMV3_ATOM) {
            if (f->core.view_stale)
                flow_view(&f->core);
            if (f->synced)
                etmv3_atoms(f, k, out);
        } else {
            etmv3_other_packet(f, k, out);
        }
    }
    return count;
}

void etmv3_flow_commit(struct etmv3_flow *f, uint64_t offset, struct flow_out *out)
{
    if (!f->core.range && f->done)
        etmv3_relink(f, out, offset);
    etmv3_rebase(f);
    etmv3_split(f, out);
}

void etmv3_flow_finish(struct etmv3_flow *f, struct flow_out *out)
{
    static const struct etmv3_packet nothing = {.kind = ETMV3_ASYNC};
    if (!f->core.range && f->done)
        etmv3_relink(f, out, nothing.offset);
    if (f->has_deferred)
        etmv3_defer(f, &nothing, out);
    etmv3_rebase(f);
    etmv3_release(f, out);
    if (etmv3_has_data(f))
        etmv3_data_drop(f, out);
    etmv3_release(f, out);
}

void etmv3_flow_gap(struct etmv3_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                    struct flow_out *out)
{
    etmv3_flow_finish(f, out);
    flow_core_gap(&f->core, offset, cause, bytes, out);
    f->synced = f->pending = f->blind = f->count_due = false;
    f->due_changes++;
    f->branched = ETMV3_BRANCHED_NOT;
    f->waited = 0;
}
