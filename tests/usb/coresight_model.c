/* SPDX-License-Identifier: BSD-3-Clause */
/* The bus, the ROM table and the way of the trace from the core to the sinks. */
#include "tests/usb/coresight_model.h"

#include <string.h>

#define PPB_MASK      0xfff00000u
#define PPB           0xe0000000u
#define PAGE          0xfffu
#define ID_REGISTERS  0xfd0u
#define DEMCR_TRCENA  (1u << 24)
#define TPIU_ENFCONT  (1u << 1)
#define TPIU_NRZ      2u
#define FFCR_ENFTC    (1u << 0)
#define ETMCR_OPTIONS 0x10000900u /* timestamps, ETMEN, branch output */
#define ETMCR_STALL   (1u << 7)
#define TCR_ITMENA    (1u << 0)
#define TCR_TXENA     (1u << 3)
#define DWT_SOURCES   (1u << 12 | 1u << 16) /* PC samples, exceptions */

/* Offsets from the table; the last entry is a component that is not there. */
static const uint32_t rom_table[] = {
    0xfff0f003, 0xfff02003, 0xfff03003, 0xfff01003, 0xfff41003, 0xfff42003, 0xfff44003, 0xfff45002,
};

/* The way of the trace when the chip starts; the buffer holds what it likes. */
static void start_trace(struct coresight_model *m)
{
    static const struct frame_options options = {.repeat_id_period = 8};
    uint32_t words = m->etb.words;
    m->tpiu = (struct cs_tpiu){.cspsr = 1, .sppr = 1, .ffcr = 0x102};
    m->itm = (struct cs_itm){.locked = true};
    memset(&m->etb, 0, sizeof m->etb);
    m->etb.locked = true;
    m->etb.stopped = true;
    m->etb.words = words;
    memset(m->etb.ram, 0xa5, sizeof m->etb.ram);
    cs_etm_reset(m);
    m->framed.size = 0;
    frame_builder_init(&m->frames, &options, &m->framed);
    cs_swo_clear(m);
}

void coresight_model_init(struct coresight_model *m, const struct core_model *core)
{
    memset(m, 0, sizeof *m);
    m->core = *core;
    m->cortex_m3 = (cs_scs_read(m, 0xd00) >> 4 & 0xfff) == 0xc23;
    for (unsigned i = 0; i < CS_FPB_CODE; i++)
        m->fp_set[i] = 1;
    m->etb.words = CS_ETB_WORDS;
    cs_points_clear(m);
    start_trace(m);
}

int coresight_model_set_etb(struct coresight_model *m, uint32_t words)
{
    if (words > CS_ETB_MAX)
        return -1;
    m->etb.words = words;
    return 0;
}

void coresight_model_release(struct coresight_model *m)
{
    trace_bytes_release(&m->framed);
}

void coresight_model_reset(struct coresight_model *m)
{
    m->counters.resets++;
    cs_scs_reset(m);
}

void coresight_model_power(struct coresight_model *m, bool on)
{
    if (on) {
        cs_points_clear(m);
        start_trace(m);
    }
    cs_scs_power(m, on);
}

void cs_swo_put(struct coresight_model *m, const uint8_t *bytes, size_t size)
{
    trace_pins_put(&m->pins, bytes, size);
}

static bool formatted(const struct coresight_model *m)
{
    if (cs_etb_capturing(m))
        return m->etb.ffcr & FFCR_ENFTC;
    return m->tpiu.ffcr & TPIU_ENFCONT || !m->tpiu.sppr;
}

void cs_swo_clear(struct coresight_model *m)
{
    trace_pins_clear(&m->pins);
}

unsigned coresight_model_width(const struct coresight_model *m)
{
    unsigned width = 0;
    while (!m->tpiu.sppr && m->tpiu.cspsr >> width)
        width++;
    return width;
}

/* Bytes a second; SWO in UART mode has ten bits a byte. */
static uint64_t pin_rate(const struct coresight_model *m)
{
    if (!m->tpiu.sppr)
        return (uint64_t)CS_TRACE_CLOCK * coresight_model_width(m) / 8;
    return CS_TRACE_CLOCK / (m->tpiu.acpr + 1) / 10;
}

static bool never_rests(const struct coresight_model *m)
{
    if (!m->tpiu.sppr)
        return m->parallel;
    return m->tpiu.sppr == TPIU_NRZ && m->tpiu.ffcr & TPIU_ENFCONT;
}

/* Behind a core that stands still a port that never rests is idle. */
static bool is_idle(const struct coresight_model *m)
{
    return !m->swo_quiet && m->scs.halted && m->scs.demcr & DEMCR_TRCENA && !cs_etb_capturing(m) &&
           never_rests(m);
}

size_t coresight_model_pins(struct coresight_model *m, uint8_t *bytes, size_t size)
{
    coresight_model_run(m);
    trace_pins_rest(&m->pins, &m->frames, is_idle(m), pin_rate(m));
    return trace_pins_take(&m->pins, bytes, size);
}

size_t coresight_model_swo(struct coresight_model *m, uint8_t *bytes, size_t size)
{
    if (m->tpiu.sppr)
        return coresight_model_pins(m, bytes, size);
    coresight_model_run(m);
    return 0;
}

/* What the formatter has ready goes to the sink: whole words into the ETB, bytes onto the pin. */
static void drain(struct coresight_model *m)
{
    size_t used = 0;
    if (m->framed.size == 0)
        return;
    if (cs_etb_capturing(m)) {
        for (; m->framed.size - used >= 4; used += 4) {
            uint32_t word;
            memcpy(&word, m->framed.data + used, 4);
            cs_etb_store(m, word);
        }
    } else {
        used = m->framed.size;
        if (m->tpiu.sppr || m->parallel)
            cs_swo_put(m, m->framed.data, used);
    }
    if (used)
        memmove(m->framed.data, m->framed.data + used, m->framed.size - used);
    m->framed.size -= used;
}

static void take_trace(struct coresight_model *m)
{
    uint8_t bytes[256];
    size_t n;
    bool etb = cs_etb_capturing(m);
    bool framed = formatted(m);
    while ((n = m->core.ops->trace(m->core.ctx, bytes, sizeof bytes)) > 0) {
        if (!etb && framed)
            frame_builder_full_sync(&m->frames);
        if (framed)
            frame_builder_write(&m->frames, cs_etm_trace_id(m), bytes, n);
        else if (etb)
            trace_bytes_append(&m->framed, bytes, n); /* bypass; on SWO it is discarded */
        drain(m);
    }
}

/* The DWT's packets, if ITM and DWT let them out. */
static void take_instrumentation(struct coresight_model *m)
{
    const uint32_t enabled = TCR_ITMENA | TCR_TXENA;
    uint8_t bytes[256];
    size_t n;
    bool on = (m->itm.tcr & enabled) == enabled && m->dwt_ctrl & DWT_SOURCES &&
              m->scs.demcr & DEMCR_TRCENA;
    while ((n = m->core.ops->instrumentation(m->core.ctx, bytes, sizeof bytes)) > 0) {
        if (!on)
            continue;
        if (formatted(m))
            frame_builder_write(&m->frames, m->itm.tcr >> 16 & 0x7f, bytes, n);
        else if (!cs_etb_capturing(m))
            cs_swo_put(m, bytes, n);
        drain(m);
    }
}

/* Bytes a second that the sink takes of the ETM. */
static uint64_t sink_rate(const struct coresight_model *m)
{
    if (cs_etb_capturing(m) || (!m->tpiu.sppr && !m->parallel))
        return 0;
    return pin_rate(m) * 15 / 16; /* IDs of the frames */
}

/* Tells a core with a trace unit what the registers say; what it made before is taken. */
static void set_trace(struct coresight_model *m)
{
    struct core_trace t = {.etm = cs_etm_tracing(m), .etmcr = m->etm.reg[0] & ETMCR_OPTIONS};
    const struct core_trace *now = &m->trace;
    t.rate = t.etm ? sink_rate(m) : now->rate;
    t.stall = t.etm ? m->etm.reg[0] & ETMCR_STALL : now->stall;
    if (t.etm == now->etm && t.rate == now->rate && t.stall == now->stall &&
        (!t.etm || t.etmcr == now->etmcr))
        return;
    m->core.ops->set_trace(m->core.ctx, &t);
    m->trace = t;
}

static void flow(struct coresight_model *m)
{
    if (m->core.ops->set_trace)
        set_trace(m);
    if (m->core.ops->trace && (m->core.ops->set_trace || cs_etm_tracing(m)))
        take_trace(m);
    if (m->core.ops->instrumentation)
        take_instrumentation(m);
}

void coresight_model_run(struct coresight_model *m)
{
    cs_scs_poll(m);
    if (m->etm.prog_reads && --m->etm.prog_reads == 0)
        m->etm.prog = m->etm.reg[0] >> 10 & 1;
    flow(m);
    drain(m);
}

static bool needs_trcena(uint32_t base)
{
    return base == CS_DWT || base == CS_ITM || base == CS_TPIU || base == CS_ETM;
}

static bool trace_off(struct coresight_model *m, uint32_t base)
{
    if (!needs_trcena(base) || m->scs.demcr & DEMCR_TRCENA)
        return false;
    m->counters.untraced++;
    return true;
}

static uint32_t rom_entry(const struct coresight_model *m, unsigned index)
{
    uint32_t entry = index < sizeof rom_table / sizeof *rom_table ? rom_table[index] : 0;
    bool missing = (CS_ROM + (entry & ~PAGE)) == CS_ETB && m->etb.words == 0;
    return missing ? entry & ~1u : entry;
}

static uint32_t read_component(struct coresight_model *m, uint32_t base, unsigned offset)
{
    if (offset >= ID_REGISTERS)
        return cs_identification(m, base, offset);
    if (trace_off(m, base))
        return 0;
    switch (base) {
    case CS_SCS:
        return cs_scs_read(m, offset);
    case CS_FPB:
        return cs_fpb_read(m, offset);
    case CS_DWT:
        return cs_dwt_read(m, offset);
    case CS_ITM:
        return cs_itm_read(m, offset);
    case CS_TPIU:
        return cs_tpiu_read(m, offset);
    case CS_ETM:
        return cs_etm_read(m, offset);
    case CS_ETB:
        return cs_etb_read(m, offset);
    default: /* CS_ROM; 0xfcc: the AP sees system memory too */
        if (offset == 0xfcc)
            return 1;
        return rom_entry(m, offset / 4);
    }
}

static void write_component(struct coresight_model *m, uint32_t base, unsigned offset,
                            unsigned size, uint32_t value)
{
    if (offset >= ID_REGISTERS || trace_off(m, base))
        return;
    switch (base) {
    case CS_SCS:
        cs_scs_write(m, offset, value);
        break;
    case CS_FPB:
        cs_fpb_write(m, offset, value);
        break;
    case CS_DWT:
        cs_dwt_write(m, offset, value);
        break;
    case CS_ITM:
        cs_itm_write(m, offset, size, value);
        break;
    case CS_TPIU:
        cs_tpiu_write(m, offset, value);
        break;
    case CS_ETM:
        cs_etm_write(m, offset, value);
        break;
    case CS_ETB:
        cs_etb_write(m, offset, value);
        break;
    default:
        break;
    }
}

/* Whether the private peripheral bus answers: known component, whole word (ITM ports: any). */
static bool ppb_answers(struct coresight_model *m, uint32_t address, unsigned size)
{
    static const uint32_t bases[] = {CS_ITM, CS_DWT, CS_FPB,  CS_SCS,
                                     CS_ETM, CS_ETB, CS_TPIU, CS_ROM};
    if (size != 4 && address >= CS_ITM + 0x80) {
        m->counters.sub_word++;
        return false;
    }
    for (unsigned i = 0; i < sizeof bases / sizeof *bases; i++) {
        if ((address & ~PAGE) == bases[i])
            return bases[i] != CS_ETB || m->etb.words > 0;
    }
    return false;
}

static int bus_read(void *ctx, uint32_t address, unsigned size, uint32_t *value)
{
    struct coresight_model *m = ctx;
    uint8_t bytes[4] = {0};
    coresight_model_run(m);
    if ((address & PPB_MASK) == PPB) {
        if (!ppb_answers(m, address, size))
            return -1;
        *value = read_component(m, address & ~PAGE, address & PAGE);
        return 0;
    }
    if (m->core.ops->read_memory(m->core.ctx, address, bytes, size) < 0)
        return -1;
    *value = (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
             (uint32_t)bytes[3] << 24;
    return 0;
}

static int bus_write(void *ctx, uint32_t address, unsigned size, uint32_t value)
{
    struct coresight_model *m = ctx;
    uint8_t bytes[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                        (uint8_t)(value >> 24)};
    coresight_model_run(m);
    if ((address & PPB_MASK) == PPB) {
        if (!ppb_answers(m, address, size))
            return -1;
        write_component(m, address & ~PAGE, address & PAGE, size, value);
        return 0;
    }
    return m->core.ops->write_memory(m->core.ctx, address, bytes, size) < 0 ? -1 : 0;
}

struct model_bus coresight_model_bus(struct coresight_model *m)
{
    return (struct model_bus){m, bus_read, bus_write};
}
