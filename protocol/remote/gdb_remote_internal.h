/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files that make up a remote target. */
#ifndef PROTOCOL_GDB_REMOTE_INTERNAL_H
#define PROTOCOL_GDB_REMOTE_INTERNAL_H

#include "protocol/remote/gdb_remote.h"

/* gdb_remote_link.c */

/* Sends a packet; `got` NULL: nothing is answered. False: the connection is lost. */
bool gdb_remote_send(struct gdb_remote *r, const char *payload, size_t len, gdb_remote_got_fn got);

static inline void gdb_remote_send_text(struct gdb_remote *r, const char *text,
                                        gdb_remote_got_fn got)
{
    gdb_remote_send(r, text, strlen(text), got);
}

/* The end of the request under way. */
void gdb_remote_answer(struct gdb_remote *r, const struct target_answer *answer);

/* Closes the connection; what was known by it is forgotten. */
void gdb_remote_forget(struct gdb_remote *r);

/* Ends the connection from our side: what waits is answered, then ready() or lost(). */
void gdb_remote_fail(struct gdb_remote *r, int error);

/* A stop reply, of which the thread becomes `stopped`. */
struct target_stop gdb_remote_take_stop(struct gdb_remote *r, const char *reply, size_t len);

/* A reply to a packet of the request under way: kept when it is one that stays the same. */
void gdb_remote_remember(struct gdb_remote *r, const char *reply, size_t len);

/* gdb_remote_greet.c */
void gdb_remote_greet(struct gdb_remote *r);

#endif
