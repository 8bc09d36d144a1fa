/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv4 and ETE as trace units of a target: IHI 0064H.b chapters 4 and 7. */
#include "trace_setup_internal.h"

#include <stdio.h>
#include <string.h>

/* TRCSYNCPR: the same period as other trace units have, also where the board file says nothing. */
#define SYNC_MASK 0x1fu

static struct coresight_etm4_options options_of(const struct trace_setup *t, unsigned i)
{
    const struct config_core *core = &t->config->cores[i];
    uint64_t id = 0;
    (void)config_trace_id(core, &id);
    struct coresight_etm4_options o = {
        .trace_id = (uint8_t)trace_setup_wish(core, "TRCTRACEIDR", (uint32_t)id),
        .config = trace_setup_wish(core, "TRCCONFIGR", 0) & CORESIGHT_ETM4_OPTIONS,
        .stall = trace_setup_wish(core, "TRCSTALLCTLR", 0),
        .cycle_threshold = (uint16_t)trace_setup_wish(core, "TRCCCCTLR", 0),
        .sync_log2 = (uint8_t)(trace_setup_wish(core, "TRCSYNCPR", 0) & SYNC_MASK),
        .range_count = t->filter_count,
    };
    memcpy(o.ranges, t->filter, sizeof o.ranges);
    return o;
}

static void take_state(struct trace_setup_core *core)
{
    core->control = core->etm4.state.config;
    core->trace_id = core->etm4.state.trace_id & 0x7f;
    core->sync_bytes = coresight_etm4_sync_bytes(&core->etm4.state);
}

static int store(struct trace_setup *t, unsigned i)
{
    const struct coresight_etm4_state *s = &t->cores[i].etm4.state;
    const struct trace_register list[] = {
        {"TRCDEVARCH", UINT32_MAX, s->devarch},
        {"TRCIDR0", UINT32_MAX, s->idr[0]},
        {"TRCIDR1", UINT32_MAX, s->idr[1]},
        {"TRCIDR2", UINT32_MAX, s->idr[2]},
        {"TRCIDR3", UINT32_MAX, s->idr[3]},
        {"TRCIDR4", UINT32_MAX, s->idr[4]},
        {"TRCIDR5", UINT32_MAX, s->idr[5]},
        {"TRCIDR8", UINT32_MAX, s->idr[8]},
        {"TRCIDR9", UINT32_MAX, s->idr[9]},
        {"TRCIDR10", UINT32_MAX, s->idr[10]},
        {"TRCIDR11", UINT32_MAX, s->idr[11]},
        {"TRCIDR12", UINT32_MAX, s->idr[12]},
        {"TRCIDR13", UINT32_MAX, s->idr[13]},
        {"TRCAUTHSTATUS", UINT32_MAX, s->auth},
        {"TRCCONFIGR", CORESIGHT_ETM4_OPTIONS, s->config},
        {"TRCTRACEIDR", 0x7f, s->trace_id & 0x7f},
        {"TRCSYNCPR", SYNC_MASK, s->sync},
        {"TRCSTALLCTLR", UINT32_MAX, s->stall},
    };
    char type[16];
    snprintf(type, sizeof type, "%s%u", coresight_etm4_is_ete(s) ? "ETE1." : "ETM4.",
             coresight_etm4_version(s));
    return trace_setup_store(t, i, type, "ETM", list, sizeof list / sizeof *list);
}

/* What the trace will lack whatever is done here. */
static void note_hidden(struct trace_setup *t, unsigned i)
{
    const struct coresight_etm4_state *s = &t->cores[i].etm4.state;
    const char *world = coresight_etm4_secure_hidden(s)      ? "Secure"
                        : coresight_etm4_nonsecure_hidden(s) ? "Non-secure"
                                                             : NULL;
    if (world)
        trace_setup_note(t,
                         "core %s: %s code is not traced: the chip does not allow it "
                         "(TRCAUTHSTATUS)",
                         t->config->cores[i].name, world);
}

static int ask(struct trace_setup *t, unsigned i)
{
    struct trace_setup_core *core = &t->cores[i];
    if (t->config->attach)
        return coresight_etm4_read(t->bus, core->unit, &core->etm4.state);
    core->etm4.options = options_of(t, i);
    return coresight_etm4_program(t->bus, core->unit, &core->etm4.options, &core->etm4.state);
}

static int take(struct trace_setup *t, unsigned i)
{
    struct trace_setup_core *core = &t->cores[i];
    int error = ask(t, i);
    if (error)
        return error;
    if (t->config->attach && !core->etm4.state.enabled)
        trace_setup_note(t, "core %s: the trace unit is not running: was it armed?",
                         t->config->cores[i].name);
    note_hidden(t, i);
    take_state(core);
    error = store(t, i);
    if (t->config->attach) /* when it is programmed again it makes the same trace as before */
        core->etm4.options = options_of(t, i);
    return error;
}

static int start(struct trace_setup *t, unsigned i)
{
    struct trace_setup_core *core = &t->cores[i];
    struct coresight_etm4_options *o = &core->etm4.options;
    memcpy(o->ranges, t->filter, sizeof o->ranges);
    o->range_count = t->filter_count;
    int error = coresight_etm4_start(t->bus, core->unit, o, &core->etm4.state);
    take_state(core);
    return error;
}

static int stop(struct trace_setup *t, unsigned i)
{
    return coresight_etm4_stop(t->bus, t->cores[i].unit, &t->cores[i].etm4.state);
}

static bool runs(const struct trace_setup *t, unsigned i)
{
    return coresight_etm4_runs(t->bus, t->cores[i].unit, &t->cores[i].etm4.state);
}

static const char *failure(const struct trace_setup *t, unsigned i)
{
    return coresight_etm4_failure_text(t->cores[i].etm4.state.failure);
}

const struct trace_unit_ops trace_unit_etm4 = {
    .control = "TRCCONFIGR",
    .take = take,
    .start = start,
    .stop = stop,
    .runs = runs,
    .failure = failure,
};
