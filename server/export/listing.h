/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of a listing as text for people, as tab-separated values or as JSON lines for programs. */
#ifndef SERVER_LISTING_H
#define SERVER_LISTING_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum listing_format {
    LISTING_TEXT,
    LISTING_TSV,
    LISTING_JSON,
};

/* A column: its name in header and JSON; numbers are not quoted in JSON; width in text. */
struct listing_column {
    const char *name;
    bool number;
    int width; /* text: minimum width, negative: left-aligned, 0: as it comes */
};

#define LISTING_MAX_COLUMNS 12

struct listing {
    FILE *out;
    enum listing_format format;
    const struct listing_column *columns;
    unsigned count;
    bool header_done;
};

void listing_init(struct listing *l, FILE *out, enum listing_format format,
                  const struct listing_column *columns, unsigned count);

/* The header of a TSV listing, also where no row follows. Called by the first row otherwise. */
void listing_header(struct listing *l);

/* One row; `values` has a string a column, "" for none. */
void listing_row(struct listing *l, const char *const *values);

#endif
