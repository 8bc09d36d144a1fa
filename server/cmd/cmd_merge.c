/* SPDX-License-Identifier: BSD-3-Clause */
/* btraced merge: parts of recordings, and several recordings, as one report. */
#include "cmd_export.h"
#include "commands.h"
#include "server/base/exit_codes.h"
#include "server/export/merge.h"
#include "server/export/part.h"

#include <string.h>

#define MERGE_MAX_FILES (1u << 20)

static const char merge_help[] =
    "usage: btraced merge [OPTION]... --elf FILE COUNTS...\n"
    "Adds up what parts of recordings counted ('--part' of coverage, profile, feedback): the same\n"
    "report as from one run. All parts have to be there; several recordings of one program add "
    "up.\n"
    "\n"
    "  --format FORMAT    lcov (the default), text, objects: as of coverage; autofdo, bolt:\n"
    "                     as of feedback; callgrind, folded, speedscope: as of profile, and\n"
    "                     profile: its text; summary: as of decode, needs no --elf\n"
    "  --fail-under N     exit code 7 if less than N percent of the lines ran\n"
    "  -o, --output FILE  write there, not to the standard output\n"
    "  --elf FILE         program that ran, the same as for the parts; repeatable\n"
    "  --source-map A=B   source files below A are below B; repeatable\n"
    "\n"
    "examples:\n"
    "  btraced coverage --part 1/2 --elf crash.elf -o 1.counts recording\n"
    "  btraced coverage --part 2/2 --elf crash.elf -o 2.counts recording\n"
    "  btraced merge --elf crash.elf --format text 1.counts 2.counts\n";

enum { MERGE_OBJECTS = 2, MERGE_AUTOFDO, MERGE_BOLT, MERGE_SUMMARY, MERGE_CALLGRIND };

static const char *const merge_formats[] = {"lcov",       "text",    "objects",   "autofdo",
                                            "bolt",       "summary", "callgrind", "folded",
                                            "speedscope", "profile", NULL};

/* The programs that were named, and their code. */
struct merge_programs {
    struct elf_image *elf[RECORDING_MAX_ELF];
    size_t count;
    struct export_names names;
    struct code_image image;
    struct counts_file known; /* what they are known by */
};

static int add_code(struct merge_programs *p, const struct elf_image *elf)
{
    int error = BT_OK;
    for (size_t i = 0; i < elf->segment_count && !error; i++) {
        struct code_region region = {.address = elf->segments[i].vaddr,
                                     .size = elf->segments[i].file_size,
                                     .bytes = elf->segments[i].data,
                                     .big_endian = elf->code_big_endian};
        error = code_image_add(&p->image, &region);
        error = error == BT_ERR_INVAL ? BT_OK : error;
    }
    return error;
}

static int open_programs(const struct export_args *args, bool lines, struct merge_programs *p)
{
    struct message why = {.text = ""};
    int error = BT_OK;
    memset(p, 0, sizeof *p);
    code_image_init(&p->image);
    for (; p->count < args->elf_count && !error; p->count += !error) {
        error = elf_image_open(args->elf[p->count], &p->elf[p->count], &why);
        if (error)
            message_set(&why, "cannot use '%s': %s", args->elf[p->count], why.text);
        else
            error = add_code(p, p->elf[p->count]);
    }
    if (!error)
        error = export_names_init(&p->names, args->elf, p->elf, p->count, lines, &why);
    for (size_t m = 0; m < args->map_count && !error; m++)
        if (!export_names_map(&p->names, args->maps[m]))
            error = message_fail(&why, BT_ERR_INVAL, "--source-map is FROM=TO, not '%s'",
                                 args->maps[m]);
    if (!error)
        error = part_programs(&p->known, &p->names);
    if (!error)
        return EXIT_OK;
    message_default(&why, error);
    return export_complain(args, why.text);
}

static void release_programs(struct merge_programs *p)
{
    counts_file_release(&p->known);
    export_names_release(&p->names);
    code_image_release(&p->image);
    for (size_t i = 0; i < p->count; i++)
        elf_image_close(p->elf[i]);
}

static int write_merged_coverage(const struct export_args *args, struct merge_programs *p,
                                 struct merge *m)
{
    struct coverage c;
    int error = coverage_init(&c, &p->names, &m->table, &p->image);
    int code = error ? export_failed(args, error) : EXIT_OK;
    if (!code && args->format < MERGE_OBJECTS && c.line_count == 0)
        code = export_complain(args, "the program has no line table (-g): 'objects' needs none");
    if (!code)
        code = cmd_export_coverage(args, &c, &p->names, &m->loss);
    if (!code)
        code = cmd_export_judge(args, &c);
    coverage_release(&c);
    return code;
}

static int write_merged_summary(const struct export_args *args, const struct merge *m)
{
    FILE *out = export_create(args);
    if (!out)
        return EXIT_INTERNAL;
    merge_write_summary(m, out);
    return export_close(args, out);
}

static int write_merged(const struct export_args *args, struct merge_programs *p, struct merge *m)
{
    if (args->format == MERGE_SUMMARY)
        return write_merged_summary(args, m);
    if (args->format < MERGE_AUTOFDO)
        return write_merged_coverage(args, p, m);
    if (args->format >= MERGE_CALLGRIND) {
        struct profile profile = {.names = &p->names,
                                  .loss = &m->loss,
                                  .table = &m->table,
                                  .cores = m->cores,
                                  .core_count = m->source_count};
        return cmd_export_profile(args, args->format - MERGE_CALLGRIND, &profile);
    }
    feedback_finish(&m->feedback);
    return cmd_export_feedback(args, args->format - MERGE_AUTOFDO, &p->names.programs[0],
                               &m->feedback, &m->loss);
}

int cmd_merge(int argc, char **argv)
{
    static const struct export_command command = {"merge", merge_help, merge_formats, EXPORT_MERGE,
                                                  MERGE_MAX_FILES};
    struct export_args args;
    struct merge_programs programs = {.count = 0};
    struct merge merge;
    struct message why;
    int code = export_parse(&args, &command, argc, argv);
    if (code)
        return code < 0 ? EXIT_OK : code;
    if (args.elf_count == 0 && args.format != MERGE_SUMMARY) {
        export_complain(&args, "the program is needed: --elf FILE");
        return EXIT_USAGE;
    }
    enum merge_needs needs = MERGE_ANY;
    if (args.format == MERGE_AUTOFDO || args.format == MERGE_BOLT)
        needs = MERGE_PAIRS;
    else if (args.format >= MERGE_CALLGRIND)
        needs = MERGE_CALLS;
    bool lines = args.format < MERGE_OBJECTS || needs == MERGE_CALLS;
    if (args.elf_count)
        code = open_programs(&args, lines, &programs);
    if (!code && args.format == MERGE_BOLT && programs.elf[0]->machine != ELF_MACHINE_AARCH64)
        code = export_complain(&args, "BOLT knows AArch64 programs alone: --format autofdo");
    memset(&merge, 0, sizeof merge);
    if (!code && merge_files(&merge, args.paths, args.path_count,
                             args.elf_count ? &programs.known : NULL, needs, &why))
        code = export_complain(&args, why.text);
    if (!code)
        code = write_merged(&args, &programs, &merge);
    merge_release(&merge);
    release_programs(&programs);
    return code;
}
