/* SPDX-License-Identifier: BSD-3-Clause */
/* snapshot.ini, and the order in which a recording's files are read. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/snapshot/snapshot_internal.h"

#define INDEX_FILE "snapshot.ini"

/* A line of snapshot.ini that names another file. */
struct reference {
    const char *path;
    unsigned line;
};

struct index_parser {
    struct snapshot_loader *ld;
    struct reference *devices;
    size_t device_count;
    struct reference metadata; /* path NULL: none */
};

static int no_memory(struct snapshot_loader *ld)
{
    return snapshot_fail(ld->err, BT_ERR_NOMEM, INDEX_FILE, 0, "out of memory");
}

static int snapshot_unquoted(struct snapshot_loader *ld, const char *value, const char **out)
{
    size_t length = snapshot_unquote(&value);
    *out = snapshot_string(ld->snap, value, length);
    return *out ? 0 : no_memory(ld);
}

static int given_twice(struct snapshot_loader *ld, const struct ini_entry *entry)
{
    return snapshot_fail(ld->err, BT_ERR_FORMAT, INDEX_FILE, entry->line, "'%s' is given twice",
                         entry->key);
}

static int snapshot_unknown_key(struct snapshot_loader *ld, const struct ini_entry *entry)
{
    return snapshot_warn(ld, INDEX_FILE, entry->line, "unknown key '%s' in [%s]", entry->key,
                         entry->section);
}

static int snapshot_key(struct index_parser *p, const struct ini_entry *entry)
{
    struct snapshot_loader *ld = p->ld;
    if (strcmp(entry->key, "description") == 0) {
        if (ld->snap->description)
            return given_twice(ld, entry);
        return snapshot_unquoted(ld, entry->value, &ld->snap->description);
    }
    if (strcmp(entry->key, "version") != 0)
        return snapshot_unknown_key(ld, entry);
    if (ld->snap->version)
        return given_twice(ld, entry);
    if (strcmp(entry->value, "1.0") != 0 && strcmp(entry->value, "1") != 0)
        return snapshot_fail(ld->err, BT_ERR_UNSUPPORTED, INDEX_FILE, entry->line,
                             "version is '%s', only 1.0 is known", entry->value);
    return snapshot_unquoted(ld, entry->value, &ld->snap->version);
}

static int device_list_key(struct index_parser *p, const struct ini_entry *entry)
{
    int error = 0;
    struct reference *place =
        snapshot_grow(p->ld, &p->devices, p->device_count, sizeof *place, SNAPSHOT_MAX_DEVICES,
                      "devices in [device_list]", &error);
    if (!place)
        return error;
    place->line = entry->line;
    p->device_count++;
    return snapshot_unquoted(p->ld, entry->value, &place->path);
}

static int trace_key(struct index_parser *p, const struct ini_entry *entry)
{
    if (strcmp(entry->key, "metadata") != 0)
        return snapshot_unknown_key(p->ld, entry);
    if (p->metadata.path)
        return given_twice(p->ld, entry);
    p->metadata.line = entry->line;
    return snapshot_unquoted(p->ld, entry->value, &p->metadata.path);
}

static int index_entry(void *user, const struct ini_entry *entry, struct ini_error *err)
{
    (void)err;
    struct index_parser *p = user;
    if (entry->section_line == 0)
        return snapshot_fail(p->ld->err, BT_ERR_FORMAT, INDEX_FILE, entry->line,
                             "'%s' stands before the first section", entry->key);
    static const struct {
        const char *name;
        int (*key)(struct index_parser *p, const struct ini_entry *entry);
    } sections[] = {
        {"snapshot", snapshot_key},
        {"device_list", device_list_key},
        {"trace", trace_key},
        {"clusters", NULL}, /* which cores share caches: nothing to decode with it */
    };
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (strcmp(entry->section, sections[i].name) == 0)
            return entry->key && sections[i].key ? sections[i].key(p, entry) : 0;
    if (entry->key)
        return 0;
    return snapshot_warn(p->ld, INDEX_FILE, entry->line, "unknown section [%s]", entry->section);
}

static int load_referenced(struct index_parser *p)
{
    struct snapshot_loader *ld = p->ld;
    if (p->device_count == 0)
        return snapshot_fail(ld->err, BT_ERR_FORMAT, INDEX_FILE, 0,
                             "no device in [device_list]: not a trace snapshot");
    for (size_t i = 0; i < p->device_count; i++) {
        int result = snapshot_load_device(ld, p->devices[i].path, p->devices[i].line);
        if (result != 0)
            return result;
    }
    if (!p->metadata.path)
        return snapshot_warn(ld, INDEX_FILE, 0, "no trace metadata: nothing to decode");
    return snapshot_load_trace(ld, p->metadata.path, p->metadata.line);
}

static int load_all(struct snapshot_loader *ld)
{
    char *text = NULL;
    size_t length = 0;
    int result = snapshot_read_text(ld, INDEX_FILE, INDEX_FILE, 0, &text, &length);
    if (result != 0)
        return result;
    struct index_parser p = {.ld = ld};
    result = snapshot_parse_text(ld, INDEX_FILE, text, length, index_entry, &p);
    free(text);
    if (result == 0)
        result = load_referenced(&p);
    free(p.devices);
    if (!ld->snap->version)
        ld->snap->version = "";
    if (!ld->snap->description)
        ld->snap->description = "";
    return result;
}

int snapshot_load(const struct snapshot_files *files, struct snapshot **out,
                  struct snapshot_error *err)
{
    *out = NULL;
    *err = (struct snapshot_error){0};
    struct snapshot_loader ld = {.files = files, .err = err};
    ld.snap = calloc(1, sizeof *ld.snap);
    if (!ld.snap)
        return no_memory(&ld);
    ld.snap->priv = calloc(1, sizeof *ld.snap->priv);
    if (!ld.snap->priv) {
        free(ld.snap);
        return no_memory(&ld);
    }
    int result = load_all(&ld);
    if (result != 0) {
        snapshot_close(ld.snap);
        return result;
    }
    *out = ld.snap;
    return 0;
}
