/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The first questions on a connection: what the other side can do, which threads it has, and its
 * target description, for the numbers of PC and PSR: they are 15 and 25 in the customary layout,
 * and servers differ in the second. Documents that it includes are put in their places, for
 * registers without a number are counted on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gdb_remote_internal.h"

/* Replies to a listing of threads: one thread each at the worst, and some that are no cores. */
#define LISTINGS_MAX 1024

/* A server that does not report how long a packet may be gets none that is longer. */
#define PACKET_SIZE     0x18a
#define PACKET_SIZE_MIN 0x40

#define DOCUMENTS_MAX  32
#define TEXT_MAX       (256u << 10)
#define CHUNK_MAX      0xff0
#define REGISTERS_MAX  1024u
#define BITS_MAX       2048u
#define INCLUDE        "<xi:include"
#define COMMENT_START  "<!--"
#define COMMENT_END    "-->"
#define REGISTER_START "<reg "
#define FEATURE_START  "<feature "

static void greet_got_vcont(struct gdb_remote *r, const char *reply, size_t len)
{
    struct gdb_args word;
    struct gdb_args a = {reply, reply + len};
    if (gdb_args_text(&a, "vCont")) {
        while (gdb_args_until(&a, ';', &word))
            r->can_vcont = r->can_vcont || gdb_args_equal(&word, "c");
    }
    int core = gdb_remote_core_of(r, &r->stopped);
    r->target.stopped_core = r->target.stop.core = core < 0 ? 0 : core;
    target_opened(&r->target, TARGET_HALTED);
}

static void greet_described(struct gdb_remote *r)
{
    gdb_remote_send_text(r, "vCont?", greet_got_vcont);
}

/* The target description. */

struct tag {
    const char *at;
    const char *end; /* its '>' */
};

/* The next start of `name` from `at` on, outside of comments. False when there is none. */
static bool xml_find_tag(const char *at, const char *name, struct tag *tag)
{
    for (; (at = strchr(at, '<')); at++) {
        if (strncmp(at, COMMENT_START, strlen(COMMENT_START)) == 0) {
            at = strstr(at, COMMENT_END);
            if (!at)
                return false;
        } else if (strncmp(at, name, strlen(name)) == 0) {
            *tag = (struct tag){at, strchr(at, '>')};
            return tag->end;
        }
    }
    return false;
}

/* Value of ` name="value"` or ` name='value'`. False when it is missing. */
static bool xml_attribute(const struct tag *tag, const char *name, struct gdb_args *value)
{
    size_t len = strlen(name);
    for (const char *at = tag->at; at + len + 3 < tag->end; at++) {
        if (!strchr(" \t\r\n", at[0]) || strncmp(at + 1, name, len) != 0 || at[len + 1] != '=')
            continue;
        value->at = at + len + 3;
        value->end = memchr(value->at, value->at[-1], (size_t)(tag->end - value->at));
        return value->end;
    }
    return false;
}

/* The same as a string, which ends in the document from now on; "": it is missing. */
static const char *xml_string(const struct tag *tag, const char *name)
{
    struct gdb_args value;
    if (!xml_attribute(tag, name, &value))
        return "";
    *(char *)value.end = '\0';
    return value.at;
}

static unsigned xml_number(const struct tag *tag, const char *name, unsigned otherwise)
{
    struct gdb_args value;
    return xml_attribute(tag, name, &value) ? (unsigned)strtoul(value.at, NULL, 10) : otherwise;
}

static int register_compare(const void *a, const void *b)
{
    const struct target_register *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

static unsigned describe_count_registers(const char *at)
{
    unsigned count = 0;
    for (struct tag tag; count < REGISTERS_MAX && xml_find_tag(at, REGISTER_START, &tag);
         at = tag.end)
        count++;
    return count;
}

/* The list of registers, whose names stay in the description. */
static void describe_take_registers(struct gdb_remote *r)
{
    const char *at = r->description.data, *feature = "";
    unsigned count = describe_count_registers(at), number = 0;
    struct tag tag, of_feature;
    r->registers = calloc(count + 1, sizeof(*r->registers));
    if (!r->registers)
        return;
    for (; r->register_count < count; at = tag.end) {
        bool starts = xml_find_tag(at, FEATURE_START, &of_feature);
        xml_find_tag(at, REGISTER_START, &tag);
        if (starts && of_feature.at < tag.at) {
            tag = of_feature;
            feature = xml_string(&tag, "name");
            continue;
        }
        struct target_register *reg = &r->registers[r->register_count++];
        unsigned bits = xml_number(&tag, "bitsize", 32);
        reg->bits = bits < BITS_MAX ? bits : BITS_MAX;
        reg->feature = feature;
        reg->number = xml_number(&tag, "regnum", number);
        reg->name = xml_string(&tag, "name");
        reg->type = xml_string(&tag, "type");
        number = reg->number + 1;
    }
    qsort(r->registers, count, sizeof(*r->registers), register_compare);
}

static void describe_finish(struct gdb_remote *r)
{
    describe_take_registers(r);
    text_buf_release(&r->document);
    greet_described(r);
}

static void describe_ask_chunk(struct gdb_remote *r);

/* `document` takes the place of the tag that includes it; the first one begins it all. */
static void describe_put_document(struct gdb_remote *r)
{
    struct text_buf all;
    struct tag tag;
    text_buf_init(&all);
    if (r->document_count > 1 && xml_find_tag(r->description.data, INCLUDE, &tag)) {
        text_buf_add(&all, r->description.data, (size_t)(tag.at - r->description.data));
        text_buf_puts(&all, r->document.data);
        text_buf_puts(&all, tag.end + 1);
    } else {
        text_buf_puts(&all, r->document.data);
    }
    text_buf_release(&r->description);
    r->description = all;
}

/* The document that is included next. */
static bool describe_next_name(struct gdb_remote *r)
{
    struct tag tag;
    struct gdb_args name;
    if (!xml_find_tag(r->description.data, INCLUDE, &tag) || !xml_attribute(&tag, "href", &name) ||
        gdb_args_empty(&name) || gdb_args_left(&name) >= sizeof(r->annex))
        return false;
    snprintf(r->annex, sizeof(r->annex), "%.*s", (int)gdb_args_left(&name), name.at);
    return !strpbrk(r->annex, ":;#$}*");
}

static void describe_next_document(struct gdb_remote *r)
{
    describe_put_document(r);
    text_buf_clear(&r->document);
    if (r->document_count++ < DOCUMENTS_MAX && text_buf_error(&r->description) == BT_OK &&
        r->description.len < TEXT_MAX && describe_next_name(r))
        describe_ask_chunk(r);
    else
        describe_finish(r);
}

static void describe_got_chunk(struct gdb_remote *r, const char *reply, size_t len)
{
    bool more = len > 1 && reply[0] == 'm';
    if (more || (len > 0 && reply[0] == 'l'))
        text_buf_add(&r->document, reply + 1, len - 1);
    if (more && r->document.len < TEXT_MAX && text_buf_error(&r->document) == BT_OK)
        describe_ask_chunk(r);
    else
        describe_next_document(r);
}

static void describe_ask_chunk(struct gdb_remote *r)
{
    char text[sizeof(r->annex) + 64];
    size_t len = r->packet_size - 4 < CHUNK_MAX ? r->packet_size - 4 : CHUNK_MAX;
    snprintf(text, sizeof(text), "qXfer:features:read:%s:%zx,%zx", r->annex, r->document.len, len);
    gdb_remote_send_text(r, text, describe_got_chunk);
}

static void describe_begin(struct gdb_remote *r)
{
    text_buf_clear(&r->document);
    text_buf_clear(&r->description);
    r->document_count = 1;
    snprintf(r->annex, sizeof(r->annex), "target.xml");
    describe_ask_chunk(r);
}

/* Threads and features. */

static void greet_finish_threads(struct gdb_remote *r)
{
    /* Without a list there is one core, whose thread never needs to be named. */
    if (r->target.core_count == 0)
        r->threads[r->target.core_count++] = (struct gdb_thread){.single = false};
    if (r->has_description)
        describe_begin(r);
    else
        greet_described(r);
}

static void greet_add_thread(struct gdb_remote *r, const struct gdb_thread *thread)
{
    if (thread->single && r->target.core_count < TARGET_CORES_MAX &&
        gdb_remote_core_of(r, thread) < 0)
        r->threads[r->target.core_count++] = *thread;
}

static void greet_got_threads(struct gdb_remote *r, const char *reply, size_t len)
{
    struct gdb_thread thread;
    struct gdb_args a = {reply, reply + len};
    if (!gdb_args_char(&a, 'm') || ++r->listings > LISTINGS_MAX) {
        greet_finish_threads(r);
        return;
    }
    while (gdb_thread_take(&a, &thread)) {
        greet_add_thread(r, &thread);
        gdb_args_char(&a, ',');
    }
    gdb_remote_send_text(r, "qsThreadInfo", greet_got_threads);
}

/* Every server answers `?`; one that does not is none. */
static void greet_got_state(struct gdb_remote *r, const char *reply, size_t len)
{
    struct target_stop stop = gdb_remote_take_stop(r, reply, len);
    if (stop.kind == TARGET_HALT_FAILED) {
        gdb_remote_fail(r, BT_ERR_FORMAT);
        return;
    }
    target_note_stop(&r->target,
                     &(struct target_halt){.stop = &stop, .packet = reply, .packet_length = len});
    gdb_remote_send_text(r, "qfThreadInfo", greet_got_threads);
}

static void greet_got_no_ack(struct gdb_remote *r, const char *reply, size_t len)
{
    if (len == 2 && memcmp(reply, "OK", 2) == 0)
        rsp_sender_set_no_ack(&r->link.sender);
    gdb_remote_send_text(r, "?", greet_got_state);
}

static void greet_got_features(struct gdb_remote *r, const char *reply, size_t len)
{
    struct gdb_args word;
    bool can_no_ack = false;
    struct gdb_args a = {reply, reply + len};
    while (gdb_args_until(&a, ';', &word)) {
        uint64_t size;
        if (gdb_args_equal(&word, "QStartNoAckMode+"))
            can_no_ack = true;
        else if (gdb_args_equal(&word, "multiprocess+"))
            r->is_qemu = true; /* no other server has this without being asked for it */
        else if (gdb_args_equal(&word, "qXfer:features:read+"))
            r->has_description = true;
        else if (gdb_args_text(&word, "PacketSize=") && gdb_args_hex(&word, &size) &&
                 size >= PACKET_SIZE_MIN)
            r->packet_size = size < GDB_PACKET_SIZE ? (size_t)size : GDB_PACKET_SIZE;
    }
    if (can_no_ack)
        gdb_remote_send_text(r, "QStartNoAckMode", greet_got_no_ack);
    else
        gdb_remote_send_text(r, "?", greet_got_state);
}

void gdb_remote_greet(struct gdb_remote *r)
{
    free(r->registers);
    r->registers = NULL;
    r->register_count = 0;
    r->target.core_count = 0;
    r->target.registers_length = 0;
    r->listings = 0;
    r->stopped = (struct gdb_thread){.single = false};
    r->packet_size = PACKET_SIZE;
    r->can_vcont = false;
    r->has_description = false;
    r->is_qemu = false;
    r->resumes_anew = false;
    r->only_g = false;
    /* There are servers (pyOCD) that answer nothing to a question without features. */
    gdb_remote_send_text(r, "qSupported:xmlRegisters=arm", greet_got_features);
}
