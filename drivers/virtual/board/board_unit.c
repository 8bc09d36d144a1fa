/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_unit.h"

#include "drivers/virtual/encoder/waypoint.h"

#define BURST    64  /* bytes that a source gives to the formatter at once */
#define PATIENCE 256 /* instructions told between two looks at a full FIFO */

int board_unit_init(struct board_unit *u, const struct board_options *o, unsigned core,
                    struct board_port *port, atomic_uint_fast64_t *clock)
{
    *u = (struct board_unit){.port = port,
                             .clock = clock,
                             .id = (uint8_t)(o->trace_id + core),
                             .filter = o->filter,
                             .split = !o->irregular,
                             .enabled = o->start};
    if (board_model_init(&u->model, o, &u->bytes) != 0)
        return -1;
    u->each = u->model.ops->each;
    return 0;
}

int board_unit_reprogram(struct board_unit *u, const struct board_options *o)
{
    struct board_model model;

    if (u->enabled || board_model_init(&model, o, &u->bytes) != 0)
        return -1;
    u->model.ops->release(u->model.model);
    u->model = model;
    u->newest = NULL;
    u->overflowed = false;
    return 0;
}

/* After each call of the model: errors, and bytes to the port. */
static void done(struct board_unit *u, int result, size_t limit)
{
    if (result < 0)
        u->failed = true;
    if (u->bytes.size <= limit)
        return;
    bool room = board_port_write(u->port, u->id, u->bytes.data, u->bytes.size);
    u->bytes.size = 0;
    if (!room && !u->overflowed) {
        u->model.ops->overflow(u->model.model);
        u->overflowed = true;
        u->overflows++;
        u->patience = PATIENCE;
    }
}

static void report_time(struct board_unit *u)
{
    uint64_t before = atomic_fetch_add_explicit(u->clock, u->cycles, memory_order_relaxed);
    uint64_t cycles = u->cycles;

    u->cycles = 0;
    done(u, u->model.ops->time(u->model.model, cycles, before + cycles), BURST);
}

static void board_unit_report(struct board_unit *u, const struct board_step *step)
{
    const struct board_model_ops *ops = u->model.ops;

    done(u, ops->insn(u->model.model, step), BURST);
    for (unsigned i = 0; ops->access && i < u->access_count; i++)
        done(u, ops->access(u->model.model, &u->accesses[i], i == 0), BURST);
    u->access_count = 0;
}

/* Time, and the plain instruction that was held back: everything up to now is told. */
static void catch_up(struct board_unit *u)
{
    report_time(u);
    if (u->newest) {
        const struct board_insn *insn = u->newest;
        const struct board_step step = {.insn = insn,
                                        .pass = true,
                                        .next = {insn->address + insn->size, (enum bt_isa)insn->isa,
                                                 u->block.security, u->block.level}};
        u->newest = NULL;
        board_unit_report(u, &step);
    }
}

static bool may_trace(const struct board_unit *u)
{
    return u->enabled && !u->debug && !u->overflowed && !u->failed;
}

static void switch_on(struct board_unit *u, const struct board_state *at)
{
    report_time(u);
    u->selected = true;
    done(u, u->model.ops->start(u->model.model, at, u->start), BURST);
    u->start = BOARD_START_ON;
}

/* Trace may start at `next`: at once, or when the filter takes something. */
static void board_unit_start(struct board_unit *u, const struct board_state *next,
                             enum board_start reason)
{
    u->block = *next;
    u->selected = false;
    u->newest = NULL;
    u->start = reason;
    if (may_trace(u) && !board_filter_active(&u->filter))
        switch_on(u, next);
}

/*
 * The filter looks at what ran from the instruction at `first` to the one at `last`, before the
 * model is told: one instruction, or, of a PTM,
 * all since the last boundary (PFT: TraceEnable). */
static void filter(struct board_unit *u, const struct board_state *first, uint64_t last)
{
    bool wanted;

    if (!board_filter_active(&u->filter))
        return;
    wanted = board_filter_selects(&u->filter, first->address, last);
    if (wanted != u->selected && may_trace(u)) {
        if (wanted) {
            switch_on(u, first);
        } else {
            u->newest = NULL;
            done(u, u->model.ops->stop(u->model.model), BURST);
        }
    }
    u->selected = wanted;
    /* An exit from Debug state is the reason only if the first instruction is traced. */
    if (!wanted && u->start == BOARD_START_DEBUG_EXIT)
        u->start = BOARD_START_ON;
}

void board_unit_on(struct board_unit *u, const struct board_state *next)
{
    u->enabled = true;
    board_unit_start(u, next, BOARD_START_ON);
}

static void board_unit_stop(struct board_unit *u)
{
    u->newest = NULL;
    u->selected = false;
    done(u, u->model.ops->stop(u->model.model), 0);
}

void board_unit_off(struct board_unit *u)
{
    u->enabled = false;
    board_unit_stop(u);
}

void board_unit_set_filter(struct board_unit *u, const struct board_filter *wanted,
                           const struct board_state *next)
{
    if (may_trace(u))
        board_unit_stop(u);
    u->filter = *wanted;
    board_unit_start(u, next, BOARD_START_ON);
}

static void recover(struct board_unit *u, const struct board_state *next)
{
    if (--u->patience > 0)
        return;
    u->patience = PATIENCE;
    if (!board_port_recovered(u->port))
        return;
    u->overflowed = false;
    board_unit_start(u, next, BOARD_START_OVERFLOW);
}

static void board_unit_run(struct board_unit *u, const struct board_step *step)
{
    const struct board_insn *insn = step->insn;
    bool boundary = insn->cls != WAYPOINT_NONE && insn->cls != WAYPOINT_BARRIER;
    bool gate = u->block.security != step->next.security; /* SG */

    u->cycles++;
    if (u->failed)
        return;
    if (u->each)
        u->block = (struct board_state){insn->address, (enum bt_isa)insn->isa, u->block.security,
                                        u->block.level};
    filter(u, &u->block, insn->address);
    if (boundary)
        u->newest = NULL; /* covered by the waypoint's own packet */
    catch_up(u);
    board_unit_report(u, step);
    if (boundary || gate || u->each)
        u->block = step->next;
}

void board_unit_ran(struct board_unit *u, const struct board_step *step)
{
    board_unit_run(u, step);
    if (u->overflowed && !u->failed)
        recover(u, &step->next);
}

void board_unit_access(struct board_unit *u, uint32_t address, unsigned size)
{
    /* Each packet is of a word at most. */
    for (unsigned offset = 0; offset < size; offset += 4) {
        unsigned rest = size - offset;
        if (u->access_count < BOARD_UNIT_ACCESSES)
            u->accesses[u->access_count++] =
                (struct board_access){address + offset, (uint8_t)(rest < 4 ? rest : 4)};
    }
}

void board_unit_no_access(struct board_unit *u)
{
    u->access_count = 0;
}

void board_unit_exception(struct board_unit *u, const struct board_exception *x,
                          const struct board_step *cancelled)
{
    struct board_exception traced = *x;

    if (u->failed)
        return;
    /* An aborted load of the PC is not told: it has no target for a branch packet. */
    if (cancelled && u->each && cancelled->insn->cls == WAYPOINT_NONE) {
        if (u->split)
            done(u, u->model.ops->flush(u->model.model), BURST);
        board_unit_run(u, cancelled);
    } else {
        cancelled = NULL;
    }
    u->access_count = 0;
    if (u->newest)
        filter(u, &u->block, u->newest->address);
    catch_up(u);
    traced.cancel = cancelled || x->chained;
    done(u, u->model.ops->exception(u->model.model, &traced), BURST);
    u->block = x->vector;
}

void board_unit_debug_entry(struct board_unit *u, const struct board_state *here)
{
    u->debug = true;
    u->access_count = 0;
    if (u->failed)
        return;
    if (u->newest)
        filter(u, &u->block, u->newest->address);
    catch_up(u);
    done(u, u->model.ops->debug_entry(u->model.model, here), 0);
}

void board_unit_debug_exit(struct board_unit *u, const struct board_state *next)
{
    u->debug = false;
    board_unit_start(u, next, BOARD_START_DEBUG_EXIT);
}

void board_unit_context_id(struct board_unit *u, uint32_t value)
{
    if (u->failed)
        return;
    catch_up(u);
    done(u, u->model.ops->context_id(u->model.model, value), BURST);
}

void board_unit_overflow(struct board_unit *u, const struct board_state *next)
{
    if (!may_trace(u))
        return;
    catch_up(u);
    u->model.ops->overflow(u->model.model);
    u->overflows++;
    board_unit_start(u, next, BOARD_START_OVERFLOW);
}

void board_unit_jump(struct board_unit *u, const struct board_state *next)
{
    if (!may_trace(u))
        return;
    board_unit_stop(u);
    board_unit_start(u, next, BOARD_START_ON);
}

void board_unit_flush(struct board_unit *u)
{
    if (!u->failed)
        done(u, u->model.ops->flush(u->model.model), 0);
}

void board_unit_sync(struct board_unit *u)
{
    if (!u->failed)
        done(u, u->model.ops->sync(u->model.model), BURST);
}

void board_unit_keep(struct board_unit *u)
{
    if (u->newest) {
        u->kept = *u->newest;
        u->newest = &u->kept;
    }
}
