/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a GDB session needs from the thing being debugged: a table of operations. Live, remote and
 * recorded targets each supply one. GDB sees one thread a core: thread ID = core index + 1.
 *
 * Every operation gets the `ctx` that was given to gdb_session_init(), is called from within
 * gdb_session_input() (one thread), and returns BT_OK, a count where said so, or a negative
 * enum bt_error. Operations marked optional may be NULL: the session then does not announce the
 * feature, or answers as GDB expects from a stub without it.
 *
 * `core` is always in 0 .. core_count() - 1. Packets: GDB manual, "Packets" and "General Query
 * Packets"; what is said of GDB itself was found with GDB 13.1.
 */
#ifndef PROTOCOL_GDB_TARGET_H
#define PROTOCOL_GDB_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "drivers/target/target.h"

/*
 * Of qXfer:btrace:read.
 *
 * ALL    everything retained; the oldest block with its real begin
 * NEW    the same if anything ran since the last delivered read, else no block
 * DELTA  what ran since the last delivered read; the oldest block has begin 0
 */
enum gdb_annex {
    GDB_ANNEX_ALL,
    GDB_ANNEX_NEW,
    GDB_ANNEX_DELTA,
};

struct gdb_btrace_block {
    uint64_t begin; /* first instruction */
    uint64_t end;   /* first byte of the last instruction */
};

/* Filled by btrace_read(), newest block first. Owned by the session. */
struct gdb_btrace_blocks {
    struct gdb_btrace_block *block;
    size_t count;
    size_t capacity;
};

/* Both append one older block: BT_OK or BT_ERR_NOMEM. Neighbouring gaps become one. */
int gdb_btrace_blocks_add(struct gdb_btrace_blocks *b, uint64_t begin, uint64_t end);
int gdb_btrace_blocks_add_gap(struct gdb_btrace_blocks *b);

struct gdb_btrace_conf {
    bool recording;
    uint32_t size; /* real size of the buffer in bytes, shown by "info record" */
};

struct gdb_target {
    /* 1 .. TARGET_CORES_MAX; constant during a session. */
    int (*core_count)(void *ctx);
    int (*core_info)(void *ctx, int core, struct target_core *info);
    /* Optional. State in words for "info threads" ("running", "replaying, at 216"). */
    int (*core_status)(void *ctx, int core, char *text, size_t size);

    /*
     * State for `?`, the first question of a connection. BT_OK with *stop, or TARGET_PENDING when
     * a core ran: the target has asked it to halt and calls gdb_session_stopped().
     */
    int (*halt_reason)(void *ctx, struct target_stop *stop);

    int (*read_regs)(void *ctx, int core, struct target_regs *regs);
    /* Optional. Why the registers could not be read just now, in words; else GDB shows a number. */
    void (*read_refused)(void *ctx, struct target_error *why);
    /* Optional: registers are read-only without it. */
    int (*write_reg)(void *ctx, int core, enum target_reg reg, uint32_t value,
                     struct target_error *why);

    /*
     * Reads up to `len` bytes; returns how many were read from the start on (1 .. len), or an
     * error when not even the first is readable.
     * The original code where breakpoints are planted.
     */
    int (*read_memory)(void *ctx, int core, uint64_t address, void *bytes, size_t len);
    /* Optional. All or an error. `len` may be 0: a probe, answer BT_OK if writing is possible. */
    int (*write_memory)(void *ctx, int core, uint64_t address, const void *bytes, size_t len,
                        struct target_error *why);
    /*
     * Optional. Points *regions to the target's own array and returns its count. GDB refuses
     * every access outside the regions; 0 regions = no restriction.
     */
    int (*memory_map)(void *ctx, const struct target_region **regions);

    /*
     * Optional, with a text where it is refused. BT_OK: done already, *stop is filled.
     * TARGET_PENDING: runs; gdb_session_stopped() follows.
     */
    int (*resume)(void *ctx, const struct target_resume *resume, struct target_stop *stop,
                  struct target_error *why);
    /*
     * Optional; announces ReverseStep+ and ReverseContinue+. One instruction back (step), or
     * back to a breakpoint or the start. Returns as resume() does: GDB manual, "Reverse Execution".
     */
    int (*reverse)(void *ctx, int core, bool step, struct target_stop *stop,
                   struct target_error *why);
    /* Optional. Ctrl-C, only while something is pending; must lead to gdb_session_stopped(). */
    void (*interrupt)(void *ctx);

    /*
     * Optional, both or none. BT_ERR_UNSUPPORTED = no such type here: GDB falls back. Inserting
     * what is there already, and removing what is not, is BT_OK.
     */
    int (*insert_breakpoint)(void *ctx, int core, const struct target_breakpoint *bp,
                             struct target_error *why);
    int (*remove_breakpoint)(void *ctx, int core, const struct target_breakpoint *bp,
                             struct target_error *why);

    /* The branch trace operations: all or none. Errors with text reach the user. */
    int (*btrace_enable)(void *ctx, int core, struct target_error *why); /* when enabled: BT_OK */
    int (*btrace_disable)(void *ctx, int core); /* when not enabled: BT_OK */
    /* Bytes, of all cores; 0xffffffff = unlimited. The target clamps and remembers. */
    int (*btrace_set_size)(void *ctx, uint32_t size, struct target_error *why);
    /* `recording` at connect (flight recorder) makes GDB reopen the recording. */
    int (*btrace_conf)(void *ctx, int core, struct gdb_btrace_conf *conf);
    /*
     * Fills `out`, which is empty, newest block first; the newest ends at the halted PC. An error
     * makes the annex fail and GDB tries the next one (also for when delta must fail). The session
     * refuses a delta whose oldest block does not begin at 0: GDB would abort. Must not move the
     * mark of what was read: only btrace_delivered() does.
     */
    int (*btrace_read)(void *ctx, int core, enum gdb_annex annex, struct gdb_btrace_blocks *out);
    /* The last chunk of what btrace_read() gave was sent. */
    void (*btrace_delivered)(void *ctx, int core, enum gdb_annex annex);

    /*
     * Optional. One line of "monitor"; output through print(to, text). BT_ERR_UNSUPPORTED = no
     * such command (the session says so); other errors are printed by their code. Never fails on
     * the wire: GDB cannot show texts of errors here.
     */
    int (*monitor)(void *ctx, int core, const char *text, target_print_fn print, void *to);

    /* Optional notifications. What happens to recording on kill and detach: target. */
    void (*detach)(void *ctx);
    void (*kill)(void *ctx);
    /* Optional: `R`, and `vRun` of "run". The target starts over and is halted afterwards. */
    int (*restart)(void *ctx, struct target_error *why);

    /*
     * Optional, the first two or none. The list belongs to the target and is the same all through a
     * session; returns its length, at most TARGET_EXTRA_MAX. A register that cannot be read now:
     * BT_ERR_UNSUPPORTED (sent as unknown); other errors are errors.
     */
    int (*extra_registers)(void *ctx, int core, const struct target_register **list);
    int (*read_extra)(void *ctx, int core, unsigned index, uint64_t *value);
    int (*write_extra)(void *ctx, int core, unsigned index, uint64_t value,
                       struct target_error *why);

    /*
     * Optional, all or none: what GDB does with regions that the memory map calls flash. Erase is
     * of whole blocks; write comes in rising order, of erased blocks, and may keep the bytes until
     * done. GDB shows no text of these errors: the target reports it elsewhere, too.
     */
    int (*flash_erase)(void *ctx, uint64_t address, uint64_t length, struct target_error *why);
    int (*flash_write)(void *ctx, uint64_t address, const void *bytes, size_t len,
                       struct target_error *why);
    int (*flash_done)(void *ctx, struct target_error *why);

    /*
     * Optional, both or none, for sessions whose packets another server answers. True while the
     * core (-1: any of them) is at a replay position: then its registers come from read_regs(),
     * memory that the other server has read goes through reverse_memory(), every resume comes to
     * resume() first, and nothing is written.
     */
    bool (*is_replaying)(void *ctx, int core);
    /* `bytes` are the present ones: replaces those that were others; returns how many can be
     * told from the start on, 0 .. len. */
    size_t (*reverse_memory)(void *ctx, int core, uint64_t address, void *bytes, size_t len);
};

#endif
