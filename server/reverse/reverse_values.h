/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What GDB is told of registers and memory at a replay position, from the value reconstruction in
 * decoder/values/values.h: known values; for PC, SP, LR and PSR always a number; nothing for other
 * registers. Windows that end at the halt are worked out when
 * they are asked for, short ones first, and kept until the core moves on. */
#ifndef SERVER_REVERSE_VALUES_H
#define SERVER_REVERSE_VALUES_H

#include "decoder/values/values.h"
#include "drivers/target/target.h"
#include "server/reverse/reverse.h"
#include "server/reverse/reverse_forward.h"

#define REVERSE_VALUES_DEFAULT 100000u /* instructions before the halt */
#define REVERSE_FIRST_WINDOW   1024u
#define REVERSE_QUICK_WINDOW   4096u  /* the longest that a step waits for */
#define REVERSE_LOCAL_WINDOW   16384u /* around a position further back than that */

#define REVERSE_RAM 8u

/* What a core's programs may do, as far as their files tell: see reverse_machine.h. */
struct reverse_program {
    bool one_stack;   /* M profile: nothing writes PSP or CONTROL */
    bool two_states;  /* M profile: code may go to the other security state (BXNS, BLXNS) */
    bool plain_modes; /* nothing sends exceptions to Monitor or Hyp mode */
    bool has_float;   /* there may be floating-point instructions */
    struct values_ram ram[REVERSE_RAM]; /* where stacks of tasks may be; */
    size_t ram_count;                   /* 0: anywhere */
};

/* The halted core. */
struct reverse_machine {
    struct target_regs regs;
    enum execute_profile profile; /* A64: nothing is reconstructed, only executed forwards */
    struct reverse_program program;
    bool v4t;
    bool bit_band; /* M profile: bits of RAM have second addresses */
    bool big_endian;
    bool registers_written; /* by the debugger since the halt: nothing is reconstructed from them */
    const struct target_regs *ends; /* where a window ends before the halt, and RAM is of there;
                                       NULL: not known */
    /*
     * Positions of halts at which the debugger wrote registers or memory, oldest first: nothing is
     * carried over them. Unless `halts_known`, and before `written_before`,
     * any halt may be such. */
    const uint64_t *written;
    size_t written_count;
    uint64_t written_before;
    bool halts_known;
    const struct target_register *list; /* that regs.extra is of */
    unsigned list_count;
    struct reverse_forward *forward; /* what is known from earlier halts on; NULL: nothing */
    values_read_fn *read; /* asked while a window is worked out and when memory is read */
    void *context;
};

static inline bool reverse_machine_is_m(const struct reverse_machine *m)
{
    return m->profile == EXECUTE_PROFILE_M;
}

static inline bool reverse_machine_is_a64(const struct reverse_machine *m)
{
    return m->profile == EXECUTE_PROFILE_A64;
}

/*
 * GDB 13 cannot step without a number for SP and LR ("PC not available"). Where one of them is not
 * known it gets this one, near which no memory can be read at a replay position: backtraces end.
 */
#define REVERSE_NO_STACK 0xdead0000u

/* What is told of a word of RAM whose value at that time is not known. */
enum reverse_memory {
    REVERSE_MEMORY_ERROR,   /* nothing: GDB shows an error */
    REVERSE_MEMORY_PRESENT, /* its present contents */
};

/* The input of a reconstruction, of positions [from, to). */
struct reverse_window {
    struct values_window w;
    struct values_insn *insns;
    struct bt_event *events;
    size_t event_max;

    struct reverse *reverse;
    const struct reverse_machine *machine;
    uint64_t from, to; /* it begins later behind code that is not known */
    /* Where the filling is. */
    size_t index, block, event;
    uint64_t number; /* of the block's first instruction */
    bool opened;     /* the window is begun */
    struct code_key key;
    struct reverse_code *code; /* while it is filled */
};

/* A window that has been worked out. */
struct reverse_known {
    struct values *values; /* NULL: nothing is known */
    uint64_t from, to;     /* positions */
    uint64_t wanted;       /* where it was to begin */
    bool halted;           /* it ends at the halt */
    bool built;            /* from, to are valid, even if nothing is known */
    bool conflict;         /* it contradicts itself: not shown */
    struct values_counts counts;
};

/* A window that is being worked out. All zero: none is. */
struct reverse_work {
    bool active, filled;
    uint64_t wanted, to;
    bool halted;
    uint32_t infer;
    struct reverse_window window;
    struct values *values;
};

/* `p` and `m` must outlive it. BT_OK or a bt_error; reverse_work_end() in all cases. */
int reverse_work_begin(struct reverse_work *w, struct reverse *p, const struct reverse_machine *m,
                       uint64_t from, uint64_t to, uint32_t infer);
/* A slice, see values_work(). *done: reverse_work_take() gives the result away. */
int reverse_work_go_on(struct reverse_work *w, size_t budget, bool *done);
void reverse_work_take(struct reverse_work *w, struct reverse_known *known);
void reverse_work_end(struct reverse_work *w);

void reverse_known_release(struct reverse_known *k);
static inline bool reverse_known_holds(const struct reverse_known *k, uint64_t position)
{
    return k->built && position >= k->from && position <= k->to;
}

/* Of a core of M profile: which handler runs between two exceptions. */
struct reverse_handler {
    uint64_t first, end; /* positions that it is known for */
    uint32_t number;
    bool known;
};

struct reverse_values {
    struct reverse_known now;  /* what is told */
    struct reverse_known next; /* worked out ahead, for positions to come */
    struct reverse_work work;
    size_t tried;          /* longest window that ends at the halt and was worked out ahead */
    uint64_t tried_around; /* position that a window was worked out around, likewise, plus 1 */
    size_t reach;          /* windows that end at the halt and are longer contradict themselves */
    size_t warm;           /* window that was decoded ahead, plus 1 */
    size_t limit;          /* longest window that ends at the halt */
    uint32_t infer;        /* VALUES_INFER_* */
    enum reverse_memory memory;
    bool quick; /* the last position was asked for so */
    struct reverse_handler handler;
};

static inline void reverse_values_init(struct reverse_values *v, size_t limit, uint32_t infer,
                                       enum reverse_memory memory)
{
    *v = (struct reverse_values){
        .reach = SIZE_MAX, .limit = limit, .infer = infer, .memory = memory};
}

/* Forgets what was worked out: the core moves on, or memory was written. */
void reverse_values_forget(struct reverse_values *v);

/*
 * Makes a window that says what can be said of the position. `quick`: a step shall not take long,
 * so it waits for short windows only, and reverse_values_ahead() makes better ones. BT_OK, or a
 * bt_error.
 */
int reverse_values_at(struct reverse_values *v, struct reverse *p, const struct reverse_machine *m,
                      uint64_t position, bool quick);

/*
 * Works out, a slice at a time, what positions nearby will need, a longer window first of all.
 * TARGET_PENDING: there is more to do; BT_OK: there is not; REVERSE_AHEAD_DONE: a window is
 * complete, reverse_values_take() it or reverse_work_end(). Less than 0: a bt_error, nothing is
 * under way.
 */
#define REVERSE_AHEAD_DONE 2
int reverse_values_ahead(struct reverse_values *v, struct reverse *p,
                         const struct reverse_machine *m, uint64_t position, size_t budget);
/* Tells the new window from now on, if it says no less of the position. */
void reverse_values_take(struct reverse_values *v, const struct reverse *p, uint64_t position);
/*
 * Registers at a position that reverse_values_at() was called for. Bit n of *estimated:
 * regs->value[n] is none that is known; `estimated` may be NULL. Stack pointers: the one in use is
 * SP, the others are those of the halt or, where several are in use, REVERSE_NO_STACK.
 */
int reverse_values_regs(struct reverse_values *v, struct reverse *p,
                        const struct reverse_machine *m, uint64_t position,
                        struct target_regs *regs, uint32_t *estimated);

/*
 * `bytes` are the present contents of `there` of `len` bytes at `address`: those that were others
 * at the position are replaced, behind them those that are known are put. `unwinds`: an xPSR on the
 * stack is told by values_status(), too. Returns how many can be told from the start on.
 */
size_t reverse_values_memory(struct reverse_values *v, const struct reverse_machine *m,
                             uint64_t position, uint64_t address, uint8_t *bytes, size_t there,
                             size_t len, bool unwinds);

/* The aligned word at a position; false if it is not known. */
bool reverse_values_word(const struct reverse_values *v, uint64_t position, uint32_t address,
                         struct values_answer *answer);

/* Whether an error is told for that word, if it is not known; else its present contents are. */
bool reverse_values_may_be_stale(const struct reverse_values *v, const struct reverse_machine *m,
                                 uint32_t address);

/* How a register is known; false if it is not. Positions as above. */
bool reverse_values_explain(const struct reverse_values *v, uint64_t position, unsigned reg,
                            struct values_answer *answer);

#endif
