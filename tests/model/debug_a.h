/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Model of the debug logic of one ARMv7-A core as an APB-AP sees it (DDI 0406C.d part C): debug
 * registers, both channels of the DCC in their three modes, instructions through ITR on the halted
 * core, comparators, power-down and OS lock. What is not common to all such cores is marked
 * "architecture" where it is used.
 *
 * It is strict where clients like to be careless: what is ignored by hardware is ignored and
 * counted, and flags that hardware sets later are not yet set at the first look.
 */
#ifndef TESTS_USB_DEBUG_A_H
#define TESTS_USB_DEBUG_A_H

#include "core_a.h"
#include "model_bus.h"

#define DEBUG_A_BREAKPOINTS 6
#define DEBUG_A_WATCHPOINTS 4
#define DEBUG_A_VECTORS     8
#define DEBUG_A_REGS        18 /* R0 to R15, CPSR, SPSR */

#define DSCR_HALTED     (1u << 0)
#define DSCR_RESTARTED  (1u << 1)
#define DSCR_MOE        (0xfu << 2)
#define DSCR_SDABORT    (1u << 6)
#define DSCR_ADABORT    (1u << 7)
#define DSCR_UND        (1u << 8)
#define DSCR_INTDIS     (1u << 11)
#define DSCR_ITREN      (1u << 13)
#define DSCR_HDBGEN     (1u << 14)
#define DSCR_MODE       (3u << 20)
#define DSCR_INSTRCOMPL (1u << 24)
#define DSCR_PIPEADV    (1u << 25)
#define DSCR_TXFULL_L   (1u << 26)
#define DSCR_RXFULL_L   (1u << 27)
#define DSCR_TXFULL     (1u << 29)
#define DSCR_RXFULL     (1u << 30)
#define DSCR_STICKY     (DSCR_SDABORT | DSCR_ADABORT | DSCR_UND)

#define PRCR_NO_POWER_DOWN (1u << 0)
#define PRCR_RESET         (1u << 1)
#define PRCR_HOLD          (1u << 2)

/* Why a core is in Debug state: DSCR[5:2]. */
enum debug_a_entry {
    DEBUG_A_REQUEST = 0,
    DEBUG_A_BREAKPOINT = 1,
    DEBUG_A_BKPT = 3,
    DEBUG_A_EXTERNAL = 4,
    DEBUG_A_VECTOR = 5,
    DEBUG_A_OS_UNLOCK = 8,
    DEBUG_A_WATCHPOINT = 10, /* a Cortex-A9's are synchronous */
};

/* What the client did, and what it did against the rules. */
struct debug_a_counters {
    unsigned instructions;  /* through ITR */
    unsigned undefined;     /* of these */
    unsigned aborts;        /* of these */
    unsigned itr_ignored;   /* writes of ITR: running, ITRen off, busy, or a sticky flag is set */
    unsigned dtr_ignored;   /* accesses to a DTR that was not ready */
    unsigned dtr_misused;   /* instructions that read an empty DTR, or filled a full one */
    unsigned bad_restarts;  /* ITRen on, busy, or a sticky flag left set */
    unsigned locked_writes; /* software lock */
    unsigned refused;       /* accesses to a core without power, or behind its OS lock */
    unsigned halts;
};

/* Breakpoints and watchpoints that the core has been given for one comparator. */
struct debug_a_breakpoint {
    unsigned count;
    enum core_a_breakpoint_kind kind;
    uint32_t address[2];
    uint32_t size;
};

/*
 * Physical addresses of the core behind which is the debug bus, and not memory: for loads and
 * stores in Debug state. Whole words alone; the bus sees offsets. Programs that run do not reach
 * it.
 */
struct debug_a_window {
    struct model_bus bus;
    uint32_t base, size; /* size 0: there is none */
};

/* Fields are for tests to look at; counters and the window may be written. */
struct debug_a {
    struct core_a cores;
    unsigned index;
    struct debug_a_counters counters;
    struct debug_a_window window;

    uint32_t dscr; /* the bits that are written, and the sticky ones */
    enum debug_a_entry entry;
    bool halted, entering, stepping;
    bool halt_request, external_request;
    bool never_halts;       /* whatever it is told: tests may write it */
    bool unlocked;          /* the request came from the OS unlock catch */
    unsigned halt_reads;    /* of DSCR until HALTED shows */
    unsigned restart_reads; /* until RESTARTED shows */
    unsigned busy_reads;    /* until InstrCompl shows */

    uint32_t dtrrx, dtrtx, itr;
    bool rxfull, txfull, rxfull_l, txfull_l, instrcompl_l, pipeadv;

    uint32_t wfar, vcr, ecr, dsccr, dsmcr, prcr, claim;
    uint32_t bvr[DEBUG_A_BREAKPOINTS], bcr[DEBUG_A_BREAKPOINTS];
    uint32_t wvr[DEBUG_A_WATCHPOINTS], wcr[DEBUG_A_WATCHPOINTS];
    struct debug_a_breakpoint code[DEBUG_A_BREAKPOINTS], data[DEBUG_A_WATCHPOINTS];
    struct debug_a_breakpoint vectors[DEBUG_A_VECTORS];
    bool stops_at_bkpt;

    bool locked;    /* the software lock, for accesses without address bit 31 */
    bool off;       /* the core's power domain */
    bool was_off;   /* sticky, in PRSR */
    bool was_reset; /* sticky, in PRSR */
    bool in_reset, reset_line;
    bool asks_for_reset; /* by PRCR; the system's reset controller may hear it */
    bool has_os_lock, os_locked;

    /* Registers of the halted core: read when they are wanted, written back before they matter. */
    uint32_t reg[DEBUG_A_REGS];
    uint32_t valid, dirty; /* a bit each */
    uint32_t par;          /* the result of an address translation */
};

/* The core runs. `cores` is copied; its context must outlive the model. */
void debug_a_init(struct debug_a *d, const struct core_a *cores, unsigned index);

/*
 * A register, 0x000 to 0xffc; `external`: with address bit 31 set. 0, or -1: the bus refuses. The
 * core may have stopped or been told to go afterwards:
 * then debug_a_poll() and what follows it. */
int debug_a_read(struct debug_a *d, unsigned offset, bool external, uint32_t *value);
int debug_a_write(struct debug_a *d, unsigned offset, bool external, uint32_t value);

/*
 * In this order for all cores, then core_a's carry_out(), then debug_a_enter() for all: poll()
 * finds that the core has stopped or shall halt; true when it is about to enter Debug state. Only
 * then are its registers there.
 */
bool debug_a_poll(struct debug_a *d);
void debug_a_enter(struct debug_a *d);

/* EDBGRQ, from a cross trigger; and DBGRESTART. */
void debug_a_request(struct debug_a *d, bool level);
void debug_a_restart(struct debug_a *d);

/*
 * The reset line of the core goes low; and high again: it has been reset, and stands in front of
 * its first instruction. The debug logic has not, and what it was told stays. The core runs then,
 * unless PRCR holds it in reset; a reset that is caught, or a halt that was asked for meanwhile,
 * stops it before its first instruction (architecture).
 */
void debug_a_reset_line(struct debug_a *d);
void debug_a_was_reset(struct debug_a *d);

/* The core's power domain, which holds most of the debug registers; and its OS lock. */
void debug_a_power(struct debug_a *d, bool on);
void debug_a_os_lock(struct debug_a *d, bool locked);

/* An instruction for the halted core; sets the sticky flags. */
void debug_a_execute(struct debug_a *d, uint32_t opcode);

/* Registers 0 to 17 of the halted core as instructions see them: the PC is ahead. */
uint32_t debug_a_get(struct debug_a *d, unsigned reg);
void debug_a_set(struct debug_a *d, unsigned reg, uint32_t value);
void debug_a_write_back(struct debug_a *d);

/* DTRs as instructions see them. */
uint32_t debug_a_take_rx(struct debug_a *d);
void debug_a_put_tx(struct debug_a *d, uint32_t value);

/* PRCR was written: does it hold the core in reset no longer? */
void debug_a_release(struct debug_a *d);

/* Comparators and vectors: gives the core what the registers say; whether one is at the PC. */
void debug_a_apply_breakpoints(struct debug_a *d);
bool debug_a_breaks_at(const struct debug_a *d, uint32_t pc);
bool debug_a_vector_at(const struct debug_a *d, uint32_t pc);
/* Mismatch breakpoints: is one on; does one hit at this PC? */
bool debug_a_steps(const struct debug_a *d);
bool debug_a_mismatch_at(const struct debug_a *d, uint32_t pc);

/* One instruction of a group; false: it is not one of these. */
bool debug_a_coprocessor(struct debug_a *d, uint32_t opcode);
bool debug_a_transfer(struct debug_a *d, uint32_t opcode);

/* The fault registers after an access that was refused, and the sticky abort flag. */
void debug_a_abort(struct debug_a *d, uint32_t address, bool write, int why);
void debug_a_undefined(struct debug_a *d);

/* Floating point is on; its control registers need less. */
bool debug_a_fp_enabled(const struct debug_a *d, bool control);
uint32_t debug_a_fault_status(struct debug_a *d, uint32_t address, int why);

#endif
