/* SPDX-License-Identifier: BSD-3-Clause */
/* Branch trace: switching it on and off, its size, its documents: GDB manual, "General Query
 * Packets" and "Branch Trace Format". */
#include <stdlib.h>

#include "gdb_internal.h"
#include "protocol/rsp/xml.h"

#define GAP_BEGIN 0x1
#define GAP_END   0x0

void gdb_btrace_blocks_init(struct gdb_btrace_blocks *b)
{
    *b = (struct gdb_btrace_blocks){.block = NULL};
}

void gdb_btrace_blocks_release(struct gdb_btrace_blocks *b)
{
    free(b->block);
    gdb_btrace_blocks_init(b);
}

int gdb_btrace_blocks_add(struct gdb_btrace_blocks *b, uint64_t begin, uint64_t end)
{
    if (b->count == b->capacity) {
        size_t capacity = b->capacity > 0 ? 2 * b->capacity : 256;
        if (capacity > SIZE_MAX / sizeof(*b->block))
            return BT_ERR_NOMEM;
        struct gdb_btrace_block *block = realloc(b->block, capacity * sizeof(*block));
        if (block == NULL)
            return BT_ERR_NOMEM;
        b->block = block;
        b->capacity = capacity;
    }
    b->block[b->count++] = (struct gdb_btrace_block){begin, end};
    return BT_OK;
}

static bool is_gap(const struct gdb_btrace_block *block)
{
    return block->begin == GAP_BEGIN && block->end == GAP_END;
}

int gdb_btrace_blocks_add_gap(struct gdb_btrace_blocks *b)
{
    /* Each gap is a numbered entry and a warning line in GDB. */
    if (b->count > 0 && is_gap(&b->block[b->count - 1]))
        return BT_OK;
    return gdb_btrace_blocks_add(b, GAP_BEGIN, GAP_END);
}

bool gdb_has_btrace(const struct gdb_target *t)
{
    return t->btrace_enable != NULL;
}

/* GDB 13.1 aborts on any other delta; one that fails makes it ask for `new`. */
static bool delta_is_safe(const struct gdb_btrace_blocks *b)
{
    return b->count == 0 || b->block[b->count - 1].begin == 0;
}

int gdb_btrace_document(struct gdb_session *s, int annex, struct text_buf *out)
{
    struct gdb_btrace_blocks blocks;
    gdb_btrace_blocks_init(&blocks);
    int rc = s->target->btrace_read(s->target_ctx, s->general, (enum gdb_annex)annex, &blocks);
    if (rc >= 0 && annex == GDB_ANNEX_DELTA && !delta_is_safe(&blocks))
        rc = BT_ERR_FORMAT;
    if (rc >= 0)
        xml_btrace(out, &blocks);
    gdb_btrace_blocks_release(&blocks);
    return rc < 0 ? rc : BT_OK;
}

int gdb_btrace_conf_document(struct gdb_session *s, int annex, struct text_buf *out)
{
    struct gdb_btrace_conf conf = {.recording = false};
    (void)annex;
    int rc = s->target->btrace_conf(s->target_ctx, s->general, &conf);
    if (rc < 0)
        return rc;
    xml_btrace_conf(out, &conf);
    return BT_OK;
}

static int enable(struct gdb_session *s)
{
    struct gdb_why why = {""};
    int rc = s->target->btrace_enable(s->target_ctx, s->general, &why);
    return gdb_reply_result(s, rc, &why);
}

/* An error would keep GDB from stopping the record, from detaching and from quitting (found with
 * GDB 13). */
static int disable(struct gdb_session *s)
{
    s->target->btrace_disable(s->target_ctx, s->general);
    return gdb_reply(s, "OK");
}

static int btrace(struct gdb_session *s, struct gdb_args *a)
{
    if (!gdb_has_btrace(s->target))
        return BT_OK;
    gdb_document_forget(s->document);
    if (gdb_args_equal(a, "bts"))
        return enable(s);
    if (gdb_args_equal(a, "off"))
        return disable(s);
    return gdb_reply_result(s, BT_ERR_UNSUPPORTED,
                            &(struct gdb_why){"only the bts format is available"});
}

/* "0x10000": the one number of the protocol with a prefix. 0 is unlimited, as GDB has it. */
static int set_size(struct gdb_session *s, struct gdb_args *a)
{
    struct gdb_why why = {""};
    uint64_t size;
    if (!gdb_has_btrace(s->target))
        return BT_OK;
    if (!gdb_args_text(a, "size="))
        return BT_ERR_INVAL;
    if (!gdb_args_text(a, "0x"))
        gdb_args_text(a, "0X");
    if (!gdb_args_hex(a, &size) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    if (size == 0 || size > UINT32_MAX)
        size = UINT32_MAX;
    int rc = s->target->btrace_set_size(s->target_ctx, (uint32_t)size, &why);
    return gdb_reply_result(s, rc, &why);
}

const struct gdb_command gdb_btrace_commands[] = {
    {"Qbtrace:", GDB_PREFIX, false, btrace},
    {"Qbtrace-conf:bts:", GDB_PREFIX, false, set_size},
    {NULL, GDB_EXACT, false, NULL},
};
