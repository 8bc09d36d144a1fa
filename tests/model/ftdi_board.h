/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is soldered to the 16 pins of an FTDI channel: level shifters, switches, and the debug port
 * of a target, perhaps in a chain with other TAPs (AN_108). Edges of TCK become clocks of the
 * target: it samples on the rising edge; on JTAG it changes TDO on the falling one, on SWD it
 * changes SWDIO behind the rising one.
 */
#ifndef TESTS_USB_FTDI_BOARD_H
#define TESTS_USB_FTDI_BOARD_H

#include "mpsse_model.h"
#include "probe_board.h"
#include "tap_chain.h"

/* A signal of the board; masks 0: not there. Active: enabled, and data on its level. */
struct ftdi_signal {
    uint16_t data, enable;
    bool data_low, enable_low; /* the level that counts as active */
};

/* How SWDIO gets to the pins. */
enum ftdi_swd {
    FTDI_SWD_NONE,     /* JTAG only */
    FTDI_SWD_RESISTOR, /* on TDO, and by a resistor on TDI; there is no JTAG then */
    FTDI_SWD_BUFFER,   /* JTAG, and SWD while SWD_EN is active; SWDIO_OE drives it from TDI */
};

/* What differs between the chips. */
struct ftdi_kind {
    uint16_t release;           /* bcdDevice */
    unsigned channels, engines; /* from channel A on, these have an MPSSE */
    size_t buffer;              /* of a channel, each way: bytes */
    bool high_byte, sync_fifo;
};

struct ftdi_layout {
    const char *name;
    const struct ftdi_kind *kind;
    uint16_t vid, pid;
    const char *product;
    enum ftdi_swd swd;
    bool rtck;                       /* TCK comes back on GPIOL3 */
    struct ftdi_signal nsrst, ntrst; /* active: the line is low */
    struct ftdi_signal swd_en, swdio_oe;
};

/* The layout of that name, or NULL. */
const struct ftdi_layout *ftdi_layout_find(const char *name);

/* Public: board, layout, chain and the counters; the rest is private. */
struct ftdi_board {
    struct probe_board *board;
    const struct ftdi_layout *layout;
    struct tap_chain chain;
    unsigned fights; /* clocks in which host and target both drove SWDIO */
    unsigned target_resets;
    uint16_t level, output;
    bool tck;
    unsigned tdo;
    bool held, tap_held;
};

/* Both must outlive it. */
void ftdi_board_init(struct ftdi_board *b, struct probe_board *board,
                     const struct ftdi_layout *layout);

/* For an MPSSE; `ctx` is the board. */
struct mpsse_pins ftdi_board_pins(struct ftdi_board *b);

#endif
