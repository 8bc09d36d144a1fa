/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/config/config_reload.h"

#include "config_keys.h"

#include <string.h>

enum when { RESTART, NOW, COMERS };

/* All others want a restart: threads, probes and histories are made of them. COMERS: the caller has
 * seen to it. */
static const struct {
    const char *section, *name;
    enum when when;
} at_run_time[] = {
    {"target", "reset", NOW},     {"target", "at_exit", NOW}, {"probe", "at_exit", NOW},
    {"trace", "drain_ms", NOW},   {"gdb", "others", NOW},     {"limits", "clients", NOW},
    {"limits", "packet", NOW},    {"limits", "memory", NOW},  {"limits", "idle", NOW},
    {"record", "dir", NOW},       {"gdb", "allow", COMERS},   {"tls", "ca", COMERS},
    {"tls", "cert", COMERS},      {"tls", "key", COMERS},     {"tls", "allow", COMERS},
    {"tls", "handshake", COMERS},
};

static enum when when_of(const struct config_key *key)
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

static unsigned report_late(const struct console *c, const char *what, bool same)
{
    if (!same)
        console_print(c, "%s has changed: it holds after a restart\n", what);
    return !same;
}

void config_reload(const struct config *before, const struct config *now, struct config *running,
                   const struct console *c)
{
    static const char *const holds[] = {[RESTART] = "after a restart",
                                        [NOW] = "from now on",
                                        [COMERS] = "for those who come from now on"};
    size_t count;
    unsigned changes = 0;
    const struct config_key *keys = config_keys(&count);
    for (size_t i = 0; i < count; i++) {
        const struct config_key *k = &keys[i];
        enum when when = when_of(k);
        if (k->kind == CONFIG_SETUP || strcmp(k->section, "core") == 0 ||
            same_field(k, before, now))
            continue;
        changes++;
        if (when == NOW)
            memcpy((char *)running + k->offset, (const char *)now + k->offset, k->size);
        console_print(c, "[%s] %s has changed: it holds %s\n", k->section, k->name, holds[when]);
    }
    changes += report_late(c, "[setup]", same_setup(before, now));
    changes += report_late(c, "a [core] section", same_cores(before, now));
    if (!changes)
        console_print(c, "%s has not changed\n", now->path);
}
