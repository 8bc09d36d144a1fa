/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the system takes for a request, whatever the server: answers every packet of one client on
 * TCP with the same bytes, by a read and a write. Ends when the client does.
 *
 * usage: bench_bare    prints the port to standard output
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWER "$00000000#80" /* four bytes of memory */

static void check(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(1);
}

static int accept_one(void)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof a;
    int on = 1, listener = socket(AF_INET, SOCK_STREAM, 0);
    check(listener >= 0 && bind(listener, (struct sockaddr *)&a, sizeof a) == 0 &&
              listen(listener, 1) == 0 &&
              getsockname(listener, (struct sockaddr *)&a, &length) == 0,
          "bench_bare: socket");
    printf("%u\n", ntohs(a.sin_port));
    fflush(stdout);
    int fd = accept(listener, NULL, NULL);
    check(fd >= 0 && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0,
          "bench_bare: client");
    return fd;
}

int main(void)
{
    char bytes[65536];
    int fd = accept_one();
    for (ssize_t n; (n = read(fd, bytes, sizeof bytes)) > 0;)
        if (memchr(bytes, '#', (size_t)n))
            check(write(fd, ANSWER, strlen(ANSWER)) > 0, "bench_bare: answer");
    close(fd);
    return 0;
}
