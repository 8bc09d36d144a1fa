/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/rsp/text_buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char hex_digits[] = "0123456789abcdef";

void text_buf_release(struct text_buf *b)
{
    if (b->capacity > 0)
        free(b->data);
    text_buf_init(b);
}

char *text_buf_room(struct text_buf *b, size_t len)
{
    if (b->failed)
        return NULL;
    if (len >= SIZE_MAX / 2 - b->len) {
        b->failed = true;
        return NULL;
    }
    size_t need = b->len + len + 1;
    if (need > b->capacity) {
        size_t capacity = b->capacity > 0 ? b->capacity : 64;
        while (capacity < need)
            capacity *= 2;
        char *data = realloc(b->capacity > 0 ? b->data : NULL, capacity);
        if (!data) {
            b->failed = true;
            return NULL;
        }
        b->data = data;
        b->capacity = capacity;
    }
    return b->data + b->len;
}

void text_buf_add(struct text_buf *b, const void *bytes, size_t len)
{
    char *to = text_buf_room(b, len);
    if (!to)
        return;
    if (len > 0)
        memcpy(to, bytes, len);
    text_buf_took(b, len);
}

void text_buf_printf(struct text_buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len < 0) {
        b->failed = true;
        return;
    }
    char *to = text_buf_room(b, (size_t)len);
    if (!to)
        return;
    va_start(args, format);
    vsnprintf(to, (size_t)len + 1, format, args);
    va_end(args);
    text_buf_took(b, (size_t)len);
}

void text_buf_drop(struct text_buf *b, size_t len)
{
    if (b->capacity == 0)
        return;
    if (len > b->len)
        len = b->len;
    memmove(b->data, b->data + len, b->len - len + 1);
    b->len -= len;
}

void text_buf_hex(struct text_buf *b, const void *bytes, size_t len)
{
    const uint8_t *from = bytes;
    if (len > SIZE_MAX / 4) {
        b->failed = true;
        return;
    }
    char *to = text_buf_room(b, 2 * len);
    if (!to)
        return;
    for (size_t i = 0; i < len; i++) {
        *to++ = hex_digits[from[i] >> 4];
        *to++ = hex_digits[from[i] & 0xf];
    }
    text_buf_took(b, 2 * len);
}
