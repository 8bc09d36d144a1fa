/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_flow.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/random_work.h"

void random_flow_default_options(struct random_flow_options *o)
{
    *o = (struct random_flow_options){.instructions = 5000,
                                      .a32 = true,
                                      .t32 = true,
                                      .it_blocks = true,
                                      .svc_insns = true,
                                      .waypoints = 30,
                                      .exceptions = 4,
                                      .back_to_back = 20,
                                      .debugs = 1,
                                      .filters = 2,
                                      .overflows = 1,
                                      .context_ids = 30,
                                      .timestamps = 3,
                                      .triggers = 1,
                                      .syncs = 1,
                                      .flushes = 2};
    ptm_encoder_default_options(&o->encoder);
}

uint32_t random_flow_below(struct random_flow_work *w, uint32_t limit)
{
    return trace_random_below(&w->random, limit);
}

bool random_flow_per_mille(struct random_flow_work *w, unsigned chance)
{
    return chance != 0 && random_flow_below(w, 1000) < chance;
}

bool random_flow_percent(struct random_flow_work *w, unsigned chance)
{
    return chance != 0 && random_flow_below(w, 100) < chance;
}

bool random_flow_is_v11(const struct random_flow_work *w)
{
    return (w->options.encoder.etmidr >> 4 & 0xf) != 0;
}

bool random_flow_cycle_accurate(const struct random_flow_work *w)
{
    return w->options.encoder.etmcr & PTM_CR_CYCLE_ACCURATE;
}

struct ptm_state random_flow_state(const struct random_flow_work *w, uint32_t insn)
{
    const struct code_insn *i = &w->code.insns[insn];

    return (struct ptm_state){
        .address = i->address, .isa = (enum bt_isa)i->isa, .security = w->security};
}

uint32_t random_flow_target(struct random_flow_work *w, bool same_isa)
{
    const struct random_code *c = &w->code;
    unsigned state = c->insns[w->pc].isa == BT_ISA_T32;

    if (!same_isa)
        state = random_flow_below(w, 2);
    if (c->target_count[state] == 0)
        state = !state;
    return c->targets[state][random_flow_below(w, c->target_count[state])];
}

static bool is_waypoint(const struct random_flow_work *w, const struct code_insn *insn)
{
    switch (insn->kind) {
    case CODE_DIRECT:
    case CODE_INDIRECT:
    case CODE_ISB:
        return true;
    case CODE_BARRIER:
        return w->options.encoder.etmccer & PTM_CCER_DMB_DSB;
    default:
        return false;
    }
}

/* Hardware lets a return go only to less privileged security. */
static enum bt_security return_security(const struct random_flow_work *w, enum bt_security wanted)
{
    if (!w->options.security && !w->options.hvc_insns)
        return w->security;
    if (w->security == BT_SEC_SECURE || (w->security == BT_SEC_HYP && wanted == BT_SEC_NONSECURE))
        return wanted;
    return w->security;
}

static uint32_t indirect_target(struct random_flow_work *w, const struct code_insn *insn)
{
    bool same_isa = insn->flags & CODE_SAME_ISA;

    if ((insn->flags & CODE_RETURN) && w->exception_count && random_flow_percent(w, 80)) {
        const struct resume *back = &w->exceptions[--w->exception_count];
        w->security = return_security(w, back->security);
        return back->insn;
    }
    if (w->call_count && random_flow_percent(w, 60)) {
        uint32_t target = w->calls[w->call_count - 1];
        if (!same_isa || w->code.insns[target].isa == insn->isa) {
            /* A branch with link to the newest return address leaves that one used up, too. */
            w->call_count--;
            return target;
        }
    }
    return random_flow_target(w, same_isa);
}

static void push_call(struct random_flow_work *w, uint32_t insn)
{
    if (w->call_count == CALLS_MAX) {
        memmove(w->calls, w->calls + 1, sizeof *w->calls * (CALLS_MAX - 1));
        w->call_count--;
    }
    w->calls[w->call_count++] = insn;
}

/* The instruction that follows, exceptions apart; changes security for exception returns. */
static uint32_t choose_next(struct random_flow_work *w, const struct code_insn *insn, bool pass)
{
    uint32_t next = w->pc + 1;

    if (pass && insn->kind == CODE_DIRECT)
        next = insn->target;
    else if (pass && insn->kind == CODE_INDIRECT)
        next = indirect_target(w, insn);
    if (pass && (insn->flags & CODE_LINK))
        push_call(w, w->pc + 1);
    return next;
}

/* Before a waypoint update for a long block: what it tells. */
static void report_long_block(struct random_flow_work *w)
{
    const struct random_flow *f = w->truth.flow;
    size_t current = f->insn_count - 1;
    size_t end = current;
    uint64_t start = f->insns[w->truth.reported].address;

    if (w->options.encoder.no_block_updates || w->truth.reported == current ||
        f->insns[current].address - start <= 4096)
        return;
    while (f->insns[end - 1].address - start >= 4096)
        end--;
    truth_report(&w->truth, end);
}

/* A taken branch tells the security state if it is new. */
static void note_security(struct random_flow_work *w, const struct code_insn *insn, bool pass)
{
    struct random_flow *f = w->truth.flow;
    bool branch = insn->kind == CODE_DIRECT || insn->kind == CODE_INDIRECT;
    bool packet = branch || (w->options.encoder.etmcr & PTM_CR_BROADCAST);

    if (!pass || !is_waypoint(w, insn) || !packet || w->security == w->shown_security)
        return;
    f->insns[f->insn_count - 1].information = true;
    w->shown_security = w->security;
}

static int run_insn(struct random_flow_work *w, const struct code_insn *insn, bool pass)
{
    bool waypoint = is_waypoint(w, insn);
    bool traced = w->mode == MODE_TRACED;
    struct random_flow_insn record = {.address = insn->address,
                                      .isa = insn->isa,
                                      .size = insn->size,
                                      .waypoint = waypoint && traced,
                                      .security = (uint8_t)w->security,
                                      .context_id = w->shown_context_id};
    struct ptm_insn event = {.address = insn->address,
                             .isa = (enum bt_isa)insn->isa,
                             .opcode = insn->opcode,
                             .pass = pass};

    if (waypoint && traced)
        record.cond = pass ? BT_COND_PASS : BT_COND_FAIL;
    int result = truth_add_insn(&w->truth, &record);
    if (result)
        return result;
    if (traced)
        report_long_block(w);
    if (traced && waypoint) {
        truth_report(&w->truth, w->truth.flow->insn_count);
        w->waypoint_time = w->time;
    }
    w->pc = choose_next(w, insn, pass);
    event.next = random_flow_state(w, w->pc);
    if (traced)
        note_security(w, insn, pass);
    w->block_start = waypoint;
    result = ptm_encoder_insn(w->encoder, &event);
    if (result < 0)
        return result;
    /* The encoder has its own table of instructions: both must see the same. */
    bool agreed = traced
                      ? (result == PTM_TRACED_NOT_YET) == !waypoint && result != PTM_TRACED_NOTHING
                      : result == PTM_TRACED_NOTHING;
    return agreed ? 0 : BT_ERR_FORMAT;
}

/* The exception that an instruction causes when it runs; 0: none. */
static unsigned caused_exception(const struct random_flow_work *w, const struct code_insn *insn)
{
    switch (insn->kind) {
    case CODE_SVC:
        return EXC_SVC;
    case CODE_SMC:
        return EXC_SMC;
    case CODE_UDF:
        return EXC_UNDEFINED;
    case CODE_HVC:
        return w->security == BT_SEC_SECURE ? EXC_UNDEFINED : EXC_HYP;
    default:
        return 0;
    }
}

static int step(struct random_flow_work *w)
{
    const struct code_insn *insn = &w->code.insns[w->pc];
    bool pass = !(insn->flags & CODE_CONDITIONAL) || random_flow_below(w, 2);
    unsigned exception = pass ? caused_exception(w, insn) : 0;
    unsigned cycles =
        random_flow_below(w, 40) == 0 ? random_flow_below(w, 300000) : random_flow_below(w, 20);
    int error;

    w->time += cycles / 2 + 1;
    ptm_encoder_set_time(w->encoder, w->time);
    ptm_encoder_add_cycles(w->encoder, cycles);
    if (w->mode_left)
        w->mode_left--;
    if (insn->kind == CODE_BKPT) /* does not run; a debugger's handler steps over it */
        return random_flow_exception(w, EXC_PREFETCH, w->pc + 1);
    error = run_insn(w, insn, pass);
    if (error)
        return error;
    if (exception)
        return random_flow_exception(w, exception, w->pc);
    if (pass && (insn->kind == CODE_ISB || insn->flags & CODE_RETURN))
        return random_flow_change_context(w);
    return 0;
}

static int run(struct random_flow_work *w, struct random_flow *f)
{
    int error;

    w->pc = random_flow_target(w, false);
    w->time = trace_random_next(&w->random) >> random_flow_below(w, 40);
    ptm_encoder_set_time(w->encoder, w->time);
    if (w->options.security)
        w->security = random_flow_below(w, 2) ? BT_SEC_SECURE : BT_SEC_NONSECURE;
    w->block_start = true;
    error = random_flow_start_trace(w, w->options.debugs && random_flow_below(w, 4) == 0 ? 3 : 1);
    while (!error && !w->error && f->insn_count < w->options.instructions) {
        error = random_flow_between(w);
        if (!error)
            error = step(w);
    }
    if (!error)
        error = ptm_encoder_flush(w->encoder);
    truth_skip(&w->truth);
    return error ? error : w->error;
}

int random_flow_init(struct random_flow *f, uint64_t seed, const struct random_flow_options *o)
{
    struct random_flow_work *w = calloc(1, sizeof *w);
    int error;

    *f = (struct random_flow){.work = w};
    if (!w)
        return BT_ERR_NOMEM;
    w->options = *o;
    w->options.encoder.seed = seed;
    w->random.state = seed;
    w->security = BT_SEC_NONSECURE;
    w->truth.flow = f;
    error = random_code_init(&w->code, o, &w->random);
    f->regions = w->code.regions;
    f->region_count = w->code.region_count;
    if (error)
        return error;
    w->encoder = ptm_encoder_new(&w->options.encoder, &f->trace);
    if (!w->encoder)
        return BT_ERR_INVAL;
    ptm_encoder_observe(w->encoder, random_flow_observe, w);
    error = run(w, f);
    for (unsigned kind = 0; kind < PTM_PACKET_KINDS; kind++)
        f->packets[kind] = ptm_encoder_packets(w->encoder, (enum ptm_packet_kind)kind);
    return error;
}

void random_flow_release(struct random_flow *f)
{
    if (f->work) {
        ptm_encoder_free(f->work->encoder);
        random_code_release(&f->work->code);
    }
    free(f->work);
    free(f->insns);
    free(f->events);
    trace_bytes_release(&f->trace);
    *f = (struct random_flow){0};
}

size_t random_flow_read(const struct random_flow *f, uint64_t address, uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < f->region_count; i++) {
        const struct random_flow_region *r = &f->regions[i];
        if (address < r->address || address - r->address >= r->size)
            continue;
        size_t left = r->size - (size_t)(address - r->address);
        size_t count = size < left ? size : left;
        memcpy(bytes, r->bytes + (address - r->address), count);
        return count;
    }
    return 0;
}
