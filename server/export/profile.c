/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/profile.h"

#include "decoder/source/detail.h"
#include "server/export/export_tasks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TOP 25 /* functions and lines of the text */

bool profile_has_cycles(const struct counts_table *table)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->insns[i].cycles)
            return true;
    return false;
}

const char *profile_function_name(const struct profile *p, const struct calls_path *path, char *out,
                                  size_t size)
{
    if (!path->task)
        return export_function_name(p->names, path->function, out, size);
    for (size_t i = 0; i < p->task_count; i++) {
        if (p->tasks[i].task != path->function)
            continue;
        snprintf(out, size, "task %s", p->tasks[i].name);
        return out;
    }
    size_t n = (size_t)snprintf(out, size, "task ");
    export_task_name(p->names, path->function, out + n, size - n);
    return out;
}

/* That of an exception's handler says which one. */
static const char *profile_path_name(const struct profile *p, const struct profile_core *core,
                                     const struct calls_path *path, char *out, size_t size)
{
    profile_function_name(p, path, out, size);
    if (path->exception >= 0) {
        size_t n = strlen(out);
        snprintf(out + n, size - n, " [%s]",
                 detail_exception((unsigned)path->exception, core->m_profile));
    }
    return out;
}

/* The calls that led to a path, innermost first: their count. */
static unsigned path_way(const struct calls *calls, uint32_t path, uint32_t way[CALLS_DEPTH + 2])
{
    unsigned n = 0;
    for (; path != CALLS_NO_PATH && n < CALLS_DEPTH + 2; path = calls->paths[path].parent)
        way[n++] = path;
    return n;
}

/* The same, outermost first, each behind a separator. */
static void write_way(const struct profile *p, const struct profile_core *core, uint32_t path,
                      FILE *out)
{
    char name[512];
    uint32_t way[CALLS_DEPTH + 2];
    for (unsigned n = path_way(&core->calls, path, way); n > 0;) {
        profile_path_name(p, core, &core->calls.paths[way[--n]], name, sizeof name);
        for (char *c = name; *c; c++)
            if (*c == ';' || *c == '\n')
                *c = ':';
        fprintf(out, ";%s", name);
    }
}

int profile_write_folded(const struct profile *p, FILE *out)
{
    for (size_t i = 0; i < p->core_count; i++) {
        const struct profile_core *core = &p->cores[i];
        for (size_t n = 0; n < core->calls.path_count; n++) {
            if (!core->calls.paths[n].self)
                continue;
            fputs(core->name, out);
            write_way(p, core, (uint32_t)n, out);
            fprintf(out, " %" PRIu64 "\n", core->calls.paths[n].self);
        }
    }
    return BT_OK;
}

/* Every path is a frame of its own: a viewer joins equal names. */
static void speedscope_frames(const struct profile *p, FILE *out)
{
    char name[512];
    const char *file, *before = "";
    unsigned line;
    for (size_t i = 0; i < p->core_count; i++) {
        const struct profile_core *core = &p->cores[i];
        for (size_t n = 0; n < core->calls.path_count; n++) {
            const struct calls_path *path = &core->calls.paths[n];
            fprintf(out, "%s\n{\"name\":", before);
            profile_path_name(p, core, path, name, sizeof name);
            export_json_text(name, strlen(name), out);
            if (export_line(p->names, path->function, &file, &line)) {
                fputs(",\"file\":", out);
                export_source_path(p->names, file, name, sizeof name);
                export_json_text(name, strlen(name), out);
                fprintf(out, ",\"line\":%u", line);
            }
            fputc('}', out);
            before = ",";
        }
    }
}

static void speedscope_sample(const struct calls *calls, uint32_t path, size_t base, FILE *out)
{
    uint32_t way[CALLS_DEPTH + 2];
    unsigned n = path_way(calls, path, way);
    for (const char *before = "["; n > 0; before = ",")
        fprintf(out, "%s%zu", before, base + way[--n]);
    fputc(']', out);
}

static void speedscope_core(const struct profile_core *core, size_t base, FILE *out)
{
    uint64_t sum = 0;
    const char *before = "";
    fputs("{\"type\":\"sampled\",\"name\":", out);
    export_json_text(core->name, strlen(core->name), out);
    fputs(",\"unit\":\"none\",\"startValue\":0,\"samples\":[", out);
    for (size_t n = 0; n < core->calls.path_count; n++) {
        if (!core->calls.paths[n].self)
            continue;
        fprintf(out, "%s\n", before);
        speedscope_sample(&core->calls, (uint32_t)n, base, out);
        sum += core->calls.paths[n].self;
        before = ",";
    }
    fputs("],\"weights\":[", out);
    before = "";
    for (size_t n = 0; n < core->calls.path_count; n++) {
        if (core->calls.paths[n].self)
            fprintf(out, "%s%" PRIu64, before, core->calls.paths[n].self);
        before = core->calls.paths[n].self ? "," : before;
    }
    fprintf(out, "],\"endValue\":%" PRIu64 "}", sum);
}

int profile_write_speedscope(const struct profile *p, FILE *out)
{
    char text[1024];
    size_t base = 0;
    fputs("{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
          "\"exporter\":\"btraced\",\"activeProfileIndex\":0,\"name\":",
          out);
    export_loss_text(p->loss, text, sizeof text);
    export_json_text(text, strlen(text), out);
    fputs(",\n\"shared\":{\"frames\":[", out);
    speedscope_frames(p, out);
    fputs("]},\n\"profiles\":[", out);
    for (size_t i = 0; i < p->core_count; i++) {
        fputs(i ? ",\n" : "\n", out);
        speedscope_core(&p->cores[i], base, out);
        base += p->cores[i].calls.path_count;
    }
    fputs("]}\n", out);
    return BT_OK;
}

struct top_row {
    uint64_t key; /* function; or line, of `file` */
    const char *file;
    uint64_t self, all, calls, cycles;
};

static int top_order(const void *a, const void *b)
{
    const struct top_row *x = a, *y = b;
    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

static int top_key_order(const void *a, const void *b)
{
    const struct top_row *x = a, *y = b;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return x->key < y->key ? -1 : x->key > y->key;
}

/* Rows of one key become one; then those of most instructions come first. */
static size_t top_join(struct top_row *rows, size_t count)
{
    size_t n = 0;
    if (count)
        qsort(rows, count, sizeof *rows, top_key_order);
    for (size_t i = 0; i < count; i++) {
        if (n && top_key_order(&rows[n - 1], &rows[i]) == 0) {
            rows[n - 1].self += rows[i].self;
            rows[n - 1].all += rows[i].all;
            rows[n - 1].calls += rows[i].calls;
            rows[n - 1].cycles += rows[i].cycles;
        } else {
            rows[n++] = rows[i];
        }
    }
    if (n)
        qsort(rows, n, sizeof *rows, top_order);
    return n;
}

/* Of a function that calls itself only the outermost call counts for all that ran in it. */
static bool is_outermost(const struct calls *calls, const struct calls_path *p)
{
    for (uint32_t up = p->parent; up != CALLS_NO_PATH; up = calls->paths[up].parent)
        if (calls->paths[up].function == p->function)
            return false;
    return true;
}

static const char *profile_unit(const struct profile *p)
{
    return p->loss->sampled ? "samples" : "instructions";
}

static int write_top_functions(const struct profile *p, uint64_t total, FILE *out)
{
    char name[512];
    size_t count = 0;
    for (size_t i = 0; i < p->core_count; i++)
        count += p->cores[i].calls.path_count;
    struct top_row *rows = calloc(count + 1, sizeof *rows);
    if (!rows)
        return BT_ERR_NOMEM;
    count = 0;
    for (size_t i = 0; i < p->core_count; i++) {
        const struct calls *calls = &p->cores[i].calls;
        for (size_t n = 0; n < calls->path_count; n++) {
            const struct calls_path *path = &calls->paths[n];
            rows[count++] = (struct top_row){.key = path->function,
                                             .self = path->self,
                                             .all = is_outermost(calls, path) ? path->all : 0,
                                             .calls = path->calls,
                                             .cycles = path->self_cycles};
        }
    }
    count = top_join(rows, count);
    fprintf(out, "%14s %6s", profile_unit(p), "");
    if (!p->loss->sampled)
        fprintf(out, " %14s %10s%s", "with callees", "calls", p->cycles ? "         cycles" : "");
    fputs("  function\n", out);
    for (size_t i = 0; i < count && i < TOP && rows[i].self; i++) {
        fprintf(out, "%14" PRIu64 " %5.1f%%", rows[i].self,
                100.0 * (double)rows[i].self / (double)total);
        if (!p->loss->sampled)
            fprintf(out, " %14" PRIu64 " %10" PRIu64, rows[i].all, rows[i].calls);
        if (p->cycles)
            fprintf(out, " %14" PRIu64, rows[i].cycles);
        fprintf(out, "  %s\n", export_function_name(p->names, rows[i].key, name, sizeof name));
    }
    free(rows);
    return BT_OK;
}

/* What ran in each task, in the order in which they first ran. */
static void write_top_tasks(const struct profile *p, uint64_t total, FILE *out)
{
    char name[512];
    bool any = false;
    for (size_t i = 0; i < p->core_count; i++) {
        for (size_t n = 0; n < p->cores[i].calls.path_count; n++) {
            const struct calls_path *path = &p->cores[i].calls.paths[n];
            if (!path->task)
                continue;
            if (!any)
                fprintf(out, "%14s %6s %10s%s\n", "instructions", "", "switches",
                        p->cycles ? "         cycles" : "");
            fprintf(out, "%14" PRIu64 " %5.1f%% %10" PRIu64, path->all,
                    100.0 * (double)path->all / (double)total, path->calls);
            if (p->cycles)
                fprintf(out, " %14" PRIu64, path->all_cycles);
            profile_path_name(p, &p->cores[i], path, name, sizeof name);
            fprintf(out, "  %s %s\n", p->cores[i].name, name);
            any = true;
        }
    }
    fputs(any ? "\n" : "", out);
}

static int write_top_lines(const struct profile *p, uint64_t total, FILE *out)
{
    char path[4096];
    size_t count = 0;
    struct top_row *rows = calloc(p->table->count + 1, sizeof *rows);
    if (!rows)
        return BT_ERR_NOMEM;
    for (size_t i = 0; i < p->table->count; i++) {
        const char *file;
        unsigned line;
        if (export_line(p->names, p->table->insns[i].address, &file, &line))
            rows[count++] =
                (struct top_row){.key = line, .file = file, .self = p->table->insns[i].count};
    }
    count = top_join(rows, count);
    if (count)
        fprintf(out, "\n%14s         line\n", profile_unit(p));
    for (size_t i = 0; i < count && i < TOP && rows[i].self; i++)
        fprintf(out, "%14" PRIu64 " %5.1f%%  %s:%" PRIu64 "\n", rows[i].self,
                100.0 * (double)rows[i].self / (double)total,
                export_source_path(p->names, rows[i].file, path, sizeof path), rows[i].key);
    free(rows);
    return BT_OK;
}

int profile_write_text(const struct profile *p, FILE *out)
{
    char text[1024];
    uint64_t total = p->loss->instructions ? p->loss->instructions : 1;
    export_loss_text(p->loss, text, sizeof text);
    fprintf(out, "%s\n\n", text);
    write_top_tasks(p, total, out);
    int error = write_top_functions(p, total, out);
    return error ? error : write_top_lines(p, total, out);
}
