/* SPDX-License-Identifier: BSD-3-Clause */
/* Motion along the history, by GDB's packets: steps, and searches for a breakpoint or a gap. */
#include "server/reverse/reverse_motion.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 6       /* of fetching memory for one position */
#define AHEAD      6000    /* units of values_work() between two such looks */
#define CODE_WORDS 1024    /* of one piece of memory that are looked for in the path */
#define PROGRESS   4000000 /* instructions between two words on how far a search is */

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

static void report_present(struct reverse_motion *m)
{
    if (m->memory == REVERSE_MEMORY_PRESENT)
        m->host->report(m->ctx, "memory that is not known here is shown as it is now\n");
}

/* Motions. */

static void close_reverse(struct reverse_core *c)
{
    reverse_accesses_forget(&c->watching.accesses);
    reverse_values_forget(&c->values);
    reverse_release(&c->reverse);
    memset(c, 0, sizeof *c);
}

static void end_question(struct reverse_motion *m)
{
    free(m->question);
    m->question = NULL;
}

void reverse_motion_forget(struct reverse_motion *m)
{
    for (int i = 0; i < m->core_count; i++)
        close_reverse(&m->cores[i]);
    m->state = REVERSE_IDLE;
    end_question(m);
}

static void reset_motion(struct reverse_motion *m)
{
    reverse_motion_forget(m);
    m->limit = REVERSE_VALUES_DEFAULT;
    m->infer = VALUES_INFER_ALL;
    m->memory = REVERSE_MEMORY_ERROR;
    m->reported_alone = false;
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

int reverse_motion_open(struct reverse_motion *m, int core, struct target_error *why)
{
    struct reverse_core *c = &m->cores[core];
    struct btrace_view view;
    if (c->state != REVERSE_CORE_CLOSED)
        return BT_OK;
    memset(&view, 0, sizeof view);
    reverse_motion_lock(m);
    int error = m->host->view(m->ctx, core, &view, why);
    if (!error) {
        error = reverse_init(&c->reverse, &view);
        if (error == BT_ERR_RANGE)
            snprintf(why->text, sizeof why->text, "nothing was traced on %s up to this halt",
                     m->host->core_name(m->ctx, core));
        if (error)
            reverse_release(&c->reverse);
    }
    reverse_motion_unlock(m);
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
    uint64_t behind = back ? p->position : p->position + 1;
    report_gap(m, reverse_gap_before(p, behind));
    set_stop(m, TARGET_HALT_TRAP, back ? behind - 1 : behind);
    moving_core(m)->arrived = !back && p->position == p->end;
}

static size_t take_addresses(struct reverse_search *q, const struct target_breakpoint *set,
                             size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count && n < REVERSE_BREAKPOINTS_MAX; i++)
        if (set[i].type <= TARGET_BREAKPOINT_HARDWARE)
            q->addresses[n++] = set[i].address;
    return n;
}

/* Watchpoints that are there when the position changes. */
static bool take_watches(struct reverse_motion *m, struct reverse_core *c)
{
    const struct target_breakpoint *set;
    size_t count = m->host->breakpoints(m->ctx, &set);
    return reverse_watch_take(&c->watching, c->reverse.position, set, count);
}

static int begin_search(struct reverse_motion *m, bool back)
{
    struct reverse *p = &moving_core(m)->reverse;
    struct reverse_search *q = &m->search;
    const struct target_breakpoint *set;
    size_t count = m->host->breakpoints(m->ctx, &set);
    memset(q, 0, sizeof *q);
    q->back = back;
    q->address_count = take_addresses(q, set, count);
    q->watched = take_watches(m, moving_core(m));
    if (back && p->position == p->first) {
        set_stop(m, TARGET_HALT_REPLAY_BEGIN, p->first);
        return BT_OK;
    }
    if (back)
        report_gap(m, reverse_gap_before(p, p->position));
    m->state = REVERSE_SEARCH;
    return reverse_search_open(p, q);
}

/* With watchpoints it is a search over one instruction. */
static void begin_step(struct reverse_motion *m, bool back)
{
    struct reverse_core *c = moving_core(m);
    uint64_t from = c->reverse.position;
    if (!take_watches(m, c) || (back && from == c->reverse.first)) {
        do_step(m, back);
        return;
    }
    m->search = (struct reverse_search){
        .back = back, .from = from, .reached = from, .watching = true, .step = true};
    reverse_watch_begin(&c->watching, from, back ? from - 1 : from + 1);
    m->state = REVERSE_SEARCH;
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

/* Steps pass what may be an access of the kind one after the other: it is said once. */
static void report_doubt(struct reverse_motion *m, bool hit)
{
    struct reverse_watching *g = &moving_core(m)->watching;
    char text[200];
    reverse_watch_doubt(g, hit, text, sizeof text);
    if (!text[0] || (m->search.step && g->warned))
        return;
    g->warned |= m->search.step;
    m->host->report(m->ctx, text);
}

static void watch_hit(struct reverse_motion *m)
{
    struct target_stop stop = {.kind = TARGET_HALT_TRAP};
    uint64_t position;
    char text[200];
    if (reverse_watch_stop(&moving_core(m)->watching, &stop, &position, text, sizeof text))
        m->host->report(m->ctx, text);
    report_left_out(m);
    report_doubt(m, true);
    set_stop(m, stop.kind, position);
    m->stop.address = stop.address;
}

static void watch_none(struct reverse_motion *m)
{
    report_doubt(m, false);
    if (m->search.step)
        do_step(m, m->search.back);
    else
        search_done(m, m->search.ended);
}

static void report_progress(struct reverse_motion *m)
{
    struct reverse_watching *g = &moving_core(m)->watching;
    uint64_t now = g->scan.next;
    char text[100];
    if ((now > g->shown ? now - g->shown : g->shown - now) < PROGRESS)
        return;
    g->shown = now;
    snprintf(text, sizeof text, "watchpoints: looked at accesses up to instruction %" PRIu64 "\n",
             now + 1);
    m->host->report(m->ctx, text);
}

/* Memory that the newest window lacks is asked for before anything is said. */
bool reverse_motion_lacks(struct reverse_motion *m, int core)
{
    struct reverse_watching *g = &m->cores[core].watching;
    bool fresh = g->accesses.fresh;
    g->accesses.fresh = false;
    m->waits = fresh && m->host->fetch && g->rounds++ < ROUNDS_MAX &&
               m->host->fetch(m->ctx, core) == TARGET_PENDING;
    if (m->waits)
        reverse_accesses_forget(&g->accesses);
    return m->waits;
}

static int do_watching(struct reverse_motion *m)
{
    struct reverse_core *c = moving_core(m);
    int error = reverse_motion_prepare(m, m->core);
    if (error != BT_OK)
        return error;
    int found =
        reverse_watch_some(&c->watching, &c->reverse, &c->values, &c->machine, c->values.infer);
    m->search.reached = c->watching.scan.next;
    if (found == TARGET_PENDING && !reverse_motion_lacks(m, m->core))
        report_progress(m);
    if (found < 0 || found == TARGET_PENDING)
        return found;
    if (found == REVERSE_WATCH_HIT)
        watch_hit(m);
    else
        watch_none(m);
    return BT_OK;
}

static int do_search(struct reverse_motion *m)
{
    struct reverse_core *c = moving_core(m);
    struct reverse_search *q = &m->search;
    if (m->state == REVERSE_INTERRUPTED) {
        if (q->watching)
            report_doubt(m, false);
        set_stop(m, TARGET_HALT_INTERRUPT, q->watched && !q->watching ? q->from : q->reached);
        return BT_OK;
    }
    if (q->watching)
        return do_watching(m);
    int found = reverse_search_some(&c->reverse, q);
    if (found < 0)
        return found;
    if (found == REVERSE_FOUND_MORE)
        return TARGET_PENDING;
    if (q->watched && q->found != q->from) {
        q->watching = true;
        q->ended = found;
        reverse_watch_begin(&c->watching, q->from, q->found);
        return TARGET_PENDING;
    }
    search_done(m, found);
    return BT_OK;
}

int reverse_motion_prepare(struct reverse_motion *m, int core)
{
    struct reverse_core *c = &m->cores[core];
    m->waits = false;
    if (c->state == REVERSE_CORE_PREPARED)
        return BT_OK;
    int error = m->host->machine(m->ctx, core, &c->machine);
    m->waits = error == TARGET_PENDING;
    if (error == BT_OK)
        c->state = REVERSE_CORE_PREPARED;
    return error;
}

/* Memory that somebody else has written is not carried back any more. */
static void take_outside(struct reverse_core *c)
{
    const struct reverse_forward *f = c->machine.forward;
    if (!f || c->outside == f->outside_found)
        return;
    c->outside = f->outside_found;
    reverse_values_forget(&c->values);
    reverse_accesses_forget(&c->watching.accesses);
}

/* What of the values forwards is worked out before the position is told of: all that it takes after
 * a jump, or where nothing else is known; else what does not take long. */
static bool wants_forward(const struct reverse_motion *m, const struct reverse_core *c,
                          uint64_t *at)
{
    const struct reverse_forward *f = c->machine.forward;
    uint64_t here = c->reverse.position, back = c->reverse.end - here;
    bool soon;
    *at = here;
    if (!f)
        return false;
    if (reverse_machine_is_a64(&c->machine))
        return reverse_forward_waits(f, here);
    if (back > c->values.limit)
        return !m->quick && reverse_forward_waits(f, here);
    return reverse_forward_open(f, here, at, &soon) &&
           (soon || !(m->quick || back < REVERSE_FIRST_WINDOW));
}

static int do_forward(struct reverse_motion *m, struct reverse_core *c)
{
    uint64_t at;
    if (!wants_forward(m, c, &at))
        return BT_OK;
    int error = reverse_forward_work(c->machine.forward, &c->reverse, at, REVERSE_FORWARD_SLICE);
    m->soon = error == TARGET_PENDING;
    return error < 0 || !wants_forward(m, c, &at) ? BT_OK : TARGET_PENDING;
}

/* Values of the position, before GDB is told of it: what it asks next is there. */
static int do_values(struct reverse_motion *m, int core)
{
    struct reverse_core *c = &m->cores[core];
    if (!reverse_active(&c->reverse))
        return BT_OK;
    int error = reverse_motion_prepare(m, core);
    if (error == BT_OK)
        error = do_forward(m, c);
    if (error != BT_OK)
        return error;
    take_outside(c);
    error = reverse_values_at(&c->values, &c->reverse, &c->machine, c->reverse.position, m->quick);
    if (error != BT_OK || !m->host->fetch || m->rounds++ >= ROUNDS_MAX)
        return error;
    error = m->host->fetch(m->ctx, core);
    if (error == TARGET_PENDING)
        reverse_known_release(&c->values.now); /* what is worked out ahead goes on */
    return error;
}

/* A window is complete, but for memory that it may have lacked. */
static bool take_ahead(struct reverse_motion *m, struct reverse_core *c)
{
    c->waits = m->host->fetch && c->rounds_ahead++ < ROUNDS_MAX;
    if (c->waits && m->host->fetch(m->ctx, m->core) == TARGET_PENDING) {
        reverse_work_end(&c->values.work);
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
    reverse_motion_lock(m);
    m->state = REVERSE_AHEAD;
    int error =
        reverse_values_ahead(&c->values, &c->reverse, &c->machine, c->reverse.position, AHEAD);
    bool more = error == REVERSE_AHEAD_DONE ? take_ahead(m, c) : error == TARGET_PENDING;
    if (!more && error == BT_OK && c->machine.forward)
        more = reverse_forward_work(c->machine.forward, &c->reverse, c->reverse.position,
                                    REVERSE_FORWARD_SLICE) == TARGET_PENDING;
    take_outside(c);
    m->state = REVERSE_IDLE;
    reverse_motion_unlock(m);
    return more;
}

void reverse_motion_known(struct reverse_motion *m)
{
    if (m->state == REVERSE_VALUES)
        reverse_motion_go_on(m);
    else if (reverse_motion_any(m))
        m->host->later(m->ctx);
}

void reverse_motion_fetched(struct reverse_motion *m, int core)
{
    m->cores[core].waits = false;
    m->host->later(m->ctx);
}

static int run_motion_once(struct reverse_motion *m, bool *soon)
{
    int error = BT_OK;
    reverse_motion_lock(m);
    if (is_searching(m)) {
        error = do_search(m);
        *soon = error == TARGET_PENDING && !m->waits;
    }
    m->soon = false;
    if (error == BT_OK && m->state == REVERSE_VALUES)
        error = do_values(m, m->core);
    *soon |= m->soon;
    reverse_motion_unlock(m);
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

/* Of a question: its answer may be complete. */
static void question_go_on(struct reverse_motion *m)
{
    bool done;
    reverse_motion_lock(m);
    done = m->question->work(m);
    reverse_motion_unlock(m);
    if (done) {
        end_question(m);
        m->host->answered(m->ctx);
    } else if (!m->waits) {
        m->host->later(m->ctx);
    }
}

void reverse_motion_go_on(struct reverse_motion *m)
{
    struct target_error why = {""};
    if (m->question && m->turn == REVERSE_OUTSIDE)
        m->host->later(m->ctx);
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
    if (m->question)
        question_go_on(m);
    else if (is_searching(m) || (m->state == REVERSE_VALUES && m->soon))
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
    reverse_motion_lock(m);
    take_watches(m, c);
    report_alone(m);
    if (c->goto_wanted) {
        c->goto_wanted = false;
        take_watches(m, c);
        c->reverse.position = c->goto_position;
        /* Over exclusives GDB steps by a breakpoint behind them: nobody can tell that from going
         * on. */
        if (step || !back)
            set_stop(m, TARGET_HALT_TRAP, c->goto_position);
        else
            error = begin_search(m, back);
    } else if (step) {
        begin_step(m, back);
    } else {
        error = begin_search(m, back);
    }
    reverse_motion_unlock(m);
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

/* Another core is to go somewhere by a step of its own. */
static bool is_awaited(const struct reverse_motion *m, int core)
{
    bool others = false;
    for (int i = 0; i < m->core_count; i++)
        others |= m->cores[i].goto_wanted;
    return others && !m->cores[core].goto_wanted;
}

bool reverse_motion_takes(const struct reverse_motion *m, const struct target_resume *r)
{
    const struct reverse_core *c = &m->cores[r->core];
    return reverse_motion_any(m) || c->goto_wanted || (r->step && is_awaited(m, r->core)) ||
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
             is_awaited(m, r->core)
                 ? "'monitor goto' waits for a step of another thread: 'disable' the breakpoint "
                   "here first, which GDB steps over"
                 : "another core is at a replay position: nothing runs until it is at its end "
                   "again");
    return BT_ERR_UNSUPPORTED;
}

/* What GDB reads. */

/* As a rule it was done before the stop was told; not if a command has changed the rules since.
 * Without memory there are no values, only estimates. */
static void work_out(struct reverse_core *c)
{
    if (c->state == REVERSE_CORE_PREPARED && !c->values.now.built)
        reverse_values_at(&c->values, &c->reverse, &c->machine, c->reverse.position, false);
    if (c->state == REVERSE_CORE_PREPARED && c->machine.forward)
        reverse_forward_at(c->machine.forward, &c->reverse, c->reverse.position);
}

int reverse_motion_regs(struct reverse_motion *m, int core, struct target_regs *regs)
{
    struct reverse_core *c = &m->cores[core];
    reverse_motion_lock(m);
    work_out(c);
    uint32_t estimated = 0;
    int error = reverse_values_regs(&c->values, &c->reverse, &c->machine, c->reverse.position, regs,
                                    &estimated);
    reverse_motion_unlock(m);
    c->reported = regs->known & ~estimated;
    return error;
}

/* The path follows from these bytes: they are what they were, also where no program file says so.
 * Before they ran RAM may have held anything; AArch64: without values forwards all that ran is
 * taken for code. */
static bool is_code_that_ran(struct reverse_motion *m, struct reverse_core *c, uint64_t address)
{
    reverse_motion_lock(m);
    bool ran = reverse_ran(&c->reverse, address, reverse_machine_is_a64(&c->machine));
    reverse_motion_unlock(m);
    return ran;
}

/* What a search for accesses has come to know. */
static bool put_watched_word(const struct reverse_core *c, uint64_t address, uint8_t *bytes,
                             size_t len)
{
    struct values_answer answer;
    bool known =
        address <= UINT32_MAX && reverse_accesses_word(&c->watching.accesses, c->reverse.position,
                                                       (uint32_t)address & ~3u, &answer);
    for (unsigned i = address & 3, k = 0; known && i < 4 && k < len; i++, k++)
        bytes[k] = (uint8_t)(answer.value >> 8 * (c->machine.big_endian ? 3 - i : i));
    return known;
}

size_t reverse_motion_memory(struct reverse_motion *m, int core, uint64_t address, uint8_t *bytes,
                             size_t there, size_t len)
{
    struct reverse_core *c = &m->cores[core];
    reverse_motion_lock(m);
    work_out(c);
    reverse_motion_unlock(m);
    /* GDB compares what it watches with what it has seen there: that is no status with holes. */
    bool unwinds = !reverse_watch_covers(&c->watching, address, len);
    size_t done = 0;
    for (unsigned words = 0;; words++) {
        done += reverse_values_memory(&c->values, &c->machine, c->reverse.position, address + done,
                                      bytes + done, there > done ? there - done : 0, len - done,
                                      unwinds);
        if (done == len || words == CODE_WORDS)
            return done;
        bool known = put_watched_word(c, address + done, bytes + done, len - done);
        size_t rest = 4 - (size_t)((address + done) % 4);
        if (!known && (there < len && there < done + rest))
            return done;
        if (!known && !is_code_that_ran(m, c, address + done))
            return done;
        done = rest < len - done ? done + rest : len;
    }
}
