/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_flow.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/random_code.h"
#include "tests/support/random_truth.h"

#define CALLS_MAX      64
#define EXCEPTIONS_MAX 16
#define NOWHERE        UINT32_MAX

enum {
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
};

enum mode {
    MODE_TRACED,
    MODE_FILTERED,
    MODE_OVERFLOW,
};

/* Where execution goes on after an exception handler. */
struct resume {
    uint32_t insn;
    enum bt_security security;
};

struct random_flow_work {
    struct random_flow_options options;
    struct trace_random random;
    struct random_code code;
    struct truth truth;
    struct ptm_encoder *encoder;
    int error; /* first one, from the observer */

    uint32_t pc; /* index of the next instruction */
    enum bt_security security;
    enum bt_security shown_security; /* as the trace has told it */
    bool block_start;                /* nothing ran since the last waypoint or exception */
    enum mode mode;
    unsigned mode_left; /* instructions until trace may come back */
    uint32_t calls[CALLS_MAX];
    unsigned call_count;
    struct resume exceptions[EXCEPTIONS_MAX];
    unsigned exception_count;

    uint32_t context_id;
    uint32_t shown_context_id; /* as the trace has told it */
    bool context_id_shown;
    uint64_t time;
    uint64_t waypoint_time;

    /* What the packet that the observer is about to see means. */
    unsigned reason;    /* of an I-sync */
    unsigned exception; /* 0: not in one */
    uint64_t exception_return;
    enum bt_isa exception_isa;
    uint64_t exception_vector;
    bool clock_changed;
    uint8_t vmid;
};

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

static uint32_t below(struct random_flow_work *w, uint32_t limit)
{
    return trace_random_below(&w->random, limit);
}

static bool per_mille(struct random_flow_work *w, unsigned chance)
{
    return chance != 0 && below(w, 1000) < chance;
}

static bool percent(struct random_flow_work *w, unsigned chance)
{
    return chance != 0 && below(w, 100) < chance;
}

static bool is_v11(const struct random_flow_work *w)
{
    return (w->options.encoder.etmidr >> 4 & 0xf) != 0;
}

static bool cycle_accurate(const struct random_flow_work *w)
{
    return w->options.encoder.etmcr & PTM_CR_CYCLE_ACCURATE;
}

static struct ptm_state state_at(const struct random_flow_work *w, uint32_t insn)
{
    const struct code_insn *i = &w->code.insns[insn];

    return (struct ptm_state){
        .address = i->address, .isa = (enum bt_isa)i->isa, .security = w->security};
}

/* ---- events, as the packets come out --------------------------------------------------------- */

static uint32_t context_id_mask(const struct random_flow_work *w)
{
    static const uint32_t masks[] = {0, 0xff, 0xffff, 0xffffffff};

    return masks[w->options.encoder.etmcr >> 14 & 3];
}

static uint64_t timestamp_value(const struct random_flow_work *w)
{
    bool wide = is_v11(w) && (w->options.encoder.etmccer & PTM_CCER_TIMESTAMP_64);
    uint64_t value = is_v11(w) ? w->waypoint_time : w->time;

    return wide ? value : value & (((uint64_t)1 << 48) - 1);
}

static void add_event(struct random_flow_work *w, struct bt_event *event, bool counted)
{
    if (counted && cycle_accurate(w)) {
        event->cycles = ptm_encoder_last_count(w->encoder);
        event->flags |= BT_EVENT_HAS_CYCLES;
    }
    int error = truth_add_event(&w->truth, event);
    if (error && !w->error)
        w->error = error;
}

static void show_context_id(struct random_flow_work *w, uint64_t offset, bool always)
{
    uint32_t value = w->context_id & context_id_mask(w);
    struct bt_event event = {.offset = offset, .kind = BT_EVENT_CONTEXT, .value = value};

    if (context_id_mask(w) == 0)
        return;
    if (always || !w->context_id_shown || value != w->shown_context_id)
        add_event(w, &event, false);
    w->context_id_shown = true;
    w->shown_context_id = value;
}

static void saw_isync(struct random_flow_work *w, uint64_t offset)
{
    const struct code_insn *next = &w->code.insns[w->pc];
    struct bt_event event = {.offset = offset,
                             .kind = BT_EVENT_TRACE_ON,
                             .value = w->reason,
                             .address = next->address,
                             .isa = next->isa,
                             .flags = BT_EVENT_HAS_ADDRESS};

    w->shown_security = w->security;
    if (w->reason != 0)
        add_event(w, &event, w->reason == 1 || !is_v11(w));
    show_context_id(w, offset, false);
}

static void saw_exception(struct random_flow_work *w, uint64_t offset)
{
    struct bt_event event = {.offset = offset,
                             .kind = BT_EVENT_EXCEPTION,
                             .number = (uint16_t)w->exception,
                             .address = w->exception_return,
                             .isa = (uint8_t)w->exception_isa,
                             .value = w->exception_vector,
                             .flags = BT_EVENT_HAS_ADDRESS};

    add_event(w, &event, true);
}

static void count_cycles(struct random_flow_work *w, enum ptm_packet_kind kind)
{
    bool valid_isync = kind == PTM_PACKET_ISYNC && w->reason != 0 && (w->reason == 1 || !is_v11(w));

    if (!cycle_accurate(w))
        return;
    if (kind == PTM_PACKET_ATOM || kind == PTM_PACKET_BRANCH || kind == PTM_PACKET_TIMESTAMP ||
        valid_isync)
        w->truth.flow->cycles += ptm_encoder_last_count(w->encoder);
}

static void observe(void *context, enum ptm_packet_kind kind, uint64_t offset, size_t size)
{
    struct random_flow_work *w = context;
    struct bt_event event = {.offset = offset};

    (void)size;
    count_cycles(w, kind);
    switch (kind) {
    case PTM_PACKET_ISYNC:
        saw_isync(w, offset);
        break;
    case PTM_PACKET_BRANCH:
        if (w->exception)
            saw_exception(w, offset);
        break;
    case PTM_PACKET_CONTEXT_ID:
        show_context_id(w, offset, true);
        break;
    case PTM_PACKET_VMID:
        event.kind = BT_EVENT_VMID;
        event.value = w->vmid;
        add_event(w, &event, false);
        break;
    case PTM_PACKET_TIMESTAMP:
        event.kind = BT_EVENT_TIMESTAMP;
        event.value = timestamp_value(w);
        event.number = w->clock_changed;
        add_event(w, &event, true);
        break;
    case PTM_PACKET_TRIGGER:
        event.kind = BT_EVENT_TRIGGER;
        add_event(w, &event, false);
        break;
    case PTM_PACKET_EXCEPTION_RETURN:
        event.kind = BT_EVENT_EXCEPTION_RET;
        add_event(w, &event, false);
        break;
    default:
        break;
    }
}

/* ---- starting and stopping trace --------------------------------------------------------------
 */

static uint32_t random_target(struct random_flow_work *w, bool same_isa)
{
    const struct random_code *c = &w->code;
    unsigned state = c->insns[w->pc].isa == BT_ISA_T32;

    if (!same_isa)
        state = below(w, 2);
    if (c->target_count[state] == 0)
        state = !state;
    return c->targets[state][below(w, c->target_count[state])];
}

static int start_trace(struct random_flow_work *w, unsigned reason)
{
    struct ptm_state next = state_at(w, w->pc);
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
    w->mode_left = 1 + below(w, 60);
    w->mode = mode;
    if (mode == MODE_FILTERED) {
        truth_skip(&w->truth);
        return ptm_encoder_trace_off(w->encoder);
    }
    unsigned lost = ptm_encoder_pending_atoms(w->encoder);
    if (lost && below(w, 2)) {
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
    return start_trace(w, w->mode == MODE_OVERFLOW ? 2 : 1);
}

/* ---- exceptions -------------------------------------------------------------------------------
 */

static int change_context(struct random_flow_work *w)
{
    const struct random_flow_options *o = &w->options;
    int error = 0;

    if (percent(w, o->context_ids)) {
        w->context_id = (uint32_t)trace_random_next(&w->random);
        error = ptm_encoder_set_context_id(w->encoder, w->context_id);
    }
    if (!error && percent(w, o->vmids)) {
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
    return percent(w, 30) ? BT_SEC_SECURE : w->security;
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
    size_t told = w->truth.told;

    w->exception = number;
    w->exception_return = address;
    w->exception_isa = isa;
    if (number == EXC_RESET && told < f->insn_count) {
        w->exception_return = f->insns[told].address;
        w->exception_isa = (enum bt_isa)f->insns[told].isa;
    }
}

/* `number` is taken before instruction w->pc; its handler returns to `resume`. */
static int take_exception(struct random_flow_work *w, unsigned number, uint32_t resume)
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
        truth_tell(&w->truth, w->truth.flow->insn_count);
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
    const struct ptm_state vector = state_at(w, w->pc);
    error = ptm_encoder_exception(w->encoder, number, &vector);
    w->exception = 0;
    return error ? error : change_context(w);
}

static int take_random_exception(struct random_flow_work *w)
{
    static const uint8_t numbers[] = {EXC_IRQ,     EXC_FIQ,        EXC_PREFETCH,
                                      EXC_GENERIC, EXC_DATA_ABORT, EXC_ASYNC_ABORT};

    return take_exception(w, numbers[below(w, sizeof numbers)], w->pc);
}

static int visit_debug_state(struct random_flow_work *w)
{
    const struct code_insn *next = &w->code.insns[w->pc];
    int error;

    truth_tell(&w->truth, w->truth.flow->insn_count);
    note_exception(w, 1, next->address, (enum bt_isa)next->isa);
    w->exception_vector = 0;
    w->waypoint_time = w->time;
    error = ptm_encoder_debug_entry(w->encoder);
    w->exception = 0;
    if (error)
        return error;
    if (below(w, 3) == 0)
        w->pc = random_target(w, false);
    w->time += below(w, 100000);
    ptm_encoder_set_time(w->encoder, w->time);
    ptm_encoder_add_cycles(w->encoder, below(w, 100000));
    w->block_start = true;
    return start_trace(w, 3);
}

/* ---- what happens between two instructions ----------------------------------------------------
 */

static int traced_events(struct random_flow_work *w)
{
    const struct random_flow_options *o = &w->options;
    int error = 0;

    if (per_mille(w, o->timestamps)) {
        w->clock_changed = below(w, 4) == 0;
        error = ptm_encoder_request_timestamp(w->encoder, w->clock_changed);
        w->clock_changed = false;
    }
    if (!error && per_mille(w, o->triggers))
        error = ptm_encoder_trigger(w->encoder);
    if (!error && per_mille(w, o->syncs))
        error = ptm_encoder_request_sync(w->encoder);
    if (!error && per_mille(w, o->flushes))
        error = ptm_encoder_flush(w->encoder);
    if (!error && per_mille(w, o->debugs))
        error = visit_debug_state(w);
    if (!error && w->block_start && per_mille(w, o->filters))
        error = stop_trace(w, MODE_FILTERED);
    if (!error && w->mode == MODE_TRACED && per_mille(w, o->overflows))
        error = stop_trace(w, MODE_OVERFLOW);
    return error;
}

static int between(struct random_flow_work *w)
{
    const struct random_flow_options *o = &w->options;
    int error = continue_trace(w);

    if (!error && w->mode == MODE_TRACED)
        error = traced_events(w);
    if (!error && w->security == BT_SEC_SECURE && per_mille(w, o->scr_writes)) {
        w->security = BT_SEC_NONSECURE;
        ptm_encoder_set_security(w->encoder, w->security);
    }
    if (!error && per_mille(w, o->resets))
        error = take_exception(w, EXC_RESET, w->pc);
    if (!error && per_mille(w, o->exceptions)) {
        error = take_random_exception(w);
        while (!error && percent(w, o->back_to_back))
            error = take_random_exception(w);
    }
    return error;
}

/* ---- one instruction --------------------------------------------------------------------------
 */

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

    if ((insn->flags & CODE_RETURN) && w->exception_count && percent(w, 80)) {
        const struct resume *back = &w->exceptions[--w->exception_count];
        w->security = return_security(w, back->security);
        return back->insn;
    }
    if (w->call_count && percent(w, 60)) {
        uint32_t target = w->calls[w->call_count - 1];
        if (!same_isa || w->code.insns[target].isa == insn->isa) {
            /* A branch with link to the newest return address leaves that one used up, too. */
            w->call_count--;
            return target;
        }
    }
    return random_target(w, same_isa);
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
static void tell_long_block(struct random_flow_work *w)
{
    const struct random_flow *f = w->truth.flow;
    size_t current = f->insn_count - 1;
    size_t end = current;
    uint64_t start = f->insns[w->truth.told].address;

    if (w->options.encoder.no_block_updates || w->truth.told == current ||
        f->insns[current].address - start <= 4096)
        return;
    while (f->insns[end - 1].address - start >= 4096)
        end--;
    truth_tell(&w->truth, end);
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
        tell_long_block(w);
    if (traced && waypoint) {
        truth_tell(&w->truth, w->truth.flow->insn_count);
        w->waypoint_time = w->time;
    }
    w->pc = choose_next(w, insn, pass);
    event.next = state_at(w, w->pc);
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
    bool pass = !(insn->flags & CODE_CONDITIONAL) || below(w, 2);
    unsigned exception = pass ? caused_exception(w, insn) : 0;
    unsigned cycles = below(w, 40) == 0 ? below(w, 300000) : below(w, 20);
    int error;

    w->time += cycles / 2 + 1;
    ptm_encoder_set_time(w->encoder, w->time);
    ptm_encoder_add_cycles(w->encoder, cycles);
    if (w->mode_left)
        w->mode_left--;
    if (insn->kind == CODE_BKPT) /* does not run; a debugger's handler steps over it */
        return take_exception(w, EXC_PREFETCH, w->pc + 1);
    error = run_insn(w, insn, pass);
    if (error)
        return error;
    if (exception)
        return take_exception(w, exception, w->pc);
    if (pass && (insn->kind == CODE_ISB || insn->flags & CODE_RETURN))
        return change_context(w);
    return 0;
}

static int run(struct random_flow_work *w, struct random_flow *f)
{
    int error;

    w->pc = random_target(w, false);
    w->time = trace_random_next(&w->random) >> below(w, 40);
    ptm_encoder_set_time(w->encoder, w->time);
    if (w->options.security)
        w->security = below(w, 2) ? BT_SEC_SECURE : BT_SEC_NONSECURE;
    w->block_start = true;
    error = start_trace(w, w->options.debugs && below(w, 4) == 0 ? 3 : 1);
    while (!error && !w->error && f->insn_count < w->options.instructions) {
        error = between(w);
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
    ptm_encoder_observe(w->encoder, observe, w);
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
