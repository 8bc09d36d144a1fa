/* SPDX-License-Identifier: BSD-3-Clause */
#include "ftdi_board.h"

#include <string.h>

static const struct ftdi_kind ft2232h = {0x0700, 2, 2, 4096, true, true};
static const struct ftdi_kind ft4232h = {0x0800, 4, 2, 2048, false, false};
static const struct ftdi_kind ft232h = {0x0900, 1, 1, 1024, true, true};

static const struct ftdi_layout layouts[] = {
    {.name = "minimodule",
     .kind = &ft2232h,
     .vid = 0x0403,
     .pid = 0x6010,
     .product = "FT2232H MiniModule",
     .rtck = true,
     .nsrst = {.data = 0x0020, .data_low = true}},
    {.name = "minimodule-swd",
     .kind = &ft2232h,
     .vid = 0x0403,
     .pid = 0x6010,
     .product = "FT2232H MiniModule",
     .swd = FTDI_SWD_RESISTOR,
     .nsrst = {.data = 0x0010, .data_low = true}},
    {.name = "kt-link",
     .kind = &ft2232h,
     .vid = 0x0403,
     .pid = 0xbbe2,
     .product = "KT-LINK",
     .swd = FTDI_SWD_BUFFER,
     .nsrst = {.data = 0x0200, .data_low = true, .enable = 0x0800, .enable_low = true},
     .ntrst = {.data = 0x0100, .data_low = true, .enable = 0x0400, .enable_low = true},
     .swd_en = {.data = 0x0020, .data_low = true, .enable = 0x2000},
     .swdio_oe = {.data = 0x1000, .data_low = true}},
    {.name = "flyswatter2",
     .kind = &ft2232h,
     .vid = 0x0403,
     .pid = 0x6010,
     .product = "Flyswatter2",
     .nsrst = {.data = 0x0020, .data_low = true, .enable = 0x0100, .enable_low = true},
     .ntrst = {.data = 0x0010, .data_low = true}},
    {.name = "ft4232h",
     .kind = &ft4232h,
     .vid = 0x0403,
     .pid = 0x6011,
     .product = "FT4232H MiniModule",
     .nsrst = {.data = 0x0020, .data_low = true}},
    {.name = "ft232h-swd",
     .kind = &ft232h,
     .vid = 0x0403,
     .pid = 0x6014,
     .product = "FT232H module",
     .swd = FTDI_SWD_RESISTOR,
     .nsrst = {.data = 0x0010, .data_low = true},
     .ntrst = {.data = 0x0020, .data_low = true}},
    {.name = "smt2",
     .kind = &ft232h,
     .vid = 0x0403,
     .pid = 0x6014,
     .product = "Digilent USB Device",
     .nsrst = {.data = 0x2000, .data_low = true}},
};

const struct ftdi_layout *ftdi_layout_find(const char *name)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (strcmp(layouts[i].name, name) == 0)
            return &layouts[i];
    return NULL;
}

/* A pin that nobody drives is pulled up. */
static bool pin_high(const struct ftdi_board *b, uint16_t mask)
{
    return !(b->output & mask) || b->level & mask;
}

static bool is_active(const struct ftdi_board *b, const struct ftdi_signal *s)
{
    if (!s->data && !s->enable)
        return false;
    if (s->enable && pin_high(b, s->enable) == s->enable_low)
        return false;
    return !s->data || pin_high(b, s->data) != s->data_low;
}

/* Whether the pins are the wires of SWD, else of JTAG. */
static bool on_swd(const struct ftdi_board *b)
{
    return b->layout->swd == FTDI_SWD_RESISTOR ||
           (b->layout->swd == FTDI_SWD_BUFFER && is_active(b, &b->layout->swd_en));
}

static bool drives_swdio(const struct ftdi_board *b)
{
    bool tdi = b->output & MPSSE_TDI;
    return tdi && (b->layout->swd == FTDI_SWD_RESISTOR || is_active(b, &b->layout->swdio_oe));
}

static unsigned swdio(const struct ftdi_board *b)
{
    return drives_swdio(b) ? pin_high(b, MPSSE_TDI) : dap_swd_line(&b->board->dap);
}

static void clock_swd(struct ftdi_board *b)
{
    unsigned before = b->board->dap.counters.contention;
    dap_swd_clock(&b->board->dap, drives_swdio(b), pin_high(b, MPSSE_TDI));
    b->fights += b->board->dap.counters.contention != before;
}

static void reset_lines(struct ftdi_board *b)
{
    bool held = is_active(b, &b->layout->nsrst);
    bool tap_held = is_active(b, &b->layout->ntrst);
    if (held != b->held) {
        b->held = held;
        b->target_resets += held;
        probe_board_nreset(b->board, held);
    }
    b->tap_held = tap_held;
    if (!tap_held)
        return;
    tap_chain_reset(&b->chain, &b->board->dap);
}

static void drive(void *ctx, uint16_t level, uint16_t output)
{
    struct ftdi_board *b = ctx;
    bool tck = level & output & MPSSE_TCK;
    b->level = level;
    b->output = output;
    reset_lines(b);
    if (tck == b->tck)
        return;
    b->tck = tck;
    if (on_swd(b)) {
        if (tck)
            clock_swd(b);
    } else if (tck && !b->tap_held) {
        tap_chain_clock(&b->chain, &b->board->dap, pin_high(b, MPSSE_TMS), pin_high(b, MPSSE_TDI));
    } else {
        b->tdo = tap_chain_tdo(&b->chain, &b->board->dap);
    }
}

static uint16_t sense(void *ctx)
{
    const struct ftdi_board *b = ctx;
    unsigned levels = 0xffff & ~(MPSSE_TDO | MPSSE_TDI | MPSSE_GPIOL3);
    unsigned in = on_swd(b) ? swdio(b) : b->tdo;
    levels |= in ? MPSSE_TDO : 0;
    /* By the resistor, TDI as an input sees the line too. */
    if (b->layout->swd != FTDI_SWD_RESISTOR || in)
        levels |= MPSSE_TDI;
    if (!b->layout->rtck || b->tck)
        levels |= MPSSE_GPIOL3;
    return (uint16_t)levels;
}

struct mpsse_pins ftdi_board_pins(struct ftdi_board *b)
{
    return (struct mpsse_pins){.ctx = b, .drive = drive, .sense = sense};
}

void ftdi_board_init(struct ftdi_board *b, struct probe_board *board,
                     const struct ftdi_layout *layout)
{
    memset(b, 0, sizeof *b);
    b->board = board;
    b->layout = layout;
    b->tdo = 1;
}
