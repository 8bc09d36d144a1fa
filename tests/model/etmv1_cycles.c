/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv1 model, lower half: cycles of the trace port (IHI 0014Q chapter 5). */
#include "etmv1_encoder_state.h"

#define APO_MAX 15 /* too many to tell */

static uint16_t noise(struct etmv1_encoder *e, uint16_t pkt, uint16_t valid)
{
    if (!e->options.noise)
        return pkt;
    return (uint16_t)(pkt | ((uint16_t)trace_random_next(&e->random) & ~valid));
}

/*
 * 16-bit port: either choice of IHI 0014Q chapter 5. Without holding, a byte that has the port for
 * itself makes the place of the next one uncertain, unless that is an address, or belongs to a
 * later status. */
static enum port_model_lone lone(const struct etmv1_encoder *e)
{
    bool hold = e->options.hold_single && !e->draining;

    return hold ? PORT_MODEL_LONE_NEVER : PORT_MODEL_LONE_ALIGNED;
}

static int output(struct etmv1_encoder *e, struct etmv1_model_cycle *c)
{
    bool has_status = c->apo || c->status != ETMV1_MODEL_WT;
    unsigned pins = c->status;
    bool sync = false;
    uint16_t pkt;

    c->index = e->port.cycles;
    c->captured = true;
    c->trigger = e->trigger_due;
    if (e->trigger_due) {
        e->trigger_due = false;
        pkt = noise(e, c->status, 7);
        pins = ETMV1_MODEL_TR;
    } else {
        struct port_model_slot slot = port_model_drain(&e->port, lone(e));
        pkt = noise(e, slot.pkt, slot.valid);
        sync = slot.sync;
        if (!has_status && slot.valid == 0) {
            bool counts = e->on && e->cycle_accurate;
            c->status = ETMV1_MODEL_TD;
            pins = ETMV1_MODEL_TD;
            pkt = noise(e, counts, 1);
            c->captured = counts || !e->options.drop_idle;
        }
    }
    int error = c->captured ? port_model_write(&e->port, pins, pkt, sync) : 0;
    if (e->observer)
        e->observer(e->observer_context, c);
    e->sync_cycles++;
    e->data_cycles++;
    return error;
}

int etmv1_idle(struct etmv1_encoder *e)
{
    struct etmv1_model_cycle cycle = {.status = ETMV1_MODEL_WT};

    if (e->apo_left) {
        cycle.apo = true;
        cycle.status = e->apo_left-- == 2 ? e->apo & 3 : e->apo >> 2;
    }
    return output(e, &cycle);
}

/* So many bytes may come now: on a 16-bit port pairs only, so that none of them goes alone. */
static unsigned early_bytes(struct etmv1_encoder *e, unsigned most)
{
    unsigned n = trace_random_below(&e->random, most + 1);

    return e->port.bits == 16 ? n & ~1u : n;
}

/* Data that comes before its status: some bytes, a cycle, more bytes ... */
static int push_early(struct etmv1_encoder *e, const struct etmv1_open_status *s, unsigned *pushed)
{
    int error = 0;

    *pushed = 0;
    if (!s->size || !trace_random_percent(&e->random, e->options.early_percent))
        return 0;
    if (e->port.bits == 16 && (s->size < 2 || !port_model_empty(&e->port)))
        return 0;
    unsigned total = 1 + trace_random_below(&e->random, s->size);
    if (e->port.bits == 16)
        total = (total + 1) / 2 * 2 <= s->size ? (total + 1) / 2 * 2 : total / 2 * 2;
    while (!error && *pushed < total) {
        unsigned n = early_bytes(e, total - *pushed);
        while (!error && e->port.count > 1 && e->port.count + n > e->options.fifo_size)
            error = etmv1_idle(e);
        port_model_push(&e->port, s->data + *pushed, n, false);
        *pushed += n;
        if (!error)
            error = etmv1_idle(e);
    }
    return error;
}

static unsigned status_code(const struct etmv1_open_status *s)
{
    if (s->branch)
        return s->size ? ETMV1_MODEL_BD : ETMV1_MODEL_BE;
    if (s->size)
        return ETMV1_MODEL_ID;
    return s->pass ? ETMV1_MODEL_IE : ETMV1_MODEL_IN;
}

/* The APO cycles of the branch before, or not all of them: then that one is abandoned. */
static int finish_apo(struct etmv1_encoder *e, const struct etmv1_open_status *s, bool *abandons)
{
    /* Of those that stand for no instruction only a restart is known to be abandoned. */
    bool may =
        e->apo_insn && s->branch && s->size == 0 && (s->reason != ETMV1_REASON_NORMAL || !s->insn);
    unsigned leave = 0;
    int error = 0;

    bool chance = may && trace_random_percent(&e->random, e->options.abandon_percent);
    if (e->apo_left && (s->replaces || chance))
        leave = 1 + trace_random_below(&e->random, e->apo_left);
    while (!error && e->apo_left > leave)
        error = etmv1_idle(e);
    *abandons = e->apo_left != 0;
    return error;
}

static unsigned pending_addresses(const struct etmv1_encoder *e)
{
    unsigned starts = port_model_starts(&e->port);

    return starts < APO_MAX ? starts : APO_MAX;
}

/* Bytes of a status: `keep` of them are not lost. */
static void push_status(struct etmv1_encoder *e, const struct etmv1_open_status *s, unsigned early,
                        unsigned keep, struct etmv1_model_cycle *c)
{
    uint8_t branch[ETMV1_BRANCH_MAX];
    unsigned reason = s->reason, address_bytes = 0;
    unsigned data = s->size < keep ? s->size : keep;

    if (data > early)
        port_model_push(&e->port, s->data + early, data - early, false);
    if (!s->branch)
        return;
    unsigned size = etmv1_put_branch(e, branch, &s->target, &reason, &address_bytes);
    if (size > keep - data)
        size = keep - data;
    port_model_push(&e->port, branch, size, true);
    c->branch = true;
    c->reason = (uint8_t)reason;
    c->bytes = (uint8_t)(size ? address_bytes : 0);
}

int etmv1_status(struct etmv1_encoder *e, const struct etmv1_open_status *s, unsigned keep)
{
    struct etmv1_model_cycle cycle = {.status = (uint8_t)status_code(s), .insn = s->insn};
    unsigned early = 0;
    int error = finish_apo(e, s, &cycle.abandons);

    if (!error && keep >= s->size)
        error = push_early(e, s, &early);
    unsigned room = s->size - early + (s->branch ? ETMV1_BRANCH_MAX : 0);
    /* A single byte may be held until the next one comes. */
    while (!error && room && e->port.count > 1 && e->port.count + room > e->options.fifo_size)
        error = etmv1_idle(e);
    if (error)
        return error;
    cycle.abandons = cycle.abandons && e->apo_left;
    e->apo_left = 0;
    cycle.offset = (uint8_t)pending_addresses(e);
    push_status(e, s, early, keep, &cycle);
    unsigned apo = cycle.offset;
    error = output(e, &cycle);
    if (s->branch) {
        e->apo = apo;
        e->apo_left = 2;
        e->apo_insn = s->reason == ETMV1_REASON_NORMAL;
    }
    return error;
}
