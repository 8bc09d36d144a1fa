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

struct text_buf {
    char *data; /* never NULL after init; data[len] is NUL */
    size_t len; /* bytes without the NUL */
    size_t capacity;
    bool failed;
};

void text_buf_init(struct text_buf *b);
void text_buf_release(struct text_buf *b);

/* Empties the buffer and forgets an earlier failure; keeps the memory. */
void text_buf_clear(struct text_buf *b);

/* BT_OK, or BT_ERR_NOMEM when something appended since the last clear is missing. */
int text_buf_error(const struct text_buf *b);

void text_buf_add(struct text_buf *b, const void *bytes, size_t len);
void text_buf_puts(struct text_buf *b, const char *text);
void text_buf_putc(struct text_buf *b, char c);
void text_buf_printf(struct text_buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * For many small pieces: room for `len` more bytes and the NUL, to be written there, and how many
 * of them were. NULL after a failure, or when there is no memory.
 */
char *text_buf_room(struct text_buf *b, size_t len);
void text_buf_took(struct text_buf *b, size_t len);

/* Removes the first `len` bytes (all of them when there are fewer). */
void text_buf_drop(struct text_buf *b, size_t len);

/* Two lower-case digits a byte, in the order of memory. */
void text_buf_hex(struct text_buf *b, const void *bytes, size_t len);

/* "0x" and as few lower-case digits as possible. */
void text_buf_hex_number(struct text_buf *b, uint64_t value);

/* The same into `to`, which has TEXT_HEX_NUMBER_MAX bytes; no NUL. Returns where it ends. */
#define TEXT_HEX_NUMBER_MAX 18
char *text_hex_number(char *to, uint64_t value);

/* Text of an XML attribute or element: the five markup characters replaced, controls as '?'. */
void text_buf_xml(struct text_buf *b, const char *text);

#endif
