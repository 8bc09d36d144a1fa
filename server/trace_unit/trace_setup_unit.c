/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trace units of a target, by kind: identified, compared with the board file, set, started and
 * stopped. ETMv3: IHI 0014Q chapter 3; PTM: IHI 0035B chapter 3; ETMv4 and ETE: IHI 0064H.b
 * chapters 4 and 7; MTB: DDI 0486B chapter 3.
 */
#include "trace_setup_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ETMv3 and PTM. */
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

/* TRCSYNCPR: the same period as other trace units have, also where the board file says nothing. */
#define SYNC_MASK 0x1fu

struct trace_unit_ops {
    const char *control; /* name of the register in trace_setup_core.control */
    /*
     * Reads what it is and, but with config->attach, sets it without starting it. Then the core is
     * as trace_setup.h says, and store_unit() has been called; 0 or an error as coresight.h says.
     */
    int (*take)(struct trace_setup *t, unsigned i);
    int (*start)(struct trace_setup *t, unsigned i);
    int (*stop)(struct trace_setup *t, unsigned i);
    bool (*runs)(const struct trace_setup *t, unsigned i);
    /* The last failure in words that follow the name of the unit, or NULL: the error says it. */
    const char *(*failure)(const struct trace_setup *t, unsigned i);
};

/* A register as it is in the hardware; `mask`: the bits that the board file should have right. */
struct trace_register {
    const char *name;
    uint32_t mask, value;
};

/* What a trace unit says of itself. */
struct unit_description {
    const char *type;    /* "ETM4.2" */
    const char *foreign; /* how registers of other kinds begin */
    const char *control; /* the register for wishes */
    const struct trace_register *list;
    size_t count;
};

void trace_setup_note(struct trace_setup *t, const char *format, ...)
{
    struct trace_notes *n = &t->notes;
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t length = strlen(line);
    if (length + 2 > sizeof n->text - n->used)
        return;
    memcpy(n->text + n->used, line, length);
    memcpy(n->text + n->used + length, "\n", 2);
    n->used += length + 1;
}

bool trace_setup_is_m_profile(const struct config_core *core)
{
    return strncasecmp(core->type, "Cortex-M", 8) == 0 || strncasecmp(core->type, "SC300", 5) == 0;
}

int trace_setup_failed(const struct trace_setup *t, int error, const char *what,
                       struct message *why)
{
    if (error == BT_ERR_IO)
        message_set(why, "%s: %s at 0x%08" PRIx64, what, debug_failure_text(t->bus->failure),
                    t->bus->fault_address);
    else
        message_set(why, "%s: %s", what, bt_strerror(error));
    return error;
}

/* The board file's value of a register, which is a wish. */
static uint32_t unit_wish(const struct config_core *core, const char *name, uint32_t otherwise)
{
    uint64_t value;
    return snapshot_reg(&core->source_device, name, &value) ? otherwise : (uint32_t)value;
}

/* What the board file says of the hardware and is not so. */
static void note_contradiction(struct trace_setup *t, unsigned i, const struct trace_register *r)
{
    uint64_t reported;
    const struct config_core *core = &t->config->cores[i];
    if (snapshot_reg(&core->source_device, r->name, &reported) ||
        ((reported ^ r->value) & r->mask) == 0)
        return;
    trace_setup_note(t,
                     "warning: core %s: %s is 0x%08" PRIx64 " in the board file, but 0x%08" PRIx32
                     " in the trace unit, which is used",
                     core->name, r->name, reported, r->value);
}

/* The type of a core's trace unit and its registers go into the configuration; what the board file
 * says otherwise is told. */
static int store_unit(struct trace_setup *t, unsigned i, const struct unit_description *d)
{
    struct config_core *core = &t->config->cores[i];
    int error = BT_OK;
    if (core->has_source && strcmp(core->source_device.type, d->type) != 0)
        trace_setup_note(t,
                         "warning: core %s: source is %s in the board file, but the trace unit is "
                         "%s, which is used",
                         core->name, core->source_device.type, d->type);
    const char *other = config_drop_registers(core, d->foreign);
    if (other)
        trace_setup_note(t,
                         "warning: core %s: %s is of another kind of trace unit than %s: it is not "
                         "used; %s is the register for wishes",
                         core->name, other, d->type, d->control);
    for (size_t k = 0; k < d->count && !error; k++) {
        note_contradiction(t, i, &d->list[k]);
        error = config_set_register(core, d->list[k].name, d->list[k].value);
    }
    return error ? error : config_set_source(t->config, i, d->type);
}

static struct coresight_etm_options etm_options_of(const struct trace_setup *t, unsigned i)
{
    static const uint8_t context[4] = {0, 1, 2, 4};
    const struct config_core *core = &t->config->cores[i];
    bool m = trace_setup_is_m_profile(core);
    uint32_t cr = unit_wish(core, "ETMCR", 0);
    bool stack = t->cores[i].kind == CORESIGHT_PTM && cr & CR_STACK;
    uint64_t id = 0;
    (void)config_trace_id(core, &id);
    return (struct coresight_etm_options){
        .ptm = t->cores[i].kind == CORESIGHT_PTM,
        .m_profile = m,
        .trace_id = (uint8_t)unit_wish(core, "ETMTRACEIDR", (uint32_t)id),
        .branch_broadcast = cr & CR_BROADCAST && !stack,
        .cycle_accurate = cr & CR_CYCLES && !m,
        .timestamps = cr & CR_TIMESTAMPS,
        .return_stack = stack,
        .context_id_bytes = m ? 0 : context[cr >> 14 & 3],
        .stall_level = cr & CR_STALL ? (uint8_t)unit_wish(core, "ETMFFLR", STALL_LEVEL) : 0,
        .sync_bytes = unit_wish(core, "ETMSYNCFR", 0),
    };
}

static int etm_store(struct trace_setup *t, unsigned i)
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
    const struct unit_description d = {type, "TRC", "ETMCR", list, sizeof list / sizeof *list};
    return store_unit(t, i, &d);
}

static void etm_take_state(struct trace_setup_core *core)
{
    core->control = core->etm.state.control;
    core->trace_id = core->etm.state.trace_id & 0x7f;
    core->sync_bytes = core->etm.state.sync;
}

/* Read as it is for a capture that is under way; else set, but not started. */
static int etm_ask(struct trace_setup *t, unsigned i)
{
    struct trace_setup_core *core = &t->cores[i];
    int error = coresight_etm_read(t->bus, core->unit, &core->etm.state);
    core->kind = (core->etm.state.id >> 8 & 0xf) == MAJOR_PFT ? CORESIGHT_PTM : CORESIGHT_ETM;
    if (error || t->config->attach)
        return error;
    core->etm.options = etm_options_of(t, i);
    return coresight_etm_program(t->bus, core->unit, &core->etm.options, &core->etm.state);
}

static int etm_take(struct trace_setup *t, unsigned i)
{
    struct trace_setup_core *core = &t->cores[i];
    int error = etm_ask(t, i);
    if (error)
        return error;
    if (t->config->attach) {
        if (core->etm.state.control & (CR_PROG | CR_POWER_DOWN))
            trace_setup_note(t, "core %s: the trace unit is not running: was it armed?",
                             t->config->cores[i].name);
        core->etm.state.control &= ~(CR_PROG | CR_POWER_DOWN);
    }
    etm_take_state(core);
    error = etm_store(t, i);
    if (t->config->attach) /* when it is programmed again it makes the same trace as before */
        core->etm.options = etm_options_of(t, i);
    return error;
}

static int etm_start(struct trace_setup *t, unsigned i)
{
    struct trace_setup_core *core = &t->cores[i];
    int error = coresight_etm_start(t->bus, core->unit, &core->etm.options, &core->etm.state);
    etm_take_state(core);
    return error;
}

static int etm_stop(struct trace_setup *t, unsigned i)
{
    return coresight_etm_stop(t->bus, t->cores[i].unit);
}

static bool etm_runs(const struct trace_setup *t, unsigned i)
{
    uint32_t control;
    return coresight_read(t->bus, t->cores[i].unit + ETMCR, &control) == BT_OK &&
           control == t->cores[i].control;
}

static const char *etm_failure(const struct trace_setup *t, unsigned i)
{
    (void)t, (void)i;
    return NULL;
}

static const struct trace_unit_ops trace_unit_etm = {
    .control = "ETMCR",
    .take = etm_take,
    .start = etm_start,
    .stop = etm_stop,
    .runs = etm_runs,
    .failure = etm_failure,
};

static struct coresight_etm4_options etm4_options_of(const struct trace_setup *t, unsigned i)
{
    const struct config_core *core = &t->config->cores[i];
    uint64_t id = 0;
    (void)config_trace_id(core, &id);
    struct coresight_etm4_options o = {
        .trace_id = (uint8_t)unit_wish(core, "TRCTRACEIDR", (uint32_t)id),
        .config = unit_wish(core, "TRCCONFIGR", 0) & CORESIGHT_ETM4_OPTIONS,
        .stall = unit_wish(core, "TRCSTALLCTLR", 0),
        .cycle_threshold = (uint16_t)unit_wish(core, "TRCCCCTLR", 0),
        .sync_log2 = (uint8_t)(unit_wish(core, "TRCSYNCPR", 0) & SYNC_MASK),
        .range_count = t->filter_count,
    };
    memcpy(o.ranges, t->filter, sizeof o.ranges);
    return o;
}

static void etm4_take_state(struct trace_setup_core *core)
{
    core->control = core->etm4.state.config;
    core->trace_id = core->etm4.state.trace_id & 0x7f;
    core->sync_bytes = coresight_etm4_sync_bytes(&core->etm4.state);
}

static int etm4_store(struct trace_setup *t, unsigned i)
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
    const struct unit_description d = {type, "ETM", "TRCCONFIGR", list, sizeof list / sizeof *list};
    return store_unit(t, i, &d);
}

/* What the trace will lack whatever is done here. */
static void etm4_note_hidden(struct trace_setup *t, unsigned i)
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

static int etm4_ask(struct trace_setup *t, unsigned i)
{
    struct trace_setup_core *core = &t->cores[i];
    if (t->config->attach)
        return coresight_etm4_read(t->bus, core->unit, &core->etm4.state);
    core->etm4.options = etm4_options_of(t, i);
    return coresight_etm4_program(t->bus, core->unit, &core->etm4.options, &core->etm4.state);
}

static int etm4_take(struct trace_setup *t, unsigned i)
{
    struct trace_setup_core *core = &t->cores[i];
    int error = etm4_ask(t, i);
    if (error)
        return error;
    if (t->config->attach && !core->etm4.state.enabled)
        trace_setup_note(t, "core %s: the trace unit is not running: was it armed?",
                         t->config->cores[i].name);
    etm4_note_hidden(t, i);
    etm4_take_state(core);
    error = etm4_store(t, i);
    if (t->config->attach) /* when it is programmed again it makes the same trace as before */
        core->etm4.options = etm4_options_of(t, i);
    return error;
}

static int etm4_start(struct trace_setup *t, unsigned i)
{
    struct trace_setup_core *core = &t->cores[i];
    struct coresight_etm4_options *o = &core->etm4.options;
    memcpy(o->ranges, t->filter, sizeof o->ranges);
    o->range_count = t->filter_count;
    int error = coresight_etm4_start(t->bus, core->unit, o, &core->etm4.state);
    etm4_take_state(core);
    return error;
}

static int etm4_stop(struct trace_setup *t, unsigned i)
{
    return coresight_etm4_stop(t->bus, t->cores[i].unit, &t->cores[i].etm4.state);
}

static bool etm4_runs(const struct trace_setup *t, unsigned i)
{
    return coresight_etm4_runs(t->bus, t->cores[i].unit, &t->cores[i].etm4.state);
}

static const char *etm4_failure(const struct trace_setup *t, unsigned i)
{
    return coresight_etm4_failure_text(t->cores[i].etm4.state.failure);
}

static const struct trace_unit_ops trace_unit_etm4 = {
    .control = "TRCCONFIGR",
    .take = etm4_take,
    .start = etm4_start,
    .stop = etm4_stop,
    .runs = etm4_runs,
    .failure = etm4_failure,
};

/* An MTB is its own buffer, which is started and read with it. */
static int mtb_take(struct trace_setup *t, unsigned i)
{
    const struct unit_description d = {.type = "MTB", .foreign = "ETM", .control = "mtb_memory"};
    if (t->config->attach && !coresight_mtb_runs(&t->buffer))
        trace_setup_note(t, "core %s: the MTB does not trace into mtb_memory: was it armed?",
                         t->config->cores[i].name);
    return store_unit(t, i, &d);
}

static int mtb_start(struct trace_setup *t, unsigned i)
{
    (void)t, (void)i;
    return BT_OK;
}

static int mtb_stop(struct trace_setup *t, unsigned i)
{
    (void)i;
    return coresight_mtb_stop(&t->buffer);
}

static bool mtb_runs(const struct trace_setup *t, unsigned i)
{
    (void)i;
    return coresight_mtb_runs(&t->buffer);
}

static const struct trace_unit_ops trace_unit_mtb = {
    .control = "MASTER",
    .take = mtb_take,
    .start = mtb_start,
    .stop = mtb_stop,
    .runs = mtb_runs,
    .failure = etm_failure,
};

/* NULL: there is no trace unit that could be used. */
static const struct trace_unit_ops *unit_ops_of(const struct trace_setup_core *core)
{
    return core->unit == 0                ? NULL
           : core->kind == CORESIGHT_ETM4 ? &trace_unit_etm4
           : core->kind == CORESIGHT_MTB  ? &trace_unit_mtb
                                          : &trace_unit_etm;
}

/* It cannot be "started" or "stopped". Fills *why, returns `error`. */
static int unit_failed(const struct trace_setup *t, unsigned i, int error, const char *what,
                       struct message *why)
{
    const char *name = t->config->cores[i].name;
    const char *failure = unit_ops_of(&t->cores[i])->failure(t, i);
    char text[128];
    if (failure)
        return message_fail(why, error, "the trace unit of core %s %s", name, failure);
    snprintf(text, sizeof text, "the trace unit of core %s cannot be %s", name, what);
    return trace_setup_failed(t, error, text, why);
}

static void note_unusable(struct trace_setup *t, unsigned i, int error)
{
    const struct trace_setup_core *core = &t->cores[i];
    const char *failure = unit_ops_of(core)->failure(t, i);
    if (!failure)
        failure = error == BT_ERR_UNSUPPORTED ? "is of a kind that is not supported"
                                              : trace_setup_reason(t, error);
    trace_setup_note(t, "core %s: no history: the trace unit at 0x%08" PRIx64 " %s",
                     t->config->cores[i].name, core->unit, failure);
}

int trace_setup_take_unit(struct trace_setup *t, unsigned i)
{
    struct trace_setup_core *core = &t->cores[i];
    const char *name = t->config->cores[i].name;
    const struct trace_unit_ops *ops = unit_ops_of(core);
    if (!ops) {
        trace_setup_note(t, "core %s: no history: this core has no trace unit", name);
        return BT_OK;
    }
    int error = ops->take(t, i);
    if (trace_setup_is_dead(t, error))
        return error;
    if (error)
        note_unusable(t, i, error);
    core->traced = !error;
    return BT_OK;
}

bool trace_setup_units_run(const struct trace_setup *t)
{
    bool good = true;
    for (unsigned i = 0; i < t->config->core_count && good; i++)
        if (t->cores[i].traced)
            good = unit_ops_of(&t->cores[i])->runs(t, i);
    return good;
}

int trace_setup_stop_units(struct trace_setup *t, struct message *why)
{
    int first = BT_OK;
    for (unsigned i = 0; i < t->config->core_count; i++) {
        int error = t->cores[i].traced ? unit_ops_of(&t->cores[i])->stop(t, i) : BT_OK;
        if (error && !first)
            first = unit_failed(t, i, error, "stopped", why);
    }
    return first;
}

/* All of them, or those whose next synchronisation would be long in coming: one that is started
 * begins with one. */
int trace_setup_start_units(struct trace_setup *t, bool scarce_only, struct message *why)
{
    for (unsigned i = 0; i < t->config->core_count; i++) {
        struct trace_setup_core *core = &t->cores[i];
        uint32_t before = core->control;
        if (!core->traced || (scarce_only && !core->scarce))
            continue;
        int error = unit_ops_of(core)->start(t, i);
        if (error)
            return unit_failed(t, i, error, "started", why);
        if (core->control != before)
            trace_setup_note(t,
                             "warning: core %s: %s reads 0x%08" PRIx32 ", and 0x%08" PRIx32
                             " before: its history may be wrong",
                             t->config->cores[i].name, unit_ops_of(core)->control, core->control,
                             before);
    }
    return BT_OK;
}
