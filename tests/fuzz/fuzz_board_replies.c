/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bytes that come back from a board's control socket, which is another program's: each question
 * gets the next line, cut to its room and no further, whatever pieces it comes in; without a line
 * end there is no answer, and nobody waits for more.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/net/stream_socket.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT 16384

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* The next line of the bytes, as it is to be taken into `size` bytes. False: there is none. */
static bool next_line(const uint8_t **data, size_t *left, char *answer, size_t size)
{
    const uint8_t *end = memchr(*data, '\n', *left);
    if (!end)
        return false;
    size_t whole = (size_t)(end - *data), len = whole < size ? whole : size - 1;
    memcpy(answer, *data, len);
    answer[len] = '\0';
    *left -= whole + 1;
    *data += whole + 1;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const _Atomic bool end = false;
    char answer[260], expected[260];
    int fds[2];
    if (size < 3 || size > INPUT)
        return 0;
    size_t room = 1 + *data++;
    size_t cut = (size_t)*data++ * (size -= 2) / 256;
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    require(send(fds[1], data, cut, MSG_NOSIGNAL) == (ssize_t)cut &&
            send(fds[1], data + cut, size - cut, MSG_NOSIGNAL) == (ssize_t)(size - cut));
    shutdown(fds[1], SHUT_WR);
    for (bool more = true; more;) {
        memset(answer, 'x', sizeof answer);
        int error = stream_socket_ask(fds[0], "flush", answer, room, 1000, &end);
        /* A board reads what it is asked: a queue that is full would take no more. */
        char question[16];
        require(recv(fds[1], question, sizeof question, MSG_DONTWAIT) ==
                (ssize_t)strlen("flush\n"));
        more = next_line(&data, &size, expected, room);
        require(more ? error == BT_OK && memcmp(answer, expected, strlen(expected) + 1) == 0
                     : error == BT_ERR_IO);
        require(answer[room] == 'x');
    }
    close(fds[0]);
    close(fds[1]);
    return 0;
}
