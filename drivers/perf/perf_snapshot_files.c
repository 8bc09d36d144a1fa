/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program files of a perf.data file. It names them by path and, mostly, by build ID: a file of
 * the same name on this machine may be another one, even one of another architecture.
 */
#include <errno.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "drivers/elf/elf_image.h"
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

/* A place where the file may be. BT_ERR_RANGE: there is one, but it is not right; *why. */
static int try_place(struct perf_build *b, const char *place, struct build_id id, size_t *file,
                     const char **why)
{
    static const char *const reasons[] = {"", "it is no program", "it is not for ARM or AArch64",
                                          "it has another build ID"};
    int error = perf_add_file(b, place, file);
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
        error = try_place(b, place, id, file, &why);
        why = NULL;
    }
    if (error == BT_ERR_IO && map->path[0] == '/') {
        snprintf(place, sizeof place, "%s%s", root, map->path);
        error = try_place(b, place, id, file, &why);
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

int perf_find_program(struct perf_build *b, const struct perf_map *map, size_t *file)
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

static int add_dump(struct perf_build *b, struct snapshot_device *core, size_t file,
                    uint64_t address, uint64_t offset, uint64_t length)
{
    int error = BT_OK;
    struct snapshot_dump *d = PERF_GROW(b, core->dumps, core->dump_count, PERF_MAX_DUMPS, &error);
    if (!d)
        return error;
    *d = (struct snapshot_dump){.address = address,
                                .length = length,
                                .offset = offset,
                                .space = "",
                                .path = b->ld.snap->priv->files[file].path,
                                .file = file};
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
            error = add_dump(b, core, file, ph.p_vaddr, ph.p_offset, length);
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
    char why[160];
    int error = elf_image_from_memory(f->map, (size_t)f->size, &image, why, sizeof why);
    if (error)
        return snapshot_fail(b->ld.err, error, b->places->kernel, 0, "%s", why);
    uint64_t slide;
    error = kernel_slide(b, image, &slide);
    for (size_t i = 0; i < image->segment_count && !error; i++) {
        const struct elf_segment *s = &image->segments[i];
        uint64_t address = s->vaddr + slide;
        if (s->executable && address <= UINT64_MAX - s->file_size)
            error = add_dump(b, core, file, address, (uint64_t)(s->data - (uint8_t *)f->map),
                             s->file_size);
    }
    elf_image_close(image);
    return error;
}

int perf_add_kernel(struct perf_build *b, struct snapshot_device *core)
{
    size_t file = SIZE_MAX;
    if (!b->places->kernel)
        return BT_OK;
    for (size_t i = 1; i < b->ld.snap->priv->file_count; i++)
        if (strcmp(b->ld.snap->priv->files[i].path, b->places->kernel) == 0)
            file = i;
    int error = file == SIZE_MAX ? perf_add_file(b, b->places->kernel, &file) : BT_OK;
    if (error)
        return snapshot_fail(b->ld.err, error, b->places->kernel, 0, "cannot open: %s",
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
