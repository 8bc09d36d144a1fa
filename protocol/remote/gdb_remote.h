/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A remote target: another GDB server controls the core and accesses its memory (OpenOCD, pyOCD,
 * QEMU, a J-Link). This is its client, a kind of struct target: packets of our own clients are sent
 * on as they are, and typed requests are written as packets.
 *
 * No sockets, no clock, no threads: the event loop hands in what arrived and takes what is to be
 * sent. Callbacks may call any function here but gdb_remote_input() and gdb_remote_free().
 *
 * Threads of the other side are cores here, in the order in which it lists them at the start.
 */
#ifndef PROTOCOL_GDB_REMOTE_H
#define PROTOCOL_GDB_REMOTE_H

#include "drivers/target/target.h"
#include "protocol/rsp/gdb_packet.h"
#include "protocol/rsp/rsp.h"

struct gdb_remote;
struct gdb_known; /* private */

/* Takes all the bytes; may call gdb_remote_disconnected() and nothing else here. */
typedef void (*gdb_remote_send_fn)(void *ctx, const void *bytes, size_t len);

/* The answer to the packet that was sent last. */
typedef void (*gdb_remote_got_fn)(struct gdb_remote *r, const char *reply, size_t len);

/* Others may read threads, stopped and packet_size while it is ready. */
struct gdb_remote {
    struct target target; /* first */
    struct gdb_thread threads[TARGET_CORES_MAX];
    struct gdb_thread stopped; /* of the last stop reply */
    size_t packet_size;        /* of the longest packet that may be sent */

    struct gdb_link link;
    gdb_remote_got_fn got;                /* NULL: no answer is owed */
    const struct target_request *request; /* under way */
    const struct target_request *resumed; /* by which the cores run */
    struct gdb_thread selected;           /* at the other side */
    int listings;                         /* replies to the question for threads so far */
    bool can_vcont;
    bool has_description;
    bool only_g; /* its p does not work: registers are taken from g */
    bool is_qemu;
    bool resumes_anew; /* behind the stop that a file's answer asks for */

    struct target_register *registers; /* of the description; NULL: the customary ones */
    unsigned register_count;
    struct text_buf description; /* with what it includes: has the names of registers */
    struct text_buf document;    /* the one under way */
    int document_count;
    char annex[64];

    struct target_regs regs; /* that are being read */
    unsigned entry;          /* in the list of registers: the one that is */
    struct text_buf bytes;   /* memory that has been read */
    size_t done, end, take;  /* of an access to memory: done, may still succeed, asked for */

    struct gdb_known *known; /* what the other side reports of itself */
};

/* `events` must outlive it. BT_OK or BT_ERR_NOMEM. */
int gdb_remote_new(const struct target_events *events, void *ctx, gdb_remote_send_fn send,
                   void *send_ctx, struct gdb_remote **out);
void gdb_remote_free(struct gdb_remote *r);

/* The remote target that this is; `t` has packets. */
static inline struct gdb_remote *gdb_remote_of(struct target *t)
{
    return (struct gdb_remote *)t;
}

/* A connection is there: asks who is at the other end; ready() follows. Also after lost(). */
void gdb_remote_connected(struct gdb_remote *r);
void gdb_remote_disconnected(struct gdb_remote *r);
void gdb_remote_input(struct gdb_remote *r, const void *bytes, size_t len);

/* -1: none of them, as a thread of an operating system. */
int gdb_remote_core_of(const struct gdb_remote *r, const struct gdb_thread *thread);

/*
 * What the other side answered when a client asked before, of what stays the same: "qSupported"
 * (without features), documents, vCont?, qAttached, qOffsets. NULL: nothing. Valid until the next
 * packet comes in.
 */
const char *gdb_remote_known(const struct gdb_remote *r, const char *payload, size_t len,
                             size_t *reply_len);

/* The answer to a file request of the program (serves_client). BT_OK or BT_ERR_INVAL. */
int gdb_remote_answer_file(struct gdb_remote *r, const char *payload, size_t len);

#endif
