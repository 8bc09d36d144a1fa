/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a stream socket is: TCP or Unix. Networks in CIDR notation (RFC 4632, RFC
 * 4291): 10.1.0.0/16, 2001:db8::/32, or one address.
 */
#ifndef SERVER_ADDRESS_H
#define SERVER_ADDRESS_H

#include "btrace/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sockaddr_storage;

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

struct network {
    int family; /* AF_INET or AF_INET6 */
    uint8_t address[16];
    unsigned bits; /* of the prefix */
};

/* NULL, or why the text is no network. Bits behind the prefix must be 0: more are a mistake. */
const char *network_problem(const char *text, struct network *network);

/* The address is in the network. IPv4 in an IPv6 address (::ffff:a.b.c.d) counts as IPv4. */
bool network_has(const struct network *network, const struct sockaddr_storage *address);

#endif
