/* SPDX-License-Identifier: BSD-3-Clause */
/* Identification registers and software locks (CoreSight digest, sections 2 and 4). */
#include "tests/usb/coresight_model.h"

#define LAR     0xfb0
#define LAR_KEY 0xc5acce55u

#define CLASS_ROM       0x1
#define CLASS_CORESIGHT 0x9
#define CLASS_GENERIC   0xe

static const struct identity {
    uint32_t base;
    uint16_t part;
    uint8_t class;
    uint8_t revision;
} identities[] = {
    {CS_SCS, 0x00c, CLASS_GENERIC, 0},    {CS_DWT, 0x002, CLASS_GENERIC, 3},
    {CS_FPB, 0x003, CLASS_GENERIC, 2},    {CS_ITM, 0x001, CLASS_GENERIC, 3},
    {CS_TPIU, 0x9a1, CLASS_CORESIGHT, 0}, {CS_ETM, 0x925, CLASS_CORESIGHT, 0},
    {CS_ETB, 0x907, CLASS_CORESIGHT, 2},  {CS_ROM, 0x4c4, CLASS_ROM, 0},
};

/* Those that tell a Cortex-M3 from an M4. */
static uint16_t part_of(const struct coresight_model *m, const struct identity *id)
{
    if (!m->cortex_m3)
        return id->part;
    switch (id->base) {
    case CS_SCS:
        return 0x000;
    case CS_TPIU:
        return 0x923;
    case CS_ETM:
        return 0x924;
    case CS_ROM:
        return 0x4c3;
    default:
        return id->part;
    }
}

uint32_t cs_identification(const struct coresight_model *m, uint32_t base, unsigned offset)
{
    const struct identity *id = identities;
    while (id->base != base && id->base != CS_ROM)
        id++;
    uint16_t part = part_of(m, id);
    switch (offset) {
    case 0xfd0: /* PIDR4: continuation 4 */
        return 4;
    case 0xfe0:
        return part & 0xff;
    case 0xfe4: /* identity 0x3b, low half */
        return 0xb0u | part >> 8;
    case 0xfe8:
        return (uint32_t)id->revision << 4 | 0xb; /* JEP106 used, identity high half */
    case 0xff0:
        return 0x0d;
    case 0xff4:
        return (uint32_t)id->class << 4;
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
