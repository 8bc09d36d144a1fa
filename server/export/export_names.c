/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/export_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int export_names_init(struct export_names *n, const char *const *paths,
                      struct elf_image *const *elf, size_t count, bool lines, struct message *why)
{
    n->programs = calloc(count + 1, sizeof *n->programs);
    if (!n->programs)
        return message_fail(why, BT_ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        struct export_program *p = &n->programs[i];
        p->path = paths[i];
        p->elf = elf[i];
        p->lines.fd = -1;
        n->count++;
        int error = lines ? dwarf_lines_open(&p->lines, paths[i], why) : BT_OK;
        if (error)
            return error;
    }
    return BT_OK;
}

void export_names_release(struct export_names *n)
{
    for (size_t i = 0; i < n->count; i++)
        dwarf_lines_release(&n->programs[i].lines);
    free(n->programs);
    n->programs = NULL;
    n->count = 0;
}

bool export_names_map(struct export_names *n, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || n->map_count == EXPORT_MAX_MAPS)
        return false;
    n->maps[n->map_count++] =
        (struct export_map){.from = text, .from_length = (size_t)(equals - text), .to = equals + 1};
    return true;
}

const char *export_source_path(const struct export_names *n, const char *file, char *out,
                               size_t size)
{
    for (size_t i = 0; i < n->map_count; i++) {
        const struct export_map *m = &n->maps[i];
        const char *rest = file + m->from_length;
        if (strncmp(file, m->from, m->from_length) == 0 &&
            (*rest == '/' || !*rest || rest[-1] == '/')) {
            snprintf(out, size, "%s%s", m->to, rest);
            return out;
        }
    }
    snprintf(out, size, "%s", file);
    return out;
}

static const struct elf_symbol *name_symbol(const struct export_names *n, uint64_t address,
                                            const struct elf_image **elf)
{
    uint64_t offset;
    for (size_t i = 0; i < n->count; i++) {
        const struct elf_symbol *s = elf_image_symbol(n->programs[i].elf, address, &offset);
        if (s) {
            *elf = n->programs[i].elf;
            return s;
        }
    }
    return NULL;
}

/* The function whose part this is: "f.cold", "f.cold.3", "f.part.0.cold". */
static const struct elf_symbol *whole_of(const struct elf_image *elf, const struct elf_symbol *s)
{
    const char *cold = strstr(s->name, ".cold");
    char name[512];
    if (!cold || (size_t)(cold - s->name) >= sizeof name)
        return s;
    snprintf(name, sizeof name, "%.*s", (int)(cold - s->name), s->name);
    const struct elf_symbol *whole = elf_image_find(elf, name);
    return whole ? whole : s;
}

uint64_t export_function(const struct export_names *n, uint64_t address)
{
    const struct elf_image *elf;
    const struct elf_symbol *s = name_symbol(n, address, &elf);
    return s ? whole_of(elf, s)->address : 0;
}

const char *export_function_name(const struct export_names *n, uint64_t address, char *out,
                                 size_t size)
{
    const struct elf_image *elf;
    const struct elf_symbol *s = name_symbol(n, address, &elf);
    if (s)
        snprintf(out, size, "%s", whole_of(elf, s)->name);
    else
        snprintf(out, size, "0x%08" PRIx64, address);
    return out;
}

bool export_line(const struct export_names *n, uint64_t address, const char **file, unsigned *line)
{
    for (size_t i = 0; i < n->count; i++) {
        const struct dwarf_lines *d = &n->programs[i].lines;
        const struct dwarf_segment *s = dwarf_lines_at(d, address);
        if (s) {
            *file = d->files[s->file];
            *line = s->line;
            return true;
        }
    }
    return false;
}

bool export_find(const struct export_names *n, const char *name, uint64_t *address)
{
    for (size_t i = 0; i < n->count; i++) {
        const struct elf_symbol *s = elf_image_find(n->programs[i].elf, name);
        if (s) {
            *address = s->address;
            return true;
        }
    }
    return false;
}

const char *export_variable_name(const struct export_names *n, uint64_t address, char *out,
                                 size_t size)
{
    uint64_t start, length;
    const char *name;
    snprintf(out, size, "0x%08" PRIx64, address);
    for (size_t i = 0; i < n->count; i++)
        if (elf_image_variable_at(n->programs[i].elf, address, &start, &length, &name)) {
            if (start == address)
                snprintf(out, size, "%s", name);
            else
                snprintf(out, size, "%s+%" PRIu64, name, address - start);
            break;
        }
    return out;
}

size_t export_utf8(const unsigned char *s, size_t length)
{
    size_t n = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;
    if (n == 0 || s[0] > 0xf4 || n > length)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    bool beyond = (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf4 && s[1] > 0x8f);
    return overlong || beyond ? 0 : n;
}

void export_json_text(const char *text, size_t length, FILE *out)
{
    fputc('"', out);
    for (size_t at = 0, n; at < length; at += n ? n : 1) {
        const unsigned char *c = (const unsigned char *)text + at;
        n = export_utf8(c, length - at);
        if (*c == '"' || *c == '\\')
            fprintf(out, "\\%c", *c);
        else if (*c < 0x20 || *c == '<' || *c == 0x7f)
            fprintf(out, "\\u%04x", *c);
        else if (n)
            fwrite(c, 1, n, out);
        else
            fputs("\\ufffd", out);
    }
    fputc('"', out);
}
