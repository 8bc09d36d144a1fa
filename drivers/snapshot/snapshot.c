/* SPDX-License-Identifier: BSD-3-Clause */
/* What the reader of a recording is made of: messages, strings, arrays, numbers, lists, the files
 * of its folder; and what is asked of an open one. */
#include "drivers/snapshot/snapshot.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/snapshot/snapshot_loader.h"
#include "drivers/zstd/zstd_frames.h"

/* All strings of a snapshot, newest first. */
struct snapshot_string {
    struct snapshot_string *next;
    char text[];
};

static int snapshot_vfail(struct message *why, int error, const char *file, unsigned line,
                          const char *format, va_list args)
{
    message_vset(why, format, args);
    snprintf(why->file, sizeof why->file, "%s", file);
    why->line = line;
    return error;
}

int snapshot_fail(struct message *why, int error, const char *file, unsigned line,
                  const char *format, ...)
{
    va_list args;
    va_start(args, format);
    snapshot_vfail(why, error, file, line, format, args);
    va_end(args);
    return error;
}

int snapshot_warn(struct snapshot_loader *ld, const char *file, unsigned line, const char *format,
                  ...)
{
    struct snapshot *snap = ld->snap;
    if (snap->warning_count == SNAPSHOT_MAX_WARNINGS)
        return 0;
    int error = 0;
    struct message *grown = snapshot_grow(ld, &snap->warnings, snap->warning_count, sizeof *grown,
                                          SIZE_MAX, "warnings", &error);
    if (!grown)
        return error;
    va_list args;
    va_start(args, format);
    snapshot_vfail(grown, 0, file, line, format, args);
    va_end(args);
    snap->warning_count++;
    return 0;
}

const char *snapshot_string(struct snapshot *snap, const char *text, size_t length)
{
    struct snapshot_string *s = malloc(sizeof *s + length + 1);
    if (!s)
        return NULL;
    memcpy(s->text, text, length);
    s->text[length] = '\0';
    s->next = snap->priv->strings;
    snap->priv->strings = s;
    return s->text;
}

static void snapshot_free_strings(struct snapshot *snap)
{
    while (snap->priv->strings) {
        struct snapshot_string *s = snap->priv->strings;
        snap->priv->strings = s->next;
        free(s);
    }
}

void *snapshot_room(void *array, size_t count, size_t element)
{
    void *old;
    memcpy(&old, array, sizeof old);
    /* Sizes are 0, 1, 2, 4, 8...: full exactly when the count is 0 or a power of two. */
    if ((count & (count - 1)) == 0) {
        void *grown = reallocarray(old, count == 0 ? 1 : count * 2, element);
        if (!grown)
            return NULL;
        memcpy(array, &grown, sizeof grown);
        old = grown;
    }
    void *place = (char *)old + count * element;
    memset(place, 0, element);
    return place;
}

void *snapshot_grow(struct snapshot_loader *ld, void *array, size_t count, size_t element,
                    size_t limit, const char *what, int *error)
{
    void *place = count < limit ? snapshot_room(array, count, element) : NULL;
    if (count >= limit)
        *error = snapshot_fail(ld->why, BT_ERR_RANGE, "", 0, "more than %zu %s", limit, what);
    else if (!place)
        *error = snapshot_fail(ld->why, BT_ERR_NOMEM, "", 0, "out of memory");
    return place;
}

enum snapshot_number snapshot_parse_number(const char *text, uint64_t *value)
{
    bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *digits = hex ? text + 2 : text;
    size_t length = strspn(digits, hex ? "0123456789abcdefABCDEF" : "0123456789");
    char *end;
    errno = 0;
    uint64_t v = strtoull(digits, &end, hex ? 16 : *text == '0' ? 8 : 10);
    if (length == 0 || digits[length] != '\0' || *end != '\0')
        return SNAPSHOT_NUMBER_BAD;
    if (errno != 0)
        return SNAPSHOT_NUMBER_TOO_LARGE;
    *value = v;
    return SNAPSHOT_NUMBER_OK;
}

size_t snapshot_unquote(const char **text)
{
    size_t length = strlen(*text);
    char first = **text;
    if (length >= 2 && (first == '"' || first == '\'') && (*text)[length - 1] == first) {
        (*text)++;
        length -= 2;
    }
    return length;
}

bool snapshot_path_ok(const char *path)
{
    if (path[0] == '\0' || path[0] == '/' || path[0] == '\\')
        return false;
    if (isalpha((unsigned char)path[0]) && path[1] == ':')
        return false;
    while (*path) {
        size_t part = strcspn(path, "/\\");
        if (part == 2 && path[0] == '.' && path[1] == '.')
            return false;
        path += part;
        path += strspn(path, "/\\");
    }
    return true;
}

const char *snapshot_next_item(const char **list, size_t *length)
{
    const char *item = *list + strspn(*list, " \t,");
    if (*item == '\0')
        return NULL;
    size_t n = strcspn(item, ",");
    *list = item + n;
    while (n > 0 && (item[n - 1] == ' ' || item[n - 1] == '\t'))
        n--;
    *length = n;
    return item;
}

int snapshot_read_text(struct snapshot_loader *ld, const char *path, const char *file,
                       unsigned line, char **text, size_t *length)
{
    if (!snapshot_path_ok(path))
        return snapshot_fail(ld->why, BT_ERR_FORMAT, file, line, "path '%s' leaves the folder",
                             path);
    int error = ld->files->read_text(ld->files->user, path, text, length);
    if (error == 0)
        return 0;
    const char *why = error == BT_ERR_IO      ? strerror(errno)
                      : error == BT_ERR_RANGE ? "file is too large"
                                              : "out of memory";
    return snapshot_fail(ld->why, error, file, line, "cannot read '%s': %s", path, why);
}

int snapshot_parse_text(struct snapshot_loader *ld, const char *path, const char *text,
                        size_t length, ini_entry_fn fn, void *user)
{
    int error = ini_reader_text(text, length, INI_COMMENTS_ANYWHERE, fn, user, ld->why);
    if (error && !*ld->why->file)
        snprintf(ld->why->file, sizeof ld->why->file, "%s", path);
    return error;
}

int snapshot_number_of(struct snapshot_loader *ld, const char *path, const struct ini_entry *entry,
                       uint64_t *value)
{
    const char *why = "not a number";
    switch (snapshot_parse_number(entry->value, value)) {
    case SNAPSHOT_NUMBER_OK:
        return 0;
    case SNAPSHOT_NUMBER_TOO_LARGE:
        why = "more than 64 bits";
        break;
    case SNAPSHOT_NUMBER_BAD:
        break;
    }
    return snapshot_fail(ld->why, BT_ERR_FORMAT, path, entry->line, "%s is %s: '%s'", entry->key,
                         why, entry->value);
}

int snapshot_add_file(struct snapshot_loader *ld, const char *path, const char *file, unsigned line,
                      size_t *index)
{
    struct snapshot_private *priv = ld->snap->priv;
    for (size_t i = 0; i < priv->file_count; i++) {
        if (strcmp(priv->files[i].path, path) == 0) {
            *index = i;
            return 0;
        }
    }
    if (!snapshot_path_ok(path))
        return snapshot_fail(ld->why, BT_ERR_FORMAT, file, line, "path '%s' leaves the folder",
                             path);
    uint64_t size = 0;
    int error = ld->files->get_size(ld->files->user, path, &size);
    if (error == BT_ERR_UNSUPPORTED)
        return snapshot_fail(ld->why, error, file, line,
                             "cannot use '%s': its frames are longer than 8 MiB, or do not say how "
                             "long: compress it in short ones",
                             path);
    if (error)
        return snapshot_fail(ld->why, error, file, line, "cannot open '%s': %s", path,
                             error == BT_ERR_IO ? strerror(errno) : bt_strerror(error));
    struct snapshot_file *added = snapshot_grow(ld, &priv->files, priv->file_count, sizeof *added,
                                                SNAPSHOT_MAX_FILES, "files", &error);
    if (!added)
        return error;
    added->path = path;
    added->size = size;
    *index = priv->file_count++;
    return 0;
}

int snapshot_open_inside(const char *root, const char *path, uint64_t *size)
{
    char joined[PATH_MAX];
    int length = snprintf(joined, sizeof joined, "%s/%s", root, path);
    if (length < 0 || (size_t)length >= sizeof joined) {
        errno = ENAMETOOLONG;
        return -1;
    }
    char resolved[PATH_MAX];
    if (!realpath(joined, resolved))
        return -1;
    size_t root_length = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (strncmp(resolved, root, root_length) != 0 || resolved[root_length] != '/') {
        errno = EXDEV;
        return -1;
    }
    /* Non-blocking: a FIFO in a recording must not stop the reader. */
    int fd = open(resolved, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    struct stat st;
    int saved = 0;
    if (fstat(fd, &st) != 0)
        saved = errno;
    else if (!S_ISREG(st.st_mode))
        saved = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    if (saved != 0) {
        close(fd);
        errno = saved;
        return -1;
    }
    *size = (uint64_t)st.st_size;
    return fd;
}

void snapshot_close(struct snapshot *snap)
{
    if (!snap)
        return;
    for (size_t i = 0; i < snap->priv->file_count; i++) {
        struct snapshot_file *file = &snap->priv->files[i];
        if (file->map && !file->frames)
            munmap(file->map, (size_t)file->size);
        zstd_frames_close(file->frames);
    }
    for (size_t i = 0; i < snap->device_count; i++) {
        free(snap->devices[i].regs);
        free(snap->devices[i].dumps);
    }
    for (size_t i = 0; i < snap->buffer_count; i++)
        free(snap->buffers[i].files);
    snapshot_free_strings(snap);
    free(snap->devices);
    free(snap->buffers);
    free(snap->source_buffers);
    free(snap->core_sources);
    free(snap->warnings);
    free(snap->priv->files);
    free(snap->priv->root);
    free(snap->priv);
    free(snap);
}

bool snapshot_is_packed(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".zst") == 0;
}

/* `fd` is given away. */
static int map_packed(struct snapshot_file *file, int fd, uint64_t size)
{
    const uint8_t *data;
    if (file->frames) {
        close(fd); /* there was no room for its contents */
        return BT_ERR_NOMEM;
    }
    int error = zstd_frames_open(fd, size, &file->frames);
    if (!error && zstd_frames_size(file->frames) < file->size) {
        errno = EOVERFLOW;
        return BT_ERR_IO;
    }
    if (!error)
        error = zstd_frames_map(file->frames, &data);
    if (!error)
        file->map = (void *)data;
    return error;
}

static int map_file(struct snapshot *snap, size_t index)
{
    struct snapshot_file *file = &snap->priv->files[index];
    if (file->map || file->size == 0)
        return 0;
    if (!snap->priv->root) {
        errno = ENOENT;
        return BT_ERR_IO;
    }
    uint64_t size;
    int fd = snapshot_open_inside(snap->priv->root, file->path, &size);
    if (fd < 0)
        return BT_ERR_IO;
    if (snapshot_is_packed(file->path))
        return map_packed(file, fd, size);
    void *map = MAP_FAILED;
    if (size < file->size || file->size > SIZE_MAX)
        errno = EOVERFLOW;
    else
        map = mmap(NULL, (size_t)file->size, PROT_READ, MAP_SHARED, fd, 0);
    int saved = errno;
    close(fd);
    if (map == MAP_FAILED) {
        errno = saved;
        return BT_ERR_IO;
    }
    file->map = map;
    return 0;
}

int snapshot_map_dump(struct snapshot *snap, const struct snapshot_dump *dump, const uint8_t **data)
{
    *data = NULL;
    if (dump->length == 0)
        return 0;
    int error = map_file(snap, dump->file);
    if (error == 0)
        *data = (const uint8_t *)snap->priv->files[dump->file].map + dump->offset;
    return error;
}

int snapshot_map_buffer(struct snapshot *snap, const struct snapshot_buffer *buffer, size_t n,
                        const uint8_t **data, uint64_t *size)
{
    *data = NULL;
    *size = 0;
    if (n >= buffer->file_count)
        return BT_ERR_RANGE;
    int error = map_file(snap, buffer->files[n].file);
    if (error != 0)
        return error;
    *size = buffer->files[n].size;
    if (*size)
        *data =
            (const uint8_t *)snap->priv->files[buffer->files[n].file].map + buffer->files[n].offset;
    return 0;
}

int snapshot_need(struct snapshot *snap, const struct snapshot_buffer *buffer, size_t n,
                  uint64_t from, uint64_t to)
{
    const struct snapshot_buffer_file *part = &buffer->files[n];
    struct zstd_frames *frames = snap->priv->files[part->file].frames;
    return frames ? zstd_frames_need(frames, part->offset + from, part->offset + to) : 0;
}

void snapshot_give_back(struct snapshot *snap, const struct snapshot_buffer *buffer, size_t n,
                        uint64_t from, uint64_t to)
{
    const struct snapshot_buffer_file *part = &buffer->files[n];
    const struct snapshot_file *file = &snap->priv->files[part->file];
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t begin = (part->offset + from) / page * page, end = (part->offset + to) / page * page;
    if (file->map && !file->frames && end > begin)
        madvise((uint8_t *)file->map + begin, (size_t)(end - begin), MADV_DONTNEED);
}

const struct snapshot_device *snapshot_device(const struct snapshot *snap, const char *name)
{
    for (size_t i = 0; i < snap->device_count; i++)
        if (strcmp(snap->devices[i].name, name) == 0)
            return &snap->devices[i];
    return NULL;
}

const struct snapshot_buffer *snapshot_buffer(const struct snapshot *snap, const char *name)
{
    for (size_t i = 0; i < snap->buffer_count; i++)
        if (snap->buffers[i].name && strcmp(snap->buffers[i].name, name) == 0)
            return &snap->buffers[i];
    return NULL;
}

const struct snapshot_device *snapshot_core_of(const struct snapshot *snap, const char *source)
{
    for (size_t i = 0; i < snap->core_source_count; i++)
        if (strcmp(snap->core_sources[i].source, source) == 0)
            return snapshot_device(snap, snap->core_sources[i].core);
    return NULL;
}

const struct snapshot_reg *snapshot_find_reg(const struct snapshot_device *dev, const char *name)
{
    size_t length = strcspn(name, "(");
    while (length > 0 && (name[length - 1] == ' ' || name[length - 1] == '\t'))
        length--;
    for (size_t i = 0; i < dev->reg_count; i++)
        if (strncasecmp(dev->regs[i].name, name, length) == 0 && dev->regs[i].name[length] == '\0')
            return &dev->regs[i];
    return NULL;
}

int snapshot_reg(const struct snapshot_device *dev, const char *name, uint64_t *value)
{
    const struct snapshot_reg *reg = snapshot_find_reg(dev, name);
    if (!reg)
        return BT_ERR_RANGE;
    *value = reg->value;
    return 0;
}
