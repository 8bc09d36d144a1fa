/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/rsp/plain_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Bytes of the character that begins here; 0: it is none, or a control character above ASCII. */
static size_t plain_utf8_length(const uint8_t *at, size_t left)
{
    size_t len = at[0] >= 0xc2 && at[0] <= 0xdf   ? 2
                 : at[0] >= 0xe0 && at[0] <= 0xef ? 3
                 : at[0] >= 0xf0 && at[0] <= 0xf4 ? 4
                                                  : 0;
    if (len == 0 || len > left || (at[0] == 0xc2 && at[1] < 0xa0) ||
        (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f))
        return 0;
    for (size_t i = 1; i < len; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    }
    return len;
}

void plain_text(char *text, size_t len, const char *keep)
{
    for (size_t i = 0; i < len;) {
        uint8_t c = (uint8_t)text[i];
        size_t n = c < 0x80 ? 1 : plain_utf8_length((const uint8_t *)text + i, len - i);
        bool bad = n == 0 || c == 0x7f || (c < ' ' && (c == '\0' || !strchr(keep, c)));
        if (bad)
            text[i] = '?';
        i += bad ? 1 : n;
    }
}
