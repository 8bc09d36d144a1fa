/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that say who may connect, and where. */
#include "config_internal.h"

#include <arpa/inet.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATORS " \t,"

/* The next item of a list; double quotes hold it together. 1, 0 at the end, -1: a problem. */
static int next_item(const char **text, char *item, size_t size, const char **problem)
{
    const char *s = *text + strspn(*text, SEPARATORS);
    size_t n = 0;
    bool quoted = false;
    *problem = NULL;
    if (!*s)
        return 0;
    for (; *s && (quoted || !strchr(SEPARATORS, *s)); s++) {
        if (*s == '"')
            quoted = !quoted;
        else if (n + 1 < size)
            item[n++] = *s;
        else
            *problem = "it is too long";
    }
    if (quoted)
        *problem = "a double quote is not closed";
    item[n] = '\0';
    *text = s;
    return *problem ? -1 : 1;
}

/* Calls take() for each item, with dollar names replaced. */
static int each_item(struct config_parser *p, unsigned line, const struct config_key *key,
                     const char *value,
                     int (*take)(struct config_parser *p, unsigned line,
                                 const struct config_key *key, const char *item))
{
    char item[CONFIG_VALUE_MAX], expanded[CONFIG_VALUE_MAX];
    const char *problem;
    unsigned count = 0;
    for (;; count++) {
        int more = next_item(&value, item, sizeof item, &problem);
        if (more < 0)
            return config_fail(p, line, key->name, "'%.80s': %s; allowed: %s", item, problem,
                               key->allowed);
        if (more == 0)
            break;
        int error = config_expand(p, line, key->name, item, expanded, sizeof expanded);
        if (!error)
            error = take(p, line, key, expanded);
        if (error)
            return error;
    }
    if (count == 0)
        return config_fail(p, line, key->name, "has no value; allowed: %s", key->allowed);
    return BT_OK;
}

static bool is_number(const char *host)
{
    unsigned char a[sizeof(struct in6_addr)];
    char plain[64];
    size_t length = strcspn(host, "%"); /* a zone may follow */
    if (length >= sizeof plain)
        return false;
    snprintf(plain, sizeof plain, "%.*s", (int)length, host);
    return inet_pton(AF_INET, plain, a) == 1 || inet_pton(AF_INET6, plain, a) == 1;
}

const char *config_listen_problem(const char *text, struct config_listen *listen)
{
    memset(listen, 0, sizeof *listen);
    listen->systemd = strcmp(text, "systemd") == 0;
    if (listen->systemd)
        return NULL;
    listen->tls = strncmp(text, "tls:", 4) == 0;
    const char *problem = address_problem(text + (listen->tls ? 4 : 0), &listen->address);
    if (!problem && listen->tls && listen->address.kind == ADDRESS_UNIX)
        problem = "a Unix socket has no TLS: its mode and owner control access";
    if (problem)
        return problem;
    if (!address_is_loopback(&listen->address) && !is_number(listen->address.host))
        return "the address is a name; one to listen on is a number, 0.0.0.0 or [::] for all";
    return NULL;
}

static int take_listen(struct config_parser *p, unsigned line, const struct config_key *key,
                       const char *item)
{
    struct config_access *a = &p->config->access;
    struct config_listen *listen = &a->listen[a->listen_count];
    if (a->listen_count == CONFIG_MAX_LISTEN)
        return config_fail(p, line, key->name, "more than %d addresses", CONFIG_MAX_LISTEN);
    const char *problem = config_listen_problem(item, listen);
    if (problem)
        return config_fail(p, line, key->name, "'%s': %s; allowed: %s", item, problem,
                           key->allowed);
    a->listen_count++;
    return BT_OK;
}

static int take_network(struct config_parser *p, unsigned line, const struct config_key *key,
                        const char *item)
{
    struct config_access *a = &p->config->access;
    if (a->allow_count == CONFIG_MAX_NETWORKS)
        return config_fail(p, line, key->name, "more than %d networks", CONFIG_MAX_NETWORKS);
    const char *problem = network_problem(item, &a->allow[a->allow_count]);
    if (problem)
        return config_fail(p, line, key->name, "'%s': %s; allowed: %s", item, problem,
                           key->allowed);
    a->allow_count++;
    return BT_OK;
}

static int take_name(struct config_parser *p, unsigned line, const struct config_key *key,
                     const char *item)
{
    struct tls_files *tls = &p->config->access.tls;
    if (tls->allow_count == TLS_MAX_NAMES)
        return config_fail(p, line, key->name, "more than %d names", TLS_MAX_NAMES);
    if (!*item || strlen(item) >= TLS_ALLOW_SIZE)
        return config_fail(p, line, key->name, "a name has 1 to %d bytes", TLS_ALLOW_SIZE - 1);
    tls->allow[tls->allow_count] = config_keep(p->config, item);
    return tls->allow[tls->allow_count++] ? BT_OK : BT_ERR_NOMEM;
}

/* The file of a Unix socket. */

static int store_mode(struct config_parser *p, unsigned line, const struct config_key *key,
                      unsigned *field, const char *value)
{
    char *end;
    unsigned long mode = strtoul(value, &end, 8);
    if (*value < '0' || *value > '7' || *end || mode > 0777)
        return config_fail(p, line, key->name, "'%s' is not a mode; allowed: %s", value,
                           key->allowed);
    *field = (unsigned)mode;
    return BT_OK;
}

/* A name, or a number for those that have none. */
static bool user_number(const char *name, unsigned *number)
{
    uint64_t n;
    const struct passwd *user = getpwnam(name);
    if (!user && (!config_parse_number(name, &n) || n >= ADDRESS_SAME_OWNER))
        return false;
    *number = user ? user->pw_uid : (unsigned)n;
    return true;
}

static bool group_number(const char *name, unsigned *number)
{
    uint64_t n;
    const struct group *group = getgrnam(name);
    if (!group && (!config_parse_number(name, &n) || n >= ADDRESS_SAME_OWNER))
        return false;
    *number = group ? group->gr_gid : (unsigned)n;
    return true;
}

static int store_owner(struct config_parser *p, unsigned line, const struct config_key *key,
                       struct config_owner *field, const char *value)
{
    char user[64];
    const char *colon = strchr(value, ':');
    size_t length = colon ? (size_t)(colon - value) : strlen(value);
    *field = (struct config_owner){ADDRESS_SAME_OWNER, ADDRESS_SAME_OWNER};
    if (length >= sizeof user)
        return config_fail(p, line, key->name, "is too long; allowed: %s", key->allowed);
    snprintf(user, sizeof user, "%.*s", (int)length, value);
    if (*user && !user_number(user, &field->uid))
        return config_fail(p, line, key->name, "this machine has no user '%s'; allowed: %s", user,
                           key->allowed);
    if (colon && colon[1] && !group_number(colon + 1, &field->gid))
        return config_fail(p, line, key->name, "this machine has no group '%s'; allowed: %s",
                           colon + 1, key->allowed);
    return BT_OK;
}

int config_store_access(struct config_parser *p, unsigned line, const struct config_key *key,
                        void *field, const char *value)
{
    switch (key->kind) {
    case CONFIG_LISTEN:
        return each_item(p, line, key, value, take_listen);
    case CONFIG_NETWORKS:
        return each_item(p, line, key, value, take_network);
    case CONFIG_NAMES:
        return each_item(p, line, key, value, take_name);
    case CONFIG_MODE:
        return store_mode(p, line, key, field, value);
    default:
        return store_owner(p, line, key, field, value);
    }
}

/* After the last line. */

int config_access_guarded(const struct config_access *a, const struct config_listen *listen,
                          struct message *why)
{
    struct address at = listen->address;
    char where[300];
    if (config_has_tls(a))
        return BT_OK;
    address_format(&at, where, sizeof where);
    if (listen->tls) {
        message_set(why, "'tls:%s' wants a section [tls]", where);
        return BT_ERR_FORMAT;
    }
    if (a->allow_count > 0 || address_is_loopback(&at))
        return BT_OK;
    message_set(why,
                "'%s' is not an address of this machine alone, and whoever connects controls the "
                "target: it wants a section [tls] (certificates), or 'allow' in [gdb] (networks)",
                where);
    return BT_ERR_FORMAT;
}

/* The address as bytes, and their number: 0 of what is no number. */
static size_t address_bytes(const struct address *a, unsigned char *bytes)
{
    if (inet_pton(AF_INET, a->host, bytes) == 1)
        return sizeof(struct in_addr);
    return inet_pton(AF_INET6, a->host, bytes) == 1 ? sizeof(struct in6_addr) : 0;
}

/* Whether who listens at `a` takes `b`, too. Of IPv6 and IPv4 only the system knows. */
static bool takes_also(const struct address *a, const struct address *b)
{
    static const unsigned char all[sizeof(struct in6_addr)];
    unsigned char one[sizeof all], other[sizeof all];
    if (a->kind != b->kind || a->kind == ADDRESS_UNIX)
        return a->kind == b->kind && strcmp(a->host, b->host) == 0;
    size_t size = a->port && a->port == b->port ? address_bytes(a, one) : 0;
    return size && size == address_bytes(b, other) &&
           (memcmp(one, other, size) == 0 || memcmp(one, all, size) == 0);
}

static int check_twice(const struct config_access *a, unsigned i, struct message *why)
{
    char first[300], second[300];
    for (unsigned j = 0; j < i; j++) {
        const struct address *x = &a->listen[j].address, *y = &a->listen[i].address;
        address_format(x, first, sizeof first);
        address_format(y, second, sizeof second);
        if (takes_also(x, y) && takes_also(y, x))
            message_set(why, "'%s' comes twice", second);
        else if (takes_also(x, y) || takes_also(y, x))
            message_set(why, "'%s' and '%s' are one port twice: all addresses, and one of them",
                        first, second);
        else
            continue;
        return BT_ERR_FORMAT;
    }
    return BT_OK;
}

int config_access_check(struct config_access *a, struct message *why)
{
    for (unsigned i = 0; i < a->listen_count; i++)
        if ((!a->listen[i].systemd && config_access_guarded(a, &a->listen[i], why) != BT_OK) ||
            check_twice(a, i, why) != BT_OK)
            return BT_ERR_FORMAT;
    return BT_OK;
}

/* All of [tls], or nothing of it. */
static int check_tls(struct config_parser *p)
{
    static const char *const keys[] = {"ca", "cert", "key", "allow"};
    struct tls_files *tls = &p->config->access.tls;
    unsigned lines[4], any = 0;
    for (unsigned i = 0; i < 4; i++) {
        lines[i] = config_line_of(p, "tls", keys[i]);
        any = lines[i] ? lines[i] : any;
    }
    for (unsigned i = 0; i < 4 && any; i++)
        if (!lines[i])
            return config_fail(p, any, "[tls]", "'%s' is missing: %s", keys[i],
                               config_find_key("tls", keys[i])->allowed);
    tls->ca_line = lines[0];
    tls->cert_line = lines[1];
    tls->key_line = lines[2];
    return BT_OK;
}

int config_check_access(struct config_parser *p)
{
    struct message why;
    int error = check_tls(p);
    if (error || config_access_check(&p->config->access, &why) == BT_OK)
        return error;
    return config_fail(p, config_line_of(p, "gdb", "listen"), "listen", "%s", why.text);
}

/* Of the command line. */

int config_access_listen(struct config_access *a, const char *text, struct message *why)
{
    char item[CONFIG_VALUE_MAX];
    const char *problem = NULL, *rest = text;
    unsigned count = 0;
    for (; next_item(&rest, item, sizeof item, &problem) > 0; count++) {
        if (a->listen_count == CONFIG_MAX_LISTEN)
            problem = "too many addresses";
        else
            problem = config_listen_problem(item, &a->listen[a->listen_count++]);
        if (problem)
            break;
    }
    if (!problem && count > 0)
        return BT_OK;
    message_set(why, "--listen wants ADDRESS:PORT or unix:PATH, not '%.200s'%s%s", text,
                problem ? ": " : "", problem ? problem : "");
    return BT_ERR_FORMAT;
}
