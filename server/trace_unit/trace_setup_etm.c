/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv3 and PTM as trace units of a target: IHI 0014Q chapter 3, IHI 0035B chapter 3. */
#include "trace_setup_internal.h"

#include <stdio.h>

#define CR_POWER_DOWN 0x00000001u
#define CR_PROG       0x00000400u
#define CR_STALL      0x00000080u
#define CR_BROADCAST  0x00000100u
#define CR_CYCLES     0x00001000u
#define CR_TIMESTAMPS 0x10000000u
#define CR_STACK      0x20000000u
#define CR_DECODED    0x3000d10cu /* bits of ETMCR that a decoder must know */
#define MAJOR_PFT     3u
#define STALL_LEVEL   24u
#define ETMCR         0x000u

static struct coresight_etm_options options_of(const struct trace_setup *t, unsigned i)
{
    static const uint8_t context[4] = {0, 1, 2, 4};
    const struct config_core *core = &t->config->cores[i];
    bool m = trace_setup_is_m_profile(core);
    uint32_t cr = trace_setup_wish(core, "ETMCR", 0);
    bool stack = t->cores[i].kind == CORESIGHT_PTM && cr & CR_STACK;
    uint64_t id = 0;
    (void)config_trace_id(core, &id);
    return (struct coresight_etm_options){
        .ptm = t->cores[i].kind == CORESIGHT_PTM,
        .m_profile = m,
        .trace_id = (uint8_t)trace_setup_wish(core, "ETMTRACEIDR", (uint32_t)id),
        .branch_broadcast = cr & CR_BROADCAST && !stack,
        .cycle_accurate = cr & CR_CYCLES && !m,
        .timestamps = cr & CR_TIMESTAMPS,
        .return_stack = stack,
        .context_id_bytes = m ? 0 : context[cr >> 14 & 3],
        .stall_level = cr & CR_STALL ? (uint8_t)trace_setup_wish(core, "ETMFFLR", STALL_LEVEL) : 0,
        .sync_bytes = trace_setup_wish(core, "ETMSYNCFR", 0),
    };
}

static int store(struct trace_setup *t, unsigned i)
{
    const struct trace_setup_core *core = &t->cores[i];
    const struct coresight_etm_state *s = &core->etm.state;
    const struct trace_register list[] = {
        {"ETMIDR", UINT32_MAX, s->id},
        {"ETMCCR", UINT32_MAX, s->config},
        {"ETMCCER", UINT32_MAX, s->config_extension},
        {"ETMCR", CR_DECODED, s->control},
        {"ETMTRACEIDR", 0x7f, s->trace_id & 0x7f},
        {"ETMSYNCFR", 0xfff, s->sync},
    };
    char type[16];
    snprintf(type, sizeof type, "%s%u", core->kind == CORESIGHT_PTM ? "PTM1." : "ETM3.",
             s->id >> 4 & 0xf);
    return trace_setup_store(t, i, type, "TRC", list, sizeof list / sizeof *list);
}

static void take_state(struct trace_setup_core *core)
{
    core->control = core->etm.state.control;
    core->trace_id = core->etm.state.trace_id & 0x7f;
    core->sync_bytes = core->etm.state.sync;
}

/* Read as it is for a capture that is under way; else set, but not started. */
static int ask(struct trace_setup *t, unsigned i)
{
    struct trace_setup_core *core = &t->cores[i];
    int error = coresight_etm_read(t->bus, core->unit, &core->etm.state);
    core->kind = (core->etm.state.id >> 8 & 0xf) == MAJOR_PFT ? CORESIGHT_PTM : CORESIGHT_ETM;
    if (error || t->config->attach)
        return error;
    core->etm.options = options_of(t, i);
    return coresight_etm_program(t->bus, core->unit, &core->etm.options, &core->etm.state);
}

static int take(struct trace_setup *t, unsigned i)
{
    struct trace_setup_core *core = &t->cores[i];
    int error = ask(t, i);
    if (error)
        return error;
    if (t->config->attach) {
        if (core->etm.state.control & (CR_PROG | CR_POWER_DOWN))
            trace_setup_note(t, "core %s: the trace unit is not running: was it armed?",
                             t->config->cores[i].name);
        core->etm.state.control &= ~(CR_PROG | CR_POWER_DOWN);
    }
    take_state(core);
    error = store(t, i);
    if (t->config->attach) /* when it is programmed again it makes the same trace as before */
        core->etm.options = options_of(t, i);
    return error;
}

static int start(struct trace_setup *t, unsigned i)
{
    struct trace_setup_core *core = &t->cores[i];
    int error = coresight_etm_start(t->bus, core->unit, &core->etm.options, &core->etm.state);
    take_state(core);
    return error;
}

static int stop(struct trace_setup *t, unsigned i)
{
    return coresight_etm_stop(t->bus, t->cores[i].unit);
}

static bool runs(const struct trace_setup *t, unsigned i)
{
    uint32_t control;
    return coresight_read(t->bus, t->cores[i].unit + ETMCR, &control) == BT_OK &&
           control == t->cores[i].control;
}

static const char *failure(const struct trace_setup *t, unsigned i)
{
    (void)t, (void)i;
    return NULL;
}

const struct trace_unit_ops trace_unit_etm = {
    .control = "ETMCR",
    .take = take,
    .start = start,
    .stop = stop,
    .runs = runs,
    .failure = failure,
};
