/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of a PTM: executed instructions and events in, PFT v1.0 or v1.1 bytes out.
 *
 * Events are given in program order. Every function that takes the encoder returns 0 or
 * BT_ERR_NOMEM (output buffer), others as stated. Nothing depends on anything but the options,
 * the seed and the events. Addresses are 32 bit wide.
 *
 * A "boundary" below is a moment at which no instruction has run since the last traced waypoint,
 * exception or I-sync: there the decoder's position and the core's agree.
 */
#ifndef DRIVERS_VIRTUAL_PTM_ENCODER_H
#define DRIVERS_VIRTUAL_PTM_ENCODER_H

#include "btrace/types.h"
#include "drivers/virtual/encoder/trace_bytes.h"

/* ETMCR, ETMIDR, ETMCCER as far as they change the stream. */
#define PTM_CR_BROADCAST        (1u << 8)
#define PTM_CR_CYCLE_ACCURATE   (1u << 12)
#define PTM_CR_CONTEXT_ID(code) ((uint32_t)(code) << 14) /* code 0..3 = 0, 1, 2, 4 bytes */
#define PTM_CR_TIMESTAMP        (1u << 28)
#define PTM_CR_RETURN_STACK     (1u << 29)
#define PTM_CR_VMID             (1u << 30)
#define PTM_CCER_TIMESTAMP      (1u << 22)
#define PTM_CCER_RETURN_STACK   (1u << 23)
#define PTM_CCER_DMB_DSB        (1u << 24) /* DMB and DSB are waypoints */
#define PTM_CCER_DMB_DSB_TIME   (1u << 25) /* DMB and DSB request a timestamp */
#define PTM_CCER_VIRTUALIZATION (1u << 26)
#define PTM_CCER_BINARY_TIME    (1u << 28)  /* v1.1: natural binary, else Gray */
#define PTM_CCER_TIMESTAMP_64   (1u << 29)  /* v1.1: 64-bit timestamps, else 48 */
#define PTM_IDR_A9              0x411cf301u /* v1.0 */
#define PTM_IDR_A15             0x411cf312u /* v1.1 */
#define PTM_CCER_A9             0x00c018eau
#define PTM_CCER_A15            0x34c01ac2u

#define PTM_RETURN_STACK_MAX 16

/* Start from ptm_encoder_default_options(). */
struct ptm_encoder_options {
    uint32_t etmcr;
    uint32_t etmidr;
    uint32_t etmccer;
    uint64_t seed;
    unsigned return_stack_depth; /* 1..PTM_RETURN_STACK_MAX; used if ETMCR[29] */
    unsigned sync_period;        /* output bytes between A-syncs (ETMSYNCFR); 0: only on request */
    unsigned isync_delay;        /* waypoints between a periodic A-sync and its I-sync, at most */
    unsigned zeros_min;          /* zero bytes of an A-sync, random in min..max; at least 5 */
    unsigned zeros_max;
    unsigned atoms_max;      /* most atoms in one header, 1..5; cycle-accurate: always 1 */
    bool atoms_random;       /* flush atoms at random, after 1..atoms_max */
    unsigned longer_percent; /* chance that an address has more bytes than needed */
    unsigned ignore_percent; /* chance of an Ignore packet in front of a packet */
    bool no_block_updates;   /* no waypoint update in blocks over 4096 bytes (ETMAUXCR[2]) */
    bool update_is_not_base; /* a waypoint update does not become the address base */
    bool no_auto_timestamps; /* timestamps only on ptm_encoder_request_timestamp() */
    bool vmid_after_isync;   /* repeat the VMID after each I-sync, else only when it changed */
    bool plain_isync_count;  /* I-sync count as in other packets; Cortex-A9 and A15 set bit 7 */
    bool full_on_isa_change; /* five address bytes also when only the flow changes state */
};

/* Cortex-A15 with everything optional off, 1024 bytes between A-syncs, 5 atoms, seed 1. */
void ptm_encoder_default_options(struct ptm_encoder_options *o);

/* Where execution is. Hyp is Non-secure. */
struct ptm_state {
    uint64_t address;
    enum bt_isa isa;
    enum bt_security security;
};

/* One executed instruction. */
struct ptm_insn {
    uint64_t address;
    enum bt_isa isa;
    uint32_t opcode;       /* as in waypoint_classify() */
    bool pass;             /* condition passed; CBZ/CBNZ: branch taken; ISB: really executed */
    struct ptm_state next; /* what follows, exceptions apart */
};

enum ptm_packet_kind {
    PTM_PACKET_ASYNC,
    PTM_PACKET_ISYNC,
    PTM_PACKET_ATOM,
    PTM_PACKET_BRANCH,
    PTM_PACKET_UPDATE,
    PTM_PACKET_TRIGGER,
    PTM_PACKET_CONTEXT_ID,
    PTM_PACKET_VMID,
    PTM_PACKET_TIMESTAMP,
    PTM_PACKET_EXCEPTION_RETURN,
    PTM_PACKET_IGNORE,
    PTM_PACKET_KINDS
};

struct ptm_encoder;

/*
 * New encoder that appends to `out`, which the caller owns and keeps until after
 * ptm_encoder_free(). Trace is off, context ID and VMID are 0. NULL: no memory, or options out of
 * range or contradictory (return stack together with branch broadcast; ETMIDR[18] = 0, 32-bit
 * Thumb as two instructions, is not modelled).
 */
struct ptm_encoder *ptm_encoder_new(const struct ptm_encoder_options *o, struct trace_bytes *out);
void ptm_encoder_free(struct ptm_encoder *e);

/*
 * How the last call of ptm_encoder_insn() appears in the trace. Meaningful for every instruction,
 * also those that ran while trace was off.
 */
enum ptm_traced_as {
    PTM_TRACED_NOT_YET, /* not a waypoint: part of the range that the next waypoint closes */
    PTM_TRACED_ATOM,    /* atom; maybe still pending, see ptm_encoder_pending_atoms() */
    PTM_TRACED_BRANCH,  /* branch address packet */
    PTM_TRACED_NOTHING, /* trace is off */
};

/* An instruction ran. Returns enum ptm_traced_as or BT_ERR_NOMEM. */
int ptm_encoder_insn(struct ptm_encoder *e, const struct ptm_insn *insn);

/*
 * Exception `number` (2..511, not 1) is taken; execution goes on at `vector`. Non-waypoints that
 * ran since the last boundary are reported by a waypoint update, except for reset (8).
 */
int ptm_encoder_exception(struct ptm_encoder *e, unsigned number, const struct ptm_state *vector);

/* Halting debug: waypoint update if needed, exception 1. Nothing is traced until the exit. */
int ptm_encoder_debug_entry(struct ptm_encoder *e);
int ptm_encoder_debug_exit(struct ptm_encoder *e, const struct ptm_state *restart);

/*
 * The filter stops trace after the last boundary: non-waypoints since then never show. Events go on
 * being accepted and show nothing. trace_on: next instruction is traced again, I-sync reason 1.
 * Also for prohibited regions, and after a branch into Jazelle state,
 * which stops trace itself. */
int ptm_encoder_trace_off(struct ptm_encoder *e);
int ptm_encoder_trace_on(struct ptm_encoder *e, const struct ptm_state *next);

/*
 * FIFO overflow: pending atoms are lost (ptm_encoder_flush() before it saves them), and everything
 * until the restart. Restart: I-sync reason 2.
 */
int ptm_encoder_overflow(struct ptm_encoder *e);
int ptm_encoder_restart(struct ptm_encoder *e, const struct ptm_state *next);

/*
 * New context ID or VMID. The packet comes at once at a boundary, otherwise after the next
 * waypoint; while trace is off the value goes into the next I-sync (VMID: behind it). No packet if
 * the options do not ask for one; a repeated value is output again.
 */
int ptm_encoder_set_context_id(struct ptm_encoder *e, uint32_t value);
int ptm_encoder_set_vmid(struct ptm_encoder *e, uint8_t value);

/* Security state changed by a register write: the next taken branch reports it. */
void ptm_encoder_set_security(struct ptm_encoder *e, enum bt_security security);

/* Value of the system counter from now on. */
void ptm_encoder_set_time(struct ptm_encoder *e, uint64_t time);

/*
 * Timestamp packet now, also while trace is off. v1.0 sends the present time, v1.1 the time of the
 * last traced waypoint. `clock_changed` is the R bit. Nothing happens if ETMCR[28] is 0.
 */
int ptm_encoder_request_timestamp(struct ptm_encoder *e, bool clock_changed);

/* Processor cycles that passed; a count saturates at 32 bits. */
void ptm_encoder_add_cycles(struct ptm_encoder *e, uint64_t cycles);

int ptm_encoder_trigger(struct ptm_encoder *e);
int ptm_encoder_ignore(struct ptm_encoder *e);

/* As if the sync counter had expired: A-sync now, I-sync within isync_delay waypoints. */
int ptm_encoder_request_sync(struct ptm_encoder *e);

/* Outputs pending atoms (WFI, end of trace). */
int ptm_encoder_flush(struct ptm_encoder *e);

/* Atoms (= waypoints) that ran but are not in the output yet. */
unsigned ptm_encoder_pending_atoms(const struct ptm_encoder *e);

/* Count in the last packet that carried one; cycle-accurate mode. */
uint32_t ptm_encoder_last_count(const struct ptm_encoder *e);

/* True if no instruction ran since the last waypoint, exception or I-sync. */
bool ptm_encoder_at_boundary(const struct ptm_encoder *e);

/* Packets of a kind in the output so far. */
uint64_t ptm_encoder_packets(const struct ptm_encoder *e, enum ptm_packet_kind kind);

/* Called for each packet when its bytes are in the buffer; `offset` in the whole output. */
typedef void (*ptm_packet_observer)(void *context, enum ptm_packet_kind kind, uint64_t offset,
                                    size_t size);
void ptm_encoder_observe(struct ptm_encoder *e, ptm_packet_observer observer, void *context);

#endif
