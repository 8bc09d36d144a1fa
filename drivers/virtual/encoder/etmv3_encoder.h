/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of an ETMv3 trace unit: executed instructions, data accesses and events in, bytes of
 * ETMv3.0 to v3.5 out (IHI 0014Q chapter 7).
 *
 * Events are given in program order. Every function that takes the encoder returns 0 or
 * BT_ERR_NOMEM (output buffer), others as stated. Nothing depends on anything but the options,
 * the seed and the events. Addresses are 32 bit wide.
 *
 * Features that the version does not have show nothing: NS before v3.2, AltISA before v3.3, return
 * packets before v3.4 (A and R profile: v3.5), timestamps, VMID and Hyp before v3.5.
 */
#ifndef DRIVERS_VIRTUAL_ETMV3_ENCODER_H
#define DRIVERS_VIRTUAL_ETMV3_ENCODER_H

#include "btrace/types.h"
#include "drivers/virtual/encoder/trace_bytes.h"

/* ETMCR, ETMIDR, ETMCCER as far as they change the stream. */
#define ETMV3_CR_CPRT             (1u << 1) /* coprocessor register transfers are data */
#define ETMV3_CR_DATA_VALUE       (1u << 2)
#define ETMV3_CR_DATA_ADDRESS     (1u << 3)
#define ETMV3_CR_BROADCAST        (1u << 8)
#define ETMV3_CR_CYCLE_ACCURATE   (1u << 12)
#define ETMV3_CR_CONTEXT_ID(code) ((uint32_t)(code) << 14) /* code 0..3 = 0, 1, 2, 4 bytes */
#define ETMV3_CR_DATA_ONLY        (1u << 20)               /* v3.1 and later */
#define ETMV3_CR_TIMESTAMP        (1u << 28)
#define ETMV3_CR_VMID             (1u << 30)
#define ETMV3_CCER_TIMESTAMP      (1u << 22)
#define ETMV3_CCER_VIRTUALIZATION (1u << 26)
#define ETMV3_CCER_BINARY_TIME    (1u << 28) /* natural binary, else Gray */
#define ETMV3_CCER_TIMESTAMP_64   (1u << 29) /* 64-bit timestamps, else 48 */
#define ETMV3_IDR_ALTERNATIVE     (1u << 20) /* branch encoding, v3.4 and later */
#define ETMV3_IDR_SECURITY        (1u << 19)
#define ETMV3_IDR_T32_WHOLE       (1u << 18)  /* else BL and BLX are two instructions */
#define ETMV3_IDR_A7              0x410cf250u /* v3.5, original encoding */
#define ETMV3_IDR_M4              0x4114f250u /* v3.5, alternative encoding, no Security */
#define ETMV3_IDR_MINOR(idr, v)   (((idr) & ~0xf0u) | (uint32_t)(v) << 4)
#define ETMV3_CCER_A7             0x344008f2u

/* How atoms become P-headers (IHI 0014Q 7.3.1: any packing that unpacks to the right atoms is
 * legal). */
enum etmv3_packing {
    ETMV3_PACK_DENSE,  /* as few headers as a greedy packer needs */
    ETMV3_PACK_SINGLE, /* one header an instruction or cycle */
    ETMV3_PACK_RANDOM, /* any legal one, and output at any time */
};

/* Start from etmv3_encoder_default_options(). */
struct etmv3_encoder_options {
    uint32_t etmcr;
    uint32_t etmidr;
    uint32_t etmccer;
    bool m_profile; /* ARMv7-M exception numbers and return packets */
    uint64_t seed;
    unsigned sync_period; /* ETMSYNCFR: output bytes, v3.0 cycles, between A-syncs; 0: on request */
    unsigned isync_delay; /* instructions from a periodic A-sync to its I-sync, at most */
    unsigned zeros_min;   /* zero bytes of an A-sync, random in min..max; at least 5 */
    unsigned zeros_max;
    enum etmv3_packing packing;
    unsigned longer_percent;  /* chance that an address or timestamp has more bytes than needed */
    unsigned ignore_percent;  /* chance of an Ignore packet in front of a packet */
    unsigned inline_percent;  /* chance that an exception uses the deprecated five-byte form where
                                 that can tell it; always before v3.2, never if alternative */
    unsigned late_percent;    /* chance that a branch packet waits: W-only P-headers, timestamps,
                                 triggers and data may then stand in front of it */
    unsigned extra_percent;   /* chance of one more packet in front of that of an indirect branch */
    unsigned count_percent;   /* chance that a gap's cycle count is a packet of its own */
    unsigned count_delay;     /* instructions from the I-sync to that packet, at most */
    unsigned gap_cycles;      /* so many idle cycles become an I-sync with a count; 0: never */
    bool blx_packets;         /* BLX immediate and other direct changes of state have a packet */
    bool plain_data_headers;  /* the A bit is 0 where addresses are not traced */
    bool gap_atom;            /* see etmv3_encoder_trace_on(), third case */
    bool no_value_not_traced; /* data-only mode: filtered transfers leave no packet */
    bool no_auto_timestamps;  /* timestamps only at sync and on request */
};

/* Cortex-A7 with everything optional off, 1024 bytes between A-syncs, dense packing, seed 1. */
void etmv3_encoder_default_options(struct etmv3_encoder_options *o);

/* Where execution is. Hyp is Non-secure. */
struct etmv3_state {
    uint64_t address;
    enum bt_isa isa;
    enum bt_security security;
};

/* One executed instruction or bytecode. */
struct etmv3_insn {
    uint64_t address;
    enum bt_isa isa;
    uint32_t opcode;         /* as in waypoint_classify(); Jazelle: the bytecode */
    bool pass;               /* condition passed; CBZ/CBNZ: branch taken */
    struct etmv3_state next; /* what follows, exceptions apart */
    bool exception_return;   /* M profile: returns from an exception (A/R: by the opcode) */
    bool preempted;          /* M profile: a canceling exception follows in place of the target */
    uint8_t resume;          /* M profile, data trace: the target is an LDM/STM continued here */
    bool in_progress;        /* data instruction that is busy until etmv3_encoder_data_done() */
};

/* One transfer of at most 32 bits of a data instruction, exception entry or return. */
struct etmv3_access {
    uint32_t address;
    uint32_t value;
    uint8_t size;    /* bytes: 1, 2, 4; only to find what is sequential */
    bool first;      /* first transfer of its instruction */
    bool cprt;       /* coprocessor register transfer: no address */
    bool filtered;   /* ViewData leaves it out: value not traced */
    bool late;       /* the value comes later, see etmv3_encoder_late_value() */
    bool failed;     /* STREX that did not store */
    bool big_endian; /* told by full addresses only */
};

struct etmv3_exception {
    unsigned number; /* as in the packet: A/R 1..15, M profile 1..511 */
    bool cancel;     /* the last traced instruction did not complete */
};

enum etmv3_packet_kind {
    ETMV3_PACKET_ASYNC,
    ETMV3_PACKET_ISYNC,
    ETMV3_PACKET_PHEADER,
    ETMV3_PACKET_BRANCH,
    ETMV3_PACKET_CYCLE_COUNT,
    ETMV3_PACKET_DATA,
    ETMV3_PACKET_DATA_PLACEHOLDER,
    ETMV3_PACKET_DATA_LATE,
    ETMV3_PACKET_DATA_SUPPRESSED,
    ETMV3_PACKET_STORE_FAILED,
    ETMV3_PACKET_NOT_TRACED,
    ETMV3_PACKET_TRIGGER,
    ETMV3_PACKET_CONTEXT_ID,
    ETMV3_PACKET_VMID,
    ETMV3_PACKET_TIMESTAMP,
    ETMV3_PACKET_EXCEPTION_ENTRY,
    ETMV3_PACKET_EXCEPTION_RETURN,
    ETMV3_PACKET_IGNORE,
    ETMV3_PACKET_KINDS
};

struct etmv3_encoder;

/*
 * New encoder that appends to `out`, which the caller owns and keeps until after
 * etmv3_encoder_free(). Trace is off, context ID and VMID are 0. NULL: no memory, or options out of
 * range.
 */
struct etmv3_encoder *etmv3_encoder_new(const struct etmv3_encoder_options *o,
                                        struct trace_bytes *out);
void etmv3_encoder_free(struct etmv3_encoder *e);

/*
 * An instruction ran. Number of atoms that stand for it: 0 (trace is off, data-only mode), 1, or 2
 * (BL and BLX if ETMIDR[18] is 0); or an error. Atoms may still be pending.
 */
int etmv3_encoder_insn(struct etmv3_encoder *e, const struct etmv3_insn *insn);

/*
 * A transfer of the newest data instruction. Returns 0, or, if `late` was asked for and can be
 * had, the tag 1..3 of the placeholder. Without values traced, or with three tags out, a late
 * access is an ordinary one.
 */
int etmv3_encoder_data(struct etmv3_encoder *e, const struct etmv3_access *access);

/*
 * The value for a placeholder. Nothing if trace is off or the tag is free. A placeholder from
 * before an overflow still gets its value, which a decoder has to ignore; its tag is not used again
 * until then.
 */
int etmv3_encoder_late_value(struct etmv3_encoder *e, unsigned tag, uint32_t value);

/* The instruction with `in_progress` has no more transfers. */
void etmv3_encoder_data_done(struct etmv3_encoder *e);

/*
 * The FIFO is nearly full: transfers leave one Data suppressed packet, and what belongs to the same
 * instruction as the last suppressed one is suppressed as well.
 */
void etmv3_encoder_suppress_data(struct etmv3_encoder *e, bool suppress);

/*
 * An exception is taken; execution goes on at `vector`. BT_ERR_INVAL: a number out of range, or
 * one that versions before v3.2 cannot tell (they know A32 vectors only).
 */
int etmv3_encoder_exception(struct etmv3_encoder *e, const struct etmv3_exception *x,
                            const struct etmv3_state *vector);

/* M profile: the automatic push of registers begins; its transfers follow. Data trace only. */
int etmv3_encoder_exception_entry(struct etmv3_encoder *e);

/*
 * Halting debug. Told by exception 1 at the next instruction's address if `reported` and the
 * version and state allow (never in M profile). Nothing is traced until the exit, which has
 * reason 3. */
int etmv3_encoder_debug_entry(struct etmv3_encoder *e, bool reported, bool cancel);
int etmv3_encoder_debug_exit(struct etmv3_encoder *e, const struct etmv3_state *restart);

/*
 * The filter or a prohibited region stops trace after the last instruction. Events go on being
 * accepted and show nothing. trace_on: the instruction at `next` is traced again, I-sync reason 1.
 * If a data instruction is in progress (IHI 0014Q 7.10.5):
 *  1. `executing`, the one at `next` is in the pipeline now: LSiP I-sync with both addresses;
 *  2. else if no other has run since: Normal I-sync with its address, and its E;
 *  3. else: Normal I-sync with its address, its E if options.gap_atom,
 * branch packet to `next`. */
int etmv3_encoder_trace_off(struct etmv3_encoder *e);
int etmv3_encoder_trace_on(struct etmv3_encoder *e, const struct etmv3_state *next, bool executing);

/*
 * FIFO overflow: pending atoms, branch, cycle count and late data are lost (etmv3_encoder_flush()
 * before it saves the first two), and everything until the restart. Restart: I-sync reason 2, LSiP
 * as for trace_on.
 */
int etmv3_encoder_overflow(struct etmv3_encoder *e);
int etmv3_encoder_restart(struct etmv3_encoder *e, const struct etmv3_state *next, bool executing);

/*
 * New context ID or VMID: packet at once; while trace is off the value goes into the next I-sync
 * (VMID: behind it). No packet if the options do not ask for one.
 */
int etmv3_encoder_set_context_id(struct etmv3_encoder *e, uint32_t value);
int etmv3_encoder_set_vmid(struct etmv3_encoder *e, uint8_t value);

/* Security state changed by a register write: branch packet to the next instruction. */
int etmv3_encoder_set_security(struct etmv3_encoder *e, enum bt_security security);

/* Value of the timestamp counter from now on. */
void etmv3_encoder_set_time(struct etmv3_encoder *e, uint64_t time);

/* Timestamp packet now. Nothing if they are off, or if nothing was ever traced. */
int etmv3_encoder_request_timestamp(struct etmv3_encoder *e, bool clock_changed);

/* Cycles that passed before the next instruction. */
int etmv3_encoder_add_cycles(struct etmv3_encoder *e, uint64_t cycles);

int etmv3_encoder_trigger(struct etmv3_encoder *e);
int etmv3_encoder_ignore(struct etmv3_encoder *e);

/* As if the sync counter had expired: A-sync now, I-sync within isync_delay instructions. */
int etmv3_encoder_request_sync(struct etmv3_encoder *e);

/* Outputs what is pending: branch, cycle count, atoms (end of trace). */
int etmv3_encoder_flush(struct etmv3_encoder *e);

/* E and N atoms that are not in the output yet. */
unsigned etmv3_encoder_pending_atoms(const struct etmv3_encoder *e);

/* Cycle-accurate mode: W atoms traced or pending since the last I-sync that began a region. */
uint64_t etmv3_encoder_cycles(const struct etmv3_encoder *e);

/* True while a placeholder that no overflow has lost waits for its value. */
bool etmv3_encoder_tag_out(const struct etmv3_encoder *e, unsigned tag);

/* Packets of a kind in the output so far. */
uint64_t etmv3_encoder_packets(const struct etmv3_encoder *e, enum etmv3_packet_kind kind);

/*
 * Called for each packet when its bytes are in the buffer; `offset` in the whole output. `detail`
 * is for I-syncs the reason, with ETMV3_DETAIL_* flags, for cycle counts and I-syncs with a count
 * that in the upper half.
 */
#define ETMV3_DETAIL_COUNT 4u /* I-sync with cycle count */
#define ETMV3_DETAIL_LSIP  8u
typedef void (*etmv3_packet_observer)(void *context, enum etmv3_packet_kind kind, uint64_t offset,
                                      size_t size, uint64_t detail);
void etmv3_encoder_observe(struct etmv3_encoder *e, etmv3_packet_observer observer, void *context);

#endif
