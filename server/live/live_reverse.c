/* SPDX-License-Identifier: BSD-3-Clause */
#include "live_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int host_view(void *ctx, int core, struct btrace_view *view, struct gdb_why *why)
{
    const struct live_client *k = ctx;
    struct live *l = k->live;
    const struct live_core *c = live_core_of(l, core);
    if (!c || c->source < 0 || !(c->regs.known >> GDB_REG_PC & 1)) {
        snprintf(why->text, sizeof why->text, "%s",
                 c && c->source >= 0 ? "the halted core cannot be read"
                                     : "the board file names no trace unit for this core");
        return BT_ERR_UNSUPPORTED;
    }
    live_view(l, c, k->size, view);
    return BT_OK;
}

static void lock(struct live *l)
{
    if (l->pipeline)
        pipeline_lock(l->pipeline);
}

static void unlock(struct live *l)
{
    if (l->pipeline)
        pipeline_unlock(l->pipeline);
}

static void host_lock(void *ctx)
{
    lock(((struct live_client *)ctx)->live);
}

static void host_unlock(void *ctx)
{
    unlock(((struct live_client *)ctx)->live);
}

static size_t host_breakpoints(void *ctx, uint64_t *addresses, size_t max, bool *watch)
{
    const struct live_client *k = ctx;
    const struct live *l = k->live;
    const struct gdb_breakpoint *bp;
    size_t count = gdb_remote_breakpoints(l->remote, &bp), n = 0;
    *watch = false;
    if (gdb_session_observes(k->session))
        return 0; /* those that are set are another's */
    for (size_t i = 0; i < count && n < max; i++) {
        if (bp[i].type > GDB_BREAKPOINT_HARDWARE)
            *watch = true;
        else
            addresses[n++] = bp[i].address;
    }
    return n;
}

static const char *host_core_name(void *ctx, int core)
{
    const struct live_core *c = live_core_of(((struct live_client *)ctx)->live, core);
    return c ? c->config->name : "this core";
}

/* A slice of a search, then what GDB sends is looked at: it may be Ctrl-C. */
static void on_search(uv_idle_t *idle)
{
    struct live *l = idle->data;
    uv_idle_stop(idle);
    for (struct live_client *k = l->clients, *next; k; k = next) {
        next = k->next;
        reverse_motion_idle(&k->motion);
    }
}

static void host_later(void *ctx)
{
    struct live *l = ((struct live_client *)ctx)->live;
    if (!l->stopping)
        uv_idle_start(&l->reverse.search, on_search);
}

static void host_stopped(void *ctx, const struct gdb_stop *stop)
{
    const struct live_client *k = ctx;
    if (k->session)
        gdb_session_stopped(k->session, stop);
}

static void host_failed(void *ctx, const struct gdb_why *why)
{
    const struct live_client *k = ctx;
    if (k->session)
        gdb_session_resume_failed(k->session, why->text);
}

static void host_report(void *ctx, const char *text)
{
    const struct live_client *k = ctx;
    if (k->session)
        gdb_session_output(k->session, text);
}

static const struct reverse_host host = {
    .view = host_view,
    .lock = host_lock,
    .unlock = host_unlock,
    .machine = live_reverse_machine,
    .fetch = live_reverse_fetch,
    .breakpoints = host_breakpoints,
    .core_name = host_core_name,
    .later = host_later,
    .stopped = host_stopped,
    .failed = host_failed,
    .report = host_report,
};

void live_reverse_init(struct live *l)
{
    uv_idle_init(l->loop, &l->reverse.search);
    l->reverse.search.data = l;
}

int live_reverse_client(struct live *l, struct live_client *k)
{
    int n = gdb_remote_cores(l->remote);
    return reverse_motion_init(&k->motion, &host, k, n > 0 ? n : 1);
}

void live_reverse_stop(struct live *l)
{
    uv_close((uv_handle_t *)&l->reverse.search, NULL);
}

void live_reverse_release(struct live *l)
{
    free(l->reverse.lines);
    l->reverse.lines = NULL;
}

void live_reverse_forget(struct live *l)
{
    struct live_reverse *p = &l->reverse;
    live_clients_forget(l);
    for (int i = 0; i < GDB_CORES_MAX; i++)
        p->cores[i].asked = p->cores[i].reported = false;
    p->halt++;
    p->line_count = 0;
    p->written = false;
}

/* The number of the next instruction to run, as later reads of the history count it. */
static void mark_written(struct live *l, struct live_core *c)
{
    struct btrace_view view;
    struct reverse reverse;
    live_view(l, c, BTRACE_DEFAULT_SIZE, &view);
    bool traced = reverse_init(&reverse, &view) == BT_OK;
    uint64_t at = reverse.end;
    reverse_release(&reverse);
    if (!traced || (c->written_count && c->written[c->written_count - 1] == at))
        return;
    if (c->written_count == LIVE_HOLES) {
        c->written_before = c->written[0] + 1;
        memmove(c->written, c->written + 1, --c->written_count * sizeof *c->written);
    }
    c->written[c->written_count++] = at;
}

void live_reverse_written(struct live *l, bool memory)
{
    bool before = l->reverse.written;
    lock(l);
    for (unsigned i = 0; i < l->config->core_count; i++)
        if (l->cores[i].source >= 0 && (l->cores[i].regs.known >> GDB_REG_PC & 1))
            mark_written(l, &l->cores[i]);
    unlock(l);
    live_reverse_forget(l);
    l->reverse.written = memory || before;
}

bool live_reverse_is_replaying(void *ctx, int core)
{
    const struct live_client *k = ctx;
    return core < 0 ? reverse_motion_concerned(&k->motion)
                    : reverse_motion_active(&k->motion, core);
}

int live_reverse_regs(void *ctx, int core, struct gdb_regs *regs)
{
    struct live_client *k = ctx;
    return reverse_motion_regs(&k->motion, core, regs);
}

size_t live_reverse_memory(void *ctx, int core, uint64_t address, void *bytes, size_t len)
{
    struct live_client *k = ctx;
    struct live *l = k->live;
    uint8_t now[GDB_PACKET_SIZE / 2];
    len = len < sizeof now ? len : sizeof now;
    memcpy(now, bytes, len);
    l->reverse.reply.bytes = now;
    l->reverse.reply.address = address;
    l->reverse.reply.length = len;
    size_t n = reverse_motion_memory(&k->motion, core, address, bytes, len);
    l->reverse.reply.bytes = NULL;
    k->misses[false].count = 0;
    return n;
}

int live_reverse_resume(void *ctx, const struct gdb_resume *resume, struct gdb_stop *stop,
                        struct gdb_why *why)
{
    struct live_client *k = ctx;
    if (!reverse_motion_takes(&k->motion, resume))
        return GDB_PASS_ON;
    return reverse_motion_resume(&k->motion, resume, stop, why);
}

int live_reverse_back(void *ctx, int core, bool step, struct gdb_stop *stop, struct gdb_why *why)
{
    struct live_client *k = ctx;
    const struct live_core *c = live_core_of(k->live, core);
    if (c && live_is_a64(c)) {
        snprintf(why->text, sizeof why->text,
                 "values of AArch64 cannot be reconstructed: use 'record btrace' first");
        return BT_ERR_UNSUPPORTED;
    }
    return reverse_motion_back(&k->motion, core, step, stop, why);
}

void live_reverse_interrupt(void *ctx)
{
    struct live_client *k = ctx;
    reverse_motion_interrupt(&k->motion);
}
