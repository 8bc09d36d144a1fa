/* SPDX-License-Identifier: BSD-3-Clause */
/* The live half of btraced run: a breakpoint at the goal, a limit of time, and an eye on faults. */
#include "decoder/base/bytes.h"
#include "run.h"
#include "serve.h"

#include "drivers/cortex_m/cortex_m.h"
#include "server/base/exit_codes.h"
#include "server/base/log.h"
#include "server/history/open_fault.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define DEFAULT_SECONDS 60
#define LOOK_MS         1000
#define LOOKS_SILENT    2 /* without trace: the core may sleep in a fault's handler */
#define HALT_MS         60000

#define M_FAULTS    0xe000ed28u /* CFSR, HFSR, DFSR, MMFAR, BFAR: DDI 0403E.e B3.2.2 */
#define M_IPSR_MASK 0x1ffu

/* Why a halt was asked for. */
enum watch_wish { WATCH_NOTHING, WATCH_TIME, WATCH_OUTPUT, WATCH_LOOK };

struct watch {
    const struct run_args *args;
    struct run_seen *seen;
    struct live *live; /* NULL: not ready yet */
    uv_timer_t limit, look;
    uint64_t goal; /* address of `until` */
    bool has_goal, said;
    enum watch_wish wish;
    unsigned core;                    /* whose fault registers are asked for */
    uint64_t bytes;                   /* of trace, at the last look */
    uint64_t bytes_asked;             /* a halt was asked for when there were so many */
    unsigned silent;                  /* looks without new trace */
    uint64_t fault[CONFIG_MAX_CORES]; /* position of the newest one at the last look, + 1 */
    uint64_t fault_asked[CONFIG_MAX_CORES];
};

static bool is_m_profile(const struct live_core *c)
{
    return strncasecmp(c->config->type, "Cortex-M", 8) == 0;
}

static void watch_ask(struct watch *w, enum watch_wish wish)
{
    if (w->wish != WATCH_NOTHING || !w->live)
        return;
    w->wish = wish;
    if (wish != WATCH_LOOK)
        uv_timer_stop(&w->look);
    target_interrupt(w->live->target);
}

static void on_no_halt(uv_timer_t *timer)
{
    const struct watch *w = timer->data;
    log_write(LOG_AT_ERROR, "btraced run: the target does not halt\n");
    serve_end(w->live, EXIT_INPUT);
}

static void on_limit(uv_timer_t *timer)
{
    struct watch *w = timer->data;
    uv_timer_start(timer, on_no_halt, HALT_MS, 0);
    if (w->wish == WATCH_LOOK)
        w->wish = WATCH_TIME; /* its halt is on the way */
    else
        watch_ask(w, WATCH_TIME);
}

/* A fault is the newest exception of a core, since the last look already. */
static bool fault_stays(struct watch *w)
{
    bool stays = false;
    pipeline_lock(w->live->pipeline);
    for (unsigned i = 0; i < w->live->config->core_count; i++) {
        const struct live_core *c = &w->live->cores[i];
        uint64_t position;
        if (c->source < 0)
            continue;
        struct history *h = pipeline_history(w->live->pipeline, (unsigned)c->source);
        uint64_t fault = open_fault_newest(h, &position) ? position + 1 : 0;
        if (fault && fault == w->fault[i] && fault != w->fault_asked[i]) {
            w->fault_asked[i] = fault;
            stays = true;
        }
        w->fault[i] = fault;
    }
    pipeline_unlock(w->live->pipeline);
    return stays;
}

/* Nothing comes any more: a core that sleeps in a handler is only seen when it is halted. */
static bool falls_silent(struct watch *w)
{
    uint64_t bytes = w->live->rate_bytes;
    w->silent = bytes == w->bytes ? w->silent + 1 : 0;
    w->bytes = bytes;
    if (w->silent < LOOKS_SILENT || bytes == w->bytes_asked)
        return false;
    w->bytes_asked = bytes;
    return true;
}

static void on_look(uv_timer_t *timer)
{
    struct watch *w = timer->data;
    if (!target_is_running(w->live->target))
        return;
    bool silent = falls_silent(w);
    if (fault_stays(w) || silent)
        watch_ask(w, WATCH_LOOK);
}

static void watch_resume(struct watch *w)
{
    if (w->said)
        w->wish = WATCH_OUTPUT;
    if (target_resume(w->live->target) != BT_OK) {
        log_write(LOG_AT_ERROR, "btraced run: the target cannot be resumed\n");
        serve_end(w->live, EXIT_INPUT);
    } else if (w->wish != WATCH_NOTHING) {
        target_interrupt(w->live->target);
    }
}

static void watch_begin(struct watch *w)
{
    unsigned seconds = w->args->seconds ? w->args->seconds : DEFAULT_SECONDS;
    uv_timer_start(&w->limit, on_limit, (uint64_t)seconds * 1000, 0);
    if (w->live->pipeline)
        uv_timer_start(&w->look, on_look, LOOK_MS, LOOK_MS);
    watch_resume(w);
}

static int watch_insert(struct watch *w, enum target_breakpoint_type type, target_done_fn done)
{
    const struct elf_image *elf = w->live->cores[0].elf;
    uint64_t address = w->goal;
    bool thumb = is_m_profile(&w->live->cores[0]);
    const struct elf_symbol *s = elf ? elf_image_symbol(elf, address, &(uint64_t){0}) : NULL;
    thumb |= s && s->thumb;
    const struct target_request r = {
        .kind = TARGET_INSERT,
        .breakpoint = {.type = type, .address = address, .kind = thumb ? 2 : 4}};
    return target_ask(w->live->target, NULL, &r, done, w);
}

static void on_inserted(void *ctx, const struct target_answer *answer)
{
    struct watch *w = ctx;
    if (!answer->error) {
        watch_begin(w);
        return;
    }
    log_write(LOG_AT_ERROR, "btraced run: --until '%s': no breakpoint can be set there\n",
              w->args->until);
    serve_end(w->live, EXIT_INPUT);
}

static void on_hardware_inserted(void *ctx, const struct target_answer *answer)
{
    struct watch *w = ctx;
    if (!answer->error || watch_insert(w, TARGET_BREAKPOINT_SOFTWARE, on_inserted) != BT_OK)
        on_inserted(w, answer);
}

/* Of the cores' programs; false: it is no address of theirs, and no function. */
static bool find_goal(struct watch *w)
{
    const struct elf_image *first = w->live->cores[0].elf;
    char *end;
    w->goal = strtoull(w->args->until, &end, 16);
    if (strncasecmp(w->args->until, "0x", 2) == 0 && !*end)
        return w->goal <= UINT32_MAX || !first || first->machine == ELF_MACHINE_AARCH64;
    for (unsigned i = 0; i < w->live->config->core_count; i++) {
        const struct elf_image *elf = w->live->cores[i].elf;
        const struct elf_symbol *s = elf ? elf_image_find(elf, w->args->until) : NULL;
        if (!s)
            continue;
        w->goal = s->address;
        return true;
    }
    return false;
}

static void note_board(struct run_seen *seen, const struct config *config)
{
    snprintf(seen->board, sizeof seen->board, "%s", config->name);
    seen->core_count = config->core_count;
    for (unsigned i = 0; i < config->core_count; i++) {
        const char *program = config->cores[i].program;
        unsigned k = 0;
        snprintf(seen->cores[i].name, sizeof seen->cores[i].name, "%s", config->cores[i].name);
        while (k < seen->program_count && strcmp(seen->programs[k], program) != 0)
            k++;
        if (*program && k == seen->program_count && k < RECORDING_MAX_ELF)
            snprintf(seen->programs[seen->program_count++], sizeof seen->programs[0], "%s",
                     program);
    }
}

static void on_ready(void *ctx, struct live *l)
{
    struct watch *w = ctx;
    w->live = l;
    uv_timer_init(l->loop, &w->limit);
    uv_timer_init(l->loop, &w->look);
    w->limit.data = w->look.data = w;
    note_board(w->seen, l->config);
    w->has_goal = w->args->until != NULL;
    if (!w->has_goal) {
        watch_begin(w);
    } else if (!find_goal(w)) {
        log_write(LOG_AT_ERROR,
                  "btraced run: --until '%s': the program has no such function or address\n",
                  w->args->until);
        serve_end(l, EXIT_INPUT);
    } else if (watch_insert(w, TARGET_BREAKPOINT_HARDWARE, on_hardware_inserted) != BT_OK) {
        on_inserted(w, &(struct target_answer){.error = BT_ERR_IO});
    }
}

static void on_said(void *ctx, const char *line)
{
    struct watch *w = ctx;
    if (!w->args->output || w->said || !strstr(line, w->args->output))
        return;
    w->said = true;
    if (w->wish == WATCH_LOOK)
        w->wish = WATCH_OUTPUT;
    else
        watch_ask(w, WATCH_OUTPUT);
}

/* A core that nothing has come of may not have been started, unless it is the only one. */
static bool is_apart(const struct live *l, unsigned core)
{
    struct history_totals totals;
    if (l->cores[core].source < 0 || live_trace_leads(l, core))
        return false;
    pipeline_lock(l->pipeline);
    history_totals(pipeline_history(l->pipeline, (unsigned)l->cores[core].source), &totals);
    pipeline_unlock(l->pipeline);
    return totals.bytes || l->config->core_count == 1;
}

/* What the halted cores stand at. True: one is in the handler of a fault. */
static bool note_cores(struct watch *w)
{
    const struct live *l = w->live;
    bool faulted = false;
    for (unsigned i = 0; i < l->config->core_count; i++) {
        const struct live_core *c = &l->cores[i];
        uint32_t psr = (uint32_t)c->regs.value[TARGET_REG_PSR];
        w->seen->cores[i].halted = c->regs.known >> TARGET_REG_PC & 1;
        w->seen->cores[i].pc = c->regs.value[TARGET_REG_PC] & ~(uint64_t)1;
        w->seen->cores[i].faulted = is_m_profile(c) && (c->regs.known >> TARGET_REG_PSR & 1) &&
                                    open_fault_is(psr & M_IPSR_MASK, true);
        w->seen->cores[i].apart = w->seen->cores[i].halted && is_apart(l, i);
        faulted |= w->seen->cores[i].faulted;
    }
    return faulted;
}

static bool is_at_goal(const struct watch *w)
{
    for (unsigned i = 0; w->has_goal && i < w->live->config->core_count; i++)
        if (w->seen->cores[i].halted && w->seen->cores[i].pc == w->goal)
            return true;
    return false;
}

static bool history_has_fault(const struct watch *w)
{
    bool open = false;
    if (!w->live->pipeline)
        return false;
    pipeline_lock(w->live->pipeline);
    for (unsigned i = 0; i < w->live->config->core_count && !open; i++) {
        const struct live_core *c = &w->live->cores[i];
        if (c->source >= 0)
            open = open_fault_now(pipeline_history(w->live->pipeline, (unsigned)c->source),
                                  &c->image, is_m_profile(c));
    }
    pipeline_unlock(w->live->pipeline);
    return open;
}

static uint32_t word_at(const struct target_answer *a, size_t i)
{
    return bytes_word(a->bytes + 4 * i);
}

static void ask_fault_words(struct watch *w);

static void on_fault_words(void *ctx, const struct target_answer *a)
{
    struct watch *w = ctx;
    const struct live_core *c = &w->live->cores[w->core];
    struct cortex_m_exception e = {.number = (unsigned)c->regs.value[TARGET_REG_PSR] & M_IPSR_MASK};
    if (!a->error && a->length == 20) {
        e.cfsr = word_at(a, 0);
        e.hfsr = word_at(a, 1);
        e.mmfar = word_at(a, 3);
        e.bfar = word_at(a, 4);
    }
    cortex_m_exception_text(&e, w->seen->cores[w->core].fault, sizeof w->seen->cores[0].fault);
    w->core++;
    ask_fault_words(w);
}

static void ask_fault_words(struct watch *w)
{
    struct target_request r = {.kind = TARGET_READ_MEMORY, .address = M_FAULTS, .length = 20};
    r.device = true;
    while (w->core < w->seen->core_count && !w->seen->cores[w->core].faulted)
        w->core++;
    if (w->core < w->seen->core_count) {
        r.core = (int)w->live->cores[w->core].config->thread - 1;
        if (target_ask(w->live->target, NULL, &r, on_fault_words, w) == BT_OK)
            return;
    }
    serve_end(w->live, EXIT_OK);
}

/* The last halt; what a fault's registers say is asked for first. */
static bool watch_last(struct watch *w, enum run_end end, bool faulted)
{
    w->seen->end = end;
    uv_timer_stop(&w->look);
    w->core = 0;
    if (faulted)
        ask_fault_words(w);
    return !faulted;
}

static bool on_halted(void *ctx, struct live *l)
{
    struct watch *w = ctx;
    enum watch_wish wish = w->wish;
    if (!w->live || w->seen->end != RUN_END_CUT)
        return false;
    bool faulted = note_cores(w);
    w->wish = WATCH_NOTHING;
    if (is_at_goal(w) || wish == WATCH_OUTPUT)
        return watch_last(w, RUN_END_GOAL, faulted);
    if (faulted || history_has_fault(w))
        return watch_last(w, RUN_END_FAULT, faulted);
    if (wish == WATCH_TIME)
        return watch_last(w, RUN_END_TIME, false);
    if (wish == WATCH_NOTHING)
        return watch_last(w, RUN_END_HALT, false);
    l->run_after = true;
    return false;
}

static void on_ended(void *ctx, struct live *l)
{
    struct watch *w = ctx;
    struct recorder_stats stats;
    if (l->recorder) {
        recorder_stats(l->recorder, &stats);
        snprintf(w->seen->folder, sizeof w->seen->folder, "%s", stats.folder);
        w->seen->dropped = stats.dropped;
    }
    if (w->said && w->seen->end == RUN_END_CUT)
        w->seen->end = RUN_END_GOAL; /* the board's program has ended behind it */
    if (!w->live)
        return;
    uv_close((uv_handle_t *)&w->limit, NULL);
    uv_close((uv_handle_t *)&w->look, NULL);
}

int run_watch(const struct run_args *args, struct run_seen *seen)
{
    struct watch *w = calloc(1, sizeof *w);
    if (!w)
        return EXIT_INTERNAL;
    w->args = args;
    w->seen = seen;
    const struct serve_attendant attendant = {on_ready, on_halted, on_said, on_ended, w};
    int code = serve_unattended(&args->serve, &attendant);
    free(w);
    return code;
}
