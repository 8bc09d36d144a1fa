/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/reverse/reverse_motion.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE      16   /* windows between two looks at what GDB sends */
#define ROUNDS_MAX 6    /* of fetching memory for one position */
#define AHEAD      6000 /* units of values_work() between two such looks */

enum motion_state {
    MOTION_IDLE,
    MOTION_SEARCH,
    MOTION_VALUES,
};

int reverse_motion_init(struct reverse_motion *m, const struct reverse_host *host, void *ctx,
                        int core_count)
{
    memset(m, 0, sizeof *m);
    m->host = host;
    m->ctx = ctx;
    m->cores = calloc((size_t)core_count, sizeof *m->cores);
    if (!m->cores)
        return BT_ERR_NOMEM;
    m->core_count = core_count;
    reverse_motion_reset(m);
    return BT_OK;
}

static void close_core(struct reverse_core *c)
{
    reverse_values_forget(&c->values);
    reverse_release(&c->reverse);
    memset(c, 0, sizeof *c);
}

void reverse_motion_forget(struct reverse_motion *m)
{
    for (int i = 0; i < m->core_count; i++)
        close_core(&m->cores[i]);
    m->state = MOTION_IDLE;
}

void reverse_motion_release(struct reverse_motion *m)
{
    reverse_motion_forget(m);
    free(m->cores);
    memset(m, 0, sizeof *m);
}

void reverse_motion_reset(struct reverse_motion *m)
{
    reverse_motion_forget(m);
    m->limit = REVERSE_VALUES_DEFAULT;
    m->infer = VALUES_INFER_ALL;
    m->memory = REVERSE_MEMORY_ERROR;
    m->reported_alone = m->reported_watch = false;
}

bool reverse_motion_active(const struct reverse_motion *m, int core)
{
    return core >= 0 && core < m->core_count && m->cores[core].open &&
           reverse_active(&m->cores[core].reverse);
}

bool reverse_motion_any(const struct reverse_motion *m)
{
    for (int i = 0; i < m->core_count; i++)
        if (reverse_motion_active(m, i))
            return true;
    return false;
}

bool reverse_motion_running(const struct reverse_motion *m)
{
    return m->state != MOTION_IDLE;
}

uint64_t reverse_motion_position(const struct reverse_motion *m, int core)
{
    return reverse_motion_active(m, core) ? m->cores[core].reverse.position : 0;
}

bool reverse_motion_status(const struct reverse_motion *m, int core, char *text, size_t size)
{
    if (!reverse_motion_active(m, core))
        return false;
    snprintf(text, size, "replaying, at %" PRIu64, m->cores[core].reverse.position + 1);
    return true;
}

static void lock(struct reverse_motion *m)
{
    if (m->host->lock)
        m->host->lock(m->ctx);
}

static void unlock(struct reverse_motion *m)
{
    if (m->host->unlock)
        m->host->unlock(m->ctx);
}

int reverse_motion_open(struct reverse_motion *m, int core, struct gdb_why *why)
{
    struct reverse_core *c = &m->cores[core];
    struct btrace_view view;
    if (c->open)
        return BT_OK;
    memset(&view, 0, sizeof view);
    lock(m);
    int error = m->host->view(m->ctx, core, &view, why);
    if (!error) {
        error = reverse_init(&c->reverse, &view);
        if (error == BT_ERR_RANGE)
            snprintf(why->text, sizeof why->text, "nothing was traced on %s up to this halt",
                     m->host->core_name(m->ctx, core));
        if (error)
            reverse_release(&c->reverse);
    }
    unlock(m);
    reverse_values_init(&c->values);
    c->values.limit = m->limit;
    c->values.infer = m->infer;
    c->values.memory = m->memory;
    c->open = !error;
    return error;
}

static struct reverse_core *moving(struct reverse_motion *m)
{
    return &m->cores[m->core];
}

static void set_stop(struct reverse_motion *m, enum gdb_stop_kind kind, uint64_t position)
{
    m->stop = (struct gdb_stop){.kind = kind, .core = m->core};
    moving(m)->reverse.position = position;
    moving(m)->reported = UINT32_MAX;
    m->state = MOTION_VALUES;
    m->rounds = 0;
}

/* A step never tells that it has reached the end going forward: GDB hangs on that (trap 3). */
static void do_step(struct reverse_motion *m)
{
    struct reverse *p = &moving(m)->reverse;
    if (m->back && p->position == p->first) {
        set_stop(m, GDB_STOP_REPLAY_BEGIN, p->first);
        return;
    }
    reverse_report_unwatched(m);
    uint64_t behind = m->back ? p->position : p->position + 1;
    reverse_report_gap(m, reverse_gap_before(p, behind));
    set_stop(m, GDB_STOP_TRAP, m->back ? behind - 1 : behind);
    moving(m)->arrived = !m->back && p->position == p->end;
}

static int begin_search(struct reverse_motion *m, struct gdb_why *why)
{
    struct reverse *p = &moving(m)->reverse;
    struct reverse_search *q = &m->search;
    bool watch = false;
    memset(q, 0, sizeof *q);
    q->back = m->back;
    q->address_count = m->host->breakpoints(m->ctx, q->addresses, REVERSE_BREAKPOINTS_MAX, &watch);
    if (watch) {
        snprintf(why->text, sizeof why->text,
                 "watchpoints cannot be checked in reverse execution: delete them, or 'set "
                 "can-use-hw-watchpoints 0' compares what is known after each step");
        return BT_ERR_UNSUPPORTED;
    }
    if (m->back && p->position == p->first) {
        set_stop(m, GDB_STOP_REPLAY_BEGIN, p->first);
        return BT_OK;
    }
    if (m->back)
        reverse_report_gap(m, reverse_gap_before(p, p->position));
    m->state = MOTION_SEARCH;
    return reverse_search_begin(p, q);
}

/* A gap ends a search as the end of the history does: GDB's own motions must not go over it. */
static void search_done(struct reverse_motion *m, int found)
{
    struct reverse *p = &moving(m)->reverse;
    enum gdb_stop_kind edge = m->back ? GDB_STOP_REPLAY_BEGIN : GDB_STOP_REPLAY_END;
    reverse_report_left_out(m);
    if (found == REVERSE_FOUND_GAP ||
        (found == REVERSE_FOUND_NOTHING && !m->back && !p->join.known))
        reverse_report_gap(m, found == REVERSE_FOUND_GAP ? m->search.cause : BT_GAP_UNKNOWN_ADDR);
    set_stop(m, found == REVERSE_FOUND_BREAKPOINT ? GDB_STOP_SWBREAK : edge, m->search.found);
}

static int do_search(struct reverse_motion *m)
{
    struct reverse *p = &moving(m)->reverse;
    if (m->interrupted) {
        set_stop(m, GDB_STOP_INTERRUPT, m->search.reached);
        return BT_OK;
    }
    int found = reverse_search_run(p, &m->search, SLICE);
    if (found < 0)
        return found;
    if (found == REVERSE_FOUND_MORE)
        return GDB_PENDING;
    search_done(m, found);
    return BT_OK;
}

/* Values of the position, before GDB is told of it: what it asks next is there. */
static int do_values(struct reverse_motion *m, int core)
{
    struct reverse_core *c = &m->cores[core];
    int rc = BT_OK;
    if (!reverse_active(&c->reverse))
        return BT_OK;
    if (!c->prepared) {
        rc = m->host->machine(m->ctx, core, &c->machine);
        if (rc != BT_OK)
            return rc;
        c->prepared = true;
    }
    rc = reverse_values_at(&c->values, &c->reverse, &c->machine, c->reverse.position,
                           m->step && !m->jumps);
    if (rc != BT_OK || !m->host->fetch || m->rounds++ >= ROUNDS_MAX)
        return rc;
    rc = m->host->fetch(m->ctx, core);
    if (rc == GDB_PENDING)
        reverse_values_again(&c->values);
    return rc;
}

bool reverse_motion_ahead(const struct reverse_motion *m)
{
    return m->ahead;
}

/* A window is complete, but for memory that it may have lacked. */
static bool take(struct reverse_motion *m, struct reverse_core *c)
{
    c->waits = m->host->fetch && c->rounds_ahead++ < ROUNDS_MAX;
    if (c->waits && m->host->fetch(m->ctx, m->core) == GDB_PENDING) {
        reverse_values_drop(&c->values);
        return false;
    }
    c->waits = false;
    c->rounds_ahead = 0;
    reverse_values_take(&c->values, &c->reverse, c->reverse.position);
    return true;
}

/* A slice for the core that was moved last; true: there is more to do. */
static bool work_ahead(struct reverse_motion *m)
{
    struct reverse_core *c = &m->cores[m->core];
    if (!c->prepared || c->waits || !reverse_motion_active(m, m->core))
        return false;
    lock(m);
    m->ahead = true;
    int rc = reverse_values_ahead(&c->values, &c->reverse, &c->machine, c->reverse.position, AHEAD);
    bool more = rc == REVERSE_AHEAD_DONE ? take(m, c) : rc == GDB_PENDING;
    m->ahead = false;
    unlock(m);
    return more;
}

void reverse_motion_fetched(struct reverse_motion *m, int core)
{
    m->cores[core].waits = false;
    m->host->later(m->ctx);
}

static int run_once(struct reverse_motion *m, bool *soon)
{
    int rc = BT_OK;
    lock(m);
    if (m->state == MOTION_SEARCH) {
        rc = do_search(m);
        *soon = rc == GDB_PENDING;
    }
    if (rc == BT_OK && m->state == MOTION_VALUES)
        rc = do_values(m, m->core);
    unlock(m);
    return rc;
}

/*
 * BT_OK: the motion is over; GDB_PENDING; or an error. What was asked for may come at once, while
 * it is being asked for.
 */
static int run(struct reverse_motion *m)
{
    bool soon = false;
    int rc;
    m->busy = true;
    do {
        m->again = soon = false;
        rc = run_once(m, &soon);
    } while (rc == GDB_PENDING && m->again);
    m->busy = false;
    if (soon)
        m->host->later(m->ctx);
    return rc;
}

/* Without values the core is still at its position: registers are estimates. */
static int finish(struct reverse_motion *m, int rc, struct gdb_why *why)
{
    bool placed = m->state == MOTION_VALUES;
    m->state = MOTION_IDLE;
    if (reverse_motion_active(m, m->core))
        m->host->later(m->ctx);
    if (rc == BT_OK || placed)
        return BT_OK;
    if (!why->text[0])
        snprintf(why->text, sizeof why->text, "the history cannot be read: %s", bt_strerror(rc));
    return rc;
}

void reverse_motion_go_on(struct reverse_motion *m)
{
    struct gdb_why why = {""};
    m->again = m->busy;
    if (m->state == MOTION_IDLE || m->busy)
        return;
    int rc = run(m);
    if (rc == GDB_PENDING)
        return;
    rc = finish(m, rc, &why);
    if (rc == BT_OK)
        m->host->stopped(m->ctx, &m->stop);
    else
        m->host->failed(m->ctx, &why);
}

void reverse_motion_idle(struct reverse_motion *m)
{
    if (m->state == MOTION_SEARCH)
        reverse_motion_go_on(m);
    else if (m->state == MOTION_IDLE && work_ahead(m))
        m->host->later(m->ctx);
}

static int start(struct reverse_motion *m, int core, bool step, bool back, struct gdb_stop *stop,
                 struct gdb_why *why)
{
    int rc = reverse_motion_open(m, core, why);
    if (rc != BT_OK)
        return rc;
    struct reverse_core *c = &m->cores[core];
    m->core = core;
    m->step = step;
    m->back = back;
    m->interrupted = false;
    m->jumps = c->goto_wanted;
    c->arrived = false;
    lock(m);
    reverse_report_alone(m);
    if (c->goto_wanted) {
        c->goto_wanted = false;
        c->reverse.position = c->goto_position;
        if (step)
            set_stop(m, GDB_STOP_TRAP, c->goto_position);
        else
            rc = begin_search(m, why);
    } else if (step) {
        do_step(m);
    } else {
        rc = begin_search(m, why);
    }
    unlock(m);
    if (rc == BT_OK)
        rc = run(m);
    if (rc == GDB_PENDING)
        return rc;
    rc = finish(m, rc, why);
    *stop = m->stop;
    return rc;
}

int reverse_motion_back(struct reverse_motion *m, int core, bool step, struct gdb_stop *stop,
                        struct gdb_why *why)
{
    return start(m, core, step, true, stop, why);
}

bool reverse_motion_concerned(const struct reverse_motion *m)
{
    for (int i = 0; i < m->core_count; i++)
        if (reverse_motion_active(m, i) || m->cores[i].goto_wanted || m->cores[i].arrived)
            return true;
    return false;
}

bool reverse_motion_takes(const struct reverse_motion *m, const struct gdb_resume *r)
{
    const struct reverse_core *c = &m->cores[r->core];
    return reverse_motion_any(m) || c->goto_wanted ||
           (c->arrived && !r->step && !r->threads_listed);
}

int reverse_motion_resume(struct reverse_motion *m, const struct gdb_resume *r,
                          struct gdb_stop *stop, struct gdb_why *why)
{
    struct reverse_core *c = &m->cores[r->core];
    if (reverse_motion_active(m, r->core) || c->goto_wanted)
        return start(m, r->core, r->step, false, stop, why);
    if (c->arrived && !r->step && !r->threads_listed) {
        c->arrived = false;
        *stop = (struct gdb_stop){.kind = GDB_STOP_REPLAY_END, .core = r->core};
        return BT_OK;
    }
    snprintf(why->text, sizeof why->text,
             "another core is at a replay position: nothing runs until it is at its end again");
    return BT_ERR_UNSUPPORTED;
}

void reverse_motion_interrupt(struct reverse_motion *m)
{
    m->interrupted = true;
}

/* What GDB reads. */

/* As a rule it was done before the stop was told; not if a command has changed the rules since.
 * Without memory there are no values, only estimates. */
static void work_out(struct reverse_core *c)
{
    if (c->prepared && !c->values.now.built)
        reverse_values_at(&c->values, &c->reverse, &c->machine, c->reverse.position, false);
}

int reverse_motion_regs(struct reverse_motion *m, int core, struct gdb_regs *regs)
{
    struct reverse_core *c = &m->cores[core];
    lock(m);
    work_out(c);
    uint32_t estimated = 0;
    int rc = reverse_values_regs(&c->values, &c->reverse, &c->machine, c->reverse.position, regs,
                                 &estimated);
    unlock(m);
    c->reported = regs->known & ~estimated;
    return rc;
}

size_t reverse_motion_memory(struct reverse_motion *m, int core, uint64_t address, uint8_t *bytes,
                             size_t len)
{
    struct reverse_core *c = &m->cores[core];
    lock(m);
    work_out(c);
    unlock(m);
    return reverse_values_memory(&c->values, &c->machine, c->reverse.position, address, bytes, len);
}
