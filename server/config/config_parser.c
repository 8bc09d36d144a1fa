/* SPDX-License-Identifier: BSD-3-Clause */
/* What the reader of a board file notes: mistakes, lines of keys, texts that live as long as the
 * configuration. */
#include "config_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int config_fail(struct config_parser *p, unsigned line, const char *key, const char *format, ...)
{
    struct message m = {.text = ""};
    va_list args;
    va_start(args, format);
    message_vset(&m, format, args);
    va_end(args);
    message_set(&m, "%s: %s", key, m.text);
    m.line = line;
    message_place(&m, p->path);
    return config_mistake(p, &m);
}

int config_mistake(struct config_parser *p, const struct message *m)
{
    if (p->names && p->names->mistake)
        p->names->mistake(p->names->ctx, m->text);
    if (!p->failed)
        *p->why = *m;
    p->failed = true;
    return BT_ERR_FORMAT;
}

struct kept {
    struct kept *next;
    char text[];
};

char *config_keep(struct config *config, const char *text)
{
    size_t size = strlen(text) + 1;
    struct kept *k = malloc(sizeof *k + size);
    if (!k)
        return NULL;
    memcpy(k->text, text, size);
    k->next = config->strings;
    config->strings = k;
    return k->text;
}

unsigned config_line_of(const struct config_parser *p, const char *section, const char *name)
{
    size_t count;
    return p->lines.key[config_find_key(section, name) - config_keys(&count)];
}

void config_release(struct config *config)
{
    for (unsigned i = 0; i < config->core_count; i++) {
        free(config->cores[i].core_device.regs);
        free(config->cores[i].source_device.regs);
    }
    free(config->itm.device.regs);
    free(config->command);
    for (struct kept *k = config->strings; k;) {
        struct kept *next = k->next;
        free(k);
        k = next;
    }
    memset(config, 0, sizeof *config);
}
