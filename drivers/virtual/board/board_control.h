/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control socket of the board: text lines from clients, one line of reply each. A thread of its own
 * reads them; what concerns a core is done by that core's thread between two instructions.
 *
 *   flush     pending trace goes out, the frame is completed, an ETB is read out
 *   on, off   trace enable
 *   overflow  FIFO overflow now
 *   status    counters
 *   include FIRST-LAST, exclude FIRST-LAST
 *             one more address range of the trace filter
 *   include none, exclude none
 *             no such range any more
 *
 * Replies: "ok BYTES" (written to the output so far), for status "ok BYTES NAME=VALUE...", or
 * "error REASON".
 */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_CONTROL_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_CONTROL_H

#include <stddef.h>

#define BOARD_CONTROL_CLIENTS 8
#define BOARD_CONTROL_LINE    128

/* Answers one line, without its line end, by a line in `reply`, without one too. */
typedef void (*board_command)(void *context, const char *line, char *reply, size_t size);

struct board_control;

/* Listens at `where` (unix:PATH, made anew) and starts the thread. NULL: errno. */
struct board_control *board_control_start(const char *where, board_command command, void *context);

/* Removes the socket. The thread ends with the process. */
void board_control_stop(struct board_control *control);

#endif
