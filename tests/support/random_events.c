/* SPDX-License-Identifier: BSD-3-Clause */
/* Random flow: exceptions, Debug state, filter, overflow, and what else happens beside
 * instructions. */
#include <string.h>

#include "tests/support/random_work.h"

/* Starting and stopping trace. */

int random_flow_start_trace(struct random_flow_work *w, unsigned reason)
{
    struct ptm_state next = random_flow_state(w, w->pc);
    int error;

    w->reason = reason;
    w->waypoint_time = w->time;
    w->mode = MODE_TRACED;
    truth_skip(&w->truth);
    if (reason == 3)
        error = ptm_encoder_debug_exit(w->encoder, &next);
    else if (reason == 2)
        error = ptm_encoder_restart(w->encoder, &next);
    else
        error = ptm_encoder_trace_on(w->encoder, &next);
    w->reason = 0;
    return error;
}

static int stop_trace(struct random_flow_work *w, enum mode mode)
{
    w->mode_left = 1 + random_flow_below(w, 60);
    w->mode = mode;
    if (mode == MODE_FILTERED) {
        truth_skip(&w->truth);
        return ptm_encoder_trace_off(w->encoder);
    }
    unsigned lost = ptm_encoder_pending_atoms(w->encoder);
    if (lost && random_flow_below(w, 2)) {
        int error = ptm_encoder_flush(w->encoder);
        if (error)
            return error;
        lost = 0;
    }
    truth_take_back(&w->truth, lost);
    return ptm_encoder_overflow(w->encoder);
}

/* Trace comes back at the start of a block. */
static int continue_trace(struct random_flow_work *w)
{
    if (w->mode == MODE_TRACED || w->mode_left > 0 || !w->block_start)
        return 0;
    return random_flow_start_trace(w, w->mode == MODE_OVERFLOW ? 2 : 1);
}

int random_flow_change_context(struct random_flow_work *w)
{
    const struct random_flow_options *o = &w->options;
    int error = 0;

    if (random_flow_percent(w, o->context_ids)) {
        w->context_id = (uint32_t)trace_random_next(&w->random);
        error = ptm_encoder_set_context_id(w->encoder, w->context_id);
    }
    if (!error && random_flow_percent(w, o->vmids)) {
        w->vmid = (uint8_t)trace_random_next(&w->random);
        error = ptm_encoder_set_vmid(w->encoder, w->vmid);
    }
    return error;
}

static enum bt_security exception_security(struct random_flow_work *w, unsigned number)
{
    if (number == EXC_HYP)
        return BT_SEC_HYP;
    if (!w->options.security || w->security == BT_SEC_SECURE)
        return w->security;
    if (number == EXC_SMC || number == EXC_RESET)
        return BT_SEC_SECURE;
    if (number == EXC_SVC || number == EXC_UNDEFINED)
        return w->security;
    return random_flow_percent(w, 30) ? BT_SEC_SECURE : w->security;
}

static unsigned vector_slot(unsigned number)
{
    switch (number) {
    case EXC_RESET:
        return 0;
    case EXC_UNDEFINED:
        return 1;
    case EXC_SVC:
    case EXC_SMC:
        return 2;
    case EXC_PREFETCH:
        return 3;
    case EXC_DATA_ABORT:
    case EXC_ASYNC_ABORT:
        return 4;
    case EXC_HYP:
    case EXC_GENERIC:
        return 5;
    case EXC_IRQ:
        return 6;
    default:
        return 7;
    }
}

/* What a decoder takes as the next instruction when the exception packet comes. */
static void note_exception(struct random_flow_work *w, unsigned number, uint64_t address,
                           enum bt_isa isa)
{
    const struct random_flow *f = w->truth.flow;
    size_t reported = w->truth.reported;

    w->exception = number;
    w->exception_return = address;
    w->exception_isa = isa;
    if (number == EXC_RESET && reported < f->insn_count) {
        w->exception_return = f->insns[reported].address;
        w->exception_isa = (enum bt_isa)f->insns[reported].isa;
    }
}

/* `number` is taken before instruction w->pc; its handler returns to `resume`. */
int random_flow_exception(struct random_flow_work *w, unsigned number, uint32_t resume)
{
    const struct code_insn *next = &w->code.insns[w->pc];
    const struct resume back = {.insn = resume, .security = w->security};
    bool traced = w->mode == MODE_TRACED;
    int error;

    if (w->exception_count == EXCEPTIONS_MAX) {
        memmove(w->exceptions, w->exceptions + 1, sizeof *w->exceptions * (EXCEPTIONS_MAX - 1));
        w->exception_count--;
    }
    w->exceptions[w->exception_count++] = back;
    if (number == EXC_RESET)
        w->exception_count = 0;
    note_exception(w, number, next->address, (enum bt_isa)next->isa);
    if (traced && number != EXC_RESET)
        truth_report(&w->truth, w->truth.flow->insn_count);
    else
        truth_skip(&w->truth);
    if (traced)
        w->waypoint_time = w->time;
    w->security = exception_security(w, number);
    w->pc = w->code.vectors[w->security != BT_SEC_SECURE][vector_slot(number)];
    if (traced)
        w->shown_security = w->security;
    w->exception_vector = w->code.insns[w->pc].address;
    w->block_start = true;
    const struct ptm_state vector = random_flow_state(w, w->pc);
    error = ptm_encoder_exception(w->encoder, number, &vector);
    w->exception = 0;
    return error ? error : random_flow_change_context(w);
}

static int take_random_exception(struct random_flow_work *w)
{
    static const uint8_t numbers[] = {EXC_IRQ,     EXC_FIQ,        EXC_PREFETCH,
                                      EXC_GENERIC, EXC_DATA_ABORT, EXC_ASYNC_ABORT};

    return random_flow_exception(w, numbers[random_flow_below(w, sizeof numbers)], w->pc);
}

static int visit_debug_state(struct random_flow_work *w)
{
    const struct code_insn *next = &w->code.insns[w->pc];
    int error;

    truth_report(&w->truth, w->truth.flow->insn_count);
    note_exception(w, 1, next->address, (enum bt_isa)next->isa);
    w->exception_vector = 0;
    w->waypoint_time = w->time;
    error = ptm_encoder_debug_entry(w->encoder);
    w->exception = 0;
    if (error)
        return error;
    if (random_flow_below(w, 3) == 0)
        w->pc = random_flow_target(w, false);
    w->time += random_flow_below(w, 100000);
    ptm_encoder_set_time(w->encoder, w->time);
    ptm_encoder_add_cycles(w->encoder, random_flow_below(w, 100000));
    w->block_start = true;
    return random_flow_start_trace(w, 3);
}

/* What happens between two instructions. */

static int traced_events(struct random_flow_work *w)
{
    const struct random_flow_options *o = &w->options;
    int error = 0;

    if (random_flow_per_mille(w, o->timestamps)) {
        w->clock_changed = random_flow_below(w, 4) == 0;
        error = ptm_encoder_request_timestamp(w->encoder, w->clock_changed);
        w->clock_changed = false;
    }
    if (!error && random_flow_per_mille(w, o->triggers))
        error = ptm_encoder_trigger(w->encoder);
    if (!error && random_flow_per_mille(w, o->syncs))
        error = ptm_encoder_request_sync(w->encoder);
    if (!error && random_flow_per_mille(w, o->flushes))
        error = ptm_encoder_flush(w->encoder);
    if (!error && random_flow_per_mille(w, o->debugs))
        error = visit_debug_state(w);
    if (!error && w->block_start && random_flow_per_mille(w, o->filters))
        error = stop_trace(w, MODE_FILTERED);
    if (!error && w->mode == MODE_TRACED && random_flow_per_mille(w, o->overflows))
        error = stop_trace(w, MODE_OVERFLOW);
    return error;
}

int random_flow_between(struct random_flow_work *w)
{
    const struct random_flow_options *o = &w->options;
    int error = continue_trace(w);

    if (!error && w->mode == MODE_TRACED)
        error = traced_events(w);
    if (!error && w->security == BT_SEC_SECURE && random_flow_per_mille(w, o->scr_writes)) {
        w->security = BT_SEC_NONSECURE;
        ptm_encoder_set_security(w->encoder, w->security);
    }
    if (!error && random_flow_per_mille(w, o->resets))
        error = random_flow_exception(w, EXC_RESET, w->pc);
    if (!error && random_flow_per_mille(w, o->exceptions)) {
        error = take_random_exception(w);
        while (!error && random_flow_percent(w, o->back_to_back))
            error = take_random_exception(w);
    }
    return error;
}
