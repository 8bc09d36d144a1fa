/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * FTDI adapters (FT2232H, FT4232H, FT232H) as a debug link: SWD and JTAG with the MPSSE.
 * AN_108; IHI 0031F chapters B1 to B5.
 *
 * Accesses are queued, and one round trip over USB carries a whole batch: with CTRL/STAT.ORUNDETECT
 * set the target drops what follows a refusal, and the batch goes on from there. The link sets and
 * keeps that bit by itself in every write of CTRL/STAT that asks for power, and takes it back when
 * it disconnects; until it is set, accesses go one by one.
 *
 * A probe belongs to one thread; it holds no memory, and the port it was given
 * stays the caller's. */
#ifndef DRIVERS_FTDI_H
#define DRIVERS_FTDI_H

#include "drivers/adi/debug_link.h"

/* Returned by ftdi_port_ops.exchange when not all of the answer came in its time. */
#define FTDI_TIMED_OUT 1

/* One channel of the chip in MPSSE mode. */
struct ftdi_port_ops {
    /*
     * Sends commands and receives the answer to them, `in_length` bytes without USB's status bytes.
     * What the chip answers is fetched while the commands are still being sent: an engine whose
     * answers nobody takes stops. *got is how much came, also after an error.
     * Returns 0, FTDI_TIMED_OUT,
     * BT_ERR_FORMAT (more came than was asked for), BT_ERR_IO. */
    int (*exchange)(void *self, const uint8_t *out, size_t out_length, uint8_t *in,
                    size_t in_length, size_t *got, unsigned timeout_ms);
    /* Throws away what is under way in both directions. 0 or BT_ERR_IO. */
    int (*purge)(void *self);
};

struct ftdi_port {
    const struct ftdi_port_ops *ops;
    void *self;
    bool has_high_byte; /* GPIOH pins; not on FT4232H */
};

/*
 * A line of the board that hangs on pins of the chip, directly or through a buffer that other pins
 * enable. All zero: there is no such line. Pins are bits of 16: the low byte in 7:0, the high byte
 * in 15:8.
 */
struct ftdi_line {
    uint16_t data;   /* pins that carry the level; 0: the line is low whenever it is enabled */
    uint16_t enable; /* pins that let the buffer drive; 0: no buffer */
    bool data_inverted;
    bool enable_inverted;
};

/* How the adapter's pins are wired: each maker's manual tells. */
struct ftdi_pinout {
    uint16_t value;     /* at the start */
    uint16_t direction; /* 1: output */
    struct ftdi_line ntrst, nsrst;
    struct ftdi_line swd_enable;   /* high while SWD is in use */
    struct ftdi_line swdio_enable; /* high while the host drives SWDIO; none: TDI is switched */
    bool adaptive_clock;           /* JTAG: wait for RTCK on GPIOL3 */
    bool sample_falling;           /* read on the falling edge */
};

#define FTDI_COMMAND_BYTES 16384u
#define FTDI_ANSWER_BYTES  4096u
#define FTDI_MAX_OPS       512u
#define FTDI_MAX_CHAIN     16u
#define FTDI_MAX_IR        32u /* bits of one device's instruction register */

/* An access on its way: what is sent, and what its answer tells of the caller's list. */
struct ftdi_op {
    uint8_t request; /* as struct debug_transfer */
    uint32_t value;
    size_t take; /* access whose value comes with the answer; FTDI_NO_ACCESS: none */
    size_t done; /* accesses that are complete when this one is answered OK */
};

#define FTDI_NO_ACCESS SIZE_MAX

struct ftdi {
    struct ftdi_port port;
    struct ftdi_pinout layout;
    unsigned answer_ms; /* for one answer, beside the time that the clocks take */
    /* Private. */
    enum debug_wire wire;
    uint32_t hz;        /* of the wire, as it really is */
    uint16_t value;     /* of the pins, now */
    uint16_t direction; /* now */
    bool stale;         /* answers to earlier batches may still come */
    uint8_t idle_clocks;
    uint16_t wait_retries;
    /* Of the debug port. */
    bool bank_known; /* DPBANKSEL is `bank` */
    uint8_t bank;
    bool overrun;       /* ORUNDETECT is set, as far as is known */
    bool queues;        /* ... and has been seen so since the last failure */
    uint32_t ctrl_stat; /* as last written, without ORUNDETECT */
    uint8_t ir;         /* of the DAP; FTDI_IR_UNKNOWN */
    uint8_t ir_lengths[FTDI_MAX_CHAIN];
    unsigned chain_count;
    unsigned chain_dap;
    size_t op_count;
    struct ftdi_op ops[FTDI_MAX_OPS + 2];
    uint8_t command[FTDI_COMMAND_BYTES];
    uint8_t answer[FTDI_ANSWER_BYTES];
};

/*
 * Finds the engine's commands and answers in step, sets pins and clock. `port` and `layout`
 * are copied.
 * Returns 0, BT_ERR_IO (silent or gone),
 * BT_ERR_FORMAT (something else than an MPSSE answers). */
int ftdi_open(struct ftdi *f, const struct ftdi_port *port, const struct ftdi_pinout *layout);

/* Makes inputs of all pins. */
void ftdi_close(struct ftdi *f);

/* The probe as a debug link; valid as long as `f` is. */
struct debug_link ftdi_link(struct ftdi *f);

#endif
