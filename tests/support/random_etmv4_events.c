/* SPDX-License-Identifier: BSD-3-Clause */
/* Random ETMv4 flow: exceptions, filter, overflow, and what else happens beside instructions. */
#include <string.h>

#include "tests/support/random_etmv4_work.h"

#define RESET      0
#define DEBUG_HALT 1
#define CALL       2
#define M_SVC      11
#define M_HALT     24
#define M_HANDLER  3 /* exception level of Handler mode */

static const struct etmv4_context no_context;

static bool m_profile(const struct random_etmv4_work *w)
{
    return w->options.encoder.m_profile;
}

static bool is_ete(const struct random_etmv4_work *w)
{
    return (w->options.encoder.devarch >> 12 & 0xf) == 5;
}

void v4_change_context(struct random_etmv4_work *w)
{
    struct etmv4_context c = w->context;
    uint32_t vmids[5] = {0, 0xff, 0xffff, 0, UINT32_MAX};

    if (!v4_percent(w, w->options.contexts))
        return;
    if (w->options.encoder.idr2 >> 5 & 0x1f)
        c.context_id = v4_below(w, 3) ? (uint32_t)trace_random_next(&w->random) : v4_below(w, 2);
    c.vmid = (uint32_t)trace_random_next(&w->random) & vmids[w->options.encoder.idr2 >> 10 & 7];
    if (!m_profile(w))
        c.level = (uint8_t)v4_below(w, 4);
    c.ns = v4_below(w, 2);
    c.nse = is_ete(w) && v4_below(w, 8) == 0;
    w->context = c;
}

int v4_start(struct random_etmv4_work *w)
{
    struct etmv4_place here = v4_place(w, w->pc);

    v4_skip(w);
    w->tracing = true;
    w->announced = false;
    w->open = V4_NO_EVENT;
    w->fresh = false;
    return etmv4_encoder_trace_on(w->encoder, &here);
}

static void stop(struct random_etmv4_work *w)
{
    w->tracing = false;
    w->off_left = 1 + v4_below(w, 60);
    v4_skip(w);
}

/* Atoms that are held back are lost, unless they are put out first; so is what is uncommitted. */
static int lose(struct random_etmv4_work *w, bool overflow)
{
    enum etmv4_packet_kind kind = overflow ? ETMV4_SENT_OVERFLOW : ETMV4_SENT_DISCARD;
    const struct bt_event gap = {.kind = BT_EVENT_GAP,
                                 .cause = overflow ? BT_GAP_OVERFLOW : BT_GAP_TRACE_ON};
    uint64_t before = etmv4_encoder_packets(w->encoder, kind);
    int error = 0;

    if (w->options.encoder.idr8 || v4_below(w, 2))
        error = etmv4_encoder_flush(w->encoder);
    v4_take_back(w, etmv4_encoder_pending_atoms(w->encoder));
    if (!error)
        error = overflow ? etmv4_encoder_overflow(w->encoder) : etmv4_encoder_discard(w->encoder);
    stop(w);
    v4_lose_return(w);
    /* There is no packet where synchronisation was lost already. */
    if (!error && etmv4_encoder_packets(w->encoder, kind) != before)
        error = v4_add_event(w, &gap);
    return error;
}

static int switch_trace(struct random_etmv4_work *w)
{
    if (!w->tracing)
        return w->off_left == 0 && v4_below(w, 4) == 0 ? v4_start(w) : 0;
    if (v4_per_mille(w, w->options.filters)) {
        int error = etmv4_encoder_trace_off(w->encoder);
        stop(w);
        return error;
    }
    if (v4_per_mille(w, w->options.overflows))
        return lose(w, true);
    if (v4_per_mille(w, w->options.discards))
        return lose(w, false);
    return 0;
}

static unsigned random_type(struct random_etmv4_work *w)
{
    static const uint8_t a[] = {DEBUG_HALT, 4, 6, 7, 10, 11, 12, 14, 14, 15, 16, 23};
    static const uint8_t m[] = {2, 3, 4, 5, 6, 7, 12, 14, 15, 16, 17, 23, 24, 25};

    if (!m_profile(w))
        return a[v4_below(w, sizeof a)];
    if (v4_below(w, 3) == 0)
        return 0x208 + v4_below(w, 0x3f0 - 0x208);
    return m[v4_below(w, sizeof m)];
}

/* The core stops there, and goes on there when the debugger lets it. */
static bool is_halt(const struct random_etmv4_work *w, unsigned type)
{
    return type == (m_profile(w) ? M_HALT : DEBUG_HALT);
}

static enum v4_state handler_state(struct random_etmv4_work *w)
{
    const struct v4_code *c = &w->code;
    bool a64 = c->insns[w->pc].isa == BT_ISA_A64 || v4_below(w, 2);

    if (c->target_count[V4_A64] && (a64 || !(c->target_count[V4_A32] + c->target_count[V4_T32])))
        return V4_A64;
    return v4_below(w, 2) ? V4_T32 : V4_A32;
}

/* ARMv7-M's number of an exception type; 0: it has none. */
static unsigned m_number(unsigned type)
{
    return type >= 0x200 ? type - 0x200 + 16 : type < 24 ? type : 0;
}

/* What the trace shows of it. A reset on an ETE leaves what ran before it untold. */
static int note_exception(struct random_etmv4_work *w, const struct etmv4_exception *x)
{
    bool reset = is_ete(w) && x->type == RESET;
    bool addressed = !reset && !x->no_return;
    struct bt_event event = {.kind = BT_EVENT_EXCEPTION,
                             .u.exception = {
                                 .number = (uint16_t)(m_profile(w) ? m_number(x->type) : 0),
                                 .type = (uint8_t)(x->type < 0x200 ? x->type : BT_NO_TYPE),
                                 .m_type = m_profile(w),
                                 .return_address = x->preferred.address,
                                 .return_isa = (uint8_t)x->preferred.isa,
                                 .has_return = addressed,
                                 .vector = x->vector.address,
                                 .vector_isa = (uint8_t)x->vector.isa,
                             }};
    int error = 0;

    if (!x->no_return || !w->announced)
        error = v4_commit(w);
    if (reset)
        v4_skip(w);
    else
        v4_report(w);
    if (!error)
        error = v4_add_event(w, &event);
    w->open = w->flow->event_count - 1;
    return error;
}

/*
 * An exception is taken in front of the next instruction; the handler returns to `resume`.
 * M profile: an exception that comes before a handler's first instruction, or right behind an
 * exception return, may be told without a return address.
 */
static int take(struct random_etmv4_work *w, unsigned type, uint32_t resume)
{
    uint32_t vector = v4_target(w, handler_state(w));
    struct etmv4_exception x = {.type = type,
                                .pending = m_profile(w) && v4_below(w, 8) == 0,
                                .no_return =
                                    m_profile(w) && w->fresh && w->announced && v4_below(w, 4) != 0,
                                .preferred = v4_place(w, w->pc),
                                .vector = v4_place(w, vector)};
    int error = w->tracing ? note_exception(w, &x) : 0;

    if (!error)
        error = etmv4_encoder_exception(w->encoder, &x);
    if (w->exception_count < V4_EXCEPTIONS_MAX && !is_halt(w, type))
        w->exceptions[w->exception_count++] = (struct v4_resume){resume, w->context};
    if (is_halt(w, type) && w->tracing) {
        error = error ? error : etmv4_encoder_trace_off(w->encoder);
        stop(w);
        return error;
    }
    w->pc = vector;
    w->fresh = true;
    if (m_profile(w))
        w->context.level = M_HANDLER;
    v4_change_context(w);
    etmv4_encoder_set_context(w->encoder, &w->context);
    return error;
}

int v4_trap(struct random_etmv4_work *w)
{
    return take(w, m_profile(w) ? 6 : v4_below(w, 2) ? 3 : 6, w->pc + 1);
}

int v4_after_insn(struct random_etmv4_work *w, enum v4_cause cause)
{
    return cause == V4_CALL ? take(w, m_profile(w) ? M_SVC : CALL, w->pc) : 0;
}

/* Packets that belong to no instruction. */

static int report_something(struct random_etmv4_work *w)
{
    const struct random_etmv4_options *o = &w->options;
    int error = 0;

    if (v4_per_mille(w, o->timestamps) && (o->encoder.configr & ETMV4_CONFIG_TIMESTAMP)) {
        const struct bt_event e = {.kind = BT_EVENT_TIMESTAMP, .u.timestamp.value = w->time};
        error = v4_add_event(w, &e);
        error = error ? error : etmv4_encoder_request_timestamp(w->encoder);
    }
    if (!error && v4_per_mille(w, o->events)) {
        unsigned mask = 1 + v4_below(w, 15);
        const struct bt_event e = {.kind = BT_EVENT_TRIGGER, .u.trigger.mask = (uint16_t)mask};
        error = v4_add_event(w, &e);
        error = error ? error : etmv4_encoder_event(w->encoder, mask);
    }
    if (!error && v4_per_mille(w, o->software)) {
        uint64_t value = trace_random_next(&w->random);
        const struct bt_event e = {.kind = BT_EVENT_SOFTWARE,
                                   .u.software = {value, (uint8_t)w->context.level}};
        error = v4_add_event(w, &e);
        error = error ? error : etmv4_encoder_instrument(w->encoder, w->context.level, value);
    }
    return error;
}

int v4_between(struct random_etmv4_work *w)
{
    const struct random_etmv4_options *o = &w->options;
    int error = switch_trace(w);

    if (!error && w->tracing)
        error = report_something(w);
    if (v4_per_mille(w, o->syncs))
        etmv4_encoder_request_sync(w->encoder);
    if (!error && v4_per_mille(w, o->flushes))
        error = etmv4_encoder_flush(w->encoder);
    if (!error && is_ete(w) && v4_per_mille(w, o->resets)) {
        w->context = no_context;
        error = take(w, RESET, w->pc);
    }
    if (!error && v4_per_mille(w, o->exceptions)) {
        do
            error = take(w, random_type(w), w->pc);
        while (!error && w->tracing && v4_percent(w, o->back_to_back));
    }
    return error;
}
