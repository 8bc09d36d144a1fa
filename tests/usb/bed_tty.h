/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The board's SWO pin on a serial adapter with a driver of the kernel: a terminal whose settings
 * are those of whoever has it open. Bytes of another rate,
 * or that nobody reads, are lost. */
#ifndef TESTS_USB_BED_TTY_H
#define TESTS_USB_BED_TTY_H

#include <stdio.h>

#include "tests/usb/probe_board.h"

struct bed_tty;

/* `path` becomes a link to the terminal, in the main loop of the caller; `board` must outlive it.
 * NULL with errno. */
struct bed_tty *bed_tty_new(const char *path, struct probe_board *board);
void bed_tty_free(struct bed_tty *t);

/* Counters, one "name value" a line. */
void bed_tty_report(const struct bed_tty *t, FILE *out);

#endif
