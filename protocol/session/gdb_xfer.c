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

/* Unescaped bytes of one answer, with its 'm' or 'l'. */
#define CHUNK_MAX   (GDB_PACKET_SIZE - 1)
#define STATUS_SIZE 128
#define ANNEX_MAX   3

struct xfer_object {
    const char *name;
    bool (*available)(const struct gdb_target *t);
    const char *annex[ANNEX_MAX]; /* index = the `annex` of build() */
    int (*build)(struct gdb_session *s, int annex, struct text_buf *out);
    /* Reads at other offsets are good only for the document that offset 0 made. */
    bool volatile_text;
    void (*delivered)(struct gdb_session *s, int annex, int core);
};

#define PSR_NUMBER 25

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

static void xml_add_hex(struct text_buf *b, uint64_t value)
{
    char text[HEX_NUMBER_MAX];
    text_buf_add(b, text, (size_t)(xml_put_hex(text, value) - text));
}

static const char *xml_entity(char c)
{
    switch (c) {
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '&':
        return "&amp;";
    case '"':
        return "&quot;";
    case '\'':
        return "&apos;";
    default:
        return NULL;
    }
}

/* Text of an attribute or element: the five markup characters replaced, controls as '?'. */
static void xml_add_text(struct text_buf *b, const char *text)
{
    for (; *text != '\0'; text++) {
        const char *entity = xml_entity(*text);
        unsigned char c = (unsigned char)*text;
        if (entity)
            text_buf_puts(b, entity);
        else
            text_buf_putc(b, c < ' ' || c > '~' ? '?' : *text);
    }
}

static void xml_core_registers(struct text_buf *out, const char *psr)
{
    for (int i = 0; i <= 12; i++)
        text_buf_printf(out, "<reg name=\"r%d\" bitsize=\"32\" type=\"uint32\" regnum=\"%d\"/>\n",
                        i, i);
    text_buf_puts(out, "<reg name=\"sp\" bitsize=\"32\" type=\"data_ptr\" regnum=\"13\"/>\n"
                       "<reg name=\"lr\" bitsize=\"32\" regnum=\"14\"/>\n"
                       "<reg name=\"pc\" bitsize=\"32\" type=\"code_ptr\" regnum=\"15\"/>\n");
    text_buf_printf(out, "<reg name=\"%s\" bitsize=\"32\" regnum=\"%d\"/>\n", psr, PSR_NUMBER);
}

static void xml_a64_registers(struct text_buf *out)
{
    for (int i = 0; i <= 30; i++)
        text_buf_printf(out, "<reg name=\"x%d\" bitsize=\"64\" regnum=\"%d\"/>\n", i, i);
    text_buf_puts(out, "<reg name=\"sp\" bitsize=\"64\" type=\"data_ptr\" regnum=\"31\"/>\n"
                       "<reg name=\"pc\" bitsize=\"64\" type=\"code_ptr\" regnum=\"32\"/>\n"
                       "<reg name=\"cpsr\" bitsize=\"32\" regnum=\"33\"/>\n");
}

static void xml_extra_registers(struct text_buf *out, const struct target_register *list,
                                unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        bool first = i == 0 || strcmp(list[i].feature, list[i - 1].feature) != 0;
        if (first)
            text_buf_printf(out, "</feature>\n<feature name=\"%s\">\n", list[i].feature);
        text_buf_printf(out, "<reg name=\"%s\" bitsize=\"%u\" type=\"%s\" regnum=\"%u\"/>\n",
                        list[i].name, list[i].bits, list[i].type, TARGET_EXTRA_NUMBER + i);
    }
}

/*
 * target.xml: r0-r12, sp, lr, pc numbered 0-15 and cpsr or xpsr numbered 25, as in GDB's own
 * descriptions; in the g packet it follows pc directly. Further registers come behind them, with
 * numbers from TARGET_EXTRA_NUMBER on. AArch64: x0-x30, sp, pc and cpsr, numbered 0 to 33.
 */
static void xml_target(struct text_buf *out, enum target_profile profile,
                       const struct target_register *extra, unsigned count)
{
    bool m = profile == TARGET_PROFILE_M, a64 = profile == TARGET_PROFILE_A64;
    text_buf_puts(out, "<?xml version=\"1.0\"?>\n"
                       "<!DOCTYPE target SYSTEM \"gdb-target.dtd\">\n"
                       "<target version=\"1.0\">\n");
    text_buf_printf(out, "<architecture>%s</architecture>\n<feature name=\"org.gnu.gdb.%s\">\n",
                    a64 ? "aarch64" : "arm",
                    a64 ? "aarch64.core"
                    : m ? "arm.m-profile"
                        : "arm.core");
    if (a64)
        xml_a64_registers(out);
    else
        xml_core_registers(out, m ? "xpsr" : "cpsr");
    xml_extra_registers(out, extra, count);
    text_buf_puts(out, "</feature>\n</target>\n");
}

/* One thread of the list; `status` may be "". */
struct xml_thread {
    int id;
    int core;
    const char *name;
    const char *status;
};

static void xml_threads_begin(struct text_buf *out)
{
    text_buf_puts(out, "<?xml version=\"1.0\"?>\n<threads>\n");
}

static void xml_threads_add(struct text_buf *out, const struct xml_thread *thread)
{
    text_buf_printf(out, "<thread id=\"%x\" core=\"%d\" name=\"", (unsigned)thread->id,
                    thread->core);
    xml_add_text(out, thread->name);
    text_buf_puts(out, "\">");
    xml_add_text(out, thread->status);
    text_buf_puts(out, "</thread>\n");
}

static void xml_threads_end(struct text_buf *out)
{
    text_buf_puts(out, "</threads>\n");
}

static const char *xml_region_name(enum target_region_type type)
{
    switch (type) {
    case TARGET_REGION_ROM:
        return "rom";
    case TARGET_REGION_FLASH:
        return "flash";
    default:
        return "ram";
    }
}

static void xml_add_region(struct text_buf *out, const struct target_region *region)
{
    text_buf_printf(out, "<memory type=\"%s\" start=\"", xml_region_name(region->type));
    xml_add_hex(out, region->start);
    text_buf_puts(out, "\" length=\"");
    xml_add_hex(out, region->length);
    if (region->type == TARGET_REGION_FLASH) {
        text_buf_puts(out, "\">\n<property name=\"blocksize\">");
        xml_add_hex(out, region->blocksize);
        text_buf_puts(out, "</property>\n</memory>\n");
    } else {
        text_buf_puts(out, "\"/>\n");
    }
}

static void xml_memory_map(struct text_buf *out, const struct target_region *regions, size_t count)
{
    text_buf_puts(out, "<?xml version=\"1.0\"?>\n"
                       "<!DOCTYPE memory-map PUBLIC \"+//IDN gnu.org//DTD GDB Memory Map V1.0//EN\""
                       " \"http://sourceware.org/gdb/gdb-memory-map.dtd\">\n"
                       "<memory-map>\n");
    for (size_t i = 0; i < count; i++)
        xml_add_region(out, &regions[i]);
    text_buf_puts(out, "</memory-map>\n");
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

/* Not recording = a document without children: GDB then does not reopen the recording. */
static void xml_btrace_conf(struct text_buf *out, const struct gdb_btrace_conf *conf)
{
    text_buf_puts(out, "<!DOCTYPE btrace-conf SYSTEM \"btrace-conf.dtd\">\n"
                       "<btrace-conf version=\"1.0\">\n");
    if (conf->recording) {
        text_buf_puts(out, "<bts size=\"");
        xml_add_hex(out, conf->size);
        text_buf_puts(out, "\"/>\n");
    }
    text_buf_puts(out, "</btrace-conf>\n");
}

/* Blocks of branch trace. */

#define GAP_BEGIN 0x1
#define GAP_END   0x0

int gdb_btrace_blocks_add(struct gdb_btrace_blocks *b, uint64_t begin, uint64_t end)
{
    if (b->count == b->capacity) {
        size_t capacity = b->capacity > 0 ? 2 * b->capacity : 256;
        if (capacity > SIZE_MAX / sizeof(*b->block))
            return BT_ERR_NOMEM;
        struct gdb_btrace_block *block = realloc(b->block, capacity * sizeof(*block));
        if (!block)
            return BT_ERR_NOMEM;
        b->block = block;
        b->capacity = capacity;
    }
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
    int error = s->target->btrace_read(s->target_ctx, s->general, (enum gdb_annex)annex, &blocks);
    if (error >= 0 && annex == GDB_ANNEX_DELTA && !btrace_delta_is_safe(&blocks))
        error = BT_ERR_FORMAT;
    if (error >= 0)
        xml_btrace(out, &blocks);
    free(blocks.block);
    return error < 0 ? error : BT_OK;
}

static int btrace_conf_document(struct gdb_session *s, int annex, struct text_buf *out)
{
    struct gdb_btrace_conf conf = {.recording = false};
    (void)annex;
    int error = s->target->btrace_conf(s->target_ctx, s->general, &conf);
    if (error < 0)
        return error;
    xml_btrace_conf(out, &conf);
    return BT_OK;
}

static bool xfer_always(const struct gdb_target *t)
{
    (void)t;
    return true;
}

static bool xfer_has_memory_map(const struct gdb_target *t)
{
    return t->memory_map;
}

static int xfer_build_target(struct gdb_session *s, int annex, struct text_buf *out)
{
    const struct target_register *extra = NULL;
    unsigned count = gdb_extra_registers(s, s->general, &extra);
    (void)annex;
    xml_target(out, gdb_core_info(s, s->general).profile, extra, count);
    return BT_OK;
}

static int xfer_build_threads(struct gdb_session *s, int annex, struct text_buf *out)
{
    (void)annex;
    s->threads_listed = true;
    xml_threads_begin(out);
    for (int i = 0; i < s->core_count; i++) {
        char status[STATUS_SIZE] = "";
        struct target_core info = gdb_core_info(s, i);
        if (s->target->core_status)
            s->target->core_status(s->target_ctx, i, status, sizeof(status));
        xml_threads_add(out, &(struct xml_thread){gdb_thread_of_core(i), i, info.name, status});
    }
    xml_threads_end(out);
    return BT_OK;
}

static int xfer_build_memory_map(struct gdb_session *s, int annex, struct text_buf *out)
{
    const struct target_region *regions = NULL;
    (void)annex;
    int count = s->target->memory_map(s->target_ctx, &regions);
    if (count < 0)
        return count;
    xml_memory_map(out, regions, (size_t)count);
    return BT_OK;
}

static void xfer_btrace_delivered(struct gdb_session *s, int annex, int core)
{
    s->target->btrace_delivered(s->target_ctx, core, (enum gdb_annex)annex);
}

static const struct xfer_object xfer_objects[] = {
    {"features", xfer_always, {"target.xml"}, xfer_build_target, false, NULL},
    {"threads", xfer_always, {""}, xfer_build_threads, false, NULL},
    {"memory-map", xfer_has_memory_map, {""}, xfer_build_memory_map, false, NULL},
    {"btrace-conf", gdb_has_btrace, {""}, btrace_conf_document, false, NULL},
    {"btrace",
     gdb_has_btrace,
     {[GDB_ANNEX_ALL] = "all", [GDB_ANNEX_NEW] = "new", [GDB_ANNEX_DELTA] = "delta"},
     btrace_document,
     true,
     xfer_btrace_delivered},
};

static const struct xfer_object *xfer_object_of(const struct gdb_session *s,
                                                const struct gdb_args *name)
{
    for (size_t i = 0; i < sizeof(xfer_objects) / sizeof(*xfer_objects); i++) {
        if (gdb_args_equal(name, xfer_objects[i].name) && xfer_objects[i].available(s->target))
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
    if (d->object->delivered)
        d->object->delivered(s, d->annex, d->core);
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
        if (offset != 0 && object->volatile_text)
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

static int btrace_switch_on(struct gdb_session *s)
{
    struct target_error why = {""};
    int error = s->target->btrace_enable(s->target_ctx, s->general, &why);
    return gdb_reply_result(s, error, &why);
}

/* An error would keep GDB from stopping the record, from detaching and from quitting (found with
 * GDB 13). */
static int btrace_switch_off(struct gdb_session *s)
{
    s->target->btrace_disable(s->target_ctx, s->general);
    return gdb_reply(s, "OK");
}

static int answer_btrace(struct gdb_session *s, struct gdb_args *a)
{
    if (!gdb_has_btrace(s->target))
        return BT_OK;
    gdb_document_forget(s);
    if (gdb_args_equal(a, "bts"))
        return btrace_switch_on(s);
    if (gdb_args_equal(a, "off"))
        return btrace_switch_off(s);
    return gdb_reply_result(s, BT_ERR_UNSUPPORTED,
                            &(struct target_error){"only the bts format is available"});
}

/* "0x10000": the one number of the protocol with a prefix. 0 is unlimited, as GDB has it. */
static int answer_btrace_size(struct gdb_session *s, struct gdb_args *a)
{
    struct target_error why = {""};
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
    int error = s->target->btrace_set_size(s->target_ctx, (uint32_t)size, &why);
    return gdb_reply_result(s, error, &why);
}

const struct gdb_command gdb_xfer_commands[] = {
    {"qXfer:", GDB_PREFIX, false, answer_xfer},
    {"Qbtrace:", GDB_PREFIX, false, answer_btrace},
    {"Qbtrace-conf:bts:", GDB_PREFIX, false, answer_btrace_size},
    {NULL, GDB_EXACT, false, NULL},
};
