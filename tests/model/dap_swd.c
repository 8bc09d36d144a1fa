/* SPDX-License-Identifier: BSD-3-Clause */
/* The serial engine of SW-DP: one clock a call (IHI 0031F chapter B4). */
#include <string.h>

#include "dap_model.h"

enum swd_state {
    SWD_SILENT, /* until a line reset */
    SWD_RESET,  /* 50 high bits were seen, two low ones must follow */
    SWD_IDLE,
    SWD_REQUEST,
    SWD_TURN_ACK,
    SWD_ACK,
    SWD_READ_DATA,
    SWD_TURN_IDLE,
    SWD_TURN_WRITE,
    SWD_WRITE_DATA,
    SWD_TARGETSEL, /* the clocks of an ACK that nobody gives */
};

#define LINE_RESET_ONES   50
#define RESET_ZEROS       2
#define REQUEST_DPIDR     0xa5
#define REQUEST_TARGETSEL 0x99
#define DATA_BITS         33

void dap_swd_reset(struct dap_model *d)
{
    memset(&d->swd, 0, sizeof d->swd);
    d->swd.turnround = 1;
}

static void go(struct dap_swd *s, enum swd_state state, unsigned count)
{
    s->state = state;
    s->count = count;
    s->bits = 0;
}

static unsigned parity(uint32_t v)
{
    return (unsigned)__builtin_parity(v);
}

static bool is_ap(const struct dap_swd *s)
{
    return s->request >> 1 & 1;
}

static bool is_read(const struct dap_swd *s)
{
    return s->request >> 2 & 1;
}

static unsigned reg_of(const struct dap_swd *s)
{
    return s->request >> 1 & 0xc;
}

/* Whether the target takes the request: else it is silent until the next line reset. */
static bool accept_request(struct dap_model *d)
{
    struct dap_swd *s = &d->swd;
    unsigned r = s->request;
    bool v2 = (d->options.dpidr >> 12 & 0xf) >= 2;
    if (parity(r >> 1 & 0x1f) || (r >> 6 & 1) || !(r >> 7)) {
        d->counters.bad_requests++;
        return false;
    }
    if (s->need_dpidr && r != REQUEST_DPIDR && !(v2 && r == REQUEST_TARGETSEL)) {
        d->counters.ignored++;
        return false;
    }
    if (d->faults.no_ack && !d->faults.skip && !s->need_dpidr) {
        d->faults.no_ack--;
        return false;
    }
    return true;
}

static void request_done(struct dap_model *d)
{
    struct dap_swd *s = &d->swd;
    if (!accept_request(d)) {
        go(s, SWD_SILENT, 0);
        return;
    }
    if (s->request == REQUEST_TARGETSEL) {
        go(s, SWD_TARGETSEL, 5);
        return;
    }
    s->need_dpidr = false;
    s->ack = dap_dp_check(d, is_ap(s), is_read(s), reg_of(s), false);
    if (s->ack == DAP_ACK_WAIT && d->ctrl_stat & DP_CS_ORUNDETECT)
        d->ctrl_stat |= DP_CS_STICKYORUN;
    if (s->ack != DAP_ACK_OK && is_read(s))
        d->ctrl_stat &= ~DP_CS_READOK;
    go(s, SWD_TURN_ACK, s->turnround);
}

/* What the 33 data bits of a read carry. */
static uint64_t read_data(struct dap_model *d)
{
    struct dap_swd *s = &d->swd;
    if (s->ack != DAP_ACK_OK)
        return 0x0badbadbau;
    uint32_t value = dap_dp_read(d, is_ap(s), reg_of(s), false);
    uint64_t frame = value | (uint64_t)parity(value) << 32;
    if (is_ap(s) || reg_of(s) == DP_RDBUFF)
        d->ctrl_stat |= DP_CS_READOK;
    if (d->faults.parity && !d->faults.skip) {
        d->faults.parity--;
        frame ^= 1ull << 32;
    }
    return frame;
}

static void ack_done(struct dap_model *d)
{
    struct dap_swd *s = &d->swd;
    bool data = s->ack == DAP_ACK_OK || d->ctrl_stat & DP_CS_ORUNDETECT;
    if (!data) {
        go(s, SWD_TURN_IDLE, s->turnround);
    } else if (is_read(s)) {
        go(s, SWD_READ_DATA, DATA_BITS);
        s->bits = read_data(d);
    } else {
        go(s, SWD_TURN_WRITE, s->turnround);
    }
}

static void targetsel_done(struct dap_model *d, uint32_t value, bool good)
{
    struct dap_swd *s = &d->swd;
    uint32_t own = (d->options.targetid & 0x0fffffffu) | (uint32_t)d->options.instance << 28;
    go(s, good && value == own && d->options.targetid ? SWD_IDLE : SWD_SILENT, 0);
}

static void write_done(struct dap_model *d)
{
    struct dap_swd *s = &d->swd;
    uint32_t value = (uint32_t)s->bits;
    bool good = parity(value) == (unsigned)(s->bits >> 32 & 1);
    if (s->request == REQUEST_TARGETSEL) {
        targetsel_done(d, value, good);
        return;
    }
    go(s, SWD_IDLE, 0);
    if (s->ack != DAP_ACK_OK)
        return;
    if (!good) {
        d->counters.write_parity++;
        d->ctrl_stat |= DP_CS_WDATAERR;
        return;
    }
    dap_dp_write(d, is_ap(s), reg_of(s), value, false);
}

/* States in which the level of the line matters to the target. */
static void take_bit(struct dap_model *d, unsigned bit)
{
    struct dap_swd *s = &d->swd;
    switch (s->state) {
    case SWD_RESET:
        s->count = bit ? 0 : s->count + 1;
        if (s->count == RESET_ZEROS)
            go(s, SWD_IDLE, 0);
        break;
    case SWD_IDLE:
        if (bit) {
            go(s, SWD_REQUEST, 1);
            s->request = 1;
        }
        break;
    case SWD_REQUEST:
        s->request |= bit << s->count;
        if (++s->count == 8)
            request_done(d);
        break;
    default: /* SWD_WRITE_DATA */
        s->bits |= (uint64_t)bit << (DATA_BITS - s->count);
        if (--s->count == 0)
            write_done(d);
        break;
    }
}

/* States that only count clocks. */
static void count_clock(struct dap_model *d)
{
    struct dap_swd *s = &d->swd;
    if (--s->count)
        return;
    switch (s->state) {
    case SWD_TURN_ACK:
        go(s, SWD_ACK, 3);
        s->bits = s->ack;
        break;
    case SWD_ACK:
        ack_done(d);
        break;
    case SWD_READ_DATA:
        go(s, SWD_TURN_IDLE, s->turnround);
        break;
    case SWD_TURN_IDLE:
        go(s, SWD_IDLE, 0);
        break;
    default: /* SWD_TURN_WRITE, SWD_TARGETSEL */
        go(s, SWD_WRITE_DATA, DATA_BITS);
        break;
    }
}

static void watch_line_reset(struct dap_model *d)
{
    if (d->sw.ones < LINE_RESET_ONES || d->swd.state == SWD_RESET)
        return;
    dap_dp_line_reset(d);
    go(&d->swd, SWD_RESET, 0);
    d->swd.need_dpidr = true;
    d->swd.turnround = 1;
}

unsigned dap_swd_clock(struct dap_model *d, bool drive, unsigned bit)
{
    struct dap_swd *s = &d->swd;
    unsigned level = drive ? bit & 1 : 1;
    if (d->dark)
        return level;
    if (d->wire != DAP_WIRE_SWD) {
        dap_jtag_clock(d, level, 1);
        return level;
    }
    if (s->state == SWD_ACK || s->state == SWD_READ_DATA) {
        unsigned own = (unsigned)(s->bits & 1);
        s->bits >>= 1;
        d->counters.contention += drive;
        d->sw.ones = 0;
        count_clock(d);
        return drive ? level & own : own;
    }
    dap_switch_bit(d, level);
    if (d->wire != DAP_WIRE_SWD)
        return level;
    if (s->state == SWD_RESET || s->state == SWD_IDLE || s->state == SWD_REQUEST ||
        s->state == SWD_WRITE_DATA)
        take_bit(d, level);
    else if (s->state != SWD_SILENT)
        count_clock(d);
    watch_line_reset(d);
    return level;
}

unsigned dap_swd_line(const struct dap_model *d)
{
    bool driven = d->swd.state == SWD_ACK || d->swd.state == SWD_READ_DATA;
    return d->wire == DAP_WIRE_SWD && driven && !d->dark ? (unsigned)(d->swd.bits & 1) : 1;
}
