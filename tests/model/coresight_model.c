/* SPDX-License-Identifier: BSD-3-Clause */
/* The bus and the way of the trace from the core to the sinks. */
#include "coresight_model.h"

#include <string.h>

#define PPB_MASK      0xfff00000u
#define PPB           0xe0000000u
#define PAGE          0xfffu
#define ID_REGISTERS  0xfd0u
#define DEMCR_TRCENA  (1u << 24)
#define TPIU_ENFCONT  (1u << 1)
#define TPIU_NRZ      2u
#define ETMCR_OPTIONS 0x10000900u /* timestamps, ETMEN, branch output */
#define ETMCR_STALL   (1u << 7)
#define TCR_ITMENA    (1u << 0)
#define TCR_TXENA     (1u << 3)
#define DWT_SOURCES   (1u << 12 | 1u << 16) /* PC samples, exceptions */

/* Typical ones. */
#define AHB_AP_IDR    0x24770011u
#define AHB_AP_IDR_M7 0x84770001u
#define AHB5_AP_IDR   0x14770015u
#define AHB_AP_IDR_M0 0x04770031u

static enum cs_kind kind_of(uint32_t cpuid)
{
    switch (cpuid >> 4 & 0xfff) {
    case 0xc20:
    case 0xc60:
        return CS_M0;
    case 0xc23:
        return CS_M3;
    case 0xc27:
        return CS_M7;
    case 0xd21:
        return CS_M33;
    default:
        return CS_M4;
    }
}

/* The way of the trace when the chip starts; the buffer holds what it likes. */
static void start_trace(struct coresight_model *m)
{
    static const struct frame_options options = {.repeat_id_period = 8};
    const struct etm4_options unit = m->etm4_unit.options;
    const struct etm4_counters counters = m->etm4_unit.counters;
    const struct etm4_faults faults = m->etm4_unit.faults;
    bool tmc = m->etb.tmc;
    uint32_t words = m->etb.words;
    m->tpiu = (struct cs_tpiu){.cspsr = 1, .sppr = 1, .ffcr = 0x102};
    m->itm = (struct cs_itm){.locked = true};
    sink_release(&m->etb);
    sink_init(&m->etb, tmc, words);
    cs_etm_reset(m);
    mtb_model_reset(&m->mtb);
    ring_model_reset(&m->ring);
    etm4_init(&m->etm4_unit, &unit);
    m->etm4_unit.counters = counters;
    m->etm4_unit.faults = faults;
    m->framed.size = 0;
    frame_builder_init(&m->frames, &options, &m->framed);
    cs_swo_clear(m);
}

void coresight_model_become(struct coresight_model *m, enum cs_kind kind, unsigned pairs)
{
    m->kind = kind;
    m->etm4_unit.options = (struct etm4_options){kind == CS_M33 ? ETM4_M33 : ETM4_M7, pairs};
    cs_breakpoints_clear(m);
    start_trace(m);
}

void coresight_model_init(struct coresight_model *m, const struct core_model *core)
{
    memset(m, 0, sizeof *m);
    m->core = *core;
    for (unsigned i = 0; i < CS_FPB_ALL; i++)
        m->fp_set[i] = 1;
    m->etb.words = CS_ETB_WORDS;
    coresight_model_become(m, kind_of(cs_scs_read(m, 0xd00)), 0);
}

int coresight_model_set_etb(struct coresight_model *m, uint32_t words, bool tmc)
{
    if (words > CS_ETB_MAX)
        return -1;
    sink_release(&m->etb);
    sink_init(&m->etb, tmc, words);
    return 0;
}

void coresight_model_set_mtb(struct coresight_model *m)
{
    (void)coresight_model_set_etb(m, 0, false);
    m->mtb.present = true;
}

void coresight_model_set_ring(struct coresight_model *m)
{
    (void)coresight_model_set_etb(m, 0, false);
    m->ring.present = true;
}

uint32_t coresight_model_base(const struct coresight_model *m)
{
    return (m->kind == CS_M7 ? CS_TOP : CS_ROM) | 3;
}

uint32_t coresight_model_ap(const struct coresight_model *m, uint32_t *span)
{
    *span = m->kind == CS_M7 || m->kind == CS_M0 ? 0x400 : 0x1000;
    return m->kind == CS_M33  ? AHB5_AP_IDR
           : m->kind == CS_M7 ? AHB_AP_IDR_M7
           : m->kind == CS_M0 ? AHB_AP_IDR_M0
                              : AHB_AP_IDR;
}

int coresight_model_fault(struct coresight_model *m, const char *name, size_t size, unsigned value)
{
    struct etm4_model *u = &m->etm4_unit;
    if (size == 7 && memcmp(name, "no-halt", size) == 0) {
        m->never_halts = value;
        return 0;
    }
    if (!cs_is_v4(m))
        return -1;
    if (size == 8 && memcmp(name, "etm-busy", size) == 0)
        u->faults.never_idle = value;
    else if (size == 7 && memcmp(name, "etm-off", size) == 0)
        u->faults.no_trace = value;
    else if (size == 10 && memcmp(name, "secure-off", size) == 0)
        m->closed = value;
    else if (size == 8 && memcmp(name, "etm-lock", size) == 0)
        etm4_lock_again(u);
    else if (size == 9 && memcmp(name, "etm-power", size) == 0)
        etm4_lose_power(u);
    else
        return -1;
    return 0;
}

void coresight_model_release(struct coresight_model *m)
{
    trace_bytes_release(&m->framed);
    sink_release(&m->etb);
    ring_model_release(&m->ring);
}

void coresight_model_reset(struct coresight_model *m)
{
    m->counters.resets++;
    if (m->resets_trace)
        start_trace(m);
    cs_scs_reset(m);
}

void coresight_model_power(struct coresight_model *m, bool on)
{
    if (on) {
        cs_breakpoints_clear(m);
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

/* What the formatter has ready goes onto the pins. */
static void drain(struct coresight_model *m)
{
    if (m->framed.size && (m->tpiu.sppr || m->parallel))
        cs_swo_put(m, m->framed.data, m->framed.size);
    m->framed.size = 0;
}

/* Whole packets of a source to where they go: the sink, or, while it does not capture, the pins. */
static void put(struct coresight_model *m, uint8_t id, const uint8_t *bytes, size_t size)
{
    if (m->ring.present)
        ring_model_put(&m->ring, id, bytes, size);
    else if (cs_etb_capturing(m))
        sink_put(&m->etb, id, bytes, size);
    else
        frame_builder_write(&m->frames, id, bytes, size);
}

/* Packets of an MTB: much for a small buffer. */
static void take_packets(struct coresight_model *m)
{
    static uint8_t bytes[1u << 16];
    size_t n;
    while ((n = m->core.ops->trace(m->core.ctx, bytes, sizeof bytes)) > 0)
        mtb_model_put(&m->mtb, bytes, n);
}

static void take_trace(struct coresight_model *m)
{
    uint8_t bytes[256];
    size_t n;
    bool etb = cs_etb_capturing(m) || m->ring.present;
    bool framed = formatted(m);
    while ((n = m->core.ops->trace(m->core.ctx, bytes, sizeof bytes)) > 0) {
        if (!etb && !framed)
            continue; /* on SWO in bypass it is discarded */
        if (!etb)
            frame_builder_full_sync(&m->frames);
        put(m, cs_etm_trace_id(m), bytes, n);
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
        if (m->ring.present || cs_etb_capturing(m) || formatted(m))
            put(m, m->itm.tcr >> 16 & 0x7f, bytes, n);
        else
            cs_swo_put(m, bytes, n);
    }
}

/* Bytes a second that the sink takes of the ETM; 0: all. RAM takes each packet of an MTB, ahead of
 * the core's own accesses (DDI 0486B chapter 2), whatever the pins are set to. */
static uint64_t sink_rate(const struct coresight_model *m)
{
    if (m->mtb.present || m->ring.present || cs_etb_capturing(m) || (!m->tpiu.sppr && !m->parallel))
        return 0;
    return pin_rate(m) * 15 / 16; /* IDs of the frames */
}

/* Tells a core with a trace unit what the registers say; what it made before is taken. */
static void set_trace(struct coresight_model *m)
{
    struct core_trace t = {.etm = cs_etm_tracing(m), .etmcr = m->etm.reg[0] & ETMCR_OPTIONS};
    const struct core_trace *now = &m->trace;
    bool stalls = cs_is_v4(m) ? etm4_stalls(&m->etm4_unit) : m->etm.reg[0] & ETMCR_STALL;
    t.rate = t.etm ? sink_rate(m) : now->rate;
    t.stall = t.etm ? stalls : now->stall;
    if (t.etm && cs_is_v4(m))
        t.v4 = etm4_setting(&m->etm4_unit);
    if (t.etm == now->etm && t.rate == now->rate && t.stall == now->stall &&
        (!t.etm || (t.etmcr == now->etmcr && memcmp(&t.v4, &now->v4, sizeof t.v4) == 0)))
        return;
    m->core.ops->set_trace(m->core.ctx, &t);
    m->trace = t;
}

/* `let_go`: the trace unit has let out what it still held when it was switched off. */
static void flow(struct coresight_model *m, bool let_go)
{
    bool held = cs_is_v4(m) && etm4_holds_back(&m->etm4_unit);
    if (m->core.ops->set_trace)
        set_trace(m);
    if (m->core.ops->trace && !held && (m->core.ops->set_trace || let_go || cs_etm_tracing(m)))
        m->mtb.present ? take_packets(m) : take_trace(m);
    if (m->core.ops->instrumentation)
        take_instrumentation(m);
}

void coresight_model_run(struct coresight_model *m)
{
    cs_scs_poll(m);
    if (m->etm.prog_reads && --m->etm.prog_reads == 0)
        m->etm.prog = m->etm.reg[0] >> 10 & 1;
    bool held = cs_is_v4(m) && etm4_holds_back(&m->etm4_unit);
    if (cs_is_v4(m))
        etm4_update(&m->etm4_unit);
    flow(m, held && !etm4_holds_back(&m->etm4_unit));
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

static uint32_t read_component(struct coresight_model *m, uint32_t base, unsigned offset)
{
    if (offset >= ID_REGISTERS || cs_names_itself(m, base, offset))
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
        return m->mtb.present ? mtb_model_read(&m->mtb, offset) : cs_etb_read(m, offset);
    default: /* a ROM table; 0xfcc: the AP sees system memory too */
        return offset == 0xfcc ? 1 : cs_rom_read(m, base, offset / 4);
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
        if (m->mtb.present)
            mtb_model_write(&m->mtb, offset, value);
        else
            cs_etb_write(m, offset, value);
        break;
    default:
        break;
    }
}

/* Is a component there that not all systems have? */
static bool is_there(const struct coresight_model *m, uint32_t base)
{
    switch (base) {
    case CS_ETB:
        return m->etb.words > 0 || m->mtb.present;
    case CS_TOP:
        return m->kind == CS_M7;
    case CS_ITM:
    case CS_TPIU:
    case CS_ETM:
        return m->kind != CS_M0;
    default:
        return true;
    }
}

/* Whether the private peripheral bus answers: known component, whole word (ITM ports: any). */
static bool ppb_answers(struct coresight_model *m, uint32_t address, unsigned size)
{
    static const uint32_t bases[] = {CS_ITM, CS_DWT,  CS_FPB, CS_SCS, CS_ETM,
                                     CS_ETB, CS_TPIU, CS_ROM, CS_TOP};
    if (size != 4 && address >= CS_ITM + 0x80) {
        m->counters.sub_word++;
        return false;
    }
    for (unsigned i = 0; i < sizeof bases / sizeof *bases; i++) {
        if ((address & ~PAGE) == bases[i])
            return is_there(m, bases[i]);
    }
    return false;
}

/* Registers of an ETMv4, which may refuse an access. */
static bool is_etm4(const struct coresight_model *m, uint32_t address)
{
    return cs_is_v4(m) && (address & ~PAGE) == CS_ETM && (address & PAGE) < ID_REGISTERS;
}

static int read_etm4(struct coresight_model *m, unsigned offset, uint32_t *value)
{
    *value = 0;
    return trace_off(m, CS_ETM) ? 0 : etm4_read(&m->etm4_unit, offset, value);
}

static int bus_read(void *ctx, uint32_t address, unsigned size, uint32_t *value)
{
    struct coresight_model *m = ctx;
    uint8_t bytes[4] = {0};
    coresight_model_run(m);
    if ((address & PPB_MASK) == PPB) {
        if (!ppb_answers(m, address, size))
            return -1;
        if (is_etm4(m, address))
            return read_etm4(m, address & PAGE, value);
        *value = read_component(m, address & ~PAGE, address & PAGE);
        return 0;
    }
    if (ring_model_has(&m->ring, address)) {
        *value = ring_model_read(&m->ring, address);
        return 0;
    }
    const uint8_t *ram = mtb_model_ram(&m->mtb, address, size);
    if (ram)
        memcpy(bytes, ram, size);
    else if (m->core.ops->read_memory(m->core.ctx, address, bytes, size) < 0)
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
        if (is_etm4(m, address))
            return trace_off(m, CS_ETM) ? 0 : etm4_write(&m->etm4_unit, address & PAGE, value);
        write_component(m, address & ~PAGE, address & PAGE, size, value);
        return 0;
    }
    if (ring_model_has(&m->ring, address)) {
        if (ring_model_write(&m->ring, address, value)) {
            coresight_model_run(m);
            ring_model_flush(&m->ring);
        }
        return 0;
    }
    uint8_t *ram = mtb_model_ram(&m->mtb, address, size);
    if (ram)
        memcpy(ram, bytes, size);
    return ram || m->core.ops->write_memory(m->core.ctx, address, bytes, size) == 0 ? 0 : -1;
}

struct model_bus coresight_model_bus(struct coresight_model *m)
{
    return (struct model_bus){m, bus_read, bus_write};
}
