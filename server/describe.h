/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets and events in words: the `packet` and `detail` columns of the listings. */
#ifndef SERVER_DESCRIBE_H
#define SERVER_DESCRIBE_H

#include "decoder/ptm.h"

#define DESCRIBE_MAX 256

/* "a-sync", "branch" ... */
const char *describe_ptm_kind(enum ptm_kind kind);

/* key=value pairs, separated by spaces; at most DESCRIBE_MAX bytes with the end. */
void describe_ptm_packet(const struct ptm_config *config, const struct ptm_packet *packet,
                         char *out);
void describe_event(const struct bt_event *event, char *out);

/* "S", "NS", "HYP" */
const char *describe_security(enum bt_security security);

/* "IRQ" ... for a PTM exception number (pft.md 12.1); "?" for reserved ones. */
const char *describe_exception(unsigned number);

#endif
