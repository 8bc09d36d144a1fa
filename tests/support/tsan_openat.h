/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Included in front of every file of the ThreadSanitizer variant. It knows file descriptors by
 * the calls that it intercepts, openat() not among them, nor the closing of libuv, which is a bare
 * system call: a number that libuv has given up and openat() got again still belongs to libuv's
 * thread for it, and the next close() is reported as a race.
 * With open() it hears of the new file. */
#ifndef TESTS_SUPPORT_TSAN_OPENAT_H
#define TESTS_SUPPORT_TSAN_OPENAT_H

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

static inline int tsan_openat(int folder, const char *name, int flags, ...)
{
    char path[PATH_MAX];
    mode_t mode = 0;
    if (flags & O_CREAT) {
        va_list more;
        va_start(more, flags);
        mode = va_arg(more, mode_t);
        va_end(more);
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d/%s", folder, name);
    return open(path, flags, mode);
}

#define openat tsan_openat

#endif
