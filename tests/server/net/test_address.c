/* SPDX-License-Identifier: BSD-3-Clause */
/* Networks in CIDR notation, against a slow reading of the definition: bit by bit. */
#include "server/net/address.h"
#include "tests/support/unit_main.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

static struct sockaddr_storage address_of(const char *text)
{
    struct sockaddr_storage a = {0};
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = 4711};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = 4711};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        memcpy(&a, &v4, sizeof v4);
    } else {
        ck_assert_int_eq(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
        memcpy(&a, &v6, sizeof v6);
    }
    return a;
}

static bool has(const char *network, const char *address)
{
    struct network n;
    struct sockaddr_storage a = address_of(address);
    ck_assert_ptr_null(network_problem(network, &n));
    return network_has(&n, &a);
}

START_TEST(examples)
{
    ck_assert(has("10.1.0.0/16", "10.1.255.255"));
    ck_assert(!has("10.1.0.0/16", "10.2.0.0"));
    ck_assert(!has("10.1.0.0/16", "10.0.255.255"));
    ck_assert(has("192.168.7.4", "192.168.7.4"));
    ck_assert(!has("192.168.7.4", "192.168.7.5"));
    ck_assert(has("0.0.0.0/0", "255.255.255.255"));
    ck_assert(!has("0.0.0.0/0", "::1"));
    ck_assert(!has("::/0", "1.2.3.4"));
    ck_assert(has("2001:db8::/33", "2001:db8:7fff:ffff::1"));
    ck_assert(!has("2001:db8::/33", "2001:db8:8000::"));
    ck_assert(has("::1", "::1"));
    /* IPv4 that comes in through IPv6 is IPv4. */
    ck_assert(has("10.1.0.0/16", "::ffff:10.1.2.3"));
    ck_assert(!has("10.1.0.0/16", "::ffff:10.2.2.3"));
    ck_assert(!has("::/0", "::ffff:10.1.2.3"));
}
END_TEST

/* Every prefix, and addresses that differ from the network in one bit. */
START_TEST(every_prefix)
{
    for (unsigned bits = 0; bits <= 32; bits++) {
        uint32_t network = bits ? 0xac1f5ac3u & ~(uint32_t)((1ull << (32 - bits)) - 1) : 0;
        char text[40];
        struct in_addr in = {.s_addr = htonl(network)};
        snprintf(text, sizeof text, "%s/%u", inet_ntoa(in), bits);
        struct network n;
        ck_assert_ptr_null(network_problem(text, &n));
        for (unsigned flip = 0; flip < 32; flip++) {
            struct sockaddr_in v4 = {.sin_family = AF_INET};
            struct sockaddr_storage a = {0};
            v4.sin_addr.s_addr = htonl(network ^ 0x80000000u >> flip);
            memcpy(&a, &v4, sizeof v4);
            ck_assert_msg(network_has(&n, &a) == (flip >= bits), "%s, bit %u", text, flip);
        }
    }
}
END_TEST

START_TEST(what_is_no_network)
{
    static const char *const wrong[] = {
        "",
        "/",
        "/8",
        "10",
        "10.1",
        "10.1.0.0/",
        "10.1.0.0/x",
        "10.1.0.0/-1",
        "10.1.0.0/+1",
        "10.1.0.0/ 8",
        "10.1.0.0/33",
        "10.1.0.0/8x",
        "10.1.0.0/16/16",
        "10.1.0.1/16",
        "256.1.0.0/16",
        "010.1.0.0/160",
        "::1/129",
        "::1/0",
        "2001:db8::1/64",
        "fe80::1%eth0",
        "10.1.0.0/99999999999999999999",
        "desk",
        "10.1.0.0/16 ",
        "10.128.0.0/8",
        "1111:2222:3333:4444:5555:6666:7777:8888:9999/1111111111111111111111111111111"};
    struct network n;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(network_problem(wrong[i], &n) != NULL, "'%s' is accepted", wrong[i]);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("network");
    unit_case(s, "network: who is in it", examples);
    unit_case(s, "network: every prefix, bit by bit", every_prefix);
    unit_case(s, "network: what is none", what_is_no_network);
    return s;
}
