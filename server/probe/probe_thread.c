/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread of a probe target, and what the event loop sees of it. One request goes to the thread
 * at a time, as it is: what it points to stays until it is answered, and what an answer points to
 * stays until the next request. Both sides meet under the lock; an interrupt goes by.
 */
#include "server/probe/probe_thread.h"

#include "probe_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_MS   250
#define TEXT_MOST 0x10000u /* that waits for the loop: nobody reads more */

static struct probe_thread *thread_of(struct target *t)
{
    return (struct probe_thread *)t; /* its first member */
}

/* In the thread. */

/* With the lock. */
static void wake_loop(struct probe_thread *p)
{
    if (p->phase == PROBE_THREAD_RUNS)
        uv_async_send(&p->async);
}

/* With the lock. What an algorithm of the flash makes of the core is nobody's business. */
static void post_changes(struct probe_thread *p)
{
    struct probe_target *t = p->probe;
    if (t->changes == 0 || t->flash.busy)
        return;
    p->changes |= t->changes;
    t->changes = 0;
    wake_loop(p);
}

/* What the cores do: the loop cannot ask. */
static void publish_status(struct probe_thread *p)
{
    char text[PROBE_THREAD_STATUS];
    for (unsigned i = 0; i < p->probe->core_count; i++) {
        probe_target_core_status(p->probe, i, text, sizeof text);
        uv_mutex_lock(&p->lock);
        memcpy(p->status[i], text, sizeof text);
        uv_mutex_unlock(&p->lock);
    }
}

static void on_output(void *ctx, const char *text)
{
    struct probe_thread *p = ctx;
    size_t size = strlen(text);
    uv_mutex_lock(&p->lock);
    size_t used = p->text ? strlen(p->text) : 0;
    char *grown = used + size < TEXT_MOST ? realloc(p->text, used + size + 1) : NULL;
    if (grown) {
        memcpy(grown + used, text, size + 1);
        p->text = grown;
        wake_loop(p);
    }
    uv_mutex_unlock(&p->lock);
}

static void post_reply(struct probe_thread *p, enum probe_reply reply)
{
    uv_mutex_lock(&p->lock);
    post_changes(p);
    if (p->news.reply != PROBE_REPLY_OPENED)
        p->news.reply = reply;
    else if (reply == PROBE_REPLY_STOP)
        p->news.opened = TARGET_HALTED; /* in the meantime */
    wake_loop(p);
    uv_mutex_unlock(&p->lock);
}

static void on_stopped(void *ctx, const struct target_stop *stop, const char *text)
{
    struct probe_thread *p = ctx;
    publish_status(p);
    uv_mutex_lock(&p->lock);
    p->news.stop = *stop;
    snprintf(p->news.stop_text, sizeof p->news.stop_text, "%s", text);
    uv_mutex_unlock(&p->lock);
    post_reply(p, PROBE_REPLY_STOP);
}

static void on_halted(void *ctx)
{
    post_reply(ctx, PROBE_REPLY_HALTED);
}

static void on_not_halted(void *ctx, const char *text)
{
    struct probe_thread *p = ctx;
    uv_mutex_lock(&p->lock);
    snprintf(p->news.stop_text, sizeof p->news.stop_text, "%s", text);
    uv_mutex_unlock(&p->lock);
    post_reply(p, PROBE_REPLY_NOT_HALTED);
}

static const struct probe_target_events probe_events = {
    .output = on_output,
    .stopped = on_stopped,
    .halted = on_halted,
    .not_halted = on_not_halted,
};

static void serve_request(struct probe_thread *p, const struct target_request *r)
{
    struct probe_target *t = p->probe;
    struct target_answer answer;
    if (r->kind == TARGET_RESUME) {
        probe_target_resume(t, r->resume);
        if (probe_target_runs(t))
            publish_status(p);
        return;
    }
    probe_target_execute(t, r, &answer);
    if (r->kind != TARGET_READ_MEMORY && r->kind != TARGET_READ_REGISTERS)
        publish_status(p);
    uv_mutex_lock(&p->lock);
    p->news.answer = answer;
    uv_mutex_unlock(&p->lock);
    post_reply(p, PROBE_REPLY_ANSWER);
}

/* GDB can do nothing with a core that does not stand. */
static void halt_first(struct probe_thread *p)
{
    struct target_stop stop;
    probe_target_allow(p->probe, p->probe->config->deadline_ms);
    (void)probe_target_begin(p->probe, &stop);
    publish_status(p);
    uv_mutex_lock(&p->lock);
    p->news.stop = stop;
    p->news.opened = probe_target_runs(p->probe) ? TARGET_RUNNING : TARGET_HALTED;
    uv_mutex_unlock(&p->lock);
    post_reply(p, PROBE_REPLY_OPENED);
}

static void serve_target(void *arg)
{
    struct probe_thread *p = arg;
    halt_first(p);
    uv_mutex_lock(&p->lock);
    while (p->phase == PROBE_THREAD_RUNS) {
        const struct target_request *request = p->request;
        bool interrupt = !request && p->interrupt;
        p->request = NULL;
        p->interrupt = p->interrupt && !interrupt;
        uv_mutex_unlock(&p->lock);
        if (request)
            serve_request(p, request);
        else if (interrupt)
            probe_target_interrupt(p->probe);
        probe_target_tick(p->probe);
        uint64_t pause = 1000000 * (uint64_t)probe_target_pause(p->probe);
        uv_mutex_lock(&p->lock);
        post_changes(p);
        if (p->phase == PROBE_THREAD_RUNS && !p->request && !p->interrupt)
            uv_cond_timedwait(&p->wake, &p->lock, pause);
    }
    uv_mutex_unlock(&p->lock);
}

/* On the loop: what the target is asked. */

static void probe_start(struct target *target, const struct target_request *r)
{
    struct probe_thread *p = thread_of(target);
    bool resumes = r->kind == TARGET_RESUME;
    target->owed_since_ms = resumes || r->takes_time ? 0 : target->now_ms;
    uv_mutex_lock(&p->lock);
    p->request = r;
    p->interrupt = p->interrupt && !resumes; /* of cores that have halted since */
    uv_cond_signal(&p->wake);
    uv_mutex_unlock(&p->lock);
}

static void probe_interrupt(struct target *target)
{
    struct probe_thread *p = thread_of(target);
    /* The thread gives up by itself, and says more; the time of the last tick may be as old. */
    target->due_ms += TICK_MS;
    uv_mutex_lock(&p->lock);
    p->interrupt = true;
    uv_cond_signal(&p->wake);
    uv_mutex_unlock(&p->lock);
}

static unsigned probe_registers(struct target *target, int core,
                                const struct target_register **list)
{
    const struct probe_target *t = thread_of(target)->probe;
    (void)core;
    *list = t->registers;
    return TARGET_REG_COUNT + t->extra_count;
}

static int probe_core_info(struct target *target, int core, struct target_core *info)
{
    const struct probe_target *t = thread_of(target)->probe;
    *info =
        (struct target_core){.name = t->ops->name(t, (unsigned)core), .profile = t->ops->profile};
    return BT_OK;
}

static void probe_core_status(struct target *target, int core, char *text, size_t size)
{
    struct probe_thread *p = thread_of(target);
    enum probe_presence presence = p->probe->presence;
    uv_mutex_lock(&p->lock);
    snprintf(text, size, "%s", p->status[core]);
    uv_mutex_unlock(&p->lock);
    if (presence != PROBE_THERE)
        snprintf(text, size, "the %s does not answer", presence == PROBE_DARK ? "target" : "probe");
}

static unsigned probe_memory_map(struct target *target, const struct target_region **regions)
{
    const struct probe_target_flash *f = &thread_of(target)->probe->flash;
    *regions = f->regions;
    return f->region_count;
}

static const struct target_ops probe_ops = {
    .start = probe_start,
    .interrupt = probe_interrupt,
    .registers = probe_registers,
    .core_info = probe_core_info,
    .core_status = probe_core_status,
    .memory_map = probe_memory_map,
    .writable = true,
};

/* On the loop: what the target is told. */

static void tell_changes(struct probe_thread *p, unsigned changes)
{
    if (changes & 1u << TARGET_CHANGE_RESET)
        target_changed(&p->target, TARGET_CHANGE_RESET);
    else if (changes)
        target_changed(&p->target, TARGET_CHANGE_REGISTERS);
}

static void tell_news(struct probe_thread *p, const struct probe_news *news)
{
    const struct target_halt halt = {.stop = &news->stop, .text = news->stop_text};
    switch (news->reply) {
    case PROBE_REPLY_NONE:
        break;
    case PROBE_REPLY_OPENED:
        target_note_stop(&p->target, &(struct target_halt){.stop = &news->stop});
        target_opened(&p->target, BT_OK, news->opened);
        break;
    case PROBE_REPLY_ANSWER:
        target_answered(&p->target, &news->answer);
        break;
    case PROBE_REPLY_STOP:
        target_stopped(&p->target, &halt);
        break;
    case PROBE_REPLY_HALTED:
        p->target.due_ms = UINT64_MAX; /* its trace is on the way, which may take a while */
        break;
    case PROBE_REPLY_NOT_HALTED:
        target_halt_failed(&p->target, news->stop_text);
        break;
    }
}

static void on_news(uv_async_t *async)
{
    struct probe_thread *p = async->data;
    uv_mutex_lock(&p->lock);
    const struct probe_news news = p->news;
    unsigned changes = p->changes;
    char *text = p->text;
    p->news.reply = PROBE_REPLY_NONE;
    p->changes = 0;
    p->text = NULL;
    uv_mutex_unlock(&p->lock);
    if (news.reply != PROBE_REPLY_NONE)
        p->target.owed_since_ms = 0;
    if (text)
        target_output(&p->target, text, strlen(text));
    free(text);
    if (p->phase == PROBE_THREAD_RUNS && target_is_ready(&p->target))
        tell_changes(p, changes);
    if (p->phase == PROBE_THREAD_RUNS)
        tell_news(p, &news);
}

/* Life. */

static void add_summary_line(void *to, const char *text)
{
    struct probe_thread *p = to;
    size_t used = strlen(p->summary);
    snprintf(p->summary + used, sizeof p->summary - used, "%s", text);
}

int probe_thread_open(struct probe_thread *p, const struct probe_driver *driver,
                      struct config *config, const struct trace_sink *sink, struct message *why)
{
    const struct console summary = {add_summary_line, p};
    memset(p, 0, sizeof *p);
    p->probe = calloc(1, sizeof *p->probe);
    if (!p->probe || uv_mutex_init(&p->lock) != 0) {
        message_set(why, "out of memory");
        return BT_ERR_NOMEM;
    }
    uv_cond_init(&p->wake);
    p->phase = PROBE_THREAD_OPEN;
    int error = probe_target_open(p->probe, driver, config, sink, why);
    if (error)
        return error;
    if (config->reset[0] == '\0')
        snprintf(config->reset, sizeof config->reset, "reset halt");
    if (p->probe->trace.setup.history)
        trace_setup_describe_sink(&p->probe->trace.setup, p->sink, sizeof p->sink);
    probe_target_summary(p->probe, &summary);
    return BT_OK;
}

struct target *probe_thread_start(struct probe_thread *p, uv_loop_t *loop,
                                  const struct target_events *events, void *ctx)
{
    if (uv_async_init(loop, &p->async, on_news) != 0)
        return NULL;
    p->async.data = p;
    target_init(&p->target, &probe_ops, events, ctx);
    p->target.core_count = (int)p->probe->core_count;
    p->target.deadline_ms = p->probe->config->deadline_ms;
    target_opening(&p->target);
    p->probe->events = &probe_events;
    p->probe->ctx = p;
    p->phase = PROBE_THREAD_RUNS;
    if (uv_thread_create(&p->thread, serve_target, p) == 0)
        return &p->target;
    p->phase = PROBE_THREAD_OPEN;
    p->probe->events = NULL;
    uv_close((uv_handle_t *)&p->async, NULL);
    target_release(&p->target);
    return NULL;
}

void probe_thread_stop(struct probe_thread *p)
{
    if (p->phase != PROBE_THREAD_RUNS)
        return;
    uv_mutex_lock(&p->lock);
    p->phase = PROBE_THREAD_ENDS;
    uv_cond_signal(&p->wake);
    uv_mutex_unlock(&p->lock);
    uv_close((uv_handle_t *)&p->async, NULL);
}

void probe_thread_release(struct probe_thread *p)
{
    if (p->phase == PROBE_THREAD_ENDS) {
        uv_thread_join(&p->thread);
        target_release(&p->target);
    }
    if (p->phase != PROBE_THREAD_CLOSED) {
        probe_target_close(p->probe);
        uv_cond_destroy(&p->wake);
        uv_mutex_destroy(&p->lock);
    }
    p->phase = PROBE_THREAD_CLOSED;
    free(p->probe);
    free(p->text);
    p->probe = NULL;
    p->text = NULL;
}

bool probe_thread_is_lost(const struct probe_thread *p, unsigned *losses)
{
    *losses = p->probe->losses;
    return p->probe->presence != PROBE_THERE;
}
