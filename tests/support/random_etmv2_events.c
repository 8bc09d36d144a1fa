/* SPDX-License-Identifier: BSD-3-Clause */
/* What happens beside instructions in a random ETMv2 flow. */
#include "tests/support/random_etmv2_work.h"

#define VECTOR_RESET      0
#define VECTOR_DATA_ABORT 4
#define VECTOR_IRQ        6
#define VECTOR_FIQ        7

static uint32_t context_mask(const struct random_etmv2_work *w)
{
    static const uint32_t masks[] = {0, 0xff, 0xffff, 0xffffffff};

    return masks[w->options.encoder.etmcr >> 14 & 3];
}

static void show_context(struct random_etmv2_work *w, bool pending)
{
    uint32_t value = w->context_id & context_mask(w);

    if (!context_mask(w) || (w->context_shown && value == w->shown_context_id))
        return;
    struct port_truth_event *e = port_truth_event(&w->flow->truth, BT_EVENT_CONTEXT);
    e->event.u.context.id = value;
    e->pending = pending;
    w->shown_context_id = value;
    w->context_shown = true;
}

void random_etmv2_commit(struct random_etmv2_work *w, bool lost)
{
    struct port_truth *t = &w->flow->truth;

    port_truth_commit(t, lost);
    if (!lost)
        return;
    w->context_shown = false;
    for (size_t i = t->event_count; i-- > 0 && !w->context_shown;) {
        w->context_shown = t->events[i].event.kind == BT_EVENT_CONTEXT && !t->events[i].dropped;
        w->shown_context_id = t->events[i].event.u.context.id;
    }
}

int random_etmv2_start(struct random_etmv2_work *w, unsigned reason)
{
    struct port_truth *t = &w->flow->truth;
    const struct etmv2_place next = random_etmv2_place(w, w->pc);
    bool busy = w->busy.on, executing = random_etmv2_below(w, 2) && reason != 3;
    int error;

    if (etmv2_encoder_tracing(w->encoder)) { /* it never went off */
        w->mode = MODE_ON;
        return etmv2_encoder_trace_on(w->encoder, &next, false);
    }
    if (reason == 1 && w->lost) /* while the filter waited for an LSM */
        reason = 2;
    port_truth_skip(t, t->insn_count);
    size_t after = t->insn_count - 1;
    const struct arm5_insn *lsm = &w->flow->code.insns[w->busy.index];
    if (busy) { /* the trace says that it ran, even if it has said so before */
        w->busy.number = port_truth_insn(t, lsm, true);
        port_truth_report(t);
        w->reopened = executing ? PORT_TRUTH_NONE : w->busy.number;
    }
    port_truth_trace_on(t, reason, busy ? lsm->address : next.address, after,
                        w->gap_known ? &w->gap : NULL);
    size_t events = t->event_count;
    show_context(w, false);
    if (t->event_count > events)
        t->events[events].after = after;
    w->mode = MODE_ON;
    w->region = t->insn_count;
    w->last_fresh = false;
    w->starting = true;
    if (reason == 2)
        error = etmv2_encoder_restart(w->encoder, &next, executing);
    else if (reason == 3)
        error = etmv2_encoder_debug_exit(w->encoder, &next);
    else
        error = etmv2_encoder_trace_on(w->encoder, &next, executing);
    w->starting = false;
    return error;
}

static int stop(struct random_etmv2_work *w, int mode)
{
    struct port_truth *t = &w->flow->truth;
    int error;

    w->mode_left = random_etmv2_below(w, 30);
    w->lost = false;
    if (mode == MODE_DEBUG) {
        error = random_etmv2_continue(w, true);
        if (!error)
            error = etmv2_encoder_debug_entry(w->encoder);
    } else if (mode == MODE_FILTERED) {
        error = etmv2_encoder_trace_off(w->encoder);
    } else {
        random_etmv2_commit(w, true);
        if (w->reopened != PORT_TRUTH_NONE)
            port_truth_cancel(t, w->reopened);
        w->reopened = PORT_TRUTH_NONE;
        error = etmv2_encoder_overflow(w->encoder);
        port_truth_skip(t, t->insn_count);
    }
    w->mode = w->lost ? MODE_OVERFLOW : mode;
    w->gap_known = mode != MODE_OVERFLOW && !w->lost && !etmv2_encoder_tracing(w->encoder);
    w->gap = w->flow->code.insns[w->pc].address;
    return error;
}

int random_etmv2_exception(struct random_etmv2_work *w, unsigned vector, bool cancel,
                           uint32_t resume)
{
    static const uint16_t numbers[ARM5_VECTORS] = {8, 9, 10, 11, 12, 0, 14, 15};
    const struct arm5_insn *v = &w->flow->code.insns[vector];
    const struct etmv2_place to = random_etmv2_place(w, vector);
    struct port_truth *t = &w->flow->truth;
    int error = etmv2_encoder_exception(w->encoder, cancel, &to);

    w->pc = vector;
    w->last_fresh = false;
    if (error || !etmv2_encoder_tracing(w->encoder))
        return error;
    if (cancel)
        port_truth_cancel(t, t->insn_count - 1);
    struct port_truth_event *e = port_truth_event(t, BT_EVENT_EXCEPTION);
    e->event.u.exception.number = numbers[vector];
    e->event.u.exception.vector = v->address;
    e->event.u.exception.has_return = true;
    e->event.u.exception.return_address = w->flow->code.insns[resume].address;
    return 0;
}

/* No load of the newest instruction is out. */
static bool last_is_whole(const struct random_etmv2_work *w)
{
    for (unsigned tag = 1; tag < 4; tag++)
        if (w->misses[tag].out && w->misses[tag].owner == w->flow->truth.insn_count - 1)
            return false;
    return true;
}

static int interrupt(struct random_etmv2_work *w)
{
    static const unsigned vectors[] = {VECTOR_IRQ, VECTOR_IRQ, VECTOR_FIQ, VECTOR_RESET};
    unsigned vector = vectors[random_etmv2_below(w, 4)];
    int error = random_etmv2_continue(w, true);

    if (error)
        return error;
    bool traced = etmv2_encoder_tracing(w->encoder) && w->last_fresh && last_is_whole(w);
    if (traced && w->last_aborts && random_etmv2_below(w, 2)) {
        error = random_etmv2_exception(w, VECTOR_DATA_ABORT, false, w->last);
        if (!error && etmv2_encoder_tracing(w->encoder))
            port_truth_drop_data(&w->flow->truth, w->flow->truth.insn_count - 1);
        return error;
    }
    bool cancel = traced && random_etmv2_below(w, 2);
    return random_etmv2_exception(w, vector, cancel, cancel ? w->last : w->pc);
}

static int set_context(struct random_etmv2_work *w)
{
    int error;

    w->context_id = (uint32_t)trace_random_next(&w->random);
    error = etmv2_encoder_set_context_id(w->encoder, w->context_id);
    if (!error && etmv2_encoder_tracing(w->encoder))
        show_context(w, true);
    return error;
}

static int trigger(struct random_etmv2_work *w)
{
    int error = etmv2_encoder_wait(w->encoder, 0);

    if (error || w->quiet)
        return error;
    w->quiet = 20;
    port_truth_event(&w->flow->truth, BT_EVENT_TRIGGER);
    etmv2_encoder_trigger(w->encoder);
    return 0;
}

static int resume(struct random_etmv2_work *w)
{
    static const unsigned reasons[] = {0, 1, 2, 3};

    if (w->mode_left)
        w->mode_left--;
    return w->mode_left ? 0 : random_etmv2_start(w, reasons[w->mode]);
}

int random_etmv2_between(struct random_etmv2_work *w)
{
    const struct random_etmv2_options *o = &w->options;
    int error = 0;

    if (w->quiet)
        w->quiet--;
    if (w->mode == MODE_ON && !etmv2_encoder_tracing(w->encoder)) { /* the FIFO was full */
        w->mode = MODE_OVERFLOW;
        w->gap_known = false;
    }
    if (w->mode != MODE_ON)
        error = resume(w);
    if (!error && random_etmv2_per_mille(w, o->waits))
        error = etmv2_encoder_wait(w->encoder, random_etmv2_below(w, 12));
    if (!error && random_etmv2_per_mille(w, 300))
        error = random_etmv2_late(w);
    if (!error && random_etmv2_per_mille(w, o->context_ids))
        error = set_context(w);
    if (!error && random_etmv2_per_mille(w, o->triggers))
        error = trigger(w);
    if (!error && random_etmv2_per_mille(w, o->syncs))
        etmv2_encoder_request_sync(w->encoder);
    if (!error && random_etmv2_per_mille(w, o->exceptions))
        error = interrupt(w);
    if (error || w->mode != MODE_ON || !etmv2_encoder_tracing(w->encoder))
        return error;
    if (random_etmv2_per_mille(w, o->filters))
        return stop(w, MODE_FILTERED);
    if (random_etmv2_per_mille(w, o->overflows))
        return stop(w, MODE_OVERFLOW);
    if (random_etmv2_per_mille(w, o->debugs))
        return stop(w, MODE_DEBUG);
    return 0;
}
