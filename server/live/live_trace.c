/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A live target's trace: its sources and trace units, capture, the last run's trace at a halt, and
 * what is written to disk.
 */
#include "live_internal.h"

#include "server/base/log.h"
#include "server/config/config.h"
#include "server/net/stream_socket.h"
#include "server/protocols/source_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUIET_MS   30   /* a source that cannot be asked has sent all when it is silent so long */
#define CONTROL_MS 1000 /* the board makes its socket when it starts */
#define CONNECT_MS 1000 /* a port has a listener before it sends: the first sync comes soon */
#define PAUSE_MS   5

int live_record(struct live *l, const char *path, struct message *why)
{
    const struct code_image *images[CONFIG_MAX_CORES];
    struct recorder *r;
    if (l->recorder) {
        struct recorder_stats stats;
        recorder_stats(l->recorder, &stats);
        message_set(why, "already recording to %s", stats.folder);
        return BT_ERR_INVAL;
    }
    for (unsigned i = 0; i < l->config->core_count; i++)
        images[i] = &l->cores[i].image;
    int error = recorder_start(l->config, path, images, &r, why);
    if (error)
        return error;
    uv_mutex_lock(&l->lock);
    l->recorder = r;
    uv_mutex_unlock(&l->lock);
    live_snapshot_record(l, true);
    return BT_OK;
}

int live_record_stop(struct live *l)
{
    live_snapshot_record(l, false);
    uv_mutex_lock(&l->lock);
    struct recorder *r = l->recorder;
    l->recorder = NULL;
    uv_mutex_unlock(&l->lock);
    return r ? recorder_stop(r) : BT_OK;
}

/* Bytes from whoever captures, in its thread, on their way to the decoder. */
static void on_captured(void *ctx, struct trace_buffer *buffer, const uint8_t *data, size_t len)
{
    struct live *l = ctx;
    uv_mutex_lock(&l->lock);
    if (l->recorder && buffer)
        recorder_bytes(l->recorder, buffer, data, len);
    else if (l->recorder)
        recorder_lost(l->recorder);
    uv_mutex_unlock(&l->lock);
}

static void take_trace(struct live *l, const uint8_t *data, size_t len)
{
    pipeline_push(l->pipeline, data, len, l->config->backpressure || l->units.wanted);
}

void live_trace_lost(void *ctx, enum bt_gap_cause cause)
{
    struct live *l = ctx;
    pipeline_lost(l->pipeline, cause, 0);
    uv_mutex_lock(&l->lock);
    if (l->recorder)
        recorder_lost(l->recorder);
    uv_mutex_unlock(&l->lock);
}

/* What a buffer holds says only as a whole whether it has run over. */
static void on_link_bytes(void *ctx, const uint8_t *data, size_t len)
{
    struct live *l = ctx;
    if (!l->config->buffer) {
        take_trace(l, data, len);
        return;
    }
    uv_mutex_lock(&l->lock);
    size_t room = l->config->buffer - l->readout.used, n = len < room ? len : room;
    memcpy(l->readout.bytes + l->readout.used, data, n);
    l->readout.used += n;
    uv_mutex_unlock(&l->lock);
}

static uint8_t *on_room(void *user, size_t least, size_t *size)
{
    const struct live *l = user;
    *size = TRACE_ROOM + TRACE_ROOM_SPARE;
    return l->readout.bytes ? l->readout.bytes + l->config->buffer
                            : pipeline_room(l->pipeline, least, size);
}

static void on_sink_bytes(void *user, const uint8_t *data, size_t length)
{
    struct live *l = user;
    l->fed += length;
    take_trace(l, data, length);
}

struct trace_sink live_sink(struct live *l)
{
    return (struct trace_sink){.user = l, .bytes = on_sink_bytes, .lost = live_trace_lost};
}

/* The buffer has been read: full, it has run over since the last time. */
static void take_readout(struct live *l)
{
    if (!l->config->buffer)
        return;
    uv_mutex_lock(&l->lock);
    size_t n = l->readout.used;
    l->readout.used = 0;
    uv_mutex_unlock(&l->lock);
    if (n == l->config->buffer)
        live_trace_lost(l, BT_GAP_OVERWRITTEN);
    if (n)
        take_trace(l, l->readout.bytes, n);
}

uint64_t live_bytes(const struct live *l)
{
    struct trace_link_stats stats;
    if (!l->trace)
        return l->fed;
    trace_link_stats(l->trace, &stats);
    return stats.bytes;
}

static bool open_board_control(struct live *l)
{
    uint64_t until = uv_hrtime() + CONTROL_MS * (uint64_t)1000000;
    while (l->board < 0 && !l->leaving) {
        l->board = stream_socket_connect(&l->config->control);
        if (l->board >= 0 || uv_hrtime() >= until)
            break;
        uv_sleep(50);
    }
    return l->board >= 0;
}

/* In a worker thread. */
static int ask_board(struct live *l, const char *line, char *answer, size_t size)
{
    int error = BT_ERR_IO;
    if (l->config->control.kind == ADDRESS_NONE)
        return BT_ERR_UNSUPPORTED;
    uv_mutex_lock(&l->board_lock);
    if (open_board_control(l))
        error = stream_socket_ask(l->board, line, answer, size, l->config->drain_ms, &l->leaving);
    /* A late answer must not be taken for that of the next question. */
    if (error && l->board >= 0) {
        close(l->board);
        l->board = -1;
    }
    uv_mutex_unlock(&l->board_lock);
    return error;
}

/* Line by line, as long as the board does it. */
static void tell_board_work(uv_work_t *work)
{
    struct live *l = work->data;
    struct live_told *t = &l->told;
    char *rest = t->lines;
    strcpy(t->answer, "ok");
    t->error = BT_OK;
    for (const char *line;
         !t->error && strncmp(t->answer, "ok", 2) == 0 && (line = strtok_r(NULL, "\n", &rest));)
        t->error = ask_board(l, line, t->answer, sizeof t->answer);
}

static void on_board_told(uv_work_t *work, int status)
{
    struct live *l = work->data;
    struct live_told *t = &l->told;
    struct live_client *k = t->client;
    bool ok = !t->error && strncmp(t->answer, "ok", 2) == 0;
    (void)status;
    t->under_way = false;
    if (ok && t->then && l->phase != LIVE_STOPPED)
        t->then(l);
    if (!k)
        return;
    t->client = NULL;
    if (t->error)
        console_print(&t->console, "the board does not answer at its control socket\n");
    else if (!ok)
        console_print(&t->console, "the board says: %s\n", t->answer);
    else
        console_print(&t->console, "%s\n", t->done);
    gdb_session_command_done(k->session);
}

void live_told_interrupt(struct live_client *k)
{
    struct live_told *t = &k->live->told;
    t->client = NULL;
    console_print(&t->console, "interrupted: the board has not answered yet\n");
    gdb_session_command_done(k->session);
}

/* TARGET_PENDING: the client's command ends with the board's answer. */
static int tell_board(struct live_client *k, const char *lines, const struct console *c,
                      const char *done, void (*then)(struct live *l))
{
    struct live *l = k->live;
    struct live_told *t = &l->told;
    if (l->config->control.kind == ADDRESS_NONE) {
        console_print(c, "this board has no way to do that: no [trace] control in %s\n",
                      l->config->path);
        return BT_ERR_UNSUPPORTED;
    }
    if (t->under_way) {
        console_print(c, "the board is being asked: ask again\n");
        return BT_ERR_IO;
    }
    *t = (struct live_told){.work.data = l, .client = k, .console = *c, .done = done, .then = then};
    snprintf(t->lines, sizeof t->lines, "%s", lines);
    t->under_way = uv_queue_work(l->loop, &t->work, tell_board_work, on_board_told) == 0;
    return t->under_way ? TARGET_PENDING : BT_ERR_IO;
}

static void read_out_units(struct live *l)
{
    const struct trace_sink sink = live_sink(l);
    struct live_units *u = &l->units;
    target_bus_begin(&u->bus);
    u->error = trace_setup_collect(&u->setup, &sink, &u->why);
    if (!u->error)
        u->error = trace_setup_rearm(&u->setup, &u->why);
    if (u->error) /* everything from the start at the next chance */
        u->setup.programmed = false;
}

static void collect_from_units(struct live *l)
{
    struct live_units *u = &l->units;
    if (!u->wanted)
        return;
    uv_mutex_lock(&u->lock);
    u->error = BT_OK;
    if (u->found && u->setup.programmed)
        read_out_units(l);
    uv_mutex_unlock(&u->lock);
}

/* In a worker thread: the event loop goes on meanwhile. */
void live_drain_work(uv_work_t *work)
{
    struct live *l = work->data;
    unsigned ms = l->config->drain_ms;
    char answer[256];
    bool all;
    l->drain = LIVE_DRAIN_DONE;
    collect_from_units(l);
    if (!l->trace) {
        all = true; /* it came before the stop, or has been read out */
    } else if (l->config->control.kind == ADDRESS_NONE) {
        all = trace_link_wait_quiet(l->trace, QUIET_MS, ms);
    } else if (ask_board(l, "flush", answer, sizeof answer) != BT_OK ||
               strncmp(answer, "ok ", 3) != 0) {
        l->drain = LIVE_DRAIN_SILENT;
        all = trace_link_wait_quiet(l->trace, QUIET_MS, ms);
    } else {
        all = trace_link_wait(l->trace, strtoull(answer + 3, NULL, 10), ms);
    }
    if (l->trace) {
        struct trace_link_stats stats;
        take_readout(l);
        trace_link_stats(l->trace, &stats);
        l->join.seen = stats.trace;
    }
    all = pipeline_drain(l->pipeline, ms) && all;
    if (!all)
        l->drain = LIVE_DRAIN_TIMEOUT;
}

static int add_trace_source(struct live *l, struct live_core *c, struct pipeline_config *p,
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

static int open_pipeline(struct live *l, const struct pipeline_config *p, struct message *why)
{
    const struct trace_sink sink = {
        .user = l, .bytes = on_link_bytes, .lost = live_trace_lost, .room = on_room};
    int error = pipeline_new(p, &l->pipeline);
    if (error == BT_ERR_NOMEM)
        message_set(why, "out of memory");
    else if (error)
        message_set(why, "%s: the trace cannot be decoded with this [history]", l->config->path);
    if (error)
        return error;
    if (l->config->buffer &&
        !(l->readout.bytes = malloc(l->config->buffer + TRACE_ROOM + TRACE_ROOM_SPARE))) {
        message_set(why, "out of memory");
        return BT_ERR_NOMEM;
    }
    if (l->config->record_dir[0] && l->config->record.start)
        error = live_record(l, l->config->record_dir, why);
    if (!error && config_has_trace_input(l->config))
        error = trace_link_start(l->config, &sink, &l->trace, why);
    return error;
}

static void drop_live_trace(struct live *l)
{
    trace_link_stop(l->trace);
    live_record_stop(l);
    pipeline_free(l->pipeline);
    l->trace = NULL;
    l->pipeline = NULL;
    for (unsigned i = 0; i < l->config->core_count; i++)
        l->cores[i].source = -1;
}

static unsigned decode_threads(const struct config *config)
{
    unsigned cores = uv_available_parallelism();
    if (config->threads)
        return config->threads;
    return cores < CONFIG_MAX_THREADS ? cores : CONFIG_MAX_THREADS;
}

static int start_sources(struct live *l, struct message *why)
{
    struct pipeline_config p = {
        .formatted = l->config->formatted,
        .mode = l->config->mode,
        .ring_bytes = l->config->ring,
        .threads = decode_threads(l->config),
        .tap = on_captured,
        .tap_ctx = l,
        .passed = live_itm_passed(l),
        .history = {.max_bytes = l->config->memory, .checkpoint_bytes = l->config->checkpoint}};
    int error = BT_OK;
    for (unsigned i = 0; i < l->config->core_count && !error; i++)
        if (l->config->cores[i].has_source)
            error = add_trace_source(l, &l->cores[i], &p, why);
    if (!error && (p.source_count > 0 || p.passed.trace_id))
        error = open_pipeline(l, &p, why);
    if (error)
        drop_live_trace(l);
    return error;
}

static void discover_units(struct live *l)
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

static void program_units(struct live *l)
{
    struct live_units *u = &l->units;
    if (u->off) {
        u->error = u->setup.programmed ? trace_setup_stop(&u->setup, &u->why) : BT_OK;
    } else if (!trace_setup_runs(&u->setup)) {
        await_listener(l);
        u->error = trace_setup_program(&u->setup, &u->why);
    }
}

static void prepare_units_work(uv_work_t *work)
{
    struct live *l = work->data;
    struct live_units *u = &l->units;
    uv_mutex_lock(&u->lock);
    u->error = BT_OK;
    target_bus_begin(&u->bus);
    if (!u->found)
        discover_units(l);
    else if (u->setup.history)
        program_units(l);
    uv_mutex_unlock(&u->lock);
}

static void report_units_error(struct live *l)
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
static void begin_found_trace(struct live *l)
{
    struct live_units *u = &l->units;
    u->notes = u->setup.notes;
    u->setup.notes.used = 0;
    log_write(LOG_AT_INFO, "%.*s", (int)u->notes.used, u->notes.text);
    u->found = true;
    if (u->setup.history)
        u->error = start_sources(l, &u->why);
    if (u->error)
        u->setup.history = false;
}

/* What programming them has shown. */
static void tell_unit_notes(struct live *l)
{
    struct trace_notes *new = &l->units.setup.notes, *all = &l->units.notes;
    log_write(LOG_AT_INFO, "%.*s", (int)new->used, new->text);
    if (all->used + new->used <= sizeof all->text) {
        memcpy(all->text + all->used, new->text, new->used);
        all->used += new->used;
    }
    new->used = 0;
}

static void start_units_worker(struct live *l);

static void on_units_prepared(uv_work_t *work, int status)
{
    struct live *l = work->data;
    struct live_units *u = &l->units;
    bool found = u->found;
    (void)status;
    bool again = u->state == LIVE_UNITS_AGAIN;
    u->state = LIVE_UNITS_IDLE;
    if (l->phase == LIVE_STOPPED)
        return;
    if (!found && !u->error)
        begin_found_trace(l);
    else
        tell_unit_notes(l);
    bool next = again || (!found && u->found && u->setup.history);
    if (next && target_is_ready(l->target)) {
        start_units_worker(l);
        return;
    }
    report_units_error(l);
    u->done(l);
}

static void start_units_worker(struct live *l)
{
    struct live_units *u = &l->units;
    u->state = LIVE_UNITS_BUSY;
    u->work.data = l;
    if (uv_queue_work(l->loop, &u->work, prepare_units_work, on_units_prepared) == 0)
        return;
    u->state = LIVE_UNITS_IDLE;
    u->done(l);
}

void live_units_prepare(struct live *l, void (*done)(struct live *l))
{
    struct live_units *u = &l->units;
    u->done = done;
    if (u->state != LIVE_UNITS_IDLE)
        u->state = LIVE_UNITS_AGAIN; /* it works on a connection before this one */
    else if (!u->wanted)
        done(l);
    else if (u->error) { /* the buffer could not be read out */
        report_units_error(l);
        start_units_worker(l);
    } else
        start_units_worker(l);
}

int live_command(struct live *l, const char *text, target_done_fn done)
{
    const struct target_request r = {.kind = TARGET_COMMAND,
                                     .bytes = (const uint8_t *)text,
                                     .length = strlen(text),
                                     .takes_time = true};
    target_hold_clients(l->target, true);
    int error = target_ask(l->target, NULL, &r, done, l);
    if (error)
        target_hold_clients(l->target, false);
    return error;
}

static void on_trace_switched(void *ctx, const struct target_answer *answer)
{
    (void)answer;
    target_hold_clients(((struct live *)ctx)->target, false);
}

/* Trace units behind a probe of ours belong to its thread, and obey its command. */
static bool switch_probe_trace(struct live *l, const char *command, const struct console *c)
{
    if (live_command(l, command, on_trace_switched) == BT_OK)
        return true;
    console_print(c, "the target cannot be asked now\n");
    return false;
}

int live_trace_switch(struct live_client *k, bool on, const struct console *c,
                      void (*then)(struct live *l))
{
    struct live *l = k->live;
    const char *done = on ? "tracing is on" : "tracing is off: what runs now is not in the history";
    if (!l->units.wanted && live_is_remote(l))
        return tell_board(k, on ? "on" : "off", c, done, then);
    if (!l->pipeline) {
        console_print(c, "nothing is traced: 'monitor trace status' says why\n");
        return BT_ERR_UNSUPPORTED;
    }
    if (!live_is_remote(l) && !switch_probe_trace(l, on ? "trace on" : "trace off", c))
        return BT_ERR_IO;
    if (l->units.wanted)
        l->units.off = !on;
    console_print(c, "%s\n", done);
    then(l);
    return BT_OK;
}

static int start_units(struct live *l)
{
    struct live_units *u = &l->units;
    bool big = l->cores[0].elf && l->cores[0].elf->big_endian;
    u->wanted = config_programs_trace(l->config) && !config_has_probe(l->config);
    if (!u->wanted)
        return BT_OK;
    uv_mutex_init(&u->lock);
    return target_bus_open(&u->bus, l->loop, l->target, big);
}

/* As `set`, of trace_setup.h; BT_ERR_IO: not possible just now. */
static int set_units(struct live *l, const char *text, struct message *why,
                     int (*set)(struct trace_setup *t, const char *text, struct message *why))
{
    struct live_units *u = &l->units;
    if (uv_mutex_trylock(&u->lock)) {
        message_set(why, "the trace units are being read or set: ask again");
        return BT_ERR_IO;
    }
    int error = set(&u->setup, text, why);
    uv_mutex_unlock(&u->lock);
    return error;
}

int live_trace_filter(struct live_client *k, const char *text, const struct console *c)
{
    struct live *l = k->live;
    struct message why;
    if (l->units.wanted) {
        int error = set_units(l, text, &why, trace_setup_filter);
        console_print(c, "%s\n", why.text);
        return error;
    }
    if (!trace_setup_filter_is_good(text)) {
        console_print(c,
                      "monitor trace filter include|exclude START-END, or none, such as include "
                      "0x8000-0x8fff; not '%s'\n",
                      text);
        return BT_ERR_INVAL;
    }
    if (strcmp(text, "none") == 0)
        return tell_board(k, "include none\nexclude none", c,
                          "all addresses are traced\nnone is left out", NULL);
    return tell_board(k, text, c,
                      strstr(text, "none") ? "these ranges are taken away" : "the filter is set",
                      NULL);
}

int live_trace_open(struct live *l, struct message *why)
{
    int error = live_itm_open(l, why);
    if (error)
        return error;
    error = start_units(l);
    if (error)
        message_set(why, "out of memory");
    else if (!config_programs_trace(l->config) || config_has_probe(l->config))
        error = start_sources(l, why);
    return error;
}

void live_trace_release(struct live *l)
{
    drop_live_trace(l);
    live_itm_release(l);
    trace_setup_release(&l->units.setup);
    if (l->units.wanted)
        uv_mutex_destroy(&l->units.lock);
    target_bus_close(&l->units.bus);
    if (l->board >= 0)
        close(l->board);
    free(l->readout.bytes);
}

bool live_trace_set(struct live *l, const char *text, const struct console *c)
{
    struct message why;
    int error = BT_ERR_UNSUPPORTED;
    if (l->units.wanted)
        error = set_units(l, text, &why, trace_setup_set_itm);
    else
        message_set(&why, "[trace] of the board file has no sink: somebody else sets up the ITM");
    console_print(c, "%s\n", why.text);
    return !error || error == BT_ERR_RANGE;
}
