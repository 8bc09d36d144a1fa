/* SPDX-License-Identifier: BSD-3-Clause */
/* A recording's folder, and what it says of the board. A part of the recorder. */
#ifndef SERVER_RECORDER_BOARD_H
#define SERVER_RECORDER_BOARD_H

#include "decoder/program/code_image.h"
#include "drivers/snapshot/snapshot_writer.h"
#include "server/config/config.h"
#include "server/recording/recorder.h"

struct recorder_board {
    struct snapshot_writer *writer;
    int buffer; /* of the writer: takes the trace */
    unsigned core_count;
    int core_devices[CONFIG_MAX_CORES]; /* of the writer */
    bool m_profile[CONFIG_MAX_CORES];
    bool has_stack[CONFIG_MAX_CORES]; /* its newest dump is one of the stack */
    char folder[600];
};

/* Makes the folder, describes the board and commits; as recorder_start(). The caller closes
 * b->writer. */
int recorder_board_create(struct recorder_board *b, const struct config *config, const char *path,
                          const struct code_image *const *images, struct message *why);

/* Register of a core in recordings: length of the buffer when its PC was read. */
#define RECORDER_BYTES "TRACE_BYTES"

/* A core's registers at a halt, for the next commit; `bytes` as above. 0 or the writer's error. */
int recorder_board_halted(struct recorder_board *b, unsigned core, uint64_t pc, uint32_t psr,
                          uint64_t bytes);

/*
 * More registers, for what they are worth: where RECORDER_STATE_BYTES is RECORDER_BYTES, R0 to R12,
 * SP and LR are those of the halt, and so is memory from RECORDER_STACK on, RECORDER_STACK_BYTES
 * long. Other memory is that of the recording's begin.
 */
#define RECORDER_STATE_BYTES "STATE_BYTES"
#define RECORDER_STACK       "STACK_ADDRESS"
#define RECORDER_STACK_BYTES "STACK_BYTES"

/* The state at that halt; as above. */
int recorder_board_state(struct recorder_board *b, unsigned core,
                         const struct recorder_state *state, uint64_t bytes);

#endif
