/* SPDX-License-Identifier: BSD-3-Clause */
/* What a session of GDB asks of a live target: history. The rest is its own server's. */
#include "server/live_internal.h"

#include <stdio.h>
#include <strings.h>

#define CPSR_T (1u << 5)

struct history *live_history(const struct live *l, int core)
{
    return l->cores[core].source < 0
               ? NULL
               : pipeline_history(l->pipeline, (unsigned)l->cores[core].source);
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
    const struct live *l = ctx;
    int n = gdb_upstream_cores(l->upstream);
    return n > 0 ? n : 1;
}

void live_connected(struct live *l, struct gdb_session *s)
{
    l->past.session = s;
    past_motion_reset(&l->past.motion);
    l->past.motion.core_count = op_core_count(l);
    l->size = BTRACE_DEFAULT_SIZE;
    for (unsigned i = 0; i < l->config->core_count; i++)
        l->cores[i].delivered = false;
}

static int op_core_info(void *ctx, int core, struct gdb_core *info)
{
    struct live *l = ctx;
    const struct live_core *c = live_core_of(l, core);
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
        snprintf(why->text, sizeof why->text, "%s",
                 l->units.wanted ? "this core has no trace: 'monitor trace status' says why"
                                 : "the board file names no trace unit for this core");
        return BT_ERR_UNSUPPORTED;
    }
    if (past_motion_active(&l->past.motion, core)) {
        snprintf(why->text, sizeof why->text,
                 "the core is shown in the past: 'monitor goto end' and 'stepi' first");
        return BT_ERR_UNSUPPORTED;
    }
    if (!c->recording)
        c->delivered = false;
    c->recording = true;
    return BT_OK;
}

static int op_btrace_disable(void *ctx, int core)
{
    struct live_core *c = live_core_of(ctx, core);
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
    const struct live_core *c = live_core_of(l, core);
    conf->recording = c && c->recording;
    conf->size = l->size;
    return BT_OK;
}

void live_view(const struct live *l, const struct live_core *c, struct btrace_view *view)
{
    bool m = strncasecmp(c->config->type, "Cortex-M", 8) == 0;
    *view = (struct btrace_view){.image = &c->image,
                                 .history = live_history(l, (int)(c - l->cores)),
                                 .pc = c->regs.value[GDB_REG_PC],
                                 .thumb = m || (c->regs.value[GDB_REG_PSR] & CPSR_T),
                                 .size = l->size,
                                 .jumped = c->jumped,
                                 .untraced = l->untraced,
                                 .holes = c->holes,
                                 .hole_count = c->hole_count};
    btrace_end_key(view->history, (uint16_t)(c - l->cores), &view->key);
}

static int read_blocks(struct live *l, struct live_core *c, bool delta,
                       struct gdb_btrace_blocks *out)
{
    struct btrace_view view;
    pipeline_lock(l->pipeline);
    live_view(l, c, &view);
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

static void op_leave(void *ctx)
{
    past_motion_forget(&((struct live *)ctx)->past.motion);
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
    .read_regs = live_past_regs,
    .resume = live_past_resume,
    .reverse = live_past_reverse,
    .in_past = live_past_in,
    .past_memory = live_past_memory,
    .interrupt = live_past_interrupt,
    .detach = op_leave,
    .kill = op_leave,
};
