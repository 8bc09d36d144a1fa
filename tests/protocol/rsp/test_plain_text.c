/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests protocol/rsp/plain_text.c. */
#include "protocol/rsp/plain_text.h"
#include "tests/support/unit_main.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void becomes(const char *text, const char *plain)
{
    char bytes[100];
    snprintf(bytes, sizeof(bytes), "%s", text);
    plain_text(bytes, strlen(bytes), "\n\t");
    ck_assert_str_eq(bytes, plain);
}

START_TEST(control_characters)
{
    becomes("a line\n\tand another\n", "a line\n\tand another\n");
    becomes("\x1b]0;title\x07\x1b[2J\r\x08\x7f", "?]0;title??[2J???");
    becomes("\xc2\x9b"
            "31m \x9b"
            "31m",
            "??31m ?31m"); /* CSI of 8 bits, as UTF-8 and alone */
    becomes("k\xc3\xb6nnen \xe2\x82\xac \xf0\x9f\x90\x9e",
            "k\xc3\xb6nnen \xe2\x82\xac \xf0\x9f\x90\x9e");
    /* Too long a form, a surrogate, beyond the end, cut off. */
    becomes("\xc0\x9b \xe0\x82\x9b \xed\xa0\x80 \xf4\x90\x80\x80 \xf8\x88 \xe2\x82",
            "?? ??? ??? ???? ?? ??");
    char nul[3] = {'a', '\0', 'b'};
    plain_text(nul, 3, "\n");
    ck_assert_mem_eq(nul, "a?b", 3);
    plain_text(nul, 0, "");
}
END_TEST

/* Done twice it is the same, of the same length, and nothing is left that a terminal obeys. */
START_TEST(any_bytes)
{
    const char *given = getenv("BTRACED_SEED");
    unsigned seed = given ? (unsigned)strtoul(given, NULL, 0) : (unsigned)time(NULL);
    fprintf(stderr, "plain_text: BTRACED_SEED=%u\n", seed);
    srand(seed);
    for (int i = 0; i < 50000; i++) {
        char text[24], again[24];
        size_t len = (size_t)rand() % sizeof(text);
        for (size_t k = 0; k < len; k++)
            text[k] = (char)(rand() % 3 ? rand() : 0x80 | rand());
        plain_text(text, len, "\n");
        memcpy(again, text, len);
        plain_text(again, len, "\n");
        ck_assert_mem_eq(again, text, len);
        for (size_t k = 0; k < len; k++) {
            unsigned char c = (unsigned char)text[k];
            ck_assert(c == '\n' || (c >= ' ' && c != 0x7f));
            ck_assert(c < 0x80 || c > 0x9f || (k > 0 && (unsigned char)text[k - 1] >= 0x80));
            ck_assert(c != 0xc2 || (k + 1 < len && (unsigned char)text[k + 1] >= 0xa0));
        }
    }
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("plain_text");
    unit_case(s, "plain_text: control characters", control_characters);
    unit_case(s, "plain_text: any bytes", any_bytes);
    return s;
}
