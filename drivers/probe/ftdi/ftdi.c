/* SPDX-License-Identifier: BSD-3-Clause */
/* Batches, and the small operations of the debug link. */
#include "ftdi_internal.h"

#include <string.h>

#define ANSWER_MS      2000u /* beside the time that the clocks take */
#define SYNC_MS        300u
#define SYNC_TRIES     4u
#define START_HZ       1000000u
#define SEQUENCE_BYTES 256u /* of one batch */

/* Two commands that do not exist: their echoes show that answers belong to commands. */
static const uint8_t BOGUS[] = {0xaa, 0xab};

static void ftdi_empty_batch(struct ftdi *f, struct mpsse *m)
{
    mpsse_start(m, f->command, sizeof f->command, f->layout.sample_falling);
}

static int ftdi_exchange(struct ftdi *f, struct mpsse *m, unsigned timeout_ms)
{
    size_t got = 0;
    uint8_t command;
    if (m->reply > 0)
        mpsse_send_immediate(m);
    if (m->overflow || m->reply > sizeof f->answer)
        return BT_ERR_INVAL;
    int rc = f->port.ops->exchange(f->port.self, m->bytes, m->length, f->answer, m->reply, &got,
                                   timeout_ms);
    if (rc == 0 && got != m->reply)
        rc = FTDI_TIMED_OUT;
    if (rc == FTDI_TIMED_OUT)
        rc = got <= m->reply && mpsse_is_echo(f->answer, got, &command) ? BT_ERR_FORMAT : BT_ERR_IO;
    return rc;
}

static int try_echo(struct ftdi *f, uint8_t command)
{
    struct mpsse m;
    ftdi_empty_batch(f, &m);
    mpsse_bogus(&m, command);
    int rc = ftdi_exchange(f, &m, SYNC_MS);
    if (rc != 0)
        return rc;
    return f->answer[0] == MPSSE_ECHO && f->answer[1] == command ? 0 : BT_ERR_FORMAT;
}

/* Answers are those to our commands again, and the pins are as they are noted. */
static int ftdi_synchronise(struct ftdi *f)
{
    struct mpsse m;
    int rc = BT_ERR_IO;
    for (unsigned k = 0; k < SYNC_TRIES && rc != 0; k++) {
        if (f->port.ops->purge(f->port.self) != 0)
            return BT_ERR_IO;
        rc = 0;
        for (unsigned i = 0; rc == 0 && i < sizeof BOGUS; i++)
            rc = try_echo(f, BOGUS[i]);
    }
    if (rc != 0)
        return rc;
    ftdi_empty_batch(f, &m);
    mpsse_set_low(&m, (uint8_t)f->value, (uint8_t)f->direction);
    if (f->port.has_high_byte)
        mpsse_set_high(&m, (uint8_t)(f->value >> 8), (uint8_t)(f->direction >> 8));
    rc = ftdi_exchange(f, &m, ANSWER_MS);
    f->stale = rc != 0;
    return rc;
}

/* After a failure commands and answers are brought in step before anything is built: pins that
 * are noted are then those that the engine drives. */
void ftdi_start(struct ftdi *f, struct mpsse *m)
{
    if (f->stale)
        (void)ftdi_synchronise(f);
    ftdi_empty_batch(f, m);
}

int ftdi_run(struct ftdi *f, struct mpsse *m)
{
    if (f->stale)
        return BT_ERR_IO;
    int rc = ftdi_exchange(f, m, ANSWER_MS + (unsigned)(m->clocks * 2000 / f->hz));
    if (rc != 0) {
        f->stale = true;
        f->ir = FTDI_IR_UNKNOWN;
        f->bank_known = false;
        f->queues = false;
    }
    return rc;
}

void ftdi_put_pins(struct ftdi *f, struct mpsse *m, uint16_t value, uint16_t direction)
{
    unsigned changed = (unsigned)(f->value ^ value) | (unsigned)(f->direction ^ direction);
    if ((changed & 0xff) != 0)
        mpsse_set_low(m, (uint8_t)value, (uint8_t)direction);
    if ((changed >> 8) != 0 && f->port.has_high_byte)
        mpsse_set_high(m, (uint8_t)(value >> 8), (uint8_t)(direction >> 8));
    f->value = value;
    f->direction = direction;
}

static int link_set_clock(void *self, uint32_t hz)
{
    struct ftdi *f = self;
    struct mpsse m;
    bool slow_base;
    uint16_t divisor;
    if (hz == 0)
        return BT_ERR_INVAL;
    f->hz = mpsse_clock(hz, &slow_base, &divisor);
    ftdi_start(f, &m);
    mpsse_set_clock(&m, slow_base, divisor);
    return ftdi_run(f, &m);
}

/* Nothing is known of the debug port. */
static void ftdi_forget(struct ftdi *f)
{
    f->bank_known = false;
    f->overrun = false;
    f->queues = false;
    f->ctrl_stat = 0;
    f->ir = FTDI_IR_UNKNOWN;
}

static int link_connect(void *self, enum debug_wire wire)
{
    struct ftdi *f = self;
    struct mpsse m;
    ftdi_forget(f);
    f->wire = wire;
    ftdi_start(f, &m);
    ftdi_put_wire(f, &m, wire);
    mpsse_adaptive(&m, wire == DEBUG_WIRE_JTAG && f->layout.adaptive_clock);
    return ftdi_run(f, &m);
}

static int link_disconnect(void *self)
{
    struct ftdi *f = self;
    struct mpsse m;
    ftdi_leave_overrun(f);
    ftdi_forget(f);
    ftdi_start(f, &m);
    ftdi_put_wire(f, &m, f->wire);
    return m.length > 0 ? ftdi_run(f, &m) : 0;
}

static uint32_t link_clock(void *self)
{
    return ((const struct ftdi *)self)->hz;
}

static int link_configure(void *self, uint8_t idle_clocks, uint16_t wait_retries)
{
    struct ftdi *f = self;
    f->idle_clocks = idle_clocks;
    f->wait_retries = wait_retries;
    return 0;
}

static int link_sequence(void *self, unsigned bits, const uint8_t *bytes)
{
    struct ftdi *f = self;
    f->bank_known = false;
    f->queues = false;
    f->ir = FTDI_IR_UNKNOWN;
    while (bits > 0) {
        struct mpsse m;
        unsigned now = bits < 8 * SEQUENCE_BYTES ? bits : 8 * SEQUENCE_BYTES;
        ftdi_start(f, &m);
        if (f->wire == DEBUG_WIRE_SWD)
            ftdi_swd_put_sequence(f, &m, now, bytes);
        else
            ftdi_jtag_put_sequence(&m, now, bytes);
        int rc = ftdi_run(f, &m);
        if (rc != 0)
            return rc;
        bits -= now;
        bytes += SEQUENCE_BYTES;
    }
    return 0;
}

static const struct debug_link_ops LINK_OPS = {
    .connect = link_connect,
    .disconnect = link_disconnect,
    .set_clock = link_set_clock,
    .clock = link_clock,
    .configure = link_configure,
    .sequence = link_sequence,
    .pins = ftdi_link_pins,
    .jtag_chain = ftdi_link_chain,
    .transfer = ftdi_link_transfer,
    .block = ftdi_link_block,
};

struct debug_link ftdi_link(struct ftdi *f)
{
    return (struct debug_link){
        .ops = &LINK_OPS, .self = f, .caps = DEBUG_LINK_SWD | DEBUG_LINK_JTAG};
}

int ftdi_open(struct ftdi *f, const struct ftdi_port *port, const struct ftdi_pinout *layout,
              const struct debug_clock *clock)
{
    struct mpsse m;
    const uint16_t out = MPSSE_PIN_TCK | MPSSE_PIN_TDI | MPSSE_PIN_TMS;
    *f = (struct ftdi){.port = *port, .layout = *layout, .clock = *clock, .hz = START_HZ};
    f->layout.value &= (uint16_t)~MPSSE_PIN_TCK;
    f->layout.direction = (uint16_t)((layout->direction | out) & ~MPSSE_PIN_TDO);
    f->value = f->layout.value;
    f->direction = f->layout.direction;
    f->wait_retries = 1;
    f->chain_count = 1;
    f->ir_lengths[0] = 4;
    f->wire = DEBUG_WIRE_JTAG;
    ftdi_forget(f);
    int rc = ftdi_synchronise(f);
    if (rc != 0)
        return rc;
    ftdi_start(f, &m);
    mpsse_adaptive(&m, false);
    mpsse_three_phase_off(&m);
    mpsse_loopback(&m, false);
    ftdi_put_wire(f, &m, f->wire);
    rc = ftdi_run(f, &m);
    return rc != 0 ? rc : link_set_clock(f, START_HZ);
}

void ftdi_close(struct ftdi *f)
{
    struct mpsse m;
    if (f->stale)
        return; /* bit mode 0 makes inputs of them too */
    ftdi_start(f, &m);
    ftdi_put_pins(f, &m, 0, 0);
    (void)ftdi_run(f, &m);
}
