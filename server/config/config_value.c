/* SPDX-License-Identifier: BSD-3-Clause */
/* Values of a board file's keys: numbers, addresses, words, dollar names. */
#include "config_internal.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#define WORDS_MAX 256

static int digit_of(char c, unsigned base)
{
    int d = c >= '0' && c <= '9'   ? c - '0'
            : c >= 'a' && c <= 'f' ? c - 'a' + 10
            : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                   : 16;
    return d < (int)base ? d : -1;
}

const char *config_scan_number(const char *text, uint64_t *value)
{
    unsigned base = text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
    const char *begin = base == 16 ? text + 2 : text, *s = begin;
    *value = 0;
    for (; digit_of(*s, base) >= 0; s++) {
        if (*value > (UINT64_MAX - 15) / base)
            return NULL;
        *value = *value * base + (unsigned)digit_of(*s, base);
    }
    return s == begin ? NULL : s;
}

bool config_parse_number(const char *text, uint64_t *value)
{
    const char *end = config_scan_number(text, value);
    return end && *end == '\0';
}

bool config_parse_size(const char *text, uint64_t *value)
{
    static const char units[] = "KMG";
    const char *end = config_scan_number(text, value);
    if (!end)
        return false;
    const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    if (!unit)
        return *end == '\0';
    unsigned shift = 10 * (unsigned)(unit - units + 1);
    if (*value > UINT64_MAX >> shift)
        return false;
    *value <<= shift;
    return end[1] == '\0';
}

static int store_address(struct config_parser *p, unsigned line, const struct config_key *key,
                         struct address *field, const char *value)
{
    const char *problem = address_problem(value, field);
    if (problem)
        return config_fail(p, line, key->name, "'%s': %s; allowed: %s", value, problem,
                           key->allowed);
    if (key->max & CONFIG_ADDRESS_LOOPBACK && !address_is_loopback(field))
        return config_fail(p, line, key->name,
                           "'%s' is not an address of this machine alone, and others are refused; "
                           "allowed: %s",
                           value, key->allowed);
    if (field->kind == ADDRESS_TCP && field->port == 0 && !(key->max & CONFIG_ADDRESS_ANY_PORT))
        return config_fail(p, line, key->name, "'%s': port 0 cannot be reached; allowed: %s", value,
                           key->allowed);
    return BT_OK;
}

/* Dollar names. */

/* What $NAME stands for; NULL with *why filled if it has no value. */
static const char *name_value(struct config_parser *p, unsigned line, const char *key,
                              const char *name, size_t length, char *plugin, size_t size)
{
    if (length == 3 && memcmp(name, "DIR", 3) == 0)
        return p->dir;
    if (length == 3 && memcmp(name, "RUN", 3) == 0) {
        if (p->names && p->names->run)
            return p->names->run;
        config_fail(p, line, key, "$RUN has no value here");
        return NULL;
    }
    if (length == 6 && memcmp(name, "PLUGIN", 6) == 0) {
        if (p->names && p->names->plugin)
            return p->names->plugin;
        if (config_find_plugin(plugin, size))
            return plugin;
        config_fail(p, line, key,
                    "$PLUGIN: the virtual board's plugin is neither beside the program nor "
                    "installed (%s); 'make virtual-board' builds it",
                    plugin);
        return NULL;
    }
    config_fail(p, line, key,
                "'$%.*s' stands for nothing; allowed: $RUN, $DIR, $PLUGIN, and $$ for a dollar "
                "sign",
                (int)length, name);
    return NULL;
}

int config_expand(struct config_parser *p, unsigned line, const char *key, const char *text,
                  char *out, size_t size)
{
    char plugin[CONFIG_VALUE_MAX];
    size_t used = 0;
    while (*text) {
        const char *piece = text;
        size_t length = strcspn(text, "$");
        text += length;
        if (length == 0 && text[1] == '$') {
            length = 1;
            text += 2;
        } else if (length == 0) {
            const char *name = ++text;
            while (*text >= 'A' && *text <= 'Z')
                text++;
            piece = name_value(p, line, key, name, (size_t)(text - name), plugin, sizeof plugin);
            if (!piece)
                return BT_ERR_FORMAT;
            length = strlen(piece);
        }
        if (length >= size - used)
            return config_fail(p, line, key, "is too long: at most %zu characters", size - 1);
        memcpy(out + used, piece, length);
        used += length;
    }
    out[used] = '\0';
    return BT_OK;
}

/* The next word of *text, without its quotes, to `word`. 1, 0 at the end, or an error. */
static int next_word(struct config_parser *p, unsigned line, const char *key, const char **text,
                     char *word)
{
    const char *s = *text + strspn(*text, " \t");
    size_t n = 0;
    bool quoted = false;
    if (!*s)
        return 0;
    for (; *s && (quoted || (*s != ' ' && *s != '\t')); s++) {
        if (*s == '"')
            quoted = !quoted;
        else if (n + 1 < CONFIG_VALUE_MAX)
            word[n++] = *s;
        else
            return config_fail(p, line, key, "a word is longer than %d characters",
                               CONFIG_VALUE_MAX - 1);
    }
    if (quoted)
        return config_fail(p, line, key, "a double quote is not closed");
    word[n] = '\0';
    *text = s;
    return 1;
}

/* Names are replaced after the splitting: a folder with blanks stays one word. */
static int store_words(struct config_parser *p, unsigned line, const struct config_key *key,
                       char ***field, const char *value)
{
    char word[CONFIG_VALUE_MAX], expanded[CONFIG_VALUE_MAX];
    size_t count = 0;
    *field = calloc(WORDS_MAX + 1, sizeof **field);
    if (!*field)
        return BT_ERR_NOMEM;
    for (;;) {
        int more = next_word(p, line, key->name, &value, word);
        if (more <= 0)
            return more;
        if (count == WORDS_MAX)
            return config_fail(p, line, key->name, "has more than %d words", WORDS_MAX);
        int error = config_expand(p, line, key->name, word, expanded, sizeof expanded);
        if (error)
            return error;
        if (count == 0 && !*expanded)
            return config_fail(p, line, key->name, "the program's name is empty; allowed: %s",
                               key->allowed);
        (*field)[count] = config_keep(p->config, expanded);
        if (!(*field)[count++])
            return BT_ERR_NOMEM;
    }
}

static int store_format(struct config_parser *p, unsigned line, const struct config_key *key,
                        const char *value)
{
    p->config->formatted = strcmp(value, "raw") != 0;
    p->config->orbflow = strcmp(value, "orbflow") == 0;
    bool aligned = p->config->orbflow || strcmp(value, "frames") == 0;
    p->config->mode = aligned ? FORMATTER_ALIGNED : FORMATTER_SYNC;
    if (p->config->formatted && !aligned && strcmp(value, "tpiu") != 0)
        return config_fail(p, line, key->name, "'%s' is not a format; allowed: %s", value,
                           key->allowed);
    return BT_OK;
}

static int store_text(struct config_parser *p, unsigned line, const struct config_key *key,
                      char *field, const char *value)
{
    if (strlen(value) >= key->size)
        return config_fail(p, line, key->name, "is too long: at most %zu characters",
                           key->size - 1);
    memcpy(field, value, strlen(value) + 1);
    return BT_OK;
}

static int store_number(struct config_parser *p, unsigned line, const struct config_key *key,
                        void *field, const char *value)
{
    uint64_t n;
    bool ok =
        key->kind == CONFIG_SIZE ? config_parse_size(value, &n) : config_parse_number(value, &n);
    if (!ok || n < key->min || n > key->max || n > SIZE_MAX)
        return config_fail(p, line, key->name, "'%s' is not possible; allowed: %s", value,
                           key->allowed);
    if (key->kind == CONFIG_SIZE)
        *(size_t *)field = (size_t)n;
    else
        *(unsigned *)field = (unsigned)n;
    return BT_OK;
}

int config_store(struct config_parser *p, unsigned line, const struct config_key *key, void *base,
                 const char *value)
{
    char text[CONFIG_VALUE_MAX];
    void *field = (char *)base + key->offset;
    if (!*value)
        return config_fail(p, line, key->name, "has no value; allowed: %s", key->allowed);
    if (key->kind == CONFIG_WORDS)
        return store_words(p, line, key, field, value);
    if (key->kind == CONFIG_LISTEN || key->kind == CONFIG_NETWORKS || key->kind == CONFIG_NAMES)
        return config_store_access(p, line, key, field, value);
    int error = config_expand(p, line, key->name, value, text, sizeof text);
    if (error)
        return error;
    switch (key->kind) {
    case CONFIG_TEXT:
        return store_text(p, line, key, field, text);
    case CONFIG_STRING:
        *(char **)field = config_keep(p->config, text);
        return *(char **)field ? BT_OK : BT_ERR_NOMEM;
    case CONFIG_ADDRESS:
        return store_address(p, line, key, field, text);
    case CONFIG_SWITCH:
        *(bool *)field = strcmp(text, "yes") == 0;
        if (!*(bool *)field && strcmp(text, "no") != 0)
            return config_fail(p, line, key->name, "'%s' is not possible; allowed: %s", text,
                               key->allowed);
        return BT_OK;
    case CONFIG_FORMAT:
        return store_format(p, line, key, text);
    case CONFIG_SIZE:
    case CONFIG_NUMBER:
        return store_number(p, line, key, field, text);
    case CONFIG_MODE:
    case CONFIG_OWNER:
        return config_store_access(p, line, key, field, text);
    default:
        return config_store_hardware(p, line, key, field, text);
    }
}

int config_add_setup(struct config_parser *p, unsigned line, const char *address, const char *value)
{
    struct config *c = p->config;
    const char *allowed = config_find_key("setup", "ADDRESS")->allowed;
    struct config_setup *s = &c->setup[c->setup_count];
    uint64_t where, bits;
    if (c->setup_count == CONFIG_MAX_SETUP)
        return config_fail(p, line, address, "more than %d lines in [setup]", CONFIG_MAX_SETUP);
    *s = (struct config_setup){.line = line};
    if (strncmp(value, "set ", 4) == 0)
        s->how = CONFIG_SETUP_SET;
    else if (strncmp(value, "clear ", 6) == 0)
        s->how = CONFIG_SETUP_CLEAR;
    const char *number = s->how == CONFIG_SETUP_WRITE ? value : strchr(value, ' ') + 1;
    if (!config_parse_number(address, &where) || where > UINT32_MAX || where % 4)
        return config_fail(p, line, address, "is not the address of a word; allowed: %s", allowed);
    if (!config_parse_number(number, &bits) || bits > UINT32_MAX)
        return config_fail(p, line, address, "'%s' is not a word; allowed: %s", value, allowed);
    s->address = (uint32_t)where;
    s->value = (uint32_t)bits;
    c->setup_count++;
    return BT_OK;
}
