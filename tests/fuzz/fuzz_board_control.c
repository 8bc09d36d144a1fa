/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes at the control socket of a virtual board whose cores do not exist yet: all that QEMU starts
 * is there but QEMU. The first byte says where the others are cut in two. Every line gets one line
 * of answer, well formed, up to one that is too long, which ends the connection.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "drivers/virtual/board/board.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT  4096
#define ANSWER 1200

static struct board board;
static struct sockaddr_un address;

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void finish(void)
{
    board_finish(&board);
}

static void start(void)
{
    char out[] = "out=file:/dev/null", message[256], where[64];
    char *arguments[] = {out};
    snprintf(where, sizeof where, "unix:/tmp/fuzz-board-%ld", (long)getpid());
    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, where + strlen("unix:"));
    require(board_options_parse(&board.options, 1, arguments, message, sizeof message) == 0 &&
            board_init(&board, 0, message, sizeof message) == 0); /* none that it would wait for */
    board.control = board_control_start(where, board_command_line, &board);
    require(board.control != NULL);
    atexit(finish);
}

/* An answer without its line end. */
static void check_answer(const char *text)
{
    size_t digits = strncmp(text, "ok ", 3) == 0 ? strspn(text + 3, "0123456789") : 0;
    char end = text[3 + digits];
    require((digits > 0 && (end == '\0' || end == ' ')) || strncmp(text, "error ", 6) == 0);
    require(strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 =.-_") ==
            strlen(text));
}

/* Takes answers to the end of the connection; how many there were. */
static size_t take_answers(int fd)
{
    char line[ANSWER];
    size_t used = 0, count = 0;
    ssize_t got;
    /* The fuzzer's own clock is a signal, which may interrupt this. */
    while ((got = read(fd, line + used, sizeof line - used)) > 0 || (got < 0 && errno == EINTR)) {
        char *end;
        if (got < 0)
            continue;
        used += (size_t)got;
        while ((end = memchr(line, '\n', used))) {
            *end = '\0';
            check_answer(line);
            count++;
            used -= (size_t)(end + 1 - line);
            memmove(line, end + 1, used);
        }
        require(used < sizeof line);
    }
    require(used == 0);
    return count;
}

/* Lines up to one that is too long, which *all says. */
static size_t count_lines(const uint8_t *data, size_t size, bool *all)
{
    size_t count = 0;
    const uint8_t *end;
    while ((end = memchr(data, '\n', size)) && end - data < BOARD_CONTROL_LINE) {
        size -= (size_t)(end + 1 - data);
        data = end + 1;
        count++;
    }
    *all = !end && size < BOARD_CONTROL_LINE;
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!board.control)
        start();
    if (size == 0 || size > INPUT)
        return 0;
    size_t cut = (size_t)*data * (size - 1) / 256;
    bool all;
    size_t lines = count_lines(++data, --size, &all);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    require(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0);
    board.filter = (struct board_filter){0}; /* the thread waits: the connection before has ended */
    ssize_t sent = send(fd, data, cut, MSG_NOSIGNAL);
    if (sent >= 0)
        sent = send(fd, data + cut, size - cut, MSG_NOSIGNAL);
    require(sent >= 0 || !all);
    shutdown(fd, SHUT_WR);
    size_t answers = take_answers(fd);
    require(all ? answers == lines : answers <= lines);
    require(board.filter.include.count <= BOARD_RANGES &&
            board.filter.exclude.count <= BOARD_RANGES);
    close(fd);
    return 0;
}
