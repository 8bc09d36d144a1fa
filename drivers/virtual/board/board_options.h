/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments of the virtual board, given to QEMU as -plugin virtual-board.so,NAME=VALUE,... */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_OPTIONS_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "board_filter.h"

enum board_protocol {
    BOARD_PROTOCOL_PTM,
    BOARD_PROTOCOL_ETMV3,
    BOARD_PROTOCOL_ETMV4,
    BOARD_PROTOCOL_MTB, /* M profile: its packets, as a source without frames */
};

enum board_profile {
    BOARD_PROFILE_A,
    BOARD_PROFILE_M,
    BOARD_PROFILE_A64, /* v8-A, in AArch64 state */
};

enum board_format {
    BOARD_FORMAT_TPIU,   /* frames with full syncs: a trace port in continuous mode */
    BOARD_FORMAT_FRAMES, /* memory aligned frames */
    BOARD_FORMAT_ETB,    /* memory aligned frames, kept in a ring that is output when flushed */
    BOARD_FORMAT_RAW,    /* bytes of the one source, no formatter */
    BOARD_FORMAT_TAGGED, /* no formatter: trace ID, count, that many bytes; and so on */
};

/* Texts point into the argument list, which QEMU keeps. NULL: not asked for. */
struct board_options {
    const char *out;     /* file:PATH, unix:PATH or tcp:HOST:PORT; file:PATH may be a FIFO */
    const char *control; /* unix:PATH */
    const char *truth;   /* file:PATH */
    unsigned format;     /* enum board_format */
    size_t etb;          /* bytes, a multiple of 16 */
    unsigned full_sync;  /* frames between full syncs (FSCR); 0: one at the start only */
    unsigned half_sync;  /* chance in percent of a half sync in front of a byte pair */
    bool idle;           /* sync words behind each flush, as from a port without data */
    uint64_t rate;       /* bytes a second of the port; 0: as fast as the reader takes them */
    bool drop;         /* a full port makes the trace unit overflow instead of stopping the core */
    size_t fifo;       /* bytes between trace unit and port when `drop` is set */
    bool debug;        /* a stopped machine is a core in Debug state, and traced so */
    bool start;        /* trace from the first instruction on */
    unsigned protocol; /* enum board_protocol */
    unsigned profile;  /* enum board_profile: what cores the machine has */
    struct board_filter filter;
    uint32_t etmcr; /* data values and data-only mode cannot be had */
    uint32_t etmidr;
    uint32_t etmccer;
    uint32_t etmsyncfr;
    uint32_t trcconfigr; /* those of an ETMv4 or ETE: no data trace, no Q elements */
    uint32_t trcidr0;
    uint32_t trcidr2;
    uint32_t trcidr8; /* P0 elements that are told before they are certain */
    uint32_t trcdevarch;
    uint32_t trcccctlr;
    uint32_t trcsyncpr;    /* 2^N bytes; 0: never */
    uint32_t trace_id;     /* of the first core; one more for each other */
    unsigned return_stack; /* PTM, ETMv4: entries */
    bool blx_packets;      /* ETMv3: a direct branch to the other instruction set has a packet */
    unsigned irregular;    /* chance in percent of what implementations may do as they like: longer
                              packets, late ones, Ignore; 0: the shortest trace. Not of a PTM */
    unsigned itm;          /* trace ID of a second source, see board_itm.h; 0: none */
    struct board_ranges watch; /* data: each range is that of a comparator of its DWT */
    unsigned itm_period;       /* instructions between two of its PC samples */
};

/* What argument `protocol` calls it. */
const char *board_options_protocol(const struct board_options *o);

/*
 * Parses `count` texts "NAME=VALUE". Returns 0, or -1 with the reason in `message`, a line of at
 * most `size` bytes.
 */
int board_options_parse(struct board_options *o, int count, char **arguments, char *message,
                        size_t size);

#endif
