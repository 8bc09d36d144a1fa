/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of the remote serial protocol as tests make and take them, apart from the code under test.
 */
#ifndef TESTS_SUPPORT_RSP_FRAME_H
#define TESTS_SUPPORT_RSP_FRAME_H

#include "protocol/rsp/text_buf.h"

/* Appends $payload#checksum, with escapes where they are needed. */
void rsp_frame_put(struct text_buf *out, const void *payload, size_t len);

/*
 * Takes one frame or acknowledgement from the front of `bytes`: its length, 0 when there is
 * nothing, -1 when it is malformed. Of a frame `payload` is what it holds, without escapes.
 */
long rsp_frame_take(const char *bytes, size_t len, struct text_buf *payload);

/*
 * All frames of a wire, each acknowledged: what they hold, joined by '|', "^C" for the interrupt
 * byte, "(none)" when there were none. `text` gets it and is returned. Ends the program when they
 * are malformed.
 */
const char *rsp_frames_take(struct text_buf *wire, struct text_buf *text,
                            void (*acknowledge)(void *ctx), void *ctx);

#endif
