/* SPDX-License-Identifier: BSD-3-Clause */
/* Private to the ETMv2 model: its state, and what its parts offer each other. */
#ifndef DRIVERS_VIRTUAL_ETMV2_ENCODER_STATE_H
#define DRIVERS_VIRTUAL_ETMV2_ENCODER_STATE_H

#include "arm5_branch.h"
#include "etmv2_encoder.h"

#define ETMV2_MODEL_TAGS 4 /* 1..3 are used */
#define ETMV2_PACKET_MAX 16
#define ETMV2_GROUP_MAX  112
#define ETMV2_SHOW_MAX   4
#define ETMV2_SHOW_BLANK 0xffffu /* nothing in this cycle */

#define ETMV2_REASON_PERIODIC   0
#define ETMV2_REASON_TRACE_ON   1
#define ETMV2_REASON_OVERFLOW   2
#define ETMV2_REASON_DEBUG_EXIT 3

enum etmv2_tag {
    ETMV2_TAG_FREE,
    ETMV2_TAG_OUT,
    ETMV2_TAG_ORPHAN, /* its load was before an overflow */
};

/* The cycle that is being put together. */
struct etmv2_open_cycle {
    bool valid;
    uint8_t status; /* without the D */
    bool insn;      /* tells `at` */
    struct etmv2_place at;
    bool branch_due;
    bool branch_cancel;
    struct etmv2_place branch;
    uint8_t group[ETMV2_GROUP_MAX];
    unsigned size;
    unsigned last_header; /* of the newest packet */
};

struct etmv2_encoder {
    struct etmv2_encoder_options options;
    struct port_model port;
    struct trace_random random;

    /* What the options come to. */
    unsigned context_id_bytes;
    bool data_address;
    bool data_value;
    bool cprt;
    bool broadcast;
    bool cycle_accurate;

    bool on;
    bool overflowed;         /* and not told */
    bool off_due;            /* as soon as the data instruction is done */
    struct etmv2_place base; /* last branch address or TFO */
    struct etmv2_open_cycle open;
    bool folded; /* a direct branch waits for the instruction to run beside */
    bool folded_taken;
    struct etmv2_place folded_at;
    bool late_due; /* branch address of a closed cycle */
    bool late_cancel;
    struct etmv2_place late;
    struct arm5_previous previous;

    /* Data instruction in progress. */
    bool busy;
    bool busy_overtaken;
    struct etmv2_place busy_at;

    uint32_t data_base;
    bool data_full;  /* next address has all bytes */
    bool data_begun; /* the data instruction has a packet */
    enum etmv2_tag tags[ETMV2_MODEL_TAGS];
    bool tag_wide[ETMV2_MODEL_TAGS];

    uint32_t context_id;
    bool trigger_due;

    uint64_t since_sync; /* cycles */
    bool sync_due;
    bool sync_missed;

    /* TRACEPKT of the next cycles: TFO values that did not fit in their own cycle. */
    uint16_t show[ETMV2_SHOW_MAX];
    unsigned show_count;
    bool show_value; /* the first of them is a whole value: nothing may come between */

    etmv2_cycle_observer observer;
    void *observer_context;
    uint64_t packets[ETMV2_MODEL_KINDS];
    uint64_t statuses[16];
};

/*
 * etmv2_packets.c: bytes. Each writes to `p`, room for ETMV2_PACKET_MAX, and returns the number
 * written. The compressed ones use and move the base;
 * `extra` more bytes than needed if there are. */
unsigned etmv2_put_branch(uint8_t *p, struct etmv2_place *base, const struct etmv2_place *target,
                          bool cancel, unsigned extra);
unsigned etmv2_put_data_address(uint8_t *p, uint32_t *base, uint32_t address, bool full,
                                unsigned extra);
unsigned etmv2_put_word(uint8_t *p, uint32_t value, unsigned size);
/* SS field, and the bytes that it announces. */
unsigned etmv2_value_code(uint32_t value);
unsigned etmv2_put_value(uint8_t *p, uint32_t value);

/* etmv2_cycles.c */
struct etmv2_out_cycle {
    uint8_t status; /* IE, IN, WT, PT, PN; D is added if there is a group */
    uint8_t insns;
    const uint8_t *group;
    unsigned size;
    bool tfo;
    uint8_t reason;
};

/* Outputs a cycle; before it, WT cycles for whatever must be out of the way. */
int etmv2_cycle(struct etmv2_encoder *e, const struct etmv2_out_cycle *c);
/* TFO with its packet. `executing`: NULL, or the second address of an LSM in progress packet. */
int etmv2_tfo(struct etmv2_encoder *e, unsigned reason, const struct etmv2_place *at,
              const struct etmv2_place *executing, unsigned insns);
int etmv2_idle(struct etmv2_encoder *e);
/* Overflow: what is open or late is lost. */
void etmv2_lose(struct etmv2_encoder *e);

/*
 * etmv2_encoder.c: room for `size` more bytes of one cycle, the open one or one behind it; none if
 * trace is off. Then a packet into it.
 */
int etmv2_reserve(struct etmv2_encoder *e, unsigned size);
int etmv2_add(struct etmv2_encoder *e, enum etmv2_model_kind kind, const uint8_t *bytes,
              unsigned size);

#endif
