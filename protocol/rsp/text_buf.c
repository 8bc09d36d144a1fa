/* SPDX-License-Identifier: BSD-3-Clause */
#include "protocol/rsp/text_buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "btrace/types.h"

static const char hex_digits[] = "0123456789abcdef";

void text_buf_init(struct text_buf *b)
{
    /* data is never NULL, and never written to while capacity is 0. */
    *b = (struct text_buf){.data = (char *)""};
}

void text_buf_release(struct text_buf *b)
{
    if (b->capacity > 0)
        free(b->data);
    text_buf_init(b);
}

void text_buf_clear(struct text_buf *b)
{
    b->len = 0;
    b->failed = false;
    if (b->capacity > 0)
        b->data[0] = '\0';
}

int text_buf_error(const struct text_buf *b)
{
    return b->failed ? BT_ERR_NOMEM : BT_OK;
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
        if (data == NULL) {
            b->failed = true;
            return NULL;
        }
        b->data = data;
        b->capacity = capacity;
    }
    return b->data + b->len;
}

void text_buf_took(struct text_buf *b, size_t len)
{
    b->len += len;
    b->data[b->len] = '\0';
}

void text_buf_add(struct text_buf *b, const void *bytes, size_t len)
{
    char *to = text_buf_room(b, len);
    if (to == NULL)
        return;
    if (len > 0)
        memcpy(to, bytes, len);
    text_buf_took(b, len);
}

void text_buf_puts(struct text_buf *b, const char *text)
{
    text_buf_add(b, text, strlen(text));
}

void text_buf_putc(struct text_buf *b, char c)
{
    text_buf_add(b, &c, 1);
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
    if (to == NULL)
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
    if (to == NULL)
        return;
    for (size_t i = 0; i < len; i++) {
        *to++ = hex_digits[from[i] >> 4];
        *to++ = hex_digits[from[i] & 0xf];
    }
    text_buf_took(b, 2 * len);
}

char *text_hex_number(char *to, uint64_t value)
{
    int digits = value != 0 ? (67 - __builtin_clzll(value)) / 4 : 1;
    *to++ = '0';
    *to++ = 'x';
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        *to++ = hex_digits[value >> shift & 0xf];
    return to;
}

void text_buf_hex_number(struct text_buf *b, uint64_t value)
{
    char text[TEXT_HEX_NUMBER_MAX];
    text_buf_add(b, text, (size_t)(text_hex_number(text, value) - text));
}

static const char *xml_entity(char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&apos;";
    default:
        return NULL;
    }
}

void text_buf_xml(struct text_buf *b, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *entity = xml_entity(*text);
        unsigned char c = (unsigned char)*text;
        if (entity != NULL)
            text_buf_puts(b, entity);
        else
            text_buf_putc(b, c < ' ' || c > '~' ? '?' : *text);
    }
}
