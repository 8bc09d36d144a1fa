/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * btraced run: a target runs unattended up to a goal, and what its trace shows is judged and
 * written down. run_watch.c looks on while it runs, cmd_run.c reads the recording and writes what
 * came of it.
 */
#ifndef SERVER_RUN_H
#define SERVER_RUN_H

#include "server/config/serve_args.h"
#include "server/export/export_args.h"
#include "server/recording/recorder.h"

#define RUN_FRAMES 64u

/* Exit codes of this command. */
enum run_code {
    RUN_REACHED = 0,
    RUN_NOT_REACHED = 1,
    RUN_CRASHED = 2,
    RUN_LOST = 3,
    RUN_FAILED = 4, /* nothing was judged, or an output could not be written */
};

struct run_args {
    struct serve_args serve;
    const char *until; /* a function, or 0xADDRESS; NULL: not asked for */
    const char *output;
    unsigned seconds; /* 0: not asked for */
    const char *maps[EXPORT_MAX_MAPS];
    size_t map_count;
    const char *coverage, *profile, *timeline, *report, *json, *junit; /* files; NULL: not wanted */
    double max_lost; /* percent; < 0: not asked for */
    bool keeps;      /* the recording */
};

/* How it ended. */
enum run_end {
    RUN_END_CUT, /* by a signal, or the target was lost */
    RUN_END_GOAL,
    RUN_END_TIME,
    RUN_END_HALT, /* the target halted by itself */
    RUN_END_FAULT,
    RUN_END_BOARD, /* the board's program ended */
};

/* What was seen live. */
struct run_seen {
    enum run_end end;
    char board[128];
    char folder[600]; /* the recording */
    uint64_t dropped; /* bytes that it lacks */
    char programs[RECORDING_MAX_ELF][512];
    unsigned program_count;
    unsigned core_count;
    struct {
        char name[64];
        bool halted; /* its registers are known */
        uint64_t pc;
        bool apart;      /* its trace does not lead there */
        bool faulted;    /* its status register says so */
        char fault[300]; /* in words; "": not known */
    } cores[CONFIG_MAX_CORES];
};

struct run_frame {
    uint64_t address; /* where it is; 0: not known */
    char function[128];
    char file[256]; /* "": not known */
    unsigned line;
    bool handler; /* of an exception: the next frame was interrupted */
};

/* What the recording says. */
struct run_verdict {
    enum run_code code;
    struct export_loss loss;
    double lost; /* percent of the trace: at least, where some gaps do not say how much */
    bool some_unknown;
    bool crashed;
    char core[64];
    char fault[400];
    struct run_frame frames[RUN_FRAMES]; /* innermost first */
    unsigned frame_count;
    bool cut; /* callers of the last frame are not known */
};

/* run_watch.c: runs the target. 0, or an exit code whose reason is logged. */
int run_watch(const struct run_args *args, struct run_seen *seen);

#endif
