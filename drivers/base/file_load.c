/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/base/file_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int file_load(int fd, size_t most, char **text, size_t *length)
{
    size_t room = 16384, used = 0;
    char *buffer = malloc(room + 1);
    while (buffer) {
        ssize_t got = read(fd, buffer + used, room - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            int saved = errno;
            free(buffer);
            errno = saved;
            return BT_ERR_IO;
        }
        if (got == 0) {
            buffer[used] = '\0';
            *text = buffer;
            *length = used;
            return 0;
        }
        used += (size_t)got;
        if (used > most) {
            free(buffer);
            return BT_ERR_RANGE;
        }
        if (used == room) {
            room *= 2;
            char *grown = realloc(buffer, room + 1);
            if (!grown)
                free(buffer);
            buffer = grown;
        }
    }
    return BT_ERR_NOMEM;
}

int file_load_path(const char *path, size_t most, char **text, size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int error = fd < 0 ? BT_ERR_IO : file_load(fd, most, text, length);
    int saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
    return error;
}

int file_write_all(int fd, const void *data, size_t length, uint64_t *written)
{
    const char *p = data;
    while (length > 0) {
        ssize_t n = write(fd, p, length);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return BT_ERR_IO;
        p += n;
        length -= (size_t)n;
        if (written)
            *written += (uint64_t)n;
    }
    return 0;
}
