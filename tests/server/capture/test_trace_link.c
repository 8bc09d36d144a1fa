/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/capture/trace_link.c and server/net/stream_socket.c. */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <uv.h>

#include "server/capture/trace_link.h"
#include "server/net/stream_socket.h"
#include "tests/support/sink_room.h"
#include "tests/support/unit_main.h"

/* What the link has handed on. */
struct received {
    uint8_t bytes[64];
    size_t count;
    unsigned losses;
};

static void on_bytes(void *ctx, const uint8_t *data, size_t len)
{
    struct received *r = ctx;
    ck_assert_uint_le(len, sizeof r->bytes - r->count);
    memcpy(r->bytes + r->count, data, len);
    r->count += len;
}

static void on_lost(void *ctx, enum bt_gap_cause cause)
{
    struct received *r = ctx;
    r->losses += cause == BT_GAP_LOST_BYTES;
}

static struct config config;

/* A Unix socket that the link listens on. */
static void set_up(void)
{
    memset(&config, 0, sizeof config);
    config.trace.kind = ADDRESS_UNIX;
    config.trace_listens = true;
    snprintf(config.trace.host, sizeof config.trace.host, "/tmp/test_trace_link.%d", (int)getpid());
}

static void tear_down(void)
{
    unlink(config.trace.host);
}

static int start(struct received *r, struct trace_link **l, struct message *why)
{
    const struct trace_sink sink = {
        .user = r, .bytes = on_bytes, .lost = on_lost, .room = sink_room};
    memset(r, 0, sizeof *r);
    memset(why, 0, sizeof *why);
    return trace_link_start(&config, &sink, l, why);
}

static void send_all(const char *text)
{
    int fd = stream_socket_connect(&config.trace);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* Bytes of two connections, with a loss between them. */
START_TEST(hands_on_what_comes)
{
    struct received r;
    struct trace_link *l;
    struct trace_link_stats stats;
    struct message why;
    char text[400];
    ck_assert_msg(start(&r, &l, &why) == BT_OK, "%s", why.text);
    trace_link_describe(l, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "stopped: no source yet at unix:/tmp/"));
    send_all("first");
    for (unsigned i = 0; i < 2000; i++) {
        trace_link_stats(l, &stats);
        if (stats.connections == 1 && !stats.connected)
            break;
        uv_sleep(5);
    }
    ck_assert_uint_eq(stats.bytes, 5);
    send_all("second");
    for (unsigned i = 0; i < 2000 && stats.bytes < 11; i++) {
        uv_sleep(5);
        trace_link_stats(l, &stats);
    }
    ck_assert(trace_link_wait(l, 6, 0));
    ck_assert(trace_link_wait_quiet(l, 1, 10000));
    trace_link_stop(l);
    ck_assert_uint_eq(r.count, 11);
    ck_assert_int_eq(memcmp(r.bytes, "firstsecond", 11), 0);
    ck_assert_uint_eq(r.losses, 1);
}
END_TEST

struct late {
    struct received received;
    uv_sem_t busy, more;
};

/* The capture thread is still at the first bytes while the link is told to end. */
static void on_bytes_busy(void *ctx, const uint8_t *data, size_t len)
{
    struct late *late = ctx;
    bool first = late->received.count == 0;
    on_bytes(&late->received, data, len);
    if (!first)
        return;
    uv_sem_post(&late->busy);
    uv_sem_wait(&late->more);
    uv_sleep(50);
}

/* What a board sent before it ended is not lost where the thread has fallen behind. */
START_TEST(hands_on_what_came_before_the_end)
{
    struct late late = {0};
    const struct trace_sink sink = {
        .user = &late, .bytes = on_bytes_busy, .lost = on_lost, .room = sink_room};
    struct trace_link *l;
    struct message why;
    uv_sem_init(&late.busy, 0);
    uv_sem_init(&late.more, 0);
    ck_assert_int_eq(trace_link_start(&config, &sink, &l, &why), BT_OK);
    int fd = stream_socket_connect(&config.trace);
    ck_assert_int_eq(write(fd, "first", 5), 5);
    uv_sem_wait(&late.busy);
    ck_assert_int_eq(write(fd, "last", 4), 4);
    uv_sem_post(&late.more);
    trace_link_stop(l);
    close(fd);
    ck_assert_uint_eq(late.received.count, 9);
    ck_assert_int_eq(memcmp(late.received.bytes, "firstlast", 9), 0);
    uv_sem_destroy(&late.busy);
    uv_sem_destroy(&late.more);
}
END_TEST

/* Of aligned frames whole ones are handed on. */
START_TEST(keeps_frames_whole)
{
    struct received r;
    struct trace_link *l;
    struct message why;
    config.formatted = true;
    config.mode = FORMATTER_ALIGNED;
    ck_assert_msg(start(&r, &l, &why) == BT_OK, "%s", why.text);
    send_all("0123456789abcdef0123");
    ck_assert(trace_link_wait(l, 20, 10000));
    trace_link_stop(l);
    ck_assert_uint_eq(r.count, 16);
}
END_TEST

/* No descriptor is left for the pipe that ends the thread. */
START_TEST(names_what_failed)
{
    struct received r;
    struct trace_link *l;
    struct message why;
    struct rlimit before, none;
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    none.rlim_cur = 3;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    int error = start(&r, &l, &why);
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
    ck_assert_int_eq(error, BT_ERR_IO);
    ck_assert_ptr_null(l);
    ck_assert_str_eq(why.text, "cannot make a pipe for the capture thread: Too many open files");
}
END_TEST

START_TEST(names_the_address_that_cannot_be_had)
{
    struct received r;
    struct trace_link *l;
    struct message why;
    snprintf(config.trace.host, sizeof config.trace.host, "/nowhere/socket");
    ck_assert_int_eq(start(&r, &l, &why), BT_ERR_IO);
    ck_assert_str_eq(why.text, "cannot listen for trace on unix:/nowhere/socket: No such file or "
                               "directory");
}
END_TEST

START_TEST(names_the_device_that_is_not_there)
{
    struct received r;
    struct trace_link *l;
    struct message why;
    config.capture.type = CONFIG_CAPTURE_TTY;
    config.capture.baud = 115200;
    snprintf(config.capture.device, sizeof config.capture.device, "/nowhere/tty");
    ck_assert_int_eq(start(&r, &l, &why), BT_ERR_IO);
    ck_assert_ptr_nonnull(strstr(why.text, "/nowhere/tty"));
}
END_TEST

static void add(Suite *s, const char *name, const TTest *test)
{
    TCase *tc = tcase_create(name);
    tcase_add_checked_fixture(tc, set_up, tear_down);
    tcase_add_test(tc, test);
    suite_add_tcase(s, tc);
}

Suite *unit_suite(void)
{
    Suite *s = suite_create("trace_link");
    add(s, "trace_link: bytes of one connection after the other", hands_on_what_comes);
    add(s, "trace_link: what came before the end", hands_on_what_came_before_the_end);
    add(s, "trace_link: frames stay whole", keeps_frames_whole);
    add(s, "trace_link: names the pipe that cannot be made", names_what_failed);
    add(s, "trace_link: names the address that cannot be listened on",
        names_the_address_that_cannot_be_had);
    add(s, "trace_link: names the serial device that is not there",
        names_the_device_that_is_not_there);
    return s;
}
