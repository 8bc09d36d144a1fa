/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Another GDB server that answers what the test says, packet by packet, and the remote target that
 * asks it. Events of the target go to a log.
 */
#ifndef TESTS_SUPPORT_FAKE_REMOTE_H
#define TESTS_SUPPORT_FAKE_REMOTE_H

#include "protocol/remote/gdb_remote.h"

struct fake_remote {
    struct gdb_remote *u;
    struct target *t;          /* the same */
    struct text_buf to_server; /* bytes on the wire, not yet looked at */
    struct text_buf text;      /* of what was returned last */
    struct text_buf log;
    bool hold; /* stops are released by the test, else from within stopped() */
    bool server_no_ack;
    bool drop_on_send; /* the connection to the server breaks at the next byte sent */
    /* Called from within stopped() and changed(), when not NULL. */
    void (*on_stopped)(struct fake_remote *f);
    void (*on_changed)(struct fake_remote *f);
};

/* All end the program on failure of what is not under test. */
void fake_remote_init(struct fake_remote *f);
void fake_remote_release(struct fake_remote *f);

/* Connects, and answers the first questions: two cores, 1 and 2, that are halted in 1. */
void fake_remote_connect(struct fake_remote *f);

/*
 * Packets that the server has got since the last call, joined by '|', "^C" for the interrupt,
 * "(none)" when there were none. Valid until the next call of any of these.
 */
const char *fake_server_got(struct fake_remote *f);
void fake_server_sends_packet(struct fake_remote *f, const char *payload);
/* Bytes as they are. */
void fake_server_sends(struct fake_remote *f, const char *bytes);

/* Events since the last call. */
const char *fake_remote_log(struct fake_remote *f);

#endif
