/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings of the ETMv4 model: which there are, what is wrong with them, what they ask for. */
#include "etm4_model.h"

#define TRCCONFIGR    0x010
#define TRCAUXCTLR    0x018
#define TRCEVENTCTL0R 0x020
#define TRCEVENTCTL1R 0x024
#define TRCSTALLCTLR  0x02c
#define TRCTSCTLR     0x030
#define TRCSYNCPR     0x034
#define TRCCCCTLR     0x038
#define TRCBBCTLR     0x03c
#define TRCTRACEIDR   0x040
#define TRCVICTLR     0x080
#define TRCVIIECTLR   0x084
#define TRCVISSCTLR   0x088
#define TRCVIPCSSCTLR 0x08c
#define TRCACVR       0x400
#define TRCACATR      0x480
#define CONFIGR_BB    (1u << 3)
#define CONFIGR_CCI   (1u << 4)
#define CONFIGR_TS    (1u << 11)
#define CONFIGR_RS    (1u << 12)
#define STALL_ISTALL  (1u << 8)
#define STALL_LEVEL   0xcu
#define BB_INCLUDE    (1u << 8)
#define VI_EVENT      0x8fu
#define VI_ALWAYS     0x01u
#define VI_NEVER      0x00u
#define VI_STARTED    (1u << 9)
#define VI_LEVELS     0x00ff0000u
#define CCITMIN       4u

/* When a register must be written before the unit is switched on. */
enum must {
    NEVER,
    ALWAYS,
    WITH_PAIRS,
    WITH_COUNTS,
    WITH_TIME,
    WITH_BROADCAST,
};

/* Registers and their bits. Those of comparators are made from the number of these. */
static const struct setting {
    uint16_t offset;
    uint8_t must;
    uint32_t bits;
} settings[] = {
    {TRCCONFIGR, ALWAYS, CONFIGR_BB | CONFIGR_CCI | CONFIGR_TS | CONFIGR_RS},
    {TRCAUXCTLR, NEVER, 0xff},
    {TRCEVENTCTL0R, ALWAYS, 0x8f8f},
    {TRCEVENTCTL1R, ALWAYS, 0x1803},
    {TRCSTALLCTLR, ALWAYS, 0x050c},
    {TRCTSCTLR, WITH_TIME, 0x8f},
    {TRCSYNCPR, ALWAYS, 0x1f},
    {TRCCCCTLR, WITH_COUNTS, 0xfff},
    {TRCBBCTLR, WITH_BROADCAST, 0x1ff},
    {TRCTRACEIDR, ALWAYS, 0x7f},
    {TRCVICTLR, ALWAYS, 0x00990e8f},
    {TRCVIIECTLR, WITH_PAIRS, 0x00ff00ff},
    {TRCVISSCTLR, WITH_PAIRS, 0x00ff00ff},
    {TRCVIPCSSCTLR, ALWAYS, 0x000f000f},
    {0x140, NEVER, 0xffff},     /* TRCCNTRLDVR0 */
    {0x150, NEVER, 0x00018f8f}, /* TRCCNTCTLR0 */
    {0x160, NEVER, 0xffff},     /* TRCCNTVR0 */
    {0x208, NEVER, 0x003fffff}, /* TRCRSCTLR2 and 3 */
    {0x20c, NEVER, 0x003fffff},
    {0x280, NEVER, 0x01ffffff}, /* TRCSSCCR0 */
    {0x2a0, NEVER, 0x80000000}, /* TRCSSCSR0 */
    {0x2c0, NEVER, 0x0000000f}, /* TRCSSPCICR0 */
};

#define SETTINGS (sizeof settings / sizeof *settings)

static bool is_m33(const struct etm4_model *u)
{
    return u->options.kind == ETM4_M33;
}

static uint32_t reg(const struct etm4_model *u, unsigned offset)
{
    return u->reg[offset / 4];
}

/* Bits of TRCVIIECTLR and others that choose pairs. */
static uint32_t pair_bits(const struct etm4_model *u)
{
    return (1u << u->options.pairs) - 1;
}

static uint32_t bits_of(const struct etm4_model *u, const struct setting *s)
{
    uint32_t pairs = pair_bits(u);
    switch (s->offset) {
    case TRCBBCTLR:
        return pairs ? pairs | BB_INCLUDE : 0;
    case TRCVIIECTLR:
        return pairs | pairs << 16;
    case TRCVISSCTLR: /* single comparators */
        pairs = (1u << 2 * u->options.pairs) - 1;
        return pairs | pairs << 16;
    case TRCVICTLR: /* levels of the secure state alone on a Cortex-M7 */
        return is_m33(u) ? s->bits : s->bits & ~0x00f00000u;
    case TRCSYNCPR:
        return is_m33(u) ? 0 : s->bits;
    default:
        return s->bits;
    }
}

uint32_t etm4_implemented(const struct etm4_model *u, unsigned offset)
{
    unsigned values = 2 * u->options.pairs; /* of 64 bits each */
    if (offset - TRCACVR < 8 * values)
        return offset & 4 ? 0 : UINT32_MAX;
    if (offset - TRCACATR < 8 * values)
        return offset & 4 ? 0 : 0xff03;
    for (unsigned i = 0; i < SETTINGS; i++)
        if (settings[i].offset == offset)
            return bits_of(u, &settings[i]);
    return 0;
}

static bool must_write(const struct etm4_model *u, const struct setting *s)
{
    uint32_t configr = reg(u, TRCCONFIGR);
    if (bits_of(u, s) == 0)
        return false;
    switch (s->must) {
    case ALWAYS:
        return true;
    case WITH_PAIRS:
        return u->options.pairs;
    case WITH_COUNTS:
        return configr & CONFIGR_CCI;
    case WITH_TIME:
        return configr & CONFIGR_TS;
    case WITH_BROADCAST:
        return configr & CONFIGR_BB;
    default:
        return false;
    }
}

bool etm4_programmed(const struct etm4_model *u)
{
    for (unsigned i = 0; i < SETTINGS; i++)
        if (must_write(u, &settings[i]) && !u->written[settings[i].offset / 4])
            return false;
    return true;
}

bool etm4_forbidden(const struct etm4_model *u)
{
    uint32_t configr = reg(u, TRCCONFIGR), period = reg(u, TRCSYNCPR), id = etm4_trace_id(u);
    bool both = configr & CONFIGR_RS && configr & CONFIGR_BB;
    bool counts = configr & CONFIGR_CCI && reg(u, TRCCCCTLR) < CCITMIN;
    return id == 0 || id >= 0x70 || both || counts || (period && (period < 8 || period > 20));
}

/* Chosen ranges are whole, and of instruction addresses in any context. */
static bool known_ranges(const struct etm4_model *u, uint32_t chosen)
{
    for (unsigned i = 0; i < 2 * u->options.pairs; i++)
        if (chosen >> i / 2 & 1 && reg(u, TRCACATR + 8 * i))
            return false;
    return true;
}

static bool known_choice(const struct etm4_model *u)
{
    uint32_t vi = reg(u, TRCVICTLR), ranges = reg(u, TRCVIIECTLR);
    uint32_t event = vi & VI_EVENT;
    if (event != VI_ALWAYS && event != VI_NEVER)
        return false;
    if (vi & VI_LEVELS || reg(u, TRCVISSCTLR) || reg(u, TRCVIPCSSCTLR))
        return false;
    if (reg(u, TRCCONFIGR) & CONFIGR_BB && reg(u, TRCBBCTLR) & pair_bits(u))
        return false;
    return known_ranges(u, ranges | ranges >> 16);
}

bool etm4_unmodelled(const struct etm4_model *u)
{
    return !known_choice(u);
}

bool etm4_selects(const struct etm4_model *u)
{
    uint32_t vi = reg(u, TRCVICTLR);
    return (vi & VI_EVENT) == VI_ALWAYS && vi & VI_STARTED;
}

bool etm4_stalls(const struct etm4_model *u)
{
    return reg(u, TRCSTALLCTLR) & STALL_ISTALL && reg(u, TRCSTALLCTLR) & STALL_LEVEL;
}

uint8_t etm4_trace_id(const struct etm4_model *u)
{
    return reg(u, TRCTRACEIDR) & 0x7f;
}

/* The pairs that are chosen; the end of a range is the address of its last instruction. */
static unsigned ranges(const struct etm4_model *u, uint32_t chosen, struct core_trace_range *to)
{
    unsigned n = 0;
    for (unsigned i = 0; i < u->options.pairs; i++)
        if (chosen >> i & 1)
            to[n++] =
                (struct core_trace_range){reg(u, TRCACVR + 16 * i), reg(u, TRCACVR + 16 * i + 8)};
    return n;
}

struct core_trace_v4 etm4_setting(const struct etm4_model *u)
{
    uint32_t configr = reg(u, TRCCONFIGR), chosen = reg(u, TRCVIIECTLR);
    bool nowhere = reg(u, TRCBBCTLR) & BB_INCLUDE;
    struct core_trace_v4 t = {.configr = configr & ~(nowhere ? CONFIGR_BB : 0),
                              .ccctlr = configr & CONFIGR_CCI ? reg(u, TRCCCCTLR) : 0,
                              .syncpr = reg(u, TRCSYNCPR)};
    t.includes = ranges(u, chosen, t.include);
    t.excludes = ranges(u, chosen >> 16, t.exclude);
    return t;
}
