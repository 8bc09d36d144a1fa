/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Growable byte buffer. Always followed by a NUL, so that text can be read as a C string.
 * The first failed allocation is remembered and everything after it is dropped: builders of large
 * documents check text_buf_error() once, at the end.
 */
#ifndef PROTOCOL_TEXT_BUF_H
#define PROTOCOL_TEXT_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "btrace/types.h"

struct text_buf {
    char *data; /* never NULL after init; data[len] is NUL */
    size_t len; /* bytes without the NUL */
    size_t capacity;
    bool failed;
};

static inline void text_buf_init(struct text_buf *b)
{
    /* data is never NULL, and never written to while capacity is 0. */
    *b = (struct text_buf){.data = (char *)""};
}

void text_buf_release(struct text_buf *b);

/* Empties the buffer and forgets an earlier failure; keeps the memory. */
static inline void text_buf_clear(struct text_buf *b)
{
    b->len = 0;
    b->failed = false;
    if (b->capacity > 0)
        b->data[0] = '\0';
}

/* BT_OK, or BT_ERR_NOMEM when something appended since the last clear is missing. */
static inline int text_buf_error(const struct text_buf *b)
{
    return b->failed ? BT_ERR_NOMEM : BT_OK;
}

void text_buf_add(struct text_buf *b, const void *bytes, size_t len);

static inline void text_buf_puts(struct text_buf *b, const char *text)
{
    text_buf_add(b, text, strlen(text));
}

static inline void text_buf_putc(struct text_buf *b, char c)
{
    text_buf_add(b, &c, 1);
}

void text_buf_printf(struct text_buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * For many small pieces: room for `len` more bytes and the NUL, to be written there, and how many
 * of them were. NULL after a failure, or when there is no memory.
 */
char *text_buf_room(struct text_buf *b, size_t len);
static inline void text_buf_took(struct text_buf *b, size_t len)
{
    b->len += len;
    b->data[b->len] = '\0';
}

/* Removes the first `len` bytes (all of them when there are fewer). */
void text_buf_drop(struct text_buf *b, size_t len);

/* Two lower-case digits a byte, in the order of memory. */
void text_buf_hex(struct text_buf *b, const void *bytes, size_t len);

/* Value of a hex digit, -1: it is none. */
static inline int text_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

#endif
