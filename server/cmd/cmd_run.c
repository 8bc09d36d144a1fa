/* SPDX-License-Identifier: BSD-3-Clause */
/* btraced run: unattended, up to a goal, with what the trace shows as files and an exit code. */
#include "commands.h"

#include "decoder/calls/calls.h"
#include "run.h"
#include "server/base/command_line.h"
#include "server/base/log.h"
#include "server/export/export_names.h"
#include "server/history/open_fault.h"

#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the recording of btraced run says: how much was lost, and where it crashed. */

/* The newest open fault; -1: none. */
static int find_open_fault(const struct calls *calls, bool m_profile)
{
    for (unsigned i = calls->depth; i > 0; i--) {
        int32_t exception = calls->frames[i - 1].exception;
        if (exception >= 0 && open_fault_is((unsigned)exception, m_profile))
            return (int)i - 1;
    }
    return -1;
}

/* What calls, or interrupted, the frame above it. */
static uint64_t place_below(const struct calls *calls, const struct calls_frame *above)
{
    if (above->exception >= 0)
        return above->return_address;
    return above->path == CALLS_NO_PATH ? 0 : calls->paths[above->path].site;
}

static void describe_place(const struct export_names *names, uint64_t address, struct run_frame *f)
{
    const char *file;
    f->address = address;
    if (address && export_line(names, address, &file, &f->line))
        export_source_path(names, file, f->file, sizeof f->file);
}

/* The calls of a core as they were opened up to its last instruction, `from`. */
struct run_calls {
    const struct calls *calls;
    const struct export_names *names;
    uint64_t from;
    uint64_t pc;    /* of the halt; 0: not known, or the trace does not lead there */
    unsigned depth; /* of the calls: without those that `from` has returned from */
};

/* `from` may have been a call or a return. True: a call to where the core halted. */
static bool last_is_call(struct run_calls *r)
{
    const struct calls_frame *frames = r->calls->frames;
    r->depth = r->calls->depth;
    for (unsigned i = r->depth; r->pc && i > 0 && frames[i - 1].exception < 0; i--)
        if (frames[i - 1].return_address == r->pc) {
            r->depth = frames[i - 1].below;
            return false;
        }
    uint64_t function = r->pc ? export_function(r->names, r->pc) : 0;
    return r->depth && function == r->pc && function && function != frames[r->depth - 1].function;
}

static struct run_frame *add_frame(struct run_verdict *v, const struct run_calls *r,
                                   uint64_t function, uint64_t place)
{
    struct run_frame *f = &v->frames[v->frame_count++];
    export_function_name(r->names, function, f->function, sizeof f->function);
    describe_place(r->names, place, f);
    return f;
}

/* Innermost first. The place of the innermost one is the halted PC. `fault`: the frame of its
 * handler, -1 if none; the frame that it has interrupted, NULL if it is not listed. */
static const struct run_frame *list_frames(struct run_calls *r, int fault, struct run_verdict *v)
{
    const struct calls_frame *above = NULL;
    const struct run_frame *at = NULL;
    bool called = last_is_call(r);
    if (called)
        add_frame(v, r, r->pc, r->pc);
    uint64_t place = r->pc && !called ? r->pc : r->from;
    for (unsigned i = r->depth; i > 0 && v->frame_count < RUN_FRAMES; i--) {
        const struct calls_frame *frame = &r->calls->frames[i - 1];
        struct run_frame *f =
            add_frame(v, r, frame->function, above ? place_below(r->calls, above) : place);
        f->handler = frame->exception >= 0;
        at = (int)i == fault ? f : at;
        above = frame;
    }
    v->cut = above && above->return_address == 0;
    return at;
}

static void describe_fault(struct run_verdict *v, const char *what, const struct run_frame *at)
{
    int n = snprintf(v->fault, sizeof v->fault, "%s", what);
    size_t used = n > 0 && (size_t)n < sizeof v->fault ? (size_t)n : 0;
    if (!at)
        return;
    n = snprintf(v->fault + used, sizeof v->fault - used, ", in %.128s", at->function);
    used += n > 0 ? (size_t)n : 0;
    if (at->address && used < sizeof v->fault)
        snprintf(v->fault + used, sizeof v->fault - used, " at 0x%08" PRIx64, at->address);
}

/* One core, whose calls are known up to its halt. */
static void judge_core(const struct run_seen *seen, const struct recording_source *source,
                       struct run_calls *r, struct run_verdict *v)
{
    bool m_profile = export_m_profile(source);
    int fault = find_open_fault(r->calls, m_profile);
    unsigned core = 0;
    while (core < seen->core_count && strcmp(seen->cores[core].name, source->core_name) != 0)
        core++;
    bool known = core < seen->core_count && seen->cores[core].halted;
    bool faulted = known && seen->cores[core].faulted;
    if ((fault < 0 && !faulted) || v->crashed)
        return;
    v->crashed = true;
    snprintf(v->core, sizeof v->core, "%s", source->core_name);
    r->pc = known && !seen->cores[core].apart ? seen->cores[core].pc : 0;
    const struct run_frame *at = list_frames(r, fault, v);
    if (faulted && seen->cores[core].fault[0])
        describe_fault(v, seen->cores[core].fault, at);
    else if (fault >= 0)
        describe_fault(v, open_fault_name((unsigned)r->calls->frames[fault].exception, m_profile),
                       at);
    else
        describe_fault(v, "a fault", NULL);
}

static int judge_source(const struct run_seen *seen, struct export_opened *o, size_t i,
                        struct run_verdict *v)
{
    struct calls *calls = calloc(1, sizeof *calls);
    struct calls_config config = {.m_profile = export_m_profile(&o->sources[i])};
    struct export_walk walk = {.recording = &o->recording,
                               .source = &o->sources[i],
                               .names = &o->names,
                               .transfer = calls_transfer,
                               .event = calls_event,
                               .ctx = calls};
    struct run_calls r = {.calls = calls, .names = &o->names};
    struct counts counts;
    int error = calls ? calls_init(calls, &config) : BT_ERR_NOMEM;
    if (!error) {
        error = export_walk(&walk, &counts, &v->loss);
        r.from = counts.from & 1 ? 0 : counts.from; /* not COUNTS_FROM_* */
        counts_release(&counts);
    }
    if (!error)
        judge_core(seen, &o->sources[i], &r, v);
    if (calls)
        calls_release(calls);
    free(calls);
    return error;
}

/* A gap of which nobody knows the size counts as a byte, and so does a trace that does not lead to
 * the halt. */
static void judge_loss(const struct run_seen *seen, struct run_verdict *v)
{
    uint64_t unknown = 0;
    for (unsigned cause = BT_GAP_DEBUG + 1; cause < BT_GAP_CAUSES; cause++)
        if (cause != BT_GAP_NO_SYNC)
            unknown += v->loss.gaps[cause];
    for (unsigned i = 0; i < seen->core_count; i++)
        unknown += seen->cores[i].apart;
    uint64_t lost = v->loss.skipped + seen->dropped + unknown;
    uint64_t all = v->loss.bytes + seen->dropped + unknown;
    v->some_unknown = unknown != 0;
    v->lost = all ? 100.0 * (double)lost / (double)all : 0;
}

static enum run_code verdict_code(const struct run_args *args, const struct run_seen *seen,
                                  const struct run_verdict *v)
{
    bool goal =
        seen->end == RUN_END_GOAL || (seen->end == RUN_END_TIME && !args->until && !args->output);
    if (v->crashed)
        return RUN_CRASHED;
    if (!goal)
        return RUN_NOT_REACHED;
    return args->max_lost >= 0 && v->lost > args->max_lost ? RUN_LOST : RUN_REACHED;
}

/* 0, or RUN_FAILED with the reason printed. */
static int run_judge(const struct run_args *args, const struct run_seen *seen,
                     struct run_verdict *v)
{
    static const struct export_command command = {.name = "run"};
    char folder[sizeof seen->folder], *path = folder;
    struct export_args export = {.command = &command, .paths = &path, .path_count = 1};
    struct export_opened o;
    snprintf(folder, sizeof folder, "%s", seen->folder);
    for (unsigned i = 0; i < seen->program_count; i++)
        export.elf[export.elf_count++] = seen->programs[i];
    for (unsigned i = 0; i < args->map_count; i++)
        export.maps[export.map_count++] = args->maps[i];
    int error = 0, code = export_open(&export, 0, true, &o);
    for (size_t i = 0; !code && !error && i < o.source_count; i++)
        error = judge_source(seen, &o, i, v);
    if (error)
        export_failed(&export, error);
    export_opened_release(&o);
    judge_loss(seen, v);
    v->code = verdict_code(args, seen, v);
    return code || error ? RUN_FAILED : 0;
}

/* What came of btraced run: lines for people, JSON and JUnit for what runs it. */

static const char *result_word(const struct run_verdict *v)
{
    static const char *const words[] = {
        [RUN_REACHED] = "reached", [RUN_NOT_REACHED] = "not reached", [RUN_CRASHED] = "crashed",
        [RUN_LOST] = "trace lost", [RUN_FAILED] = "failed",
    };
    return words[v->code];
}

static const char *end_text(const struct run_seen *seen)
{
    static const char *const texts[] = {
        [RUN_END_CUT] = "it was ended from outside, or the target was lost",
        [RUN_END_GOAL] = "the goal was reached",
        [RUN_END_TIME] = "the time was over",
        [RUN_END_HALT] = "the target halted by itself",
        [RUN_END_FAULT] = "the target is in the handler of a fault",
    };
    return texts[seen->end];
}

/* "--until main", or what else was asked for. */
static const char *goal_text(const struct run_args *args, char *out, size_t size)
{
    if (args->until)
        snprintf(out, size, "--until %s", args->until);
    else if (args->output)
        snprintf(out, size, "--until-output %s", args->output);
    else
        snprintf(out, size, "--seconds %u", args->seconds);
    return out;
}

static const char *frame_place(const struct run_frame *f, char *out, size_t size)
{
    *out = '\0';
    if (f->file[0])
        snprintf(out, size, "%s:%u", f->file, f->line);
    else if (f->address)
        snprintf(out, size, "0x%08" PRIx64, f->address);
    return out;
}

static void print_frames(const struct run_verdict *v, FILE *out)
{
    char place[300];
    for (unsigned i = 0; i < v->frame_count; i++) {
        const struct run_frame *f = &v->frames[i];
        frame_place(f, place, sizeof place);
        fprintf(out, "  #%u %s%s%s%s\n", i, f->function, *place ? " at " : "", place,
                f->handler ? " (handler of the exception)" : "");
    }
    if (v->cut)
        fprintf(out, "  who called that is not in the trace\n");
}

static void run_say(const struct run_args *args, const struct run_seen *seen,
                    const struct run_verdict *v)
{
    char goal[300], loss[1024];
    fprintf(stderr, "btraced run: %s: %s (%s)\n", result_word(v),
            goal_text(args, goal, sizeof goal), end_text(seen));
    if (v->crashed) {
        fprintf(stderr, "%s: %s\n", v->core, v->fault);
        print_frames(v, stderr);
    }
    for (unsigned i = 0; i < seen->core_count; i++)
        if (seen->cores[i].apart)
            fprintf(stderr, "%s: the trace ends before the halt\n", seen->cores[i].name);
    export_loss_text(&v->loss, loss, sizeof loss);
    fprintf(stderr, "trace: %s; lost %s%.3g %%\n", loss, v->some_unknown ? "at least " : "",
            v->lost);
}

/* A line of an object, unless there is nothing to say. */
static void json_member(const char *name, const char *value, FILE *out)
{
    if (!value || !*value)
        return;
    fprintf(out, ",\n  \"%s\": ", name);
    export_json_text(value, strlen(value), out);
}

static void json_frames(const struct run_verdict *v, FILE *out)
{
    fputs(",\n    \"backtrace\": [", out);
    for (unsigned i = 0; i < v->frame_count; i++) {
        const struct run_frame *f = &v->frames[i];
        fprintf(out, "%s\n      {\"function\": ", i ? "," : "");
        export_json_text(f->function, strlen(f->function), out);
        if (f->address)
            fprintf(out, ", \"address\": \"0x%08" PRIx64 "\"", f->address);
        if (f->file[0]) {
            fputs(", \"file\": ", out);
            export_json_text(f->file, strlen(f->file), out);
            fprintf(out, ", \"line\": %u", f->line);
        }
        fprintf(out, "%s}", f->handler ? ", \"handler\": true" : "");
    }
    fprintf(out, "],\n    \"complete\": %s\n  }", v->cut ? "false" : "true");
}

static void json_loss(const struct run_seen *seen, const struct run_verdict *v, FILE *out)
{
    const char *before = "";
    fprintf(out,
            ",\n  \"lost\": {\"percent\": %.6g, \"at_least\": %s, \"bytes_skipped\": %" PRIu64
            ", \"gaps\": {",
            v->lost, v->some_unknown ? "true" : "false", v->loss.skipped);
    for (unsigned cause = 1; cause < BT_GAP_CAUSES; cause++) {
        if (!v->loss.gaps[cause])
            continue;
        fprintf(out, "%s\"%s\": %" PRIu64, before, bt_gap_name((enum bt_gap_cause)cause),
                v->loss.gaps[cause]);
        before = ", ";
    }
    fputs("}, \"cores_cut_off\": [", out);
    before = "";
    for (unsigned i = 0; i < seen->core_count; i++) {
        if (!seen->cores[i].apart)
            continue;
        fputs(before, out);
        export_json_text(seen->cores[i].name, strlen(seen->cores[i].name), out);
        before = ", ";
    }
    fputs("]}", out);
}

static FILE *summary_create(const char *path)
{
    FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
    if (!out)
        fprintf(stderr, "btraced run: cannot create '%s': %s\n", path, strerror(errno));
    return out;
}

static int summary_close(const char *path, FILE *out)
{
    bool failed = ferror(out) != 0;
    int error = out == stdout ? fflush(out) : fclose(out);
    if (!failed && !error)
        return 0;
    fprintf(stderr, "btraced run: cannot write '%s': %s\n", path, strerror(errno));
    return RUN_FAILED;
}

static int run_write_json(const struct run_args *args, const struct run_seen *seen,
                          const struct run_verdict *v)
{
    char goal[300];
    FILE *out = summary_create(args->json);
    if (!out)
        return RUN_FAILED;
    fprintf(out, "{\n  \"result\": \"%s\",\n  \"exit_code\": %d", result_word(v), (int)v->code);
    json_member("board", seen->board, out);
    json_member("program", seen->program_count ? seen->programs[0] : NULL, out);
    json_member("goal", goal_text(args, goal, sizeof goal), out);
    json_member("end", end_text(seen), out);
    fprintf(out, ",\n  \"instructions\": %" PRIu64 ",\n  \"trace_bytes\": %" PRIu64,
            v->loss.instructions, v->loss.bytes);
    json_loss(seen, v, out);
    if (v->crashed) {
        fputs(",\n  \"fault\": {\n    \"core\": ", out);
        export_json_text(v->core, strlen(v->core), out);
        fputs(",\n    \"what\": ", out);
        export_json_text(v->fault, strlen(v->fault), out);
        json_frames(v, out);
    }
    json_member("recording", args->keeps ? seen->folder : NULL, out);
    json_member("coverage", args->coverage, out);
    json_member("profile", args->profile, out);
    json_member("timeline", args->timeline, out);
    json_member("report", args->report, out);
    fputs("\n}\n", out);
    return summary_close(args->json, out);
}

/* What XML cannot hold is a question mark. */
static void xml_text(const char *s, FILE *out)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '&')
            fputs("&amp;", out);
        else if (c == '<')
            fputs("&lt;", out);
        else if (c == '"')
            fputs("&quot;", out);
        else
            fputc(c < 0x20 ? '?' : c, out);
    }
}

static void junit_case(const struct run_seen *seen, const char *name, const char *failure,
                       const struct run_verdict *frames, FILE *out)
{
    fputs("    <testcase classname=\"", out);
    xml_text(seen->board, out);
    fputs("\" name=\"", out);
    xml_text(name, out);
    if (!failure) {
        fputs("\"/>\n", out);
        return;
    }
    fputs("\">\n      <failure message=\"", out);
    xml_text(failure, out);
    fputs("\">", out);
    for (unsigned i = 0; frames && i < frames->frame_count; i++) {
        char place[300];
        fprintf(out, "\n#%u ", i);
        xml_text(frames->frames[i].function, out);
        fputc(' ', out);
        xml_text(frame_place(&frames->frames[i], place, sizeof place), out);
    }
    fputs("</failure>\n    </testcase>\n", out);
}

static int run_write_junit(const struct run_args *args, const struct run_seen *seen,
                           const struct run_verdict *v)
{
    char goal[300], lost[100], most[100];
    bool too_much = args->max_lost >= 0 && v->lost > args->max_lost;
    bool missed = v->code == RUN_NOT_REACHED || v->crashed;
    FILE *out = summary_create(args->junit);
    if (!out)
        return RUN_FAILED;
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
            "  <testsuite name=\"btraced run\" tests=\"%d\" failures=\"%d\">\n",
            2 + (args->max_lost >= 0), missed + v->crashed + too_much);
    junit_case(seen, goal_text(args, goal, sizeof goal), missed ? end_text(seen) : NULL, NULL, out);
    junit_case(seen, "no fault", v->crashed ? v->fault : NULL, v, out);
    snprintf(lost, sizeof lost, "lost %s%.3g %%", v->some_unknown ? "at least " : "", v->lost);
    snprintf(most, sizeof most, "--max-lost %g", args->max_lost);
    if (args->max_lost >= 0)
        junit_case(seen, most, too_much ? lost : NULL, NULL, out);
    fputs("  </testsuite>\n</testsuites>\n", out);
    return summary_close(args->junit, out);
}

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

static const char *take_max_lost(void *ctx, const char *value)
{
    struct run_args *a = ctx;
    char *end;
    a->max_lost = strtod(value, &end);
    return *end || end == value || !(a->max_lost >= 0 && a->max_lost <= 100)
               ? "--max-lost is a percentage, not"
               : NULL;
}

/* The sandbox leaves their folders writable. NULL, or the one that is named twice. */
static const char *name_outputs(struct run_args *a)
{
    const char *const files[] = {a->coverage, a->profile, a->timeline,
                                 a->report,   a->json,    a->junit};
    for (unsigned i = 0; i < SERVE_MAX_OUTPUTS; i++) {
        for (unsigned k = 0; files[i] && k < a->serve.output_count; k++)
            if (strcmp(files[i], a->serve.outputs[k]) == 0)
                return files[i];
        if (files[i])
            a->serve.outputs[a->serve.output_count++] = files[i];
    }
    return NULL;
}

static int run_parse(struct run_args *a, int argc, char **argv)
{
    enum log_level level;
    const struct command_option options[] = {
        {.name = "config", .letter = 'c', .text = &a->serve.path},
        {.name = "coverage", .text = &a->coverage},
        {.name = "json", .text = &a->json},
        {.name = "junit", .text = &a->junit},
        {.name = "log", .take = command_line_log},
        {.name = "max-lost", .take = take_max_lost},
        {.name = "no-sandbox", .flag = &a->serve.no_sandbox},
        {.name = "profile", .text = &a->profile},
        {.name = "program", .text = &a->serve.program},
        {.name = "record", .text = &a->serve.record},
        {.name = "report", .text = &a->report},
        {.name = "seconds", .number = SERVE_SECONDS(&a->seconds)},
        {.name = "source-map", .list = {a->maps, &a->map_count, EXPORT_MAX_MAPS}},
        {.name = "timeline", .text = &a->timeline},
        {.name = "until", .text = &a->until},
        {.name = "until-output", .text = &a->output},
        {.name = NULL},
    };
    const struct command_line line = {
        .name = "run", .help = run_help, .options = options, .ctx = a};
    if (!getenv(LOG_VARIABLE))
        log_choose("warning");
    int code = command_line_parse(&line, argc, argv);
    if (code)
        return code;
    if (!log_level_now(&level))
        return usage_error("run", LOG_VARIABLE " is none of " LOG_LEVELS, NULL);
    if (optind != argc)
        return usage_error("run", "a board file is named with -c, not", argv[optind]);
    if (!a->serve.path)
        return usage_error("run", "no board file: -c BOARD, for example -c virtual-a9", NULL);
    if (a->until && a->output)
        return usage_error("run", "one goal: --until or --until-output", NULL);
    if (!a->until && !a->output && !a->seconds)
        return usage_error("run", "no goal: --until FUNCTION, --until-output TEXT or --seconds N",
                           NULL);
    for (size_t i = 0; i < a->map_count; i++)
        if (!strchr(a->maps[i], '=') || *a->maps[i] == '=')
            return usage_error("run", "--source-map is FROM=TO, not", a->maps[i]);
    const char *twice = name_outputs(a);
    return twice ? usage_error("run", "two outputs are to be written to", twice) : 0;
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
        return code < 0 ? RUN_REACHED : RUN_FAILED;
    args.keeps = args.serve.record != NULL;
    if (!args.serve.record && !scratch_make(&scratch))
        return RUN_FAILED;
    if (scratch.path[0])
        args.serve.record = scratch.folder;
    code = run_target(&args);
    scratch_remove(&scratch);
    return code;
}
