/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The test bench's control socket: a test pulls the cable or breaks the wire in the middle of a
 * session. A Unix stream socket; each line is a command and has replies:
 *
 *   unplug, replug    the cable of the probe; the board stays as it is
 *   fault TEXT        faults of the wire: wait=N,fault=N,parity=N,noack=N,skip=N,trace=N,overrun=N
 *                     and of Cortex-A cores, a bit for each: off=MASK (no power), oslock=MASK
 *   stall N, short N, lose N, mute N, unplug N
 *                     faults of USB, at the Nth command transfer from now on
 *   power off, power on
 *                     of the board, not of the probe; Cortex-M only
 *   counters          a line "NAME VALUE" for each, as in the report
 *
 * The last line is "ok", or "error REASON".
 *
 * A client hears of the cable through a socket that umockdev names after its file descriptor. Of
 * two clients with the same number only the younger one hears;
 * when it has gone, none does. */
#ifndef TESTS_USB_UMOCK_CONTROL_H
#define TESTS_USB_UMOCK_CONTROL_H

#include "tests/bench/usb/umock_bench.h"

struct umock_control;

/* Listens at `path`, made anew; served by the GLib main loop. NULL: errno. */
struct umock_control *umock_control_new(const char *path, struct umock_bench *bench);

/* Removes the socket. */
void umock_control_free(struct umock_control *c);

#endif
