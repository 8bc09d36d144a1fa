/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv3 model, upper half: what each event of the program flow makes the trace unit send. */
#include "drivers/virtual/encoder/etmv3_encoder.h"

#include <stdlib.h>

#include "drivers/virtual/encoder/waypoint.h"
#include "etmv3_encoder_state.h"

#define EXCEPTION_DEBUG 1

#define REASON_TRACE_ON   1
#define REASON_OVERFLOW   2
#define REASON_DEBUG_EXIT 3

#define IDR_MINOR(idr)         ((idr) >> 4 & 0xf)
#define CR_CONTEXT_ID_SIZE(cr) ((cr) >> 14 & 3)

void etmv3_encoder_default_options(struct etmv3_encoder_options *o)
{
    *o = (struct etmv3_encoder_options){.etmidr = ETMV3_IDR_A7,
                                        .etmccer = ETMV3_CCER_A7,
                                        .seed = 1,
                                        .sync_period = 1024,
                                        .zeros_min = 5,
                                        .zeros_max = 5,
                                        .packing = ETMV3_PACK_DENSE};
}

static bool etmv3_encoder_options_valid(const struct etmv3_encoder_options *o)
{
    if (o->zeros_min < 5 || o->zeros_max < o->zeros_min || o->zeros_max > 64)
        return false;
    return IDR_MINOR(o->etmidr) <= 5 && o->packing <= ETMV3_PACK_RANDOM;
}

static void set_features(struct etmv3_encoder *e)
{
    static const unsigned context_id_bytes[] = {0, 1, 2, 4};
    const struct etmv3_encoder_options *o = &e->options;

    e->minor = IDR_MINOR(o->etmidr);
    e->context_id_bytes = context_id_bytes[CR_CONTEXT_ID_SIZE(o->etmcr)];
    e->data_only = e->minor >= 1 && (o->etmcr & ETMV3_CR_DATA_ONLY);
    e->cycle_accurate = (o->etmcr & ETMV3_CR_CYCLE_ACCURATE) && !e->data_only;
    e->alternative = e->minor >= 4 && (o->etmidr & ETMV3_IDR_ALTERNATIVE);
    e->data_address = o->etmcr & ETMV3_CR_DATA_ADDRESS;
    e->data_value = o->etmcr & ETMV3_CR_DATA_VALUE;
    e->has_info = e->minor >= 2;
    e->has_security = e->minor >= 2 && (o->etmidr & ETMV3_IDR_SECURITY);
    e->has_alt = e->minor >= 3;
    e->has_format4 = e->minor >= 3;
    e->has_hyp = e->minor >= 5 && (o->etmccer & ETMV3_CCER_VIRTUALIZATION);
    e->trace_vmid = e->has_hyp && (o->etmcr & ETMV3_CR_VMID);
    e->timestamps = e->minor >= 5 && (o->etmcr & ETMV3_CR_TIMESTAMP);
    e->timestamp_wide = o->etmccer & ETMV3_CCER_TIMESTAMP_64;
    e->timestamp_gray = !(o->etmccer & ETMV3_CCER_BINARY_TIME);
    e->timestamp_full = true;
    e->data_full = true;
}

struct etmv3_encoder *etmv3_encoder_new(const struct etmv3_encoder_options *o,
                                        struct trace_bytes *out)
{
    if (!etmv3_encoder_options_valid(o))
        return NULL;
    struct etmv3_encoder *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->options = *o;
    e->out = out;
    e->random.state = o->seed;
    set_features(e);
    return e;
}

void etmv3_encoder_free(struct etmv3_encoder *e)
{
    free(e);
}

int etmv3_branch_flush(struct etmv3_encoder *e)
{
    int error = 0;

    if (!e->branch_due)
        return 0;
    e->branch_due = false;
    if (e->branch_computed && !e->branch_resume)
        error = etmv3_out_detour(e, &e->branch_target);
    return error ? error : etmv3_out_branch(e, &e->branch_target, NULL, e->branch_resume);
}

static int report_branch(struct etmv3_encoder *e, const struct etmv3_insn *insn, bool computed)
{
    e->branch_due = true;
    e->branch_target = insn->next;
    e->branch_resume = insn->resume;
    e->branch_computed = computed;
    return trace_random_percent(&e->random, e->options.late_percent) ? 0 : etmv3_branch_flush(e);
}

static void classify_bytecode(const struct etmv3_insn *insn, struct waypoint *w)
{
    uint32_t code = insn->opcode;

    /* if<cond>, if_icmp<cond>, if_acmp<cond>, goto, jsr; ifnull, ifnonnull, goto_w, jsr_w */
    if ((code >= 0x99 && code <= 0xa8) || (code >= 0xc6 && code <= 0xc9))
        w->cls = WAYPOINT_DIRECT;
    /* ret, tableswitch, lookupswitch, returns; invocations */
    else if ((code >= 0xa9 && code <= 0xb1) || (code >= 0xb6 && code <= 0xb9))
        w->cls = WAYPOINT_INDIRECT;
    if (insn->next.isa != BT_ISA_JAZELLE)
        w->cls = WAYPOINT_INDIRECT;
}

/* Atoms of an instruction. Returns their number or an error. */
static int etmv3_encoder_add_atoms(struct etmv3_encoder *e, const struct etmv3_insn *insn,
                                   const struct waypoint *w)
{
    bool pair = insn->isa != BT_ISA_A32 && w->size == 4 && w->link && w->cls == WAYPOINT_DIRECT &&
                !(e->options.etmidr & ETMV3_IDR_T32_WHOLE);
    int error = etmv3_atom_add(e, !insn->pass);

    if (error || !pair)
        return error ? error : 1;
    if (e->cycle_accurate) {
        e->idle++;
        e->cycles++;
    }
    error = etmv3_atom_add(e, !insn->pass);
    return error ? error : 2;
}

static int end_of_branch(struct etmv3_encoder *e, const struct etmv3_insn *insn,
                         const struct waypoint *w)
{
    bool packet = w->cls == WAYPOINT_INDIRECT;
    bool is_return = e->options.m_profile ? insn->exception_return && e->minor >= 4
                                          : w->exception_return && e->minor >= 5;
    int error = 0;

    if (w->cls == WAYPOINT_DIRECT)
        packet = (e->options.etmcr & ETMV3_CR_BROADCAST) ||
                 (e->options.blx_packets && w->target_isa != insn->isa);
    if (packet && is_return)
        error = etmv3_out_single(e, ETMV3_PACKET_EXCEPTION_RETURN, 0x76);
    e->preempted = packet && is_return && insn->preempted;
    if (!error && packet && !e->preempted)
        error = report_branch(e, insn, w->cls == WAYPOINT_INDIRECT);
    if (!error && packet && is_return && e->timestamps && !e->options.no_auto_timestamps)
        error = etmv3_out_timestamp(e, false);
    return error;
}

/* Where trace begins. */

static int begin_region(struct etmv3_encoder *e, unsigned reason, const struct etmv3_state *next,
                        const struct etmv3_state *executing)
{
    int error = etmv3_out_isync(e, reason, next, executing);

    e->cycles = 0;
    e->data_full = true;
    e->data_begun = false;
    /* An overflow loses what placeholders stand for; other gaps do not. */
    for (unsigned tag = 1; reason == REASON_OVERFLOW && tag < ETMV3_TAGS; tag++)
        if (e->tags[tag] == ETMV3_TAG_OUT)
            e->tags[tag] = ETMV3_TAG_ORPHAN;
    return error;
}

static int etmv3_encoder_start_trace(struct etmv3_encoder *e, const struct etmv3_state *next,
                                     unsigned reason, bool executing)
{
    int error;

    e->on = true;
    e->preempted = false;
    e->branch_due = false;
    e->next = *next;
    e->security = next->security;
    if (!e->busy || e->data_only)
        return begin_region(e, reason, next, NULL);
    if (executing)
        return begin_region(e, reason, &e->busy_insn, next);
    error = begin_region(e, reason, &e->busy_insn, NULL);
    if (!error && (!e->busy_overtaken || e->options.gap_atom))
        error = etmv3_atom_add(e, false);
    if (!error && e->busy_overtaken)
        error = etmv3_out_branch(e, next, NULL, 0);
    return error;
}

static void stop_trace(struct etmv3_encoder *e)
{
    e->on = false;
    e->branch_due = false;
    e->preempted = false;
    etmv3_atoms_drop(e);
}

/* Many idle cycles may be told as a gap. */
static int report_long_idle(struct etmv3_encoder *e, const struct etmv3_insn *insn)
{
    const struct etmv3_state here = {
        .address = insn->address, .isa = insn->isa, .security = e->security};
    uint64_t idle = e->idle;
    int error = 0;

    if (e->busy || e->options.gap_cycles == 0 || idle < e->options.gap_cycles)
        return 0;
    e->idle = 0;
    error = etmv3_atoms_flush(e, false);
    e->gap = idle;
    return error ? error : begin_region(e, REASON_TRACE_ON, &here, NULL);
}

static void note_busy(struct etmv3_encoder *e, const struct etmv3_insn *insn)
{
    if (e->busy)
        e->busy_overtaken = true;
    if (!insn->in_progress)
        return;
    e->busy = true;
    e->busy_overtaken = false;
    e->busy_insn =
        (struct etmv3_state){.address = insn->address, .isa = insn->isa, .security = e->security};
}

static int trace_insn(struct etmv3_encoder *e, const struct etmv3_insn *insn)
{
    struct waypoint w;
    int error = etmv3_branch_flush(e);
    int count = 0;

    if (!error)
        error = report_long_idle(e, insn);
    if (error)
        return error;
    waypoint_classify(insn->isa, insn->opcode, insn->address, &w);
    if (insn->isa == BT_ISA_JAZELLE)
        classify_bytecode(insn, &w);
    count = etmv3_encoder_add_atoms(e, insn, &w);
    if (count < 0)
        return count;
    e->next = insn->next;
    e->security = insn->next.security;
    if (insn->pass)
        error = end_of_branch(e, insn, &w);
    return error ? error : count;
}

int etmv3_encoder_insn(struct etmv3_encoder *e, const struct etmv3_insn *insn)
{
    int count = 0;

    note_busy(e, insn);
    if (e->on && !e->data_only)
        count = trace_insn(e, insn);
    e->next = insn->next;
    e->security = insn->next.security;
    if (count < 0)
        return count;
    int error = etmv3_sync_serve(e);
    return error ? error : count;
}

void etmv3_encoder_data_done(struct etmv3_encoder *e)
{
    e->busy = false;
}

/* Exceptions, Debug state, filter, overflow. */

static bool exception_valid(const struct etmv3_encoder *e, unsigned number,
                            const struct etmv3_state *vector)
{
    if (e->options.m_profile)
        return number >= 1 && number <= 511;
    if (!e->has_info)
        return vector->isa == BT_ISA_A32 && etmv3_inline_code(e, number) >= 0;
    return number >= 1 && number <= 15 && number != 6 && number != 7;
}

int etmv3_encoder_exception(struct etmv3_encoder *e, const struct etmv3_exception *x,
                            const struct etmv3_state *vector)
{
    int error = 0;

    if (!exception_valid(e, x->number, vector))
        return BT_ERR_INVAL;
    e->busy = false;
    if (e->on && !e->data_only) {
        error = etmv3_branch_flush(e);
        if (!error)
            error = etmv3_out_branch(e, vector, x, 0);
    }
    e->preempted = false;
    e->next = *vector;
    e->security = vector->security;
    return error ? error : etmv3_sync_serve(e);
}

int etmv3_encoder_exception_entry(struct etmv3_encoder *e)
{
    if (!e->on || e->data_only || !e->options.m_profile || e->minor < 4 ||
        (!e->data_address && !e->data_value))
        return 0;
    return etmv3_out_single(e, ETMV3_PACKET_EXCEPTION_ENTRY, 0x7e);
}

int etmv3_encoder_debug_entry(struct etmv3_encoder *e, bool reported, bool cancel)
{
    const struct etmv3_exception x = {.number = EXCEPTION_DEBUG, .cancel = cancel};
    int error = 0;

    e->busy = false;
    if (e->on && !e->data_only) {
        error = etmv3_branch_flush(e);
        if (!error)
            error = etmv3_atoms_flush(e, false);
        if (!error && reported && !e->options.m_profile && exception_valid(e, x.number, &e->next))
            error = etmv3_out_branch(e, &e->next, &x, 0);
    }
    stop_trace(e);
    return error;
}

int etmv3_encoder_debug_exit(struct etmv3_encoder *e, const struct etmv3_state *restart)
{
    return etmv3_encoder_start_trace(e, restart, REASON_DEBUG_EXIT, false);
}

int etmv3_encoder_trace_off(struct etmv3_encoder *e)
{
    int error = 0;

    if (e->on) {
        error = etmv3_branch_flush(e);
        if (!error)
            error = etmv3_atoms_flush(e, false);
    }
    stop_trace(e);
    return error;
}

int etmv3_encoder_trace_on(struct etmv3_encoder *e, const struct etmv3_state *next, bool executing)
{
    return etmv3_encoder_start_trace(e, next, REASON_TRACE_ON, executing);
}

int etmv3_encoder_overflow(struct etmv3_encoder *e)
{
    stop_trace(e);
    e->count_due = false;
    return 0;
}

int etmv3_encoder_restart(struct etmv3_encoder *e, const struct etmv3_state *next, bool executing)
{
    return etmv3_encoder_start_trace(e, next, REASON_OVERFLOW, executing);
}

int etmv3_encoder_set_context_id(struct etmv3_encoder *e, uint32_t value)
{
    e->context_id = value;
    return e->on ? etmv3_out_context_id(e) : 0;
}

int etmv3_encoder_set_vmid(struct etmv3_encoder *e, uint8_t value)
{
    e->vmid = value;
    return e->on ? etmv3_out_vmid(e) : 0;
}

int etmv3_encoder_set_security(struct etmv3_encoder *e, enum bt_security security)
{
    bool visible = e->has_security && security != e->security &&
                   (e->has_hyp || (security == BT_SEC_SECURE) != (e->security == BT_SEC_SECURE));
    int error = 0;

    e->security = security;
    e->next.security = security;
    if (!e->on || e->data_only || !visible)
        return 0;
    error = etmv3_branch_flush(e);
    return error ? error : etmv3_out_branch(e, &e->next, NULL, 0);
}

void etmv3_encoder_set_time(struct etmv3_encoder *e, uint64_t time)
{
    e->time = time;
}

int etmv3_encoder_request_timestamp(struct etmv3_encoder *e, bool clock_changed)
{
    return e->timestamps && e->started ? etmv3_out_timestamp(e, clock_changed) : 0;
}

int etmv3_encoder_add_cycles(struct etmv3_encoder *e, uint64_t cycles)
{
    if (e->minor == 0)
        e->since_async += cycles;
    if (!e->on) {
        e->gap += cycles;
    } else if (e->cycle_accurate) {
        e->idle += cycles;
        e->cycles += cycles;
        /* A branch packet that is late has the cycles in front of it. */
        if (e->branch_due)
            return etmv3_atoms_flush(e, trace_random_percent(&e->random, 50));
    }
    return 0;
}

int etmv3_encoder_trigger(struct etmv3_encoder *e)
{
    return etmv3_out_single(e, ETMV3_PACKET_TRIGGER, 0x0c);
}

int etmv3_encoder_ignore(struct etmv3_encoder *e)
{
    return etmv3_out_single(e, ETMV3_PACKET_IGNORE, 0x66);
}

int etmv3_encoder_flush(struct etmv3_encoder *e)
{
    int error = etmv3_branch_flush(e);

    if (!error && e->count_due)
        error = etmv3_out_cycle_count(e);
    return error ? error : etmv3_atoms_flush(e, true);
}

unsigned etmv3_encoder_pending_atoms(const struct etmv3_encoder *e)
{
    return e->atom_count;
}

uint64_t etmv3_encoder_cycles(const struct etmv3_encoder *e)
{
    return e->cycles;
}

uint64_t etmv3_encoder_packets(const struct etmv3_encoder *e, enum etmv3_packet_kind kind)
{
    return e->packets[kind];
}

void etmv3_encoder_observe(struct etmv3_encoder *e, etmv3_packet_observer observer, void *context)
{
    e->observer = observer;
    e->observer_context = context;
}
