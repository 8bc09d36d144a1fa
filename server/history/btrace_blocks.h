/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core's history as GDB's btrace wants it: newest block first, straight runs joined, lost trace
 * as gaps, the newest block ending at the halted PC (GDB manual, "Branch Trace Format").
 */
#ifndef SERVER_BTRACE_BLOCKS_H
#define SERVER_BTRACE_BLOCKS_H

#include "decoder/history/history.h"
#include "decoder/program/code.h"
#include "protocol/session/gdb_host.h"

/* Instructions of one document, unless the user asks for a larger buffer: GDB takes 4 to 5
 * microseconds for each, while its prompt is blocked. */
#define BTRACE_MAX_INSTRUCTIONS 100000u
#define BTRACE_BLOCK_BYTES      24u /* what GDB counts for a block of its buffer size */
#define BTRACE_DEFAULT_SIZE     (4u << 20)

/* Instructions are missing where the core has left Debug state at one of these numbers. */
struct btrace_hole {
    uint64_t end, tail; /* what was decoded, and with what the decoder held back */
};

struct btrace_view {
    struct history *history;
    const struct code_image *image;
    struct code_key key; /* who reads code: the state at the end of the history */
    uint64_t pc;         /* of the halted core */
    bool thumb;          /* it stands in T32 code */
    bool odd_thumb;      /* T32 blocks with bit 0 set: for a GDB without symbols */
    uint32_t size;       /* of GDB's buffer, bytes */
    bool jumped;         /* the PC was written since the halt: straight code did not lead there */
    bool untraced;       /* the core ran without trace up to the halt */
    const struct btrace_hole *holes; /* where it ran without trace before */
    size_t hole_count;
};

/* What GDB has already: instruction number `number` was the next one to run, at `pc`. */
struct btrace_mark {
    bool valid;   /* false: a gap, or nothing, leads to the halted PC */
    uint64_t end; /* of the history then: instructions from here on were known by the PC alone, or
                     held back, and a loss takes their numbers away */
    uint64_t number;
    uint64_t pc;
};

/* What GDB asks for, as it will be reported: not less than a few blocks, not more than 64 MiB. */
static inline uint32_t btrace_clamp_size(uint32_t size)
{
    const uint32_t max = 64u << 20, min = 64 * BTRACE_BLOCK_BYTES;
    return size > max ? max : size < min ? min : size;
}

/*
 * Fills `out`; no block if nothing was traced. *mark (may be NULL) is where the next delta begins.
 * 0 or a bt_error.
 */
int btrace_blocks(const struct btrace_view *view, struct gdb_btrace_blocks *out,
                  struct btrace_mark *mark);

/*
 * Only what ran since `since`, the oldest block with begin 0, as GDB 13.1 wants a delta.
 * BT_ERR_RANGE: it cannot be joined, or is too long; then GDB asks for everything.
 */
int btrace_delta(const struct btrace_view *view, const struct btrace_mark *since,
                 struct gdb_btrace_blocks *out, struct btrace_mark *mark);

/* Instructions are missing where the event is. A stay in Debug state is no such place: nothing was
 * lost, unless the core ran without trace and was halted again. */
bool btrace_is_gap(const struct btrace_view *view, const struct bt_event *event);

/* Who reads memory at the end of the history. `core` is that of the image's regions. */
void btrace_end_key(struct history *h, uint16_t core, struct code_key *key);

#define HALT_JOIN_WALK_MAX 4096 /* instructions from the trace's end to the halted PC */
#define HALT_JOIN_BRANCHES 64   /* not taken, among those */

/*
 * How the traced path leads to the PC of the halted core, with which GDB's newest block must end:
 * what the decoder holds back, and straight code behind it.
 */
struct halt_join {
    struct history_tail tail; /* empty if what is held back may not have run */
    uint64_t base;            /* number behind the last instruction of history and tail */
    unsigned walked;          /* straight instructions from there to the PC; 0 unless `known`.
                                 Direct branches among them were not taken */
    bool known;               /* else instructions are missing right before the PC */
};

/* `code` is of the view's image. */
void halt_join(const struct btrace_view *view, struct code_cache *code, struct halt_join *join);

#endif
