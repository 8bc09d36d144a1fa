/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The code that a live target's trace is followed through, as far as its program file does not
 * have it: what GDB writes (load, a patched instruction), and what the trace went through without
 * any code being known there, which is read from the halted target.
 */
#ifndef SERVER_LIVE_CODE_H
#define SERVER_LIVE_CODE_H

#include "decoder/program/code_image.h"

struct live;

#define LIVE_CODE_PAGE  4096u
#define LIVE_CODE_PAGES 4096u /* read from the target, at most */
#define LIVE_CODE_MS    3000u /* for that, at one halt */

/* Bytes of memory, newest last. */
struct live_patch {
    struct live_patch *next;
    uint64_t address;
    size_t size;
    uint8_t bytes[];
};

struct live_code {
    struct live_patch *known;        /* in the images */
    struct live_patch *pending;      /* written, to be seen by what runs next */
    size_t bytes;                    /* of both */
    uint64_t pages[LIVE_CODE_PAGES]; /* asked for, whether readable or not */
    size_t page_count;
    size_t first_new; /* of `pages`: not read yet */
    size_t piece;     /* of that page, bytes read */
    bool found;       /* a page of this round was readable */
    unsigned rounds;  /* at this stop */
    uint64_t until;   /* uv_hrtime(): nothing more is asked for at this stop */
    bool late;        /* that has come, and was told */
    bool full;        /* a limit was reached and told */
};

/*
 * GDB has written memory. `bytes` NULL: they are read back from the target, whatever packet brought
 * them. Else flash was programmed with these, which may be in there later only.
 */
void live_code_written(struct live *l, uint64_t address, const uint8_t *bytes, uint64_t length);

/* The cores are about to run: what was written counts from now on. */
void live_code_commit(struct live *l);

void live_code_release(struct live *l);

#endif
