/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the entrance share. */
#ifndef SERVER_ENTRANCE_INTERNAL_H
#define SERVER_ENTRANCE_INTERNAL_H

#include "server/access/entrance.h"

/* A connection that has come in through listener number `l`: to the session, into a handshake, or
 * out. The descriptor is taken over. */
void entrance_receive(struct entrance *e, unsigned l, int fd);

/* Whether those who come through the listener must show a certificate. */
bool entrance_wants_tls(const struct entrance *e, unsigned l);

/* Sends away all who shake hands, and logs what was not. */
void entrance_clear(struct entrance *e);

void entrance_on_deadline(uv_timer_t *timer);

#endif
