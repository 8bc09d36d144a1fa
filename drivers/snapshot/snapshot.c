/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/snapshot/snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/snapshot/snapshot_internal.h"

/*
 * Open a regular file of the folder. Symbolic links are followed, but not out of the folder: a
 * recording from elsewhere must not make private files readable through GDB.
 */
static int open_inside(const char *root, const char *path, uint64_t *size)
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

static int folder_read_text(void *user, const char *path, char **text, size_t *length)
{
    uint64_t size;
    int fd = open_inside(user, path, &size);
    if (fd < 0)
        return BT_ERR_IO;
    int result = ini_reader_load(fd, text, length);
    int saved = errno;
    close(fd);
    errno = saved;
    return result;
}

static int folder_get_size(void *user, const char *path, uint64_t *size)
{
    int fd = open_inside(user, path, size);
    if (fd < 0)
        return BT_ERR_IO;
    close(fd);
    return 0;
}

/* Absolute path of the folder, or of the folder that holds the file `path`. NULL with errno. */
static char *find_root(const char *path)
{
    char *root = realpath(path, NULL);
    struct stat st;
    if (!root || stat(root, &st) != 0 || S_ISDIR(st.st_mode))
        return root;
    char *slash = strrchr(root, '/');
    const char *name = slash ? slash + 1 : root;
    if (!slash || strcmp(name, "snapshot.ini") != 0) {
        free(root);
        errno = ENOTDIR;
        return NULL;
    }
    slash[slash == root ? 1 : 0] = '\0';
    return root;
}

int snapshot_open(const char *path, struct snapshot **out, struct snapshot_error *err)
{
    struct snapshot_error ignored;
    if (!err)
        err = &ignored;
    *out = NULL;
    *err = (struct snapshot_error){0};
    char *root = find_root(path);
    if (!root)
        return snapshot_fail(err, BT_ERR_IO, path, 0, "cannot open: %s", strerror(errno));
    const struct snapshot_files files = {
        .user = root, .read_text = folder_read_text, .get_size = folder_get_size};
    int result = snapshot_load(&files, out, err);
    if (result != 0) {
        free(root);
        return result;
    }
    (*out)->priv->root = root;
    return 0;
}

void snapshot_close(struct snapshot *snap)
{
    if (!snap)
        return;
    for (size_t i = 0; i < snap->priv->file_count; i++)
        if (snap->priv->files[i].map)
            munmap(snap->priv->files[i].map, (size_t)snap->priv->files[i].size);
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
    int fd = open_inside(snap->priv->root, file->path, &size);
    if (fd < 0)
        return BT_ERR_IO;
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
    int result = map_file(snap, dump->file);
    if (result == 0)
        *data = (const uint8_t *)snap->priv->files[dump->file].map + dump->offset;
    return result;
}

int snapshot_map_buffer(struct snapshot *snap, const struct snapshot_buffer *buffer, size_t n,
                        const uint8_t **data, uint64_t *size)
{
    *data = NULL;
    *size = 0;
    if (n >= buffer->file_count)
        return BT_ERR_RANGE;
    int result = map_file(snap, buffer->files[n].file);
    if (result != 0)
        return result;
    *size = buffer->files[n].size;
    if (*size)
        *data =
            (const uint8_t *)snap->priv->files[buffer->files[n].file].map + buffer->files[n].offset;
    return 0;
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

const struct snapshot_device *snapshot_source_in(const struct snapshot *snap, size_t buffer,
                                                 size_t n)
{
    for (size_t i = 0; i < snap->source_buffer_count; i++) {
        if (snap->source_buffers[i].buffer != buffer)
            continue;
        const struct snapshot_device *dev = snapshot_device(snap, snap->source_buffers[i].source);
        if (dev && n-- == 0)
            return dev;
    }
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
