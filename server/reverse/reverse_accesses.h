/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accesses to memory along the history, in either direction: which instruction touched which
 * address, as far as that is known (decoder/values/values.h). Windows are worked out one after the
 * other, in slices. Going back each one ends in what the one behind it knows of its registers and
 * memory, so that what the halted core says reaches further than one window.
 */
#ifndef SERVER_REVERSE_ACCESSES_H
#define SERVER_REVERSE_ACCESSES_H

#include "server/reverse/reverse_values.h"

/* Words as they are where a window ends. */
struct reverse_words {
    struct reverse_word *at; /* open addressing by address; private */
    size_t count, max;
    const struct reverse_machine *halted;
    const struct values *later; /* while the window is worked out: the one behind it; or NULL */
    size_t later_at;            /* position in it */
    bool present;               /* the window ends at the halt */
};

/* One direction, over instructions next, next + 1 ... bound - 1, or next - 1, next - 2 ... bound.
 */
struct reverse_scan {
    bool back;
    uint64_t next, bound;
    const struct target_breakpoint *watches; /* addresses, bytes, kinds of access; borrowed */
    size_t count;
    bool changes; /* a write that changes nothing is none */
    bool at_hand; /* nothing that is known forwards is waited for */
};

/* An access to what a scan looks for, or that may be one to it, as it is known forwards. */
struct reverse_foreseen {
    uint64_t position;
    size_t watch;
    struct values_touch touch;
    bool sure;          /* it was one, to the address of `touch` */
    bool same, differs; /* what was there before; neither: not known */
};

/* Those of instructions [from, to), in order. */
struct reverse_foresight {
    const struct reverse_scan *of; /* who begins one sets this to NULL */
    uint64_t from, to;
    bool told;  /* something is known of them: what is not listed is no such access */
    bool waits; /* it is being worked out from which halt on something is known */
    struct reverse_foreseen *at;
    size_t count, max;
};

struct reverse_accesses {
    struct reverse_known now; /* the window at hand */
    struct reverse_work work; /* the next one */
    struct reverse_machine machine;
    struct target_regs ends;       /* where the next one ends */
    struct reverse_words words[2]; /* of these two, in turns */
    unsigned turn;                 /* words[turn] are those of `now` */
    bool chained;                  /* `now` is known from the halt on */
    bool broken;                   /* one has contradicted what is behind it: no more of that */
    bool fresh; /* `now` ends at the halt and was just made: memory that it lacked may come */
    struct reverse_forward *forward; /* NULL: nothing is known forwards */
    struct reverse_foresight foresight;
};

/*
 * An access that is watched for: at `w`, or, with NULL, one whose address is not known. `touch`
 * NULL: not even the instruction is. Some are told twice. True: the scan ends here.
 */
typedef bool reverse_take_fn(void *context, uint64_t position, const struct values_touch *touch,
                             const struct target_breakpoint *w);

void reverse_accesses_forget(struct reverse_accesses *a);

/*
 * Makes the window that holds the next instruction of the scan, and works out what is known
 * forwards of it, a slice of `budget` at a time (see values_work()). TARGET_PENDING: there is more
 * to do, or `next` was moved over instructions that are no such accesses, maybe to the bound.
 * BT_OK, or a bt_error. `m` must outlive it.
 */
int reverse_accesses_reach(struct reverse_accesses *a, struct reverse *p,
                           const struct reverse_machine *m, uint32_t infer, struct reverse_scan *s,
                           size_t budget);

/* What of the scan lies in the window at hand. True: `take` has ended it, `next` is behind that. */
bool reverse_accesses_scan(const struct reverse_accesses *a, struct reverse_scan *s,
                           reverse_take_fn *take, void *context);

/* The aligned word at a position, if the window at hand knows it. */
bool reverse_accesses_word(const struct reverse_accesses *a, uint64_t position, uint32_t address,
                           struct values_answer *answer);

#endif
