/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_internal.h"

#include "server/base/log.h"
#include "server/config/config.h"
#include "server/protocols/source_device.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RATE_MS  1000
#define ANSWER_S 10 /* of the target's GDB server */

/* A stop: fetch and decode the trace of the last run. */

static void read_next_core(struct live *l);

static void report_ready(struct live *l, int error)
{
    if (l->reported_ready)
        return;
    l->reported_ready = true;
    l->ready(l->ctx, l, error);
}

static void begin_reading(struct live *l);

/* Everything about this stop is known. */
static void stop_done(struct live *l)
{
    l->looking = false;
    if (l->look_again) {
        begin_reading(l);
        return;
    }
    l->stops++;
    live_look_for_strays(l, true);
    if (l->reported_ready)
        l->halted(l->ctx, l);
    report_ready(l, BT_OK);
    gdb_remote_release_stop(l->remote);
    gdb_remote_hold_client(l->remote, false);
    if (l->run_after)
        gdb_remote_resume(l->remote);
    l->run_after = false;
}

static void stop_decoded(struct live *l)
{
    live_record_halt(l, stop_done);
}

static void on_regs(void *ctx, int core, const struct gdb_regs *regs)
{
    struct live *l = ctx;
    if (l->reading < 0 || (unsigned)l->reading >= l->config->core_count)
        return;
    struct live_core *c = &l->cores[l->reading];
    (void)core;
    if (regs)
        c->regs = *regs;
    else
        c->regs.known = 0;
    l->reading++;
    read_next_core(l);
}

static void read_next_core(struct live *l)
{
    if (!gdb_remote_is_ready(l->remote))
        return;
    while ((unsigned)l->reading < l->config->core_count) {
        int thread = live_thread(&l->cores[l->reading]);
        if (thread < gdb_remote_cores(l->remote) &&
            gdb_remote_read_pc(l->remote, thread, on_regs, l) == BT_OK)
            return;
        l->cores[l->reading].regs.known = 0;
        l->reading++;
    }
    l->reading = -1;
    live_code_complete(l, stop_decoded);
}

static void read_first_core(struct live *l)
{
    l->reading = 0;
    read_next_core(l);
}

static void prepare_units(struct live *l)
{
    live_units_prepare(l, read_first_core);
}

/* Once for each start of the target, then at every halt: its registers. */
static void begin_reading(struct live *l)
{
    if (!gdb_remote_is_ready(l->remote))
        return;
    l->looking = true;
    l->look_again = false;
    gdb_remote_hold_client(l->remote, true);
    live_setup(l, prepare_units);
}

static void after_drain(uv_work_t *work, int status)
{
    struct live *l = work->data;
    (void)status;
    l->draining = false;
    if (!l->stopping)
        begin_reading(l);
}

static void begin_drain(struct live *l)
{
    if (l->draining || l->stopping)
        return;
    l->draining = true;
    gdb_remote_hold_client(l->remote, true);
    l->work.data = l;
    if (!l->pipeline || uv_queue_work(l->loop, &l->work, live_drain_work, after_drain) != 0)
        after_drain(&l->work, 0);
}

/* Events of the target's own GDB server. */

static void on_stopped(void *ctx)
{
    struct live *l = ctx;
    if (live_probe_reset(l))
        l->setup = 0;
    begin_drain(l);
}

static void on_resumed(void *ctx)
{
    struct live *l = ctx;
    l->drain = LIVE_DRAIN_NONE;
    live_reverse_forget(l);
    live_code_commit(l);
    l->untraced = l->trace_off;
    l->ran_off |= l->trace_off;
    for (unsigned i = 0; i < l->config->core_count; i++) {
        l->cores[i].regs.known = 0;
        l->cores[i].jumped = false;
    }
}

static void on_ready(void *ctx, int error)
{
    struct live *l = ctx;
    if (!error && l->lost) {
        log_write(LOG_AT_INFO, "btraced: the target's GDB server is back\n");
        l->lost = false;
        l->setup = 0; /* the target may be another one */
        live_clients_moved(l);
        for (unsigned i = 0; i < l->config->core_count; i++)
            l->cores[i].jumped = true;
    }
    if (error)
        report_ready(l, error);
    else if (!gdb_remote_is_running(l->remote))
        begin_drain(l);
    else
        report_ready(l, BT_OK);
}

void live_look_again(struct live *l)
{
    if (l->looking)
        l->look_again = true;
    else if (!l->draining)
        begin_reading(l);
}

void live_was_moved(struct live *l)
{
    live_reverse_written(l, false);
    live_clients_moved(l);
    for (unsigned i = 0; i < l->config->core_count; i++)
        l->cores[i].jumped = true;
    live_look_again(l); /* the PC may be another one */
}

void live_was_reset(struct live *l)
{
    l->setup = 0;
    live_probe_reset(l);
    live_was_moved(l);
}

/* The probe target tells whether a command has reset it; of another that is not known. */
static void on_changed(void *ctx, enum gdb_change change, uint64_t address, uint64_t length)
{
    struct live *l = ctx;
    if (change == GDB_CHANGE_MEMORY) {
        live_reverse_written(l, true);
        live_code_written(l, address, length);
        gdb_remote_outdate(l->remote);
    } else if (change == GDB_CHANGE_REGISTERS || !l->probe) {
        live_was_moved(l);
    } else if (live_probe_reset(l)) {
        live_was_reset(l);
    } else {
        l->run_after = false;
    }
}

static void on_programmed(void *ctx, uint64_t address, const void *bytes, size_t len)
{
    live_reverse_written(ctx, true);
    live_code_programmed(ctx, address, bytes, len);
    gdb_remote_outdate(((struct live *)ctx)->remote);
}

static void on_lost(void *ctx)
{
    struct live *l = ctx;
    l->reading = -1;
    l->looking = l->look_again = l->run_after = false;
    l->record.active = false;
    l->losses++;
    l->lost = true;
    live_clients_forget(l);
    if (!l->stopping)
        log_write(LOG_AT_WARNING,
                  "btraced: the target's GDB server closed the connection; it is called "
                  "again until it answers, the history is kept\n");
}

static const struct gdb_remote_events remote_events = {
    .ready = on_ready,
    .resumed = on_resumed,
    .stopped = on_stopped,
    .changed = on_changed,
    .programmed = on_programmed,
    .lost = on_lost,
};

static int add_program(struct live_core *c, struct message *why)
{
    char text[256];
    code_image_init(&c->image);
    if (!c->config->program[0])
        return BT_OK;
    int error = config_open_program(c->config, &c->elf, text, sizeof text);
    if (error) {
        message_set(why, "cannot use the program '%s' of core %s: %s", c->config->program,
                    c->config->name, text);
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
    return error;
}

static int add_source(struct live *l, struct live_core *c, struct pipeline_config *p,
                      struct message *why)
{
    const struct config_core *core = c->config;
    const struct source_protocol *protocol = source_protocol_of_type(core->source_device.type);
    struct pipeline_source *s = &p->sources[p->source_count];
    if (!protocol) {
        message_set(why, "%s: core %s: protocol '%s' is not known", l->config->path, core->name,
                    core->source_device.type);
        return BT_ERR_UNSUPPORTED;
    }
    s->config.protocol = protocol->protocol;
    s->config.core = (uint16_t)(c - l->cores);
    s->image = &c->image;
    int error = source_device_configure(protocol, &core->source_device, &core->core_device,
                                        &s->config, &s->trace_id, why);
    c->source = (int)p->source_count;
    p->source_count += !error;
    return error;
}

static int start_cores(struct live *l, struct message *why)
{
    int error = BT_OK;
    for (unsigned i = 0; i < l->config->core_count && !error; i++) {
        l->cores[i].config = &l->config->cores[i];
        l->cores[i].source = -1;
        error = add_program(&l->cores[i], why);
    }
    return error;
}

static void drop_trace(struct live *l)
{
    trace_link_stop(l->trace);
    live_record_stop(l);
    pipeline_free(l->pipeline);
    l->trace = NULL;
    l->pipeline = NULL;
    for (unsigned i = 0; i < l->config->core_count; i++)
        l->cores[i].source = -1;
}

int live_start_sources(struct live *l, struct message *why)
{
    struct pipeline_config p = {
        .formatted = l->config->formatted,
        .mode = l->config->mode,
        .ring_bytes = l->config->ring,
        .history = {.max_bytes = l->config->memory, .checkpoint_bytes = l->config->checkpoint}};
    int error = BT_OK;
    for (unsigned i = 0; i < l->config->core_count && !error; i++)
        if (l->config->cores[i].has_source)
            error = add_source(l, &l->cores[i], &p, why);
    if (!error && p.source_count > 0)
        error = live_start_trace(l, &p, why);
    if (error)
        drop_trace(l);
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
    if (p.dropped > l->ring_reported && !l->ring_full)
        log_write(LOG_AT_WARNING,
                  "btraced: the ring is full ([trace] ring): trace is dropped, which is a gap "
                  "in the history\n");
    l->ring_full = p.dropped > l->ring_reported;
    l->ring_reported = p.dropped;
    if (l->recorder)
        recorder_stats(l->recorder, &r);
    if (r.error && !l->recording_reported) {
        snprintf(text, sizeof text, "%s; what was written before can be replayed\n", r.why);
        log_write(LOG_AT_WARNING, "btraced: %s", text);
        live_clients_report(l, text);
    }
    l->recording_reported = r.error != 0;
}

/* An answer that never comes would keep everybody waiting for ever. */
static void look_at_server(struct live *l)
{
    uint64_t owed = l->probe ? 0 : gdb_remote_owed(l->remote);
    l->owed_s = owed && owed == l->owed ? l->owed_s + 1 : 0;
    l->owed = owed;
    if (l->owed_s < ANSWER_S)
        return;
    l->owed_s = 0;
    log_write(LOG_AT_WARNING, "btraced: the target's GDB server has not answered for %d s\n",
              ANSWER_S);
    remote_link_again(&l->link);
}

static void on_timer(uv_timer_t *timer)
{
    struct live *l = timer->data;
    uint64_t now = uv_hrtime(), bytes = live_bytes(l);
    uint64_t ms = (now - l->rate_time) / 1000000;
    if (ms == 0)
        return;
    l->rate = (bytes - l->rate_bytes) * 1000 / ms;
    l->rate_bytes = bytes;
    l->rate_time = now;
    look_at_limits(l);
    look_at_server(l);
    live_look_for_strays(l, false);
}

int live_start(struct live *l, uv_loop_t *loop, struct config *config,
               void (*ready)(void *ctx, struct live *l, int error),
               void (*halted)(void *ctx, struct live *l), void *ctx, struct message *why)
{
    memset(l, 0, sizeof *l);
    l->config = config;
    l->loop = loop;
    l->board = -1;
    l->reading = -1;
    l->ready = ready;
    l->halted = halted;
    l->ctx = ctx;
    uv_mutex_init(&l->lock);
    uv_timer_init(loop, &l->timer);
    l->timer.data = l;
    uv_timer_init(loop, &l->detach.timer);
    l->detach.timer.data = l;
    l->rate_time = l->started = uv_hrtime();
    uv_timer_start(&l->timer, on_timer, RATE_MS, RATE_MS);
    why->text[0] = '\0';
    live_reverse_init(l);
    int error = start_cores(l, why);
    if (!error)
        error = gdb_remote_new(&remote_events, l, remote_link_send, &l->link, &l->remote);
    if (!error)
        error = live_units_start(l);
    /* Last: from here on the capture thread reads what was set above. */
    if (!error && (!config_programs_trace(config) || config_has_probe(config)))
        error = live_start_sources(l, why);
    if (error && !why->text[0])
        message_set(why, "%s", bt_strerror(error));
    return error;
}

int live_connect(struct live *l)
{
    if (l->probe)
        return live_connect_probe(l);
    return remote_link_start(&l->link, l->loop, &l->config->target, l->remote) ? BT_ERR_IO : BT_OK;
}

void live_stop(struct live *l)
{
    if (!l->loop || l->stopping)
        return;
    l->stopping = true;
    remote_link_stop(&l->link);
    live_units_stop(l);
    if (l->probe && l->moved.data)
        uv_close((uv_handle_t *)&l->moved, NULL);
    uv_close((uv_handle_t *)&l->timer, NULL);
    uv_close((uv_handle_t *)&l->detach.timer, NULL);
    live_reverse_stop(l);
}

void live_release(struct live *l)
{
    if (!l->loop)
        return;
    live_reverse_release(l);
    drop_trace(l);
    live_units_release(l);
    gdb_remote_free(l->remote);
    if (l->board >= 0)
        close(l->board);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        code_image_release(&l->cores[i].image);
        elf_image_close(l->cores[i].elf);
    }
    live_code_release(l);
    free(l->readout.bytes);
    uv_mutex_destroy(&l->lock);
}
