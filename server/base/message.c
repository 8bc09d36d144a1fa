/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/base/message.h"

#include <stdarg.h>
#include <stdio.h>

void message_set(struct message *m, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(m->text, sizeof m->text, format, args);
    va_end(args);
}
