/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is known of a core at one place of its history, since it was read there: registers, and
 * pieces of RAM as far as they have come. What the debugger writes at a halt begins another state
 * at the same place: the one before is where a segment of the history ends, the new one where the
 * next begins.
 */
#ifndef SERVER_REVERSE_SNAPSHOT_H
#define SERVER_REVERSE_SNAPSHOT_H

#include "decoder/execute/execute.h"
#include "drivers/target/target.h"

/* RAM that was read, or (bytes NULL) was written with what nobody has read back. */
struct reverse_piece {
    uint64_t address;
    size_t length;
    uint8_t *bytes;
};

struct reverse_snapshot {
    uint32_t halt; /* that of this number, the same for all cores; 0: not known */
    uint64_t position;
    uint64_t decoded; /* end of the history at the halt: what lies between it and `position` was
                         known by the PC alone, or held back; a loss takes its numbers away */
    uint64_t pc;
    struct execute_regs regs;
    struct reverse_piece *pieces; /* later ones count over earlier ones */
    size_t piece_count, piece_max;
    uint64_t bytes;    /* of RAM that are known */
    uint64_t read_ns;  /* that reading took */
    bool complete;     /* all RAM that is to be read was, or will not be */
    bool whole;        /* and all of it was */
    bool ends, begins; /* a segment may end here, begin here */
    bool carries;      /* RAM that was not read is as it was before */
    bool recorded;     /* or was not to be */
};

/* `regs` of a target with these registers. */
void reverse_snapshot_regs(struct reverse_snapshot *s, const struct target_regs *regs,
                           const struct target_register *list, unsigned count,
                           enum execute_profile profile);

/* A and R profile: what MPIDR reads as; 0: it is not known. */
void reverse_snapshot_mpidr(struct reverse_snapshot *s, uint32_t mpidr);

/* M profile: the core has just been reset. Registers that its debugger cannot read are what a reset
 * makes them (DDI 0403E.e B1.5.5). */
void reverse_snapshot_reset(struct reverse_snapshot *s);

/* What `r` knows of the status, of stack pointers and of registers beyond the first seventeen goes
 * to `regs`, whose SP and PSR are set already; of AArch64 all that it knows, PSTATE as a whole. */
void reverse_snapshot_tell(const struct execute_regs *r, const struct target_register *list,
                           unsigned count, enum execute_profile profile, struct target_regs *regs);

/* False: it is not known. */
static inline bool reverse_snapshot_sp(enum execute_profile profile, const struct execute_regs *r,
                                       uint64_t *sp)
{
    int reg = execute_sp(profile, r);
    *sp = reg < 0 ? 0 : r->value[reg];
    return reg >= 0 && r->known >> reg & 1;
}

/* RAM as it is there; copied. `bytes` NULL: not known any more. BT_OK or BT_ERR_NOMEM. */
int reverse_snapshot_add(struct reverse_snapshot *s, uint64_t address, const uint8_t *bytes,
                         size_t length);

/* BT_OK or BT_ERR_NOMEM, after which *to is to be released. */
int reverse_snapshot_copy(struct reverse_snapshot *to, const struct reverse_snapshot *from);
void reverse_snapshot_release(struct reverse_snapshot *s);

/* What is known of RAM in the state goes over what `memory` has. BT_OK or BT_ERR_NOMEM. */
int reverse_snapshot_put(const struct reverse_snapshot *s, struct execute_memory *memory);

/* Bytes of memory that it takes. */
static inline size_t reverse_snapshot_memory(const struct reverse_snapshot *s)
{
    return sizeof *s + s->piece_max * sizeof *s->pieces + (size_t)s->bytes;
}

#endif
