/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow reconstruction for PTM: packets and the program image -> executed blocks and events.
 * Implements the decompressor operations of the PFT architecture, appendix B.3.2 (digest pft.md,
 * section 14, with its corrections); exceptions: section 5.2.3 (digest 12); return stack: 11.
 */
#ifndef DECODER_PTM_FLOW_H
#define DECODER_PTM_FLOW_H

#include "decoder/code.h"
#include "decoder/flow.h"
#include "decoder/ptm.h"

#define PTM_RETURN_STACK 16 /* at least as deep as any trace unit's (digest 11) */

/* Where execution continues: CurrentState of the specification. */
struct ptm_position {
    uint64_t address;
    uint32_t context;
    uint8_t isa;
    uint8_t security; /* enum bt_security */
    uint8_t vmid;
    bool known;  /* address and isa */
    bool halted; /* entered Debug state at `address`: known, but nothing may be followed from it */
    bool has_context;
    bool has_vmid;
};

struct ptm_return {
    uint32_t address;
    uint8_t isa;
    uint8_t security;
};

/*
 * Plain data but for `code`, `view` and `run`, which are looked up again after a copy: a
 * checkpoint is a copy with ptm_flow_unlink(), brought back with ptm_flow_link().
 */
struct ptm_flow {
    struct ptm_config config;
    struct ptm_position cur;
    uint64_t instructions; /* number of the next instruction: 0-based */
    uint64_t blocks;
    uint64_t cycles;        /* sum of all counts since the stream began */
    uint64_t atoms_dropped; /* atoms on an unknown position */
    uint64_t last_waypoint; /* address of the last waypoint output */
    uint16_t core;
    uint32_t generation;
    bool synced;  /* an I-sync was seen since the last loss */
    bool started; /* an I-sync was seen at all */
    bool view_stale;
    uint8_t rs_count;
    uint8_t rs_top; /* index of the next free entry */
    struct ptm_return rs[PTM_RETURN_STACK];
    struct code_cache *code;
    struct code_view *view;
    struct code_run *run; /* that starts at cur.address, or NULL */
};

/* `code` must outlive the flow; `core` and `generation` select code (struct code_key). */
void ptm_flow_init(struct ptm_flow *f, const struct ptm_config *config, struct code_cache *code,
                   uint16_t core, uint32_t generation);

/* The image changed, or this is a copy of another flow's state. */
void ptm_flow_unlink(struct ptm_flow *f);
void ptm_flow_link(struct ptm_flow *f, struct code_cache *code);

/* Who looks at the program image at this point of the flow. */
void ptm_flow_code_key(const struct ptm_flow *f, struct code_key *key);

/*
 * Takes packets in order and fills `out`; returns how many were taken: fewer than `count` only
 * when `out` has less than FLOW_SLACK room left.
 */
size_t ptm_flow_run(struct ptm_flow *f, const struct ptm_packet *packets, size_t count,
                    struct flow_out *out);

/* Bytes of the stream are missing at `offset`: a gap event; the position becomes unknown. */
void ptm_flow_gap(struct ptm_flow *f, uint64_t offset, enum bt_gap_cause cause, uint64_t bytes,
                  struct flow_out *out);

#endif
