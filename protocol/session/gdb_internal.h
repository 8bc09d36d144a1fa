/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files that make up a GDB session; not for use outside of protocol/. */
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
 * One packet. run() returns BT_OK when s->reply (empty on entry) holds the answer, GDB_PENDING
 * when nothing is to be answered now, or an error that is answered by its number.
 */
struct gdb_command {
    const char *name;
    enum gdb_match match;
    bool while_running;
    int (*run)(struct gdb_session *s, struct gdb_args *a);
};

/* One table a file, ended by a NULL name. */
extern const struct gdb_command gdb_register_commands[];
extern const struct gdb_command gdb_data_commands[];
extern const struct gdb_command gdb_flash_commands[];
extern const struct gdb_command gdb_run_commands[];
extern const struct gdb_command gdb_query_commands[];
extern const struct gdb_command gdb_xfer_commands[];
extern const struct gdb_command gdb_btrace_commands[];

/* Both make the answer and return BT_OK, for the end of a handler. */
int gdb_reply(struct gdb_session *s, const char *text);
/* "OK", or "E." and the explanation for a negative `rc`. */
int gdb_reply_result(struct gdb_session *s, int rc, const struct gdb_why *why);

/*
 * Finds the packet in the tables, runs it and sends the answer. BT_OK, GDB_PENDING (answered
 * later), or GDB_PASS_ON: nothing was answered, the packet is another server's.
 */
int gdb_session_answer(struct gdb_session *s, const char *payload, size_t len);

/* Sends s->reply and empties it. */
void gdb_reply_send(struct gdb_session *s);

/* Core of a thread ID from the wire; thread 0 is the thread of the last stop. */
bool gdb_core_of_thread(const struct gdb_session *s, int thread, int *core);
int gdb_thread_of_core(int core);
/* "thread:ID;" of a stop reply. */
void gdb_add_stop_thread(struct gdb_session *s, int core);

/* Registers of the core beyond those of enum gdb_reg; 0 if there are none. */
unsigned gdb_extra_registers(const struct gdb_session *s, int core,
                             const struct gdb_register **list);

/* What the target says of a core, with defaults where it says nothing. */
struct gdb_core gdb_core_info(const struct gdb_session *s, int core);

/* Makes the stop reply and what follows from it for the choice of threads. */
void gdb_reply_stop(struct gdb_session *s, const struct gdb_stop *stop);

/* Answers of operations that stop at once, later, or not at all. */
int gdb_reply_resumed(struct gdb_session *s, int rc, const struct gdb_stop *stop,
                      const struct gdb_why *why);

/* O packets for text of any length. */
void gdb_send_console(struct gdb_session *s, const char *text);

/*
 * gdb_query.c: a whole qRcmd packet. BT_OK: answered; BT_ERR_UNSUPPORTED: the target knows no such
 * command, nothing was sent.
 */
int gdb_monitor_packet(struct gdb_session *s, const char *payload, size_t len);

/* gdb_data.c: an H packet for motions, without an answer. */
void gdb_note_motion(struct gdb_session *s, const char *payload, size_t len);

/* gdb_xfer.c */
struct gdb_document *gdb_document_new(void);
void gdb_document_free(struct gdb_document *d);
/* A new resume makes the frozen text worthless. */
void gdb_document_forget(struct gdb_document *d);

/* gdb_btrace.c */
bool gdb_has_btrace(const struct gdb_target *t);
/* Builders of the two documents: BT_OK or the error that makes the annex fail. */
int gdb_btrace_document(struct gdb_session *s, int annex, struct text_buf *out);
int gdb_btrace_conf_document(struct gdb_session *s, int annex, struct text_buf *out);

#endif
