/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv3 and PTM. IHI 0014Q chapter 3, IHI 0035B chapter 3. */
#include "drivers/coresight/coresight_trace.h"

#define ETMCR        0x000u
#define ETMCCR       0x004u
#define ETMTRIGGER   0x008u
#define ETMSR        0x010u
#define ETMSCR       0x014u
#define ETMTSSCR     0x018u
#define ETMTECR2     0x01cu
#define ETMTEEVR     0x020u
#define ETMTECR1     0x024u
#define ETMFFRR      0x028u
#define ETMFFLR      0x02cu
#define ETMVDEVR     0x030u
#define ETMVDCR1     0x034u
#define ETMCNTRLDVR  0x140u
#define ETMCNTENR    0x150u
#define ETMCNTRLDEVR 0x160u
#define ETMSQEVR     0x180u
#define ETMSQR       0x19cu
#define ETMEXTOUTEVR 0x1a0u
#define ETMCIDCMR    0x1bcu
#define ETMSYNCFR    0x1e0u
#define ETMIDR       0x1e4u
#define ETMCCER      0x1e8u
#define ETMEXTINSELR 0x1ecu
#define ETMTESSEICR  0x1f0u
#define ETMTSEVR     0x1f8u
#define ETMTRACEIDR  0x200u
#define ETMOSLAR     0x300u
#define ETMPDCR      0x310u

#define EVENT_ALWAYS    0x006fu
#define EVENT_NEVER     0x406fu
#define EVENT_CNT_NEVER 0x2406fu /* the count source bit is 1 */
#define EXCLUDE_NOTHING 0x01000000u

#define CR_POWER_DOWN   0x00000001u
#define CR_STALL        0x00000080u
#define CR_BROADCAST    0x00000100u
#define CR_PROG         0x00000400u
#define CR_ETMEN        0x00000800u
#define CR_CYCLES       0x00001000u
#define CR_PORT_32      0x00000040u
#define CR_TIMESTAMPS   0x10000000u
#define CR_RETURN_STACK 0x20000000u
#define SR_PROG         0x2u
#define SCR_FITS        0xc00u /* port size and mode are supported */
#define PDCR_POWER_UP   0x8u

#define MAJOR_ETM3    2u
#define MAJOR_PFT     3u
#define MAX_TRACE_ID  0x6fu
#define SYNC_BYTES    1024u
#define CCR_STALL     0x00800000u
#define CCR_SEQUENCER 0x00010000u

static bool coresight_etm_options_valid(const struct coresight_etm_options *o)
{
    if (o->trace_id == 0 || o->trace_id > MAX_TRACE_ID)
        return false;
    if (o->return_stack && (o->branch_broadcast || !o->ptm))
        return false;
    if (o->m_profile && (o->ptm || o->cycle_accurate || o->context_id_bytes != 0))
        return false;
    return o->context_id_bytes <= 2 || o->context_id_bytes == 4;
}

static uint32_t control_of(const struct coresight_etm_options *o)
{
    static const uint8_t context[5] = {0, 1, 2, 0, 3};
    uint32_t cr = (uint32_t)context[o->context_id_bytes] << 14;
    if (!o->ptm)
        cr |= CR_ETMEN | (o->m_profile ? 0 : CR_PORT_32);
    if (!o->ptm && o->stall_level != 0)
        cr |= CR_STALL;
    if (o->branch_broadcast)
        cr |= CR_BROADCAST;
    if (o->cycle_accurate)
        cr |= CR_CYCLES;
    if (o->timestamps)
        cr |= CR_TIMESTAMPS;
    if (o->return_stack)
        cr |= CR_RETURN_STACK;
    return cr;
}

/* Unlock, power up, stop what runs; read what it is. */
static int coresight_etm_prepare(struct coresight_bus *bus, uint64_t base,
                                 const struct coresight_etm_options *o,
                                 struct coresight_etm_state *state)
{
    int error = coresight_unlock(bus, base);
    if (error == 0)
        error = coresight_read(bus, base + ETMIDR, &state->id);
    if (error != 0)
        return error;
    unsigned major = state->id >> 8 & 0xf;
    if (major != (o->ptm ? MAJOR_PFT : MAJOR_ETM3))
        return BT_ERR_UNSUPPORTED;
    if (o->ptm && (state->id >> 4 & 0xf) >= 1)
        error = coresight_modify(bus, base + ETMPDCR, PDCR_POWER_UP, PDCR_POWER_UP);
    if (error == 0 && !o->m_profile)
        error = coresight_write(bus, base + ETMOSLAR, 0);
    if (error == 0)
        error = coresight_modify(bus, base + ETMCR, CR_POWER_DOWN | CR_PROG, CR_PROG);
    if (error == 0)
        error = coresight_poll(bus, base + ETMSR, SR_PROG, SR_PROG);
    if (error == 0)
        error = coresight_read(bus, base + ETMCCR, &state->config);
    if (error == 0)
        error = coresight_read(bus, base + ETMCCER, &state->config_extension);
    return error;
}

/* Everything another tool may have left in the resources is switched off. */
static int coresight_etm_clear_resources(struct coresight_bus *bus, uint64_t base, uint32_t config,
                                         bool ptm)
{
    unsigned counters = config >> 13 & 7;
    unsigned outputs = config >> 20 & 7;
    bool sequencer = (config & CCR_SEQUENCER) != 0;
    counters = counters > 4 ? 4 : counters;
    const struct coresight_setting list[] = {
        {ETMCNTRLDVR, 0, counters},
        {ETMCNTENR, EVENT_CNT_NEVER, counters},
        {ETMCNTRLDEVR, EVENT_NEVER, counters},
        {ETMSQEVR, EVENT_NEVER, sequencer ? 6 : 0},
        {ETMSQR, 0, sequencer},
        {ETMEXTOUTEVR, EVENT_NEVER, outputs > 4 ? 4 : outputs},
        {ETMCIDCMR, UINT32_MAX, 1},
        {ETMEXTINSELR, 0, 1},
        {ETMTECR2, 0, !ptm}, /* data */
        {ETMVDEVR, EVENT_NEVER, !ptm},
        {ETMVDCR1, 0, ptm ? 0 : 3},
    };
    return CORESIGHT_WRITE_ALL(bus, base, list);
}

static int coresight_etm_set_tracing(struct coresight_bus *bus, uint64_t base,
                                     const struct coresight_etm_options *o)
{
    /* Descriptions differ on which of ETMFFRR and ETMFFLR holds the level: both do no harm. */
    const struct coresight_setting list[] = {
        {ETMTRIGGER, EVENT_NEVER, 1},
        {ETMTSSCR, 0, 1},
        {ETMTEEVR, EVENT_ALWAYS, 1},
        {ETMTECR1, EXCLUDE_NOTHING, 1},
        {ETMTESSEICR, 0, 1},
        {ETMTSEVR, EVENT_NEVER, 1},
        {ETMTRACEIDR, o->trace_id, 1},
        {ETMSYNCFR, o->sync_bytes ? o->sync_bytes : SYNC_BYTES, 1},
        {ETMFFRR, o->stall_level ? EXCLUDE_NOTHING : 0, !o->ptm},
        {ETMFFLR, o->stall_level, !o->ptm},
    };
    return CORESIGHT_WRITE_ALL(bus, base, list);
}

static int read_back(struct coresight_bus *bus, uint64_t base,
                     const struct coresight_etm_options *o, struct coresight_etm_state *state)
{
    const struct coresight_reading list[] = {
        {ETMCR, &state->control}, {ETMTRACEIDR, &state->trace_id}, {ETMSYNCFR, &state->sync}};
    uint32_t scr = SCR_FITS;
    int error = CORESIGHT_READ_ALL(bus, base, list);
    if (error == 0 && !o->ptm && !o->m_profile)
        error = coresight_read(bus, base + ETMSCR, &scr);
    if (error == 0 && ((scr & SCR_FITS) != SCR_FITS || (state->trace_id & 0x7f) != o->trace_id))
        return BT_ERR_UNSUPPORTED;
    return error;
}

int coresight_etm_read(struct coresight_bus *bus, uint64_t base, struct coresight_etm_state *state)
{
    const struct coresight_reading list[] = {
        {ETMIDR, &state->id},      {ETMCCR, &state->config},
        {ETMCR, &state->control},  {ETMCCER, &state->config_extension},
        {ETMSYNCFR, &state->sync}, {ETMTRACEIDR, &state->trace_id},
    };
    *state = (struct coresight_etm_state){0};
    int error = coresight_unlock(bus, base);
    if (error == 0)
        error = CORESIGHT_READ_ALL(bus, base, list);
    unsigned major = state->id >> 8 & 0xf;
    return error == 0 && major != MAJOR_ETM3 && major != MAJOR_PFT ? BT_ERR_UNSUPPORTED : error;
}

int coresight_etm_program(struct coresight_bus *bus, uint64_t base,
                          const struct coresight_etm_options *options,
                          struct coresight_etm_state *state)
{
    struct coresight_etm_options o = *options;
    *state = (struct coresight_etm_state){0};
    if (!coresight_etm_options_valid(&o))
        return BT_ERR_INVAL;
    int error = coresight_etm_prepare(bus, base, &o, state);
    if ((state->config & CCR_STALL) == 0)
        o.stall_level = 0;
    if (error == 0)
        error = coresight_etm_clear_resources(bus, base, state->config, o.ptm || o.m_profile);
    if (error == 0)
        error = coresight_etm_set_tracing(bus, base, &o);
    if (error == 0)
        error = coresight_write(bus, base + ETMCR, CR_PROG | control_of(&o));
    if (error == 0)
        error = read_back(bus, base, &o, state);
    state->control &= ~CR_PROG;
    return error;
}

int coresight_etm_start(struct coresight_bus *bus, uint64_t base,
                        const struct coresight_etm_options *options,
                        struct coresight_etm_state *state)
{
    int error = coresight_etm_program(bus, base, options, state);
    if (error != 0)
        return error;
    error = coresight_write(bus, base + ETMCR, state->control);
    return error != 0 ? error : coresight_poll(bus, base + ETMSR, SR_PROG, 0);
}

int coresight_etm_stop(struct coresight_bus *bus, uint64_t base)
{
    int error = coresight_unlock(bus, base);
    if (error == 0)
        error = coresight_modify(bus, base + ETMCR, CR_PROG, CR_PROG);
    return error != 0 ? error : coresight_poll(bus, base + ETMSR, SR_PROG, SR_PROG);
}
