/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/stm/stm_flow.h"

#include <string.h>

void stm_flow_init(struct stm_flow *f, const struct stm_config *config, struct code_cache *code,
                   uint16_t core, uint32_t generation)
{
    (void)config;
    memset(f, 0, sizeof *f);
    flow_core_init(&f->core, code, core, generation);
}

static void stm_stimulus(struct stm_flow *f, struct flow_out *out, const struct stm_packet *k)
{
    struct bt_stimulus *s = &flow_event(&f->core, out, BT_EVENT_STIMULUS, k->offset)->u.stimulus;
    s->stm = true;
    s->value = k->value;
    s->bits = k->bits;
    s->master = k->master;
    s->channel = k->channel;
    s->marked = k->flags & STM_MARKED;
    s->has_time = k->flags & STM_TIME_KNOWN;
    s->time = s->has_time ? k->time : 0;
}

/* The time of what has no place for it in its own event. */
static void stm_time(struct stm_flow *f, struct flow_out *out, const struct stm_packet *k)
{
    if (k->flags & STM_TIME_KNOWN)
        flow_event(&f->core, out, BT_EVENT_TIMESTAMP, k->offset)->u.timestamp.value = k->time;
}

static void stm_gap(struct stm_flow *f, struct flow_out *out, const struct stm_packet *k,
                    enum bt_gap_cause cause)
{
    flow_event(&f->core, out, BT_EVENT_GAP, k->offset)->cause = (uint8_t)cause;
}

static void stm_flow_packet(struct stm_flow *f, struct flow_out *out, const struct stm_packet *k)
{
    switch ((enum stm_kind)k->kind) {
    case STM_DATA:
    case STM_FLAG:
        stm_stimulus(f, out, k);
        break;
    case STM_TRIGGER:
        stm_time(f, out, k);
        flow_event(&f->core, out, BT_EVENT_TRIGGER, k->offset)->u.trigger.mask = (uint16_t)k->value;
        break;
    case STM_FREQUENCY:
        flow_event(&f->core, out, BT_EVENT_FREQUENCY, k->offset)->u.frequency.hertz =
            (uint32_t)k->value;
        break;
    case STM_MASTER_ERROR:
    case STM_GLOBAL_ERROR:
        stm_gap(f, out, k, BT_GAP_OVERFLOW);
        break;
    case STM_RESERVED:
    case STM_MALFORMED:
        stm_gap(f, out, k, BT_GAP_BAD_PACKET);
        break;
    case STM_NULL:
    case STM_USER:
        stm_time(f, out, k);
        break;
    default:
        break;
    }
}

size_t stm_flow_run(struct stm_flow *f, const struct stm_packet *packets, size_t count,
                    struct flow_out *out)
{
    for (size_t i = 0; i < count; i++) {
        if (!flow_room(out))
            return i;
        f->core.started |= packets[i].kind != STM_UNSYNCED;
        stm_flow_packet(f, out, &packets[i]);
    }
    return count;
}

void stm_flow_gap(struct stm_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                  struct flow_out *out)
{
    flow_core_gap(&f->core, offset, cause, bytes, out);
}
