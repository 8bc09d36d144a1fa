/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the sessions of a live target ask for: history and motions through it, and `monitor`
 * commands. The rest is the target's own server's.
 */
#include "live_internal.h"

#include "protocol/rsp/gdb_packet.h"
#include "server/base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void live_client_free(struct live_client *k)
{
    if (!k)
        return;
    reverse_motion_release(&k->motion);
    live_question_forget(k);
    free(k);
}

static bool op_is_replaying(void *ctx, int core)
{
    const struct live_client *k = ctx;
    return core < 0 ? reverse_motion_concerned(&k->motion)
                    : reverse_motion_active(&k->motion, core);
}

static int op_read_regs(void *ctx, int core, struct target_regs *regs)
{
    struct live_client *k = ctx;
    return reverse_motion_regs(&k->motion, core, regs);
}

static size_t op_reverse_memory(void *ctx, int core, uint64_t address, void *bytes, size_t there,
                                size_t len)
{
    struct live_client *k = ctx;
    struct live *l = k->live;
    uint8_t now[GDB_PACKET_SIZE / 2];
    len = len < sizeof now ? len : sizeof now;
    there = there < len ? there : len;
    memcpy(now, bytes, there);
    l->reverse.reply.bytes = now;
    l->reverse.reply.address = address;
    l->reverse.reply.length = there;
    size_t n = reverse_motion_memory(&k->motion, core, address, bytes, there, len);
    l->reverse.reply.bytes = NULL;
    k->misses[false].count = 0;
    return n;
}

static int op_resume(void *ctx, const struct target_resume *resume, struct target_stop *stop,
                     struct target_error *why)
{
    struct live_client *k = ctx;
    if (!reverse_motion_takes(&k->motion, resume))
        return GDB_PASS_ON;
    return reverse_motion_resume(&k->motion, resume, stop, why);
}

static int op_reverse(void *ctx, int core, bool step, struct target_stop *stop,
                      struct target_error *why)
{
    struct live_client *k = ctx;
    return reverse_motion_back(&k->motion, core, step, stop, why);
}

static void op_interrupt(void *ctx)
{
    struct live_client *k = ctx;
    if (k->question.job)
        call_job_interrupt(k->question.job);
    else if (k->counting)
        live_counts_interrupt(k->counting);
    else if (k->live->told.client == k)
        live_told_interrupt(k);
    else
        reverse_motion_interrupt(&k->motion);
}

/* What the one in control has switched on is on for a GDB that comes later. */
static void set_recording(struct live_client *k, struct live_core *c, bool on)
{
    k->cores[c - k->live->cores].recording = on;
    if (!gdb_session_observes(k->session))
        c->recording = on;
}

static int op_btrace_enable(void *ctx, int core, struct target_error *why)
{
    struct live_client *k = ctx;
    struct live *l = k->live;
    struct live_core *c = live_traced_core(l, core);
    if (!c) {
        snprintf(why->text, sizeof why->text, "%s",
                 config_programs_trace(l->config)
                     ? "this core has no trace: 'monitor trace status' says why"
                     : "the board file names no trace unit for this core");
        return BT_ERR_UNSUPPORTED;
    }
    if (reverse_motion_active(&k->motion, core)) {
        snprintf(why->text, sizeof why->text,
                 "the core is at a replay position: 'monitor goto end' and 'stepi' first");
        return BT_ERR_UNSUPPORTED;
    }
    if (!k->cores[c - l->cores].recording)
        k->cores[c - l->cores].delivered = false;
    set_recording(k, c, true);
    return BT_OK;
}

static void op_btrace_disable(void *ctx, int core)
{
    struct live_client *k = ctx;
    struct live_core *c = live_core_of(k->live, core);
    if (c)
        set_recording(k, c, false);
}

static void op_btrace_set_size(void *ctx, uint32_t size)
{
    ((struct live_client *)ctx)->size = btrace_clamp_size(size);
}

static struct gdb_btrace_conf op_btrace_conf(void *ctx, int core)
{
    const struct live_client *k = ctx;
    const struct live_core *c = live_core_of(k->live, core);
    return (struct gdb_btrace_conf){c && k->cores[c - k->live->cores].recording, k->size};
}

static int read_blocks(struct live_client *k, struct live_core *c, bool delta,
                       struct gdb_btrace_blocks *out)
{
    struct live *l = k->live;
    struct btrace_mark *given = &k->cores[c - l->cores].given;
    const struct btrace_mark *has = &k->cores[c - l->cores].has;
    struct btrace_view view;
    pipeline_lock(l->pipeline);
    live_view(l, c, k->size, &view);
    if (c->left) { /* GDB joins it to the PC that it has written */
        view.pc = c->regs.value[TARGET_REG_PC];
        view.jumped = true;
    }
    int error = delta ? btrace_delta(&view, has, out, given) : btrace_blocks(&view, out, given);
    pipeline_unlock(l->pipeline);
    return error;
}

/* Before the first read GDB has the PC of the start, and nothing to join the history to. */
static int op_btrace_read(void *ctx, int core, enum gdb_annex annex, struct gdb_btrace_blocks *out)
{
    struct live_client *k = ctx;
    struct live *l = k->live;
    struct live_core *c = live_traced_core(l, core);
    if (!c || !(c->regs.known >> TARGET_REG_PC & 1) || !k->cores[c - l->cores].recording)
        return BT_ERR_UNSUPPORTED;
    bool delivered = k->cores[c - l->cores].delivered, moved = k->cores[c - l->cores].moved;
    if (annex != GDB_ANNEX_ALL && delivered && !moved && k->cores[c - l->cores].stop == l->stops)
        return BT_OK;
    bool delta = annex == GDB_ANNEX_DELTA;
    if (delta && (!delivered || moved))
        return BT_ERR_RANGE;
    return read_blocks(k, c, delta, out);
}

static void op_btrace_delivered(void *ctx, int core, enum gdb_annex annex)
{
    struct live_client *k = ctx;
    struct live *l = k->live;
    const struct live_core *c = live_traced_core(l, core);
    if (!c)
        return;
    size_t i = (size_t)(c - l->cores);
    if (!k->cores[i].delivered || k->cores[i].moved || k->cores[i].stop != l->stops ||
        annex == GDB_ANNEX_ALL)
        k->cores[i].has = k->cores[i].given;
    k->cores[i].delivered = true;
    k->cores[i].moved = false;
    k->cores[i].stop = l->stops;
}

/* GDB's `run`: many GDB servers cannot start over by a packet of the protocol. */
static int op_restart(void *ctx, struct target_error *why)
{
    (void)why;
    return live_restart(((struct live_client *)ctx)->live);
}

static void op_changes(void *ctx, const struct target_request *r)
{
    const struct live_client *k = ctx;
    const char *what = r->kind == TARGET_WRITE_MEMORY  ? "memory"
                       : r->kind == TARGET_FLASH_WRITE ? "flash"
                       : r->kind == TARGET_FLASH_ERASE ? "flash-erase"
                                                       : NULL;
    char core[40];
    snprintf(core, sizeof core, "of core %d", r->core);
    if (what)
        audit_range(k->live->audit, k->client->number, k->client->connection->peer, what,
                    r->address, r->length);
    else if (r->kind == TARGET_WRITE_REGISTERS)
        live_audit(k, "registers", core);
    else if (r->kind == TARGET_RESET)
        live_audit(k, "reset", "by GDB");
    else if (r->kind == TARGET_PACKET && r->packet_length && r->packet[0] == 'F')
        audit_write(k->live->audit, k->client->number, k->client->connection->peer, "file-io",
                    "%.*s", r->packet_length < 40 ? (int)r->packet_length : 40, r->packet);
}

static bool op_has_tasks(void *ctx)
{
    const struct live *l = ((const struct live_client *)ctx)->live;
    bool has = tasks_has(l->tasks);
    for (unsigned i = 0; l->pipeline && i < l->config->core_count && !has; i++)
        has = l->cores[i].source >= 0 && history_traces_context(live_history(l, (int)i));
    return has;
}

static int op_tasks(void *ctx, struct gdb_tasks *out)
{
    const struct live *l = ((const struct live_client *)ctx)->live;
    return tasks_at(l->tasks, l->target, out);
}

static void op_leave(void *ctx)
{
    reverse_motion_forget(&((struct live_client *)ctx)->motion);
}

static const struct gdb_host live_gdb_host = {
    .btrace_enable = op_btrace_enable,
    .btrace_disable = op_btrace_disable,
    .btrace_set_size = op_btrace_set_size,
    .btrace_conf = op_btrace_conf,
    .btrace_read = op_btrace_read,
    .btrace_delivered = op_btrace_delivered,
    .monitor = live_monitor,
    .is_replaying = op_is_replaying,
    .core_status = live_tasks_status,
    .read_regs = op_read_regs,
    .reverse_memory = op_reverse_memory,
    .resume = op_resume,
    .reverse = op_reverse,
    .interrupt = op_interrupt,
    .leave = op_leave,
    .restart = op_restart,
    .changes = op_changes,
    .has_tasks = op_has_tasks,
    .tasks = op_tasks,
};

static struct live_client *new_live_client(struct live *l, struct gdb_client *c)
{
    struct live_client *k = calloc(1, sizeof *k);
    if (!k)
        return NULL;
    if (live_reverse_client(l, k) != BT_OK) {
        free(k);
        return NULL;
    }
    k->live = l;
    k->client = c;
    k->session = &c->session;
    k->size = BTRACE_DEFAULT_SIZE;
    for (unsigned i = 0; i < l->config->core_count; i++)
        k->cores[i].recording = l->cores[i].recording;
    struct live_client **at = &l->clients;
    while (*at)
        at = &(*at)->next;
    *at = k;
    return k;
}

static int open_session(struct live_client *k, enum gdb_role role, const char *greeting,
                        gdb_send_fn send, void *send_ctx)
{
    return gdb_session_init(k->session, k->live->target, &live_gdb_host, k, role, greeting, send,
                            send_ctx);
}

static int open_control(struct live_client *k, gdb_send_fn send, void *send_ctx)
{
    int error = open_session(k, GDB_CONTROLS, "", send, send_ctx);
    if (error)
        return error;
    k->live->control = k;
    live_log_control(k);
    return BT_OK;
}

static int open_observer(struct live_client *k, gdb_send_fn send, void *send_ctx)
{
    const struct live *l = k->live;
    char text[360], who[CONNECTION_PEER_MAX + 20] = "nobody";
    bool queued = l->config->others == CONFIG_OTHERS_QUEUE && live_may_control(k);
    if (l->control)
        snprintf(who, sizeof who, "client %u (%s)", l->control->client->number,
                 l->control->client->connection->peer);
    snprintf(text, sizeof text,
             "%s is in control of the target, you look on: registers, memory and "
             "history can be read while it is halted%s\n",
             who, queued ? "; you wait for control" : "");
    int error = open_session(k, GDB_OBSERVES, text, send, send_ctx);
    if (!error && k->client->connection->role == ROLE_QUERY)
        gdb_session_only_asks(k->session);
    if (!error)
        log_write(LOG_AT_INFO, "btraced: client %u (%s) looks on\n", k->client->number,
                  k->client->connection->peer);
    return error;
}

static int open_refused(struct live_client *k, gdb_send_fn send, void *send_ctx)
{
    const struct gdb_client *c = k->live->control->client;
    char text[CONNECTION_PEER_MAX + 120];
    int error = open_session(k, GDB_OBSERVES, "", send, send_ctx);
    if (error)
        return error;
    snprintf(text, sizeof text, "client %u (%s) is in control, and [gdb] others = refuse",
             c->number, c->connection->peer);
    gdb_session_refuse(k->session, text);
    return BT_OK;
}

int live_admit(struct live *l, struct gdb_client *c, gdb_send_fn send, void *send_ctx)
{
    int error;
    struct live_client *k = new_live_client(l, c);
    if (!k)
        return BT_ERR_NOMEM;
    if (!live_may_control(k))
        error = open_observer(k, send, send_ctx);
    else if (!l->control)
        error = open_control(k, send, send_ctx);
    else if (l->config->others == CONFIG_OTHERS_REFUSE)
        error = open_refused(k, send, send_ctx);
    else
        error = open_observer(k, send, send_ctx);
    c->served = error ? NULL : k;
    if (error) {
        live_unlink(k);
        live_client_free(k);
    }
    return error;
}
