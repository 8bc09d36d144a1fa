/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/base/file_load.h"

#include <errno.h>
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
