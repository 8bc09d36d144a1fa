/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What GDB is told of registers and memory in the past (GDB digest 5.4 - 5.6), from the recovery in
 * decoder/recover.h: known values; for PC, SP, LR and PSR always a number, an estimate where it is
 * not known; nothing for other registers. Windows that end at the halt are worked out when they
 * are asked for, short ones first, and kept until the core moves on.
 */
#ifndef SERVER_PAST_VALUES_H
#define SERVER_PAST_VALUES_H

#include "decoder/recover.h"
#include "protocol/gdb_target.h"
#include "server/past.h"

#define PAST_VALUES_DEFAULT 100000u /* instructions before the halt */
#define PAST_FIRST_WINDOW   1024u
#define PAST_LOCAL_WINDOW   16384u /* around a position further back than that */

/* The halted core. */
struct past_machine {
    struct gdb_regs regs;
    bool m_profile;
    bool a_banks;
    bool m_one_stack, m_fpu; /* see decoder/recover.h */
    bool v4t;
    bool big_endian;
    bool registers_written; /* by the debugger since the halt: they tell nothing of the past */
    /*
     * Positions of halts at which the debugger wrote registers or memory, oldest first: nothing is
     * carried over them. Unless `halts_known`, and before `written_before`, any halt may be such.
     */
    const uint64_t *written;
    size_t written_count;
    uint64_t written_before;
    bool halts_known;
    recover_read_fn *read; /* asked while a window is worked out and when memory is read */
    void *context;
};

/* What is told of a stack word whose value at that time is not known. */
enum past_memory {
    PAST_MEMORY_ERROR,   /* nothing: GDB shows an error */
    PAST_MEMORY_PRESENT, /* its present contents */
};

struct past_values {
    struct recover *recover; /* NULL: nothing is known */
    uint64_t from, to;       /* positions of the window */
    size_t limit;            /* longest window that ends at the halt */
    uint32_t infer;          /* RECOVER_INFER_* */
    enum past_memory memory;
    bool halted;                    /* the window ends at the halt */
    bool built;                     /* from, to are valid, even if nothing is known */
    bool conflict;                  /* the window contradicts itself: not shown */
    bool stack_known;               /* the two below are valid */
    uint32_t stack_low, stack_high; /* least and greatest SP in the window */
    struct recover_counts counts;
};

void past_values_init(struct past_values *v);
/* Forgets what was worked out: the core moves on, or memory was written. */
void past_values_forget(struct past_values *v);

/*
 * Makes a window that says what can be said of the position. `quick`: a step shall not take long,
 * so a window that does not tell SP is made longer once, not until it does. BT_OK, or a bt_error.
 */
int past_values_at(struct past_values *v, struct past *p, const struct past_machine *m,
                   uint64_t position, bool quick);

/*
 * Registers at a position that past_values_at() was called for. Bit n of *estimated: regs->value[n]
 * is none that is known; `estimated` may be NULL.
 */
int past_values_regs(struct past_values *v, struct past *p, const struct past_machine *m,
                     uint64_t position, struct gdb_regs *regs, uint32_t *estimated);

/*
 * `bytes` are the present contents of `len` bytes at `address`: those that were others at the
 * position are replaced. Returns how many can be told from the start on.
 */
size_t past_values_memory(struct past_values *v, const struct past_machine *m, uint64_t position,
                          uint64_t address, uint8_t *bytes, size_t len);

/* How a register is known; false if it is not. Positions as above. */
bool past_values_explain(const struct past_values *v, uint64_t position, unsigned reg,
                         struct recover_answer *answer);

/* server/past_window.c: the input of a recovery, of positions [from, to). */
struct past_window {
    struct recover_window w;
    struct recover_insn *insns;
    struct bt_event *events;
    size_t event_max;
};

/* Code that is not known, or another instruction set, makes the window begin later. Release in all
 * cases. */
int past_window_init(struct past_window *w, struct past *p, const struct past_machine *m,
                     uint64_t from, uint64_t to);
void past_window_release(struct past_window *w);

#endif
