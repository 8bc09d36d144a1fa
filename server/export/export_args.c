/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/export/export_args.h"

#include "server/base/command_line.h"
#include "server/base/exit_codes.h"
#include "server/export/export_tasks.h"
#include "server/export/part.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPT_ELF = 256,
    OPT_SOURCE,
    OPT_SOURCE_MAP,
    OPT_FORMAT,
    OPT_OBJECTS,
    OPT_FAIL_UNDER,
    OPT_FROM,
    OPT_TO,
    OPT_SHORTEST,
    OPT_MAX_BYTES,
    OPT_PART,
    OPT_RUN,
    OPT_NO_TASKS,
};

static const struct option export_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"elf", required_argument, NULL, OPT_ELF},
    {"source", required_argument, NULL, OPT_SOURCE},
    {"source-map", required_argument, NULL, OPT_SOURCE_MAP},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"objects", no_argument, NULL, OPT_OBJECTS},
    {"fail-under", required_argument, NULL, OPT_FAIL_UNDER},
    {"from", required_argument, NULL, OPT_FROM},
    {"to", required_argument, NULL, OPT_TO},
    {"shortest", required_argument, NULL, OPT_SHORTEST},
    {"max-size", required_argument, NULL, OPT_MAX_BYTES},
    {"part", required_argument, NULL, OPT_PART},
    {"run", required_argument, NULL, OPT_RUN},
    {"no-tasks", no_argument, NULL, OPT_NO_TASKS},
    {"jobs", required_argument, NULL, 'j'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* Whose an option is that not all have. */
static unsigned export_option_of(int option)
{
    switch (option) {
    case OPT_OBJECTS:
        return EXPORT_COVERAGE;
    case OPT_FAIL_UNDER:
        return EXPORT_COVERAGE | EXPORT_MERGE;
    case OPT_PART:
    case OPT_RUN:
        return EXPORT_COVERAGE | EXPORT_PROFILE | EXPORT_FEEDBACK;
    case OPT_NO_TASKS:
        return EXPORT_PROFILE;
    case OPT_SOURCE:
        return EXPORT_ALL & ~EXPORT_MERGE;
    case OPT_FROM:
    case OPT_TO:
    case OPT_SHORTEST:
        return EXPORT_TIMELINE;
    case OPT_MAX_BYTES:
        return EXPORT_TIMELINE | EXPORT_REPORT;
    default:
        return EXPORT_ALL;
    }
}

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

static int export_format(struct export_args *args, const char *name)
{
    char text[200] = "format must be one of";
    for (unsigned i = 0; args->command->formats[i]; i++) {
        if (strcmp(args->command->formats[i], name) == 0) {
            args->format = i;
            return 0;
        }
        size_t n = strlen(text);
        snprintf(text + n, sizeof text - n, " %s", args->command->formats[i]);
    }
    strncat(text, ", not", sizeof text - strlen(text) - 1);
    return usage_error(args->command->name, text, name);
}

static int export_number(const struct export_args *args, const char *what, const char *text,
                         uint64_t least, uint64_t most, uint64_t *out)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (*end || end == text || errno || *text == '-' || value < least || value > most)
        return usage_error(args->command->name, what, text);
    *out = value;
    return 0;
}

static int export_percent(struct export_args *args, const char *text)
{
    char *end;
    args->fail_under = strtod(text, &end);
    if (*end || end == text || !(args->fail_under >= 0 && args->fail_under <= 100))
        return usage_error(args->command->name, "--fail-under is a percentage, not", text);
    return 0;
}

static int export_option(struct export_args *args, int option)
{
    uint64_t jobs;
    int code;
    switch (option) {
    case 'o':
        args->output = optarg;
        return 0;
    case OPT_ELF:
        if (args->elf_count == RECORDING_MAX_ELF)
            return usage_error(args->command->name, "too many --elf options", NULL);
        args->elf[args->elf_count++] = optarg;
        return 0;
    case OPT_SOURCE:
        args->source = optarg;
        return 0;
    case OPT_SOURCE_MAP:
        if (args->map_count == EXPORT_MAX_MAPS)
            return usage_error(args->command->name, "too many --source-map options", NULL);
        args->maps[args->map_count++] = optarg;
        return 0;
    case OPT_FORMAT:
        return export_format(args, optarg);
    case OPT_OBJECTS:
        return export_format(args, "objects");
    case OPT_FAIL_UNDER:
        return export_percent(args, optarg);
    case OPT_FROM:
        args->from = optarg;
        return 0;
    case OPT_TO:
        args->to = optarg;
        return 0;
    case OPT_SHORTEST:
        return export_number(args, "--shortest is a number, not", optarg, 0, UINT64_MAX,
                             &args->shortest);
    case OPT_MAX_BYTES:
        return export_number(args, "--max-size is a number of bytes from 4096, not", optarg, 4096,
                             UINT64_MAX, &args->max_bytes);
    case OPT_PART:
        if (part_parse(optarg, &args->part, &args->parts))
            return 0;
        return usage_error(args->command->name,
                           "--part is I/N, from 1/N to N/N, N up to 65536, not", optarg);
    case OPT_RUN:
        args->run = optarg;
        return 0;
    case OPT_NO_TASKS:
        args->no_tasks = true;
        return 0;
    case 'j':
        code =
            export_number(args, "the number of threads is from 1 to 64, not", optarg, 1, 64, &jobs);
        args->jobs = code ? 0 : (unsigned)jobs;
        return code;
    case 'h':
        fputs(args->command->help, stdout);
        return -1;
    default: /* getopt has said what is wrong */
        fprintf(stderr, "btraced %s: see 'btraced %s --help'\n", args->command->name,
                args->command->name);
        return EXIT_USAGE;
    }
}

int export_parse(struct export_args *args, const struct export_command *command, int argc,
                 char **argv)
{
    static char name[64];
    int index = 0;
    memset(args, 0, sizeof *args);
    args->command = command;
    snprintf(name, sizeof name, "btraced %s", command->name);
    argv[0] = name; /* getopt's messages begin with it */
    for (int option; (option = getopt_long(argc, argv, "ho:j:", export_options, &index)) != -1;) {
        if (option >= OPT_ELF && !(export_option_of(option) & command->is))
            return usage_error(args->command->name, "no such option here:", argv[optind - 1]);
        int code = export_option(args, option);
        if (code)
            return code;
    }
    args->paths = argv + optind;
    args->path_count = (size_t)(argc - optind);
    if (args->path_count == 0)
        return usage_error(command->name,
                           command->is == EXPORT_MERGE ? "no file given" : "no recording given",
                           NULL);
    if (args->parts && (args->path_count > 1 || args->jobs > 1))
        return usage_error(args->command->name,
                           "--part goes with one recording, and without --jobs", NULL);
    if (args->path_count > command->max_recordings)
        return usage_error(args->command->name, "too many recordings given", NULL);
    if (args->parts && (!args->output || strcmp(args->output, "-") == 0))
        return usage_error(args->command->name, "--part writes a file of counts: -o FILE", NULL);
    if (args->run && (!args->parts || strchr(args->run, '/')))
        return usage_error(args->command->name,
                           "--run names the recording of a --part, without slashes", NULL);
    if (args->elf_count == 0 && command->is != EXPORT_MERGE)
        return usage_error(args->command->name, "the program is needed: --elf FILE", NULL);
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
