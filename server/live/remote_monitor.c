/* SPDX-License-Identifier: BSD-3-Clause */
#include "remote_monitor.h"

#include <string.h>

#define SEPARATORS " ,\t"

static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                            " _.:,/+-=*%@";

static bool monitor_is(const char *list, const char *word)
{
    const char *from = list + strspn(list, SEPARATORS);
    size_t len = strcspn(from, SEPARATORS);
    return len == strlen(word) && memcmp(from, word, len) == 0 &&
           from[len + strspn(from + len, SEPARATORS)] == '\0';
}

static bool monitor_has_word(const char *list, const char *word, size_t len)
{
    for (const char *at = list; *(at += strspn(at, SEPARATORS)) != '\0';) {
        size_t n = strcspn(at, SEPARATORS);
        if (n == len && memcmp(at, word, n) == 0)
            return true;
        at += n;
    }
    return false;
}

bool remote_monitor_admits(const char *list, const char *text)
{
    size_t blanks = strspn(text, " ");
    size_t word = strcspn(text + blanks, " ");
    if (monitor_is(list, "all"))
        return true;
    if (monitor_is(list, "none") || word == 0 || text[strspn(text, plain)] != '\0')
        return false;
    return monitor_has_word(list, text + blanks, word);
}

void remote_monitor_refuse(const char *list, const char *text, const struct console *c)
{
    text += strspn(text, " ");
    int word = (int)strcspn(text, " ");
    if (monitor_is(list, "none"))
        console_print(c, "no command of btraced ('monitor help' lists them), and none is passed to "
                         "the target's own GDB server: [target] monitor = none\n");
    else if (monitor_has_word(list, text, (size_t)word))
        console_print(c,
                      "to the target's own GDB server goes '%.*s' with plain words only: "
                      "letters, digits, _ . : , / + - = * %% @\n",
                      word, text);
    else
        console_print(c,
                      "'%.*s' is no command of btraced ('monitor help' lists them), and is not "
                      "passed to the target's own GDB server; [target] monitor allows: %s\n",
                      word < 80 ? word : 80, text, list);
}

void remote_monitor_help(const char *list, const struct console *c)
{
    if (monitor_is(list, "none"))
        console_print(c, "nothing else goes to the target's own GDB server\n");
    else if (monitor_is(list, "all"))
        console_print(c, "everything else goes to the target's own GDB server\n");
    else
        console_print(c, "to the target's own GDB server go: %s\n", list);
}
