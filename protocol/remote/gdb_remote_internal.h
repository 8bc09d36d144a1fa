/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files that make up a remote target. */
#ifndef PROTOCOL_GDB_REMOTE_INTERNAL_H
#define PROTOCOL_GDB_REMOTE_INTERNAL_H

#include "protocol/remote/gdb_remote_client.h"

/* Payloads of the other side: its documents may come in larger pieces than ours. */
#define GDB_REMOTE_PAYLOAD_MAX (4 * GDB_PACKET_SIZE)

/* A server that does not report how long a packet may be gets none that is longer. */
#define GDB_REMOTE_PACKET_SIZE     0x18a
#define GDB_REMOTE_PACKET_SIZE_MIN 0x40

/* Breakpoints of the client that can be there at once. */
#define GDB_REMOTE_BREAKPOINTS_MAX 1024

/* Questions of our own that can wait at once. */
#define GDB_REMOTE_ASKS_MAX 4096

/* gdb_remote.c */

/*
 * A question for one thread (NULL: whichever is selected). `first`: before all that wait, for what
 * goes on from an answer needs the same thread. As gdb_remote_ask().
 */
int gdb_remote_ask_thread(struct gdb_remote *u, const struct gdb_thread *thread, bool first,
                          const char *payload, size_t len, gdb_remote_reply_fn reply, void *ctx);

/* One of the first questions, before it is ready; its answer asks the next. */
void gdb_remote_greet_with(struct gdb_remote *u, const char *text, gdb_remote_reply_fn reply);

/* Ends the connection from our side: what waits is answered, then ready() or lost(). */
void gdb_remote_fail(struct gdb_remote *u, int error);

/* gdb_remote_known.c */

/* What the other side has said of itself: remembered when it is one of those that stay the same. */
void gdb_remote_remember(struct gdb_remote *u, const struct gdb_request *r, const char *reply,
                         size_t len);
/* Room for one more breakpoint, before it is inserted: BT_OK or BT_ERR_NOMEM. */
int gdb_remote_reserve(struct gdb_remote *u);
void gdb_remote_note_breakpoint(struct gdb_remote *u, const struct target_breakpoint *bp,
                                bool inserted);
void gdb_remote_forget_registers(struct gdb_remote *u);
/* All of these: the connection is lost. */
void gdb_remote_forget(struct gdb_remote *u);

#endif
