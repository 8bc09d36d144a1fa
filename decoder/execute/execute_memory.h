/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory whose bytes are known or unknown, in pages that states share until one of them writes
 * (copy on write), so that a checkpoint costs what has changed since the one before.
 *
 * What lies at an address comes from its owner: RAM of the core alone is kept here, constant memory
 * is read where it is, and all else (devices, memory that others write) is unknown at each load.
 */
#ifndef DECODER_EXECUTE_MEMORY_H
#define DECODER_EXECUTE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXECUTE_PAGE 256u /* bytes */

enum execute_memory_kind {
    EXECUTE_MEMORY_OTHER, /* device, shared, or not known: never known */
    EXECUTE_MEMORY_CONST, /* `bytes` are given */
    EXECUTE_MEMORY_RAM,   /* only this core's instructions write it */
    EXECUTE_MEMORY_ALIAS, /* never known, and may be another address of RAM: a store there makes all
                             RAM unknown */
};

/*
 * Kind of the bytes *from to *to (exclusive) around `address`, as many as it likes to tell. CONST:
 * *bytes is what is at *from, and stays there. Answers are kept: they are the same however
 * often it is asked.
 */
typedef enum execute_memory_kind execute_kind_fn(void *context, uint64_t address, uint64_t *from,
                                                 uint64_t *to, const uint8_t **bytes);

/*
 * Bytes that all pages of all states together may take, and do take. States that share pages belong
 * to one thread at a time.
 */
struct execute_budget {
    size_t limit, used;
};

struct execute_page; /* private: bytes, a known bit for each, the number of its holders */

struct execute_range {
    uint64_t from, to; /* to 0: none */
    const uint8_t *bytes;
    enum execute_memory_kind kind;
};

#define EXECUTE_RANGES 4u

/* A word, halfword or byte that is not known but for its range, `number` or up to `range` more, or
 * a word but for some bits. */
struct execute_bound {
    uint64_t address;
    uint32_t number, range, bits; /* 0: none */
    uint8_t width;
};

#define EXECUTE_BOUNDS 128u /* the newest ones are kept, and rather bits than ranges */

/* A word that is one of two, or flags that tell which (struct execute_ways). */
struct execute_pair {
    uint64_t address;
    uint32_t instance; /* of the choice between them; 0: none */
    uint32_t number[2], range[2];
    bool known[2];
    bool flags;
    uint8_t cond; /* FLAGS: of the first one */
};

#define EXECUTE_PAIRS 32u /* the newest ones are kept */

/* A word that holds what a register held where an exception came, or what it held itself. */
struct execute_held {
    uint64_t address;
    uint32_t number; /* of the exception; 0: of none */
    uint8_t what;    /* a register, or: */
};

enum execute_held_what {
    EXECUTE_HELD_STATUS = 16,
    EXECUTE_HELD_WORD, /* its own */
};

#define EXECUTE_HELDS 64u /* the newest ones are kept */

#define EXECUTE_WATCHES 2u

struct execute_memory {
    struct execute_page **pages; /* a hash by address; all that follows is private */
    size_t count, max;
    execute_kind_fn *kind;
    void *context;
    struct execute_budget *budget;               /* shared by the states of a session */
    size_t last;                                 /* where in `pages` the latest access was */
    struct execute_range ranges[EXECUTE_RANGES]; /* answers that are kept, the latest first */
    struct execute_bound bounds[EXECUTE_BOUNDS];
    struct execute_pair pairs[EXECUTE_PAIRS];
    struct execute_held held[EXECUTE_HELDS];
    unsigned bound_count, bound_next, pair_count, pair_next, held_next;
    uint32_t latest; /* number that a choice or an exception has got; a new one never is among those
                        that pairs and such words have */
    struct {
        uint64_t address;
        unsigned size; /* 0: nothing */
    } watched[EXECUTE_WATCHES];
    uint64_t bound_near; /* bit n: there may be one where bits 10 to 5 of the address are n */
};

/* `kind` NULL: all is OTHER. */
void execute_memory_init(struct execute_memory *m, struct execute_budget *budget,
                         execute_kind_fn *kind, void *context);
void execute_memory_release(struct execute_memory *m);

/* `to`, which is released or empty, has what `from` has; pages are shared. BT_OK, BT_ERR_NOMEM. */
int execute_memory_share(struct execute_memory *to, const struct execute_memory *from);

/* Of two states of which one comes from the other: nothing has been written to these bytes of RAM
 * in between. False: something may have been. */
bool execute_memory_is_shared(struct execute_memory *a, struct execute_memory *b, uint64_t address,
                              uint64_t size);

enum execute_memory_kind execute_memory_kind(struct execute_memory *m, uint64_t address);

/*
 * `size` bytes (1 to 16), lowest address first. False when not every byte is known; *bytes is not
 * valid then.
 */
bool execute_memory_read(struct execute_memory *m, uint64_t address, void *bytes, unsigned size);

/*
 * Any number of bytes; NULL: they are unknown from now on. BT_OK; BT_ERR_NOMEM: the budget is spent
 * and the state no more to be used. An access of a few bytes takes two pages at most. No effect
 * where it is not RAM, but see EXECUTE_MEMORY_ALIAS.
 */
int execute_memory_write(struct execute_memory *m, uint64_t address, const void *bytes,
                         size_t size);

/* What was written there as unknown, of 4, 2 or 1 bytes, has a range, until something is written to
 * it. */
void execute_memory_bound(struct execute_memory *m, uint64_t address, unsigned width,
                          uint32_t number, uint32_t range);
/* Its range, 0 if none is known. */
uint32_t execute_memory_range(const struct execute_memory *m, uint64_t address, unsigned width,
                              uint32_t *number);

/* Likewise: of a word only these bits are known. */
void execute_memory_set_bits(struct execute_memory *m, uint64_t address, uint32_t number,
                             uint32_t bits);
uint32_t execute_memory_bits(const struct execute_memory *m, uint64_t address, uint32_t *number);

/* Likewise: it is one of two. NULL: that is not known; valid until the next write. */
void execute_memory_set_pair(struct execute_memory *m, const struct execute_pair *pair);
const struct execute_pair *execute_memory_pair(const struct execute_memory *m, uint64_t address);

/* Likewise: it holds `what` of an exception. The number of that, 0: it does not, or not of
 * `number`, if that is not 0. */
void execute_memory_hold(struct execute_memory *m, uint64_t address, uint32_t number, uint8_t what);
uint32_t execute_memory_held(const struct execute_memory *m, uint64_t address, uint8_t what,
                             uint32_t number);
/* Nothing holds anything of that exception any more. */
void execute_memory_let_go(struct execute_memory *m, uint32_t number);

/* Keeps in mind whether anything is written there from now on, in place of what was watched before.
 */
enum execute_watch {
    EXECUTE_WATCH_MIRROR, /* of a register */
    EXECUTE_WATCH_STORED, /* a register that is not known */
};
void execute_memory_watch(struct execute_memory *m, enum execute_watch n, uint64_t address,
                          unsigned size);
/* Nothing was written there; *address: where. */
bool execute_memory_is_same(const struct execute_memory *m, enum execute_watch n,
                            uint64_t *address);

/* All of RAM is unknown: a store hit an address that is not known. */
void execute_memory_forget(struct execute_memory *m);

#endif
