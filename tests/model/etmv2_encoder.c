/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv2 model, upper half: what each event of the program flow makes the trace unit send. */
#include "etmv2_encoder.h"

#include <stdlib.h>

#include "etmv2_encoder_state.h"

#define CONTINUES       0x80 /* C bit of a header */
#define BRANCH_BYTES    5
#define FIFO_MIN        24
#define FIFO_MAX        111 /* more is no TFO value in every cycle-accurate form */
#define HEADER_CONTEXT  0x6e
#define IDR_MAJOR(idr)  ((idr) >> 8 & 0xf)
#define CR_PORT_SIZE(c) ((c) >> 4 & 7)

void etmv2_encoder_default_options(struct etmv2_encoder_options *o)
{
    *o = (struct etmv2_encoder_options){.etmcr = ETMV2_MODEL_CR_PORT(1),
                                        .etmidr = ETMV2_MODEL_IDR_V21,
                                        .seed = 1,
                                        .layout = PORT_MODEL_CYCLES,
                                        .sync_period = 1024,
                                        .fifo_size = 64,
                                        .tfo4_extra = 1};
}

static bool options_valid(const struct etmv2_encoder_options *o)
{
    if (IDR_MAJOR(o->etmidr) != 1 || CR_PORT_SIZE(o->etmcr) > 2)
        return false;
    if (o->fifo_size < FIFO_MIN || o->fifo_size > FIFO_MAX)
        return false;
    return o->tfo4_extra == 1 || o->tfo4_extra == 2;
}

struct etmv2_encoder *etmv2_encoder_new(const struct etmv2_encoder_options *o,
                                        struct trace_bytes *out)
{
    static const unsigned context_id_bytes[] = {0, 1, 2, 4};

    if (!options_valid(o))
        return NULL;
    struct etmv2_encoder *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->options = *o;
    e->random.state = o->seed;
    port_model_init(&e->port, 4u << CR_PORT_SIZE(o->etmcr), o->layout, out);
    e->context_id_bytes = context_id_bytes[o->etmcr >> 14 & 3];
    e->data_value = o->etmcr & ETMV2_MODEL_CR_DATA_VALUE;
    e->data_address = o->etmcr & ETMV2_MODEL_CR_DATA_ADDRESS;
    e->cprt = o->etmcr & ETMV2_MODEL_CR_CPRT;
    e->broadcast = o->etmcr & ETMV2_MODEL_CR_BROADCAST;
    e->cycle_accurate = o->etmcr & ETMV2_MODEL_CR_CYCLE_ACCURATE;
    return e;
}

void etmv2_encoder_free(struct etmv2_encoder *e)
{
    free(e);
}

static bool percent(struct etmv2_encoder *e, unsigned chance)
{
    return trace_random_percent(&e->random, chance);
}

static unsigned extra_bytes(struct etmv2_encoder *e)
{
    return percent(e, e->options.longer_percent) ? 1 + trace_random_below(&e->random, 4) : 0;
}

static void put_open_branch(struct etmv2_encoder *e, struct etmv2_open_cycle *c)
{
    if (c->size)
        c->group[c->last_header] |= CONTINUES;
    c->size += etmv2_put_branch(c->group + c->size, &e->base, &c->branch, c->branch_cancel,
                                extra_bytes(e));
    e->packets[ETMV2_MODEL_BRANCH]++;
}

/* A periodic TFO takes the place of an IE that has no packets (IHI 0014Q 6.5). */
static bool becomes_tfo(const struct etmv2_encoder *e, const struct etmv2_open_cycle *c)
{
    return e->sync_due && !e->sync_missed && c->insn && c->status == ETMV2_MODEL_IE &&
           c->size == 0 && !c->branch_due;
}

static int close_open(struct etmv2_encoder *e)
{
    struct etmv2_open_cycle c = e->open;

    if (!c.valid)
        return 0;
    e->open.valid = false;
    if (becomes_tfo(e, &c))
        return etmv2_tfo(e, ETMV2_REASON_PERIODIC, &c.at, NULL, 1);
    if (c.branch_due)
        put_open_branch(e, &c);
    const struct etmv2_out_cycle out = {.status = c.status,
                                        .insns = (uint8_t)(c.status & ETMV2_MODEL_PT ? 2 : c.insn),
                                        .group = c.group,
                                        .size = c.size};
    return etmv2_cycle(e, &out);
}

static void open_insn(struct etmv2_encoder *e, const struct etmv2_place *at, unsigned status)
{
    e->open = (struct etmv2_open_cycle){
        .valid = true, .status = (uint8_t)status, .insn = true, .at = *at};
}

static void open_wait(struct etmv2_encoder *e)
{
    e->open = (struct etmv2_open_cycle){.valid = true, .status = ETMV2_MODEL_WT};
}

/* The folded branch runs alone after all. */
static void unfold(struct etmv2_encoder *e)
{
    if (!e->folded)
        return;
    e->folded = false;
    open_insn(e, &e->folded_at, e->folded_taken ? ETMV2_MODEL_IE : ETMV2_MODEL_IN);
}

/* Everything of the last instruction goes out, with its late branch address. */
static int commit(struct etmv2_encoder *e)
{
    unfold(e);
    int error = close_open(e);
    if (error || !e->late_due)
        return error;
    e->late_due = false;
    open_wait(e);
    e->open.branch_due = true;
    e->open.branch_cancel = e->late_cancel;
    e->open.branch = e->late;
    return close_open(e);
}

int etmv2_reserve(struct etmv2_encoder *e, unsigned size)
{
    unfold(e);
    if (e->open.valid && e->open.size + size > e->options.fifo_size - BRANCH_BYTES) {
        if (e->open.branch_due) {
            e->late_due = true;
            e->late_cancel = e->open.branch_cancel;
            e->late = e->open.branch;
            e->open.branch_due = false;
        }
        int error = close_open(e);
        if (error)
            return error;
    }
    if (!e->open.valid && e->on)
        open_wait(e);
    return 0;
}

int etmv2_add(struct etmv2_encoder *e, enum etmv2_model_kind kind, const uint8_t *bytes,
              unsigned size)
{
    int error = etmv2_reserve(e, size);
    struct etmv2_open_cycle *c = &e->open;

    if (error || !c->valid)
        return error;
    if (c->size)
        c->group[c->last_header] |= CONTINUES;
    c->last_header = c->size;
    for (unsigned i = 0; i < size; i++)
        c->group[c->size++] = bytes[i];
    e->packets[kind]++;
    return 0;
}

static void note_busy(struct etmv2_encoder *e, const struct etmv2_insn *insn)
{
    if (insn->in_progress) {
        e->busy = true;
        e->busy_overtaken = false;
        e->busy_at = insn->at;
    } else if (e->busy) {
        e->busy_overtaken = true;
    }
}

/* Two sync periods without an IE: an overflow, by definition (IHI 0014Q 6.5). */
static int serve_missed_sync(struct etmv2_encoder *e, const struct etmv2_place *at)
{
    if (!e->sync_missed || e->busy)
        return 0;
    int error = etmv2_encoder_overflow(e);
    return error ? error : etmv2_encoder_restart(e, at, false);
}

static int trace_insn(struct etmv2_encoder *e, const struct etmv2_insn *insn,
                      enum waypoint_class cls)
{
    unsigned status = insn->pass ? ETMV2_MODEL_IE : ETMV2_MODEL_IN;
    bool direct = cls == WAYPOINT_DIRECT;
    bool packet = insn->pass && (cls == WAYPOINT_INDIRECT || (direct && e->broadcast));
    bool second = e->folded;

    if (second) {
        status |= e->folded_taken ? ETMV2_MODEL_PT : ETMV2_MODEL_PN;
        e->folded = false;
    } else if (direct && !packet && !e->sync_due && percent(e, e->options.phantom_percent)) {
        e->folded = true;
        e->folded_taken = insn->pass;
        e->folded_at = insn->at;
        return 0;
    }
    open_insn(e, &insn->at, status);
    if (packet && percent(e, e->options.late_percent)) {
        e->late_due = true;
        e->late_cancel = false;
        e->late = insn->next;
    } else if (packet) {
        e->open.branch_due = true;
        e->open.branch = insn->next;
    }
    return 0;
}

int etmv2_encoder_insn(struct etmv2_encoder *e, const struct etmv2_insn *insn)
{
    enum waypoint_class cls =
        arm5_classify(&e->previous, insn->at.isa, insn->opcode, insn->at.address);
    int error = 0;

    if (e->on && !e->folded)
        error = commit(e);
    if (!error && e->on && e->sync_missed) {
        error = commit(e);
        if (!error && e->on)
            error = serve_missed_sync(e, &insn->at);
    }
    if (!error && e->on)
        error = trace_insn(e, insn, cls);
    else if (!error)
        error = etmv2_idle(e);
    note_busy(e, insn);
    return error;
}

/* Exceptions, Debug state, filter, overflow. */

int etmv2_encoder_exception(struct etmv2_encoder *e, bool cancel, const struct etmv2_place *vector)
{
    int error;

    if (cancel && vector->isa != BT_ISA_A32)
        return BT_ERR_INVAL;
    if (!e->on)
        return etmv2_idle(e);
    unfold(e);
    if (!e->open.valid || e->open.branch_due || e->late_due ||
        !percent(e, e->options.exception_percent)) {
        error = commit(e);
        if (error || !e->on)
            return error;
        open_wait(e);
    }
    e->open.branch_due = true;
    e->open.branch_cancel = cancel;
    e->open.branch = *vector;
    return close_open(e);
}

static int start_trace(struct etmv2_encoder *e, unsigned reason, const struct etmv2_place *next,
                       bool executing)
{
    int error;

    if (e->on) {
        e->off_due = false;
        return 0;
    }
    if (e->overflowed && reason == ETMV2_REASON_TRACE_ON)
        reason = ETMV2_REASON_OVERFLOW; /* takes precedence (10) */
    e->overflowed = false;
    e->on = true;
    e->data_full = true;
    e->data_begun = false;
    if (!e->busy)
        return etmv2_tfo(e, reason, next, NULL, 0);
    if (executing)
        return etmv2_tfo(e, reason, &e->busy_at, next, 0);
    error = etmv2_tfo(e, reason, &e->busy_at, NULL, 0);
    if (error)
        return error;
    open_insn(e, &e->busy_at, ETMV2_MODEL_IE);
    e->open.branch_due = e->busy_overtaken;
    e->open.branch = *next;
    return 0;
}

static int stop_trace(struct etmv2_encoder *e)
{
    int error = commit(e);

    e->on = false;
    e->off_due = false;
    return error;
}

int etmv2_encoder_debug_entry(struct etmv2_encoder *e)
{
    e->busy = false;
    return e->on ? stop_trace(e) : 0;
}

int etmv2_encoder_debug_exit(struct etmv2_encoder *e, const struct etmv2_place *restart)
{
    return start_trace(e, ETMV2_REASON_DEBUG_EXIT, restart, false);
}

int etmv2_encoder_trace_off(struct etmv2_encoder *e)
{
    if (!e->on)
        return 0;
    e->off_due = e->busy;
    return e->busy ? 0 : stop_trace(e);
}

int etmv2_encoder_trace_on(struct etmv2_encoder *e, const struct etmv2_place *next, bool executing)
{
    return start_trace(e, ETMV2_REASON_TRACE_ON, next, executing);
}

int etmv2_encoder_overflow(struct etmv2_encoder *e)
{
    etmv2_lose(e);
    return 0;
}

static int drain_fifo(struct etmv2_encoder *e)
{
    int error = 0;

    while (!error && (!port_model_empty(&e->port) || e->show_count))
        error = etmv2_idle(e);
    return error;
}

int etmv2_encoder_restart(struct etmv2_encoder *e, const struct etmv2_place *next, bool executing)
{
    int error = drain_fifo(e);

    return error ? error : start_trace(e, ETMV2_REASON_OVERFLOW, next, executing);
}

int etmv2_encoder_data_done(struct etmv2_encoder *e)
{
    e->busy = false;
    return e->off_due ? stop_trace(e) : 0;
}

int etmv2_encoder_wait(struct etmv2_encoder *e, unsigned cycles)
{
    int error;

    unfold(e);
    error = close_open(e);
    while (!error && cycles-- > 0)
        error = etmv2_idle(e);
    return error;
}

int etmv2_encoder_set_context_id(struct etmv2_encoder *e, uint32_t value)
{
    uint8_t packet[ETMV2_PACKET_MAX] = {HEADER_CONTEXT};

    e->context_id = value;
    if (!e->on || e->context_id_bytes == 0)
        return 0;
    unsigned size = 1 + etmv2_put_word(packet + 1, value, e->context_id_bytes);
    return etmv2_add(e, ETMV2_MODEL_CONTEXT_ID, packet, size);
}

void etmv2_encoder_trigger(struct etmv2_encoder *e)
{
    e->trigger_due = true;
}

void etmv2_encoder_request_sync(struct etmv2_encoder *e)
{
    e->sync_due = true;
    e->data_full = true;
    e->since_sync = 0;
}

int etmv2_encoder_drain(struct etmv2_encoder *e)
{
    int error = commit(e);

    return error ? error : drain_fifo(e);
}

int etmv2_encoder_finish(struct etmv2_encoder *e)
{
    int error = etmv2_encoder_drain(e);

    return error ? error : port_model_finish(&e->port, ETMV2_MODEL_TD);
}

bool etmv2_encoder_tracing(const struct etmv2_encoder *e)
{
    return e->on;
}

bool etmv2_encoder_tag_out(const struct etmv2_encoder *e, unsigned tag)
{
    return tag > 0 && tag < ETMV2_MODEL_TAGS && e->tags[tag] == ETMV2_TAG_OUT;
}

uint64_t etmv2_encoder_packets(const struct etmv2_encoder *e, enum etmv2_model_kind kind)
{
    return e->packets[kind];
}

uint64_t etmv2_encoder_statuses(const struct etmv2_encoder *e, unsigned status)
{
    return e->statuses[status & 15];
}

void etmv2_encoder_observe(struct etmv2_encoder *e, etmv2_cycle_observer observer, void *context)
{
    e->observer = observer;
    e->observer_context = context;
}
