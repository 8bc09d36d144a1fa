/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/live.h"

#include "server/btrace_blocks.h"
#include "server/source.h"
#include "server/stream_socket.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define CPSR_T        (1u << 5)
#define QUIET_MS      30 /* a source that cannot be asked has sent all when it is silent so long */
#define CONTROL_TRIES 20 /* 50 ms each: the board makes its socket when it starts */
#define RATE_MS       1000

/* ---- capture: the link's thread -------------------------------------------------------------- */

static void take_bytes(struct live *l, const uint8_t *data, size_t len)
{
    uv_mutex_lock(&l->lock);
    if (l->recorder)
        recorder_bytes(l->recorder, data, len);
    uv_mutex_unlock(&l->lock);
    pipeline_push(l->pipeline, data, len, l->config->backpressure);
}

/* What a buffer holds says only as a whole whether it has run over. */
static void on_bytes(void *ctx, const uint8_t *data, size_t len)
{
    struct live *l = ctx;
    if (!l->config->buffer) {
        take_bytes(l, data, len);
        return;
    }
    uv_mutex_lock(&l->lock);
    size_t room = l->config->buffer - l->readout.used, n = len < room ? len : room;
    memcpy(l->readout.bytes + l->readout.used, data, n);
    l->readout.used += n;
    uv_mutex_unlock(&l->lock);
}

static void take_loss(struct live *l, enum bt_gap_cause cause)
{
    pipeline_lost(l->pipeline, cause, 0);
    uv_mutex_lock(&l->lock);
    if (l->recorder)
        recorder_lost(l->recorder);
    uv_mutex_unlock(&l->lock);
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
        take_loss(l, BT_GAP_OVERWRITTEN);
    if (n)
        take_bytes(l, l->readout.bytes, n);
}

static void on_again(void *ctx)
{
    take_loss(ctx, BT_GAP_LOST_BYTES);
}

/* ---- the virtual board's control socket ------------------------------------------------------ */

static bool control_open(struct live *l)
{
    for (unsigned i = 0; l->control < 0 && i < CONTROL_TRIES; i++) {
        if (i)
            uv_sleep(50);
        l->control = stream_socket_connect(&l->config->control);
    }
    return l->control >= 0;
}

int live_ask_board(struct live *l, const char *line, char *answer, size_t size)
{
    if (l->config->control.kind == CONFIG_NOWHERE)
        return BT_ERR_UNSUPPORTED;
    if (!control_open(l))
        return BT_ERR_IO;
    int error = stream_socket_ask(l->control, line, answer, size, l->config->drain_ms);
    if (error) { /* a late answer must not be taken for that of the next question */
        close(l->control);
        l->control = -1;
    }
    return error;
}

/* ---- a stop: fetch and decode the last stretch ------------------------------------------------
 */

/* In a worker thread: the event loop goes on meanwhile. */
static void drain_work(uv_work_t *work)
{
    struct live *l = work->data;
    unsigned ms = l->config->drain_ms;
    char answer[256];
    bool all;
    l->drain = LIVE_DRAIN_DONE;
    if (l->config->control.kind == CONFIG_NOWHERE) {
        all = trace_link_settle(l->trace, QUIET_MS, ms);
    } else if (live_ask_board(l, "flush", answer, sizeof answer) != BT_OK ||
               strncmp(answer, "ok ", 3) != 0) {
        l->drain = LIVE_DRAIN_SILENT;
        all = trace_link_settle(l->trace, QUIET_MS, ms);
    } else {
        all = trace_link_wait(l->trace, strtoull(answer + 3, NULL, 10), ms);
    }
    take_readout(l);
    all = pipeline_drain(l->pipeline, ms) && all;
    if (!all)
        l->drain = LIVE_DRAIN_TIMEOUT;
}

static void read_next_core(struct live *l);

static void tell_ready(struct live *l, int error)
{
    if (l->told_ready)
        return;
    l->told_ready = true;
    l->ready(l->ctx, l, error);
}

/* Everything about this stop is known. */
static void stop_done(struct live *l)
{
    l->stretch++;
    uv_mutex_lock(&l->lock);
    for (unsigned i = 0; l->recorder && i < l->config->core_count; i++)
        recorder_halted(l->recorder, i, l->cores[i].regs.value[GDB_REG_PC],
                        l->cores[i].regs.value[GDB_REG_PSR]);
    uv_mutex_unlock(&l->lock);
    if (l->told_ready)
        l->halted(l->ctx, l);
    tell_ready(l, BT_OK);
    gdb_upstream_release_stop(l->upstream);
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

static int thread_of(const struct live_core *c)
{
    return (int)c->config->thread - 1;
}

static void read_next_core(struct live *l)
{
    if (!gdb_upstream_is_ready(l->upstream))
        return;
    while ((unsigned)l->reading < l->config->core_count) {
        int thread = thread_of(&l->cores[l->reading]);
        if (thread < gdb_upstream_cores(l->upstream) &&
            gdb_upstream_read_pc(l->upstream, thread, on_regs, l) == BT_OK)
            return;
        l->cores[l->reading].regs.known = 0;
        l->reading++;
    }
    l->reading = -1;
    live_code_complete(l, stop_done);
}

static void read_first_core(struct live *l)
{
    l->reading = 0;
    read_next_core(l);
}

/* Once for each start of the target, then at every halt: its registers. */
static void begin_reading(struct live *l)
{
    l->reading = 0;
    live_setup(l, read_first_core);
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
    l->work.data = l;
    if (!l->pipeline || uv_queue_work(l->loop, &l->work, drain_work, after_drain) != 0)
        after_drain(&l->work, 0);
}

/* ---- events of the target's own GDB server --------------------------------------------------- */

static void on_stopped(void *ctx)
{
    begin_drain(ctx);
}

static void on_resumed(void *ctx)
{
    struct live *l = ctx;
    l->drain = LIVE_DRAIN_NONE;
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
    if (error)
        tell_ready(l, error);
    else if (!gdb_upstream_is_running(l->upstream))
        begin_drain(l);
    else
        tell_ready(l, BT_OK);
}

void live_was_moved(struct live *l)
{
    for (unsigned i = 0; i < l->config->core_count; i++)
        l->cores[i].moved = l->cores[i].jumped = true;
    if (l->reading < 0 && !l->draining && !l->code.reading)
        begin_reading(l); /* the PC may be another one */
}

void live_was_reset(struct live *l)
{
    l->setup = 0;
    live_was_moved(l);
}

static void on_changed(void *ctx, enum gdb_change change, uint64_t address, uint64_t length)
{
    if (change == GDB_CHANGE_MEMORY)
        live_code_written(ctx, address, length);
    else
        live_was_moved(ctx);
}

static void on_lost(void *ctx)
{
    struct live *l = ctx;
    l->reading = -1;
    l->code.reading = false;
    if (!l->stopping)
        fprintf(stderr, "btraced: the target's GDB server closed the connection\n");
}

static const struct gdb_upstream_events upstream_events = {
    .ready = on_ready,
    .resumed = on_resumed,
    .stopped = on_stopped,
    .changed = on_changed,
    .lost = on_lost,
};

/* ---- start ------------------------------------------------------------------------------------
 */

static int add_program(struct live_core *c, struct message *why)
{
    char text[256];
    code_image_init(&c->image);
    if (!c->config->program[0])
        return BT_OK;
    int error = elf_image_open(c->config->program, &c->elf, text, sizeof text);
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
    int error = protocol->configure(&core->source_device, &core->core_device, &s->config,
                                    &s->trace_id, why);
    c->source = (int)p->source_count;
    p->source_count += !error;
    return error;
}

static int start_cores(struct live *l, struct pipeline_config *p, struct message *why)
{
    int error = BT_OK;
    for (unsigned i = 0; i < l->config->core_count && !error; i++) {
        struct live_core *c = &l->cores[i];
        c->config = &l->config->cores[i];
        c->source = -1;
        error = add_program(c, why);
        if (!error && c->config->has_source)
            error = add_source(l, c, p, why);
    }
    return error;
}

static int start_trace(struct live *l, struct message *why)
{
    struct pipeline_config p = {
        .formatted = l->config->formatted,
        .mode = l->config->mode,
        .ring_bytes = l->config->ring,
        .history = {.max_bytes = l->config->memory, .checkpoint_bytes = l->config->checkpoint}};
    const struct trace_link_sink sink = {.bytes = on_bytes, .again = on_again, .ctx = l};
    int error = start_cores(l, &p, why);
    if (error || p.source_count == 0)
        return error;
    message_set(why, "%s: the trace cannot be decoded with this [history]", l->config->path);
    error = pipeline_new(&p, &l->pipeline);
    if (l->config->buffer && !(l->readout.bytes = malloc(l->config->buffer)))
        error = BT_ERR_NOMEM;
    if (error)
        return error;
    if (l->config->record_dir[0])
        error = live_record(l, NULL, why);
    if (!error)
        error =
            trace_link_start(&l->config->trace, l->config->trace_listens, &sink, &l->trace, why);
    return error;
}

static void on_timer(uv_timer_t *timer)
{
    struct live *l = timer->data;
    struct trace_link_stats stats;
    uint64_t now = uv_hrtime();
    if (!l->trace)
        return;
    trace_link_stats(l->trace, &stats);
    uint64_t ms = (now - l->rate_time) / 1000000;
    if (ms == 0)
        return;
    l->rate = (stats.bytes - l->rate_bytes) * 1000 / ms;
    l->rate_bytes = stats.bytes;
    l->rate_time = now;
}

int live_start(struct live *l, uv_loop_t *loop, const struct config *config,
               void (*ready)(void *ctx, struct live *l, int error),
               void (*halted)(void *ctx, struct live *l), void *ctx, struct message *why)
{
    memset(l, 0, sizeof *l);
    l->config = config;
    l->loop = loop;
    l->control = -1;
    l->reading = -1;
    l->size = BTRACE_DEFAULT_SIZE;
    l->ready = ready;
    l->halted = halted;
    l->ctx = ctx;
    uv_mutex_init(&l->lock);
    uv_timer_init(loop, &l->timer);
    l->timer.data = l;
    l->rate_time = uv_hrtime();
    uv_timer_start(&l->timer, on_timer, RATE_MS, RATE_MS);
    message_set(why, "out of memory");
    int error = start_trace(l, why);
    if (!error)
        error = gdb_upstream_new(&upstream_events, l, upstream_link_send, &l->link, &l->upstream);
    return error;
}

int live_connect(struct live *l)
{
    return upstream_link_start(&l->link, l->loop, &l->config->target, l->upstream) ? BT_ERR_IO
                                                                                   : BT_OK;
}

void live_stop(struct live *l)
{
    if (l->stopping)
        return;
    l->stopping = true;
    upstream_link_stop(&l->link);
    uv_close((uv_handle_t *)&l->timer, NULL);
}

void live_release(struct live *l)
{
    trace_link_stop(l->trace);
    live_record_stop(l);
    pipeline_free(l->pipeline);
    gdb_upstream_free(l->upstream);
    if (l->control >= 0)
        close(l->control);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        code_image_release(&l->cores[i].image);
        elf_image_close(l->cores[i].elf);
    }
    live_code_release(l);
    free(l->readout.bytes);
    uv_mutex_destroy(&l->lock);
}

/* ---- recording --------------------------------------------------------------------------------
 */

int live_record(struct live *l, const char *dir, struct message *why)
{
    const struct code_image *images[CONFIG_MAX_CORES];
    struct recorder *r;
    if (l->recorder) {
        struct recorder_stats stats;
        recorder_stats(l->recorder, &stats);
        message_set(why, "already recording to %s", stats.folder);
        return BT_ERR_INVAL;
    }
    if (!dir && !l->config->record_dir[0]) {
        message_set(why, "no folder named, and no [record] dir in %s", l->config->path);
        return BT_ERR_INVAL;
    }
    for (unsigned i = 0; i < l->config->core_count; i++)
        images[i] = &l->cores[i].image;
    int error = recorder_start(l->config, dir ? dir : l->config->record_dir, images, &r, why);
    if (error)
        return error;
    uv_mutex_lock(&l->lock);
    l->recorder = r;
    uv_mutex_unlock(&l->lock);
    return BT_OK;
}

int live_record_stop(struct live *l)
{
    uv_mutex_lock(&l->lock);
    struct recorder *r = l->recorder;
    l->recorder = NULL;
    uv_mutex_unlock(&l->lock);
    return r ? recorder_stop(r) : BT_OK;
}

/* ---- what GDB asks ----------------------------------------------------------------------------
 */

struct history *live_history(const struct live *l, int core)
{
    return l->cores[core].source < 0
               ? NULL
               : pipeline_history(l->pipeline, (unsigned)l->cores[core].source);
}

/* Threads that the board file does not name have no trace. */
static struct live_core *core_of(struct live *l, int thread)
{
    for (unsigned i = 0; i < l->config->core_count; i++)
        if (thread_of(&l->cores[i]) == thread)
            return &l->cores[i];
    return NULL;
}

static struct live_core *traced_core(struct live *l, int thread)
{
    struct live_core *c = core_of(l, thread);
    return c && c->source >= 0 ? c : NULL;
}

void live_connected(struct live *l)
{
    l->size = BTRACE_DEFAULT_SIZE;
    for (unsigned i = 0; i < l->config->core_count; i++)
        l->cores[i].delivered = false;
}

static int op_core_count(void *ctx)
{
    const struct live *l = ctx;
    int n = gdb_upstream_cores(l->upstream);
    return n > 0 ? n : 1;
}

static int op_core_info(void *ctx, int core, struct gdb_core *info)
{
    struct live *l = ctx;
    const struct live_core *c = core_of(l, core);
    info->name = c ? c->config->name : "core";
    info->profile = c && strncasecmp(c->config->type, "Cortex-M", 8) == 0   ? GDB_PROFILE_M
                    : c && strncasecmp(c->config->type, "Cortex-R", 8) == 0 ? GDB_PROFILE_R
                                                                            : GDB_PROFILE_A;
    info->big_endian = c && c->elf && c->elf->big_endian;
    return BT_OK;
}

static int op_btrace_enable(void *ctx, int core, struct gdb_why *why)
{
    struct live *l = ctx;
    struct live_core *c = traced_core(l, core);
    if (!c) {
        snprintf(why->text, sizeof why->text, "the board file names no trace unit for this core");
        return BT_ERR_UNSUPPORTED;
    }
    if (!c->recording)
        c->delivered = false;
    c->recording = true;
    return BT_OK;
}

static int op_btrace_disable(void *ctx, int core)
{
    struct live_core *c = core_of(ctx, core);
    if (c)
        c->recording = false;
    return BT_OK;
}

static int op_btrace_set_size(void *ctx, uint32_t size, struct gdb_why *why)
{
    (void)why;
    ((struct live *)ctx)->size = btrace_clamp_size(size);
    return BT_OK;
}

static int op_btrace_conf(void *ctx, int core, struct gdb_btrace_conf *conf)
{
    struct live *l = ctx;
    const struct live_core *c = core_of(l, core);
    conf->recording = c && c->recording;
    conf->size = l->size;
    return BT_OK;
}

static int read_blocks(struct live *l, struct live_core *c, bool delta,
                       struct gdb_btrace_blocks *out)
{
    bool m = strncasecmp(c->config->type, "Cortex-M", 8) == 0;
    struct btrace_view view = {.image = &c->image,
                               .pc = c->regs.value[GDB_REG_PC],
                               .thumb = m || (c->regs.value[GDB_REG_PSR] & CPSR_T),
                               .size = l->size,
                               .jumped = c->jumped,
                               .untraced = l->untraced,
                               .holes = c->holes,
                               .hole_count = c->hole_count};
    pipeline_lock(l->pipeline);
    view.history = live_history(l, (int)(c - l->cores));
    btrace_end_key(view.history, (uint16_t)(c - l->cores), &view.key);
    int error =
        delta ? btrace_delta(&view, &c->has, out, &c->given) : btrace_blocks(&view, out, &c->given);
    pipeline_unlock(l->pipeline);
    return error;
}

/* Before the first read GDB has the PC of the start, and nothing to join the history to. */
static int op_btrace_read(void *ctx, int core, enum gdb_annex annex, struct gdb_btrace_blocks *out)
{
    struct live *l = ctx;
    struct live_core *c = traced_core(l, core);
    if (!c || !c->recording || !(c->regs.known >> GDB_REG_PC & 1))
        return BT_ERR_UNSUPPORTED;
    if (annex != GDB_ANNEX_ALL && c->delivered && !c->moved && c->stretch == l->stretch)
        return BT_OK;
    bool delta = annex == GDB_ANNEX_DELTA;
    if (delta && (!c->delivered || c->moved))
        return BT_ERR_RANGE;
    return read_blocks(l, c, delta, out);
}

static void op_btrace_delivered(void *ctx, int core, enum gdb_annex annex)
{
    struct live *l = ctx;
    struct live_core *c = traced_core(l, core);
    (void)annex;
    if (!c)
        return;
    if (!c->delivered || c->moved || c->stretch != l->stretch || annex == GDB_ANNEX_ALL)
        c->has = c->given;
    c->delivered = true;
    c->moved = false;
    c->stretch = l->stretch;
}

static int op_monitor(void *ctx, int core, const char *text, gdb_print_fn print, void *to)
{
    return live_monitor(ctx, core, text, print, to);
}

const struct gdb_target live_target = {
    .core_count = op_core_count,
    .core_info = op_core_info,
    .btrace_enable = op_btrace_enable,
    .btrace_disable = op_btrace_disable,
    .btrace_set_size = op_btrace_set_size,
    .btrace_conf = op_btrace_conf,
    .btrace_read = op_btrace_read,
    .btrace_delivered = op_btrace_delivered,
    .monitor = op_monitor,
};
