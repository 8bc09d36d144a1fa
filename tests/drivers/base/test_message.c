/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/base/message.h"

#include <string.h>

#include "btrace/types.h"
#include "tests/support/unit_main.h"

START_TEST(texts)
{
    struct message m;
    message_set(&m, "cannot open '%s'", "x.ini");
    ck_assert_str_eq(m.text, "cannot open 'x.ini'");
    ck_assert_str_eq(m.file, "");
    ck_assert_uint_eq(m.line, 0);
    message_set(&m, "%s: %s (%s)", "board", m.text, m.text + 7);
    ck_assert_str_eq(m.text, "board: cannot open 'x.ini' (open 'x.ini')");
}
END_TEST

START_TEST(cut)
{
    struct message m;
    char text[2 * sizeof m.text];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    message_set(&m, "%s", text);
    ck_assert_uint_eq(strlen(m.text), sizeof m.text - 1);
    message_set(&m, "0123%s", m.text);
    ck_assert_uint_eq(strlen(m.text), sizeof m.text - 1);
    ck_assert_int_eq(strncmp(m.text, "0123xx", 6), 0);
}
END_TEST

START_TEST(defaults)
{
    struct message m = {.text = ""};
    m.line = 3;
    ck_assert_int_eq(message_default(&m, BT_ERR_NOMEM), BT_ERR_NOMEM);
    ck_assert_str_eq(m.text, bt_strerror(BT_ERR_NOMEM));
    ck_assert_uint_eq(m.line, 3);
    ck_assert_int_eq(message_fail(&m, BT_ERR_IO, "a %s", "reason"), BT_ERR_IO);
    ck_assert_str_eq(m.text, "a reason");
    ck_assert_uint_eq(m.line, 0);
    ck_assert_int_eq(message_default(&m, BT_ERR_NOMEM), BT_ERR_NOMEM);
    ck_assert_str_eq(m.text, "a reason");
}
END_TEST

START_TEST(places)
{
    static const struct {
        const char *file;
        unsigned line;
        const char *placed;
    } cases[] = {
        {"", 0, "dir: bad"},
        {"", 7, "dir:7: bad"},
        {"dir", 0, "dir: bad"},
        {"trace.ini", 0, "dir/trace.ini: bad"},
        {"trace.ini", 12, "dir/trace.ini:12: bad"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct message m = {.text = "bad", .line = cases[i].line};
        memcpy(m.file, cases[i].file, strlen(cases[i].file) + 1);
        message_place(&m, "dir");
        ck_assert_str_eq(m.text, cases[i].placed);
        ck_assert_str_eq(m.file, "");
        ck_assert_uint_eq(m.line, 0);
    }
}
END_TEST

Suite *unit_suite(void)
{
    const struct {
        const char *name;
        const TTest *test;
    } cases[] = {
        {"message: a text, of the message's own text too", texts},
        {"message: what is too long is cut", cut},
        {"message: an error without a text says what it is", defaults},
        {"message: the place goes before the text", places},
    };
    Suite *s = suite_create("message");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        TCase *tc = tcase_create(cases[i].name);
        tcase_add_test(tc, cases[i].test);
        suite_add_tcase(s, tc);
    }
    return s;
}
