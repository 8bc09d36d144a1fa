/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the flow stages of all protocols share: the position that execution has reached, the code
 * it is followed through, and the making of blocks and events. Private to decoder/.
 */
#ifndef DECODER_FLOW_CORE_H
#define DECODER_FLOW_CORE_H

#include "decoder/flow/flow.h"
#include "decoder/program/code.h"

/* Where execution continues: CurrentState of IHI 0035B B.3.2. */
struct flow_position {
    uint64_t address;
    uint32_t context;
    uint32_t vmid;
    uint8_t isa;
    uint8_t security; /* enum bt_security */
    bool known;       /* address and isa */
    bool halted; /* entered Debug state at `address`: known, but nothing may be followed from it */
    bool has_context;
    bool has_vmid;
};

/*
 * Plain data but for `code`, `view` and `range`, which are looked up again after a copy: a
 * checkpoint is a copy with flow_core_link(copy, NULL),
 * brought back with flow_core_link(). */
struct flow_core {
    struct flow_position cur;
    uint64_t instructions; /* number of the next instruction: 0-based */
    uint64_t blocks;
    uint64_t cycles;  /* sum of all counts since the stream began */
    uint64_t agreed;  /* instructions up to the latest synchronisation:
                         what follows may be in doubt */
    uint64_t dropped; /* atoms (ETMv1, ETMv2: instructions) on an unknown position */
    uint32_t generation;
    uint16_t core;
    bool started;         /* a synchronising packet that gives the position was seen at all */
    bool view_stale;      /* what selects the view has changed */
    uint32_t range_epoch; /* of `code`, when a flow stage last kept pointers to ranges */
    struct code_cache *code;
    struct code_view *view;
    struct code_range *range; /* that starts at cur.address, or NULL: look it up */
};

/* `code` must outlive the flow; `core` and `generation` select code (struct code_key). */
void flow_core_init(struct flow_core *f, struct code_cache *code, uint16_t core,
                    uint32_t generation);

/* The image changed, or this is a copy of another flow's state. NULL: takes the pointers out. */
void flow_core_link(struct flow_core *f, struct code_cache *code);

/* Who looks at the program image at this point of the flow. */
void flow_core_key(const struct flow_core *f, struct code_key *key);

/* A new event at the current instruction number. Valid until the next one. */
struct bt_event *flow_event(struct flow_core *f, struct flow_out *out, enum bt_event_kind kind,
                            uint64_t offset);
void flow_event_cycles(struct bt_event *e, uint32_t cycles);

/* The address of an event of the kind that the name says; gap: of warnings, too. */
static inline void flow_trace_on_address(struct bt_event *e, uint64_t address, uint8_t isa)
{
    e->u.trace_on.address = address;
    e->u.trace_on.isa = isa;
    e->u.trace_on.has_address = true;
}

static inline void flow_gap_address(struct bt_event *e, uint64_t address, uint8_t isa)
{
    e->u.gap.address = address;
    e->u.gap.isa = isa;
    e->u.gap.has_address = true;
}

static inline void flow_exception_return_address(struct bt_event *e, uint64_t address, uint8_t isa)
{
    e->u.exception_return.address = address;
    e->u.exception_return.isa = isa;
    e->u.exception_return.has_address = true;
}

/* Where an exception is to return to. */
static inline void flow_return_address(struct bt_event *e, uint64_t address, uint8_t isa)
{
    e->u.exception.return_address = address;
    e->u.exception.return_isa = isa;
    e->u.exception.has_return = true;
}

static inline void flow_vector(struct bt_event *e, uint64_t address, uint8_t isa)
{
    e->u.exception.vector = address;
    e->u.exception.vector_isa = isa;
    e->u.exception.has_vector = true;
}

/* What an exception is, where the protocol does not tell ETMv4's types. */
static inline void flow_exception_number(struct bt_event *e, uint16_t number)
{
    e->u.exception.number = number;
    e->u.exception.type = BT_NO_TYPE;
}

/* Something is odd, but nothing is lost. */
void flow_warn(struct flow_core *f, struct flow_out *out, uint64_t offset, enum bt_gap_cause cause,
               uint64_t address);

/* The position is lost: one gap event, and nothing is followed until a packet gives it again. */
void flow_lose(struct flow_core *f, struct flow_out *out, uint64_t offset, enum bt_gap_cause cause,
               uint64_t address);

/*
 * The same where trace contradicts itself or the code: what led here may be wrong from the latest
 * synchronisation on, and the event tells how many instructions that are.
 */
void flow_contradict(struct flow_core *f, struct flow_out *out, uint64_t offset,
                     enum bt_gap_cause cause, uint64_t address);

/* Bytes of the stream are missing: a gap event, position and context become unknown. */
void flow_core_gap(struct flow_core *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                   struct flow_out *out);

/* The view for the current state; NULL: no memory. Clears `range` when the view changes. */
struct code_view *flow_view(struct flow_core *f);

/* The range at the current position; NULL, after a gap event, when there is no memory for it. */
struct code_range *flow_range_here(struct flow_core *f, struct flow_out *out, uint64_t offset);

/* Reasons of an I-sync (IHI 0014Q 7.10.5, IHI 0035B 4.3). */
enum isync_reason {
    ISYNC_PERIODIC,
    ISYNC_TRACE_ON,
    ISYNC_OVERFLOW,
    ISYNC_DEBUG_EXIT,
};

/* What is missing before one. None: nothing came before it, or the loss has its own event. */
static inline enum bt_gap_cause flow_isync_gap(const struct flow_core *f, bool synced,
                                               unsigned reason)
{
    static const uint8_t causes[4] = {BT_GAP_NONE, BT_GAP_TRACE_ON, BT_GAP_OVERFLOW, BT_GAP_DEBUG};
    return f->started && synced ? (enum bt_gap_cause)causes[reason & 3] : BT_GAP_NONE;
}

/* Pointers to ranges that a flow stage kept are still good. */
static inline bool flow_ranges_valid(const struct flow_core *f)
{
    return f->range_epoch == f->code->epoch;
}

/* In place of a step's header: the address that execution goes to, of A64 its lower half. */
static inline uint32_t flow_target(uint64_t address, enum bt_isa isa)
{
    return (uint32_t)address | (isa == BT_ISA_A64 ? 0 : isa);
}

/* As code_find(), remembered as a step without blocks if there is room. */
struct code_range *flow_learn_target(const struct flow_core *f, const void *from, uint64_t address,
                                     enum bt_isa isa);

/* The range where execution goes from a place that an address follows. NULL: it is not known. */
static inline struct code_range *flow_went(const struct flow_core *f, const void *from,
                                           uint64_t address, enum bt_isa isa)
{
    const struct code_step *step = code_step_at(f->code->steps, from, flow_target(address, isa));
    if (step && (isa != BT_ISA_A64 || ((struct code_range *)step->to)->wide == address >> 32))
        return (struct code_range *)step->to;
    return flow_learn_target(f, from, address, isa);
}

void flow_go_to(struct flow_core *f, uint64_t address, uint8_t isa);

/* The state of the instructions that follow; an event where it differs from before. */
void flow_set_security(struct flow_core *f, struct flow_out *out, uint64_t offset,
                       enum bt_security security, bool announce);
void flow_set_context(struct flow_core *f, struct flow_out *out, uint64_t offset, uint32_t context);
void flow_set_vmid(struct flow_core *f, struct flow_out *out, uint64_t offset, uint32_t vmid);

static inline void flow_block(struct flow_core *f, struct flow_out *out, uint64_t first,
                              uint32_t extent, uint32_t info, uint64_t cycles)
{
    struct bt_block *b = &out->blocks[out->block_count];
    b->first = first;
    b->extent = extent;
    b->info = info;
    if (out->cycles)
        out->cycles[out->block_count] = cycles;
    out->block_count++;
    f->instructions += info >> 8;
    f->blocks++;
    if (out->times)
        out->marks[out->mark_count++] = (struct flow_mark){b, f->instructions};
}

#endif
