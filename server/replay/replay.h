/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A recording as a target: memory and registers as they were recorded, read-only; nothing ever
 * runs. Beside it each core's history, and each client's position there.
 */
#ifndef SERVER_REPLAY_H
#define SERVER_REPLAY_H

#include "drivers/target/target.h"
#include "protocol/rsp/text_buf.h"
#include "server/access/gdb_clients.h"
#include "server/base/console.h"
#include "server/history/call_history.h"
#include "server/recording/recording_history.h"
#include "server/reverse/reverse_motion.h"
#include "server/tasks/tasks.h"

#define REPLAY_HOLES     64
#define REPLAY_REGISTERS 34 /* AArch64; else d0-d15 and fpscr behind the first seventeen */

struct replay_core {
    struct replay *replay; /* it belongs to */
    const char *name;
    const struct snapshot_device *device; /* NULL: the recording names no core */
    struct recording_history *trace;      /* NULL: no trace that can be decoded */
    const struct code_image *image;
    uint16_t image_core; /* for struct code_key */
    enum target_profile profile;
    bool big_endian;
    struct target_register registers[REPLAY_REGISTERS];
    unsigned register_count;
    struct target_regs regs;
    uint32_t recorded; /* bit n: register n is that of the recording, not a stand-in */
    bool ours;         /* the recording tells which memory is that of its end: this */
    uint64_t stack, stack_bytes;
    struct code_key key; /* who reads memory: the state at the end of the history */
    struct config_ranges ram, shared;
    struct reverse_forward *forward;    /* NULL: nothing was recorded of what was known at halts */
    const struct reverse_snapshot *end; /* of its states, that of the end; NULL: none is */
    struct btrace_hole holes[REPLAY_HOLES]; /* where the core ran without trace, oldest first */
    size_t hole_count;
    bool halts_known; /* from written_before on: where the debugger wrote is in `written` */
    uint64_t *written, written_before;
    size_t written_count;
};

struct replay {
    struct recording recording;
    struct recording_history *traces; /* one a source */
    size_t trace_count;
    struct replay_core *cores;
    size_t core_count;
    bool odd_thumb; /* T32 blocks with bit 0 set: for a GDB without symbols */
    struct tasks *tasks;
    bool no_record; /* GDB is not told that it records:
                       the server does reverse execution */
    struct replay_client *clients;
    struct {
        void (*later)(void *ctx); /* replay_go_on() is wanted from the event loop */
        /* Optional: reads the board file again, and says what became of it. */
        void (*reload)(void *ctx, const struct console *c);
        void *ctx;
    } io;
    const struct gdb_clients *connections; /* all connections */
    uint64_t started;                      /* uv_hrtime() */
};

/* One GDB that is connected: each has its own position in the history, and reads it anew. */
struct replay_client {
    struct replay_client *next;
    struct replay *replay;
    const struct gdb_client *client; /* set by whoever has connections */
    struct gdb_session *session;
    struct target target; /* its own: nobody looks on */
    uint32_t size;        /* of GDB's buffer, bytes */
    struct {
        bool recording; /* as far as GDB knows */
        bool delivered; /* the history was read since it was enabled or GDB connected */
    } cores[TARGET_CORES_MAX];
    struct reverse_motion reverse;
    struct call_job *question;        /* about the history, by `monitor`; NULL: none */
    uint8_t bytes[TARGET_ACCESS_MAX]; /* of the last memory read */
};

/* Opens and decodes; with `perf` a perf.data file. `indexed`: a long recording has an index beside
 * it, which is used, or made. r is zeroed first. 0 or a bt_error with *why
 * filled; release in both cases. */
int replay_init(struct replay *r, const char *path, const struct perf_places *perf,
                const char *const *elf, size_t elf_count, bool indexed, struct message *why);
void replay_release(struct replay *r);

/* The history of a core that has a trace; `size` is that of a packet, bytes. */
void replay_view(const struct replay_core *c, uint32_t size, struct btrace_view *view);

/* Operations with a struct replay_client as ctx. */
extern const struct gdb_host replay_host;

/*
 * A new client, which `s` serves: all cores record, and are at the end of their history. NULL: out
 * of memory. One that leaves is not told of anything any more, though its session may be at
 * work; it is freed when that is gone. Both: NULL is allowed.
 */
struct replay_client *replay_client_new(struct replay *r, struct gdb_session *s);
void replay_client_leave(struct replay_client *k);
void replay_client_free(struct replay_client *k);

/* Goes on with searches and questions that take longer; see io.later. */
void replay_go_on(struct replay *r);

/* The numbers of a recording in the text format of Prometheus. */
void replay_status_page(const struct replay *r, struct text_buf *out);

/* Sessions show tasks of the kernel in the program of the recording's only core, if it has one. 0
 * or BT_ERR_NOMEM. */
int replay_show_tasks(struct replay *r);

/* "monitor" commands, of struct gdb_host. */
int replay_monitor(void *ctx, int core, const char *text, target_print_fn print, void *to);

#endif
