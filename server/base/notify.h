/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What systemd is told of a service of Type=notify: datagrams to the socket that NOTIFY_SOCKET
 * names. Without that variable nothing is done; nor is anything reported, as there is nobody who
 * could do better.
 */
#ifndef SERVER_NOTIFY_H
#define SERVER_NOTIFY_H

/* A client that connects now is served. `status` is for `systemctl status`. */
void notify_ready(const char *status);

/* The configuration is read again; notify_ready() follows. */
void notify_reloading(void);

/* The end has begun. */
void notify_stopping(void);

#endif
