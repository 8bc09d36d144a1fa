/* SPDX-License-Identifier: BSD-3-Clause */
/* btraced run: unattended, up to a goal, with what the trace shows as files and an exit code. */
#include "commands.h"
#include "run.h"

#include "server/base/log.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPT_COVERAGE = 256,
    OPT_JSON,
    OPT_JUNIT,
    OPT_LOG,
    OPT_MAX_LOST,
    OPT_NO_SANDBOX,
    OPT_PROFILE,
    OPT_PROGRAM,
    OPT_RECORD,
    OPT_REPORT,
    OPT_SECONDS,
    OPT_SOURCE_MAP,
    OPT_TIMELINE,
    OPT_UNTIL,
    OPT_UNTIL_OUTPUT,
};

static const struct option run_options[] = {
    {"config", required_argument, NULL, 'c'},
    {"coverage", required_argument, NULL, OPT_COVERAGE},
    {"json", required_argument, NULL, OPT_JSON},
    {"junit", required_argument, NULL, OPT_JUNIT},
    {"log", required_argument, NULL, OPT_LOG},
    {"max-lost", required_argument, NULL, OPT_MAX_LOST},
    {"no-sandbox", no_argument, NULL, OPT_NO_SANDBOX},
    {"profile", required_argument, NULL, OPT_PROFILE},
    {"program", required_argument, NULL, OPT_PROGRAM},
    {"record", required_argument, NULL, OPT_RECORD},
    {"report", required_argument, NULL, OPT_REPORT},
    {"seconds", required_argument, NULL, OPT_SECONDS},
    {"source-map", required_argument, NULL, OPT_SOURCE_MAP},
    {"timeline", required_argument, NULL, OPT_TIMELINE},
    {"until", required_argument, NULL, OPT_UNTIL},
    {"until-output", required_argument, NULL, OPT_UNTIL_OUTPUT},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static const char run_help[] =
    "usage: btraced run -c BOARD [--until FUNCTION] [--seconds N] [OPTION]...\n"
    "Runs a target from its reset up to a goal, unattended, and writes what its trace shows.\n"
    "\n"
    "  -c, --config BOARD     the board file\n"
    "  --program ELF          the program that runs, instead of the one in the board file\n"
    "  --until FUNCTION       the goal: this function, or 0xADDRESS, is about to run\n"
    "  --until-output TEXT    the goal: a line of the board's program has this text\n"
    "  --seconds N            the time for it, 1 to 86400 (60); without a goal: run so long\n"
    "  --coverage FILE        write what ran as an LCOV tracefile\n"
    "  --profile FILE         write where instructions went, for KCachegrind\n"
    "  --timeline FILE        write what ran when, for ui.perfetto.dev\n"
    "  --report FILE          write all of that as one page for a browser\n"
    "  --source-map A=B       source files below A are below B; repeatable\n"
    "  --json FILE            write the result for programs; - is the standard output\n"
    "  --junit FILE           the same as test cases, for servers of continuous integration\n"
    "  --max-lost PERCENT     how much of the trace may be lost\n"
    "  --record FOLDER        keep the recording: made anew; a numbered folder in it if it exists\n"
    "  --log LEVEL            " LOG_LEVELS " (the default here: warning)\n"
    "  --no-sandbox           keep all system calls, and write anywhere\n"
    "\n"
    "exit code: 0 reached, 1 not reached, 2 crashed, 3 trace lost, 4 nothing could be judged, or\n"
    "an output could not be written\n"
    "\n"
    "example:\n"
    "  btraced run -c virtual-m3 --until stopped_here --coverage run.info --json run.json\n";

static int run_usage(const char *text, const char *value)
{
    (void)usage_error("run", text, value);
    return RUN_FAILED;
}

static int run_number_option(struct run_args *a, int option)
{
    char *end;
    if (option == OPT_SECONDS) {
        unsigned long n = strtoul(optarg, &end, 10);
        if (*end || n == 0 || n > 86400 || *optarg == '-')
            return run_usage("--seconds wants a number from 1 to 86400, not", optarg);
        a->seconds = (unsigned)n;
        return 0;
    }
    a->max_lost = strtod(optarg, &end);
    if (*end || end == optarg || !(a->max_lost >= 0 && a->max_lost <= 100))
        return run_usage("--max-lost is a percentage, not", optarg);
    return 0;
}

static const char **run_text_option(struct run_args *a, int option)
{
    switch (option) {
    case 'c':
        return &a->serve.path;
    case OPT_PROGRAM:
        return &a->serve.program;
    case OPT_RECORD:
        return &a->serve.record;
    case OPT_UNTIL:
        return &a->until;
    case OPT_UNTIL_OUTPUT:
        return &a->output;
    case OPT_COVERAGE:
        return &a->coverage;
    case OPT_PROFILE:
        return &a->profile;
    case OPT_TIMELINE:
        return &a->timeline;
    case OPT_REPORT:
        return &a->report;
    case OPT_JSON:
        return &a->json;
    case OPT_JUNIT:
        return &a->junit;
    default:
        return NULL;
    }
}

static int run_option(struct run_args *a, int option)
{
    const char **text = run_text_option(a, option);
    if (text) {
        *text = optarg;
        return 0;
    }
    switch (option) {
    case OPT_SECONDS:
    case OPT_MAX_LOST:
        return run_number_option(a, option);
    case OPT_SOURCE_MAP:
        if (a->map_count == EXPORT_MAX_MAPS)
            return run_usage("too many --source-map options", NULL);
        if (!strchr(optarg, '=') || *optarg == '=')
            return run_usage("--source-map is FROM=TO, not", optarg);
        a->maps[a->map_count++] = optarg;
        return 0;
    case OPT_LOG:
        return log_choose(optarg) ? 0 : run_usage("--log wants one of " LOG_LEVELS ", not", optarg);
    case OPT_NO_SANDBOX:
        a->serve.no_sandbox = true;
        return 0;
    case 'h':
        fputs(run_help, stdout);
        return -1;
    default: /* getopt has said what is wrong */
        fprintf(stderr, "btraced run: see 'btraced run --help'\n");
        return RUN_FAILED;
    }
}

static int run_parse(struct run_args *a, int argc, char **argv)
{
    static char name[] = "btraced run";
    enum log_level level;
    argv[0] = name; /* getopt's messages begin with it */
    if (!getenv(LOG_VARIABLE))
        log_choose("warning");
    for (int option; (option = getopt_long(argc, argv, "c:h", run_options, NULL)) != -1;) {
        int code = run_option(a, option);
        if (code)
            return code;
    }
    if (!log_level_now(&level))
        return run_usage(LOG_VARIABLE " is none of " LOG_LEVELS, NULL);
    if (optind != argc)
        return run_usage("a board file is named with -c, not", argv[optind]);
    if (!a->serve.path)
        return run_usage("no board file: -c BOARD, for example -c virtual-a9", NULL);
    if (a->until && a->output)
        return run_usage("one goal: --until or --until-output", NULL);
    if (!a->until && !a->output && !a->seconds)
        return run_usage("no goal: --until FUNCTION, --until-output TEXT or --seconds N", NULL);
    return 0;
}

/* The sandbox leaves their folders writable. */
static void name_outputs(struct run_args *a)
{
    const char *const files[] = {a->coverage, a->profile, a->timeline,
                                 a->report,   a->json,    a->junit};
    for (unsigned i = 0; i < SERVE_MAX_OUTPUTS; i++)
        if (files[i])
            a->serve.outputs[a->serve.output_count++] = files[i];
}

/* A recording that is not kept. */
struct run_scratch {
    char path[128]; /* "": none */
    char folder[160];
};

static bool scratch_make(struct run_scratch *s)
{
    const char *base = getenv("TMPDIR");
    snprintf(s->path, sizeof s->path, "%s/btraced-run-XXXXXX", base && *base ? base : "/tmp");
    if (strlen(s->path) == sizeof s->path - 1 || !mkdtemp(s->path)) {
        fprintf(stderr, "btraced run: cannot make a folder '%s': %s\n", s->path, strerror(errno));
        s->path[0] = '\0';
        return false;
    }
    snprintf(s->folder, sizeof s->folder, "%s/recording", s->path);
    return true;
}

static void scratch_remove(struct run_scratch *s)
{
    char path[600];
    DIR *dir = s->path[0] ? opendir(s->folder) : NULL;
    for (const struct dirent *e; dir && (e = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", s->folder, e->d_name);
        unlink(path);
    }
    if (dir)
        closedir(dir);
    if (s->path[0]) {
        rmdir(s->folder);
        rmdir(s->path);
    }
}

/* One of the commands that read recordings, with what it wants to be told. */
static int run_export(const struct run_args *args, const struct run_seen *seen,
                      int (*command)(int argc, char **argv), const char *name, const char *file)
{
    const char *words[2 * (RECORDING_MAX_ELF + EXPORT_MAX_MAPS) + 8] = {name};
    int n = 1;
    if (!file)
        return 0;
    for (unsigned i = 0; i < seen->program_count; i++) {
        words[n++] = "--elf";
        words[n++] = seen->programs[i];
    }
    for (unsigned i = 0; i < args->map_count; i++) {
        words[n++] = "--source-map";
        words[n++] = args->maps[i];
    }
    words[n++] = "-o";
    words[n++] = file;
    words[n++] = seen->folder;
    optind = 0; /* a command line of its own */
    return command(n, (char **)words) ? RUN_FAILED : 0;
}

static int run_outputs(const struct run_args *a, const struct run_seen *seen,
                       const struct run_verdict *v)
{
    int code = run_export(a, seen, cmd_coverage, "coverage", a->coverage);
    code |= run_export(a, seen, cmd_profile, "profile", a->profile);
    code |= run_export(a, seen, cmd_timeline, "timeline", a->timeline);
    code |= run_export(a, seen, cmd_report, "report", a->report);
    code |= a->json ? run_write_json(a, seen, v) : 0;
    code |= a->junit ? run_write_junit(a, seen, v) : 0;
    return code ? RUN_FAILED : 0;
}

static int run_target(const struct run_args *args)
{
    struct run_seen *seen = calloc(1, sizeof *seen);
    struct run_verdict *verdict = calloc(1, sizeof *verdict);
    int code = RUN_FAILED;
    if (seen && verdict && run_watch(args, seen) == 0) {
        if (!seen->folder[0])
            fprintf(stderr, "btraced run: no core of the board file is traced\n");
        else
            code = run_judge(args, seen, verdict);
        if (!code) {
            run_say(args, seen, verdict);
            code = run_outputs(args, seen, verdict);
            code = verdict->code ? (int)verdict->code : code;
        }
    }
    free(seen);
    free(verdict);
    return code;
}

int cmd_run(int argc, char **argv)
{
    struct run_args args = {.serve = {.command = "btraced run", .recording_only = true},
                            .max_lost = -1};
    struct run_scratch scratch = {.path = ""};
    int code = run_parse(&args, argc, argv);
    if (code)
        return code < 0 ? RUN_REACHED : code;
    args.keeps = args.serve.record != NULL;
    name_outputs(&args);
    if (!args.serve.record && !scratch_make(&scratch))
        return RUN_FAILED;
    if (scratch.path[0])
        args.serve.record = scratch.folder;
    code = run_target(&args);
    scratch_remove(&scratch);
    return code;
}
