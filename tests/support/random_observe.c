/* SPDX-License-Identifier: BSD-3-Clause */
/* Random flow: the events of the truth, as the packets come out. */
#include "tests/support/random_work.h"

static uint32_t context_id_mask(const struct random_flow_work *w)
{
    static const uint32_t masks[] = {0, 0xff, 0xffff, 0xffffffff};

    return masks[w->options.encoder.etmcr >> 14 & 3];
}

static uint64_t timestamp_value(const struct random_flow_work *w)
{
    bool wide = random_flow_is_v11(w) && (w->options.encoder.etmccer & PTM_CCER_TIMESTAMP_64);
    uint64_t value = random_flow_is_v11(w) ? w->waypoint_time : w->time;

    return wide ? value : value & (((uint64_t)1 << 48) - 1);
}

static void add_event(struct random_flow_work *w, struct bt_event *event, bool counted)
{
    if (counted && random_flow_cycle_accurate(w)) {
        event->cycles = ptm_encoder_last_count(w->encoder);
        event->has_cycles = true;
    }
    int error = truth_add_event(&w->truth, event);
    if (error && !w->error)
        w->error = error;
}

static void show_context_id(struct random_flow_work *w, uint64_t offset, bool always)
{
    uint32_t value = w->context_id & context_id_mask(w);
    struct bt_event event = {.offset = offset, .kind = BT_EVENT_CONTEXT, .u.context.id = value};

    if (context_id_mask(w) == 0)
        return;
    if (always || !w->context_id_shown || value != w->shown_context_id)
        add_event(w, &event, false);
    w->context_id_shown = true;
    w->shown_context_id = value;
}

static void saw_isync(struct random_flow_work *w, uint64_t offset)
{
    const struct code_insn *next = &w->code.insns[w->pc];
    struct bt_event event = {.offset = offset,
                             .kind = BT_EVENT_TRACE_ON,
                             .u.trace_on = {.reason = (uint8_t)w->reason,
                                            .address = next->address,
                                            .isa = next->isa,
                                            .has_address = true}};

    w->shown_security = w->security;
    if (w->reason != 0)
        add_event(w, &event, w->reason == 1 || !random_flow_is_v11(w));
    show_context_id(w, offset, false);
}

static void saw_exception(struct random_flow_work *w, uint64_t offset)
{
    struct bt_event event = {.offset = offset,
                             .kind = BT_EVENT_EXCEPTION,
                             .u.exception = {.number = (uint16_t)w->exception,
                                             .return_address = w->exception_return,
                                             .return_isa = (uint8_t)w->exception_isa,
                                             .has_return = true,
                                             .vector = w->exception_vector}};

    add_event(w, &event, true);
}

static void count_cycles(struct random_flow_work *w, enum ptm_packet_kind kind)
{
    bool valid_isync =
        kind == PTM_PACKET_ISYNC && w->reason != 0 && (w->reason == 1 || !random_flow_is_v11(w));

    if (!random_flow_cycle_accurate(w))
        return;
    if (kind == PTM_PACKET_ATOM || kind == PTM_PACKET_BRANCH || kind == PTM_PACKET_TIMESTAMP ||
        valid_isync)
        w->truth.flow->cycles += ptm_encoder_last_count(w->encoder);
}

void random_flow_observe(void *context, enum ptm_packet_kind kind, uint64_t offset, size_t size)
{
    struct random_flow_work *w = context;
    struct bt_event event = {.offset = offset};

    (void)size;
    count_cycles(w, kind);
    switch (kind) {
    case PTM_PACKET_ISYNC:
        saw_isync(w, offset);
        break;
    case PTM_PACKET_BRANCH:
        if (w->exception)
            saw_exception(w, offset);
        break;
    case PTM_PACKET_CONTEXT_ID:
        show_context_id(w, offset, true);
        break;
    case PTM_PACKET_VMID:
        event.kind = BT_EVENT_VMID;
        event.u.vmid.id = w->vmid;
        add_event(w, &event, false);
        break;
    case PTM_PACKET_TIMESTAMP:
        event.kind = BT_EVENT_TIMESTAMP;
        event.u.timestamp.value = timestamp_value(w);
        event.u.timestamp.rate_changed = w->clock_changed;
        add_event(w, &event, true);
        break;
    case PTM_PACKET_TRIGGER:
        event.kind = BT_EVENT_TRIGGER;
        add_event(w, &event, false);
        break;
    case PTM_PACKET_EXCEPTION_RETURN:
        event.kind = BT_EVENT_EXCEPTION_RET;
        add_event(w, &event, false);
        break;
    default:
        break;
    }
}
