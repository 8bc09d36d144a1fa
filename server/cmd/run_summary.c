/* SPDX-License-Identifier: BSD-3-Clause */
/* What came of btraced run: lines for people, JSON and JUnit for what runs it. */
#include "server/export/export_names.h"

#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

void run_say(const struct run_args *args, const struct run_seen *seen, const struct run_verdict *v)
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

int run_write_json(const struct run_args *args, const struct run_seen *seen,
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

int run_write_junit(const struct run_args *args, const struct run_seen *seen,
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
