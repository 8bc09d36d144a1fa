/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The INI reader and the parsers of recordings, without a file system. The input holds several
 * files: a line "@name" begins the file of that name.
 * Names that end in ".bin" exist without one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/snapshot/snapshot_loader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const char *text;
    const char *end;
};

/* Contents of file `name` in the input; NULL if it is not there. */
static const char *find_file(const struct input *in, const char *name, size_t *length)
{
    size_t name_length = strlen(name);
    for (const char *p = in->text; p < in->end;) {
        const char *eol = memchr(p, '\n', (size_t)(in->end - p));
        const char *next = eol ? eol + 1 : in->end;
        if (*p == '@' && eol && (size_t)(eol - p) == name_length + 1 &&
            memcmp(p + 1, name, name_length) == 0) {
            const char *stop = next;
            while (stop < in->end && *stop != '@') {
                eol = memchr(stop, '\n', (size_t)(in->end - stop));
                stop = eol ? eol + 1 : in->end;
            }
            *length = (size_t)(stop - next);
            return next;
        }
        p = next;
    }
    return NULL;
}

static int read_text(void *user, const char *path, char **text, size_t *length)
{
    const char *found = find_file(user, path, length);
    if (!found) {
        errno = ENOENT;
        return BT_ERR_IO;
    }
    *text = malloc(*length ? *length : 1);
    if (!*text)
        return BT_ERR_NOMEM;
    memcpy(*text, found, *length);
    return 0;
}

static int get_size(void *user, const char *path, uint64_t *size)
{
    size_t length = strlen(path);
    size_t found;
    if (find_file(user, path, &found)) {
        *size = found;
        return 0;
    }
    if (length >= 4 && strcmp(path + length - 4, ".bin") == 0) {
        *size = 64;
        return 0;
    }
    errno = ENOENT;
    return BT_ERR_IO;
}

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* What the header promises holds for any recording that is accepted. */
static void check(struct snapshot *snap)
{
    for (size_t i = 0; i < snap->device_count; i++) {
        const struct snapshot_device *dev = &snap->devices[i];
        require(snapshot_device(snap, dev->name) == dev);
        for (size_t j = 0; j < dev->reg_count && j < 64; j++)
            require(snapshot_find_reg(dev, dev->regs[j].name) != NULL);
        for (size_t j = 0; j < dev->dump_count; j++) {
            const struct snapshot_dump *d = &dev->dumps[j];
            uint64_t file = snap->priv->files[d->file].size;
            require(d->offset <= file && d->length <= file - d->offset);
            require(d->length == 0 || d->length - 1 <= UINT64_MAX - d->address);
            require(snapshot_path_ok(d->path));
        }
    }
    for (size_t i = 0; i < snap->buffer_count; i++) {
        const uint8_t *bytes;
        uint64_t size;
        require(snapshot_buffer(snap, snap->buffers[i].name) == &snap->buffers[i]);
        require(snap->buffers[i].file_count > 0);
        snapshot_map_buffer(snap, &snap->buffers[i], 0, &bytes, &size);
    }
    for (size_t i = 0; i < snap->source_buffer_count; i++)
        require(snap->source_buffers[i].buffer < snap->buffer_count);
    for (size_t i = 0; i < snap->core_source_count; i++)
        snapshot_core_of(snap, snap->core_sources[i].source);
    require(snap->version && snap->description);
}

static int count_entry(void *user, const struct ini_entry *entry)
{
    unsigned *line = user;
    require(entry->line >= *line && entry->section_line <= entry->line);
    require((entry->key != NULL) == (entry->value != NULL));
    require(!entry->key || (entry->key[0] != '\0' && !strchr(entry->key, '=')));
    *line = entry->line;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {.text = (const char *)data, .end = (const char *)data + size};
    const struct snapshot_files files = {.user = &in, .read_text = read_text, .get_size = get_size};
    struct snapshot *snap;
    struct message err;
    int result = snapshot_load(&files, &snap, &err);
    require((result == 0) == (snap != NULL));
    require(result == 0 || (err.file[0] != '\0' && err.text[0] != '\0'));
    if (snap)
        check(snap);
    snapshot_close(snap);

    unsigned line = 0;
    struct message ini_err;
    ini_reader_text(in.text, size, INI_COMMENTS_AFTER_BLANK, count_entry, &line, &ini_err);
    return 0;
}
