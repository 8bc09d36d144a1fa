/* SPDX-License-Identifier: BSD-3-Clause */
/* The Cortex-M TPIU and the ITM (DDI 0403E.e C1.7 and C1.10). */
#include "coresight_model.h"

#define SSPSR        0x00b
#define FFCR_ENFCONT (1u << 1)
#define FFCR_TRIGIN  (1u << 8)
#define LAR          0xfb0
#define LSR          0xfb4
#define DEVID        0xfc8
#define DEVTYPE      0xfcc

#define TCR_ITMENA   (1u << 0)
#define TCR_WRITABLE 0x007f0f1fu

uint32_t cs_tpiu_read(struct coresight_model *m, unsigned offset)
{
    const struct cs_tpiu *t = &m->tpiu;
    switch (offset) {
    case 0x000:
        return SSPSR;
    case 0x004:
        return t->cspsr;
    case 0x010:
        return t->acpr;
    case 0x0f0:
        return t->sppr;
    case 0x300:
        return 8;
    case 0x304:
        return t->sppr ? t->ffcr : FFCR_ENFCONT | FFCR_TRIGIN;
    case DEVID:
        return 0xca1;
    case DEVTYPE:
        return 0x11;
    default:
        return 0;
    }
}

void cs_tpiu_write(struct coresight_model *m, unsigned offset, uint32_t value)
{
    struct cs_tpiu *t = &m->tpiu;
    switch (offset) {
    case 0x004:
        if (value != 1 && value != 2 && value != 8) {
            m->counters.ignored_writes++;
        } else if (t->cspsr != value) {
            t->cspsr = value;
            cs_swo_clear(m);
        }
        break;
    case 0x010:
        t->acpr = value & 0x1fff;
        break;
    case 0x0f0:
        if ((value & 3) != 3 && t->sppr != (value & 3)) {
            t->sppr = value & 3;
            cs_swo_clear(m);
        }
        break;
    case 0x304:
        t->ffcr = (value & FFCR_ENFCONT) | FFCR_TRIGIN;
        break;
    case LAR: /* clients that know of no difference write it */
        break;
    default:
        m->counters.ignored_writes++;
        break;
    }
}

uint32_t cs_itm_read(struct coresight_model *m, unsigned offset)
{
    const struct cs_itm *t = &m->itm;
    if (offset < 0x80)
        return t->tcr & TCR_ITMENA; /* the port takes another write */
    switch (offset) {
    case 0xe00:
        return t->ter;
    case 0xe40:
        return t->tpr;
    case 0xe80:
        return t->tcr;
    case LSR:
        return 1u | (t->locked ? 2u : 0u);
    default:
        return 0;
    }
}

/* A software packet: source in the header, size code 1, 2 or 3. */
static void stimulus(struct coresight_model *m, unsigned port, unsigned size, uint32_t value)
{
    uint8_t packet[5] = {(uint8_t)(port << 3 | (size == 4 ? 3 : size))};
    if (!(m->itm.tcr & TCR_ITMENA) || !(m->itm.ter >> port & 1))
        return;
    for (unsigned i = 0; i < size; i++)
        packet[1 + i] = (uint8_t)(value >> 8 * i);
    uint8_t id = m->itm.tcr >> 16 & 0x7f;
    if (cs_etb_capturing(m))
        sink_put(&m->etb, id, packet, size + 1);
    else if (m->tpiu.ffcr & FFCR_ENFCONT || !m->tpiu.sppr)
        frame_builder_write(&m->frames, id, packet, size + 1);
    else
        cs_swo_put(m, packet, size + 1);
}

void cs_itm_write(struct coresight_model *m, unsigned offset, unsigned size, uint32_t value)
{
    struct cs_itm *t = &m->itm;
    if (cs_lock_write(&t->locked, offset, value))
        return;
    if (offset < 0x80) {
        stimulus(m, offset / 4, size, value);
        return;
    }
    if (t->locked) {
        m->counters.locked_writes++;
        return;
    }
    switch (offset) {
    case 0xe00:
        t->ter = value;
        break;
    case 0xe40:
        t->tpr = value & 0xf;
        break;
    case 0xe80:
        t->tcr = value & TCR_WRITABLE;
        break;
    default:
        m->counters.ignored_writes++;
        break;
    }
}
