/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/net/identity.h"

#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How closely a rule fits. */
#define FITS_NOT 0u
#define FITS_ALL 1u /* and a network of so many bits more */

static const char *user_problem(const char *name, struct access_rule *rule)
{
    char *end;
    if (strcmp(name, "*") == 0)
        return NULL;
    const struct passwd *user = getpwnam(name);
    unsigned long number = strtoul(name, &end, 10);
    if (!user && (*name < '0' || *name > '9' || *end || number >= IDENTITY_NO_USER))
        return "this machine has no such user";
    rule->uid = user ? user->pw_uid : (unsigned)number;
    rule->name[0] = '\0';
    return NULL;
}

const char *access_rule_problem(const char *text, struct access_rule *rule)
{
    static const char *const kinds[] = {"cert:", "net:", "user:"};
    memset(rule, 0, sizeof *rule);
    for (unsigned kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        size_t n = strlen(kinds[kind]);
        if (strncmp(text, kinds[kind], n) != 0)
            continue;
        rule->kind = (enum identity_kind)kind;
        if (text[n] == '\0')
            return "nobody is named";
        if (kind == IDENTITY_NET)
            return network_problem(text + n, &rule->network);
        if (strlen(text + n) >= sizeof rule->name)
            return "the name is too long";
        snprintf(rule->name, sizeof rule->name, "%s", text + n);
        return kind == IDENTITY_USER ? user_problem(text + n, rule) : NULL;
    }
    return "it begins with none of cert:, net: and user:";
}

static unsigned rule_fit(const struct access_rule *r, const struct identity *who, const char *name)
{
    bool all = strcmp(r->name, "*") == 0;
    switch (r->kind) {
    case IDENTITY_CERT:
        return all ? FITS_ALL : strcmp(r->name, name) == 0 ? FITS_ALL + 1 : FITS_NOT;
    case IDENTITY_NET:
        return network_has(&r->network, &who->address) ? FITS_ALL + r->network.bits : FITS_NOT;
    case IDENTITY_USER:
        return all ? FITS_ALL : r->uid == who->uid ? FITS_ALL + 1 : FITS_NOT;
    }
    return FITS_NOT;
}

/* By the rules of one kind, of what fits best the least; how well it fits. */
static unsigned role_by_kind(const struct access_rules rules[ACCESS_ROLES], enum identity_kind kind,
                             const struct identity *who, const char *name, enum access_role *role)
{
    unsigned best = FITS_NOT;
    for (unsigned i = ACCESS_ROLES; i-- > 0;)
        for (unsigned k = 0; k < rules[i].count; k++) {
            const struct access_rule *r = &rules[i].rule[k];
            unsigned fit = r->kind == kind ? rule_fit(r, who, name) : FITS_NOT;
            if (fit == FITS_NOT || fit < best)
                continue;
            best = fit;
            *role = (enum access_role)i;
        }
    return best;
}

static void take_least(bool fits, enum access_role role, enum access_role *least, bool *any)
{
    if (fits && (!*any || role < *least))
        *least = role;
    *any = *any || fits;
}

/* A certificate's other names are no way around a name that is listed: those that are named count,
 * and only where none is, what all are granted. */
static bool role_by_certificate(const struct access_rules rules[ACCESS_ROLES],
                                const struct identity *who, enum access_role *role)
{
    enum access_role found = ROLE_NONE;
    bool any = false;
    bool fits;
    for (const char *name = who->names; *name; name += strlen(name) + 1) {
        fits = role_by_kind(rules, IDENTITY_CERT, who, name, &found) > FITS_ALL;
        take_least(fits, found, role, &any);
    }
    fits = !any && role_by_kind(rules, IDENTITY_CERT, who, "", &found) > FITS_NOT;
    take_least(fits, found, role, &any);
    return any;
}

bool access_rules_have(const struct access_rules rules[ACCESS_ROLES], enum identity_kind kind)
{
    for (unsigned role = 0; role < ACCESS_ROLES; role++)
        for (unsigned i = 0; i < rules[role].count; i++)
            if (rules[role].rule[i].kind == kind)
                return true;
    return false;
}

enum access_role access_role_of(const struct access_rules rules[ACCESS_ROLES],
                                const struct identity *who)
{
    enum access_role least = ROLE_NONE, role = ROLE_NONE;
    bool any = false, ruled = false;
    for (unsigned i = 0; i < ACCESS_ROLES; i++)
        ruled |= rules[i].count > 0;
    if (!ruled)
        return ROLE_CONTROL;
    bool tcp = who->address.ss_family != AF_UNSPEC;
    bool fits = who->names && role_by_certificate(rules, who, &role);
    take_least(fits, role, &least, &any);
    fits = tcp && role_by_kind(rules, IDENTITY_NET, who, "", &role) > FITS_NOT;
    take_least(fits, role, &least, &any);
    fits = !tcp && role_by_kind(rules, IDENTITY_USER, who, "", &role) > FITS_NOT;
    take_least(fits, role, &least, &any);
    return any ? least : ROLE_NONE;
}

static bool same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET)
        return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)b)->sin_addr.s_addr;
    return a->ss_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
                  &((const struct sockaddr_in6 *)b)->sin6_addr, sizeof(struct in6_addr)) == 0;
}

bool identity_same(const struct identity *a, const struct identity *b)
{
    if (a->names || b->names)
        return a->names && b->names && strcmp(a->names, b->names) == 0;
    if (a->address.ss_family != AF_UNSPEC || b->address.ss_family != AF_UNSPEC)
        return same_host(&a->address, &b->address);
    return a->uid == b->uid;
}
