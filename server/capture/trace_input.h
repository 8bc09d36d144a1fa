/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where live trace comes from, as trace_link.h drives it: a stream socket, a serial device, a
 * capture unit on USB. A new one is a set of these operations and a line in
 * trace_input_make().
 *
 * open, wait_fd, read and close are called by one thread at a time, first by the one that starts
 * the link, then by the link's own.
 */
#ifndef SERVER_TRACE_INPUT_H
#define SERVER_TRACE_INPUT_H

#include "drivers/probe/trace_stream.h"
#include "server/config/config.h"

struct trace_input_sink {
    struct trace_sink trace;
    /* So many bytes have come, of which `trace` has been told before. */
    void (*arrived)(void *user, size_t bytes);
};

struct trace_input_ops {
    /* Returns soon. `sink` is called from within open, read and close, and must outlive the latter.
     * 0, or a bt_error with *why filled: worth another try later. */
    int (*open)(void *self, const struct trace_input_sink *sink, struct message *why);
    /* What to wait for until there is something to open or to read; -1: nothing can be waited for,
     * and read waits itself. */
    int (*wait_fd)(void *self);
    /* Takes what there is; waits for a few ms at most. 0, or a bt_error: it is gone. */
    int (*read)(void *self);
    void (*close)(void *self);
    /* What is open, in words. */
    void (*describe)(void *self, char *text, size_t size);
    void (*release)(void *self);
};

struct trace_input {
    const struct trace_input_ops *ops;
    void *self;
    bool required;     /* it must be there from the start */
    bool whole_frames; /* bytes come cut anywhere, and are aligned frames */
    char absent[320];  /* what is said before it was opened for the first time */
    const char *gone;  /* ... and when it has ended */
    unsigned retry_ms; /* between two tries to open it */
    unsigned delay_ms; /* trace may wait so long on its way when no more follows */
};

/*
 * What the board file's [trace] and [capture] name; `config` must outlive it. 0, or a bt_error with
 * *why filled: a socket to listen on that cannot be had, memory.
 * Nothing else is opened yet. */
int trace_input_make(const struct config *config, struct trace_input *in, struct message *why);

#endif
