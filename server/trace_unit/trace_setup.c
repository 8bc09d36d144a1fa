/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What there is of trace components, programming it, reading a buffer out, and address filters.
 * What trace on a Cortex-M needs beside its ETM: DDI 0403E.e C1.7, C1.8 and C1.10.
 */
#include "decoder/base/bytes.h"
#include "trace_setup_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
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
#define FUNNEL_PORTS   8u
#define DIVIDER_MAX    0x2000u
#define CHUNK_WORDS    1024u
#define SYNC_DEFAULT   1024u /* bytes between two synchronisations */
#define FORMS          "include START-END, exclude START-END, include none, exclude none, or none"

#define DEMCR         0xe000edfcu
#define DEMCR_TRCENA  0x01000000u
#define DWT           0xe0001000u
#define DWT_CTRL      0x000u
#define DWT_TAP_MASK  0x00000c01u
#define DWT_TAP       0x00000401u /* CYCCNTENA, SYNCTAP at its shortest */
#define ITM           0xe0000000u
#define ITM_LAST_PORT 31u
#define ITM_TER       0xe00u
#define ITM_TCR       0xe80u
#define ITM_ENABLE    0x00000001u
#define ITM_BUSY      0x00800000u
#define ITM_OWN       (TRACE_SETUP_PUSH_ID << 16 | ITM_ENABLE)
#define PUSH_WORDS    4u /* of 5 bytes each: more than any frame holds */

int trace_setup_init_write(struct coresight_bus *bus, const struct config_setup *line)
{
    if (line->how == CONFIG_SETUP_WRITE)
        return coresight_write(bus, line->address, line->value);
    return coresight_modify(bus, line->address, line->value,
                            line->how == CONFIG_SETUP_SET ? line->value : 0);
}

void trace_setup_init_try(struct coresight_bus *bus, const struct config *config)
{
    for (unsigned i = 0; i < config->setup_count; i++)
        (void)trace_setup_init_write(bus, &config->setup[i]);
}

/* Cortex-M: without this bit trace components are not there. */
static int enable_trace(struct trace_setup *t)
{
    return coresight_modify(t->bus, DEMCR, DEMCR_TRCENA, DEMCR_TRCENA);
}

/* Cortex-M: frame syncs now and then, for those who come late. */
static int enable_syncs(struct trace_setup *t)
{
    int error = coresight_unlock(t->bus, DWT);
    return error ? error : coresight_modify(t->bus, DWT + DWT_CTRL, DWT_TAP_MASK, DWT_TAP);
}

static int put_words(struct trace_setup *t)
{
    const uint64_t port = ITM + 4 * (uint64_t)ITM_LAST_PORT;
    int error = BT_OK;
    for (unsigned k = 0; !error && k < PUSH_WORDS; k++) {
        error = coresight_poll(t->bus, port, 1, 1);
        if (!error)
            error = coresight_write(t->bus, port, 0);
    }
    return error ? error : coresight_poll(t->bus, ITM + ITM_TCR, ITM_BUSY, 0);
}

/* An ITM of ours, or that nobody uses, has another trace ID meanwhile; the ID may change while it
 * is off and has sent all. */
static int lend_itm(struct trace_setup *t, uint32_t control)
{
    int error = BT_OK;
    if (control & ITM_ENABLE && !t->itm.wanted)
        return BT_OK;
    if (control & ITM_ENABLE)
        error = coresight_write(t->bus, ITM + ITM_TCR, control & ~(ITM_BUSY | ITM_ENABLE));
    if (!error)
        error = coresight_poll(t->bus, ITM + ITM_TCR, ITM_BUSY, 0);
    return error ? error : coresight_write(t->bus, ITM + ITM_TCR, ITM_OWN);
}

/* Cortex-M: the port keeps the last frame until it is full. Other bytes push it out, by way of the
 * ITM, whose state is put back. A program that uses the ITM keeps its settings: only its last port
 * is opened for a moment. */
static int push_out_frame(struct trace_setup *t)
{
    uint32_t control = 0, ports = 0;
    int error = coresight_unlock(t->bus, ITM);
    if (!error)
        error = coresight_read(t->bus, ITM + ITM_TCR, &control);
    if (!error)
        error = coresight_read(t->bus, ITM + ITM_TER, &ports);
    if (!error)
        error = coresight_write(t->bus, ITM + ITM_TER, ports | 1u << ITM_LAST_PORT);
    if (!error)
        error = lend_itm(t, control);
    if (!error)
        error = put_words(t);
    if ((control & ITM_ENABLE) == 0 || t->itm.wanted) {
        (void)coresight_write(t->bus, ITM + ITM_TCR, ITM_OWN & ~ITM_ENABLE);
        (void)coresight_write(t->bus, ITM + ITM_TCR, control & ~ITM_BUSY);
    }
    (void)coresight_write(t->bus, ITM + ITM_TER, ports);
    return error;
}

struct found {
    struct coresight_component list[MAX_COMPONENTS];
    unsigned count;
};

/* What a sink is, in the hardware and in words; its address in the board file. */
struct sink_kind {
    enum coresight_kind kind;
    const char *name, *key;
    size_t address;
};

static const struct sink_kind *sink_kind_of(unsigned sink)
{
#define ADDRESS_OF(part) offsetof(struct config_coresight, part)
    static const struct sink_kind kinds[] = {
        [CONFIG_SINK_ETB] = {CORESIGHT_ETB, "ETB", "etb", ADDRESS_OF(etb)},
        [CONFIG_SINK_TMC] = {CORESIGHT_TMC, "TMC", "tmc", ADDRESS_OF(tmc)},
        [CONFIG_SINK_MTB] = {CORESIGHT_MTB, "MTB", "mtb", ADDRESS_OF(mtb)},
        [CONFIG_SINK_RING] = {CORESIGHT_OTHER, "memory ring", NULL, ADDRESS_OF(tpiu)},
        [CONFIG_SINK_TPIU] = {CORESIGHT_TPIU, "TPIU", "tpiu or swo", ADDRESS_OF(tpiu)},
        [CONFIG_SINK_SWO] = {CORESIGHT_TPIU, "TPIU", NULL, ADDRESS_OF(tpiu)},
    };
    return sink < sizeof kinds / sizeof *kinds ? &kinds[sink] : NULL;
}

static uint64_t named_sink(const struct config *c)
{
    uint64_t address;
    memcpy(&address, (const char *)&c->coresight + sink_kind_of(c->sink)->address, sizeof address);
    return address;
}

/* With all addresses in the board file nothing else is touched. */
static bool is_complete(const struct config *c)
{
    bool units = config_is_itm_alone(c) || c->sink == CONFIG_SINK_MTB;
    bool sink = named_sink(c) != 0;
    for (unsigned i = 0; i < c->core_count && sink && !units; i++)
        sink = c->cores[i].trace_unit != 0;
    return sink;
}

static int scan_table(struct trace_setup *t, uint64_t rom, struct found *found)
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

static bool is_taken_unit(const struct trace_setup *t, uint64_t base)
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
            if (!is_unit(coresight_kind_of(one)) || is_taken_unit(t, one->base))
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
    t->sink = either(named_sink(t->config), first_of(found, sink_kind_of(t->config->sink)->kind));
    if (t->config->sink == CONFIG_SINK_MTB) {
        t->cores[0].unit = t->sink;
        t->cores[0].kind = CORESIGHT_MTB;
    }
    if (t->sink != tpiu && !t->m_profile)
        t->tpiu = tpiu;
    t->replicator = either(c->replicator, first_of(found, CORESIGHT_REPLICATOR));
}

static const char *sink_name(const struct config *c)
{
    return sink_kind_of(c->sink)->name;
}

/* What else could be the sink, for the one whose board file names another. */
static void note_no_sink(struct trace_setup *t, const struct found *found)
{
    const struct sink_kind *kind;
    char others[80] = "";
    for (unsigned sink = CONFIG_SINK_ETB; (kind = sink_kind_of(sink)); sink++) {
        size_t used = strlen(others);
        if (kind->key && first_of(found, kind->kind))
            snprintf(others + used, sizeof others - used, "%s%s",
                     used ? ", " : "; there is: sink = ", kind->key);
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

static int open_buffer(struct trace_setup *t)
{
    const struct config_coresight *c = &t->config->coresight;
    const struct config_range *etr = &c->etr_memory, *mtb = &c->mtb_memory;
    const struct coresight_ring tell = {c->ring_position, c->ring_overflow, c->ring_overflow_bits};
    if (t->config->sink == CONFIG_SINK_MTB)
        return coresight_buffer_init_mtb(&t->buffer, t->bus, t->sink, mtb->address, mtb->size);
    if (t->config->sink == CONFIG_SINK_RING)
        return coresight_buffer_init_ring(&t->buffer, t->bus, t->sink, c->ring_memory.address,
                                          c->ring_memory.size, &tell);
    int error =
        coresight_buffer_init(&t->buffer, t->bus, t->sink, t->config->sink == CONFIG_SINK_TMC);
    if (error == BT_ERR_UNSUPPORTED && etr->size)
        error = coresight_buffer_init_etr(&t->buffer, t->bus, t->sink, etr->address, etr->size);
    return error;
}

static int open_sink(struct trace_setup *t, const struct found *found)
{
    if (!t->sink) {
        note_no_sink(t, found);
        return BT_OK;
    }
    if (sink_kind_of(t->config->sink)->kind == CORESIGHT_TPIU)
        return open_port(t);
    int error = open_buffer(t);
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
                     : error == BT_ERR_RANGE ? "mtb_memory is not in the RAM that it writes to"
                                             : trace_setup_reason(t, error));
    t->sink = 0;
    return BT_OK;
}

static int find_components(struct trace_setup *t, uint64_t rom, struct found *found)
{
    int error = t->m_profile ? enable_trace(t) : BT_OK;
    if (!error)
        error = scan_table(t, rom, found);
    if (!error)
        error = take_units(t, found);
    if (error)
        return error;
    take_funnels(t, found);
    take_sink(t, found);
    error = open_sink(t, found);
    bool alone = config_is_itm_alone(t->config);
    for (unsigned i = 0; i < t->config->core_count && !error && t->sink && !alone; i++)
        error = trace_setup_take_unit(t, i);
    return error || !t->sink ? error : trace_setup_take_itm(t);
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
    int error = found ? find_components(t, rom, found) : BT_ERR_NOMEM;
    free(found);
    for (unsigned i = 0; i < config->core_count; i++) {
        config->cores[i].has_source = t->cores[i].traced && !error;
        t->history |= config->cores[i].has_source;
    }
    t->itm.wanted &= !error;
    t->history |= t->itm.wanted;
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
                 (size_t)t->buffer.words * 4, t->buffer.ring ? t->buffer.store : t->sink);
    else if (t->config->sink == CONFIG_SINK_SWO)
        snprintf(text, size, "SWO, %u bits/s", t->config->swo_rate);
    else
        snprintf(text, size, "TPIU, %u pins", t->config->tpiu_width);
    return text;
}

static bool has_buffer(const struct trace_setup *t)
{
    return t->words;
}

/* The nearest whole divider must be near enough for a receiver: 3 %. */
static int start_swo(struct trace_setup *t, struct message *why)
{
    const struct config *c = t->config;
    uint32_t divider = (c->trace_clock + c->swo_rate / 2) / c->swo_rate;
    uint32_t rate = c->trace_clock / (divider ? divider : 1);
    uint32_t off = rate > c->swo_rate ? rate - c->swo_rate : c->swo_rate - rate;
    if (divider == 0 || divider > DIVIDER_MAX || (uint64_t)off * 100 > (uint64_t)c->swo_rate * 3)
        return message_fail(why, BT_ERR_RANGE,
                            "swo_rate = %u cannot be made of trace_clock = %u: the nearest is %u",
                            c->swo_rate, c->trace_clock, rate);
    int error = coresight_tpiu_swo(t->bus, t->sink, divider, c->formatted);
    return error ? trace_setup_failed(t, error, "the TPIU cannot be set to SWO", why) : BT_OK;
}

static int start_buffer(struct trace_setup *t, struct message *why)
{
    int error = coresight_buffer_start(&t->buffer);
    if (error == BT_ERR_RANGE)
        message_set(why, "mtb_memory is larger than the RAM that the MTB writes to");
    else if (error)
        trace_setup_failed(t, error, "the trace buffer cannot be started", why);
    return error;
}

static int start_sink(struct trace_setup *t, struct message *why)
{
    int error;
    if (has_buffer(t))
        return start_buffer(t, why);
    error = t->m_profile && !t->full_tpiu ? enable_syncs(t) : BT_OK;
    if (error)
        return trace_setup_failed(t, error, "frame syncs cannot be switched on", why);
    if (t->config->sink == CONFIG_SINK_SWO)
        return start_swo(t, why);
    error = coresight_tpiu_parallel(t->bus, t->sink, !t->full_tpiu, t->config->tpiu_width);
    if (error == BT_ERR_UNSUPPORTED)
        message_set(why, "the TPIU has no port of tpiu_width = %u pins", t->config->tpiu_width);
    else if (error)
        trace_setup_failed(t, error, "the TPIU cannot be set up", why);
    return error;
}

/* Which port of which funnel leads where is known only if the board file tells: then one funnel
 * has one port a core; else all ports are open, and silent sources do no harm. */
static int open_funnels(struct trace_setup *t)
{
    int error = BT_OK;
    for (unsigned f = 0; f < t->funnel_count; f++) {
        for (unsigned port = 0; port < FUNNEL_PORTS && !error; port++) {
            bool wanted = t->funnel_count > 1 || t->itm.wanted;
            for (unsigned i = 0; i < t->config->core_count; i++)
                wanted |=
                    t->cores[i].traced && (t->config->cores[i].funnel_port == port ||
                                           t->config->cores[i].funnel_port == CONFIG_ALL_PORTS);
            if (wanted)
                error = coresight_funnel_enable(t->bus, t->funnels[f], port);
        }
    }
    return error;
}

int trace_setup_program(struct trace_setup *t, struct message *why)
{
    if (!t->history)
        return BT_OK;
    t->programmed = false;
    int error = t->m_profile ? enable_trace(t) : BT_OK;
    if (error)
        return trace_setup_failed(t, error, "trace cannot be enabled in DEMCR", why);
    if (t->tpiu)
        (void)coresight_tpiu_stop(t->bus, t->tpiu); /* without a clock it holds nothing up either */
    error = start_sink(t, why);
    if (error)
        return error;
    if (t->config->sink == CONFIG_SINK_MTB && t->collected == TRACE_SETUP_ON)
        t->collected = TRACE_SETUP_ANEW;
    if (t->config->coresight.etf)
        error = coresight_etf_pass(t->bus, t->config->coresight.etf);
    if (!error && t->replicator)
        error =
            coresight_replicator_pass(t->bus, t->replicator, t->config->coresight.replicator_port);
    if (!error)
        error = open_funnels(t);
    if (error)
        return trace_setup_failed(t, error, "ETF, funnel or replicator cannot be set up", why);
    error = trace_setup_start_units(t, false, why);
    if (!error && t->itm.wanted)
        error = trace_setup_start_itm(t, why);
    t->programmed = !error;
    return error;
}

bool trace_setup_runs(const struct trace_setup *t)
{
    return t->programmed && trace_setup_units_run(t) &&
           (!t->itm.wanted || coresight_itm_runs(t->bus, &t->itm.options, &t->itm.state));
}

int trace_setup_stop(struct trace_setup *t, struct message *why)
{
    int itm = t->itm.wanted ? trace_setup_stop_itm(t, why) : BT_OK;
    t->programmed = false;
    int units = trace_setup_stop_units(t, why);
    return units ? units : itm;
}

static void deliver_words(const uint32_t *words, size_t count, const struct trace_sink *sink)
{
    uint8_t bytes[4 * CHUNK_WORDS];
    while (count > 0) {
        size_t n = count < CHUNK_WORDS ? count : CHUNK_WORDS;
        for (size_t i = 0; i < n; i++)
            bytes_set_word(bytes + 4 * i, words[i]);
        sink->bytes(sink->user, bytes, 4 * n);
        words += n;
        count -= n;
    }
}

static int push_out(struct trace_setup *t, struct message *why)
{
    int error = BT_OK;
    if (!t->config->formatted) /* each byte goes out as it comes */
        return BT_OK;
    if (!t->m_profile)
        error = coresight_tpiu_drain(t->bus, t->sink);
    else if (t->full_tpiu)
        error = coresight_tpiu_flush(t->bus, t->sink);
    if (!error && t->m_profile)
        error = push_out_frame(t);
    return error ? trace_setup_failed(t, error, "the last trace stays in the port", why) : BT_OK;
}

static void count_run(void *ctx, const struct formatter_run *run)
{
    struct trace_setup *t = ctx;
    for (unsigned i = 0; i < t->config->core_count && run->kind == FORMATTER_DATA; i++)
        if (t->cores[i].trace_id == run->id)
            t->cores[i].bytes += run->len;
}

/* One unit can push another one's trace out of the buffer, with all its synchronisations. */
static void note_scarce(struct trace_setup *t, const struct coresight_buffer_content *content)
{
    struct formatter frames;
    formatter_init(&frames, FORMATTER_ALIGNED);
    for (unsigned i = 0; i < t->config->core_count; i++)
        t->cores[i].bytes = 0;
    if (!t->config->formatted) /* of one */
        return;
    for (size_t k = 0; k < content->words && content->wrapped; k++) {
        const uint32_t w = t->words[k];
        const uint8_t bytes[4] = {(uint8_t)w, (uint8_t)(w >> 8), (uint8_t)(w >> 16),
                                  (uint8_t)(w >> 24)};
        formatter_feed(&frames, bytes, sizeof bytes, count_run, t);
    }
    for (unsigned i = 0; i < t->config->core_count; i++) {
        struct trace_setup_core *core = &t->cores[i];
        uint32_t sync = core->sync_bytes ? core->sync_bytes : SYNC_DEFAULT;
        core->scarce = content->overflowed || (content->wrapped && core->bytes < 2 * (size_t)sync);
    }
}

int trace_setup_collect(struct trace_setup *t, const struct trace_sink *sink, struct message *why)
{
    struct coresight_buffer_content content;
    if (!t->history)
        return BT_OK;
    if (!has_buffer(t))
        return push_out(t, why);
    int error = coresight_buffer_stop(&t->buffer);
    if (!error)
        error = coresight_buffer_read(&t->buffer, t->words, &content);
    if (error) {
        sink->lost(sink->user, BT_GAP_LOST_BYTES);
        return trace_setup_failed(t, error, "the trace buffer cannot be read", why);
    }
    note_scarce(t, &content);
    if (t->collected == TRACE_SETUP_ANEW)
        sink->lost(sink->user, BT_GAP_TRACE_ON);
    t->collected = TRACE_SETUP_ON;
    if (content.overflowed)
        sink->lost(sink->user, BT_GAP_OVERFLOW);
    if (content.wrapped)
        sink->lost(sink->user, BT_GAP_OVERWRITTEN);
    deliver_words(t->words, content.words, sink);
    if (content.unclean)
        sink->lost(sink->user, BT_GAP_WIRE);
    return BT_OK;
}

int trace_setup_rearm(struct trace_setup *t, struct message *why)
{
    if (!t->history || !has_buffer(t))
        return BT_OK;
    int error = start_buffer(t, why);
    return error ? error : trace_setup_start_units(t, true, why);
}

struct filter {
    struct coresight_etm4_range list[CORESIGHT_ETM4_RANGES + 1]; /* one more than there can be */
    unsigned count;
};

static void filter_drop(struct filter *f, bool exclude)
{
    unsigned kept = 0;
    for (unsigned k = 0; k < f->count; k++)
        if (f->list[k].exclude != exclude)
            f->list[kept++] = f->list[k];
    f->count = kept;
}

/* Digits only: strtoull() takes signs and blanks, too. */
static bool filter_parse_address(const char **text, uint64_t *address)
{
    char *end;
    if (**text < '0' || **text > '9')
        return false;
    errno = 0;
    *address = strtoull(*text, &end, 0);
    *text = end;
    return errno == 0;
}

static bool filter_add(struct filter *f, const char *text, bool exclude)
{
    struct coresight_etm4_range r = {.exclude = exclude};
    if (!filter_parse_address(&text, &r.first) || *text++ != '-' ||
        !filter_parse_address(&text, &r.last) || *text != '\0' || r.first > r.last)
        return false;
    if (f->count < sizeof f->list / sizeof *f->list)
        f->list[f->count++] = r;
    return true;
}

static bool filter_change(struct filter *f, const char *text)
{
    bool exclude = strncmp(text, "exclude ", 8) == 0;
    if (strcmp(text, "none") == 0) {
        f->count = 0;
        return true;
    }
    if (!exclude && strncmp(text, "include ", 8) != 0)
        return false;
    if (strcmp(text + 8, "none") == 0) {
        filter_drop(f, exclude);
        return true;
    }
    return filter_add(f, text + 8, exclude);
}

bool trace_setup_filter_is_good(const char *text)
{
    struct filter f = {.count = 0};
    return filter_change(&f, text);
}

/* Can the trace unit of this core do it? */
static int filter_check(const struct trace_setup *t, unsigned i, unsigned count,
                        struct message *why)
{
    const struct trace_setup_core *core = &t->cores[i];
    const struct config_core *c = &t->config->cores[i];
    unsigned ranges = core->kind == CORESIGHT_ETM4 ? coresight_etm4_ranges(&core->etm4.state) : 0;
    if (!core->traced || count <= ranges)
        return BT_OK;
    if (core->kind != CORESIGHT_ETM4)
        message_set(why,
                    "the trace unit of core %s is %s, which is programmed to trace all addresses: "
                    "only an ETMv4 and a virtual board have filters",
                    c->name, c->source_device.type);
    else if (ranges == 0)
        message_set(why,
                    "the trace unit of core %s has no address comparators: it traces all addresses",
                    c->name);
    else
        message_set(why,
                    "the trace unit of core %s has comparators for %u ranges, all in use: 'trace "
                    "filter none' frees them",
                    c->name, ranges);
    return core->kind == CORESIGHT_ETM4 && ranges ? BT_ERR_RANGE : BT_ERR_UNSUPPORTED;
}

static void filter_describe(const struct filter *f, struct message *why)
{
    size_t used = 0;
    char text[sizeof why->text];
    for (unsigned k = 0; k < f->count && used < sizeof text; k++)
        used += (size_t)snprintf(
            text + used, sizeof text - used, "%s%s 0x%08" PRIx64 "-0x%08" PRIx64, k ? ", " : "",
            f->list[k].exclude ? "exclude" : "include", f->list[k].first, f->list[k].last);
    if (f->count)
        message_set(why, "the filter is set: %s", text);
    else
        message_set(why, "no filter: all addresses are traced");
}

int trace_setup_filter(struct trace_setup *t, const char *text, struct message *why)
{
    struct filter f = {.count = t->filter_count};
    memcpy(f.list, t->filter, sizeof t->filter);
    if (!filter_change(&f, text))
        return message_fail(why, BT_ERR_INVAL, "trace filter " FORMS ", not '%s'", text);
    if (!t->history)
        return message_fail(why, BT_ERR_UNSUPPORTED,
                            "nothing is traced: 'monitor trace status' says why");
    for (unsigned i = 0; i < t->config->core_count; i++) {
        int error = filter_check(t, i, f.count, why);
        if (error)
            return error;
    }
    memcpy(t->filter, f.list, sizeof t->filter);
    t->filter_count = f.count;
    t->programmed = false;
    filter_describe(&f, why);
    return BT_OK;
}
