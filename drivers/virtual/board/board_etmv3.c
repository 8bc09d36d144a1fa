/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The board's ETMv3. */
#include "board_model.h"

#include "drivers/virtual/encoder/etmv3_encoder.h"

static struct etmv3_state translate(const struct board_state *s)
{
    return (struct etmv3_state){(uint32_t)s->address, s->isa, s->security};
}

static int board_etmv3_insn(void *model, const struct board_step *step)
{
    const struct etmv3_insn ran = {.address = step->insn->address,
                                   .isa = (enum bt_isa)step->insn->isa,
                                   .opcode = step->insn->opcode,
                                   .pass = step->pass,
                                   .next = translate(&step->next),
                                   .exception_return = step->exception_return,
                                   .preempted = step->preempted};

    return etmv3_encoder_insn(model, &ran);
}

static int access_data(void *model, const struct board_access *a, bool first)
{
    const struct etmv3_access access = {.address = a->address, .size = a->size, .first = first};

    return etmv3_encoder_data(model, &access);
}

static int board_etmv3_exception(void *model, const struct board_exception *x)
{
    const struct etmv3_exception taken = {.number = x->number, .cancel = x->cancel};
    const struct etmv3_state to = translate(&x->vector);

    return etmv3_encoder_exception(model, &taken, &to);
}

static int board_etmv3_start(void *model, const struct board_state *next, enum board_start reason)
{
    const struct etmv3_state to = translate(next);

    switch (reason) {
    case BOARD_START_DEBUG_EXIT:
        return etmv3_encoder_debug_exit(model, &to);
    case BOARD_START_OVERFLOW:
        return etmv3_encoder_restart(model, &to, false);
    default:
        return etmv3_encoder_trace_on(model, &to, false);
    }
}

static int board_etmv3_stop(void *model)
{
    return etmv3_encoder_trace_off(model);
}

static int board_etmv3_overflow(void *model)
{
    return etmv3_encoder_overflow(model);
}

static int board_etmv3_debug_entry(void *model, const struct board_state *here)
{
    (void)here;
    return etmv3_encoder_debug_entry(model, true, false);
}

static int board_etmv3_context_id(void *model, uint32_t value)
{
    return etmv3_encoder_set_context_id(model, value);
}

static int board_etmv3_pass_time(void *model, uint64_t cycles, uint64_t now)
{
    etmv3_encoder_set_time(model, now);
    return etmv3_encoder_add_cycles(model, cycles);
}

static int board_etmv3_flush(void *model)
{
    return etmv3_encoder_flush(model);
}

static int board_etmv3_sync_now(void *model)
{
    return etmv3_encoder_request_sync(model);
}

static void board_etmv3_release(void *model)
{
    etmv3_encoder_free(model);
}

static const struct board_model_ops ops = {.each = true,
                                           .insn = board_etmv3_insn,
                                           .access = access_data,
                                           .exception = board_etmv3_exception,
                                           .start = board_etmv3_start,
                                           .stop = board_etmv3_stop,
                                           .overflow = board_etmv3_overflow,
                                           .debug_entry = board_etmv3_debug_entry,
                                           .context_id = board_etmv3_context_id,
                                           .time = board_etmv3_pass_time,
                                           .flush = board_etmv3_flush,
                                           .sync = board_etmv3_sync_now,
                                           .release = board_etmv3_release};

/* Everything that the protocol leaves to the implementation, in its most irregular form. */
static void be_irregular(struct etmv3_encoder_options *o, unsigned percent)
{
    o->packing = ETMV3_PACK_RANDOM;
    o->isync_delay = 20;
    o->zeros_max = 9;
    o->longer_percent = percent;
    o->ignore_percent = percent;
    o->late_percent = percent;
    o->count_percent = percent;
    o->count_delay = 20;
}

int board_etmv3_init(struct board_model *m, const struct board_options *o, struct trace_bytes *out)
{
    struct etmv3_encoder_options options;

    /* QEMU tells addresses, but not what was read or written there. */
    if (o->etmcr & (ETMV3_CR_DATA_VALUE | ETMV3_CR_DATA_ONLY | ETMV3_CR_CPRT))
        return -1;
    /* The units of these cores have no data trace, and nothing here knows their pushes. */
    if (o->profile == BOARD_PROFILE_M && o->etmcr & ETMV3_CR_DATA_ADDRESS)
        return -1;
    etmv3_encoder_default_options(&options);
    options.etmcr = o->etmcr;
    options.etmidr = o->etmidr;
    options.etmccer = o->etmccer;
    options.m_profile = o->profile == BOARD_PROFILE_M;
    options.sync_period = o->etmsyncfr;
    options.blx_packets = o->blx_packets;
    if (o->irregular)
        be_irregular(&options, o->irregular);
    *m = (struct board_model){.ops = &ops, .model = etmv3_encoder_new(&options, out)};
    return m->model ? 0 : -1;
}
