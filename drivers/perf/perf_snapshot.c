/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/perf/perf_snapshot.h"

#include <errno.h>
#include <gelf.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "decoder/base/search.h"
#include "drivers/elf/elf_image.h"

#include "perf_root.h"
#include "perf_snapshot_internal.h"

struct build_id {
    const uint8_t *bytes;
    size_t size; /* 0: not known */
};

/* What the file says of the path; the map's own record is the surer one. */
static struct build_id wanted_id(const struct perf_data *p, const struct perf_map *map)
{
    if (map->build_id_size)
        return (struct build_id){map->build_id, map->build_id_size};
    for (size_t i = 0; i < p->build_id_count; i++)
        if (strcmp(p->build_ids[i].path, map->path) == 0)
            return (struct build_id){p->build_ids[i].id, p->build_ids[i].size};
    return (struct build_id){NULL, 0};
}

/* Descriptor of the note NT_GNU_BUILD_ID. */
static bool note_of(Elf *elf, uint8_t id[PERF_BUILD_ID], size_t *size)
{
    size_t count;
    if (elf_getphdrnum(elf, &count) != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr ph;
        if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_NOTE)
            continue;
        Elf_Data *data =
            elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, (size_t)ph.p_filesz, ELF_T_NHDR);
        GElf_Nhdr note;
        size_t name, desc;
        for (size_t at = 0; data && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0;) {
            if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 ||
                memcmp((char *)data->d_buf + name, "GNU", 4) != 0)
                continue;
            *size = note.n_descsz < PERF_BUILD_ID ? note.n_descsz : PERF_BUILD_ID;
            memcpy(id, (char *)data->d_buf + desc, *size);
            return true;
        }
    }
    return false;
}

enum fit { FIT_YES, FIT_NO_PROGRAM, FIT_OTHER_MACHINE, FIT_OTHER_BUILD };

static enum fit perf_fits(const struct snapshot_file *f, struct build_id wanted)
{
    GElf_Ehdr header;
    uint8_t id[PERF_BUILD_ID];
    size_t size = 0;
    if (elf_version(EV_CURRENT) == EV_NONE)
        return FIT_NO_PROGRAM;
    Elf *elf = elf_memory(f->map, (size_t)f->size);
    enum fit fit = FIT_YES;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
        fit = FIT_NO_PROGRAM;
    else if (header.e_machine != EM_AARCH64 && header.e_machine != EM_ARM)
        fit = FIT_OTHER_MACHINE;
    else if (wanted.size && note_of(elf, id, &size) &&
             memcmp(id, wanted.bytes, size < wanted.size ? size : wanted.size) != 0)
        fit = FIT_OTHER_BUILD;
    elf_end(elf);
    return fit;
}

static int perf_add_file(struct perf_build *b, const char *root, const char *path, size_t *index);

/* A place where the file may be. BT_ERR_RANGE: there is one, but it is not right; *why. */
static int try_place(struct perf_build *b, const char *root, const char *place, struct build_id id,
                     size_t *file, const char **why)
{
    static const char *const reasons[] = {"", "it is no program", "it is not for ARM or AArch64",
                                          "it has another build ID"};
    int error = perf_add_file(b, root, place, file);
    if (error == BT_ERR_IO) {
        *why = *why ? *why : strerror(errno);
        return error;
    }
    if (error)
        return error;
    enum fit fit = perf_fits(&b->ld.snap->priv->files[*file], id);
    if (fit == FIT_YES)
        return BT_OK;
    *why = reasons[fit];
    return BT_ERR_IO;
}

static int look_for(struct perf_build *b, const struct perf_map *map, size_t *file)
{
    struct build_id id = wanted_id(&b->data, map);
    const char *why = NULL, *root = b->places->root ? b->places->root : "";
    char place[PATH_MAX], hex[2 * PERF_BUILD_ID + 1] = "";
    int error = BT_ERR_IO;
    for (size_t i = 0; i < id.size; i++)
        snprintf(hex + 2 * i, 3, "%02x", id.bytes[i]);
    if (id.size > 1 && b->places->build_ids) {
        snprintf(place, sizeof place, "%s/.build-id/%.2s/%s/elf", b->places->build_ids, hex,
                 hex + 2);
        error = try_place(b, NULL, place, id, file, &why);
        why = NULL;
    }
    if (error == BT_ERR_IO && map->path[0] == '/') {
        snprintf(place, sizeof place, "%s%s", root, map->path);
        error = try_place(b, b->places->root, map->path, id, file, &why);
    }
    if (error != BT_ERR_IO)
        return error;
    *file = SIZE_MAX;
    /* Code that no file has, as of a just-in-time compiler: the gaps in the history tell. */
    if (map->path[0] != '/' || strncmp(map->path, "//anon", 6) == 0)
        return BT_OK;
    return snapshot_warn(&b->ld, place, 0, "no code of this program: %s%s%s%s", why ? why : "",
                         *hex ? " (wanted: build ID " : "", hex, *hex ? ")" : "");
}

static int perf_find_program(struct perf_build *b, const struct perf_map *map, size_t *file)
{
    for (size_t i = 0; i < b->program_count; i++) {
        if (strcmp(b->programs[i].path, map->path) == 0) {
            *file = b->programs[i].file;
            return BT_OK;
        }
    }
    int error = look_for(b, map, file);
    if (error)
        return error;
    struct perf_program *program =
        PERF_GROW(b, b->programs, b->program_count, PERF_MAX_PROGRAMS, &error);
    if (!program)
        return error;
    *program = (struct perf_program){map->path, *file};
    b->program_count++;
    return BT_OK;
}

/* The kernel. */

static int add_dump(struct perf_build *b, struct snapshot_device *core,
                    const struct snapshot_dump *dump)
{
    int error = BT_OK;
    struct snapshot_dump *d = PERF_GROW(b, core->dumps, core->dump_count, PERF_MAX_DUMPS, &error);
    if (!d)
        return error;
    *d = *dump;
    d->space = "";
    d->path = b->ld.snap->priv->files[d->file].path;
    core->dump_count++;
    return BT_OK;
}

/* A copy of /proc/kcore has the kernel's memory at the addresses where it ran. */
static int add_kcore(struct perf_build *b, struct snapshot_device *core, Elf *elf, size_t file)
{
    uint64_t size = b->ld.snap->priv->files[file].size;
    size_t count = 0;
    int error = elf_getphdrnum(elf, &count) == 0 ? BT_OK : BT_ERR_FORMAT;
    for (size_t i = 0; i < count && !error; i++) {
        GElf_Phdr ph;
        if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD || ph.p_offset >= size)
            continue;
        uint64_t length = ph.p_filesz < size - ph.p_offset ? ph.p_filesz : size - ph.p_offset;
        if (length && ph.p_vaddr <= UINT64_MAX - length)
            error = add_dump(
                b, core,
                &(struct snapshot_dump){
                    .address = ph.p_vaddr, .length = length, .offset = ph.p_offset, .file = file});
    }
    return error;
}

/*
 * How far the kernel ran from where it was linked. Its map is named for the symbol that perf took
 * as its mark, "[kernel.kallsyms]_text", and has the address of that in place
 * of an offset. */
static int kernel_slide(struct perf_build *b, const struct elf_image *image, uint64_t *slide)
{
    const struct perf_data *p = &b->data;
    const char *mark = NULL;
    *slide = 0;
    for (size_t i = 0; i < p->map_count; i++) {
        const struct perf_map *m = &p->maps[i];
        const char *end = strchr(m->path, ']');
        if (m->pid != UINT32_MAX || !end || strncmp(m->path, "[kernel", 7) != 0)
            continue;
        mark = end + 1;
        const struct elf_symbol *symbol = elf_image_find(image, mark);
        if (!symbol)
            continue;
        *slide = m->offset - symbol->address;
        return BT_OK;
    }
    if (!mark)
        return BT_OK;
    return snapshot_warn(&b->ld, b->places->kernel, 0,
                         "it has no symbol '%s': taken as if the kernel ran where it was linked",
                         mark);
}

static int add_vmlinux(struct perf_build *b, struct snapshot_device *core, size_t file)
{
    const struct snapshot_file *f = &b->ld.snap->priv->files[file];
    struct elf_image *image;
    struct message *why = b->ld.why;
    int error = elf_image_from_memory(f->map, (size_t)f->size, &image, why);
    if (error)
        return snapshot_fail(why, error, "", 0, "%s: %s", b->places->kernel, why->text);
    uint64_t slide;
    error = kernel_slide(b, image, &slide);
    for (size_t i = 0; i < image->segment_count && !error; i++) {
        const struct elf_segment *s = &image->segments[i];
        uint64_t address = s->vaddr + slide;
        if (s->executable && address <= UINT64_MAX - s->file_size)
            error =
                add_dump(b, core,
                         &(struct snapshot_dump){.address = address,
                                                 .length = s->file_size,
                                                 .offset = (uint64_t)(s->data - (uint8_t *)f->map),
                                                 .file = file});
    }
    elf_image_close(image);
    return error;
}

/* The file that was mapped, and where the kernel's code is. */
static int perf_add_kernel(struct perf_build *b, struct snapshot_device *core)
{
    size_t file = SIZE_MAX;
    if (!b->places->kernel)
        return BT_OK;
    for (size_t i = 1; i < b->ld.snap->priv->file_count; i++)
        if (strcmp(b->ld.snap->priv->files[i].path, b->places->kernel) == 0)
            file = i;
    int error = file == SIZE_MAX ? perf_add_file(b, NULL, b->places->kernel, &file) : BT_OK;
    if (error)
        return snapshot_fail(b->ld.why, error, "", 0, "%s: cannot open: %s", b->places->kernel,
                             strerror(errno));
    const struct snapshot_file *f = &b->ld.snap->priv->files[file];
    elf_version(EV_CURRENT);
    Elf *elf = elf_memory(f->map, (size_t)f->size);
    GElf_Ehdr header;
    bool is_core = elf && gelf_getehdr(elf, &header) && header.e_type == ET_CORE &&
                   header.e_machine == EM_AARCH64;
    error = is_core ? add_kcore(b, core, elf, file) : BT_OK;
    elf_end(elf);
    return is_core ? error : add_vmlinux(b, core, file);
}

#define CONFIG_CONTEXT 0x0040u /* TRCCONFIGR.CID */
#define CONFIG_VMID    0x0080u /* TRCCONFIGR.VMID: a kernel in EL2 has the thread's number there */
#define CONTEXT_ETMV3  0xc000u /* ETMCR.ContextIDSize */

enum selector { BY_NOTHING, BY_CONTEXT, BY_VMID };

/* The map and who has it. */
struct code {
    struct perf_build *b;
    struct perf_task *threads; /* by process, then thread; each once */
    size_t thread_count;
    size_t processes; /* with code */
};

static int compare_tasks(const void *left, const void *right)
{
    const struct perf_task *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static int compare_maps(const void *left, const void *right)
{
    const struct perf_map *a = left, *b = right;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->at > b->at ? -1 : a->at < b->at; /* newest first: it wins */
}

static int list_threads(struct code *c)
{
    struct perf_data *p = &c->b->data;
    if (p->map_count)
        qsort(p->maps, p->map_count, sizeof *p->maps, compare_maps);
    if (p->task_count == 0)
        return BT_OK;
    c->threads = malloc(p->task_count * sizeof *c->threads);
    if (!c->threads)
        return BT_ERR_NOMEM;
    memcpy(c->threads, p->tasks, p->task_count * sizeof *c->threads);
    qsort(c->threads, p->task_count, sizeof *c->threads, compare_tasks);
    for (size_t i = 0; i < p->task_count; i++)
        if (i == 0 || compare_tasks(&c->threads[i], &c->threads[c->thread_count - 1]) != 0)
            c->threads[c->thread_count++] = c->threads[i];
    return BT_OK;
}

/* First map of a process, in the order of compare_maps(). */
static size_t first_map(const struct perf_data *p, uint32_t pid)
{
    size_t low;
    SEARCH_FIRST(low, p->map_count, p->maps[low].pid < pid);
    return low;
}

/* The latest exec or fork of `pid` before `limit`; NULL: it was there from the beginning. */
static const struct perf_task *birth_of(const struct perf_data *p, uint32_t pid, uint64_t limit)
{
    for (size_t i = p->task_count; i-- > 0;) {
        const struct perf_task *t = &p->tasks[i];
        if (t->pid == pid && t->at < limit && t->kind != PERF_TASK_SEEN)
            return t;
    }
    return NULL;
}

/* What a core sees of a process: its maps since its last exec, and what it had from its parent. */
static int add_maps(struct code *c, struct snapshot_device *core, uint32_t pid,
                    enum selector selector, uint32_t context)
{
    struct perf_build *b = c->b;
    const struct perf_data *p = &b->data;
    uint64_t limit = UINT64_MAX;
    int error = BT_OK;
    for (unsigned depth = 0; depth < PERF_FORKS && !error; depth++) {
        const struct perf_task *birth = birth_of(p, pid, limit);
        for (size_t i = first_map(p, pid); i < p->map_count && p->maps[i].pid == pid && !error;
             i++) {
            const struct perf_map *m = &p->maps[i];
            size_t file;
            if (m->at >= limit || (birth && m->at < birth->at))
                continue;
            error = perf_find_program(b, m, &file);
            if (error || file == SIZE_MAX)
                continue;
            const struct snapshot_file *f = &b->ld.snap->priv->files[file];
            uint64_t length = m->offset < f->size ? f->size - m->offset : 0;
            length = m->size < length ? m->size : length;
            if (length == 0 || m->address > UINT64_MAX - length)
                continue;
            error = add_dump(b, core,
                             &(struct snapshot_dump){.address = m->address,
                                                     .length = length,
                                                     .offset = m->offset,
                                                     .file = file,
                                                     .context = context,
                                                     .by_context = selector == BY_CONTEXT,
                                                     .by_vmid = selector == BY_VMID});
        }
        if (!birth || birth->kind != PERF_TASK_FORK)
            break;
        pid = birth->parent;
        limit = birth->at;
    }
    return error;
}

static enum selector selector_of(const struct snapshot *snap, const struct snapshot_device *core)
{
    uint64_t value;
    for (size_t i = 0; i < snap->core_source_count; i++) {
        if (strcmp(snap->core_sources[i].core, core->name) != 0)
            continue;
        const struct snapshot_device *d = snapshot_device(snap, snap->core_sources[i].source);
        if (d && snapshot_reg(d, "TRCCONFIGR", &value) == BT_OK)
            return value & CONFIG_VMID ? BY_VMID : value & CONFIG_CONTEXT ? BY_CONTEXT : BY_NOTHING;
        if (d && snapshot_reg(d, "ETMCR", &value) == BT_OK)
            return value & CONTEXT_ETMV3 ? BY_CONTEXT : BY_NOTHING;
    }
    return BY_NOTHING;
}

/* The process of the thread that a core stands for, by its name. */
static bool process_of(const struct code *c, const char *name, uint32_t *pid)
{
    if (strncmp(name, "thread_", 7) != 0)
        return false;
    uint32_t tid = (uint32_t)strtoul(name + 7, NULL, 10);
    for (size_t i = 0; i < c->thread_count; i++) {
        if (c->threads[i].tid == tid) {
            *pid = c->threads[i].pid;
            return true;
        }
    }
    return false;
}

static int perf_add_core(struct code *c, struct snapshot_device *core)
{
    enum selector selector = selector_of(c->b->ld.snap, core);
    uint32_t pid, last = UINT32_MAX;
    int error = BT_OK;
    if (process_of(c, core->name, &pid)) {
        error = add_maps(c, core, pid, BY_NOTHING, 0);
        return error ? error : perf_add_kernel(c->b, core);
    }
    if (c->processes < 2)
        selector = BY_NOTHING;
    for (size_t i = 0; i < c->thread_count && !error; i++) {
        const struct perf_task *t = &c->threads[i];
        if (selector != BY_NOTHING || t->pid != last)
            error = add_maps(c, core, t->pid, selector, t->tid);
        last = t->pid;
    }
    if (!error && selector == BY_NOTHING && c->processes > 1)
        error = snapshot_warn(&c->b->ld, core->name, 0,
                              "the trace has no context IDs: the %zu processes cannot be told "
                              "apart; record with -e cs_etm/contextid/",
                              c->processes);
    return error ? error : perf_add_kernel(c->b, core);
}

int perf_add_code(struct perf_build *b)
{
    struct code c = {.b = b};
    int error = list_threads(&c);
    const struct perf_data *p = &b->data;
    for (size_t i = 0; i < p->map_count; i++)
        if (p->maps[i].pid != UINT32_MAX && (i == 0 || p->maps[i].pid != p->maps[i - 1].pid))
            c.processes++;
    for (size_t i = 0; i < b->ld.snap->device_count && !error; i++)
        if (b->ld.snap->devices[i].device_class == SNAPSHOT_CLASS_CORE)
            error = perf_add_core(&c, &b->ld.snap->devices[i]);
    free(c.threads);
    return error;
}

static int map_regular(int fd, void **map, uint64_t *size)
{
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

/* Maps a file for reading, below `root` if that is not NULL, and adds it to the snapshot's. 0 and
 * *index, or BT_ERR_IO with errno, BT_ERR_NOMEM, BT_ERR_RANGE. */
static int perf_add_file(struct perf_build *b, const char *root, const char *path, size_t *index)
{
    struct snapshot_private *priv = b->ld.snap->priv;
    char place[2 * PATH_MAX];
    void *map;
    uint64_t size;
    int error = map_regular(perf_root_open(root, path), &map, &size);
    if (error)
        return error;
    struct snapshot_file *f =
        PERF_GROW(b, priv->files, priv->file_count, PERF_MAX_PROGRAMS, &error);
    snprintf(place, sizeof place, "%s%s", root ? root : "", path);
    const char *copy = f ? snapshot_string(b->ld.snap, place, strlen(place)) : NULL;
    if (!copy) {
        munmap(map, (size_t)size);
        return error ? error : BT_ERR_NOMEM;
    }
    *f = (struct snapshot_file){.path = copy, .size = size, .map = map};
    *index = priv->file_count++;
    return BT_OK;
}

/* Newer perfs make a folder: the records are in "data"; of several threads, in data.0, data.1... */
static int find_data(const char *path, char *found, size_t size, struct message *why)
{
    struct stat st;
    snprintf(found, size, "%s", path);
    if (stat(path, &st) != 0)
        return snapshot_fail(why, BT_ERR_IO, path, 0, "cannot open: %s", strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return BT_OK;
    snprintf(found, size, "%s/data.0", path);
    if (stat(found, &st) == 0)
        return snapshot_fail(why, BT_ERR_UNSUPPORTED, path, 0,
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
    struct message *why = b->ld.why;
    char file[PATH_MAX];
    size_t index;
    int error = find_data(path, file, sizeof file, why);
    if (error)
        return error;
    error = perf_add_file(b, NULL, file, &index);
    if (error)
        return snapshot_fail(why, error, strcmp(file, path) == 0 ? path : "data", 0,
                             "cannot open: %s",
                             errno == ENODATA ? "the file is empty" : strerror(errno));
    const struct snapshot_file *f = &b->ld.snap->priv->files[index];
    error = perf_data_read(&b->data, f->map, f->size, why);
    if (error)
        return error;
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
    return error ? message_default(why, error) : BT_OK;
}

int perf_snapshot_open(const char *path, const struct perf_places *places, struct snapshot **out,
                       struct message *why)
{
    *out = NULL;
    *why = (struct message){.text = ""};
    struct perf_build b = {.places = places};
    b.ld = (struct snapshot_loader){.snap = new_snapshot(), .why = why};
    if (!b.ld.snap)
        return snapshot_fail(why, BT_ERR_NOMEM, path, 0, "out of memory");
    int error = perf_build(&b, path);
    perf_data_release(&b.data);
    free(b.programs);
    if (error)
        snapshot_close(b.ld.snap);
    else
        *out = b.ld.snap;
    return error;
}
