/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of sessions on a remote target: both ends, scripted packet by packet. */
#ifndef TESTS_UNIT_TEST_GDB_REMOTE_H
#define TESTS_UNIT_TEST_GDB_REMOTE_H

#include "tests/support/fake_session.h"
#include "tests/support/unit_main.h"

static struct fake_session f;

static inline void open_session(void)
{
    fake_session_open(&f, f.r.t, GDB_CONTROLS);
}

static void setup(void)
{
    fake_session_init(&f);
    fake_remote_connect(&f.r);
    open_session();
}

static void teardown(void)
{
    fake_session_release(&f);
}

#define CLIENT_SAYS(text) fake_client_sends_packet(&f, text)
#define SERVER_SAYS(text) fake_server_sends_packet(&f.r, text)
#define CLIENT_GOT(text)  ck_assert_str_eq(fake_client_got(&f), text)
#define SERVER_GOT(text)  ck_assert_str_eq(fake_server_got(&f.r), text)
#define LOG(text)         ck_assert_str_eq(fake_remote_log(&f.r), text)
#define HOST_LOG(text)    ck_assert_str_eq(fake_host_log(&f), text)

/* A packet that goes through in both directions as it is. */
static inline void through(const char *packet, const char *reply)
{
    CLIENT_SAYS(packet);
    SERVER_GOT(packet);
    CLIENT_GOT("(none)");
    SERVER_SAYS(reply);
    CLIENT_GOT(reply);
}

/* A packet that the other side never sees. */
static inline void ours(const char *packet, const char *reply)
{
    CLIENT_SAYS(packet);
    CLIENT_GOT(reply);
    SERVER_GOT("(none)");
}

/* Answers of questions that the test asks go to the log of events. */
static inline void got_reply(void *ctx, const struct target_answer *a)
{
    (void)ctx;
    text_buf_printf(&f.r.log, "'%s';", a->bytes ? (const char *)a->bytes : "none");
}

/* A packet of the owner's. */
static inline int ask(const char *text)
{
    struct target_request r = gdb_packet_read(text, strlen(text)).request;
    return target_ask(f.r.t, NULL, &r, got_reply, NULL);
}

static inline void add(Suite *suite, const char *name, const TTest *test)
{
    TCase *c = tcase_create(name);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test);
    suite_add_tcase(suite, c);
}

#endif
