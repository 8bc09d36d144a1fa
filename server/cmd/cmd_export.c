/* SPDX-License-Identifier: BSD-3-Clause */
/* btraced coverage, profile, timeline, report, feedback: what a recording shows, in the formats
 * that viewers open. */
#include "cmd_export.h"
#include "commands.h"
#include "server/base/exit_codes.h"
#include "server/export/export_tasks.h"
#include "server/export/profile.h"
#include "server/export/report.h"
#include "server/export/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a command counts and makes; zero: nothing yet. */
struct export_run {
    struct export_args args;
    struct export_opened first; /* recording: what is written has its names */
    struct export_loss loss;
    struct counts_table table;
    struct coverage coverage;
    struct profile profile;
    struct feedback feedback;
};

/* What is a command's own. */
struct export_verb {
    struct export_command command;
    bool lines;                                                   /* it wants source lines */
    int (*begin)(struct export_run *r);                           /* may be NULL; an exit code */
    int (*add)(struct export_run *r, struct export_opened *next); /* may be NULL; a bt_error */
    int (*write)(struct export_run *r);                           /* an exit code */
};

static int add_recordings(const struct export_verb *verb, struct export_run *r)
{
    int code = verb->begin ? verb->begin(r) : EXIT_OK;
    int error = !code && verb->add ? verb->add(r, &r->first) : BT_OK;
    for (size_t i = 1; i < r->args.path_count && !code && !error; i++) {
        struct export_opened next;
        code = export_open(&r->args, i, false, &next);
        error = code ? BT_OK : verb->add(r, &next);
        export_opened_release(&next);
    }
    return error ? export_failed(&r->args, error) : code;
}

static int run_export(const struct export_verb *verb, int argc, char **argv)
{
    struct export_run r;
    memset(&r, 0, sizeof r);
    int code = export_parse(&r.args, &verb->command, argc, argv);
    if (code)
        return code < 0 ? EXIT_OK : code;
    code = export_open(&r.args, 0, verb->lines && !r.args.parts, &r.first);
    if (!code && r.args.parts) {
        code = export_part(&r.args, &r.first);
    } else if (!code) {
        code = add_recordings(verb, &r);
        code = code ? code : verb->write(&r);
    }
    for (size_t i = 0; i < r.profile.core_count; i++)
        calls_release(&r.profile.cores[i].calls);
    free(r.profile.cores);
    feedback_release(&r.feedback);
    coverage_release(&r.coverage);
    counts_table_release(&r.table);
    export_opened_release(&r.first);
    return code;
}

static const char coverage_help[] =
    "usage: btraced coverage [OPTION]... --elf FILE RECORDING...\n"
    "What of a program ran: lines, functions and branches as an LCOV tracefile for genhtml.\n"
    "Several recordings of one program add up. Only what the trace proves is counted.\n"
    "\n"
    "  --format FORMAT    lcov (the default), text: with the lines that never ran, or objects:\n"
    "                     ranges of instructions and directions of branches\n"
    "  --objects          --format objects\n"
    "  --fail-under N     exit code 7 if less than N percent of the lines ran\n" EXPORT_HELP
        EXPORT_PART_HELP "\n"
    "examples:\n"
    "  btraced coverage --elf crash.elf -o run.info recording && genhtml run.info -o html\n"
    "  btraced coverage --elf crash.elf --format text --fail-under 80 run1 run2\n";

static const char *const coverage_formats[] = {"lcov", "text", "objects", NULL};

/* One walk over each source of each recording, added up. */
static int add_recording(struct export_run *r, struct export_opened *o)
{
    for (size_t i = 0; i < o->source_count; i++) {
        struct export_walk walk = {.recording = &o->recording,
                                   .source = &o->sources[i],
                                   .names = &o->names,
                                   .jobs = r->args.jobs};
        struct counts counts;
        int error = export_walk(&walk, &counts, &r->loss);
        if (!error)
            error = counts_table_add(&r->table, &counts);
        counts_release(&counts);
        if (error)
            return error;
    }
    return BT_OK;
}

int cmd_export_coverage(const struct export_args *args, const struct coverage *c,
                        const struct export_names *names, const struct export_loss *loss)
{
    FILE *out = export_create(args);
    if (!out)
        return EXIT_INTERNAL;
    if (args->format == 0)
        coverage_write_lcov(c, names, loss, out);
    else if (args->format == 1)
        coverage_write_text(c, names, loss, out);
    else
        coverage_write_objects(c, names, loss, out);
    return export_close(args, out);
}

int cmd_export_judge(const struct export_args *args, const struct coverage *c)
{
    struct coverage_total sum;
    coverage_sum(c, NULL, &sum);
    double share = sum.lines ? 100.0 * (double)sum.lines_hit / (double)sum.lines : 0;
    if (args->fail_under <= 0 || share >= args->fail_under)
        return EXIT_OK;
    fprintf(stderr, "btraced %s: %" PRIu64 " of %" PRIu64 " lines ran: %.1f %%, less than %g %%\n",
            args->command->name, sum.lines_hit, sum.lines, share, args->fail_under);
    return EXIT_BELOW;
}

static int write_coverage(struct export_run *r)
{
    counts_table_sort(&r->table);
    int error = coverage_init(&r->coverage, &r->first.names, &r->table, r->first.sources[0].image);
    if (error)
        return export_failed(&r->args, error);
    if (r->args.format < 2 && r->coverage.line_count == 0)
        return export_complain(&r->args,
                               "the program has no line table (-g): --objects needs none");
    int code = cmd_export_coverage(&r->args, &r->coverage, &r->first.names, &r->loss);
    return code ? code : cmd_export_judge(&r->args, &r->coverage);
}

int cmd_coverage(int argc, char **argv)
{
    static const struct export_verb verb = {.command = {"coverage", coverage_help, coverage_formats,
                                                        EXPORT_COVERAGE, EXPORT_MAX_RECORDINGS},
                                            .lines = true,
                                            .add = add_recording,
                                            .write = write_coverage};
    return run_export(&verb, argc, argv);
}

static const char profile_help[] =
    "usage: btraced profile [OPTION]... --elf FILE RECORDING\n"
    "Where instructions went, each of them counted, and the cycles that the trace tells.\n"
    "Interrupt handlers, and what follows a gap, have no callers. Of an ITM alone, as over SWO:\n"
    "its samples of the PC.\n"
    "\n"
    "  --format FORMAT    callgrind (the default): for KCachegrind and callgrind_annotate;\n"
    "                     folded: stacks, a line each; speedscope: for www.speedscope.app;\n"
    "                     text: tasks, functions and lines that take most\n"
    "  --no-tasks         no tasks of an operating system: as parts of a run have it\n" EXPORT_HELP
        EXPORT_PART_HELP "\n"
    "examples:\n"
    "  btraced profile --elf crash.elf -o callgrind.out.run recording\n"
    "  btraced profile --elf crash.elf --format text recording\n";

static const char *const profile_formats[] = {"callgrind", "folded", "speedscope", "text", NULL};

/* One core's way through its calls. */
struct profile_walk {
    struct calls *calls;
    struct export_tasks tasks;
};

static void follow_transfer(void *ctx, const struct counts_edge *edge, uint64_t number,
                            uint64_t cycles)
{
    struct profile_walk *w = ctx;
    export_tasks_tell(&w->tasks, w->calls, number);
    calls_transfer(w->calls, edge, number, cycles);
}

static void follow_event(void *ctx, const struct bt_event *event, uint64_t cycles)
{
    struct profile_walk *w = ctx;
    export_tasks_tell(&w->tasks, w->calls, event->position);
    calls_event(w->calls, event, cycles);
}

/* One core's calls; its counts are added to the table. */
static int profile_core(struct export_run *r, struct export_opened *o, size_t i,
                        struct profile_core *core)
{
    struct calls_config config = {.m_profile = export_m_profile(&o->sources[i])};
    struct profile_walk w = {.calls = &core->calls};
    struct export_walk walk = {.recording = &o->recording,
                               .source = &o->sources[i],
                               .names = &o->names,
                               .jobs = r->args.jobs,
                               .cycles = stream_counts_blocks(&o->sources[i].config),
                               .transfer = follow_transfer,
                               .event = follow_event,
                               .ctx = &w};
    struct counts counts;
    core->name = o->sources[i].core_name;
    core->m_profile = config.m_profile;
    int error = calls_init(&core->calls, &config);
    if (!error && !r->args.no_tasks)
        error = export_tasks_find(&w.tasks, o, &o->sources[i]);
    if (!error && !w.tasks.list) { /* nothing to be told in between */
        walk.transfer = calls_transfer;
        walk.transfers = calls_transfers;
        walk.event = calls_event;
        walk.ctx = w.calls;
    }
    if (!error) {
        error = export_walk(&walk, &counts, &r->loss);
        export_tasks_tell(&w.tasks, w.calls, counts.number);
        calls_finish(&core->calls, counts.number, counts.cycles);
        if (!error)
            error = counts_table_add(&r->table, &counts);
        counts_release(&counts);
    }
    export_tasks_release(&w.tasks);
    return error;
}

int cmd_export_profile(const struct export_args *args, unsigned format, struct profile *p)
{
    static int (*const writers[])(const struct profile *p,
                                  FILE *out) = {profile_write_callgrind, profile_write_folded,
                                                profile_write_speedscope, profile_write_text};
    p->cycles = profile_has_cycles(p->table);
    FILE *out = export_create(args);
    if (!out)
        return EXIT_INTERNAL;
    int error = writers[format](p, out);
    int code = export_close(args, out);
    return error ? export_failed(args, error) : code;
}

/* All cores, added up in the table. */
static int profile_recording(struct export_run *r, struct export_opened *o)
{
    struct profile *profile = &r->profile;
    int error = BT_OK;
    *profile = (struct profile){.names = &o->names, .loss = &r->loss, .table = &r->table};
    profile->cores = calloc(o->source_count, sizeof *profile->cores);
    if (!profile->cores)
        return BT_ERR_NOMEM;
    for (size_t i = 0; !error && i < o->source_count; i++) {
        struct profile_core *core = &profile->cores[i];
        profile->core_count++;
        error = o->alone ? profile_sample(core, o, &o->sources[i], &r->table, &r->loss)
                         : profile_core(r, o, i, core);
    }
    counts_table_sort(&r->table);
    profile->cycles = profile_has_cycles(&r->table);
    return error;
}

static int write_profile(struct export_run *r)
{
    return cmd_export_profile(&r->args, r->args.format, &r->profile);
}

int cmd_profile(int argc, char **argv)
{
    static const struct export_verb verb = {
        .command = {"profile", profile_help, profile_formats, EXPORT_PROFILE, 1},
        .lines = true,
        .add = profile_recording,
        .write = write_profile};
    return run_export(&verb, argc, argv);
}

static const char timeline_help[] =
    "usage: btraced timeline [OPTION]... --elf FILE -o OUTPUT RECORDING\n"
    "What ran when, for ui.perfetto.dev: calls, exceptions and gaps of each core.\n"
    "Time is that of cycles or timestamps of the trace; without them an instruction is 1 ns.\n"
    "\n"
    "  --from WHERE       begin at instruction number WHERE, or when that function is called\n"
    "  --to WHERE         end there\n"
    "  --shortest N       leave out calls of fewer than N instructions\n"
    "  --max-size BYTES   of the output (default: twice the trace's, at least 1 MiB); the\n"
    "                     shortest calls are left out until the others fit\n" EXPORT_HELP "\n"
    "examples:\n"
    "  btraced timeline --elf crash.elf -o run.perfetto-trace recording\n"
    "  btraced timeline --elf crash.elf --from main --shortest 100 -o run.pftrace recording\n";

static const char *const timeline_formats[] = {"perfetto", NULL};

static int write_timeline(struct export_run *r)
{
    const struct export_args *args = &r->args;
    struct timeline_result result;
    struct message why;
    FILE *out = NULL;
    int error = timeline_write(args, &r->first, &out, &r->loss, &result, &why);
    int code = out ? export_close(args, out) : EXIT_INTERNAL;
    if (error == BT_ERR_INVAL && why.text[0]) {
        export_complain(args, why.text);
        return EXIT_USAGE;
    }
    if (!error && result.left_out)
        fprintf(stderr,
                "btraced timeline: %" PRIu64 " calls are left out: shorter than %" PRIu64
                " instructions, or without room\n",
                result.left_out, result.shortest);
    if (!error && result.untold)
        fprintf(stderr,
                "btraced timeline: %" PRIu64 " events of ITM or STM are left out, the last ones: "
                "--max-size gives them room\n",
                result.untold);
    return error ? export_failed(args, error) : code;
}

int cmd_timeline(int argc, char **argv)
{
    static const struct export_verb verb = {
        .command = {"timeline", timeline_help, timeline_formats, EXPORT_TIMELINE, 1},
        .write = write_timeline};
    return run_export(&verb, argc, argv);
}

static const char report_help[] =
    "usage: btraced report [OPTION]... --elf FILE -o PAGE.html RECORDING\n"
    "One page for a browser, with all that it needs in it: timeline, calls, functions and\n"
    "lines that take most, coverage with the source, exceptions, gaps.\n"
    "\n"
    "  --max-size BYTES   of the page, from 262144 (default: 16 MiB); what is left out for\n"
    "                     it, the page says\n" EXPORT_HELP "\n"
    "examples:\n"
    "  btraced report --elf crash.elf -o run.html recording\n"
    "  btraced report --elf crash.elf --source-map /build=src -o run.html recording\n";

static const char *const report_formats[] = {"html", NULL};

static int write_report(struct export_run *r)
{
    const struct report report = {&r->args, &r->first, &r->profile, &r->coverage};
    int error = coverage_init(&r->coverage, &r->first.names, &r->table, r->first.sources[0].image);
    if (error)
        return export_failed(&r->args, error);
    FILE *out = export_create(&r->args);
    if (!out)
        return EXIT_INTERNAL;
    error = report_write(&report, out);
    int code = export_close(&r->args, out);
    return error ? export_failed(&r->args, error) : code;
}

int cmd_report(int argc, char **argv)
{
    static const struct export_verb verb = {
        .command = {"report", report_help, report_formats, EXPORT_REPORT, 1},
        .lines = true,
        .add = profile_recording,
        .write = write_report};
    return run_export(&verb, argc, argv);
}

static const char feedback_help[] =
    "usage: btraced feedback [OPTION]... --elf FILE RECORDING...\n"
    "What a compiler wants to know of a run: ranges and taken branches, with their counts.\n"
    "\n"
    "  --format FORMAT    autofdo (the default): text for create_llvm_prof, which\n"
    "                     needs a program with -gdwarf-4; bolt: for perf2bolt -pa, AArch64\n"
    "                     alone; brstack: for llvm-profgen --perfscript, not with "
    "--part\n" EXPORT_HELP EXPORT_PART_HELP "\n"
    "examples:\n"
    "  btraced feedback --elf crash.elf -o run.txt recording\n";

static const char *const feedback_formats[] = {"autofdo", "bolt", "brstack", NULL};

int cmd_export_feedback(const struct export_args *args, unsigned format,
                        const struct export_program *program, const struct feedback *f,
                        const struct export_loss *loss)
{
    char text[1024];
    FILE *out = export_create(args);
    if (!out)
        return EXIT_INTERNAL;
    if (format == FEEDBACK_BOLT)
        feedback_write_bolt(f, program, out);
    else if (format == FEEDBACK_BRSTACK)
        feedback_write_brstack(f, program, out);
    else
        feedback_write_autofdo(f, program, loss, out);
    export_loss_text(loss, text, sizeof text);
    fprintf(stderr, "btraced %s: %s\n", args->command->name, text);
    if (f->left_out)
        fprintf(stderr, "btraced %s: no room for %" PRIu64 " ranges and branches\n",
                args->command->name, f->left_out);
    return export_close(args, out);
}

static int begin_feedback(struct export_run *r)
{
    int error = feedback_init(&r->feedback);
    r->feedback.stacks = r->args.format == FEEDBACK_BRSTACK;
    if (error)
        return export_failed(&r->args, error);
    if (r->args.format == FEEDBACK_BOLT &&
        r->first.names.programs[0].elf->machine != ELF_MACHINE_AARCH64)
        return export_complain(&r->args, "BOLT knows AArch64 programs alone: --format autofdo");
    return EXIT_OK;
}

static int feedback_recording(struct export_run *r, struct export_opened *o)
{
    int error = BT_OK;
    for (size_t i = 0; i < o->source_count && !error; i++) {
        struct export_walk walk = {.recording = &o->recording,
                                   .source = &o->sources[i],
                                   .names = &o->names,
                                   .jobs = r->args.jobs};
        error = feedback_add(&r->feedback, &walk, &r->loss);
    }
    return error;
}

static int write_feedback(struct export_run *r)
{
    feedback_finish(&r->feedback);
    return cmd_export_feedback(&r->args, r->args.format, &r->first.names.programs[0], &r->feedback,
                               &r->loss);
}

int cmd_feedback(int argc, char **argv)
{
    static const struct export_verb verb = {.command = {"feedback", feedback_help, feedback_formats,
                                                        EXPORT_FEEDBACK, EXPORT_MAX_RECORDINGS},
                                            .begin = begin_feedback,
                                            .add = feedback_recording,
                                            .write = write_feedback};
    return run_export(&verb, argc, argv);
}
