/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that decode what histories have stored (decoder/history/history_parts.h): each source by
 * itself, and of one with much to do several windows at once.
 *
 * Threads: whoever calls decode_pool_run() takes part and alone joins; the others work in that call
 * only.
 */
#ifndef SERVER_DECODE_POOL_H
#define SERVER_DECODE_POOL_H

#include "decoder/history/history_parts.h"

struct decode_pool; /* private */

/* `threads`, 2 or more, with the caller's; `histories` outlive the pool. `cuts`: windows of one
 * source at once, too. 0 or BT_ERR_NOMEM; *out is released with decode_pool_free(). */
int decode_pool_new(unsigned threads, bool cuts, struct history *const *histories, unsigned count,
                    struct decode_pool **out);
void decode_pool_free(struct decode_pool *p);

/* Everything stored is decoded when this returns. 0, or the first error: BT_ERR_NOMEM. */
int decode_pool_run(struct decode_pool *p);

/* Windows whose decode by another thread, or ahead, was of use. */
uint64_t decode_pool_joined(const struct decode_pool *p);

#endif
