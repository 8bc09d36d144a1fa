/* SPDX-License-Identifier: BSD-3-Clause */
#include "system_a.h"

#include <string.h>

#define PAGE             0xfffu
#define EXTERNAL         0x80000000u
#define MAP_MASK         0x7fffffffu
#define NO_ENTRY         2u
#define IDENTIFICATION   0xfd0
#define SYSTEM_A_MISSING 0x09000u
#define PART_A7_ETM      0x956
#define PART_TMC         0x961
#define CLASS_ROM        0x1u
#define CLASS_CS         0x9u
#define DEBUG_STEP       0x2000u
#define UNIT_STEP        0x1000u
#define CTI_STEP         0x1000u
#define WINDOW_SIZE      0x100000u

enum kind {
    KIND_ROM,
    KIND_DEBUG,
    KIND_PMU,
    KIND_CTI,
    KIND_UNIT,
    KIND_ETB,
    KIND_TPIU,
    KIND_FUNNEL,
};

/* Where everything is; those of a second core are missing on boards with one. */
static const struct component {
    uint32_t offset;
    enum kind kind;
    unsigned core;
    uint16_t part;
} components[] = {
    {SYSTEM_A_ROM, KIND_ROM, 0, 0x4a9},
    {SYSTEM_A_ETB, KIND_ETB, 0, 0x907},
    {SYSTEM_A_TPIU, KIND_TPIU, 0, 0x912},
    {SYSTEM_A_FUNNEL, KIND_FUNNEL, 0, 0x908},
    {SYSTEM_A_DEBUG, KIND_DEBUG, 0, 0xc09},
    {SYSTEM_A_PMU, KIND_PMU, 0, 0x9a0},
    {SYSTEM_A_DEBUG + DEBUG_STEP, KIND_DEBUG, 1, 0xc09},
    {SYSTEM_A_PMU + DEBUG_STEP, KIND_PMU, 1, 0x9a0},
    {SYSTEM_A_CTI, KIND_CTI, 0, 0x906},
    {SYSTEM_A_CTI + CTI_STEP, KIND_CTI, 1, 0x906},
    {SYSTEM_A_UNIT, KIND_UNIT, 0, 0x950},
    {SYSTEM_A_UNIT + UNIT_STEP, KIND_UNIT, 1, 0x950},
};

#define COMPONENTS (sizeof components / sizeof *components)

void system_a_init(struct system_a *s, const struct core_a *cores,
                   const struct trace_a_options *options)
{
    memset(s, 0, sizeof *s);
    s->cores = *cores;
    for (unsigned i = 0; i < cores->count; i++) {
        debug_a_init(&s->debug[i], cores, i);
        cti_init(&s->cti[i]);
    }
    trace_a_init(&s->trace, cores, options);
}

void system_a_release(struct system_a *s)
{
    trace_a_release(&s->trace);
}

/* Cores and cross triggers. */

/* Channels of all CTIs are one matrix. */
static void spread(struct system_a *s, unsigned from, uint32_t channels)
{
    for (unsigned i = 0; channels && i < s->cores.count; i++)
        if (i != from)
            cti_event(&s->cti[i], channels, false);
}

/* Requests that have come through the CTIs, and the restarts. */
static void trigger_outputs(struct system_a *s)
{
    for (unsigned i = 0; i < s->cores.count; i++) {
        debug_a_request(&s->debug[i], cti_level(&s->cti[i], CTI_OUT_REQUEST));
        if (cti_pulse(&s->cti[i], CTI_OUT_RESTART))
            debug_a_restart(&s->debug[i]);
    }
}

/* True when another core may be concerned by what has changed. */
static bool poll_cores(struct system_a *s)
{
    bool changed = false;
    for (unsigned i = 0; i < s->cores.count; i++) {
        bool debug = debug_a_poll(&s->debug[i]) || s->debug[i].halted;
        bool before = s->cti[i].inputs >> CTI_IN_DEBUG & 1;
        if (debug == before)
            continue;
        spread(s, i, cti_input(&s->cti[i], CTI_IN_DEBUG, debug));
        changed = true;
    }
    return changed;
}

void system_a_run(struct system_a *s)
{
    for (unsigned again = 0; again < 2 * CORE_A_MAX; again++) {
        trigger_outputs(s);
        if (!poll_cores(s))
            break;
    }
    s->cores.ops->carry_out(s->cores.ctx);
    for (unsigned i = 0; i < s->cores.count; i++)
        debug_a_enter(&s->debug[i]);
    trace_a_run(&s->trace);
}

void system_a_nreset(struct system_a *s, bool low)
{
    if (!low)
        s->cores.ops->reset(s->cores.ctx);
    for (unsigned i = 0; i < s->cores.count; i++)
        (low ? debug_a_reset_line : debug_a_was_reset)(&s->debug[i]);
    if (low && s->resets_trace)
        trace_a_reset(&s->trace);
    system_a_run(s);
}

/* A core's own request is a pulse on the same line, if it leads there. */
static void own_resets(struct system_a *s)
{
    bool asked = false;
    for (unsigned i = 0; i < s->cores.count; i++) {
        asked |= s->debug[i].asks_for_reset;
        s->debug[i].asks_for_reset = false;
    }
    if (!asked)
        return;
    if (!s->hears_cores) {
        s->unheard++;
        return;
    }
    s->core_resets++;
    system_a_nreset(s, true);
    system_a_nreset(s, false);
}

/* The debug bus. */

static const struct component *find(const struct system_a *s, uint32_t offset)
{
    for (unsigned i = 0; i < COMPONENTS; i++)
        if (components[i].offset == (offset & ~PAGE) && components[i].core < s->cores.count)
            return &components[i];
    return NULL;
}

static uint16_t part_of(const struct system_a *s, const struct component *c)
{
    if (c->kind == KIND_UNIT && s->trace.unit[0].etmv3)
        return PART_A7_ETM;
    return c->kind == KIND_ETB && s->trace.sink.tmc ? PART_TMC : c->part;
}

static uint32_t identification(const struct system_a *s, const struct component *c, unsigned offset)
{
    uint16_t part = part_of(s, c);
    switch (offset) {
    case 0xfd0: /* PIDR4: continuation 4 */
        return 4;
    case 0xfe0:
        return part & 0xff;
    case 0xfe4: /* identity 0x3b, low half */
        return 0xb0u | part >> 8;
    case 0xfe8:
        return 0x0b;
    case 0xff0:
        return 0x0d;
    case 0xff4:
        return (c->kind == KIND_ROM ? CLASS_ROM : CLASS_CS) << 4;
    case 0xff8:
        return 0x05;
    case 0xffc:
        return 0xb1;
    default:
        return 0;
    }
}

/* An entry for each component but the table; the last one is of something that is not there. */
static uint32_t rom_entry(const struct system_a *s, unsigned offset)
{
    unsigned n = offset / 4 + 1;
    if (n < COMPONENTS)
        return components[n].offset | (components[n].core < s->cores.count ? 3u : NO_ENTRY);
    return n == COMPONENTS ? SYSTEM_A_MISSING | NO_ENTRY : 0;
}

static uint32_t read_trace(struct system_a *s, const struct component *c, unsigned offset,
                           bool external)
{
    switch (c->kind) {
    case KIND_ROM:
        return rom_entry(s, offset);
    case KIND_UNIT:
        return unit_a_read(&s->trace.unit[c->core], offset, external);
    case KIND_ETB:
        return sink_read(&s->trace.sink, offset, external);
    case KIND_TPIU:
        return tpiu_a_read(&s->trace.tpiu, offset, external);
    case KIND_FUNNEL:
        return funnel_a_read(&s->trace, offset, external);
    default: /* performance monitor */
        return offset == 0xfcc ? 0x16 : 0;
    }
}

static int read_component(struct system_a *s, const struct component *c, unsigned offset,
                          bool external, uint32_t *value)
{
    *value = 0;
    if (c->kind == KIND_DEBUG)
        return debug_a_read(&s->debug[c->core], offset, external, value);
    if (offset >= IDENTIFICATION)
        *value = identification(s, c, offset);
    else if (c->kind == KIND_CTI)
        *value = cti_read(&s->cti[c->core], offset, external);
    else
        *value = read_trace(s, c, offset, external);
    return 0;
}

static int write_component(struct system_a *s, const struct component *c, unsigned offset,
                           bool external, uint32_t value)
{
    if (c->kind == KIND_DEBUG)
        return debug_a_write(&s->debug[c->core], offset, external, value);
    switch (c->kind) {
    case KIND_CTI:
        spread(s, c->core, cti_write(&s->cti[c->core], offset, external, value));
        break;
    case KIND_UNIT:
        unit_a_write(&s->trace.unit[c->core], offset, external, value);
        break;
    case KIND_ETB:
        trace_a_write_sink(&s->trace, offset, external, value);
        break;
    case KIND_TPIU:
        trace_a_write_tpiu(&s->trace, offset, external, value);
        break;
    case KIND_FUNNEL:
        funnel_a_write(&s->trace, offset, external, value);
        break;
    default:
        break;
    }
    return 0;
}

/* Before an access, what has happened; after it, what it has caused. */
static int debug_access(struct system_a *s, bool read, uint32_t address, unsigned size,
                        uint32_t *value)
{
    const struct component *c = find(s, address & MAP_MASK);
    bool external = address & EXTERNAL;
    s->sub_word += size != 4;
    if (!c || size != 4)
        return -1;
    system_a_run(s);
    int r = read ? read_component(s, c, address & PAGE, external, value)
                 : write_component(s, c, address & PAGE, external, *value);
    if (!read) {
        own_resets(s);
        system_a_run(s);
    }
    return r;
}

static int debug_read(void *ctx, uint32_t address, unsigned size, uint32_t *value)
{
    return debug_access(ctx, true, address, size, value);
}

static int debug_write(void *ctx, uint32_t address, unsigned size, uint32_t value)
{
    return debug_access(ctx, false, address, size, &value);
}

struct model_bus system_a_debug(struct system_a *s)
{
    return (struct model_bus){s, debug_read, debug_write};
}

void system_a_window(struct system_a *s, uint32_t base)
{
    for (unsigned i = 0; i < s->cores.count; i++)
        s->debug[i].window = (struct debug_a_window){system_a_debug(s), base, WINDOW_SIZE};
}

static int memory_read(void *ctx, uint32_t address, unsigned size, uint32_t *value)
{
    struct system_a *s = ctx;
    system_a_run(s);
    *value = 0;
    return s->cores.ops->read_memory(s->cores.ctx, address, value, size) < 0 ? -1 : 0;
}

static int memory_write(void *ctx, uint32_t address, unsigned size, uint32_t value)
{
    struct system_a *s = ctx;
    system_a_run(s);
    return s->cores.ops->write_memory(s->cores.ctx, address, &value, size) < 0 ? -1 : 0;
}

struct model_bus system_a_memory(struct system_a *s)
{
    return (struct model_bus){s, memory_read, memory_write};
}

/* The pins of the trace port. */

size_t system_a_pins(struct system_a *s, uint8_t *bytes, size_t size)
{
    bool idle = true;
    system_a_run(s);
    for (unsigned i = 0; i < s->cores.count; i++)
        idle &= s->debug[i].halted;
    return tpiu_a_pins(&s->trace.tpiu, idle, bytes, size);
}

int system_a_fault(struct system_a *s, const char *name, size_t size, unsigned value)
{
    bool off = size == 3 && memcmp(name, "off", 3) == 0;
    bool lock = size == 6 && memcmp(name, "oslock", 6) == 0;
    bool stuck = size == 7 && memcmp(name, "no-halt", 7) == 0;
    for (unsigned i = 0; i < s->cores.count; i++) {
        if (off)
            debug_a_power(&s->debug[i], !(value >> i & 1));
        if (lock)
            debug_a_os_lock(&s->debug[i], value >> i & 1);
        if (stuck)
            s->debug[i].never_halts = value >> i & 1;
    }
    return off || lock || stuck ? 0 : -1;
}

static void report_trace(const struct trace_a *t, FILE *out)
{
    unsigned locked = t->locked_writes + t->sink.locked_writes + t->tpiu.locked_writes;
    unsigned ignored = t->sink.ignored_writes + t->tpiu.ignored_writes;
    for (unsigned i = 0; i < t->cores.count; i++) {
        locked += t->unit[i].locked_writes;
        ignored += t->unit[i].ignored_writes;
    }
    fprintf(out, "a-trace-locked %u\na-trace-ignored %u\na-unselected %u\n", locked, ignored,
            t->unselected);
    fprintf(out, "a-tpiu-width %u\na-tpiu-unsent %lu\na-tpiu-holes %u\n", tpiu_a_width(&t->tpiu),
            t->tpiu.unsent, t->tpiu.pins.holes);
}

void system_a_report(const struct system_a *s, FILE *out)
{
    static const char *const names[] = {
        "instructions", "undefined",    "aborts",        "itr-ignored", "dtr-ignored",
        "dtr-misused",  "bad-restarts", "locked-writes", "refused",     "halts"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        unsigned sum = 0;
        for (unsigned i = 0; i < s->cores.count; i++)
            sum += ((const unsigned *)(const void *)&s->debug[i].counters)[n];
        fprintf(out, "a-%s %u\n", names[n], sum);
    }
    fprintf(out, "a-sub-word %u\na-core-resets %u\na-unheard-resets %u\n", s->sub_word,
            s->core_resets, s->unheard);
    report_trace(&s->trace, out);
}
