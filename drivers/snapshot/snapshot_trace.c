/* SPDX-License-Identifier: BSD-3-Clause */
/* Trace metadata of a recording: [trace_buffers], one section a buffer, and who traces whom. */
#include <stdlib.h>
#include <string.h>

#include "drivers/snapshot/snapshot_loader.h"

/*
 * The list of buffers may stand behind the sections it names, and [source_buffers] before them:
 * the text is read three times, in this order.
 */
enum pass { PASS_LIST, PASS_BUFFERS, PASS_LINKS, PASSES };

/* A buffer while it is read. `section` is its name in [trace_buffers] buffers=. */
struct pending {
    const char *section;
    bool seen;
};

struct trace_parser {
    struct snapshot_loader *ld;
    const char *path;
    enum pass pass;
    unsigned list_line; /* of "buffers=" */
    struct pending pending[SNAPSHOT_MAX_BUFFERS];
    size_t pending_count;
    size_t links;   /* read so far, doubled ones too */
    size_t current; /* buffer of the section being read; SIZE_MAX: none */
};

static int no_memory(struct trace_parser *p)
{
    return snapshot_fail(p->ld->why, BT_ERR_NOMEM, p->path, 0, "out of memory");
}

static size_t find_pending(const struct trace_parser *p, const char *section)
{
    for (size_t i = 0; i < p->pending_count; i++)
        if (strcmp(p->pending[i].section, section) == 0)
            return i;
    return SIZE_MAX;
}

/* First pass: which buffers. */

static int list_buffers(struct trace_parser *p, const struct ini_entry *entry)
{
    if (p->list_line != 0)
        return SNAPSHOT_FAIL_AT(p, entry->line, "'%s' is given twice", entry->key);
    p->list_line = entry->line;
    const char *list = entry->value;
    size_t length;
    for (const char *item; (item = snapshot_next_item(&list, &length));) {
        const char *section = snapshot_string(p->ld->snap, item, length);
        if (!section)
            return no_memory(p);
        if (find_pending(p, section) != SIZE_MAX)
            return SNAPSHOT_FAIL_AT(p, entry->line, "buffer '%s' is listed twice", section);
        if (p->pending_count == SNAPSHOT_MAX_BUFFERS)
            return snapshot_fail(p->ld->why, BT_ERR_RANGE, p->path, entry->line,
                                 "more than %u buffers", SNAPSHOT_MAX_BUFFERS);
        p->pending[p->pending_count++].section = section;
    }
    if (p->pending_count == 0)
        return SNAPSHOT_FAIL_AT(p, entry->line, "'%s' lists no buffer", entry->key);
    return 0;
}

static int list_entry(struct trace_parser *p, const struct ini_entry *entry)
{
    if (!entry->key)
        return 0;
    if (entry->section_line == 0)
        return SNAPSHOT_FAIL_AT(p, entry->line, "'%s' stands before the first section", entry->key);
    if (strcmp(entry->section, "trace_buffers") == 0) {
        if (strcmp(entry->key, "buffers") == 0)
            return list_buffers(p, entry);
        return snapshot_warn(p->ld, p->path, entry->line, "unknown key '%s' in [%s]", entry->key,
                             entry->section);
    }
    if (strcmp(entry->section, "timestamp") == 0 && strcmp(entry->key, "frequency") == 0)
        return snapshot_number_of(p->ld, p->path, entry, &p->ld->snap->timestamp_frequency);
    return 0;
}

/* Second pass: the buffers. */

static int add_buffer_file(struct trace_parser *p, struct snapshot_buffer *buffer, const char *path,
                           unsigned line)
{
    int error = 0;
    struct snapshot_buffer_file *file =
        snapshot_grow(p->ld, &buffer->files, buffer->file_count, sizeof *file, SNAPSHOT_MAX_PARTS,
                      "files of one buffer", &error);
    if (!file)
        return error;
    size_t index;
    error = snapshot_add_file(p->ld, path, p->path, line, &index);
    if (error != 0)
        return error;
    file->path = path;
    file->file = index;
    file->size = p->ld->snap->priv->files[index].size;
    buffer->file_count++;
    if (file->size > UINT64_MAX - buffer->size)
        return SNAPSHOT_FAIL_AT(p, line, "files of buffer are too large");
    buffer->size += file->size;
    return 0;
}

static int buffer_files(struct trace_parser *p, struct snapshot_buffer *buffer,
                        const struct ini_entry *entry)
{
    if (buffer->file_count != 0)
        return SNAPSHOT_FAIL_AT(p, entry->line, "'%s' is given twice", entry->key);
    const char *list = entry->value;
    size_t list_length = snapshot_unquote(&list);
    list = snapshot_string(p->ld->snap, list, list_length);
    if (!list)
        return no_memory(p);
    size_t length;
    for (const char *item; (item = snapshot_next_item(&list, &length));) {
        const char *path = snapshot_string(p->ld->snap, item, length);
        if (!path)
            return no_memory(p);
        int error = add_buffer_file(p, buffer, path, entry->line);
        if (error != 0)
            return error;
    }
    return 0;
}

static int snapshot_set_trace_key(struct trace_parser *p, const struct ini_entry *entry,
                                  const char **field)
{
    if (*field)
        return SNAPSHOT_FAIL_AT(p, entry->line, "'%s' is given twice", entry->key);
    *field = snapshot_string(p->ld->snap, entry->value, strlen(entry->value));
    return *field ? 0 : no_memory(p);
}

static bool known_section(const char *section)
{
    static const char *const known[] = {"trace_buffers", "source_buffers", "core_trace_sources",
                                        "timestamp"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], section) == 0)
            return true;
    return false;
}

static int buffer_header(struct trace_parser *p, const struct ini_entry *entry)
{
    p->current = find_pending(p, entry->section);
    if (p->current == SIZE_MAX) {
        if (known_section(entry->section))
            return 0;
        return snapshot_warn(p->ld, p->path, entry->line, "unknown section [%s]", entry->section);
    }
    if (p->pending[p->current].seen)
        return SNAPSHOT_FAIL_AT(p, entry->line, "buffer [%s] is given twice", entry->section);
    p->pending[p->current].seen = true;
    p->ld->snap->buffers[p->current].line = entry->line;
    return 0;
}

static int buffer_entry(struct trace_parser *p, const struct ini_entry *entry)
{
    if (!entry->key)
        return buffer_header(p, entry);
    if (p->current == SIZE_MAX)
        return 0;
    struct snapshot_buffer *buffer = &p->ld->snap->buffers[p->current];
    if (strcmp(entry->key, "name") == 0)
        return snapshot_set_trace_key(p, entry, &buffer->name);
    if (strcmp(entry->key, "format") == 0)
        return snapshot_set_trace_key(p, entry, &buffer->format_name);
    if (strcmp(entry->key, "file") == 0)
        return buffer_files(p, buffer, entry);
    return snapshot_warn(p->ld, p->path, entry->line, "unknown key '%s' in [%s]", entry->key,
                         entry->section);
}

static enum snapshot_format format_of(const char *name)
{
    if (strcmp(name, "coresight") == 0)
        return SNAPSHOT_FORMAT_CORESIGHT;
    if (strcmp(name, "source_data") == 0)
        return SNAPSHOT_FORMAT_SOURCE_DATA;
    if (strcmp(name, "dstream_coresight") == 0)
        return SNAPSHOT_FORMAT_DSTREAM_CORESIGHT;
    return SNAPSHOT_FORMAT_OTHER;
}

/* Make the buffers of the list; they get their fields in the second pass. */
static int make_buffers(struct trace_parser *p)
{
    if (p->pending_count == 0)
        return snapshot_warn(p->ld, p->path, 0, "no trace buffers are listed");
    p->ld->snap->buffers = calloc(p->pending_count, sizeof *p->ld->snap->buffers);
    if (!p->ld->snap->buffers)
        return no_memory(p);
    p->ld->snap->buffer_count = p->pending_count;
    return 0;
}

static int check_buffer(struct trace_parser *p, size_t n)
{
    struct snapshot *snap = p->ld->snap;
    struct snapshot_buffer *buffer = &snap->buffers[n];
    const char *section = p->pending[n].section;
    if (!p->pending[n].seen)
        return SNAPSHOT_FAIL_AT(p, p->list_line, "buffer '%s' has no section", section);
    if (!buffer->name || buffer->name[0] == '\0')
        return SNAPSHOT_FAIL_AT(p, buffer->line, "no 'name' in [%s]", section);
    if (buffer->file_count == 0)
        return SNAPSHOT_FAIL_AT(p, buffer->line, "no 'file' in [%s]", section);
    for (size_t i = 0; i < n; i++)
        if (strcmp(snap->buffers[i].name, buffer->name) == 0)
            return SNAPSHOT_FAIL_AT(p, buffer->line, "two buffers have the name '%s'",
                                    buffer->name);
    if (!buffer->format_name)
        buffer->format_name = "coresight";
    buffer->format = format_of(buffer->format_name);
    if (buffer->format == SNAPSHOT_FORMAT_OTHER)
        return snapshot_warn(p->ld, p->path, buffer->line, "unknown format '%s' of buffer '%s'",
                             buffer->format_name, buffer->name);
    return 0;
}

static int check_buffers(struct trace_parser *p)
{
    for (size_t i = 0; i < p->ld->snap->buffer_count; i++) {
        int error = check_buffer(p, i);
        if (error != 0)
            return error;
    }
    return 0;
}

/* Third pass: sources and cores. */

static int warn_unknown_device(struct trace_parser *p, const char *what, const char *name,
                               unsigned line)
{
    if (snapshot_device(p->ld->snap, name))
        return 0;
    return snapshot_warn(p->ld, p->path, line, "%s '%s' is not in the device list", what, name);
}

static int link_source(struct trace_parser *p, const struct ini_entry *entry, const char *source,
                       const char *name)
{
    struct snapshot *snap = p->ld->snap;
    const struct snapshot_buffer *buffer = snapshot_buffer(snap, name);
    if (!buffer)
        return snapshot_fail(p->ld->why, BT_ERR_FORMAT, p->path, entry->line,
                             "source '%s' names unknown buffer '%s'", source, name);
    size_t index = (size_t)(buffer - snap->buffers);
    for (size_t i = 0; i < snap->source_buffer_count; i++)
        if (snap->source_buffers[i].buffer == index &&
            strcmp(snap->source_buffers[i].source, source) == 0)
            return snapshot_warn(p->ld, p->path, entry->line,
                                 "source '%s' is linked to buffer '%s' twice", source, name);
    int error = 0;
    struct snapshot_source_buffer *place =
        snapshot_grow(p->ld, &snap->source_buffers, snap->source_buffer_count, sizeof *place,
                      SIZE_MAX, "links", &error);
    if (!place)
        return error;
    *place = (struct snapshot_source_buffer){.source = source, .buffer = index};
    snap->source_buffer_count++;
    return 0;
}

static int link_core(struct trace_parser *p, const struct ini_entry *entry, const char *core,
                     const char *source)
{
    struct snapshot *snap = p->ld->snap;
    for (size_t i = 0; i < snap->core_source_count; i++) {
        if (strcmp(snap->core_sources[i].source, source) != 0)
            continue;
        if (strcmp(snap->core_sources[i].core, core) == 0)
            return snapshot_warn(p->ld, p->path, entry->line, "core '%s' and source '%s' twice",
                                 core, source);
        return snapshot_fail(p->ld->why, BT_ERR_FORMAT, p->path, entry->line,
                             "source '%s' already traces core '%s'", source,
                             snap->core_sources[i].core);
    }
    int error = 0;
    struct snapshot_core_source *place =
        snapshot_grow(p->ld, &snap->core_sources, snap->core_source_count, sizeof *place, SIZE_MAX,
                      "links", &error);
    if (!place)
        return error;
    *place = (struct snapshot_core_source){.core = core, .source = source};
    snap->core_source_count++;
    return warn_unknown_device(p, "source", source, entry->line);
}

static int link_entry(struct trace_parser *p, const struct ini_entry *entry)
{
    bool sources = strcmp(entry->section, "source_buffers") == 0;
    if (!entry->key || (!sources && strcmp(entry->section, "core_trace_sources") != 0))
        return 0;
    const char *key = snapshot_string(p->ld->snap, entry->key, strlen(entry->key));
    if (!key)
        return no_memory(p);
    int error = warn_unknown_device(p, sources ? "source" : "core", key, entry->line);
    const char *list = entry->value;
    size_t length;
    for (const char *item; error == 0 && (item = snapshot_next_item(&list, &length));) {
        const char *name = snapshot_string(p->ld->snap, item, length);
        if (!name)
            return no_memory(p);
        if (++p->links > SNAPSHOT_MAX_LINKS)
            return snapshot_fail(p->ld->why, BT_ERR_RANGE, p->path, entry->line,
                                 "more than %u links of sources", SNAPSHOT_MAX_LINKS);
        error = sources ? link_source(p, entry, key, name) : link_core(p, entry, key, name);
    }
    return error;
}

static int trace_entry(void *user, const struct ini_entry *entry)
{
    struct trace_parser *p = user;
    switch (p->pass) {
    case PASS_LIST:
        return list_entry(p, entry);
    case PASS_BUFFERS:
        return buffer_entry(p, entry);
    default:
        return link_entry(p, entry);
    }
}

int snapshot_load_trace(struct snapshot_loader *ld, const char *path, unsigned line)
{
    struct trace_parser *p = calloc(1, sizeof *p);
    if (!p)
        return snapshot_fail(ld->why, BT_ERR_NOMEM, path, 0, "out of memory");
    p->ld = ld;
    p->path = path;
    p->current = SIZE_MAX;
    char *text = NULL;
    size_t length = 0;
    int error = snapshot_read_text(ld, path, "snapshot.ini", line, &text, &length);
    for (int pass = PASS_LIST; error == 0 && pass < PASSES; pass++) {
        p->pass = (enum pass)pass;
        error = snapshot_parse_text(ld, path, text, length, trace_entry, p);
        if (error == 0 && pass == PASS_LIST)
            error = make_buffers(p);
        else if (error == 0 && pass == PASS_BUFFERS)
            error = check_buffers(p);
    }
    free(text);
    free(p);
    return error;
}
