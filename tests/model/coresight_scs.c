/* SPDX-License-Identifier: BSD-3-Clause */
/* Core debug in the system control space (DDI 0403E.e C1.6). */
#include <string.h>

#include "coresight_model.h"

#define ICTR  0x004
#define CPUID 0xd00
#define AIRCR 0xd0c
#define DFSR  0xd30
#define DHCSR 0xdf0
#define DCRSR 0xdf4
#define DCRDR 0xdf8
#define DEMCR 0xdfc
#define DSCSR 0xe08
#define MVFR0 0xf40
#define MVFR1 0xf44

#define DHCSR_KEY       0xa05fu
#define DHCSR_WRITABLE  0x2fu
#define C_DEBUGEN       (1u << 0)
#define C_HALT          (1u << 1)
#define C_STEP          (1u << 2)
#define C_MASKINTS      (1u << 3)
#define S_REGRDY        (1u << 16)
#define S_HALT          (1u << 17)
#define S_SDE           (1u << 20) /* v8-M: secure debug is allowed */
#define S_RETIRE_ST     (1u << 24)
#define S_RESET_ST      (1u << 25)
#define DEMCR_WRITABLE  0x010f07f1u
#define DEMCR_CORERESET (1u << 0)
#define DEMCR_SFERR     (1u << 11) /* v8-M: catch of a SecureFault */
#define DEMCR_SDME      (1u << 20) /* v8-M: DebugMonitor is of the secure state */
#define AIRCR_KEY       0x05fau
#define AIRCR_SYSRESET  (1u << 2)
#define DCRSR_WRITE     (1u << 16)
#define DFSR_VCATCH     (1u << 3)
#define DSCSR_CDS       (1u << 16)

static bool debugged(const struct coresight_model *m)
{
    return m->scs.dhcsr & C_DEBUGEN;
}

void cs_scs_poll(struct coresight_model *m)
{
    struct cs_scs *s = &m->scs;
    enum core_stop stop = CORE_RUNNING;
    if (s->halted || m->never_halts || m->core.ops->state(m->core.ctx, &stop) < 0)
        return;
    if (stop == CORE_RUNNING) {
        s->retire_st = true;
        return;
    }
    if (!debugged(m))
        return;
    s->halted = true;
    s->dhcsr |= C_HALT;
    s->dfsr |= stop;
    for (unsigned i = 0; stop == CORE_STOP_WATCHPOINT && i < CS_DWT_COUNT; i++)
        m->dwt_matched[i] |= m->dwt_set[i];
}

void cs_scs_reset(struct coresight_model *m)
{
    struct cs_scs *s = &m->scs;
    bool halt = debugged(m) && s->demcr & DEMCR_CORERESET;
    m->core.ops->reset(m->core.ctx, halt);
    s->halted = halt;
    s->reset_st = true;
    s->dhcsr &= C_DEBUGEN;
    if (halt) {
        s->dhcsr |= C_HALT;
        s->dfsr |= DFSR_VCATCH;
    }
}

/* What the core itself must know of DHCSR and DEMCR. */
static void report_core(struct coresight_model *m)
{
    if (m->core.ops->set_debug)
        m->core.ops->set_debug(m->core.ctx, m->scs.dhcsr, m->scs.demcr);
}

/* Without power it is as if halted for good: nobody looks at it, and no trace flows. */
void cs_scs_power(struct coresight_model *m, bool on)
{
    struct cs_scs *s = &m->scs;
    if (!on) {
        m->core.ops->halt(m->core.ctx);
        s->halted = true;
        return;
    }
    memset(s, 0, sizeof *s);
    s->reset_st = true;
    report_core(m);
    m->core.ops->reset(m->core.ctx, false);
}

static uint32_t read_dhcsr(struct coresight_model *m)
{
    struct cs_scs *s = &m->scs;
    uint32_t value = s->dhcsr;
    if (s->regrdy_reads)
        s->regrdy_reads--;
    else
        value |= S_REGRDY;
    value |= (s->halted ? S_HALT : 0) | (s->retire_st ? S_RETIRE_ST : 0) |
             (s->reset_st ? S_RESET_ST : 0) | (m->kind == CS_M33 && !m->closed ? S_SDE : 0);
    s->retire_st = false;
    s->reset_st = false;
    return value;
}

static void leave_halt(struct coresight_model *m, bool step)
{
    struct cs_scs *s = &m->scs;
    s->halted = false;
    if (step)
        m->core.ops->step(m->core.ctx);
    else
        m->core.ops->resume(m->core.ctx);
    s->retire_st = true;
}

static void write_dhcsr(struct coresight_model *m, uint32_t value)
{
    struct cs_scs *s = &m->scs;
    uint32_t old = s->dhcsr;
    if (value >> 16 != DHCSR_KEY) {
        m->counters.bad_key++;
        return;
    }
    /* Without C_DEBUGEN the other bits do not hold. */
    s->dhcsr = value & C_DEBUGEN ? value & DHCSR_WRITABLE : 0;
    cs_breakpoints_apply(m);
    report_core(m);
    bool halt = s->dhcsr & C_HALT;
    if (s->halted && !halt) {
        m->counters.maskints_races += (old ^ value) & C_MASKINTS && value & C_DEBUGEN;
        leave_halt(m, s->dhcsr & C_STEP);
        cs_scs_poll(m);
    } else if (!s->halted && halt && !m->never_halts) {
        m->core.ops->halt(m->core.ctx);
    }
}

static void write_dcrsr(struct coresight_model *m, uint32_t value)
{
    struct cs_scs *s = &m->scs;
    if (!s->halted) {
        m->counters.running_accesses++;
        return;
    }
    s->regrdy_reads = !m->registers_at_once;
    if (value & DCRSR_WRITE)
        m->core.ops->write_register(m->core.ctx, value & 0x7f, s->dcrdr);
    else if (m->core.ops->read_register(m->core.ctx, value & 0x7f, &s->dcrdr) < 0)
        s->dcrdr = 0;
}

/* Registers without a debug function: those of a core that has none of its own. */
static uint32_t read_system(struct coresight_model *m, unsigned offset)
{
    static const uint32_t cpuids[] = {
        [CS_BY_CPUID] = 0x410fc241, [CS_M3] = 0x412fc231,  [CS_M4] = 0x410fc241,
        [CS_M7] = 0x411fc271,       [CS_M33] = 0x410fd214, [CS_M0] = 0x410cc601};
    uint8_t b[4] = {0};
    if (m->core.ops->owns_system) {
        if (m->core.ops->read_memory(m->core.ctx, CS_SCS + offset, b, sizeof b) < 0)
            return 0;
        return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    }
    switch (offset) {
    case ICTR:
        return 2;
    case CPUID:
        return cpuids[m->kind];
    case AIRCR:
        return 0xfa050000;
    case MVFR0:
        return 0x10110021;
    case MVFR1:
        return 0x11000011;
    default:
        return 0;
    }
}

static void write_system(struct coresight_model *m, unsigned offset, uint32_t value)
{
    const uint8_t b[4] = {(uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
                          (uint8_t)(value >> 24)};
    if (m->core.ops->owns_system)
        m->core.ops->write_memory(m->core.ctx, CS_SCS + offset, b, sizeof b);
}

static void write_aircr(struct coresight_model *m, uint32_t value)
{
    if (value >> 16 != AIRCR_KEY)
        m->counters.bad_key++;
    else if (value & (AIRCR_SYSRESET | 1))
        coresight_model_reset(m);
    else
        write_system(m, AIRCR, value); /* the core's, too: priority grouping */
}

/* v8-M, as in its public manual: the security state that the core is in. */
static uint32_t read_dscsr(struct coresight_model *m)
{
    const struct core_model_ops *ops = m->core.ops;
    bool secure = !ops->secure || ops->secure(m->core.ctx) > 0;
    return secure ? DSCSR_CDS : 0;
}

uint32_t cs_scs_read(struct coresight_model *m, unsigned offset)
{
    switch (offset) {
    case CPUID:
        return m->cpuid ? m->cpuid : read_system(m, offset);
    case DFSR:
        return m->scs.dfsr;
    case DHCSR:
        return read_dhcsr(m);
    case DCRDR:
        return m->scs.dcrdr;
    case DSCSR:
        return m->kind == CS_M33 ? read_dscsr(m) : read_system(m, offset);
    case DEMCR:
        return m->scs.demcr | (m->kind == CS_M33 ? DEMCR_SDME : 0);
    default:
        return read_system(m, offset);
    }
}

void cs_scs_write(struct coresight_model *m, unsigned offset, uint32_t value)
{
    switch (offset) {
    case AIRCR:
        write_aircr(m, value);
        break;
    case DFSR:
        m->scs.dfsr &= ~value;
        break;
    case DHCSR:
        write_dhcsr(m, value);
        break;
    case DCRSR:
        write_dcrsr(m, value);
        break;
    case DCRDR:
        m->scs.dcrdr = value;
        break;
    case DEMCR:
        m->scs.demcr = value & (DEMCR_WRITABLE | (m->kind == CS_M33 ? DEMCR_SFERR : 0));
        report_core(m);
        break;
    default:
        write_system(m, offset, value);
        break;
    }
}
