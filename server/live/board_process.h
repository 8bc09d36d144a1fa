/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The program behind a board file's `command`: a virtual board, or a GDB server such as OpenOCD.
 * The daemon starts it, passes its messages on, and ends it, and only it.
 */
#ifndef SERVER_BOARD_PROCESS_H
#define SERVER_BOARD_PROCESS_H

#include "btrace/types.h"
#include "drivers/base/message.h"

#include <uv.h>

#define BOARD_PROCESS_GROUPS 64

struct board_process {
    const char *program;
    pid_t pid; /* 0: not running */
    struct board_user {
        uid_t uid;
        gid_t gid, groups[BOARD_PROCESS_GROUPS];
        int group_count; /* 0: as we do */
    } user;
    int output, gate, report; /* ends of pipes: what it says, that it may start, why it cannot */
    uv_signal_t child;
    uv_pipe_t messages; /* what the program says on its standard error and output */
    bool watching;
    char line[512]; /* one that is not complete yet */
    size_t used;
    char last[512]; /* latest complete line, for the message when it ends too soon */
    int status;     /* as waitpid() tells it, once it has ended */
    void (*ended)(void *ctx, const char *how);
    void (*said)(void *ctx, const char *line); /* optional: each line; set behind the start */
    void *ctx;
    char buffer[4096];
};

struct board_command {
    char *const *words; /* NULL at the end; stay with the caller */
    const char *user;   /* that it runs as, which root may choose; "": ours */
    const char *folder; /* becomes that user's, with the sockets in it */
};

/*
 * Forks the process that will be `command`, with the rights of now, which ours may lose meanwhile;
 * no other thread has been started yet. `ended` is called from the loop when the program ends by
 * itself, with `how`: "exit code 1: could not load kernel", and what may help against it if that is
 * known. The program also ends when the daemon dies. 0, or BT_ERR_IO with *why filled; then, too,
 * board_process_stop() closes the handles.
 */
int board_process_fork(struct board_process *b, uv_loop_t *loop,
                       const struct board_command *command,
                       void (*ended)(void *ctx, const char *how), void *ctx, struct message *why);

/* Starts it. As board_process_fork(). */
int board_process_start(struct board_process *b, const struct board_command *command,
                        struct message *why);

/* Ends the program, by force after two seconds, and closes the handles. */
void board_process_stop(struct board_process *b);

#endif
