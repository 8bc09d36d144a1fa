/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared by gdb_proxy.c, which passes packets on, and gdb_proxy_observe.c below it, which knows
 * what the client has seen.
 */
#ifndef PROTOCOL_GDB_PROXY_H
#define PROTOCOL_GDB_PROXY_H

#include "gdb_internal.h"
#include "protocol/remote/gdb_remote_client.h"

#define GDB_PROXY_GONE "E.the target's GDB server closed the connection"

enum proxy_wait {
    PROXY_IDLE,
    PROXY_REPLY,
    PROXY_FEATURES, /* qSupported */
    PROXY_EXTENDED, /* `!` */
    PROXY_STATE,    /* a stop reply that comes at once, as of `?` */
    PROXY_DATA,     /* registers, memory: GDB takes no text there, but a number */
    PROXY_REVERSE,  /* the same of a core that is at a replay position */
};

/*
 * CONTROLS    it is the client of `remote`
 * CATCHES_UP  the same, but it has not seen the last halt yet
 * OBSERVES    it looks on: an observer of `remote`
 *
 * OBSERVES to CONTROLS or CATCHES_UP: it is given control; the other way round: it gives it away.
 * CATCHES_UP to CONTROLS: it is told of a stop, or what it saw last is true again or lost.
 */
enum proxy_role {
    PROXY_CONTROLS,
    PROXY_CATCHES_UP,
    PROXY_OBSERVES,
};

struct gdb_proxy {
    struct gdb_session *session;
    struct gdb_remote *remote; /* NULL: another client has it */
    enum proxy_role role;
    enum proxy_wait wait; /* apart from the stop reply, which session->running is about */
    struct gdb_thread general;
    struct text_buf backlog; /* packets that wait, each behind its length */
    bool draining;
    bool passed;         /* the resume under way is the other side's */
    char reverse_kind;   /* g, p or m: what PROXY_DATA or PROXY_REVERSE is the answer to */
    uint64_t reverse_at; /* number of the register, or address */
    uint64_t seen;       /* u->epoch of the halt that the client was told of last */
    char *shown[TARGET_CORES_MAX]; /* registers of the halt that it was told of last; NULL: not read
                                    */
    struct gdb_remote_observer observer;
    char greeting[400]; /* printed as soon as the client takes text; "": nothing */
};

/* The payload to the client. */
static inline void gdb_proxy_send(struct gdb_proxy *p, const char *payload, size_t len)
{
    if (rsp_send(&p->session->sender, payload, len) < 0)
        p->session->state = GDB_SESSION_FAILED;
}

static inline void gdb_proxy_send_text(struct gdb_proxy *p, const char *text)
{
    gdb_proxy_send(p, text, strlen(text));
}

/* The whole packet is this text. */
static inline bool gdb_proxy_is(const char *payload, size_t len, const char *text)
{
    return len == strlen(text) && memcmp(payload, text, len) == 0;
}

static inline bool gdb_proxy_is_back(const char *payload, size_t len)
{
    return gdb_proxy_is(payload, len, "bs") || gdb_proxy_is(payload, len, "bc");
}

/* gdb_proxy_observe.c */

/*
 * GDB takes the thread of a stop reply for the selected one, without an Hg. The client knows from
 * now on where the cores are.
 */
void gdb_proxy_note_stop(struct gdb_proxy *p, const char *reply, size_t len);
/* A stop reply to the client: the same, and it is sent. */
void gdb_proxy_show_stop(struct gdb_proxy *p, const char *reply, size_t len);
/* Hg, without an answer. Hg0 means the thread of the last stop. */
void gdb_proxy_select(struct gdb_proxy *p, const struct gdb_packet *packet);
/* False when the packet was answered, or is not to be passed on. */
bool gdb_proxy_observe(struct gdb_proxy *p, const char *payload, size_t len);
/* False when Ctrl-C is to halt the cores. */
bool gdb_proxy_observe_interrupt(struct gdb_proxy *p);
/* A reply to g, of the general core. */
void gdb_proxy_note_shown(struct gdb_proxy *p, const char *reply, size_t len);
void gdb_proxy_forget_shown(struct gdb_proxy *p);
/* Where text is taken: what is to be reported. */
void gdb_proxy_report_news(struct gdb_proxy *p);
/* The packet may be answered here, for a replay position, without the other side. */
bool gdb_proxy_reverse_wants(const struct gdb_proxy *p, const char *payload, size_t len);

#endif
