/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv2/etmv2_flow.h"

#include <string.h>

/* Exceptions as flow_cursor_vector() numbers them. */
#define EXC_UND     9
#define EXC_SVC     10
#define EXC_PABT    11
#define EXC_DABT    12
#define EXC_GENERIC 13

#define RESTARTED 2 /* TFO reason: after an overflow */

static bool etmv2_has_data(const struct etmv2_flow *f)
{
    return f->config.data_value || f->config.data_address || f->config.monitor_cprt;
}

void etmv2_flow_init(struct etmv2_flow *f, const struct etmv2_config *config,
                     struct code_cache *code, uint16_t core, uint32_t generation)
{
    memset(f, 0, sizeof *f);
    f->config = *config;
    flow_cursor_init(&f->cursor, code, core, generation);
    f->cursor.cycle_accurate = config->cycle_accurate;
    f->cursor.low_vectors = config->low_vectors;
    f->cursor.high_vectors = config->high_vectors;
}

static void put_event(struct etmv2_flow *f, struct flow_out *out,
                      const struct etmv2_pending_event *h)
{
    flow_cursor_close(&f->cursor, out);
    if (h->kind == BT_EVENT_CONTEXT) {
        flow_set_context(&f->cursor.core, out, h->offset, h->value);
        return;
    }
    struct bt_event *e = flow_cursor_event(&f->cursor, out, (enum bt_event_kind)h->kind, h->offset);
    if (h->kind != BT_EVENT_DATA)
        return;
    uint64_t back = f->cursor.core.instructions - h->owner;
    struct bt_access *a = &e->u.data;
    a->address = h->address;
    a->value = h->value;
    a->bytes = h->bytes;
    a->back = h->owned && back < 256 ? (uint8_t)back : 0;
    a->has_address = h->has_address;
    a->has_value = h->has_value;
    a->store = h->store;
}

static void put_events(struct etmv2_flow *f, struct flow_out *out)
{
    for (unsigned i = 0; i < f->event_count; i++)
        put_event(f, out, &f->events[i]);
    f->event_count = 0;
}

/* The pending instruction is final: puts it out, and the events behind it. */
static void etmv2_release(struct etmv2_flow *f, struct flow_out *out)
{
    if (!f->pending)
        return;
    f->pending = false;
    flow_cursor_add(&f->cursor, out, &f->step, (enum bt_cond)f->pending_cond, f->pending_cycles);
    put_events(f, out);
}

/* An event behind the pending instruction, or right away if there is none. `flags`: BT_EVENT_*. */
static void etmv2_note(struct etmv2_flow *f, struct flow_out *out,
                       const struct etmv2_pending_event *e)
{
    if (f->pending && f->event_count == ETMV2_PENDING_EVENTS)
        etmv2_release(f, out);
    if (f->pending)
        f->events[f->event_count++] = *e;
    else
        put_event(f, out, e);
}

/* Data packets and whose they are: IHI 0014Q 6.4. */

/* LDRD, STRD: A32 only in ARMv5. */
static bool is_double(const struct flow_cursor_step *step, uint32_t opcode)
{
    return step->isa == BT_ISA_A32 && (opcode & 0x0e1000d0) == 0x000000d0;
}

/* Does the instruction make several transfers, or a number that the code does not say? */
static bool etmv2_is_lsm(struct etmv2_flow *f, const struct flow_cursor_step *step)
{
    uint32_t opcode;
    if (!flow_cursor_opcode(&f->cursor, step, &opcode))
        return false;
    struct transfer t = transfer_of(opcode, step->size, (enum bt_isa)step->isa);
    return t.kind == ACCESS_MEMORY && t.count != 1;
}

/* The pending instruction was executed: does it transfer data? */
static void etmv2_data_owner(struct etmv2_flow *f)
{
    uint32_t opcode;
    f->pending_data = false;
    if (!etmv2_has_data(f) || !flow_cursor_opcode(&f->cursor, &f->step, &opcode))
        return;
    struct transfer t = transfer_of(opcode, f->step.size, (enum bt_isa)f->step.isa);
    if (t.kind == ACCESS_NONE)
        return;
    f->pending_data = true;
    f->access = (struct etmv2_access){.number = flow_cursor_number(&f->cursor),
                                      .owned = true,
                                      .store = t.store,
                                      .swap = t.swap,
                                      .high_first =
                                          f->config.high_word_first && is_double(&f->step, opcode),
                                      .bytes = t.bytes};
}

/* One transfer of `a`, with whatever is known of it;
 * told behind the instruction if one is pending. */
static void etmv2_report(struct etmv2_flow *f, struct flow_out *out, const struct etmv2_access *a,
                         uint64_t offset, const uint32_t *value)
{
    /* A doubleword is aligned to its size. */
    uint32_t address = a->high_first && value ? a->address ^ 4 : a->address;
    struct etmv2_pending_event e = {.offset = offset,
                                    .owner = a->number,
                                    .owned = a->owned,
                                    .address = a->has_address ? address : 0,
                                    .value = value ? *value : 0,
                                    .kind = BT_EVENT_DATA,
                                    .bytes = a->bytes,
                                    .has_address = a->has_address,
                                    .has_value = value,
                                    .store = a->store};
    etmv2_note(f, out, &e);
}

/* The transfer that a packet is about. A packet with an address says where; others go on. */
static struct etmv2_access *etmv2_transfer(struct etmv2_flow *f, const struct etmv2_packet *k)
{
    struct etmv2_access *a = &f->access;
    if (k->flags & ETMV2_HAS_ADDRESS) {
        a->address = k->address;
        a->has_address = true;
    } else if (k->flags & ETMV2_FIRST) {
        a->has_address = false;
    }
    return a;
}

static void next_transfer(struct etmv2_access *a)
{
    if (a->swap)
        a->store = true;
    else
        a->address += a->bytes ? a->bytes : 4;
}

static void miss_data(struct etmv2_flow *f, const struct etmv2_packet *k, struct flow_out *out)
{
    uint32_t value = (uint32_t)k->value;
    bool has_value = k->flags & ETMV2_HAS_VALUE;
    if (k->n == 0) { /* the next packet says whose it is (IHI 0014Q 6.4) */
        f->first_half = value;
        f->has_first_half = true;
        return;
    }
    struct etmv2_access *a = &f->miss[k->n];
    bool first = f->has_first_half;
    f->has_first_half = false;
    if (!a->open)
        return;
    if (first && has_value) {
        etmv2_report(f, out, a, k->offset, &f->first_half);
        next_transfer(a);
    }
    if (has_value)
        etmv2_report(f, out, a, k->offset, &value);
    /* Both halves of a 64-bit load may carry the tag. */
    if (k->flags & ETMV2_MORE)
        next_transfer(a);
    else
        a->open = false;
}

static void etmv2_data_packet(struct etmv2_flow *f, const struct etmv2_packet *k,
                              struct flow_out *out)
{
    uint32_t value = (uint32_t)k->value;
    if (k->kind == ETMV2_MISS_DATA) {
        miss_data(f, k, out);
        return;
    }
    struct etmv2_access *a = etmv2_transfer(f, k);
    switch (k->kind) {
    case ETMV2_DATA:
        etmv2_report(f, out, a, k->offset, k->flags & ETMV2_HAS_VALUE ? &value : NULL);
        break;
    case ETMV2_MISS:
        f->miss[k->n] = *a;
        f->miss[k->n].open = true;
        etmv2_report(f, out, a, k->offset, NULL);
        break;
    default: /* value not traced: nothing to tell, but the address goes on */
        break;
    }
    next_transfer(a);
}

/* The pending instruction's data never was: it was canceled or aborted. */
static void etmv2_data_drop(struct etmv2_flow *f)
{
    unsigned n = 0;
    uint64_t number = flow_cursor_number(&f->cursor);
    for (unsigned i = 0; i < f->event_count; i++) {
        const struct etmv2_pending_event *e = &f->events[i];
        bool its = e->kind == BT_EVENT_DATA && e->owned && e->owner == number;
        if (!its)
            f->events[n++] = *e;
    }
    f->event_count = (uint8_t)n;
    if (f->access.owned && f->access.number == number)
        f->access.owned = f->access.has_address = false;
    for (unsigned i = 0; i < 4; i++)
        if (f->miss[i].owned && f->miss[i].number == number)
            f->miss[i].open = false;
}

/* Forgets loads that missed. */
static void etmv2_data_forget(struct etmv2_flow *f)
{
    memset(f->miss, 0, sizeof f->miss);
    memset(&f->access, 0, sizeof f->access);
    f->has_first_half = false;
}

/* It did not complete: never happened, as far as the history goes. */
static void etmv2_cancel(struct etmv2_flow *f, struct flow_out *out)
{
    etmv2_data_drop(f);
    f->pending = false;
    if (f->pending_cycles != FLOW_NO_CYCLES)
        f->cursor.counted -= f->pending_cycles;
    put_events(f, out);
}

static void unknown_target(struct etmv2_flow *f, struct flow_out *out, uint64_t offset)
{
    f->waiting = false;
    flow_cursor_lose(&f->cursor, out, offset, BT_GAP_UNKNOWN_ADDR, f->step.address);
}

/* The instruction at the position is executed, or fails its condition. */
static void etmv2_execute(struct etmv2_flow *f, struct flow_out *out, uint64_t offset, bool passed)
{
    struct flow_core *core = &f->cursor.core;
    etmv2_release(f, out);
    f->arrival = f->arrival == ETMV2_BY_TFO ? ETMV2_FIRST_SINCE_TFO : ETMV2_BY_CODE;
    if (f->waiting)
        unknown_target(f, out, offset);
    if (!core->cur.known || !flow_cursor_fetch(&f->cursor, out, offset, &f->step)) {
        core->dropped++;
        return;
    }
    f->pending = true;
    f->pending_cond = passed ? BT_COND_PASS : BT_COND_FAIL;
    f->pending_cycles = flow_cursor_cycles(&f->cursor);
    if (passed)
        etmv2_data_owner(f);
    else
        f->pending_data = false;
    if (passed && f->step.end == CODE_END_INDIRECT) {
        f->waiting = true;
        core->cur.known = false;
        core->range = NULL;
        return;
    }
    flow_cursor_advance(&f->cursor, &f->step, passed);
}

static void etmv2_trigger(struct etmv2_flow *f, const struct etmv2_packet *k, struct flow_out *out)
{
    struct etmv2_pending_event e = {.offset = k->offset, .kind = BT_EVENT_TRIGGER};
    etmv2_note(f, out, &e);
}

static void etmv2_flow_status(struct etmv2_flow *f, const struct etmv2_packet *k,
                              struct flow_out *out)
{
    bool counts = k->status != ETMV2_TD || (k->flags & (ETMV2_WAITING | ETMV2_TFO_CYCLE));
    if (f->config.cycle_accurate && counts)
        f->cursor.core.cycles++;
    bool functional = k->status <= ETMV2_DN || k->status >= ETMV2_PHANTOM;
    if (k->flags & ETMV2_TRIGGER)
        etmv2_trigger(f, k, out);
    if (!f->synced || !functional)
        return;
    if (k->status >= ETMV2_PHANTOM)
        etmv2_execute(f, out, k->offset, k->status < ETMV2_PHANTOM_NOT_TAKEN);
    etmv2_execute(f, out, k->offset, !(k->status & 2));
}

/* TFO packets (IHI 0014Q 6.5). */

/* A periodic one says where execution is: that must be known already. */
static void check_position(struct etmv2_flow *f, const struct etmv2_packet *k, struct flow_out *out)
{
    struct flow_core *core = &f->cursor.core;
    if (f->waiting)
        unknown_target(f, out, k->offset);
    else if (core->cur.known && (core->cur.address != k->value || core->cur.isa != k->isa))
        flow_cursor_lose(&f->cursor, out, k->offset, BT_GAP_DESYNC, core->cur.address);
    if (!core->cur.known)
        flow_go_to(core, k->value, k->isa);
}

static void etmv2_flow_tfo(struct etmv2_flow *f, const struct etmv2_packet *k, struct flow_out *out)
{
    etmv2_release(f, out);
    if (k->number || !f->synced) {
        flow_cursor_on(&f->cursor, out, k->offset, k->number, (uint32_t)k->value, k->isa,
                       !f->synced, f->arrival == ETMV2_BY_BRANCH);
        f->waiting = false;
        f->arrival = ETMV2_BY_TFO;
        f->access = (struct etmv2_access){0};
        if (k->number == RESTARTED || !f->synced)
            etmv2_data_forget(f);
    } else {
        check_position(f, k, out);
    }
    f->synced = f->cursor.core.started = true;
    if (k->flags & ETMV2_HAS_CONTEXT) {
        flow_cursor_close(&f->cursor, out);
        flow_set_context(&f->cursor.core, out, k->offset, k->context);
    }
    if (k->number == 0 || (k->flags & ETMV2_LSIP))
        etmv2_execute(f, out, k->offset, true);
    if (k->flags & ETMV2_LSIP) {
        f->waiting = false;
        f->arrival = ETMV2_BY_BRANCH;
        flow_go_to(&f->cursor.core, k->address, k->isa2);
    }
}

/* Branch packets (IHI 0014Q 6.7.1). */

static void etmv2_exception(struct etmv2_flow *f, const struct etmv2_packet *k,
                            struct flow_out *out, unsigned number, const uint32_t *back,
                            bool canceled)
{
    struct bt_event *e = flow_cursor_event(&f->cursor, out, BT_EVENT_EXCEPTION, k->offset);
    flow_exception_number(e, (uint16_t)number);
    flow_vector(e, k->value, k->isa);
    e->u.exception.canceled = canceled;
    if (back)
        flow_return_address(e, *back, f->step.isa);
    f->waiting = false;
    f->arrival = ETMV2_BY_EXCEPTION;
    flow_go_to(&f->cursor.core, k->value, k->isa);
}

static void etmv2_canceling(struct etmv2_flow *f, const struct etmv2_packet *k,
                            struct flow_out *out)
{
    unsigned number = flow_cursor_vector(&f->cursor, (uint32_t)k->value, k->isa);
    uint32_t back = f->pending ? f->step.address : (uint32_t)f->cursor.core.cur.address;
    bool known = f->pending || f->cursor.core.cur.known;
    bool canceled = f->pending;
    if (canceled)
        etmv2_cancel(f, out);
    etmv2_exception(f, k, out, number ? number : EXC_GENERIC, known ? &back : NULL, canceled);
}

/* An exception that cancels nothing: what the last instruction caused, or one right behind it. */
static void etmv2_completing(struct etmv2_flow *f, const struct etmv2_packet *k,
                             struct flow_out *out, unsigned number)
{
    uint32_t back = (uint32_t)f->cursor.core.cur.address;
    bool known = f->cursor.core.cur.known;
    /* What was branched to since the last status has none: it is not the last instruction. */
    bool moved = f->arrival == ETMV2_BY_BRANCH || f->arrival == ETMV2_BY_EXCEPTION;
    bool own = number == EXC_DABT || (number == EXC_UND && !moved) ||
               (number == EXC_PABT && !moved && !f->config.abort_no_status);
    if (own) { /* a load may have been overtaken: then it is not the pending one */
        known = f->pending && (number != EXC_DABT || f->pending_data || !etmv2_has_data(f));
        back = f->step.address;
    } else if (number == EXC_SVC && f->pending) {
        known = true;
        back = f->step.next;
    }
    if (number == EXC_DABT && f->pending)
        etmv2_data_drop(f);
    etmv2_release(f, out);
    etmv2_exception(f, k, out, number, known ? &back : NULL, false);
}

/*
 * IHI 0014Q 6.5: where tracing began with a load or store multiple that was in progress, a branch
 * packet says where execution goes on. The LSM may have its status, or only data.
 */
static bool leaves_lsm(struct etmv2_flow *f, const struct etmv2_packet *k, struct flow_out *out)
{
    struct flow_cursor_step step = f->step;
    if (f->arrival == ETMV2_BY_TFO) {
        if (!flow_cursor_fetch(&f->cursor, out, k->offset, &step))
            return false;
    } else if (f->arrival != ETMV2_FIRST_SINCE_TFO || !f->pending) {
        return false;
    }
    return etmv2_is_lsm(f, &step);
}

static void etmv2_branch(struct etmv2_flow *f, const struct etmv2_packet *k, struct flow_out *out)
{
    struct flow_core *core = &f->cursor.core;
    bool direct = f->pending && f->step.end == CODE_END_DIRECT && f->pending_cond == BT_COND_PASS;
    if (k->flags & ETMV2_CANCEL) {
        etmv2_canceling(f, k, out);
        return;
    }
    if (direct && core->cur.known && core->cur.address == k->value && core->cur.isa == k->isa)
        return;
    unsigned number = flow_cursor_vector(&f->cursor, (uint32_t)k->value, k->isa);
    if (number) {
        etmv2_completing(f, k, out, number);
        return;
    }
    if (!f->waiting && core->cur.known && !leaves_lsm(f, k, out)) {
        etmv2_release(f, out);
        flow_cursor_warn(&f->cursor, out, k->offset, BT_GAP_DESYNC, core->cur.address);
    }
    f->waiting = false;
    f->arrival = ETMV2_BY_BRANCH;
    flow_go_to(core, k->value, k->isa);
}

void etmv2_flow_gap(struct etmv2_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                    struct flow_out *out)
{
    if (f->pending) {
        /* It may have been canceled in what is lost. */
        etmv2_cancel(f, out);
        flow_go_to(&f->cursor.core, f->step.address, f->step.isa);
    }
    flow_cursor_close(&f->cursor, out);
    flow_core_gap(&f->cursor.core, offset, cause, bytes, out);
    f->synced = false;
    f->waiting = false;
    f->arrival = ETMV2_BY_CODE;
    etmv2_data_forget(f);
}

static void etmv2_context(struct etmv2_flow *f, const struct etmv2_packet *k, struct flow_out *out)
{
    struct etmv2_pending_event e = {
        .offset = k->offset, .value = k->context, .kind = BT_EVENT_CONTEXT};
    if (k->flags & ETMV2_HAS_CONTEXT)
        etmv2_note(f, out, &e);
}

static void etmv2_flow_packet(struct etmv2_flow *f, const struct etmv2_packet *k,
                              struct flow_out *out)
{
    switch ((enum etmv2_kind)k->kind) {
    case ETMV2_STATUS:
        etmv2_flow_status(f, k, out);
        break;
    case ETMV2_TFO:
        etmv2_flow_tfo(f, k, out);
        break;
    case ETMV2_BRANCH:
        etmv2_branch(f, k, out);
        break;
    case ETMV2_DATA:
    case ETMV2_NOT_TRACED:
    case ETMV2_MISS:
    case ETMV2_MISS_DATA:
        etmv2_data_packet(f, k, out);
        break;
    case ETMV2_CONTEXT:
        etmv2_context(f, k, out);
        break;
    case ETMV2_RESERVED:
        etmv2_flow_gap(f, k->offset, BT_GAP_BAD_PACKET, 0, out);
        break;
    case ETMV2_DESYNC:
        etmv2_flow_gap(f, k->offset, BT_GAP_DESYNC, 0, out);
        break;
    case ETMV2_END:
        etmv2_release(f, out);
        flow_cursor_close(&f->cursor, out);
        break;
    case ETMV2_UNSYNCED:
    case ETMV2_INCOMPLETE:
        break;
    }
}

size_t etmv2_flow_run(struct etmv2_flow *f, const struct etmv2_packet *packets, size_t count,
                      struct flow_out *out)
{
    for (size_t i = 0; i < count; i++) {
        if (!flow_room(out))
            return i;
        etmv2_flow_packet(f, &packets[i], out);
    }
    return count;
}
