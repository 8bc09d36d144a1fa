/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends of a session that is passed on to another GDB server: a client that asks and a server
 * that answers what the test says, packet by packet. Events of the remote target go
 * to a log. */
#ifndef TESTS_SUPPORT_FAKE_REMOTE_H
#define TESTS_SUPPORT_FAKE_REMOTE_H

#include "protocol/remote/gdb_remote.h"
#include "protocol/session/gdb_session.h"
#include "tests/support/fake_gdb_target.h"

struct fake_remote {
    struct gdb_remote *u;
    struct gdb_session session;
    bool has_session;
    struct fake_target target; /* its branch trace operations and monitor are the session's */
    struct text_buf to_server; /* bytes on the wires, not yet looked at */
    struct text_buf to_client;
    struct text_buf text; /* of what was returned last */
    struct text_buf log;
    bool hold; /* stops are released by the test, else from within stopped() */
    bool server_no_ack;
    /* Called from within stopped(), when not NULL. */
    void (*on_stopped)(struct fake_remote *f);
    void (*on_changed)(struct fake_remote *f);
    bool drop_on_send; /* the connection to the server breaks at the next byte sent */
};

/* All end the program on failure of what is not under test. */
void fake_remote_init(struct fake_remote *f);
void fake_remote_release(struct fake_remote *f);

/* Connects, and answers the first questions: two cores, 1 and 2, that are halted in 1. */
void fake_remote_connect(struct fake_remote *f);

/* Begins and ends a client's session. */
void fake_remote_open(struct fake_remote *f);
void fake_remote_close(struct fake_remote *f);

/*
 * Packets that the server has got since the last call, joined by '|', "^C" for the interrupt,
 * "(none)" when there were none. Valid until the next call of any of these.
 */
const char *fake_server_got(struct fake_remote *f);
void fake_server_sends_packet(struct fake_remote *f, const char *payload);
/* Bytes as they are. */
void fake_server_sends(struct fake_remote *f, const char *bytes);

void fake_client_sends_packet(struct fake_remote *f, const char *payload);
void fake_client_sends_packet_bytes(struct fake_remote *f, const void *payload, size_t len);
const char *fake_client_got(struct fake_remote *f);

/* Events since the last call. */
const char *fake_remote_log(struct fake_remote *f);

#endif
