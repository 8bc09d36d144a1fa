/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the tests of sessions that are passed on: both ends, scripted packet by packet. */
#ifndef TESTS_UNIT_TEST_GDB_REMOTE_H
#define TESTS_UNIT_TEST_GDB_REMOTE_H

#include "tests/support/fake_remote.h"
#include "tests/support/unit_main.h"

static struct fake_remote f;

static void setup(void)
{
    fake_remote_init(&f);
    fake_remote_connect(&f);
    fake_remote_open(&f);
}

static void teardown(void)
{
    fake_remote_release(&f);
}

#define CLIENT_SAYS(text) fake_client_sends_packet(&f, text)
#define SERVER_SAYS(text) fake_server_sends_packet(&f, text)
#define CLIENT_GOT(text)  ck_assert_str_eq(fake_client_got(&f), text)
#define SERVER_GOT(text)  ck_assert_str_eq(fake_server_got(&f), text)
#define LOG(text)         ck_assert_str_eq(fake_remote_log(&f), text)
#define TARGET_LOG(text)                                                                           \
    do {                                                                                           \
        ck_assert_str_eq(f.target.log.data, text);                                                 \
        text_buf_clear(&f.target.log);                                                             \
    } while (0)

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
static inline void got_reply(void *ctx, const char *reply, size_t len)
{
    (void)ctx;
    (void)len;
    text_buf_printf(&f.log, "'%s';", reply != NULL ? reply : "none");
}

static inline void add(Suite *suite, const char *name, const TTest *test)
{
    TCase *c = tcase_create(name);
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, test);
    suite_add_tcase(suite, c);
}

#endif
