/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/net/address.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

/* Decimal, or hexadecimal behind 0x. */
static bool parse_port(const char *text, unsigned *port)
{
    char *end;
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (!isxdigit((unsigned char)text[hex ? 2 : 0]))
        return false;
    unsigned long value = strtoul(text, &end, hex ? 16 : 10);
    *port = (unsigned)value;
    return *end == '\0' && value <= 65535;
}

static const char *unix_problem(const char *path, struct address *address)
{
    if (!*path)
        return "the path after unix: is empty";
    if (strlen(path) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return "the path of a Unix socket is too long: at most 107 characters are possible";
    address->kind = ADDRESS_UNIX;
    snprintf(address->host, sizeof address->host, "%s", path);
    return NULL;
}

static bool is_host(const char *host, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)host[i]) && !strchr("-._:%", host[i]))
            return false;
    return length > 0;
}

const char *address_problem(const char *text, struct address *address)
{
    *address = (struct address){.kind = ADDRESS_NONE};
    if (strncmp(text, "unix:", 5) == 0)
        return unix_problem(text + 5, address);
    const char *colon = strrchr(text, ':');
    if (!colon)
        return "it has no port";
    unsigned port;
    if (!parse_port(colon + 1, &port))
        return "the port must be a number up to 65535";
    const char *host = text;
    size_t length = (size_t)(colon - text);
    bool bracketed = length >= 2 && host[0] == '[' && host[length - 1] == ']';
    if (bracketed) {
        host++;
        length -= 2;
    } else if (length == 0) {
        host = "127.0.0.1";
        length = strlen(host);
    }
    if (!bracketed && memchr(host, ':', length))
        return "an address with colons must stand in brackets";
    if (!is_host(host, length))
        return "the host is no name or number";
    if (length >= sizeof address->host)
        return "the host is too long";
    address->kind = ADDRESS_TCP;
    address->port = port;
    memcpy(address->host, host, length);
    address->host[length] = '\0';
    return NULL;
}

void address_format(const struct address *a, char *text, size_t size)
{
    if (a->kind == ADDRESS_NONE)
        snprintf(text, size, "%s", "");
    else if (a->kind == ADDRESS_UNIX)
        snprintf(text, size, "unix:%s", a->host);
    else if (strchr(a->host, ':'))
        snprintf(text, size, "[%s]:%u", a->host, a->port);
    else
        snprintf(text, size, "%s:%u", a->host, a->port);
}

bool address_is_loopback(struct address *a)
{
    struct in_addr v4;
    struct in6_addr v6;
    if (a->kind != ADDRESS_TCP)
        return a->kind == ADDRESS_UNIX;
    if (strcmp(a->host, "localhost") == 0)
        snprintf(a->host, sizeof a->host, "127.0.0.1");
    if (inet_pton(AF_INET, a->host, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return inet_pton(AF_INET6, a->host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

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
