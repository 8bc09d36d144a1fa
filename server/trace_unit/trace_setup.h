/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The trace units and the sink of a target, found and programmed as the board file says, through
 * any bus that reaches their registers: the probe's own MEM-AP, or another GDB server's memory
 * packets. Registers: see coresight_trace.h.
 *
 * The order: trace_setup_discover() tells what there is and completes the configuration, so that
 * decoders can be made; trace_setup_program() before the cores run, again after each reset;
 * trace_setup_collect() at each halt and trace_setup_rearm() before they run again.
 * Calls wait for their end and belong to one thread.
 */
#ifndef SERVER_TRACE_SETUP_H
#define SERVER_TRACE_SETUP_H

#include "drivers/coresight/coresight_etm4.h"
#include "drivers/coresight/coresight_itm.h"
#include "drivers/coresight/coresight_trace.h"
#include "drivers/probe/trace_stream.h"
#include "server/config/config.h"

#define TRACE_SETUP_FUNNELS 8

/* Trace ID of a Cortex-M's ITM while words of it push the last trace out of the port at a halt,
 * where the program does not use it itself. No trace unit of ours has it. */
#define TRACE_SETUP_PUSH_ID 0x6eu

struct trace_setup_core {
    uint64_t unit;            /* base of its trace unit; 0: none */
    enum coresight_kind kind; /* CORESIGHT_ETM, _PTM, _ETM4, _MTB or _OTHER */
    bool traced;
    union {
        struct {
            struct coresight_etm_options options;
            struct coresight_etm_state state; /* as last read */
        } etm;                                /* ETMv3 and PTM */
        struct {
            struct coresight_etm4_options options;
            struct coresight_etm4_state state;
        } etm4; /* ETMv4 and ETE */
    };
    /* Of the state, for all kinds alike. */
    uint32_t control;    /* ETMCR or TRCCONFIGR while it runs */
    uint8_t trace_id;    /* 1..0x6f */
    uint32_t sync_bytes; /* between synchronisations; 0: not known */
    size_t bytes;        /* of its trace in what was collected last */
    bool scarce; /* so few that they may hold no synchronisation, and what came before is lost */
};

/* Lines for people, each with its newline: what was found, what contradicts the board file, why
 * there is no history. The one who shows them empties it: used = 0. */
struct trace_notes {
    char text[4096];
    size_t used;
};

struct trace_setup {
    struct coresight_bus *bus;
    struct config *config;
    bool m_profile;
    struct trace_setup_core cores[CONFIG_MAX_CORES]; /* as in the configuration */
    uint64_t sink;  /* base of ETB, TMC, MTB or TPIU; 0: not there, so nothing is programmed */
    bool full_tpiu; /* the sink is a TPIU of the system, not the small one of a Cortex-M */
    uint64_t tpiu;  /* the other leg of a replicator: stopped, so that it holds nothing up */
    uint64_t funnels[TRACE_SETUP_FUNNELS];
    unsigned funnel_count;
    uint64_t replicator;
    struct coresight_buffer buffer; /* of an ETB, TMC or MTB; words is its size */
    uint32_t *words;                /* private */
    bool history;                   /* at least one core, or an ITM, is traced into the sink */
    struct {
        bool wanted; /* by the board file, and there is one */
        struct coresight_itm_options options;
        struct coresight_itm_state state;
        int8_t watch[CORESIGHT_ITM_WATCHES]; /* of the board file, by place in the options */
        bool told;                           /* which comparators it has */
    } itm;
    bool programmed;
    enum {
        TRACE_SETUP_FIRST, /* nothing was collected yet */
        TRACE_SETUP_ON,
        TRACE_SETUP_ANEW, /* an MTB was started since: nothing leads on from what it had */
    } collected;
    /* By command: of all cores. */
    struct coresight_etm4_range filter[CORESIGHT_ETM4_RANGES];
    unsigned filter_count;
    struct trace_notes notes;
};

/*
 * Find the components and read what they are. `rom` is the ROM table that the AP names, 0 if that
 * is not known: then [coresight] rom, and on a Cortex-M the table of the architecture. Addresses in
 * the board file go before those that are found. Nothing is stopped or started; on a Cortex-M the
 * trace enable bit (DEMCR.TRCENA) is set, without which there is nothing to read.
 *
 * For each core that can be traced the trace unit's identification goes into
 * config->cores[].source_device, with what ETMCR, ETMTRACEIDR and ETMSYNCFR, or TRCCONFIGR,
 * TRCTRACEIDR and TRCSYNCPR, will be once it is programmed, or with config->attach are now. What
 * the board file says otherwise is noted, the hardware wins. A core that cannot be traced loses its
 * source (has_source) with a line that says why, and t->history is false if that leaves none: run
 * control goes on without.
 *
 * Returns 0, BT_ERR_NOMEM, or BT_ERR_IO if the bus itself is dead (bus->failure; *why is filled).
 * Release in all cases.
 */
int trace_setup_discover(struct trace_setup *t, struct coresight_bus *bus, struct config *config,
                         uint64_t rom, struct message *why);
void trace_setup_release(struct trace_setup *t);

/*
 * Program and start everything: sink, replicator, funnels, trace units. Nothing is done without
 * t->history. After it t->programmed is set, and it may be called again (after a reset it must).
 * Returns 0, or an error as coresight.h says with *why filled: then nothing traces, and the history
 * has a hole until it succeeds.
 */
int trace_setup_program(struct trace_setup *t, struct message *why);

/* Do all trace units run as they were programmed? A reset of the chip, by whatever command or
 * button, ends that. */
bool trace_setup_runs(const struct trace_setup *t);

/*
 * "include START-END" or "exclude START-END" adds a range of addresses that is traced, or is not;
 * "include none", "exclude none" and "none" take them away. It holds from the next
 * trace_setup_program() on: t->programmed is false. *why is an answer for people in all cases.
 * Returns 0, BT_ERR_INVAL (not such a text), BT_ERR_RANGE (more than the trace units have
 * comparators for), BT_ERR_UNSUPPORTED (a trace unit that cannot do that, or none).
 */
int trace_setup_filter(struct trace_setup *t, const char *text, struct message *why);

/* Is it such a text, whatever the trace units can do? */
bool trace_setup_filter_is_good(const char *text);

/*
 * "itm PORTS", "dwt EVENTS" or "watch VARIABLES", values as those keys of [trace], or none: what
 * the ITM tells from the next trace_setup_program() on; t->programmed is false. *why is an answer
 * for people in all cases. 0, BT_ERR_INVAL (not such a text), BT_ERR_RANGE (a variable that cannot
 * be watched; the others are), BT_ERR_UNSUPPORTED (no ITM is part of the trace).
 */
int trace_setup_set_itm(struct trace_setup *t, const char *text, struct message *why);

/* Stop the trace units; their FIFOs are empty behind this. All are tried; 0, or the first error
 * with *why filled. */
int trace_setup_stop(struct trace_setup *t, struct message *why);

/*
 * At a halt: flush and stop the ETB or TMC, read it or the MTB out and hand all of it to `sink`,
 * the oldest bytes first. If it has wrapped, sink->lost with BT_GAP_OVERWRITTEN goes before the
 * first byte. Also for a capture that was begun by another tool or by the target's own program.
 * With SWO and TPIU the last, unfinished frame of a Cortex-M is pushed out of the port instead, for
 * what captures it; nothing is handed to `sink`. Returns 0 or an error as coresight.h says, with
 * *why filled; then sink->lost with BT_GAP_LOST_BYTES has been called.
 */
int trace_setup_collect(struct trace_setup *t, const struct trace_sink *sink, struct message *why);

/* Before the cores run again after a collect: the buffer is empty and captures. As above. */
int trace_setup_rearm(struct trace_setup *t, struct message *why);

/*
 * The init sequence, [setup] of a board file, on a bus of ours: register writes for clocks and pins
 * that some chips need before their debug and trace registers answer. Behind another GDB server
 * live_setup() does it. trace_setup_init_write(): one register write, or a read-modify-write;
 * returns as coresight.h says. trace_setup_init_try(): the whole sequence, in order; writes that
 * fail are ignored, as the sequence runs again, with warnings, when GDB connects.
 */
int trace_setup_init_write(struct coresight_bus *bus, const struct config_setup *line);
void trace_setup_init_try(struct coresight_bus *bus, const struct config *config);

/* "ETB, 4096 bytes at 0xe0043000": returns `text`. */
const char *trace_setup_describe_sink(const struct trace_setup *t, char *text, size_t size);

#endif
