/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The board's ETMv4. */
#include "board_model.h"

#include <stdlib.h>

#include "drivers/virtual/encoder/etmv4_encoder.h"
#include "drivers/virtual/encoder/waypoint.h"

#define TYPE_DEBUG_A 1
#define TYPE_DEBUG_M 24
#define CONFIG_DATA  0x00036006u /* INSTP0, Q elements, data trace */
#define CONFIG_COND  0x00000700u

/* The encoder, and what it has to be told at its own pace. */
struct unit {
    struct etmv4_encoder *encoder;
    struct etmv4_context context;
    uint32_t context_id; /* as written: it counts from the next P0 element on */
    unsigned debug_type; /* of an exception: entry to Debug state */
    uint64_t syncs;      /* A-syncs that have a timestamp */
    bool stamps;
};

static struct etmv4_place board_etmv4_place_of(const struct board_state *s)
{
    return (struct etmv4_place){s->address, s->isa};
}

static void board_etmv4_set_context(struct unit *u, const struct board_state *s)
{
    u->context.context_id = u->context_id;
    u->context.level = s->level;
    u->context.ns = s->security == BT_SEC_NONSECURE;
    etmv4_encoder_set_context(u->encoder, &u->context);
}

/* The unit tells the time behind a synchronisation, an exception and an ISB. */
static int stamp(struct unit *u, bool now)
{
    uint64_t syncs = etmv4_encoder_packets(u->encoder, ETMV4_SENT_ASYNC);

    now |= syncs != u->syncs;
    u->syncs = syncs;
    return u->stamps && now ? etmv4_encoder_request_timestamp(u->encoder) : 0;
}

static enum etmv4_special special_of(const struct board_step *step)
{
    if (step->exception_return)
        return ETMV4_EXCEPTION_RETURN;
    return step->function_return ? ETMV4_FUNCTION_RETURN : ETMV4_BRANCH;
}

/*
 * SG is no P0 instruction, and what it changes is told before the next one. Taken for so:
 * IHI 0064H.b says nothing about it.
 */
static bool is_gate(const struct unit *u, const struct board_step *step)
{
    return step->insn->cls == WAYPOINT_NONE && u->context.ns &&
           step->next.security == BT_SEC_SECURE;
}

static int board_etmv4_insn(void *model, const struct board_step *step)
{
    const struct board_insn *i = step->insn;
    const struct etmv4_insn ran = {.at = {i->address, (enum bt_isa)i->isa},
                                   .opcode = i->opcode,
                                   .taken = step->pass,
                                   .special = special_of(step),
                                   .next = board_etmv4_place_of(&step->next)};
    struct unit *u = model;
    int result = etmv4_encoder_insn(u->encoder, &ran);

    if (result == ETMV4_TRACED_P0 || is_gate(u, step))
        board_etmv4_set_context(u, &step->next);
    if (result >= 0 && (i->cls == WAYPOINT_ISB || result == ETMV4_TRACED_P0))
        result = stamp(u, i->cls == WAYPOINT_ISB && step->pass);
    return result;
}

static int board_etmv4_exception(void *model, const struct board_exception *x)
{
    const struct etmv4_exception taken = {.type = x->number,
                                          .no_return = x->chained,
                                          .preferred = board_etmv4_place_of(&x->preferred),
                                          .vector = board_etmv4_place_of(&x->vector)};
    struct unit *u = model;
    int result = etmv4_encoder_exception(u->encoder, &taken);

    board_etmv4_set_context(u, &x->vector);
    return result < 0 ? result : stamp(u, true);
}

static int board_etmv4_start(void *model, const struct board_state *next, enum board_start reason)
{
    const struct etmv4_place at = board_etmv4_place_of(next);
    struct unit *u = model;

    (void)reason; /* told by the packets before it */
    board_etmv4_set_context(u, next);
    return etmv4_encoder_trace_on(u->encoder, &at);
}

static int board_etmv4_stop(void *model)
{
    return etmv4_encoder_trace_off(((struct unit *)model)->encoder);
}

static int board_etmv4_overflow(void *model)
{
    return etmv4_encoder_overflow(((struct unit *)model)->encoder);
}

/* Debug state is an exception that has no handler, and is not traced. */
static int board_etmv4_debug_entry(void *model, const struct board_state *here)
{
    struct unit *u = model;
    const struct etmv4_exception halt = {.type = u->debug_type,
                                         .preferred = board_etmv4_place_of(here),
                                         .vector = board_etmv4_place_of(here)};
    int result = etmv4_encoder_exception(u->encoder, &halt);

    return result < 0 ? result : etmv4_encoder_trace_off(u->encoder);
}

static int board_etmv4_context_id(void *model, uint32_t value)
{
    struct unit *u = model;

    u->context_id = value;
    return 0;
}

static int board_etmv4_pass_time(void *model, uint64_t cycles, uint64_t now)
{
    struct unit *u = model;

    etmv4_encoder_add_cycles(u->encoder, cycles);
    etmv4_encoder_set_time(u->encoder, now);
    return 0;
}

static int board_etmv4_flush(void *model)
{
    return etmv4_encoder_flush(((struct unit *)model)->encoder);
}

static int board_etmv4_sync_now(void *model)
{
    etmv4_encoder_request_sync(((struct unit *)model)->encoder);
    return 0;
}

static void board_etmv4_release(void *model)
{
    struct unit *u = model;

    etmv4_encoder_free(u->encoder);
    free(u);
}

static const struct board_model_ops ops = {.etmv4 = true,
                                           .insn = board_etmv4_insn,
                                           .exception = board_etmv4_exception,
                                           .start = board_etmv4_start,
                                           .stop = board_etmv4_stop,
                                           .overflow = board_etmv4_overflow,
                                           .debug_entry = board_etmv4_debug_entry,
                                           .context_id = board_etmv4_context_id,
                                           .time = board_etmv4_pass_time,
                                           .flush = board_etmv4_flush,
                                           .sync = board_etmv4_sync_now,
                                           .release = board_etmv4_release};

/* Everything that the protocol leaves to the implementation, in its most irregular form. */
static void be_irregular(struct etmv4_encoder_options *o, unsigned percent)
{
    o->flush_percent = percent;
    o->longer_percent = percent;
    o->repeat_percent = percent;
    o->zero_percent = percent;
    o->ignore_percent = percent;
    o->source_percent = percent;
    o->count_known_percent = percent;
    if (o->idr8) {
        o->wrong_percent = percent;
        o->mispredict_percent = percent;
    }
}

int board_etmv4_init(struct board_model *m, const struct board_options *o, struct trace_bytes *out)
{
    struct etmv4_encoder_options options;
    struct unit *u;

    if (o->trcconfigr & (CONFIG_DATA | CONFIG_COND))
        return -1;
    etmv4_encoder_default_options(&options);
    options.configr = o->trcconfigr;
    options.devarch = o->trcdevarch;
    options.idr0 = o->trcidr0;
    options.idr2 = o->trcidr2;
    options.idr8 = o->trcidr8;
    options.ccctlr = o->trcccctlr;
    options.m_profile = o->profile == BOARD_PROFILE_M;
    options.return_stack_depth = o->return_stack;
    options.sync_period = o->trcsyncpr ? 1u << o->trcsyncpr : 0;
    options.commit_percent = 30;
    if (o->irregular)
        be_irregular(&options, o->irregular);
    u = calloc(1, sizeof *u);
    if (!u)
        return -1;
    u->encoder = etmv4_encoder_new(&options, out);
    u->debug_type = options.m_profile ? TYPE_DEBUG_M : TYPE_DEBUG_A;
    u->stamps = o->trcconfigr & ETMV4_CONFIG_TIMESTAMP;
    *m = (struct board_model){.ops = &ops, .model = u};
    if (u->encoder)
        return 0;
    free(u);
    m->model = NULL;
    return -1;
}
