/* SPDX-License-Identifier: BSD-3-Clause */
#include "etmv1_flow_parts.h"

#include <string.h>

void etmv1_flow_init(struct etmv1_flow *f, const struct etmv1_config *config,
                     struct code_cache *code, uint16_t core, uint32_t generation)
{
    memset(f, 0, sizeof *f);
    f->config = *config;
    flow_cursor_init(&f->cursor, code, core, generation);
    f->cursor.cycle_accurate = config->cycle_accurate;
    f->cursor.low_vectors = config->low_vectors;
    f->cursor.high_vectors = config->high_vectors;
}

uint64_t etmv1_offset(const struct etmv1_flow *f)
{
    return f->base + port_cycle_offset(&f->config.port, f->next_cycle);
}

/* Cycles that one entry stands for. */
static unsigned cycles_at(const struct etmv1_flow *f, uint64_t place)
{
    return etmv1_status_at(f, place) == ETMV1_TD && !(etmv1_info(f, place) & RING_TRIGGER)
               ? f->pkt[place % ETMV1_RING]
               : 1;
}

void etmv1_count(struct etmv1_flow *f, struct flow_out *out)
{
    uint8_t info = etmv1_info(f, f->next);
    bool idle = (info & RING_STATUS) == ETMV1_TD && !(info & (RING_LOW | RING_TRIGGER));
    if (f->config.cycle_accurate && !idle)
        f->cursor.core.cycles += cycles_at(f, f->next);
    if (info & RING_TRIGGER)
        flow_cursor_event(&f->cursor, out, BT_EVENT_TRIGGER, etmv1_offset(f));
}

void etmv1_move(struct etmv1_flow *f)
{
    f->next_cycle += cycles_at(f, f->next);
    f->next++;
}

void etmv1_pass(struct etmv1_flow *f, struct flow_out *out, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        etmv1_count(f, out);
        etmv1_move(f);
    }
}

static void clear_ring(struct etmv1_flow *f)
{
    f->first = f->next = f->earliest = f->end;
    f->target_count = 0;
    f->aligned = false;
    f->data_known = false;
}

void etmv1_flow_gap(struct etmv1_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                    struct flow_out *out)
{
    etmv1_commit(f, out);
    flow_cursor_close(&f->cursor, out);
    flow_core_gap(&f->cursor.core, offset, cause, bytes, out);
    f->synced = false;
    clear_ring(f);
}

/* Statuses and bytes do not agree: the branch at f->next is the first to synchronise at again. */
static void desync(struct etmv1_flow *f, struct flow_out *out)
{
    etmv1_commit(f, out);
    flow_cursor_close(&f->cursor, out);
    flow_core_gap(&f->cursor.core, etmv1_offset(f), BT_GAP_DESYNC, 0, out);
    f->synced = false;
    f->aligned = false;
    f->data_known = false;
}

/* Statuses (IHI 0014Q table 5-1). */

/* IE, ID, IN. */
static enum etmv1_step instruction(struct etmv1_flow *f, unsigned status, struct flow_out *out)
{
    struct flow_cursor *t = &f->cursor;
    struct flow_cursor_step step;
    struct etmv1_data data;
    enum etmv1_step read = ETMV1_STEP_LOST;
    uint64_t offset = etmv1_offset(f);
    bool passed = status != ETMV1_IN;
    bool known = t->core.cur.known && flow_cursor_fetch(t, out, offset, &step);
    if (known && passed && step.end == CODE_END_INDIRECT)
        return ETMV1_STEP_LOST;
    if (status == ETMV1_ID && known)
        read = etmv1_read_data(f, &step, &data);
    if (read == ETMV1_STEP_WAIT)
        return read;
    if (status == ETMV1_ID && !known)
        f->aligned = false;
    bool lost = status == ETMV1_ID && known && read == ETMV1_STEP_LOST;
    etmv1_count(f, out);
    f->reported = false;
    if (known) {
        flow_cursor_add(t, out, &step, passed ? BT_COND_PASS : BT_COND_FAIL, flow_cursor_cycles(t));
        flow_cursor_advance(t, &step, passed);
        if (read == ETMV1_STEP_DONE)
            etmv1_report_data(f, out, &data);
        if (lost)
            flow_cursor_warn(t, out, offset, BT_GAP_DESYNC, step.address);
    } else {
        f->cursor.core.dropped++;
    }
    f->earliest = f->next + 1;
    etmv1_move(f);
    return ETMV1_STEP_DONE;
}

/* Without data every byte is an address's; a WT that has none of one means that they got lost. */
static bool nobodys_byte(const struct etmv1_flow *f)
{
    uint8_t info = etmv1_info(f, f->next);
    return (info & (RING_STATUS | RING_TRIGGER | RING_LOW)) == ETMV1_WT && !etmv1_has_data(f);
}

static enum etmv1_step step(struct etmv1_flow *f, struct flow_out *out)
{
    unsigned status = etmv1_status_at(f, f->next);
    switch (status) {
    case ETMV1_BE:
    case ETMV1_BD:
        return f->synced ? etmv1_branch(f, out) : etmv1_resync(f, out);
    case ETMV1_IE:
    case ETMV1_ID:
    case ETMV1_IN:
        if (f->synced)
            return instruction(f, status, out);
        break;
    case ETMV1_WT:
        if (f->synced && nobodys_byte(f))
            return ETMV1_STEP_LOST;
        break;
    default:
        break;
    }
    etmv1_pass(f, out, 1);
    return ETMV1_STEP_DONE;
}

/* Goes on as far as there are cycles. False: no room in `out`. */
static bool advance(struct etmv1_flow *f, struct flow_out *out)
{
    while (f->next < f->end) {
        if (!flow_room(out))
            return false;
        enum etmv1_step result = step(f, out);
        if (result == ETMV1_STEP_WAIT)
            break;
        if (result == ETMV1_STEP_DONE)
            continue;
        desync(f, out);
        unsigned status = etmv1_status_at(f, f->next);
        if (status != ETMV1_BE && status != ETMV1_BD)
            etmv1_pass(f, out, 1);
    }
    return true;
}

/* Oldest place that may still be read. */
static uint64_t oldest(const struct etmv1_flow *f)
{
    uint64_t place = f->data.place > f->earliest ? f->data.place : f->earliest;
    if (!f->aligned || !f->synced || place > f->next)
        return f->next;
    return place;
}

/* Room for one more entry: what waits too long will never have its bytes. */
static void make_room(struct etmv1_flow *f, struct flow_out *out)
{
    f->first = oldest(f);
    if (f->end - f->first < ETMV1_RING)
        return;
    if (f->first == f->next) {
        if (f->synced)
            desync(f, out);
        etmv1_pass(f, out, 1);
    } else {
        f->aligned = false;
        f->data_known = false;
    }
    f->first = f->next;
}

/* A TD that only makes a run longer. */
static bool joins_run(struct etmv1_flow *f, uint8_t info)
{
    if (f->next == f->end || etmv1_info(f, f->end - 1) != info)
        return false;
    uint16_t *count = &f->pkt[(f->end - 1) % ETMV1_RING];
    if (*count == UINT16_MAX)
        return false;
    ++*count;
    return true;
}

static void push(struct etmv1_flow *f, const struct etmv1_packet *k, struct flow_out *out)
{
    bool idle = k->status == ETMV1_TD && !(k->flags & ETMV1_TRIGGER);
    uint8_t info = (uint8_t)(k->status | (k->flags & ETMV1_TRIGGER ? RING_TRIGGER : 0) |
                             (k->flags & ETMV1_SYNC ? RING_SYNC : 0) |
                             (k->flags & (ETMV1_LOW | ETMV1_COUNTED) ? RING_LOW : 0) |
                             (k->flags & ETMV1_HIGH ? RING_HIGH : 0));
    if (idle) {
        if (joins_run(f, info))
            return;
        info = (uint8_t)(ETMV1_TD | (k->flags & ETMV1_COUNTED ? RING_LOW : 0));
    }
    make_room(f, out);
    if (f->next == f->end) {
        f->next_cycle = k->cycle;
        f->base = k->offset - port_cycle_offset(&f->config.port, k->cycle);
    }
    if (k->flags & ETMV1_SYNC)
        f->address_at = f->end;
    f->info[f->end % ETMV1_RING] = info;
    f->pkt[f->end % ETMV1_RING] = idle ? 1 : k->pkt;
    f->end++;
}

static void push_target(struct etmv1_flow *f, const struct etmv1_packet *k, struct flow_out *out)
{
    if (f->target_count == ETMV1_ADDRESSES) {
        if (f->synced)
            desync(f, out);
        f->target_head = (f->target_head + 1) % ETMV1_ADDRESSES;
        f->target_count--;
    }
    bool high = etmv1_info(f, f->end - 1) & RING_HIGH;
    f->targets[(f->target_head + f->target_count++) % ETMV1_ADDRESSES] = (struct etmv1_target){
        .offset = k->offset,
        .start = f->address_at,
        .end = f->end - 1,
        .value = (uint32_t)k->value,
        .context = k->context,
        .flags =
            (uint8_t)((k->flags & (ETMV1_PARTIAL | ETMV1_HAS_CONTEXT)) | (high ? ETMV1_HIGH : 0)),
        .reason = k->reason,
        .isa = k->isa,
    };
}

static void packet(struct etmv1_flow *f, const struct etmv1_packet *k, struct flow_out *out)
{
    switch ((enum etmv1_kind)k->kind) {
    case ETMV1_CYCLE:
        push(f, k, out);
        break;
    case ETMV1_ADDRESS:
        push_target(f, k, out);
        break;
    case ETMV1_MALFORMED:
        etmv1_flow_gap(f, k->offset, BT_GAP_BAD_PACKET, 0, out);
        break;
    case ETMV1_END:
        etmv1_commit(f, out);
        flow_cursor_close(&f->cursor, out);
        break;
    case ETMV1_INCOMPLETE:
        break;
    }
}

size_t etmv1_flow_run(struct etmv1_flow *f, const struct etmv1_packet *packets, size_t count,
                      struct flow_out *out)
{
    for (size_t i = 0; i < count; i++) {
        /* What is in the ring at the end may still be good to synchronise at. */
        f->ended = packets[i].kind == ETMV1_END;
        if (!advance(f, out) || !flow_room(out))
            return i;
        packet(f, &packets[i], out);
    }
    advance(f, out);
    return count;
}
