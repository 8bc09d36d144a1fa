/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/export_args.h"

#include "server/base/command_line.h"
#include "server/base/exit_codes.h"
#include "server/export/export_tasks.h"
#include "server/export/part.h"
#include "server/export/report.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

int export_complain(const struct export_args *args, const char *text)
{
    fprintf(stderr, "btraced %s: %s\n", args->command->name, text);
    return EXIT_INPUT;
}

int export_failed(const struct export_args *args, int error)
{
    fprintf(stderr, "btraced %s: %s: %s\n", args->command->name, args->paths[0],
            recording_strerror(error));
    return error == BT_ERR_FORMAT ? EXIT_INPUT : EXIT_INTERNAL;
}

static const char *take_export_format(void *ctx, const char *value)
{
    struct export_args *args = ctx;
    char *text = args->wrong;
    const size_t size = sizeof args->wrong;
    size_t n = (size_t)snprintf(text, size, "format must be one of");
    for (unsigned i = 0; args->command->formats[i]; i++) {
        if (strcmp(args->command->formats[i], value) == 0) {
            args->format = i;
            return NULL;
        }
        n += (size_t)snprintf(text + n, size - n, " %s", args->command->formats[i]);
    }
    snprintf(text + n, size - n, ", not");
    return text;
}

static bool parse_export_number(const char *text, uint64_t least, uint64_t *out)
{
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 0);
    return !*end && end != text && !errno && *text != '-' && *out >= least;
}

static const char *take_shortest(void *ctx, const char *value)
{
    uint64_t *shortest = &((struct export_args *)ctx)->shortest;
    return parse_export_number(value, 0, shortest) ? NULL : "--shortest is a number, not";
}

static const char *take_max_size(void *ctx, const char *value)
{
    uint64_t *most = &((struct export_args *)ctx)->max_bytes;
    return parse_export_number(value, 4096, most)
               ? NULL
               : "--max-size is a number of bytes from 4096, not";
}

static const char *take_fail_under(void *ctx, const char *value)
{
    double *percent = &((struct export_args *)ctx)->fail_under;
    char *end;
    *percent = strtod(value, &end);
    return *end || end == value || !(*percent >= 0 && *percent <= 100)
               ? "--fail-under is a percentage, not"
               : NULL;
}

static const char *take_part(void *ctx, const char *value)
{
    struct export_args *args = ctx;
    return part_parse(value, &args->part, &args->parts)
               ? NULL
               : "--part is I/N, from 1/N to N/N, N up to 65536, not";
}

int export_parse(struct export_args *args, const struct export_command *command, int argc,
                 char **argv)
{
    const unsigned is = command->is;
    bool objects = false, in_parts = is & (EXPORT_COVERAGE | EXPORT_PROFILE | EXPORT_FEEDBACK);
    memset(args, 0, sizeof *args);
    const struct command_option options[] = {
        {.name = "output", .letter = 'o', .text = &args->output},
        {.name = "elf", .list = {args->elf, &args->elf_count, RECORDING_MAX_ELF}},
        {.name = "source", .text = &args->source, .elsewhere = is == EXPORT_MERGE},
        {.name = "source-map", .list = {args->maps, &args->map_count, EXPORT_MAX_MAPS}},
        {.name = "format", .take = take_export_format},
        {.name = "objects", .flag = &objects, .elsewhere = is != EXPORT_COVERAGE},
        {.name = "fail-under",
         .take = take_fail_under,
         .elsewhere = !(is & (EXPORT_COVERAGE | EXPORT_MERGE))},
        {.name = "from", .text = &args->from, .elsewhere = is != EXPORT_TIMELINE},
        {.name = "to", .text = &args->to, .elsewhere = is != EXPORT_TIMELINE},
        {.name = "shortest", .take = take_shortest, .elsewhere = is != EXPORT_TIMELINE},
        {.name = "max-size",
         .take = take_max_size,
         .elsewhere = !(is & (EXPORT_TIMELINE | EXPORT_REPORT))},
        {.name = "part", .take = take_part, .elsewhere = !in_parts},
        {.name = "run", .text = &args->run, .elsewhere = !in_parts},
        {.name = "no-tasks", .flag = &args->no_tasks, .elsewhere = is != EXPORT_PROFILE},
        {.name = "jobs",
         .letter = 'j',
         .number = {&args->jobs, 1, 64, "the number of threads is from 1 to 64, not"}},
        {.name = NULL},
    };
    const struct command_line line = {
        .name = command->name, .help = command->help, .options = options, .ctx = args};
    args->command = command;
    int code = command_line_parse(&line, argc, argv);
    if (code)
        return code;
    if (objects)
        take_export_format(args, "objects");
    args->paths = argv + optind;
    args->path_count = (size_t)(argc - optind);
    if (args->path_count == 0)
        return usage_error(command->name,
                           command->is == EXPORT_MERGE ? "no file given" : "no recording given",
                           NULL);
    if (args->parts && (args->path_count > 1 || args->jobs > 1))
        return usage_error(command->name, "--part goes with one recording, and without --jobs",
                           NULL);
    if (args->path_count > command->max_recordings)
        return usage_error(command->name, "too many recordings given", NULL);
    if (args->parts && (!args->output || strcmp(args->output, "-") == 0))
        return usage_error(command->name, "--part writes a file of counts: -o FILE", NULL);
    if (args->run && (!args->parts || strchr(args->run, '/')))
        return usage_error(command->name, "--run names the recording of a --part, without slashes",
                           NULL);
    if (is == EXPORT_REPORT && args->max_bytes && args->max_bytes < REPORT_LEAST_BYTES)
        return usage_error(command->name, "--max-size of a page is at least 262144 bytes", NULL);
    if (args->parts && strcmp(command->formats[args->format], "brstack") == 0)
        return usage_error(command->name, "brstack is of the whole run: leave out --part", NULL);
    if (args->elf_count == 0 && command->is != EXPORT_MERGE)
        return usage_error(command->name, "the program is needed: --elf FILE", NULL);
    return 0;
}

/* The timeline walks twice over a source, and a report has one of its own. */
static void export_show_progress(const struct export_args *args, struct export_opened *o)
{
    unsigned passes = args->command->is == EXPORT_TIMELINE ? 2
                      : args->command->is == EXPORT_REPORT ? 3
                                                           : 1;
    uint64_t bytes = 0;
    for (size_t i = 0; i < o->source_count; i++)
        bytes += passes * recording_bytes(&o->sources[i]);
    if (args->parts)
        bytes /= args->parts;
    int n = snprintf(o->what, sizeof o->what, "btraced %s", args->command->name);
    if (args->parts && n > 0 && (size_t)n < sizeof o->what)
        snprintf(o->what + n, sizeof o->what - (size_t)n, " %" PRIu64 "/%" PRIu64, args->part + 1,
                 args->parts);
    progress_begin(&o->progress, o->what, bytes, true);
    o->recording.progress = &o->progress;
}

static int export_choose(const struct export_args *args, struct export_opened *o, const char *path)
{
    recording_keep_instructions(&o->recording);
    o->sources = o->recording.sources;
    o->source_count = o->recording.source_count;
    if (args->source) {
        o->sources = recording_find(&o->recording, args->source, 0);
        o->source_count = o->sources ? 1 : 0;
    }
    if (!o->source_count && args->command->is & (EXPORT_TIMELINE | EXPORT_PROFILE)) {
        o->sources = recording_tellers(&o->recording, args->source,
                                       args->command->is == EXPORT_TIMELINE, &o->source_count);
        o->alone = true;
    }
    if (o->source_count) {
        export_show_progress(args, o);
        return 0;
    }
    size_t count = o->recording.source_count + o->recording.beside_count;
    fprintf(stderr, "btraced %s: no such trace source in '%s' that can be decoded; it has:",
            args->command->name, path);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, " %s%s", o->recording.sources[i].name,
                i < o->recording.source_count ? "" : " (tells no instructions)");
    fputs(count ? "\n" : " none\n", stderr);
    return EXIT_INPUT;
}

int export_open(const struct export_args *args, size_t i, bool lines, struct export_opened *o)
{
    struct message why;
    const char *path = args->paths[i];
    memset(o, 0, sizeof *o);
    int error = recording_open(&o->recording, path, args->elf, args->elf_count, &why);
    for (size_t w = 0; w < o->recording.warning_count; w++)
        fprintf(stderr, "btraced %s: warning: %s\n", args->command->name, o->recording.warnings[w]);
    if (!error)
        error =
            export_names_init(&o->names, args->elf, o->recording.elf, args->elf_count, lines, &why);
    if (error) {
        fprintf(stderr, "btraced %s: %s\n", args->command->name, why.text);
        return EXIT_INPUT;
    }
    for (size_t m = 0; m < args->map_count; m++)
        if (!export_names_map(&o->names, args->maps[m]))
            return usage_error(args->command->name, "--source-map is FROM=TO, not", args->maps[m]);
    return export_choose(args, o, path);
}

void export_opened_release(struct export_opened *o)
{
    progress_end(&o->progress);
    export_names_release(&o->names);
    recording_close(&o->recording);
}

int export_part(const struct export_args *args, struct export_opened *o)
{
    struct counts_file f = {.part = args->part,
                            .parts = args->parts,
                            .pairs = args->command->is == EXPORT_FEEDBACK,
                            .calls = args->command->is == EXPORT_PROFILE};
    struct message why = {.text = ""};
    for (size_t i = 0; f.calls && !args->no_tasks && i < o->source_count; i++)
        if (export_tasks_watched(o, &o->sources[i]))
            return export_complain(args, "tasks are known of the whole run alone: --no-tasks "
                                         "counts without them");
    if (o->alone)
        return export_complain(args, "PC samples of an ITM have no parts: leave out --part");
    int error = part_identify(&f, &o->recording, o->sources, o->source_count, &o->names,
                              args->run ? args->run : args->paths[0]);
    f.sources = error ? NULL : calloc(o->source_count, sizeof *f.sources);
    for (size_t i = 0; f.sources && !error && i < o->source_count; i++) {
        f.source_count++;
        error = part_count(&f, &o->recording, &o->sources[i], &o->names, &f.sources[i]);
    }
    if (!error && !f.sources)
        error = BT_ERR_NOMEM;
    int code = EXIT_OK;
    if (f.calls && error == BT_ERR_UNSUPPORTED)
        code =
            export_complain(args, "calls are nested too deeply for parts, or go back to ever new "
                                  "callers too often: leave out --part, or make it smaller");
    else if (error)
        code = export_failed(args, error);
    if (!code && counts_file_write(args->output, &f, &why))
        code = export_complain(args, why.text);
    counts_file_release(&f);
    return code;
}

FILE *export_create(const struct export_args *args)
{
    if (!args->output || strcmp(args->output, "-") == 0)
        return stdout;
    FILE *out = fopen(args->output, "wbe");
    if (!out)
        fprintf(stderr, "btraced %s: cannot create '%s': %s\n", args->command->name, args->output,
                strerror(errno));
    return out;
}

int export_close(const struct export_args *args, FILE *out)
{
    bool failed = ferror(out) != 0;
    int error = out == stdout ? fflush(out) : fclose(out);
    if (!failed && !error)
        return EXIT_OK;
    if (errno != EPIPE) /* who closes the pipe early, as `head` does, has seen enough */
        fprintf(stderr, "btraced %s: cannot write '%s': %s\n", args->command->name,
                args->output ? args->output : "standard output", strerror(errno));
    return EXIT_INTERNAL;
}
