/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/support/by_source.h"

#include <stdlib.h>
#include <string.h>

#define IDS 256

struct pile {
    char *out;
    size_t length;
    char *of[IDS]; /* hexadecimal digits of each source since the last mark */
};

static void put_word(struct pile *p, const char *word, size_t length)
{
    if (p->length > 0)
        p->out[p->length++] = ' ';
    memcpy(p->out + p->length, word, length);
    p->length += length;
}

static void close_pile(struct pile *p)
{
    static const char digits[] = "0123456789abcdef";
    for (unsigned id = 0; id < IDS; id++) {
        if (!p->of[id])
            continue;
        const char head[3] = {digits[id >> 4], digits[id & 15], ':'};
        put_word(p, head, sizeof head);
        size_t length = strlen(p->of[id]);
        memcpy(p->out + p->length, p->of[id], length);
        p->length += length;
        free(p->of[id]);
        p->of[id] = NULL;
    }
}

char *by_source(const char *text)
{
    struct pile p = {.out = calloc(1, 2 * strlen(text) + 16)};
    if (!p.out)
        abort();
    while (*text) {
        size_t length = strcspn(text, " ");
        if (length >= 3 && text[2] == ':') {
            char **of = &p.of[strtoul(text, NULL, 16) & 0xff];
            size_t had = *of ? strlen(*of) : 0;
            *of = realloc(*of, had + length);
            if (!*of)
                abort();
            memcpy(*of + had, text + 3, length - 3);
            (*of)[had + length - 3] = '\0';
        } else {
            close_pile(&p);
            put_word(&p, text, length);
        }
        text += length + (text[length] == ' ');
    }
    close_pile(&p);
    return p.out;
}
