/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plain data that every layer may use: errors, instruction sets, history blocks and events.
 * No functions with state, no I/O. Addresses and positions are 64 bit everywhere.
 */
#ifndef BTRACE_TYPES_H
#define BTRACE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "btrace/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Functions return 0 (or a count) or one of these. Texts: bt_strerror(). */
enum bt_error {
    BT_OK = 0,
    BT_ERR_NOMEM = -1,     /* allocation failed or a configured memory limit is reached */
    BT_ERR_INVAL = -2,     /* argument or input value out of its allowed range */
    BT_ERR_RANGE = -3,     /* no such position, address or index */
    BT_ERR_NO_CODE = -4,   /* the program image has no bytes at the address */
    BT_ERR_TRUNCATED = -5, /* input ends inside an item */
    BT_ERR_FORMAT = -6,    /* input is not of the expected format */
    BT_ERR_IO = -7,        /* the operating system refused; errno has the reason */
    BT_ERR_UNSUPPORTED = -8,
};

BT_API const char *bt_strerror(int error);

enum bt_isa {
    BT_ISA_A32,
    BT_ISA_T32,
    BT_ISA_T32EE,
    BT_ISA_JAZELLE,
    BT_ISA_A64,
};

BT_API const char *bt_isa_name(enum bt_isa isa);

/* Result of an instruction's condition check, as far as the trace tells. */
enum bt_cond {
    BT_COND_UNKNOWN,
    BT_COND_PASS,
    BT_COND_FAIL,
};

/*
 * Instructions that ran one after the other: from `first` up to and including the one at
 * first + extent. All of one instruction set. `info` packs the rest, see the helpers below; the
 * condition is that of the last instruction.
 */
struct bt_block {
    uint64_t first;
    uint32_t extent; /* bytes from `first` to the first byte of the last instruction */
    uint32_t info;
};

#define BT_BLOCK_COUNT_MAX 0xffffffu
#define BT_NO_CYCLES       UINT64_MAX /* in place of a count of cycles: there is none */

static inline uint32_t bt_block_info(uint32_t count, enum bt_isa isa, enum bt_cond cond)
{
    return count << 8 | (uint32_t)cond << 4 | (uint32_t)isa;
}

static inline uint64_t bt_block_last(const struct bt_block *b)
{
    return b->first + b->extent;
}

static inline uint32_t bt_block_count(const struct bt_block *b)
{
    return b->info >> 8;
}

static inline enum bt_isa bt_block_isa(const struct bt_block *b)
{
    return (enum bt_isa)(b->info & 0xf);
}

static inline enum bt_cond bt_block_cond(const struct bt_block *b)
{
    return (enum bt_cond)(b->info >> 4 & 0x3);
}

/* Why a span of trace is missing or unusable. One entry of the gap ledger has one cause. */
enum bt_gap_cause {
    BT_GAP_NONE,
    BT_GAP_TRACE_ON,     /* filtered out by the trace unit: trace was off, nothing is lost */
    BT_GAP_DEBUG,        /* the core was in Debug state */
    BT_GAP_OVERFLOW,     /* the trace unit's FIFO overflowed */
    BT_GAP_WIRE,         /* frame alignment lost: the port or the stored frames are damaged */
    BT_GAP_LOST_BYTES,   /* the capture reports missing bytes (USB, ring full) */
    BT_GAP_OVERWRITTEN,  /* the oldest bytes were overwritten or dropped */
    BT_GAP_BAD_PACKET,   /* reserved header or malformed packet */
    BT_GAP_NO_CODE,      /* the program image has no code at the address */
    BT_GAP_UNKNOWN_ADDR, /* the address is not known: atom without a target, return stack empty */
    BT_GAP_DESYNC,       /* packets contradict the program image */
    BT_GAP_NO_SYNC,      /* bytes before the first synchronisation */
    BT_GAP_CAUSES
};

/* Stable lower-case token, for listings: "overflow", "no-code" ... */
BT_API const char *bt_gap_name(enum bt_gap_cause cause);

enum bt_event_kind {
    BT_EVENT_TRACE_ON,      /* value = reason 0..3; address = first instruction; maybe cycles */
    BT_EVENT_GAP,           /* cause; address = last known or wanted address; value = bytes lost,
                               or with IN_DOUBT instructions right before that may be wrong */
    BT_EVENT_EXCEPTION,     /* number; address = preferred return, value = vector */
    BT_EVENT_EXCEPTION_RET, /* the last waypoint was an exception return */
    BT_EVENT_CONTEXT,       /* value = context ID */
    BT_EVENT_VMID,          /* value = VMID */
    BT_EVENT_STATE,         /* value = enum bt_security of the instructions that follow */
    BT_EVENT_TIMESTAMP,     /* value = decoded time; number = 1 if the clock rate changed */
    BT_EVENT_TRIGGER,
    BT_EVENT_DATA,     /* access of the instruction `back` before: address, value, number = bytes */
    BT_EVENT_WARNING,  /* cause = what is odd; decoding goes on, nothing is lost */
    BT_EVENT_CYCLES,   /* cycles = length of the gap before the latest trace-on, told late */
    BT_EVENT_COUNT,    /* cycles since the count before, if known */
    BT_EVENT_SOFTWARE, /* the program wrote `value` into its trace; number = exception level */
    BT_EVENT_KINDS
};

BT_API const char *bt_event_name(enum bt_event_kind kind);

#define BT_EVENT_HAS_ADDRESS 1u   /* address is known */
#define BT_EVENT_HAS_CYCLES  2u   /* cycles is valid */
#define BT_EVENT_HAS_VALUE   4u   /* data: value is valid */
#define BT_EVENT_STORE       8u   /* data: a store, else a load */
#define BT_EVENT_NO_VECTOR   8u   /* exception: where it went is not known */
#define BT_EVENT_M_PROFILE   16u  /* exception: number is that of ARMv7-M (16 = IRQ 0) */
#define BT_EVENT_FAILED      32u  /* data: a store-exclusive that did not store */
#define BT_EVENT_CANCELED    64u  /* exception: the instruction at `address` did not complete */
#define BT_EVENT_IN_DOUBT    128u /* gap: trace contradicts itself, or the code */

/*
 * Something between two instructions. `position` is the number of the instruction that follows
 * (0-based, counted from the start of the stream); events of one position stand in stream order.
 */
struct bt_event {
    uint64_t position;
    uint64_t offset; /* byte of the source's stream where the packet begins */
    uint64_t address;
    uint64_t value;
    uint32_t cycles;
    uint16_t number;
    uint8_t kind;  /* enum bt_event_kind */
    uint8_t cause; /* enum bt_gap_cause */
    uint8_t flags;
    uint8_t isa;        /* of address */
    uint8_t target_isa; /* exception: of the vector */
    uint8_t back;       /* data: 1 = access of the instruction right before; 0 = not known whose;
                           exception: its ETMv4 type + 1, of the M-profile + 33; 0 where
                           the protocol has none */
};

/* Security and privilege as far as they select an address space. */
enum bt_security {
    BT_SEC_SECURE,
    BT_SEC_NONSECURE,
    BT_SEC_HYP,
};

#ifdef __cplusplus
}
#endif

#endif
