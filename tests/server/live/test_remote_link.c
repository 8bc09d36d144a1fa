/* SPDX-License-Identifier: BSD-3-Clause */
/* The link to a GDB server that a name with two addresses stands for: it is found at either. */
#include "server/live/remote_link.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/fake_remote.h"
#include "tests/support/unit_main.h"

static struct sockaddr_in addresses[2];
static struct addrinfo found[2];

/* In place of the C library's: what names mean differs from machine to machine. */
int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
    (void)service;
    (void)hints;
    if (strcmp(name, "both") != 0)
        return EAI_NONAME;
    *out = found;
    return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
    (void)list;
}

/* Sockets at one port of 127.0.0.1 and of 127.0.0.2, which "both" stands for. */
static void bind_both(int fds[2])
{
    socklen_t size = sizeof addresses[0];
    bool again;
    do {
        for (unsigned i = 0; i < 2; i++) {
            addresses[i] = (struct sockaddr_in){.sin_family = AF_INET,
                                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK + i)};
            fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        }
        ck_assert_int_eq(bind(fds[0], (struct sockaddr *)&addresses[0], size), 0);
        ck_assert_int_eq(getsockname(fds[0], (struct sockaddr *)&addresses[0], &size), 0);
        addresses[1].sin_port = addresses[0].sin_port;
        again = bind(fds[1], (struct sockaddr *)&addresses[1], size) != 0;
        if (again) {
            close(fds[0]);
            close(fds[1]);
        }
    } while (again);
    for (unsigned i = 0; i < 2; i++)
        found[i] = (struct addrinfo){.ai_family = AF_INET,
                                     .ai_socktype = SOCK_STREAM,
                                     .ai_addrlen = size,
                                     .ai_addr = (struct sockaddr *)&addresses[i],
                                     .ai_next = i ? NULL : &found[1]};
}

START_TEST(either_address)
{
    static struct fake_remote f;
    static struct remote_link link;
    uv_loop_t loop;
    struct address address = {.kind = ADDRESS_TCP};
    strcpy(address.host, "both");
    int fds[2];
    bind_both(fds);
    ck_assert_int_eq(listen(fds[_i], 4), 0); /* the other refuses */
    address.port = ntohs(addresses[0].sin_port);
    fake_remote_init(&f);
    uv_loop_init(&loop);
    ck_assert_int_eq(remote_link_start(&link, &loop, &address, f.u), 0);
    for (int again = 0; again < 2; again++) {
        while (link.state != REMOTE_LINK_CONNECTED)
            uv_run(&loop, UV_RUN_ONCE);
        int peer = accept(fds[_i], NULL, NULL);
        ck_assert_int_ge(peer, 0);
        close(peer);
        while (link.state == REMOTE_LINK_CONNECTED)
            uv_run(&loop, UV_RUN_ONCE);
    }
    remote_link_stop(&link);
    uv_run(&loop, UV_RUN_DEFAULT);
    ck_assert_int_eq(uv_loop_close(&loop), 0);
    fake_remote_release(&f);
    close(fds[0]);
    close(fds[1]);
}
END_TEST

Suite *unit_suite(void)
{
    Suite *s = suite_create("remote_link");
    unit_cases(s, "remote link: a name with two addresses, a server at one of them", either_address,
               0, 2);
    return s;
}
