/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * qXfer:OBJECT:read:ANNEX:OFFSET,LENGTH. The document is made at offset 0 and frozen: later
 * chunks come from the same text, whatever happens meanwhile: GDB joins them.
 */
#include <stdlib.h>
#include <string.h>

#include "gdb_internal.h"
#include "protocol/rsp/xml.h"

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

struct gdb_document {
    const struct xfer_object *object; /* NULL: nothing is frozen */
    int annex;
    int core;
    bool delivered;
    struct text_buf text;
};

struct gdb_document *gdb_document_new(void)
{
    struct gdb_document *d = calloc(1, sizeof(*d));
    if (d != NULL)
        text_buf_init(&d->text);
    return d;
}

void gdb_document_forget(struct gdb_document *d)
{
    d->object = NULL;
    /* Documents of btrace have megabytes. */
    text_buf_release(&d->text);
}

void gdb_document_free(struct gdb_document *d)
{
    if (d != NULL)
        text_buf_release(&d->text);
    free(d);
}

static bool always(const struct gdb_target *t)
{
    (void)t;
    return true;
}

static bool has_memory_map(const struct gdb_target *t)
{
    return t->memory_map != NULL;
}

static int build_target(struct gdb_session *s, int annex, struct text_buf *out)
{
    const struct gdb_register *extra = NULL;
    unsigned count = gdb_extra_registers(s, s->general, &extra);
    (void)annex;
    xml_target(out, gdb_core_info(s, s->general).profile, extra, count);
    return BT_OK;
}

static int build_threads(struct gdb_session *s, int annex, struct text_buf *out)
{
    (void)annex;
    s->threads_listed = true;
    xml_threads_begin(out);
    for (int i = 0; i < s->core_count; i++) {
        char status[STATUS_SIZE] = "";
        struct gdb_core info = gdb_core_info(s, i);
        if (s->target->core_status != NULL)
            s->target->core_status(s->target_ctx, i, status, sizeof(status));
        xml_threads_add(out, &(struct xml_thread){gdb_thread_of_core(i), i, info.name, status});
    }
    xml_threads_end(out);
    return BT_OK;
}

static int build_memory_map(struct gdb_session *s, int annex, struct text_buf *out)
{
    const struct gdb_region *regions = NULL;
    (void)annex;
    int count = s->target->memory_map(s->target_ctx, &regions);
    if (count < 0)
        return count;
    xml_memory_map(out, regions, (size_t)count);
    return BT_OK;
}

static void btrace_delivered(struct gdb_session *s, int annex, int core)
{
    s->target->btrace_delivered(s->target_ctx, core, (enum gdb_annex)annex);
}

static const struct xfer_object objects[] = {
    {"features", always, {"target.xml"}, build_target, false, NULL},
    {"threads", always, {""}, build_threads, false, NULL},
    {"memory-map", has_memory_map, {""}, build_memory_map, false, NULL},
    {"btrace-conf", gdb_has_btrace, {""}, gdb_btrace_conf_document, false, NULL},
    {"btrace",
     gdb_has_btrace,
     {[GDB_ANNEX_ALL] = "all", [GDB_ANNEX_NEW] = "new", [GDB_ANNEX_DELTA] = "delta"},
     gdb_btrace_document,
     true,
     btrace_delivered},
};

static const struct xfer_object *find_object(const struct gdb_session *s,
                                             const struct gdb_args *name)
{
    for (size_t i = 0; i < sizeof(objects) / sizeof(*objects); i++) {
        if (gdb_args_equal(name, objects[i].name) && objects[i].available(s->target))
            return &objects[i];
    }
    return NULL;
}

static int find_annex(const struct xfer_object *object, const struct gdb_args *name)
{
    for (int i = 0; i < ANNEX_MAX; i++) {
        if (object->annex[i] != NULL && gdb_args_equal(name, object->annex[i]))
            return i;
    }
    return -1;
}

static int freeze(struct gdb_session *s, const struct xfer_object *object, int annex)
{
    struct gdb_document *d = s->document;
    d->object = NULL;
    text_buf_clear(&d->text);
    int rc = object->build(s, annex, &d->text);
    if (rc >= 0)
        rc = text_buf_error(&d->text);
    if (rc < 0) {
        gdb_document_forget(d);
        return rc;
    }
    d->object = object;
    d->annex = annex;
    d->core = s->general;
    d->delivered = false;
    return BT_OK;
}

static bool is_frozen(const struct gdb_session *s, const struct xfer_object *object, int annex)
{
    const struct gdb_document *d = s->document;
    return d->object == object && d->annex == annex && d->core == s->general;
}

static void send_chunk(struct gdb_session *s, uint64_t offset, uint64_t len)
{
    struct gdb_document *d = s->document;
    size_t start = offset < d->text.len ? (size_t)offset : d->text.len;
    size_t left = d->text.len - start;
    size_t take = len < left ? (size_t)len : left;
    bool last = take == left;
    text_buf_putc(&s->reply, last ? 'l' : 'm');
    text_buf_add(&s->reply, d->text.data + start, take);
    if (!last || d->delivered || text_buf_error(&s->reply) < 0)
        return;
    d->delivered = true;
    if (d->object->delivered != NULL)
        d->object->delivered(s, d->annex, d->core);
}

/* "ANNEX:OFFSET,LENGTH" */
static int read_object(struct gdb_session *s, const struct xfer_object *object, struct gdb_args *a)
{
    struct gdb_args annex_name;
    uint64_t offset;
    uint64_t len;
    if (!gdb_args_until(a, ':', &annex_name) || !gdb_args_hex(a, &offset) ||
        !gdb_args_char(a, ',') || !gdb_args_hex(a, &len) || !gdb_args_empty(a) || len == 0)
        return BT_ERR_INVAL;
    int annex = find_annex(object, &annex_name);
    if (annex < 0)
        return BT_ERR_INVAL;
    if (offset == 0 || !is_frozen(s, object, annex)) {
        if (offset != 0 && object->volatile_text)
            return BT_ERR_INVAL;
        int rc = freeze(s, object, annex);
        if (rc < 0)
            return rc;
    }
    send_chunk(s, offset, len < CHUNK_MAX - 1 ? len : CHUNK_MAX - 1);
    return BT_OK;
}

static int xfer(struct gdb_session *s, struct gdb_args *a)
{
    struct gdb_args name;
    if (!gdb_args_until(a, ':', &name))
        return BT_ERR_INVAL;
    const struct xfer_object *object = find_object(s, &name);
    if (object == NULL)
        return BT_OK;
    if (!gdb_args_text(a, "read:"))
        return BT_ERR_INVAL;
    return read_object(s, object, a);
}

const struct gdb_command gdb_xfer_commands[] = {
    {"qXfer:", GDB_PREFIX, false, xfer},
    {NULL, GDB_EXACT, false, NULL},
};
