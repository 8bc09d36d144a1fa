/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/net/address.h"

#include <arpa/inet.h>
#include <ctype.h>
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

static bool valid_host(const char *host, size_t length)
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
    if (!valid_host(host, length))
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
