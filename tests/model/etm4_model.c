/* SPDX-License-Identifier: BSD-3-Clause */
#include "etm4_model.h"

#include <string.h>

#define TRCPRGCTLR    0x004
#define TRCSTATR      0x00c
#define TRCCONFIGR    0x010
#define TRCSYNCPR     0x034
#define TRCIDR8       0x180
#define TRCIDR12      0x190
#define TRCIDR0       0x1e0
#define TRCIDR5       0x1f4
#define TRCOSLAR      0x300
#define TRCOSLSR      0x304
#define TRCPDCR       0x310
#define TRCPDSR       0x314
#define TRCITCTRL     0xf00
#define TRCCLAIMSET   0xfa0
#define TRCCLAIMCLR   0xfa4
#define TRCLAR        0xfb0
#define TRCLSR        0xfb4
#define TRCAUTHSTATUS 0xfb8
#define TRCDEVARCH    0xfbc
#define TRCDEVTYPE    0xfcc
#define LAR_KEY       0xc5acce55u
#define CONFIGR_RES1  (1u << 0)
#define PDCR_PU       (1u << 3)
#define PDSR_POWER    (1u << 0)
#define PDSR_LOST     (1u << 1)
#define PDSR_OSLK     (1u << 5)
#define OSLSR_MODEL   (1u << 3)
#define OSLSR_OSLK    (1u << 1)
#define STATR_IDLE    (1u << 0)
#define STATR_STABLE  (1u << 1)
#define SYNC_FIXED    10u /* of the Cortex-M33's: 1024 bytes */
#define CLAIM_TAGS    0xfu
#define NONSENSE      0x5aa55aa5u /* what power leaves */
#define LOOKS_START   4
#define LOOKS_STOP    6
#define LOOKS_DRAIN   3 /* of these in which the registers are not stable yet */
#define LOOKS_POWER   3

static uint32_t reg(const struct etm4_model *u, unsigned offset)
{
    return u->reg[offset / 4];
}

static bool is_m33(const struct etm4_model *u)
{
    return u->options.kind == ETM4_M33;
}

static void forget(struct etm4_model *u)
{
    for (unsigned i = 0; i < ETM4_WORDS; i++)
        u->reg[i] = NONSENSE & etm4_implemented(u, 4 * i);
    memset(u->written, 0, sizeof u->written);
    u->reg[TRCCONFIGR / 4] |= CONFIGR_RES1;
    if (is_m33(u))
        u->reg[TRCSYNCPR / 4] = SYNC_FIXED;
    u->state = ETM4_IDLE;
    u->looks = 0;
    u->claim = u->itctrl = 0;
    u->power_lost = true;
    u->os_locked = !is_m33(u);
}

void etm4_init(struct etm4_model *u, const struct etm4_options *options)
{
    memset(u, 0, sizeof *u);
    u->options = *options;
    u->powered = is_m33(u);
    u->locked = !is_m33(u);
    forget(u);
}

static bool enabled(const struct etm4_model *u)
{
    return reg(u, TRCPRGCTLR) & 1 && !u->os_locked && u->powered;
}

static void stop(struct etm4_model *u)
{
    if (u->state == ETM4_STARTING || u->state == ETM4_RUNNING) {
        u->state = ETM4_STOPPING;
        u->looks = LOOKS_STOP;
    }
}

static void start(struct etm4_model *u)
{
    struct etm4_counters *c = &u->counters;
    u->state = ETM4_STARTING;
    u->looks = LOOKS_START;
    u->refuses = true;
    if (!etm4_programmed(u))
        c->unprogrammed++;
    else if (etm4_forbidden(u) || u->itctrl)
        c->forbidden++;
    else if (etm4_unmodelled(u))
        c->unmodelled++;
    else
        u->refuses = false;
}

static void update_power(struct etm4_model *u)
{
    if (u->power_looks && --u->power_looks == 0)
        u->powered = true;
}

void etm4_update(struct etm4_model *u)
{
    update_power(u);
    if (u->looks == 0 || (u->state == ETM4_STOPPING && u->faults.never_idle))
        return;
    if (--u->looks)
        return;
    u->state = u->state == ETM4_STARTING ? ETM4_RUNNING : ETM4_IDLE;
    if (u->state == ETM4_IDLE && enabled(u))
        start(u);
}

void etm4_lock_again(struct etm4_model *u)
{
    if (is_m33(u))
        return;
    u->os_locked = true;
    stop(u);
}

void etm4_lose_power(struct etm4_model *u)
{
    bool requested = reg(u, TRCPDCR) & PDCR_PU;
    forget(u);
    u->powered = is_m33(u);
    if (!is_m33(u) && requested) {
        u->reg[TRCPDCR / 4] = PDCR_PU;
        u->power_looks = LOOKS_POWER;
    }
}

/* Those of the debug power domain, which the OS lock does not cover either. */
static bool always_there(unsigned offset)
{
    switch (offset) {
    case TRCOSLAR:
    case TRCOSLSR:
    case TRCPDCR:
    case TRCPDSR:
        return true;
    default:
        return offset >= TRCLAR;
    }
}

static bool refused(struct etm4_model *u, unsigned offset)
{
    if (always_there(offset) || (u->powered && !u->os_locked))
        return false;
    if (!u->powered)
        u->counters.unpowered++;
    else
        u->counters.os_locked++;
    return true;
}

static uint32_t identification(const struct etm4_model *u, unsigned offset)
{
    /* TRCIDR0 to 5: instruction trace alone; one counter, four comparators of the DWT. */
    static const uint32_t m7[] = {0x280006a1, 0x4100f400, 0x00000004,
                                  0x0d090004, 0x00114000, 0x90c70004};
    static const uint32_t m33[] = {0x280006e1, 0x4100f420, 0x00000004,
                                   0x0f990004, 0x00114000, 0x90c70004};
    unsigned n = (offset - TRCIDR0) / 4;
    if (offset < TRCIDR0 || offset > TRCIDR5)
        return offset == TRCIDR12 && is_m33(u) ? 1 : 0;
    return (is_m33(u) ? m33 : m7)[n] | (n == 4 ? u->options.pairs : 0);
}

/* Right after it was switched off it still holds trace, and its registers may change. */
static uint32_t status(const struct etm4_model *u)
{
    switch (u->state) {
    case ETM4_RUNNING:
        return 0;
    case ETM4_STOPPING:
        return u->looks <= LOOKS_DRAIN ? STATR_STABLE : 0;
    default:
        return STATR_STABLE | STATR_IDLE;
    }
}

static uint32_t power_status(struct etm4_model *u)
{
    uint32_t value = (u->powered ? PDSR_POWER : 0) | (u->power_lost ? PDSR_LOST : 0) |
                     (u->os_locked ? PDSR_OSLK : 0);
    u->power_lost = false;
    return value;
}

static uint32_t read_management(const struct etm4_model *u, unsigned offset)
{
    uint32_t both = is_m33(u) ? 0xcc : 0x0c;
    switch (offset) {
    case TRCITCTRL:
        return u->itctrl;
    case TRCCLAIMSET:
        return CLAIM_TAGS;
    case TRCCLAIMCLR:
        return u->claim;
    case TRCLSR:
        return is_m33(u) ? 0 : 1u | (u->locked ? 2u : 0);
    case TRCAUTHSTATUS: /* implemented, and enabled or not */
        return u->faults.no_trace ? both & 0x88 : both;
    case TRCDEVARCH:
        return is_m33(u) ? ETM4_DEVARCH_M33 : ETM4_DEVARCH_M7;
    case TRCDEVTYPE:
        return 0x13;
    default:
        return 0;
    }
}

int etm4_read(struct etm4_model *u, unsigned offset, uint32_t *value)
{
    *value = 0;
    if (refused(u, offset))
        return -1;
    if (offset == TRCSTATR)
        *value = status(u);
    else if (offset == TRCOSLSR)
        *value = is_m33(u) ? 0 : OSLSR_MODEL | (u->os_locked ? OSLSR_OSLK : 0);
    else if (offset == TRCPDSR)
        *value = power_status(u);
    else if (offset == TRCOSLAR)
        *value = 0;
    else if (offset >= TRCIDR8 && offset < 0x200)
        *value = identification(u, offset);
    else if (offset < 4 * ETM4_WORDS)
        *value = reg(u, offset);
    else
        *value = read_management(u, offset);
    return 0;
}

static void write_enable(struct etm4_model *u, uint32_t value)
{
    bool on = value & 1;
    if (on && u->state != ETM4_IDLE && !enabled(u)) {
        u->counters.early++;
        return;
    }
    u->reg[TRCPRGCTLR / 4] = on;
    if (on && u->state == ETM4_IDLE)
        start(u);
    if (!on)
        stop(u);
}

static void write_os_lock(struct etm4_model *u, uint32_t value)
{
    if (is_m33(u))
        return;
    u->os_locked = value & 1;
    if (u->os_locked)
        stop(u);
    else if (enabled(u) && u->state == ETM4_IDLE)
        start(u);
}

static void write_power(struct etm4_model *u, uint32_t value)
{
    bool on = value & PDCR_PU, was = reg(u, TRCPDCR) & PDCR_PU;
    if (is_m33(u))
        return;
    if (on && !was && !u->powered)
        u->power_looks = LOOKS_POWER;
    if (!on && was) {
        etm4_lose_power(u);
        u->power_looks = 0;
    }
    u->reg[TRCPDCR / 4] = value & PDCR_PU;
}

static void write_setting(struct etm4_model *u, unsigned offset, uint32_t value)
{
    uint32_t bits = etm4_implemented(u, offset);
    if (offset == TRCSTATR || offset == TRCOSLSR || offset == TRCPDSR ||
        (offset >= TRCIDR8 && offset < 0x200) || (offset == TRCSYNCPR && !bits)) {
        u->counters.read_only++;
        return;
    }
    if (reg(u, TRCPRGCTLR) & 1 || u->state != ETM4_IDLE) {
        u->counters.busy_writes++;
        return;
    }
    u->written[offset / 4] = true;
    u->reg[offset / 4] = value & bits;
    if (offset == TRCCONFIGR)
        u->reg[offset / 4] |= CONFIGR_RES1;
}

static void write_management(struct etm4_model *u, unsigned offset, uint32_t value)
{
    switch (offset) {
    case TRCITCTRL:
        u->itctrl = value & 1;
        break;
    case TRCCLAIMSET:
        u->claim |= value & CLAIM_TAGS;
        break;
    case TRCCLAIMCLR:
        u->claim &= ~value;
        break;
    default:
        u->counters.read_only++;
        break;
    }
}

int etm4_write(struct etm4_model *u, unsigned offset, uint32_t value)
{
    if (refused(u, offset))
        return -1;
    if (offset == TRCLAR) {
        u->locked = !is_m33(u) && value != LAR_KEY;
        return 0;
    }
    if (u->locked) {
        u->counters.locked_writes++;
        return 0;
    }
    if (offset == TRCPRGCTLR)
        write_enable(u, value);
    else if (offset == TRCOSLAR)
        write_os_lock(u, value);
    else if (offset == TRCPDCR)
        write_power(u, value);
    else if (offset < 4 * ETM4_WORDS)
        write_setting(u, offset, value);
    else
        write_management(u, offset, value);
    return 0;
}

bool etm4_traces(const struct etm4_model *u)
{
    return u->state == ETM4_RUNNING && !u->refuses && !u->faults.no_trace && etm4_selects(u);
}

bool etm4_holds_back(const struct etm4_model *u)
{
    return u->state == ETM4_STOPPING;
}
