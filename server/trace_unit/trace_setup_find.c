/* SPDX-License-Identifier: BSD-3-Clause */
/* What there is: components, and what the trace units say of themselves. */
#include "trace_setup_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COMPONENTS 128
#define M_ROM          0xe00ff000u
#define ROM_VALID      3u
#define UNIT_ID        0x1e4u
#define MAJOR_ETM4     4u
#define TPIU_FULL      0x912u /* parts: of a system, with stop and flush */
#define TPIU_FULL_600  0x9e7u

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

const char *trace_setup_reason(const struct trace_setup *t, int error)
{
    return error == BT_ERR_IO ? debug_failure_text(t->bus->failure) : bt_strerror(error);
}

bool trace_setup_is_dead(const struct trace_setup *t, int error)
{
    return error == BT_ERR_NOMEM || (error == BT_ERR_IO && t->bus->failure == DEBUG_FAIL_PROBE);
}

struct found {
    struct coresight_component list[MAX_COMPONENTS];
    unsigned count;
};

/* With all addresses in the board file nothing else is touched. */
static bool is_complete(const struct config *c)
{
    bool sink = c->sink == CONFIG_SINK_ETB   ? c->coresight.etb != 0
                : c->sink == CONFIG_SINK_TMC ? c->coresight.tmc != 0
                                             : c->coresight.tpiu != 0;
    for (unsigned i = 0; i < c->core_count && sink; i++)
        sink = c->cores[i].trace_unit != 0;
    return sink;
}

static int scan(struct trace_setup *t, uint64_t rom, struct found *found)
{
    const struct config *c = t->config;
    if (is_complete(c))
        return BT_OK;
    if (c->coresight.rom)
        rom = c->coresight.rom;
    if (!rom && t->m_profile)
        rom = M_ROM;
    if (!rom) {
        trace_setup_note(t, "the place of the ROM table is not known: [coresight] rom is missing");
        return BT_OK;
    }
    int n = coresight_scan(t->bus, rom | ROM_VALID, found->list, MAX_COMPONENTS);
    if (n >= 0)
        found->count = (unsigned)n;
    else if (trace_setup_is_dead(t, n))
        return n;
    else
        trace_setup_note(t, "the ROM table at 0x%08" PRIx64 " cannot be read: %s", rom,
                         trace_setup_reason(t, n));
    return BT_OK;
}

static uint64_t first_of(const struct found *found, enum coresight_kind kind)
{
    for (unsigned i = 0; i < found->count; i++)
        if (coresight_kind_of(&found->list[i]) == kind)
            return found->list[i].base;
    return 0;
}

static uint64_t either(uint64_t reported, uint64_t seen)
{
    return reported ? reported : seen;
}

static void take_funnels(struct trace_setup *t, const struct found *found)
{
    if (t->config->coresight.funnel) {
        t->funnels[t->funnel_count++] = t->config->coresight.funnel;
        return;
    }
    for (unsigned i = 0; i < found->count && t->funnel_count < TRACE_SETUP_FUNNELS; i++)
        if (coresight_kind_of(&found->list[i]) == CORESIGHT_FUNNEL)
            t->funnels[t->funnel_count++] = found->list[i].base;
}

static bool is_unit(enum coresight_kind kind)
{
    return kind == CORESIGHT_ETM || kind == CORESIGHT_PTM || kind == CORESIGHT_ETM4;
}

static bool is_taken(const struct trace_setup *t, uint64_t base)
{
    for (unsigned i = 0; i < t->config->core_count; i++)
        if (t->cores[i].unit == base)
            return true;
    return false;
}

/* Some ETMv4 name no architecture, and parts are many: TRCIDR1, which is ETMIDR of older units. */
static enum coresight_kind kind_of_unit(struct trace_setup *t,
                                        const struct coresight_component *one)
{
    enum coresight_kind kind = coresight_kind_of(one);
    uint32_t id = 0;
    if (kind != CORESIGHT_OTHER || coresight_read(t->bus, one->base + UNIT_ID, &id))
        return kind;
    return (id >> 8 & 0xf) == MAJOR_ETM4 ? CORESIGHT_ETM4 : kind;
}

/* Units that the board file names first; the others go to the cores in the order of both. */
static int take_units(struct trace_setup *t, const struct found *found)
{
    const struct config *c = t->config;
    for (unsigned i = 0; i < c->core_count; i++) {
        struct coresight_component one;
        t->cores[i].kind = CORESIGHT_OTHER;
        t->cores[i].unit = c->cores[i].trace_unit;
        if (!t->cores[i].unit)
            continue;
        int error = coresight_identify(t->bus, t->cores[i].unit, &one);
        if (trace_setup_is_dead(t, error))
            return error;
        if (!error)
            t->cores[i].kind = kind_of_unit(t, &one);
    }
    unsigned next = 0;
    for (unsigned i = 0; i < c->core_count; i++) {
        while (!t->cores[i].unit && next < found->count) {
            const struct coresight_component *one = &found->list[next++];
            if (!is_unit(coresight_kind_of(one)) || is_taken(t, one->base))
                continue;
            t->cores[i].unit = one->base;
            t->cores[i].kind = coresight_kind_of(one);
        }
    }
    return BT_OK;
}

static void take_sink(struct trace_setup *t, const struct found *found)
{
    const struct config_coresight *c = &t->config->coresight;
    uint64_t tpiu = either(c->tpiu, first_of(found, CORESIGHT_TPIU));
    if (t->config->sink == CONFIG_SINK_ETB)
        t->sink = either(c->etb, first_of(found, CORESIGHT_ETB));
    else if (t->config->sink == CONFIG_SINK_TMC)
        t->sink = either(c->tmc, first_of(found, CORESIGHT_TMC));
    else
        t->sink = tpiu;
    if (t->sink != tpiu && !t->m_profile)
        t->tpiu = tpiu;
    t->replicator = either(c->replicator, first_of(found, CORESIGHT_REPLICATOR));
}

static const char *sink_name(const struct config *c)
{
    return c->sink == CONFIG_SINK_ETB ? "ETB" : c->sink == CONFIG_SINK_TMC ? "TMC" : "TPIU";
}

/* What else could be the sink, for the one whose board file names another. */
static void note_no_sink(struct trace_setup *t, const struct found *found)
{
    static const struct {
        enum coresight_kind kind;
        const char *sink;
    } sinks[] = {{CORESIGHT_ETB, "etb"}, {CORESIGHT_TMC, "tmc"}, {CORESIGHT_TPIU, "tpiu or swo"}};
    char others[80] = "";
    for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++) {
        size_t used = strlen(others);
        if (first_of(found, sinks[i].kind))
            snprintf(others + used, sizeof others - used, "%s%s",
                     used ? ", " : "; there is: sink = ", sinks[i].sink);
    }
    trace_setup_note(t, "no history: this chip has no %s%s", sink_name(t->config), others);
}

/* A Cortex-M has a small TPIU of its own, or its system has a full one. */
static int open_port(struct trace_setup *t)
{
    struct coresight_component one = {0};
    t->full_tpiu = true;
    int error = t->m_profile ? coresight_identify(t->bus, t->sink, &one) : BT_OK;
    if (t->m_profile)
        t->full_tpiu =
            one.designer == CORESIGHT_ARM && (one.part == TPIU_FULL || one.part == TPIU_FULL_600);
    return trace_setup_is_dead(t, error) ? error : BT_OK;
}

static int open_sink(struct trace_setup *t, const struct found *found)
{
    bool tmc = t->config->sink == CONFIG_SINK_TMC;
    if (!t->sink) {
        note_no_sink(t, found);
        return BT_OK;
    }
    if (!tmc && t->config->sink != CONFIG_SINK_ETB)
        return open_port(t);
    const struct config_range *memory = &t->config->coresight.etr_memory;
    int error = coresight_buffer_init(&t->buffer, t->bus, t->sink, tmc);
    if (error == BT_ERR_UNSUPPORTED && memory->size)
        error =
            coresight_buffer_init_etr(&t->buffer, t->bus, t->sink, memory->address, memory->size);
    if (!error) {
        t->words = malloc(t->buffer.words * sizeof *t->words);
        return t->words ? BT_OK : BT_ERR_NOMEM;
    }
    if (trace_setup_is_dead(t, error))
        return error;
    trace_setup_note(t, "no history: the %s at 0x%08" PRIx64 " cannot be used: %s",
                     sink_name(t->config), t->sink,
                     error == BT_ERR_UNSUPPORTED
                         ? "it stores into the system's memory, and [coresight] has no etr_memory"
                     : error == BT_ERR_INVAL ? "etr_memory must be a multiple of 16, at most 64 MB"
                                             : trace_setup_reason(t, error));
    t->sink = 0;
    return BT_OK;
}

static int look(struct trace_setup *t, uint64_t rom, struct found *found)
{
    int error = t->m_profile ? trace_setup_enable_trace(t) : BT_OK;
    if (!error)
        error = scan(t, rom, found);
    if (!error)
        error = take_units(t, found);
    if (error)
        return error;
    take_funnels(t, found);
    take_sink(t, found);
    error = open_sink(t, found);
    for (unsigned i = 0; i < t->config->core_count && !error && t->sink; i++)
        error = trace_setup_take_unit(t, i);
    return error;
}

int trace_setup_discover(struct trace_setup *t, struct coresight_bus *bus, struct config *config,
                         uint64_t rom, struct message *why)
{
    memset(t, 0, sizeof *t);
    t->bus = bus;
    t->config = config;
    t->m_profile = config->core_count > 0 && trace_setup_is_m_profile(&config->cores[0]);
    if (!config_programs_trace(config))
        return BT_OK;
    struct found *found = calloc(1, sizeof *found);
    int error = found ? look(t, rom, found) : BT_ERR_NOMEM;
    free(found);
    for (unsigned i = 0; i < config->core_count; i++) {
        config->cores[i].has_source = t->cores[i].traced && !error;
        t->history |= config->cores[i].has_source;
    }
    if (error)
        message_set(why, "the trace components cannot be read: %s", trace_setup_reason(t, error));
    return error;
}

void trace_setup_release(struct trace_setup *t)
{
    free(t->words);
    memset(t, 0, sizeof *t);
}

const char *trace_setup_describe_sink(const struct trace_setup *t, char *text, size_t size)
{
    if (!t->sink)
        snprintf(text, size, "none");
    else if (t->words)
        snprintf(text, size, "%s, %zu bytes at 0x%08" PRIx64, sink_name(t->config),
                 (size_t)t->buffer.words * 4, t->sink);
    else if (t->config->sink == CONFIG_SINK_SWO)
        snprintf(text, size, "SWO, %u bits/s", t->config->swo_rate);
    else
        snprintf(text, size, "TPIU, %u pins", t->config->tpiu_width);
    return text;
}
