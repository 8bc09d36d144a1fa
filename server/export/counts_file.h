/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files of counts: what one part of a recording (server/export/part.h), or all of it, adds to
 * coverage, profile, feedback and the summary. docs/scale.md has the format: numbers as LEB128, and
 * at the end the SHA-256 of all before. Any bytes are accepted as input.
 */
#ifndef SERVER_COUNTS_FILE_H
#define SERVER_COUNTS_FILE_H

#include "decoder/calls/calls_piece.h"
#include "decoder/counts/counts_table.h"
#include "drivers/base/message.h"
#include "server/export/feedback.h"

#define COUNTS_FILE_MARKS 15 /* places where one part may go on for another */
#define COUNTS_FILE_PARTS 65536
#define COUNTS_FILE_ID    32 /* bytes: SHA-256 */

/* Numbers of a source; of gaps, one a cause follows. */
enum counts_number {
    COUNTS_RAW_BYTES,
    COUNTS_BYTES,
    COUNTS_SKIPPED,
    COUNTS_FRAMES,
    COUNTS_FRAME_LOSSES,
    COUNTS_PACKETS,
    COUNTS_BLOCKS,
    COUNTS_INSTRUCTIONS,
    COUNTS_EXCEPTIONS,
    COUNTS_CYCLES,
    COUNTS_DROPPED,
    COUNTS_DOUBTFUL,
    COUNTS_TAKEN_BACK,
    COUNTS_LEFT_OUT,
    COUNTS_PAIRS_LEFT_OUT,
    COUNTS_GAPS,
    COUNTS_NUMBERS = COUNTS_GAPS + BT_GAP_CAUSES,
};

/* All may be below 0, modulo 2^64: a part takes back what the one before has counted. */
struct counts_segment {
    uint64_t numbers[COUNTS_NUMBERS];
    struct counts_insn *insns; /* in the order of address and instruction set */
    size_t insn_count;
    struct feedback_pair *pairs; /* ranges, then branches, by their addresses */
    size_t pair_count;
    struct calls_piece calls;
};

void counts_segment_release(struct counts_segment *s);

/*
 * Of one source: segment k begins at mark k of the part (the first part has one alone, its begin)
 * and ends at the next; the last one ends where part number `next` has its mark `mark`, or with the
 * recording (`next` is the number of parts).
 */
struct counts_source {
    char *name;
    char *core;
    bool formatted;
    bool m_profile; /* the core; of files with calls */
    uint64_t next;
    uint64_t mark;
    struct counts_segment segments[COUNTS_FILE_MARKS];
    size_t segment_count;
};

struct counts_program {
    char *name;                 /* of the file, without its folder */
    uint8_t id[COUNTS_FILE_ID]; /* of all that is loaded of it, its build ID among that */
};

struct counts_file {
    char *run;                         /* the recording's name */
    uint8_t recording[COUNTS_FILE_ID]; /* what it is known by */
    uint64_t part;                     /* from 0 */
    uint64_t parts;
    bool pairs; /* ranges and branches were counted, too; or */
    bool calls; /* calls by their paths */
    struct counts_program *programs;
    size_t program_count;
    struct counts_source *sources;
    size_t source_count;
};

void counts_file_release(struct counts_file *f);

/* All bytes of the file, to be freed. BT_ERR_NOMEM. */
int counts_file_encode(const struct counts_file *f, uint8_t **data, size_t *size);

/*
 * The other way. BT_ERR_FORMAT: *why tells the place and what was expected there. Release in all
 * cases. The checksum is not looked at by the second one.
 */
int counts_file_decode(const uint8_t *data, size_t size, struct counts_file *out,
                       struct message *why);
int counts_file_decode_unchecked(const uint8_t *data, size_t size, struct counts_file *out,
                                 struct message *why);

/* The same by path. On error, *why begins with the path. A file is there whole or not at all. */
int counts_file_read(const char *path, struct counts_file *out, struct message *why);
int counts_file_write(const char *path, const struct counts_file *f, struct message *why);

#endif
