/* SPDX-License-Identifier: BSD-3-Clause */
/* The dump that `btraced decode` writes: columns are those of the man page. */
#ifndef SERVER_DUMP_H
#define SERVER_DUMP_H

#include "server/recording/recording_history.h"

#include <stdio.h>

/* Text for people, tab-separated values or JSON lines for programs. */
enum listing_format {
    LISTING_TEXT,
    LISTING_TSV,
    LISTING_JSON,
    LISTING_VCD, /* instead of listings: a value change dump of one ITM */
};

/* What software wrote to one port of an ITM or one channel of an STM. */
struct dump_text {
    bool wanted;
    bool any_master; /* of an STM */
    uint16_t master;
    uint16_t channel;
};

struct dump_options {
    bool packets;
    bool instructions;
    bool blocks;
    bool events;
    bool cycles;           /* a running total beside the instructions, and where trace was off */
    struct dump_text text; /* instead of listings: its bytes as they were written */
    bool stats;            /* what decoding cost, with the summary */
    unsigned jobs;         /* threads that decode; 0 and 1: the caller's alone */
    enum listing_format format;
};

struct dump; /* private */

/* NULL: no memory. `out` is the caller's. */
struct dump *dump_new(FILE *out, const struct dump_options *options);
void dump_free(struct dump *l);

/*
 * Decodes one source and writes the listings that were asked for, in stream order, then the
 * summary if wanted. 0 or a bt_error. *warning is what is odd about the source, "" if nothing is.
 */
int dump_source(struct dump *l, struct recording *r, const struct recording_source *source,
                bool summary, struct message *warning);

/* All there is of the listings of a recording that has no source. */
void dump_headers(struct dump *l, bool summary);

#endif
