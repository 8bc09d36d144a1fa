/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests identity.c. What the lines of [access] grant to a certificate, an address and a user. */
#include "server/net/identity.h"
#include "tests/support/unit_main.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static struct access_rules roles[ACCESS_ROLES];

static void begin(void)
{
    memset(roles, 0, sizeof roles);
}

static void rule(enum access_role role, const char *text)
{
    struct access_rules *r = &roles[role];
    const char *problem = access_rule_problem(text, &r->rule[r->count++]);
    ck_assert_msg(!problem, "%s: %s", text, problem);
}

static struct identity by_names(const char *names)
{
    return (struct identity){.names = names, .uid = IDENTITY_NO_USER};
}

static struct identity by_user(unsigned uid)
{
    return (struct identity){.uid = uid};
}

static struct identity by_address(const char *text)
{
    struct identity id = by_user(IDENTITY_NO_USER);
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    ck_assert_int_eq(inet_pton(AF_INET, text, &v4.sin_addr), 1);
    memcpy(&id.address, &v4, sizeof v4);
    return id;
}

static void grants(struct identity id, enum access_role role)
{
    ck_assert_int_eq(access_role_of(roles, &id), role);
}

START_TEST(no_rules)
{
    begin();
    grants(by_names("alice\0"), ROLE_CONTROL);
    grants(by_user(0), ROLE_CONTROL);
}
END_TEST

START_TEST(names)
{
    begin();
    rule(ROLE_CONTROL, "cert:alice");
    rule(ROLE_OBSERVE, "cert:*");
    rule(ROLE_QUERY, "cert:desk");
    rule(ROLE_NONE, "cert:mallory");
    grants(by_names("alice\0"), ROLE_CONTROL);
    grants(by_names("bob\0"), ROLE_OBSERVE);
    grants(by_names(""), ROLE_OBSERVE);
    grants(by_names("mallory\0"), ROLE_NONE);
    /* A name that is listed counts, wherever it is in the certificate, and the least of them. */
    grants(by_names("bob\0alice\0"), ROLE_CONTROL);
    grants(by_names("alice\0mallory\0"), ROLE_NONE);
    grants(by_names("mallory\0alice\0"), ROLE_NONE);
    grants(by_names("desk\0alice\0bob\0"), ROLE_QUERY);
    grants(by_user(0), ROLE_NONE);
    grants(by_address("10.1.2.3"), ROLE_NONE);
}
END_TEST

START_TEST(networks)
{
    begin();
    rule(ROLE_OBSERVE, "net:10.0.0.0/8");
    rule(ROLE_CONTROL, "net:10.1.0.0/16");
    rule(ROLE_NONE, "net:10.1.2.3");
    grants(by_address("10.9.9.9"), ROLE_OBSERVE);
    grants(by_address("10.1.9.9"), ROLE_CONTROL);
    grants(by_address("10.1.2.3"), ROLE_NONE);
    grants(by_address("192.168.1.1"), ROLE_NONE);
}
END_TEST

START_TEST(users)
{
    begin();
    rule(ROLE_CONTROL, "user:root");
    rule(ROLE_OBSERVE, "user:4711");
    grants(by_user(0), ROLE_CONTROL);
    grants(by_user(4711), ROLE_OBSERVE);
    grants(by_user(4712), ROLE_NONE);
    grants(by_user(IDENTITY_NO_USER), ROLE_NONE);
    rule(ROLE_QUERY, "user:*");
    grants(by_user(4712), ROLE_QUERY);
    grants(by_user(0), ROLE_CONTROL);
}
END_TEST

/* Of certificate and address the least counts, and what is not mentioned says nothing. */
START_TEST(several_kinds)
{
    struct identity alice = by_address("10.1.2.3");
    alice.names = "alice\0";
    begin();
    rule(ROLE_CONTROL, "cert:alice");
    grants(alice, ROLE_CONTROL);
    rule(ROLE_OBSERVE, "net:10.0.0.0/8");
    grants(alice, ROLE_OBSERVE);
    rule(ROLE_NONE, "net:10.1.0.0/16");
    grants(alice, ROLE_NONE);
}
END_TEST

START_TEST(bad_rules)
{
    static const char *const bad[] = {"alice",   "cert:", "net:10.1.2.3/8",
                                      "net:x",   "user:", "user:no such user here",
                                      "group:x", ""};
    struct access_rule r;
    char name[IDENTITY_NAME_SIZE + 8] = "cert:";
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(access_rule_problem(bad[i], &r), "%s", bad[i]);
    memset(name + 5, 'x', IDENTITY_NAME_SIZE);
    ck_assert_ptr_nonnull(access_rule_problem(name, &r));
    name[5 + IDENTITY_NAME_SIZE - 1] = '\0';
    ck_assert_ptr_null(access_rule_problem(name, &r));
}
END_TEST

START_TEST(same)
{
    struct identity a = by_address("10.1.2.3"), b = by_address("10.1.2.3");
    ck_assert(identity_same(&a, &b));
    a.names = "alice\0";
    ck_assert(!identity_same(&a, &b));
    b.names = "alice\0x\0";
    ck_assert(identity_same(&a, &b));
    b = by_address("10.1.2.4");
    a.names = NULL;
    ck_assert(!identity_same(&a, &b));
    a = by_user(5), b = by_user(6);
    ck_assert(!identity_same(&a, &b));
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("identity");
    unit_case(s, "identity: without rules everybody may control", no_rules);
    unit_case(s, "identity: names in certificates", names);
    unit_case(s, "identity: networks, the longest prefix counts", networks);
    unit_case(s, "identity: Unix users", users);
    unit_case(s, "identity: certificate and address", several_kinds);
    unit_case(s, "identity: what is no rule", bad_rules);
    unit_case(s, "identity: who is the same", same);
    return s;
}
