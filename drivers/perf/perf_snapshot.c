/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/perf/perf_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perf_snapshot_internal.h"

static int map_regular(const char *path, void **map, uint64_t *size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;
    if (fd < 0)
        return BT_ERR_IO;
    int saved = fstat(fd, &st) != 0 ? errno : S_ISREG(st.st_mode) ? 0 : EINVAL;
    if (!saved && st.st_size == 0)
        saved = ENODATA;
    *map = saved ? MAP_FAILED : mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (!saved && *map == MAP_FAILED)
        saved = errno;
    close(fd);
    if (saved) {
        errno = saved;
        return BT_ERR_IO;
    }
    *size = (uint64_t)st.st_size;
    return BT_OK;
}

int perf_add_file(struct perf_build *b, const char *path, size_t *index)
{
    struct snapshot_private *priv = b->ld.snap->priv;
    void *map;
    uint64_t size;
    int error = map_regular(path, &map, &size);
    if (error)
        return error;
    struct snapshot_file *f =
        PERF_GROW(b, priv->files, priv->file_count, PERF_MAX_PROGRAMS, &error);
    const char *copy = f ? snapshot_string(b->ld.snap, path, strlen(path)) : NULL;
    if (!copy) {
        munmap(map, (size_t)size);
        return error ? error : BT_ERR_NOMEM;
    }
    *f = (struct snapshot_file){.path = copy, .size = size, .map = map};
    *index = priv->file_count++;
    return BT_OK;
}

/* Newer perfs make a folder: the records are in "data"; of several threads, in data.0, data.1... */
static int find_data(const char *path, char *found, size_t size, struct snapshot_error *err)
{
    struct stat st;
    snprintf(found, size, "%s", path);
    if (stat(path, &st) != 0)
        return snapshot_fail(err, BT_ERR_IO, path, 0, "cannot open: %s", strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return BT_OK;
    snprintf(found, size, "%s/data.0", path);
    if (stat(found, &st) == 0)
        return snapshot_fail(err, BT_ERR_UNSUPPORTED, path, 0,
                             "written by several threads (--threads), which is not read");
    snprintf(found, size, "%s/data", path);
    return BT_OK;
}

static struct snapshot *new_snapshot(void)
{
    struct snapshot *snap = calloc(1, sizeof *snap);
    if (snap)
        snap->priv = calloc(1, sizeof *snap->priv);
    if (snap && !snap->priv) {
        free(snap);
        return NULL;
    }
    if (snap) {
        snap->version = "1.0";
        snap->description = "perf.data";
    }
    return snap;
}

static int perf_build(struct perf_build *b, const char *path)
{
    struct snapshot_error *err = b->ld.err;
    char file[PATH_MAX];
    size_t index;
    int error = find_data(path, file, sizeof file, err);
    if (error)
        return error;
    error = perf_add_file(b, file, &index);
    if (error)
        return snapshot_fail(err, error, strcmp(file, path) == 0 ? path : "data", 0,
                             "cannot open: %s",
                             errno == ENODATA ? "the file is empty" : strerror(errno));
    const struct snapshot_file *f = &b->ld.snap->priv->files[index];
    struct perf_error why;
    error = perf_data_read(&b->data, f->map, f->size, &why);
    if (error)
        return snapshot_fail(err, error, path, 0, "byte 0x%" PRIx64 ": %s", why.at, why.text);
    if (b->data.cut)
        error =
            snapshot_warn(&b->ld, path, 0, "the file was cut off: its last record is not whole");
    if (!error && b->data.lost)
        error = snapshot_warn(&b->ld, path, 0,
                              "the kernel lost %" PRIu64 " records: code and trace may be missing",
                              b->data.lost);
    if (!error)
        error = perf_add_trace(b);
    if (!error)
        error = perf_add_code(b);
    if (error && !*err->text)
        snapshot_fail(err, error, path, 0, "%s", bt_strerror(error));
    return error;
}

int perf_snapshot_open(const char *path, const struct perf_places *places, struct snapshot **out,
                       struct snapshot_error *err)
{
    *out = NULL;
    *err = (struct snapshot_error){0};
    struct perf_build b = {.places = places};
    b.ld = (struct snapshot_loader){.snap = new_snapshot(), .err = err};
    if (!b.ld.snap)
        return snapshot_fail(err, BT_ERR_NOMEM, path, 0, "out of memory");
    int error = perf_build(&b, path);
    perf_data_release(&b.data);
    free(b.programs);
    if (error)
        snapshot_close(b.ld.snap);
    else
        *out = b.ld.snap;
    return error;
}
