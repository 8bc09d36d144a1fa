/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a stream socket is: TCP or Unix. */
#ifndef SERVER_ADDRESS_H
#define SERVER_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDRESS_SAME_OWNER UINT32_MAX /* of a Unix socket: whoever made it */

struct address {
    enum { ADDRESS_NONE, ADDRESS_TCP, ADDRESS_UNIX } kind;
    char host[256]; /* ADDRESS_TCP: name or number; ADDRESS_UNIX: path */
    unsigned port;
};

/* "HOST:PORT", ":PORT" (loopback), "[ADDRESS]:PORT" or "unix:PATH". NULL, or why it is none. */
const char *address_problem(const char *text, struct address *address);

/* Text of an address, as it is written in a board file. */
void address_format(const struct address *address, char *text, size_t size);

/* An address that only this machine reaches; "localhost" becomes a number. */
bool address_is_loopback(struct address *address);

#endif
