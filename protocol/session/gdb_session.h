/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One GDB connection: bytes in, bytes out, operations of the target in between. No sockets, no
 * clock, no threads: the event loop calls gdb_session_input() with what arrived and the session
 * calls back with what is to be sent.
 *
 * Every packet is answered: unknown ones with an empty reply, known ones with malformed
 * arguments with an error. Resuming packets are answered at once
 * or by gdb_session_stopped().
 */
#ifndef PROTOCOL_GDB_SESSION_H
#define PROTOCOL_GDB_SESSION_H

#include "protocol/rsp/gdb_packet.h"
#include "protocol/rsp/rsp.h"
#include "protocol/rsp/text_buf.h"
#include "protocol/target/gdb_target.h"

/* Takes all `len` bytes (the caller queues what its socket does not take). */
typedef void (*gdb_send_fn)(void *send_ctx, const void *bytes, size_t len);

/* What the server does with the connection next. */
enum gdb_session_state {
    GDB_SESSION_OPEN,
    GDB_SESSION_DETACHED, /* `D`: GDB closes the connection, or attaches again (extended) */
    GDB_SESSION_KILLED,   /* `k`, `vKill`: close the connection unless gdb_session_extended() */
    GDB_SESSION_FAILED,   /* out of memory, or the peer refuses every frame: close */
};

struct gdb_proxy;  /* private, gdb_proxy.h */
struct gdb_remote; /* gdb_remote.h */

/* Who answers the packets that the target does not. */
struct gdb_proxy_ops {
    /* A packet of the client, acknowledged already. */
    void (*packet)(struct gdb_proxy *p, const char *payload, size_t len);
    void (*interrupt)(struct gdb_proxy *p); /* the interrupt byte */
    void (*free)(struct gdb_proxy *p);
    /* Core of a thread by its number, as the other side counts threads; and the other way round,
     * as a stop reply has it. That thread is the general one from now on. */
    bool (*core_of)(const struct gdb_proxy *p, int thread, int *core);
    void (*add_thread)(struct gdb_proxy *p, int core, struct text_buf *out);
};

/* The text of the last qXfer that was read at offset 0. */
struct gdb_document {
    const struct xfer_object *object; /* NULL: nothing is frozen */
    int annex;
    int core;
    bool delivered;
    struct text_buf text;
};

/* Members are private to protocol/; use the functions. */
struct gdb_session {
    const struct gdb_target *target;
    void *target_ctx;
    gdb_send_fn send;
    void *send_ctx;
    struct rsp_receiver receiver;
    struct rsp_sender sender;
    struct text_buf reply;        /* payload under construction */
    struct gdb_document document; /* frozen */
    struct gdb_proxy *proxy;      /* NULL: the target answers everything */
    const struct gdb_proxy_ops *proxy_ops;
    enum gdb_session_state state;
    int core_count;
    int general;   /* Hg: core index */
    int stopped;   /* core of the last stop reply: what thread 0 means */
    int motion;    /* Hc: core index, or one of GDB_MOTION_* */
    bool running;  /* a stop reply is owed */
    bool extended; /* `!` was seen */
    bool threads_listed;
    bool client_swbreak; /* GDB understands these stop reasons */
    bool client_hwbreak;
    size_t packet_size; /* at most GDB_PACKET_SIZE */
    char refusal[160];  /* "": it is served */
    unsigned refused;   /* packets that were answered with it */
};

/*
 * `target`, its ctx and `send_ctx` must outlive the session. BT_OK, BT_ERR_NOMEM, or
 * BT_ERR_INVAL when the target lacks core_count, core_info, halt_reason, read_regs or
 * read_memory, has an impossible number of cores, or has only some of the btrace, the breakpoint,
 * the flash or the further-register operations. Nothing to release after an error. The session must
 * not be moved or copied afterwards.
 */
int gdb_session_init(struct gdb_session *s, const struct gdb_target *target, void *target_ctx,
                     gdb_send_fn send, void *send_ctx);

/*
 * A session whose packets are passed on to another GDB server and answered by it. Ours are branch
 * trace, acknowledgements, `monitor` as far as the target knows the command, detach and kill:
 *
 * - `D` removes the client's breakpoints and lets the cores run; `k` and `vKill` remove them and
 *   leave the cores halted. The connection to the other server stays.
 * - gdb_session_release() in the place of either removes the breakpoints at the next halt and
 *   leaves the cores as they are.
 * - A client that comes while cores run halts them with its first question.
 *
 * `target` needs nothing but the branch trace operations, all or none; core_count, core_info and
 * monitor are optional, the others are never called but for detach and kill (optional, too). The
 * stop of a resume comes from gdb_remote_release_stop(): gdb_session_stopped() and
 * gdb_session_resume_failed() are not for such a session.
 *
 * `u` has one session at a time: one that it had before gets errors from now on. It must outlive
 * the session, or be freed before the session has input again.
 * Otherwise as gdb_session_init().
 */
int gdb_session_init_remote(struct gdb_session *s, const struct gdb_target *target,
                            void *target_ctx, struct gdb_remote *u, gdb_send_fn send,
                            void *send_ctx);

/*
 * One that looks on beside the session that has `u`, which is not disturbed: it reads registers,
 * memory and history while the cores are halted, has its own branch trace and its own replay
 * position, and gets an error for whatever would change something or run the cores. While they run,
 * and when they have run since it was told of a halt, reads are errors, too; `c` and its like wait
 * for the next halt, or report the one that it has not seen. `greeting`, a line or more with '\n',
 * is printed when GDB takes text; "" if not wanted. Otherwise as gdb_session_init_remote(). One
 * that comes while the cores run is shown a halt of which nothing is known.
 */
int gdb_session_init_observer(struct gdb_session *s, const struct gdb_target *target,
                              void *target_ctx, struct gdb_remote *u, const char *greeting,
                              gdb_send_fn send, void *send_ctx);
bool gdb_session_observes(const struct gdb_session *s);

/*
 * A session that looks on has `u` from now on, as if it had been made by
 * gdb_session_init_remote(); the one before gets errors. GDB is told by text as soon as it takes
 * some. Nothing happens for other sessions.
 */
void gdb_session_take_control(struct gdb_session *s);
/* The other way round: a session of gdb_session_init_remote() looks on. Its breakpoints go. */
void gdb_session_give_control(struct gdb_session *s);

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

/* Sends nothing and reports nothing to the target: a lost connection is the server's to judge. */
void gdb_session_release(struct gdb_session *s);

/* Bytes from the wire, in any pieces. Must not be called from within a target operation. */
void gdb_session_input(struct gdb_session *s, const void *bytes, size_t len);

/*
 * The target halted after TARGET_PENDING. May be called at any later time, also from interrupt(),
 * and from within the operation that returns TARGET_PENDING.
 * Ignored when nothing is pending.
 */
void gdb_session_stopped(struct gdb_session *s, const struct target_stop *stop);

/* The resume that is pending failed: GDB prints `text` and shows the target as stopped. */
void gdb_session_resume_failed(struct gdb_session *s, const char *text);

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

/* A stop reply is owed: the target runs as far as GDB knows. */
static inline bool gdb_session_running(const struct gdb_session *s)
{
    return s->running;
}

#endif
