/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the systems are made of: ROM tables, identification registers and software locks (IHI 0029E,
 * IHI 0031F part D). The parts of a Cortex-M33 and the nesting of a Cortex-M7's tables are as tools
 * list them for such chips in public.
 */
#include "coresight_model.h"

#define LAR     0xfb0
#define LAR_KEY 0xc5acce55u
#define DEVARCH 0xfbc
#define DEVTYPE 0xfcc
#define PAGE    0xfffu

#define CLASS_ROM       0x1
#define CLASS_CORESIGHT 0x9
#define CLASS_GENERIC   0xe

#define PART_TMC 0x961
#define PART_MTB 0x932 /* of an M33 the number of all its parts */
#define PART_M33 0xd21
#define PARTS    9

/* The last one stands for all that is not listed. */
struct part {
    uint32_t base;
    uint16_t part;
    uint8_t class;
    uint8_t revision;
    uint8_t devtype; /* of those that say so here */
    uint32_t devarch;
};

static const struct part cortex_m0[PARTS] = {
    {CS_SCS, 0x008, CLASS_GENERIC, 0, 0, 0}, {CS_DWT, 0x00a, CLASS_GENERIC, 0, 0, 0},
    {CS_FPB, 0x00b, CLASS_GENERIC, 0, 0, 0}, {CS_MTB, PART_MTB, CLASS_CORESIGHT, 0, 0, 0},
    {CS_ROM, 0x4c0, CLASS_ROM, 0, 0, 0},
};

static const struct part cortex_m3[PARTS] = {
    {CS_SCS, 0x000, CLASS_GENERIC, 0, 0, 0},    {CS_DWT, 0x002, CLASS_GENERIC, 3, 0, 0},
    {CS_FPB, 0x003, CLASS_GENERIC, 2, 0, 0},    {CS_ITM, 0x001, CLASS_GENERIC, 3, 0, 0},
    {CS_TPIU, 0x923, CLASS_CORESIGHT, 0, 0, 0}, {CS_ETM, 0x924, CLASS_CORESIGHT, 0, 0, 0},
    {CS_ETB, 0x907, CLASS_CORESIGHT, 2, 0, 0},  {CS_ROM, 0x4c3, CLASS_ROM, 0, 0, 0},
};

static const struct part cortex_m4[PARTS] = {
    {CS_SCS, 0x00c, CLASS_GENERIC, 0, 0, 0},    {CS_DWT, 0x002, CLASS_GENERIC, 3, 0, 0},
    {CS_FPB, 0x003, CLASS_GENERIC, 2, 0, 0},    {CS_ITM, 0x001, CLASS_GENERIC, 3, 0, 0},
    {CS_TPIU, 0x9a1, CLASS_CORESIGHT, 0, 0, 0}, {CS_ETM, 0x925, CLASS_CORESIGHT, 0, 0, 0},
    {CS_ETB, 0x907, CLASS_CORESIGHT, 2, 0, 0},  {CS_ROM, 0x4c4, CLASS_ROM, 0, 0, 0},
};

static const struct part cortex_m7[PARTS] = {
    {CS_SCS, 0x00c, CLASS_GENERIC, 0, 0, 0},    {CS_DWT, 0x002, CLASS_GENERIC, 0, 0, 0},
    {CS_FPB, 0x00e, CLASS_GENERIC, 0, 0, 0},    {CS_ITM, 0x001, CLASS_GENERIC, 0, 0, 0},
    {CS_TPIU, 0x9a9, CLASS_CORESIGHT, 0, 0, 0}, {CS_ETM, 0x975, CLASS_CORESIGHT, 0, 0, 0},
    {CS_ETB, 0x907, CLASS_CORESIGHT, 2, 0, 0},  {CS_TOP, 0x4c8, CLASS_ROM, 0, 0, 0},
    {CS_ROM, 0x4c7, CLASS_ROM, 0, 0, 0},
};

/* One part number for all of the core: DEVARCH and DEVTYPE tell them apart. */
static const struct part cortex_m33[PARTS] = {
    {CS_SCS, PART_M33, CLASS_CORESIGHT, 0, 0x00, 0x47702a04},
    {CS_DWT, PART_M33, CLASS_CORESIGHT, 0, 0x00, 0x47701a02},
    {CS_FPB, PART_M33, CLASS_CORESIGHT, 0, 0x00, 0x47701a03},
    {CS_ITM, PART_M33, CLASS_CORESIGHT, 0, 0x43, 0x47701a01},
    {CS_TPIU, PART_M33, CLASS_CORESIGHT, 0, 0x11, 0},
    {CS_ETM, PART_M33, CLASS_CORESIGHT, 0, 0x13, 0x47724a13},
    {CS_ETB, 0x907, CLASS_CORESIGHT, 2, 0x21, 0},
    {CS_ROM, 0x4c9, CLASS_ROM, 0, 0, 0},
};

static const struct part *const parts[] = {[CS_M3] = cortex_m3,
                                           [CS_M4] = cortex_m4,
                                           [CS_M7] = cortex_m7,
                                           [CS_M33] = cortex_m33,
                                           [CS_M0] = cortex_m0};

/* Offsets from the table; some are of components that are not there. */
static const uint32_t m4_rom[] = {0xfff0f003, 0xfff02003, 0xfff03003, 0xfff01003, 0xfff41003,
                                  0xfff42003, 0xfff44003, 0xfff45002, 0};
static const uint32_t m7_rom[] = {0xfff0f003, 0xfff02003, 0xfff03003, 0xfff01003, 0};
static const uint32_t m7_top[] = {0x00001003, 0xfff43003, 0xfff42003, 0xfff45003, 0xfff44002, 0};
static const uint32_t m0_rom[] = {0xfff0f003, 0xfff02003, 0xfff03003, 0xfff44003, 0};
static const uint32_t m33_rom[] = {0xfff0f003, 0xfff02003, 0xfff03003, 0xfff01003, 0xfff41003,
                                   0xfff42003, 0xfff43002, 0xfff44003, 0};

uint32_t cs_rom_read(const struct coresight_model *m, uint32_t base, unsigned index)
{
    const uint32_t *table = m->kind == CS_M33  ? m33_rom
                            : m->kind == CS_M7 ? m7_rom
                            : m->kind == CS_M0 ? m0_rom
                                               : m4_rom;
    if (base == CS_TOP)
        table = m7_top;
    for (unsigned i = 0; i < index && *table; i++)
        table++;
    bool missing = base + (*table & ~PAGE) == CS_ETB && m->etb.words == 0 && !m->mtb.present;
    return missing ? *table & ~1u : *table;
}

static const struct part *find(const struct coresight_model *m, uint32_t base)
{
    const struct part *p = parts[m->kind];
    while (p->base != base && p->base != CS_ROM)
        p++;
    return p;
}

bool cs_names_itself(const struct coresight_model *m, uint32_t base, unsigned offset)
{
    return m->kind == CS_M33 && !(m->mtb.present && base == CS_MTB) &&
           (offset == DEVARCH || offset == DEVTYPE) && base != CS_ETM && base != CS_ROM;
}

uint32_t cs_identification(const struct coresight_model *m, uint32_t base, unsigned offset)
{
    const struct part *p = find(m, base);
    uint16_t part = base != CS_ETB                        ? p->part
                    : m->mtb.present && m->kind == CS_M33 ? PART_M33
                    : m->etb.tmc                          ? PART_TMC
                                                          : p->part;
    switch (offset) {
    case DEVARCH:
        return p->devarch;
    case DEVTYPE:
        return p->devtype;
    case 0xfd0: /* PIDR4: continuation 4 */
        return 4;
    case 0xfe0:
        return part & 0xff;
    case 0xfe4: /* identity 0x3b, low half */
        return 0xb0u | part >> 8;
    case 0xfe8:
        return (uint32_t)p->revision << 4 | 0xb; /* JEP106 used, identity high half */
    case 0xff0:
        return 0x0d;
    case 0xff4:
        return (uint32_t)p->class << 4;
    case 0xff8:
        return 0x05;
    case 0xffc:
        return 0xb1;
    default:
        return 0;
    }
}

bool cs_lock_write(bool *locked, unsigned offset, uint32_t value)
{
    if (offset != LAR)
        return false;
    *locked = value != LAR_KEY;
    return true;
}
