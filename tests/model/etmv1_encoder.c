/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv1 model, upper half: what each event of the program flow makes the trace unit send. */
#include "etmv1_encoder.h"

#include <limits.h>
#include <stdlib.h>

#include "etmv1_encoder_state.h"

#define FIFO_MIN        24
#define FIFO_MAX        250
#define CR_PORT_SIZE(c) ((c) >> 4 & 7)
#define CCR_PROTOCOL(c) ((c) >> 28)
#define VALUE_MAX       64 /* bytes of one instruction */

void etmv1_encoder_default_options(struct etmv1_encoder_options *o)
{
    *o = (struct etmv1_encoder_options){.etmcr = ETMV1_MODEL_CR_PORT(1),
                                        .etmccr = ETMV1_MODEL_CCR_V13,
                                        .seed = 1,
                                        .layout = PORT_MODEL_CYCLES,
                                        .sync_period = 1024,
                                        .sync_patience = 512,
                                        .fifo_size = 64};
}

struct etmv1_encoder *etmv1_encoder_new(const struct etmv1_encoder_options *o,
                                        struct trace_bytes *out)
{
    static const unsigned context_id_bytes[] = {0, 1, 2, 4};
    /* By protocol number; 6 is not assigned, from 8 on an ID register exists (IHI 0014Q
     * chapter 3). */
    static const int minors[16] = {0, 1, 2, 3, 2, 3, -1, 3, -1, -1, -1, -1, -1, -1, -1, -1};
    int minor = minors[CCR_PROTOCOL(o->etmccr)];

    if (minor < 0 || CR_PORT_SIZE(o->etmcr) > 2 || o->fifo_size < FIFO_MIN ||
        o->fifo_size > FIFO_MAX)
        return NULL;
    struct etmv1_encoder *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->options = *o;
    e->random.state = o->seed;
    port_model_init(&e->port, 4u << CR_PORT_SIZE(o->etmcr), o->layout, out);
    e->minor = (unsigned)minor;
    e->context_id_bytes = minor >= 2 ? context_id_bytes[o->etmcr >> 14 & 3] : 0;
    e->data_value = o->etmcr & ETMV1_MODEL_CR_DATA_VALUE;
    e->data_address = o->etmcr & ETMV1_MODEL_CR_DATA_ADDRESS;
    e->cprt = o->etmcr & ETMV1_MODEL_CR_CPRT;
    e->broadcast = o->etmcr & ETMV1_MODEL_CR_BROADCAST;
    e->cycle_accurate = o->etmcr & ETMV1_MODEL_CR_CYCLE_ACCURATE;
    return e;
}

void etmv1_encoder_free(struct etmv1_encoder *e)
{
    free(e);
}

static int close_keeping(struct etmv1_encoder *e, unsigned keep)
{
    const struct etmv1_open_status s = e->open;

    e->open.valid = false;
    return s.valid ? etmv1_status(e, &s, keep) : 0;
}

static int close_open(struct etmv1_encoder *e)
{
    return close_keeping(e, UINT_MAX);
}

static int start_trace(struct etmv1_encoder *e, unsigned reason, const struct etmv1_place *next)
{
    if (next->isa == BT_ISA_JAZELLE && e->minor < 3)
        return BT_ERR_INVAL;
    e->open = (struct etmv1_open_status){
        .valid = true, .branch = true, .replaces = e->restarted, .reason = reason, .target = *next};
    e->on = true;
    e->data_full = true;
    e->restarted = reason == ETMV1_REASON_OVERFLOW;
    return close_open(e);
}

/* A direct branch has a packet if all do, for a new context ID, or if none came for too long. */
static bool branch_packet(const struct etmv1_encoder *e, const struct etmv1_insn *insn,
                          enum waypoint_class cls)
{
    if (!insn->pass)
        return false;
    if (insn->at.isa == BT_ISA_JAZELLE)
        return insn->next.isa != BT_ISA_JAZELLE;
    if (cls == WAYPOINT_DIRECT)
        return e->broadcast || e->context_due || etmv1_sync_due(e, true);
    return cls == WAYPOINT_INDIRECT;
}

int etmv1_encoder_insn(struct etmv1_encoder *e, const struct etmv1_insn *insn)
{
    enum waypoint_class cls =
        arm5_classify(&e->previous, insn->at.isa, insn->opcode, insn->at.address);
    int error;

    if (e->minor < 3 && (insn->at.isa == BT_ISA_JAZELLE || insn->next.isa == BT_ISA_JAZELLE))
        return BT_ERR_INVAL;
    error = close_open(e);
    if (error)
        return error;
    if (!e->on)
        return etmv1_idle(e);
    e->restarted = false;
    e->open = (struct etmv1_open_status){.valid = true,
                                         .insn = true,
                                         .pass = insn->pass,
                                         .branch = branch_packet(e, insn, cls),
                                         .target = insn->next};
    return 0;
}

int etmv1_encoder_data(struct etmv1_encoder *e, const struct etmv1_model_access *a)
{
    struct etmv1_open_status *s = &e->open;
    bool address = e->data_address && !a->cprt && s->size == 0;

    if (!e->on || !s->valid || !s->insn || (a->cprt && !e->cprt))
        return 0;
    if (s->size + a->size > VALUE_MAX + (e->data_address ? 5u : 0u))
        return BT_ERR_RANGE;
    if (address)
        s->size += etmv1_put_data_address(e, s->data, a->address);
    for (unsigned i = 0; e->data_value && i < a->size; i++) {
        unsigned byte = e->options.big_endian ? a->size - 1u - i : i;
        s->data[s->size++] = (uint8_t)(a->value >> 8 * byte);
    }
    return 0;
}

/* Exceptions, Debug state, filter, overflow. */

int etmv1_encoder_exception(struct etmv1_encoder *e, bool own, const struct etmv1_place *vector)
{
    int error;

    if (!e->on)
        return etmv1_idle(e);
    if (own && e->open.valid && e->open.insn) {
        e->open.branch = true;
        e->open.pass = true;
        e->open.target = *vector;
        return close_open(e);
    }
    error = close_open(e);
    if (error)
        return error;
    e->restarted = false;
    e->open = (struct etmv1_open_status){.valid = true, .branch = true, .target = *vector};
    return close_open(e);
}

static int stop_trace(struct etmv1_encoder *e)
{
    int error = close_open(e);

    e->on = false;
    e->restarted = false;
    return error;
}

int etmv1_encoder_debug_entry(struct etmv1_encoder *e)
{
    return stop_trace(e);
}

int etmv1_encoder_debug_exit(struct etmv1_encoder *e, const struct etmv1_place *restart)
{
    int error = stop_trace(e);

    return error ? error : start_trace(e, ETMV1_REASON_DEBUG_EXIT, restart);
}

int etmv1_encoder_trace_off(struct etmv1_encoder *e)
{
    return stop_trace(e);
}

int etmv1_encoder_trace_on(struct etmv1_encoder *e, const struct etmv1_place *next)
{
    return e->on ? 0 : start_trace(e, ETMV1_REASON_TRACE_ON, next);
}

int etmv1_encoder_overflow(struct etmv1_encoder *e, unsigned keep)
{
    int error = close_keeping(e, keep);

    e->on = false;
    e->restarted = false;
    return error;
}

static int drain_fifo(struct etmv1_encoder *e)
{
    int error = 0;

    e->draining = true;
    while (!error && (!port_model_empty(&e->port) || e->apo_left))
        error = etmv1_idle(e);
    e->draining = false;
    return error;
}

int etmv1_encoder_restart(struct etmv1_encoder *e, const struct etmv1_place *next)
{
    int error = close_open(e);

    /* One that replaces another does not wait. */
    if (!error && !e->restarted)
        error = drain_fifo(e);
    return error ? error : start_trace(e, ETMV1_REASON_OVERFLOW, next);
}

int etmv1_encoder_wait(struct etmv1_encoder *e, unsigned cycles)
{
    int error = close_open(e);

    while (!error && cycles-- > 0)
        error = etmv1_idle(e);
    return error;
}

void etmv1_encoder_set_context_id(struct etmv1_encoder *e, uint32_t value)
{
    e->context_due = e->context_id_bytes != 0;
    e->context_id = value;
}

void etmv1_encoder_trigger(struct etmv1_encoder *e)
{
    e->trigger_due = true;
}

void etmv1_encoder_request_sync(struct etmv1_encoder *e)
{
    e->sync_requested = true;
}

int etmv1_encoder_drain(struct etmv1_encoder *e)
{
    int error = close_open(e);

    return error ? error : drain_fifo(e);
}

int etmv1_encoder_finish(struct etmv1_encoder *e)
{
    int error = etmv1_encoder_drain(e);

    return error ? error : port_model_finish(&e->port, ETMV1_MODEL_TD);
}

void etmv1_encoder_observe(struct etmv1_encoder *e, etmv1_cycle_observer observer, void *context)
{
    e->observer = observer;
    e->observer_context = context;
}
