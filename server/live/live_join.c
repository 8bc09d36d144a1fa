/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the trace that has come leads to the halted cores. A source that cannot be asked how much
 * there is may hold bytes back: it is waited for until it does, or until [trace] drain_ms is over;
 * then what is missing is said.
 */
#include "live_internal.h"

#include "server/base/log.h"

#include <inttypes.h>
#include <stdio.h>

#define QUIET_MS 30 /* more may be right behind what came */

/* A source in nobody's hands, and cores that ran into this halt with their trace on. */
static bool join_matters(const struct live *l)
{
    return l->trace && l->join.ran && !l->untraced && !l->config->buffer &&
           l->config->control.kind == ADDRESS_NONE;
}

/* With the pipeline locked: the number of the next instruction at the halt; false: a gap, or
 * nothing, leads to it. */
static bool halt_number(const struct live *l, const struct live_core *c, uint64_t *number)
{
    const struct code_options options = {0};
    struct btrace_view view;
    struct code_cache code;
    struct halt_join join;
    if (c->source < 0 || !(c->regs.known >> TARGET_REG_PC & 1))
        return false;
    live_view(l, c, 0, &view);
    if (code_cache_init(&code, view.image, &options))
        return false;
    halt_join(&view, &code, &join);
    code_cache_release(&code);
    *number = join.base + join.walked;
    return join.known;
}

/* Of several cores one may stand where it stood, and has nothing to tell. The only one ran: if the
 * history does not go on, it came back to where it was by a branch that nobody has seen. */
static bool core_joins(const struct live *l, const struct live_core *c)
{
    uint64_t number = 0;
    if (c->source < 0 || !(c->regs.known >> TARGET_REG_PC & 1))
        return true;
    if (!halt_number(l, c, &number))
        return false;
    return !c->resumed.known || c->jumped || number > c->resumed.number ||
           (l->config->core_count > 1 && c->resumed.pc == c->regs.value[TARGET_REG_PC]);
}

bool live_trace_leads(const struct live *l, unsigned core)
{
    uint64_t number;
    pipeline_lock(l->pipeline);
    bool leads = halt_number(l, &l->cores[core], &number);
    pipeline_unlock(l->pipeline);
    return leads;
}

/* The first core that the trace does not lead to; NULL: there is none. */
static const struct live_core *core_apart(const struct live *l)
{
    const struct live_core *apart = NULL;
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count && !apart; i++)
        apart = core_joins(l, &l->cores[i]) ? NULL : &l->cores[i];
    pipeline_unlock(l->pipeline);
    return apart;
}

void live_join_resumed(struct live *l)
{
    struct trace_link_stats stats = {.connected = false};
    if (!l->trace || l->config->control.kind != ADDRESS_NONE)
        return;
    trace_link_stats(l->trace, &stats);
    l->join.ran = true;
    l->join.waited = l->join.marked = false;
    l->join.before = stats.trace;
    pipeline_lock(l->pipeline);
    for (unsigned i = 0; i < l->config->core_count; i++) {
        struct live_core *c = &l->cores[i];
        c->resumed.known = halt_number(l, c, &c->resumed.number);
        c->resumed.pc = c->regs.value[TARGET_REG_PC];
    }
    pipeline_unlock(l->pipeline);
}

void live_join_halted(struct live *l)
{
    l->join.until = uv_hrtime() + (uint64_t)l->config->drain_ms * 1000000;
}

static unsigned join_left_ms(const struct live *l)
{
    uint64_t now = uv_hrtime();
    return now < l->join.until ? (unsigned)((l->join.until - now) / 1000000) + 1 : 0;
}

/* Nothing of the last run came, and the source is there: what ran is missing, and what comes later
 * does not follow on what came before. */
static void mark_silence(struct live *l, const struct trace_link_stats *stats)
{
    if (l->join.marked || !stats->connected || stats->trace != l->join.before)
        return;
    l->join.marked = true;
    live_trace_lost(l, BT_GAP_SILENT);
    (void)pipeline_drain(l->pipeline, l->config->drain_ms);
}

/* In a worker thread. */
static void join_work(uv_work_t *work)
{
    struct live *l = work->data;
    struct trace_link_stats stats;
    bool more = trace_link_wait_trace(l->trace, l->join.seen, join_left_ms(l));
    if (more)
        (void)trace_link_wait_quiet(l->trace, QUIET_MS, join_left_ms(l));
    trace_link_stats(l->trace, &stats);
    l->join.seen = stats.trace;
    if (more)
        (void)pipeline_drain(l->pipeline, l->config->drain_ms);
    else
        mark_silence(l, &stats);
}

bool live_join_waits(struct live *l)
{
    if (!join_matters(l) || (l->join.waited && uv_hrtime() >= l->join.until) || !core_apart(l))
        return false;
    l->join.waited = true;
    return l->wait(l, join_work);
}

void live_join_judge(struct live *l)
{
    struct trace_link_stats stats;
    if (!join_matters(l))
        return;
    const struct live_core *apart = core_apart(l);
    trace_link_stats(l->trace, &stats);
    l->join.ran = false;
    bool silent = apart && stats.connected && stats.trace == l->join.before;
    if (silent && !l->join.silent)
        log_write(LOG_AT_WARNING,
                  "btraced: the trace source is connected, but sent nothing while the "
                  "core ran: that is a gap in the history\n");
    l->join.silent = silent;
    l->join.apart = apart;
    l->drain = apart ? LIVE_DRAIN_APART : LIVE_DRAIN_DONE;
}

void live_join_describe(const struct live *l, char *text, size_t size)
{
    const struct live_core *c = l->join.apart;
    uint64_t address = 0;
    enum bt_isa isa;
    int n =
        snprintf(text, size, "NOT complete: %s",
                 l->join.silent ? "the source is connected, but sent nothing while the cores ran"
                                : "no more trace came in time");
    if (!c || n < 0 || (size_t)n >= size)
        return;
    pipeline_lock(l->pipeline);
    bool known = history_position(live_history(l, (int)(c - l->cores)), &address, &isa);
    pipeline_unlock(l->pipeline);
    if (known)
        snprintf(text + n, size - (size_t)n,
                 "; core %s: it ends at 0x%08" PRIx64 ", and the halt is at 0x%08" PRIx64,
                 c->config->name, address, c->regs.value[TARGET_REG_PC]);
    else
        snprintf(text + n, size - (size_t)n, "; core %s: nothing leads to the halt at 0x%08" PRIx64,
                 c->config->name, c->regs.value[TARGET_REG_PC]);
}
