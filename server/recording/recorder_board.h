/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording's folder, and what it says of the board: for the recorder alone, in its thread. */
#ifndef SERVER_RECORDER_BOARD_H
#define SERVER_RECORDER_BOARD_H

#include "server/recording/recorder.h"

struct snapshot_writer;

struct recorder_board {
    struct snapshot_writer *writer;
    int buffer; /* of the writer: takes the trace */
    unsigned core_count;
    int core_devices[CONFIG_MAX_CORES]; /* of the writer */
    int itm_device;                     /* -1: none */
    bool m_profile[CONFIG_MAX_CORES];
    bool has_stack[CONFIG_MAX_CORES]; /* its newest dump is one of the stack */
    unsigned known;                   /* states of cores that were added, */
    uint64_t known_size;              /* and bytes of RAM in them */
    char folder[600];
};

/* Makes the folder, describes the board and commits; as recorder_start(). The caller closes
 * b->writer. */
int recorder_board_create(struct recorder_board *b, const struct config *config, const char *path,
                          const struct code_image *const *images, struct message *why);

/* For the next commit: a core's registers at a halt, more of its state, and what is known of it for
 * who executes on from there; `bytes` of trace lead to it. 0 or the writer's error. */
int recorder_board_add_halt(struct recorder_board *b, unsigned core, uint64_t pc, uint32_t psr,
                            uint64_t bytes);
int recorder_board_add_state(struct recorder_board *b, unsigned core,
                             const struct recorder_state *s, uint64_t bytes);
int recorder_board_add_known(struct recorder_board *b, unsigned core, uint64_t bytes,
                             const struct recorder_known *k);

#endif
