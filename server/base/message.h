/* SPDX-License-Identifier: BSD-3-Clause */
/* A text for people: what failed, where, what to do. It is made where the reason is known. */
#ifndef SERVER_MESSAGE_H
#define SERVER_MESSAGE_H

struct message {
    char text[640];
};

/* Lower case, no full stop, what failed with its subject in single quotes; cut, never overrun. */
void message_set(struct message *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
