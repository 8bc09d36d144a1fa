/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of the MPSSE of an FT2232H, FT4232H or FT232H (AN_108): commands in, pins out, edge by
 * edge, answers back. It works byte by byte between the two buffers of its channel and stands still
 * when the one to the host is full, in the middle of a command too. Knows neither USB nor what is
 * on the pins.
 */
#ifndef TESTS_USB_MPSSE_MODEL_H
#define TESTS_USB_MPSSE_MODEL_H

#include <stdbool.h>

#include "ftdi_fifo.h"

/* Bits of the 16 pins: ADBUS0-7, ACBUS0-7. */
#define MPSSE_TCK    0x0001u
#define MPSSE_TDI    0x0002u
#define MPSSE_TDO    0x0004u
#define MPSSE_TMS    0x0008u
#define MPSSE_GPIOL1 0x0020u
#define MPSSE_GPIOL3 0x0080u /* RTCK, with adaptive clocking */

#define MPSSE_BAD_COMMAND 0xfau

/* What is connected. NULL functions: nothing, all inputs are high. */
struct mpsse_pins {
    void *ctx;
    /* Something changed. `output`: the pins that are driven, to the level in `level`. */
    void (*drive)(void *ctx, uint16_t level, uint16_t output);
    /* The levels of all pins; those of outputs are not looked at. */
    uint16_t (*sense)(void *ctx);
};

/* What the host did. */
struct mpsse_counters {
    unsigned commands;
    unsigned bad_commands;
    unsigned unlisted;   /* opcodes that work but are not in AN_108 */
    unsigned wrong_edge; /* commands that change their output on the clock's first edge */
    unsigned no_pins;    /* commands for pins that the chip does not have */
    unsigned long_tms;   /* 8 bits of TMS: there are only 7, which were sent */
    unsigned full;       /* times it stood still because the buffer to the host was full */
    unsigned long clocks;
};

/* The command that is carried out; private. */
struct mpsse_engine {
    unsigned state;
    uint8_t op;
    uint8_t args[2];
    unsigned have, want;
    uint8_t reply[2];
    unsigned replies;
    uint32_t left;      /* units that are left; a unit is up to eight bits */
    unsigned unit_bits; /* bits of a unit */
    bool loaded;        /* the unit's data is there */
    bool stopped;       /* counted as full */
    uint8_t data, in;
    unsigned bit, half;
    bool until; /* clocks end when GPIOL1 has the level `want_high` */
    bool want_high;
};

/* Counters, pins, level, output and the settings are public to tests, the rest is private. */
struct mpsse_model {
    struct mpsse_counters counters;
    struct mpsse_pins pins;
    uint16_t level, output;
    bool no_high_byte; /* the chip has no ACBUS pins; stays when all is reset */
    bool loopback, adaptive, three_phase, divide_by_5;
    uint16_t divisor;
    size_t flush; /* send immediate: the bytes to the host that were there then */
    struct mpsse_engine engine;
};

/* As after power-on: all pins are inputs. Copies `pins`. Nothing to release. */
void mpsse_init(struct mpsse_model *m, const struct mpsse_pins *pins);

/* Bit mode 2 was selected, or left: settings and pins start anew. */
void mpsse_reset(struct mpsse_model *m);

/* Carries out what is in `out`, answers into `in`, as far as it goes. */
void mpsse_run(struct mpsse_model *m, struct ftdi_fifo *out, struct ftdi_fifo *in);

/* The rate of TCK that is set, in Hz. */
uint32_t mpsse_rate(const struct mpsse_model *m);

/* For other bit modes: the pins, and their levels. */
void mpsse_set_pins(struct mpsse_model *m, uint16_t level, uint16_t output);
uint16_t mpsse_get_pins(const struct mpsse_model *m);

#endif
