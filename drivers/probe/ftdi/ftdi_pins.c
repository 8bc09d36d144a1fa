/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of the board beside TCK and its like. AN_108, commands 0x80 and 0x82. */
#include "ftdi_internal.h"

#define POLL_US      1000u
#define WAIT_MAX_US  3000000u
#define SETTABLE     (DEBUG_PIN_NTRST | DEBUG_PIN_NRESET)
#define INPUT_TDI    0x04u /* of the pins operation */
#define INPUT_TDO    0x08u
#define PINS_ANSWERS 2u

struct pins {
    uint16_t value, direction;
};

static bool ftdi_exists(const struct ftdi_line *s)
{
    return (s->data | s->enable) != 0;
}

static void ftdi_set(uint16_t *word, uint16_t mask, bool high)
{
    *word = (uint16_t)(high ? *word | mask : *word & ~mask);
}

/* The line is driven to a level. */
static void ftdi_drive(struct pins *p, const struct ftdi_line *s, bool high)
{
    ftdi_set(&p->value, s->data, high != s->data_inverted);
    ftdi_set(&p->value, s->enable, !s->enable_inverted);
    p->direction |= s->data | s->enable;
}

/* A reset line goes high: its buffer off if it has one, its pin as the layout wants it at rest. */
static void ftdi_release(const struct ftdi *f, struct pins *p, const struct ftdi_line *s)
{
    ftdi_set(&p->value, s->data, !s->data_inverted);
    ftdi_set(&p->value, s->enable, s->enable_inverted);
    ftdi_set(&p->direction, s->data, false);
    p->direction |= (f->layout.direction & s->data) | s->enable;
}

static void ftdi_swdio(const struct ftdi *f, struct pins *p, bool host)
{
    if (ftdi_exists(&f->layout.swdio_enable))
        ftdi_drive(p, &f->layout.swdio_enable, host);
    else
        ftdi_set(&p->direction, MPSSE_PIN_TDI, host);
}

void ftdi_put_swdio(struct ftdi *f, struct mpsse *m, bool host)
{
    struct pins p = {f->value, f->direction};
    ftdi_swdio(f, &p, host);
    ftdi_put_pins(f, m, p.value, p.direction);
}

void ftdi_put_wire(struct ftdi *f, struct mpsse *m, enum debug_wire wire)
{
    const struct ftdi_pinout *l = &f->layout;
    const struct ftdi_line *s = &l->swdio_enable;
    struct pins p = {f->value, f->direction};
    bool swd = wire == DEBUG_WIRE_SWD;
    if (ftdi_exists(&l->swd_enable))
        ftdi_drive(&p, &l->swd_enable, swd);
    if (swd) {
        ftdi_swdio(f, &p, true);
    } else {
        uint16_t mask = (uint16_t)(s->data | s->enable);
        p.value = (uint16_t)((p.value & ~mask) | (l->value & mask));
        p.direction |= MPSSE_PIN_TDI;
    }
    ftdi_put_pins(f, m, p.value, p.direction);
}

static void set_line(const struct ftdi *f, struct pins *p, const struct ftdi_line *s, bool high)
{
    if (high)
        ftdi_release(f, p, s);
    else
        ftdi_drive(p, s, false);
}

/* What the line shows; without a pin that could be read it is what it was set to. */
static bool ftdi_level(const struct ftdi *f, const struct ftdi_line *s, unsigned levels)
{
    if (s->data == 0)
        return ((f->value & s->enable) != 0) == s->enable_inverted;
    return ((levels & s->data) != 0) != s->data_inverted;
}

/* Reads all pins, as bits of the pins operation. */
static int read_pins(struct ftdi *f, uint8_t *input)
{
    const struct ftdi_pinout *l = &f->layout;
    struct mpsse m;
    ftdi_start(f, &m);
    mpsse_read_low(&m);
    if (f->port.has_high_byte)
        mpsse_read_high(&m);
    int rc = ftdi_run(f, &m);
    if (rc != 0)
        return rc;
    unsigned levels = f->answer[0];
    if (m.reply == PINS_ANSWERS)
        levels |= (unsigned)f->answer[1] << 8;
    unsigned data = f->wire == DEBUG_WIRE_SWD ? MPSSE_PIN_TDO : MPSSE_PIN_TMS;
    unsigned in = 0;
    in |= levels & MPSSE_PIN_TCK ? DEBUG_PIN_SWCLK : 0;
    in |= levels & data ? DEBUG_PIN_SWDIO : 0;
    in |= levels & MPSSE_PIN_TDI ? INPUT_TDI : 0;
    in |= levels & MPSSE_PIN_TDO ? INPUT_TDO : 0;
    in |= ftdi_exists(&l->ntrst) && ftdi_level(f, &l->ntrst, levels) ? DEBUG_PIN_NTRST : 0;
    in |= ftdi_exists(&l->nsrst) && ftdi_level(f, &l->nsrst, levels) ? DEBUG_PIN_NRESET : 0;
    *input = (uint8_t)in;
    return 0;
}

static int write_pins(struct ftdi *f, uint8_t output, uint8_t select)
{
    const struct ftdi_pinout *l = &f->layout;
    struct pins p = {f->value, f->direction};
    struct mpsse m;
    bool trst = (select & DEBUG_PIN_NTRST) != 0;
    bool srst = (select & DEBUG_PIN_NRESET) != 0;
    if ((select & ~SETTABLE) != 0 || (trst && !ftdi_exists(&l->ntrst)) || (srst && !ftdi_exists(&l->nsrst)))
        return BT_ERR_UNSUPPORTED;
    if (trst)
        set_line(f, &p, &l->ntrst, (output & DEBUG_PIN_NTRST) != 0);
    if (srst)
        set_line(f, &p, &l->nsrst, (output & DEBUG_PIN_NRESET) != 0);
    if (trst)
        f->ir = FTDI_IR_UNKNOWN;
    ftdi_start(f, &m);
    ftdi_put_pins(f, &m, p.value, p.direction);
    return m.length > 0 ? ftdi_run(f, &m) : 0;
}

int ftdi_link_pins(void *self, uint8_t output, uint8_t select, uint32_t wait_us, uint8_t *input)
{
    struct ftdi *f = self;
    const struct debug_clock *clock = &f->clock;
    uint64_t begin = clock->now_us(clock->user);
    uint32_t limit = wait_us < WAIT_MAX_US ? wait_us : WAIT_MAX_US;
    int rc = select ? write_pins(f, output, select) : 0;
    if (rc == 0)
        rc = read_pins(f, input);
    while (rc == 0 && ((*input ^ output) & select) != 0 &&
           clock->now_us(clock->user) - begin < limit) {
        clock->sleep_us(clock->user, POLL_US);
        rc = read_pins(f, input);
    }
    return rc;
}
