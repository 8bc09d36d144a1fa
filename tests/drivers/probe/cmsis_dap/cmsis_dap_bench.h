/* SPDX-License-Identifier: BSD-3-Clause */
/* A modelled CMSIS-DAP probe on a board, and its packets in hexadecimal, for tests of the model. */
#ifndef TESTS_USB_UNIT_CMSIS_DAP_BENCH_H
#define TESTS_USB_UNIT_CMSIS_DAP_BENCH_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/model/usb_probe.h"
#include "tests/support/unit_main.h"

static struct probe_board *board;
static uint8_t answer[CMSIS_DAP_PACKET_MAX];

static inline void setup(unsigned packet_count)
{
    struct probe_board_options options = {.packet_count = packet_count};
    board = malloc(sizeof *board);
    ck_assert_ptr_nonnull(board);
    ck_assert_int_eq(probe_board_init(board, &options), 0);
}

static inline void teardown(void)
{
    probe_board_release(board);
    free(board);
}

/* Bytes in hexadecimal, blanks between them. */
static inline size_t parse(const char *text, uint8_t *out)
{
    size_t n = 0;
    char *end;
    while (*text) {
        out[n++] = (uint8_t)strtoul(text, &end, 16);
        text = end;
        while (*text == ' ')
            text++;
    }
    return n;
}

static inline void submit(const char *text)
{
    uint8_t packet[CMSIS_DAP_PACKET_MAX];
    size_t n = parse(text, packet);
    cmsis_dap_submit(&board->probe, packet, n);
}

static inline void expect_next(const char *text)
{
    uint8_t wanted[CMSIS_DAP_PACKET_MAX];
    size_t n = parse(text, wanted);
    ck_assert_uint_eq(cmsis_dap_response(&board->probe, answer), n);
    ck_assert_mem_eq(answer, wanted, n);
}

static inline void exchange(const char *command, const char *response)
{
    submit(command);
    expect_next(response);
}

/* The way to the first access, with power-up; AP 0, bank 0 selected. */
static inline void connect(void)
{
    exchange("02 01", "02 01");
    exchange("11 00 09 3d 00", "11 00");
    exchange("04 00 40 00 00 00", "04 00");
    exchange("13 00", "13 00");
    exchange("12 88 ff ff ff ff ff ff ff 9e e7 ff ff ff ff ff ff ff 00", "12 00");
    exchange("05 00 01 02", "05 01 01 77 14 a0 2b");
    exchange("05 00 03 00 1e 00 00 00 08 00 00 00 00 04 00 00 00 50", "05 03 01");
    exchange("05 00 02 06 06", "05 02 01 40 00 00 50 40 00 00 50");
    exchange("05 00 01 06", "05 01 01 40 00 00 f0");
}

#endif
