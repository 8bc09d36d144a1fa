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
#include <strings.h>

#include "gdb_remote_internal.h"

/* Replies to a listing of threads: one thread each at the worst, and some that are no cores. */
#define LISTINGS_MAX 1024

#define DOCUMENTS_MAX  32
#define TEXT_MAX       (256u << 10)
#define CHUNK_MAX      0xff0
#define ATTRIBUTE_MAX  32
#define INCLUDE        "<xi:include"
#define COMMENT_START  "<!--"
#define COMMENT_END    "-->"
#define REGISTER_START "<reg "

static void greet_got_vcont(void *ctx, const char *reply, size_t len)
{
    struct gdb_remote *u = ctx;
    struct gdb_args word;
    if (!reply)
        return;
    struct gdb_args a = {reply, reply + len};
    if (gdb_args_text(&a, "vCont")) {
        while (gdb_args_until(&a, ';', &word))
            u->can_vcont = u->can_vcont || gdb_args_equal(&word, "c");
    }
    u->phase = GDB_REMOTE_READY;
    u->events->ready(u->ctx, BT_OK);
}

static void greet_described(struct gdb_remote *u)
{
    gdb_remote_greet_with(u, "vCont?", greet_got_vcont);
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

/* Value of ` name="value"` or ` name='value'`. False when it is missing or too long. */
static bool xml_attribute(const struct tag *tag, const char *name, char *value, size_t size)
{
    size_t len = strlen(name);
    for (const char *at = tag->at; at + len + 2 < tag->end; at++) {
        if (!strchr(" \t\r\n", at[0]) || strncmp(at + 1, name, len) != 0 || at[len + 1] != '=')
            continue;
        const char *from = at + len + 3;
        const char *to =
            from <= tag->end ? memchr(from, from[-1], (size_t)(tag->end - from)) : NULL;
        if (!to || (size_t)(to - from) >= size)
            return false;
        memcpy(value, from, (size_t)(to - from));
        value[to - from] = '\0';
        return true;
    }
    return false;
}

/* Where a register stands: its number, and the digits of a g packet before it. */
struct place {
    unsigned number;
    size_t digits;
    bool ordered; /* registers came with rising numbers: the digits are right */
};

static const char *const stacks[GDB_STACKS] = {"msp", "psp", "msp_s", "psp_s", "msp_ns", "psp_ns"};

static void describe_name_register(struct gdb_remote *u, const char *name, const struct place *at)
{
    size_t digits = at->ordered ? at->digits : 0;
    if (strcasecmp(name, "pc") == 0) {
        u->number_pc = at->number;
    } else if (strcasecmp(name, "cpsr") == 0 || strcasecmp(name, "xpsr") == 0) {
        u->number_psr = at->number;
        u->at_psr = digits;
    }
    for (unsigned i = 0; i < GDB_STACKS; i++) {
        if (strcasecmp(name, stacks[i]) == 0) {
            u->number_stack[i] = at->number;
            u->at_stack[i] = digits;
        }
    }
}

static void describe_take_register(struct gdb_remote *u, const struct tag *tag, struct place *at)
{
    char text[ATTRIBUTE_MAX];
    unsigned before = at->number;
    if (xml_attribute(tag, "regnum", text, sizeof(text)))
        at->number = (unsigned)strtoul(text, NULL, 10);
    at->ordered = at->ordered && at->number >= before;
    if (xml_attribute(tag, "name", text, sizeof(text)))
        describe_name_register(u, text, at);
    if (xml_attribute(tag, "bitsize", text, sizeof(text)))
        at->digits += (strtoul(text, NULL, 10) + 7) / 8 * 2;
    else
        at->ordered = false;
    at->number++;
}

static void describe_take_registers(struct gdb_remote *u)
{
    struct place at = {.ordered = true};
    struct tag tag;
    u->at_psr = 0;
    memset(u->at_stack, 0, sizeof(u->at_stack));
    for (const char *from = u->description.data; xml_find_tag(from, REGISTER_START, &tag);
         from = tag.end)
        describe_take_register(u, &tag, &at);
}

static void describe_finish(struct gdb_remote *u)
{
    describe_take_registers(u);
    text_buf_release(&u->description);
    text_buf_release(&u->document);
    greet_described(u);
}

static void describe_ask_chunk(struct gdb_remote *u);

/* `document` takes the place of the tag that includes it; the first one begins it all. */
static void describe_put_document(struct gdb_remote *u)
{
    struct text_buf all;
    struct tag tag;
    text_buf_init(&all);
    if (u->document_count > 1 && xml_find_tag(u->description.data, INCLUDE, &tag)) {
        text_buf_add(&all, u->description.data, (size_t)(tag.at - u->description.data));
        text_buf_puts(&all, u->document.data);
        text_buf_puts(&all, tag.end + 1);
    } else {
        text_buf_puts(&all, u->document.data);
    }
    text_buf_release(&u->description);
    u->description = all;
}

static bool describe_is_good_name(const char *name)
{
    return name[0] != '\0' && !strpbrk(name, ":;#$}*");
}

static void describe_next_document(struct gdb_remote *u)
{
    struct tag tag;
    describe_put_document(u);
    text_buf_clear(&u->document);
    if (u->document_count++ < DOCUMENTS_MAX && text_buf_error(&u->description) == BT_OK &&
        u->description.len < TEXT_MAX && xml_find_tag(u->description.data, INCLUDE, &tag) &&
        xml_attribute(&tag, "href", u->annex, sizeof(u->annex)) && describe_is_good_name(u->annex))
        describe_ask_chunk(u);
    else
        describe_finish(u);
}

static void describe_got_chunk(void *ctx, const char *reply, size_t len)
{
    struct gdb_remote *u = ctx;
    if (!reply)
        return;
    bool more = len > 1 && reply[0] == 'm';
    if (more || (len > 0 && reply[0] == 'l'))
        text_buf_add(&u->document, reply + 1, len - 1);
    if (more && u->document.len < TEXT_MAX && text_buf_error(&u->document) == BT_OK)
        describe_ask_chunk(u);
    else
        describe_next_document(u);
}

static void describe_ask_chunk(struct gdb_remote *u)
{
    char text[sizeof(u->annex) + 64];
    size_t len = u->packet_size - 4 < CHUNK_MAX ? u->packet_size - 4 : CHUNK_MAX;
    snprintf(text, sizeof(text), "qXfer:features:read:%s:%zx,%zx", u->annex, u->document.len, len);
    gdb_remote_greet_with(u, text, describe_got_chunk);
}

static void describe_begin(struct gdb_remote *u)
{
    text_buf_clear(&u->document);
    text_buf_clear(&u->description);
    u->document_count = 1;
    snprintf(u->annex, sizeof(u->annex), "target.xml");
    describe_ask_chunk(u);
}

/* Threads and features. */

static void greet_finish_threads(struct gdb_remote *u)
{
    /* Without a list there is one core, whose thread never needs to be named. */
    if (u->core_count == 0)
        u->threads[u->core_count++] = (struct gdb_thread){.single = false};
    if (u->has_description)
        describe_begin(u);
    else
        greet_described(u);
}

static void greet_add_thread(struct gdb_remote *u, const struct gdb_thread *thread)
{
    if (thread->single && u->core_count < TARGET_CORES_MAX && gdb_remote_core_of(u, thread) < 0)
        u->threads[u->core_count++] = *thread;
}

static void greet_got_threads(void *ctx, const char *reply, size_t len)
{
    struct gdb_remote *u = ctx;
    struct gdb_thread thread;
    if (!reply)
        return;
    struct gdb_args a = {reply, reply + len};
    if (!gdb_args_char(&a, 'm') || ++u->listings > LISTINGS_MAX) {
        greet_finish_threads(u);
        return;
    }
    while (gdb_thread_take(&a, &thread)) {
        greet_add_thread(u, &thread);
        gdb_args_char(&a, ',');
    }
    gdb_remote_greet_with(u, "qsThreadInfo", greet_got_threads);
}

/* Every server answers `?`; one that does not is none. */
static void greet_got_state(void *ctx, const char *reply, size_t len)
{
    struct gdb_remote *u = ctx;
    struct gdb_packet question = gdb_packet_read("?", 1);
    if (!reply)
        return;
    if (gdb_packet_succeeded(&question, reply, len))
        gdb_remote_greet_with(u, "qfThreadInfo", greet_got_threads);
    else
        gdb_remote_fail(u, BT_ERR_FORMAT);
}

static void greet_got_no_ack(void *ctx, const char *reply, size_t len)
{
    struct gdb_remote *u = ctx;
    if (!reply)
        return;
    if (len == 2 && memcmp(reply, "OK", 2) == 0)
        rsp_sender_set_no_ack(&u->link.sender);
    gdb_remote_greet_with(u, "?", greet_got_state);
}

static void greet_got_features(void *ctx, const char *reply, size_t len)
{
    struct gdb_remote *u = ctx;
    struct gdb_args word;
    bool can_no_ack = false;
    if (!reply)
        return;
    struct gdb_args a = {reply, reply + len};
    while (gdb_args_until(&a, ';', &word)) {
        uint64_t size;
        if (gdb_args_equal(&word, "QStartNoAckMode+"))
            can_no_ack = true;
        else if (gdb_args_equal(&word, "qXfer:features:read+"))
            u->has_description = true;
        else if (gdb_args_text(&word, "PacketSize=") && gdb_args_hex(&word, &size) &&
                 size >= GDB_REMOTE_PACKET_SIZE_MIN)
            u->packet_size = size < GDB_PACKET_SIZE ? (size_t)size : GDB_PACKET_SIZE;
    }
    if (can_no_ack)
        gdb_remote_greet_with(u, "QStartNoAckMode", greet_got_no_ack);
    else
        gdb_remote_greet_with(u, "?", greet_got_state);
}

static void remote_greet(struct gdb_remote *u)
{
    u->core_count = 0;
    u->listings = 0;
    u->stopped = (struct gdb_thread){.single = false};
    u->packet_size = GDB_REMOTE_PACKET_SIZE;
    u->can_vcont = false;
    u->has_description = false;
    u->only_g = false;
    u->number_pc = GDB_NUMBER_PC;
    u->number_psr = GDB_NUMBER_PSR;
    /* There are servers (pyOCD) that answer nothing to a question without features. */
    gdb_remote_greet_with(u, "qSupported:xmlRegisters=arm", greet_got_features);
}

void gdb_remote_connected(struct gdb_remote *u)
{
    gdb_remote_fail(u, BT_ERR_IO);
    gdb_link_open(&u->link);
    u->phase = GDB_REMOTE_GREETING;
    remote_greet(u);
}
