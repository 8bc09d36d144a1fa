/* SPDX-License-Identifier: BSD-3-Clause */
/* The listings of `btraced decode`: columns are those of the man page. */
#ifndef SERVER_LISTER_H
#define SERVER_LISTER_H

#include "server/export/listing.h"
#include "server/recording/recording.h"

struct lister_options {
    bool packets;
    bool instructions;
    bool blocks;
    bool events;
    bool cycles;   /* a running total beside the instructions, and where trace was off */
    bool stats;    /* what decoding cost, with the summary */
    unsigned jobs; /* threads that decode; 0 and 1: the caller's alone */
    enum listing_format format;
};

struct lister; /* private */

/* NULL: no memory. `out` is the caller's. */
struct lister *lister_new(FILE *out, const struct lister_options *options);
void lister_free(struct lister *l);

/*
 * Decodes one source and writes the listings that were asked for, in stream order, then the
 * summary if wanted. Returns 0 or a bt_error.
 */
int lister_source(struct lister *l, struct recording *r, const struct recording_source *source,
                  bool summary);

/* What is odd about the source listed last, as a line for standard error; NULL: nothing. */
const char *lister_warning(const struct lister *l);

#endif
