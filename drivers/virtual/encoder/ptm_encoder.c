/* SPDX-License-Identifier: BSD-3-Clause */
/* PTM model, upper half: what each event of the program flow makes the trace unit send. */
#include "drivers/virtual/encoder/ptm_encoder.h"

#include <stdlib.h>

#include "drivers/virtual/encoder/waypoint.h"
#include "ptm_encoder_state.h"

#define EXCEPTION_RESET 8
#define EXCEPTION_MAX   511
#define BLOCK_LIMIT     4096 /* bytes of a block that need no waypoint update */

#define REASON_PERIODIC   0
#define REASON_TRACE_ON   1
#define REASON_OVERFLOW   2
#define REASON_DEBUG_EXIT 3

#define IDR_MINOR(idr)         ((idr) >> 4 & 0xf)
#define IDR_T32_WHOLE          (1u << 18)
#define CR_CONTEXT_ID_SIZE(cr) ((cr) >> 14 & 3)

void ptm_encoder_default_options(struct ptm_encoder_options *o)
{
    *o = (struct ptm_encoder_options){.etmidr = PTM_IDR_A15,
                                      .etmccer = PTM_CCER_A15,
                                      .seed = 1,
                                      .return_stack_depth = PTM_RETURN_STACK_MAX,
                                      .sync_period = 1024,
                                      .zeros_min = 5,
                                      .zeros_max = 5,
                                      .atoms_max = 5};
}

static bool ptm_encoder_options_valid(const struct ptm_encoder_options *o)
{
    if (o->return_stack_depth < 1 || o->return_stack_depth > PTM_RETURN_STACK_MAX)
        return false;
    if (o->atoms_max < 1 || o->atoms_max > 5)
        return false;
    if (o->zeros_min < 5 || o->zeros_max < o->zeros_min || o->zeros_max > 64)
        return false;
    if ((o->etmcr & PTM_CR_RETURN_STACK) && (o->etmcr & PTM_CR_BROADCAST))
        return false;
    return o->etmidr & IDR_T32_WHOLE;
}

struct ptm_encoder *ptm_encoder_new(const struct ptm_encoder_options *o, struct trace_bytes *out)
{
    static const unsigned context_id_bytes[] = {0, 1, 2, 4};

    if (!ptm_encoder_options_valid(o))
        return NULL;
    struct ptm_encoder *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->options = *o;
    e->out = out;
    e->random.state = o->seed;
    e->context_id_bytes = context_id_bytes[CR_CONTEXT_ID_SIZE(o->etmcr)];
    e->cycle_accurate = o->etmcr & PTM_CR_CYCLE_ACCURATE;
    e->v11 = IDR_MINOR(o->etmidr) >= 1;
    e->broadcast = o->etmcr & PTM_CR_BROADCAST;
    e->return_stack = o->etmcr & PTM_CR_RETURN_STACK;
    e->trace_vmid = e->v11 && (o->etmcr & PTM_CR_VMID) && (o->etmccer & PTM_CCER_VIRTUALIZATION);
    e->timestamps = o->etmcr & PTM_CR_TIMESTAMP;
    e->timestamp_wide = e->v11 && (o->etmccer & PTM_CCER_TIMESTAMP_64);
    e->timestamp_gray = !(e->v11 && (o->etmccer & PTM_CCER_BINARY_TIME));
    e->timestamp_full = true;
    return e;
}

void ptm_encoder_free(struct ptm_encoder *e)
{
    free(e);
}

static int start_sync(struct ptm_encoder *e)
{
    int error = ptm_out_flush(e);

    if (!error)
        error = ptm_out_async(e);
    e->isync_due = e->on;
    e->isync_wait = trace_random_below(&e->random, e->options.isync_delay + 1);
    return error;
}

/* At a boundary: the packets of a synchronisation that are due, in their order. */
static int serve_sync(struct ptm_encoder *e)
{
    int error = 0;

    if (!e->on)
        return 0;
    if (e->options.sync_period && !e->isync_due && e->bytes_since_async >= e->options.sync_period)
        error = start_sync(e);
    if (error)
        return error;
    if (e->isync_due) {
        if (e->isync_wait-- > 0)
            return 0;
        error = ptm_out_isync(e, REASON_PERIODIC, &e->next);
        e->tsync_due = e->timestamps;
        e->tsync_wait = trace_random_below(&e->random, e->options.isync_delay + 1);
        if (error)
            return error;
    }
    if (e->tsync_due) {
        if (e->tsync_wait-- > 0)
            return 0;
        e->tsync_due = false;
        e->timestamp_full = true;
        return ptm_out_timestamp(e, false);
    }
    return 0;
}

int ptm_encoder_request_sync(struct ptm_encoder *e)
{
    int error = start_sync(e);

    if (!error && e->on && !e->in_block && e->isync_wait == 0)
        error = serve_sync(e);
    return error;
}

static void enter_block(struct ptm_encoder *e, const struct ptm_state *next)
{
    e->next = *next;
    e->in_block = false;
    e->block_start = (uint32_t)next->address;
}

/* After a waypoint or exception has been traced. */
static int finish_boundary(struct ptm_encoder *e, bool want_timestamp)
{
    int error = 0;

    if (e->context_id_due)
        error = ptm_out_context_id(e);
    if (!error && e->vmid_due)
        error = ptm_out_vmid(e);
    if (!error && want_timestamp && e->timestamps && !e->options.no_auto_timestamps)
        error = ptm_out_timestamp(e, false);
    if (!error)
        error = serve_sync(e);
    return error;
}

static int ptm_encoder_start_trace(struct ptm_encoder *e, const struct ptm_state *next,
                                   unsigned reason)
{
    e->on = true;
    e->security = next->security;
    e->waypoint_time = e->time;
    enter_block(e, next);
    return ptm_out_isync(e, reason, next);
}

/*
 * A block that runs past its limit: name the last instruction below it, so that a decoder never has
 * to walk further (IHI 0035B 4.5.5). The place is the implementation's choice.
 */
static int limit_block(struct ptm_encoder *e, const struct ptm_insn *insn)
{
    uint32_t distance = (uint32_t)insn->address - e->block_start;

    if (!e->in_block || e->options.no_block_updates || distance <= BLOCK_LIMIT)
        return 0;
    int error = ptm_out_update(e, &e->limit);
    e->in_block = e->newest.address != e->limit.address;
    e->block_start = e->limit_end;
    e->limit = e->newest;
    e->limit_end = (uint32_t)insn->address;
    return error;
}

static int run_non_waypoint(struct ptm_encoder *e, const struct ptm_insn *insn, unsigned size)
{
    e->in_block = true;
    e->newest = (struct ptm_place){.address = (uint32_t)insn->address, .isa = insn->isa};
    if (e->newest.address - e->block_start < BLOCK_LIMIT) {
        e->limit = e->newest;
        e->limit_end = e->newest.address + size;
    }
    return PTM_TRACED_NOT_YET;
}

/* An indirect branch goes where the newest return address says, in an unchanged state. */
static bool return_predicted(const struct ptm_encoder *e, const struct ptm_state *target)
{
    if (!e->return_stack || e->stack_count == 0)
        return false;
    const struct ptm_state *top = &e->stack[e->stack_count - 1];
    return top->address == target->address && top->isa == target->isa &&
           top->security == target->security && target->security == e->security &&
           target->security == e->last.security;
}

static void push_return(struct ptm_encoder *e, const struct ptm_insn *insn, unsigned size)
{
    unsigned depth = e->options.return_stack_depth;

    if (!e->return_stack)
        return;
    if (e->stack_count == depth) {
        for (unsigned i = 1; i < depth; i++)
            e->stack[i - 1] = e->stack[i];
        e->stack_count--;
    }
    e->stack[e->stack_count++] = (struct ptm_state){
        .address = (uint32_t)(insn->address + size), .isa = insn->isa, .security = e->security};
}

/* Atom or branch packet of a waypoint. Returns enum ptm_traced_as or an error. */
static int trace_waypoint(struct ptm_encoder *e, const struct ptm_insn *insn,
                          const struct waypoint *w)
{
    bool packet = e->broadcast;
    int error;

    if (!insn->pass) {
        error = ptm_out_atom(e, true);
        return error ? error : PTM_TRACED_ATOM;
    }
    if (w->cls == WAYPOINT_INDIRECT) {
        packet = !return_predicted(e, &insn->next);
        if (!packet)
            e->stack_count--;
    } else if (w->cls == WAYPOINT_DIRECT) {
        packet = packet || insn->next.security != e->last.security;
    }
    error = packet ? ptm_out_branch(e, &insn->next, 0) : ptm_out_atom(e, false);
    if (error)
        return error;
    if (w->link)
        push_return(e, insn, w->size);
    return packet ? PTM_TRACED_BRANCH : PTM_TRACED_ATOM;
}

static bool is_waypoint(const struct ptm_encoder *e, const struct waypoint *w)
{
    if (w->cls == WAYPOINT_BARRIER)
        return e->options.etmccer & PTM_CCER_DMB_DSB;
    return w->cls != WAYPOINT_NONE;
}

static bool wants_timestamp(const struct ptm_encoder *e, const struct ptm_insn *insn,
                            const struct waypoint *w)
{
    if (!insn->pass)
        return false;
    if (w->cls == WAYPOINT_BARRIER)
        return e->options.etmccer & PTM_CCER_DMB_DSB_TIME;
    return w->cls == WAYPOINT_ISB || (e->v11 && w->exception_return);
}

int ptm_encoder_insn(struct ptm_encoder *e, const struct ptm_insn *insn)
{
    struct waypoint w;
    int result, error;

    if (!e->on) {
        e->security = insn->next.security;
        return PTM_TRACED_NOTHING;
    }
    waypoint_classify(insn->isa, insn->opcode, insn->address, &w);
    error = limit_block(e, insn);
    if (error)
        return error;
    bool want_timestamp = wants_timestamp(e, insn, &w);
    if (!is_waypoint(e, &w)) {
        e->security = insn->next.security;
        result = run_non_waypoint(e, insn, w.size);
        if (want_timestamp && e->timestamps && !e->options.no_auto_timestamps)
            error = ptm_out_timestamp(e, false);
        return error ? error : result;
    }
    e->waypoint_time = e->time;
    result = trace_waypoint(e, insn, &w);
    if (result < 0)
        return result;
    e->security = insn->next.security;
    enter_block(e, &insn->next);
    if (insn->next.isa == BT_ISA_JAZELLE)
        e->on = false;
    if (insn->pass && w.exception_return && e->v11)
        error = ptm_out_single(e, PTM_PACKET_EXCEPTION_RETURN, 0x76);
    if (!error)
        error = finish_boundary(e, want_timestamp);
    return error ? error : result;
}

/* Exceptions, Debug state, filter, overflow. */

/* What ran since the last boundary, when something other than a waypoint ends it. */
static int upgrade(struct ptm_encoder *e)
{
    int error = e->in_block ? ptm_out_update(e, &e->newest) : 0;

    e->in_block = false;
    return error;
}

int ptm_encoder_exception(struct ptm_encoder *e, unsigned number, const struct ptm_state *vector)
{
    int error = 0;

    if (number < 2 || number > EXCEPTION_MAX)
        return BT_ERR_INVAL;
    if (e->on) {
        e->waypoint_time = e->time;
        if (number != EXCEPTION_RESET)
            error = upgrade(e);
        if (!error)
            error = ptm_out_branch(e, vector, number);
        enter_block(e, vector);
    }
    e->security = vector->security;
    if (!error && e->on)
        error = finish_boundary(e, e->v11);
    return error;
}

int ptm_encoder_debug_entry(struct ptm_encoder *e)
{
    int error;

    if (!e->on)
        return 0;
    e->waypoint_time = e->time;
    error = upgrade(e);
    if (!error)
        error = ptm_out_debug(e);
    e->on = false;
    return error;
}

int ptm_encoder_debug_exit(struct ptm_encoder *e, const struct ptm_state *restart)
{
    return ptm_encoder_start_trace(e, restart, REASON_DEBUG_EXIT);
}

int ptm_encoder_trace_off(struct ptm_encoder *e)
{
    int error = ptm_out_flush(e);

    e->on = false;
    e->in_block = false;
    return error;
}

int ptm_encoder_trace_on(struct ptm_encoder *e, const struct ptm_state *next)
{
    return ptm_encoder_start_trace(e, next, REASON_TRACE_ON);
}

int ptm_encoder_overflow(struct ptm_encoder *e)
{
    e->atom_count = 0;
    e->atoms = 0;
    e->on = false;
    e->in_block = false;
    return 0;
}

int ptm_encoder_restart(struct ptm_encoder *e, const struct ptm_state *next)
{
    return ptm_encoder_start_trace(e, next, REASON_OVERFLOW);
}

int ptm_encoder_set_context_id(struct ptm_encoder *e, uint32_t value)
{
    e->context_id = value;
    if (e->on && !e->in_block)
        return ptm_out_context_id(e);
    e->context_id_due = true;
    return 0;
}

int ptm_encoder_set_vmid(struct ptm_encoder *e, uint8_t value)
{
    e->vmid = value;
    if (e->on && !e->in_block)
        return ptm_out_vmid(e);
    e->vmid_due = true;
    return 0;
}

void ptm_encoder_set_security(struct ptm_encoder *e, enum bt_security security)
{
    e->security = security;
    e->next.security = security;
}

void ptm_encoder_set_time(struct ptm_encoder *e, uint64_t time)
{
    e->time = time;
}

int ptm_encoder_request_timestamp(struct ptm_encoder *e, bool clock_changed)
{
    return e->timestamps ? ptm_out_timestamp(e, clock_changed) : 0;
}

void ptm_encoder_add_cycles(struct ptm_encoder *e, uint64_t cycles)
{
    e->cycles += cycles;
}

int ptm_encoder_trigger(struct ptm_encoder *e)
{
    return ptm_out_single(e, PTM_PACKET_TRIGGER, 0x0c);
}

int ptm_encoder_ignore(struct ptm_encoder *e)
{
    return ptm_out_single(e, PTM_PACKET_IGNORE, 0x66);
}

int ptm_encoder_flush(struct ptm_encoder *e)
{
    return ptm_out_flush(e);
}

unsigned ptm_encoder_pending_atoms(const struct ptm_encoder *e)
{
    return e->atom_count;
}

bool ptm_encoder_at_boundary(const struct ptm_encoder *e)
{
    return !e->in_block;
}

uint64_t ptm_encoder_packets(const struct ptm_encoder *e, enum ptm_packet_kind kind)
{
    return e->packets[kind];
}

uint32_t ptm_encoder_last_count(const struct ptm_encoder *e)
{
    return e->last_count;
}

void ptm_encoder_observe(struct ptm_encoder *e, ptm_packet_observer observer, void *context)
{
    e->observer = observer;
    e->observer_context = context;
}
