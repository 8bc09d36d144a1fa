/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/config/config.h"

#include "config_internal.h"
#include "drivers/ini/ini_reader.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define CORE_PREFIX "core"

/* The NAME of "core NAME", or NULL. */
static const char *core_of_section(const char *section)
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

static int config_begin_core(struct config_parser *p, unsigned line, const char *name)
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

static int config_begin_section(struct config_parser *p, unsigned line, const char *section)
{
    const char *name = core_of_section(section);
    if (name)
        return config_begin_core(p, line, name);
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
static int config_unknown_key(struct config_parser *p, const struct ini_entry *e,
                              const char *section)
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
static bool is_access_section(const char *section)
{
    static const char *const sections[] = {"gdb", "tls", "access", "limits", "metrics"};
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (strcmp(section, sections[i]) == 0)
            return true;
    return false;
}

static int config_take_key(struct config_parser *p, const struct ini_entry *e)
{
    bool core = core_of_section(e->section);
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
        return config_unknown_key(p, e, section);
    size_t count;
    unsigned *line = &(core ? &p->cores[i] : &p->lines)->key[key - config_keys(&count)];
    if (*line)
        return config_fail(p, e->line, e->key, "comes twice (first in line %u)", *line);
    *line = e->line;
    if (p->access_only && !is_access_section(section))
        return BT_OK; /* $RUN has no value there, and the plugin need not be installed */
    void *base = core ? (void *)&p->config->cores[i] : p->config;
    return config_store(p, e->line, key, base, e->value);
}

/* [setup] is checked by itself, and the others are by their keys alone. */
static unsigned group_of_section(const char *section)
{
    static const struct {
        const char *section;
        enum config_group group;
    } groups[] = {
        {"target", CONFIG_GROUP_TARGET},   {"probe", CONFIG_GROUP_TARGET},
        {"flash", CONFIG_GROUP_TARGET},    {"trace", CONFIG_GROUP_TRACE},
        {"capture", CONFIG_GROUP_TRACE},   {"coresight", CONFIG_GROUP_TRACE},
        {"gdb", CONFIG_GROUP_ACCESS},      {"tls", CONFIG_GROUP_ACCESS},
        {"access", CONFIG_GROUP_ACCESS},   {"limits", CONFIG_GROUP_ACCESS},
        {"history", CONFIG_GROUP_HISTORY},
    };
    if (strncmp(section, CORE_PREFIX, strlen(CORE_PREFIX)) == 0)
        return CONFIG_GROUP_CORES;
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strcmp(groups[i].section, section) == 0)
            return groups[i].group;
    return 0;
}

/* A mistake is noted, and the next lines are read. */
static int config_take_entry(void *user, const struct ini_entry *e)
{
    struct config_parser *p = user;
    int error = BT_OK;
    if (!e->key) {
        error = config_begin_section(p, e->line, e->section);
        p->skips = error != 0;
    } else if (!p->skips) {
        error = config_take_key(p, e);
    }
    if (error == BT_ERR_FORMAT)
        p->suspect |= p->skips ? CONFIG_GROUP_ALL : group_of_section(e->section);
    return error == BT_ERR_FORMAT ? BT_OK : error;
}

/* Keys that are not there: their default, or an error. */
static int config_complete_key(struct config_parser *p, const struct config_key *key, size_t number,
                               const struct config_lines *lines, void *base, const char *section)
{
    if (lines->key[number])
        return BT_OK;
    if (key->required && !(p->suspect & group_of_section(section))) {
        char label[128];
        snprintf(label, sizeof label, "[%s] %s", section, key->name);
        return config_fail(p, lines->section, label, "is missing; allowed: %s", key->allowed);
    }
    return key->initial ? config_store(p, 0, key, base, key->initial) : BT_OK;
}

static int config_complete(struct config_parser *p)
{
    struct config *c = p->config;
    size_t count;
    unsigned missing = 0; /* groups: a key of them */
    const struct config_key *keys = config_keys(&count);
    for (size_t k = 0; k < count; k++) {
        bool core = strcmp(keys[k].section, CORE_PREFIX) == 0;
        if (p->access_only && !is_access_section(keys[k].section))
            continue;
        int error =
            core ? BT_OK : config_complete_key(p, &keys[k], k, &p->lines, c, keys[k].section);
        for (unsigned i = 0; core && i < c->core_count; i++) {
            char section[80];
            snprintf(section, sizeof section, "core %s", c->cores[i].name);
            int other = config_complete_key(p, &keys[k], k, &p->cores[i], &c->cores[i], section);
            error = error ? error : other;
        }
        if (error == BT_ERR_NOMEM)
            return error;
        missing |= error ? group_of_section(keys[k].section) : 0;
    }
    p->suspect |= missing;
    return BT_OK;
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
    char dir[PATH_MAX];
    bool access_only = names && names->access_only;
    folder_of(names && names->dir_of ? names->dir_of : path, dir, sizeof dir);
    memset(config, 0, sizeof *config);
    *why = (struct message){.text = ""};
    struct config_parser p = {.config = config,
                              .names = names,
                              .path = path,
                              .dir = dir,
                              .why = why,
                              .access_only = access_only};
    if (strlen(path) >= sizeof config->path)
        return config_fail(&p, 0, "file", "its name is too long");
    snprintf(config->path, sizeof config->path, "%s", path);
    struct message broken;
    int error =
        ini_reader_text(text, length, INI_COMMENTS_AFTER_BLANK, config_take_entry, &p, &broken);
    if (!error)
        error = config_complete(&p);
    if (!error)
        error = config_check(&p);
    if (error && error != BT_ERR_FORMAT)
        message_default(&broken, error);
    if (*broken.text) {
        message_place(&broken, path);
        config_mistake(&p, &broken);
    }
    if (!*config->name)
        default_name(config);
    return error == BT_ERR_NOMEM ? error : p.failed ? BT_ERR_FORMAT : BT_OK;
}

/* What is different when the file is read again. */

enum when { RESTART, NOW, ALL, COMERS };

/* All others want a restart: threads, probes and histories are made of them. ALL, COMERS: the
 * caller has seen to it. */
static const struct {
    const char *section, *name;
    enum when when;
} at_run_time[] = {
    {"target", "reset", NOW},    {"target", "at_exit", NOW},     {"probe", "at_exit", NOW},
    {"trace", "drain_ms", NOW},  {"gdb", "others", NOW},         {"limits", "clients", NOW},
    {"limits", "packet", NOW},   {"limits", "memory", NOW},      {"limits", "idle", NOW},
    {"limits", "silent", NOW},   {"limits", "vanished", COMERS}, {"target", "deadline", NOW},
    {"record", "dir", NOW},      {"gdb", "allow", ALL},          {"tls", "ca", ALL},
    {"tls", "cert", COMERS},     {"tls", "key", COMERS},         {"tls", "allow", ALL},
    {"tls", "crl", ALL},         {"tls", "client_eku", ALL},     {"access", "control", ALL},
    {"access", "observe", ALL},  {"access", "query", ALL},       {"access", "none", ALL},
    {"limits", "identity", NOW}, {"tls", "handshake", COMERS},   {"target", "monitor", NOW},
};

static enum when config_key_holds(const struct config_key *key)
{
    for (size_t i = 0; i < sizeof at_run_time / sizeof *at_run_time; i++)
        if (strcmp(at_run_time[i].section, key->section) == 0 &&
            strcmp(at_run_time[i].name, key->name) == 0)
            return at_run_time[i].when;
    return RESTART;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_words(char *const *a, char *const *b)
{
    if (!a || !b)
        return a == b;
    for (; *a && *b; a++, b++)
        if (strcmp(*a, *b) != 0)
            return false;
    return *a == *b;
}

/* As many as fit, NULL behind the last. */
static bool same_names(const char *const *a, const char *const *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!same_text(a[i], b[i]))
            return false;
    return true;
}

static bool same_field(const struct config_key *key, const void *a, const void *b)
{
    const char *x = (const char *)a + key->offset, *y = (const char *)b + key->offset;
    if (key->kind == CONFIG_STRING)
        return same_text(*(char *const *)x, *(char *const *)y);
    if (key->kind == CONFIG_WORDS)
        return same_words(*(char **const *)x, *(char **const *)y);
    if (key->kind == CONFIG_NAMES)
        return same_names((const char *const *)x, (const char *const *)y,
                          key->size / sizeof(char *));
    return memcmp(x, y, key->size) == 0;
}

static bool same_setup(const struct config *a, const struct config *b)
{
    if (a->setup_count != b->setup_count)
        return false;
    for (unsigned i = 0; i < a->setup_count; i++)
        if (a->setup[i].address != b->setup[i].address || a->setup[i].value != b->setup[i].value ||
            a->setup[i].how != b->setup[i].how)
            return false;
    return true;
}

static bool same_registers(const struct snapshot_device *a, const struct snapshot_device *b)
{
    if (a->reg_count != b->reg_count)
        return false;
    for (size_t i = 0; i < a->reg_count; i++)
        if (strcmp(a->regs[i].name, b->regs[i].name) != 0 || a->regs[i].value != b->regs[i].value)
            return false;
    return true;
}

static bool same_core(const struct config_core *a, const struct config_core *b)
{
    size_t count;
    const struct config_key *keys = config_keys(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(keys[i].section, "core") == 0 && !same_field(&keys[i], a, b))
            return false;
    return strcmp(a->name, b->name) == 0 && same_registers(&a->core_device, &b->core_device) &&
           same_registers(&a->source_device, &b->source_device);
}

static bool same_cores(const struct config *a, const struct config *b)
{
    if (a->core_count != b->core_count)
        return false;
    for (unsigned i = 0; i < a->core_count; i++)
        if (!same_core(&a->cores[i], &b->cores[i]))
            return false;
    return true;
}

static unsigned report_changed(const struct console *c, const char *what, bool same)
{
    if (!same)
        console_print(c, "%s has changed: it holds after a restart\n", what);
    return !same;
}

/* Workers may read a number meanwhile. */
static void config_take_over(const struct config_key *k, void *to, const void *from)
{
    if (k->kind == CONFIG_NUMBER && k->size == sizeof(unsigned))
        atomic_store((_Atomic unsigned *)to, *(const unsigned *)from);
    else
        memcpy(to, from, k->size);
}

void config_reload(const struct config *before, const struct config *now, struct config *running,
                   const struct console *c)
{
    static const char *const holds[] = {[RESTART] = "after a restart",
                                        [NOW] = "from now on",
                                        [ALL] = "from now on, for those who are here, too",
                                        [COMERS] = "for those who come from now on"};
    size_t count;
    unsigned changes = 0;
    const struct config_key *keys = config_keys(&count);
    for (size_t i = 0; i < count; i++) {
        const struct config_key *k = &keys[i];
        enum when when = config_key_holds(k);
        if (k->kind == CONFIG_SETUP || strcmp(k->section, "core") == 0 ||
            same_field(k, before, now))
            continue;
        changes++;
        if (when == NOW)
            config_take_over(k, (char *)running + k->offset, (const char *)now + k->offset);
        console_print(c, "[%s] %s has changed: it holds %s\n", k->section, k->name, holds[when]);
    }
    changes += report_changed(c, "[setup]", same_setup(before, now));
    changes += report_changed(c, "a [core] section", same_cores(before, now));
    if (!changes)
        console_print(c, "%s has not changed\n", now->path);
}
