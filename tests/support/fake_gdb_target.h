/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A target of a few bytes with its history, and the wire to a GDB session on it, for tests of
 * protocol/. All operations are present and write what they were asked into `log`; a test takes
 * some away, or sets what they return.
 */
#ifndef TESTS_SUPPORT_FAKE_GDB_TARGET_H
#define TESTS_SUPPORT_FAKE_GDB_TARGET_H

#include "protocol/rsp/text_buf.h"
#include "protocol/session/gdb_session.h"

#define FAKE_CORES  3
#define FAKE_EXTRA  3
#define FAKE_MEMORY 0x20000000u
#define FAKE_SIZE   0x3000u

struct fake_target {
    struct target target; /* first */
    struct target_ops ops;
    struct gdb_host host;
    enum target_profile profile;
    bool big_endian;
    struct target_regs regs[FAKE_CORES];
    unsigned extra_count; /* at first 0, of the three that there are: 32, 8 and 64 bits */
    const struct target_register *registers; /* NULL: the customary ones */
    unsigned register_count;
    uint8_t memory[FAKE_SIZE];
    const struct target_region *regions;
    unsigned region_count;

    /* What operations that may fail return, with this explanation. TARGET_PENDING: resumes and
     * motions go on, and TARGET_STATUS is not answered. */
    int result;
    const char *why;
    struct target_stop stop;          /* of resume, reverse, and of TARGET_STATUS */
    struct gdb_session *stop_session; /* told the stop of a motion from within the operation */
    bool no_breakpoints;
    bool no_flash;
    bool replaying; /* every core is at a replay position */
    size_t told;    /* bytes that reverse_memory() knows, all of them 0xaa */

    bool recording[FAKE_CORES];
    uint32_t btrace_size;
    const struct gdb_btrace_block *blocks; /* of btrace_read, newest first */
    size_t block_count;

    struct text_buf log;
};

/* Two A-profile cores, halted; register i of core c is 0x100 * c + i; memory byte i is i & 0xff. */
void fake_target_init(struct fake_target *t);
void fake_target_release(struct fake_target *t);
/* Cores that run halt; a TARGET_STATUS that waits is answered. */
void fake_target_stop(struct fake_target *t, const struct target_stop *stop);

struct fake_wire {
    struct fake_target target;
    struct gdb_session session;
    struct text_buf sent;    /* bytes on the wire, not yet looked at */
    struct text_buf replies; /* of the last fake_ask() */
    bool no_ack;
};

void fake_wire_init(struct fake_wire *w);
/* A session in control. Both end the program on failure. */
void fake_wire_open(struct fake_wire *w);
/* Another wire, one that looks on the target of `other`. */
void fake_wire_observe(struct fake_wire *w, struct fake_wire *other, const char *greeting);
void fake_wire_release(struct fake_wire *w);

/*
 * Sends one packet as GDB does, acknowledges what comes back, and returns the payloads with
 * escapes undone, joined by '|'; "(none)" when there was no frame.
 * Valid until the next call. */
const char *fake_ask(struct fake_wire *w, const char *payload);
const char *fake_ask_bytes(struct fake_wire *w, const void *payload, size_t len);

/* What came without a question (stop replies), as fake_ask() returns it. */
const char *fake_replies(struct fake_wire *w);

/* The log since the last call; valid until the next one. */
const char *fake_log(struct fake_wire *w);

#endif
