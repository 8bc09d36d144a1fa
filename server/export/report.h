/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One page that opens in a browser from disk: what ran when, where time went, what was covered, and
 * how far that can be trusted. The page is report.html, with the data as JSON in it; names, paths
 * and source text are data there and nothing else.
 */
#ifndef SERVER_REPORT_H
#define SERVER_REPORT_H

#include "server/export/coverage.h"
#include "server/export/export_args.h"
#include "server/export/profile.h"

#define REPORT_LEAST_BYTES (256u << 10)
#define REPORT_MAX_BYTES   (16u << 20) /* if nobody says less or more */

struct report {
    const struct export_args *args; /* its max_bytes: of the page; 0: REPORT_MAX_BYTES */
    struct export_opened *opened;
    const struct profile *profile;
    const struct coverage *coverage; /* without lines where the program has no line table */
};

/*
 * Walks the sources once more, for the timeline, and writes the page; what has no room is left out,
 * and the page says so. 0 or a bt_error; what cannot be written shows at the file.
 */
int report_write(const struct report *r, FILE *out);

#endif
