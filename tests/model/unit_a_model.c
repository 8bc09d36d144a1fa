/* SPDX-License-Identifier: BSD-3-Clause */
#include "unit_a_model.h"

#include <string.h>

#define ETMCR       0x000
#define ETMCCR      0x004
#define ETMSR       0x010
#define ETMSCR      0x014
#define ETMTEEVR    0x020
#define ETMTECR1    0x024
#define ETMACVR     0x040
#define ETMSYNCFR   0x1e0
#define ETMIDR      0x1e4
#define ETMCCER     0x1e8
#define ETMTRACEIDR 0x200
#define ETMOSLAR    0x300
#define ETMOSLSR    0x304
#define ETMPDSR     0x314
#define LAR         0xfb0
#define KEY         0xc5acce55u

#define CR_POWER_DOWN (1u << 0)
#define CR_PROG       (1u << 10)
#define CR_ETMEN      (1u << 11)
#define CR_SIZE       0x00200070u
#define CR_SIZE_32    0x00000040u
#define CR_MODE       0x00032000u
/* Branch broadcast, cycle-accurate, context ID; and of the ETMv3 timestamps. */
#define CR_OPTIONS_PTM 0x0000d100u
#define CR_OPTIONS_ETM 0x1000d100u
#define CR_PTM         (CR_OPTIONS_PTM | 0x601)
#define CR_ETM         (CR_OPTIONS_ETM | CR_SIZE | CR_MODE | CR_ETMEN | 0x601)

#define ALWAYS           0x6fu
#define TECR1_RANGES     0xffu
#define TECR1_DECODERS   0xffff00u
#define TECR1_EXCLUDE    (1u << 24)
#define TECR1_START_STOP (1u << 25)

void unit_a_init(struct unit_a_model *u, bool etmv3)
{
    memset(u, 0, sizeof *u);
    u->etmv3 = etmv3;
    unit_a_reset(u);
}

void unit_a_reset(struct unit_a_model *u)
{
    bool etmv3 = u->etmv3;
    memset(u->reg, 0, sizeof u->reg);
    u->prog = true;
    u->prog_reads = 0;
    u->locked = true;
    u->os_locked = false;
    u->reg[ETMCR / 4] = etmv3 ? 0x411 : 0x401;
    u->reg[ETMCCR / 4] = etmv3 ? 0x8d014024 : 0x8d294004;
    u->reg[ETMSYNCFR / 4] = 0x400;
    u->reg[ETMIDR / 4] = etmv3 ? 0x410cf250 : 0x411cf301;
    u->reg[ETMCCER / 4] = etmv3 ? 0x344008f2 : 0x000008ea;
}

void unit_a_update(struct unit_a_model *u)
{
    if (u->prog_reads && --u->prog_reads == 0)
        u->prog = u->reg[ETMCR / 4] & CR_PROG;
}

/* Of an ETMv3: which of the settings in ETMCR it supports. */
static uint32_t system_configuration(const struct unit_a_model *u)
{
    uint32_t cr = u->reg[ETMCR / 4];
    if (!u->etmv3)
        return 0;
    return 0x0002000c | ((cr & CR_SIZE) == CR_SIZE_32 ? 1u << 10 : 0) |
           (cr & CR_MODE ? 0 : 1u << 11);
}

uint32_t unit_a_read(struct unit_a_model *u, unsigned offset, bool external)
{
    switch (offset) {
    case ETMSR:
        return u->prog ? 2 : 0;
    case ETMSCR:
        return system_configuration(u);
    case ETMOSLAR:
        return 0;
    case ETMOSLSR:
        return 1u | (u->os_locked ? 2u : 0);
    case ETMPDSR:
        return 1;
    case 0xfb4:
        return external ? 0 : 1u | (u->locked ? 2u : 0);
    case 0xfb8: /* trace of both security states */
        return 0xcc;
    case 0xfcc:
        return 0x13;
    default:
        return offset / 4 < UNIT_A_REGS ? u->reg[offset / 4] : 0;
    }
}

static bool read_only(unsigned offset)
{
    return offset == ETMCCR || offset == ETMSR || offset == ETMSCR || offset == ETMIDR ||
           offset == ETMCCER || offset == ETMOSLSR || offset == ETMPDSR ||
           offset / 4 >= UNIT_A_REGS;
}

static void write_cr(struct unit_a_model *u, uint32_t value)
{
    uint32_t *cr = &u->reg[ETMCR / 4];
    *cr = value & (u->etmv3 ? CR_ETM : CR_PTM);
    if (u->prog != !!(*cr & CR_PROG))
        u->prog_reads = 2;
}

void unit_a_write(struct unit_a_model *u, unsigned offset, bool external, uint32_t value)
{
    if (offset == LAR) {
        u->locked = external ? u->locked : value != KEY;
    } else if (u->locked && !external) {
        u->locked_writes++;
    } else if (offset == ETMOSLAR) {
        u->os_locked = value == KEY;
    } else if (u->os_locked) {
        u->ignored_writes++;
    } else if (offset == ETMCR) {
        write_cr(u, value);
    } else if (!u->prog || u->reg[ETMCR / 4] & CR_POWER_DOWN || read_only(offset)) {
        u->ignored_writes++;
    } else {
        u->reg[offset / 4] = value;
    }
}

uint8_t unit_a_trace_id(const struct unit_a_model *u)
{
    return u->reg[ETMTRACEIDR / 4] & 0x7f;
}

/* Pairs of comparators; the end of a range is the first address behind it. */
static void choose(const struct unit_a_model *u, uint32_t chosen, struct core_a_trace *s)
{
    for (unsigned i = 0; i < CORE_A_RANGES; i++) {
        const uint32_t *pair = &u->reg[ETMACVR / 4 + 2 * i];
        if (!(chosen >> i & 1) || pair[1] <= pair[0])
            continue;
        s->first[s->ranges] = pair[0];
        s->last[s->ranges++] = pair[1] - 1;
    }
}

struct core_a_trace unit_a_setting(const struct unit_a_model *u)
{
    uint32_t cr = u->reg[ETMCR / 4], tecr = u->reg[ETMTECR1 / 4];
    uint32_t chosen = tecr & TECR1_RANGES;
    struct core_a_trace s = {.etmcr = cr & (u->etmv3 ? CR_OPTIONS_ETM : CR_OPTIONS_PTM),
                             .exclude = tecr & TECR1_EXCLUDE};
    choose(u, chosen, &s);
    bool runs = !u->prog && !(cr & (CR_POWER_DOWN | CR_PROG)) && u->reg[ETMTEEVR / 4] == ALWAYS &&
                (!u->etmv3 || (cr & CR_ETMEN && (cr & CR_SIZE) == CR_SIZE_32));
    bool chooses = !(tecr & (TECR1_DECODERS | TECR1_START_STOP)) && (s.exclude || s.ranges);
    s.on = runs && chooses;
    if (u->etmv3)
        s.etmcr |= CR_ETMEN;
    return s;
}
