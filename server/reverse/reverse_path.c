/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/reverse/reverse_path.h"

#include "decoder/flow/flow.h"
#include "decoder/values/values.h"

#include <stdlib.h>
#include <string.h>

#define FLAGS 0xf80f0000u /* NZCVQ and GE */

/* Where it is in the history. */
struct path_cursor {
    struct reverse_path *p;
    struct reverse *reverse;
    struct reverse_path_cache *cache;
    struct reverse_history_window window;
    size_t index, block, event;
    uint64_t number; /* of the block's first instruction */
    struct code_key key;
    struct code_view *view; /* of the key; NULL: not chosen yet */
    size_t left;            /* of the budget */
    uint64_t to;
    bool halted; /* at p->end: what follows happened behind the halt */
};

/* From here on a core that was halted runs again. */
static bool is_resume(const struct bt_event *e)
{
    return e->kind == BT_EVENT_TRACE_ON && e->cause == BT_GAP_DEBUG;
}

void reverse_path_cache_release(struct reverse_path_cache *cache)
{
    for (size_t i = 0; i < REVERSE_PATH_BLOCKS; i++)
        free(cache->blocks[i].insns);
    memset(cache, 0, sizeof *cache);
}

/* Only what code depends on: a change of anything else is none. */
static struct code_key key_that_counts(const struct code_key *key, const struct code_image *image)
{
    struct code_key k;
    code_key_init(&k);
    k.generation = key->generation;
    k.core = key->core;
    if (image->by & CODE_BY_SECURITY)
        k.security = key->security;
    if (image->by & CODE_BY_VMID) {
        k.vmid = key->vmid;
        k.has_vmid = key->has_vmid;
    }
    if (image->by & CODE_BY_CONTEXT) {
        k.context = key->context;
        k.has_context = key->has_context;
    }
    return k;
}

static bool keys_are_equal(const struct code_key *a, const struct code_key *b)
{
    return a->generation == b->generation && a->context == b->context && a->vmid == b->vmid &&
           a->core == b->core && a->security == b->security && a->has_context == b->has_context &&
           a->has_vmid == b->has_vmid;
}

static struct code_view *cursor_view(struct path_cursor *c)
{
    struct code_key key = key_that_counts(&c->key, c->reverse->view.image);
    if (!c->cache->valid || !keys_are_equal(&key, &c->cache->key)) {
        reverse_path_cache_release(c->cache);
        c->cache->key = key;
        c->cache->valid = true;
        c->view = NULL;
    }
    if (!c->view)
        c->view = code_select(&c->reverse->code, &key);
    return c->view;
}

static uint32_t shape_of_block(const struct path_cursor *c, const struct bt_block *b)
{
    return bt_block_info(bt_block_count(b), bt_block_isa(b),
                         reverse_inner_condition(c->reverse, &c->window, b));
}

/* Instructions of a block; an enum reverse_path_stop or BT_ERR_NOMEM. */
static int read_block(struct path_cursor *c, const struct bt_block *b, struct execute_insn **out)
{
    struct reverse_path_block *e =
        &c->cache->blocks[(b->first >> 1 ^ b->first >> 13 ^ b->extent >> 1) &
                          (REVERSE_PATH_BLOCKS - 1)];
    struct code_view *view = cursor_view(c);
    size_t count = bt_block_count(b);
    uint64_t address = b->first;
    *out = e->insns;
    if (e->shape == shape_of_block(c, b) && e->first == b->first && e->extent == b->extent)
        return REVERSE_PATH_THERE;
    enum bt_cond inner = reverse_inner_condition(c->reverse, &c->window, b);
    struct execute_insn *insns = view ? realloc(e->insns, count * sizeof *insns) : NULL;
    if (!insns)
        return BT_ERR_NOMEM;
    *e = (struct reverse_path_block){.first = b->first, .extent = b->extent, .insns = insns};
    for (size_t i = 0; i < count; i++) {
        struct insn insn;
        uint32_t opcode;
        if (code_insn(&c->reverse->code, view, address, bt_block_isa(b), &insn, &opcode) != BT_OK)
            return REVERSE_PATH_CODE;
        insns[i] = (struct execute_insn){.address = address,
                                         .opcode = opcode,
                                         .isa = (uint8_t)bt_block_isa(b),
                                         .size = insn.size,
                                         .cond = (uint8_t)inner,
                                         .next = address + insn.size,
                                         .has_next = true};
        address += insn.size;
    }
    e->shape = shape_of_block(c, b);
    *out = insns;
    return REVERSE_PATH_THERE;
}

/* What the events at a position say of where the program went on: true, nothing more is to be
 * looked for. */
static bool next_by_event(const struct path_cursor *c, const struct bt_event *e,
                          struct execute_insn *insn)
{
    if (e->kind == BT_EVENT_EXCEPTION && !values_is_halt(e)) {
        insn->has_next = e->u.exception.has_return;
        insn->next = e->u.exception.return_address;
        return true;
    }
    if (is_resume(e) && e->position == c->p->end) {
        insn->next = c->p->end_pc;
        insn->has_next = true;
        return true;
    }
    if (!reverse_is_gap(c->reverse, e))
        return false;
    insn->has_next = false;
    return true;
}

/* The address of the instruction at `position`, by the windows from c->index on. */
static int next_by_windows(struct path_cursor *c, uint64_t position, struct execute_insn *insn)
{
    struct reverse_history_window s;
    insn->has_next = position == c->p->end;
    insn->next = c->p->end_pc;
    for (size_t i = c->index; i < reverse_history_window_count(c->reverse); i++) {
        int error = reverse_history_window(c->reverse, i, &s);
        if (error)
            return error;
        if (s.first > position)
            break;
        for (size_t k = 0; k < s.window.event_count; k++)
            if (s.window.events[k].position == position &&
                next_by_event(c, &s.window.events[k], insn))
                return BT_OK;
        if (position < s.end) {
            struct bt_block b;
            size_t at;
            if (!insn->has_next && reverse_block_find(&s, position, &at) == position) {
                reverse_block(&s, at, &b);
                insn->next = b.first;
                insn->has_next = true;
            }
            break;
        }
    }
    return BT_OK;
}

/* The same for a block that has another one behind it in its window. */
static void next_in_window(const struct path_cursor *c, uint64_t position,
                           struct execute_insn *insn)
{
    struct bt_block b;
    for (size_t k = c->event; k < c->window.window.event_count; k++) {
        const struct bt_event *e = &c->window.window.events[k];
        if (e->position > position)
            break;
        if (next_by_event(c, e, insn))
            return;
    }
    reverse_block(&c->window, c->block + 1, &b);
    insn->next = position == c->p->end ? c->p->end_pc : b.first;
    insn->has_next = true;
}

/* Something that is known contradicts the path. */
static int path_contradicts(struct reverse_path *p)
{
    p->x.regs.psr_known &= ~FLAGS;
    return p->believes ? REVERSE_PATH_THERE : REVERSE_PATH_WRONG;
}

/* An exception or its return at p->position, and where the path goes on then. Another exception
 * may follow: then it is where that says. */
static int run_exception(struct path_cursor *c, const struct bt_event *events, size_t count)
{
    struct reverse_path *p = c->p;
    const struct bt_event *e = &events[0];
    uint64_t next = p->end_pc;
    enum bt_isa isa;
    const struct bt_event *other = NULL;
    for (size_t i = 1; i < count && !other; i++)
        if (events[i].kind == BT_EVENT_EXCEPTION && !values_is_halt(&events[i]))
            other = &events[i];
    if (other)
        next =
            other->u.exception.has_return ? other->u.exception.return_address : EXECUTE_NO_ADDRESS;
    else if (p->position != p->end && reverse_pc(c->reverse, p->position, &next, &isa) != BT_OK)
        return REVERSE_PATH_CODE;
    p->x.chains = other || p->x.returned;
    p->x.nonsecure = c->key.security == BT_SEC_NONSECURE;
    int error = e->kind == BT_EVENT_EXCEPTION ? execute_exception(&p->x, e, next)
                                              : execute_exception_return(&p->x, e, next);
    return error == BT_ERR_RANGE ? path_contradicts(p) : error ? error : REVERSE_PATH_THERE;
}

/* What happened right before the instruction at p->position: events[0], of `count`. */
static int run_event(struct path_cursor *c, const struct bt_event *events, size_t count)
{
    struct reverse_path *p = c->p;
    const struct bt_event *e = &events[0];
    uint8_t security = c->key.security;
    flow_track_key(&c->key, e);
    if (reverse_is_gap(c->reverse, e)) {
        uint32_t doubtful = e->kind == BT_EVENT_GAP ? e->u.gap.doubtful : 0;
        p->gap = p->position > doubtful ? p->position - doubtful : 0;
        return REVERSE_PATH_GAP;
    }
    if (c->key.security != security && p->m_profile)
        execute_forget_registers(&p->x);
    bool exception =
        (e->kind == BT_EVENT_EXCEPTION && !values_is_halt(e)) || e->kind == BT_EVENT_EXCEPTION_RET;
    return exception ? run_exception(c, events, count) : REVERSE_PATH_THERE;
}

/* Events at p->position in the window, from c->event on. They are copied: what follows may take
 * the window away. */
static int run_events(struct path_cursor *c)
{
    struct bt_event events[16];
    int stop = REVERSE_PATH_THERE;
    size_t n = 0, rest = c->window.window.event_count - c->event;
    while (n < rest && n < sizeof events / sizeof *events &&
           c->window.window.events[c->event + n].position == c->p->position)
        n++;
    if (n)
        memcpy(events, c->window.window.events + c->event, n * sizeof *events);
    size_t run = 0;
    while (run < n && !c->halted)
        if (c->p->position == c->p->end && is_resume(&events[run]))
            c->halted = true;
        else
            run++;
    for (size_t i = 0; i < run && stop == REVERSE_PATH_THERE; i++)
        stop = run_event(c, events + i, run - i);
    c->event += n;
    if (n && stop == REVERSE_PATH_THERE)
        stop = reverse_history_window(c->reverse, c->index, &c->window);
    return stop == REVERSE_PATH_THERE && n == sizeof events / sizeof *events ? run_events(c) : stop;
}

static int run_insn(struct path_cursor *c, const struct execute_insn *insn)
{
    struct reverse_path *p = c->p;
    p->insn = p->position;
    p->pc = insn->address;
    int error = execute_step(&p->x, insn), stop = REVERSE_PATH_THERE;
    if (error == BT_ERR_RANGE)
        stop = path_contradicts(p);
    else if (error)
        return error == BT_ERR_UNSUPPORTED ? (int)REVERSE_PATH_CODE : error;
    p->position += stop == REVERSE_PATH_THERE;
    return stop;
}

/* Where the block at c->block ends, and how its last instruction went on. */
static int complete_block(struct path_cursor *c, const struct bt_block *b, uint64_t end,
                          struct execute_insn *last)
{
    int error = BT_OK;
    last->cond = (uint8_t)bt_block_cond(b);
    if (c->block + 1 < c->window.block_count)
        next_in_window(c, end, last);
    else {
        error = next_by_windows(c, end, last);
        if (!error)
            error = reverse_history_window(c->reverse, c->index, &c->window);
    }
    return error;
}

/* The block at c->block, from p->position on. */
static int run_block(struct path_cursor *c)
{
    struct reverse_path *p = c->p;
    struct bt_block b;
    struct execute_insn *insns;
    reverse_block(&c->window, c->block, &b);
    uint64_t end = c->number + bt_block_count(&b);
    int stop = read_block(c, &b, &insns);
    while (stop == REVERSE_PATH_THERE && p->position + 1 < end && p->position < c->to)
        stop = run_insn(c, &insns[p->position - c->number]);
    if (stop == REVERSE_PATH_THERE && p->position + 1 == end && p->position < c->to) {
        struct execute_insn last = insns[p->position - c->number];
        stop = complete_block(c, &b, end, &last);
        if (!stop)
            stop = run_insn(c, &last);
    }
    if (stop == REVERSE_PATH_THERE && p->position == end) {
        c->number = end;
        c->block++;
    }
    return stop;
}

/* Where p->position is in the window; events up to there have happened. */
static void open_cursor(struct path_cursor *c)
{
    const struct reverse_history_window *s = &c->window;
    c->key = s->extra ? s->key : s->window.key;
    c->view = NULL;
    c->block = c->event = 0;
    c->number = s->first;
    if (s->block_count)
        c->number = reverse_block_find(s, c->p->position, &c->block);
    for (;
         c->event < s->window.event_count && s->window.events[c->event].position <= c->p->position;
         c->event++)
        flow_track_key(&c->key, &s->window.events[c->event]);
}

/* The window from p->position on. */
static int run_window(struct path_cursor *c)
{
    struct reverse_path *p = c->p;
    int stop = REVERSE_PATH_THERE;
    while (stop == REVERSE_PATH_THERE && p->position < c->to && c->block < c->window.block_count) {
        uint64_t before = p->position;
        if (!c->left)
            return REVERSE_PATH_MORE;
        stop = run_block(c);
        uint64_t done = p->position - before;
        c->left -= done < c->left ? (size_t)done : c->left;
        if (stop == REVERSE_PATH_THERE)
            stop = run_events(c);
    }
    return stop;
}

/* What stands at p->position in the windows behind the one that ends there. */
static int run_next_events(struct path_cursor *c)
{
    int stop = REVERSE_PATH_THERE;
    while (stop == REVERSE_PATH_THERE && c->window.end == c->p->position &&
           c->index + 1 < reverse_history_window_count(c->reverse)) {
        stop = reverse_history_window(c->reverse, ++c->index, &c->window);
        c->event = 0;
        if (stop == REVERSE_PATH_THERE)
            stop = run_events(c);
    }
    return stop;
}

int reverse_path_go(struct reverse_path *p, struct reverse *reverse,
                    struct reverse_path_cache *cache, uint64_t to, size_t budget)
{
    struct path_cursor c = {.p = p, .reverse = reverse, .cache = cache, .left = budget, .to = to};
    int stop = REVERSE_PATH_THERE;
    while (stop == REVERSE_PATH_THERE && p->position < to) {
        stop = reverse_history_window_find(reverse, p->position, &c.index);
        if (stop == BT_OK)
            stop = reverse_history_window(reverse, c.index, &c.window);
        if (stop != BT_OK)
            return stop;
        uint64_t before = p->position;
        open_cursor(&c);
        stop = run_window(&c);
        if (stop == REVERSE_PATH_THERE)
            stop = p->position == before ? (int)REVERSE_PATH_CODE : run_next_events(&c);
    }
    if (stop == REVERSE_PATH_THERE && to == reverse->end && !reverse->join.known) {
        p->gap = to;
        return REVERSE_PATH_GAP;
    }
    return stop;
}

/* The events at a position: the key of what follows them goes to c->key. Up to `max`; *n: how many
 * there are. */
static int events_at(struct path_cursor *c, uint64_t position, struct bt_event *events, size_t max,
                     size_t *n)
{
    uint64_t near = position > c->reverse->first ? position - 1 : position;
    int error = reverse_history_window_find(c->reverse, near, &c->index);
    *n = 0;
    for (size_t i = c->index; !error && i < reverse_history_window_count(c->reverse); i++) {
        const struct reverse_history_window *s = &c->window;
        error = reverse_history_window(c->reverse, i, &c->window);
        if (error || s->first > position)
            break;
        if (i == c->index)
            c->key = s->extra ? s->key : s->window.key;
        for (size_t k = 0; k < s->window.event_count; k++) {
            const struct bt_event *e = &s->window.events[k];
            if (e->position > position)
                break;
            flow_track_key(&c->key, e);
            if (e->position == position && (*n)++ < max)
                events[*n - 1] = *e;
        }
    }
    return error;
}

int reverse_path_begin(struct reverse_path *p, struct reverse *reverse,
                       struct reverse_path_cache *cache, uint64_t pc)
{
    struct path_cursor c = {.p = p, .reverse = reverse, .cache = cache};
    struct bt_event events[16];
    uint64_t next;
    enum bt_isa isa;
    size_t n, from = 0;
    int stop = events_at(&c, p->position, events, sizeof events / sizeof *events, &n);
    if (!stop)
        stop = reverse_pc(reverse, p->position, &next, &isa);
    if (stop)
        return stop == BT_ERR_NOMEM ? stop : (int)REVERSE_PATH_WRONG;
    if (n > sizeof events / sizeof *events)
        return REVERSE_PATH_WRONG;
    for (size_t i = 0; i < n; i++)
        if (is_resume(&events[i]))
            from = i + 1;
    for (size_t i = n; from && i-- > from;)
        if (events[i].kind == BT_EVENT_EXCEPTION && !values_is_halt(&events[i]))
            next = events[i].u.exception.has_return ? events[i].u.exception.return_address
                                                    : EXECUTE_NO_ADDRESS;
    if (next != pc)
        return REVERSE_PATH_WRONG;
    for (size_t i = from; from && i < n && stop == REVERSE_PATH_THERE; i++)
        stop = run_event(&c, events + i, n - i);
    return stop;
}

/* At the oldest position no gap is one, and a trace-on in the middle of what runs says nothing of
 * what came before. */
static bool begins_late(const struct reverse *r, const struct bt_event *e)
{
    if (reverse_is_gap(r, e))
        return true;
    if (e->position != r->first)
        return false;
    return (e->kind == BT_EVENT_GAP && e->cause != BT_GAP_NONE && e->cause != BT_GAP_DEBUG &&
            e->cause != BT_GAP_NO_SYNC) ||
           (e->kind == BT_EVENT_TRACE_ON && e->cause > BT_GAP_DEBUG);
}

bool reverse_path_begins_late(struct reverse *reverse, uint64_t from, uint64_t position)
{
    struct reverse_history_window s;
    size_t index;
    uint64_t near = from > reverse->first ? from - 1 : from;
    if (reverse_history_window_find(reverse, near, &index) != BT_OK)
        return true;
    for (; index < reverse_history_window_count(reverse); index++) {
        if (reverse_history_window(reverse, index, &s) != BT_OK)
            return true;
        if (s.first > position)
            break;
        for (size_t i = 0; i < s.window.event_count; i++)
            if (s.window.events[i].position >= from && s.window.events[i].position <= position &&
                begins_late(reverse, &s.window.events[i]))
                return true;
    }
    return false;
}
