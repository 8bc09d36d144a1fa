/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programming of trace components: buffers, ports, funnels, trace units. DDI 0314H, DDI 0461B,
 * DDI 0486B chapter 3, DDI 0403E.e C1.10, IHI 0014Q chapter 3, IHI 0035B chapter 3. Addresses are
 * bases of components; results as in coresight.h.
 *
 * Order: buffer or port, funnel, trace unit; the reverse to stop.
 */
#ifndef DRIVERS_CORESIGHT_TRACE_H
#define DRIVERS_CORESIGHT_TRACE_H

#include "drivers/coresight/coresight.h"

/* ETB, TMC and MTB as a circular buffer. */

/* Who writes a ring tells where he is, and whether he came too late. */
struct coresight_ring {
    uint64_t position; /* register: the address that is written next */
    uint64_t overflow; /* register whose `overflow_bits` are set once trace was lost; 0: none */
    uint32_t overflow_bits; /* they are cleared by writing ones */
};

struct coresight_buffer {
    struct coresight_bus *bus;
    uint64_t base;
    bool tmc;
    bool mtb;              /* trace unit and buffer in one: what it captures are its packets */
    uint32_t words;        /* size of its RAM */
    unsigned memory_words; /* reads must come in multiples of this; 1 for an ETB */
    bool etr;              /* a TMC that stores in the system's memory ... */
    uint64_t store;        /* ... from here on; also of an MTB or a ring */
    bool ring;             /* memory that something else fills with what a TPIU at `base` sends */
    uint32_t from;         /* word of a ring that came first since it was started */
    struct coresight_ring tell;
};

#define CORESIGHT_BUFFER_MAX_WORDS (1u << 24) /* a component that tells more lies */

/* Identify it. BT_ERR_UNSUPPORTED: a TMC that stores in system memory (ETR). BT_ERR_FORMAT: it
 * tells a size of 0 or beyond the limit. */
int coresight_buffer_init(struct coresight_buffer *b, struct coresight_bus *bus, uint64_t base,
                          bool tmc);

/*
 * A TMC that stores in the system's memory: `bytes` at `store`, both multiples of 16, that nobody
 * else uses and that the bus reaches, too. BT_ERR_UNSUPPORTED: it is none of this kind.
 */
int coresight_buffer_init_etr(struct coresight_buffer *b, struct coresight_bus *bus, uint64_t base,
                              uint64_t store, uint64_t bytes);

/*
 * An MTB and `bytes` at `store` of the RAM that it writes to, which nobody else uses: a power of
 * two from 16 on, at a multiple of that. BT_ERR_RANGE: its RAM is elsewhere.
 */
int coresight_buffer_init_mtb(struct coresight_buffer *b, struct coresight_bus *bus, uint64_t base,
                              uint64_t store, uint64_t bytes);

/*
 * `bytes` of memory at `store`, both multiples of 16, in which a DMA or something like it writes in
 * turn the frames that a TPIU at `base` sends to a port of 32 bits: it has been set up, and runs
 * on.
 */
int coresight_buffer_init_ring(struct coresight_buffer *b, struct coresight_bus *bus, uint64_t base,
                               uint64_t store, uint64_t bytes, const struct coresight_ring *tell);

/* A TMC between sources and port (ETF) lets all through: hardware FIFO. */
int coresight_etf_pass(struct coresight_bus *bus, uint64_t base);

/* Empty it and begin to capture, formatting on, overwriting the oldest. An MTB that captures into
 * this buffer goes on without a break. BT_ERR_RANGE: an MTB has no room for so many bytes. */
int coresight_buffer_start(struct coresight_buffer *b);

/* Flush and stop. What was captured stays. Also for a capture that somebody else began. An MTB is
 * not stopped: of a halted core it writes nothing. */
int coresight_buffer_stop(struct coresight_buffer *b);

/* Of an MTB: no packets any more; does it write them into this buffer? */
int coresight_mtb_stop(struct coresight_buffer *b);
bool coresight_mtb_runs(const struct coresight_buffer *b);

struct coresight_buffer_content {
    size_t words; /* read */
    bool wrapped; /* the oldest were overwritten: tell a loss before the first word */
    bool unclean; /* the capture was not stopped at the end of a frame: the last one is damaged */
    bool overflowed; /* of a ring: words are missing somewhere, so that nothing can be read */
};

/*
 * Read what was captured, oldest first, after a stop. `words` has room for b->words. An ETB may
 * be read again, a TMC forgets. Bytes of a word are little-endian.
 */
int coresight_buffer_read(struct coresight_buffer *b, uint32_t *words,
                          struct coresight_buffer_content *content);

/* Funnel and ports. */

int coresight_funnel_enable(struct coresight_bus *bus, uint64_t base, unsigned port);

/* A TPIU whose port of 32 bits goes into memory: frames without syncs; and flush and stop, behind
 * which all of it is on its way. */
int coresight_tpiu_ring(struct coresight_bus *bus, uint64_t base);
int coresight_tpiu_ring_stop(struct coresight_bus *bus, uint64_t base);

/* A replicator that can filter lets all trace IDs through to its output 0 or 1, and none to the
 * other one; to both of them with any other `port`. */
int coresight_replicator_pass(struct coresight_bus *bus, uint64_t base, unsigned port);

/* Parallel port of 1, 2, 4, 8, 16 bits, formatter in continuous mode. BT_ERR_UNSUPPORTED: the
 * port cannot be so wide. `m_profile`: the TPIU of a Cortex-M, without stop and flush. */
int coresight_tpiu_parallel(struct coresight_bus *bus, uint64_t base, bool m_profile,
                            unsigned width);

/* SWO of a Cortex-M TPIU: NRZ; `divider` is of the trace clock, from 1. With
 * `formatter` also ETM data come through; otherwise ITM bytes without frames. */
int coresight_tpiu_swo(struct coresight_bus *bus, uint64_t base, uint32_t divider, bool formatter);

/* A full TPIU that runs asks all sources and FIFOs before it for what they hold. */
int coresight_tpiu_flush(struct coresight_bus *bus, uint64_t base);

/* Stop and flush a full TPIU, so that it does not hold up what shares its bus. */
int coresight_tpiu_stop(struct coresight_bus *bus, uint64_t base);

/* What trace units and formatter still hold goes out on the pins of a full TPIU, in whole frames,
 * and it goes on then: for a halt of all cores. Trace that comes meanwhile is lost. */
int coresight_tpiu_drain(struct coresight_bus *bus, uint64_t base);

/* ETMv3 and PTM. */

struct coresight_etm_options {
    bool ptm;
    bool m_profile;        /* ETM of a Cortex-M3 or M4: no comparators of its own */
    uint8_t trace_id;      /* 1..0x6f */
    bool branch_broadcast; /* the target of every branch */
    bool cycle_accurate;   /* not on Cortex-M */
    bool timestamps;
    bool return_stack; /* PTM; not with branch_broadcast */
    unsigned context_id_bytes;
    uint8_t stall_level; /* stop the core when the FIFO has fewer bytes free; 0: never */
    uint32_t sync_bytes; /* between synchronisations; 0: 1024 */
};

/* What a decoder must know, as read back. */
struct coresight_etm_state {
    uint32_t control;          /* ETMCR while it runs */
    uint32_t config;           /* ETMCCR */
    uint32_t config_extension; /* ETMCCER */
    uint32_t id;               /* ETMIDR */
    uint32_t trace_id;
    uint32_t sync; /* ETMSYNCFR */
};

/* Its identification (config, config_extension, id) and what it is set to now; nothing is changed
 * but its lock. BT_ERR_UNSUPPORTED: no ETMv3 or PTM. */
int coresight_etm_read(struct coresight_bus *bus, uint64_t base, struct coresight_etm_state *state);

/* As coresight_etm_start(), but the unit stays stopped: what it accepts is in *state. */
int coresight_etm_program(struct coresight_bus *bus, uint64_t base,
                          const struct coresight_etm_options *options,
                          struct coresight_etm_state *state);

/*
 * Trace everything the core does. Options that this trace unit does not have read back as 0 in
 * state->control and are no error.
 * BT_ERR_INVAL (options that exclude each other, trace ID out of range), BT_ERR_UNSUPPORTED (no
 * ETMv3 or PTM there, or its port mode does not fit).
 */
int coresight_etm_start(struct coresight_bus *bus, uint64_t base,
                        const struct coresight_etm_options *options,
                        struct coresight_etm_state *state);

/* Stop; its FIFO is empty behind this. */
int coresight_etm_stop(struct coresight_bus *bus, uint64_t base);

#endif
