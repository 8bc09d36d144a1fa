/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/rsp_frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INTERRUPT '\x03'

void rsp_frame_put(struct text_buf *out, const void *payload, size_t len)
{
    const unsigned char *from = payload;
    unsigned sum = 0;
    text_buf_putc(out, '$');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = from[i];
        if (c == '$' || c == '#' || c == '}') {
            text_buf_putc(out, '}');
            sum += '}';
            c ^= 0x20;
        }
        text_buf_putc(out, (char)c);
        sum += c;
    }
    text_buf_printf(out, "#%02x", sum & 0xff);
}

long rsp_frame_take(const char *bytes, size_t len, struct text_buf *payload)
{
    unsigned sum = 0;
    unsigned wanted;
    size_t i = 1;
    if (len == 0)
        return 0;
    if (bytes[0] == '+' || bytes[0] == '-')
        return 1;
    if (bytes[0] != '$')
        return -1;
    text_buf_clear(payload);
    for (; i < len && bytes[i] != '#'; i++) {
        /* '*' would be run-length encoding, which is not used. */
        if (bytes[i] == '$' || bytes[i] == '*')
            return -1;
        sum += (unsigned char)bytes[i];
        if (bytes[i] == '}') {
            i++;
            if (i >= len || bytes[i] == '#')
                return -1;
            sum += (unsigned char)bytes[i];
            text_buf_putc(payload, (char)(bytes[i] ^ 0x20));
        } else {
            text_buf_putc(payload, bytes[i]);
        }
    }
    char digits[3] = "";
    if (len - i < 3)
        return -1;
    memcpy(digits, bytes + i + 1, 2);
    if (sscanf(digits, "%2x", &wanted) != 1 || wanted != (sum & 0xff))
        return -1;
    return (long)i + 3;
}

const char *rsp_frames_take(struct text_buf *wire, struct text_buf *text,
                            void (*acknowledge)(void *ctx), void *ctx)
{
    struct text_buf payload;
    bool first = true;
    text_buf_init(&payload);
    text_buf_clear(text);
    while (wire->len > 0) {
        char start = wire->data[0];
        long len = start == INTERRUPT ? 1 : rsp_frame_take(wire->data, wire->len, &payload);
        if (len <= 0)
            abort();
        text_buf_drop(wire, (size_t)len);
        if (start != '$' && start != INTERRUPT)
            continue;
        text_buf_puts(text, first ? "" : "|");
        first = false;
        if (start == INTERRUPT)
            text_buf_puts(text, "^C");
        else
            text_buf_add(text, payload.data, payload.len);
        if (start == '$')
            acknowledge(ctx);
    }
    text_buf_release(&payload);
    if (first)
        text_buf_puts(text, "(none)");
    return text->data;
}
