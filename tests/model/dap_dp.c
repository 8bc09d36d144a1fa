/* SPDX-License-Identifier: BSD-3-Clause */
/* Registers of the DP, sticky errors and the way to the APs (IHI 0031F chapters B1, B2). */
#include <string.h>

#include "dap_model.h"

#define STICKY         (DP_CS_STICKYORUN | DP_CS_STICKYCMP | DP_CS_STICKYERR | DP_CS_WDATAERR)
#define CS_WRITABLE    0x54ffff0du
#define CS_DEBUG_ACK   (1u << 29)
#define CS_SYSTEM_ACK  (1u << 31)
#define SELECT_UNKNOWN 0x5a0000f0u
#define DLCR_TURNROUND 0x300u

#define ABORT_STKCMPCLR  (1u << 1)
#define ABORT_STKERRCLR  (1u << 2)
#define ABORT_WDERRCLR   (1u << 3)
#define ABORT_ORUNERRCLR (1u << 4)

static void reset_registers(struct dap_model *d)
{
    d->ctrl_stat = 0;
    d->select = SELECT_UNKNOWN;
    d->ap_result = 0xbad0bad0;
    d->resend = 0xbad1bad1;
    d->dlcr = 0x40;
    d->power_countdown = 0;
    d->wire = d->options.wire;
    memset(&d->sw, 0, sizeof d->sw);
    dap_swd_reset(d);
    dap_jtag_reset(d);
}

void dap_model_init(struct dap_model *d, const struct dap_options *options)
{
    memset(d, 0, sizeof *d);
    d->options = *options;
    reset_registers(d);
}

void dap_model_power_cycle(struct dap_model *d)
{
    reset_registers(d);
}

void dap_model_power(struct dap_model *d, bool on)
{
    d->dark = !on;
    if (on)
        dap_model_power_cycle(d);
}

void dap_dp_line_reset(struct dap_model *d)
{
    d->counters.line_resets++;
    d->select = SELECT_UNKNOWN; /* a client that trusts its cache goes astray */
    d->dlcr = 0x40;
}

bool dap_dp_sticky(const struct dap_model *d)
{
    return d->ctrl_stat & STICKY;
}

static uint32_t read_ctrl_stat(struct dap_model *d)
{
    if (d->power_countdown && --d->power_countdown == 0) {
        uint32_t ack = (d->ctrl_stat & DP_CS_POWER_REQ) << 1;
        if (d->options.no_system_powerup)
            ack &= ~CS_SYSTEM_ACK;
        d->ctrl_stat = (d->ctrl_stat & ~DP_CS_POWER_ACK) | ack;
    }
    return d->ctrl_stat;
}

static void write_ctrl_stat(struct dap_model *d, uint32_t value, bool jtag)
{
    uint32_t old = d->ctrl_stat;
    uint32_t keep = old & (DP_CS_POWER_ACK | STICKY | DP_CS_READOK);
    if (jtag)
        keep &= ~(value & (DP_CS_STICKYORUN | DP_CS_STICKYCMP | DP_CS_STICKYERR));
    d->ctrl_stat = (value & CS_WRITABLE) | keep;
    /* A request that is taken back loses its acknowledge at once. */
    d->ctrl_stat &= ~(~((value & DP_CS_POWER_REQ) << 1) & DP_CS_POWER_ACK);
    if ((value & ~old) & DP_CS_POWER_REQ)
        d->power_countdown = d->options.power_reads + 1;
}

static void write_abort(struct dap_model *d, uint32_t value)
{
    if (value & 1)
        d->faults.wait = 0;
    if (value & ABORT_STKCMPCLR)
        d->ctrl_stat &= ~DP_CS_STICKYCMP;
    if (value & ABORT_STKERRCLR)
        d->ctrl_stat &= ~DP_CS_STICKYERR;
    if (value & ABORT_WDERRCLR)
        d->ctrl_stat &= ~DP_CS_WDATAERR;
    if (value & ABORT_ORUNERRCLR)
        d->ctrl_stat &= ~DP_CS_STICKYORUN;
}

/* The register at 0x4 of the selected bank. */
static uint32_t read_banked(struct dap_model *d)
{
    bool v2 = (d->options.dpidr >> 12 & 0xf) >= 2;
    switch (d->select & 0xf) {
    case 0:
        return read_ctrl_stat(d);
    case 1:
        return d->dlcr;
    case 2:
        return v2 ? d->options.targetid : 0;
    case 3:
        return v2 ? (uint32_t)d->options.instance << 28 | 1 : 0;
    default:
        return 0;
    }
}

static uint32_t read_dp(struct dap_model *d, unsigned reg, bool jtag)
{
    switch (reg) {
    case DP_DPIDR:
        return d->options.dpidr;
    case DP_CTRL_STAT:
        return read_banked(d);
    case DP_RESEND:
        return jtag ? d->select : d->resend;
    default:
        if (jtag)
            return 0;
        d->resend = d->ap_result;
        return d->ap_result;
    }
}

static void write_dp(struct dap_model *d, unsigned reg, uint32_t value, bool jtag)
{
    switch (reg) {
    case DP_ABORT:
        if (!jtag)
            write_abort(d, value);
        break;
    case DP_CTRL_STAT:
        if ((d->select & 0xf) == 0) {
            write_ctrl_stat(d, value, jtag);
        } else if ((d->select & 0xf) == 1 && !jtag) {
            d->dlcr = (d->dlcr & ~DLCR_TURNROUND) | (value & DLCR_TURNROUND);
            d->swd.turnround = (value >> 8 & 3) + 1;
        }
        break;
    case DP_SELECT:
        d->select = value;
        break;
    default:
        break;
    }
}

static bool powered(const struct dap_model *d)
{
    return d->ctrl_stat & CS_DEBUG_ACK;
}

/* A bus error is only told by the sticky flag. */
static void ap_access(struct dap_model *d, bool read, unsigned reg, uint32_t value)
{
    unsigned n = d->select >> 24;
    unsigned address = (d->select & 0xf0) | reg;
    struct ap_model *ap = n < DAP_APS ? d->ap[n] : NULL;
    uint32_t got = 0;
    int r = 0;
    d->counters.ap_accesses++;
    bool memory = address == MEM_AP_DRW || (address & 0xf0) == MEM_AP_BD0;
    if (!powered(d)) {
        d->counters.unpowered++;
        r = -1;
    } else if (ap && memory && d->faults.fault && !d->faults.skip) {
        d->faults.fault--;
        r = -1;
    } else if (ap) {
        r = read ? ap_model_read(ap, address, &got) : ap_model_write(ap, address, value);
    }
    if (r < 0)
        d->ctrl_stat |= DP_CS_STICKYERR;
    if (read)
        d->ap_result = r < 0 ? 0xbadacce5 : got;
}

/* RDBUFF of SW-DP waits for the AP; the others that always work are DPIDR, CTRL/STAT and ABORT. */
static bool always_works(bool ap, bool read, unsigned reg)
{
    return !ap && (reg == DP_DPIDR || (read && reg == DP_CTRL_STAT));
}

enum dap_ack dap_dp_check(struct dap_model *d, bool ap, bool read, unsigned reg, bool jtag)
{
    bool waits = ap || (read && reg == DP_RDBUFF);
    if (always_works(ap, read, reg))
        return DAP_ACK_OK;
    if (!jtag && dap_dp_sticky(d)) {
        d->counters.faults++;
        return DAP_ACK_FAULT;
    }
    if (d->faults.skip) {
        d->faults.skip--;
        return DAP_ACK_OK;
    }
    if (waits && d->faults.wait) {
        d->faults.wait--;
        d->counters.waits++;
        return DAP_ACK_WAIT;
    }
    return DAP_ACK_OK;
}

uint32_t dap_dp_read(struct dap_model *d, bool ap, unsigned reg, bool jtag)
{
    d->counters.accesses++;
    if (!ap)
        return read_dp(d, reg, jtag);
    uint32_t previous = d->ap_result;
    if (dap_dp_sticky(d))
        return previous; /* JTAG only: discarded */
    d->resend = previous;
    ap_access(d, true, reg, 0);
    return previous;
}

void dap_dp_write(struct dap_model *d, bool ap, unsigned reg, uint32_t value, bool jtag)
{
    d->counters.accesses++;
    if (!ap)
        write_dp(d, reg, value, jtag);
    else if (!dap_dp_sticky(d))
        ap_access(d, false, reg, value);
}
