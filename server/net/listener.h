/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One listening socket: TCP, a Unix socket, or one that systemd hands over. The address is taken in
 * one step, before anything else is started, and connections are accepted in a second one.
 */
#ifndef SERVER_LISTENER_H
#define SERVER_LISTENER_H

#include "btrace/types.h"
#include "drivers/base/message.h"
#include "server/net/address.h"

#include <sys/stat.h>
#include <uv.h>

/* Who may use a Unix socket's file. */
struct listener_file {
    unsigned mode; /* 0600 */
    unsigned uid;  /* ADDRESS_SAME_OWNER: as it is */
    unsigned gid;
};

struct listener {
    int fd; /* -1: none */
    struct address address;
    bool loopback; /* no other machine reaches it */
    dev_t dev;     /* of the Unix socket's file */
    ino_t ino;
    bool owns_file;
    uv_poll_t poll;
    uv_timer_t pause;
    bool started;
    void (*arrived)(void *ctx, struct listener *l, int fd);
    void *ctx;
};

/*
 * Takes the address; port 0 becomes a free one. A Unix socket's file that nobody listens on is
 * replaced. 0, or BT_ERR_IO with *why = "cannot listen on ADDRESS: reason".
 */
int listener_bind(struct listener *l, const struct address *address,
                  const struct listener_file *file, struct message *why);

/* The same for a socket that listens already; it is taken over. */
int listener_adopt(struct listener *l, int fd, struct message *why);

/*
 * Accepts from now on: `arrived` owns the descriptor that it gets. The listener must stay until the
 * loop has ended. 0 or BT_ERR_IO with *why filled.
 */
int listener_start(struct listener *l, uv_loop_t *loop,
                   void (*arrived)(void *ctx, struct listener *l, int fd), void *ctx,
                   struct message *why);

/* Closes the socket, and removes its file. Also of one that was never started. */
void listener_stop(struct listener *l);

/* Sockets that systemd hands over begin at descriptor 3: their number; 0: none. Asked once: the
 * programs that are started later are not told of them. */
unsigned listener_handed_over(void);

#define LISTENER_FIRST_FD 3

#endif
