/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets and events in words: the `packet` and `detail` columns of the listings. */
#ifndef SERVER_DUMP_DESCRIBE_H
#define SERVER_DUMP_DESCRIBE_H

#include "btrace/types.h"

#define DUMP_DESCRIBE_MAX 256

/* Text of key=value pairs, separated by spaces, that grows key by key and is cut, never overrun:
 * `text` holds DUMP_DESCRIBE_MAX bytes. Start with len 0 and an empty text. */
struct detail {
    char *text;
    size_t len;
};

void detail_add(struct detail *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As a detail, at most DUMP_DESCRIBE_MAX bytes with the end. */
void dump_describe_event(const struct bt_event *event, char *out);

/* "S", "NS", "HYP" */
const char *dump_describe_security(enum bt_security security);

/* "IRQ" ... for an exception number of an event; "?" for reserved ones. */
const char *dump_describe_exception(unsigned number, bool m_profile);

#endif
