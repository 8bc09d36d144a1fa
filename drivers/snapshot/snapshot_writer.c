/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/snapshot/snapshot_writer.h"
#include "drivers/base/file_load.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drivers/snapshot/snapshot_loader.h"
#include "drivers/zstd/zstd_writer.h"

#define NAME_MAX_LENGTH 63

struct writer_reg {
    char name[NAME_MAX_LENGTH + 1];
    uint32_t index;
    unsigned bits;
    uint64_t value;
};

struct writer_dump {
    unsigned file; /* dump_<file>.bin */
    uint64_t address;
    uint64_t length;
    char space[NAME_MAX_LENGTH + 1]; /* "": none */
};

struct writer_device {
    char name[NAME_MAX_LENGTH + 1];
    char class_name[NAME_MAX_LENGTH + 1];
    char type[NAME_MAX_LENGTH + 1];
    struct writer_reg *regs;
    size_t reg_count;
    struct writer_dump *dumps;
    size_t dump_count;
    bool dirty; /* the ini file is behind */
};

struct writer_buffer {
    char name[NAME_MAX_LENGTH + 1];
    char format[NAME_MAX_LENGTH + 1];
    uint64_t size;
    int fd; /* -1 until committed */
    bool packed;
    struct zstd_writer *zstd; /* of a packed one that is committed */
};

struct writer_source {
    int source;
    int buffer;
    int core; /* -1: none */
};

struct snapshot_writer {
    int dir;
    char *description; /* NULL: none */
    struct writer_device *devices;
    size_t device_count;
    struct writer_buffer *buffers;
    size_t buffer_count;
    struct writer_source *sources;
    size_t source_count;
    unsigned dump_files;
    size_t dump_total;              /* of all devices */
    struct writer_dump newest_dump; /* valid if dump_files > 0 */
    bool index_dirty;               /* snapshot.ini is behind */
    bool trace_dirty;               /* trace.ini is behind */
};

static bool valid_name(const char *name)
{
    size_t length = strlen(name);
    if (length == 0 || length > NAME_MAX_LENGTH || strpbrk(name, "=;#[](),\"'/\\"))
        return false;
    if (name[0] == ' ' || name[length - 1] == ' ')
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isprint((unsigned char)name[i]))
            return false;
    return true;
}

/* Close after an error without losing its errno. */
static int close_failed(int fd)
{
    int saved = errno;
    close(fd);
    errno = saved;
    return BT_ERR_IO;
}

/* Write a whole file beside its place, sync it, and move it there. */
static int replace_file(int dir, const char *name, const char *text, size_t length)
{
    char temporary[64];
    snprintf(temporary, sizeof temporary, "%s.new", name);
    int fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0)
        return BT_ERR_IO;
    if (file_write_all(fd, text, length, NULL) != 0 || fsync(fd) != 0)
        return close_failed(fd);
    if (close(fd) != 0)
        return BT_ERR_IO;
    return renameat(dir, temporary, dir, name) == 0 ? 0 : BT_ERR_IO;
}

static bool valid_device(const struct snapshot_writer *w, int device)
{
    return device >= 0 && (size_t)device < w->device_count;
}

static bool valid_buffer(const struct snapshot_writer *w, int buffer)
{
    return buffer >= 0 && (size_t)buffer < w->buffer_count;
}

static char *clean_description(const char *text)
{
    char *copy = strdup(text);
    for (char *p = copy; p && *p; p++)
        if (iscntrl((unsigned char)*p) || *p == ';' || *p == '#')
            *p = ' ';
    return copy;
}

static bool is_empty(int dir)
{
    int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    if (!d) {
        if (copy >= 0)
            close_failed(copy);
        return false;
    }
    bool empty = true;
    for (const struct dirent *e; (e = readdir(d));)
        empty = empty && (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0);
    closedir(d);
    if (!empty)
        errno = ENOTEMPTY;
    return empty;
}

int snapshot_writer_create(const char *path, const char *description, struct snapshot_writer **out)
{
    *out = NULL;
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return BT_ERR_IO;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return BT_ERR_IO;
    if (!is_empty(dir))
        return close_failed(dir);
    struct snapshot_writer *w = calloc(1, sizeof *w);
    if (w && description)
        w->description = clean_description(description);
    if (!w || (description && !w->description)) {
        free(w);
        close(dir);
        return BT_ERR_NOMEM;
    }
    w->dir = dir;
    w->index_dirty = w->trace_dirty = true;
    *out = w;
    return 0;
}

int snapshot_writer_add_device(struct snapshot_writer *w, const struct snapshot_writer_device *dev)
{
    if (!valid_name(dev->name) || !valid_name(dev->class_name) || !valid_name(dev->type))
        return BT_ERR_INVAL;
    for (size_t i = 0; i < w->device_count; i++)
        if (strcmp(w->devices[i].name, dev->name) == 0)
            return BT_ERR_INVAL;
    if (w->device_count == SNAPSHOT_MAX_DEVICES)
        return BT_ERR_RANGE;
    struct writer_device *added = snapshot_room(&w->devices, w->device_count, sizeof *added);
    if (!added)
        return BT_ERR_NOMEM;
    snprintf(added->name, sizeof added->name, "%s", dev->name);
    snprintf(added->class_name, sizeof added->class_name, "%s", dev->class_name);
    snprintf(added->type, sizeof added->type, "%s", dev->type);
    added->dirty = true;
    w->index_dirty = true;
    return (int)w->device_count++;
}

int snapshot_writer_add_buffer(struct snapshot_writer *w, const char *name, const char *format)
{
    if (!valid_name(name) ||
        (strcmp(format, "coresight") != 0 && strcmp(format, "source_data") != 0 &&
         strcmp(format, "dstream_coresight") != 0))
        return BT_ERR_INVAL;
    for (size_t i = 0; i < w->buffer_count; i++)
        if (strcmp(w->buffers[i].name, name) == 0)
            return BT_ERR_INVAL;
    if (w->buffer_count == SNAPSHOT_MAX_BUFFERS)
        return BT_ERR_RANGE;
    struct writer_buffer *added = snapshot_room(&w->buffers, w->buffer_count, sizeof *added);
    if (!added)
        return BT_ERR_NOMEM;
    snprintf(added->name, sizeof added->name, "%s", name);
    snprintf(added->format, sizeof added->format, "%s", format);
    added->fd = -1;
    w->trace_dirty = true;
    return (int)w->buffer_count++;
}

int snapshot_writer_compress(struct snapshot_writer *w, int buffer)
{
    if (!valid_buffer(w, buffer) || w->buffers[buffer].fd >= 0)
        return BT_ERR_INVAL;
    w->buffers[buffer].packed = true;
    return 0;
}

int snapshot_writer_add_source(struct snapshot_writer *w, int source, int buffer, int core)
{
    if (!valid_device(w, source) || !valid_buffer(w, buffer) ||
        (core != -1 && !valid_device(w, core)))
        return BT_ERR_INVAL;
    for (size_t i = 0; i < w->source_count; i++)
        if (w->sources[i].source == source)
            return BT_ERR_INVAL;
    struct writer_source *added = snapshot_room(&w->sources, w->source_count, sizeof *added);
    if (!added)
        return BT_ERR_NOMEM;
    *added = (struct writer_source){.source = source, .buffer = buffer, .core = core};
    w->source_count++;
    w->trace_dirty = true;
    return 0;
}

int snapshot_writer_set_reg(struct snapshot_writer *w, int device, const char *name, uint32_t index,
                            unsigned bits, uint64_t value)
{
    if (!valid_device(w, device) || !valid_name(name) || (bits != 32 && bits != 64) ||
        (bits == 32 && value > UINT32_MAX))
        return BT_ERR_INVAL;
    struct writer_device *dev = &w->devices[device];
    struct writer_reg *reg = NULL;
    for (size_t i = 0; i < dev->reg_count && !reg; i++)
        if (strcasecmp(dev->regs[i].name, name) == 0)
            reg = &dev->regs[i];
    if (!reg) {
        if (dev->reg_count == SNAPSHOT_MAX_REGS)
            return BT_ERR_RANGE;
        reg = snapshot_room(&dev->regs, dev->reg_count, sizeof *reg);
        if (!reg)
            return BT_ERR_NOMEM;
        dev->reg_count++;
        snprintf(reg->name, sizeof reg->name, "%s", name);
    }
    reg->index = index;
    reg->bits = bits;
    reg->value = value;
    dev->dirty = true;
    return 0;
}

static int name_dump(struct snapshot_writer *w, int device, const struct writer_dump *dump)
{
    struct writer_device *dev = &w->devices[device];
    if (w->dump_total == SNAPSHOT_MAX_DUMPS)
        return BT_ERR_RANGE;
    struct writer_dump *added = snapshot_room(&dev->dumps, dev->dump_count, sizeof *added);
    if (!added)
        return BT_ERR_NOMEM;
    *added = *dump;
    dev->dump_count++;
    w->dump_total++;
    dev->dirty = true;
    return 0;
}

int snapshot_writer_add_dump(struct snapshot_writer *w, int device, uint64_t address,
                             const char *space, const void *data, size_t length)
{
    if (!space)
        space = "";
    if (!valid_device(w, device) || length == 0 || length - 1 > UINT64_MAX - address ||
        (space[0] != '\0' && !valid_name(space)))
        return BT_ERR_INVAL;
    if (w->dump_files >= SNAPSHOT_MAX_FILES - SNAPSHOT_MAX_BUFFERS ||
        w->dump_total == SNAPSHOT_MAX_DUMPS)
        return BT_ERR_RANGE;
    struct writer_dump dump = {.file = w->dump_files, .address = address, .length = length};
    snprintf(dump.space, sizeof dump.space, "%s", space);
    char name[32];
    snprintf(name, sizeof name, "dump_%u.bin", dump.file);
    if (replace_file(w->dir, name, data, length) != 0)
        return BT_ERR_IO;
    w->dump_files++;
    w->newest_dump = dump;
    return name_dump(w, device, &dump);
}

int snapshot_writer_replace_dump(struct snapshot_writer *w, int device, uint64_t address,
                                 const void *data, size_t length)
{
    if (!valid_device(w, device) || length == 0 || length - 1 > UINT64_MAX - address)
        return BT_ERR_INVAL;
    struct writer_device *dev = &w->devices[device];
    struct writer_dump *dump = dev->dump_count ? &dev->dumps[dev->dump_count - 1] : NULL;
    if (!dump)
        return BT_ERR_INVAL;
    char name[32];
    snprintf(name, sizeof name, "dump_%u.bin", dump->file);
    if (replace_file(w->dir, name, data, length) != 0)
        return BT_ERR_IO;
    dump->address = address;
    dump->length = length;
    dev->dirty = true;
    return 0;
}

int snapshot_writer_share_dump(struct snapshot_writer *w, int device)
{
    if (!valid_device(w, device) || w->dump_files == 0)
        return BT_ERR_INVAL;
    return name_dump(w, device, &w->newest_dump);
}

/* Ini files. */

static void print_reg(FILE *f, const struct writer_reg *reg)
{
    if (reg->bits == 64)
        fprintf(f, "%s(size:64)=0x%016llX\n", reg->name, (unsigned long long)reg->value);
    else if (reg->index == SNAPSHOT_WRITER_NO_INDEX)
        fprintf(f, "%s=0x%08llX\n", reg->name, (unsigned long long)reg->value);
    else
        fprintf(f, "%s(0x%03X)=0x%08llX\n", reg->name, reg->index, (unsigned long long)reg->value);
}

static void print_device(FILE *f, const struct snapshot_writer *w, size_t n)
{
    const struct writer_device *dev = &w->devices[n];
    fprintf(f, "[device]\nname=%s\nclass=%s\ntype=%s\n", dev->name, dev->class_name, dev->type);
    if (dev->reg_count > 0)
        fprintf(f, "\n[regs]\n");
    for (size_t i = 0; i < dev->reg_count; i++)
        print_reg(f, &dev->regs[i]);
    /* The newest first: where dumps overlap, readers take the first. */
    for (size_t i = dev->dump_count; i-- > 0;) {
        const struct writer_dump *dump = &dev->dumps[i];
        fprintf(f, "\n[dump%zu]\nfile=dump_%u.bin\naddress=0x%016llX\nlength=0x%llX\n", i + 1,
                dump->file, (unsigned long long)dump->address, (unsigned long long)dump->length);
        if (dump->space[0] != '\0')
            fprintf(f, "space=%s\n", dump->space);
    }
}

static void print_trace(FILE *f, const struct snapshot_writer *w, size_t n)
{
    (void)n;
    fprintf(f, "[trace_buffers]\nbuffers=");
    for (size_t i = 0; i < w->buffer_count; i++)
        fprintf(f, "%sbuffer%zu", i == 0 ? "" : ",", i);
    fprintf(f, "\n");
    for (size_t i = 0; i < w->buffer_count; i++)
        fprintf(f, "\n[buffer%zu]\nname=%s\nfile=buffer_%zu.bin%s\nformat=%s\n", i,
                w->buffers[i].name, i, w->buffers[i].packed ? ".zst" : "", w->buffers[i].format);
    fprintf(f, "\n[source_buffers]\n");
    for (size_t i = 0; i < w->source_count; i++)
        fprintf(f, "%s=%s\n", w->devices[w->sources[i].source].name,
                w->buffers[w->sources[i].buffer].name);
    fprintf(f, "\n[core_trace_sources]\n");
    for (size_t i = 0; i < w->source_count; i++)
        if (w->sources[i].core >= 0)
            fprintf(f, "%s=%s\n", w->devices[w->sources[i].core].name,
                    w->devices[w->sources[i].source].name);
}

static void print_index(FILE *f, const struct snapshot_writer *w, size_t n)
{
    (void)n;
    fprintf(f, "[snapshot]\nversion=1.0\n");
    if (w->description)
        fprintf(f, "description=%s\n", w->description);
    fprintf(f, "\n[device_list]\n");
    for (size_t i = 0; i < w->device_count; i++)
        fprintf(f, "device%zu=device_%zu.ini\n", i, i);
    if (w->buffer_count > 0)
        fprintf(f, "\n[trace]\nmetadata=trace.ini\n");
}

static int write_ini(struct snapshot_writer *w, const char *name,
                     void (*print)(FILE *f, const struct snapshot_writer *w, size_t n), size_t n)
{
    char *text = NULL;
    size_t length = 0;
    FILE *f = open_memstream(&text, &length);
    if (!f)
        return BT_ERR_IO;
    print(f, w, n);
    int error = ferror(f) ? BT_ERR_IO : 0;
    if (fclose(f) != 0)
        error = BT_ERR_IO;
    if (error == 0)
        error = replace_file(w->dir, name, text, length);
    free(text);
    return error;
}

static int open_buffers(struct snapshot_writer *w)
{
    for (size_t i = 0; i < w->buffer_count; i++) {
        struct writer_buffer *b = &w->buffers[i];
        if (b->fd >= 0)
            continue;
        char name[40];
        snprintf(name, sizeof name, "buffer_%zu.bin%s", i, b->packed ? ".zst" : "");
        if (b->packed && !b->zstd && !(b->zstd = zstd_writer_new()))
            return BT_ERR_IO;
        b->fd = openat(w->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (b->fd < 0)
            return BT_ERR_IO;
    }
    return 0;
}

/* Bytes that wait to be compressed are on disk before what is said of them. */
static int flush_buffers(struct snapshot_writer *w)
{
    int error = 0;
    for (size_t i = 0; i < w->buffer_count && !error; i++)
        if (w->buffers[i].zstd)
            error = zstd_writer_flush(w->buffers[i].zstd, w->buffers[i].fd);
    return error;
}

int snapshot_writer_commit(struct snapshot_writer *w)
{
    if (w->device_count == 0)
        return BT_ERR_INVAL;
    /* What a file refers to is there before it: a crash between two leaves a valid recording. */
    if (open_buffers(w) != 0 || flush_buffers(w) != 0)
        return BT_ERR_IO;
    for (size_t i = 0; i < w->device_count; i++) {
        char name[40];
        snprintf(name, sizeof name, "device_%zu.ini", i);
        if (w->devices[i].dirty && write_ini(w, name, print_device, i) != 0)
            return BT_ERR_IO;
        w->devices[i].dirty = false;
    }
    if (w->trace_dirty) {
        if (w->buffer_count > 0 && write_ini(w, "trace.ini", print_trace, 0) != 0)
            return BT_ERR_IO;
        w->trace_dirty = false;
        w->index_dirty = true;
    }
    if (w->index_dirty && write_ini(w, "snapshot.ini", print_index, 0) != 0)
        return BT_ERR_IO;
    w->index_dirty = false;
    return fsync(w->dir) == 0 ? 0 : BT_ERR_IO;
}

int snapshot_writer_append(struct snapshot_writer *w, int buffer, const void *data, size_t length)
{
    if (!valid_buffer(w, buffer) || w->buffers[buffer].fd < 0)
        return BT_ERR_INVAL;
    struct writer_buffer *b = &w->buffers[buffer];
    if (!b->zstd)
        return file_write_all(b->fd, data, length, &b->size);
    int error = zstd_writer_append(b->zstd, b->fd, data, length);
    b->size += error ? 0 : length;
    return error;
}

uint64_t snapshot_writer_size(const struct snapshot_writer *w, int buffer)
{
    return valid_buffer(w, buffer) ? w->buffers[buffer].size : 0;
}

/* fdatasync() all buffers: what was appended survives a loss of power. Return 0 or BT_ERR_IO. */
static int snapshot_writer_sync(struct snapshot_writer *w)
{
    int error = 0;
    for (size_t i = 0; i < w->buffer_count; i++)
        if (w->buffers[i].fd >= 0 && fdatasync(w->buffers[i].fd) != 0)
            error = BT_ERR_IO;
    return error;
}

int snapshot_writer_close(struct snapshot_writer *w)
{
    if (!w)
        return 0;
    int error = w->device_count > 0 ? snapshot_writer_commit(w) : 0;
    for (size_t i = 0; i < w->buffer_count; i++)
        if (zstd_writer_close(w->buffers[i].zstd, w->buffers[i].fd) != 0)
            error = BT_ERR_IO;
    if (snapshot_writer_sync(w) != 0)
        error = BT_ERR_IO;
    int saved = errno;
    for (size_t i = 0; i < w->buffer_count; i++)
        if (w->buffers[i].fd >= 0)
            close(w->buffers[i].fd);
    for (size_t i = 0; i < w->device_count; i++) {
        free(w->devices[i].regs);
        free(w->devices[i].dumps);
    }
    close(w->dir);
    free(w->devices);
    free(w->buffers);
    free(w->sources);
    free(w->description);
    free(w);
    errno = saved;
    return error;
}
