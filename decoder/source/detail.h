/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets and events in words: the `packet` and `detail` columns of the listings. */
#ifndef DECODER_DETAIL_H
#define DECODER_DETAIL_H

#include "btrace/types.h"

#define DETAIL_MAX 256

/* Text of key=value pairs, separated by spaces, that grows key by key and is cut, never overrun:
 * `text` holds DETAIL_MAX bytes. Start with len 0 and an empty text. */
struct detail {
    char *text;
    size_t len;
};

void detail_add(struct detail *d, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "key=1", if it is set. */
void detail_flag(struct detail *d, const char *key, bool set);

/* Where a branch goes; the raw value of a timestamp with so many bits, and if valid the whole;
 * bytes of a packet, if there are any. */
void detail_target(struct detail *d, bool partial, uint64_t address, enum bt_isa isa);
void detail_timestamp(struct detail *d, uint64_t value, unsigned bits, bool valid, bool gray);
void detail_raw(struct detail *d, const uint8_t *bytes, unsigned count);

/* As a detail, at most DETAIL_MAX bytes with the end. */
void detail_event(const struct bt_event *event, char *out);

/* "S", "NS", "HYP" */
const char *detail_security(enum bt_security security);

/* "IRQ" ... for an exception number of an event; "?" for reserved ones. */
const char *detail_exception(unsigned number, bool m_profile);

/* "enter" ... of enum bt_exception_action; "exact" ... of enum bt_time_relation. */
const char *detail_action(unsigned action);
const char *detail_relation(unsigned relation);

#endif
