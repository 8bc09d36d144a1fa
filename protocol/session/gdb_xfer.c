/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Documents, qXfer:OBJECT:read:ANNEX:OFFSET,LENGTH, and branch trace: switching it on and off, its
 * size. A document is made at offset 0 and frozen: later chunks come from the same text, whatever
 * happens meanwhile: GDB joins them. Formats: GDB manual, "Branch Trace Format", "Branch Trace
 * Configuration Format", "Target Description Format", "Thread List Format", "Memory Map Format".
 */
#include <stdlib.h>
#include <string.h>

#include "gdb_internal.h"

#include "decoder/base/array.h"

/* Unescaped bytes of one answer, with its 'm' or 'l'. */
#define CHUNK_MAX (GDB_PACKET_SIZE - 1)
#define ANNEX_MAX 3

struct xfer_object {
    const char *name;
    const char *annex[ANNEX_MAX]; /* index = the `annex` of build() */
    int (*build)(struct gdb_session *s, int annex, struct text_buf *out);
    /* Branch trace: reads at other offsets are good only for the document that offset 0 made, and
     * the host is told of the last one. */
    bool btrace;
};

#define HEX_NUMBER_MAX 18 /* "0x" and sixteen digits */

/* "0x" and as few lower-case digits as possible, no NUL. Returns where it ends. */
static char *xml_put_hex(char *to, uint64_t value)
{
    int digits = value != 0 ? (67 - __builtin_clzll(value)) / 4 : 1;
    *to++ = '0';
    *to++ = 'x';
    for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4)
        *to++ = "0123456789abcdef"[value >> shift & 0xf];
    return to;
}

/* Text of an attribute or element: the five markup characters replaced, others as '?'. */
static void xml_add_text(struct text_buf *b, const char *text)
{
    static const char marks[] = "<>&\"'";
    static const char *const entities[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&apos;"};
    for (; *text != '\0'; text++) {
        const char *mark = strchr(marks, *text);
        if (mark)
            text_buf_puts(b, entities[mark - marks]);
        else
            text_buf_putc(b, *text < ' ' || *text > '~' ? '?' : *text);
    }
}

static void xml_add_register(struct text_buf *out, const struct target_register *r)
{
    text_buf_printf(out, "<reg name=\"%s\" bitsize=\"%u\"", r->name, r->bits);
    if (r->type)
        text_buf_printf(out, " type=\"%s\"", r->type);
    text_buf_printf(out, " regnum=\"%u\"/>\n", r->number);
}

/* target.xml, of the list that g packets are made by. */
static void xml_target(struct text_buf *out, bool a64, const struct target_register *list,
                       unsigned count)
{
    text_buf_puts(out, "<?xml version=\"1.0\"?>\n"
                       "<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n"
                       "<target version=\"1.0\">\n");
    text_buf_printf(out, "<architecture>%s</architecture>\n", a64 ? "aarch64" : "arm");
    for (unsigned i = 0; i < count; i++) {
        bool first = i == 0 || strcmp(list[i].feature, list[i - 1].feature) != 0;
        if (first)
            text_buf_printf(out, "%s<feature name=\"%s\">\n", i == 0 ? "" : "</feature>\n",
                            list[i].feature);
        xml_add_register(out, &list[i]);
    }
    text_buf_puts(out, count > 0 ? "</feature>\n</target>\n" : "</target>\n");
}

static void xml_add_region(struct text_buf *out, const struct target_region *region)
{
    static const char *const names[] = {
        [TARGET_REGION_RAM] = "ram", [TARGET_REGION_ROM] = "rom", [TARGET_REGION_FLASH] = "flash"};
    text_buf_printf(out, "<memory type=\"%s\" start=\"0x%llx\" length=\"0x%llx\"",
                    names[region->type], (unsigned long long)region->start,
                    (unsigned long long)region->length);
    if (region->type == TARGET_REGION_FLASH)
        text_buf_printf(out, ">\n<property name=\"blocksize\">0x%llx</property>\n</memory>\n",
                        (unsigned long long)region->blocksize);
    else
        text_buf_puts(out, "/>\n");
}

static const char block_begin[] = "<block begin=\"", block_middle[] = "\" end=\"",
                  block_end[] = "\"/>\n";

#define BLOCK_MAX                                                                                  \
    (sizeof(block_begin) + sizeof(block_middle) + sizeof(block_end) + 2 * HEX_NUMBER_MAX)

/* There are many blocks: their text goes straight to where it stays. */
#define AT_ONCE 256

static inline char *xml_copy_text(char *to, const char *text, size_t len)
{
    memcpy(to, text, len);
    return to + len;
}

static char *xml_add_block(char *to, const struct gdb_btrace_block *block)
{
    to = xml_copy_text(to, block_begin, sizeof(block_begin) - 1);
    to = xml_put_hex(to, block->begin);
    to = xml_copy_text(to, block_middle, sizeof(block_middle) - 1);
    to = xml_put_hex(to, block->end);
    return xml_copy_text(to, block_end, sizeof(block_end) - 1);
}

/* Blocks in the order given: newest first. */
static void xml_btrace(struct text_buf *out, const struct gdb_btrace_blocks *blocks)
{
    text_buf_puts(out, "<!DOCTYPE btrace SYSTEM \"btrace.dtd\">\n<btrace version=\"1.0\">\n");
    for (size_t i = 0; i < blocks->count;) {
        size_t end = blocks->count - i < AT_ONCE ? blocks->count : i + AT_ONCE;
        char *begin = text_buf_room(out, AT_ONCE * BLOCK_MAX), *to = begin;
        if (!begin)
            return;
        for (; i < end; i++)
            to = xml_add_block(to, &blocks->block[i]);
        text_buf_took(out, (size_t)(to - begin));
    }
    text_buf_puts(out, "</btrace>\n");
}

/* Blocks of branch trace. */

#define GAP_BEGIN 0x1
#define GAP_END   0x0

int gdb_btrace_blocks_add(struct gdb_btrace_blocks *b, uint64_t begin, uint64_t end)
{
    if (!array_room(&b->block, b->count, &b->capacity, sizeof *b->block))
        return BT_ERR_NOMEM;
    b->block[b->count++] = (struct gdb_btrace_block){begin, end};
    return BT_OK;
}

static bool btrace_is_gap(const struct gdb_btrace_block *block)
{
    return block->begin == GAP_BEGIN && block->end == GAP_END;
}

int gdb_btrace_blocks_add_gap(struct gdb_btrace_blocks *b)
{
    /* Each gap is a numbered entry and a warning line in GDB. */
    if (b->count > 0 && btrace_is_gap(&b->block[b->count - 1]))
        return BT_OK;
    return gdb_btrace_blocks_add(b, GAP_BEGIN, GAP_END);
}

/* GDB 13.1 aborts on any other delta; one that fails makes it ask for `new`. */
static bool btrace_delta_is_safe(const struct gdb_btrace_blocks *b)
{
    return b->count == 0 || b->block[b->count - 1].begin == 0;
}

static int btrace_document(struct gdb_session *s, int annex, struct text_buf *out)
{
    struct gdb_btrace_blocks blocks = {.block = NULL};
    int error = s->task != 0
                    ? BT_OK
                    : s->host->btrace_read(s->host_ctx, s->general, (enum gdb_annex)annex, &blocks);
    if (error >= 0 && annex == GDB_ANNEX_DELTA && !btrace_delta_is_safe(&blocks))
        error = BT_ERR_FORMAT;
    if (error >= 0)
        xml_btrace(out, &blocks);
    free(blocks.block);
    return error < 0 ? error : BT_OK;
}

/* Not recording = a document without children: GDB then does not reopen the recording. */
static int btrace_conf_document(struct gdb_session *s, int annex, struct text_buf *out)
{
    struct gdb_btrace_conf conf = {.recording = false};
    (void)annex;
    if (s->task == 0)
        conf = s->host->btrace_conf(s->host_ctx, s->general);
    text_buf_puts(out, "<!DOCTYPE btrace-conf SYSTEM \"btrace-conf.dtd\">\n"
                       "<btrace-conf version=\"1.0\">\n");
    if (conf.recording)
        text_buf_printf(out, "<bts size=\"0x%x\"/>\n", conf.size);
    text_buf_puts(out, "</btrace-conf>\n");
    return BT_OK;
}

static int xfer_build_target(struct gdb_session *s, int annex, struct text_buf *out)
{
    const struct target_register *list = NULL;
    (void)annex;
    unsigned count = s->target->ops->registers(s->target, s->general, &list);
    xml_target(out, gdb_core_info(s, s->general).profile == TARGET_PROFILE_A64, list, count);
    return BT_OK;
}

/* The name is the task's, and in front of it from GDB 17 on stands what it is. */
static void xml_add_tasks(struct text_buf *out, const struct gdb_tasks *tasks)
{
    for (size_t i = 0; i < tasks->count; i++) {
        const struct gdb_task *t = &tasks->task[i];
        text_buf_printf(out, "<thread id=\"%x\" core=\"%d\" name=\"", (unsigned)t->thread, t->core);
        xml_add_text(out, t->name);
        text_buf_puts(out, "\" id_str=\"task\">");
        xml_add_text(out, t->state);
        text_buf_puts(out, "</thread>\n");
    }
}

static int xfer_build_threads(struct gdb_session *s, int annex, struct text_buf *out)
{
    struct gdb_tasks tasks;
    (void)annex;
    s->threads_listed = true;
    text_buf_puts(out, "<?xml version=\"1.0\"?>\n<threads>\n");
    for (int i = 0; i < gdb_cores(s); i++) {
        char status[GDB_STATUS_SIZE];
        gdb_core_status(s, i, status);
        gdb_tasks_core(s, i, status, sizeof status);
        text_buf_printf(out, "<thread id=\"%x\" core=\"%d\" name=\"",
                        (unsigned)gdb_thread_of_core(i), i);
        xml_add_text(out, gdb_core_info(s, i).name);
        text_buf_printf(out, "\" id_str=\"core %d\">",
                        i); /* from GDB 17 on in place of "Thread 1" */
        xml_add_text(out, status);
        text_buf_puts(out, "</thread>\n");
    }
    gdb_tasks_now(s, &tasks);
    xml_add_tasks(out, &tasks);
    text_buf_puts(out, "</threads>\n");
    return BT_OK;
}

static int xfer_build_memory_map(struct gdb_session *s, int annex, struct text_buf *out)
{
    const struct target_region *regions = NULL;
    unsigned count = s->target->ops->memory_map(s->target, &regions);
    (void)annex;
    text_buf_puts(out, "<?xml version=\"1.0\"?>\n"
                       "<!DOCTYPE memory-map PUBLIC \"+//IDN gnu.org//DTD GDB Memory Map V1.0//EN\""
                       " \"http://sourceware.org/gdb/gdb-memory-map.dtd\">\n"
                       "<memory-map>\n");
    for (unsigned i = 0; i < count; i++)
        xml_add_region(out, &regions[i]);
    text_buf_puts(out, "</memory-map>\n");
    return BT_OK;
}

static const struct xfer_object xfer_objects[] = {
    {"features", {"target.xml"}, xfer_build_target, false},
    {"threads", {""}, xfer_build_threads, false},
    {"memory-map", {""}, xfer_build_memory_map, false},
    {"btrace-conf", {""}, btrace_conf_document, false},
    {"btrace",
     {[GDB_ANNEX_ALL] = "all", [GDB_ANNEX_NEW] = "new", [GDB_ANNEX_DELTA] = "delta"},
     btrace_document,
     true},
};

static bool xfer_is_there(const struct gdb_session *s, const struct xfer_object *object)
{
    if (strncmp(object->name, "btrace", 6) == 0)
        return gdb_has_btrace(s);
    return object->build != xfer_build_memory_map || s->target->ops->memory_map;
}

static const struct xfer_object *xfer_object_of(const struct gdb_session *s,
                                                const struct gdb_args *name)
{
    for (size_t i = 0; i < sizeof(xfer_objects) / sizeof(*xfer_objects); i++) {
        if (gdb_args_equal(name, xfer_objects[i].name) && xfer_is_there(s, &xfer_objects[i]))
            return &xfer_objects[i];
    }
    return NULL;
}

static int xfer_annex_of(const struct xfer_object *object, const struct gdb_args *name)
{
    for (int i = 0; i < ANNEX_MAX; i++) {
        if (object->annex[i] && gdb_args_equal(name, object->annex[i]))
            return i;
    }
    return -1;
}

static int xfer_freeze(struct gdb_session *s, const struct xfer_object *object, int annex)
{
    struct gdb_document *d = &s->document;
    d->object = NULL;
    text_buf_clear(&d->text);
    int error = object->build(s, annex, &d->text);
    if (error >= 0)
        error = text_buf_error(&d->text);
    if (error < 0) {
        gdb_document_forget(s);
        return error;
    }
    d->object = object;
    d->annex = annex;
    d->core = s->general;
    d->delivered = false;
    return BT_OK;
}

static bool xfer_is_frozen(const struct gdb_session *s, const struct xfer_object *object, int annex)
{
    const struct gdb_document *d = &s->document;
    return d->object == object && d->annex == annex && d->core == s->general;
}

static void xfer_add_chunk(struct gdb_session *s, uint64_t offset, uint64_t len)
{
    struct gdb_document *d = &s->document;
    size_t start = offset < d->text.len ? (size_t)offset : d->text.len;
    size_t left = d->text.len - start;
    size_t take = len < left ? (size_t)len : left;
    bool last = take == left;
    text_buf_putc(&s->reply, last ? 'l' : 'm');
    text_buf_add(&s->reply, d->text.data + start, take);
    if (!last || d->delivered || text_buf_error(&s->reply) < 0)
        return;
    d->delivered = true;
    if (d->object->btrace && s->task == 0)
        s->host->btrace_delivered(s->host_ctx, d->core, (enum gdb_annex)d->annex);
}

/* "ANNEX:OFFSET,LENGTH" */
static int xfer_read(struct gdb_session *s, const struct xfer_object *object, struct gdb_args *a)
{
    struct gdb_args annex_name;
    uint64_t offset;
    uint64_t len;
    if (!gdb_args_until(a, ':', &annex_name) || !gdb_args_hex(a, &offset) ||
        !gdb_args_char(a, ',') || !gdb_args_hex(a, &len) || !gdb_args_empty(a) || len == 0)
        return BT_ERR_INVAL;
    int annex = xfer_annex_of(object, &annex_name);
    if (annex < 0)
        return BT_ERR_INVAL;
    if (offset == 0 || !xfer_is_frozen(s, object, annex)) {
        if (offset != 0 && object->btrace)
            return BT_ERR_INVAL;
        int error = xfer_freeze(s, object, annex);
        if (error < 0)
            return error;
    }
    xfer_add_chunk(s, offset, len < CHUNK_MAX - 1 ? len : CHUNK_MAX - 1);
    return BT_OK;
}

static int answer_xfer(struct gdb_session *s, struct gdb_args *a)
{
    struct gdb_args name;
    if (!gdb_args_until(a, ':', &name))
        return BT_ERR_INVAL;
    const struct xfer_object *object = xfer_object_of(s, &name);
    if (!object)
        return BT_OK;
    if (!gdb_args_text(a, "read:"))
        return BT_ERR_INVAL;
    return xfer_read(s, object, a);
}

/* Branch trace on and off. */

/* An error to "off" would keep GDB from stopping the record, from detaching and from quitting
 * (found with GDB 13). */
static int answer_btrace(struct gdb_session *s, struct gdb_args *a)
{
    struct target_error why = {""};
    int error = BT_OK;
    if (!gdb_has_btrace(s))
        return BT_OK;
    gdb_document_forget(s);
    if (s->task != 0 && (gdb_args_equal(a, "bts") || gdb_args_equal(a, "off")))
        return gdb_reply(s, "OK"); /* GDB switches it on for every thread */
    if (gdb_args_equal(a, "bts"))
        error = s->host->btrace_enable(s->host_ctx, s->general, &why);
    else if (gdb_args_equal(a, "off"))
        s->host->btrace_disable(s->host_ctx, s->general);
    else
        return gdb_reply_error(s, "only the bts format is available");
    return gdb_reply_result(s, error, why.text);
}

/* "0x10000": the one number of the protocol with a prefix. 0 is unlimited, as GDB has it. */
static int answer_btrace_size(struct gdb_session *s, struct gdb_args *a)
{
    uint64_t size;
    if (!gdb_has_btrace(s))
        return BT_OK;
    if (!gdb_args_text(a, "size="))
        return BT_ERR_INVAL;
    if (!gdb_args_text(a, "0x"))
        gdb_args_text(a, "0X");
    if (!gdb_args_hex(a, &size) || !gdb_args_empty(a))
        return BT_ERR_INVAL;
    if (size == 0 || size > UINT32_MAX)
        size = UINT32_MAX;
    s->host->btrace_set_size(s->host_ctx, (uint32_t)size);
    return gdb_reply(s, "OK");
}

const struct gdb_command gdb_xfer_commands[] = {
    {"qXfer:", GDB_PREFIX, false, answer_xfer},
    {"Qbtrace:", GDB_PREFIX, false, answer_btrace},
    {"Qbtrace-conf:bts:", GDB_PREFIX, false, answer_btrace_size},
    {NULL, GDB_EXACT, false, NULL},
};
