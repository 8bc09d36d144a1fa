/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board_truth.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <string.h>

int board_truth_open(struct board_truth *t, const char *where, unsigned core, bool wide)
{
    char name[PATH_MAX + 16];
    int length;

    t->used = 0;
    t->step = wide ? 2 : 1;
    t->instructions = t->log = NULL;
    if (!where)
        return 0;
    if (strncmp(where, "file:", 5) != 0 || strlen(where) >= PATH_MAX) {
        errno = EINVAL;
        return -1;
    }
    length = core ? snprintf(name, sizeof name, "%s.%u", where + 5, core)
                  : snprintf(name, sizeof name, "%s", where + 5);
    t->instructions = fopen(name, "we");
    if (!t->instructions)
        return -1;
    strcpy(name + length, ".log");
    t->log = fopen(name, "we");
    return t->log ? 0 : -1;
}

void board_truth_flush(struct board_truth *t)
{
    if (t->instructions) {
        fwrite(t->buffer, sizeof t->buffer[0], t->used, t->instructions);
        fflush(t->instructions);
        fflush(t->log);
    }
    t->used = 0;
}

void board_truth_close(struct board_truth *t)
{
    board_truth_flush(t);
    if (t->instructions)
        fclose(t->instructions);
    if (t->log)
        fclose(t->log);
    t->instructions = t->log = NULL;
}

void board_truth_log(struct board_truth *t, uint64_t index, const char *format, ...)
{
    va_list arguments;

    if (!t->log)
        return;
    fprintf(t->log, "%" PRIu64 " ", index);
    va_start(arguments, format);
    vfprintf(t->log, format, arguments);
    va_end(arguments);
    fputc('\n', t->log);
}
