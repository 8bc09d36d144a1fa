/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/random_etmv1.h"

#include <limits.h>
#include <stdlib.h>

#define VECTOR_RESET          0
#define VECTOR_UNDEFINED      1
#define VECTOR_SWI            2
#define VECTOR_PREFETCH_ABORT 3
#define VECTOR_DATA_ABORT     4
#define VECTOR_IRQ            6
#define VECTOR_FIQ            7

enum mode { MODE_ON, MODE_FILTERED, MODE_OVERFLOW, MODE_DEBUG };

struct random_etmv1_work {
    struct random_etmv1 *flow;
    struct random_etmv1_options options;
    struct trace_random random;
    struct etmv1_encoder *encoder;
    uint32_t pc; /* index of the next instruction */
    enum mode mode;
    unsigned mode_left;
    uint32_t gap;     /* where trace stopped */
    uint32_t last;    /* index of the newest instruction */
    bool last_aborts; /* it is a data instruction that may be aborted, and open */
    uint32_t context_id;
    uint32_t shown_context_id;
    bool context_shown;
    uint32_t transfer_address;
    unsigned quiet; /* instructions until the next trigger */
};

void random_etmv1_default_options(struct random_etmv1_options *o)
{
    *o = (struct random_etmv1_options){.instructions = 2000,
                                       .thumb = true,
                                       .selected_percent = 80,
                                       .waits = 200,
                                       .exceptions = 20,
                                       .filters = 5,
                                       .overflows = 4,
                                       .debugs = 3,
                                       .context_ids = 5,
                                       .triggers = 2,
                                       .syncs = 2};
    etmv1_encoder_default_options(&o->encoder);
}

static uint32_t below(struct random_etmv1_work *w, uint32_t limit)
{
    return trace_random_below(&w->random, limit);
}

static bool per_mille(struct random_etmv1_work *w, unsigned chance)
{
    return chance && below(w, 1000) < chance;
}

static struct etmv1_place place(const struct random_etmv1_work *w, uint32_t index)
{
    const struct arm5_insn *i = &w->flow->code.insns[index];

    return (struct etmv1_place){.address = i->address, .isa = (enum bt_isa)i->isa};
}

static uint32_t target(struct random_etmv1_work *w, const struct arm5_insn *i)
{
    const struct arm5_code *c = &w->flow->code;
    unsigned isa = i && (i->flags & ARM5_SAME_ISA) ? i->isa == BT_ISA_T32 : below(w, 2);

    if (c->target_count[isa] == 0)
        isa = !isa;
    return c->targets[isa][below(w, c->target_count[isa])];
}

/* What the packets tell. */

static uint32_t context_mask(const struct random_etmv1_work *w)
{
    static const uint32_t masks[] = {0, 0xff, 0xffff, 0xffffffff};
    unsigned protocol = w->options.encoder.etmccr >> 28;

    return protocol < 2 ? 0 : masks[w->options.encoder.etmcr >> 14 & 3];
}

static void show_context(struct random_etmv1_work *w)
{
    uint32_t value = w->context_id & context_mask(w);

    if (!context_mask(w) || (w->context_shown && value == w->shown_context_id))
        return;
    port_truth_event(&w->flow->truth, BT_EVENT_CONTEXT)->event.u.context.id = value;
    w->shown_context_id = value;
    w->context_shown = true;
}

static void observe(void *context, const struct etmv1_model_cycle *cycle)
{
    struct random_etmv1_work *w = context;
    struct random_etmv1 *f = w->flow;

    f->statuses[cycle->apo ? ETMV1_MODEL_WT : cycle->status]++;
    f->abandoned += cycle->abandons;
    if (!cycle->branch)
        return;
    f->reasons[cycle->reason]++;
    f->address_bytes[cycle->bytes]++;
    f->offsets[cycle->offset]++;
    if (cycle->reason == 4)
        show_context(w);
}

static bool traces(const struct random_etmv1_work *w, uint32_t bit)
{
    return w->options.encoder.etmcr & bit;
}

static uint32_t random_value(struct random_etmv1_work *w, unsigned bytes)
{
    uint32_t value = (uint32_t)trace_random_next(&w->random);

    value >>= below(w, 32);
    return bytes == 4 ? value : value & ((1u << 8 * bytes) - 1);
}

/* What one transfer looks like; those behind the first have no address of their own. */
static void describe(struct random_etmv1_work *w, const struct arm5_insn *i, unsigned n,
                     const struct etmv1_model_access *a)
{
    struct port_truth *t = &w->flow->truth;

    if (!traces(w, ETMV1_MODEL_CR_DATA_VALUE) && (a->cprt || n > 0))
        return;
    struct port_truth_event *e = port_truth_event(t, BT_EVENT_DATA);
    e->owner = t->insn_count - 1;
    e->event.u.data.bytes = i->bytes;
    if ((i->flags & ARM5_STORE) || ((i->flags & ARM5_SWAP) && n == 1))
        e->event.u.data.store = true;
    if (traces(w, ETMV1_MODEL_CR_DATA_ADDRESS) && !a->cprt) {
        e->event.u.data.has_address = true;
        e->event.u.data.address = a->address;
    }
    if (traces(w, ETMV1_MODEL_CR_DATA_VALUE)) {
        e->event.u.data.has_value = true;
        e->event.u.data.value = a->value;
    }
}

static int access_data(struct random_etmv1_work *w, const struct arm5_insn *i)
{
    bool cprt = i->flags & ARM5_CPRT;
    uint32_t far = (uint32_t)trace_random_next(&w->random);

    w->transfer_address += below(w, 64);
    w->transfer_address ^= far >> (below(w, 3) ? 24 : below(w, 24));
    w->transfer_address &= ~(i->bytes - 1u);
    bool selected = cprt ? traces(w, ETMV1_MODEL_CR_CPRT)
                         : trace_random_percent(&w->random, w->options.selected_percent);
    if (!selected || w->mode != MODE_ON ||
        !traces(w, ETMV1_MODEL_CR_DATA_VALUE | ETMV1_MODEL_CR_DATA_ADDRESS))
        return 0;
    for (unsigned n = 0; n < i->transfers; n++) {
        struct etmv1_model_access a = {.address = w->transfer_address,
                                       .value = random_value(w, i->bytes),
                                       .size = i->bytes,
                                       .cprt = cprt};
        a.address += i->flags & ARM5_SWAP ? 0 : n * i->bytes;
        int error = etmv1_encoder_data(w->encoder, &a);
        if (error)
            return error;
        describe(w, i, n, &a);
    }
    return 0;
}

/* `resume`: index of the preferred return. */
static int exception(struct random_etmv1_work *w, unsigned vector, bool own, uint32_t resume)
{
    static const uint16_t numbers[ARM5_VECTORS] = {8, 9, 10, 11, 12, 0, 14, 15};
    const struct etmv1_place to = place(w, vector);
    struct port_truth *t = &w->flow->truth;
    /* What the open instruction tells comes first, unless it is the one that branches. */
    int error = own ? 0 : etmv1_encoder_wait(w->encoder, 0);

    w->pc = vector;
    w->last_aborts = false;
    if (error)
        return error;
    if (w->mode == MODE_ON) {
        struct port_truth_event *e = port_truth_event(t, BT_EVENT_EXCEPTION);
        e->event.u.exception.number = numbers[vector];
        e->event.u.exception.vector = to.address;
        e->event.u.exception.has_return = true;
        e->event.u.exception.return_address = w->flow->code.insns[resume].address;
    }
    return etmv1_encoder_exception(w->encoder, own, &to);
}

static int step(struct random_etmv1_work *w)
{
    struct port_truth *t = &w->flow->truth;
    const struct arm5_insn *i = &w->flow->code.insns[w->pc];
    bool pass = !(i->flags & ARM5_CONDITIONAL) || below(w, 2);
    uint32_t at = w->pc, next = at + 1;

    if (pass && i->kind == ARM5_DIRECT)
        next = i->target;
    else if (pass && i->kind == ARM5_INDIRECT)
        next = target(w, i);
    const struct etmv1_insn insn = {
        .at = place(w, at), .opcode = i->opcode, .pass = pass, .next = place(w, next)};
    int error = etmv1_encoder_insn(w->encoder, &insn);
    if (error)
        return error;
    port_truth_insn(t, i, pass);
    w->mode == MODE_ON ? port_truth_report(t) : port_truth_skip(t, t->insn_count);
    w->pc = next;
    w->last = at;
    w->last_aborts = pass && i->transfers && !(i->flags & ARM5_CPRT) && w->mode == MODE_ON;
    if (pass && i->transfers)
        error = access_data(w, i);
    if (!error && pass && i->kind == ARM5_SWI)
        return exception(w, VECTOR_SWI, true, next);
    if (!error && pass && i->kind == ARM5_UNDEFINED)
        return exception(w, VECTOR_UNDEFINED, true, at);
    return error;
}

/* Beside instructions. */

static int start(struct random_etmv1_work *w, unsigned reason)
{
    const struct etmv1_place next = place(w, w->pc);
    struct port_truth *t = &w->flow->truth;
    int error = 0;

    port_truth_skip(t, t->insn_count);
    w->mode = MODE_ON;
    w->last_aborts = false;
    if (reason == 2 && below(w, 3) == 0) { /* speculative: replaced at once */
        const struct etmv1_place other = place(w, target(w, NULL));
        error = etmv1_encoder_restart(w->encoder, &other);
    }
    port_truth_trace_on(t, reason, next.address, t->insn_count - 1, &w->gap);
    show_context(w);
    if (error)
        return error;
    if (reason == 2)
        return etmv1_encoder_restart(w->encoder, &next);
    return reason == 3 ? etmv1_encoder_debug_exit(w->encoder, &next)
                       : etmv1_encoder_trace_on(w->encoder, &next);
}

static int stop(struct random_etmv1_work *w, enum mode mode)
{
    int error;

    if (mode == MODE_DEBUG)
        error = etmv1_encoder_debug_entry(w->encoder);
    else if (mode == MODE_FILTERED)
        error = etmv1_encoder_trace_off(w->encoder);
    else
        error = etmv1_encoder_overflow(w->encoder, UINT_MAX);
    w->mode = mode;
    w->mode_left = 1 + below(w, 30);
    w->gap = w->flow->code.insns[w->pc].address;
    return error;
}

static int interrupt(struct random_etmv1_work *w)
{
    static const unsigned vectors[] = {VECTOR_IRQ, VECTOR_IRQ, VECTOR_FIQ, VECTOR_RESET,
                                       VECTOR_PREFETCH_ABORT};

    if (w->last_aborts && below(w, 2)) {
        port_truth_drop_data(&w->flow->truth, w->flow->truth.insn_count - 1);
        return exception(w, VECTOR_DATA_ABORT, true, w->last);
    }
    return exception(w, vectors[below(w, 5)], false, w->pc);
}

static int trigger(struct random_etmv1_work *w)
{
    int error = etmv1_encoder_wait(w->encoder, 0);

    w->last_aborts = false;
    if (error || w->quiet)
        return error;
    w->quiet = 20;
    port_truth_event(&w->flow->truth, BT_EVENT_TRIGGER);
    etmv1_encoder_trigger(w->encoder);
    return 0;
}

static int pause(struct random_etmv1_work *w)
{
    w->last_aborts = false;
    return etmv1_encoder_wait(w->encoder, below(w, 12));
}

static int between(struct random_etmv1_work *w)
{
    const struct random_etmv1_options *o = &w->options;
    int error = 0;

    if (w->quiet)
        w->quiet--;
    if (w->mode != MODE_ON && --w->mode_left == 0)
        error = start(w, (unsigned)w->mode);
    if (!error && per_mille(w, o->exceptions))
        error = interrupt(w);
    if (!error && per_mille(w, o->waits))
        error = pause(w);
    if (!error && per_mille(w, o->triggers))
        error = trigger(w);
    if (!error && per_mille(w, o->context_ids)) {
        error = pause(w); /* the open instruction still has the old one */
        w->context_id = (uint32_t)trace_random_next(&w->random);
        etmv1_encoder_set_context_id(w->encoder, w->context_id);
    }
    if (!error && per_mille(w, o->syncs))
        etmv1_encoder_request_sync(w->encoder);
    if (error || w->mode != MODE_ON)
        return error;
    if (per_mille(w, o->filters))
        return stop(w, MODE_FILTERED);
    if (per_mille(w, o->overflows))
        return stop(w, MODE_OVERFLOW);
    return per_mille(w, o->debugs) ? stop(w, MODE_DEBUG) : 0;
}

int random_etmv1_init(struct random_etmv1 *f, uint64_t seed, const struct random_etmv1_options *o)
{
    struct random_etmv1_work *w = calloc(1, sizeof *w);
    int error;

    *f = (struct random_etmv1){.work = w};
    if (!w)
        return BT_ERR_NOMEM;
    w->flow = f;
    w->options = *o;
    w->options.encoder.seed = seed;
    w->random.state = seed;
    error = arm5_code_init(&f->code, o->thumb, o->high_vectors, &w->random);
    if (error)
        return error;
    w->encoder = etmv1_encoder_new(&w->options.encoder, &f->trace);
    if (!w->encoder)
        return BT_ERR_INVAL;
    etmv1_encoder_observe(w->encoder, observe, w);
    w->pc = target(w, NULL);
    error = start(w, 1);
    while (!error && f->truth.insn_count < o->instructions) {
        error = between(w);
        if (!error)
            error = step(w);
    }
    return error ? error : etmv1_encoder_finish(w->encoder);
}

void random_etmv1_release(struct random_etmv1 *f)
{
    if (f->work)
        etmv1_encoder_free(f->work->encoder);
    free(f->work);
    arm5_code_release(&f->code);
    port_truth_release(&f->truth);
    trace_bytes_release(&f->trace);
    *f = (struct random_etmv1){0};
}
