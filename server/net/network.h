/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks in CIDR notation (RFC 4632, RFC 4291): 10.1.0.0/16, 2001:db8::/32, or one address. */
#ifndef SERVER_NETWORK_H
#define SERVER_NETWORK_H

#include "btrace/types.h"

struct sockaddr_storage;

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
