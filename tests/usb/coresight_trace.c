/* SPDX-License-Identifier: BSD-3-Clause */
/* ETM-M4 and ETB (CoreSight digest, sections 5, 11 and 13). */
#include <string.h>

#include "tests/usb/coresight_model.h"

#define ETMCR       0x000
#define ETMSR       0x010
#define ETMTEEVR    0x020
#define ETMTECR1    0x024
#define ETMTRACEIDR 0x200
#define ETMOSLSR    0x304
#define ETMPDSR     0x314
#define LSR         0xfb4
#define AUTHSTATUS  0xfb8
#define DEVARCH     0xfbc
#define DEVTYPE     0xfcc

#define CR_IMPLEMENTED 0x10232ff1u /* no data trace, cycle counts or context IDs on Cortex-M */
#define CR_POWER_DOWN  (1u << 0)
#define CR_ETMEN       (1u << 11)
#define EVENT_ALWAYS   0x6fu

#define ETB_DEVTYPE  0x21
#define ETM_DEVTYPE  0x13
#define ETM4_DEVARCH 0x47704a13u
#define FFCR_FONMAN  (1u << 6)
#define FFCR_STOPFL  (1u << 12)
#define FFCR_FORMAT  3u
#define FFCR_RW      0x3773u

void cs_etm_reset(struct coresight_model *m)
{
    struct cs_etm *e = &m->etm;
    memset(e, 0, sizeof *e);
    e->reg[ETMCR / 4] = 0x411;
    e->reg[0x004 / 4] = 0x8c842000;
    e->reg[0x014 / 4] = 0x00020d09;
    e->reg[0x1e0 / 4] = 0x400;
    e->reg[0x1e4 / 4] = 0x4114f250;
    e->reg[0x1e8 / 4] = 0x18541800;
    e->prog = true;
    e->locked = true;
}

bool cs_etm_tracing(const struct coresight_model *m)
{
    const struct cs_etm *e = &m->etm;
    return m->scs.demcr >> 24 & 1 && !(e->reg[ETMCR / 4] & CR_POWER_DOWN) && !e->prog &&
           e->reg[ETMCR / 4] & CR_ETMEN && e->reg[ETMTEEVR / 4] == EVENT_ALWAYS;
}

uint8_t cs_etm_trace_id(const struct coresight_model *m)
{
    return m->etm.reg[ETMTRACEIDR / 4] & 0x7f;
}

uint32_t cs_etm_read(struct coresight_model *m, unsigned offset)
{
    struct cs_etm *e = &m->etm;
    switch (offset) {
    case ETMSR:
        return e->prog ? 2 : 0;
    case ETMTECR1:
        return 0; /* no comparators to choose from */
    case ETMOSLSR:
        return 0;
    case ETMPDSR:
        return 1;
    case LSR:
        return 1u | (e->locked ? 2u : 0u);
    case AUTHSTATUS:
        return 0x0f;
    case DEVARCH:
        return m->etm4 ? ETM4_DEVARCH : 0;
    case DEVTYPE:
        return ETM_DEVTYPE;
    default:
        return offset / 4 < CS_ETM_WORDS ? e->reg[offset / 4] : 0;
    }
}

static bool etm_read_only(unsigned offset)
{
    return offset == 0x004 || offset == ETMSR || offset == 0x014 || offset == 0x1e0 ||
           offset == 0x1e4 || offset == 0x1e8 || offset / 4 >= CS_ETM_WORDS;
}

void cs_etm_write(struct coresight_model *m, unsigned offset, uint32_t value)
{
    struct cs_etm *e = &m->etm;
    uint32_t *cr = &e->reg[ETMCR / 4];
    if (cs_lock_write(&e->locked, offset, value))
        return;
    if (e->locked) {
        m->counters.locked_writes++;
    } else if (offset == ETMCR) {
        *cr = value & CR_IMPLEMENTED;
        if (e->prog != (*cr >> 10 & 1))
            e->prog_reads = 3;
    } else if (!e->prog || *cr & CR_POWER_DOWN || etm_read_only(offset)) {
        m->counters.ignored_writes++;
    } else {
        e->reg[offset / 4] = value;
    }
}

bool cs_etb_capturing(const struct coresight_model *m)
{
    return m->etb.ctl & 1 && !m->etb.stopped;
}

void cs_etb_store(struct coresight_model *m, uint32_t word)
{
    struct cs_etb *b = &m->etb;
    b->ram[b->rwp] = word;
    b->rwp = (b->rwp + 1) % b->words;
    b->full |= b->rwp == 0;
}

static uint32_t read_ffcr(struct cs_etb *b)
{
    if (b->flush_reads && --b->flush_reads == 0)
        b->ffcr &= ~FFCR_FONMAN;
    return b->ffcr;
}

uint32_t cs_etb_read(struct coresight_model *m, unsigned offset)
{
    struct cs_etb *b = &m->etb;
    uint32_t value;
    switch (offset) {
    case 0x004:
        return b->words;
    case 0x00c:
        return (b->full ? 1u : 0u) | (b->stopped ? 0xcu : 0u);
    case 0x010:
        if (cs_etb_capturing(m))
            return UINT32_MAX;
        value = b->ram[b->rrp];
        b->rrp = (b->rrp + 1) % b->words;
        return value;
    case 0x014:
        return b->rrp;
    case 0x018:
        return b->rwp;
    case 0x01c:
        return b->trg;
    case 0x020:
        return b->ctl;
    case 0x300:
        return b->stopped ? 2 : 0;
    case 0x304:
        return read_ffcr(b);
    case LSR:
        return 1u | (b->locked ? 2u : 0u);
    case DEVTYPE:
        return ETB_DEVTYPE;
    default:
        return 0;
    }
}

/* A manual flush empties the formatter; with StopFl set before, capture ends there. */
static void flush(struct coresight_model *m)
{
    bool stop = m->etb.ffcr & FFCR_STOPFL;
    frame_builder_flush(&m->frames);
    coresight_model_run(m);
    m->framed.size = 0;
    if (stop)
        m->etb.stopped = true;
}

static void write_ffcr(struct coresight_model *m, uint32_t value)
{
    struct cs_etb *b = &m->etb;
    bool manual = value & FFCR_FONMAN && !(b->ffcr & FFCR_FONMAN);
    if ((value ^ b->ffcr) & FFCR_FORMAT && !b->stopped) {
        m->counters.ignored_writes++;
        value = (value & ~FFCR_FORMAT) | (b->ffcr & FFCR_FORMAT);
    }
    /* StopFl written together with FOnMan comes too late for that flush. */
    if (manual) {
        flush(m);
        b->flush_reads = 2;
    }
    b->ffcr = value & FFCR_RW;
}

static void write_ctl(struct coresight_model *m, uint32_t value)
{
    struct cs_etb *b = &m->etb;
    if (value & 1 && !(b->ctl & 1)) {
        b->stopped = false;
        b->full = false;
        m->framed.size = 0;
    } else if (!(value & 1)) {
        b->stopped = true;
    }
    b->ctl = value & 1;
}

void cs_etb_write(struct coresight_model *m, unsigned offset, uint32_t value)
{
    struct cs_etb *b = &m->etb;
    if (cs_lock_write(&b->locked, offset, value))
        return;
    if (b->locked) {
        m->counters.locked_writes++;
        return;
    }
    if (b->ctl & 1 && offset != 0x020 && offset != 0x304) {
        m->counters.ignored_writes++;
        return;
    }
    switch (offset) {
    case 0x014:
        b->rrp = value % b->words;
        break;
    case 0x018:
        b->rwp = value % b->words;
        break;
    case 0x01c:
        b->trg = value % b->words;
        break;
    case 0x020:
        write_ctl(m, value);
        break;
    case 0x024:
        b->ram[b->rwp] = value;
        b->rwp = (b->rwp + 1) % b->words;
        break;
    case 0x304:
        write_ffcr(m, value);
        break;
    default:
        m->counters.ignored_writes++;
        break;
    }
}
