/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CMSIS-DAP probe wired to a Cortex-M board, or to another target, all of it modelled: core,
 * CoreSight system, AHB-AP, SWJ-DP and firmware, in one object.
 */
#ifndef TESTS_USB_PROBE_BOARD_H
#define TESTS_USB_PROBE_BOARD_H

#include <pthread.h>
#include <stdio.h>

#include "cmsis_dap_model.h"
#include "core_sim.h"
#include "coresight_model.h"

/* What a trace port sends at present. All zero: nothing that a capture unit could be told of. */
struct probe_port {
    unsigned width;  /* of the parallel port in bits; 0: it is SWO, or there is none */
    bool manchester; /* SWO, else NRZ */
    uint64_t baud;   /* of NRZ, bits a second */
    unsigned holes;  /* places where bytes are missing that found no room on the pins */
};

/* Another system than the Cortex-M's behind the debug port; functions may be NULL but for run(). */
struct probe_system {
    void *ctx;
    unsigned ap_count;
    struct ap_model_options ap[DAP_APS];
    struct model_bus bus[DAP_APS];
    void (*nreset)(void *ctx, bool low); /* its reset line has changed */
    void (*run)(void *ctx);              /* trace flows, cores stop, while no client looks */
    int (*fault)(void *ctx, const char *name, size_t size, unsigned value); /* -1: unknown */
    void (*report)(void *ctx, FILE *out); /* counters, one "name value" a line */
    /* A parallel trace port: as trace_pins_take(). */
    size_t (*pins)(void *ctx, uint8_t *bytes, size_t size);
    void (*port)(void *ctx, struct probe_port *port);
};

/* How a probe hands on SWO. */
enum probe_swo {
    PROBE_SWO_STREAMED, /* or polled, as the client wants */
    PROBE_SWO_POLLED,
    PROBE_SWO_NONE,
};

/* Zero: a v2 probe of 512-byte packets, four of them, on a DPv1 without faults. */
struct probe_board_options {
    unsigned packet_size;
    unsigned packet_count;
    enum probe_swo swo;
    struct cmsis_dap_quirks quirks;
    bool timed;             /* see struct cmsis_dap_options */
    const char *chain;      /* on JTAG, as for tap_chain_parse(); NULL: the DAP alone */
    bool dpv2;              /* DPIDR of version 2, starts dormant */
    bool jtag;              /* the wire starts as JTAG, DPIDR of a JTAG-DP part */
    bool registers_at_once; /* see coresight_model.registers_at_once */
    bool wrap_1k;           /* TAR wraps at 1 KiB, not at 4 as on a Cortex-M4 */
    bool no_etb;
    bool parallel;                     /* the parallel trace port is wired */
    bool swo_quiet;                    /* see coresight_model.swo_quiet */
    uint32_t cpuid;                    /* 0: of the core */
    bool etm4;                         /* the trace unit is an ETMv4 by its identification */
    enum cs_kind kind;                 /* the system around the core */
    unsigned etm_pairs;                /* address comparators of an ETMv4, see etm4_options */
    bool tmc;                          /* instead of the ETB */
    bool mtb;                          /* instead of the trace unit and the ETB */
    bool ring;                         /* trace goes into memory, instead of the ETB */
    uint64_t ring_loses;               /* see ring_model.lose_after */
    bool resets_trace;                 /* see coresight_model.resets_trace */
    unsigned etb_words;                /* 0: CS_ETB_WORDS */
    const struct core_model *core;     /* NULL: the built-in core */
    const struct probe_system *target; /* NULL: the Cortex-M's system around that core */
};

/* The parts are public: tests reach into them. */
struct probe_board {
    struct core_sim sim;
    struct coresight_model system;
    struct ap_model ap;
    struct probe_system target; /* and its APs; ap_count 0: not there */
    struct ap_model target_ap[DAP_APS];
    struct dap_model dap;
    struct cmsis_dap_model probe;
    bool held; /* nRESET is low */
    /* For test benches with several threads: held by the one that uses anything of the board. */
    pthread_mutex_t lock;
};

/* 0, or -1 for options out of range or a bad chain. Release what init took, also after unplugging.
 */
int probe_board_init(struct probe_board *b, const struct probe_board_options *options);
void probe_board_release(struct probe_board *b);

/* The reset line of the target: it restarts when the line is let go. */
void probe_board_nreset(struct probe_board *b, bool low);

/* The target's power, the probe's stays. -1: this target has no switch for it. */
int probe_board_power(struct probe_board *b, bool on);

/* What happens on the board by itself. */
void probe_board_run(struct probe_board *b);

/* SWO bytes that the board has sent, up to `size`; how many. */
size_t probe_board_swo(struct probe_board *b, uint8_t *bytes, size_t size);

/* What whichever port is selected sends, SWO or parallel; and what has left on its pins. */
struct probe_port probe_board_port(const struct probe_board *b);
size_t probe_board_pins(struct probe_board *b, uint8_t *bytes, size_t size);

/*
 * Faults from text, comma separated: wait=N, fault=N, parity=N, noack=N, skip=N, overrun=N,
 * pause=N, trace=N (queues N bytes of trace: 0, 1, 2 ...), those of the trace unit and those of the
 * target. 0, or -1 for a name or number that does not parse.
 */
int probe_board_faults(struct probe_board *b, const char *text);

/* All counters, one "name value" a line: what the client did, and what it did wrong. */
void probe_board_report(const struct probe_board *b, FILE *out);

#endif
