/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends of a session on a remote target: a client that asks and a server that answers what the
 * test says, packet by packet. What the session asks its host goes to a log.
 */
#ifndef TESTS_SUPPORT_FAKE_SESSION_H
#define TESTS_SUPPORT_FAKE_SESSION_H

#include "protocol/session/gdb_session.h"
#include "tests/support/fake_remote.h"

struct fake_session {
    struct fake_remote r;
    struct gdb_session session;
    struct gdb_host host;      /* branch trace and `monitor help` alone, until the test writes it */
    struct text_buf to_client; /* bytes on the wire, not yet looked at */
    struct text_buf log;
    struct text_buf text; /* of what was returned last */
    uint32_t btrace_size;
    unsigned recording;                    /* a bit a core */
    const struct gdb_btrace_block *blocks; /* newest first */
    size_t block_count;
    bool open;
};

/* All end the program on failure of what is not under test. */
void fake_session_init(struct fake_session *f);
void fake_session_release(struct fake_session *f);

/* Begins and ends a client's session on the target `t`: in control, or beside another. */
void fake_session_open(struct fake_session *f, struct target *t, enum gdb_role role);
void fake_session_close(struct fake_session *f);

void fake_client_sends_packet(struct fake_session *f, const char *payload);
void fake_client_sends_packet_bytes(struct fake_session *f, const void *payload, size_t len);

/* As fake_server_got(). */
const char *fake_client_got(struct fake_session *f);

/* What the host was asked since the last call. */
const char *fake_host_log(struct fake_session *f);

#endif
