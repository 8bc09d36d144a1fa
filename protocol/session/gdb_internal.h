/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files that make up a GDB session. */
#ifndef PROTOCOL_GDB_INTERNAL_H
#define PROTOCOL_GDB_INTERNAL_H

#include "gdb_allow.h"
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
 * One packet. run(), as every function here that returns an outcome: BT_OK when s->reply (empty on
 * entry) holds the answer, TARGET_PENDING when nothing is to be answered now, an error that is
 * answered by its number, or GDB_PASS_ON: the packet is another server's, or another function's.
 */
struct gdb_command {
    const char *name;
    enum gdb_match match;
    bool while_running;
    int (*run)(struct gdb_session *s, struct gdb_args *a);
};

/* The last letter of the name, which is off the arguments. */
static inline char gdb_args_name(const struct gdb_args *a)
{
    return a->at[-1];
}

/* One table a file, ended by a NULL name. */
extern const struct gdb_command gdb_data_commands[];
extern const struct gdb_command gdb_run_commands[];
extern const struct gdb_command gdb_query_commands[];
extern const struct gdb_command gdb_thread_commands[];
extern const struct gdb_command gdb_xfer_commands[];

/*
 * Calls go one way, upwards in this list: tasks, threads, reply, client, allow; data, run, query,
 * xfer; packets; task packets, pass; observe; session.
 */

/* gdb_threads.c */

/* 1 .. TARGET_CORES_MAX. */
static inline int gdb_cores(const struct gdb_session *s)
{
    return target_cores(s->target);
}

static inline int gdb_thread_of_core(int core)
{
    return core + 1;
}

/* Core of a thread ID from the wire; thread 0 is the thread of the last stop. */
bool gdb_core_of_thread(const struct gdb_session *s, int thread, int *core);
/* The thread of the core is the general one from now on. */
void gdb_choose_core(struct gdb_session *s, int core);
/* Hg with packets, where 0 means the thread of the last stop. */
void gdb_choose_thread(struct gdb_session *s, const struct gdb_thread *thread);
/* GDB takes the thread of a stop reply for the selected one, without an Hg. */
void gdb_choose_stopped(struct gdb_session *s, const char *reply, size_t len);
/* "thread:1;", the general one, if it is known. */
void gdb_add_thread(const struct gdb_session *s, struct text_buf *out);
/* An Hc packet, without an answer. */
void gdb_note_motion(struct gdb_session *s, const char *payload, size_t len);

/* What the target reports of a core, with defaults where it says nothing. */
struct target_core gdb_core_info(const struct gdb_session *s, int core);
/* In words, of the host, else of the target; "": nothing is known. */
#define GDB_STATUS_SIZE 256
void gdb_core_status(const struct gdb_session *s, int core, char text[GDB_STATUS_SIZE]);

/* gdb_tasks.c */

/* The cores are as this client knows them, and here. */
bool gdb_tasks_may_be_shown(const struct gdb_session *s);
/* Of a packet, behind its name, "p1.3e9" as well; -1: it is none of a task. */
int gdb_task_thread(const char *payload, size_t len, size_t name);
/* Tasks of this halt; false: none are to be shown, or not yet. */
bool gdb_tasks_now(const struct gdb_session *s, struct gdb_tasks *out);
/* The host begins to look for them for the sake of this packet. */
bool gdb_tasks_wait(const struct gdb_session *s, const char *payload, size_t len);
/* The task of this thread; NULL: it is none. */
const struct gdb_task *gdb_task_of(const struct gdb_session *s, int thread);
/* Behind the state of the core in words: what it runs. */
void gdb_tasks_core(const struct gdb_session *s, int core, char *text, size_t size);

/* gdb_task_packets.c */

/* Packets that are about tasks, or about no task any more; GDB_PASS_ON: it goes the ordinary way.
 */
int gdb_task_packet(struct gdb_session *s, const char *payload, size_t len);

/* gdb_reply.c: most make the answer, in s->reply, and return BT_OK, for the end of a handler. */

#define GDB_TOO_MUCH "E.too much is under way"
#define GDB_NO_RUN                                                                                 \
    "E.you look on: only the client in control runs the target, see 'monitor clients'"

static inline int gdb_reply(struct gdb_session *s, const char *text)
{
    text_buf_clear(&s->reply);
    text_buf_puts(&s->reply, text);
    return BT_OK;
}
/* "E." and the text, without characters that would be escaped. */
int gdb_reply_error(struct gdb_session *s, const char *text);
/* "OK", or "E." and the explanation for a negative `error`; `why` may be "". */
int gdb_reply_result(struct gdb_session *s, int error, const char *why);
/* The same for an answer of the target. */
int gdb_reply_done(struct gdb_session *s, const struct target_answer *a);
/* GDB shows no more than the number: that of errno where there is one. */
int gdb_reply_number(struct gdb_session *s, int error);
/* The stop reply, and what follows from it for the choice of threads. */
void gdb_reply_stop(struct gdb_session *s, const struct target_stop *stop);
/* The stop reply of a motion that was not possible, for LLDB: as if history began here, with the
 * reason. */
void gdb_reply_stuck(struct gdb_session *s, const char *why);
/* The stop reply of a halt of the target: the client knows from now on where the cores are. */
int gdb_reply_halt(struct gdb_session *s, const struct target_halt *halt);
/* The reply to whatever needs the target when it is gone, or not there yet; NULL: it is ready. */
const char *gdb_gone(const struct gdb_session *s);
int gdb_reply_gone(struct gdb_session *s, const char *payload);

/* Sends s->reply and empties it. */
void gdb_reply_send(struct gdb_session *s);
/* The same, if the outcome of a handler is an answer. */
void gdb_reply_finish(struct gdb_session *s, int outcome);
/* O packets for text of any length. */
void gdb_send_console(struct gdb_session *s, const char *text, size_t len);
/* The same, for text of ours: without control characters in what it quotes. */
void gdb_print(struct gdb_session *s, const char *text);
/* Where text is taken: what is to be reported. */
void gdb_report_news(struct gdb_session *s);

/* The client was told of a halt. */
void gdb_note_halt(struct gdb_session *s);
/* A good reply to g, of the general core. */
void gdb_note_shown(struct gdb_session *s, const char *reply, size_t len);
void gdb_forget_shown(struct gdb_session *s);
/* Is the core at a replay position? -1: any core. */
bool gdb_is_replaying(const struct gdb_session *s, int core);

/* gdb_client.c */

extern const struct target_client_ops gdb_client_ops;
/* About the general core. */
static inline struct target_request gdb_request(const struct gdb_session *s,
                                                enum target_request_kind kind)
{
    return (struct target_request){.kind = kind, .core = s->general};
}
/*
 * Asks the target; `answer` makes the reply, maybe from within. The outcome is the handler's.
 * r->core and what `answer` needs of s->asked are set.
 */
int gdb_ask(struct gdb_session *s, const struct target_request *r, gdb_answer_fn answer);
/* What was asked gets no answer any more: an error is the reply. */
void gdb_answer_lost(struct gdb_session *s);

/* gdb_data.c: all registers of the core as a g packet has them, of the layout that the target
 * reports. */
void gdb_add_registers(const struct gdb_session *s, int core, const struct target_regs *regs,
                       struct text_buf *out);

/* gdb_run.c */

/* What is owed is a stop reply; a new resume makes the frozen text worthless. */
void gdb_start_running(struct gdb_session *s, enum gdb_run run);
/* A TARGET_RESUME. */
int gdb_run_cores(struct gdb_session *s, const struct target_request *r);

/* gdb_query.c: the reply to qSupported, made of that of the other side and what we add. */
int gdb_merge_features(struct gdb_session *s, const char *reply, size_t len);

/* gdb_xfer.c: documents of btrace have megabytes. */
static inline void gdb_document_forget(struct gdb_session *s)
{
    s->document.object = NULL;
    text_buf_release(&s->document.text);
}

static inline bool gdb_has_btrace(const struct gdb_session *s)
{
    return s->host->btrace_enable;
}

/* gdb_packets.c */

/* Finds the packet in the tables and runs it; unknown ones have an empty answer. */
int gdb_run_packet(struct gdb_session *s, const char *payload, size_t len);
bool gdb_is_btrace(const struct gdb_session *s, const char *payload, size_t len);
/* The packet is answered from the replay position, or may be. */
bool gdb_reverse_wants(const struct gdb_session *s, const char *payload, size_t len);

static inline bool gdb_packet_is_back(const char *payload, size_t len)
{
    return gdb_packet_is(payload, len, "bs") || gdb_packet_is(payload, len, "bc");
}

/* gdb_pass.c: targets that take packets as they are. */

/* The packet when nothing runs, and when something does. */
int gdb_pass(struct gdb_session *s, const char *payload, size_t len);
int gdb_pass_while_running(struct gdb_session *s, const char *payload, size_t len);
/* Answers to one that looks on while cores run: what another client was told, or as of a server
 * that knows less. */
int gdb_pass_known(struct gdb_session *s, const char *payload, size_t len);
int gdb_pass_known_features(struct gdb_session *s);

#endif
