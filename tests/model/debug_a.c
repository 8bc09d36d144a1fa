/* SPDX-License-Identifier: BSD-3-Clause */
/* The debug registers. */
#include "debug_a.h"

#include <string.h>

#define DIDR   0x35137000u /* 4 watchpoints, 6 breakpoints, 2 with context, v7 */
#define LAR    0xfb0
#define KEY    0xc5acce55u
#define CPSR_T (1u << 5)

/* Written through the external view: MOE, DBGack, INTdis, UDCCdis, ITRen, HDBGen, MDBGen, mode. */
#define DSCR_WRITABLE 0x0030fc3cu
#define MODE_STALL    (1u << 20)
#define MODE_FAST     (2u << 20)

#define DRCR_HALT    (1u << 0)
#define DRCR_RESTART (1u << 1)
#define DRCR_STICKY  (1u << 2)
#define DRCR_PIPE    (1u << 3)

void debug_a_init(struct debug_a *d, const struct core_a *cores, unsigned index)
{
    memset(d, 0, sizeof *d);
    d->cores = *cores;
    d->index = index;
    d->locked = true;
    d->instrcompl_l = true;
    d->was_off = true; /* since power came; architecture: reset value of PRSR[1] */
    d->was_reset = true;
}

/* DCC and ITR. */

static bool blocking(const struct debug_a *d)
{
    return d->dscr & DSCR_MODE;
}

static bool fast(const struct debug_a *d)
{
    return (d->dscr & DSCR_MODE) == MODE_FAST;
}

/* Some instructions take longer than one look at DSCR. */
static void issue(struct debug_a *d)
{
    d->counters.instructions++;
    debug_a_execute(d, d->itr);
    d->pipeadv = true;
    d->busy_reads = !blocking(d) && d->counters.instructions % 5 == 0 ? 1 : 0;
}

/* Architecture: ignored while the core runs, with ITRen off, and behind a sticky flag. */
static bool itr_open(const struct debug_a *d)
{
    return d->halted && d->dscr & DSCR_ITREN && !(d->dscr & DSCR_STICKY);
}

static void write_itr(struct debug_a *d, uint32_t value)
{
    if (!itr_open(d) || (!blocking(d) && !d->instrcompl_l)) {
        d->counters.itr_ignored++;
        return;
    }
    d->itr = value;
    if (fast(d))
        return;
    issue(d);
    if (!blocking(d))
        d->instrcompl_l = false; /* until DSCR is read again */
}

/*
 * Non-blocking accesses obey the latched flags, which a read of DSCR has updated, and change them;
 * the other modes wait instead and leave them alone (architecture; OpenOCD's last word of a fast
 * read relies on that).
 */
static void write_rx(struct debug_a *d, uint32_t value)
{
    if (blocking(d) ? d->halted && d->dscr & DSCR_STICKY : d->rxfull_l) {
        d->counters.dtr_ignored++;
        return;
    }
    d->counters.dtr_ignored += d->rxfull && blocking(d); /* hardware waits, perhaps for ever */
    d->dtrrx = value;
    d->rxfull = true;
    d->rxfull_l |= !blocking(d);
    if (fast(d) && itr_open(d))
        issue(d);
}

static uint32_t read_tx(struct debug_a *d)
{
    if (blocking(d) ? (d->halted && d->dscr & DSCR_STICKY) || !d->txfull : !d->txfull_l) {
        d->counters.dtr_ignored++;
        return 0xdeaddead; /* unknown */
    }
    uint32_t value = d->dtrtx;
    d->txfull = false;
    d->txfull_l &= blocking(d);
    if (fast(d) && itr_open(d))
        issue(d);
    return value;
}

uint32_t debug_a_take_rx(struct debug_a *d)
{
    d->counters.dtr_misused += !d->rxfull;
    d->rxfull = false;
    return d->dtrrx;
}

void debug_a_put_tx(struct debug_a *d, uint32_t value)
{
    d->counters.dtr_misused += d->txfull;
    d->txfull = true;
    d->dtrtx = value;
}

/* DSCR and DRCR. */

static bool due(unsigned *reads)
{
    if (*reads == 0)
        return true;
    --*reads;
    return false;
}

static uint32_t read_dscr(struct debug_a *d)
{
    bool restarted = due(&d->restart_reads);
    bool halted = d->halted && due(&d->halt_reads);
    d->instrcompl_l = due(&d->busy_reads);
    d->txfull_l = d->txfull;
    d->rxfull_l = d->rxfull;
    return d->dscr | (uint32_t)d->entry << 2 | (halted || !restarted ? DSCR_HALTED : 0) |
           (restarted ? DSCR_RESTARTED : 0) | (d->instrcompl_l ? DSCR_INSTRCOMPL : 0) |
           (d->pipeadv || !d->halted ? DSCR_PIPEADV : 0) |
           (d->txfull ? DSCR_TXFULL | DSCR_TXFULL_L : 0) |
           (d->rxfull ? DSCR_RXFULL | DSCR_RXFULL_L : 0);
}

static void write_dscr(struct debug_a *d, uint32_t value)
{
    d->entry = (enum debug_a_entry)(value >> 2 & 0xf);
    d->dscr = (d->dscr & ~DSCR_WRITABLE) | (value & DSCR_WRITABLE & ~DSCR_MOE);
    d->cores.ops->mask(d->cores.ctx, d->index, d->dscr & DSCR_INTDIS);
    debug_a_apply_breakpoints(d);
}

static void write_drcr(struct debug_a *d, uint32_t value)
{
    if (value & DRCR_STICKY)
        d->dscr &= ~DSCR_STICKY;
    if (value & DRCR_PIPE)
        d->pipeadv = false;
    if (value & DRCR_HALT && !d->halted)
        d->halt_request = true;
    if (value & DRCR_RESTART && d->halted)
        debug_a_restart(d);
}

void debug_a_power(struct debug_a *d, bool on)
{
    d->was_off |= !on;
    d->off = !on;
}

void debug_a_os_lock(struct debug_a *d, bool locked)
{
    d->has_os_lock |= locked;
    d->os_locked = locked;
}

static uint32_t read_prsr(struct debug_a *d)
{
    uint32_t value = (d->off ? 0 : 1u) | (d->was_off ? 2u : 0) | (d->in_reset ? 4u : 0) |
                     (d->was_reset ? 8u : 0);
    if (!d->off)
        d->was_off = false;
    if (!d->off && !d->in_reset)
        d->was_reset = false;
    return value;
}

/* The request is a pulse: it reads as 0. */
static void write_prcr(struct debug_a *d, uint32_t value)
{
    d->prcr = value & (PRCR_NO_POWER_DOWN | PRCR_HOLD);
    d->asks_for_reset |= value & PRCR_RESET && !d->off;
    debug_a_release(d);
}

static void write_oslar(struct debug_a *d, uint32_t value)
{
    if (!d->has_os_lock)
        return;
    bool lock = value == KEY;
    if (d->os_locked && !lock && d->ecr & 1) {
        d->halt_request = d->unlocked = true;
    }
    d->os_locked = lock;
}

/*
 * Architecture: registers of the core's power domain answer with an error while it is off, and
 * behind the OS lock; those of the debug domain always answer.
 */
static bool answers(struct debug_a *d, unsigned offset)
{
    bool debug_domain =
        offset == 0x000 || (offset >= 0x300 && offset <= 0x314) || (offset >= 0xf00);
    bool refused = !debug_domain && (d->off || (d->os_locked && offset < 0xd00));
    d->counters.refused += refused;
    return !refused;
}

static uint32_t *comparator(struct debug_a *d, unsigned offset)
{
    unsigned n = offset >> 2 & 0xf;
    switch (offset & ~0x3cu) {
    case 0x100:
        return n < DEBUG_A_BREAKPOINTS ? &d->bvr[n] : NULL;
    case 0x140:
        return n < DEBUG_A_BREAKPOINTS ? &d->bcr[n] : NULL;
    case 0x180:
        return n < DEBUG_A_WATCHPOINTS ? &d->wvr[n] : NULL;
    case 0x1c0:
        return n < DEBUG_A_WATCHPOINTS ? &d->wcr[n] : NULL;
    default:
        return NULL;
    }
}

/* Of the running core: ahead of what runs, bit 0 for Thumb (architecture: as a read of the PC). */
static uint32_t sample_pc(struct debug_a *d)
{
    const struct core_a *c = &d->cores;
    uint32_t pc, cpsr;
    if (d->halted || d->in_reset || c->ops->get(c->ctx, d->index, CORE_A_PC, &pc) < 0 ||
        c->ops->get(c->ctx, d->index, CORE_A_CPSR, &cpsr) < 0)
        return UINT32_MAX;
    return cpsr & CPSR_T ? (pc + 4) | 1 : pc + 8;
}

/* Identification of the processor: CP15's c0, c0 to c2, in order. */
static uint32_t read_processor(const struct debug_a *d, unsigned offset)
{
    uint32_t value = 0;
    uint32_t reg = CORE_A_CP15(0, (offset - 0xd00) >> 5, 0, offset >> 2 & 7);
    d->cores.ops->get_cp15(d->cores.ctx, d->index, reg, &value);
    return value;
}

static uint32_t identification(unsigned offset)
{
    static const uint8_t ids[] = {4,    0,    0,    0, /* PIDR4 */
                                  0x09, 0xbc, 0x0b, 0, 0x0d, 0x90, 0x05, 0xb1};
    return offset >= 0xfd0 ? ids[(offset - 0xfd0) / 4] : 0;
}

static uint32_t read_management(struct debug_a *d, unsigned offset, bool external)
{
    switch (offset) {
    case 0x304: /* with save and restore registers: bit 0 */
        return (d->has_os_lock ? 1u : 0) | (d->os_locked ? 2u : 0);
    case 0x310:
        return d->prcr;
    case 0x314:
        return read_prsr(d);
    case 0xfa0:
        return 0xff;
    case 0xfa4:
        return d->claim;
    case 0xfb4:
        return external ? 0 : 1u | (d->locked ? 2u : 0);
    case 0xfb8:
        return 0xff; /* all debug is implemented and enabled */
    case 0xfcc:
        return 0x15;
    default:
        return identification(offset);
    }
}

static uint32_t read_debug(struct debug_a *d, unsigned offset)
{
    const uint32_t *comp = comparator(d, offset);
    if (comp)
        return *comp;
    switch (offset) {
    case 0x000:
        return DIDR;
    case 0x018:
        return d->wfar;
    case 0x01c:
        return d->vcr;
    case 0x024:
        return d->ecr;
    case 0x028:
        return d->dsccr;
    case 0x02c:
        return d->dsmcr;
    case 0x080:
        return d->dtrrx;
    case 0x084:
    case 0x0a0:
        return sample_pc(d);
    case 0x088:
        return read_dscr(d);
    case 0x08c:
        return read_tx(d);
    default:
        return 0;
    }
}

int debug_a_read(struct debug_a *d, unsigned offset, bool external, uint32_t *value)
{
    if (!answers(d, offset))
        return -1;
    if (offset >= 0x300 && offset < 0x400)
        *value = read_management(d, offset, external);
    else if (offset >= 0xd00 && offset < 0xe00)
        *value = read_processor(d, offset);
    else if (offset >= 0xf00)
        *value = read_management(d, offset, external);
    else
        *value = read_debug(d, offset);
    return 0;
}

static void write_management(struct debug_a *d, unsigned offset, uint32_t value)
{
    switch (offset) {
    case 0x300:
        write_oslar(d, value);
        break;
    case 0x310:
        write_prcr(d, value);
        break;
    case 0xfa0:
        d->claim |= value & 0xff;
        break;
    case 0xfa4:
        d->claim &= ~value;
        break;
    default:
        break;
    }
}

static void write_debug(struct debug_a *d, unsigned offset, uint32_t value)
{
    uint32_t *comp = comparator(d, offset);
    if (comp) {
        *comp = value;
        debug_a_apply_breakpoints(d);
        return;
    }
    switch (offset) {
    case 0x018:
        d->wfar = value;
        break;
    case 0x01c:
        d->vcr = value;
        debug_a_apply_breakpoints(d);
        break;
    case 0x024:
        d->ecr = value & 1;
        break;
    case 0x028:
        d->dsccr = value & 7;
        break;
    case 0x02c:
        d->dsmcr = value & 0xf;
        break;
    case 0x080:
        write_rx(d, value);
        break;
    case 0x084:
        write_itr(d, value);
        break;
    case 0x088:
        write_dscr(d, value);
        break;
    case 0x08c: /* the external view may set what the core is to have written */
        d->dtrtx = value;
        break;
    case 0x090:
        write_drcr(d, value);
        break;
    default:
        break;
    }
}

int debug_a_write(struct debug_a *d, unsigned offset, bool external, uint32_t value)
{
    if (!answers(d, offset))
        return -1;
    if (offset == LAR) {
        if (!external)
            d->locked = value != KEY;
    } else if (d->locked && !external) {
        d->counters.locked_writes++;
    } else if (offset >= 0x300) {
        write_management(d, offset, value);
    } else {
        write_debug(d, offset, value);
    }
    return 0;
}
