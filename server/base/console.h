/* SPDX-License-Identifier: BSD-3-Clause */
/* Text for GDB's console, and the words of a command that comes from there. */
#ifndef SERVER_CONSOLE_H
#define SERVER_CONSOLE_H

#include "drivers/target/target.h"

struct console {
    target_print_fn print;
    void *to;
};

/* At most 400 characters a call. */
void console_print(const struct console *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The rest of `text` behind the words `name`, without blanks around it (into `out`); NULL if it
 * does not begin with them. */
const char *console_rest(const char *text, const char *name, char *out, size_t size);

#endif
