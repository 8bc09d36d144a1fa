/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A GDB session fed with raw bytes from the wire. Everything it sends must be well framed, and
 * the way in which the input is cut must not matter.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_gdb_target.h"
#include "tests/support/rsp_frame.h"

static const struct gdb_btrace_block blocks[] = {{0x8010, 0x8010}, {0x1, 0x0}, {0x0, 0x8004}};

static void open_wire(struct fake_wire *w, int result)
{
    fake_wire_init(w);
    w->target.result = result;
    w->target.extra_count = FAKE_EXTRA;
    w->target.blocks = blocks;
    w->target.block_count = sizeof(blocks) / sizeof(*blocks);
    fake_wire_open(w);
}

static void check_frames(const struct text_buf *sent)
{
    struct text_buf payload;
    size_t at = 0;
    text_buf_init(&payload);
    while (at < sent->len) {
        long len = rsp_frame_take(sent->data + at, sent->len - at, &payload);
        if (len <= 0)
            abort();
        at += (size_t)len;
    }
    text_buf_release(&payload);
}

/* Cut into pieces; what is pending stops (or fails) after each. */
static void feed(struct fake_wire *w, const uint8_t *data, size_t size, size_t piece)
{
    static const struct target_stop stop = {TARGET_HALT_WATCH, 1, 0, 0x20000000};
    static const struct target_stop failed = {.kind = TARGET_HALT_FAILED};
    for (size_t at = 0; at < size; at += piece) {
        size_t len = size - at < piece ? size - at : piece;
        gdb_session_input(&w->session, data + at, len);
        gdb_session_output(&w->session, "#$}*");
        fake_target_stop(&w->target, at / piece % 3 != 2 ? &stop : &failed);
        if (at / piece % 3 != 2)
            gdb_session_stopped(&w->session, &stop);
        else
            gdb_session_resume_failed(&w->session, "gone #$}*");
    }
    check_frames(&w->sent);
}

/* Makes the checksums of what looks like frames right. */
static void repair(uint8_t *data, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t sum = 0;
    for (size_t i = 0; i + 2 < size; i++) {
        if (data[i] == '#') {
            data[i + 1] = (uint8_t)digits[sum >> 4];
            data[i + 2] = (uint8_t)digits[sum & 0xf];
        }
        sum = data[i] == '$' ? 0 : (uint8_t)(sum + data[i]);
    }
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* Nearly every mutation would end at its checksum otherwise. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size, max_size);
    if (seed % 8 != 0)
        repair(data, size);
    return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int results[] = {BT_OK, BT_ERR_IO, BT_ERR_UNSUPPORTED};
    struct fake_wire whole;
    struct fake_wire bytes;
    for (size_t i = 0; i < sizeof(results) / sizeof(*results); i++) {
        open_wire(&whole, results[i]);
        open_wire(&bytes, results[i]);
        feed(&whole, data, size, size + 1);
        feed(&bytes, data, size, 1);
        if (whole.sent.len != bytes.sent.len ||
            memcmp(whole.sent.data, bytes.sent.data, whole.sent.len) != 0)
            abort();
        fake_wire_release(&whole);
        fake_wire_release(&bytes);
    }
    open_wire(&whole, TARGET_PENDING);
    feed(&whole, data, size, 7);
    fake_wire_release(&whole);
    return 0;
}
