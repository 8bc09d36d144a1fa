/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_etmv2.h"

#include <stdlib.h>

#include "tests/support/random_etmv2_work.h"

#define VECTOR_UNDEFINED      1
#define VECTOR_SWI            2
#define VECTOR_PREFETCH_ABORT 3

void random_etmv2_default_options(struct random_etmv2_options *o)
{
    *o = (struct random_etmv2_options){.instructions = 2000,
                                       .thumb = true,
                                       .selected_percent = 80,
                                       .partial_percent = 20,
                                       .busy_percent = 40,
                                       .miss_percent = 15,
                                       .waits = 200,
                                       .exceptions = 20,
                                       .filters = 5,
                                       .overflows = 4,
                                       .debugs = 3,
                                       .context_ids = 5,
                                       .triggers = 2,
                                       .syncs = 2};
    etmv2_encoder_default_options(&o->encoder);
}

uint32_t random_etmv2_below(struct random_etmv2_work *w, uint32_t limit)
{
    return trace_random_below(&w->random, limit);
}

bool random_etmv2_percent(struct random_etmv2_work *w, unsigned chance)
{
    return trace_random_percent(&w->random, chance);
}

bool random_etmv2_per_mille(struct random_etmv2_work *w, unsigned chance)
{
    return chance && random_etmv2_below(w, 1000) < chance;
}

struct etmv2_place random_etmv2_place(const struct random_etmv2_work *w, uint32_t index)
{
    const struct arm5_insn *i = &w->flow->code.insns[index];

    return (struct etmv2_place){.address = i->address, .isa = (enum bt_isa)i->isa};
}

static uint32_t target(struct random_etmv2_work *w, const struct arm5_insn *i)
{
    const struct arm5_code *c = &w->flow->code;
    unsigned isa =
        i && (i->flags & ARM5_SAME_ISA) ? i->isa == BT_ISA_T32 : random_etmv2_below(w, 2);

    if (c->target_count[isa] == 0)
        isa = !isa;
    return c->targets[isa][random_etmv2_below(w, c->target_count[isa])];
}

/* The instructions of a cycle are in the trace, or lost. */
static void observe(void *context, const struct etmv2_model_cycle *cycle)
{
    struct random_etmv2_work *w = context;
    struct port_truth *t = &w->flow->truth;

    if (cycle->tfo && cycle->reason) {
        if (!w->starting) /* no periodic TFO in time */
            port_truth_trace_on(t, cycle->reason, w->flow->code.insns[w->pc].address,
                                t->insn_count - 1, NULL);
        return;
    }
    if (w->reopened != PORT_TRUTH_NONE && cycle->insns) {
        if (cycle->lost)
            port_truth_cancel(t, w->reopened);
        w->reopened = PORT_TRUTH_NONE;
    } else {
        for (unsigned i = 0; i < cycle->insns; i++)
            cycle->lost ? port_truth_skip(t, t->reported + 1) : port_truth_report(t);
    }
    w->lost = w->lost || cycle->lost;
    bool pushed = (cycle->status & 1) && cycle->status != ETMV2_MODEL_TD;
    if (cycle->insns || cycle->lost || pushed)
        random_etmv2_commit(w, cycle->lost);
}

/*
 * The instruction cannot be fetched: its status comes all the same, then the branch to the vector
 * with E = 0 (IHI 0014Q chapter 6).
 */
static int abort_fetch(struct random_etmv2_work *w)
{
    const struct arm5_insn *i = &w->flow->code.insns[w->pc];
    uint32_t at = w->pc;
    const struct etmv2_place place = random_etmv2_place(w, at);
    const struct etmv2_insn insn = {.at = place, .pass = true, .next = place};
    int error = random_etmv2_continue(w, true);

    if (!error)
        error = etmv2_encoder_insn(w->encoder, &insn);
    if (error)
        return error;
    port_truth_insn(&w->flow->truth, i, true);
    if (!etmv2_encoder_tracing(w->encoder))
        port_truth_skip(&w->flow->truth, w->flow->truth.insn_count);
    return random_etmv2_exception(w, VECTOR_PREFETCH_ABORT, false, at);
}

static int step(struct random_etmv2_work *w)
{
    struct port_truth *t = &w->flow->truth;
    const struct arm5_insn *i = &w->flow->code.insns[w->pc];
    bool pass = !(i->flags & ARM5_CONDITIONAL) || random_etmv2_below(w, 2);
    uint32_t at = w->pc;
    int error = 0;

    if (w->busy.on)
        error = random_etmv2_continue(w, i->transfers || i->kind != ARM5_PLAIN);
    if (error)
        return error;
    bool busy = pass && random_etmv2_may_be_busy(w, i);
    struct etmv2_insn insn = {
        .at = random_etmv2_place(w, at), .opcode = i->opcode, .pass = pass, .in_progress = busy};
    uint32_t next = !pass || i->kind == ARM5_PLAIN || i->kind >= ARM5_SWI ? at + 1
                    : i->kind == ARM5_DIRECT                              ? i->target
                                                                          : target(w, i);
    insn.next = random_etmv2_place(w, next);
    error = etmv2_encoder_insn(w->encoder, &insn);
    w->pc = next;
    if (error)
        return error;
    size_t number = port_truth_insn(t, i, pass);
    if (!etmv2_encoder_tracing(w->encoder))
        port_truth_skip(t, t->insn_count);
    w->last = at;
    w->last_fresh = true;
    w->last_aborts = pass && i->transfers && !busy && !(i->flags & ARM5_CPRT);
    if (busy)
        w->busy = (struct busy){.on = true, .index = at, .number = number};
    if (pass && i->transfers)
        error = random_etmv2_access(w, i, number);
    if (!error && pass && i->kind >= ARM5_SWI)
        error = random_etmv2_exception(w, i->kind == ARM5_SWI ? VECTOR_SWI : VECTOR_UNDEFINED,
                                       false, i->kind == ARM5_SWI ? w->pc : at);
    return error;
}

int random_etmv2_init(struct random_etmv2 *f, uint64_t seed, const struct random_etmv2_options *o)
{
    struct random_etmv2_work *w = calloc(1, sizeof *w);
    int error;

    *f = (struct random_etmv2){.work = w};
    if (!w)
        return BT_ERR_NOMEM;
    w->flow = f;
    w->options = *o;
    w->options.encoder.seed = seed;
    w->random.state = seed;
    w->reopened = PORT_TRUTH_NONE;
    error = arm5_code_init(&f->code, o->thumb, o->high_vectors, &w->random);
    if (error)
        return error;
    w->encoder = etmv2_encoder_new(&w->options.encoder, &f->trace);
    if (!w->encoder)
        return BT_ERR_INVAL;
    etmv2_encoder_observe(w->encoder, observe, w);
    w->pc = target(w, NULL);
    error = random_etmv2_start(w, 1);
    while (!error && f->truth.insn_count < o->instructions) {
        error = random_etmv2_between(w);
        if (!error)
            error = random_etmv2_per_mille(w, o->exceptions / 4) ? abort_fetch(w) : step(w);
    }
    if (!error)
        error = random_etmv2_continue(w, true);
    if (!error)
        error = etmv2_encoder_finish(w->encoder);
    for (unsigned kind = 0; kind < ETMV2_MODEL_KINDS; kind++)
        f->packets[kind] = etmv2_encoder_packets(w->encoder, (enum etmv2_model_kind)kind);
    for (unsigned status = 0; status < 16; status++)
        f->statuses[status] = etmv2_encoder_statuses(w->encoder, status);
    return error;
}

void random_etmv2_release(struct random_etmv2 *f)
{
    if (f->work)
        etmv2_encoder_free(f->work->encoder);
    free(f->work);
    arm5_code_release(&f->code);
    port_truth_release(&f->truth);
    trace_bytes_release(&f->trace);
    *f = (struct random_etmv2){0};
}
