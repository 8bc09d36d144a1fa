/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines of what is exported, one parser for all; the recordings and the file they name. */
#ifndef SERVER_EXPORT_ARGS_H
#define SERVER_EXPORT_ARGS_H

#include "server/export/export_walk.h"

#include <stdio.h>

#define EXPORT_MAX_RECORDINGS 64

#define EXPORT_HELP                                                                                \
    "  -o, --output FILE  write there, not to the standard output\n"                               \
    "  --elf FILE         program that ran, with its symbols and lines; repeatable\n"              \
    "  --source NAME      one trace source, by device name; otherwise all\n"                       \
    "  --source-map A=B   source files below A are below B; repeatable\n"                          \
    "  -j, --jobs N       decode with N threads; the output is the same\n"

#define EXPORT_PART_HELP                                                                           \
    "  --part I/N         counts of part I of N alone (1/N to N/N) to a file, for btraced merge\n" \
    "  --run NAME         what the recording is called there; otherwise as its folder\n"

/* Which commands have an option. */
enum export_commands {
    EXPORT_COVERAGE = 1,
    EXPORT_PROFILE = 2,
    EXPORT_TIMELINE = 4,
    EXPORT_FEEDBACK = 8,
    EXPORT_REPORT = 16,
    EXPORT_MERGE = 32,
};

struct export_command {
    const char *name;
    const char *help;
    const char *const *formats; /* names, the default first, then NULL */
    unsigned is;                /* enum export_commands */
    size_t max_recordings;
};

struct export_args {
    const struct export_command *command;
    unsigned format;    /* index of formats[] */
    const char *output; /* NULL: standard output */
    const char *source; /* NULL: all */
    const char *elf[RECORDING_MAX_ELF];
    size_t elf_count;
    const char *maps[EXPORT_MAX_MAPS];
    size_t map_count;
    char **paths; /* recordings */
    size_t path_count;
    unsigned jobs;
    uint64_t part;      /* from 0 */
    uint64_t parts;     /* 0: not asked for */
    bool no_tasks;      /* a profile's roots are functions and handlers alone */
    const char *run;    /* the recording's name for --part; NULL: its folder's */
    double fail_under;  /* percent of the lines; 0: not asked for */
    const char *from;   /* of the window; NULL: the begin */
    const char *to;     /* NULL: the end */
    uint64_t shortest;  /* calls that take less are left out; in the output's unit */
    uint64_t max_bytes; /* 0: not asked for */
    char wrong[200];    /* what is said of a format that there is not */
};

/* 0, or an exit code whose reason is printed; -1: help was printed. */
int export_parse(struct export_args *args, const struct export_command *command, int argc,
                 char **argv);

/* One recording, its sources that were asked for, and its programs. */
struct export_opened {
    struct recording recording;
    const struct recording_source *sources;
    size_t source_count; /* at least one */
    bool alone;          /* each is an ITM or, for a timeline, an STM; none tells instructions */
    struct export_names names;
    struct progress progress;
    char what[32]; /* of it */
};

/* Opens recording number i. 0 or an exit code whose reason is printed; release in both cases. */
int export_open(const struct export_args *args, size_t i, bool lines, struct export_opened *o);
void export_opened_release(struct export_opened *o);

/* The part that was asked for, to its file: of feedback with ranges and branches, of profile with
 * calls. An exit code. */
int export_part(const struct export_args *args, struct export_opened *o);

/* The output; NULL and a line on standard error if it cannot be made. */
FILE *export_create(const struct export_args *args);

/* Closes it. An exit code: what could not be written is said. */
int export_close(const struct export_args *args, FILE *out);

/* A line on standard error; each returns the exit code that goes with it. */
int export_failed(const struct export_args *args, int error);
int export_complain(const struct export_args *args, const char *text);

#endif
