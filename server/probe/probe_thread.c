/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread of a probe target, what it asks of the cores, but for running and commands, and what
 * the event loop sees of it. One request goes to the thread at a time, as it is: what it points to
 * stays until it is answered, and what an answer points to stays until the next request. Both sides
 * meet under the lock; an interrupt goes by.
 */
#include "server/probe/probe_thread.h"

#include "probe_target.h"
#include "server/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_MS       1000 /* between looks at a halted core, or for a probe that is gone */
#define CAPTURE_MS    20   /* a port that is captured sends while the core stands, too */
#define IDLE_US       1000000u
#define LOOK_MS       200 /* that a look by ourselves may wait for a core */
#define ADDRESS_SPACE ((uint64_t)1 << 32)

/* Registers. */

static int probe_write_registers(struct probe_target *t, const struct target_request *r)
{
    const struct target_regs *regs = r->regs;
    unsigned core = (unsigned)r->core;
    uint64_t value;
    int error = BT_OK;
    for (unsigned i = 0; i < TARGET_REG_COUNT && !error; i++)
        if (regs->known >> i & 1)
            error = t->ops->write_reg(t, core, i, (uint32_t)regs->value[i]);
    for (unsigned i = 0; i < t->extra_count && !error; i++)
        if (target_regs_get(regs, t->registers, TARGET_REG_COUNT + i, &value))
            error = t->ops->write_extra(t, core, i, value);
    return error;
}

/* Memory, and flash as GDB writes it. */

/* What lies before the place that cannot be read. */
static int read_before_fault(struct probe_target *t, const struct target_request *r, size_t *length)
{
    uint64_t end;
    if (!t->ops->nothing_at(t, &end))
        return BT_ERR_IO;
    if (end <= r->address || end - r->address >= *length)
        return BT_ERR_RANGE;
    *length = (size_t)(end - r->address);
    return t->ops->read(t, (unsigned)r->core, (uint32_t)r->address, t->bytes, *length, r->device)
               ? BT_ERR_RANGE
               : BT_OK;
}

static int probe_read_memory(struct probe_target *t, const struct target_request *r,
                             struct target_answer *a)
{
    size_t length = r->length < sizeof t->bytes ? r->length : sizeof t->bytes;
    if (r->address >= ADDRESS_SPACE)
        return BT_ERR_RANGE;
    if (length > ADDRESS_SPACE - r->address)
        length = (size_t)(ADDRESS_SPACE - r->address);
    int error =
        t->ops->read(t, (unsigned)r->core, (uint32_t)r->address, t->bytes, length, r->device);
    if (error == BT_ERR_IO && probe_target_result(t, error, NULL))
        error = read_before_fault(t, r, &length);
    a->bytes = t->bytes;
    a->length = error ? 0 : length;
    return error;
}

static int probe_write_memory(struct probe_target *t, const struct target_request *r)
{
    if (r->address > ADDRESS_SPACE || r->length > ADDRESS_SPACE - r->address)
        return probe_target_refuse(t, &t->why, BT_ERR_RANGE, "no such address");
    if (r->length == 0)
        return BT_OK;
    return t->ops->write(t, (unsigned)r->core, (uint32_t)r->address, r->bytes, r->length);
}

/* An algorithm counts on a core as it is behind a reset: the program's MPU or watchdog ends it. */
static int probe_use_flash(struct probe_target *t, const struct target_request *r)
{
    struct probe_target_flash *f = &t->flash;
    bool begins = r->kind != TARGET_FLASH_DONE && !f->busy && f->algorithm;
    int error = begins ? probe_target_reset(t) : BT_OK;
    if (!error && r->kind == TARGET_FLASH_ERASE)
        error = probe_target_flash_erase(f, r->address, r->length);
    else if (!error && r->kind == TARGET_FLASH_WRITE)
        error = probe_target_flash_write(f, r->address, r->bytes, r->length);
    else if (!error)
        error = probe_target_flash_done(f);
    if (!f->busy)
        probe_target_note_change(t, TARGET_CHANGE_REGISTERS);
    if (!error || !f->reported[0])
        return error;
    probe_target_result(t, error, NULL); /* a probe that is gone is noted, whatever the words are */
    return probe_target_refuse(t, &t->why, error, "%s", f->reported);
}

/*
 * Breakpoints and watchpoints. What GDB calls a software breakpoint is a comparator where the code
 * is likely to be in flash, and a BKPT in RAM, each as far as that is possible. Two of GDB's may
 * stand on one of the core's.
 */

static struct probe_breakpoint *find_placed(struct probe_target *t,
                                            const struct target_breakpoint *bp)
{
    for (unsigned i = 0; i < t->breakpoint_count; i++)
        if (target_same_breakpoint(&t->breakpoints[i].asked, bp))
            return &t->breakpoints[i];
    return NULL;
}

static int place_breakpoint(struct probe_target *t, const struct probe_breakpoint *p)
{
    const struct target_breakpoint bp = {p->placed, p->asked.address, p->asked.kind};
    return t->ops->insert(t, &bp);
}

static int place_software(struct probe_target *t, struct probe_breakpoint *p)
{
    bool hardware_first = p->asked.address < t->ops->ram_start;
    unsigned breakpoints, watchpoints;
    p->placed = hardware_first ? TARGET_BREAKPOINT_HARDWARE : TARGET_BREAKPOINT_SOFTWARE;
    int error = place_breakpoint(t, p);
    enum probe_refusal refusal = t->ops->refusal(t);
    /* A refusal that the other kind of breakpoint may not meet. */
    if ((error != BT_ERR_RANGE && error != BT_ERR_UNSUPPORTED) || refusal == PROBE_REFUSED)
        return error;
    p->placed = hardware_first ? TARGET_BREAKPOINT_SOFTWARE : TARGET_BREAKPOINT_HARDWARE;
    error = place_breakpoint(t, p);
    t->ops->units(t, &breakpoints, &watchpoints);
    if (hardware_first && refusal == PROBE_REFUSED_FULL && error == BT_ERR_UNSUPPORTED)
        return probe_target_refuse(t, &t->why, BT_ERR_RANGE,
                                   "all %u hardware breakpoints are in use, and the memory at "
                                   "0x%08x takes no others",
                                   breakpoints, (unsigned)p->asked.address);
    return error;
}

static int probe_insert(struct probe_target *t, const struct target_breakpoint *bp)
{
    struct probe_breakpoint p = {*bp, bp->type};
    unsigned breakpoints, watchpoints;
    if (find_placed(t, bp))
        return BT_OK;
    if (bp->address > UINT32_MAX)
        return probe_target_refuse(t, &t->why, BT_ERR_RANGE, "no such address");
    if (t->breakpoint_count == PROBE_TARGET_BREAKPOINTS)
        return probe_target_refuse(t, &t->why, BT_ERR_RANGE, "%u breakpoints are the most",
                                   PROBE_TARGET_BREAKPOINTS);
    int error =
        bp->type == TARGET_BREAKPOINT_SOFTWARE ? place_software(t, &p) : place_breakpoint(t, &p);
    if (!error)
        t->breakpoints[t->breakpoint_count++] = p;
    if (error != BT_ERR_UNSUPPORTED)
        return error;
    /* GDB takes "unsupported" for a type that does not exist, and tries another. */
    probe_target_result(t, error, &t->why);
    t->ops->units(t, &breakpoints, &watchpoints);
    return breakpoints + watchpoints > 0 ? BT_ERR_RANGE : error;
}

/* Does another of GDB's stand on the same? */
static bool is_shared_place(const struct probe_target *t, const struct probe_breakpoint *p)
{
    for (unsigned i = 0; i < t->breakpoint_count; i++) {
        const struct probe_breakpoint *q = &t->breakpoints[i];
        if (q != p && q->placed == p->placed && q->asked.address == p->asked.address &&
            q->placed <= TARGET_BREAKPOINT_HARDWARE)
            return true;
    }
    return false;
}

static int lift_breakpoint(struct probe_target *t, const struct probe_breakpoint *p)
{
    const struct target_breakpoint bp = {p->placed, p->asked.address, p->asked.kind};
    return is_shared_place(t, p) ? BT_OK : t->ops->remove(t, &bp);
}

static int probe_remove(struct probe_target *t, const struct target_breakpoint *bp)
{
    struct probe_breakpoint *p = find_placed(t, bp);
    int error = p ? lift_breakpoint(t, p) : BT_OK;
    if (p && !error)
        *p = t->breakpoints[--t->breakpoint_count];
    return error;
}

/* Requests. */

static void command_output(void *to, const char *text)
{
    const struct probe_target *t = to;
    t->events->output(t->ctx, text);
}

static int probe_run_command(struct probe_target *t, const struct target_request *r)
{
    const struct console c = {command_output, t};
    char text[400];
    snprintf(text, sizeof text, "%.*s", (int)r->length, (const char *)r->bytes);
    t->selected = (unsigned)r->core;
    return probe_target_command(t, text, &c);
}

static int probe_execute(struct probe_target *t, const struct target_request *r,
                         struct target_answer *a)
{
    switch (r->kind) {
    case TARGET_READ_REGISTERS:
        memset(&t->regs, 0, sizeof t->regs);
        a->regs = &t->regs;
        return t->ops->read_regs(t, (unsigned)r->core, r->set, &t->regs);
    case TARGET_WRITE_REGISTERS:
        return probe_write_registers(t, r);
    case TARGET_READ_MEMORY:
        return probe_read_memory(t, r, a);
    case TARGET_WRITE_MEMORY:
        return probe_write_memory(t, r);
    case TARGET_INSERT:
        return probe_insert(t, &r->breakpoint);
    case TARGET_REMOVE:
        return probe_remove(t, &r->breakpoint);
    case TARGET_FLASH_ERASE:
    case TARGET_FLASH_WRITE:
    case TARGET_FLASH_DONE:
        return probe_use_flash(t, r);
    case TARGET_RESET:
        t->stop = (struct target_stop){.kind = TARGET_HALT_TRAP};
        a->stop = &t->stop;
        return probe_target_reset(t);
    default:
        return BT_ERR_UNSUPPORTED;
    }
}

/* Any request but a resume; what `answer` points to lasts until the next one. */
static void probe_target_execute(struct probe_target *t, const struct target_request *r,
                                 struct target_answer *a)
{
    *a = (struct target_answer){.why = t->why.text};
    t->why.text[0] = '\0';
    probe_target_allow(t, t->config->deadline_ms);
    if (r->kind == TARGET_COMMAND) {
        a->error = probe_run_command(t, r);
        return;
    }
    if (r->kind == TARGET_STATUS) { /* a probe that is away is told of when more is asked */
        (void)probe_target_begin(t, &t->stop);
        a->stop = &t->stop;
        return;
    }
    int error = probe_target_ready(t);
    a->error = probe_target_result(t, error ? error : probe_execute(t, r, a), &t->why);
}

/* What a core does, for "info threads": without a look at it, "" if it is not known. */
static void probe_target_core_status(struct probe_target *t, unsigned core, char *text, size_t size)
{
    text[0] = '\0';
    if (t->presence != PROBE_THERE)
        snprintf(text, size, "the %s does not answer",
                 t->presence == PROBE_DARK ? "target" : "probe");
    else if (probe_target_runs(t) && t->let_go[core])
        snprintf(text, size, "running");
    else if (t->run != PROBE_UNSEEN && !t->flash.busy)
        t->ops->mode(t, core, text, size);
}

/* What goes on without questions. */

/* A core that is taken for halted: somebody may have reset it, or let it run. */
static void look_at_halted(struct probe_target *t, unsigned core)
{
    struct target_core_status s;
    int error = t->ops->status(t, core, &s);
    /* Off: it never ran, or a power-down is seen behind its end. */
    bool off = s.state == TARGET_CORE_OFF;
    if (error) {
        probe_target_result(t, error, NULL);
        probe_target_silent(t);
        return;
    }
    t->errors = 0;
    if ((s.state == TARGET_CORE_HALTED && !s.reset_seen) || off)
        return;
    log_write(LOG_AT_WARNING, "btraced: the core was %s behind GDB's back; it is halted\n",
              s.reset_seen ? "reset" : "resumed");
    probe_target_allow(t, LOOK_MS);
    if (probe_target_result(t, t->ops->halt(t, core), NULL))
        return;
    if (s.reset_seen)
        probe_target_trace_reset(&t->trace);
    probe_target_note_change(t, s.reset_seen ? TARGET_CHANGE_RESET : TARGET_CHANGE_REGISTERS);
}

/* What goes on without questions: looks at cores that run, at the trace, for a probe that is gone.
 * To be called when probe_target_pause() is over, or more often. */
static void probe_target_tick(struct probe_target *t)
{
    struct message why;
    bool idle = probe_target_now_us() - t->looked >= IDLE_US;
    if (probe_target_runs(t)) {
        probe_target_watch(t);
    } else if (t->presence != PROBE_THERE) {
        if (idle)
            probe_target_ready(t);
    } else {
        probe_target_trace_poll(&t->trace, &why); /* what is wrong is seen at the next halt, too */
        bool look = idle && t->run != PROBE_UNSEEN;
        for (unsigned i = 0; look && t->presence == PROBE_THERE && i < t->core_count; i++)
            look_at_halted(t, i);
        t->looked = idle ? probe_target_now_us() : t->looked;
    }
}

/* Milliseconds. */
static unsigned probe_target_pause(const struct probe_target *t)
{
    if (probe_target_runs(t))
        return t->pause;
    return t->trace.capturing && t->presence == PROBE_THERE ? CAPTURE_MS : IDLE_MS;
}

/* See probe_thread_open(); in the thread that calls, and nothing else has begun. */
static int probe_target_open(struct probe_target *t, const struct probe_driver *driver,
                             struct config *config, const struct trace_sink *sink,
                             struct message *why)
{
    t->config = config;
    t->ops = probe_ops_of(config);
    t->core_count = t->ops == &probe_a_ops ? config->core_count : 1;
    t->mask_interrupts = true; /* `next` is to come to the next line, whatever is pending */
    probe_target_allow(t, config->deadline_ms);
    int error = probe_link_open(&t->link, driver, config, why);
    if (!error)
        error = t->ops->open(t, why);
    if (!error)
        error = probe_target_trace_open(&t->trace, &t->link, config, sink, why);
    target_describe_core(t->registers, t->ops->profile);
    for (unsigned i = 0; i < t->extra_count; i++)
        t->registers[TARGET_REG_COUNT + i].number = TARGET_EXTRA_NUMBER + i;
    return error;
}

static void probe_target_close(struct probe_target *t)
{
    if (t->link.is_open && t->presence == PROBE_THERE) {
        probe_target_allow(t, t->config->deadline_ms);
        for (; t->breakpoint_count > 0; t->breakpoint_count--)
            lift_breakpoint(t, &t->breakpoints[t->breakpoint_count - 1]);
        t->ops->close(t, t->config->probe.at_exit == CONFIG_EXIT_RUN);
    }
    probe_target_trace_close(&t->trace);
    probe_target_flash_close(&t->flash);
    probe_link_close(&t->link);
}

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
    bool reads = r->kind == TARGET_READ_MEMORY || r->kind == TARGET_READ_REGISTERS;
    if (!reads)
        memset(t->m.code, 0, sizeof t->m.code);
    if (r->kind == TARGET_RESUME) {
        probe_target_resume(t, r->resume);
        if (probe_target_runs(t))
            publish_status(p);
        return;
    }
    probe_target_execute(t, r, &answer);
    if (!reads)
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
        target_opened(&p->target, news->opened);
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
    if (!p->probe || uv_mutex_init(&p->lock) != 0)
        return message_fail(why, BT_ERR_NOMEM, "out of memory");
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
