/* SPDX-License-Identifier: BSD-3-Clause */
/* Branches, their addresses and synchronisation: IHI 0014Q chapter 5. */
#include "etmv1_flow_parts.h"

#define APO_UNKNOWN 15  /* the offset is larger than can be said */
#define FIFO_BYTES  128 /* more than any FIFO has */
#define WINDOW      3   /* a branch and the two cycles with its address packet offset */

/* Exceptions as flow_cursor_vector() numbers them. */
#define EXC_UND  9
#define EXC_SVC  10
#define EXC_DABT 12

/* The branch's cycles. */
struct window {
    unsigned span; /* cycles that are its own */
    unsigned apo;
    bool abandoned; /* another branch begins right behind them */
};

static struct etmv1_target *target_at(struct etmv1_flow *f, unsigned i)
{
    return &f->targets[(f->target_head + i) % ETMV1_ADDRESSES];
}

static void drop_targets(struct etmv1_flow *f, unsigned n)
{
    f->target_head = (uint16_t)((f->target_head + n) % ETMV1_ADDRESSES);
    f->target_count = (uint16_t)(f->target_count - n);
}

static enum etmv1_step read_window(struct etmv1_flow *f, struct window *w)
{
    *w = (struct window){.span = 1};
    for (; w->span < WINDOW; w->span++) {
        uint64_t place = f->next + w->span;
        if (place >= f->end)
            return ETMV1_STEP_WAIT;
        unsigned status = etmv1_status_at(f, place);
        if (status == ETMV1_TD)
            return ETMV1_STEP_LOST;
        if (status == ETMV1_BE || status == ETMV1_BD) {
            w->abandoned = true;
            return ETMV1_STEP_DONE;
        }
        w->apo |= (status & 3) << 2 * (w->span - 1);
    }
    for (unsigned i = 1; i < WINDOW; i++)
        f->info[(f->next + i) % ETMV1_RING] |= RING_APO;
    return ETMV1_STEP_DONE;
}

static unsigned syncs_between(const struct etmv1_flow *f, uint64_t from, uint64_t to)
{
    unsigned n = 0;
    for (uint64_t i = from; i < to; i++)
        n += (etmv1_info(f, i) & RING_SYNC) != 0;
    return n;
}

/* A TD says that the FIFO is empty: what comes behind it is of a later status. */
static bool idle_between(const struct etmv1_flow *f, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to && !etmv1_holds(&f->config); i++)
        if (etmv1_status_at(f, i) == ETMV1_TD && !(etmv1_info(f, i) & RING_TRIGGER))
            return true;
    return false;
}

/* The branch at f->next has waited for its address longer than a FIFO can hold it. */
static bool overdue(const struct etmv1_flow *f, unsigned span)
{
    unsigned limit = FIFO_BYTES * 8 / f->config.port.bits;
    if (etmv1_holds(&f->config)) /* a single byte waits as long as it must */
        limit = ETMV1_RING;
    return f->ended || f->end - f->next > limit || idle_between(f, f->next + span, f->end);
}

static void set_context(struct etmv1_flow *f, const struct etmv1_target *t, struct flow_out *out)
{
    if (!(t->flags & ETMV1_HAS_CONTEXT))
        return;
    flow_cursor_close(&f->cursor, out);
    flow_set_context(&f->cursor.core, out, t->offset, t->context);
}

static void go_to(struct etmv1_flow *f, const struct etmv1_target *t, struct flow_out *out)
{
    set_context(f, t, out);
    flow_go_to(&f->cursor.core, t->value, t->isa);
    if (t->isa == BT_ISA_JAZELLE) { /* bytecodes cannot be followed */
        flow_cursor_lose(&f->cursor, out, t->offset, BT_GAP_NO_CODE, t->value);
        f->aligned = false;
    }
}

/* Tracing begins, or goes on behind a gap. */
static void begin(struct etmv1_flow *f, const struct etmv1_target *t, unsigned reason,
                  struct flow_out *out)
{
    flow_cursor_on(&f->cursor, out, t->offset, reason, t->value, t->isa, !f->synced, f->reported);
    f->reported = false;
    f->data_known = false;
    go_to(f, t, out);
    f->synced = f->cursor.core.started = true;
}

void etmv1_commit(struct etmv1_flow *f, struct flow_out *out)
{
    if (!f->start_pending)
        return;
    f->start_pending = false;
    begin(f, &f->start, f->start.reason, out);
}

/* Of a start that was abandoned the next branch says whether it counts. */
static void keep_start_pending(struct etmv1_flow *f, const struct etmv1_target *t)
{
    f->start = *t;
    f->start_pending = true;
}

static void exception(struct etmv1_flow *f, const struct etmv1_target *t, unsigned number,
                      const struct flow_cursor_step *step, struct flow_out *out)
{
    uint32_t back = step ? step->address : 0;
    if (step && (number == EXC_UND || number == EXC_SVC || number == EXC_DABT))
        flow_cursor_add(&f->cursor, out, step, BT_COND_PASS, flow_cursor_cycles(&f->cursor));
    if (step && number == EXC_SVC)
        back = step->next;
    struct bt_event *e = flow_cursor_event(&f->cursor, out, BT_EVENT_EXCEPTION, t->offset);
    flow_exception_number(e, (uint16_t)number);
    flow_vector(e, t->value, t->isa);
    if (step)
        flow_return_address(e, back, step->isa);
}

/* Is it a branch to a vector rather than an exception? Only where the code says so. */
static bool plain_branch(const struct flow_cursor_step *step, const struct etmv1_target *t)
{
    return step && step->end == CODE_END_DIRECT && step->target == t->value;
}

/* The instruction at the position branches, or is the place of an exception. */
static void take(struct etmv1_flow *f, const struct etmv1_target *t, bool data,
                 struct flow_out *out)
{
    struct flow_cursor *cursor = &f->cursor;
    struct flow_cursor_step step;
    struct etmv1_data d;
    bool known = cursor->core.cur.known && flow_cursor_fetch(cursor, out, t->offset, &step);
    unsigned number = flow_cursor_vector(cursor, t->value, t->isa);
    enum etmv1_step read = ETMV1_STEP_LOST;
    if (data && known)
        read = etmv1_read_data(f, &step, &d);
    if (!known)
        f->cursor.core.dropped++;
    if (number && !(known && plain_branch(&step, t))) {
        exception(f, t, number, known ? &step : NULL, out);
        return;
    }
    if (!known)
        return;
    f->reported = step.end != CODE_END_DIRECT || step.target != t->value;
    bool odd =
        step.end == CODE_END_PAGE || (step.end == CODE_END_DIRECT && step.target != t->value);
    flow_cursor_add(cursor, out, &step, BT_COND_PASS, flow_cursor_cycles(cursor));
    if (read == ETMV1_STEP_DONE)
        etmv1_report_data(f, out, &d);
    if (odd)
        flow_cursor_warn(cursor, out, t->offset, BT_GAP_DESYNC, step.address);
}

enum etmv1_step etmv1_branch(struct etmv1_flow *f, struct flow_out *out)
{
    struct window w;
    bool data = etmv1_status_at(f, f->next) == ETMV1_BD;
    enum etmv1_step result = read_window(f, &w);
    if (result != ETMV1_STEP_DONE)
        return result;
    if (f->target_count == 0)
        return overdue(f, w.span) && !f->ended ? ETMV1_STEP_LOST : ETMV1_STEP_WAIT;
    struct etmv1_target t = *target_at(f, 0);
    if (t.start < f->next || (t.flags & ETMV1_PARTIAL) ||
        idle_between(f, f->next + w.span, t.start))
        return ETMV1_STEP_LOST;
    if (!w.abandoned && w.apo != APO_UNKNOWN && syncs_between(f, f->next, t.start) != w.apo)
        return ETMV1_STEP_LOST;
    drop_targets(f, 1);
    bool starts = t.reason >= ETMV1_TRACE_ON && t.reason <= ETMV1_DEBUG_EXIT;
    if (starts)
        f->start_pending = false; /* it takes the place of one that was abandoned */
    etmv1_commit(f, out);
    etmv1_count(f, out);
    if (!starts)
        take(f, &t, data, out);
    bool clean = etmv1_align(f, &t);
    f->earliest = f->next + w.span;
    if (!clean && etmv1_has_data(f))
        flow_cursor_warn(&f->cursor, out, t.offset, BT_GAP_DESYNC, t.value);
    if (!starts)
        go_to(f, &t, out);
    else if (!w.abandoned)
        begin(f, &t, t.reason, out);
    else
        keep_start_pending(f, &t);
    etmv1_move(f);
    etmv1_pass(f, out, w.span - 1);
    return ETMV1_STEP_DONE;
}

enum etmv1_step etmv1_resync(struct etmv1_flow *f, struct flow_out *out)
{
    struct window w;
    enum etmv1_step result = read_window(f, &w);
    if (result == ETMV1_STEP_WAIT)
        return result;
    while (f->target_count && target_at(f, 0)->start < f->next)
        drop_targets(f, 1);
    if (result == ETMV1_STEP_LOST || w.abandoned || w.apo == APO_UNKNOWN) {
        etmv1_pass(f, out, w.span);
        return ETMV1_STEP_DONE;
    }
    if (f->target_count <= w.apo && !overdue(f, WINDOW))
        return ETMV1_STEP_WAIT;
    struct etmv1_target t = {.flags = ETMV1_PARTIAL};
    if (f->target_count > w.apo)
        t = *target_at(f, w.apo);
    if ((t.flags & ETMV1_PARTIAL) || idle_between(f, f->next + WINDOW, t.start)) {
        etmv1_pass(f, out, WINDOW);
        return ETMV1_STEP_DONE;
    }
    drop_targets(f, w.apo + 1);
    f->aligned = false;
    etmv1_align(f, &t);
    f->earliest = f->next + WINDOW;
    etmv1_count(f, out);
    begin(f, &t, t.reason <= ETMV1_DEBUG_EXIT ? t.reason : 0, out);
    etmv1_move(f);
    etmv1_pass(f, out, WINDOW - 1);
    return ETMV1_STEP_DONE;
}
