/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/console.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void console_say(const struct console *c, const char *format, ...)
{
    char line[400];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    c->print(c->to, line);
}

void console_gap_counts(const struct console *c, const struct history *h)
{
    bool any = false;
    for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++) {
        uint64_t n = history_gap_count(h, (enum bt_gap_cause)cause);
        if (!n)
            continue;
        console_say(c, "%s%" PRIu64 " %s", any ? ", " : "", n,
                    bt_gap_name((enum bt_gap_cause)cause));
        any = true;
    }
    console_say(c, any ? "\n" : "none\n");
}

void console_gaps(const struct console *c, const struct history *h)
{
    const struct gap_entry *gaps;
    size_t n = history_gaps(h, &gaps);
    for (size_t i = 0; i < n; i++) {
        console_say(c, "before instruction %" PRIu64 ", trace byte %" PRIu64 ": %s",
                    gaps[i].position + 1, gaps[i].offset,
                    bt_gap_name((enum bt_gap_cause)gaps[i].cause));
        if (gaps[i].has_address)
            console_say(c, ", address 0x%08" PRIx64, gaps[i].address);
        if (gaps[i].bytes)
            console_say(c, ", %" PRIu64 " bytes", gaps[i].bytes);
        if (gaps[i].doubtful)
            console_say(c, ", instructions from %" PRIu64 " on may be wrong",
                        gaps[i].position - gaps[i].doubtful + 1);
        console_say(c, "\n");
    }
    if (n == 0)
        console_say(c, "no gaps\n");
}

void console_history(const struct console *c, const struct history *h)
{
    console_say(c,
                "trace         %" PRIu64 " bytes, %" PRIu64 " packets, %" PRIu64
                " bytes skipped without synchronisation\n",
                history_bytes(h), history_packets(h), history_skipped(h));
    if (history_end(h) > history_first(h))
        console_say(c,
                    "history       instructions %" PRIu64 " to %" PRIu64 " in %" PRIu64 " blocks\n",
                    history_first(h) + 1, history_end(h), history_blocks(h));
    else
        console_say(c, "history       no instruction\n");
    console_say(c, "gaps          ");
    console_gap_counts(c, h);
}

static size_t trimmed(const char **text)
{
    while (**text == ' ')
        (*text)++;
    size_t len = strlen(*text);
    while (len > 0 && (*text)[len - 1] == ' ')
        len--;
    return len;
}

const char *console_rest(const char *text, const char *name, char *out, size_t size)
{
    size_t len = trimmed(&text), n = strlen(name);
    if (len < n || strncmp(text, name, n) != 0 || (len > n && text[n] != ' '))
        return NULL;
    const char *rest = text + n;
    while (rest < text + len && *rest == ' ')
        rest++;
    snprintf(out, size, "%.*s", (int)(text + len - rest), rest);
    return out;
}
