/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a remote target, and what a GDB session sees of it. Not for use outside of
 * protocol/.
 *
 * Who is answered when: one request at a time is on the wire. Questions of our own come first,
 * then a resume of our own, then the client's request and those of observers in turns; each has one
 * request at a time here.
 */
#ifndef PROTOCOL_GDB_REMOTE_INTERNAL_H
#define PROTOCOL_GDB_REMOTE_INTERNAL_H

#include "protocol/remote/gdb_remote.h"
#include "protocol/rsp/gdb_link.h"
#include "protocol/rsp/gdb_packet.h"
#include "protocol/target/gdb_target.h"

/* Payloads of the other side: its documents may come in larger pieces than ours. */
#define GDB_REMOTE_PAYLOAD_MAX (4 * GDB_PACKET_SIZE)

/* A server that does not say how long a packet may be gets none that is longer. */
#define GDB_REMOTE_PACKET_SIZE     0x18a
#define GDB_REMOTE_PACKET_SIZE_MIN 0x40

/* Registers in the layout of "org.gnu.gdb.arm.core", unless a description says otherwise. */
#define GDB_NUMBER_PC  15
#define GDB_NUMBER_PSR 25

/* Breakpoints of the client that can be there at once. */
#define GDB_REMOTE_BREAKPOINTS_MAX 1024

/* Questions of our own that can wait at once. */
#define GDB_REMOTE_ASKS_MAX 4096

enum gdb_remote_phase {
    GDB_REMOTE_DOWN,
    GDB_REMOTE_GREETING,
    GDB_REMOTE_READY,
};

enum gdb_remote_run {
    GDB_REMOTE_HALTED,
    GDB_REMOTE_RUNNING,
    GDB_REMOTE_HELD, /* halted, and the stop reply waits for its release */
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

struct gdb_known; /* private to gdb_remote_observers.c */

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
    bool pumping;
    bool pump_again;
    bool resume_wanted;    /* by us, as soon as nothing else is to be asked */
    bool interrupt_wanted; /* before the resume was sent */
    bool resuming;         /* resumed() was told, the packet is not sent yet */
    bool halting;          /* an interrupt was sent since */
    bool holds_client;     /* packets of the client wait */
    bool serving_file;     /* the other side waits for the client's answer to a file request */

    struct gdb_thread threads[GDB_CORES_MAX];
    int core_count;
    int listings;               /* replies to the question for threads so far */
    struct gdb_thread selected; /* at the other side */
    bool selecting;             /* for the request in flight, which is not sent before */
    struct gdb_thread stopped;  /* of the last stop reply */
    size_t packet_size;
    bool can_vcont;
    bool big_endian;
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

    struct gdb_breakpoint *breakpoints;
    size_t breakpoint_count;
    size_t breakpoint_capacity;
    bool orphaned; /* no client has them any more: they go at the next halt */

    const struct gdb_remote_client *client;
    void *client_ctx;
    bool client_runs; /* it waits for a stop reply */

    struct gdb_remote_observer *observers;
    struct gdb_request *looks;      /* of observers, in the order that they came */
    bool observer_turn;             /* the client had the last one */
    uint64_t packets;               /* sent and received */
    uint64_t epoch;                 /* of what the halted cores are like */
    char *registers[GDB_CORES_MAX]; /* last replies to g of the last halt; NULL: nobody asked */
    struct gdb_known *known;        /* what the other side says of itself */
};

/* gdb_remote.c */

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

/* A question for one thread (NULL: whichever is selected). As gdb_remote_ask(). */
int gdb_remote_ask_thread(struct gdb_remote *u, const struct gdb_thread *thread,
                          const char *payload, size_t len, gdb_remote_reply_fn reply, void *ctx);

/* The same, before all that wait: what goes on from an answer needs the same thread. */
int gdb_remote_ask_next(struct gdb_remote *u, const struct gdb_thread *thread, const char *payload,
                        size_t len, gdb_remote_reply_fn reply, void *ctx);

/* What gdb_remote_ask() returns for a question now. */
int gdb_remote_may_ask(const struct gdb_remote *u);

/* Ends the connection from our side: what waits is answered, then ready() or lost(). */
void gdb_remote_fail(struct gdb_remote *u, int error);

/* gdb_remote_observers.c */

void gdb_remote_add_observer(struct gdb_remote *u, struct gdb_remote_observer *g);
/* Its question, too, is forgotten. Nothing happens when it is not there. */
void gdb_remote_remove_observer(struct gdb_remote *u, struct gdb_remote_observer *g);
/* As gdb_remote_pass(), of halted cores: the caller sees to that, and that nothing is changed. */
int gdb_remote_look(struct gdb_remote *u, struct gdb_remote_observer *g,
                    const struct gdb_thread *thread, const char *payload, size_t len);
/* The next question of an observer, taken out of the queue; NULL: none, or not now. */
struct gdb_request *gdb_remote_take_look(struct gdb_remote *u);
/* Questions that wait get this answer. */
void gdb_remote_refuse_looks(struct gdb_remote *u, const char *reply);
/* Tells all observers; reply NULL: the connection is lost. */
void gdb_remote_observers_stopped(struct gdb_remote *u, const char *reply, size_t len);
void gdb_remote_observers_go_on(struct gdb_remote *u);
void gdb_remote_drop_observers(struct gdb_remote *u);

/* What the other side has said of itself: remembered when it is one of those that stay the same. */
void gdb_remote_remember(struct gdb_remote *u, const struct gdb_request *r, const char *reply,
                         size_t len);
/* NULL: nothing. Valid until the next call of remember or forget. */
const char *gdb_remote_known(const struct gdb_remote *u, const char *payload, size_t len,
                             size_t *reply_len);
void gdb_remote_forget_known(struct gdb_remote *u);
void gdb_remote_forget_registers(struct gdb_remote *u);

/* gdb_remote_turns.c */

/* Sends what can be sent now. */
void gdb_remote_pump(struct gdb_remote *u);
/* A packet of the other side. `ctx` is the struct gdb_remote. */
void gdb_remote_packet(void *ctx, const char *payload, size_t len);
/* A packet out of turn. False when the connection is gone. */
bool gdb_remote_send(struct gdb_remote *u, const char *payload, size_t len);
void gdb_remote_interrupt_now(struct gdb_remote *u);
/* The first question of the queue, taken out of it. */
struct gdb_request *gdb_remote_take_ask(struct gdb_remote *u);

/* gdb_request.c */

/* NULL without memory. */
struct gdb_request *gdb_request_new(const char *payload, size_t len, gdb_remote_reply_fn reply,
                                    void *ctx);
/* Calls reply() and frees the request. */
void gdb_request_finish(struct gdb_request *r, const char *reply, size_t len);

/* gdb_remote_greet.c: the first questions, until ready() */
void gdb_remote_greet(struct gdb_remote *u);
/* One of them; its answer asks the next. */
void gdb_remote_greet_with(struct gdb_remote *u, const char *text, gdb_remote_reply_fn reply);
/* Goes on after gdb_remote_describe(). */
void gdb_remote_described(struct gdb_remote *u);

/* gdb_remote_describe.c: numbers of registers, ended by gdb_remote_described() */
void gdb_remote_describe(struct gdb_remote *u);

/* gdb_remote_breakpoints.c */

/* Room for one more, before it is inserted: BT_OK or BT_ERR_NOMEM. */
int gdb_remote_reserve(struct gdb_remote *u);
void gdb_remote_note_inserted(struct gdb_remote *u, const struct gdb_breakpoint *bp);
void gdb_remote_note_removed(struct gdb_remote *u, const struct gdb_breakpoint *bp);
/* Asks for the removal of all, when the client has left them behind and cores are halted. */
void gdb_remote_remove_orphans(struct gdb_remote *u);
void gdb_remote_forget_breakpoints(struct gdb_remote *u);

#endif
