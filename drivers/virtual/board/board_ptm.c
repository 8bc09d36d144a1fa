/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The board's PTM. */
#include "board_model.h"

#include "drivers/virtual/encoder/ptm_encoder.h"

static struct ptm_state translate(const struct board_state *s)
{
    return (struct ptm_state){(uint32_t)s->address, s->isa, s->security};
}

static int board_ptm_insn(void *model, const struct board_step *step)
{
    const struct ptm_insn ran = {.address = step->insn->address,
                                 .isa = (enum bt_isa)step->insn->isa,
                                 .opcode = step->insn->opcode,
                                 .pass = step->pass,
                                 .next = translate(&step->next)};

    return ptm_encoder_insn(model, &ran);
}

/* A PTM tells of instructions only when they have completed: there is nothing to cancel. */
static int board_ptm_exception(void *model, const struct board_exception *x)
{
    const struct ptm_state to = translate(&x->vector);

    return ptm_encoder_exception(model, x->number, &to);
}

static int board_ptm_start(void *model, const struct board_state *next, enum board_start reason)
{
    const struct ptm_state to = translate(next);

    switch (reason) {
    case BOARD_START_DEBUG_EXIT:
        return ptm_encoder_debug_exit(model, &to);
    case BOARD_START_OVERFLOW:
        return ptm_encoder_restart(model, &to);
    default:
        return ptm_encoder_trace_on(model, &to);
    }
}

static int board_ptm_stop(void *model)
{
    return ptm_encoder_trace_off(model);
}

static int board_ptm_overflow(void *model)
{
    return ptm_encoder_overflow(model);
}

static int board_ptm_debug_entry(void *model, const struct board_state *here)
{
    (void)here;
    return ptm_encoder_debug_entry(model);
}

static int board_ptm_context_id(void *model, uint32_t value)
{
    return ptm_encoder_set_context_id(model, value);
}

static int board_ptm_pass_time(void *model, uint64_t cycles, uint64_t now)
{
    ptm_encoder_add_cycles(model, cycles);
    ptm_encoder_set_time(model, now);
    return 0;
}

static int board_ptm_flush(void *model)
{
    return ptm_encoder_flush(model);
}

static int board_ptm_sync_now(void *model)
{
    return ptm_encoder_request_sync(model);
}

static void board_ptm_release(void *model)
{
    ptm_encoder_free(model);
}

static const struct board_model_ops ops = {.insn = board_ptm_insn,
                                           .exception = board_ptm_exception,
                                           .start = board_ptm_start,
                                           .stop = board_ptm_stop,
                                           .overflow = board_ptm_overflow,
                                           .debug_entry = board_ptm_debug_entry,
                                           .context_id = board_ptm_context_id,
                                           .time = board_ptm_pass_time,
                                           .flush = board_ptm_flush,
                                           .sync = board_ptm_sync_now,
                                           .release = board_ptm_release};

int board_ptm_init(struct board_model *m, const struct board_options *o, struct trace_bytes *out)
{
    struct ptm_encoder_options options;

    ptm_encoder_default_options(&options);
    options.etmcr = o->etmcr;
    options.etmidr = o->etmidr;
    options.etmccer = o->etmccer;
    options.sync_period = o->etmsyncfr;
    options.return_stack_depth = o->return_stack;
    *m = (struct board_model){.ops = &ops, .model = ptm_encoder_new(&options, out)};
    return m->model ? 0 : -1;
}
