/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a packet that is passed on to another server does there: how it is answered, and what has
 * changed once it was answered well. Not for use outside of protocol/.
 */
#ifndef PROTOCOL_GDB_PACKET_H
#define PROTOCOL_GDB_PACKET_H

#include "drivers/target/target.h"
#include "protocol/rsp/gdb_args.h"

/* Announced as PacketSize: bytes of one packet's payload. */
#define GDB_PACKET_SIZE 0x4000

enum gdb_packet_answer {
    GDB_ANSWER_ONE,    /* one reply */
    GDB_ANSWER_OUTPUT, /* one reply, console output may come before it */
    GDB_ANSWER_STOP,   /* cores run; a stop reply when they halt */
    GDB_ANSWER_NONE,
};

struct gdb_packet {
    enum gdb_packet_answer answer;
    /* What it does: TARGET_PACKET when that is not known, and for what has no effect. Points into
     * the payload; `thread` is left out. */
    struct target_request request;
    bool selects; /* Hg: `thread` is the general one */
    struct gdb_thread thread;
};

/* Packets that it does not know have one reply. */
struct gdb_packet gdb_packet_read(const char *payload, size_t len);

/* Of a text for `monitor` it is known that it changes nothing at those servers that boards are used
 * with. */
bool gdb_packet_only_shows(const char *command);

/* The reply reports that the packet was done. */
bool gdb_packet_succeeded(const struct gdb_packet *p, const char *reply, size_t len);

/* "O" and an even number of hex digits: text for the console. OpenOCD sends no digits at all, so
 * that its client does not lose patience. */
bool gdb_packet_is_output(const char *payload, size_t len);

/*
 * A packet that is not what its name says, which servers take in different ways: a write to memory
 * with too little data, too much or no digits; a choice of a thread that is none; one that begins
 * as D, k, bs or bc. To be answered with an error instead of being passed on.
 */
bool gdb_packet_is_broken(const char *payload, size_t len);

/* "TYPE,ADDRESS,KIND" of Z and z, off the front of `a`. False when it is malformed. */
bool gdb_packet_take_breakpoint(struct gdb_args *a, struct target_breakpoint *bp);

static inline bool gdb_packet_starts(const char *payload, size_t len, const char *start)
{
    return gdb_args_text(&(struct gdb_args){payload, payload + len}, start);
}
/* Words with a space in between. */
bool gdb_packet_starts_any(const char *payload, size_t len, const char *words);

static inline bool gdb_packet_is(const char *payload, size_t len, const char *text)
{
    return len == strlen(text) && memcmp(payload, text, len) == 0;
}

#endif
