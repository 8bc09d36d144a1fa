/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/history/call_history.h"

#include "decoder/flow/flow.h"
#include "decoder/program/code.h"
#include "decoder/source/detail.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#define SLICE_NS     3000000 /* of work, about */
#define SLICE_BLOCKS 8192u   /* between two looks at the clock */
#define PROGRESS_NS  1000000000
#define QUIET_BYTES  1024u /* of code that a loop may have to be passed over */
#define QUIET_WAYS   64u   /* a power of two */

#define DEPTH_MAX     256 /* return addresses remembered */
#define WHEN_MAX      10
#define LINES_DEFAULT 40

enum line_kind {
    LINE_CALL,
    LINE_TAIL,
    LINE_BACK, /* a return into what was called before the part that is shown */
    LINE_EXCEPTION,
    LINE_GAP,
};

struct line {
    uint64_t number; /* of the first instruction */
    uint64_t address;
    int depth;
    uint16_t what; /* exception number, or cause of the gap */
    uint8_t kind;  /* enum line_kind */
};

/* A walk along the history, block by block. */
struct walk {
    const struct call_query *q;
    struct code_cache code;
    struct code_key key;
    struct line *lines; /* a ring: the last `max` */
    size_t max;
    uint64_t count;
    uint64_t returns[DEPTH_MAX]; /* return addresses of open calls; 0: of an exception */
    unsigned open;
    int depth;
    bool begun;
    struct bt_block last; /* valid once begun */
    /* Ways from the end of a block to another that are no line, whatever is open. */
    struct {
        uint64_t from, next;
        bool known;
    } quiet[QUIET_WAYS];

    /* Where it is in the window: blocks and events done, number of the next instruction. */
    size_t block, event;
    uint64_t number;
};

static const struct elf_symbol *symbol_at(const struct call_query *q, uint64_t address,
                                          uint64_t *offset)
{
    for (size_t i = 0; i < q->elf_count; i++) {
        const struct elf_symbol *s = elf_image_symbol(q->elf[i], address, offset);
        if (s)
            return s;
    }
    return NULL;
}

static const char *place_name(const struct call_query *q, uint64_t address, char *text, size_t size)
{
    uint64_t offset;
    const struct elf_symbol *s = symbol_at(q, address, &offset);
    if (s && offset)
        snprintf(text, size, "%s+%" PRIu64, s->name, offset);
    else if (s)
        snprintf(text, size, "%s", s->name);
    else
        snprintf(text, size, "0x%08" PRIx64, address);
    return text;
}

static bool starts_function(const struct call_query *q, uint64_t address)
{
    uint64_t offset;
    return symbol_at(q, address, &offset) && offset == 0;
}

static bool other_function(const struct call_query *q, uint64_t a, uint64_t b)
{
    uint64_t offset;
    const struct elf_symbol *s = symbol_at(q, a, &offset), *t = symbol_at(q, b, &offset);
    return s != t;
}

static void add_line(struct walk *w, enum line_kind kind, uint64_t number, uint64_t address,
                     unsigned what)
{
    w->lines[w->count++ % w->max] = (struct line){.number = number,
                                                  .address = address,
                                                  .depth = w->depth,
                                                  .what = (uint16_t)what,
                                                  .kind = (uint8_t)kind};
}

static void open_call(struct walk *w, uint64_t return_address)
{
    if (w->open == DEPTH_MAX) {
        memmove(w->returns, w->returns + 1, (DEPTH_MAX - 1) * sizeof *w->returns);
        w->open--;
    }
    w->returns[w->open++] = return_address;
    w->depth++;
}

/* True if an open call returns there: it, and what was called in it, is over. */
static bool close_call(struct walk *w, uint64_t address)
{
    for (unsigned i = w->open; i > 0; i--) {
        if (w->returns[i - 1] != address)
            continue;
        w->depth -= (int)(w->open - (i - 1));
        w->open = i - 1;
        return true;
    }
    return false;
}

/* An exception's handler is left: so is everything that it had called. */
static void close_exception(struct walk *w, uint64_t number, uint64_t address)
{
    if (close_call(w, 0))
        return;
    w->depth--;
    add_line(w, LINE_BACK, number, address, 0);
}

/* From the last block to `next` without an exception in between. True: it is no line, and never is
 * one. */
static bool walk_block(struct walk *w, uint64_t number, uint64_t next)
{
    struct insn insn;
    uint32_t opcode;
    uint64_t from = bt_block_last(&w->last);
    struct code_view *view = code_select(&w->code, &w->key);
    if (!view || code_insn(&w->code, view, from, bt_block_isa(&w->last), &insn, &opcode) != BT_OK)
        return false;
    uint64_t behind = from + insn.size;
    if (next == behind)
        return true;
    if (insn.flags & INSN_LINK) {
        open_call(w, behind);
        add_line(w, LINE_CALL, number, next, 0);
    } else if (insn.flags & INSN_EXC_RETURN) {
        close_exception(w, number, next);
    } else if (insn.cls == INSN_INDIRECT && close_call(w, next)) {
        return false;
    } else if (other_function(w->q, from, next)) {
        bool tail = starts_function(w->q, next);
        w->depth -= !tail;
        if (!tail)
            w->open = 0; /* the caller of what came first: nothing open is known of it */
        add_line(w, tail ? LINE_TAIL : LINE_BACK, number, next, 0);
    } else {
        return insn.cls != INSN_INDIRECT;
    }
    return false;
}

/* The same; a way that was quiet before is again. */
static void walk_way(struct walk *w, uint64_t number, uint64_t next)
{
    uint64_t from = bt_block_last(&w->last);
    size_t at = (size_t)((from >> 1) ^ (next >> 2)) & (QUIET_WAYS - 1);
    if (w->quiet[at].known && w->quiet[at].from == from && w->quiet[at].next == next)
        return;
    bool quiet = walk_block(w, number, next);
    if (!quiet)
        return;
    w->quiet[at].from = from;
    w->quiet[at].next = next;
    w->quiet[at].known = true;
}

/* One gap may be two events: where trace ends, and why it begins again. */
static bool is_listed_gap(const struct walk *w, const struct bt_event *e)
{
    if (w->count == 0)
        return false;
    const struct line *last = &w->lines[(w->count - 1) % w->max];
    return last->kind == LINE_GAP && last->number == e->position && last->what == e->cause;
}

static void walk_event(struct walk *w, const struct bt_event *e, uint64_t next, bool *transfer)
{
    flow_track_key(&w->key, e);
    bool gap = (e->kind == BT_EVENT_GAP || e->kind == BT_EVENT_TRACE_ON) &&
               e->cause != BT_GAP_NONE && e->cause != BT_GAP_DEBUG;
    if (e->kind == BT_EVENT_EXCEPTION) {
        open_call(w, 0);
        add_line(w, LINE_EXCEPTION, e->position, next, e->u.exception.number);
        *transfer = true;
    } else if (e->kind == BT_EVENT_EXCEPTION_RET && w->q->m_profile) {
        close_exception(w, e->position, next);
        *transfer = true;
    } else if (gap && !is_listed_gap(w, e)) {
        w->open = 0;
        add_line(w, LINE_GAP, e->position, next, e->cause);
        *transfer = true;
    }
}

static bool is_later(const struct call_query *q, uint64_t number)
{
    return q->end && number >= q->end;
}

static void walk_begin(struct walk *w, const struct history_window *window)
{
    w->key = window->key;
    w->block = w->event = 0;
    w->number = window->first;
    memset(w->quiet, 0, sizeof w->quiet);
}

/* At most `max` blocks of a window. True: it is done. */
static bool walk_on(struct walk *w, const struct history_window *window, size_t max)
{
    for (; w->block < window->block_count && !is_later(w->q, w->number); w->block++, max--) {
        struct bt_block block;
        bool transfer = false;
        if (max == 0)
            return false;
        history_block(window, w->block, &block);
        for (; w->event < window->event_count && window->events[w->event].position <= w->number;
             w->event++) {
            walk_event(w, &window->events[w->event], block.first, &transfer);
            memset(w->quiet, 0, sizeof w->quiet); /* the same addresses may be other code now */
        }
        if (w->begun && !transfer)
            walk_way(w, w->number, block.first);
        w->last = block;
        w->begun = true;
        w->number += bt_block_count(&block);
    }
    return true;
}

static void print_line(const struct call_query *q, const struct line *l, int least,
                       const struct console *c)
{
    char name[200];
    const char *where = place_name(q, l->address, name, sizeof name);
    int indent = 2 * (l->depth - least < 60 ? l->depth - least : 60);
    console_print(c, "%12" PRIu64 "  %*s", l->number + 1, indent, "");
    if (l->kind == LINE_EXCEPTION)
        console_print(c, "*** %s: %s\n", detail_exception(l->what, q->m_profile), where);
    else if (l->kind == LINE_GAP)
        console_print(c, "--- gap: %s; then %s\n", bt_gap_name((enum bt_gap_cause)l->what), where);
    else if (l->kind == LINE_BACK)
        console_print(c, "back in %s\n", where);
    else
        console_print(c, "%s%s\n", where, l->kind == LINE_TAIL ? " (jumped to)" : "");
}

static void print_lines(const struct walk *w, const struct console *c)
{
    size_t n = w->count < w->max ? (size_t)w->count : w->max;
    int least = 0;
    for (uint64_t i = w->count - n; i < w->count; i++)
        if (i == w->count - n || w->lines[i % w->max].depth < least)
            least = w->lines[i % w->max].depth;
    for (uint64_t i = w->count - n; i < w->count; i++)
        print_line(w->q, &w->lines[i % w->max], least, c);
    if (n == 0)
        console_print(c, "no call in the history\n");
}

/* Windows up to the query's end. */
static size_t all_windows(const struct call_query *q)
{
    size_t count = history_window_count(q->history);
    bool within = q->end && q->end < history_end(q->history);
    return within && count ? history_window_find(q->history, q->end) + 1 : count;
}

static bool address_of(const struct call_query *q, const char *what, uint64_t *address)
{
    for (size_t i = 0; i < q->elf_count; i++) {
        const struct elf_symbol *s = elf_image_find(q->elf[i], what);
        if (s) {
            *address = s->address;
            return true;
        }
    }
    char *end;
    *address = strtoull(what, &end, 0);
    return what[0] >= '0' && what[0] <= '9' && *end == '\0';
}

static void explain_when(const struct call_query *q, const char *what, const struct console *c)
{
    static const char usage[] = "monitor when FUNCTION, or an address (0x...)";
    if (!*what)
        console_print(c, "%s\n", usage);
    else if (!q->elf_count)
        console_print(c,
                      "no program file tells names ('program' in the board file, --elf of replay): "
                      "monitor when 0x...\n");
    else
        console_print(c, "no function '%s' in the program file: %s\n", what, usage);
}

struct call_job {
    struct call_query query;
    struct console console;
    struct walk walk;
    uint64_t from, last, at; /* numbers of windows: where it began, the newest, the one under way */
    uint64_t base;           /* number of the oldest at the begin */
    bool opened;             /* the walk is in window `at` */
    bool interrupted;
    uint64_t worked_ns, progress_ns;
    uint64_t all, done; /* windows, for the progress */
    int error;

    bool when;
    uint64_t address, end;
    unsigned found;             /* hits, that were told */
    struct history_reach quiet; /* code that was looked through */
    bool is_quiet;
};

static bool same_reach(const struct history_reach *a, const struct history_reach *b)
{
    return a->low == b->low && a->high == b->high && a->isas == b->isas && !a->events && !b->events;
}

/* No instruction of it leads to a line, wherever in it. */
static bool code_is_quiet(struct walk *w, const struct history_reach *r)
{
    unsigned isa = (unsigned)__builtin_ctz(r->isas | 1u << 31);
    struct code_view *view = code_select(&w->code, &w->key);
    if (!view || r->isas != 1u << isa || r->high - r->low > QUIET_BYTES)
        return false;
    for (uint64_t at = r->low; at <= r->high;) {
        struct insn insn;
        uint32_t opcode;
        if (code_insn(&w->code, view, at, (enum bt_isa)isa, &insn, &opcode) != BT_OK ||
            insn.flags & (INSN_LINK | INSN_EXC_RETURN) || insn.cls == INSN_INDIRECT ||
            other_function(w->q, r->low, at))
            return false;
        at += insn.size;
    }
    return true;
}

/* Between two windows that go through the same few instructions as it does. */
static bool job_passes_over(struct call_job *j, size_t index)
{
    struct history_reach r, before, behind;
    struct history *h = j->query.history;
    history_window_reach(h, index, &r);
    if (j->when)
        return r.low > r.high || j->address < r.low || j->address > r.high;
    if (!j->walk.begun || j->at <= j->from || j->at >= j->last)
        return false;
    history_window_reach(h, index - 1, &before);
    history_window_reach(h, index + 1, &behind);
    if (!same_reach(&r, &before) || !same_reach(&r, &behind))
        return false;
    if (!same_reach(&r, &j->quiet)) {
        j->quiet = r;
        j->is_quiet = code_is_quiet(&j->walk, &r);
    }
    return j->is_quiet;
}

static void job_tell_hit(struct call_job *j, uint64_t number)
{
    console_print(&j->console, "instruction %" PRIu64 ", %" PRIu64 " before %s\n", number + 1,
                  j->end - number, j->query.end ? "this one" : "the end");
    j->found++;
}

/* Backwards, at most `max` blocks; the walk's block counts those that are left. */
static bool find_on(struct call_job *j, const struct history_window *window, size_t max)
{
    struct walk *w = &j->walk;
    size_t least = w->block > max ? w->block - max : 0;
    uint64_t index;
    while (j->found < WHEN_MAX && history_block_back(window, least, j->address, &w->block)) {
        struct bt_block block;
        uint64_t number = history_block_number(window, w->block);
        history_block(window, w->block, &block);
        if (code_index_of(&w->code, &w->key, &block, j->address, &index) &&
            !is_later(w->q, number + index))
            job_tell_hit(j, number + index);
    }
    return w->block == 0 || j->found == WHEN_MAX;
}

static void job_open_window(struct call_job *j, const struct history_window *window)
{
    struct walk *w = &j->walk;
    j->opened = true;
    walk_begin(w, window);
    if (!j->when)
        return;
    w->block = window->block_count;
    for (size_t i = 0; i < window->event_count; i++)
        flow_track_key(&w->key, &window->events[i]);
}

/* The calls so far did not go back far enough: from four times as far. True: there is no more. */
static bool job_go_back(struct call_job *j)
{
    struct walk *w = &j->walk;
    uint64_t windows = j->last + 1 - j->from;
    if (w->count > w->max || j->from == j->base)
        return true;
    windows = windows * 4 < j->last + 1 - j->base ? windows * 4 : j->last + 1 - j->base;
    j->at = j->from = j->last + 1 - windows;
    j->all += windows;
    w->count = w->open = 0;
    w->depth = 0;
    w->begun = false;
    return false;
}

/* The window is behind us. True: the last one was. */
static bool job_next_window(struct call_job *j)
{
    j->opened = false;
    j->done++;
    if (j->when && (j->at == j->base || j->found == WHEN_MAX))
        return true;
    if (j->when) {
        j->at--;
        return false;
    }
    return j->at++ == j->last && job_go_back(j);
}

/* What was dropped meanwhile is not looked at. */
static bool job_keep_up(struct call_job *j)
{
    uint64_t dropped = history_windows_dropped(j->query.history);
    if (dropped <= j->base)
        return true;
    j->base = dropped;
    j->from = j->from > dropped ? j->from : dropped;
    if (j->at >= dropped)
        return true;
    j->opened = j->walk.begun = false;
    j->at = dropped;
    return !j->when && j->at <= j->last;
}

/* A few thousand blocks, or a window. True: the question is answered. */
static bool job_step(struct call_job *j)
{
    struct history_window window;
    if (!job_keep_up(j))
        return true;
    size_t index = (size_t)(j->at - history_windows_dropped(j->query.history));
    if (!j->opened && job_passes_over(j, index))
        return job_next_window(j);
    j->error = history_window_index(j->query.history, index, &window);
    if (j->error)
        return true;
    if (!j->opened)
        job_open_window(j, &window);
    bool through =
        j->when ? find_on(j, &window, SLICE_BLOCKS) : walk_on(&j->walk, &window, SLICE_BLOCKS);
    return through && job_next_window(j);
}

static void job_tell_end(struct call_job *j, bool complete)
{
    const struct console *c = &j->console;
    if (j->error)
        console_print(c, "the history cannot be read: %s\n", bt_strerror(j->error));
    else if (!j->when)
        print_lines(&j->walk, c);
    else if (j->found == 0 && complete)
        console_print(c, "not in the history: instructions %" PRIu64 " to %" PRIu64 "\n",
                      history_first(j->query.history) + 1, j->end);
    if (!complete)
        console_print(c,
                      j->interrupted ? "interrupted: what is above was found until then\n"
                                     : "too much history for one answer: what is above was "
                                       "found in %d s\n",
                      CALL_JOB_SECONDS);
}

static void job_tell_progress(struct call_job *j)
{
    if (j->worked_ns < j->progress_ns)
        return;
    j->progress_ns = j->worked_ns + PROGRESS_NS;
    console_print(&j->console, "... %" PRIu64 " of %" PRIu64 " parts of the history\n", j->done,
                  j->all);
}

bool call_job_work(struct call_job *j)
{
    const struct code_options options = {0};
    uint64_t begin = uv_hrtime(), now = begin;
    bool done = j->interrupted;
    code_cache_init(&j->walk.code, j->query.image, &options);
    while (!done && now - begin < SLICE_NS) {
        done = job_step(j);
        now = uv_hrtime();
    }
    j->worked_ns += now - begin;
    bool late = !done && j->worked_ns > (uint64_t)CALL_JOB_SECONDS * 1000000000;
    if (done || late)
        job_tell_end(j, !j->interrupted && !late);
    else
        job_tell_progress(j);
    code_cache_release(&j->walk.code);
    return done || late;
}

void call_job_interrupt(struct call_job *j)
{
    j->interrupted = true;
}

void call_job_free(struct call_job *j)
{
    if (!j)
        return;
    free(j->walk.lines);
    free(j);
}

/* About all windows up to the query's end; NULL: there are none, or no memory. */
static struct call_job *job_new(const struct call_query *q, const struct console *c)
{
    struct history_tail tail;
    size_t count = all_windows(q);
    struct call_job *j = count ? calloc(1, sizeof *j) : NULL;
    if (!j)
        return NULL;
    j->query = *q;
    j->console = *c;
    j->walk.q = &j->query;
    j->base = history_windows_dropped(q->history);
    j->at = j->from = j->last = j->base + count - 1;
    j->progress_ns = PROGRESS_NS;
    history_tail(q->history, &tail);
    j->end = q->end ? q->end : history_end(q->history) + tail.instructions;
    return j;
}

struct call_job *call_history_begin(const struct call_query *q, const char *count,
                                    const struct console *c)
{
    char *end;
    unsigned long n = *count ? strtoul(count, &end, 10) : LINES_DEFAULT;
    if (*count && (*end || n == 0 || n > CALL_HISTORY_MAX || *count == '-')) {
        console_print(c, "monitor history N: N is a number from 1 to %u, not '%s'\n",
                      CALL_HISTORY_MAX, count);
        return NULL;
    }
    struct call_job *j = job_new(q, c);
    if (!j || !(j->walk.lines = calloc(n, sizeof *j->walk.lines))) {
        call_job_free(j);
        console_print(c, "no call in the history\n");
        return NULL;
    }
    j->walk.max = n;
    if (j->at > j->base)
        j->from = --j->at;
    j->all = j->last + 1 - j->from;
    return j;
}

struct call_job *call_when_begin(const struct call_query *q, const char *what,
                                 const struct console *c)
{
    uint64_t address;
    if (!address_of(q, what, &address)) {
        explain_when(q, what, c);
        return NULL;
    }
    struct call_job *j = job_new(q, c);
    if (!j) {
        console_print(c, "not in the history: it is empty\n");
        return NULL;
    }
    j->when = true;
    j->address = address;
    j->all = j->last + 1 - j->base;
    return j;
}
