/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a GDB session sees of a remote target: it is its client, or one that observes beside it.
 *
 * Who is answered when: one request at a time is on the wire. Questions of our own come first,
 * then a resume of our own, then the client's request and those of observers in turns; each has one
 * request at a time here.
 */
#ifndef PROTOCOL_GDB_REMOTE_CLIENT_H
#define PROTOCOL_GDB_REMOTE_CLIENT_H

#include "protocol/remote/gdb_remote.h"
#include "protocol/rsp/gdb_packet.h"
#include "protocol/rsp/rsp.h"
#include "protocol/target/gdb_target.h"

/* Registers in the layout of "org.gnu.gdb.arm.core", unless a description has others. */
#define GDB_NUMBER_PC  15
#define GDB_NUMBER_PSR 25

/* DOWN to GREETING when it is connected, to READY when all is asked; both to DOWN at its end. */
enum gdb_remote_phase {
    GDB_REMOTE_DOWN,
    GDB_REMOTE_GREETING,
    GDB_REMOTE_READY,
};

/*
 * HALTED    the cores are halted, as all clients know
 * RESUMING  resumed() is being called; the packet that resumes is not sent yet
 * RUNNING   it was sent
 * HALTING   an interrupt was sent since
 * HELD      halted, and the stop reply waits for its release
 *
 * HALTED to RESUMING to RUNNING, or back to HALTED when the packet could not be sent; RUNNING to
 * HALTING; either of them to HELD with the stop reply; HELD to HALTED when it is released; any of
 * them to HALTED when the connection is lost.
 */
enum gdb_remote_run {
    GDB_REMOTE_HALTED,
    GDB_REMOTE_RESUMING,
    GDB_REMOTE_RUNNING,
    GDB_REMOTE_HALTING,
    GDB_REMOTE_HELD,
};

/* IDLE to ACTIVE while requests are sent; ACTIVE to AGAIN when there may be more from within. */
enum gdb_remote_pump {
    GDB_REMOTE_PUMP_IDLE,
    GDB_REMOTE_PUMP_ACTIVE,
    GDB_REMOTE_PUMP_AGAIN,
};

/* A packet that waits for its turn or for its answer. */
struct gdb_request {
    struct gdb_request *next;
    struct gdb_packet packet;
    struct gdb_thread thread; /* selected before it is sent; not single: whichever is */
    bool from_client;
    bool abandoned;                       /* the client has gone since */
    struct gdb_remote_observer *observer; /* NULL, or the observer that asks this */
    gdb_remote_reply_fn reply;            /* may be NULL */
    void *ctx;
    size_t len;
    char payload[];
};

/* The client's end. Each may be called from within the functions below. */
struct gdb_remote_client {
    /* Answer to gdb_remote_pass(). NULL: there will be none, the connection broke. */
    void (*reply)(void *ctx, const char *reply, size_t len);
    /* The same for a packet that resumes. */
    void (*stopped)(void *ctx, const char *reply, size_t len);
    /* Console output or a file request: to be sent as it is; no answer to the request. */
    void (*output)(void *ctx, const char *payload, size_t len);
    /* Another client took the place, or the connection was freed. */
    void (*dropped)(void *ctx);
    /* What waited for gdb_remote_hold_client() may go on. */
    void (*go_on)(void *ctx);
};

/*
 * An observer beside the client: asks of halted cores, is told of stops. Linked here
 * between add and remove; of its operations `output` is never called.
 */
struct gdb_remote_observer {
    struct gdb_remote_observer *next;
    const struct gdb_remote_client *ops;
    void *ctx;
    bool linked;
};

/* Stack pointers of the M profile: those of the present security state, then those of each. */
enum gdb_stack {
    GDB_STACK_MSP,
    GDB_STACK_PSP,
    GDB_STACK_MSP_S,
    GDB_STACK_PSP_S,
    GDB_STACK_MSP_NS,
    GDB_STACK_PSP_NS,
    GDB_STACKS,
};

struct gdb_known; /* private to gdb_remote_known.c */

struct gdb_remote {
    const struct gdb_remote_events *events;
    void *ctx;
    struct gdb_link link;
    enum gdb_remote_phase phase;
    enum gdb_remote_run run;

    struct gdb_request *asks;
    struct gdb_request **asks_end;
    size_t ask_count;
    struct gdb_request *greeting;  /* next request of the handshake */
    struct gdb_request *waiting;   /* of the client */
    struct gdb_request *in_flight; /* sent; its reply is next */
    enum gdb_remote_pump pump;
    bool resume_wanted;    /* by us, as soon as nothing else is to be asked */
    bool interrupt_wanted; /* before the resume was sent */
    bool holds_client;     /* packets of the client wait */
    bool serving_file;     /* the other side waits for the client's answer to a file request */

    struct gdb_thread threads[TARGET_CORES_MAX];
    int core_count;
    int listings;               /* replies to the question for threads so far */
    struct gdb_thread selected; /* at the other side */
    bool selecting;             /* for the request in flight, which is not sent before */
    struct gdb_thread stopped;  /* of the last stop reply */
    size_t packet_size;
    bool can_vcont;
    bool only_g; /* its p does not work: registers are taken from g */
    unsigned number_pc;
    unsigned number_psr;
    /* Digits before them in a g packet, from the description; 0: not known. */
    size_t at_psr, at_stack[GDB_STACKS];
    unsigned number_stack[GDB_STACKS];

    bool has_description;
    struct text_buf description; /* with what it includes, while it is read */
    struct text_buf document;    /* the one under way */
    int document_count;
    char annex[64];

    struct text_buf stop; /* the reply that is held */

    struct target_breakpoint *breakpoints;
    size_t breakpoint_count;
    size_t breakpoint_capacity;
    bool orphaned; /* no client has them any more: they go at the next halt */

    const struct gdb_remote_client *client;
    void *client_ctx;
    bool client_runs; /* it waits for a stop reply */

    struct gdb_remote_observer *observers;
    struct gdb_request *looks;         /* of observers, in the order that they came */
    bool observer_turn;                /* the client had the last one */
    uint64_t packets;                  /* sent and received */
    uint64_t epoch;                    /* of what the halted cores are like */
    char *registers[TARGET_CORES_MAX]; /* last replies to g of the last halt; NULL: nobody asked */
    struct gdb_known *known;           /* what the other side reports of itself */
};

/* Any client before is dropped. */
void gdb_remote_attach(struct gdb_remote *u, const struct gdb_remote_client *client, void *ctx);
/* Its breakpoints go as soon as the cores are halted; nothing else changes. */
void gdb_remote_detach(struct gdb_remote *u);

/*
 * Sends a packet of the client with `thread` selected (not single: whichever is). reply()
 * follows, maybe from within; none for R. BT_OK, BT_ERR_IO (not connected), BT_ERR_NOMEM,
 * BT_ERR_INVAL (one is under way already).
 */
int gdb_remote_pass(struct gdb_remote *u, const struct gdb_thread *thread, const char *payload,
                    size_t len);

/* The client's answer to a file request; BT_ERR_INVAL when there was none. */
int gdb_remote_answer_file(struct gdb_remote *u, const char *payload, size_t len);

/* Core of a thread; -1 when the thread is none that was listed. */
int gdb_remote_core_of(const struct gdb_remote *u, const struct gdb_thread *thread);

void gdb_remote_add_observer(struct gdb_remote *u, struct gdb_remote_observer *g);
/* Its question, too, is forgotten. Nothing happens when it is not there. */
void gdb_remote_remove_observer(struct gdb_remote *u, struct gdb_remote_observer *g);
/* As gdb_remote_pass(), of halted cores: the caller sees to that, and that nothing is changed. */
int gdb_remote_look(struct gdb_remote *u, struct gdb_remote_observer *g,
                    const struct gdb_thread *thread, const char *payload, size_t len);

/* NULL: nothing. Valid until the next call of remember or forget. */
const char *gdb_remote_known(const struct gdb_remote *u, const char *payload, size_t len,
                             size_t *reply_len);

#endif
