/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which trace stream the board file means, and what trace_link.h has to know of it: a stream
 * socket, a serial device, a capture unit on USB. A new one is a trace_stream and a line in
 * trace_input_make().
 */
#ifndef SERVER_TRACE_INPUT_H
#define SERVER_TRACE_INPUT_H

#include "drivers/probe/trace_stream.h"
#include "server/config/config.h"

struct orbflow_frames;

struct trace_input {
    struct trace_stream stream;     /* its start may be tried again after it has failed or ended */
    struct orbflow_frames *orbflow; /* NULL: its bytes are what the decoder wants */
    bool required;                  /* it must be there from the start */
    bool whole_frames;              /* bytes come cut anywhere, and are aligned frames */
    char absent[320];               /* what is said before it was started for the first time */
    const char *gone;               /* ... and when it has ended */
    unsigned retry_ms;              /* between two tries to start it */
    unsigned delay_ms;              /* trace may wait so long on its way when no more follows */
};

/*
 * What the board file's [trace] and [capture] name; `config` must outlive it. 0, or a bt_error with
 * *why filled: a socket to listen on that cannot be had, memory.
 * Nothing else is opened yet. */
int trace_input_make(const struct config *config, struct trace_input *in, struct message *why);

/* The stream is stopped. Also after a make that failed. */
void trace_input_release(struct trace_input *in);

#endif
