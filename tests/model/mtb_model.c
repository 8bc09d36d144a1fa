/* SPDX-License-Identifier: BSD-3-Clause */
#include "mtb_model.h"

#include <string.h>

#define POSITION 0x000
#define MASTER   0x004
#define FLOW     0x008
#define BASE     0x00c
#define DEVARCH  0xfbc
#define DEVTYPE  0xfcc

#define POINTER       (MTB_MODEL_BYTES - 8) /* bits that are there */
#define WRAP          4u
#define EN            (1u << 31)
#define HALTREQ       (1u << 9)
#define SFRWPRIV      (1u << 7)
#define MASTER_RW     (EN | 0x3ffu)
#define MASK          0x1fu
#define MASK_MAX      10u /* 16 KiB */
#define AUTOSTOP      1u
#define AUTOHALT      2u
#define ALL_WRITTEN   7u
#define BASIC_ROUTER  0x47700a31u
#define BASIC_DEVTYPE 0x31u

void mtb_model_reset(struct mtb_model *m)
{
    m->position = 0x1238 | WRAP;
    m->master = SFRWPRIV | 0x15;
    m->flow = 0x2000 | AUTOSTOP | AUTOHALT;
    m->written = m->packet_bytes = 0;
}

bool mtb_model_traces(const struct mtb_model *m)
{
    return m->present && m->master & EN;
}

static uint32_t size_of(const struct mtb_model *m)
{
    unsigned mask = m->master & MASK;
    return 16u << (mask < MASK_MAX ? mask : MASK_MAX);
}

static void mtb_model_advance(struct mtb_model *m)
{
    uint32_t moving = size_of(m) - 1, next = ((m->position & POINTER) + 8) & moving;
    m->position = (m->position & ~(moving & POINTER)) | next | (next == 0 ? WRAP : 0);
    if ((m->position & POINTER) != (m->flow & POINTER))
        return;
    if (m->flow & AUTOSTOP)
        m->master &= ~EN;
    if (m->flow & AUTOHALT)
        m->master |= HALTREQ;
}

void mtb_model_put(struct mtb_model *m, const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size && mtb_model_traces(m); i++) {
        m->packet[m->packet_bytes++] = bytes[i];
        if (m->packet_bytes < sizeof m->packet)
            continue;
        memcpy(m->ram + (m->position & POINTER), m->packet, sizeof m->packet);
        m->packet_bytes = 0;
        mtb_model_advance(m);
    }
}

uint32_t mtb_model_read(const struct mtb_model *m, unsigned offset)
{
    switch (offset) {
    case POSITION:
        return m->position;
    case MASTER:
        return m->master;
    case FLOW:
        return m->flow;
    case BASE:
        return MTB_MODEL_RAM;
    case DEVARCH:
        return BASIC_ROUTER;
    case DEVTYPE:
        return BASIC_DEVTYPE;
    default:
        return 0;
    }
}

void mtb_model_write(struct mtb_model *m, unsigned offset, uint32_t value)
{
    if (offset <= FLOW)
        m->written |= 1u << offset / 4;
    if (offset == POSITION)
        m->position = value & (POINTER | WRAP);
    else if (offset == FLOW)
        m->flow = value & (POINTER | AUTOSTOP | AUTOHALT);
    else if (offset == MASTER) {
        if (value & EN && !(m->master & EN)) {
            m->packet_bytes = 0;
            m->unprogrammed += m->written != ALL_WRITTEN;
        }
        m->master = value & MASTER_RW;
    }
}

uint8_t *mtb_model_ram(struct mtb_model *m, uint32_t address, unsigned size)
{
    if (!m->present || address - MTB_MODEL_RAM > MTB_MODEL_BYTES - size)
        return NULL;
    return m->ram + (address & (MTB_MODEL_BYTES - 1));
}
