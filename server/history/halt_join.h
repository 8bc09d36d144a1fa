/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the traced path leads to the PC of the halted core, with which GDB's newest block must end:
 * what the decoder holds back, and straight code behind it.
 */
#ifndef SERVER_HALT_JOIN_H
#define SERVER_HALT_JOIN_H

#include "decoder/program/code.h"
#include "server/history/btrace_blocks.h"

#define HALT_JOIN_WALK_MAX 4096 /* instructions from the trace's end to the halted PC */

struct halt_join {
    struct history_tail tail; /* empty if what is held back may not have run */
    uint64_t base;            /* number behind the last instruction of history and tail */
    unsigned walked;          /* straight instructions from there to the PC; 0 unless `known` */
    bool known;               /* else instructions are missing right before the PC */
};

/* `code` is of the view's image. */
void halt_join(const struct btrace_view *view, struct code_cache *code, struct halt_join *join);

#endif
