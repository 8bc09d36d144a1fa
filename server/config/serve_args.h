/* SPDX-License-Identifier: BSD-3-Clause */
/* The command lines of `btraced serve` and `btraced record`. */
#ifndef SERVER_SERVE_ARGS_H
#define SERVER_SERVE_ARGS_H

#include "server/config/config.h"

#include <stdbool.h>

#define SERVE_MAX_OUTPUTS 6

/* An option --seconds, for a struct command_option. */
#define SERVE_SECONDS(to)                                                                          \
    {                                                                                              \
        to, 1, 86400, "--seconds wants a number from 1 to 86400, not"                              \
    }

/* Texts are those of the command line. */
struct serve_args {
    const char *command; /* "btraced serve": messages begin with it */
    const char *path;    /* of the board file */
    const char *listen[CONFIG_MAX_LISTEN];
    size_t listen_count;
    const char *program;
    const char *record;
    bool attach;
    bool check_only;
    bool stdio;
    bool exit_after_detach;
    bool compress; /* the recording */
    bool recording_only;
    bool no_sandbox;
    const char *user;                       /* NULL: it stays who it is */
    unsigned seconds;                       /* record: stop then; 0: until a signal */
    const char *outputs[SERVE_MAX_OUTPUTS]; /* run: files that are written at the end */
    unsigned output_count;
};

/*
 * Fills what the options say; `command` and `recording_only` must be set. Sets the level of the
 * log. 0: go on. Negative: the help was printed, which is all. Else an exit code, with a message
 * printed.
 */
int serve_args_parse(struct serve_args *a, int argc, char **argv);

#endif
