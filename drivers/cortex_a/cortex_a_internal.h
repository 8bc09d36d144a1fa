/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the Cortex-A driver share. DDI 0406C.d part C. */
#ifndef DRIVERS_CORTEX_A_INTERNAL_H
#define DRIVERS_CORTEX_A_INTERNAL_H

#include "drivers/cortex_a/cortex_a.h"

#define DBG_DIDR  0x000u
#define DBG_VCR   0x01cu
#define DBG_DSCCR 0x028u
#define DBG_DSMCR 0x02cu
#define DBG_BANK  0x080u /* DTRRX, ITR, DSCR, DTRTX: 16 bytes that one TAR reaches */
#define DBG_DSCR  0x088u
#define DBG_DRCR  0x090u
#define DBG_BVR   0x100u
#define DBG_BCR   0x140u
#define DBG_WVR   0x180u
#define DBG_WCR   0x1c0u
#define DBG_OSLAR 0x300u
#define DBG_OSLSR 0x304u
#define DBG_PRCR  0x310u
#define DBG_PRSR  0x314u
#define DBG_MIDR  0xd00u
#define DBG_LAR   0xfb0u
#define DBG_AUTH  0xfb8u

#define BANK_DTRRX 0x0u
#define BANK_ITR   0x4u
#define BANK_DSCR  0x8u
#define BANK_DTRTX 0xcu

#define DSCR_HALTED     0x00000001u
#define DSCR_RESTARTED  0x00000002u
#define DSCR_MOE_SHIFT  2u
#define DSCR_UNDEFINED  0x00000100u
#define DSCR_STICKY     0x000001c0u
#define DSCR_INTDIS     0x00000800u
#define DSCR_ITREN      0x00002000u
#define DSCR_HDBGEN     0x00004000u
#define DSCR_MODE_MASK  0x00300000u
#define DSCR_MODE_STALL 0x00100000u /* accesses to ITR and channel wait until they are possible */
#define DSCR_MODE_FAST  0x00200000u
#define DSCR_INSTRCOMPL 0x01000000u
#define DSCR_TXFULL     0x20000000u
#define DSCR_RXFULL     0x40000000u

#define DRCR_HALT    0x01u
#define DRCR_RESTART 0x02u
#define DRCR_CLEAR   0x04u

#define PRCR_WARM_RESET 0x02u

#define PRSR_POWERED      0x01u
#define PRSR_STICKY_POWER 0x02u
#define PRSR_IN_RESET     0x04u
#define PRSR_STICKY_RESET 0x08u

/* Instructions, with r0 where there is a choice. */
#define A_GIVE(n)     (0xee100e15u | (uint32_t)(n) << 12) /* rn <- DTRRX */
#define A_TAKE(n)     (0xee000e15u | (uint32_t)(n) << 12) /* DTRTX <- rn */
#define A_READ_PC     0xe1a0000fu
#define A_WRITE_PC    0xe1a0f000u
#define A_READ_CPSR   0xe10f0000u
#define A_WRITE_CPSR  0xe12ff000u
#define A_WRITE_MODE  0xe121f000u
#define A_FLUSH       0xee070f95u
#define A_DSB         0xee070f9au
#define A_LOAD_BLOCK  0xecb05e01u
#define A_STORE_BLOCK 0xeca05e01u
#define A_ICIALLU     0xee070f15u
#define A_BPIALL      0xee070fd5u
#define A_DCCMVAC     0xee070f3au
#define A_READ_SCTLR  0xee110f10u

#define CPSR_MODE  0x1fu
#define CPSR_THUMB 0x20u
#define CPSR_FIQ   0x40u
#define CPSR_IRQ   0x80u
#define CPSR_MASKS (CPSR_FIQ | CPSR_IRQ)
#define CPSR_BIG   0x200u
#define MODE_USER  0x10u
#define MODE_SVC   0x13u

/* Records the failure; returns `error`. */
static inline int cortex_a_fail(struct cortex_a *core, enum cortex_a_failure failure,
                                uint32_t address, int error)
{
    core->failure = failure;
    core->failure_address = address;
    return error;
}

/* Records a failure of the port, if error is one; returns `error`. */
static inline int cortex_a_port(struct cortex_a *core, int error)
{
    if (error == 0)
        return 0;
    return cortex_a_fail(core, CORTEX_A_FAIL_PORT, (uint32_t)core->ap->fault_address, error);
}

/* A debug register by its offset; may be tried again. */
int cortex_a_peek(struct cortex_a *core, uint32_t offset, uint32_t *value);
int cortex_a_poke(struct cortex_a *core, uint32_t offset, uint32_t value);

int cortex_a_read_dscr(struct cortex_a *core);                 /* into core->dscr */
int cortex_a_write_dscr(struct cortex_a *core, uint32_t bits); /* the bits that can be written */

/* BT_ERR_INVAL with CORTEX_A_FAIL_RUNNING if the core was not halted at the last look. */
static inline int cortex_a_need_halt(struct cortex_a *core)
{
    return core->halted ? 0 : cortex_a_fail(core, CORTEX_A_FAIL_RUNNING, 0, BT_ERR_INVAL);
}

/* Instructions. */

/*
 * What a halted core is to do: values given, instructions executed, values taken, in this order.
 * All of it goes out at once. It is done again, step by step, when the line was damaged, so a
 * sequence must begin from nothing, unless it is played with `once`.
 */
struct cortex_a_sequence {
    struct mem_ap_banked list[MEM_AP_BANKED];
    unsigned count;
};

static inline unsigned cortex_a_room(const struct cortex_a_sequence *s)
{
    return MEM_AP_BANKED - s->count;
}

static inline void cortex_a_give(struct cortex_a_sequence *s, uint32_t value)
{
    s->list[s->count++] =
        (struct mem_ap_banked){.offset = BANK_DTRRX, .write = true, .value = value};
}

/* The state is read behind each instruction: it tells, and it lets the next one in. */
static inline void cortex_a_execute(struct cortex_a_sequence *s, uint32_t opcode)
{
    s->list[s->count++] =
        (struct mem_ap_banked){.offset = BANK_ITR, .write = true, .value = opcode};
    s->list[s->count++] = (struct mem_ap_banked){.offset = BANK_DSCR};
}

/* Returns where the value will be: s->list[].value. */
static inline unsigned cortex_a_take(struct cortex_a_sequence *s)
{
    s->list[s->count] = (struct mem_ap_banked){.offset = BANK_DTRTX};
    return s->count++;
}

/* BT_ERR_IO with CORTEX_A_FAIL_ABORT, or BT_ERR_UNSUPPORTED with CORTEX_A_FAIL_UNDEFINED: the
 * instructions behind that one did nothing. */
int cortex_a_play(struct cortex_a *core, struct cortex_a_sequence *s, bool once);

/* For fast mode: a sequence that may leave a value in the channel, and one access more. */
int cortex_a_start(struct cortex_a *core, struct cortex_a_sequence *s);
int cortex_a_play_one(struct cortex_a *core, struct mem_ap_banked *access);

/* One instruction, its r0 given before it; and one whose r0 is taken behind it. r0 is marked. */
int cortex_a_do(struct cortex_a *core, uint32_t opcode, uint32_t r0);
int cortex_a_ask(struct cortex_a *core, uint32_t opcode, uint32_t *r0);

/* Behind an error: nothing is left in the channel, and no error is pending. */
int cortex_a_clear_errors(struct cortex_a *core);

/* Registers. */
int cortex_a_load_values(struct cortex_a *core);  /* at a halt */
int cortex_a_store_values(struct cortex_a *core); /* before the core runs */
int cortex_a_find_features(struct cortex_a *core);
int cortex_a_find_caches(struct cortex_a *core); /* core->line, as of this halt */

/* A user program may not touch CP15: supervisor mode between these two. */
int cortex_a_enter_privileged(struct cortex_a *core, bool *entered);
int cortex_a_leave_privileged(struct cortex_a *core, bool entered);

/* Instructions are fetched anew, if memory has changed. */
int cortex_a_sync_code(struct cortex_a *core);

/* Breakpoints and watchpoints. */
int cortex_a_restore_breakpoints(struct cortex_a *core); /* all comparators as they have to be */
int cortex_a_clear_breakpoints(struct cortex_a *core);
bool cortex_a_breakpoint_at(const struct cortex_a *core, uint32_t address);
/* Take the breakpoints at `address` away for a step, or put them back. */
int cortex_a_lift(struct cortex_a *core, uint32_t address, bool away);
/* One comparator as a breakpoint on every instruction but the one at `pc`, or put back. */
int cortex_a_arm_step(struct cortex_a *core, uint32_t pc, bool thumb);
int cortex_a_disarm_step(struct cortex_a *core);
/* The bytes under watchpoints, before the core runs; only where it is needed. */
int cortex_a_note_watched(struct cortex_a *core);
/* The watchpoint that matched: fills in the last status. */
int cortex_a_find_watch(struct cortex_a *core);

/* Software breakpoints. */
int cortex_a_insert_software(struct cortex_a *core, uint32_t address, unsigned length);
int cortex_a_remove_software(struct cortex_a *core, uint32_t address);
bool cortex_a_software_at(const struct cortex_a *core, uint32_t address);
int cortex_a_lift_software(struct cortex_a *core, uint32_t address, bool away);

static inline bool cortex_a_thumb(const struct cortex_a *core)
{
    return (core->values[CORTEX_A_CPSR] & CPSR_THUMB) != 0;
}

static inline uint64_t cortex_a_now(const struct cortex_a *core)
{
    return debug_now(&core->ap->dp->clock);
}

static inline void cortex_a_sleep(const struct cortex_a *core, uint32_t time)
{
    debug_sleep(&core->ap->dp->clock, time);
}

#endif
