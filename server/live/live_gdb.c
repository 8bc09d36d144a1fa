/* SPDX-License-Identifier: BSD-3-Clause */
/* What a session of GDB asks of a live target: history. The rest is its own server's. */
#include "live_internal.h"

#include <stdio.h>
#include <strings.h>

#define CPSR_T      (1u << 5)
#define PSR_AARCH32 (1u << 4) /* set in all modes of AArch32 */

struct history *live_history(const struct live *l, int core)
{
    return l->cores[core].source < 0
               ? NULL
               : pipeline_history(l->pipeline, (unsigned)l->cores[core].source);
}

bool live_is_a64(const struct live_core *c)
{
    return strncasecmp(c->config->type, "Cortex-A", 8) == 0 && (c->regs.known >> GDB_REG_PSR & 1) &&
           !(c->regs.value[GDB_REG_PSR] & PSR_AARCH32);
}

/* Threads that the board file does not name have no trace. */
struct live_core *live_core_of(struct live *l, int thread)
{
    for (unsigned i = 0; i < l->config->core_count; i++)
        if (live_thread(&l->cores[i]) == thread)
            return &l->cores[i];
    return NULL;
}

static struct live_core *traced_core(struct live *l, int thread)
{
    struct live_core *c = live_core_of(l, thread);
    return c && c->source >= 0 ? c : NULL;
}

static int op_core_count(void *ctx)
{
    const struct live *l = ((const struct live_client *)ctx)->live;
    int n = gdb_remote_cores(l->remote);
    return n > 0 ? n : 1;
}

static int op_core_info(void *ctx, int core, struct gdb_core *info)
{
    struct live *l = ((struct live_client *)ctx)->live;
    const struct live_core *c = live_core_of(l, core);
    info->name = c ? c->config->name : "core";
    info->profile = c && strncasecmp(c->config->type, "Cortex-M", 8) == 0   ? GDB_PROFILE_M
                    : c && strncasecmp(c->config->type, "Cortex-R", 8) == 0 ? GDB_PROFILE_R
                    : c && live_is_a64(c)                                   ? GDB_PROFILE_A64
                                                                            : GDB_PROFILE_A;
    info->big_endian = c && c->elf && c->elf->big_endian;
    return BT_OK;
}

/* What the one in control has switched on is on for a GDB that comes later. */
static void set_recording(struct live_client *k, struct live_core *c, bool on)
{
    k->cores[c - k->live->cores].recording = on;
    if (!gdb_session_observes(k->session))
        c->recording = on;
}

static int op_btrace_enable(void *ctx, int core, struct gdb_why *why)
{
    struct live_client *k = ctx;
    struct live *l = k->live;
    struct live_core *c = traced_core(l, core);
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

static int op_btrace_disable(void *ctx, int core)
{
    struct live_client *k = ctx;
    struct live_core *c = live_core_of(k->live, core);
    if (c)
        set_recording(k, c, false);
    return BT_OK;
}

static int op_btrace_set_size(void *ctx, uint32_t size, struct gdb_why *why)
{
    (void)why;
    ((struct live_client *)ctx)->size = btrace_clamp_size(size);
    return BT_OK;
}

static int op_btrace_conf(void *ctx, int core, struct gdb_btrace_conf *conf)
{
    const struct live_client *k = ctx;
    const struct live_core *c = live_core_of(k->live, core);
    conf->recording = c && k->cores[c - k->live->cores].recording;
    conf->size = k->size;
    return BT_OK;
}

void live_view(const struct live *l, const struct live_core *c, uint32_t size,
               struct btrace_view *view)
{
    bool m = strncasecmp(c->config->type, "Cortex-M", 8) == 0;
    *view = (struct btrace_view){.image = &c->image,
                                 .history = live_history(l, (int)(c - l->cores)),
                                 .pc = c->regs.value[GDB_REG_PC],
                                 .thumb = m || (c->regs.value[GDB_REG_PSR] & CPSR_T),
                                 .size = size,
                                 .jumped = c->jumped,
                                 .untraced = l->untraced,
                                 .holes = c->holes,
                                 .hole_count = c->hole_count};
    btrace_end_key(view->history, (uint16_t)(c - l->cores), &view->key);
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
    int error = delta ? btrace_delta(&view, has, out, given) : btrace_blocks(&view, out, given);
    pipeline_unlock(l->pipeline);
    return error;
}

/* Before the first read GDB has the PC of the start, and nothing to join the history to. */
static int op_btrace_read(void *ctx, int core, enum gdb_annex annex, struct gdb_btrace_blocks *out)
{
    struct live_client *k = ctx;
    struct live *l = k->live;
    struct live_core *c = traced_core(l, core);
    if (!c || !(c->regs.known >> GDB_REG_PC & 1) || !k->cores[c - l->cores].recording)
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
    const struct live_core *c = traced_core(l, core);
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

static int op_monitor(void *ctx, int core, const char *text, gdb_print_fn print, void *to)
{
    return live_monitor(ctx, core, text, print, to);
}

/* GDB's `run`: many GDB servers cannot start over by a packet of the protocol. */
static int op_restart(void *ctx, struct gdb_why *why)
{
    (void)why;
    return live_restart(((struct live_client *)ctx)->live);
}

static void op_leave(void *ctx)
{
    reverse_motion_forget(&((struct live_client *)ctx)->motion);
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
    .read_regs = live_reverse_regs,
    .resume = live_reverse_resume,
    .reverse = live_reverse_back,
    .is_replaying = live_reverse_is_replaying,
    .reverse_memory = live_reverse_memory,
    .interrupt = live_reverse_interrupt,
    .restart = op_restart,
    .detach = op_leave,
    .kill = op_leave,
};
