/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trace side of an ORBTrace mini (as its gateware does it): samples the port as it was told,
 * and has bytes for the trace endpoint, in transfers that end early when something has waited for
 * long.
 *
 * The probe's memory is small; what counts is how much the host waits for. When both are full, what
 * comes is lost: whole frames by protocol 0x01, which counts them; by ORBFLOW bytes anywhere, or
 * whole packets, its documentation does not say which.
 */
#ifndef TESTS_USB_ORBTRACE_CAPTURE_H
#define TESTS_USB_ORBTRACE_CAPTURE_H

#include "orbflow_sender.h"
#include "port_sampler.h"
#include "trace_feed.h"

#define ORBTRACE_BUFFER 8192u   /* the probe's own */
#define ORBTRACE_ALIVE  100000u /* microseconds between two keep-alive units or flushes */
#define ORBTRACE_PACKET 512u

enum orbtrace_protocol {
    ORBTRACE_FRAMES = 0x01, /* gateware before 1.4 */
    ORBTRACE_FLOW = 0x10,   /* ORBFLOW 1.0 */
};

enum orbtrace_format {
    ORBTRACE_OFF = 0x00,
    ORBTRACE_PARALLEL_1 = 0x01,
    ORBTRACE_PARALLEL_2 = 0x02,
    ORBTRACE_PARALLEL_4 = 0x03,
    ORBTRACE_MANCHESTER_ITM = 0x10,
    ORBTRACE_MANCHESTER_TPIU = 0x11,
    ORBTRACE_NRZ_ITM = 0x12,
    ORBTRACE_NRZ_TPIU = 0x13,
};

/* All zero: memory without limit, and the first choice where that is not certain. */
struct orbtrace_options {
    size_t buffer;   /* bytes that fit beside the transfers that wait; 0: all, nothing is lost */
    bool whole;      /* ORBFLOW loses whole packets, else bytes */
    bool itm_frames; /* protocol 0x01 puts ITM bytes into frames of ID 1, else they are bare */
    bool pending;    /* bytes 1 to 4 of a keep-alive unit are not zero */
};

struct orbtrace_counters {
    unsigned long captured;   /* bytes of the port */
    unsigned long wrong;      /* of these, in another form than the one that was asked for */
    unsigned long lost;       /* bytes for the host that found no room */
    unsigned long overruns;   /* times that this began */
    uint32_t frames;          /* that were sent by protocol 0x01 */
    uint16_t lost_frames;     /* as the keep-alive units say */
    unsigned long keep_alive; /* units */
    unsigned long flushes;
};

/* Options, counters, format, baud and protocol are public. */
struct orbtrace_capture {
    struct orbtrace_options options;
    struct orbtrace_counters counters;
    enum orbtrace_protocol protocol;
    uint8_t format;
    uint32_t baud;
    struct trace_feed *feed;
    unsigned *drop; /* fault: so many bytes are lost; or NULL */
    struct port_sampler sampler;
    struct orbflow_sender flow;
    uint8_t id; /* of the frames */
    unsigned holes;
    bool overrun;
    struct trace_bytes wire; /* for the host */
    size_t first;            /* of it that has not gone */
    size_t limit;            /* what it may hold now */
    uint64_t now, alive;
    size_t flush; /* a transfer ends in front of this byte */
    bool flushing;
};

/* `feed` must outlive it, and may be NULL. */
void orbtrace_capture_init(struct orbtrace_capture *c, const struct orbtrace_options *options,
                           enum orbtrace_protocol protocol, struct trace_feed *feed);
void orbtrace_capture_release(struct orbtrace_capture *c);

/* As plugged in anew at `now`; counters stay. */
void orbtrace_capture_reset(struct orbtrace_capture *c, uint64_t now);

/* 0, or -1 for a format that does not exist. What was sampled and not sent stays. */
int orbtrace_set_format(struct orbtrace_capture *c, uint64_t now, unsigned format);
void orbtrace_set_protocol(struct orbtrace_capture *c, enum orbtrace_protocol protocol);

/* Samples what was sent until `now`, microseconds, while the host waited for `queued` bytes. */
void orbtrace_run(struct orbtrace_capture *c, uint64_t now, size_t queued);

/* An IN transfer of `size` bytes: true with *actual when it is full, or ends early. */
bool orbtrace_take(struct orbtrace_capture *c, uint8_t *bytes, size_t size, size_t *actual);

#endif
