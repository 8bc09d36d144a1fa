/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The board's MTB: packets of two words, where the PC went, from where (DDI 0486B chapter 3). What
 * comes out are the packets alone: buffer and registers are those of whoever takes them.
 *
 * Known difference from silicon: of EXC_RETURN only the upper bits are those of the core.
 */
#include "board_model.h"

#include "drivers/virtual/encoder/waypoint.h"

#include <stdlib.h>

#define EXC_RETURN 0xfffffff8u
#define FNC_RETURN 0xfefffffeu
#define NOT_RUN    1u /* of the source: an exception, or a debugger, came before it */
#define FIRST      1u /* of the destination: trace was off before */

struct board_mtb {
    struct trace_bytes *out;
    uint32_t pseudo; /* went to the PC, and what comes in its place is not told yet; else 0 */
    uint32_t halted; /* where Debug state began */
    uint32_t first;  /* FIRST, or 0 */
};

static int board_mtb_packet(struct board_mtb *m, uint32_t source, uint32_t destination)
{
    const uint32_t words[2] = {source, (destination & ~FIRST) | m->first};
    uint8_t bytes[8];

    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
    m->first = 0;
    return trace_bytes_append(m->out, bytes, sizeof bytes);
}

/* The second half of a return. */
static int board_mtb_returned(struct board_mtb *m, uint64_t to)
{
    uint32_t from = m->pseudo;

    m->pseudo = 0;
    return board_mtb_packet(m, from | NOT_RUN, (uint32_t)to);
}

static int board_mtb_insn(void *model, const struct board_step *step)
{
    struct board_mtb *m = model;
    uint32_t at = (uint32_t)step->insn->address;
    bool branch = step->insn->cls == WAYPOINT_DIRECT || step->insn->cls == WAYPOINT_INDIRECT;
    int error;

    if (!branch || !step->pass)
        return 0;
    if (!step->exception_return && !step->function_return)
        return board_mtb_packet(m, at, (uint32_t)step->next.address);
    m->pseudo = step->exception_return ? EXC_RETURN : FNC_RETURN;
    error = board_mtb_packet(m, at, m->pseudo);
    return error || step->preempted ? error : board_mtb_returned(m, step->next.address);
}

static int board_mtb_exception(void *model, const struct board_exception *x)
{
    struct board_mtb *m = model;

    if (m->pseudo)
        return board_mtb_returned(m, x->vector.address);
    return board_mtb_packet(m, (uint32_t)x->preferred.address | NOT_RUN,
                            (uint32_t)x->vector.address);
}

static int board_mtb_start(void *model, const struct board_state *next, enum board_start reason)
{
    struct board_mtb *m = model;

    m->pseudo = 0;
    if (reason != BOARD_START_DEBUG_EXIT)
        m->first = FIRST;
    else if (next->address != m->halted && !m->first)
        return board_mtb_packet(m, m->halted | NOT_RUN, (uint32_t)next->address);
    return 0;
}

static int board_mtb_stop(void *model)
{
    ((struct board_mtb *)model)->first = FIRST;
    return 0;
}

/* It has no FIFO. */
static int board_mtb_overflow(void *model)
{
    return board_mtb_stop(model);
}

static int board_mtb_debug_entry(void *model, const struct board_state *here)
{
    ((struct board_mtb *)model)->halted = (uint32_t)here->address;
    return 0;
}

static int board_mtb_context_id(void *model, uint32_t value)
{
    (void)model, (void)value;
    return 0;
}

static int board_mtb_time(void *model, uint64_t cycles, uint64_t now)
{
    (void)model, (void)cycles, (void)now;
    return 0;
}

static int board_mtb_nothing(void *model)
{
    (void)model;
    return 0;
}

static const struct board_model_ops ops = {.insn = board_mtb_insn,
                                           .exception = board_mtb_exception,
                                           .start = board_mtb_start,
                                           .stop = board_mtb_stop,
                                           .overflow = board_mtb_overflow,
                                           .debug_entry = board_mtb_debug_entry,
                                           .context_id = board_mtb_context_id,
                                           .time = board_mtb_time,
                                           .flush = board_mtb_nothing,
                                           .sync = board_mtb_nothing,
                                           .release = free};

int board_mtb_init(struct board_model *m, struct trace_bytes *out)
{
    struct board_mtb *model = calloc(1, sizeof *model);

    if (model)
        *model = (struct board_mtb){.out = out, .first = FIRST};
    *m = (struct board_model){.ops = &ops, .model = model};
    return model ? 0 : -1;
}
