/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands that a client may give to the target's own GDB server. These servers have commands that
 * run programs and write files of their machine: Tcl's `exec` and `dump_image` of OpenOCD,
 * `migrate` and `logfile` of QEMU, `!` of pyOCD.
 */
#ifndef SERVER_REMOTE_MONITOR_H
#define SERVER_REMOTE_MONITOR_H

#include "server/base/console.h"

/*
 * `list` is that of [target] monitor. A command of the list is plain words: without characters that
 * some server takes for a second command, a variable or a quotation. "all" admits any text.
 */
bool remote_monitor_admits(const char *list, const char *text);

/* Why not. */
void remote_monitor_refuse(const char *list, const char *text, const struct console *c);

/* The line of `monitor help`. */
void remote_monitor_help(const char *list, const struct console *c);

#endif
