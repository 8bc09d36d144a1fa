/* SPDX-License-Identifier: BSD-3-Clause */
/* A text for people: what failed, where, what to do. It is made where the reason is known, and
 * passed on by those who only call. */
#ifndef DRIVERS_MESSAGE_H
#define DRIVERS_MESSAGE_H

#include <stdarg.h>

struct message {
    char text[640];

    /* Where a reader of files found it; not part of the text before message_place(). Set when such
     * a reader has failed, undefined where its header does not tell of it. */
    char file[256]; /* as the reader names it; "": not known, or the one that was opened */
    unsigned line;  /* 1-based; 0: no single line is to blame */
};

/* Lower case, no full stop, what failed with its subject in single quotes; cut, never overrun. It
 * has no place. The arguments may be of the message itself. */
void message_set(struct message *m, const char *format, ...) __attribute__((format(printf, 2, 3)));
void message_vset(struct message *m, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

/* As message_set(). Returns `error`. */
int message_fail(struct message *m, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* If there is no text: what the bt_error says in general. Returns `error`. */
int message_default(struct message *m, int error);

/* Puts the place before the text: "PATH/FILE:LINE: text", without what is not known, and `path`
 * once if the file is the same. */
void message_place(struct message *m, const char *path);

#endif
