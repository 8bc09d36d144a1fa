/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by gdb_proxy*.c; nobody else includes it. */
#ifndef PROTOCOL_GDB_PROXY_INTERNAL_H
#define PROTOCOL_GDB_PROXY_INTERNAL_H

#include "gdb_internal.h"
#include "gdb_proxy.h"
#include "protocol/remote/gdb_remote_internal.h"

enum proxy_wait {
    PROXY_IDLE,
    PROXY_REPLY,
    PROXY_FEATURES, /* qSupported */
    PROXY_EXTENDED, /* `!` */
    PROXY_STATE,    /* a stop reply that comes at once, as of `?` */
    PROXY_DATA,     /* registers, memory: GDB takes no text there, but a number */
    PROXY_REVERSE,  /* the same of a core that is at a replay position */
};

struct gdb_proxy {
    struct gdb_session *session;
    struct gdb_remote *remote; /* NULL: another client has it */
    enum proxy_wait wait;      /* apart from the stop reply, which session->running tells of */
    struct gdb_thread general;
    struct text_buf backlog; /* packets that wait, each behind its length */
    bool draining;
    bool passed;                /* the resume under way is the other side's */
    char reverse_kind;          /* g, p or m: what PROXY_DATA or PROXY_REVERSE is the answer to */
    uint64_t reverse_at;        /* number of the register, or address */
    bool observes;              /* looks on; then it is an observer of `remote`, not its client */
    bool outdated;              /* in control, but has not seen the last halt yet */
    bool first_wait;            /* for a stop reply as the answer to `?` */
    uint64_t seen;              /* u->epoch of the halt that the client was told of last */
    char *shown[GDB_CORES_MAX]; /* registers of the halt that it was told of last; NULL: not read */
    struct gdb_remote_observer observer;
    char greeting[400]; /* told as soon as the client takes text; "": nothing */
};

/* How the other side's events come. */
extern const struct gdb_remote_client gdb_proxy_client;

/* The payload to the client. */
void gdb_proxy_send(struct gdb_proxy *p, const char *payload, size_t len);

/* A stop reply to the client, which knows from then on where the cores are. */
void gdb_proxy_show_stop(struct gdb_proxy *p, const char *reply, size_t len);
/* Hg, without an answer. */
void gdb_proxy_select(struct gdb_proxy *p, const struct gdb_packet *packet);

/* gdb_proxy_observe.c: false when the packet was answered, or is not to be passed on. */
bool gdb_proxy_observe(struct gdb_proxy *p, const char *payload, size_t len);
/* False when Ctrl-C is to halt the cores. */
bool gdb_proxy_observe_interrupt(struct gdb_proxy *p);
/* A reply to g, of the general core. */
void gdb_proxy_note_shown(struct gdb_proxy *p, const char *reply, size_t len);
void gdb_proxy_forget_shown(struct gdb_proxy *p);
/* Where text is taken: what is to be told. */
void gdb_proxy_report_news(struct gdb_proxy *p);

/* gdb_proxy_reverse.c: what becomes of a packet. */
enum proxy_reverse {
    PROXY_REVERSE_NOT,      /* not about a replay position: as any other */
    PROXY_REVERSE_ANSWERED, /* here, or will be */
    PROXY_REVERSE_PATCHED,  /* to be passed on; the answer goes through gdb_proxy_reverse_reply() */
};
/* The packet may be answered here, without the other side. */
bool gdb_proxy_reverse_wants(const struct gdb_proxy *p, const char *payload, size_t len);
enum proxy_reverse gdb_proxy_reverse(struct gdb_proxy *p, const char *payload, size_t len);
void gdb_proxy_reverse_reply(struct gdb_proxy *p, const char *reply, size_t len);

#endif
