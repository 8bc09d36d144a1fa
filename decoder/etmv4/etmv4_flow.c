/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/etmv4/etmv4_flow.h"

#include "etmv4_flow_parts.h"

#include <string.h>

void etmv4_flow_init(struct etmv4_flow *f, const struct etmv4_config *config,
                     struct code_cache *code, uint16_t core, uint32_t generation)
{
    memset(f, 0, offsetof(struct etmv4_flow, queue));
    etmv4_queue_reset(&f->queue, 0);
    f->config = *config;
    flow_core_init(&f->core, code, core, generation);
}

/* Position, return stack and what waits: gone. */
static void forget(struct etmv4_flow *f)
{
    f->wait = ETMV4_WAIT_NONE;
    f->pending_pop = f->push_blocked = f->jumps = false;
    f->has_early = f->has_handler = false;
    f->due = false;
    f->rs_count = 0;
    f->core.cur.known = f->core.cur.halted = false;
    f->core.range = NULL;
}

/* Times and events happened, whatever becomes of the elements between them. False: no room for
 * all of them; the rest comes when this is called again. */
static bool drop_uncommitted(struct etmv4_flow *f, struct flow_out *out)
{
    struct etmv4_packet k;
    while (flow_room(out)) {
        if (etmv4_queue_rest(&f->queue, &k)) {
            etmv4_flow_element(f, &k, out);
            continue;
        }
        etmv4_queue_reset(&f->queue, 0);
        return true;
    }
    return false;
}

static void lose(struct etmv4_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                 struct flow_out *out)
{
    etmv4_flow_no_vector(f, out);
    flow_core_gap(&f->core, offset, cause, bytes, out);
    forget(f);
    f->synced = false;
}

void etmv4_flow_gap(struct etmv4_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                    struct flow_out *out)
{
    etmv4_queue_reset(&f->queue, 0);
    f->accepted = f->miscounted = false;
    lose(f, offset, cause, bytes, out);
    f->on_reason = cause == BT_GAP_OVERFLOW ? ETMV4_ON_OVERFLOW : ETMV4_ON_PERIODIC;
}

bool etmv4_flow_finish(struct etmv4_flow *f, struct flow_out *out)
{
    if (!drop_uncommitted(f, out))
        return false;
    etmv4_flow_no_vector(f, out);
    return true;
}

/* A Trace Info that is the first one here and a periodic one of the stream leaves the return stack
 * as it was: any number of entries. */
static void keep_foreign_returns(struct etmv4_flow *f)
{
    if (!f->cut)
        return;
    for (unsigned i = 0; i < ETMV4_RETURN_STACK; i++)
        f->rs[i] = (struct etmv4_return){.isa = ETMV4_RETURN_FOREIGN};
    f->rs_count = ETMV4_RETURN_STACK;
    f->cut = false;
}

static void trace_info(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    if (f->synced) /* the parser lost what the flow did not hear of */
        lose(f, k->offset, BT_GAP_BAD_PACKET, 0, out);
    forget(f);
    keep_foreign_returns(f);
    etmv4_queue_reset(&f->queue, k->commit);
    f->aarch64 = f->informed = false;
    f->marked = false;
    f->announce = true;
    f->on_cause = BT_GAP_NONE;
    f->synced = f->core.started = true;
}

static void trace_on(struct etmv4_flow *f, struct flow_out *out)
{
    etmv4_flow_no_vector(f, out);
    if (!f->announce) { /* else: nothing came before, or its loss has an event of its own */
        f->on_cause = BT_GAP_TRACE_ON;
        f->announce = true;
    }
    if (f->on_reason == ETMV4_ON_PERIODIC)
        f->on_reason = ETMV4_ON_TRACE_ON;
    forget(f);
}

static void exception_return(struct etmv4_flow *f, const struct etmv4_packet *k,
                             struct flow_out *out)
{
    f->pending_pop = false;
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_EXCEPTION_RET, k->offset);
    flow_exception_return_address(e, f->last_p0, f->core.cur.isa);
}

static void timestamp(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    if (f->config.marked_times && !f->marked)
        return;
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_TIMESTAMP, k->offset);
    e->u.timestamp.value = k->value;
    if (k->flags & ETMV4_COUNTED)
        flow_event_cycles(e, k->cycles);
}

static void cycles(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_COUNT, k->offset);
    if (!(k->flags & ETMV4_COUNTED))
        return;
    flow_event_cycles(e, k->cycles);
    f->core.cycles += k->cycles;
}

static void q_element(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    etmv4_flow_resolve(f, k->offset, out);
    etmv4_flow_no_vector(f, out);
    f->q = *k;
    f->wait = ETMV4_WAIT_Q;
    if (k->flags & ETMV4_ADDRESSED)
        etmv4_flow_q(f, k->value, etmv4_flow_isa(f, f->aarch64, k->isa_bit), out);
}

static void note_trigger(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    flow_event(&f->core, out, BT_EVENT_TRIGGER, k->offset)->u.trigger.mask = k->number;
}

static void note_software(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    struct bt_event *e = flow_event(&f->core, out, BT_EVENT_SOFTWARE, k->offset);
    e->u.software.value = k->value;
    e->u.software.level = (uint8_t)k->number;
}

void etmv4_flow_element(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    switch (k->kind) {
    case ETMV4_ATOM:
        etmv4_flow_atoms(f, k->offset, (uint32_t)k->value, k->n, out);
        break;
    case ETMV4_ADDRESS:
        etmv4_flow_address(f, k, out);
        break;
    case ETMV4_CONTEXT:
        etmv4_flow_context_packet(f, k, out);
        break;
    case ETMV4_EXCEPTION:
        etmv4_flow_exception(f, k, out);
        break;
    case ETMV4_EXC_RETURN:
        exception_return(f, k, out);
        break;
    case ETMV4_FUNC_RETURN:
        f->pending_pop = false;
        break;
    case ETMV4_TRACE_INFO: /* a periodic one */
        if (k->n || (k->commit && !f->config.max_speculated))
            etmv4_flow_warn(f, k->offset, out);
        f->push_blocked = true;
        break;
    case ETMV4_TRACE_ON:
        trace_on(f, out);
        break;
    case ETMV4_CYCLES:
        cycles(f, k, out);
        break;
    case ETMV4_Q:
        q_element(f, k, out);
        break;
    case ETMV4_SOURCE:
        etmv4_flow_source(f, k, out);
        break;
    case ETMV4_TIMESTAMP:
        timestamp(f, k, out);
        break;
    case ETMV4_MARKER:
        f->marked = true;
        break;
    case ETMV4_EVENT:
        note_trigger(f, k, out);
        break;
    case ETMV4_INSTRUMENTATION:
        note_software(f, k, out);
        break;
    case ETMV4_TRANSACTION:
        if (k->number)
            etmv4_flow_resolve(f, k->offset, out);
        break;
    case ETMV4_FUTURE_FLUSH:
        f->jumps = true;
        break;
    default: /* markers of data trace, conditions, padding: no meaning for the flow */
        break;
    }
}

/* Speculation (IHI 0064H.b). */

/* More is committed or cancelled than there is: what comes cannot be understood until the next
 * Trace Info tells how much there is. False as below. */
static bool miscounted(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    if (!drop_uncommitted(f, out))
        return false;
    lose(f, k->offset, BT_GAP_BAD_PACKET, 0, out);
    f->accepted = f->miscounted = false;
    return true;
}

/* A packet's effect on the queue. */
static bool enqueue(struct etmv4_flow *f, const struct etmv4_packet *k)
{
    struct etmv4_queue *q = &f->queue;
    struct etmv4_packet item = *k;
    switch (k->kind) {
    case ETMV4_TRACE_INFO: /* a check of what is known */
        item.n = k->commit != q->depth;
        return etmv4_queue_add(q, &f->config, &item);
    case ETMV4_COMMIT:
        return etmv4_queue_commit(q, k->commit);
    case ETMV4_CYCLES:
        if (k->flags & ETMV4_COMMITS)
            return etmv4_queue_commit(q, k->commit);
        return etmv4_queue_add(q, &f->config, k);
    case ETMV4_CANCEL:
    case ETMV4_MISPREDICT:
        return etmv4_queue_undo(q, &f->config, k);
    default:
        return etmv4_queue_add(q, &f->config, k);
    }
}

/* False: no room for all of its output; the rest comes when it is given again. */
static bool speculative(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    struct etmv4_packet next;
    if (!f->accepted) {
        f->accepted = true;
        f->miscounted = !enqueue(f, k);
    }
    if (f->miscounted)
        return miscounted(f, k, out);
    while (flow_room(out)) {
        if (etmv4_queue_next(&f->queue, &next)) {
            etmv4_flow_element(f, &next, out);
            continue;
        }
        f->accepted = false;
        if (k->kind == ETMV4_CYCLES && (k->flags & ETMV4_COMMITS))
            etmv4_flow_element(f, k, out);
        return true;
    }
    return false;
}

/* Nothing is speculative: elements are real at once. */
static void certain(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    if (k->kind == ETMV4_CANCEL || k->kind == ETMV4_MISPREDICT)
        miscounted(f, k, out);
    else
        etmv4_flow_element(f, k, out);
}

/* Packets that mean something without synchronisation, too, or take it away. */
static bool sync_packet(struct etmv4_flow *f, const struct etmv4_packet *k, struct flow_out *out)
{
    switch (k->kind) {
    case ETMV4_TRACE_INFO:
        if (f->synced && !(k->flags & ETMV4_STARTING))
            return false;
        trace_info(f, k, out);
        return true;
    case ETMV4_DISCARD: /* what was speculative when the unit was stopped */
        lose(f, k->offset, BT_GAP_TRACE_ON, 0, out);
        return true;
    case ETMV4_OVERFLOW:
        lose(f, k->offset, BT_GAP_OVERFLOW, 0, out);
        f->on_reason = ETMV4_ON_OVERFLOW;
        return true;
    case ETMV4_RESYNC:
    case ETMV4_RESERVED:
    case ETMV4_MALFORMED:
        lose(f, k->offset, BT_GAP_BAD_PACKET, 0, out);
        return true;
    case ETMV4_ASYNC:
    case ETMV4_UNSYNCED:
    case ETMV4_INCOMPLETE:
        return true;
    case ETMV4_EVENT:
        if (!f->synced)
            note_trigger(f, k, out);
        return !f->synced;
    default:
        return !f->synced;
    }
}

/* Nothing that is uncommitted stays. */
static bool ends_all(const struct etmv4_packet *k)
{
    return k->kind == ETMV4_DISCARD || k->kind == ETMV4_OVERFLOW || k->kind == ETMV4_RESYNC ||
           k->kind == ETMV4_RESERVED || k->kind == ETMV4_MALFORMED;
}

size_t etmv4_flow_run(struct etmv4_flow *f, const struct etmv4_packet *packets, size_t count,
                      struct flow_out *out)
{
    for (size_t i = 0; i < count; i++) {
        const struct etmv4_packet *k = &packets[i];
        if (!flow_room(out))
            return i;
        if (k->kind == ETMV4_ATOM && f->synced && !f->config.max_speculated)
            etmv4_flow_atoms(f, k->offset, (uint32_t)k->value, k->n, out);
        else if (f->queue.count && ends_all(k) && !drop_uncommitted(f, out))
            return i;
        else if (!f->accepted && sync_packet(f, k, out))
            continue;
        else if (!f->config.max_speculated)
            certain(f, k, out);
        else if (!speculative(f, k, out))
            return i;
    }
    return count;
}
