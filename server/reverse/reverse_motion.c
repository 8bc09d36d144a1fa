/* SPDX-License-Identifier: BSD-3-Clause */
/* Motion along the history, by GDB's packets: steps, and searches for a breakpoint or a gap. */
#include "server/reverse/reverse_motion.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLICE      16    /* windows between two looks at what GDB sends, */
#define SLICE_MAX  50000 /* and blocks in them: a few milliseconds, or one dense window */
#define ROUNDS_MAX 6     /* of fetching memory for one position */
#define AHEAD      6000  /* units of values_work() between two such looks */
#define CODE_WORDS 1024  /* of one piece of memory that are looked for in the path */

enum reverse_found {
    REVERSE_FOUND_NOTHING, /* the end of the history was reached; position is first or end */
    REVERSE_FOUND_BREAKPOINT,
    REVERSE_FOUND_GAP,  /* trace is missing right before the position */
    REVERSE_FOUND_MORE, /* the slice is over: go on with search_windows() */
};

/* What GDB's console shows while a motion goes on. */

static void report_gap(struct reverse_motion *m, enum bt_gap_cause cause)
{
    char text[160];
    if (cause == BT_GAP_NONE)
        return;
    if (cause == BT_GAP_TRACE_ON)
        snprintf(text, sizeof text, "here the trace unit was told to leave instructions out\n");
    else
        snprintf(text, sizeof text, "trace is missing here (%s): what ran is not known\n",
                 bt_gap_name(cause));
    m->host->report(m->ctx, text);
}

static void report_left_out(struct reverse_motion *m)
{
    char text[160];
    if (!m->search.left_out)
        return;
    snprintf(text, sizeof text, "passed %zu places where the trace unit left instructions out\n",
             m->search.left_out);
    m->host->report(m->ctx, text);
}

static void report_alone(struct reverse_motion *m)
{
    char text[160];
    if (m->core_count < 2 || m->reported_alone)
        return;
    m->reported_alone = true;
    snprintf(text, sizeof text, "in reverse execution only the selected core moves: %s\n",
             m->host->core_name(m->ctx, m->core));
    m->host->report(m->ctx, text);
}

/* GDB is about to go on as if nothing had been written. */
static void report_unwatched(struct reverse_motion *m)
{
    uint64_t addresses[REVERSE_BREAKPOINTS_MAX];
    bool watch = false;
    if (m->reported_watch)
        return;
    m->host->breakpoints(m->ctx, addresses, REVERSE_BREAKPOINTS_MAX, &watch);
    m->reported_watch = watch;
    if (watch)
        m->host->report(m->ctx,
                        "in reverse execution steps do not see what watchpoints wait for\n");
}

static void report_present(struct reverse_motion *m)
{
    if (m->memory == REVERSE_MEMORY_PRESENT)
        m->host->report(m->ctx, "memory that is not known here is shown as it is now\n");
}

/* Searches. */

static void sort_addresses(struct reverse_search *s)
{
    for (size_t i = 1; i < s->address_count; i++) {
        uint64_t a = s->addresses[i];
        size_t k = i;
        for (; k > 0 && s->addresses[k - 1] > a; k--)
            s->addresses[k] = s->addresses[k - 1];
        s->addresses[k] = a;
    }
    s->low = s->address_count ? s->addresses[0] : 1;
    s->high = s->address_count ? s->addresses[s->address_count - 1] : 0;
}

/* From p->position; addresses and `back` are set by the caller. */
static int open_search(struct reverse *p, struct reverse_search *s)
{
    sort_addresses(s);
    s->from = s->reached = s->found = p->position;
    s->left_out = 0;
    s->cause = BT_GAP_NONE;
    uint64_t in = s->from < p->end ? s->from : p->end - 1;
    return reverse_history_window_find(p, in, &s->next);
}

/* Index of the instruction at `address`, which lies in the block; false if none begins there. */
static bool index_of_address(struct reverse *p, const struct reverse_history_window *s,
                             const struct bt_block *block, uint64_t address, uint64_t *index)
{
    uint64_t offset = address - block->first, at = block->first;
    if (bt_block_isa(block) == BT_ISA_A32) {
        *index = offset / 4;
        return offset % 4 == 0;
    }
    struct code_view *view = code_select(&p->code, &s->key);
    for (*index = 0; at < address; ++*index) {
        struct insn insn;
        uint32_t opcode;
        if (!view || code_insn(&p->code, view, at, bt_block_isa(block), &insn, &opcode) != BT_OK)
            return false;
        at += insn.size;
    }
    return at == address;
}

/* In the order of motion `a` comes before `b`. */
static bool is_sooner(const struct reverse_search *q, uint64_t a, uint64_t b)
{
    return q->back ? a > b : a < b;
}

static bool is_ahead(const struct reverse_search *q, uint64_t position)
{
    return is_sooner(q, q->from, position);
}

/* The first breakpoint in the block, whose first instruction is `number`. */
static bool hit_in(struct reverse *p, const struct reverse_history_window *s,
                   const struct reverse_search *q, const struct bt_block *block, uint64_t number,
                   uint64_t *hit)
{
    bool any = false;
    for (size_t i = 0; i < q->address_count; i++) {
        uint64_t index;
        if (q->addresses[i] < block->first || q->addresses[i] > bt_block_last(block) ||
            !index_of_address(p, s, block, q->addresses[i], &index) ||
            !is_ahead(q, number + index) || number + index >= p->end)
            continue;
        if (!any || is_sooner(q, number + index, *hit))
            *hit = number + index;
        any = true;
    }
    return any;
}

static bool may_hit(const struct reverse_search *q, const struct bt_block *block)
{
    return block->first <= q->high && bt_block_last(block) >= q->low;
}

static bool find_back(struct reverse *p, const struct reverse_history_window *s,
                      const struct reverse_search *q, uint64_t *hit)
{
    uint64_t number = s->end;
    for (size_t i = s->block_count; i > 0; i--) {
        struct bt_block block;
        reverse_block(s, i - 1, &block);
        number -= bt_block_count(&block);
        if (may_hit(q, &block) && number < q->from && hit_in(p, s, q, &block, number, hit))
            return true;
    }
    return false;
}

static bool find_forward(struct reverse *p, const struct reverse_history_window *s,
                         const struct reverse_search *q, uint64_t *hit)
{
    uint64_t number = s->first;
    for (size_t i = 0; i < s->block_count; i++) {
        struct bt_block block;
        reverse_block(s, i, &block);
        if (may_hit(q, &block) && number + bt_block_count(&block) > q->from &&
            hit_in(p, s, q, &block, number, hit))
            return true;
        number += bt_block_count(&block);
    }
    return false;
}

static void note_gap(struct reverse_search *q, uint64_t position, enum bt_gap_cause cause,
                     bool *any, uint64_t *at)
{
    if (!is_ahead(q, position))
        return;
    if (cause == BT_GAP_TRACE_ON && !q->all_gaps) {
        q->left_out++;
        return;
    }
    if (!*any || is_sooner(q, position, *at)) {
        *at = position;
        q->cause = cause;
    }
    *any = true;
}

/* The gap that comes first in the window. */
static bool gap_in(struct reverse *p, const struct reverse_history_window *s,
                   struct reverse_search *q, uint64_t *at)
{
    bool any = false;
    for (size_t i = 0; i < s->window.event_count; i++) {
        const struct bt_event *e = &s->window.events[i];
        if (reverse_is_gap(p, e))
            note_gap(q, e->position, (enum bt_gap_cause)e->cause, &any, at);
    }
    return any;
}

/* One window: REVERSE_FOUND_MORE if there is nothing in it. */
static int look_at_window(struct reverse *p, struct reverse_search *q,
                          const struct reverse_history_window *s)
{
    uint64_t hit = 0, gap = 0;
    bool hits = q->back ? find_back(p, s, q, &hit) : find_forward(p, s, q, &hit);
    bool gaps = gap_in(p, s, q, &gap);
    if (!hits && !gaps)
        return REVERSE_FOUND_MORE;
    if (hits && (!gaps || !is_sooner(q, gap, hit))) {
        q->found = hit;
        return REVERSE_FOUND_BREAKPOINT;
    }
    q->found = gap;
    return REVERSE_FOUND_GAP;
}

/*
 * Looks at windows until something is found or a slice of them is done. Returns an
 * enum reverse_found or a bt_error; the position of `p` does not change.
 */
static int search_windows(struct reverse *p, struct reverse_search *q)
{
    struct reverse_history_window s;
    size_t blocks = 0;
    for (unsigned windows = 0; windows < SLICE && blocks < SLICE_MAX; windows++) {
        int found = reverse_history_window(p, q->next, &s);
        if (found == BT_OK)
            found = look_at_window(p, q, &s);
        if (found != REVERSE_FOUND_MORE)
            return found;
        bool last = q->back ? q->next == 0 : q->next + 1 == reverse_history_window_count(p);
        if (last) {
            q->found = q->reached = q->back ? p->first : p->end;
            return REVERSE_FOUND_NOTHING;
        }
        uint64_t edge = q->back ? s.first : s.end;
        if (!is_sooner(q, edge, q->reached))
            q->reached = edge;
        q->next = q->back ? q->next - 1 : q->next + 1;
        blocks += s.block_count;
    }
    return REVERSE_FOUND_MORE;
}

/* Motions. */

static void close_reverse(struct reverse_core *c)
{
    reverse_values_forget(&c->values);
    reverse_release(&c->reverse);
    memset(c, 0, sizeof *c);
}

void reverse_motion_forget(struct reverse_motion *m)
{
    for (int i = 0; i < m->core_count; i++)
        close_reverse(&m->cores[i]);
    m->state = REVERSE_IDLE;
}

static void reset_motion(struct reverse_motion *m)
{
    reverse_motion_forget(m);
    m->limit = REVERSE_VALUES_DEFAULT;
    m->infer = VALUES_INFER_ALL;
    m->memory = REVERSE_MEMORY_ERROR;
    m->reported_alone = m->reported_watch = false;
}

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
    reset_motion(m);
    return BT_OK;
}

void reverse_motion_release(struct reverse_motion *m)
{
    reverse_motion_forget(m);
    free(m->cores);
    memset(m, 0, sizeof *m);
}

bool reverse_motion_status(const struct reverse_motion *m, int core, char *text, size_t size)
{
    if (!reverse_motion_active(m, core))
        return false;
    snprintf(text, size, "replaying, at %" PRIu64, m->cores[core].reverse.position + 1);
    return true;
}

static void lock_history(struct reverse_motion *m)
{
    if (m->host->lock)
        m->host->lock(m->ctx);
}

static void unlock_history(struct reverse_motion *m)
{
    if (m->host->unlock)
        m->host->unlock(m->ctx);
}

int reverse_motion_open(struct reverse_motion *m, int core, struct target_error *why)
{
    struct reverse_core *c = &m->cores[core];
    struct btrace_view view;
    if (c->state != REVERSE_CORE_CLOSED)
        return BT_OK;
    memset(&view, 0, sizeof view);
    lock_history(m);
    int error = m->host->view(m->ctx, core, &view, why);
    if (!error) {
        error = reverse_init(&c->reverse, &view);
        if (error == BT_ERR_RANGE)
            snprintf(why->text, sizeof why->text, "nothing was traced on %s up to this halt",
                     m->host->core_name(m->ctx, core));
        if (error)
            reverse_release(&c->reverse);
    }
    unlock_history(m);
    reverse_values_init(&c->values, m->limit, m->infer, m->memory);
    if (!error)
        c->state = REVERSE_CORE_OPEN;
    return error;
}

static struct reverse_core *moving_core(struct reverse_motion *m)
{
    return &m->cores[m->core];
}

static void set_stop(struct reverse_motion *m, enum target_halt_reason kind, uint64_t position)
{
    m->stop = (struct target_stop){.kind = kind, .core = m->core};
    moving_core(m)->reverse.position = position;
    moving_core(m)->reported = UINT32_MAX;
    m->state = REVERSE_VALUES;
    m->rounds = 0;
    report_present(m);
}

/* A step never tells that it has reached the end going forward: GDB hangs on that. */
static void do_step(struct reverse_motion *m, bool back)
{
    struct reverse *p = &moving_core(m)->reverse;
    if (back && p->position == p->first) {
        set_stop(m, TARGET_HALT_REPLAY_BEGIN, p->first);
        return;
    }
    report_unwatched(m);
    uint64_t behind = back ? p->position : p->position + 1;
    report_gap(m, reverse_gap_before(p, behind));
    set_stop(m, TARGET_HALT_TRAP, back ? behind - 1 : behind);
    moving_core(m)->arrived = !back && p->position == p->end;
}

static int begin_search(struct reverse_motion *m, bool back, struct target_error *why)
{
    struct reverse *p = &moving_core(m)->reverse;
    struct reverse_search *q = &m->search;
    bool watch = false;
    memset(q, 0, sizeof *q);
    q->back = back;
    q->address_count = m->host->breakpoints(m->ctx, q->addresses, REVERSE_BREAKPOINTS_MAX, &watch);
    if (watch) {
        snprintf(why->text, sizeof why->text,
                 "watchpoints cannot be checked in reverse execution: delete them, or 'set "
                 "can-use-hw-watchpoints 0' compares what is known after each step");
        return BT_ERR_UNSUPPORTED;
    }
    if (back && p->position == p->first) {
        set_stop(m, TARGET_HALT_REPLAY_BEGIN, p->first);
        return BT_OK;
    }
    if (back)
        report_gap(m, reverse_gap_before(p, p->position));
    m->state = REVERSE_SEARCH;
    return open_search(p, q);
}

/* A gap ends a search as the end of the history does: GDB's own motions must not go over it. */
static void search_done(struct reverse_motion *m, int found)
{
    struct reverse *p = &moving_core(m)->reverse;
    enum target_halt_reason edge =
        m->search.back ? TARGET_HALT_REPLAY_BEGIN : TARGET_HALT_REPLAY_END;
    report_left_out(m);
    if (found == REVERSE_FOUND_GAP ||
        (found == REVERSE_FOUND_NOTHING && !m->search.back && !p->join.known))
        report_gap(m, found == REVERSE_FOUND_GAP ? m->search.cause : BT_GAP_UNKNOWN_ADDR);
    set_stop(m, found == REVERSE_FOUND_BREAKPOINT ? TARGET_HALT_SWBREAK : edge, m->search.found);
}

static bool is_searching(const struct reverse_motion *m)
{
    return m->state == REVERSE_SEARCH || m->state == REVERSE_INTERRUPTED;
}

static int do_search(struct reverse_motion *m)
{
    struct reverse *p = &moving_core(m)->reverse;
    if (m->state == REVERSE_INTERRUPTED) {
        set_stop(m, TARGET_HALT_INTERRUPT, m->search.reached);
        return BT_OK;
    }
    int found = search_windows(p, &m->search);
    if (found < 0)
        return found;
    if (found == REVERSE_FOUND_MORE)
        return TARGET_PENDING;
    search_done(m, found);
    return BT_OK;
}

/* Values of the position, before GDB is told of it: what it asks next is there. */
static int do_values(struct reverse_motion *m, int core)
{
    struct reverse_core *c = &m->cores[core];
    int error = BT_OK;
    if (!reverse_active(&c->reverse))
        return BT_OK;
    if (c->state != REVERSE_CORE_PREPARED) {
        error = m->host->machine(m->ctx, core, &c->machine);
        if (error != BT_OK)
            return error;
        c->state = REVERSE_CORE_PREPARED;
    }
    error = reverse_values_at(&c->values, &c->reverse, &c->machine, c->reverse.position, m->quick);
    if (error != BT_OK || !m->host->fetch || m->rounds++ >= ROUNDS_MAX)
        return error;
    error = m->host->fetch(m->ctx, core);
    if (error == TARGET_PENDING)
        reverse_values_again(&c->values);
    return error;
}

/* A window is complete, but for memory that it may have lacked. */
static bool take_ahead(struct reverse_motion *m, struct reverse_core *c)
{
    c->waits = m->host->fetch && c->rounds_ahead++ < ROUNDS_MAX;
    if (c->waits && m->host->fetch(m->ctx, m->core) == TARGET_PENDING) {
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
    if (c->state != REVERSE_CORE_PREPARED || c->waits || !reverse_motion_active(m, m->core))
        return false;
    lock_history(m);
    m->state = REVERSE_AHEAD;
    int error =
        reverse_values_ahead(&c->values, &c->reverse, &c->machine, c->reverse.position, AHEAD);
    bool more = error == REVERSE_AHEAD_DONE ? take_ahead(m, c) : error == TARGET_PENDING;
    m->state = REVERSE_IDLE;
    unlock_history(m);
    return more;
}

void reverse_motion_fetched(struct reverse_motion *m, int core)
{
    m->cores[core].waits = false;
    m->host->later(m->ctx);
}

static int run_motion_once(struct reverse_motion *m, bool *soon)
{
    int error = BT_OK;
    lock_history(m);
    if (is_searching(m)) {
        error = do_search(m);
        *soon = error == TARGET_PENDING;
    }
    if (error == BT_OK && m->state == REVERSE_VALUES)
        error = do_values(m, m->core);
    unlock_history(m);
    return error;
}

/*
 * BT_OK: the motion is over; TARGET_PENDING; or an error. What was asked for may come at once,
 * while it is being asked for.
 */
static int run_motion(struct reverse_motion *m)
{
    bool soon = false;
    int error;
    do {
        m->turn = REVERSE_INSIDE;
        soon = false;
        error = run_motion_once(m, &soon);
    } while (error == TARGET_PENDING && m->turn == REVERSE_INSIDE_AGAIN);
    m->turn = REVERSE_OUTSIDE;
    if (soon)
        m->host->later(m->ctx);
    return error;
}

/* Without values the core is still at its position: registers are estimates. */
static int end_motion(struct reverse_motion *m, int error, struct target_error *why)
{
    bool placed = m->state == REVERSE_VALUES;
    m->state = REVERSE_IDLE;
    if (reverse_motion_active(m, m->core))
        m->host->later(m->ctx);
    if (error == BT_OK || placed)
        return BT_OK;
    if (!why->text[0])
        snprintf(why->text, sizeof why->text, "the history cannot be read: %s", bt_strerror(error));
    return error;
}

void reverse_motion_go_on(struct reverse_motion *m)
{
    struct target_error why = {""};
    if (m->turn != REVERSE_OUTSIDE)
        m->turn = REVERSE_INSIDE_AGAIN;
    if (!reverse_motion_running(m) || m->turn != REVERSE_OUTSIDE)
        return;
    int error = run_motion(m);
    if (error == TARGET_PENDING)
        return;
    error = end_motion(m, error, &why);
    if (error == BT_OK)
        m->host->stopped(m->ctx, &m->stop);
    else
        m->host->failed(m->ctx, &why);
}

void reverse_motion_idle(struct reverse_motion *m)
{
    if (is_searching(m))
        reverse_motion_go_on(m);
    else if (m->state == REVERSE_IDLE && work_ahead(m))
        m->host->later(m->ctx);
}

static int start_motion(struct reverse_motion *m, int core, bool step, bool back,
                        struct target_stop *stop, struct target_error *why)
{
    int error = reverse_motion_open(m, core, why);
    if (error != BT_OK)
        return error;
    struct reverse_core *c = &m->cores[core];
    m->core = core;
    m->quick = step && !c->goto_wanted;
    c->arrived = false;
    lock_history(m);
    report_alone(m);
    if (c->goto_wanted) {
        c->goto_wanted = false;
        c->reverse.position = c->goto_position;
        if (step)
            set_stop(m, TARGET_HALT_TRAP, c->goto_position);
        else
            error = begin_search(m, back, why);
    } else if (step) {
        do_step(m, back);
    } else {
        error = begin_search(m, back, why);
    }
    unlock_history(m);
    if (error == BT_OK)
        error = run_motion(m);
    if (error == TARGET_PENDING)
        return error;
    error = end_motion(m, error, why);
    *stop = m->stop;
    return error;
}

int reverse_motion_back(struct reverse_motion *m, int core, bool step, struct target_stop *stop,
                        struct target_error *why)
{
    return start_motion(m, core, step, true, stop, why);
}

bool reverse_motion_concerned(const struct reverse_motion *m)
{
    for (int i = 0; i < m->core_count; i++)
        if (reverse_motion_active(m, i) || m->cores[i].goto_wanted || m->cores[i].arrived)
            return true;
    return false;
}

bool reverse_motion_takes(const struct reverse_motion *m, const struct target_resume *r)
{
    const struct reverse_core *c = &m->cores[r->core];
    return reverse_motion_any(m) || c->goto_wanted ||
           (c->arrived && !r->step && !r->threads_listed);
}

int reverse_motion_resume(struct reverse_motion *m, const struct target_resume *r,
                          struct target_stop *stop, struct target_error *why)
{
    struct reverse_core *c = &m->cores[r->core];
    if (reverse_motion_active(m, r->core) || c->goto_wanted)
        return start_motion(m, r->core, r->step, false, stop, why);
    if (c->arrived && !r->step && !r->threads_listed) {
        c->arrived = false;
        *stop = (struct target_stop){.kind = TARGET_HALT_REPLAY_END, .core = r->core};
        return BT_OK;
    }
    snprintf(why->text, sizeof why->text,
             "another core is at a replay position: nothing runs until it is at its end again");
    return BT_ERR_UNSUPPORTED;
}

/* What GDB reads. */

/* As a rule it was done before the stop was told; not if a command has changed the rules since.
 * Without memory there are no values, only estimates. */
static void work_out(struct reverse_core *c)
{
    if (c->state == REVERSE_CORE_PREPARED && !c->values.now.built)
        reverse_values_at(&c->values, &c->reverse, &c->machine, c->reverse.position, false);
}

int reverse_motion_regs(struct reverse_motion *m, int core, struct target_regs *regs)
{
    struct reverse_core *c = &m->cores[core];
    lock_history(m);
    work_out(c);
    uint32_t estimated = 0;
    int error = reverse_values_regs(&c->values, &c->reverse, &c->machine, c->reverse.position, regs,
                                    &estimated);
    unlock_history(m);
    c->reported = regs->known & ~estimated;
    return error;
}

/* The path follows from these bytes: they are what they were, also where no program file says so.
 */
static bool is_code_that_ran(struct reverse_motion *m, struct reverse_core *c, uint64_t address)
{
    lock_history(m);
    bool ran = reverse_ran(&c->reverse, address);
    unlock_history(m);
    return ran;
}

size_t reverse_motion_memory(struct reverse_motion *m, int core, uint64_t address, uint8_t *bytes,
                             size_t len)
{
    struct reverse_core *c = &m->cores[core];
    lock_history(m);
    work_out(c);
    unlock_history(m);
    size_t done = 0;
    for (unsigned words = 0;; words++) {
        done += reverse_values_memory(&c->values, &c->machine, c->reverse.position, address + done,
                                      bytes + done, len - done);
        if (done == len || words == CODE_WORDS || !is_code_that_ran(m, c, address + done))
            return done;
        size_t rest = 4 - (size_t)((address + done) % 4);
        done = rest < len - done ? done + rest : len;
    }
}
