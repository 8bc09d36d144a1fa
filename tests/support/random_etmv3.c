/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_etmv3.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/random_etmv3_work.h"

enum { EXC_SMC = 2, EXC_HYP = 3, EXC_UNDEFINED = 9, EXC_SVC = 10, EXC_PREFETCH = 11 };
enum { M_USAGE_FAULT = 9, M_SVC = 11, M_DEBUG_MONITOR = 12 };

void random_etmv3_default_options(struct random_etmv3_options *o)
{
    *o = (struct random_etmv3_options){.instructions = 3000,
                                       .a32 = true,
                                       .t32 = true,
                                       .it_blocks = true,
                                       .waypoints = 30,
                                       .exceptions = 8,
                                       .back_to_back = 20,
                                       .cancels = 40,
                                       .debugs = 1,
                                       .filters = 2,
                                       .overflows = 2,
                                       .in_progress = 40,
                                       .underneath = 10,
                                       .late_values = 10,
                                       .filtered_data = 10,
                                       .suppressions = 4,
                                       .failed_stores = 3,
                                       .context_ids = 30,
                                       .vmids = 10,
                                       .timestamps = 3,
                                       .triggers = 1,
                                       .syncs = 1,
                                       .flushes = 2,
                                       .long_idle = 1};
    etmv3_encoder_default_options(&o->encoder);
}

uint32_t random_etmv3_below(struct random_etmv3_work *w, uint32_t limit)
{
    return trace_random_below(&w->random, limit);
}

bool random_etmv3_per_mille(struct random_etmv3_work *w, unsigned chance)
{
    return chance != 0 && random_etmv3_below(w, 1000) < chance;
}

bool random_etmv3_percent(struct random_etmv3_work *w, unsigned chance)
{
    return chance != 0 && random_etmv3_below(w, 100) < chance;
}

struct etmv3_state random_etmv3_state(const struct random_etmv3_work *w, uint32_t insn)
{
    const struct code_insn *i = &w->code.insns[insn];

    return (struct etmv3_state){
        .address = i->address, .isa = (enum bt_isa)i->isa, .security = w->security};
}

uint32_t random_etmv3_target(struct random_etmv3_work *w, bool same_isa)
{
    const struct random_code *c = &w->code;
    unsigned state = random_etmv3_below(w, 2);

    if (same_isa)
        state = c->insns[w->pc].isa == BT_ISA_T32;
    else if (c->target_count[state] == 0)
        state ^= 1;
    return c->targets[state][random_etmv3_below(w, c->target_count[state])];
}

/* Where execution goes. */

/* Hardware lets a return go only to less privileged security. */
static enum bt_security return_security(const struct random_etmv3_work *w, enum bt_security wanted)
{
    if (!w->options.security && !w->options.hyp)
        return w->security;
    if (w->security == BT_SEC_SECURE || (w->security == BT_SEC_HYP && wanted == BT_SEC_NONSECURE))
        return wanted;
    return w->security;
}

/* M profile: POP, LDM, LDR PC and BX return from an exception when the value says so. */
static bool returns_in_m(struct random_etmv3_work *w, const struct code_insn *insn)
{
    return w->options.encoder.m_profile && w->exception_count && insn->kind == CODE_INDIRECT &&
           !(insn->flags & (CODE_SAME_ISA | CODE_LINK | CODE_RETURN)) &&
           random_etmv3_percent(w, 60);
}

static uint32_t indirect_target(struct random_etmv3_work *w, const struct code_insn *insn,
                                struct etmv3_insn *event)
{
    bool same_isa = insn->flags & CODE_SAME_ISA;
    bool is_return = (insn->flags & CODE_RETURN) && !w->options.encoder.m_profile;

    event->exception_return = returns_in_m(w, insn);
    if (event->exception_return ||
        (is_return && w->exception_count && random_etmv3_percent(w, 80))) {
        const struct etmv3_resume *back = &w->exceptions[--w->exception_count];
        w->security = return_security(w, back->security);
        event->resume = back->resume;
        event->preempted = event->exception_return && w->mode == ETMV3_TRACED &&
                           !w->options.no_preempted_returns && random_etmv3_percent(w, 15);
        return back->insn;
    }
    if (w->call_count && random_etmv3_percent(w, 60)) {
        uint32_t target = w->calls[w->call_count - 1];
        if (!same_isa || w->code.insns[target].isa == insn->isa) {
            w->call_count--;
            return target;
        }
    }
    return random_etmv3_target(w, same_isa);
}

static void push_call(struct random_etmv3_work *w, uint32_t insn)
{
    if (w->call_count == ETMV3_CALLS) {
        memmove(w->calls, w->calls + 1, sizeof *w->calls * (ETMV3_CALLS - 1));
        w->call_count--;
    }
    w->calls[w->call_count++] = insn;
}

static uint32_t choose_next(struct random_etmv3_work *w, const struct code_insn *insn,
                            struct etmv3_insn *event)
{
    uint32_t next = w->pc + 1;

    if (event->pass && insn->kind == CODE_DIRECT)
        next = insn->target;
    else if (event->pass && insn->kind == CODE_INDIRECT)
        next = indirect_target(w, insn, event);
    if (event->pass && (insn->flags & CODE_LINK))
        push_call(w, w->pc + 1);
    return next;
}

/* The exception that an instruction causes when it runs, as numbered in the packet; 0: none. */
static unsigned caused_exception(struct random_etmv3_work *w, const struct code_insn *insn)
{
    bool m = w->options.encoder.m_profile;

    switch (insn->kind) {
    case CODE_SVC:
        return m ? M_SVC : EXC_SVC;
    case CODE_SMC:
        return m ? M_USAGE_FAULT : EXC_SMC;
    case CODE_UDF:
        /* Some are hints of this core: handlers that begin with one come to an end. */
        return random_etmv3_percent(w, 40) ? 0 : m ? M_USAGE_FAULT : EXC_UNDEFINED;
    case CODE_HVC:
        return m ? M_USAGE_FAULT : w->security == BT_SEC_SECURE ? EXC_UNDEFINED : EXC_HYP;
    default:
        return 0;
    }
}

static int run_record(struct random_etmv3_work *w, const struct code_insn *insn, bool in_progress,
                      struct etmv3_insn *event, size_t *index)
{
    bool traced = w->mode == ETMV3_TRACED && !(w->options.encoder.etmcr & ETMV3_CR_DATA_ONLY);
    struct random_etmv3_insn record = {.address = insn->address,
                                       .isa = insn->isa,
                                       .size = insn->size,
                                       .cond = event->pass ? BT_COND_PASS : BT_COND_FAIL,
                                       .security = (uint8_t)w->security,
                                       .context_id = w->shown_context_id,
                                       .traced = traced};
    uint32_t here = w->pc;
    int count = random_etmv3_add_insn(w, &record);

    if (count)
        return count;
    *index = w->flow->insn_count - 1;
    w->pc = choose_next(w, insn, event);
    event->next = random_etmv3_state(w, w->pc);
    event->in_progress = in_progress;
    w->in_insn = true;
    count = etmv3_encoder_insn(w->encoder, event);
    w->in_insn = w->before = false;
    if (count < 0)
        return count;
    w->flow->insns[*index].cycle = etmv3_encoder_cycles(w->encoder);
    w->flow->insns[*index].region = w->region;
    /* M profile: the return packet says that the instruction completed. */
    w->newest = traced && !event->exception_return ? *index : NO_INSN;
    w->newest_pc = here;
    w->newest_late = count > 1;
    /* The encoder has its own idea of what is traced. */
    return (count > 0) == traced ? 0 : BT_ERR_FORMAT;
}

/* The return that an exception pre-empts: the handler of the first goes on below the new one. */
static int preempt(struct random_etmv3_work *w)
{
    w->newest = NO_INSN; /* what is canceled is the return */
    random_etmv3_cancel_return(w);
    return random_etmv3_exception(w, 1 + random_etmv3_below(w, 8), true, w->pc);
}

int random_etmv3_run(struct random_etmv3_work *w, bool in_progress)
{
    const struct code_insn *insn = &w->code.insns[w->pc];
    struct etmv3_insn event = {
        .address = insn->address, .isa = (enum bt_isa)insn->isa, .opcode = insn->opcode};
    bool data_only = w->options.encoder.etmcr & ETMV3_CR_DATA_ONLY;
    struct data_plan plan;
    size_t index;
    int error;

    event.pass = in_progress || !(insn->flags & CODE_CONDITIONAL) || random_etmv3_below(w, 2);
    data_plan(event.isa, event.opcode, &plan);
    error = run_record(w, insn, in_progress, &event, &index);
    if (error)
        return error;
    if (in_progress)
        w->busy = index;
    if (plan.count && event.pass && !w->transferring && !event.preempted && w->mode == ETMV3_TRACED)
        error = random_etmv3_begin_data(w, &plan,
                                        event.exception_return || data_only ? NO_INSN : index);
    if (!error && event.preempted)
        return preempt(w);
    unsigned exception = event.pass && !in_progress ? caused_exception(w, insn) : 0;
    if (!error && exception)
        error = random_etmv3_exception(w, exception, false, w->pc);
    if (!error && event.pass && (insn->flags & CODE_RETURN))
        error = random_etmv3_change_context(w);
    return error;
}

static unsigned draw_cycles(struct random_etmv3_work *w)
{
    unsigned kind = random_etmv3_below(w, 10);

    if (random_etmv3_per_mille(w, w->options.long_idle))
        return 100 + random_etmv3_below(w, 900);
    return kind < 2 ? 0 : kind < 8 ? 1 : random_etmv3_below(w, 14);
}

static int step(struct random_etmv3_work *w)
{
    const struct code_insn *insn = &w->code.insns[w->pc];
    bool m = w->options.encoder.m_profile;
    unsigned cycles = draw_cycles(w);
    struct data_plan plan;
    int error = 0;

    w->time += cycles / 2 + 1;
    etmv3_encoder_set_time(w->encoder, w->time);
    error = etmv3_encoder_add_cycles(w->encoder, cycles);
    if (w->mode_left)
        w->mode_left--;
    data_plan((enum bt_isa)insn->isa, insn->opcode, &plan);
    /* A second data instruction, or one that leaves, waits for the end of the first. */
    if (!error && w->transferring && (plan.count || insn->kind != CODE_PLAIN))
        error = random_etmv3_finish_data(w);
    if (!error && insn->kind == CODE_BKPT) /* does not run; a debugger's handler steps over it */
        return random_etmv3_exception(w, m ? M_DEBUG_MONITOR : EXC_PREFETCH, false, w->pc + 1);
    if (!error)
        error = random_etmv3_run(w, false);
    return error ? error : random_etmv3_data(w);
}

static int run(struct random_etmv3_work *w, struct random_etmv3 *f)
{
    int error;

    w->pc = random_etmv3_target(w, false);
    w->time = trace_random_next(&w->random) >> random_etmv3_below(w, 40);
    if (w->options.short_times)
        w->time >>= 4;
    etmv3_encoder_set_time(w->encoder, w->time);
    if (w->options.security)
        w->security = random_etmv3_below(w, 2) ? BT_SEC_SECURE : BT_SEC_NONSECURE;
    error = etmv3_encoder_add_cycles(w->encoder, random_etmv3_below(w, 100));
    if (!error)
        error = random_etmv3_start_trace(
            w, w->options.debugs && random_etmv3_below(w, 4) == 0 ? 3 : 1, false);
    while (!error && !w->error && f->insn_count < w->options.instructions) {
        error = random_etmv3_between(w);
        if (!error)
            error = step(w);
    }
    if (!error)
        error = random_etmv3_finish_data(w);
    if (!error)
        error = random_etmv3_late_values(w, true);
    if (!error)
        error = etmv3_encoder_flush(w->encoder);
    return error ? error : w->error;
}

static int make_code(struct random_etmv3_work *w, struct random_etmv3 *f)
{
    const struct random_etmv3_options *o = &w->options;
    struct random_flow_options code;
    int error;

    random_flow_default_options(&code);
    code.a32 = o->a32 && !o->encoder.m_profile;
    code.t32 = o->t32 || o->encoder.m_profile;
    code.t32_vectors = o->t32_vectors;
    code.no_it_blx = o->no_it_blx;
    code.it_blocks = o->it_blocks;
    code.svc_insns = true;
    code.smc_insns = o->security;
    code.hvc_insns = o->hyp;
    code.eret_a32 = o->eret_a32;
    code.waypoints = o->waypoints;
    error = random_code_init(&w->code, &code, &w->random);
    f->regions = w->code.regions;
    f->region_count = w->code.region_count;
    return error;
}

int random_etmv3_init(struct random_etmv3 *f, uint64_t seed, const struct random_etmv3_options *o)
{
    struct random_etmv3_work *w = calloc(1, sizeof *w);
    int error;

    *f = (struct random_etmv3){.work = w};
    if (!w)
        return BT_ERR_NOMEM;
    w->flow = f;
    w->options = *o;
    w->options.encoder.seed = seed;
    w->random.state = seed;
    w->security = BT_SEC_NONSECURE;
    w->newest = w->busy = NO_INSN;
    for (unsigned tag = 0; tag < 4; tag++)
        w->tag_access[tag] = NO_INSN;
    error = make_code(w, f);
    if (error)
        return error;
    w->encoder = etmv3_encoder_new(&w->options.encoder, &f->trace);
    if (!w->encoder)
        return BT_ERR_INVAL;
    etmv3_encoder_observe(w->encoder, random_etmv3_observe, w);
    error = run(w, f);
    for (unsigned kind = 0; kind < ETMV3_PACKET_KINDS; kind++)
        f->packets[kind] = etmv3_encoder_packets(w->encoder, (enum etmv3_packet_kind)kind);
    return error;
}

void random_etmv3_release(struct random_etmv3 *f)
{
    if (f->work) {
        etmv3_encoder_free(f->work->encoder);
        random_code_release(&f->work->code);
    }
    free(f->work);
    free(f->insns);
    free(f->events);
    free(f->accesses);
    trace_bytes_release(&f->trace);
    *f = (struct random_etmv3){0};
}

size_t random_etmv3_read(const struct random_etmv3 *f, uint64_t address, uint8_t *bytes,
                         size_t size)
{
    const struct random_flow regions = {.regions = f->regions, .region_count = f->region_count};

    return random_flow_read(&regions, address, bytes, size);
}
