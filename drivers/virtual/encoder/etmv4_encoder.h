/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of an ETMv4 or ETE: executed instructions and events in, bytes of the instruction trace
 * stream out (IHI 0064H.b; ETE: DDI 0487L.a chapters D4 and D5).
 *
 * Events are given in program order. Every function that takes the encoder returns 0 or
 * BT_ERR_NOMEM (output buffer), others as stated. Nothing depends on anything but the options,
 * the seed and the events.
 *
 * Where the architecture leaves a choice to the trace unit (address forms, empty sections, when
 * to put out what it holds back, what it speculates), the seed and the chances below decide.
 * Not modelled: data trace and loads or stores as P0 elements, conditional tracing, Q elements,
 * transactions, branch future.
 */
#ifndef DRIVERS_VIRTUAL_ETMV4_ENCODER_H
#define DRIVERS_VIRTUAL_ETMV4_ENCODER_H

#include "btrace/types.h"
#include "drivers/virtual/encoder/trace_bytes.h"

/* TRCCONFIGR, TRCIDR0, TRCIDR2 as far as they change the stream (IHI 0064H.b chapter 7). */
#define ETMV4_CONFIG_BROADCAST    (1u << 3)
#define ETMV4_CONFIG_CYCLES       (1u << 4)
#define ETMV4_CONFIG_CONTEXT_ID   (1u << 6)
#define ETMV4_CONFIG_VMID         (1u << 7)
#define ETMV4_CONFIG_TIMESTAMP    (1u << 11)
#define ETMV4_CONFIG_RETURN_STACK (1u << 12)
#define ETMV4_IDR0_CYCLES         (1u << 7)
#define ETMV4_IDR0_MARKERS        (1u << 23)
#define ETMV4_IDR0_COMMOPT        (1u << 29)
#define ETMV4_IDR2_WAIT_P0        (1u << 31)

#define ETMV4_MODEL_STACK_MAX 16

/* Start from etmv4_encoder_default_options(). */
struct etmv4_encoder_options {
    uint32_t configr;
    uint32_t devarch; /* ETMv4 or ETE, and its minor version */
    uint32_t idr0;
    uint32_t idr2;
    uint32_t idr8;   /* MAXSPEC: P0 elements that may be uncommitted */
    uint32_t ccctlr; /* cycle count threshold */
    bool m_profile;
    uint64_t seed;
    unsigned return_stack_depth;  /* 1..ETMV4_MODEL_STACK_MAX; used if TRCCONFIGR.RS */
    unsigned sync_period;         /* output bytes between A-syncs; 0: only on request */
    unsigned atoms_max;           /* most atoms that are held back, 1..25 */
    unsigned flush_percent;       /* chance of putting them out after each */
    unsigned longer_percent;      /* longer address and timestamp forms than needed */
    unsigned repeat_percent;      /* an address or context that says what is known, too */
    unsigned zero_percent;        /* behind a Trace Info: IDs that are zero are not sent */
    unsigned ignore_percent;      /* an Ignore packet in front of a packet; v4.3 and ETE */
    unsigned source_percent;      /* ETE: a taken P0 element as a source address */
    unsigned wrong_percent;       /* MAXSPEC > 0: elements that are cancelled, in front of each */
    unsigned mispredict_percent;  /* MAXSPEC > 0: an atom that is turned round */
    unsigned commit_percent;      /* MAXSPEC > 0: a commit of some elements after each */
    unsigned count_known_percent; /* first count of a run of trace is known */
};

/* ETMv4.0, A profile, Cortex-A53's sizes, nothing optional, 1024 bytes between A-syncs. */
void etmv4_encoder_default_options(struct etmv4_encoder_options *o);

struct etmv4_place {
    uint64_t address;
    enum bt_isa isa; /* A64, A32 or T32 */
};

/* What context packets tell, but for AArch64, which is that of the instruction set. */
struct etmv4_context {
    uint8_t level; /* exception level; M profile: 0 Thread, 3 Handler */
    bool ns;
    bool nse; /* ETE: with `ns` false Root, with it Realm */
    uint32_t context_id;
    uint32_t vmid;
};

/* M profile: a branch that loaded a special value into the PC. */
enum etmv4_special {
    ETMV4_BRANCH,
    ETMV4_EXCEPTION_RETURN,
    ETMV4_FUNCTION_RETURN, /* v8-M, ETMv4.2 and later */
};

/* One executed instruction. */
struct etmv4_insn {
    struct etmv4_place at;
    uint32_t opcode;            /* as in p0_classify() */
    bool taken;                 /* branch taken; ISB, WFI and their kind: condition passed */
    enum etmv4_special special; /* of a taken indirect branch */
    struct etmv4_place next;    /* what follows, exceptions apart */
};

enum etmv4_packet_kind {
    ETMV4_SENT_ASYNC,
    ETMV4_SENT_TRACE_INFO,
    ETMV4_SENT_TRACE_ON,
    ETMV4_SENT_ATOM,
    ETMV4_SENT_ADDRESS,
    ETMV4_SENT_EXACT,
    ETMV4_SENT_CONTEXT,
    ETMV4_SENT_ADDRESS_CONTEXT,
    ETMV4_SENT_EXCEPTION,
    ETMV4_SENT_EXCEPTION_RETURN,
    ETMV4_SENT_FUNCTION_RETURN,
    ETMV4_SENT_SOURCE,
    ETMV4_SENT_CYCLES,
    ETMV4_SENT_TIMESTAMP,
    ETMV4_SENT_MARKER,
    ETMV4_SENT_EVENT,
    ETMV4_SENT_INSTRUMENTATION,
    ETMV4_SENT_COMMIT,
    ETMV4_SENT_CANCEL,
    ETMV4_SENT_MISPREDICT,
    ETMV4_SENT_DISCARD,
    ETMV4_SENT_OVERFLOW,
    ETMV4_SENT_IGNORE,
    ETMV4_SENT_KINDS
};

struct etmv4_encoder;

/*
 * New encoder that appends to `out`, which the caller owns and keeps until after
 * etmv4_encoder_free(). Trace is off, the context is all zero. NULL: no memory, or options out of
 * range or contradictory (return stack together with branch broadcast;
 * MAXSPEC with M profile). */
struct etmv4_encoder *etmv4_encoder_new(const struct etmv4_encoder_options *o,
                                        struct trace_bytes *out);
void etmv4_encoder_free(struct etmv4_encoder *e);

/* How the last call of etmv4_encoder_insn() appears in the trace. */
enum etmv4_traced_as {
    ETMV4_TRACED_NOT_YET, /* not a P0 instruction: the next one tells that it ran */
    ETMV4_TRACED_P0,
    ETMV4_TRACED_NOTHING, /* trace is off */
};

/* An instruction ran. Returns enum etmv4_traced_as or BT_ERR_NOMEM. */
int etmv4_encoder_insn(struct etmv4_encoder *e, const struct etmv4_insn *insn);

struct etmv4_exception {
    unsigned type;  /* IHI 0064H.b chapter 6, exceptions */
    bool pending;   /* M profile: a serious fault is pending */
    bool no_return; /* M profile: tail-chained, or taken before the handler's first instruction */
    struct etmv4_place preferred; /* where execution stopped: what ran ends in front of it */
    struct etmv4_place vector;
};

/* The preferred return address must not be in front of what ran since the last P0 element. */
int etmv4_encoder_exception(struct etmv4_encoder *e, const struct etmv4_exception *x);

/*
 * The filter stops trace after the last P0 element: what ran since then never shows. Events go on
 * being accepted and show nothing. trace_on: the next instruction is traced again.
 */
int etmv4_encoder_trace_off(struct etmv4_encoder *e);
int etmv4_encoder_trace_on(struct etmv4_encoder *e, const struct etmv4_place *next);

/*
 * The FIFO overflows, or the unit discards what it holds: atoms that are held back are lost
 * (etmv4_encoder_flush() before it saves them),
 * and everything until etmv4_encoder_trace_on(). */
int etmv4_encoder_overflow(struct etmv4_encoder *e);
int etmv4_encoder_discard(struct etmv4_encoder *e);

/* Context of the instructions that run after the latest P0 element. */
void etmv4_encoder_set_context(struct etmv4_encoder *e, const struct etmv4_context *context);

/* Value of the system counter from now on, and a packet that tells it (if TRCCONFIGR.TS). */
void etmv4_encoder_set_time(struct etmv4_encoder *e, uint64_t time);
int etmv4_encoder_request_timestamp(struct etmv4_encoder *e);

/* Processor cycles that passed. */
void etmv4_encoder_add_cycles(struct etmv4_encoder *e, uint64_t cycles);

/* Events 0..3 by bit; at least one. */
int etmv4_encoder_event(struct etmv4_encoder *e, unsigned mask);

/* ETE 1.3: the program writes `value` into its trace. */
int etmv4_encoder_instrument(struct etmv4_encoder *e, unsigned level, uint64_t value);

/* As if the sync counter had expired: A-sync in front of the next P0 element. */
void etmv4_encoder_request_sync(struct etmv4_encoder *e);

/* Puts out the atoms that are pending and commits everything (WFI, end of trace). */
int etmv4_encoder_flush(struct etmv4_encoder *e);

/* Atoms (= P0 instructions) that ran but are not in the output yet. */
unsigned etmv4_encoder_pending_atoms(const struct etmv4_encoder *e);

/* Packets of a kind in the output so far. */
uint64_t etmv4_encoder_packets(const struct etmv4_encoder *e, enum etmv4_packet_kind kind);

/* Sum of all known counts in the output. */
uint64_t etmv4_encoder_cycles(const struct etmv4_encoder *e);

#endif
