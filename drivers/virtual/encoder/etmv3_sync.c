/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv3 model: periodic synchronisation, and what else comes some time after its cause. */
#include "etmv3_encoder_state.h"

#define REASON_PERIODIC 0

static unsigned draw_wait(struct etmv3_encoder *e)
{
    return trace_random_below(&e->random, e->options.isync_delay + 1);
}

static int etmv3_sync_start(struct etmv3_encoder *e)
{
    /* Pending atoms may come before or after the A-sync. */
    bool flush = e->options.packing != ETMV3_PACK_RANDOM || trace_random_percent(&e->random, 50);
    int error = flush ? etmv3_atoms_flush(e, false) : 0;

    if (!error)
        error = etmv3_out_async(e);
    e->isync_due = e->on;
    e->isync_wait = draw_wait(e);
    return error;
}

static int serve_isync(struct etmv3_encoder *e)
{
    int error;

    if (e->isync_wait > 0 && --e->isync_wait > 0)
        return 0;
    /* An I-sync names the place behind a branch, whose packet may not come after it. */
    error = etmv3_branch_flush(e);
    if (!error)
        error = etmv3_out_isync(e, REASON_PERIODIC, &e->next, NULL);
    e->data_full = true;
    e->tsync_due = e->timestamps;
    e->tsync_wait = draw_wait(e);
    return error;
}

int etmv3_sync_serve(struct etmv3_encoder *e)
{
    int error = 0;

    if (!e->on || e->preempted)
        return 0;
    if (e->count_due && e->count_wait-- == 0)
        error = etmv3_out_cycle_count(e);
    if (!error && e->options.sync_period && !e->isync_due &&
        e->since_async >= e->options.sync_period) {
        error = etmv3_sync_start(e);
        if (e->isync_wait > 0)
            return error;
    }
    if (!error && e->isync_due)
        error = serve_isync(e);
    if (!error && e->tsync_due) {
        if (e->tsync_wait-- > 0)
            return 0;
        e->tsync_due = false;
        e->timestamp_full = true;
        error = etmv3_out_timestamp(e, false);
    }
    return error;
}

int etmv3_encoder_request_sync(struct etmv3_encoder *e)
{
    int error = etmv3_sync_start(e);

    if (!error && e->on && !e->preempted && e->isync_wait == 0)
        error = serve_isync(e);
    return error;
}
