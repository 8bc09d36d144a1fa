/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flow of one core. QEMU tells that an instruction starts; what it did is known when the next
 * one starts, or when the core stops. So one instruction is always pending.
 *
 * All functions are called in the vCPU's thread, or while the machine is stopped.
 */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_CPU_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_CPU_H

#include "drivers/virtual/board/board_qemu.h"
#include "drivers/virtual/board/board_truth.h"
#include "drivers/virtual/board/board_unit.h"

/* Where a core is: address and state of what runs next, and its PSR if that can be had. */
struct board_place {
    uint32_t address;
    enum bt_isa isa;
    bool has_psr;
    uint32_t psr;
};

struct board_cpu {
    const struct board_qemu *qemu;
    unsigned index;

    const struct board_insn *pending; /* has started, nothing else is known */
    struct board_insn kept;
    bool started;            /* something has run */
    bool halted;             /* in Debug state */
    struct ptm_state next;   /* what runs after the last instruction that is known to have run */
    uint32_t mode;           /* CPSR[4:0] there */
    bool nonsecure;          /* SCR.NS */
    uint32_t came_from[32];  /* preferred return of the exception that entered a mode */
    uint32_t vector_base[3]; /* VBAR of Secure and Non-secure state, MVBAR; 0 after reset */
    enum bt_isa last_isa;    /* for QEMUs that do not tell */

    uint64_t count;     /* instructions that ran */
    uint64_t anomalies; /* steps that no rule explains */
    struct board_unit unit;
    struct board_truth truth;
};

/* `unit` and `truth` are ready. */
void board_cpu_init(struct board_cpu *c, unsigned index, const struct board_qemu *q);

/* The pending instruction led to `to`. */
void board_cpu_advance(struct board_cpu *c, struct board_place to);

/* An instruction starts. */
static inline void board_cpu_starts(struct board_cpu *c, const struct board_insn *insn);

/* As the core stands still between two instructions: catches up with it. */
void board_cpu_settle(struct board_cpu *c);

/* The machine has stopped: Debug state if `debug`, and everything goes to the port. */
void board_cpu_halt(struct board_cpu *c, bool debug);

/* The machine is about to start: leaves Debug state. */
void board_cpu_resume(struct board_cpu *c);

/* Records of translated code are about to be freed. */
void board_cpu_keep(struct board_cpu *c);

/* What runs next, as far as is known. */
struct ptm_state board_cpu_here(const struct board_cpu *c);

/* For the exception rules: an instruction ran and `to` is next; PSR of a place; security there. */
void board_cpu_commit(struct board_cpu *c, const struct board_insn *insn, struct board_place to);
bool board_cpu_psr(struct board_cpu *c, struct board_place *at);
enum bt_security board_cpu_security(const struct board_cpu *c, uint32_t mode);

/* Index in vector_base[] of an exception that is taken to `mode` now. */
unsigned board_cpu_vectors(const struct board_cpu *c, uint32_t mode);

/* Is `to` where `insn` goes if nothing interferes? Of indirect branches: always. */
bool board_cpu_follows(const struct board_insn *insn, struct board_place to);

/* The slow path of board_cpu_starts(). */
void board_cpu_start_slowly(struct board_cpu *c, const struct board_insn *insn);

static inline void board_cpu_starts(struct board_cpu *c, const struct board_insn *insn)
{
    const struct board_insn *before = insn->before;

    if (!before || c->pending != before || c->halted) {
        board_cpu_start_slowly(c, insn);
        return;
    }
    c->count++;
    if (c->truth.instructions)
        board_truth_add(&c->truth, before->address | (before->isa != BT_ISA_A32));
    board_unit_ran_plain(&c->unit, before);
    c->pending = insn;
}

#endif
