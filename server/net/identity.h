/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is at the other end of a connection, as far as it is proven, and what the lines of [access]
 * grant: "cert:NAME" (a common name, or a DNS name or mail address among the alternative names, in
 * a certificate), "net:NETWORK" (of a TCP peer), "user:NAME" (of this machine, on a Unix socket),
 * and "cert:*", "user:*".
 */
#ifndef SERVER_IDENTITY_H
#define SERVER_IDENTITY_H

#include "btrace/types.h"
#include "server/net/address.h"

#include <sys/socket.h>

#define IDENTITY_NAME_SIZE 128 /* bytes of a name in a line, with its NUL */
#define IDENTITY_NO_USER   UINT32_MAX

/* Each may what those before it may. */
enum access_role {
    ROLE_NONE,
    ROLE_QUERY,   /* asks `monitor` questions */
    ROLE_OBSERVE, /* looks on: reads registers, memory and history */
    ROLE_CONTROL, /* may be in control of the target */
};
#define ACCESS_ROLES 4

struct identity {
    /* In a certificate that was proven: one behind the other, each with its NUL, an empty one at
     * the end. NULL: there is none. Of the connection. */
    const char *names;
    int64_t expires;                 /* seconds since 1970, of its chain; 0: never */
    struct sockaddr_storage address; /* AF_UNSPEC: none */
    unsigned uid;                    /* IDENTITY_NO_USER: none, or not known */
};

enum identity_kind {
    IDENTITY_CERT,
    IDENTITY_NET,
    IDENTITY_USER,
};

/* One word of a line. */
struct access_rule {
    enum identity_kind kind;
    char name[IDENTITY_NAME_SIZE]; /* of a certificate; "*": all, of users, too */
    struct network network;
    unsigned uid;
};

/* What one role is granted to. */
#define ACCESS_MAX_RULES 48
struct access_rules {
    struct access_rule rule[ACCESS_MAX_RULES];
    unsigned count;
};

/* NULL, or why the text is none. */
const char *access_rule_problem(const char *text, struct access_rule *rule);

/*
 * What is granted, by role; without any rule: control. Of the names of one certificate, and of what
 * certificate, address and user are granted, the least counts; a name counts before *, a longer
 * prefix before a shorter one. Who is not named is granted nothing.
 */
enum access_role access_role_of(const struct access_rules rules[ACCESS_ROLES],
                                const struct identity *who);

/* Is anybody granted something by that? */
bool access_rules_have(const struct access_rules rules[ACCESS_ROLES], enum identity_kind kind);

/* For limits: the same certificate's first name; without certificates the same address or user. */
bool identity_same(const struct identity *a, const struct identity *b);

#endif
