/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One QEMU with the virtual board's plugin as trace unit, started in a private folder, and the
 * three sockets to it: GDB's remote protocol for run control, the plugin's control socket for all
 * else, and the trace. One thread; a full trace socket stops QEMU,
 * so every wait here reads it. */
#ifndef TESTS_USB_QEMU_LINK_H
#define TESTS_USB_QEMU_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "drivers/virtual/encoder/trace_bytes.h"

#define QEMU_LINK_TEXT    1280  /* a command or its reply */
#define QEMU_LINK_ID      0x10  /* of the first core's records on the trace socket */
#define QEMU_LINK_SOURCES 2     /* of trace: trace units, or one and the ITM */
#define QEMU_LINK_WAIT_MS 10000 /* of a QEMU that does not answer at all */

struct qemu_link_options {
    const char *machine; /* of QEMU */
    unsigned a_cores;    /* cores of the A profile; 0: one of the M profile */
    bool etmv3;          /* A profile: their trace units, else PTMs */
    const char *elf;
    const char *plugin; /* virtual-board.so */
    const char *truth;  /* file for what really ran, or NULL */
    bool itm;           /* M profile, a second source: PC samples and exceptions */
    uint32_t etmv4;     /* M profile: TRCDEVARCH of its trace unit; 0: an ETMv3 */
    bool mtb;           /* M profile: its trace unit is an MTB */
};

/* Private, but for the buffers of trace, which the user empties. */
struct qemu_link {
    char folder[64];
    pid_t pid;
    int gdb, control, trace;
    bool dead; /* QEMU has gone or does not answer: everything fails from now on */
    struct trace_bytes records;
    uint64_t received; /* on the trace socket */
    struct trace_bytes source[QEMU_LINK_SOURCES];
    uint8_t gdb_bytes[4096];
    size_t gdb_size;
};

/* Starts the machine, which waits before its first instruction. 0, or -1 with `message`. */
int qemu_link_start(struct qemu_link *l, const struct qemu_link_options *o, char *message,
                    size_t size);

/* Waits for QEMU to end if it was told to, else ends it, and removes the folder; also after a start
 * that failed. */
void qemu_link_stop(struct qemu_link *l);

/*
 * A command of the control socket. 0 with what follows "ok BYTES" in `answer` (of QEMU_LINK_TEXT
 * bytes, or NULL); all trace that was written before has been read then. -1: "error", with the
 * reason in `answer`, or dead.
 */
int qemu_link_command(struct qemu_link *l, char *answer, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sends a packet to the gdbstub, or the interrupt character if `body` is NULL. */
int qemu_link_packet(struct qemu_link *l, const char *body);

/* Next packet of the gdbstub, within `ms`. 1, 0 none yet, -1 dead. */
int qemu_link_reply(struct qemu_link *l, char *body, size_t size, int ms);

/* Reads what trace is there, into the buffers. */
void qemu_link_read_trace(struct qemu_link *l);

#endif
