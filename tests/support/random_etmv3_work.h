/* SPDX-License-Identifier: BSD-3-Clause */
/* State of a random ETMv3 flow while it runs. Private to random_etmv3*.c. */
#ifndef TESTS_SUPPORT_RANDOM_ETMV3_WORK_H
#define TESTS_SUPPORT_RANDOM_ETMV3_WORK_H

#include "tests/support/random_code.h"
#include "tests/support/random_data.h"
#include "tests/support/random_etmv3.h"

#define ETMV3_CALLS      64
#define ETMV3_EXCEPTIONS 16
#define NO_INSN          SIZE_MAX

enum etmv3_mode { ETMV3_TRACED, ETMV3_FILTERED, ETMV3_OVERFLOW };

struct etmv3_resume {
    uint32_t insn;
    enum bt_security security;
    uint8_t resume; /* an LDM or STM goes on */
};

/* Transfers of an instruction that are still to come. */
struct etmv3_transfers {
    struct data_plan plan;
    size_t insn; /* in the truth */
    uint32_t address;
    unsigned done;
    unsigned delay; /* instructions that run underneath before */
};

struct random_etmv3_work {
    struct random_etmv3 *flow;
    struct random_etmv3_options options;
    struct trace_random random;
    struct random_code code;
    struct etmv3_encoder *encoder;
    int error; /* first one, from the observer */
    size_t insn_room, event_room, access_room;

    uint32_t pc; /* index of the next instruction */
    enum bt_security security;
    enum etmv3_mode mode;
    unsigned mode_left;
    uint32_t calls[ETMV3_CALLS];
    unsigned call_count;
    struct etmv3_resume exceptions[ETMV3_EXCEPTIONS];
    unsigned exception_count;

    uint32_t context_id;
    uint32_t shown_context_id;
    bool context_id_shown;
    uint8_t vmid;
    uint64_t time;
    uint32_t region;
    uint32_t idle_reported; /* W atoms in the output behind the last instruction */
    uint32_t gap_idle;      /* those in front of the latest trace-on */

    size_t newest;      /* instruction that an exception may cancel, or NO_INSN */
    uint32_t newest_pc; /* its index in the code */
    bool newest_late;   /* it has data outstanding, or two atoms */
    size_t busy;        /* data instruction in progress while trace is off, or NO_INSN */
    struct etmv3_transfers transfers;
    bool transferring;
    size_t tag_access[4]; /* access that a tag stands for, or NO_INSN */
    unsigned suppress_left;

    /* What the packets that the observer is about to see mean. */
    bool in_insn; /* inside etmv3_encoder_insn(): an I-sync comes before the instruction */
    bool before;  /* so does what follows that I-sync at once */
    bool clock_changed;
    bool count_due;            /* of the latest I-sync that is not periodic */
    struct bt_event exception; /* what a branch packet means, if exception_due */
    bool exception_due;
    bool exception_seen; /* a packet was taken for it: the last one is */
    uint64_t data_offset;
};

/* random_etmv3.c */
uint32_t random_etmv3_below(struct random_etmv3_work *w, uint32_t limit);
bool random_etmv3_per_mille(struct random_etmv3_work *w, unsigned chance);
bool random_etmv3_percent(struct random_etmv3_work *w, unsigned chance);
struct etmv3_state random_etmv3_state(const struct random_etmv3_work *w, uint32_t insn);
uint32_t random_etmv3_target(struct random_etmv3_work *w, bool same_isa);
/* Runs the instruction at w->pc. `in_progress`: its transfers come later, trace is off. */
int random_etmv3_run(struct random_etmv3_work *w, bool in_progress);

/* random_etmv3_truth.c */
int random_etmv3_add_insn(struct random_etmv3_work *w, const struct random_etmv3_insn *insn);
int random_etmv3_add_event(struct random_etmv3_work *w, const struct bt_event *event);
int random_etmv3_add_access(struct random_etmv3_work *w, const struct random_etmv3_access *access);
/* An instruction that ran untraced is shown after all. */
void random_etmv3_show(struct random_etmv3_work *w, size_t insn);
/* The newest traced instruction is canceled; its data with it. */
void random_etmv3_cancel(struct random_etmv3_work *w);
/* The newest exception return is canceled: no event for it. */
void random_etmv3_cancel_return(struct random_etmv3_work *w);
/* The newest `count` traced instructions are lost. */
void random_etmv3_take_back(struct random_etmv3_work *w, unsigned count);
void random_etmv3_observe(void *context, enum etmv3_packet_kind kind, uint64_t offset, size_t size,
                          uint64_t detail);

/* random_etmv3_data.c */
int random_etmv3_begin_data(struct random_etmv3_work *w, const struct data_plan *plan, size_t insn);
/* Transfers that are due, of the present instruction and of placeholders. */
int random_etmv3_data(struct random_etmv3_work *w);
int random_etmv3_late_values(struct random_etmv3_work *w, bool all);
int random_etmv3_finish_data(struct random_etmv3_work *w);
int random_etmv3_push(struct random_etmv3_work *w);

/* random_etmv3_events.c */
int random_etmv3_start_trace(struct random_etmv3_work *w, unsigned reason, bool executing);
int random_etmv3_between(struct random_etmv3_work *w);
/* `number` as in the packet; the handler returns to `resume`. */
int random_etmv3_exception(struct random_etmv3_work *w, unsigned number, bool cancel,
                           uint32_t resume);
int random_etmv3_change_context(struct random_etmv3_work *w);

#endif
