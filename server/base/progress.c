/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/base/progress.h"

#include <stdio.h>
#include <unistd.h>
#include <uv.h>

#define WIDTH 72 /* of a line that is written over */

void progress_begin(struct progress *p, const char *what, uint64_t total, bool wanted)
{
    *p = (struct progress){.what = what, .total = total, .begun_ns = uv_hrtime()};
    p->wanted = wanted && total && isatty(STDERR_FILENO);
}

/* Without escape sequences, which some terminals print. */
static void progress_print(const char *text)
{
    fprintf(stderr, "\r%-*s\r%s", WIDTH, "", text);
    fflush(stderr);
}

void progress_end(struct progress *p)
{
    if (p->shown_ns)
        progress_print("");
    p->shown_ns = 0;
    p->wanted = false;
}

void progress_add(struct progress *p, uint64_t done)
{
    char text[WIDTH + 1];
    if (!p || !p->wanted)
        return;
    p->done += done;
    if (p->done >= p->total) {
        progress_end(p);
        return;
    }
    uint64_t now = uv_hrtime();
    if (!progress_line(p, now, text, sizeof text))
        return;
    p->shown_ns = now;
    progress_print(text);
}
