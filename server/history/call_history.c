/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/history/call_history.h"

#include "decoder/flow/flow.h"
#include "decoder/program/code.h"
#include "decoder/source/detail.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* From the last block to `next` without an exception in between. */
static void walk_block(struct walk *w, uint64_t number, uint64_t next)
{
    struct insn insn;
    uint32_t opcode;
    uint64_t from = bt_block_last(&w->last);
    struct code_view *view = code_select(&w->code, &w->key);
    if (!view || code_insn(&w->code, view, from, bt_block_isa(&w->last), &insn, &opcode) != BT_OK)
        return;
    uint64_t behind = from + insn.size;
    if (next == behind)
        return;
    if (insn.flags & INSN_LINK) {
        open_call(w, behind);
        add_line(w, LINE_CALL, number, next, 0);
    } else if (insn.flags & INSN_EXC_RETURN) {
        close_exception(w, number, next);
    } else if (insn.cls == INSN_INDIRECT && close_call(w, next)) {
        return;
    } else if (other_function(w->q, from, next)) {
        bool tail = starts_function(w->q, next);
        w->depth -= !tail;
        if (!tail)
            w->open = 0; /* the caller of what came first: nothing open is known of it */
        add_line(w, tail ? LINE_TAIL : LINE_BACK, number, next, 0);
    }
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
    } else if (gap) {
        w->open = 0;
        add_line(w, LINE_GAP, e->position, next, e->cause);
        *transfer = true;
    }
}

static bool is_later(const struct call_query *q, uint64_t number)
{
    return q->end && number >= q->end;
}

static void walk_window(struct walk *w, const struct history_window *window)
{
    uint64_t number = window->first;
    size_t e = 0;
    w->key = window->key;
    for (size_t i = 0; i < window->block_count && !is_later(w->q, number); i++) {
        struct bt_block block;
        bool transfer = false;
        history_block(window, i, &block);
        for (; e < window->event_count && window->events[e].position <= number; e++)
            walk_event(w, &window->events[e], block.first, &transfer);
        if (w->begun && !transfer)
            walk_block(w, number, block.first);
        w->last = block;
        w->begun = true;
        number += bt_block_count(&block);
    }
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

/* The newest `windows` windows, oldest first. */
static int walk_newest(struct walk *w, size_t windows)
{
    struct history *h = w->q->history;
    size_t count = all_windows(w->q);
    w->count = w->open = 0;
    w->depth = 0;
    w->begun = false;
    for (size_t i = count - windows; i < count; i++) {
        struct history_window window;
        int error = history_window_index(h, i, &window);
        if (error)
            return error;
        walk_window(w, &window);
    }
    return BT_OK;
}

/* The last `count` calls, or fewer if they do not go back so far. */
static void list_calls(const struct call_query *q, unsigned count, const struct console *c)
{
    struct walk *w = calloc(1, sizeof *w);
    const struct code_options options = {0};
    size_t all = all_windows(q), windows = all < 2 ? all : 2;
    int error = BT_OK;
    count = count < CALL_HISTORY_MAX ? count : CALL_HISTORY_MAX;
    if (!w || !count || !(w->lines = calloc(count, sizeof *w->lines))) {
        free(w);
        return;
    }
    w->q = q;
    w->max = count;
    code_cache_init(&w->code, q->image, &options);
    for (;; windows = windows * 4 < all ? windows * 4 : all) {
        error = walk_newest(w, windows);
        if (error || w->count > count || windows == all)
            break;
    }
    if (error)
        console_print(c, "the history cannot be read: %s\n", bt_strerror(error));
    else
        print_lines(w, c);
    code_cache_release(&w->code);
    free(w->lines);
    free(w);
}

void call_history_command(const struct call_query *q, const char *count, const struct console *c)
{
    char *end;
    unsigned long n = *count ? strtoul(count, &end, 10) : LINES_DEFAULT;
    if (*count && (*end || n == 0 || n > CALL_HISTORY_MAX || *count == '-'))
        console_print(c, "monitor history N: N is a number from 1 to %u, not '%s'\n",
                      CALL_HISTORY_MAX, count);
    else
        list_calls(q, (unsigned)n, c);
}

/* Number of instructions before `address` in the block; false if it holds none there. */
static bool index_in(struct walk *w, const struct bt_block *b, uint64_t address, uint64_t *index)
{
    if (address < b->first || address > bt_block_last(b))
        return false;
    *index = (address - b->first) / 4;
    if (bt_block_isa(b) == BT_ISA_A32)
        return address % 4 == b->first % 4;
    struct code_view *view = code_select(&w->code, &w->key);
    uint64_t at = b->first;
    for (*index = 0; at < address; ++*index) {
        struct insn insn;
        uint32_t opcode;
        if (!view || code_insn(&w->code, view, at, bt_block_isa(b), &insn, &opcode) != BT_OK)
            return false;
        at += insn.size;
    }
    return at == address;
}

/* Hits of one window, newest first, into `hits`. */
static size_t find_in(struct walk *w, const struct history_window *window, uint64_t address,
                      uint64_t *hits, size_t max)
{
    uint64_t number = window->end, index;
    size_t n = 0;
    w->key = window->key;
    for (size_t i = 0; i < window->event_count; i++)
        flow_track_key(&w->key, &window->events[i]);
    for (size_t i = window->block_count; i > 0 && n < max; i--) {
        struct bt_block block;
        history_block(window, i - 1, &block);
        number -= bt_block_count(&block);
        if (index_in(w, &block, address, &index) && !is_later(w->q, number + index))
            hits[n++] = number + index;
    }
    return n;
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

void call_history_when(const struct call_query *q, const char *what, const struct console *c)
{
    const struct code_options options = {0};
    struct history_window window;
    uint64_t address, hits[WHEN_MAX];
    struct history_tail tail;
    size_t found = 0;
    history_tail(q->history, &tail);
    uint64_t end = q->end ? q->end : history_end(q->history) + tail.instructions;
    if (!address_of(q, what, &address)) {
        explain_when(q, what, c);
        return;
    }
    struct walk *w = calloc(1, sizeof *w);
    if (!w)
        return;
    w->q = q;
    code_cache_init(&w->code, q->image, &options);
    for (size_t i = all_windows(q); i > 0 && found < WHEN_MAX; i--)
        if (history_window_index(q->history, i - 1, &window) == BT_OK)
            found += find_in(w, &window, address, hits + found, WHEN_MAX - found);
    for (size_t i = 0; i < found; i++)
        console_print(c, "instruction %" PRIu64 ", %" PRIu64 " before %s\n", hits[i] + 1,
                      end - hits[i], q->end ? "this one" : "the end");
    if (found == 0)
        console_print(c, "not in the history: instructions %" PRIu64 " to %" PRIu64 "\n",
                      history_first(q->history) + 1, end);
    code_cache_release(&w->code);
    free(w);
}
