/* SPDX-License-Identifier: BSD-3-Clause */
/* Funnel and TPIU. DDI 0314H chapter 8; DDI 0403E.e C1.10. */
#include "drivers/coresight/coresight_trace.h"

#define FUNNEL_CTRL      0x000u
#define FUNNEL_HOLD_MASK 0xf00u
#define FUNNEL_HOLD      0x300u
#define FUNNEL_PORTS     8u

#define REPLICATOR_FILTER0 0x000u
#define REPLICATOR_FILTER1 0x004u
#define REPLICATOR_BLOCK   0xffu /* all trace IDs */

#define SSPSR 0x000u
#define CSPSR 0x004u
#define ACPR  0x010u
#define SPPR  0x0f0u
#define FFSR  0x300u
#define FFCR  0x304u
#define FSCR  0x308u

#define CSPSR_32      0x80000000u
#define SPPR_PARALLEL 0u
#define SPPR_NRZ      2u

#define FFSR_STOPPED    0x0002u
#define FFCR_CONTINUOUS 0x0103u /* EnFTC, EnFCont, TrigIn */
#define FFCR_M_FRAMES   0x0102u
#define FFCR_M_BYPASS   0x0100u
#define FFCR_FRAMES     0x0001u
#define FFCR_STOP_FL    0x1000u
#define FFCR_FLUSH      0x0040u

#define SYNC_FRAMES 64u
#define DIVIDER_MAX 0x2000u

int coresight_funnel_enable(struct coresight_bus *bus, uint64_t base, unsigned port)
{
    if (port >= FUNNEL_PORTS)
        return BT_ERR_INVAL;
    int error = coresight_unlock(bus, base);
    if (error == 0)
        error = coresight_modify(bus, base + FUNNEL_CTRL, FUNNEL_HOLD_MASK | 1u << port,
                                 FUNNEL_HOLD | 1u << port);
    return error;
}

int coresight_replicator_pass(struct coresight_bus *bus, uint64_t base, unsigned port)
{
    const struct coresight_setting list[] = {
        {CORESIGHT_LAR, CORESIGHT_LAR_KEY, 1},
        {REPLICATOR_FILTER0, port == 1 ? REPLICATOR_BLOCK : 0, 1},
        {REPLICATOR_FILTER1, port == 0 ? REPLICATOR_BLOCK : 0, 1},
    };
    return CORESIGHT_WRITE_ALL(bus, base, list);
}

/* Flush and stop; `format` are the other bits of FFCR meanwhile. */
static int stop_formatter(struct coresight_bus *bus, uint64_t base, uint32_t format)
{
    int error = coresight_write(bus, base + FFCR, format | FFCR_STOP_FL);
    if (error == 0)
        error = coresight_write(bus, base + FFCR, format | FFCR_STOP_FL | FFCR_FLUSH);
    if (error == 0)
        error = coresight_poll(bus, base + FFCR, FFCR_FLUSH, 0);
    if (error == 0)
        error = coresight_poll(bus, base + FFSR, FFSR_STOPPED, FFSR_STOPPED);
    return error;
}

int coresight_tpiu_flush(struct coresight_bus *bus, uint64_t base)
{
    int error = coresight_modify(bus, base + FFCR, FFCR_FLUSH, FFCR_FLUSH);
    return error == 0 ? coresight_poll(bus, base + FFCR, FFCR_FLUSH, 0) : error;
}

int coresight_tpiu_stop(struct coresight_bus *bus, uint64_t base)
{
    int error = coresight_unlock(bus, base);
    return error == 0 ? stop_formatter(bus, base, 0) : error;
}

/* Only a flush that stops it is sure to fill up the frame that it has begun. */
int coresight_tpiu_drain(struct coresight_bus *bus, uint64_t base)
{
    uint32_t format = 0;
    int error = coresight_unlock(bus, base);
    if (error == 0)
        error = coresight_read(bus, base + FFCR, &format);
    format &= ~(FFCR_STOP_FL | FFCR_FLUSH);
    if (error == 0)
        error = stop_formatter(bus, base, format);
    int back = coresight_write(bus, base + FFCR, format);
    return error != 0 ? error : back;
}

int coresight_tpiu_ring(struct coresight_bus *bus, uint64_t base)
{
    static const struct coresight_setting list[] = {{CSPSR, CSPSR_32, 1}, {FFCR, FFCR_FRAMES, 1}};
    int error = coresight_tpiu_stop(bus, base);
    return error == 0 ? CORESIGHT_WRITE_ALL(bus, base, list) : error;
}

int coresight_tpiu_ring_stop(struct coresight_bus *bus, uint64_t base)
{
    int error = coresight_unlock(bus, base);
    return error == 0 ? stop_formatter(bus, base, FFCR_FRAMES) : error;
}

int coresight_tpiu_parallel(struct coresight_bus *bus, uint64_t base, bool m_profile,
                            unsigned width)
{
    uint32_t supported;
    if (width == 0 || width > 32)
        return BT_ERR_INVAL;
    uint32_t size = 1u << (width - 1);
    int error = m_profile ? coresight_unlock(bus, base) : coresight_tpiu_stop(bus, base);
    if (error == 0)
        error = coresight_read(bus, base + SSPSR, &supported);
    if (error != 0)
        return error;
    if ((supported & size) == 0)
        return BT_ERR_UNSUPPORTED;
    const struct coresight_setting list[] = {
        {CSPSR, size, 1},
        {SPPR, SPPR_PARALLEL, m_profile},
        {FSCR, SYNC_FRAMES, !m_profile},
        {FFCR, m_profile ? FFCR_M_FRAMES : FFCR_CONTINUOUS, 1},
    };
    return CORESIGHT_WRITE_ALL(bus, base, list);
}

int coresight_tpiu_swo(struct coresight_bus *bus, uint64_t base, uint32_t divider, bool formatter)
{
    if (divider == 0 || divider > DIVIDER_MAX)
        return BT_ERR_INVAL;
    /* The rate first: a pin that never rests would send at the clock's own until it is written. */
    const struct coresight_setting list[] = {
        {CORESIGHT_LAR, CORESIGHT_LAR_KEY, 1},
        {ACPR, divider - 1, 1},
        {SPPR, SPPR_NRZ, 1},
        {FFCR, formatter ? FFCR_M_FRAMES : FFCR_M_BYPASS, 1},
    };
    return CORESIGHT_WRITE_ALL(bus, base, list);
}
