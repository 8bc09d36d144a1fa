/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of an ETMv1 trace unit (ETM7, ETM9, IHI 0014Q chapter 5): executed instructions, data
 * accesses and events in, cycles of the trace port out, as bytes of a capture (port_model.h).
 * What that chapter leaves open is an option.
 *
 * Events are given in program order. An instruction is open until the next event: its data
 * accesses, and an exception that it causes, follow it. Functions that take the encoder return 0 or
 * BT_ERR_NOMEM (output buffer), others as stated. Nothing depends on anything but the options, the
 * seed and the events. Addresses are 32 bit wide.
 */
#ifndef DRIVERS_VIRTUAL_ETMV1_ENCODER_H
#define DRIVERS_VIRTUAL_ETMV1_ENCODER_H

#include "port_model.h"

/* ETMCR and ETMCCR as far as they change the stream (14). */
#define ETMV1_MODEL_CR_CPRT             (1u << 1)
#define ETMV1_MODEL_CR_DATA_VALUE       (1u << 2)
#define ETMV1_MODEL_CR_DATA_ADDRESS     (1u << 3)
#define ETMV1_MODEL_CR_PORT(code)       ((uint32_t)(code) << 4) /* 0..2 = 4, 8, 16 bits */
#define ETMV1_MODEL_CR_BROADCAST        (1u << 8)
#define ETMV1_MODEL_CR_CYCLE_ACCURATE   (1u << 12)
#define ETMV1_MODEL_CR_CONTEXT_ID(code) ((uint32_t)(code) << 14) /* 0..3 = 0, 1, 2, 4 bytes */
#define ETMV1_MODEL_CCR_V10             0x00000000u
#define ETMV1_MODEL_CCR_V11             0x10000000u
#define ETMV1_MODEL_CCR_V12             0x20000000u
#define ETMV1_MODEL_CCR_V13             0x30000000u

/* Start from etmv1_encoder_default_options(). */
struct etmv1_encoder_options {
    uint32_t etmcr;
    uint32_t etmccr; /* protocol number: before v1.2 no context IDs, before v1.3 no Jazelle */
    uint64_t seed;
    enum port_model_layout layout;
    unsigned sync_period;     /* cycles between full addresses; 0: only where they must be */
    unsigned sync_patience;   /* cycles more until a direct branch is used for one */
    unsigned fifo_size;       /* bytes, 24..250; the core stalls when it is full */
    bool big_endian;          /* values most significant byte first */
    bool hold_single;         /* 16-bit port: a byte never goes alone but before an address */
    bool drop_idle;           /* the capture leaves out TD cycles with TRACEPKT[0] = 0 */
    bool noise;               /* TRACEPKT bits that mean nothing are random, else 0 */
    unsigned early_percent;   /* chance that data comes before the status that it belongs to */
    unsigned abandon_percent; /* chance that an exception or restart right behind a branch does not
                                 wait for its APO cycles */
    unsigned longer_percent;  /* chance that an address has more bytes than needed */
};

/* 8-bit port, everything optional off, full addresses each 1024 cycles (and 512), FIFO of 64 bytes,
 * v1.3, seed 1. */
void etmv1_encoder_default_options(struct etmv1_encoder_options *o);

/* Where execution is: A32, T32 (Thumb), Jazelle. */
struct etmv1_place {
    uint32_t address;
    enum bt_isa isa;
};

/* One executed instruction. Thumb BL and BLX are two of 16 bits. A bytecode may be two as well. */
struct etmv1_insn {
    struct etmv1_place at;
    uint32_t opcode;
    bool pass;               /* condition passed */
    struct etmv1_place next; /* what follows, exceptions apart */
};

/* One transfer of the open instruction. ViewData is all or nothing: no calls if it is inactive. */
struct etmv1_model_access {
    uint32_t address; /* of the first one only */
    uint32_t value;
    uint8_t size; /* bytes: 1, 2, 4 */
    bool cprt;    /* coprocessor register transfer: no address */
};

/* PIPESTAT (2). */
enum etmv1_model_status {
    ETMV1_MODEL_IE = 0,
    ETMV1_MODEL_ID = 1,
    ETMV1_MODEL_IN = 2,
    ETMV1_MODEL_WT = 3,
    ETMV1_MODEL_BE = 4,
    ETMV1_MODEL_BD = 5,
    ETMV1_MODEL_TR = 6,
    ETMV1_MODEL_TD = 7,
};

struct etmv1_encoder;

/*
 * New encoder that appends to `out`, which the caller owns and keeps until after
 * etmv1_encoder_free(). Trace is off, context ID 0. NULL: no memory,
 * or options out of range. */
struct etmv1_encoder *etmv1_encoder_new(const struct etmv1_encoder_options *o,
                                        struct trace_bytes *out);
void etmv1_encoder_free(struct etmv1_encoder *e);

/* An instruction ran. BT_ERR_INVAL: Jazelle before v1.3. */
int etmv1_encoder_insn(struct etmv1_encoder *e, const struct etmv1_insn *insn);

/* A transfer of the open instruction. BT_ERR_RANGE: more than 64 bytes of data. */
int etmv1_encoder_data(struct etmv1_encoder *e, const struct etmv1_model_access *access);

/*
 * An exception is taken; execution goes on at `vector`. `own`: the open instruction is the one that
 * branches: SWI, undefined instruction, aborted load or store. Else a status of its own stands for
 * the instruction that was to come: IRQ, FIQ, prefetch abort, reset (IHI 0014Q chapter 5).
 */
int etmv1_encoder_exception(struct etmv1_encoder *e, bool own, const struct etmv1_place *vector);

/* `cycles` in which no instruction runs; those with an APO count. */
int etmv1_encoder_wait(struct etmv1_encoder *e, unsigned cycles);

/* Halting debug. Nothing is traced until the exit: branch with reason 3. */
int etmv1_encoder_debug_entry(struct etmv1_encoder *e);
int etmv1_encoder_debug_exit(struct etmv1_encoder *e, const struct etmv1_place *restart);

/*
 * The filter stops trace after the last instruction. Events go on being accepted, an instruction is
 * a cycle, and nothing is shown. trace_on: reason 1.
 */
int etmv1_encoder_trace_off(struct etmv1_encoder *e);
int etmv1_encoder_trace_on(struct etmv1_encoder *e, const struct etmv1_place *next);

/*
 * FIFO overflow: the status of the open instruction still comes, with the first `keep` bytes of
 * what belongs to it (11). Nothing more until the restart, reason 2, for which the FIFO drains
 * first. A second restart before any instruction replaces the first one.
 */
int etmv1_encoder_overflow(struct etmv1_encoder *e, unsigned keep);
int etmv1_encoder_restart(struct etmv1_encoder *e, const struct etmv1_place *next);

/* The next branch of any kind tells it (8). */
void etmv1_encoder_set_context_id(struct etmv1_encoder *e, uint32_t value);

/* The next cycle has status TR. */
void etmv1_encoder_trigger(struct etmv1_encoder *e);

/* As if the counter of periodic full addresses had expired. */
void etmv1_encoder_request_sync(struct etmv1_encoder *e);

/*
 * Closes the open instruction and waits until the FIFO is empty. On a 16-bit port a byte may go
 * alone then, and nothing but a branch must follow.
 */
int etmv1_encoder_drain(struct etmv1_encoder *e);

/* End of trace: drains, and fills the last ETB word up with TD. */
int etmv1_encoder_finish(struct etmv1_encoder *e);

/* One processor cycle, as it is output. */
struct etmv1_model_cycle {
    uint64_t index; /* of the captured cycle; of the next one if not captured */
    uint8_t status; /* behind a TR: the one it replaces */
    bool apo;       /* `status` is half of an APO */
    bool abandons;  /* a branch that does not wait for the APO of the one before */
    bool insn;      /* a status that stands for an instruction */
    bool captured;  /* false: see drop_idle */
    bool trigger;
    bool branch; /* with the next three */
    uint8_t reason;
    uint8_t bytes;  /* of its address; 0: lost */
    uint8_t offset; /* APO */
};
typedef void (*etmv1_cycle_observer)(void *context, const struct etmv1_model_cycle *cycle);
void etmv1_encoder_observe(struct etmv1_encoder *e, etmv1_cycle_observer observer, void *context);

#endif
