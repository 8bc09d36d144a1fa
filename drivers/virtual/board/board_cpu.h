/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flow of one core. QEMU tells that an instruction starts; what it did is known when the next
 * one starts, or when the core stops. So one instruction is always pending.
 *
 * All functions are called in the vCPU's thread, or while the machine is stopped.
 */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_CPU_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_CPU_H

#include "board_itm.h"
#include "board_qemu.h"
#include "board_truth.h"
#include "board_unit.h"

/* Where a core is: address and state of what runs next, and its PSR if that can be had. */
struct board_place {
    uint64_t address;
    enum bt_isa isa;
    bool has_psr;
    uint32_t psr;
};

/* Of a handler's number: it is that of Non-secure state, which has some of the same number. */
#define BOARD_HANDLER_NS     0x200u
#define BOARD_HANDLER_NUMBER 0x1ffu

/* Exceptions that can be active at once: one of each number, but nobody nests so deep. */
#define BOARD_ACTIVE_MAX 16

/* What the M profile needs: there is no mode, but a number (IPSR), and a stack of those. */
struct board_handlers {
    uint32_t current; /* IPSR, and BOARD_HANDLER_NS; 0: Thread mode */
    uint32_t entry;   /* of the current handler */
    uint32_t back;    /* where it goes back to, as its frame says; bit 0: in Non-secure state */
    bool hidden;      /* it is a Secure one that has called a Non-secure function: IPSR is 1 */
    unsigned depth;
    struct {
        uint32_t number;
        uint32_t entry;
        uint32_t back;
        bool hidden;
    } below[BOARD_ACTIVE_MAX]; /* what the current one has interrupted, newest last */
};

struct board_cpu {
    const struct board_qemu *qemu;
    const struct CPUState *handle; /* QEMU's own; NULL before the core is there */
    unsigned index;
    bool m_profile;
    bool a64; /* in AArch64 state: `mode` is PSTATE.M */

    const struct board_insn *pending; /* has started, nothing else is known */
    struct board_insn kept;
    struct board_insn gate; /* the last SG that ran: no code that QEMU has translated */
    bool has_stack;         /* `stack` is SP before the pending one, which is an indirect branch: */
    uint32_t stack;         /* QEMU tells registers where a block of code begins */
    bool failed;            /* the pending one's condition; only looked at for unit.each */
    bool started;           /* something has run */
    bool halted;            /* in Debug state */
    struct board_state next; /* what runs after the last instruction that is known to have run */
    uint32_t mode;           /* CPSR[4:0] there */
    bool nonsecure;          /* SCR.NS; M profile: in Non-secure state */
    bool has_security;       /* M profile: with the Security Extension */
    uint32_t came_from[32];  /* preferred return of the exception that entered a mode */
    uint32_t vector_base[3]; /* VBAR of Secure and Non-secure state, MVBAR; 0 after reset */
    enum bt_isa last_isa;    /* for QEMUs that do not tell */
    struct board_handlers handlers;
    uint32_t entered;      /* exception, of which nobody has been told; 0: none */
    bool returns;          /* the instruction that is being committed is an exception return, */
    bool preempted;        /* in place of whose target comes a handler */
    bool function_returns; /* it is a return from a Non-secure function to its Secure caller */

    uint64_t count;     /* instructions that ran */
    uint64_t anomalies; /* steps that no rule explains */
    struct board_unit unit;
    struct board_itm *itm; /* of the first core, else NULL */
    struct board_truth truth;
};

/* `unit` and `truth` are ready. */
void board_cpu_init(struct board_cpu *c, unsigned index, enum board_profile profile,
                    const struct board_qemu *q);

/* The pending instruction led to `to`. */
void board_cpu_advance(struct board_cpu *c, struct board_place to);

/* An instruction starts. */
static inline void board_cpu_starts(struct board_cpu *c, const struct board_insn *insn);

/* As the core stands still between two instructions: catches up with it. */
void board_cpu_catch_up(struct board_cpu *c);

/* The machine has stopped: Debug state if `debug`, and everything goes to the port. */
void board_cpu_halt(struct board_cpu *c, bool debug);

/* The machine is about to start: leaves Debug state. */
void board_cpu_resume(struct board_cpu *c);

/* Records of translated code are about to be freed. */
void board_cpu_keep(struct board_cpu *c);

/* The state of a place, in the mode or handler that the core is known to be in. */
struct board_state board_cpu_state(const struct board_cpu *c, uint64_t address, enum bt_isa isa);

/* Instruction set of a PSR value. */
enum bt_isa board_cpu_isa(const struct board_cpu *c, uint32_t psr);

/* What runs next, as far as is known. */
struct board_state board_cpu_here(const struct board_cpu *c);

/* For the exception rules: an instruction ran and `to` is next; PSR of a place; security there. */
void board_cpu_commit(struct board_cpu *c, const struct board_insn *insn, struct board_place to);
bool board_cpu_psr(struct board_cpu *c, struct board_place *at);
enum bt_security board_cpu_security(const struct board_cpu *c, uint32_t mode);

/* Index in vector_base[] of an exception that is taken to `mode` now. */
unsigned board_cpu_vectors(const struct board_cpu *c, uint32_t mode);

/*
 * M profile: number of the handler in which the core is by its PSR. One that is hidden is looked
 * for; `call`: the last instruction may have been what hides it, BLXNS.
 */
uint32_t board_cpu_handler(const struct board_cpu *c, uint32_t psr, bool call);

/*
 * M profile: `to` is where SG has led the core into Secure state. QEMU does that without telling,
 * so what was pending is led to the SG, the SG runs, and nothing is pending. False:
 * it is not so. */
bool board_cpu_through_gate(struct board_cpu *c, const struct board_insn *pending,
                            struct board_place to);

/* The pending instruction, which an exception has cancelled or will repeat. */
struct board_step board_cpu_cancelled(const struct board_cpu *c, const struct board_insn *insn);

/* Is `to` where `insn` goes if nothing interferes? Of indirect branches: always. */
bool board_cpu_follows(const struct board_insn *insn, struct board_place to);

/* A transfer of the instruction that runs. */
void board_cpu_access(struct board_cpu *c, const struct board_insn *insn, uint32_t address,
                      unsigned size);

/* Those that an instruction made go to the log, before it is counted. */
void board_cpu_log_accesses(struct board_cpu *c);

/* The slow path of board_cpu_starts(). */
void board_cpu_start_slowly(struct board_cpu *c, const struct board_insn *insn);

/* Will a conditional instruction that is about to start be executed? */
bool board_cpu_condition_fails(struct board_cpu *c, const struct board_insn *insn);

static inline void board_cpu_starts(struct board_cpu *c, const struct board_insn *insn)
{
    const struct board_insn *before = insn->before;

    if (!before || c->pending != before || c->halted) {
        board_cpu_start_slowly(c, insn);
        return;
    }
    if (c->unit.access_count > 0)
        board_cpu_log_accesses(c);
    c->count++;
    if (c->truth.instructions)
        board_truth_add(&c->truth, before->address | (before->isa == BT_ISA_T32));
    board_unit_ran_plain(&c->unit, before, !c->failed);
    c->pending = insn;
    c->has_stack = false;
    if (c->unit.each)
        c->failed = insn->condition < BOARD_COND_ALWAYS && board_cpu_condition_fails(c, insn);
}

#endif
