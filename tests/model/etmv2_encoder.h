/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of an ETMv2 trace unit (ETM10, IHI 0014Q chapter 6): executed instructions, data accesses
 * and events in, cycles of the trace port out, as bytes of a capture (port_model.h). What that
 * chapter leaves open is an option.
 *
 * Events are given in program order. An instruction, or data without one, opens a cycle; what
 * belongs to that cycle follows it, and the next instruction, wait or event closes it. Functions
 * that take the encoder return 0 or BT_ERR_NOMEM (output buffer), others as stated. Nothing depends
 * on anything but the options, the seed and the events. Addresses are 32 bit wide.
 */
#ifndef DRIVERS_VIRTUAL_ETMV2_ENCODER_H
#define DRIVERS_VIRTUAL_ETMV2_ENCODER_H

#include "port_model.h"

/* ETMCR as far as it changes the stream. */
#define ETMV2_MODEL_CR_CPRT             (1u << 1) /* coprocessor register transfers are data */
#define ETMV2_MODEL_CR_DATA_VALUE       (1u << 2)
#define ETMV2_MODEL_CR_DATA_ADDRESS     (1u << 3)
#define ETMV2_MODEL_CR_PORT(code)       ((uint32_t)(code) << 4) /* 0..2 = 4, 8, 16 bits */
#define ETMV2_MODEL_CR_BROADCAST        (1u << 8)
#define ETMV2_MODEL_CR_CYCLE_ACCURATE   (1u << 12)
#define ETMV2_MODEL_CR_CONTEXT_ID(code) ((uint32_t)(code) << 14) /* 0..3 = 0, 1, 2, 4 bytes */
#define ETMV2_MODEL_IDR_V20             0x41000100u
#define ETMV2_MODEL_IDR_V21             0x41000110u

/* TRACEPKT[3:1] of a wait cycle that counts, cycle-accurate mode (IHI 0014Q 6.5; hypotheses H1 and
 * H2). */
enum etmv2_model_wait {
    ETMV2_MODEL_WAIT_ONES,  /* 111 */
    ETMV2_MODEL_WAIT_ZEROS, /* 000; TFO values carry a bias of 16 */
};

/* Start from etmv2_encoder_default_options(). */
struct etmv2_encoder_options {
    uint32_t etmcr;
    uint32_t etmidr;
    uint64_t seed;
    enum port_model_layout layout;
    unsigned sync_period;       /* ETMSYNCFR: cycles; 0: only on request */
    unsigned fifo_size;         /* bytes, 24..111 */
    bool lose_when_full;        /* a group that does not fit is an overflow, else the core stalls */
    bool late_group;            /* a group's first byte comes a cycle after its status (5) */
    unsigned tfo4_extra;        /* 4-bit port: cycles without a byte behind a TFO, 1 or 2 */
    enum etmv2_model_wait wait; /* cycle-accurate mode */
    bool drop_idle;             /* the capture leaves out TD cycles with TRACEPKT[0] = 0 (12) */
    bool noise;                 /* TRACEPKT bits that mean nothing are random, else 0 */
    unsigned phantom_percent;   /* chance that a direct branch runs beside the next instruction */
    unsigned late_percent;      /* chance that a branch address comes in a cycle of its own (DW) */
    unsigned exception_percent; /* chance that an exception's branch address comes in the cycle of
                                   the instruction before it; else DW */
    unsigned longer_percent; /* chance that a branch or data address has more bytes than needed */
};

/* 8-bit port, everything optional off, 1024 cycles between TFOs, FIFO of 64 bytes, v2.1, seed 1. */
void etmv2_encoder_default_options(struct etmv2_encoder_options *o);

/* Where execution is; A32 or T32 (Thumb). */
struct etmv2_place {
    uint32_t address;
    enum bt_isa isa;
};

/* One executed instruction. Thumb BL and BLX are two of 16 bits. */
struct etmv2_insn {
    struct etmv2_place at;
    uint32_t opcode;
    bool pass;               /* condition passed */
    struct etmv2_place next; /* what follows, exceptions apart */
    bool in_progress;        /* data instruction that is busy until etmv2_encoder_data_done() */
};

/* One transfer of at most 32 bits of the newest data instruction. */
struct etmv2_model_access {
    uint32_t address;
    uint32_t value;
    bool first;     /* first transfer of its instruction */
    bool addressed; /* has the A bit even if it is not the first packet (SWP) */
    bool cprt;      /* coprocessor register transfer: no address */
    bool filtered;  /* ViewData leaves it out */
    bool miss;      /* the value comes later, see etmv2_encoder_late_value() */
    bool wide;      /* miss only: a 64-bit load */
};

enum etmv2_model_kind {
    ETMV2_MODEL_BRANCH,
    ETMV2_MODEL_DATA,
    ETMV2_MODEL_NOT_TRACED,
    ETMV2_MODEL_CONTEXT_ID,
    ETMV2_MODEL_MISS,
    ETMV2_MODEL_MISS_DATA,
    ETMV2_MODEL_TFO,
    ETMV2_MODEL_TFO_LSIP,
    ETMV2_MODEL_KINDS
};

/* PIPESTAT (3). */
enum etmv2_model_status {
    ETMV2_MODEL_IE = 0,
    ETMV2_MODEL_DE = 1,
    ETMV2_MODEL_IN = 2,
    ETMV2_MODEL_DN = 3,
    ETMV2_MODEL_WT = 4,
    ETMV2_MODEL_DW = 5,
    ETMV2_MODEL_TR = 6,
    ETMV2_MODEL_TD = 7,
    ETMV2_MODEL_PT = 8,  /* and one of the first four */
    ETMV2_MODEL_PN = 12, /* same */
};

struct etmv2_encoder;

/*
 * New encoder that appends to `out`, which the caller owns and keeps until after
 * etmv2_encoder_free(). Trace is off, context ID 0. NULL: no memory,
 * or options out of range. */
struct etmv2_encoder *etmv2_encoder_new(const struct etmv2_encoder_options *o,
                                        struct trace_bytes *out);
void etmv2_encoder_free(struct etmv2_encoder *e);

/* An instruction ran. */
int etmv2_encoder_insn(struct etmv2_encoder *e, const struct etmv2_insn *insn);

/*
 * A transfer of the newest data instruction. Returns 0, or the tag 1..3 if it missed. With three
 * tags out, or for coprocessor transfers, a miss is an ordinary transfer.
 */
int etmv2_encoder_data(struct etmv2_encoder *e, const struct etmv2_model_access *access);

/*
 * The value of a load that missed, in any cycle. Nothing if trace is off or the tag is free. The
 * value of one from before an overflow still comes; a decoder has to ignore it.
 */
int etmv2_encoder_late_value(struct etmv2_encoder *e, unsigned tag, uint64_t value);

/* The instruction with `in_progress` has no more transfers. */
int etmv2_encoder_data_done(struct etmv2_encoder *e);

/* `cycles` in which no instruction runs. */
int etmv2_encoder_wait(struct etmv2_encoder *e, unsigned cycles);

/*
 * An exception is taken; execution goes on at `vector`. `cancel`: the last instruction did not
 * complete. BT_ERR_INVAL: canceling, and the vector is not A32 code.
 */
int etmv2_encoder_exception(struct etmv2_encoder *e, bool cancel, const struct etmv2_place *vector);

/* Halting debug. Nothing is traced until the exit: TFO with reason 11. */
int etmv2_encoder_debug_entry(struct etmv2_encoder *e);
int etmv2_encoder_debug_exit(struct etmv2_encoder *e, const struct etmv2_place *restart);

/*
 * The filter stops trace after the last instruction, but not before a data instruction that is in
 * progress is done (IHI 0014Q 6.4). Events go on being accepted, an instruction is a cycle, and
 * nothing is shown. trace_on: the instruction at `next` is traced again, TFO reason 01. If a data
 * instruction is in progress (IHI 0014Q 6.5):
 *  1. `executing`, the one at `next` is in the pipeline now: LSM in progress TFO;
 *  2. else if no other has run since: Normal TFO with its address, and its status;
 *  3. else: as 2, with a branch address to `next`.
 */
int etmv2_encoder_trace_off(struct etmv2_encoder *e);
int etmv2_encoder_trace_on(struct etmv2_encoder *e, const struct etmv2_place *next, bool executing);

/*
 * FIFO overflow: the open cycle and a late branch address are lost, and everything until the
 * restart, TFO reason 10, for which the FIFO drains first.
 */
int etmv2_encoder_overflow(struct etmv2_encoder *e);
int etmv2_encoder_restart(struct etmv2_encoder *e, const struct etmv2_place *next, bool executing);

/* False also after an overflow that options.lose_when_full made. */
bool etmv2_encoder_tracing(const struct etmv2_encoder *e);

/* Packet in the open cycle, or one of its own; while trace is off the value is in the next TFO. */
int etmv2_encoder_set_context_id(struct etmv2_encoder *e, uint32_t value);

/* The next cycle has status TR. */
void etmv2_encoder_trigger(struct etmv2_encoder *e);

/* As if the sync counter had expired. */
void etmv2_encoder_request_sync(struct etmv2_encoder *e);

/* Closes the open cycle and waits until the FIFO is empty. */
int etmv2_encoder_drain(struct etmv2_encoder *e);

/* End of trace: drains, and fills the last ETB word up with TD. */
int etmv2_encoder_finish(struct etmv2_encoder *e);

/* True while a load that missed in this region of trace waits for its value. */
bool etmv2_encoder_tag_out(const struct etmv2_encoder *e, unsigned tag);

/* Packets of a kind, and cycles of an effective status, so far. */
uint64_t etmv2_encoder_packets(const struct etmv2_encoder *e, enum etmv2_model_kind kind);
uint64_t etmv2_encoder_statuses(const struct etmv2_encoder *e, unsigned status);

/* One processor cycle, as it is output. */
struct etmv2_model_cycle {
    uint64_t index; /* of the captured cycle; of the next one if not captured */
    uint8_t status; /* behind a TR: the one it replaces */
    uint8_t insns;  /* instructions it tells: 0 to 2, with those a TFO implies */
    bool captured;  /* false: see drop_idle */
    bool trigger;
    bool tfo;
    uint8_t reason; /* of the TFO */
    bool lost;      /* instructions of this cycle are lost: overflow; it is not output as given */
    uint8_t fifo;   /* TFO: its value */
};
typedef void (*etmv2_cycle_observer)(void *context, const struct etmv2_model_cycle *cycle);
void etmv2_encoder_observe(struct etmv2_encoder *e, etmv2_cycle_observer observer, void *context);

#endif
