/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board's SWO pin on a serial adapter with a driver of the kernel: a terminal whose settings
 * are those of whoever has it open. Bytes of another rate,
 * or that nobody reads, are lost. */
#ifndef TESTS_USB_BENCH_TTY_H
#define TESTS_USB_BENCH_TTY_H

#include <stdio.h>

#include "tests/model/probe_board.h"

struct bench_tty;

/* `path` becomes a link to the terminal, in the main loop of the caller; `board` must outlive it.
 * NULL with errno. */
struct bench_tty *bench_tty_new(const char *path, struct probe_board *board);
void bench_tty_free(struct bench_tty *t);

/* Counters, one "name value" a line. */
void bench_tty_report(const struct bench_tty *t, FILE *out);

#endif
