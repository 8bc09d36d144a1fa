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
    BT_GAP_SILENT,       /* the source was connected, but sent nothing while the core ran */
    BT_GAP_CAUSES
};

/* Stable lower-case token, for listings: "overflow", "no-code" ... */
BT_API const char *bt_gap_name(enum bt_gap_cause cause);

enum bt_event_kind {
    BT_EVENT_TRACE_ON,        /* u.trace_on; maybe cycles */
    BT_EVENT_GAP,             /* u.gap; cause */
    BT_EVENT_EXCEPTION,       /* u.exception */
    BT_EVENT_EXCEPTION_RET,   /* u.exception_return; the last waypoint was one */
    BT_EVENT_CONTEXT,         /* u.context */
    BT_EVENT_VMID,            /* u.vmid */
    BT_EVENT_STATE,           /* u.state */
    BT_EVENT_TIMESTAMP,       /* u.timestamp */
    BT_EVENT_TRIGGER,         /* u.trigger */
    BT_EVENT_DATA,            /* u.data */
    BT_EVENT_WARNING,         /* u.gap; cause = what is odd; decoding goes on, nothing is lost */
    BT_EVENT_CYCLES,          /* cycles = length of the gap before the latest trace-on, told late */
    BT_EVENT_COUNT,           /* cycles since the count before, if known */
    BT_EVENT_SOFTWARE,        /* u.software */
    BT_EVENT_TRANSACTION,     /* u.transaction; one that failed is an exception */
    BT_EVENT_STIMULUS,        /* u.stimulus */
    BT_EVENT_EXCEPTION_TRACE, /* u.exception_trace */
    BT_EVENT_SAMPLE,          /* u.sample */
    BT_EVENT_COUNTERS,        /* u.counters */
    BT_EVENT_WATCH,           /* u.watch */
    BT_EVENT_LOCAL_TIME,      /* u.local_time */
    BT_EVENT_FREQUENCY,       /* u.frequency */
    BT_EVENT_KINDS
};

BT_API const char *bt_event_name(enum bt_event_kind kind);

/* Security and privilege as far as they select an address space. */
enum bt_security {
    BT_SEC_SECURE,
    BT_SEC_NONSECURE,
    BT_SEC_HYP,
};

/* What the DWT of an M-profile core saw of an exception. */
enum bt_exception_action {
    BT_EXCEPTION_ENTERED = 1,
    BT_EXCEPTION_EXITED,
    BT_EXCEPTION_RESUMED, /* it goes on, after another one; number 0: the thread does */
};

/* What a core did when its PC was to be sampled. */
enum bt_sample_state {
    BT_SAMPLE_RUNNING,
    BT_SAMPLE_ASLEEP,
    BT_SAMPLE_PROHIBITED, /* in a state that is not to be traced */
};

/* What bt_watch.place is. */
enum bt_watch_place {
    BT_WATCH_NOTHING,    /* not told: the comparator's own address */
    BT_WATCH_PC,         /* of the instruction */
    BT_WATCH_ADDRESS,    /* of the access */
    BT_WATCH_ADDRESS_16, /* its low 16 bits; the others are the comparator's */
    BT_WATCH_ADDRESS_8,
};

/* How a local timestamp lies to the events that it is for, those since the one before. */
enum bt_time_relation {
    BT_TIME_EXACT,
    BT_TIME_LATE,        /* they are older than it says, but not older than the one before */
    BT_TIME_EVENT_EARLY, /* what they tell of happened before they were made */
    BT_TIME_BOTH,
};

#define BT_NO_TYPE 0xff /* bt_exception.type: the protocol gives none */

/*
 * Something between two instructions. `position` is the number of the instruction that follows
 * (0-based, counted from the start of the stream); events of one position stand in stream order.
 * `kind` selects the member of `u`; no other member is to be read. Kinds without one leave `u`
 * zero.
 */
struct bt_event {
    uint64_t position;
    uint64_t offset; /* byte of the source's stream where the packet begins */
    uint32_t cycles; /* if has_cycles: since the count before; length of the gap (trace-on, cycles)
                      */
    uint8_t kind;    /* enum bt_event_kind */
    uint8_t cause;   /* enum bt_gap_cause of trace-on, gap and warning; otherwise BT_GAP_NONE */
    bool has_cycles;
    union {
        struct bt_trace_on {
            uint64_t address; /* if has_address: of the first instruction */
            bool has_address;
            uint8_t isa;      /* enum bt_isa of `address` */
            uint8_t reason;   /* 0..3 */
            uint8_t security; /* enum bt_security of what follows */
        } trace_on;
        struct bt_gap {        /* gap and warning */
            uint64_t address;  /* if has_address: last known or wanted */
            uint64_t bytes;    /* missing from the trace; 0: not known */
            uint32_t doubtful; /* instructions right before that may be wrong; saturates */
            bool has_address;
            uint8_t isa; /* enum bt_isa of `address` */
        } gap;
        struct bt_exception {
            uint64_t return_address; /* if has_return: the preferred one */
            uint64_t vector;         /* if has_vector: where it went */
            uint16_t number;         /* if m_profile that of ARMv7-M (16 = IRQ 0) */
            uint8_t return_isa;      /* enum bt_isa */
            uint8_t vector_isa;      /* enum bt_isa */
            uint8_t type;            /* as ETMv4 and ETE number it; BT_NO_TYPE: not told */
            bool m_type : 1;         /* `type` is one of the M-profile's */
            bool has_return : 1;
            bool has_vector : 1;
            bool m_profile : 1; /* `number` is one of the M-profile's */
            bool canceled : 1;  /* the instruction at return_address did not complete */
        } exception;
        struct bt_exception_return {
            uint64_t address; /* if has_address: of the instruction that returned */
            bool has_address;
            uint8_t isa; /* enum bt_isa of `address` */
        } exception_return;
        struct bt_context {
            uint32_t id;
        } context;
        struct bt_vmid {
            uint32_t id;
        } vmid;
        struct bt_state {
            uint8_t security; /* enum bt_security of the instructions that follow */
        } state;
        struct bt_timestamp {
            uint64_t value; /* as decoded, in ticks of the trace unit's timestamp clock */
            bool rate_changed;
        } timestamp;
        struct bt_trigger {
            uint16_t mask; /* ETMv4's events; otherwise 0 */
        } trigger;
        struct bt_access {
            uint64_t address; /* if has_address */
            uint64_t value;   /* if has_value */
            uint8_t bytes;    /* 0: not known */
            uint8_t back;     /* 1: of the instruction right before; 0: not known whose */
            bool has_address : 1;
            bool has_value : 1;
            bool store : 1;  /* otherwise a load */
            bool failed : 1; /* a store-exclusive that did not store */
        } data;
        struct bt_software {
            uint64_t value; /* the program wrote it into its trace */
            uint8_t level;  /* exception level */
        } software;
        struct bt_transaction {
            bool start; /* otherwise it is committed */
        } transaction;
        struct bt_stimulus { /* software wrote to an ITM's port or an STM's channel */
            uint64_t value;
            uint64_t time;    /* if has_time: in ticks of the STM's timestamp clock */
            uint16_t channel; /* ITM: the port */
            uint16_t master;  /* STM: who wrote */
            uint8_t bits;     /* of `value`: 4 to 64; 0: a flag, without a value */
            bool stm : 1;     /* by an STM */
            bool marked : 1;
            bool has_time : 1;
        } stimulus;
        struct bt_exception_trace {
            uint16_t number; /* that of ARMv7-M (16 = IRQ 0) */
            uint8_t action;  /* enum bt_exception_action */
        } exception_trace;
        struct bt_sample {
            uint64_t address; /* if running: of an instruction about there */
            uint8_t state;    /* enum bt_sample_state */
        } sample;
        struct bt_counters {
            uint8_t mask; /* of 8-bit counters that wrapped; bit 0 CPI, 1 exception, 2 sleep,
                             3 LSU, 4 fold, 5 cycles */
            bool pmu;     /* counters of the PMU instead, by number */
        } counters;
        struct bt_watch { /* a comparator of the DWT matched */
            uint32_t place;
            uint32_t value;     /* if has_value */
            uint8_t comparator; /* 0 to 3 */
            uint8_t what;       /* enum bt_watch_place: what `place` is */
            uint8_t bytes;      /* of `value` */
            bool has_value : 1;
            bool store : 1; /* with a value: otherwise a load */
        } watch;
        struct bt_local_time {
            uint64_t value;   /* cycles since the stream began, as far as they were traced */
            uint32_t passed;  /* since the local timestamp before */
            uint8_t relation; /* enum bt_time_relation */
            bool doubtful;    /* trace was lost since then */
        } local_time;
        struct bt_frequency {
            uint32_t hertz; /* of the timestamp clock; 0: nobody has told the STM */
        } frequency;
    } u;
};

#ifdef __cplusplus
}
#endif

#endif
