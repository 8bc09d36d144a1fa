/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/report.h"

#include "decoder/source/detail.h"
#include "server/export/timeline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATA_MARK      "@DATA@"     /* in report.html, once */
#define FIXED_BYTES    (128u << 10) /* the page itself, paths, warnings */
#define PATH_BYTES     64u          /* of a path of calls, about */
#define SOURCE_BYTES   (2u << 20)   /* larger files are no source */
#define TIMELINE_BYTES (1u << 20)   /* of a short trace's timeline, as timeline.c has it */
#define ENCODE_BYTES   3072u        /* at a time; a multiple of 3 */
#define WARNINGS       20u

/* The page as it is: the assembler takes it from the file. */
__asm__(".section .rodata\n"
        "report_page: .incbin \"server/export/report.html\"\n"
        "report_page_end: .byte 0\n"
        ".previous\n");
extern const char report_page[] __attribute__((visibility("hidden")));
extern const char report_page_end[] __attribute__((visibility("hidden")));

/* The JSON, in memory: what it is, is known before any of it is written. */
struct report_json {
    const struct report *r;
    FILE *f;
    uint64_t part;                       /* bytes that each of the parts may have */
    uint64_t end;                        /* where the present one has to end */
    const struct calls_path **functions; /* of the paths that are shown, sorted; one of each */
    size_t function_count;
    uint64_t *instructions; /* of each line of the coverage */
    uint64_t max_bytes;
};

static void report_part(struct report_json *j)
{
    j->end = (uint64_t)ftello(j->f) + j->part;
}

/* Of a row that has `names` bytes of names and paths, each of which may become six. */
static bool report_room(const struct report_json *j, size_t names)
{
    return (uint64_t)ftello(j->f) + 6 * (uint64_t)names + 256 < j->end;
}

static void json_text(struct report_json *j, const char *before, const char *text)
{
    fputs(before, j->f);
    export_json_text(text, strlen(text), j->f);
}

static void json_number(struct report_json *j, const char *name, uint64_t value)
{
    fprintf(j->f, ",\"%s\":%" PRIu64, name, value);
}

static void write_loss(struct report_json *j)
{
    const struct export_loss *loss = j->r->profile->loss;
    const char *before = "";
    char text[1024];
    export_loss_text(loss, text, sizeof text);
    json_text(j, ",\n\"loss\":{\"text\":", text);
    json_number(j, "instructions", loss->instructions);
    json_number(j, "bytes", loss->bytes);
    json_number(j, "skipped", loss->skipped);
    json_number(j, "doubtful", loss->doubtful);
    json_number(j, "takenBack", loss->taken_back);
    json_number(j, "dropped", loss->dropped);
    json_number(j, "noRoom", loss->left_out);
    fputs(",\"gaps\":{", j->f);
    for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++) {
        if (!loss->gaps[cause])
            continue;
        json_text(j, before, bt_gap_name((enum bt_gap_cause)cause));
        fprintf(j->f, ":%" PRIu64, loss->gaps[cause]);
        before = ",";
    }
    fputs("}}", j->f);
}

static void write_heading(struct report_json *j)
{
    const struct export_opened *o = j->r->opened;
    json_text(j, "{\"btraced\":", BTRACED_VERSION);
    json_text(j, ",\"recording\":", j->r->args->paths[0]);
    json_number(j, "maxBytes", j->max_bytes);
    for (size_t i = 0; i < o->names.count; i++)
        json_text(j, i ? "," : ",\n\"programs\":[", o->names.programs[i].path);
    fputs("],\n\"warnings\":[", j->f);
    for (size_t i = 0; i < o->recording.warning_count && i < WARNINGS; i++)
        json_text(j, i ? "," : "", o->recording.warnings[i]);
    fputc(']', j->f);
    write_loss(j);
}

/* Paths of fewer instructions than that are left out: then the others have room. A path has at
 * least as many as those that it leads to, so that these go first. */
static uint64_t least_of_paths(const struct report_json *j)
{
    const struct profile *p = j->r->profile;
    for (uint64_t least = 0;; least = least ? least * 2 : 1) {
        size_t count = 0;
        for (size_t i = 0; i < p->core_count; i++)
            for (size_t n = 0; n < p->cores[i].calls.path_count; n++)
                count += p->cores[i].calls.paths[n].all >= least;
        if (count <= j->part / 2 / PATH_BYTES || least > UINT64_MAX / 4)
            return least;
    }
}

static int address_order(const void *a, const void *b)
{
    const struct calls_path *const *x = a, *const *y = b;
    return (*x)->function < (*y)->function ? -1 : (*x)->function > (*y)->function;
}

/* The functions of the paths that are shown, one of its paths for each. */
static int collect_functions(struct report_json *j, uint64_t least)
{
    const struct profile *p = j->r->profile;
    size_t count = 0, n = 0;
    for (size_t i = 0; i < p->core_count; i++)
        count += p->cores[i].calls.path_count;
    j->functions = malloc((count + 1) * sizeof *j->functions);
    if (!j->functions)
        return BT_ERR_NOMEM;
    for (size_t i = 0; i < p->core_count; i++)
        for (size_t k = 0; k < p->cores[i].calls.path_count; k++)
            if (p->cores[i].calls.paths[k].all >= least)
                j->functions[n++] = &p->cores[i].calls.paths[k];
    if (n)
        qsort(j->functions, n, sizeof *j->functions, address_order);
    for (size_t k = 0; k < n; k++)
        if (!k || j->functions[k]->function != j->functions[k - 1]->function)
            j->functions[j->function_count++] = j->functions[k];
    return BT_OK;
}

/* Name, source file and line of each; without room for a name its address. */
static void write_functions(struct report_json *j)
{
    char name[512], path[4096];
    const char *file;
    unsigned line;
    fputs(",\n\"functions\":[", j->f);
    for (size_t i = 0; i < j->function_count; i++) {
        uint64_t address = j->functions[i]->function;
        profile_function_name(j->r->profile, j->functions[i], name, sizeof name);
        if (!report_room(j, strlen(name)))
            snprintf(name, sizeof name, "0x%08" PRIx64, address);
        json_text(j, i ? ",\n[" : "[", name);
        if (export_line(j->r->profile->names, address, &file, &line)) {
            export_source_path(j->r->profile->names, file, path, sizeof path);
            if (report_room(j, strlen(path))) {
                json_text(j, ",", path);
                fprintf(j->f, ",%u", line);
            }
        }
        fputc(']', j->f);
    }
    fputc(']', j->f);
}

static int write_core(struct report_json *j, const struct profile_core *core, uint64_t least)
{
    const struct calls *calls = &core->calls;
    uint32_t *shown = malloc((calls->path_count + 1) * sizeof *shown), count = 0;
    uint64_t left_out = 0;
    bool raised[1024] = {false};
    if (!shown)
        return BT_ERR_NOMEM;
    json_text(j, "{\"name\":", core->name);
    fputs(",\"paths\":[", j->f);
    for (size_t i = 0; i < calls->path_count; i++) {
        const struct calls_path *p = &calls->paths[i];
        bool orphan = p->parent != CALLS_NO_PATH && shown[p->parent] == CALLS_NO_PATH;
        shown[i] = CALLS_NO_PATH;
        if (p->all < least || orphan || !report_room(j, 0)) {
            left_out++;
            continue;
        }
        const struct calls_path **function =
            bsearch(&p, j->functions, j->function_count, sizeof *j->functions, address_order);
        fprintf(j->f, "%s[%td,%" PRId64 ",%" PRId32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, //
                count ? "," : "", function ? function - j->functions : -1,
                p->parent == CALLS_NO_PATH ? -1 : (int64_t)shown[p->parent], p->exception, p->calls,
                p->self, p->all);
        if (j->r->profile->cycles)
            fprintf(j->f, ",%" PRIu64 ",%" PRIu64, p->self_cycles, p->all_cycles);
        fputc(']', j->f);
        if (p->exception >= 0 && p->exception < 1024)
            raised[p->exception] = true;
        shown[i] = count++;
    }
    free(shown);
    fputs("],\"exceptions\":{", j->f);
    const char *before = "";
    for (unsigned e = 0; e < 1024; e++) {
        if (!raised[e])
            continue;
        fprintf(j->f, "%s\"%u\":\"%s\"", before, e, detail_exception(e, core->m_profile));
        before = ",";
    }
    fputc('}', j->f);
    json_number(j, "leftOut", left_out);
    json_number(j, "crowded", calls->crowded);
    fputc('}', j->f);
    return BT_OK;
}

static int write_calls(struct report_json *j)
{
    const struct profile *p = j->r->profile;
    uint64_t least = least_of_paths(j);
    int error = collect_functions(j, least);
    report_part(j);
    if (!error)
        write_functions(j);
    report_part(j);
    fprintf(j->f, ",\n\"cycles\":%s,\"cores\":[", p->cycles ? "true" : "false");
    for (size_t i = 0; i < p->core_count && !error; i++) {
        fputs(i ? ",\n" : "\n", j->f);
        error = write_core(j, &p->cores[i], least);
    }
    fputs("]", j->f);
    return error;
}

static int place_order(const void *key, const void *line)
{
    const struct coverage_line *x = key, *y = line;
    int files = strcmp(x->file, y->file);
    return files ? files : x->line < y->line ? -1 : x->line > y->line;
}

/* Instructions that ran in each line. */
static int collect_lines(struct report_json *j)
{
    const struct coverage *c = j->r->coverage;
    const struct counts_table *table = j->r->profile->table;
    j->instructions = calloc(c->line_count + 1, sizeof *j->instructions);
    if (!j->instructions)
        return BT_ERR_NOMEM;
    for (size_t i = 0; i < table->count && c->line_count; i++) {
        struct coverage_line key = {0};
        if (!export_line(j->r->profile->names, table->insns[i].address, &key.file, &key.line))
            continue;
        const struct coverage_line *line =
            bsearch(&key, c->lines, c->line_count, sizeof key, place_order);
        if (line)
            j->instructions[line - c->lines] += table->insns[i].count;
    }
    return BT_OK;
}

static bool json_row(struct report_json *j, bool *begun, size_t names)
{
    if (!report_room(j, names))
        return false;
    fputs(*begun ? ",[" : "[", j->f);
    *begun = true;
    return true;
}

/* Its lines are [first, end). What has no room is counted. */
static uint64_t write_rows(struct report_json *j, size_t first, size_t end)
{
    const struct coverage *c = j->r->coverage;
    const char *file = c->lines[first].file;
    uint64_t left_out = 0;
    bool begun = false;
    fputs(",\"lines\":[", j->f);
    for (size_t i = first; i < end; i++) {
        if (json_row(j, &begun, 0))
            fprintf(j->f, "%" PRIu32 ",%" PRIu64 ",%" PRIu64 "]", c->lines[i].line,
                    c->lines[i].count, j->instructions[i]);
        else
            left_out++;
    }
    begun = false;
    fputs("],\n\"functions\":[", j->f);
    for (size_t i = 0; i < c->function_count; i++) {
        const struct coverage_function *f = &c->functions[i];
        if (strcmp(f->file, file) != 0)
            continue;
        if (json_row(j, &begun, strlen(f->name))) {
            fprintf(j->f, "%" PRIu32 ",%" PRIu64, f->line, f->count);
            json_text(j, ",", f->name);
            fputc(']', j->f);
        } else {
            left_out++;
        }
    }
    begun = false;
    fputs("],\n\"branches\":[", j->f);
    for (size_t i = 0; i < c->branch_count; i++) {
        const struct coverage_branch *b = &c->branches[i];
        if (strcmp(b->file, file) != 0)
            continue;
        if (json_row(j, &begun, 0))
            fprintf(j->f, "%" PRIu32 ",%" PRIu64 ",%" PRIu64 "]", b->line, b->not_taken, b->taken);
        else
            left_out++;
    }
    fputc(']', j->f);
    return left_out;
}

static void write_sum(struct report_json *j, const char *file)
{
    struct coverage_total t;
    coverage_sum(j->r->coverage, file, &t);
    fprintf(j->f,
            ",\"sum\":[%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "]",
            t.lines_hit, t.lines, t.functions_hit, t.functions, t.branches_hit, t.branches);
}

/* Built before the source was changed: a guess by the files' times, and said as one. */
static bool is_newer(const struct report_json *j, const struct stat *source)
{
    struct stat program;
    for (size_t i = 0; i < j->r->opened->names.count; i++)
        if (stat(j->r->opened->names.programs[i].path, &program) == 0 &&
            program.st_mtime < source->st_mtime)
            return true;
    return false;
}

/* The file's text as JSON; NULL and why not. */
static char *read_source(const char *path, struct stat *st, size_t *length, const char **why)
{
    char *text = NULL, *json = NULL;
    ssize_t n = -1;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    *why = strerror(errno);
    if (fd < 0)
        return NULL;
    if (fstat(fd, st) || !S_ISREG(st->st_mode) || st->st_size > SOURCE_BYTES)
        *why = "no file of up to 2 MiB";
    else if ((text = malloc((size_t)st->st_size + 1)))
        n = read(fd, text, (size_t)st->st_size);
    close(fd);
    FILE *f = n >= 0 ? open_memstream(&json, length) : NULL;
    if (f) {
        export_json_text(text, (size_t)n, f);
        if (fclose(f)) {
            free(json);
            json = NULL;
        }
    }
    free(text);
    return json;
}

static void write_source(struct report_json *j, const char *path)
{
    struct stat st;
    size_t length;
    const char *why;
    char *json = read_source(path, &st, &length, &why);
    if (json && !report_room(j, length / 6 + 1))
        why = "no room in this page: --max-size";
    if (json && report_room(j, length / 6 + 1)) {
        fputs(",\n\"source\":", j->f);
        fwrite(json, 1, length, j->f);
        fprintf(j->f, ",\"newer\":%s", is_newer(j, &st) ? "true" : "false");
    } else {
        json_text(j, ",\"noSource\":", why);
    }
    free(json);
}

/* One object a file; those with more to them have room before those that never ran. */
static void write_files(struct report_json *j, bool ran, bool sources, uint64_t *left_out)
{
    const struct coverage *c = j->r->coverage;
    char path[4096];
    for (size_t first = 0, end; first < c->line_count; first = end) {
        bool hit = false;
        for (end = first;
             end < c->line_count && strcmp(c->lines[end].file, c->lines[first].file) == 0; end++)
            hit |= c->lines[end].count != 0;
        export_source_path(j->r->profile->names, c->lines[first].file, path, sizeof path);
        if (hit != ran)
            continue;
        if (!report_room(j, strlen(path) + 64)) {
            *left_out += !sources;
            continue;
        }
        json_text(j, "{\"path\":", path);
        if (sources) {
            write_source(j, path);
        } else {
            write_sum(j, c->lines[first].file);
            json_number(j, "leftOut", write_rows(j, first, end));
        }
        fputs("},\n", j->f);
    }
}

static int write_coverage(struct report_json *j)
{
    uint64_t left_out = 0;
    int error = collect_lines(j);
    if (error)
        return error;
    for (unsigned sources = 0; sources < 2; sources++) {
        report_part(j);
        fputs(sources ? ",\n\"sources\":[" : ",\n\"files\":[", j->f);
        write_files(j, true, sources, &left_out);
        write_files(j, false, sources, &left_out);
        fputs("{}]", j->f);
    }
    json_number(j, "filesLeftOut", left_out);
    write_sum(j, NULL);
    return BT_OK;
}

static void write_base64(FILE *out, const uint8_t *data, size_t length)
{
    unsigned char text[ENCODE_BYTES / 3 * 4 + 1] = {0};
    for (size_t at = 0; at < length; at += ENCODE_BYTES) {
        size_t n = length - at < ENCODE_BYTES ? length - at : ENCODE_BYTES;
        int made = EVP_EncodeBlock(text, data + at, (int)n);
        fwrite(text, 1, (size_t)made, out);
    }
}

/* What `btraced timeline` writes. */
static int write_timeline(struct report_json *j)
{
    struct export_args args = *j->r->args;
    struct export_loss loss = {0};
    struct timeline_result result;
    struct message why;
    char *data = NULL;
    size_t length = 0;
    uint64_t wanted = 2 * j->r->profile->loss->bytes;
    args.max_bytes = wanted < TIMELINE_BYTES ? TIMELINE_BYTES : wanted;
    if (args.max_bytes > j->part / 4 * 3)
        args.max_bytes = j->part / 4 * 3;
    FILE *f = open_memstream(&data, &length);
    if (!f)
        return BT_ERR_NOMEM;
    int error = timeline_write(&args, j->r->opened, &f, &loss, &result, &why);
    if (fclose(f) && !error)
        error = BT_ERR_NOMEM;
    if (!error) {
        fputs(",\n\"timeline\":{\"perfetto\":\"", j->f);
        write_base64(j->f, (const uint8_t *)data, length);
        fputc('"', j->f);
        json_number(j, "leftOut", result.left_out);
        json_number(j, "shortest", result.shortest);
        fputc('}', j->f);
    }
    free(data);
    return error;
}

static int write_json(struct report_json *j)
{
    write_heading(j);
    int error = write_calls(j);
    if (!error)
        error = write_coverage(j);
    if (!error)
        error = write_timeline(j);
    fputs("}\n", j->f);
    return error;
}

int report_write(const struct report *r, FILE *out)
{
    char *text = NULL;
    size_t length = 0;
    struct report_json j = {.r = r, .f = open_memstream(&text, &length)};
    if (!j.f)
        return BT_ERR_NOMEM;
    j.max_bytes = r->args->max_bytes ? r->args->max_bytes : REPORT_MAX_BYTES;
    j.part = (j.max_bytes - FIXED_BYTES) / 5;
    int error = write_json(&j);
    if (fclose(j.f) && !error)
        error = BT_ERR_NOMEM;
    const char *mark = strstr(report_page, DATA_MARK);
    if (!error && mark) {
        const char *behind = mark + strlen(DATA_MARK);
        fwrite(report_page, 1, (size_t)(mark - report_page), out);
        fwrite(text, 1, length, out);
        fwrite(behind, 1, (size_t)(report_page_end - behind), out);
    }
    free(text);
    free(j.functions);
    free(j.instructions);
    return error;
}
