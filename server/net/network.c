/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/net/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool prefix_equal(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned rest = bits % 8;
    if (memcmp(a, b, bits / 8) != 0)
        return false;
    return rest == 0 || (a[bits / 8] ^ b[bits / 8]) >> (8 - rest) == 0;
}

const char *network_problem(const char *text, struct network *n)
{
    static const uint8_t zeros[16];
    char host[INET6_ADDRSTRLEN + 1];
    const char *slash = strchr(text, '/');
    size_t length = slash ? (size_t)(slash - text) : strlen(text);
    memset(n, 0, sizeof *n);
    if (length >= sizeof host)
        return "it is no address";
    snprintf(host, sizeof host, "%.*s", (int)length, text);
    n->family = strchr(host, ':') ? AF_INET6 : AF_INET;
    if (inet_pton(n->family, host, n->address) != 1)
        return "it is no address";
    unsigned width = n->family == AF_INET ? 32 : 128;
    n->bits = width;
    if (slash) {
        char *end;
        unsigned long bits = strtoul(slash + 1, &end, 10);
        if (slash[1] < '0' || slash[1] > '9' || *end || bits > width)
            return n->family == AF_INET ? "its prefix must be 0 to 32"
                                        : "its prefix must be 0 to 128";
        n->bits = (unsigned)bits;
    }
    struct network inverted = *n;
    for (unsigned i = 0; i < n->bits; i++)
        inverted.address[i / 8] &= (uint8_t) ~(0x80u >> i % 8);
    if (memcmp(inverted.address, zeros, sizeof zeros) != 0)
        return "it has bits behind its prefix: one address needs none, a network ends in zeros";
    return NULL;
}

bool network_has(const struct network *n, const struct sockaddr_storage *address)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    if (address->ss_family == AF_INET) {
        memcpy(&v4, address, sizeof v4);
        return n->family == AF_INET &&
               prefix_equal((const uint8_t *)&v4.sin_addr, n->address, n->bits);
    }
    if (address->ss_family != AF_INET6)
        return false;
    memcpy(&v6, address, sizeof v6);
    const uint8_t *bytes = v6.sin6_addr.s6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr))
        return n->family == AF_INET && prefix_equal(bytes + 12, n->address, n->bits);
    return n->family == AF_INET6 && prefix_equal(bytes, n->address, n->bits);
}
