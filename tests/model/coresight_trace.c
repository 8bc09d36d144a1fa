/* SPDX-License-Identifier: BSD-3-Clause */
/* ETM-M3 and M4, and the sink (IHI 0014Q chapter 3; DDI 0314H chapter 9, DDI 0461B). */
#include <string.h>

#include "coresight_model.h"

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

#define ETM_DEVTYPE  0x13
#define ETM4_DEVARCH 0x47704a13u

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

bool cs_is_v4(const struct coresight_model *m)
{
    return m->kind == CS_M7 || m->kind == CS_M33;
}

bool cs_etm_tracing(const struct coresight_model *m)
{
    const struct cs_etm *e = &m->etm;
    if (m->mtb.present)
        return mtb_model_traces(&m->mtb);
    if (cs_is_v4(m))
        return m->scs.demcr >> 24 & 1 && etm4_traces(&m->etm4_unit);
    return m->scs.demcr >> 24 & 1 && !(e->reg[ETMCR / 4] & CR_POWER_DOWN) && !e->prog &&
           e->reg[ETMCR / 4] & CR_ETMEN && e->reg[ETMTEEVR / 4] == EVENT_ALWAYS;
}

uint8_t cs_etm_trace_id(const struct coresight_model *m)
{
    return cs_is_v4(m) ? etm4_trace_id(&m->etm4_unit) : m->etm.reg[ETMTRACEIDR / 4] & 0x7f;
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
    return sink_captures(&m->etb);
}

uint32_t cs_etb_read(struct coresight_model *m, unsigned offset)
{
    return sink_read(&m->etb, offset, false);
}

/* A flush asks the trace unit for what it still holds. */
void cs_etb_write(struct coresight_model *m, unsigned offset, uint32_t value)
{
    struct sink_model *s = &m->etb;
    if (sink_write(s, offset, false, value)) {
        coresight_model_run(m);
        sink_flush(s);
    }
    m->counters.locked_writes += s->locked_writes;
    m->counters.ignored_writes += s->ignored_writes;
    s->locked_writes = s->ignored_writes = 0;
}
