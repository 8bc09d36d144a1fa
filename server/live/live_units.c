/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_internal.h"
#include "server/base/log.h"

#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS 2000 /* of one access */
#define CONNECT_MS 1000 /* a port has a listener before it sends: the first sync comes soon */
#define PAUSE_MS   5

/* In the worker. */

static void find(struct live *l)
{
    struct live_units *u = &l->units;
    trace_setup_release(&u->setup);
    u->error = trace_setup_discover(&u->setup, &u->bus.bus, l->config, 0, &u->why);
}

static void await_listener(struct live *l)
{
    struct trace_link_stats stats = {.connected = !l->trace};
    for (unsigned ms = 0; !stats.connected && ms < CONNECT_MS; ms += PAUSE_MS) {
        trace_link_stats(l->trace, &stats);
        if (!stats.connected)
            uv_sleep(PAUSE_MS);
    }
}

static void program(struct live *l)
{
    struct live_units *u = &l->units;
    if (u->off) {
        u->error = u->setup.programmed ? trace_setup_stop(&u->setup, &u->why) : BT_OK;
    } else if (!trace_setup_runs(&u->setup)) {
        await_listener(l);
        u->error = trace_setup_program(&u->setup, &u->why);
    }
}

static void prepare_work(uv_work_t *work)
{
    struct live *l = work->data;
    struct live_units *u = &l->units;
    uv_mutex_lock(&u->lock);
    u->error = BT_OK;
    remote_bus_begin(&u->bus);
    if (!u->found)
        find(l);
    else if (u->setup.history)
        program(l);
    uv_mutex_unlock(&u->lock);
}

static void collect(struct live *l)
{
    const struct trace_sink sink = live_sink(l);
    struct live_units *u = &l->units;
    remote_bus_begin(&u->bus);
    u->error = trace_setup_collect(&u->setup, &sink, &u->why);
    if (!u->error)
        u->error = trace_setup_rearm(&u->setup, &u->why);
    if (u->error) /* everything from the start at the next chance */
        u->setup.programmed = false;
}

void live_units_collect(struct live *l)
{
    struct live_units *u = &l->units;
    if (!u->wanted)
        return;
    uv_mutex_lock(&u->lock);
    u->error = BT_OK;
    if (u->found && u->setup.programmed)
        collect(l);
    uv_mutex_unlock(&u->lock);
}

static void report(struct live *l)
{
    struct live_units *u = &l->units;
    if (!u->error) {
        u->reported[0] = '\0';
    } else if (strcmp(u->reported, u->why.text) != 0) {
        log_write(LOG_AT_WARNING, "btraced: history is missing: %s\n", u->why.text);
        snprintf(u->reported, sizeof u->reported, "%s", u->why.text);
    }
}

/* The decoders are made of what was found. */
static void begin_trace(struct live *l)
{
    struct live_units *u = &l->units;
    u->notes = u->setup.notes;
    u->setup.notes.used = 0;
    log_write(LOG_AT_INFO, "%.*s", (int)u->notes.used, u->notes.text);
    u->found = true;
    if (u->setup.history)
        u->error = live_start_sources(l, &u->why);
    if (u->error)
        u->setup.history = false;
}

static void run(struct live *l);

static void prepared(uv_work_t *work, int status)
{
    struct live *l = work->data;
    struct live_units *u = &l->units;
    bool found = u->found;
    (void)status;
    u->busy = false;
    if (l->stopping)
        return;
    if (!found && !u->error)
        begin_trace(l);
    bool next = u->again || (!found && u->found && u->setup.history);
    u->again = false;
    if (next && gdb_remote_is_ready(l->remote)) {
        run(l);
        return;
    }
    report(l);
    u->done(l);
}

static void run(struct live *l)
{
    struct live_units *u = &l->units;
    u->busy = true;
    u->work.data = l;
    if (uv_queue_work(l->loop, &u->work, prepare_work, prepared) == 0)
        return;
    u->busy = false;
    u->done(l);
}

void live_units_prepare(struct live *l, void (*done)(struct live *l))
{
    struct live_units *u = &l->units;
    u->done = done;
    if (u->busy)
        u->again = true; /* on a connection before this one */
    else if (!u->wanted)
        done(l);
    else if (u->error) { /* the buffer could not be read out */
        report(l);
        run(l);
    } else
        run(l);
}

int live_units_filter(struct live *l, const char *text, struct message *why)
{
    struct live_units *u = &l->units;
    if (uv_mutex_trylock(&u->lock)) {
        message_set(why, "the trace units are being read or set: ask again");
        return BT_ERR_IO;
    }
    int error = trace_setup_filter(&u->setup, text, why);
    uv_mutex_unlock(&u->lock);
    return error;
}

void live_units_enable(struct live *l, bool on)
{
    l->units.off = !on;
}

void live_units_report(const struct live *l, void (*print)(void *to, const char *text), void *to)
{
    const struct live_units *u = &l->units;
    char text[sizeof u->notes.text + 1];
    if (!u->wanted)
        return;
    snprintf(text, sizeof text, "%.*s", (int)u->notes.used, u->notes.text);
    print(to, text);
    if (!u->reported[0])
        return;
    snprintf(text, sizeof text, "history is missing: %s\n", u->reported);
    print(to, text);
}

int live_units_start(struct live *l)
{
    struct live_units *u = &l->units;
    bool big = l->cores[0].elf && l->cores[0].elf->big_endian;
    u->wanted = config_programs_trace(l->config) && !config_has_probe(l->config);
    if (!u->wanted)
        return BT_OK;
    uv_mutex_init(&u->lock);
    return remote_bus_open(&u->bus, l->loop, l->remote, TIMEOUT_MS, big);
}

void live_units_stop(struct live *l)
{
    remote_bus_stop(&l->units.bus);
}

void live_units_release(struct live *l)
{
    trace_setup_release(&l->units.setup);
    if (l->units.wanted)
        uv_mutex_destroy(&l->units.lock);
    remote_bus_close(&l->units.bus);
}
