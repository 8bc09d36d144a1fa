/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/reverse/reverse.c, reverse_motion.c and reverse_search.c. */
/* Replay positions, and motion between them: any mixture of steps, searches and jumps equals a
 * naive model that has every instruction in an array. */
#include "decoder/program/insn.h"
#include "server/reverse/reverse_motion.h"
#include "tests/support/decoded.h"
#include "tests/support/random_flow.h"
#include "tests/support/unit_main.h"

#include <stdlib.h>
#include <string.h>

#define MOVES 600

/* What the model knows: each instruction's address, and whether trace is missing before it. */
struct model {
    uint64_t *pc;
    uint8_t *gap; /* 1: missing; 2: the trace unit was told to leave it out */
    uint64_t count;
};

struct fixture {
    struct random_flow flow;
    struct code_image image;
    struct stream_config config;
    struct decoded straight;
    struct history *history;
    struct model model;
    struct reverse_motion motion;
    struct btrace_view view;
    uint64_t breakpoints[4];
    size_t breakpoint_count;
    bool watch;
    struct target_breakpoint set[5];
    char reported[400], printed[400];
    unsigned later, stopped, failed, answered;
    struct target_stop stop;
};

static unsigned size_at(const struct fixture *x, uint64_t address, enum bt_isa isa)
{
    uint8_t b[2];
    if (isa == BT_ISA_A32)
        return 4;
    ck_assert_uint_eq(random_flow_read(&x->flow, address, b, 2), 2);
    return insn_t32_size((uint16_t)(b[0] | b[1] << 8));
}

static void make_model(struct fixture *x)
{
    struct model *m = &x->model;
    for (size_t i = 0; i < x->straight.block_count; i++)
        m->count += bt_block_count(&x->straight.blocks[i]);
    m->pc = calloc(m->count + 1, sizeof *m->pc);
    m->gap = calloc(m->count + 1, 1);
    uint64_t n = 0;
    for (size_t i = 0; i < x->straight.block_count; i++) {
        const struct bt_block *b = &x->straight.blocks[i];
        uint64_t address = b->first;
        for (unsigned k = 0; k < bt_block_count(b); k++) {
            m->pc[n++] = address;
            address += size_at(x, address, bt_block_isa(b));
        }
    }
    for (size_t i = 0; i < x->straight.event_count; i++) {
        const struct bt_event *e = &x->straight.events[i];
        bool gap = (e->kind == BT_EVENT_GAP || e->kind == BT_EVENT_TRACE_ON) &&
                   e->cause != BT_GAP_NONE && e->cause != BT_GAP_DEBUG;
        if (!gap || e->position == 0 || e->position > m->count)
            continue;
        if (m->gap[e->position] != 1)
            m->gap[e->position] = e->cause == BT_GAP_TRACE_ON ? 2 : 1;
    }
}

static bool is_hit(const struct fixture *x, uint64_t position)
{
    for (size_t i = 0; i < x->breakpoint_count; i++)
        if (position < x->model.count && x->model.pc[position] == x->breakpoints[i])
            return true;
    return false;
}

/* Where a continue ends, and how. */
static uint64_t model_continue(const struct fixture *x, uint64_t from, bool back,
                               enum target_halt_reason *kind)
{
    uint64_t at = from, end = x->motion.cores[0].reverse.end;
    *kind = back ? TARGET_HALT_REPLAY_BEGIN : TARGET_HALT_REPLAY_END;
    while (at != (back ? 0 : end)) {
        at = back ? at - 1 : at + 1;
        if (is_hit(x, at)) {
            *kind = TARGET_HALT_SWBREAK;
            return at;
        }
        if (x->model.gap[at] == 1)
            return at;
    }
    return at;
}

static int host_view(void *ctx, int core, struct btrace_view *view, struct target_error *why)
{
    (void)core, (void)why;
    *view = ((struct fixture *)ctx)->view;
    return BT_OK;
}

static int host_machine(void *ctx, int core, struct reverse_machine *m)
{
    (void)ctx, (void)core;
    *m = (struct reverse_machine){.regs.known = 1u << TARGET_REG_SP,
                                  .regs.value[TARGET_REG_SP] = 0x1000};
    return BT_OK;
}

/* Nothing goes so far up. */
#define WATCHED 0x7ffffff0u

static size_t host_breakpoints(void *ctx, const struct target_breakpoint **set)
{
    struct fixture *x = ctx;
    size_t n = 0;
    for (; n < x->breakpoint_count; n++)
        x->set[n] = (struct target_breakpoint){.address = x->breakpoints[n]};
    if (x->watch)
        x->set[n++] = (struct target_breakpoint){TARGET_WATCHPOINT_ACCESS, WATCHED, 4};
    *set = x->set;
    return n;
}

static size_t host_programs(void *ctx, int core, struct elf_image *const **elf)
{
    (void)ctx, (void)core;
    *elf = NULL;
    return 0;
}

static void host_answered(void *ctx)
{
    ((struct fixture *)ctx)->answered++;
}

static const char *host_core_name(void *ctx, int core)
{
    (void)ctx;
    return core ? "cpu1" : "cpu0";
}

static void host_later(void *ctx)
{
    ((struct fixture *)ctx)->later++;
}

static void host_stopped(void *ctx, const struct target_stop *stop)
{
    struct fixture *x = ctx;
    x->stop = *stop;
    x->stopped++;
}

static void host_failed(void *ctx, const struct target_error *why)
{
    (void)why;
    ((struct fixture *)ctx)->failed++;
}

static void host_report(void *ctx, const char *text)
{
    struct fixture *x = ctx;
    strncat(x->reported, text, sizeof x->reported - strlen(x->reported) - 1);
}

static const struct reverse_host host = {
    .view = host_view,
    .machine = host_machine,
    .breakpoints = host_breakpoints,
    .programs = host_programs,
    .answered = host_answered,
    .core_name = host_core_name,
    .later = host_later,
    .stopped = host_stopped,
    .failed = host_failed,
    .report = host_report,
};

static void set_up_gaps(struct fixture *x, uint64_t seed, unsigned instructions, size_t checkpoint,
                        bool gaps)
{
    struct random_flow_options o;
    struct history_config hc = {.checkpoint_bytes = checkpoint};
    struct history_tail tail;
    memset(x, 0, sizeof *x);
    random_flow_default_options(&o);
    o.instructions = instructions;
    if (!gaps)
        o.overflows = o.filters = o.resets = o.debugs = 0;
    ck_assert_int_eq(random_flow_init(&x->flow, seed, &o), 0);
    code_image_init(&x->image);
    for (size_t i = 0; i < x->flow.region_count; i++) {
        struct code_region r = {.address = x->flow.regions[i].address,
                                .size = x->flow.regions[i].size,
                                .bytes = x->flow.regions[i].bytes};
        code_image_add(&x->image, &r);
    }
    x->config.protocol = STREAM_PTM;
    ptm_config_from_regs(&x->config.ptm, o.encoder.etmcr, o.encoder.etmidr, o.encoder.etmccer,
                         0x10);
    decoded_init(&x->straight, &x->config, &x->image);
    decoded_feed(&x->straight, x->flow.trace.data, x->flow.trace.size, 0);
    ck_assert_int_eq(history_new(&hc, &x->config, &x->image, &x->history), 0);
    ck_assert_int_eq(history_append(x->history, x->flow.trace.data, x->flow.trace.size), 0);
    history_finish(x->history);
    make_model(x);
    history_tail(x->history, &tail);
    x->view = (struct btrace_view){.history = x->history, .image = &x->image};
    x->view.jumped = true; /* the PC is where the trace goes on, or behind a gap */
    x->view.pc = tail.known && tail.count == 0 ? tail.address : 0x44444444;
    ck_assert_int_eq(reverse_motion_init(&x->motion, &host, x, 1), 0);
}

static void set_up(struct fixture *x, uint64_t seed, unsigned instructions, size_t checkpoint)
{
    set_up_gaps(x, seed, instructions, checkpoint, true);
}

static void tear_down(struct fixture *x)
{
    reverse_motion_release(&x->motion);
    history_free(x->history);
    decoded_release(&x->straight);
    code_image_release(&x->image);
    random_flow_release(&x->flow);
    free(x->model.pc);
    free(x->model.gap);
}

/* Runs a motion to its end; the stop is in x->stop. */
static void move(struct fixture *x, bool step, bool back)
{
    struct target_resume r = {.step = step, .threads_listed = true};
    struct target_error why = {""};
    unsigned stopped = x->stopped;
    int rc = back ? reverse_motion_back(&x->motion, 0, step, &x->stop, &why)
                  : reverse_motion_resume(&x->motion, &r, &x->stop, &why);
    ck_assert_msg(rc >= 0, "%s", why.text);
    while (rc == TARGET_PENDING && x->stopped == stopped)
        reverse_motion_idle(&x->motion);
    ck_assert(!reverse_motion_running(&x->motion));
}

static uint64_t position(const struct fixture *x)
{
    return x->motion.cores[0].reverse.position;
}

static void check_here(struct fixture *x, uint64_t wanted)
{
    struct target_regs regs;
    ck_assert_uint_eq(position(x), wanted);
    if (wanted == x->motion.cores[0].reverse.end)
        return;
    ck_assert_int_eq(reverse_motion_regs(&x->motion, 0, &regs), 0);
    ck_assert_uint_eq(regs.value[TARGET_REG_PC], x->model.pc[wanted]);
    for (unsigned reg = TARGET_REG_SP; reg <= TARGET_REG_PSR; reg++)
        ck_assert_uint_eq(regs.known >> reg & 1, 1);
}

/* Words that the model says ran at the position, or before. */
static void check_ran(struct fixture *x, uint64_t at)
{
    struct reverse *p = &x->motion.cores[0].reverse;
    uint64_t end = x->model.count, address = x->model.pc[(uint64_t)rand() % end] & ~UINT64_C(3), k;
    for (k = 0; k <= at && k < end; k++)
        if (x->model.pc[k] < address + 4 && address < x->model.pc[k] + 4)
            break;
    bool ran = k <= at && k < end;
    ck_assert(ran || !reverse_ran(p, address, false));
    ck_assert(at == end || reverse_ran(p, x->model.pc[at], false));
    ck_assert(!reverse_ran(p, address, false) || reverse_ran(p, address, true));
}

START_TEST(any_mixture_of_moves_equals_the_model)
{
    static struct fixture x;
    set_up(&x, (uint64_t)_i + 1, 12000, 60 + 97 * (size_t)_i);
    srand((unsigned)_i);
    move(&x, true, true);
    uint64_t end = x.motion.cores[0].reverse.end, at = end - 1;
    ck_assert_uint_eq(end, x.model.count);
    check_here(&x, at);
    for (unsigned n = 0; n < MOVES; n++) {
        enum target_halt_reason kind = TARGET_HALT_TRAP;
        bool step = rand() % 3 == 0, back = rand() % 2;
        if (!reverse_motion_any(&x.motion))
            back = true;
        x.breakpoint_count = (size_t)(rand() % 4);
        for (size_t i = 0; i < x.breakpoint_count; i++)
            x.breakpoints[i] = x.model.pc[(uint64_t)rand() % end];
        x.reported[0] = '\0';
        uint64_t from = at;
        if (step && back && at == 0)
            kind = TARGET_HALT_REPLAY_BEGIN;
        else if (step)
            at = back ? at - 1 : at + 1;
        else
            at = model_continue(&x, at, back, &kind);
        move(&x, step, back);
        check_here(&x, at);
        check_ran(&x, at);
        ck_assert_int_eq((int)x.stop.kind, (int)kind);
        bool crosses = back ? from > at && x.model.gap[from] == 1 : step && x.model.gap[at] == 1;
        if (crosses)
            ck_assert_ptr_nonnull(strstr(x.reported, "trace is missing here"));
    }
    tear_down(&x);
}
END_TEST

/* A step that arrives at the halted core, and the continue that GDB sends right behind it. */
START_TEST(the_end_is_reported_to_a_continue_not_to_a_step)
{
    static struct fixture x;
    set_up(&x, 3, 2000, 256);
    struct target_resume step = {.step = true}, go = {.step = false};
    move(&x, true, true);
    ck_assert(reverse_motion_takes(&x.motion, &step));
    move(&x, true, false);
    ck_assert_int_eq((int)x.stop.kind, (int)TARGET_HALT_TRAP);
    ck_assert(!reverse_motion_any(&x.motion));
    ck_assert(!reverse_motion_takes(&x.motion, &step));
    ck_assert(reverse_motion_takes(&x.motion, &go));
    go.threads_listed = true;
    ck_assert(!reverse_motion_takes(&x.motion, &go));
    go.threads_listed = false;
    struct target_error why = {""};
    ck_assert_int_eq(reverse_motion_resume(&x.motion, &go, &x.stop, &why), 0);
    ck_assert_int_eq((int)x.stop.kind, (int)TARGET_HALT_REPLAY_END);
    ck_assert(!reverse_motion_takes(&x.motion, &go));
    tear_down(&x);
}
END_TEST

/* A long search is done in slices, and an interrupt between two ends it where it is. */
START_TEST(an_interrupt_ends_a_long_search)
{
    static struct fixture x;
    struct target_error why = {""};
    set_up_gaps(&x, 8, 30000, 64, false);
    ck_assert_int_eq(reverse_motion_back(&x.motion, 0, false, &x.stop, &why), TARGET_PENDING);
    for (unsigned i = 0; i < 3; i++) {
        ck_assert(reverse_motion_running(&x.motion));
        reverse_motion_idle(&x.motion);
    }
    ck_assert_uint_eq(x.later, 4);
    ck_assert_uint_eq(x.stopped, 0);
    reverse_motion_interrupt(&x.motion);
    reverse_motion_idle(&x.motion);
    ck_assert_uint_eq(x.stopped, 1);
    ck_assert_int_eq((int)x.stop.kind, (int)TARGET_HALT_INTERRUPT);
    uint64_t at = position(&x);
    ck_assert(at > 0 && at < x.motion.cores[0].reverse.end);
    check_here(&x, at);
    move(&x, false, true);
    check_here(&x, 0);
    tear_down(&x);
}
END_TEST

/* All accesses are looked at on the way, and none is what is watched: it ends where it would. */
START_TEST(watchpoints_that_nothing_hits)
{
    static struct fixture x;
    enum target_halt_reason kind;
    for (unsigned back = 2; back-- > 0;) {
        set_up(&x, 2 + (unsigned)_i, 2000, 256);
        x.breakpoints[x.breakpoint_count++] = x.model.pc[x.model.count / 3];
        move(&x, true, true);
        for (unsigned n = 0; n < 6; n++) {
            uint64_t from = position(&x), wanted = model_continue(&x, from, back, &kind);
            x.watch = true;
            if (from != (back ? 0 : x.motion.cores[0].reverse.end)) {
                move(&x, false, back);
                ck_assert_uint_eq(position(&x), wanted);
                ck_assert_int_eq(x.stop.kind, kind);
            }
            x.watch = n % 2;
            move(&x, true, true);
        }
        tear_down(&x);
    }
}
END_TEST

START_TEST(an_interrupt_ends_a_search_for_accesses)
{
    static struct fixture x;
    struct target_error why = {""};
    set_up_gaps(&x, 3, 60000, 4096, false);
    x.watch = true;
    ck_assert_int_eq(reverse_motion_back(&x.motion, 0, false, &x.stop, &why), TARGET_PENDING);
    for (unsigned i = 0; i < 12; i++)
        reverse_motion_idle(&x.motion);
    ck_assert(reverse_motion_running(&x.motion));
    reverse_motion_interrupt(&x.motion);
    while (!x.stopped)
        reverse_motion_idle(&x.motion);
    ck_assert_int_eq(x.stop.kind, TARGET_HALT_INTERRUPT);
    ck_assert_uint_gt(position(&x), 0);
    tear_down(&x);
}
END_TEST

static void print_text(void *to, const char *text)
{
    char *printed = to;
    strncat(printed, text, 399 - strlen(printed));
}

START_TEST(a_question_about_accesses)
{
    static struct fixture x;
    set_up_gaps(&x, 3, 60000, 4096, false);
    ck_assert_int_eq(reverse_monitor(&x.motion, 0, "written 0x7ffffff0 5", print_text, x.printed),
                     TARGET_PENDING);
    while (!x.answered && x.later)
        reverse_motion_idle(&x.motion);
    ck_assert_uint_eq(x.answered, 1);
    ck_assert_ptr_nonnull(strstr(x.printed, "the history begins at instruction 1\n"));
    ck_assert_int_eq(reverse_monitor(&x.motion, 0, "read nothing", print_text, x.printed), BT_OK);
    ck_assert_ptr_nonnull(strstr(x.printed, "monitor read VARIABLE|ADDRESS"));
    tear_down(&x);
}
END_TEST

START_TEST(nothing_traced)
{
    static struct fixture x;
    struct target_error why = {""};
    struct history_config hc = {.checkpoint_bytes = 256};
    set_up(&x, 2, 100, 256);
    history_free(x.history);
    ck_assert_int_eq(history_new(&hc, &x.config, &x.image, &x.history), 0);
    x.view.history = x.history;
    ck_assert_int_lt(reverse_motion_back(&x.motion, 0, true, &x.stop, &why), 0);
    ck_assert_ptr_nonnull(strstr(why.text, "nothing was traced on cpu0"));
    tear_down(&x);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("reverse");
    unit_cases(s, "moves equal a naive model", any_mixture_of_moves_equals_the_model, 0, 12);
    unit_case(s, "the end of the history", the_end_is_reported_to_a_continue_not_to_a_step);
    unit_case(s, "an interrupt", an_interrupt_ends_a_long_search);
    unit_cases(s, "watchpoints", watchpoints_that_nothing_hits, 0, 4);
    unit_case(s, "an interrupt, accesses", an_interrupt_ends_a_search_for_accesses);
    unit_case(s, "a question", a_question_about_accesses);
    unit_case(s, "nothing traced", nothing_traced);
    return s;
}
