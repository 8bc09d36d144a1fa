/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv4 model, upper half: what each event of the program flow makes the trace unit send. */
#include "drivers/virtual/encoder/etmv4_encoder.h"

#include <stdlib.h>
#include <string.h>

#include "drivers/virtual/encoder/p0_insn.h"
#include "etmv4_encoder_state.h"

#define TRACE_ON         0x04
#define FUNCTION_RETURN  0x05
#define EXCEPTION_RETURN 0x07
#define EVENT            0x70
#define EXTENSION        0x00
#define DISCARD          0x03
#define OVERFLOW         0x05

#define ATOMS_MOST         25 /* one more than a packet holds: then it is as full as can be */
#define ETE_RESET          0
#define ETE_PART           5
#define TARGET_PERCENT     70 /* of exceptions right behind a branch: one address for both */
#define DEVARCH_VERSION(d) ((d) >> 16 & 0xf)
#define DEVARCH_PART(d)    ((d) >> 12 & 0xf)
#define IDR2_CONTEXT(r)    ((r) >> 5 & 0x1f)
#define IDR2_VMID(r)       ((r) >> 10 & 0x1f)
#define IDR2_CYCLES(r)     (((r) >> 25 & 0xf) + 12)
#define ETMV4_A            0x47704a13u
#define IDR2_A53           0x00000488u
#define IDR0_A53           0x28000ea1u

void etmv4_encoder_default_options(struct etmv4_encoder_options *o)
{
    *o = (struct etmv4_encoder_options){.configr = 1,
                                        .devarch = ETMV4_A,
                                        .idr0 = IDR0_A53,
                                        .idr2 = IDR2_A53,
                                        .ccctlr = 4,
                                        .seed = 1,
                                        .return_stack_depth = ETMV4_MODEL_STACK_MAX,
                                        .sync_period = 1024,
                                        .atoms_max = ATOMS_MOST};
}

static bool etmv4_encoder_options_valid(const struct etmv4_encoder_options *o)
{
    if (o->return_stack_depth < 1 || o->return_stack_depth > ETMV4_MODEL_STACK_MAX)
        return false;
    if (o->atoms_max < 1 || o->atoms_max > ATOMS_MOST)
        return false;
    if ((o->configr & ETMV4_CONFIG_RETURN_STACK) && (o->configr & ETMV4_CONFIG_BROADCAST))
        return false;
    return !(o->m_profile && o->idr8);
}

struct etmv4_encoder *etmv4_encoder_new(const struct etmv4_encoder_options *o,
                                        struct trace_bytes *out)
{
    struct etmv4_encoder *e = etmv4_encoder_options_valid(o) ? calloc(1, sizeof *e) : NULL;

    if (!e)
        return NULL;
    e->options = *o;
    e->out = out;
    e->random.state = o->seed;
    e->ete = DEVARCH_PART(o->devarch) == ETE_PART;
    e->version = DEVARCH_VERSION(o->devarch);
    e->context_bytes = IDR2_CONTEXT(o->idr2);
    e->vmid_bytes = IDR2_VMID(o->idr2);
    e->cycle_max = ((uint64_t)1 << IDR2_CYCLES(o->idr2)) - 1;
    e->broadcast = o->configr & ETMV4_CONFIG_BROADCAST;
    e->return_stack = o->configr & ETMV4_CONFIG_RETURN_STACK;
    e->counts = o->configr & ETMV4_CONFIG_CYCLES;
    e->count_commits = !(o->idr0 & ETMV4_IDR0_COMMOPT);
    e->timestamps = o->configr & ETMV4_CONFIG_TIMESTAMP;
    e->markers = o->idr0 & ETMV4_IDR0_MARKERS;
    e->can_ignore = e->ete || e->version >= 3;
    e->wait_p0 = (o->idr2 & ETMV4_IDR2_WAIT_P0) && (e->ete || e->version >= 3);
    e->lost = true;
    return e;
}

void etmv4_encoder_free(struct etmv4_encoder *e)
{
    free(e);
}

/* Before and after a P0 element. */

static int send_byte(struct etmv4_encoder *e, enum etmv4_packet_kind kind, uint8_t byte)
{
    return etmv4_out_bytes(e, kind, &byte, 1);
}

static int sync_if_due(struct etmv4_encoder *e)
{
    bool expired =
        e->options.sync_period && e->bytes_since_async + e->atom_count > e->options.sync_period;

    return e->lost || e->sync_due || expired ? etmv4_out_sync(e) : 0;
}

static bool same_place(const struct etmv4_place *a, const struct etmv4_place *b)
{
    return a->address == b->address && a->isa == b->isa;
}

/* The return stack stands for the address: nothing is sent, and the decoder pops it, too. */
static bool popped(struct etmv4_encoder *e)
{
    if (!e->return_stack || e->no_pop || e->stack_count == 0 ||
        !same_place(&e->stack[e->stack_count - 1], &e->start))
        return false;
    if (!etmv4_out_context_sent(e, e->start.isa == BT_ISA_A64))
        return false;
    e->stack_count--;
    return true;
}

/* Tells where execution is, if that is not known. */
static int etmv4_encoder_commit(struct etmv4_encoder *e)
{
    int error = sync_if_due(e);

    if (!error && e->trace_on_due)
        error = send_byte(e, ETMV4_SENT_TRACE_ON, TRACE_ON);
    e->trace_on_due = false;
    if (error)
        return error;
    if (e->address_due) {
        if (!popped(e))
            error = etmv4_out_place(e, &e->start);
    } else {
        error = etmv4_out_context(e, e->start.isa == BT_ISA_A64);
    }
    e->address_due = e->no_pop = false;
    return error ? error : etmv4_spec_wrong_path(e);
}

static int after_p0(struct etmv4_encoder *e)
{
    int error = etmv4_out_cycles(e);

    return error ? error : etmv4_spec_commit_some(e);
}

static void push(struct etmv4_encoder *e, const struct etmv4_place *place)
{
    if (e->stack_count == e->options.return_stack_depth) {
        memmove(e->stack, e->stack + 1, sizeof *e->stack * (e->stack_count - 1));
        e->stack_count--;
    }
    e->stack[e->stack_count++] = *place;
}

static bool is_p0(const struct etmv4_encoder *e, const struct p0_insn *p)
{
    switch (p->cls) {
    case P0_DIRECT:
    case P0_INDIRECT:
    case P0_ISB:
        return true;
    case P0_WAIT:
        return e->wait_p0;
    default:
        return false;
    }
}

/*
 * A source address stands for the N atoms before it, too, if these are still held back. A queue
 * of speculated elements that was full cannot be told back.
 */
static int send_source(struct etmv4_encoder *e, const struct etmv4_place *place)
{
    if (e->options.idr8 == 0 && trace_random_below(&e->random, 2)) {
        e->atom_count -= e->straight; /* N: their bits are zero */
        e->straight = 0;
    }
    return etmv4_out_source(e, place);
}

static int send_element(struct etmv4_encoder *e, const struct etmv4_insn *insn)
{
    if (e->ete && insn->taken && trace_random_percent(&e->random, e->options.source_percent))
        return send_source(e, &insn->at);
    if (e->options.idr8 && trace_random_percent(&e->random, e->options.mispredict_percent))
        return etmv4_spec_mispredict(e, insn->taken);
    return etmv4_out_atom(e, insn->taken);
}

/* What follows the element of a taken indirect branch that is more than a branch. */
static int send_return(struct etmv4_encoder *e, const struct etmv4_insn *insn,
                       const struct p0_insn *p)
{
    if (e->options.m_profile && insn->special == ETMV4_EXCEPTION_RETURN) {
        e->no_pop = true;
        etmv4_spec_count(e);
        return send_byte(e, ETMV4_SENT_EXCEPTION_RETURN, EXCEPTION_RETURN);
    }
    if (e->options.m_profile && insn->special == ETMV4_FUNCTION_RETURN) {
        e->no_pop = true;
        etmv4_spec_count(e);
        return send_byte(e, ETMV4_SENT_FUNCTION_RETURN, FUNCTION_RETURN);
    }
    if (e->options.m_profile || !p->exception_return)
        return 0;
    e->no_pop = true;
    return e->ete ? 0 : send_byte(e, ETMV4_SENT_EXCEPTION_RETURN, EXCEPTION_RETURN);
}

static int take_branch(struct etmv4_encoder *e, const struct etmv4_insn *insn,
                       const struct p0_insn *p)
{
    const struct etmv4_place after = {insn->at.address + p->size, insn->at.isa};

    if (p->link && e->return_stack)
        push(e, &after);
    if (p->cls == P0_DIRECT && e->broadcast)
        e->address_due = e->no_pop = true;
    if (p->cls != P0_INDIRECT)
        return 0;
    e->address_due = true;
    e->no_pop = e->broadcast;
    return send_return(e, insn, p);
}

int etmv4_encoder_insn(struct etmv4_encoder *e, const struct etmv4_insn *insn)
{
    struct p0_insn p;
    int error;

    if (!e->on)
        return ETMV4_TRACED_NOTHING;
    p0_classify(insn->at.isa, insn->opcode, insn->at.address, &p);
    if (!is_p0(e, &p))
        return ETMV4_TRACED_NOT_YET;
    error = etmv4_encoder_commit(e);
    if (!error)
        error = send_element(e, insn);
    e->start = insn->next;
    e->after_branch = insn->taken && p.cls == P0_INDIRECT && insn->special == ETMV4_BRANCH;
    if (!error && insn->taken)
        error = take_branch(e, insn, &p);
    if (!error)
        error = after_p0(e);
    return error ? error : ETMV4_TRACED_P0;
}

/* What happens beside instructions. */

/* Both the branch's target and where execution stopped: one address is enough. */
static bool shares_address(struct etmv4_encoder *e, const struct etmv4_exception *x)
{
    return e->after_branch && e->address_due && !e->trace_on_due && !e->context_due &&
           same_place(&x->preferred, &e->start) && trace_random_percent(&e->random, TARGET_PERCENT);
}

int etmv4_encoder_exception(struct etmv4_encoder *e, const struct etmv4_exception *x)
{
    bool reset = e->ete && x->type == ETE_RESET; /* its packet has no address */
    bool target = !reset && !x->no_return && shares_address(e, x);
    int error = 0;

    if (!e->on)
        return 0;
    if ((!x->no_return && !target) || e->trace_on_due || e->context_due)
        error = etmv4_encoder_commit(e);
    if (!error && reset)
        error = etmv4_out_reset(e, x->type);
    else if (!error)
        error = etmv4_out_exception(e, x, target);
    e->start = x->vector;
    e->address_due = e->no_pop = true;
    e->after_branch = false;
    return error ? error : after_p0(e);
}

int etmv4_encoder_trace_off(struct etmv4_encoder *e)
{
    e->on = false;
    return etmv4_encoder_flush(e);
}

int etmv4_encoder_trace_on(struct etmv4_encoder *e, const struct etmv4_place *next)
{
    e->on = true;
    e->start = *next;
    e->address_due = e->no_pop = e->trace_on_due = true;
    e->after_branch = false;
    e->context_due = trace_random_below(&e->random, 2);
    e->stack_count = 0;
    e->cycles = 0;
    e->cycles_unknown = !trace_random_percent(&e->random, e->options.count_known_percent);
    return 0;
}

static int etmv4_encoder_lose(struct etmv4_encoder *e, enum etmv4_packet_kind kind, uint8_t second)
{
    const uint8_t bytes[2] = {EXTENSION, second};

    e->atom_count = 0;
    e->atoms = 0;
    e->straight = 0;
    e->depth = 0;
    e->on = false;
    if (e->lost)
        return 0;
    e->lost = true;
    return etmv4_out_bytes(e, kind, bytes, sizeof bytes);
}

int etmv4_encoder_overflow(struct etmv4_encoder *e)
{
    return etmv4_encoder_lose(e, ETMV4_SENT_OVERFLOW, OVERFLOW);
}

int etmv4_encoder_discard(struct etmv4_encoder *e)
{
    return etmv4_encoder_lose(e, ETMV4_SENT_DISCARD, DISCARD);
}

void etmv4_encoder_set_context(struct etmv4_encoder *e, const struct etmv4_context *context)
{
    e->context = *context;
}

void etmv4_encoder_set_time(struct etmv4_encoder *e, uint64_t time)
{
    e->time = time;
}

/* Packets that belong to no place wait for synchronisation, and are lost while there is none. */
static bool can_trace(const struct etmv4_encoder *e)
{
    return e->on || !e->lost;
}

int etmv4_encoder_request_timestamp(struct etmv4_encoder *e)
{
    if (!e->timestamps || !can_trace(e))
        return 0;
    int error = e->lost ? etmv4_out_sync(e) : 0;
    return error ? error : etmv4_out_timestamp(e);
}

void etmv4_encoder_add_cycles(struct etmv4_encoder *e, uint64_t cycles)
{
    e->cycles += cycles;
}

int etmv4_encoder_event(struct etmv4_encoder *e, unsigned mask)
{
    if (!can_trace(e))
        return 0;
    int error = e->lost ? etmv4_out_sync(e) : 0;
    return error ? error : send_byte(e, ETMV4_SENT_EVENT, (uint8_t)(EVENT | (mask & 0xf)));
}

int etmv4_encoder_instrument(struct etmv4_encoder *e, unsigned level, uint64_t value)
{
    if (!can_trace(e))
        return 0;
    int error = e->lost ? etmv4_out_sync(e) : 0;
    return error ? error : etmv4_out_instrumentation(e, level, value);
}

void etmv4_encoder_request_sync(struct etmv4_encoder *e)
{
    e->sync_due = true;
}

int etmv4_encoder_flush(struct etmv4_encoder *e)
{
    int error = etmv4_out_flush(e);

    return error ? error : etmv4_spec_commit_all(e);
}

unsigned etmv4_encoder_pending_atoms(const struct etmv4_encoder *e)
{
    return e->atom_count;
}

uint64_t etmv4_encoder_packets(const struct etmv4_encoder *e, enum etmv4_packet_kind kind)
{
    return e->packets[kind];
}

uint64_t etmv4_encoder_cycles(const struct etmv4_encoder *e)
{
    return e->cycle_sum;
}
