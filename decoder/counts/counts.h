/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often each range of instructions ran, and from where it was entered: kept while a source is
 * decoded. A block that ran before is one look-up and one addition; memory is taken when a way is
 * seen for the first time alone, and is bounded. Nothing is counted that the trace does not prove.
 */
#ifndef DECODER_COUNTS_H
#define DECODER_COUNTS_H

#include "decoder/flow/flow.h"
#include "decoder/program/code.h"

/* How a block was reached. Those from COUNTS_CALL on are handed to `transfer`. */
enum counts_kind {
    COUNTS_ONWARD,           /* the instruction behind the block before */
    COUNTS_JUMP,             /* a direct branch inside a function */
    COUNTS_CALL,             /* a branch that wrote a return address */
    COUNTS_INDIRECT,         /* another branch with a computed target: a return, a switch */
    COUNTS_LEAVE,            /* a direct branch, or the next instruction, in another function */
    COUNTS_EXCEPTION_RETURN, /* by instruction or, of an M-profile core, by event */
    COUNTS_EXCEPTION,        /* an exception's entry */
    COUNTS_ENTRY,            /* the begin of the trace, or what follows a gap */
};

/* Blocks of which it is known what they were counted as: a gap takes back what is doubtful. */
#define COUNTS_RECENT 4096u /* a power of two */

/* In place of the address of a branch. No instruction has an odd address. */
#define COUNTS_FROM_NOWHERE          1u
#define COUNTS_FROM_EXCEPTION        3u
#define COUNTS_FROM_EXCEPTION_RETURN 5u

/* In the info of an edge's block: whichever begins there. It is one of the `times`, or an exception
 * came before any block did. */
#define COUNTS_ANY_BLOCK 0x30u

/* One way into one block: a cache line. */
struct counts_edge {
    uint64_t from;         /* last instruction of the block before, or COUNTS_FROM_* */
    struct bt_block block; /* with the condition of its last instruction */
    uint64_t count;        /* 0: all of it was taken back */
    uint64_t cycles;       /* that the trace counts for the block, all times together */
    uint64_t behind;       /* the instruction behind `from`, if there is one */
    uint8_t kind;          /* enum counts_kind */
    bool switches;         /* with a computed target that no return goes to: by a table, say */
    uint32_t id;           /* of those of its counts, from 1 on; 0: it is none of them */
    uint64_t function;     /* where the function of the block begins; 0: not known */
};

/* A transfer, and the first instruction of the block that it leads to. */
struct counts_transfer {
    const struct counts_edge *edge;
    uint64_t number;
};

struct counts_config {
    size_t max_edges; /* others are only counted, in `left_out`; 0: 512 Ki */
    bool m_profile;   /* events of an exception return are transfers */
    bool jumps;       /* `transfer` is handed those inside of functions, too */
    bool times;       /* blocks marked with FLOW_COUNTED are counted by counts_times(); without
                         cycles and `jumps`, and with `transfer` only if the cache of code asks
                         counts_leaves() */
    const struct code_steps *steps; /* with `times`: that blocks stand for */

    /* Where the function begins that holds the address; 0: not known. NULL: never known. Asked once
     * for each way, and once more where what led to it is a branch. */
    uint64_t (*function)(void *function_ctx, uint64_t address);
    void *function_ctx;

    /* Optional. A transfer, before the block that it leads to; `number` is that block's first
     * instruction, `cycles` are those counted before it. */
    void (*transfer)(void *ctx, const struct counts_edge *edge, uint64_t number, uint64_t cycles);

    /* Optional, beside `transfer`: with `times`, many of them at once. */
    void (*transfers)(void *ctx, const struct counts_transfer *transfers, size_t count,
                      uint64_t cycles);

    /* Optional. Every event, in order with the transfers. */
    void (*event)(void *ctx, const struct bt_event *event, uint64_t cycles);
    void *ctx;
};

#define COUNTS_WAYS     8192u /* a power of two */
#define COUNTS_WAY_TOLD 2u    /* transfers at most */
#define COUNTS_WAY_ENDS UINT32_MAX

/* What a block or step that may be left by a transfer leads through, with what comes next: the
 * transfers inside of it and the one behind it. A cache line. */
struct counts_way {
    _Alignas(64) struct bt_block from; /* as it was put out; info 0: nothing */
    uint64_t to;                       /* what comes next begins there; or that step */
    uint32_t to_info;                  /* its kind; COUNTS_WAY_ENDS: not asked for */
    uint32_t count;
    struct counts_transfer told[COUNTS_WAY_TOLD]; /* `number`: less that behind it; those from
                                                     `count` on are any */
};

struct counts {
    struct counts_config config;
    struct counts_edge *edges; /* a hash table */
    size_t size;               /* entries: a power of two */
    size_t used;
    unsigned shift;
    unsigned report;         /* the first kind that is handed to `transfer` */
    uint64_t number;         /* of the next instruction */
    uint64_t cycles;         /* so far */
    uint64_t taken_back;     /* doubtful instructions right before gaps, which are not counted */
    uint32_t *recent;        /* entries of the newest blocks, a ring of COUNTS_RECENT */
    struct bt_block *past;   /* the same with `times`: blocks or steps, and room for more */
    struct flow_mark *marks; /* of those that were put out last */
    struct counts_transfer *transfers; /* with `times`: nobody has been told of yet */
    size_t transfer_count;
    struct counts_way *ways;   /* with `times`: COUNTS_WAYS of them, by a hash */
    uint32_t past_next;        /* where the next ones go */
    uint32_t past_end;         /* where they ended when they last began anew */
    uint32_t recent_next;      /* behind the newest one: modulo COUNTS_RECENT, or in `past` */
    uint32_t recent_open;      /* so many of them can be taken back */
    uint64_t left_out;         /* blocks that found no room */
    uint64_t from;             /* where the next block is reached from */
    struct bt_block last;      /* the newest block */
    uint64_t before;           /* `from`, before the exception */
    struct bt_event exception; /* of which is not known yet whether it is the entry to Debug state
                                */
    bool has_exception;
    struct code_key key; /* who looks at the image */
    struct code_cache code;
};

/* `image` must outlive the counts, `key` is that of the stream's begin. BT_ERR_NOMEM. */
int counts_init(struct counts *c, const struct counts_config *config,
                const struct code_image *image, const struct code_key *key);
void counts_release(struct counts *c);

/* What a flow stage has put out, all of it, in order. The arrays' counts are left as they are. */
void counts_feed(struct counts *c, const struct flow_out *out);

/* With `times`: where the next blocks and marks have to be; before the first, and after each
 * counts_feed_times(). Blocks are not copied: a gap finds them where they are. */
void counts_room(struct counts *c, struct flow_out *out);

/* As counts_feed(), with `times`; `number` is that of the instruction behind the blocks. */
void counts_feed_times(struct counts *c, const struct flow_out *out, uint64_t number);

/* With `times`: as struct code_options has them, `ctx` is the counts. */
void counts_times(void *ctx, const struct bt_block *block, uint64_t times);
bool counts_leaves(void *ctx, uint64_t from, uint64_t to);

/*
 * For counts of pieces that are joined. Whether both, which came to the same place by other ways,
 * will count the same from here on; `doubtful` of the newest instructions may still be taken back.
 */
bool counts_same(const struct counts *a, const struct counts *b, uint64_t doubtful);

/* All counts are 0 again, but not what is known of the way here. What is taken back later of
 * blocks from before goes below 0, modulo 2^64: the sum of both is right. */
void counts_clear(struct counts *c);

#endif
