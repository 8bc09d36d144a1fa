/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who has changed what of the target, and when: a line a change, to a file, to syslog (framed as
 * /dev/log takes it, journald too), or both. Nothing here waits for a reader: a line
 * that finds no room is lost, and counted in the next one. One thread.
 */
#ifndef SERVER_AUDIT_H
#define SERVER_AUDIT_H

#include "drivers/base/message.h"

#include <stdbool.h>
#include <stdint.h>

struct audit_settings {
    char file[512];   /* "": none */
    char syslog[108]; /* path of a datagram socket; "": none */
    bool json;
};

struct audit;

/* NULL: nothing is wanted (*why is empty), or the file cannot be written (*why says so). */
struct audit *audit_open(const struct audit_settings *settings, struct message *why);
/* NULL is allowed, here and below: nothing happens. */
void audit_close(struct audit *a);

/* The file by its name again: the one before may have been moved away. It stays on an error. */
void audit_reopen(struct audit *a);

/* Client 0 is whoever runs the server. `what` is one word; control characters become '?'. */
void audit_write(struct audit *a, unsigned client, const char *who, const char *what,
                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* The same of `length` bytes from `address` on: what goes on where the last one ended is the same
 * line, which is written when it ends or at the next audit_tick() without more of it. */
void audit_range(struct audit *a, unsigned client, const char *who, const char *what,
                 uint64_t address, uint64_t length);
/* Once a second. */
void audit_tick(struct audit *a);

#endif
