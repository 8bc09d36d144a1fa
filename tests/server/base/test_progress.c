/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests server/base/progress.c: what is shown when, and that a pipe gets nothing. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/base/progress.h"
#include "tests/support/unit_main.h"

#define S  UINT64_C(1000000000)
#define MB UINT64_C(1000000)

#define SILENCE_MS 500 /* of a terminal: nothing more comes */

START_TEST(tells_how_far_and_how_long)
{
    static const struct {
        uint64_t done, at_ns, shown_ns;
        const char *line; /* NULL: none */
    } cases[] = {
        {500, 2 * S - 1, 0, NULL}, /* too early */
        {0, 3 * S, 0, NULL},       /* nothing is done: who knows */
        {500, 2 * S, 0, "x: 50 %, 250.0 MB/s, 3 s left"},
        {500, 2 * S, 2 * S - S / 8, NULL}, /* a line is there since a moment */
        {750, 6 * S, S, "x: 75 %, 125.0 MB/s, 3 s left"},
        {100, 10 * S, S, "x: 10 %, 10.0 MB/s, 1 min 31 s left"},
        {999, 10 * S, S, "x: 99 %, 99.9 MB/s, 1 s left"},
        {1, 3600 * S, S, "x: 0 %, 0.0 MB/s, 59940 min 01 s left"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct progress p = {.what = "x",
                             .total = 1000 * MB,
                             .done = cases[i].done * MB,
                             .begun_ns = 7 * S,
                             .shown_ns = cases[i].shown_ns ? 7 * S + cases[i].shown_ns : 0};
        char text[100] = "";
        bool due = progress_line(&p, 7 * S + cases[i].at_ns, text, sizeof text);
        ck_assert_int_eq(due, cases[i].line != NULL);
        ck_assert_str_eq(text, cases[i].line ? cases[i].line : "");
    }
}
END_TEST

/* What comes out of `from` when half and then all is done, three seconds after the begin. */
static size_t printed(int error, int from, char *out, size_t size)
{
    struct progress p;
    int kept = dup(STDERR_FILENO);
    dup2(error, STDERR_FILENO);
    progress_begin(&p, "x", 1000, true);
    p.begun_ns -= 3 * S;
    progress_add(&p, 500);
    progress_add(&p, 500);
    progress_add(&p, 1);
    progress_end(&p);
    dup2(kept, STDERR_FILENO);
    close(kept);
    /* A terminal hands on what was written to it when the kernel finds the time. */
    struct pollfd ready = {.fd = from, .events = POLLIN};
    size_t used = 0;
    while (used + 1 < size && poll(&ready, 1, SILENCE_MS) > 0) {
        ssize_t n = read(from, out + used, size - 1 - used);
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    out[used] = '\0';
    return used;
}

START_TEST(a_terminal_has_a_line_that_goes)
{
    char out[1000];
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_ge(terminal, 0);
    ck_assert_int_eq(grantpt(terminal) | unlockpt(terminal), 0);
    int error = open(ptsname(terminal), O_RDWR | O_NOCTTY);
    ck_assert_int_ge(error, 0);
    ck_assert_uint_gt(printed(error, terminal, out, sizeof out), 0);
    ck_assert_ptr_nonnull(strstr(out, "x: 50 %, "));
    ck_assert_ptr_nonnull(strstr(out, " s left\r"));
    ck_assert_str_eq(out + strlen(out) - 2, " \r"); /* nothing is left of it */
    close(error);
    close(terminal);
}
END_TEST

START_TEST(a_pipe_has_none)
{
    char out[1000];
    int ends[2];
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_uint_eq(printed(ends[1], ends[0], out, sizeof out), 0);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

static void add(Suite *s, const char *name, const TTest *test)
{
    TCase *tc = tcase_create(name);
    tcase_add_test(tc, test);
    suite_add_tcase(s, tc);
}

Suite *unit_suite(void)
{
    Suite *s = suite_create("progress");
    add(s, "progress: tells how far it is, and how long it takes", tells_how_far_and_how_long);
    add(s, "progress: a terminal has a line, which goes", a_terminal_has_a_line_that_goes);
    add(s, "progress: a pipe has none", a_pipe_has_none);
    return s;
}
