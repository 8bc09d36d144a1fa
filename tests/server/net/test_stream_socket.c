/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer that hangs: it takes no connection, it reads nothing, it gives no answer; and who asked
 * wants none any more.
 */
#include "server/net/stream_socket.h"
#include "tests/support/unit_main.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MANY       16 /* more than wait to be accepted */
#define PATIENCE_S 60
#define LINES      100000 /* more than any socket holds */

static char folder[] = "/tmp/btraced-test.XXXXXX";
static struct address place = {.kind = ADDRESS_UNIX};

static int listen_somewhere(void)
{
    strcpy(folder + sizeof folder - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(place.host, sizeof place.host, "%s/socket", folder);
    int fd = stream_socket_listen(&place);
    ck_assert_int_ge(fd, 0);
    return fd;
}

static void leave(int listener)
{
    close(listener);
    unlink(place.host);
    rmdir(folder);
}

START_TEST(nobody_accepts)
{
    int listener = listen_somewhere(), fds[MANY], count = 0;
    while (count < MANY && (fds[count] = stream_socket_connect(&place)) >= 0)
        count++;
    ck_assert_int_gt(count, 0);
    ck_assert_int_lt(count, MANY);
    while (count > 0)
        close(fds[--count]);
    leave(listener);
}
END_TEST

static void *end_soon(void *end)
{
    usleep(1000);
    *(_Atomic bool *)end = true;
    return NULL;
}

START_TEST(nobody_answers)
{
    int listener = listen_somewhere(), fd = stream_socket_connect(&place);
    _Atomic bool end = false;
    char answer[8];
    pthread_t thread;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(stream_socket_ask(fd, "flush", answer, sizeof answer, 1, &end), BT_ERR_IO);
    ck_assert_int_eq(pthread_create(&thread, NULL, end_soon, &end), 0);
    ck_assert_int_eq(stream_socket_ask(fd, "flush", answer, sizeof answer, 1000000000, &end),
                     BT_ERR_IO);
    pthread_join(thread, NULL);
    close(fd);
    leave(listener);
}
END_TEST

/* Each question leaves a line with the peer that nobody reads, until there is no room: none may
 * wait. */
START_TEST(nobody_reads)
{
    int fds[2];
    const _Atomic bool end = false;
    char answer[8], line[200], byte = 0;
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = 0;
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    alarm(PATIENCE_S);
    for (int i = 0; i < LINES; i++)
        ck_assert_int_eq(stream_socket_ask(fds[0], line, answer, sizeof answer, 0, &end),
                         BT_ERR_IO);
    alarm(0);
    /* It was full: not even a byte has room. */
    ck_assert_int_eq(send(fds[0], &byte, 1, MSG_DONTWAIT), -1);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("stream_socket");
    unit_case(s, "stream_socket: a peer that accepts nobody", nobody_accepts);
    unit_case(s, "stream_socket: a peer that reads nothing", nobody_reads);
    unit_case(s,
              "stream_socket: a peer that does not answer, and who asked no longer wants to know",
              nobody_answers);
    return s;
}
