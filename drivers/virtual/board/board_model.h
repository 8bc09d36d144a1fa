/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the board asks of a trace unit's model, whatever its protocol: a core's flow in, bytes of
 * one trace source out. The models themselves (ptm_encoder.h,
 * etmv3_encoder.h) know no board. */
#ifndef DRIVERS_VIRTUAL_BOARD_BOARD_MODEL_H
#define DRIVERS_VIRTUAL_BOARD_BOARD_MODEL_H

#include "board_code.h"
#include "board_options.h"
#include "drivers/virtual/encoder/trace_bytes.h"

/* One instruction that ran. */
struct board_step {
    const struct board_insn *insn;
    bool pass;               /* condition passed; CBZ and CBNZ: branch taken */
    bool exception_return;   /* M profile: a value EXC_RETURN went to the PC */
    bool preempted;          /* and an exception follows in place of the target */
    bool function_return;    /* M profile: a value FNC_RETURN went to the PC */
    struct board_state next; /* what follows, exceptions apart */
};

/* One transfer of the instruction that ran last. */
struct board_access {
    uint32_t address;
    uint8_t size; /* bytes */
};

/* An exception that was taken. */
struct board_exception {
    unsigned number; /* in the trace: see `etmv4` of struct board_model_ops */
    bool cancel;     /* the last instruction told, or a preempted return, did not complete */
    bool chained;    /* M profile: comes in place of the target of an exception return */
    struct board_state preferred; /* where execution stopped */
    struct board_state vector;
};

/* Why trace starts. */
enum board_start {
    BOARD_START_ON,
    BOARD_START_DEBUG_EXIT,
    BOARD_START_OVERFLOW, /* it was lost before */
};

/* All but `time` and `release` return a negative number without memory. */
struct board_model_ops {
    bool each;  /* wants to know of every instruction and its condition, else of waypoints */
    bool etmv4; /* exceptions have its numbers, and an undefined instruction has not run */
    int (*insn)(void *model, const struct board_step *step);
    int (*access)(void *model, const struct board_access *access, bool first); /* or NULL */
    int (*exception)(void *model, const struct board_exception *x);
    int (*start)(void *model, const struct board_state *next, enum board_start reason);
    int (*stop)(void *model);
    int (*overflow)(void *model);
    int (*debug_entry)(void *model, const struct board_state *here);
    int (*context_id)(void *model, uint32_t value);
    int (*time)(void *model, uint64_t cycles, uint64_t now);
    int (*flush)(void *model);
    int (*sync)(void *model);
    void (*release)(void *model);
};

struct board_model {
    const struct board_model_ops *ops;
    void *model;
};

/* Model of the protocol that `o` asks for. 0, or -1: options contradict each other. */
int board_model_init(struct board_model *m, const struct board_options *o, struct trace_bytes *out);

/* One file each. */
int board_ptm_init(struct board_model *m, const struct board_options *o, struct trace_bytes *out);
int board_etmv3_init(struct board_model *m, const struct board_options *o, struct trace_bytes *out);
int board_etmv4_init(struct board_model *m, const struct board_options *o, struct trace_bytes *out);
int board_mtb_init(struct board_model *m, struct trace_bytes *out);

#endif
