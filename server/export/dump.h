/* SPDX-License-Identifier: BSD-3-Clause */
/* The dump that `btraced decode` writes: columns are those of the man page. */
#ifndef SERVER_DUMP_H
#define SERVER_DUMP_H

#include "server/export/listing.h"
#include "server/recording/recording_history.h"

struct dump_options {
    bool packets;
    bool instructions;
    bool blocks;
    bool events;
    bool cycles;   /* a running total beside the instructions, and where trace was off */
    bool stats;    /* what decoding cost, with the summary */
    unsigned jobs; /* threads that decode; 0 and 1: the caller's alone */
    enum listing_format format;
};

struct dump; /* private */

/* NULL: no memory. `out` is the caller's. */
struct dump *dump_new(FILE *out, const struct dump_options *options);
void dump_free(struct dump *l);

/*
 * Decodes one source and writes the listings that were asked for, in stream order, then the
 * summary if wanted. Returns 0 or a bt_error.
 */
int dump_source(struct dump *l, struct recording *r, const struct recording_source *source,
                bool summary);

/* What is odd about the source listed last, as a line for standard error; NULL: nothing. */
const char *dump_warning(const struct dump *l);

#endif
