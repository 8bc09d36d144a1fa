/* SPDX-License-Identifier: BSD-3-Clause */
/* Cycles of an ETMv1 or ETMv2 port, written as the examples write them, to bytes and packets. */
#ifndef TESTS_SUPPORT_PORT_TEXT_H
#define TESTS_SUPPORT_PORT_TEXT_H

#include "decoder/port/port_cycle.h"

#define PORT_TEXT_MAX 4096

extern const char *const port_v1_statuses[8];
extern const char *const port_v2_statuses[16];

/*
 * "TD 01 | IE 20 | BE 80 1": status, TRACEPKT (hexadecimal, 0 if missing), TRACESYNC (0 if
 * missing), as records of layout PORT_CYCLES. `statuses` has `count` names. Returns the bytes;
 * aborts on anything that it does not understand.
 */
size_t port_text(const char *text, const char *const *statuses, unsigned count, unsigned bits,
                 uint8_t *out);

/* "20 00 80" to bytes; returns their number. */
size_t port_hex(const char *hex, uint8_t *out, size_t max);

#endif
