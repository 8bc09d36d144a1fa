/* SPDX-License-Identifier: BSD-3-Clause */
#include "probe_board.h"

#include <stdlib.h>
#include <string.h>

#define DPIDR_SWV1 0x2ba01477u
#define DPIDR_SWV2 0x6ba02477u
#define IDCODE     0x4ba00477u
#define TARGETID   0x04530041u

void probe_board_nreset(struct probe_board *b, bool low)
{
    bool changes = b->held != low;
    b->held = low;
    if (changes && !low && !b->target.ap_count)
        coresight_model_reset(&b->system);
    else if (changes && b->target.ap_count && b->target.nreset)
        b->target.nreset(b->target.ctx, low);
}

int probe_board_power(struct probe_board *b, bool on)
{
    if (b->target.ap_count)
        return -1;
    if (on == !b->dap.dark)
        return 0;
    dap_model_power(&b->dap, on);
    coresight_model_power(&b->system, on);
    return 0;
}

void probe_board_run(struct probe_board *b)
{
    if (b->target.ap_count)
        b->target.run(b->target.ctx);
    else
        coresight_model_run(&b->system);
}

size_t probe_board_swo(struct probe_board *b, uint8_t *bytes, size_t size)
{
    return size && !b->target.ap_count ? coresight_model_swo(&b->system, bytes, size) : 0;
}

struct probe_port probe_board_port(const struct probe_board *b)
{
    const struct coresight_model *m = &b->system;
    struct probe_port p = {.width = coresight_model_width(m),
                           .manchester = m->tpiu.sppr == 1,
                           .baud = m->tpiu.sppr == 2 ? CS_TRACE_CLOCK / (m->tpiu.acpr + 1) : 0,
                           .holes = m->pins.holes};
    if (!b->target.ap_count)
        return p;
    p = (struct probe_port){0};
    if (b->target.port)
        b->target.port(b->target.ctx, &p);
    return p;
}

size_t probe_board_pins(struct probe_board *b, uint8_t *bytes, size_t size)
{
    if (!b->target.ap_count)
        return coresight_model_pins(&b->system, bytes, size);
    return b->target.pins ? b->target.pins(b->target.ctx, bytes, size) : 0;
}

static void nreset(void *ctx, bool low)
{
    probe_board_nreset(ctx, low);
}

/* What the pin could not keep is lost behind what it kept: the probe notices then. */
static size_t swo(void *ctx, uint8_t *bytes, size_t size)
{
    struct probe_board *b = ctx;
    unsigned before = b->system.pins.holes;
    size_t n = probe_board_swo(b, bytes, size);
    b->probe.swo.overrun |= b->system.pins.holes != before;
    return n;
}

static void init_aps(struct probe_board *b, const struct probe_system *t)
{
    b->target = *t;
    for (unsigned i = 0; i < t->ap_count; i++) {
        ap_model_init(&b->target_ap[i], &t->ap[i], &t->bus[i]);
        b->dap.ap[i] = &b->target_ap[i];
    }
}

static void init_target(struct probe_board *b, const struct probe_board_options *o)
{
    struct core_model core = core_sim_model(&b->sim);
    struct ap_model_options ap = {0};
    struct dap_options dap = {
        .dpidr = o->dpv2 ? DPIDR_SWV2 : DPIDR_SWV1,
        .idcode = IDCODE,
        .targetid = o->dpv2 ? TARGETID : 0,
        .wire = o->dpv2 ? DAP_WIRE_DORMANT : DAP_WIRE_JTAG,
        .power_reads = 2,
    };
    if (o->jtag)
        dap.wire = DAP_WIRE_JTAG;
    core_sim_init(&b->sim);
    coresight_model_init(&b->system, o->core ? o->core : &core);
    if (o->kind != CS_BY_CPUID || o->etm_pairs)
        coresight_model_become(&b->system, o->kind ? o->kind : b->system.kind, o->etm_pairs);
    ap.idr = coresight_model_ap(&b->system, &ap.increment_span);
    ap.base = coresight_model_base(&b->system);
    if (o->wrap_1k)
        ap.increment_span = 0x400;
    b->system.registers_at_once = o->registers_at_once;
    b->system.cpuid = o->cpuid;
    b->system.etm4 = o->etm4;
    b->system.resets_trace = o->resets_trace;
    struct model_bus bus = coresight_model_bus(&b->system);
    ap_model_init(&b->ap, &ap, &bus);
    dap_model_init(&b->dap, &dap);
    b->dap.ap[0] = &b->ap;
    if (o->target)
        init_aps(b, o->target);
}

/* It nests: a test bench may call back in the middle of a request. */
static void init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

int probe_board_init(struct probe_board *b, const struct probe_board_options *options)
{
    struct cmsis_dap_options probe = {
        .packet_size = options->packet_size ? options->packet_size : 512,
        .packet_count = options->packet_count ? options->packet_count : 4,
        .capabilities = CMSIS_DAP_CAP_SWD | CMSIS_DAP_CAP_JTAG | CMSIS_DAP_CAP_ATOMIC,
        .quirks = options->quirks,
        .timed = options->timed,
        .vendor = "btraced",
        .product = "Model CMSIS-DAP",
        .serial = "MODEL0001",
        .version = "1.0.0",
        .ctx = b,
        .nreset = nreset,
        .swo = swo,
    };
    if (options->swo != PROBE_SWO_NONE)
        probe.capabilities |= CMSIS_DAP_CAP_SWO_UART;
    if (options->swo == PROBE_SWO_STREAMED)
        probe.capabilities |= CMSIS_DAP_CAP_SWO_STREAM;
    memset(b, 0, sizeof *b);
    init_lock(&b->lock);
    init_target(b, options);
    b->system.swo_quiet = options->swo_quiet;
    b->system.parallel = options->parallel;
    uint32_t words = options->etb_words ? options->etb_words : CS_ETB_WORDS;
    if (coresight_model_set_etb(&b->system, options->no_etb ? 0 : words, options->tmc) < 0)
        return -1;
    if (options->mtb)
        coresight_model_set_mtb(&b->system);
    if (options->ring)
        coresight_model_set_ring(&b->system);
    b->system.ring.lose_after = options->ring_loses;
    if (cmsis_dap_init(&b->probe, &probe, &b->dap) < 0)
        return -1;
    return options->chain ? tap_chain_parse(&b->probe.chain, options->chain) : 0;
}

void probe_board_release(struct probe_board *b)
{
    coresight_model_release(&b->system);
    pthread_mutex_destroy(&b->lock);
}

static int queue_trace(struct probe_board *b, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint8_t byte = (uint8_t)i;
        if (core_sim_put_trace(&b->sim, &byte, 1) < 0)
            return -1;
    }
    return 0;
}

static int set_fault(struct probe_board *b, const char *name, size_t size, unsigned value)
{
    const struct {
        const char *name;
        unsigned *field;
    } fields[] = {
        {"wait", &b->dap.faults.wait},     {"fault", &b->dap.faults.fault},
        {"parity", &b->dap.faults.parity}, {"noack", &b->dap.faults.no_ack},
        {"skip", &b->dap.faults.skip},     {"overrun", &b->probe.swo.drop},
        {"pause", &b->probe.swo.pause},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strlen(fields[i].name) == size && memcmp(fields[i].name, name, size) == 0) {
            *fields[i].field = value;
            return 0;
        }
    }
    if (size == 5 && memcmp(name, "trace", 5) == 0)
        return queue_trace(b, value);
    if (!b->target.ap_count)
        return coresight_model_fault(&b->system, name, size, value);
    return b->target.fault ? b->target.fault(b->target.ctx, name, size, value) : -1;
}

int probe_board_faults(struct probe_board *b, const char *text)
{
    while (*text) {
        const char *equals = strchr(text, '=');
        char *end;
        if (!equals)
            return -1;
        unsigned long value = strtoul(equals + 1, &end, 0);
        if (end == equals + 1 || value > UINT32_MAX || (*end && *end != ','))
            return -1;
        if (set_fault(b, text, (size_t)(equals - text), (unsigned)value) < 0)
            return -1;
        text = *end ? end + 1 : end;
    }
    return 0;
}

void probe_board_report(const struct probe_board *b, FILE *out)
{
    const struct dap_counters *d = &b->dap.counters;
    const struct cs_counters *s = &b->system.counters;
    const struct etm4_counters *e = &b->system.etm4_unit.counters;
    const struct cmsis_dap_counters *p = &b->probe.counters;
    const struct {
        const char *name;
        unsigned value;
    } lines[] = {
        {"packets", p->packets},
        {"transfers", p->transfers},
        {"bus-us", (unsigned)(b->probe.bus_ns / 1000)},
        {"overruns", p->overruns},
        {"oversized", p->oversized},
        {"malformed", p->malformed},
        {"overflowed", p->overflowed},
        {"unknown", p->unknown},
        {"unconnected", p->unconnected},
        {"pin-waits", p->pin_waits},
        {"accesses", d->accesses},
        {"ap-accesses", d->ap_accesses},
        {"waits", d->waits},
        {"faults", d->faults},
        {"line-resets", d->line_resets},
        {"bad-requests", d->bad_requests},
        {"ignored", d->ignored},
        {"contention", d->contention},
        {"write-parity", d->write_parity},
        {"unpowered", d->unpowered},
        {"jtag-waits", d->jtag_waits},
        {"bus-errors", b->ap.bus_errors},
        {"unaligned", b->ap.unaligned},
        {"wraps", b->ap.wraps},
        {"locked-writes", s->locked_writes},
        {"ignored-writes", s->ignored_writes},
        {"sub-word", s->sub_word},
        {"bad-key", s->bad_key},
        {"maskints-races", s->maskints_races},
        {"running-accesses", s->running_accesses},
        {"untraced", s->untraced},
        {"resets", s->resets},
        {"mtb-unprogrammed", b->system.mtb.unprogrammed},
        {"ring-bad-writes", b->system.ring.bad_writes},
        {"halted", b->system.scs.halted},
        {"etm4-locked-writes", e->locked_writes},
        {"etm4-os-locked", e->os_locked},
        {"etm4-unpowered", e->unpowered},
        {"etm4-busy-writes", e->busy_writes},
        {"etm4-read-only", e->read_only},
        {"etm4-early", e->early},
        {"etm4-unprogrammed", e->unprogrammed},
        {"etm4-forbidden", e->forbidden},
        {"etm4-unmodelled", e->unmodelled},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        fprintf(out, "%s %u\n", lines[i].name, lines[i].value);
    if (b->target.report)
        b->target.report(b->target.ctx, out);
}
