/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of value reconstruction: whose stack an exception of an M-profile core returns to. */
#ifndef DECODER_VALUES_TURNS_H
#define DECODER_VALUES_TURNS_H

#include "values_build.h"

#define TURN_CALLERS 4
#define TURN_MARKS   8
#define TURN_KEPT    8

/* What the path says that a word of the stack holds while the task waits: bytes above its SP. */
struct values_mark {
    uint32_t offset, number;
};

/* Code outside of handlers is interrupted, or goes on: a handler between the two wrote a stack
 * pointer, so that it may be another task that goes on. */
struct values_turn {
    uint32_t when;                              /* state behind it */
    uint32_t address;                           /* where it was interrupted, or goes on */
    uint32_t frame, status, basic, context, lr; /* values, as it was stacked */
    uint32_t kept[TURN_KEPT];                   /* r4-r11 */
    uint32_t sp;                                /* value: without the frame */
    uint32_t callers[TURN_CALLERS]; /* where what it runs returns to, innermost first; */
    uint8_t caller_count;           /* those that the path tells */
    struct values_mark marks[TURN_MARKS];
    uint8_t mark_count;
    bool marked; /* they have been looked for */
    bool begins;
    bool whole;   /* interrupted: the handler has returned. Its end is one of those behind it, or it
                     waits still */
    bool found;   /* its other side is known */
    bool waits;   /* its frame is in RAM at the end of the window */
    bool written; /* a service, or a fault's handler: LR and status may be others there now */
};

struct values_turns {
    struct values_turn *at;
    size_t count, max;
    size_t first;     /* those before lie behind a gap */
    uint32_t *frames; /* addresses in RAM where something may wait, */
    size_t frame_count, frame_max;
    size_t ram, word; /* how far they were looked for */
    bool ram_known;   /* all of it */
    bool any;         /* something was found */
    size_t open;      /* of the task that runs, plus 1, as long as its callers are told; 0: none */
    bool calls_told;
};

/* While the walk goes on: an exception is taken at, or a handler returns to, code outside of
 * handlers; the turn has only the values. */
void turns_interrupted(struct build *b, const struct values_turn *turn);
void turns_returned(struct build *b, const struct values_turn *turn);

/* A service is chained to what interrupted it. */
void turns_served(struct build *b);

/* A function returns to an address that no call of this turn leads to. */
void turns_left(struct build *b, uint32_t address);

/* What is called is not certain; or it is another stack; or (`lost`) the path is not known. */
void turns_unsure(struct build *b, bool lost);

/*
 * Afterwards: finds for each that was interrupted where it goes on, or where it waits in RAM.
 * Assumed is that it does one of both. *at is 0 first; true: done, and `any` says whether something
 * new is known.
 */
bool turns_match(struct values *r, size_t *at, size_t *budget);
void turns_free(struct values_turns *t);

#endif
