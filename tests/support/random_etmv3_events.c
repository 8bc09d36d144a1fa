/* SPDX-License-Identifier: BSD-3-Clause */
/* Random ETMv3 flow: exceptions, Debug state, filter, overflow, and what else happens beside
 * instructions. */
#include <string.h>

#include "tests/support/random_etmv3_work.h"

enum {
    EXC_DEBUG = 1,
    EXC_SMC = 2,
    EXC_HYP = 3,
    EXC_ASYNC_ABORT = 4,
    EXC_RESET = 8,
    EXC_UNDEFINED = 9,
    EXC_SVC = 10,
    EXC_PREFETCH = 11,
    EXC_DATA_ABORT = 12,
    EXC_GENERIC = 13,
    EXC_IRQ = 14,
    EXC_FIQ = 15,
    M_RESET = 17,
};

/* Starting and stopping trace. */

int random_etmv3_start_trace(struct random_etmv3_work *w, unsigned reason, bool executing)
{
    struct etmv3_state next = random_etmv3_state(w, w->pc);

    w->mode = ETMV3_TRACED;
    w->newest = NO_INSN;
    if (reason == 3)
        return etmv3_encoder_debug_exit(w->encoder, &next);
    if (reason == 2)
        return etmv3_encoder_restart(w->encoder, &next, executing);
    return etmv3_encoder_trace_on(w->encoder, &next, executing);
}

static int stop_trace(struct random_etmv3_work *w, enum etmv3_mode mode)
{
    bool pairs = !(w->options.encoder.etmidr & ETMV3_IDR_T32_WHOLE);
    int error = 0;

    w->mode_left = 1 + random_etmv3_below(w, 60);
    if (mode == ETMV3_FILTERED) {
        error = random_etmv3_finish_data(w);
        w->mode = mode;
        return error ? error : etmv3_encoder_trace_off(w->encoder);
    }
    w->mode = mode;
    w->transferring = false;
    etmv3_encoder_data_done(w->encoder);
    if (pairs || random_etmv3_below(w, 2))
        error = etmv3_encoder_flush(w->encoder);
    random_etmv3_take_back(w, etmv3_encoder_pending_atoms(w->encoder));
    return error ? error : etmv3_encoder_overflow(w->encoder);
}

/* No exception: they end what is in progress. */
static bool runs_underneath(const struct random_etmv3_work *w)
{
    uint8_t kind = w->code.insns[w->pc].kind;

    return kind == CODE_PLAIN || kind == CODE_DIRECT || kind == CODE_INDIRECT;
}

/* Trace comes back while a data instruction is in progress: the three cases of the encoder. */
static int continue_in_progress(struct random_etmv3_work *w, unsigned reason,
                                const struct data_plan *plan)
{
    unsigned way = random_etmv3_below(w, 3);
    bool shown = way == 1 || (way == 2 && w->options.encoder.gap_atom);
    int error = random_etmv3_run(w, true);

    for (unsigned n = way == 2 ? 1 + random_etmv3_below(w, 2) : 0; !error && n > 0; n--) {
        if (!runs_underneath(w)) {
            way = 0;
            shown = false;
            break;
        }
        error = random_etmv3_run(w, false);
    }
    if (!error)
        error = random_etmv3_start_trace(w, reason, way == 0);
    if (error)
        return error;
    if (shown) {
        random_etmv3_show(w, w->busy);
        w->flow->insns[w->busy].cycle = etmv3_encoder_cycles(w->encoder);
    }
    if (way == 0 || shown)
        error = random_etmv3_begin_data(w, plan, w->busy);
    else
        etmv3_encoder_data_done(w->encoder);
    w->busy = NO_INSN;
    return error;
}

static int continue_trace(struct random_etmv3_work *w)
{
    const struct code_insn *insn = &w->code.insns[w->pc];
    unsigned reason = w->mode == ETMV3_OVERFLOW ? 2 : 1;
    bool data_only = w->options.encoder.etmcr & ETMV3_CR_DATA_ONLY;
    struct data_plan plan;

    if (w->mode == ETMV3_TRACED || w->mode_left > 0)
        return 0;
    data_plan((enum bt_isa)insn->isa, insn->opcode, &plan);
    if (insn->kind == CODE_PLAIN && plan.count >= 2 && !data_only &&
        random_etmv3_percent(w, w->options.in_progress))
        return continue_in_progress(w, reason, &plan);
    return random_etmv3_start_trace(w, reason, false);
}

int random_etmv3_change_context(struct random_etmv3_work *w)
{
    const struct random_etmv3_options *o = &w->options;
    int error = 0;

    if (random_etmv3_percent(w, o->context_ids)) {
        w->context_id = (uint32_t)trace_random_next(&w->random);
        error = etmv3_encoder_set_context_id(w->encoder, w->context_id);
    }
    if (!error && random_etmv3_percent(w, o->vmids)) {
        w->vmid = (uint8_t)trace_random_next(&w->random);
        error = etmv3_encoder_set_vmid(w->encoder, w->vmid);
    }
    return error;
}

static enum bt_security exception_security(struct random_etmv3_work *w, unsigned number)
{
    if (number == EXC_HYP)
        return BT_SEC_HYP;
    if (!w->options.security || w->security == BT_SEC_SECURE)
        return w->security;
    if (number == EXC_SMC || number == EXC_RESET)
        return BT_SEC_SECURE;
    if (number == EXC_SVC || number == EXC_UNDEFINED)
        return w->security;
    return random_etmv3_percent(w, 30) ? BT_SEC_SECURE : w->security;
}

static unsigned vector_slot(unsigned number)
{
    static const uint8_t slots[16] = {
        [EXC_RESET] = 0,    [EXC_UNDEFINED] = 1,  [EXC_SVC] = 2,         [EXC_SMC] = 2,
        [EXC_PREFETCH] = 3, [EXC_DATA_ABORT] = 4, [EXC_ASYNC_ABORT] = 4, [EXC_HYP] = 5,
        [EXC_GENERIC] = 5,  [EXC_IRQ] = 6,        [EXC_FIQ] = 7,
    };

    return slots[number];
}

/* ARMv7-M number of what the packet says (IHI 0014Q 7.5). */
static uint16_t m_number(unsigned raw)
{
    static const uint8_t low[24] = {0,  17, 18, 19, 20, 21, 22, 23, 16, 6, 2, 11,
                                    12, 4,  14, 15, 8,  1,  10, 3,  9,  5, 7, 13};

    return (uint16_t)(raw < 24 ? low[raw] : raw);
}

/* The event is complete but for its offset, and comes with the packet. */
static void note_exception(struct random_etmv3_work *w, unsigned number, bool cancel,
                           struct bt_event *event)
{
    const struct code_insn *next = &w->code.insns[w->pc];
    bool m = w->options.encoder.m_profile;
    bool reset = number == (m ? M_RESET : EXC_RESET);

    *event = (struct bt_event){.kind = BT_EVENT_EXCEPTION,
                               .u.exception = {.number = m ? m_number(number) : (uint16_t)number,
                                               .m_profile = m,
                                               .return_address = next->address,
                                               .return_isa = next->isa}};
    struct bt_exception *x = &event->u.exception;
    if (cancel && w->newest != NO_INSN) {
        x->return_address = w->flow->insns[w->newest].address;
        x->return_isa = w->flow->insns[w->newest].isa;
        event->cycles = (uint32_t)w->newest + 1;
        x->canceled = true;
    }
    /* A return that was pre-empted has not said where it would have gone. */
    x->has_return = !reset && !(cancel && w->newest == NO_INSN);
}

static bool may_cancel(const struct random_etmv3_work *w)
{
    return w->mode == ETMV3_TRACED && w->newest != NO_INSN && !w->newest_late;
}

static void push_exception(struct random_etmv3_work *w, const struct etmv3_resume *back)
{
    if (w->exception_count == ETMV3_EXCEPTIONS) {
        memmove(w->exceptions, w->exceptions + 1, sizeof *w->exceptions * (ETMV3_EXCEPTIONS - 1));
        w->exception_count--;
    }
    w->exceptions[w->exception_count++] = *back;
}

/* An LDM or STM of M profile goes on where it was, if data trace can tell. */
static uint8_t resume_number(struct random_etmv3_work *w, bool cancel)
{
    uint32_t data = ETMV3_CR_DATA_ADDRESS | ETMV3_CR_DATA_VALUE;

    if (!cancel || !w->options.encoder.m_profile || !(w->options.encoder.etmcr & data) ||
        w->newest == NO_INSN)
        return 0;
    return (uint8_t)random_etmv3_below(w, 16);
}

int random_etmv3_exception(struct random_etmv3_work *w, unsigned number, bool cancel,
                           uint32_t resume)
{
    const struct etmv3_exception x = {.number = number, .cancel = cancel};
    bool m = w->options.encoder.m_profile;
    int error = random_etmv3_finish_data(w);

    const struct etmv3_resume back = {
        .insn = resume, .security = w->security, .resume = resume_number(w, cancel)};
    push_exception(w, &back);
    if (number == (m ? M_RESET : EXC_RESET))
        w->exception_count = 0;
    note_exception(w, number, cancel, &w->exception);
    if (cancel && w->newest != NO_INSN)
        random_etmv3_cancel(w);
    w->newest = NO_INSN;
    if (m)
        w->pc = random_etmv3_target(w, false);
    else {
        w->security = exception_security(w, number);
        w->pc = w->code.vectors[w->security != BT_SEC_SECURE][vector_slot(number)];
    }
    w->exception.u.exception.vector = w->code.insns[w->pc].address;
    const struct etmv3_state vector = random_etmv3_state(w, w->pc);
    w->exception_due = true;
    if (!error)
        error = etmv3_encoder_exception(w->encoder, &x, &vector);
    w->exception_due = w->exception_seen = false;
    if (!error)
        error = random_etmv3_push(w);
    return error ? error : random_etmv3_change_context(w);
}

static int take_random_exception(struct random_etmv3_work *w)
{
    static const uint8_t numbers[] = {EXC_IRQ,         EXC_FIQ,        EXC_PREFETCH,
                                      EXC_ASYNC_ABORT, EXC_DATA_ABORT, EXC_GENERIC};
    bool old = (w->options.encoder.etmidr >> 4 & 0xf) < 2;
    unsigned number = numbers[random_etmv3_below(w, old ? 5 : 6)];
    bool cancel = may_cancel(w) && random_etmv3_percent(w, w->options.cancels);

    if (w->options.encoder.m_profile) {
        static const uint16_t limits[] = {16, 16, 24, 60, 512};
        number = 1 + random_etmv3_below(w, limits[random_etmv3_below(w, 5)] - 1u);
    }
    if (number == M_RESET && w->options.encoder.m_profile)
        number++;
    return random_etmv3_exception(w, number, cancel, cancel ? w->newest_pc : w->pc);
}

static int visit_debug_state(struct random_etmv3_work *w)
{
    bool cancel = may_cancel(w) && random_etmv3_percent(w, w->options.cancels);
    bool reported = cancel || random_etmv3_below(w, 2);
    bool old = (w->options.encoder.etmidr >> 4 & 0xf) < 2;
    int error = random_etmv3_finish_data(w);

    if (w->options.encoder.m_profile || (old && w->code.insns[w->pc].isa != BT_ISA_A32))
        reported = false;
    cancel = cancel && reported;
    note_exception(w, EXC_DEBUG, cancel, &w->exception);
    if (cancel)
        random_etmv3_cancel(w);
    w->exception_due = reported;
    if (!error)
        error = etmv3_encoder_debug_entry(w->encoder, reported, cancel);
    w->exception_due = w->exception_seen = false;
    w->mode = ETMV3_FILTERED;
    if (error)
        return error;
    if (random_etmv3_below(w, 3) == 0)
        w->pc = random_etmv3_target(w, false);
    else if (cancel)
        w->pc = w->newest_pc;
    w->time += random_etmv3_below(w, 100000);
    etmv3_encoder_set_time(w->encoder, w->time);
    error = etmv3_encoder_add_cycles(w->encoder, random_etmv3_below(w, 100000));
    return error ? error : random_etmv3_start_trace(w, 3, false);
}

/* What happens between two instructions. */

static int small_events(struct random_etmv3_work *w)
{
    const struct random_etmv3_options *o = &w->options;
    int error = 0;

    if (random_etmv3_per_mille(w, o->timestamps)) {
        w->clock_changed = random_etmv3_below(w, 4) == 0;
        error = etmv3_encoder_request_timestamp(w->encoder, w->clock_changed);
        w->clock_changed = false;
    }
    if (!error && random_etmv3_per_mille(w, o->triggers))
        error = etmv3_encoder_trigger(w->encoder);
    if (!error && random_etmv3_per_mille(w, o->syncs))
        error = etmv3_encoder_request_sync(w->encoder);
    if (!error && random_etmv3_per_mille(w, o->flushes))
        error = etmv3_encoder_flush(w->encoder);
    if (random_etmv3_per_mille(w, o->suppressions)) {
        w->suppress_left = 1 + random_etmv3_below(w, 30);
        etmv3_encoder_suppress_data(w->encoder, true);
    }
    return error;
}

static int traced_events(struct random_etmv3_work *w)
{
    const struct random_etmv3_options *o = &w->options;
    int error = small_events(w);

    if (!error && random_etmv3_per_mille(w, o->debugs))
        error = visit_debug_state(w);
    if (!error && random_etmv3_per_mille(w, o->filters))
        error = stop_trace(w, ETMV3_FILTERED);
    if (!error && w->mode == ETMV3_TRACED && random_etmv3_per_mille(w, o->overflows))
        error = stop_trace(w, ETMV3_OVERFLOW);
    return error;
}

int random_etmv3_between(struct random_etmv3_work *w)
{
    const struct random_etmv3_options *o = &w->options;
    int error = continue_trace(w);

    if (!error && w->mode == ETMV3_TRACED)
        error = traced_events(w);
    if (!error && w->security == BT_SEC_SECURE && random_etmv3_per_mille(w, o->scr_writes)) {
        w->security = BT_SEC_NONSECURE;
        error = etmv3_encoder_set_security(w->encoder, w->security);
    }
    if (!error && random_etmv3_per_mille(w, o->resets))
        error = random_etmv3_exception(w, o->encoder.m_profile ? M_RESET : EXC_RESET, false, w->pc);
    if (!error && random_etmv3_per_mille(w, o->exceptions)) {
        error = take_random_exception(w);
        while (!error && random_etmv3_percent(w, o->back_to_back))
            error = take_random_exception(w);
    }
    return error;
}
