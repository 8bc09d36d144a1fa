/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What coverage, profile, timeline and feedback share: one pass over the sources of a recording,
 * whose blocks are counted and whose transfers are followed, and what was lost on the way.
 */
#ifndef SERVER_EXPORT_WALK_H
#define SERVER_EXPORT_WALK_H

#include "decoder/counts/counts_table.h"
#include "server/export/export_names.h"
#include "server/recording/recording_history.h"

/* How much of the trace there is, of all that was walked. */
struct export_loss {
    uint64_t instructions;       /* if `sampled`: samples of the PC */
    uint64_t asleep, prohibited; /* samples without an address */
    bool sampled;
    uint64_t bytes;      /* 0: not known, of a live history */
    uint64_t skipped;    /* bytes, for want of a synchronisation */
    uint64_t doubtful;   /* instructions right before a gap that may be wrong */
    uint64_t taken_back; /* those of them, and of the same blocks, that are not counted */
    uint64_t left_out;   /* blocks for which there was no room */
    uint64_t dropped;    /* atoms on an unknown position */
    uint64_t gaps[BT_GAP_CAUSES];
};

/* One line without its end: "123 instructions; lost: overflow 2, wire 1; ...". */
void export_loss_text(const struct export_loss *loss, char *out, size_t size);

struct export_walk {
    struct recording *recording;
    const struct recording_source *source;
    const struct export_names *names;
    unsigned jobs;
    bool jumps;  /* as in struct counts_config */
    bool cycles; /* blocks have counts of cycles, and they are wanted */

    /* As in struct counts_config; all may be NULL. */
    void (*transfer)(void *ctx, const struct counts_edge *edge, uint64_t number, uint64_t cycles);
    void (*transfers)(void *ctx, const struct counts_transfer *transfers, size_t count,
                      uint64_t cycles);
    void (*event)(void *ctx, const struct bt_event *event, uint64_t cycles);

    /* Optional: a source as recording_itm() finds it, and what it tells, in order with the others:
     * the core's trace had come to instruction `number` where the packet stands. Without `jobs`. */
    const struct recording_source *beside;
    void (*told)(void *ctx, const struct bt_event *event, uint64_t number, uint64_t cycles);

    /* Optional, with `beside`: what was decoded before it is counted, from instruction `number` on,
     * some bytes at a time; `offset` of the source's are taken. */
    void (*output)(void *ctx, const struct flow_out *out, uint64_t number, uint64_t offset);
    void *ctx;
};

/*
 * Decodes the source once. *counts is filled (release in all cases), *loss added to. 0 or a
 * bt_error.
 */
int export_walk(const struct export_walk *walk, struct counts *counts, struct export_loss *loss);

/* All events of a source that tells no instructions; its bytes are added to *bytes. */
int export_listen(struct recording *recording, const struct recording_source *source,
                  void (*told)(void *ctx, const struct bt_event *event), void *ctx,
                  uint64_t *bytes);

bool export_m_profile(const struct recording_source *source);

#endif
