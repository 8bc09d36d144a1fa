/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is logged on standard error while the program serves, and how much of it. The level is kept
 * in the environment (BTRACED_LOG), where a service's unit sets it too: `--log` writes it there
 * before any thread is started. Lines for programs that wait for a server, and the reason why it
 * ends, are no log: they are always printed.
 */
#ifndef SERVER_LOG_H
#define SERVER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_VARIABLE "BTRACED_LOG"
#define LOG_LEVELS   "error, warning, info, debug"

enum log_level {
    LOG_AT_ERROR,   /* the program cannot go on */
    LOG_AT_WARNING, /* somebody was refused, something is lost */
    LOG_AT_INFO,    /* the default: who comes and goes, what a board prints */
    LOG_AT_DEBUG,   /* also what is sent to and fro */
};

/* Sets the level for this process, by its name. False, and nothing changed: there is no such one.
 * Not while other threads run. */
bool log_choose(const char *name);

/* What the environment asks for: false if that is no level. The default, and true, without it. */
bool log_level_now(enum log_level *level);

/* Whether lines of this level are printed. */
bool log_shows(enum log_level level);

/*
 * The text, with its line end, if the level is printed; control characters in it become '?'. Any
 * thread. Never waits: while the reader of standard error takes nothing, or there is none, lines
 * are lost, and their number is a line as soon as one is taken again.
 */
void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Lines that were lost so since the start. */
uint64_t log_lost(void);

/*
 * Bytes of the wire, one line: what cannot be printed as \xNN, of long ones the beginning and the
 * length. At LOG_AT_DEBUG. `who` is in front of it.
 */
void log_bytes(const char *who, const void *bytes, size_t length);

#endif
