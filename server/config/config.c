/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/config/config.h"

#include "config_internal.h"
#include "drivers/ini/ini_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Messages, memory. */

int config_fail(struct config_parser *p, unsigned line, const char *key, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (line)
        message_set(p->why, "%s:%u: %s: %s", p->path, line, key, text);
    else
        message_set(p->why, "%s: %s: %s", p->path, key, text);
    p->failed = true;
    return BT_ERR_FORMAT;
}

void config_list(char *text, size_t size, const char *name)
{
    static const char more[] = "...";
    size_t n = strlen(text), end = sizeof more - 1;
    if (n >= end && strcmp(text + n - end, more) == 0)
        return;
    bool fits = n + strlen(name) + sizeof ", , ..." <= size;
    snprintf(text + n, size - n, "%s%s", n ? ", " : "", fits ? name : more);
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

void config_release(struct config *config)
{
    for (unsigned i = 0; i < config->core_count; i++) {
        free(config->cores[i].core_device.regs);
        free(config->cores[i].source_device.regs);
    }
    free(config->command);
    for (struct kept *k = config->strings; k;) {
        struct kept *next = k->next;
        free(k);
        k = next;
    }
    memset(config, 0, sizeof *config);
}

#define CORE_PREFIX "core"

/* The NAME of "core NAME", or NULL. */
static const char *core_name(const char *section)
{
    size_t n = strlen(CORE_PREFIX);
    if (strncmp(section, CORE_PREFIX, n) != 0 || (section[n] && !strchr(" \t", section[n])))
        return NULL;
    return section + n + strspn(section + n, " \t");
}

/* Names go into a recording's ini files and into GDB's list of threads. */
static bool valid_core_name(const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++)
        if (name[i] <= ' ' || name[i] > '~' || strchr("=;#[](),\"'/\\", name[i]))
            return false;
    return length > 0 && length < sizeof((struct config_core *)0)->name;
}

static int begin_core(struct config_parser *p, unsigned line, const char *name)
{
    struct config *c = p->config;
    if (!valid_core_name(name))
        return config_fail(p, line, "[core NAME]",
                           "'%s' is not a name; allowed: 1 to 63 characters without blanks and "
                           "without = ; # [ ] ( ) , \" ' / \\",
                           name);
    for (unsigned i = 0; i < c->core_count; i++)
        if (strcmp(c->cores[i].name, name) == 0)
            return config_fail(p, line, name, "[core %s] comes twice (first in line %u)", name,
                               p->cores[i].section);
    if (c->core_count == CONFIG_MAX_CORES)
        return config_fail(p, line, name, "more than %d cores", CONFIG_MAX_CORES);
    snprintf(c->cores[c->core_count].name, sizeof c->cores[0].name, "%s", name);
    p->cores[c->core_count++].section = line;
    return BT_OK;
}

static int begin_section(struct config_parser *p, unsigned line, const char *section)
{
    const char *name = core_name(section);
    if (name)
        return begin_core(p, line, name);
    size_t count;
    bool known = false;
    const struct config_key *keys = config_keys(&count);
    struct config_nearest nearest = {.word = section};
    char allowed[400] = "";
    for (size_t i = 0, n = 0; i < count; i++) {
        if (i && strcmp(keys[i].section, keys[i - 1].section) == 0)
            continue;
        known |= strcmp(keys[i].section, section) == 0;
        config_nearest_offer(&nearest, keys[i].section);
        bool core = strcmp(keys[i].section, CORE_PREFIX) == 0;
        n += (size_t)snprintf(allowed + n, sizeof allowed - n, "%s[%s%s]", i ? ", " : "",
                              keys[i].section, core ? " NAME" : "");
    }
    if (known)
        return BT_OK;
    char label[INI_READER_MAX_SECTION + 3], hint[300] = "";
    snprintf(label, sizeof label, "[%s]", section);
    if (nearest.best)
        snprintf(hint, sizeof hint, "did you mean [%s]? ", nearest.best);
    return config_fail(p, line, label, "is not a section; %sallowed: %s", hint, allowed);
}

/* A key that the section does not have: where it belongs, or what it may have been meant to be. */
static int unknown_key(struct config_parser *p, const struct ini_entry *e, const char *section)
{
    size_t count, regs = 0;
    char allowed[CONFIG_LIST_SIZE] = "";
    const struct config_key *keys = config_keys(&count);
    struct config_nearest nearest = {.word = e->key};
    const char *elsewhere = NULL;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(keys[i].section, section) != 0) {
            if (!elsewhere && strcmp(keys[i].name, e->key) == 0)
                elsewhere = keys[i].section;
            continue;
        }
        config_nearest_offer(&nearest, keys[i].name);
        config_list(allowed, sizeof allowed, keys[i].name);
    }
    bool core = strcmp(section, CORE_PREFIX) == 0;
    const struct config_register *registers = config_registers(&regs);
    for (size_t i = 0; i < regs; i++) {
        if (strcmp(registers[i].name, e->key) == 0)
            elsewhere = "core NAME";
        if (!core)
            continue;
        config_nearest_offer(&nearest, registers[i].name);
        config_list(allowed, sizeof allowed, registers[i].name);
    }
    if (nearest.best)
        return config_fail(p, e->line, e->key,
                           "is not a key of [%s]; did you mean '%s'? allowed: %s", e->section,
                           nearest.best, allowed);
    if (elsewhere && !core)
        return config_fail(p, e->line, e->key, "is not a key of [%s] but of [%s]; allowed here: %s",
                           e->section, elsewhere, allowed);
    return config_fail(p, e->line, e->key, "is not a key of [%s]; allowed: %s", e->section,
                       allowed);
}

/* What a recording is served with. */
static bool is_of_access(const char *section)
{
    static const char *const sections[] = {"gdb", "tls", "limits", "metrics"};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (strcmp(section, sections[i]) == 0)
            return true;
    return false;
}

static int take_key(struct config_parser *p, const struct ini_entry *e)
{
    bool core = core_name(e->section) != NULL;
    unsigned i = p->config->core_count - 1; /* meant for a core only: its section is the last */
    const char *section = core ? CORE_PREFIX : e->section;
    if (!*e->section)
        return config_fail(p, e->line, e->key, "stands before the first section");
    if (core && config_find_register(e->key))
        return config_add_register(p, e->line, i, e->key, e->value);
    if (strcmp(section, "setup") == 0)
        return config_add_setup(p, e->line, e->key, e->value);
    const struct config_key *key = config_find_key(section, e->key);
    if (!key)
        return unknown_key(p, e, section);
    size_t count;
    unsigned *line = &(core ? &p->cores[i] : &p->lines)->key[key - config_keys(&count)];
    if (*line)
        return config_fail(p, e->line, e->key, "comes twice (first in line %u)", *line);
    *line = e->line;
    if (p->access_only && !is_of_access(section))
        return BT_OK; /* $RUN has no value there, and the plugin need not be installed */
    void *base = core ? (void *)&p->config->cores[i] : p->config;
    return config_store(p, e->line, key, base, e->value);
}

static int take_entry(void *user, const struct ini_entry *e, struct ini_error *err)
{
    struct config_parser *p = user;
    int error = e->key ? take_key(p, e) : begin_section(p, e->line, e->section);
    if (error && !p->failed)
        snprintf(err->text, sizeof err->text, "%s", bt_strerror(error));
    return error;
}

/* Keys that are not there: their default, or an error. */
static int complete(struct config_parser *p, const struct config_key *key, size_t number,
                    const struct config_lines *lines, void *base, const char *section)
{
    if (lines->key[number])
        return BT_OK;
    if (key->required) {
        char label[128];
        snprintf(label, sizeof label, "[%s] %s", section, key->name);
        return config_fail(p, lines->section, label, "is missing; allowed: %s", key->allowed);
    }
    return key->initial ? config_store(p, 0, key, base, key->initial) : BT_OK;
}

static int complete_all(struct config_parser *p)
{
    struct config *c = p->config;
    size_t count;
    const struct config_key *keys = config_keys(&count);
    for (size_t k = 0; k < count; k++) {
        bool core = strcmp(keys[k].section, CORE_PREFIX) == 0;
        if (p->access_only && !is_of_access(keys[k].section))
            continue;
        int error = core ? BT_OK : complete(p, &keys[k], k, &p->lines, c, keys[k].section);
        for (unsigned i = 0; core && i < c->core_count && !error; i++) {
            char section[80];
            snprintf(section, sizeof section, "core %s", c->cores[i].name);
            error = complete(p, &keys[k], k, &p->cores[i], &c->cores[i], section);
        }
        if (error)
            return error;
    }
    return BT_OK;
}

unsigned config_line_of(const struct config_parser *p, const char *section, const char *name)
{
    size_t count;
    return p->lines.key[config_find_key(section, name) - config_keys(&count)];
}

/* A history keeps a power of two of bytes, and in them at least two checkpoints. */
static int check_history(struct config_parser *p)
{
    size_t memory = p->config->memory;
    while (memory & (memory - 1))
        memory &= memory - 1;
    p->config->memory = memory;
    if (p->config->checkpoint <= memory / 2)
        return BT_OK;
    unsigned line = config_line_of(p, "history", "checkpoint");
    if (!line)
        return config_fail(p, config_line_of(p, "history", "memory"), "memory",
                           "must hold two checkpoints; allowed: at least %zu, or a smaller "
                           "'checkpoint'",
                           2 * p->config->checkpoint);
    return config_fail(p, line, "checkpoint",
                       "is more than half of 'memory' (%zu bytes); allowed: at most %zu", memory,
                       memory / 2);
}

/* The file's name without its folder and ending. */
static void default_name(struct config *c)
{
    const char *slash = strrchr(c->path, '/');
    const char *base = slash ? slash + 1 : c->path;
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    if (length >= sizeof c->name)
        length = sizeof c->name - 1;
    memcpy(c->name, base, length);
    c->name[length] = '\0';
}

static int check_board(struct config_parser *p)
{
    int error = config_check_target(p);
    if (!error)
        error = config_check_trace(p);
    if (!error)
        error = check_history(p);
    if (!error)
        error = config_check_cores(p);
    return error;
}

static int parse(struct config *config, const char *text, size_t length, const char *path,
                 const char *dir, const struct config_names *names, bool access_only,
                 struct message *why)
{
    memset(config, 0, sizeof *config);
    why->text[0] = '\0';
    struct config_parser p = {.config = config,
                              .names = names,
                              .path = path,
                              .dir = dir,
                              .why = why,
                              .access_only = access_only};
    struct ini_error err = {0};
    if (strlen(path) >= sizeof config->path)
        return config_fail(&p, 0, "file", "its name is too long");
    snprintf(config->path, sizeof config->path, "%s", path);
    int error = ini_reader_text(text, length, INI_COMMENTS_AFTER_BLANK, take_entry, &p, &err);
    if (error && !p.failed && err.line)
        message_set(why, "%s:%u: %s", path, err.line, err.text);
    else if (error && !p.failed)
        message_set(why, "%s: %s", path, err.text);
    if (error)
        return error == BT_ERR_NOMEM ? error : BT_ERR_FORMAT;
    error = complete_all(&p);
    if (!error)
        error = config_check_access(&p);
    if (!error && !access_only)
        error = check_board(&p);
    if (error && !p.failed)
        message_set(why, "%s: %s", path, bt_strerror(error));
    if (!*config->name)
        default_name(config);
    return error && error != BT_ERR_NOMEM ? BT_ERR_FORMAT : error;
}

static void folder_of(const char *path, char *dir, size_t size)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        snprintf(dir, size, ".");
    else
        snprintf(dir, size, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

int config_parse(struct config *config, const char *text, size_t length, const char *path,
                 const struct config_names *names, struct message *why)
{
    char dir[sizeof config->path];
    folder_of(path, dir, sizeof dir);
    return parse(config, text, length, path, dir, names, false, why);
}

static int read_file(const char *path, char **text, size_t *length, struct message *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int error = fd < 0 ? BT_ERR_IO : ini_reader_load(fd, text, length);
    if (error)
        message_set(why, "cannot read '%s': %s", path,
                    error == BT_ERR_IO ? strerror(errno) : bt_strerror(error));
    if (fd >= 0)
        close(fd);
    return error == BT_ERR_RANGE ? BT_ERR_FORMAT : error;
}

/* The program that is started may run in another folder: $DIR is absolute. */
static int load(struct config *config, const char *path, const struct config_names *names,
                bool access_only, struct message *why)
{
    char found[PATH_MAX], real[PATH_MAX], dir[PATH_MAX], *text;
    size_t length, end = strlen(path);
    memset(config, 0, sizeof *config);
    bool bare = !strchr(path, '/') && (end < 5 || strcmp(path + end - 5, ".conf") != 0);
    if (bare) {
        int error = config_find_board(path, found, sizeof found, why);
        if (error)
            return error;
        path = found;
    }
    int error = read_file(path, &text, &length, why);
    if (error)
        return error;
    folder_of(realpath(path, real) ? real : path, dir, sizeof dir);
    error = parse(config, text, length, path, dir, names, access_only, why);
    free(text);
    return error;
}

int config_load(struct config *config, const char *path, const struct config_names *names,
                struct message *why)
{
    return load(config, path, names, false, why);
}

int config_load_access(struct config *config, const char *path, struct message *why)
{
    static const struct config_names none;
    return load(config, path, &none, true, why);
}
