/* SPDX-License-Identifier: BSD-3-Clause */
/* What the recording of btraced run says: how much was lost, and where it crashed. */
#include "run.h"

#include "decoder/calls/calls.h"
#include "server/history/open_fault.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void verdict_transfer(void *ctx, const struct counts_edge *edge, uint64_t number,
                             uint64_t cycles)
{
    calls_transfer(ctx, edge, number, cycles);
}

static void verdict_event(void *ctx, const struct bt_event *event, uint64_t cycles)
{
    calls_event(ctx, event, cycles);
}

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

/* Innermost first. The place of the innermost one is the halted PC. */
static void list_frames(const struct calls *calls, const struct export_names *names, uint64_t pc,
                        struct run_verdict *v)
{
    const struct calls_frame *above = NULL;
    for (unsigned i = calls->depth; i > 0 && v->frame_count < RUN_FRAMES; i--) {
        const struct calls_frame *frame = &calls->frames[i - 1];
        struct run_frame *f = &v->frames[v->frame_count++];
        export_function_name(names, frame->function, f->function, sizeof f->function);
        describe_place(names, above ? place_below(calls, above) : pc, f);
        f->handler = frame->exception >= 0;
        above = frame;
    }
    v->cut = above && above->return_address == 0;
}

/* The frame that a fault's handler has interrupted. */
static const struct run_frame *faulting_frame(const struct run_verdict *v, unsigned depth,
                                              int fault)
{
    unsigned index = depth - (unsigned)fault;
    return index < v->frame_count ? &v->frames[index] : NULL;
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
static void judge_core(const struct run_seen *seen, const struct export_names *names,
                       const struct recording_source *source, const struct calls *calls,
                       struct run_verdict *v)
{
    bool m_profile = export_m_profile(source);
    int fault = find_open_fault(calls, m_profile);
    unsigned core = 0;
    while (core < seen->core_count && strcmp(seen->cores[core].name, source->core_name) != 0)
        core++;
    bool known = core < seen->core_count && seen->cores[core].halted;
    bool faulted = known && seen->cores[core].faulted;
    if ((fault < 0 && !faulted) || v->crashed)
        return;
    v->crashed = true;
    snprintf(v->core, sizeof v->core, "%s", source->core_name);
    list_frames(calls, names, known ? seen->cores[core].pc : 0, v);
    const struct run_frame *at = fault < 0 ? NULL : faulting_frame(v, calls->depth, fault);
    if (faulted && seen->cores[core].fault[0])
        describe_fault(v, seen->cores[core].fault, at);
    else if (fault >= 0)
        describe_fault(v, open_fault_name((unsigned)calls->frames[fault].exception, m_profile), at);
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
                               .transfer = verdict_transfer,
                               .event = verdict_event,
                               .ctx = calls};
    struct counts counts;
    int error = calls ? calls_init(calls, &config) : BT_ERR_NOMEM;
    if (!error) {
        error = export_walk(&walk, &counts, &v->loss);
        counts_release(&counts);
    }
    if (!error)
        judge_core(seen, &o->names, &o->sources[i], calls, v);
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

int run_judge(const struct run_args *args, const struct run_seen *seen, struct run_verdict *v)
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
