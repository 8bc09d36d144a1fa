/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of access control share. */
#ifndef SERVER_ACCESS_CONTROL_INTERNAL_H
#define SERVER_ACCESS_CONTROL_INTERNAL_H

#include "server/access/access_control.h"

/* A connection that has come in through listener number `l`: to the session, into a handshake, or
 * out. The descriptor is taken over. */
void access_control_receive(struct access_control *e, unsigned l, int fd);

/* Whether those who come through the listener must show a certificate. */
bool access_control_wants_tls(const struct access_control *e, unsigned l);

/* Closes all handshakes, and logs the refusals that were not. */
void access_control_clear(struct access_control *e);

void access_control_on_deadline(uv_timer_t *timer);

#endif
