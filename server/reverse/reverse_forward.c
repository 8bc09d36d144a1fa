/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments of the history, worked out and told. What is compared: reverse_proof.c. */
#include "decoder/base/array.h"
#include "decoder/base/search.h"
#include "reverse_stores.h"

#include <stdlib.h>
#include <string.h>

#define INTERVAL 8192u    /* instructions between points, at first */
#define SOON     32768u   /* that are executed before an answer near the halt */
#define CARRIED  4000000u /* and so many are executed for what a halt does not tell by itself */

void reverse_forward_init(struct reverse_forward *f, const struct execute_core *core,
                          const struct reverse_forward_owner *owner, size_t limit)
{
    memset(f, 0, sizeof *f);
    f->core = *core;
    f->owner = *owner;
    f->budget.limit = limit;
}

static int put_ranges(struct reverse_map *map, const struct config_ranges *ranges,
                      enum execute_memory_kind kind, bool over)
{
    int error = BT_OK;
    for (unsigned i = 0; i < ranges->count && !error; i++)
        error = reverse_map_put(
            map,
            &(struct reverse_map_range){.from = ranges->at[i].address,
                                        .to = ranges->at[i].address + ranges->at[i].size,
                                        .kind = kind},
            over);
    return error;
}

static int put_stack(struct reverse_map *map, uint64_t sp)
{
    const struct reverse_map_range near = {
        .from = sp > REVERSE_STACK_NEAR ? (sp - REVERSE_STACK_NEAR) & ~UINT64_C(3) : 0,
        .to = sp + REVERSE_STACK_NEAR,
        .kind = EXECUTE_MEMORY_RAM};
    return reverse_map_put(map, &near, false);
}

int reverse_forward_map(struct reverse_forward *f, struct reverse_map *map,
                        const struct config_ranges *ram, const struct config_ranges *shared)
{
    int error = put_ranges(map, ram, EXECUTE_MEMORY_RAM, f->owner.other != NULL);
    f->promised = *ram;
    for (size_t i = 0; i < f->count && !error; i++) {
        uint64_t sp;
        if (reverse_snapshot_sp(f->core.profile, &f->segments[i]->state.regs, &sp))
            error = put_stack(map, sp);
    }
    return error ? error : put_ranges(map, shared, EXECUTE_MEMORY_OTHER, true);
}

static void end_walk(struct reverse_forward *f)
{
    if (f->walked)
        execute_memory_release(&f->walk.x.memory);
    f->walked = NULL;
}

static void end_view(struct reverse_forward *f)
{
    if (f->viewed)
        execute_memory_release(&f->view.x.memory);
    f->viewed = NULL;
}

static void release_point(struct reverse_forward *f, struct reverse_point *point)
{
    execute_memory_release(&point->memory);
    f->budget.used -= sizeof *point;
}

void reverse_forward_forget(struct reverse_forward *f, struct reverse_segment *s)
{
    if (f->walked == s)
        end_walk(f);
    if (f->viewed == s)
        end_view(f);
    for (size_t i = 0; i < s->point_count; i++)
        release_point(f, &s->points[i]);
    free(s->points);
    s->points = NULL;
    s->point_count = s->point_max = s->compared = 0;
    s->interval = INTERVAL;
    s->differs = s->derives = s->believes = false;
    s->status = REVERSE_SEGMENT_OPEN;
    s->why = REVERSE_WHY_NONE;
    s->reach = 0;
}

static void free_segment(struct reverse_forward *f, struct reverse_segment *s)
{
    reverse_forward_forget(f, s);
    f->budget.used -= reverse_snapshot_memory(&s->state);
    reverse_snapshot_release(&s->state);
    reverse_stores_release(s);
    free(s);
}

void reverse_forward_leave(struct reverse_forward *f)
{
    if (f->placed)
        reverse_release(&f->place);
    f->placed = false;
}

void reverse_forward_clear(struct reverse_forward *f)
{
    for (size_t i = 0; i < f->count; i++)
        free_segment(f, f->segments[i]);
    f->count = 0;
    reverse_path_cache_release(&f->cache);
    reverse_forward_leave(f);
}

void reverse_forward_release(struct reverse_forward *f)
{
    reverse_forward_clear(f);
    free(f->segments);
    reverse_map_release(&f->map);
    execute_code_free(f->code);
    memset(f, 0, sizeof *f);
}

static void withdraw_of(struct reverse_forward *f)
{
    for (size_t i = 0; i < f->count; i++) {
        reverse_forward_forget(f, f->segments[i]);
        reverse_stores_release(f->segments[i]);
    }
}

void reverse_forward_withdraw(struct reverse_forward *f)
{
    struct reverse_forward *other;
    withdraw_of(f);
    for (unsigned n = 0; f->owner.other && f->owner.other(f->owner.ctx, n, &other); n++)
        if (other)
            withdraw_of(other);
}

/* States. */

/* States take half of the memory at most, but for the latest two. */
static bool too_many_states(const struct reverse_forward *f)
{
    size_t used = 0;
    for (size_t i = 0; i < f->count; i++)
        used += reverse_snapshot_memory(&f->segments[i]->state);
    return f->count == REVERSE_FORWARD_STATES || (f->count > 2 && used > f->budget.limit / 2);
}

static struct reverse_snapshot *add_segment(struct reverse_forward *f, uint64_t position,
                                            uint64_t decoded, uint64_t pc)
{
    while (too_many_states(f)) {
        free_segment(f, f->segments[0]);
        memmove(f->segments, f->segments + 1, --f->count * sizeof *f->segments);
    }
    if (!array_room(&f->segments, f->count, &f->max, sizeof *f->segments))
        return NULL;
    struct reverse_segment *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->interval = INTERVAL;
    s->of = f;
    s->state = (struct reverse_snapshot){.halt = f->halt,
                                         .position = position,
                                         .decoded = decoded,
                                         .pc = pc,
                                         .ends = true,
                                         .begins = true,
                                         .carries = true};
    f->segments[f->count++] = s;
    f->budget.used += reverse_snapshot_memory(&s->state);
    f->rounds = 0;
    return &s->state;
}

int reverse_forward_take(struct reverse_forward *f, struct reverse_snapshot *s)
{
    struct reverse_snapshot *now = add_segment(f, s->position, s->decoded, s->pc);
    if (!now)
        return BT_ERR_NOMEM;
    f->budget.used += reverse_snapshot_memory(s) - reverse_snapshot_memory(now);
    *now = *s;
    memset(s, 0, sizeof *s);
    return BT_OK;
}

struct reverse_snapshot *reverse_forward_last(struct reverse_forward *f)
{
    return f->count ? &f->segments[f->count - 1]->state : NULL;
}

/* Trace was lost behind what was decoded at the last halt: what led to its place is not in the
 * history any more, and what was worked out up to there goes over the loss. */
static void lose_last(struct reverse_forward *f, uint64_t position)
{
    for (size_t i = f->count; i-- > 1 && f->segments[i]->state.position == position;)
        reverse_forward_forget(f, f->segments[i - 1]);
    if (f->owner.other)
        reverse_forward_withdraw(f);
}

struct reverse_snapshot *reverse_forward_halted(struct reverse_forward *f, struct reverse *p,
                                                uint64_t pc, bool ran)
{
    struct reverse_snapshot *last = reverse_forward_last(f);
    uint64_t decoded = history_end(p->view.history);
    bool lost = last && reverse_path_begins_late(p, last->decoded, last->position);
    ran |= lost && last->decoded != decoded;
    reverse_forward_leave(f);
    if (last && last->position == p->end && last->pc == pc && !ran)
        return last;
    if (last && last->position > p->end)
        reverse_forward_clear(f);
    else if (lost)
        lose_last(f, last->position);
    return add_segment(f, p->end, decoded, pc);
}

struct reverse_snapshot *reverse_forward_written(struct reverse_forward *f, uint64_t pc, bool reset)
{
    struct reverse_snapshot *last = reverse_forward_last(f);
    if (!last)
        return NULL;
    if (last->ends) {
        struct reverse_snapshot copy;
        if (!add_segment(f, last->position, last->decoded, pc))
            return NULL;
        last = &f->segments[f->count - 2]->state;
        struct reverse_snapshot *now = reverse_forward_last(f);
        f->budget.used -= reverse_snapshot_memory(now);
        if (reset)
            *now = (struct reverse_snapshot){
                .halt = f->halt, .position = last->position, .decoded = last->decoded};
        else if (reverse_snapshot_copy(&copy, last))
            reverse_snapshot_release(&copy);
        else
            *now = copy;
        now->begins = true;
        now->carries = !reset;
        now->complete = now->recorded = false;
        last->begins = now->ends = false;
        f->budget.used += reverse_snapshot_memory(now);
    }
    last = reverse_forward_last(f);
    if (reset) {
        f->budget.used -= reverse_snapshot_memory(last);
        reverse_snapshot_release(last);
        const struct reverse_snapshot *before = &f->segments[f->count - 2]->state;
        *last = (struct reverse_snapshot){.halt = f->halt,
                                          .position = before->position,
                                          .decoded = before->decoded,
                                          .begins = true};
        f->budget.used += reverse_snapshot_memory(last);
    }
    last->pc = pc;
    return last;
}

static bool is_written(const struct reverse_snapshot *s, uint64_t address, size_t length)
{
    for (size_t i = 0; i < s->piece_count; i++) {
        const struct reverse_piece *p = &s->pieces[i];
        if (!p->bytes && address < p->address + p->length && p->address < address + length)
            return true;
    }
    return false;
}

static int add_piece(struct reverse_forward *f, struct reverse_snapshot *s, uint64_t address,
                     const uint8_t *bytes, size_t length)
{
    f->budget.used -= reverse_snapshot_memory(s);
    int error = reverse_snapshot_add(s, address, bytes, length);
    f->budget.used += reverse_snapshot_memory(s);
    return error;
}

int reverse_forward_read(struct reverse_forward *f, uint64_t address, const uint8_t *bytes,
                         size_t length)
{
    struct reverse_snapshot *s = reverse_forward_last(f);
    if (!s)
        return BT_OK;
    if (!s->ends && f->count > 1 && bytes && s->carries && !is_written(s, address, length)) {
        int error = add_piece(f, &f->segments[f->count - 2]->state, address, bytes, length);
        if (error)
            return error;
    }
    return add_piece(f, s, address, bytes, length);
}

void reverse_forward_complete(struct reverse_forward *f, bool whole)
{
    struct reverse_snapshot *s = reverse_forward_last(f);
    if (!s)
        return;
    s->complete = true;
    s->whole = whole;
    if (!s->ends && f->count > 1)
        f->segments[f->count - 2]->state.complete = true;
}

/* Segments. */

/* Index of the segment that holds `position`; f->count: none does. */
static size_t find_segment(const struct reverse_forward *f, uint64_t position)
{
    for (size_t i = f->count; i-- > 1;) {
        const struct reverse_snapshot *s = &f->segments[i - 1]->state;
        if (s->begins && s->position <= position && position < f->segments[i]->state.position)
            return i - 1;
    }
    return f->count;
}

static bool is_done(const struct reverse_segment *s)
{
    return s->status > REVERSE_SEGMENT_COMPARING && (s->settled || !s->of->owner.other);
}

static const struct reverse_point *last_point(const struct reverse_segment *s)
{
    return s->point_count ? &s->points[s->point_count - 1] : NULL;
}

/* Where RAM was not all read, or it cannot be read which stack is in use (M profile) or where those
 * of other modes and exception levels are, what was known at its end of the segment before helps.
 */
static bool wants_more(const struct reverse_forward *f, const struct reverse_snapshot *s)
{
    bool stacks = f->core.profile == EXECUTE_PROFILE_M && (s->regs.known >> EXECUTE_CONTROL & 1);
    return s->carries && !(s->whole && stacks);
}

static size_t first_to_work_on(const struct reverse_forward *f, size_t i)
{
    uint64_t end = f->segments[i]->state.position;
    while (i > 0 && wants_more(f, &f->segments[i]->state) && !is_done(f->segments[i]) &&
           !f->segments[i]->point_count) {
        size_t before = i - 1;
        if (!f->segments[before]->state.begins && before > 0)
            before--; /* the other side of a halt at which the debugger wrote */
        if (!f->segments[before]->state.begins || is_done(f->segments[before]) ||
            f->segments[before]->state.position == f->segments[i]->state.position ||
            end - f->segments[before]->state.position > CARRIED)
            break;
        i = before;
    }
    return i;
}

static struct reverse_segment *segment_before(const struct reverse_forward *f, size_t i)
{
    while (i-- > 0)
        if (f->segments[i]->state.begins)
            return f->segments[i];
    return NULL;
}

/* The state at the beginning of a segment. */
static int begin_state(struct reverse_forward *f, size_t i, struct execute *x)
{
    const struct reverse_segment *s = f->segments[i];
    const struct reverse_segment *before = s->state.carries ? segment_before(f, i) : NULL;
    int error = BT_OK;
    memset(x, 0, sizeof *x);
    x->core = f->core;
    x->code = f->code;
    execute_memory_init(&x->memory, &f->budget, reverse_stores_kind, f->segments[i]);
    x->regs = s->state.regs;
    if (before && before->status == REVERSE_SEGMENT_PROVED && is_done(before) &&
        last_point(before)) {
        const struct reverse_point *p = last_point(before);
        uint64_t others = p->regs.known & ~x->regs.known;
        for (unsigned r = EXECUTE_MSP; r < EXECUTE_REGS; r++)
            if ((r <= EXECUTE_PSPLIM || r > EXECUTE_FPDSCR) && (others >> r & 1)) {
                x->regs.value[r] = p->regs.value[r];
                x->regs.known |= UINT64_C(1) << r;
            }
        /* What others have stored is as it was before, there. */
        if (!f->owner.other)
            error = execute_memory_share(&x->memory, &p->memory);
        x->memory.context = f->segments[i];
    }
    return error ? error : reverse_snapshot_put(&s->state, &x->memory);
}

static int make_map(struct reverse_forward *f)
{
    if (f->mapped)
        return BT_OK;
    if (!f->code)
        f->code = execute_code_new();
    reverse_map_release(&f->map);
    int error = reverse_map_init(&f->map);
    if (!error)
        error = f->owner.map(f->owner.ctx, &f->map);
    for (size_t i = 0; i < f->outside_count && !error; i++)
        error = reverse_map_put(
            &f->map,
            &(struct reverse_map_range){.from = f->outside[i].from, .to = f->outside[i].to}, true);
    f->mapped = !error;
    return error;
}

/* Every second point but the first goes. */
static void thin_out(struct reverse_forward *f, struct reverse_segment *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->point_count; i++) {
        if (i % 2 == 0)
            s->points[kept++] = s->points[i];
        else
            release_point(f, &s->points[i]);
    }
    s->point_count = kept;
    s->interval *= 2;
}

/* Of all that were worked out; false: there is nothing more to be had. */
static bool forward_make_room(struct reverse_forward *f)
{
    struct reverse_segment *most = NULL;
    for (size_t i = 0; i < f->count; i++)
        if (f->segments[i]->point_count > 2 &&
            (!most || f->segments[i]->point_count > most->point_count))
            most = f->segments[i];
    if (most)
        thin_out(f, most);
    return most != NULL;
}

static int add_point(struct reverse_forward *f, struct reverse_segment *s)
{
    while (f->budget.used + sizeof(struct reverse_point) > f->budget.limit - f->budget.limit / 8 &&
           forward_make_room(f))
        ;
    if (!array_room(&s->points, s->point_count, &s->point_max, sizeof *s->points))
        return BT_ERR_NOMEM;
    struct reverse_point *p = &s->points[s->point_count];
    *p = (struct reverse_point){.position = f->walk.position, .regs = f->walk.x.regs};
    execute_memory_init(&p->memory, &f->budget, reverse_stores_kind, s);
    int error = execute_memory_share(&p->memory, &f->walk.x.memory);
    if (error)
        return error;
    f->budget.used += sizeof *p;
    s->point_count++;
    return BT_OK;
}

static void segment_broken(struct reverse_forward *f, struct reverse_segment *s,
                           enum reverse_segment_why why, uint64_t at)
{
    reverse_forward_forget(f, s);
    s->status = REVERSE_SEGMENT_BROKEN;
    s->why = why;
    s->reach = at;
}

static void segment_cut(struct reverse_forward *f, struct reverse_segment *s,
                        enum reverse_segment_why why, uint64_t at)
{
    end_walk(f);
    s->status = s->believes ? REVERSE_SEGMENT_BROKEN : REVERSE_SEGMENT_CUT;
    if (s->believes)
        return;
    s->why = why;
    s->reach = at;
}

/* The history has the place, and no gap there. */
static enum reverse_segment_why judge_begin(struct reverse *p, const struct reverse_snapshot *s)
{
    if (s->position < p->first || s->position >= p->end)
        return REVERSE_WHY_MOVED;
    return reverse_path_begins_late(p, s->decoded, s->position) ? REVERSE_WHY_GAP
                                                                : REVERSE_WHY_NONE;
}

static void note_access(void *ctx, const struct execute_access *a)
{
    struct reverse_forward *f = ctx;
    reverse_stores_note(f, a);
    for (size_t i = 0; i < f->outside_count && !a->perhaps; i++)
        if (a->to > f->outside[i].from && a->from < f->outside[i].to &&
            f->walk.insn >= f->outside[i].touched) {
            f->outside[i].touched = f->walk.insn + 1;
            f->outside[i].pc = f->walk.pc;
        }
}

static void set_path(const struct reverse_forward *f, struct reverse_path *path, size_t i)
{
    path->end = f->segments[i + 1]->state.position;
    path->end_pc = f->segments[i + 1]->state.pc;
    path->m_profile = f->core.profile == EXECUTE_PROFILE_M;
}

/* From its beginning, or from the last point that it has. */
static int begin_walk(struct reverse_forward *f, struct reverse *p, size_t i)
{
    struct reverse_segment *s = f->segments[i];
    end_walk(f);
    int error = make_map(f);
    if (error)
        return error;
    enum reverse_segment_why why = judge_begin(p, &s->state);
    if (why) {
        segment_broken(f, s, why, s->state.position);
        return BT_OK;
    }
    struct reverse_path *w = &f->walk;
    memset(w, 0, sizeof *w);
    const struct reverse_point *last = last_point(s);
    f->walked = s;
    w->position = last ? last->position : s->state.position;
    if (last) {
        w->x.core = f->core;
        w->x.code = f->code;
        w->x.regs = last->regs;
        execute_memory_init(&w->x.memory, &f->budget, reverse_stores_kind, s);
        error = execute_memory_share(&w->x.memory, &last->memory);
    } else {
        error = begin_state(f, i, &w->x);
    }
    set_path(f, w, i);
    w->believes = s->believes;
    w->x.accessed = note_access;
    w->x.ctx = f;
    if (!last)
        memset(f->stored, 0, sizeof f->stored);
    if (error || last)
        return error;
    int stop = reverse_path_begin(w, p, &f->cache, s->state.pc);
    if (stop == REVERSE_PATH_THERE)
        return add_point(f, s);
    if (stop < 0)
        return stop;
    segment_broken(f, s, stop == REVERSE_PATH_GAP ? REVERSE_WHY_GAP : REVERSE_WHY_MOVED,
                   s->state.position);
    return BT_OK;
}

/* Up to the next point, or the end. */
static int walk_on(struct reverse_forward *f, struct reverse *p, size_t i, size_t budget)
{
    struct reverse_segment *s = f->segments[i];
    bool ends_at_halt = f->segments[i + 1]->state.ends;
    struct reverse_path *w = &f->walk;
    const struct reverse_point *last = last_point(s);
    uint64_t next = last->position + s->interval, before = w->position;
    uint64_t to = next < w->end ? next : w->end;
    int stop =
        to > w->position ? reverse_path_go(w, p, &f->cache, to, budget) : (int)REVERSE_PATH_THERE;
    f->insns += w->position - before;
    switch (stop) {
    case REVERSE_PATH_THERE:
        if (w->position == w->end)
            s->status = REVERSE_SEGMENT_COMPARING;
        return add_point(f, s);
    case REVERSE_PATH_MORE:
        return BT_OK;
    case REVERSE_PATH_GAP:
        segment_cut(f, s, REVERSE_WHY_GAP, w->gap);
        return BT_OK;
    case REVERSE_PATH_CODE:
        segment_cut(f, s, REVERSE_WHY_CODE, w->position);
        return BT_OK;
    case REVERSE_PATH_WRONG:
        segment_broken(f, s, REVERSE_WHY_PATH, w->position);
        if (ends_at_halt && (s->settled || !f->owner.other)) {
            s->status = REVERSE_SEGMENT_OPEN;
            s->believes = true;
        }
        return BT_OK;
    default:
        return stop;
    }
}

/* Pages of points take the memory: fewer of them, and again from the last one. */
static int work_failed(struct reverse_forward *f, struct reverse_segment *s, int error)
{
    end_walk(f);
    if (error != BT_ERR_NOMEM)
        return error;
    if (!forward_make_room(f))
        segment_broken(f, s, REVERSE_WHY_BUDGET, s->state.position);
    return TARGET_PENDING;
}

int reverse_forward_walk(struct reverse_forward *f, struct reverse *p, size_t i, size_t budget)
{
    struct reverse_segment *s = f->segments[i];
    int error = BT_OK;
    if (f->walked != s)
        error = begin_walk(f, p, i);
    if (!error && f->walked == s)
        error = walk_on(f, p, i, budget);
    return error ? work_failed(f, s, error) : TARGET_PENDING;
}

size_t reverse_forward_next(const struct reverse_forward *f, uint64_t position)
{
    size_t i = find_segment(f, position);
    return i == f->count || is_done(f->segments[i]) ? f->count : first_to_work_on(f, i);
}

bool reverse_forward_waits(const struct reverse_forward *f, uint64_t position)
{
    size_t i = find_segment(f, position);
    return i < f->count && !is_done(f->segments[i]);
}

bool reverse_forward_open(const struct reverse_forward *f, uint64_t position, uint64_t *at,
                          bool *soon)
{
    for (size_t i = 0; i + 1 < f->count; i++) {
        const struct reverse_segment *s = f->segments[i];
        const struct reverse_snapshot *end = &f->segments[i + 1]->state;
        if (!s->state.begins || is_done(s) || end->position <= position ||
            end->position == s->state.position)
            continue;
        *at = s->state.position > position ? s->state.position : position;
        *soon = end->complete && end->position - s->state.position <= SOON;
        return true;
    }
    return false;
}

/* Answers. */

static const struct reverse_point *point_before(const struct reverse_segment *s, uint64_t position)
{
    size_t low;
    SEARCH_LAST(low, s->point_count, s->points[low].position <= position);
    return &s->points[low];
}

static int begin_view(struct reverse_forward *f, size_t i, uint64_t position)
{
    struct reverse_segment *s = f->segments[i];
    const struct reverse_point *point = point_before(s, position);
    end_view(f);
    memset(&f->view, 0, sizeof f->view);
    f->viewed = s;
    f->view.position = point->position;
    f->view.x.core = f->core;
    f->view.x.code = f->code;
    f->view.x.regs = point->regs;
    set_path(f, &f->view, i);
    execute_memory_init(&f->view.x.memory, &f->budget, reverse_stores_kind, s);
    return execute_memory_share(&f->view.x.memory, &point->memory);
}

static bool is_told(const struct reverse_segment *s, uint64_t position)
{
    return s->point_count && is_done(s) &&
           (s->status == REVERSE_SEGMENT_PROVED ||
            (s->status == REVERSE_SEGMENT_CUT && position < s->reach));
}

bool reverse_forward_at(struct reverse_forward *f, struct reverse *p, uint64_t position)
{
    size_t i = find_segment(f, position);
    bool halt = i == f->count && i > 1 && f->segments[i - 1]->state.position == position;
    struct reverse_segment *s = halt ? f->segments[i - 2] : i < f->count ? f->segments[i] : NULL;
    if (!s || !is_told(s, position)) {
        end_view(f);
        return false;
    }
    bool near = f->viewed == s && f->view.position <= position &&
                point_before(s, position)->position <= f->view.position;
    int stop = near ? BT_OK : begin_view(f, halt ? i - 2 : i, position);
    if (!stop && f->view.position < position)
        stop = reverse_path_go(&f->view, p, &f->cache, position, SIZE_MAX);
    if (stop)
        end_view(f);
    return stop == 0;
}

/* All accesses of instructions up to there are told: an exception behind the segment's last one may
 * be taken when the core runs on. */
static uint64_t accesses_end(const struct reverse_forward *f, const struct reverse *p, size_t i)
{
    const struct reverse_segment *s = f->segments[i];
    uint64_t end = f->segments[i + 1]->state.position;
    end -= end != p->end;
    return s->status == REVERSE_SEGMENT_CUT && s->reach <= end ? s->reach - (s->reach > 0) : end;
}

bool reverse_forward_span(struct reverse_forward *f, struct reverse *p, uint64_t position,
                          uint64_t *from, uint64_t *to)
{
    size_t i = find_segment(f, position);
    uint64_t told = i < f->count ? accesses_end(f, p, i) : 0;
    for (size_t k = 0; k < f->count; k++) {
        uint64_t at = f->segments[k]->state.position;
        *from = at <= position && at > *from ? at : *from;
        *to = at > position && at < *to ? at : *to;
    }
    if (position >= told)
        *from = *from > told ? *from : told;
    else
        *to = *to < told ? *to : told;
    return position < told && reverse_forward_at(f, p, *from);
}

bool reverse_forward_run(struct reverse_forward *f, struct reverse *p, uint64_t to,
                         void (*accessed)(void *ctx, const struct execute_access *a), void *ctx)
{
    f->view.x.accessed = accessed;
    f->view.x.ctx = ctx;
    int stop = reverse_path_go(&f->view, p, &f->cache, to, SIZE_MAX);
    f->view.x.accessed = NULL;
    if (stop)
        end_view(f);
    return stop == 0;
}

/* From point `i` to the next one: states share what nobody has written in between. */
static bool is_kept(const struct reverse_segment *s, size_t i, uint64_t address, uint64_t size)
{
    return execute_memory_is_shared(&s->points[i].memory, &s->points[i + 1].memory, address, size);
}

bool reverse_forward_kept(struct reverse_forward *f, struct reverse *p, uint64_t position,
                          uint64_t address, uint64_t size, uint64_t *from, uint64_t *to)
{
    size_t i = find_segment(f, position), first, last;
    if (i == f->count || !is_told(f->segments[i], position))
        return false;
    struct reverse_segment *s = f->segments[i];
    uint64_t end = accesses_end(f, p, i);
    first = last = (size_t)(point_before(s, position) - s->points);
    while (last + 1 < s->point_count && is_kept(s, last, address, size))
        last++;
    while (first > 0 && is_kept(s, first - 1, address, size))
        first--;
    end = s->points[last].position < end ? s->points[last].position : end;
    *from = *from > s->points[first].position ? *from : s->points[first].position;
    *to = *to < end ? *to : end;
    return position < *to;
}

const struct execute_regs *reverse_forward_regs(const struct reverse_forward *f, uint64_t position)
{
    return f->viewed && f->view.position == position ? &f->view.x.regs : NULL;
}

bool reverse_forward_memory(struct reverse_forward *f, uint64_t position, uint64_t address,
                            uint8_t *bytes, unsigned size)
{
    return f->viewed && f->view.position == position &&
           execute_memory_read(&f->view.x.memory, address, bytes, size);
}

bool reverse_forward_constant(struct reverse_forward *f, uint64_t address, uint8_t *byte)
{
    const uint8_t *bytes;
    uint64_t from, to;
    if (make_map(f) ||
        reverse_map_kind(&f->map, address, &from, &to, &bytes) != EXECUTE_MEMORY_CONST)
        return false;
    *byte = bytes[address - from];
    return true;
}

bool reverse_forward_join(struct reverse_forward *f, uint64_t position, unsigned reg, bool known,
                          uint32_t *value)
{
    const struct execute_regs *r = reverse_forward_regs(f, position);
    if (!r || !(r->known >> reg & 1))
        return known;
    bool differ = known && *value != (uint32_t)r->value[reg];
    f->conflicts += differ;
    *value = (uint32_t)r->value[reg];
    return !differ;
}
