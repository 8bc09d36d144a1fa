/* SPDX-License-Identifier: BSD-3-Clause */
#include "decoder/base/bytes.h"
#include "live_internal.h"

#include "server/base/log.h"
#include "server/reverse/reverse_machine.h"
#include "server/reverse/reverse_recorded.h"

#include <stdlib.h>

#define PIECE_MIN 64u   /* bytes of one question, which clients wait for: as many as take no */
#define PIECE_MAX 2048u /* longer than PIECE_NS */
#define PIECE_NS  UINT64_C(10000000)
#define STACK_HOT 2048u  /* of them those that are read first */
#define READ_BACK 65536u /* bytes that the debugger has written and that are read back at most */

static const struct live_core *core_of_snapshot(const struct live_snapshot_core *s)
{
    return &s->live->cores[s->core];
}

/* Memory. */

static int map_snapshot(void *ctx, struct reverse_map *map)
{
    struct live_snapshot_core *s = ctx;
    const struct live_core *c = core_of_snapshot(s);
    int error = c->elf ? reverse_map_program(map, c->elf, &c->image, (uint16_t)s->core) : BT_OK;
    return error ? error
                 : reverse_forward_map(&s->forward, map, &c->config->ram, &c->config->shared);
}

/* Threads of the target from the first on; the core's own is passed over. */
static bool other_of_snapshot(void *ctx, unsigned n, struct reverse_forward **f)
{
    const struct live_snapshot_core *s = ctx;
    struct live *l = s->live;
    int thread = (int)n + ((int)n >= live_thread(core_of_snapshot(s)));
    if (thread >= target_cores(l->target))
        return false;
    const struct live_core *c = live_core_of(l, thread);
    *f = c ? live_snapshot_forward(l, c) : NULL;
    return true;
}

static bool view_of_snapshot(void *ctx, struct btrace_view *view)
{
    const struct live_snapshot_core *s = ctx;
    const struct live_core *c = core_of_snapshot(s);
    if (c->source < 0 || !(c->regs.known >> TARGET_REG_PC & 1))
        return false;
    live_view(s->live, c, BTRACE_DEFAULT_SIZE, view);
    return true;
}

static bool variable_of_snapshot(void *ctx, uint64_t address, uint64_t *start, uint64_t *size,
                                 const char **name)
{
    const struct live_snapshot_core *s = ctx;
    const struct live_core *c = core_of_snapshot(s);
    return c->elf && elf_image_variable_at(c->elf, address, start, size, name);
}

static void add_range(struct live_snapshot_core *s, uint64_t from, uint64_t to)
{
    if (from < to && s->range_count < LIVE_SNAPSHOT_RANGES)
        s->ranges[s->range_count++] = (struct reverse_span){from, to};
}

/* The stack in use, then what the program and the board file name, then more of the stack. */
static void list_ranges(struct live_snapshot_core *s, const struct execute_regs *r)
{
    const struct live_core *c = core_of_snapshot(s);
    bool named = false;
    uint64_t sp, to = 0;
    bool stack = reverse_snapshot_sp(s->forward.core.profile, r, &sp) && live_may_be_stack(c, sp);
    sp &= ~UINT64_C(3);
    s->range_count = s->range = 0;
    if (stack)
        add_range(s, sp, sp + STACK_HOT);
    for (uint64_t at = 0; c->elf && at < UINT64_MAX; at = to)
        if (elf_image_use_run(c->elf, at, &to) == ELF_USE_RAM) {
            add_range(s, at, to);
            named |= sp >= at && sp < to;
        }
    for (unsigned i = 0; i < c->config->ram.count; i++) {
        const struct config_range *ram = &c->config->ram.at[i];
        add_range(s, ram->address, ram->address + ram->size);
        named |= sp - ram->address < ram->size;
    }
    if (stack && !named)
        add_range(s, sp + STACK_HOT, sp + REVERSE_STACK_NEAR);
    s->next = s->range_count ? s->ranges[0].from : 0;
}

/* Recording. */

/* Of one core, from the oldest state that was not recorded on. */
static int record_core_states(struct live *l, struct live_snapshot_core *s)
{
    struct reverse_forward *f = &s->forward;
    size_t i = f->count;
    int error = BT_OK;
    while (i > 0 && !f->segments[i - 1]->state.recorded)
        i--;
    for (; i < f->count; i++) {
        struct reverse_snapshot *state = &f->segments[i]->state;
        const struct reverse_recorded_way way = {.untraced = l->untraced,
                                                 .first = state->position == 0};
        if (l->recorder && !error)
            error = reverse_recorded_put(state, f->core.profile, &way, l->recorder, s->core);
        state->recorded = true;
    }
    return error;
}

static void record_states(struct live *l)
{
    int error = BT_OK;
    for (unsigned i = 0; i < l->config->core_count; i++)
        if (l->snapshot.cores[i] && !error)
            error = record_core_states(l, l->snapshot.cores[i]);
    if (error && !l->snapshot.left_out)
        log_write(LOG_AT_WARNING, "btraced: the recording takes no more of what is known at halts: "
                                  "values of the past are fewer when it is replayed\n");
    l->snapshot.left_out = error;
}

/* Reading. */

static void read_next_piece(struct live *l);

static void snapshot_over(struct live *l, bool whole)
{
    bool held = l->snapshot.reading == LIVE_SNAPSHOT_HOLDING;
    l->snapshot.reading = LIVE_SNAPSHOT_IDLE;
    for (unsigned i = 0; i < l->config->core_count; i++)
        if (l->snapshot.cores[i])
            reverse_forward_complete(&l->snapshot.cores[i]->forward, whole);
    record_states(l);
    live_reverse_known(l);
    if (held)
        l->tell(l);
}

/* The answer to a question of an earlier halt is of no use. */
struct snapshot_question {
    struct live *live;
    unsigned core;
    uint32_t halt;
    uint64_t address;
    bool back;     /* what the debugger has written is read back */
    unsigned word; /* of system_words */
};

static void take_piece(struct live_snapshot_core *s, uint64_t address,
                       const struct target_answer *a)
{
    struct live *l = s->live;
    struct reverse_snapshot *state = reverse_forward_last(&s->forward);
    if (a->length)
        reverse_forward_read(&s->forward, address, a->bytes, a->length);
    uint64_t ns = uv_hrtime() - l->snapshot.asked_ns;
    if (state)
        state->read_ns += ns;
    l->snapshot.bytes += a->length;
    if (ns > PIECE_NS && l->snapshot.piece > PIECE_MIN)
        l->snapshot.piece /= 2;
    else if (ns < PIECE_NS / 2 && l->snapshot.piece < PIECE_MAX)
        l->snapshot.piece *= 2;
}

static void on_snapshot_piece(void *ctx, const struct target_answer *a)
{
    const struct snapshot_question q = *(struct snapshot_question *)ctx;
    struct live *l = q.live;
    free(ctx);
    if (q.halt != l->snapshot.halt)
        return;
    struct live_snapshot_core *s = l->snapshot.cores[q.core];
    if (a->error == BT_ERR_INVAL || a->error == BT_ERR_IO) {
        snapshot_over(l, false);
        return;
    }
    take_piece(s, q.address, a);
    if (q.back)
        return;
    const struct reverse_span *range = &s->ranges[s->range];
    s->next = q.address + a->length;
    if (a->error || !a->length || s->next >= range->to) {
        s->range++;
        if (s->range < s->range_count)
            s->next = s->ranges[s->range].from;
    }
    read_next_piece(l);
}

static bool ask_piece(struct live *l, unsigned core, uint64_t address, size_t length, bool back)
{
    struct snapshot_question *q = malloc(sizeof *q);
    const struct target_request r = {.kind = TARGET_READ_MEMORY,
                                     .core = live_thread(&l->cores[core]),
                                     .address = address,
                                     .length = length,
                                     .background =
                                         !back && l->snapshot.reading != LIVE_SNAPSHOT_HOLDING};
    if (!q)
        return false;
    *q = (struct snapshot_question){l, core, l->snapshot.halt, address, back, 0};
    l->snapshot.asked_ns = uv_hrtime();
    if (target_ask(l->target, NULL, &r, on_snapshot_piece, q) == BT_OK)
        return true;
    free(q);
    return false;
}

static void read_next_piece(struct live *l)
{
    struct live_snapshot *n = &l->snapshot;
    for (; n->core < l->config->core_count; n->core++) {
        const struct live_snapshot_core *s = n->cores[n->core];
        if (!s || s->range >= s->range_count)
            continue;
        uint64_t left = s->ranges[s->range].to - s->next;
        uint64_t room = l->config->past.snapshot_bytes - n->bytes;
        left = left < room ? left : room;
        size_t length = left < n->piece ? (size_t)left : n->piece;
        if (!room || !ask_piece(l, n->core, s->next, length, false))
            snapshot_over(l, false);
        return;
    }
    snapshot_over(l, true);
}

/* Words that say how exceptions stack (DDI 0403E.e B3.2.8, B3.2.20 to B3.2.22), and whether memory
 * is protected. */
static const struct {
    uint32_t address;
    enum execute_reg reg;
    bool fpu;
} system_words[] = {
    {0xe000ed14, EXECUTE_CCR, false},   {0xe000ed94, EXECUTE_MPU_CTRL, false},
    {0xe000ef34, EXECUTE_FPCCR, true},  {0xe000ef38, EXECUTE_FPCAR, true},
    {0xe000ef3c, EXECUTE_FPDSCR, true},
};

static void read_next_registers(struct live *l);
static void read_system_word(struct live *l, unsigned core, unsigned word);

static void on_system_word(void *ctx, const struct target_answer *a)
{
    const struct snapshot_question q = *(struct snapshot_question *)ctx;
    struct live *l = q.live;
    free(ctx);
    if (q.halt != l->snapshot.halt)
        return;
    struct reverse_snapshot *state = reverse_forward_last(&l->snapshot.cores[q.core]->forward);
    if (!a->error && a->length == 4 && state) {
        state->regs.value[system_words[q.word].reg] = bytes_word(a->bytes);
        state->regs.known |= UINT64_C(1) << system_words[q.word].reg;
    }
    if (a->error == BT_ERR_INVAL || a->error == BT_ERR_IO)
        snapshot_over(l, false);
    else
        read_system_word(l, q.core, q.word + 1);
}

/* From word number `word` on, then the registers of the next core. */
static void read_system_word(struct live *l, unsigned core, unsigned word)
{
    const struct live_core *c = &l->cores[core];
    const unsigned count = sizeof system_words / sizeof *system_words;
    bool fpu = l->snapshot.cores[core]->forward.core.fpu;
    while (word < count && (!live_is_m_profile(c) || (system_words[word].fpu && !fpu)))
        word++;
    struct snapshot_question *q = word < count ? malloc(sizeof *q) : NULL;
    if (q) {
        const struct target_request r = {.kind = TARGET_READ_MEMORY,
                                         .core = live_thread(c),
                                         .address = system_words[word].address,
                                         .length = 4,
                                         .device = true};
        *q = (struct snapshot_question){l, core, l->snapshot.halt, 0, false, word};
        if (target_ask(l->target, NULL, &r, on_system_word, q) == BT_OK)
            return;
        free(q);
    }
    l->snapshot.core = core + 1;
    read_next_registers(l);
}

/* Nothing was traced, and PC and LR are what a reset sets them to. */
static bool is_as_reset(const struct live_core *c, const struct reverse_snapshot *state)
{
    const struct execute_regs *r = &state->regs;
    return live_is_m_profile(c) && c->elf && c->elf->entry && state->pc == c->elf->entry &&
           state->position <= 1 && (r->known >> EXECUTE_LR & 1) &&
           r->value[EXECUTE_LR] == UINT32_MAX;
}

static void on_snapshot_registers(void *ctx, const struct target_answer *a)
{
    const struct snapshot_question q = *(struct snapshot_question *)ctx;
    struct live *l = q.live;
    free(ctx);
    if (q.halt != l->snapshot.halt)
        return;
    struct live_snapshot_core *s = l->snapshot.cores[q.core];
    struct reverse_snapshot *state = reverse_forward_last(&s->forward);
    if (a->error == BT_ERR_INVAL || a->error == BT_ERR_IO || !state) {
        snapshot_over(l, false);
        return;
    }
    if (!a->error) {
        const struct target_register *list;
        unsigned count =
            l->target->ops->registers(l->target, live_thread(&l->cores[q.core]), &list);
        reverse_snapshot_regs(state, a->regs, list, count, s->forward.core.profile);
        if (!live_is_m_profile(core_of_snapshot(s)))
            reverse_snapshot_mpidr(state, core_of_snapshot(s)->config->mpidr);
        if (is_as_reset(core_of_snapshot(s), state))
            reverse_snapshot_reset(state);
        list_ranges(s, &state->regs);
        if (state->whole) /* only registers were written since */
            s->range = s->range_count;
        reverse_forward_unmap(&s->forward);
    }
    read_system_word(l, q.core, 0);
}

/* Registers of all cores first, in front of what clients ask for: one of them may let the cores
 * run. */
static void read_next_registers(struct live *l)
{
    struct live_snapshot *n = &l->snapshot;
    for (; n->core < l->config->core_count; n->core++) {
        if (!n->cores[n->core] || n->cores[n->core]->range_count)
            continue;
        struct snapshot_question *q = malloc(sizeof *q);
        const struct target_request r = {.kind = TARGET_READ_REGISTERS,
                                         .core = live_thread(&l->cores[n->core]),
                                         .set = TARGET_REGISTERS_ALL};
        if (q)
            *q = (struct snapshot_question){l, n->core, n->halt, 0, false, 0};
        if (q && target_ask(l->target, NULL, &r, on_snapshot_registers, q) == BT_OK)
            return;
        free(q);
    }
    n->core = 0;
    read_next_piece(l);
}

/* Halts. */

static struct live_snapshot_core *open_snapshot_core(struct live *l, unsigned i)
{
    const struct live_core *c = &l->cores[i];
    if (l->snapshot.cores[i])
        return l->snapshot.cores[i];
    struct live_snapshot_core *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    const struct reverse_program program = reverse_program_of(&c->elf, c->elf ? 1 : 0);
    const struct execute_core core = {.profile = live_profile(c),
                                      .big_endian = c->elf && c->elf->big_endian,
                                      .fpu = program.has_float,
                                      .security = live_is_m_profile(c) && program.two_states,
                                      .v4t = reverse_is_v4t(c->config->type),
                                      .bit_band = reverse_has_bit_band(c->config->type),
                                      .limits = reverse_has_limits(c->config->type)};
    const struct reverse_forward_owner owner = {
        .map = map_snapshot,
        .variable = variable_of_snapshot,
        .other = target_cores(l->target) > 1 ? other_of_snapshot : NULL,
        .view = view_of_snapshot,
        .ctx = s};
    s->live = l;
    s->core = i;
    reverse_forward_init(&s->forward, &core, &owner, l->config->past.memory);
    l->snapshot.cores[i] = s;
    return s;
}

static void note_place(struct live *l, unsigned i, struct reverse *place)
{
    struct live_snapshot *n = &l->snapshot;
    const struct live_core *c = &l->cores[i];
    uint64_t pc = c->regs.value[TARGET_REG_PC];
    struct reverse_snapshot *state;
    struct live_snapshot_core *s = open_snapshot_core(l, i);
    if (!s)
        return;
    if (s->forward.core.profile != live_profile(c)) /* A64 and A32: registers are others */
        reverse_forward_clear(&s->forward);
    s->forward.core.profile = live_profile(c);
    s->forward.halt = n->halt;
    if (n->moved)
        state = reverse_forward_written(&s->forward, pc, n->reset);
    else
        state = reverse_forward_last(&s->forward);
    if (!state || !n->moved)
        state = reverse_forward_halted(&s->forward, place, pc, n->ran);
    s->range_count = 0;
}

/* BT_ERR_RANGE: nothing was traced yet. */
static void note_halt(struct live *l, unsigned i)
{
    const struct live_core *c = &l->cores[i];
    struct btrace_view view;
    struct reverse place;
    if (c->source < 0 || !(c->regs.known >> TARGET_REG_PC & 1))
        return;
    pipeline_lock(l->pipeline);
    live_view(l, c, BTRACE_DEFAULT_SIZE, &view);
    int error = reverse_init(&place, &view);
    if (error == BT_OK || error == BT_ERR_RANGE)
        note_place(l, i, &place);
    reverse_release(&place);
    pipeline_unlock(l->pipeline);
}

/* The history goes on through a halt that is not noted. */
static void note_halts(struct live *l)
{
    struct live_snapshot *n = &l->snapshot;
    for (unsigned i = 0; i < l->config->core_count; i++)
        note_halt(l, i);
    n->moved = n->reset = n->stepped = n->ran = false;
}

static void begin_reading(struct live *l, enum live_snapshot_reading how)
{
    struct live_snapshot *n = &l->snapshot;
    note_halts(l);
    if (!n->piece)
        n->piece = PIECE_MIN;
    n->core = 0;
    n->bytes = 0;
    n->reading = how;
    read_next_registers(l);
}

bool live_snapshot_halted(struct live *l)
{
    struct live_snapshot *n = &l->snapshot;
    enum config_snapshot kind = config_snapshot(l->config);
    if (kind == CONFIG_SNAPSHOT_OFF)
        return false;
    n->halt++;
    n->stepped = n->steps && !n->moved;
    bool holds = kind == CONFIG_SNAPSHOT_HALT && !n->stepped;
    if (!n->stepped)
        begin_reading(l, holds ? LIVE_SNAPSHOT_HOLDING : LIVE_SNAPSHOT_READING);
    return holds;
}

void live_snapshot_tick(struct live *l)
{
    if (l->snapshot.stepped && target_is_idle(l->target))
        begin_reading(l, LIVE_SNAPSHOT_READING);
}

void live_snapshot_resumed(struct live *l)
{
    struct live_snapshot *n = &l->snapshot;
    n->halt++;
    for (unsigned i = 0; i < l->config->core_count; i++) {
        if (!n->cores[i])
            continue;
        reverse_forward_leave(&n->cores[i]->forward);
        n->cores[i]->forward.halt = n->halt;
        if (n->moved)
            reverse_forward_written(&n->cores[i]->forward, UINT64_MAX, true);
        if (n->reading || n->moved)
            reverse_forward_complete(&n->cores[i]->forward, false);
    }
    record_states(l);
    n->moved = n->reset = n->stepped = false;
    n->reading = LIVE_SNAPSHOT_IDLE;
    n->ran = true;
    n->steps = target_steps(l->target);
}

void live_snapshot_moved(struct live *l, bool reset)
{
    if (l->snapshot.stepped)
        note_halts(l);
    l->snapshot.halt++;
    l->snapshot.moved = true;
    l->snapshot.reset |= reset;
}

void live_snapshot_written(struct live *l, uint64_t address, uint64_t length)
{
    if (l->snapshot.stepped)
        note_halts(l);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        struct live_snapshot_core *s = l->snapshot.cores[i];
        struct reverse_snapshot *state = s ? reverse_forward_last(&s->forward) : NULL;
        if (!state)
            continue;
        reverse_forward_unmap(&s->forward);
        bool complete = state->complete, whole = state->whole;
        s->forward.halt = l->snapshot.halt;
        if (!reverse_forward_written(&s->forward, state->pc, false))
            continue;
        reverse_forward_read(&s->forward, address, NULL, (size_t)length);
        if (length <= READ_BACK)
            ask_piece(l, i, address, (size_t)length, true);
        if (complete)
            reverse_forward_complete(&s->forward, whole);
    }
}

void live_snapshot_renumbered(struct live *l)
{
    for (unsigned i = 0; i < l->config->core_count; i++)
        if (l->snapshot.cores[i])
            reverse_forward_clear(&l->snapshot.cores[i]->forward);
}

void live_snapshot_record(struct live *l, bool begins)
{
    for (unsigned i = 0; i < l->config->core_count && begins; i++) {
        struct live_snapshot_core *s = l->snapshot.cores[i];
        struct reverse_snapshot *state = s ? reverse_forward_last(&s->forward) : NULL;
        for (size_t k = 0; state && k < s->forward.count; k++)
            s->forward.segments[k]->state.recorded = true;
        if (state && l->target && l->target->run == TARGET_HALTED)
            state->recorded = false;
    }
    if (!begins || !l->snapshot.reading)
        record_states(l);
}

void live_snapshot_release(struct live *l)
{
    record_states(l);
    l->snapshot.halt++; /* answers that are still to come are of no use */
    for (unsigned i = 0; i < l->config->core_count; i++) {
        if (!l->snapshot.cores[i])
            continue;
        reverse_forward_release(&l->snapshot.cores[i]->forward);
        free(l->snapshot.cores[i]);
        l->snapshot.cores[i] = NULL;
    }
}
