/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files that make up a GDB session. */
#ifndef PROTOCOL_GDB_INTERNAL_H
#define PROTOCOL_GDB_INTERNAL_H

#include "protocol/rsp/gdb_args.h"
#include "protocol/session/gdb_session.h"

/* Values of gdb_session.motion besides core indices. */
#define GDB_MOTION_ALL     (-1)
#define GDB_MOTION_GENERAL (-2) /* Hc0: the general thread at the time of the resume */

enum gdb_match {
    GDB_EXACT,  /* the name only; anything longer is another packet */
    GDB_BARE,   /* the name only; anything longer is malformed */
    GDB_PREFIX, /* arguments follow the name */
};

/*
 * One packet. run() returns BT_OK when s->reply (empty on entry) holds the answer, TARGET_PENDING
 * when nothing is to be answered now, or an error that is answered by its number.
 */
struct gdb_command {
    const char *name;
    enum gdb_match match;
    bool while_running;
    int (*run)(struct gdb_session *s, struct gdb_args *a);
};

/* One table a file, ended by a NULL name. */
extern const struct gdb_command gdb_data_commands[];
extern const struct gdb_command gdb_run_commands[];
extern const struct gdb_command gdb_query_commands[];
extern const struct gdb_command gdb_xfer_commands[];

/* gdb_session.c */

/* What all sessions begin with. Returns as gdb_session_init(). */
int gdb_session_begin(struct gdb_session *s, const struct gdb_target *target, void *target_ctx,
                      int cores, gdb_send_fn send, void *send_ctx);

/*
 * Finds the packet in the tables, runs it and sends the answer. BT_OK, TARGET_PENDING (answered
 * later), or GDB_PASS_ON: nothing was answered, the packet is another server's.
 */
int gdb_session_answer(struct gdb_session *s, const char *payload, size_t len);

/* gdb_reply.c: most make the answer, in s->reply, and return BT_OK, for the end of a handler. */
static inline int gdb_reply(struct gdb_session *s, const char *text)
{
    text_buf_clear(&s->reply);
    text_buf_puts(&s->reply, text);
    return BT_OK;
}
/* "E." and the text, without characters that would be escaped. */
void gdb_reply_error(struct gdb_session *s, const char *text);
/* "OK", or "E." and the explanation for a negative `error`. */
int gdb_reply_result(struct gdb_session *s, int error, const struct target_error *why);
/* GDB shows no more than the number: that of errno where there is one. */
int gdb_reply_number(struct gdb_session *s, int error);
/* The stop reply, and what follows from it for the choice of threads. */
void gdb_reply_stop(struct gdb_session *s, const struct target_stop *stop);

/* Sends s->reply and empties it. */
void gdb_reply_send(struct gdb_session *s);
/* O packets for text of any length. */
void gdb_send_console(struct gdb_session *s, const char *text);

/* Core of a thread ID from the wire; thread 0 is the thread of the last stop. */
bool gdb_core_of_thread(const struct gdb_session *s, int thread, int *core);
static inline int gdb_thread_of_core(int core)
{
    return core + 1;
}

/* Registers of the core beyond those of enum target_reg; 0 if there are none. */
unsigned gdb_extra_registers(const struct gdb_session *s, int core,
                             const struct target_register **list);

/* What the target reports of a core, with defaults where it says nothing. */
struct target_core gdb_core_info(const struct gdb_session *s, int core);

/*
 * gdb_query.c: a whole qRcmd packet. BT_OK: answered; BT_ERR_UNSUPPORTED: the target knows no such
 * command, nothing was sent.
 */
int gdb_monitor_packet(struct gdb_session *s, const char *payload, size_t len);
/*
 * The reply to qSupported, made of that of the other side and what we add. Packets of at most
 * `limit` bytes are announced.
 */
void gdb_features_merge(struct text_buf *out, const char *reply, size_t len, size_t limit,
                        bool btrace, bool reverse);

/* gdb_data.c: an H packet for motions, without an answer. */
void gdb_note_motion(struct gdb_session *s, const char *payload, size_t len);

/* A new resume makes the frozen text worthless. Documents of btrace have megabytes. */
static inline void gdb_document_forget(struct gdb_session *s)
{
    s->document.object = NULL;
    text_buf_release(&s->document.text);
}

static inline bool gdb_has_btrace(const struct gdb_target *t)
{
    return t->btrace_enable;
}

#endif
