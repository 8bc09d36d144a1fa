/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One GDB connection: bytes in, bytes out, questions to the target and to the host in between. No
 * sockets, no clock, no threads: the event loop calls gdb_session_input() with what arrived and the
 * session calls back with what is to be sent.
 *
 * Every packet is answered, one after the other: unknown ones with an empty reply, known ones with
 * malformed arguments with an error. What the target is asked for is answered when its answer
 * comes; packets that come meanwhile wait.
 *
 * A target that takes packets (another GDB server) gets them as they are, but for branch trace,
 * replay positions, acknowledgements, `monitor` as far as the host knows the command, detach and
 * kill. Else they become typed requests.
 *
 * - `D` removes the client's breakpoints and lets the cores run; `k` and `vKill` remove them and
 *   leave the cores halted. The target stays connected.
 * - gdb_session_release() in the place of either removes the breakpoints at the next halt and
 *   leaves the cores as they are.
 * - A client that comes while cores run, and is in control, halts them with its first question.
 */
#ifndef PROTOCOL_GDB_SESSION_H
#define PROTOCOL_GDB_SESSION_H

#include "protocol/rsp/gdb_packet.h"
#include "protocol/rsp/rsp.h"
#include "protocol/rsp/text_buf.h"
#include "protocol/session/gdb_host.h"

/* Takes all `len` bytes (the caller queues what its socket does not take). */
typedef void (*gdb_send_fn)(void *send_ctx, const void *bytes, size_t len);

/* What the server does with the connection next. */
enum gdb_session_state {
    GDB_SESSION_OPEN,
    GDB_SESSION_DETACHED, /* `D`: GDB closes the connection, or attaches again (extended) */
    GDB_SESSION_KILLED,   /* `k`, `vKill`: close the connection unless gdb_session_extended() */
    GDB_SESSION_FAILED,   /* out of memory, or the peer refuses every frame: close */
};

/*
 * CONTROLS    it has the target to itself, but for those that look on
 * CATCHES_UP  the same, but it has not seen the last halt yet
 * OBSERVES    it looks on beside the client in control, which is not disturbed: it reads registers,
 *             memory and history while the cores are halted, has its own branch trace and its own
 *             replay position, and gets an error for whatever would change something or run the
 *             cores. While they run, and when they have run since it was told of a halt, reads are
 *             errors, too; `c` and its like wait for the next halt, or report the one that it has
 *             not seen. One that comes while the cores run is shown a halt of which nothing is
 *             known but the registers that another client has read.
 *
 * OBSERVES to CONTROLS or CATCHES_UP: it is given control; the other way round: it gives it away.
 * CATCHES_UP to CONTROLS: it is told of a stop, or what it saw last is true again or lost.
 */
enum gdb_role {
    GDB_CONTROLS,
    GDB_CATCHES_UP,
    GDB_OBSERVES,
};

/* What a stop reply is owed for. */
enum gdb_run {
    GDB_HALTED,
    GDB_MOVES, /* a motion of the host: gdb_session_stopped() */
    GDB_RUNS,  /* cores of the target */
};

/* The text of the last qXfer that was read at offset 0. */
struct gdb_document {
    const struct xfer_object *object; /* NULL: nothing is frozen */
    int annex;
    int core;
    bool delivered;
    struct text_buf text;
};

struct gdb_session;
/* Makes the reply to the packet under way: as the handler of a packet. */
typedef int (*gdb_answer_fn)(struct gdb_session *s, const struct target_answer *answer);

/* The packet that waits for the target's answer. */
struct gdb_asked {
    bool of_host;                /* a `monitor` command, which the host answers still */
    gdb_answer_fn answer;        /* NULL: none */
    char kind;                   /* first letter of the packet */
    uint64_t at;                 /* address, or index of a register */
    size_t length;               /* of memory */
    struct target_resume resume; /* behind a write of the PC */
    char *command;               /* of `monitor`; NULL: it is another packet */
};

/* Members are private to protocol/; use the functions. */
/* LLDB asks for what GDB never does. */
enum gdb_front_end {
    GDB_FRONT_END_GDB,
    GDB_FRONT_END_LLDB,
};

struct gdb_session {
    struct target *target; /* NULL: another client has it, or it is gone */
    const struct gdb_host *host;
    void *host_ctx;
    struct target_client client;
    void (*go_on)(struct gdb_session *s); /* with what waits for an answer */
    gdb_send_fn send;
    void *send_ctx;
    struct rsp_receiver receiver;
    struct rsp_sender sender;
    struct text_buf reply;        /* payload under construction */
    struct text_buf backlog;      /* packets that wait, each behind its length */
    struct gdb_document document; /* frozen */
    struct gdb_asked asked;
    enum gdb_session_state state;
    enum gdb_role role;
    enum gdb_run run;
    int general;              /* Hg: core index */
    int task;                 /* Hg: thread of a task of that core; 0: it is that of the core */
    int task_moves;           /* Hc: thread of a task; 0: none */
    struct gdb_thread thread; /* the same, as packets have it */
    int stopped;              /* core of the last stop reply: what thread 0 means */
    int motion;               /* Hc: core index, or one of GDB_MOTION_* */
    bool packets;             /* the target takes them as they are */
    bool draining;            /* the backlog */
    bool extended;            /* `!` was seen */
    bool threads_listed;
    bool client_swbreak; /* GDB understands these stop reasons */
    bool client_hwbreak;
    enum gdb_front_end front_end;
    uint64_t seen;                 /* epoch of the halt that the client was told of last */
    char *shown[TARGET_CORES_MAX]; /* g of that halt; NULL: not read */
    char greeting[400];            /* printed as soon as the client takes text; "": nothing */
    size_t packet_size;            /* at most GDB_PACKET_SIZE */
    char refusal[160];             /* "": it is served */
    const char *only;              /* names of the packets that are taken; NULL: all */
    unsigned refused;              /* packets that were answered with it */
    uint64_t taken;                /* whole packets that came in */
};

/*
 * `target`, `host`, `host_ctx` and `send_ctx` must outlive the session, but that the target may be
 * released first. `role`: GDB_CONTROLS (a session that was in control gets errors from now on) or
 * GDB_OBSERVES. `greeting`, a line or more with '\n', is printed when GDB takes text; "" if not
 * wanted. BT_OK, BT_ERR_NOMEM, or BT_ERR_INVAL when the host has only some of the branch trace
 * operations or of those of the replay position. Nothing to release after an error. The session
 * must not be moved or copied afterwards.
 */
int gdb_session_init(struct gdb_session *s, struct target *target, const struct gdb_host *host,
                     void *host_ctx, enum gdb_role role, const char *greeting, gdb_send_fn send,
                     void *send_ctx);

static inline bool gdb_session_observes(const struct gdb_session *s)
{
    return s->role == GDB_OBSERVES;
}

/*
 * A session that looks on has the target from now on; the one before gets errors. GDB is told by
 * text as soon as it takes some. Nothing happens for other sessions.
 */
void gdb_session_take_control(struct gdb_session *s);
/* The other way round: a session in control looks on. Its breakpoints go. */
void gdb_session_give_control(struct gdb_session *s);

/* A session in control looks on from now on, also while it runs the cores or waits for an answer,
 * which is an error then; `text`, a line with '\n', is printed as soon as GDB takes text. */
void gdb_session_lose_control(struct gdb_session *s, const char *text);

/* From now on a session that looks on asks `monitor` questions of the host's, and nothing else. */
void gdb_session_only_asks(struct gdb_session *s);
static inline bool gdb_session_is_asking(const struct gdb_session *s)
{
    return s->only;
}

/*
 * From now on every packet is answered with an error of this text, and nothing is asked of the
 * target; what is pending ends with it, too. For a client that may not stay:
 * it is told why.
 */
void gdb_session_refuse(struct gdb_session *s, const char *text);
static inline bool gdb_session_is_refused(const struct gdb_session *s)
{
    return s->refusal[0] != '\0';
}
static inline const char *gdb_session_refusal(const struct gdb_session *s)
{
    return s->refusal;
}
/* Packets answered so. */
static inline unsigned gdb_session_refused(const struct gdb_session *s)
{
    return s->refused;
}

/* Longer packets are answered with an error; `size` is announced, and clamped to 1024 ..
 * GDB_PACKET_SIZE. To be called before there is input. */
void gdb_session_limit(struct gdb_session *s, size_t size);

/* Sends nothing and tells the host nothing: a lost connection is the server's to judge. */
void gdb_session_release(struct gdb_session *s);

/* Bytes from the wire, in any pieces. Must not be called from within an operation of the host. */
void gdb_session_input(struct gdb_session *s, const void *bytes, size_t len);

/*
 * The host's motion ended, after TARGET_PENDING. May be called at any later time, also from
 * interrupt(), and from within the operation that returns TARGET_PENDING.
 * Ignored when no motion is pending.
 */
void gdb_session_stopped(struct gdb_session *s, const struct target_stop *stop);

/* The motion that is pending failed: GDB prints `text` and shows the target as stopped. */
void gdb_session_resume_failed(struct gdb_session *s, const char *text);

/* The host knows the tasks now, after TARGET_PENDING. May be called at any time. */
static inline void gdb_session_go_on(struct gdb_session *s)
{
    s->go_on(s);
}

/* The `monitor` command that was TARGET_PENDING is answered. */
void gdb_session_command_done(struct gdb_session *s);

/* Console text while something is pending; dropped otherwise (GDB would take it for a reply). */
void gdb_session_output(struct gdb_session *s, const char *text);

static inline enum gdb_session_state gdb_session_state(const struct gdb_session *s)
{
    return s->state;
}

/* `target extended-remote`: the connection survives kill and detach. */
static inline bool gdb_session_extended(const struct gdb_session *s)
{
    return s->extended;
}

/* Whole packets that have come in, refused ones with them. */
static inline uint64_t gdb_session_taken(const struct gdb_session *s)
{
    return s->taken;
}

/* A packet has begun to come in, and has not ended. */
static inline bool gdb_session_in_packet(const struct gdb_session *s)
{
    return s->receiver.state != RSP_STATE_IDLE;
}

/* A stop reply is owed: the target runs as far as GDB knows. */
static inline bool gdb_session_running(const struct gdb_session *s)
{
    return s->run != GDB_HALTED;
}

#endif
