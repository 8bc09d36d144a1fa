/* SPDX-License-Identifier: BSD-3-Clause */
/* A live target: it is connected to, halts, is lost, comes back, and is left. */
#include "live_internal.h"

#include "server/base/log.h"
#include "server/config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS        100
#define RATE_MS        1000
#define SILENT_MS      10000 /* then the target's GDB server is called again */
#define DETACH_LOOK_MS 5
#define DETACH_MS      1800 /* who ends a server waits no longer than 2 seconds */

/* Who waits for the target is told. */
static void report_to_clients(struct live *l, const char *text)
{
    for (struct live_client *k = l->clients, *next; k; k = next) {
        next = k->next;
        gdb_session_output(k->session, text);
    }
}

/* The target is elsewhere: no delta leads there. */
static void mark_moved(struct live *l)
{
    for (unsigned i = 0; i < l->config->core_count; i++)
        l->cores[i].jumped = true;
    for (struct live_client *k = l->clients; k; k = k->next)
        for (unsigned i = 0; i < l->config->core_count; i++)
            k->cores[i].moved = true;
    target_outdate(l->target);
}

/* The target's registers are others. Without `elsewhere` the PC is where it was. */
static void target_was_moved(struct live *l, bool reset, bool elsewhere)
{
    if (elsewhere)
        live_reverse_written(l, false);
    live_snapshot_moved(l, reset);
    if (elsewhere)
        mark_moved(l);
    else
        target_outdate(l->target);
    if (l->target->run != TARGET_RESUMING)
        live_look_again(l); /* the PC may be another one */
}

static void report_ready(struct live *l, int error)
{
    if (l->phase != LIVE_OPENING)
        return;
    l->phase = LIVE_SERVING;
    l->ready(l->ctx, l, error);
}

static void after_drain(uv_work_t *work, int status)
{
    struct live *l = work->data;
    (void)status;
    l->halt = LIVE_HALT_IDLE;
    if (l->phase != LIVE_STOPPED)
        live_look(l);
}

static bool live_work_and_look(struct live *l, uv_work_cb work)
{
    enum live_halt before = l->halt;
    l->work.data = l;
    l->halt = LIVE_HALT_DRAINING;
    bool begun = uv_queue_work(l->loop, &l->work, work, after_drain) == 0;
    if (!begun)
        l->halt = before;
    return begun;
}

static void begin_drain(void *ctx)
{
    struct live *l = ctx;
    if (l->halt == LIVE_HALT_DRAINING || l->phase == LIVE_STOPPED)
        return;
    target_hold_clients(l->target, true);
    live_join_halted(l);
    if (l->pipeline && live_work_and_look(l, live_drain_work))
        return;
    l->work.data = l;
    l->halt = LIVE_HALT_DRAINING;
    after_drain(&l->work, 0);
}

static void on_resumed(void *ctx)
{
    struct live *l = ctx;
    l->drain = LIVE_DRAIN_NONE;
    live_join_resumed(l);
    live_counts_resumed(l);
    live_reverse_forget(l);
    live_snapshot_resumed(l);
    live_code_commit(l);
    l->untraced = l->tracing != LIVE_TRACING_ON;
    if (l->untraced)
        l->tracing = LIVE_TRACING_MISSED;
    for (unsigned i = 0; i < l->config->core_count; i++) {
        l->cores[i].regs.known = 0;
        l->cores[i].jumped = l->cores[i].left = false;
    }
}

static void on_ready(void *ctx, int error)
{
    struct live *l = ctx;
    if (!error && l->lost) {
        log_write(LOG_AT_INFO, "btraced: the target's GDB server is back\n");
        l->lost = false;
        l->setup = 0; /* the target may be another one */
        mark_moved(l);
    }
    if (error)
        report_ready(l, error);
    else if (!target_is_running(l->target))
        begin_drain(l);
    else
        report_ready(l, BT_OK);
}

/* Cores that run, and a halt that is being fetched, are looked at later. */
void live_was_reset(struct live *l)
{
    l->setup = 0;
    if (l->target->run != TARGET_RUNNING && l->target->run != TARGET_HALTING)
        target_was_moved(l, true, true);
}

static void note_written(void *ctx, uint64_t address, const void *bytes, size_t length)
{
    struct live *l = ctx;
    live_reverse_written(l, true);
    live_snapshot_written(l, address, length);
    live_code_written(l, address, bytes, length);
    target_outdate(l->target);
}

static void on_changed(void *ctx, enum target_change change, uint64_t address, uint64_t length)
{
    struct live *l = ctx;
    if (change == TARGET_CHANGE_RESET) {
        live_was_reset(l);
        return;
    }
    l->run_after = false;
    if (change == TARGET_CHANGE_MEMORY)
        note_written(l, address, NULL, length);
    else
        target_was_moved(l, false, !live_reverse_kept(l, address, length));
}

static void on_lost(void *ctx)
{
    struct live *l = ctx;
    if (l->halt != LIVE_HALT_DRAINING) /* the worker goes on */
        l->halt = LIVE_HALT_IDLE;
    l->run_after = false;
    l->losses++;
    l->lost = true;
    live_clients_forget(l);
    if (l->phase != LIVE_STOPPED)
        log_write(LOG_AT_WARNING,
                  "btraced: the target's GDB server closed the connection; it is called "
                  "again until it answers, the history is kept\n");
}

static const struct target_events live_target_events = {
    .ready = on_ready,
    .resumed = on_resumed,
    .stopped = begin_drain,
    .changed = on_changed,
    .programmed = note_written,
    .lost = on_lost,
};

static int add_core_program(struct live_core *c, struct message *why)
{
    code_image_init(&c->image);
    if (!c->config->program[0])
        return BT_OK;
    int error = config_open_program(c->config, &c->elf, why);
    if (error) {
        message_set(why, "cannot use the program '%s' of core %s: %s", c->config->program,
                    c->config->name, why->text);
        return error;
    }
    for (size_t i = 0; i < c->elf->segment_count && !error; i++) {
        const struct elf_segment *s = &c->elf->segments[i];
        struct code_region region = {.address = s->vaddr,
                                     .size = s->file_size,
                                     .bytes = s->data,
                                     .big_endian = c->elf->code_big_endian};
        error = code_image_add(&c->image, &region);
        if (error == BT_ERR_INVAL)
            error = BT_OK;
    }
    if (error)
        message_set(why, "out of memory");
    return error;
}

static int open_cores(struct live *l, struct message *why)
{
    int error = BT_OK;
    for (unsigned i = 0; i < l->config->core_count && !error; i++) {
        l->cores[i].config = &l->config->cores[i];
        l->cores[i].source = -1;
        error = add_core_program(&l->cores[i], why);
    }
    return error;
}

/* Once for each time that it begins. */
static void look_at_limits(struct live *l)
{
    struct pipeline_stats p = {0};
    struct recorder_stats r = {0};
    char text[400];
    if (l->pipeline)
        pipeline_stats(l->pipeline, &p);
    if (p.dropped > l->reported.dropped && !l->reported.ring_full)
        log_write(LOG_AT_WARNING,
                  "btraced: the ring is full ([trace] ring): trace is dropped, which is a gap "
                  "in the history\n");
    l->reported.ring_full = p.dropped > l->reported.dropped;
    l->reported.dropped = p.dropped;
    if (l->recorder)
        recorder_stats(l->recorder, &r);
    if (r.error && !l->reported.recording) {
        snprintf(text, sizeof text, "%s; what was written before can be replayed\n", r.why);
        log_write(LOG_AT_WARNING, "btraced: %s", text);
        report_to_clients(l, text);
    }
    l->reported.recording = r.error != 0;
}

/* Told once. */
static void report_strays(struct live *l, bool halted)
{
    char text[400];
    if (l->reported.strays)
        return;
    live_strays(l, halted, text, sizeof text);
    if (!text[0])
        return;
    l->reported.strays = true;
    log_write(LOG_AT_WARNING, "btraced: %s", text);
    report_to_clients(l, text);
}

/* A connection whose other end does not answer any more may be half of one. */
static void look_at_server(struct live *l)
{
    if (!l->remote || target_silent_ms(l->target) < SILENT_MS)
        return;
    log_write(LOG_AT_WARNING, "btraced: the target's GDB server has not answered for %d s\n",
              SILENT_MS / 1000);
    remote_link_again(&l->link);
}

static void tell_halt(struct live *l)
{
    target_release_stop(l->target);
    target_hold_clients(l->target, false);
    if (l->run_after)
        target_resume(l->target);
    l->run_after = false;
}

/* Everything about this halt is known. */
static void report_halt(struct live *l)
{
    l->stops++;
    live_itm_flush(l);
    report_strays(l, true);
    if (l->phase == LIVE_SERVING)
        l->halted(l->ctx, l);
    report_ready(l, BT_OK);
    if (!live_snapshot_halted(l))
        tell_halt(l);
}

static void measure_rate(struct live *l, uint64_t ms)
{
    uint64_t bytes = live_bytes(l);
    l->rate = (bytes - l->rate_bytes) * 1000 / ms;
    l->rate_bytes = bytes;
}

static void on_timer(uv_timer_t *timer)
{
    struct live *l = timer->data;
    uint64_t now = uv_hrtime(), ms = (now - l->rate_time) / 1000000;
    if (l->target) {
        l->target->deadline_ms = l->config->deadline_ms;
        l->detach.late |= target_tick(l->target, now / 1000000);
        live_snapshot_tick(l);
    }
    if (ms < RATE_MS)
        return;
    l->rate_time = now;
    audit_tick(l->audit);
    measure_rate(l, ms);
    look_at_limits(l);
    look_at_server(l);
    report_strays(l, false);
}

/* Whoever asked for them may have gone. */
static void on_tasks_known(void *ctx)
{
    const struct live *l = ctx;
    for (struct live_client *k = l->clients, *next; k; k = next) {
        next = k->next;
        gdb_session_go_on(k->session);
    }
}

/* Another GDB server may list them itself: of those only where the board file says so. */
static int open_tasks(struct live *l, struct message *why)
{
    enum rtos_kind usual = config_has_probe(l->config) ? RTOS_AUTO : RTOS_NONE;
    int error = BT_OK;
    l->tasks = tasks_new(on_tasks_known, l);
    if (!l->tasks)
        error = BT_ERR_NOMEM;
    for (unsigned i = 0; !error && i < l->config->core_count; i++) {
        const struct live_core *c = &l->cores[i];
        if (live_is_m_profile(c))
            error = tasks_add(l->tasks, live_thread(c), c->config->name,
                              c->config->rtos ? (enum rtos_kind)c->config->rtos : usual, c->elf);
    }
    if (error)
        message_set(why, "out of memory");
    if (!error && l->config->itm.watch_count > 0)
        (void)config_find_watches(l->config, &(struct message){.text = ""});
    return error;
}

int live_start(struct live *l, uv_loop_t *loop, struct config *config,
               void (*ready)(void *ctx, struct live *l, int error),
               void (*halted)(void *ctx, struct live *l), void *ctx, struct message *why)
{
    memset(l, 0, sizeof *l);
    l->config = config;
    l->loop = loop;
    l->board = -1;
    l->known = report_halt;
    l->tell = tell_halt;
    l->wait = live_work_and_look;
    l->ready = ready;
    l->halted = halted;
    l->ctx = ctx;
    uv_mutex_init(&l->lock);
    uv_mutex_init(&l->board_lock);
    uv_timer_init(loop, &l->timer);
    l->timer.data = l;
    uv_timer_init(loop, &l->detach.timer);
    l->detach.timer.data = l;
    l->rate_time = l->started = uv_hrtime();
    uv_timer_start(&l->timer, on_timer, TICK_MS, TICK_MS);
    uv_idle_init(loop, &l->reverse.search);
    l->reverse.search.data = l;
    uv_idle_init(loop, &l->questions);
    l->questions.data = l;
    int error = open_cores(l, why);
    if (!error)
        error = open_tasks(l, why);
    if (error)
        return error;
    if (!config_has_probe(config)) {
        error = gdb_remote_new(&live_target_events, l, remote_link_send, &l->link, &l->remote);
        l->target = error ? NULL : &l->remote->target;
    }
    if (error) {
        message_set(why, "out of memory");
        return error;
    }
    /* Last: from here on the capture thread reads what was set above. */
    return live_trace_open(l, why);
}

int live_connect(struct live *l, struct probe_thread *probe)
{
    l->probe = probe;
    if (probe)
        l->target = probe_thread_start(probe, l->loop, &live_target_events, l);
    if (!l->target)
        return BT_ERR_NOMEM;
    target_tick(l->target, uv_hrtime() / 1000000); /* the time before the first question */
    if (probe)
        return BT_OK;
    return remote_link_start(&l->link, l->loop, &l->config->target, l->remote) ? BT_ERR_IO : BT_OK;
}

void live_stop(struct live *l)
{
    if (!l->loop || l->phase == LIVE_STOPPED)
        return;
    l->phase = LIVE_STOPPED;
    l->leaving = true;
    remote_link_stop(&l->link);
    if (l->probe)
        probe_thread_stop(l->probe);
    target_bus_stop(&l->units.bus);
    live_itm_stop(l);
    uv_close((uv_handle_t *)&l->timer, NULL);
    uv_close((uv_handle_t *)&l->detach.timer, NULL);
    uv_close((uv_handle_t *)&l->reverse.search, NULL);
    uv_close((uv_handle_t *)&l->questions, NULL);
}

void live_release(struct live *l)
{
    if (!l->loop)
        return;
    free(l->reverse.lines);
    task_switches_release(&l->switches);
    live_snapshot_release(l);
    live_trace_release(l);
    if (l->remote)
        gdb_remote_free(l->remote);
    tasks_free(l->tasks);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        code_image_release(&l->cores[i].image);
        elf_image_close(l->cores[i].elf);
    }
    live_code_release(l);
    uv_mutex_destroy(&l->lock);
    uv_mutex_destroy(&l->board_lock);
}

static void end_detach(struct live *l)
{
    uv_timer_stop(&l->detach.timer);
    l->detach.done(l->detach.ctx);
}

static void on_detach_look(uv_timer_t *timer)
{
    struct live *l = timer->data;
    bool over = !target_is_ready(l->target) || target_is_idle(l->target);
    bool late = l->detach.late || uv_now(l->loop) - l->detach.begun > DETACH_MS;
    if (late && target_is_ready(l->target))
        log_write(LOG_AT_WARNING, "btraced: the target's GDB server does not answer: the target is "
                                  "left as it is, maybe with breakpoints\n");
    if (over || late)
        end_detach(l);
}

/* A probe's cores are left by the probe server, a board's program ends with us. */
static bool target_is_kept(const struct live *l)
{
    return l->loop && l->remote && !l->config->command && target_is_ready(l->target);
}

void live_detach(struct live *l, void (*done)(void *ctx), void *ctx)
{
    l->detach.done = done;
    l->detach.ctx = ctx;
    if (!target_is_kept(l)) {
        done(ctx);
        return;
    }
    bool run = target_will_run(l->target) || l->run_after;
    if (l->config->at_exit != CONFIG_EXIT_LEAVE)
        run = l->config->at_exit == CONFIG_EXIT_RUN;
    l->run_after = false;
    l->detach.begun = uv_now(l->loop);
    l->detach.late = false;
    uv_timer_start(&l->detach.timer, on_detach_look, DETACH_LOOK_MS, DETACH_LOOK_MS);
    target_let_go(l->target, run);
}
