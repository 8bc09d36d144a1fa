/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clients of a live target: the first that comes is in control, [gdb] others says what becomes
 * of those that come later. Each has its own branch trace and its own replay position.
 */
#ifndef SERVER_LIVE_CLIENTS_H
#define SERVER_LIVE_CLIENTS_H

#include "server/access/gdb_clients.h"
#include "server/base/console.h"
#include "server/config/config.h"
#include "server/history/btrace_blocks.h"
#include "server/live/live_reverse.h"

struct live;

struct live_client {
    struct live_client *next;
    struct live *live;
    struct gdb_client *client;
    struct gdb_session *session;
    uint32_t size; /* of GDB's buffer */
    struct {
        bool recording; /* as far as GDB knows */
        bool delivered; /* the history was read since it was enabled or GDB connected */
        bool moved;     /* PC was written, or the target was reset, since the history was read */
        uint64_t stop;  /* number of the stop at which it was read */
        struct btrace_mark has, given; /* what GDB has, and will have once it is delivered */
    } cores[CONFIG_MAX_CORES];
    struct reverse_motion motion;
    struct live_reverse_misses misses[2]; /* of a motion; of what is worked out ahead of it */
    struct live_reverse_reader readers[GDB_CORES_MAX];
};

/* `open` and `close` of struct gdb_service; what is released later is c->served.
 * NULL is allowed. */
int live_admit(struct live *l, struct gdb_client *c, gdb_send_fn send, void *send_ctx);
void live_leave(struct live *l, struct gdb_client *c);
void live_client_free(struct live_client *k);

/* NULL: it has left. */
struct live_client *live_client_of(const struct live *l, unsigned number);

/* The client takes control when nobody has it. BT_OK, or BT_ERR_INVAL with a text. */
int live_take_control(struct live_client *k, struct gdb_why *why);
/* The client in control looks on from now on. True: the next in the queue has got control. */
bool live_release_control(struct live_client *k);

/* Who is here, as lines; `me` is marked. */
void live_clients_list(const struct live *l, const struct live_client *me, const struct console *c);

/* All clients: replay positions are void, for the cores run or are elsewhere. */
void live_clients_forget(struct live *l);
/* The target is elsewhere: no delta leads there. */
void live_clients_moved(struct live *l);
/* Motions that wait go on. */
void live_clients_go_on(struct live *l);
/* Who waits for the target is told, by text. */
void live_clients_report(struct live *l, const char *text);

#endif
