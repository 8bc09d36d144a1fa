/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_etmv4.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/random_etmv4_work.h"

#define RETURN_PERCENT 80 /* an exception return goes back to where the exception came from */
#define CALL_PERCENT   60 /* an indirect branch goes to the newest return address */
#define M_RETURN       10 /* M profile: percent of indirect branches that end a handler */
#define M_FUNCTION     3  /* and that return to the Secure caller */

void random_etmv4_default_options(struct random_etmv4_options *o)
{
    *o = (struct random_etmv4_options){.instructions = 2000,
                                       .a64 = true,
                                       .it_blocks = true,
                                       .branches = 30,
                                       .exceptions = 8,
                                       .back_to_back = 20,
                                       .filters = 2,
                                       .overflows = 1,
                                       .contexts = 30,
                                       .timestamps = 5,
                                       .events = 3,
                                       .syncs = 1,
                                       .flushes = 2};
    etmv4_encoder_default_options(&o->encoder);
}

uint32_t v4_below(struct random_etmv4_work *w, uint32_t limit)
{
    return trace_random_below(&w->random, limit);
}

bool v4_per_mille(struct random_etmv4_work *w, unsigned chance)
{
    return chance != 0 && v4_below(w, 1000) < chance;
}

bool v4_percent(struct random_etmv4_work *w, unsigned chance)
{
    return chance != 0 && v4_below(w, 100) < chance;
}

struct etmv4_place v4_place(const struct random_etmv4_work *w, uint32_t insn)
{
    const struct v4_insn *i = &w->code.insns[insn];

    return (struct etmv4_place){.address = i->address, .isa = (enum bt_isa)i->isa};
}

/* Any place to branch to, in this state if there is code of it. */
uint32_t v4_target(struct random_etmv4_work *w, enum v4_state state)
{
    const struct v4_code *c = &w->code;

    for (unsigned i = 0; i < V4_STATES && c->target_count[state] == 0; i++)
        state = (enum v4_state)i;
    return c->targets[state][v4_below(w, c->target_count[state])];
}

static bool may_go(const struct random_etmv4_work *w, const struct v4_insn *insn, uint32_t target)
{
    uint8_t isa = w->code.insns[target].isa;

    if ((isa == BT_ISA_A64) != (insn->isa == BT_ISA_A64))
        return false;
    return !insn->same_isa || isa == insn->isa;
}

static void return_from_exception(struct random_etmv4_work *w, uint32_t *next)
{
    const struct v4_resume *back = &w->exceptions[--w->exception_count];

    w->context = back->context;
    *next = back->insn;
}

static enum etmv4_special choose_special(struct random_etmv4_work *w, const struct v4_insn *insn)
{
    const struct etmv4_encoder_options *o = &w->options.encoder;

    if (!o->m_profile || insn->p0.link)
        return ETMV4_BRANCH;
    if (w->exception_count && v4_percent(w, M_RETURN))
        return ETMV4_EXCEPTION_RETURN;
    if ((o->devarch >> 16 & 0xf) >= 2 && v4_percent(w, M_FUNCTION))
        return ETMV4_FUNCTION_RETURN;
    return ETMV4_BRANCH;
}

static uint32_t indirect_target(struct random_etmv4_work *w, const struct v4_insn *insn,
                                enum etmv4_special special)
{
    bool returns = insn->p0.exception_return && !w->options.encoder.m_profile;
    enum v4_state state = v4_state_of((enum bt_isa)insn->isa);
    uint32_t next;

    if (special == ETMV4_EXCEPTION_RETURN ||
        (returns && w->exception_count && v4_percent(w, RETURN_PERCENT))) {
        /* AArch32 cannot return to AArch64. */
        const struct v4_insn *to = &w->code.insns[w->exceptions[w->exception_count - 1].insn];
        if (insn->isa == BT_ISA_A64 || to->isa != BT_ISA_A64) {
            return_from_exception(w, &next);
            return next;
        }
    }
    if (w->call_count && v4_percent(w, CALL_PERCENT)) {
        next = w->calls[w->call_count - 1];
        if (may_go(w, insn, next)) {
            w->call_count--;
            return next;
        }
    }
    if (state != V4_A64 && !insn->same_isa)
        state = v4_below(w, 2) ? V4_T32 : V4_A32;
    if (state != V4_A64 && w->code.target_count[state] == 0)
        state = v4_state_of((enum bt_isa)insn->isa);
    return v4_target(w, state);
}

static void push_call(struct random_etmv4_work *w, uint32_t insn)
{
    if (w->call_count == V4_CALLS_MAX) {
        memmove(w->calls, w->calls + 1, sizeof *w->calls * (V4_CALLS_MAX - 1));
        w->call_count--;
    }
    w->calls[w->call_count++] = insn;
}

static bool is_p0(const struct random_etmv4_work *w, const struct v4_insn *insn)
{
    const struct etmv4_encoder_options *o = &w->options.encoder;
    bool wait = (o->idr2 & ETMV4_IDR2_WAIT_P0) &&
                ((o->devarch >> 12 & 0xf) == 5 || (o->devarch >> 16 & 0xf) >= 3);

    return insn->p0.cls == P0_DIRECT || insn->p0.cls == P0_INDIRECT || insn->p0.cls == P0_ISB ||
           (insn->p0.cls == P0_WAIT && wait);
}

/* The trace shows a P0 instruction, and with it what ran before. */
static int note_p0(struct random_etmv4_work *w, const struct v4_insn *insn,
                   const struct etmv4_insn *event)
{
    const struct bt_event back = {.kind = BT_EVENT_EXCEPTION_RET};
    /* An ETE has no packet for it. */
    bool returns = insn->p0.exception_return && !w->options.encoder.m_profile &&
                   (w->options.encoder.devarch >> 12 & 0xf) != 5;
    int error = v4_commit(w);

    w->flow->insns[w->flow->insn_count - 1].cond = event->taken ? BT_COND_PASS : BT_COND_FAIL;
    v4_report(w);
    if (!error && event->taken && (returns || event->special == ETMV4_EXCEPTION_RETURN))
        error = v4_add_event(w, &back);
    return error;
}

static int run_insn(struct random_etmv4_work *w, const struct v4_insn *insn, bool pass)
{
    bool p0 = is_p0(w, insn);
    struct etmv4_insn event = {.at = v4_place(w, w->pc), .opcode = insn->opcode, .taken = pass};
    uint32_t next = w->pc + 1;
    int error = v4_add_insn(w, insn);

    if (error)
        return error;
    if (pass && insn->p0.link)
        push_call(w, next);
    if (pass && insn->p0.cls == P0_DIRECT)
        next = insn->target;
    if (pass && insn->p0.cls == P0_INDIRECT) {
        event.special = choose_special(w, insn);
        next = indirect_target(w, insn, event.special);
    }
    event.next = v4_place(w, next);
    if (p0 && w->tracing)
        error = note_p0(w, insn, &event);
    w->pc = next;
    w->fresh = event.special == ETMV4_EXCEPTION_RETURN;
    int as = error ? error : etmv4_encoder_insn(w->encoder, &event);
    if (as < 0)
        return as;
    if (as != (!w->tracing ? ETMV4_TRACED_NOTHING : p0 ? ETMV4_TRACED_P0 : ETMV4_TRACED_NOT_YET))
        return BT_ERR_FORMAT;
    if (p0 && pass && (insn->p0.cls == P0_ISB || insn->p0.exception_return))
        v4_change_context(w);
    etmv4_encoder_set_context(w->encoder, &w->context);
    return 0;
}

static int step(struct random_etmv4_work *w)
{
    const struct v4_insn *insn = &w->code.insns[w->pc];
    bool pass = !insn->conditional || v4_below(w, 2);
    unsigned cycles = v4_below(w, 40) == 0 ? v4_below(w, 6000) : v4_below(w, 20);

    w->time += cycles / 2 + 1;
    etmv4_encoder_set_time(w->encoder, w->time);
    etmv4_encoder_add_cycles(w->encoder, cycles);
    if (w->off_left)
        w->off_left--;
    if (insn->cause == V4_TRAP)
        return v4_trap(w);
    int error = run_insn(w, insn, pass);
    return error ? error : v4_after_insn(w, pass ? (enum v4_cause)insn->cause : V4_NO_CAUSE);
}

static int run(struct random_etmv4_work *w, struct random_etmv4 *f)
{
    int error;

    w->pc = v4_target(w, (enum v4_state)v4_below(w, V4_STATES));
    w->time = (trace_random_next(&w->random) >> v4_below(w, 40)) + 1;
    etmv4_encoder_set_time(w->encoder, w->time);
    error = v4_start(w);
    while (!error && f->insn_count < w->options.instructions) {
        error = v4_between(w);
        if (!error)
            error = step(w);
    }
    if (!error)
        error = etmv4_encoder_flush(w->encoder);
    v4_skip(w);
    v4_lose_return(w);
    f->cycles = etmv4_encoder_cycles(w->encoder);
    for (unsigned kind = 0; kind < ETMV4_SENT_KINDS; kind++)
        f->packets[kind] = etmv4_encoder_packets(w->encoder, (enum etmv4_packet_kind)kind);
    return error;
}

int random_etmv4_init(struct random_etmv4 *f, uint64_t seed, const struct random_etmv4_options *o)
{
    struct random_etmv4_work *w = calloc(1, sizeof *w);

    *f = (struct random_etmv4){.work = w};
    if (!w)
        return BT_ERR_NOMEM;
    w->options = *o;
    w->options.encoder.seed = seed;
    w->random.state = seed;
    w->flow = f;
    int error = v4_code_init(&w->code, f, o, &w->random);
    if (error)
        return error;
    w->encoder = etmv4_encoder_new(&w->options.encoder, &f->trace);
    return w->encoder ? run(w, f) : BT_ERR_INVAL;
}

void random_etmv4_release(struct random_etmv4 *f)
{
    if (f->work) {
        etmv4_encoder_free(f->work->encoder);
        v4_code_release(&f->work->code);
    }
    for (size_t i = 0; i < f->region_count; i++)
        free(f->regions[i].bytes);
    free(f->work);
    free(f->insns);
    free(f->events);
    trace_bytes_release(&f->trace);
    *f = (struct random_etmv4){0};
}
