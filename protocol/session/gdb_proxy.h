/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A session whose packets are answered by another GDB server, but for branch trace and for how a
 * session begins and ends. Not for use outside of protocol/.
 */
#ifndef PROTOCOL_GDB_PROXY_H
#define PROTOCOL_GDB_PROXY_H

#include "protocol/remote/gdb_remote.h"
#include "protocol/session/gdb_session.h"

struct gdb_proxy; /* private */

/* Whoever was the client of `u` before is dropped. NULL without memory. */
struct gdb_proxy *gdb_proxy_new(struct gdb_session *s, struct gdb_remote *u);
void gdb_proxy_free(struct gdb_proxy *p);

/* One that looks on beside the client of `u`; `greeting` is told as soon as it takes text. */
struct gdb_proxy *gdb_proxy_new_observer(struct gdb_session *s, struct gdb_remote *u,
                                         const char *greeting);
/* It is the client of `u` from now on; see gdb_session_take_control(). */
void gdb_proxy_take_control(struct gdb_proxy *p);
void gdb_proxy_give_control(struct gdb_proxy *p);
bool gdb_proxy_observes(const struct gdb_proxy *p);

/* A packet of the client, acknowledged already. */
void gdb_proxy_packet(struct gdb_proxy *p, const char *payload, size_t len);

/* The interrupt byte. */
void gdb_proxy_interrupt(struct gdb_proxy *p);

/* Core of a thread by its number, as the other side counts threads; and the other way round, as a
 * stop reply has it. That thread is the general one from now on. */
bool gdb_proxy_core_of(const struct gdb_proxy *p, int thread, int *core);
void gdb_proxy_add_thread(struct gdb_proxy *p, int core, struct text_buf *out);

/* gdb_features.c: the reply to qSupported, made of that of the other side and what we add. Packets
 * of at most `limit` bytes are announced. */
void gdb_features_merge(struct text_buf *out, const char *reply, size_t len, size_t limit,
                        bool btrace, bool reverse);

#endif
