/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A live target: run control through its own GDB server, trace from a stream, history in between.
 * Behind a probe of ours that server is probe_server.h, which delivers the trace, too.
 * Everything here is called from the event loop, but where said otherwise.
 *
 * A stop: the other server's reply is kept back, the trace of the last run is fetched and
 * decoded (a worker thread waits for that), PC and PSR are read, then GDB is told. So the history
 * that GDB asks for afterwards is complete.
 */
#ifndef SERVER_LIVE_H
#define SERVER_LIVE_H

#include "drivers/elf/elf_image.h"
#include "server/capture/pipeline.h"
#include "server/capture/trace_link.h"
#include "server/history/btrace_blocks.h"
#include "server/live/board_process.h"
#include "server/live/live_clients.h"
#include "server/live/live_code.h"
#include "server/live/live_reverse.h"
#include "server/live/live_units.h"
#include "server/live/remote_link.h"
#include "server/probe/probe_server.h"
#include "server/recording/recorder.h"

#define LIVE_HOLES 64 /* places that are remembered */

struct live_core {
    const struct config_core *config;
    struct elf_image *elf;
    struct code_image image;
    int source; /* of the pipeline; -1: no trace */
    struct gdb_regs regs;
    bool recording; /* as far as the GDB in control knows, or the last one that was */
    bool jumped;    /* PC was written, or the target was reset, since the last stop */
    struct btrace_hole holes[LIVE_HOLES]; /* where the core ran without trace, oldest first */
    size_t hole_count;
    uint64_t written[LIVE_HOLES]; /* halts at which the debugger wrote, oldest first */
    size_t written_count;
    uint64_t written_before; /* those before are forgotten */
};

/* Where the trace of the last run stands. */
enum live_drain {
    LIVE_DRAIN_NONE,    /* the core has not run yet, or runs */
    LIVE_DRAIN_DONE,    /* all of it is decoded */
    LIVE_DRAIN_TIMEOUT, /* what was there in time is decoded */
    LIVE_DRAIN_SILENT,  /* the board did not say how much there is */
};

struct live {
    struct config *config;
    uv_loop_t *loop;
    struct live_core cores[CONFIG_MAX_CORES];
    struct gdb_remote *remote;
    struct remote_link link;
    struct pipeline *pipeline;  /* NULL: no core has a trace unit */
    struct trace_link *trace;   /* NULL: the probe server or a trace buffer delivers it */
    struct probe_server *probe; /* NULL: the target has a GDB server of its own */
    uv_async_t moved;           /* it tells of what no packet tells */
    unsigned resets;            /* of the probe target, that are known here */
    bool run_after;             /* reset run: what is to come when everything about it is known */
    _Atomic uint64_t fed;       /* bytes of trace that did not come through `trace` */
    struct {
        uint8_t *bytes;
        size_t used;
    } readout; /* of a trace buffer, at this halt; written by the capture thread */
    int board; /* control socket of the virtual board; -1: not connected */
    uv_work_t work;
    bool draining;
    enum live_drain drain;
    int reading;     /* core whose registers are being asked for */
    bool looking;    /* at what halted cores are like: setup, registers, missing code */
    bool look_again; /* that has changed meanwhile */
    uint64_t stops;  /* stops so far */
    bool trace_off;  /* by command */
    bool ran_off;    /* the cores ran since that command */
    bool untraced;   /* they did so up to this stop */
    uv_mutex_t lock; /* guards the recorder, which the capture thread writes to */
    struct recorder *recorder;
    struct {
        bool active;
        unsigned core, piece; /* what is asked for now */
        struct recorder_state state;
        void (*done)(struct live *l);
    } record;       /* of the halted cores */
    unsigned setup; /* next line of [setup]; all done when it is the number of lines */
    struct live_code code;
    struct live_units units;
    struct live_reverse reverse;
    struct live_client *clients;     /* in the order that they came */
    struct live_client *control;     /* the one in control; NULL: nobody */
    struct gdb_clients *connections; /* all connections; NULL: nobody can come */
    uint64_t started;                /* uv_hrtime() */
    uint64_t losses;                 /* of the target's GDB server */
    uint64_t ring_reported;          /* bytes dropped, that the log knows of */
    bool ring_full, recording_reported, strays_reported;
    uint64_t owed; /* gdb_remote_owed(), and for how many seconds it has been that */
    unsigned owed_s;
    bool lost; /* the target's GDB server, since it was ready */
    /* Optional: reads the board file again, and says what became of it. */
    void (*reload)(void *ctx, const struct console *c);
    void (*code_done)(struct live *l);
    void (*setup_done)(struct live *l);
    uv_timer_t timer; /* once a second: the rate */
    uint64_t rate, rate_bytes, rate_time;
    void (*ready)(void *ctx, struct live *l, int error);
    void (*halted)(void *ctx, struct live *l);
    void *ctx;
    bool reported_ready;
    bool leaving; /* clients are disconnected, then the target is detached */
    struct {
        uv_timer_t timer;
        uint64_t begun; /* uv_now() */
        void (*done)(void *ctx);
        void *ctx;
    } detach;
    bool stopping;
};

/*
 * Reads the programs and opens the trace; live_connect() is to follow. With [trace] sink and no
 * probe of ours the hardware completes `config` later, and the trace is opened then. `ready` is
 * called once: when the target is halted and can be asked, or with an error. 0 or a bt_error with
 * *why filled; release with live_stop() and, when the loop has ended, live_release().
 */
int live_start(struct live *l, uv_loop_t *loop, struct config *config,
               void (*ready)(void *ctx, struct live *l, int error),
               void (*halted)(void *ctx, struct live *l), void *ctx, struct message *why);

/*
 * For probe_server_open(): trace goes to the target's decoders. Before live_start(), which must
 * follow before any byte comes.
 */
struct trace_sink live_sink(struct live *l);

/* Behind live_start(), before live_connect(): the target is that of `probe`. */
void live_use_probe(struct live *l, struct probe_server *probe);

/* Begins to connect to the target's GDB server, which may still have to start. */
int live_connect(struct live *l);

/*
 * A target that another GDB server keeps is left as [target] at_exit says, without breakpoints of
 * ours; `done` follows, maybe at once, within a few seconds at most. Then live_stop(). Clients must
 * be gone. Both also for a target that is all zero, and so is live_release().
 */
void live_detach(struct live *l, void (*done)(void *ctx), void *ctx);
void live_stop(struct live *l);
void live_release(struct live *l);

/* Operations of a session, with a struct live_client as context. */
extern const struct gdb_target live_target;

/* The target is elsewhere: its registers are others, and no delta leads there. */
void live_was_moved(struct live *l);
/* It has started over: [setup] is due again. */
void live_was_reset(struct live *l);

/* server/live/live_setup.c: goes on with [setup], then calls `done` (maybe at once). */
void live_setup(struct live *l, void (*done)(struct live *l));

/* Starts or ends recording; `dir` NULL: that of the board file. */
int live_record(struct live *l, const char *dir, struct message *why);
int live_record_stop(struct live *l);

/* History of a core, or NULL; between pipeline_lock() and pipeline_unlock(). */
struct history *live_history(const struct live *l, int core);

/* Asks the virtual board: "on", "flush" ... BT_ERR_UNSUPPORTED without a control socket. */
int live_ask_board(struct live *l, const char *line, char *answer, size_t size);

/* server/live/live_monitor.c: "monitor" commands. */
int live_monitor(struct live_client *k, int core, const char *text, gdb_print_fn print, void *to);

/* server/live/live_summary.c: the summary; `first` false: what of it changes. */
void live_summary(struct live *l, bool first, gdb_print_fn print, void *to);

/* server/live/live_summary.c: trace that no core gets is told, once. While cores run another one's
 * trace may still come first: then only what is no trace at all counts. */
void live_look_for_strays(struct live *l, bool halted);

#endif
