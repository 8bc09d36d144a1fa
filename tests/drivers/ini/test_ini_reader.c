/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ini/ini_reader.h"
#include "tests/support/unit_main.h"

/* Everything the reader reported, one "line:section(line).key=value|" an entry. */
struct log {
    char text[4096];
    unsigned stop_at; /* line to fail at; 0: none */
    struct message *why;
};

static int log_entry(void *user, const struct ini_entry *e)
{
    struct log *log = user;
    size_t used = strlen(log->text);
    if (e->key)
        snprintf(log->text + used, sizeof log->text - used, "%u:%s(%u).%s=%s|", e->line, e->section,
                 e->section_line, e->key, e->value);
    else
        snprintf(log->text + used, sizeof log->text - used, "%u:[%s]|", e->line, e->section);
    if (log->stop_at == e->line) {
        message_set(log->why, "stopped");
        return BT_ERR_RANGE;
    }
    return 0;
}

static int parse(const char *text, struct log *log, struct message *err)
{
    log->why = err;
    return ini_reader_text(text, strlen(text), INI_COMMENTS_ANYWHERE, log_entry, log, err);
}

static void expect(const char *text, const char *entries)
{
    struct log log = {0};
    struct message err;
    int result = parse(text, &log, &err);
    ck_assert_msg(result == 0, "line %u: %s", err.line, err.text);
    ck_assert_str_eq(log.text, entries);
}

static void expect_error(const char *text, int error, unsigned line, const char *message)
{
    struct log log = {0};
    struct message err;
    ck_assert_int_eq(parse(text, &log, &err), error);
    ck_assert_uint_eq(err.line, line);
    ck_assert_str_eq(err.text, message);
}

START_TEST(plain)
{
    expect("[a]\nk=v\n\n[b]\nx = 1 2 \n", "1:[a]|2:a(1).k=v|4:[b]|5:b(4).x=1 2|");
    expect("", "");
    expect("[a]\nk=v", "1:[a]|2:a(1).k=v|");
    expect("k=v\n", "1:(0).k=v|");
    expect("[a]\nk=\n", "1:[a]|2:a(1).k=|");
    expect("[ a b ]\nk=x=y\n", "1:[a b]|2:a b(1).k=x=y|");
}
END_TEST

START_TEST(colon)
{
    expect("[regs]\nETMCR(id:0x0)=0x1:2\n", "1:[regs]|2:regs(1).ETMCR(id:0x0)=0x1:2|");
    expect("[regs]\n:=:\n", "1:[regs]|2:regs(1).:=:|");
    expect_error("[regs]\nname: value\n", BT_ERR_FORMAT, 2, "neither '[section]' nor 'key=value'");
}
END_TEST

START_TEST(indented)
{
    expect("[a]\nk=1\n  j=2\n\tl=3\n  [b]\n", "1:[a]|2:a(1).k=1|3:a(1).j=2|4:a(1).l=3|5:[b]|");
}
END_TEST

START_TEST(same_section_twice)
{
    expect("[dump]\na=1\n[dump]\na=2\n[dump]\n",
           "1:[dump]|2:dump(1).a=1|3:[dump]|4:dump(3).a=2|5:[dump]|");
}
END_TEST

START_TEST(line_ends_and_bom)
{
    expect("\xef\xbb\xbf[a]\r\nk=v\r\n\r\nj=w\r\n", "1:[a]|2:a(1).k=v|4:a(1).j=w|");
    expect_error("  \xef\xbb\xbf=1\n", BT_ERR_FORMAT, 1, "byte order mark within the text");
    expect_error("\xef\xbb\xbf\xef\xbb\xbf=1\n", BT_ERR_FORMAT, 1,
                 "byte order mark within the text");
    expect_error("[a]\rk=v\r", BT_ERR_FORMAT, 1, "control character 0x0d");
}
END_TEST

START_TEST(comments)
{
    expect("; c\n# d\n[a] ; x\nk=v;w # y\nj=1#2\n", "3:[a]|4:a(3).k=v|5:a(3).j=1|");
    const char *text = "; c\n # d\n[a] # x\nk=v;w # y\nj=#2 ;z\nl=;\n";
    struct log log = {0};
    struct message err;
    ck_assert_int_eq(
        ini_reader_text(text, strlen(text), INI_COMMENTS_AFTER_BLANK, log_entry, &log, &err), 0);
    ck_assert_str_eq(log.text, "3:[a]|4:a(3).k=v;w|5:a(3).j=#2|6:a(3).l=;|");
}
END_TEST

/* Lengths of the values reported, which must be all 'v', between two 'w'. */
struct lengths {
    size_t length[4];
    size_t count;
};

static int take_length(void *user, const struct ini_entry *e)
{
    struct lengths *l = user;
    if (e->value && l->count < 4) {
        ck_assert_int_eq(e->value[0], 'w');
        size_t v = strspn(e->value + 1, "v");
        ck_assert_str_eq(e->value + 1 + v, "w");
        l->length[l->count++] = v + 2;
    }
    return 0;
}

START_TEST(long_values)
{
    for (size_t n = 2; n < 65535; n += n < 300 ? 1 : 9319) {
        char *text = malloc(n + 16);
        ck_assert_ptr_nonnull(text);
        memset(text, 'v', n + 16);
        memcpy(text, "k=w", 3);
        memcpy(text + 1 + n, "w\nj=ww\n", 8);
        struct lengths lengths = {0};
        struct message err;
        ck_assert_int_eq(
            ini_reader_text(text, n + 8, INI_COMMENTS_ANYWHERE, take_length, &lengths, &err), 0);
        ck_assert_uint_eq(lengths.count, 2);
        ck_assert_uint_eq(lengths.length[0], n);
        ck_assert_uint_eq(lengths.length[1], 2);
        free(text);
    }
}
END_TEST

START_TEST(long_names)
{
    char text[512], expected[1024];
    char section[201], key[121];
    memset(section, 's', 200);
    section[200] = '\0';
    memset(key, 'k', 120);
    key[120] = '\0';
    snprintf(text, sizeof text, "[%s]\n%s=1\n", section, key);
    snprintf(expected, sizeof expected, "1:[%s]|2:%s(1).%s=1|", section, section, key);
    expect(text, expected);
    snprintf(text, sizeof text, "%sk=1\n", key);
    expect_error(text, BT_ERR_RANGE, 1, "key is longer than 120 characters");
    snprintf(text, sizeof text, "\n[%s%s]\n", section, key);
    expect_error(text, BT_ERR_RANGE, 2, "section name is longer than 255 characters");
}
END_TEST

START_TEST(too_long_line)
{
    char *text = malloc(70000);
    ck_assert_ptr_nonnull(text);
    memset(text, 'v', 70000);
    memcpy(text, "[a]\nk=", 6);
    text[4 + 65536 + 1] = '\0';
    expect_error(text, BT_ERR_RANGE, 2, "line is longer than 65536 characters");
    text[4 + 65536] = '\0';
    struct log log = {0};
    struct message err;
    ck_assert_int_eq(parse(text, &log, &err), 0);
    free(text);
}
END_TEST

START_TEST(bad_lines)
{
    expect_error("[a]\n\njunk\n", BT_ERR_FORMAT, 3, "neither '[section]' nor 'key=value'");
    expect_error("[a\n", BT_ERR_FORMAT, 1, "section header without ']'");
    expect_error("\n[a] b=1\n", BT_ERR_FORMAT, 2, "text after the section header");
    expect_error("[a]\n =1\n", BT_ERR_FORMAT, 2, "no key before '='");
    expect_error("[a]\nk=\x02\n", BT_ERR_FORMAT, 2, "control character 0x02");
    expect_error("[a]\nk\x01=1\n", BT_ERR_FORMAT, 2, "control character 0x01");

    struct log log = {0};
    struct message err;
    static const char nul[] = "[a]\nk=1\0\n";
    ck_assert_int_eq(
        ini_reader_text(nul, sizeof nul - 1, INI_COMMENTS_ANYWHERE, log_entry, &log, &err),
        BT_ERR_FORMAT);
    ck_assert_uint_eq(err.line, 2);
}
END_TEST

/* Nothing of the text after an error is reported. */
START_TEST(stops_at_the_first_error)
{
    struct log log = {0};
    struct message err;
    ck_assert_int_eq(parse("[a]\nk=1\njunk\nj=2\n", &log, &err), BT_ERR_FORMAT);
    ck_assert_str_eq(log.text, "1:[a]|2:a(1).k=1|");
    log = (struct log){.stop_at = 2};
    ck_assert_int_eq(parse("[a]\nk=1\njunk\nj=2\n", &log, &err), BT_ERR_RANGE);
    ck_assert_str_eq(err.text, "stopped");
    ck_assert_uint_eq(err.line, 2);
    log = (struct log){.stop_at = 1};
    ck_assert_int_eq(parse("[a]\nk=1\n", &log, &err), BT_ERR_RANGE);
    ck_assert_str_eq(log.text, "1:[a]|");
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
    Suite *s = suite_create("ini_reader");
    add(s, "ini_reader: sections, keys, blanks, line numbers", plain);
    add(s, "ini_reader: a colon does not end a key", colon);
    add(s, "ini_reader: indented lines are lines of their own", indented);
    add(s, "ini_reader: two sections of one name are told apart", same_section_twice);
    add(s, "ini_reader: CRLF and byte order mark", line_ends_and_bom);
    add(s, "ini_reader: both kinds of comments", comments);
    add(s, "ini_reader: values of any length", long_values);
    add(s, "ini_reader: long section names and keys, and their limits", long_names);
    add(s, "ini_reader: limit of a line", too_long_line);
    add(s, "ini_reader: errors tell line and reason", bad_lines);
    add(s, "ini_reader: stops at the first error", stops_at_the_first_error);
    return s;
}
