/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ETMv2 model, lower half: cycles of the trace port (IHI 0014Q chapter 6): what the FIFO lets out,
 * TFO values, triggers, and the sync counter.
 */
#include "etmv2_encoder_state.h"

#define TFO_HEADER(reason) ((uint8_t)((reason) << 5))
#define TFO_LSIP           0x80

static uint16_t noise(struct etmv2_encoder *e, uint16_t pkt, uint16_t valid)
{
    if (!e->options.noise)
        return pkt;
    return (uint16_t)(pkt | ((uint16_t)trace_random_next(&e->random) & ~valid));
}

static void report(struct etmv2_encoder *e, const struct etmv2_model_cycle *cycle)
{
    e->statuses[cycle->status & 15]++;
    if (e->observer)
        e->observer(e->observer_context, cycle);
}

/* Every processor cycle counts, captured or not. */
static void count_cycle(struct etmv2_encoder *e)
{
    if (!e->options.sync_period || ++e->since_sync < e->options.sync_period)
        return;
    e->since_sync = 0;
    e->data_full = true;
    e->sync_missed = e->on && e->sync_due;
    e->sync_due = true;
}

/* The value N of a TFO on TRACEPKT: here, and on a 4-bit port in the next cycle (IHI 0014Q 6.5). */
static uint16_t show_tfo(struct etmv2_encoder *e, unsigned n, bool trigger)
{
    bool biased = e->cycle_accurate && e->options.wait == ETMV2_MODEL_WAIT_ZEROS;
    unsigned value = n + (biased ? 16 : 0);
    uint16_t first = (uint16_t)((value >> 4 & 7) << 1 | 1);
    uint16_t second = value & 0xf;

    e->show_value = trigger;
    if (e->port.bits != 4) {
        if (trigger)
            e->show[e->show_count++] = (uint16_t)(first | second << 4);
        return (uint16_t)(first | second << 4);
    }
    if (trigger)
        e->show[e->show_count++] = first;
    e->show[e->show_count++] = second;
    for (unsigned i = 1; i < e->options.tfo4_extra; i++)
        e->show[e->show_count++] = ETMV2_SHOW_BLANK;
    return first;
}

static uint16_t next_shown(struct etmv2_encoder *e)
{
    uint16_t shown = e->show[0];

    for (unsigned i = 1; i < e->show_count; i++)
        e->show[i - 1] = e->show[i];
    e->show_count--;
    e->show_value = false;
    return shown;
}

/* TRACEPKT of a cycle that is not captured as TR. True: the cycle has a meaning. */
static bool show_cycle(struct etmv2_encoder *e, const struct etmv2_out_cycle *c, uint16_t *pkt)
{
    uint16_t byte_mask = e->port.bits == 4 ? 0xf : 0xff;

    if (c->tfo) {
        *pkt = noise(e, show_tfo(e, e->port.count, false), byte_mask);
        return true;
    }
    if (e->show_count) {
        uint16_t shown = next_shown(e);
        *pkt = shown == ETMV2_SHOW_BLANK ? noise(e, 0, 0) : noise(e, shown, byte_mask);
        return true;
    }
    struct port_model_slot slot = port_model_drain(&e->port, PORT_MODEL_LONE);
    *pkt = noise(e, slot.pkt, slot.valid);
    return slot.valid != 0;
}

/* TRACEPKT of a TD that is no TFO. */
static uint16_t idle_pkt(struct etmv2_encoder *e)
{
    if (!e->on || !e->cycle_accurate)
        return noise(e, 0, 1);
    return noise(e, e->options.wait == ETMV2_MODEL_WAIT_ONES ? 0xf : 1, 0xf);
}

static int output(struct etmv2_encoder *e, const struct etmv2_out_cycle *c)
{
    bool trigger = e->trigger_due && !e->show_value;
    uint8_t status = c->tfo ? ETMV2_MODEL_TD : (uint8_t)(c->status | (c->size && !c->tfo));
    struct etmv2_model_cycle cycle = {.index = e->port.cycles,
                                      .insns = c->insns,
                                      .captured = true,
                                      .trigger = trigger,
                                      .tfo = c->tfo,
                                      .reason = c->reason,
                                      .fifo = (uint8_t)e->port.count};
    uint16_t pkt;

    if (!e->options.late_group && !c->tfo)
        port_model_push(&e->port, c->group, c->size, false);
    if (trigger) {
        e->trigger_due = false;
        if (c->tfo)
            show_tfo(e, e->port.count, true);
        pkt = noise(e, status, 0xf);
    } else if (!show_cycle(e, c, &pkt) && status == ETMV2_MODEL_WT) {
        status = ETMV2_MODEL_TD;
        pkt = idle_pkt(e);
        cycle.captured = !e->options.drop_idle || (pkt & 1);
    }
    if (e->options.late_group || c->tfo)
        port_model_push(&e->port, c->group, c->size, false);
    cycle.status = status;
    unsigned pins = trigger ? ETMV2_MODEL_TR : status;
    int error = cycle.captured ? port_model_write(&e->port, pins, pkt, pins >> 3) : 0;
    report(e, &cycle);
    count_cycle(e);
    return error;
}

int etmv2_idle(struct etmv2_encoder *e)
{
    const struct etmv2_out_cycle wait = {.status = ETMV2_MODEL_WT};

    return output(e, &wait);
}

/* What happens to the instructions of a cycle that does not fit into the FIFO. */
static void lose_cycle(struct etmv2_encoder *e, const struct etmv2_out_cycle *c)
{
    const struct etmv2_model_cycle cycle = {
        .index = e->port.cycles, .status = c->status, .insns = c->insns, .lost = true};

    if (e->observer)
        e->observer(e->observer_context, &cycle);
    etmv2_lose(e);
}

int etmv2_cycle(struct etmv2_encoder *e, const struct etmv2_out_cycle *c)
{
    int error = 0;
    bool fits = e->port.count + c->size <= e->options.fifo_size;

    if (!fits && e->options.lose_when_full && !c->tfo) {
        lose_cycle(e, c);
        return etmv2_idle(e);
    }
    while (!error && (e->port.count + c->size > e->options.fifo_size || (c->tfo && e->show_count)))
        error = etmv2_idle(e);
    return error ? error : output(e, c);
}

int etmv2_tfo(struct etmv2_encoder *e, unsigned reason, const struct etmv2_place *at,
              const struct etmv2_place *executing, unsigned insns)
{
    uint8_t packet[ETMV2_PACKET_MAX];
    unsigned size = 1;

    packet[0] = TFO_HEADER(reason) | (executing ? TFO_LSIP : 0);
    size += etmv2_put_word(packet + size, e->context_id, e->context_id_bytes);
    size += etmv2_put_word(packet + size, at->address | (at->isa == BT_ISA_T32), 4);
    e->base = *at;
    if (executing)
        size += etmv2_put_branch(packet + size, &e->base, executing, false, 0);
    e->packets[executing ? ETMV2_MODEL_TFO_LSIP : ETMV2_MODEL_TFO]++;
    const struct etmv2_out_cycle cycle = {.status = ETMV2_MODEL_TD,
                                          .insns = (uint8_t)(insns + (executing != NULL)),
                                          .group = packet,
                                          .size = size,
                                          .tfo = true,
                                          .reason = (uint8_t)reason};
    int error = etmv2_cycle(e, &cycle);
    /* Now, since the cycle itself may be the one at which the counter expires. */
    e->since_sync = 0;
    e->sync_due = false;
    e->sync_missed = false;
    return error;
}

void etmv2_lose(struct etmv2_encoder *e)
{
    for (unsigned tag = 1; tag < ETMV2_MODEL_TAGS; tag++)
        if (e->tags[tag] == ETMV2_TAG_OUT)
            e->tags[tag] = ETMV2_TAG_ORPHAN;
    e->open.valid = false;
    e->folded = false;
    e->late_due = false;
    e->off_due = false;
    e->overflowed = true;
    e->on = false;
}
