/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A live target: run control through a struct target, trace from a stream, history in between. The
 * target is another GDB server, or a probe of ours, which delivers the trace, too.
 * Everything here is called from the event loop, but where said otherwise.
 *
 * A stop is kept back: the trace of the last run is fetched and decoded (a worker thread waits for
 * that), PC and PSR are read, then GDB is told. So the history that GDB asks for afterwards is
 * complete. A target that is silent meanwhile costs its deadline once, and the history of that
 * halt.
 */
#ifndef SERVER_LIVE_H
#define SERVER_LIVE_H

#include "drivers/elf/elf_image.h"
#include "protocol/rsp/text_buf.h"
#include "server/access/gdb_clients.h"
#include "server/base/audit.h"
#include "server/base/console.h"
#include "server/capture/pipeline.h"
#include "server/capture/trace_link.h"
#include "server/history/btrace_blocks.h"
#include "server/live/board_process.h"
#include "server/live/live_code.h"
#include "server/live/live_counts.h"
#include "server/live/live_itm.h"
#include "server/live/live_reverse.h"
#include "server/live/live_snapshot.h"
#include "server/live/live_units.h"
#include "server/live/remote_link.h"
#include "server/probe/probe_thread.h"
#include "server/recording/recorder.h"
#include "server/tasks/task_switches.h"
#include "server/tasks/tasks.h"

#define LIVE_HOLES 64 /* places that are remembered */

struct live_core {
    const struct config_core *config;
    struct elf_image *elf;
    struct code_image image;
    int source; /* of the pipeline; -1: no trace */
    struct target_regs regs;
    bool recording; /* as far as the GDB in control knows, or the last one that was */
    bool left;      /* PC was written since the last stop, which was at `left_pc` */
    bool left_thumb;
    uint64_t left_pc;
    bool jumped; /* PC was written, and where it was is not known, or the target was reset, since
                    the last stop */
    struct btrace_hole holes[LIVE_HOLES]; /* where the core ran without trace, oldest first */
    size_t hole_count;
    uint64_t written[LIVE_HOLES]; /* halts at which the debugger wrote, oldest first */
    size_t written_count;
    uint64_t written_before; /* those before are forgotten */
    struct live_counts_span counted[LIVE_COUNTS];
    struct {
        bool known;
        uint64_t pc, number; /* of the instruction there, in the history */
    } resumed;               /* where it ran on last */
};

/* Where the trace of the last run stands. */
enum live_drain {
    LIVE_DRAIN_NONE,    /* the core has not run yet, or runs */
    LIVE_DRAIN_DONE,    /* all of it is decoded */
    LIVE_DRAIN_TIMEOUT, /* what was there in time is decoded */
    LIVE_DRAIN_SILENT,  /* the board did not say how much there is */
    LIVE_DRAIN_APART,   /* what came until the deadline does not lead to a halted core */
};

/* Of a source that cannot be asked: the trace of the last run, and the halt. */
struct live_join {
    bool ran;              /* the cores ran, and it is not judged yet what came of it */
    bool waited, marked;   /* for more; its silence is a gap in the histories */
    bool silent;           /* connected, but nothing came of the last run */
    uint64_t before, seen; /* trace that had come when the cores ran last; that was decoded last */
    uint64_t until;        /* uv_hrtime(): then waiting ends */
    const struct live_core *apart; /* one that the trace does not lead to; NULL: none */
};

/*
 * How far it is with a halt. Legal: idle -> draining -> looking -> idle at each halt; idle ->
 * looking where a halted core was written to; looking <-> look again; looking, look again -> idle
 * where the connection is lost; any -> draining where the cores have run and halted meanwhile.
 */
enum live_halt {
    LIVE_HALT_IDLE,       /* all is known, or the cores run */
    LIVE_HALT_DRAINING,   /* a worker fetches and decodes the trace of the last run */
    LIVE_HALT_LOOKING,    /* at what halted cores are like: setup, registers, missing code */
    LIVE_HALT_LOOK_AGAIN, /* the same, and that has changed meanwhile */
};

/* Legal: only downwards, each step may be left out. */
enum live_phase {
    LIVE_OPENING, /* `ready` is to be called */
    LIVE_SERVING,
    LIVE_LEAVING, /* clients are disconnected, then the target is detached */
    LIVE_STOPPED, /* handles are closed */
};

/* Tracing, by command. Legal: on -> off -> missed; off, missed -> on. */
enum live_tracing {
    LIVE_TRACING_ON,
    LIVE_TRACING_OFF,
    LIVE_TRACING_MISSED, /* off, and the cores ran since */
};

/* What was told once, of what goes on. */
struct live_reported {
    uint64_t dropped; /* bytes that found the ring full */
    bool ring_full, recording, strays;
};

struct live {
    struct config *config;
    enum live_phase phase;
    uv_loop_t *loop;
    struct live_core cores[CONFIG_MAX_CORES];
    struct target *target;      /* NULL: not connected to yet */
    struct gdb_remote *remote;  /* whose it is; NULL: the probe's */
    struct remote_link link;    /* of `remote` */
    struct probe_thread *probe; /* NULL: the target has a GDB server of its own */
    struct pipeline *pipeline;  /* NULL: no core has a trace unit */
    struct trace_link *trace;   /* NULL: the probe or a trace buffer delivers it */
    bool run_after;             /* reset run: what is to come when everything about it is known */
    _Atomic uint64_t fed;       /* bytes of trace that did not come through `trace` */
    struct {
        uint8_t *bytes;
        size_t used;
    } readout;             /* of a trace buffer, at this halt; written by the capture thread */
    int board;             /* control socket of the virtual board; -1: not connected */
    uv_mutex_t board_lock; /* guards it: workers ask there */
    _Atomic bool leaving;  /* workers wait for nobody's answer any more */
    struct live_told {
        uv_work_t work; /* `lines`, `error` and `answer` are its while `under_way` */
        bool under_way;
        struct live_client *client; /* who waits for the answer; NULL: has left */
        struct console console;     /* of the client */
        char lines[80];
        const char *done;             /* what the client is told then */
        void (*then)(struct live *l); /* optional: likewise */
        int error;
        char answer[256];
    } told; /* a command of a client's to the board */
    uv_work_t work;
    enum live_drain drain;
    struct live_join join;
    enum live_halt halt;
    uint64_t asked_ms; /* of the last question about it, by the target's clock */
    unsigned reading;  /* core whose registers are being asked for */
    uint64_t stops;    /* stops so far */
    enum live_tracing tracing;
    bool untraced;   /* the cores ran without trace up to this stop */
    uv_mutex_t lock; /* guards the recorder, which the capture thread writes to */
    struct recorder *recorder;
    struct {
        unsigned core, piece; /* what is asked for now */
        struct recorder_state state;
    } record;       /* of the halted cores */
    unsigned setup; /* next line of [setup]; all done when it is the number of lines */
    struct live_code code;
    struct live_units units;
    struct live_itm itm;
    struct live_reverse reverse;
    struct live_snapshot snapshot;
    struct tasks *tasks;
    struct task_switches switches;   /* of the first core, before this halt */
    uv_idle_t questions;             /* active while clients ask about the history */
    struct live_client *clients;     /* in the order that they came */
    struct live_client *control;     /* the one in control; NULL: nobody */
    struct gdb_clients *connections; /* all connections; NULL: nobody can come */
    struct audit *audit;             /* set behind live_start(); NULL: none is kept */
    uint64_t started;                /* uv_hrtime() */
    uint64_t losses;                 /* of the target */
    bool lost;                       /* since it was ready */
    struct live_reported reported;
    /* Optional: reads the board file again, and says what became of it. */
    void (*reload)(void *ctx, const struct console *c);
    uv_timer_t timer; /* for deadlines, and once a second the rate */
    uint64_t rate, rate_bytes, rate_time;
    void (*known)(struct live *l); /* all about this halt; from live_halt.c */
    void (*tell)(struct live *l);  /* clients of it; from live_snapshot.c */
    /* A worker's part of a halt; live_look() follows. False: it cannot be started. */
    bool (*wait)(struct live *l, uv_work_cb work);
    void (*ready)(void *ctx, struct live *l, int error);
    void (*halted)(void *ctx, struct live *l);
    void *ctx;
    struct {
        uv_timer_t timer;
        uint64_t begun; /* uv_now() */
        bool late;      /* something was, since */
        void (*done)(void *ctx);
        void *ctx;
    } detach;
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
 * For probe_thread_open(): trace goes to the target's decoders. Before live_start(), which must
 * follow before any byte comes.
 */
struct trace_sink live_sink(struct live *l);

/*
 * Begins to connect to the target's GDB server, which may still have to start; with `probe` (else
 * NULL) the target is the one behind it. 0 or a bt_error.
 */
int live_connect(struct live *l, struct probe_thread *probe);

/*
 * A target that another GDB server keeps is left as [target] at_exit says, without breakpoints of
 * ours; `done` follows, maybe at once, within a few seconds at most. Then live_stop(). Clients must
 * be gone. Both also for a target that is all zero, and so is live_release().
 */
void live_detach(struct live *l, void (*done)(void *ctx), void *ctx);
void live_stop(struct live *l);
void live_release(struct live *l);

/*
 * `open`, `close` and `release` of struct gdb_service. The first that comes is in control, [gdb]
 * others says what becomes of those that come later. 0 or a bt_error. What is released later is
 * c->served; NULL is allowed.
 */
int live_admit(struct live *l, struct gdb_client *c, gdb_send_fn send, void *send_ctx);
void live_leave(struct live *l, struct gdb_client *c);
/* `granted` of it: who may not control the target any more loses control. */
void live_granted(struct live *l, struct gdb_client *c);
void live_client_free(struct live_client *k);

/* Of a halted core with a source: its trace leads to where it stands, nothing is missing there. */
bool live_trace_leads(const struct live *l, unsigned core);

/* The summary that a target is presented with; `first` false: what of it changes. */
void live_summary(struct live *l, bool first, target_print_fn print, void *to);

/* The numbers of `monitor status` in the text format of Prometheus, version 0.0.4. */
void live_status_page(const struct live *l, struct text_buf *out);

#endif
