/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The target description of the other side, for the numbers of PC and PSR: they are 15 and 25 in
 * the customary layout, and servers differ in the second. Documents that it includes are put in
 * their places, for registers without a number are counted on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "protocol/remote/gdb_remote_internal.h"

#define DOCUMENTS_MAX  32
#define TEXT_MAX       (256u << 10)
#define CHUNK_MAX      0xff0
#define ATTRIBUTE_MAX  32
#define INCLUDE        "<xi:include"
#define COMMENT_START  "<!--"
#define COMMENT_END    "-->"
#define REGISTER_START "<reg "

struct tag {
    const char *at;
    const char *end; /* its '>' */
};

/* The next start of `name` from `at` on, outside of comments. False when there is none. */
static bool find_tag(const char *at, const char *name, struct tag *tag)
{
    for (; (at = strchr(at, '<')) != NULL; at++) {
        if (strncmp(at, COMMENT_START, strlen(COMMENT_START)) == 0) {
            at = strstr(at, COMMENT_END);
            if (at == NULL)
                return false;
        } else if (strncmp(at, name, strlen(name)) == 0) {
            *tag = (struct tag){at, strchr(at, '>')};
            return tag->end != NULL;
        }
    }
    return false;
}

/* Value of ` name="value"` or ` name='value'`. False when it is missing or too long. */
static bool attribute(const struct tag *tag, const char *name, char *value, size_t size)
{
    size_t len = strlen(name);
    for (const char *at = tag->at; at + len + 2 < tag->end; at++) {
        if (strchr(" \t\r\n", at[0]) == NULL || strncmp(at + 1, name, len) != 0 ||
            at[len + 1] != '=')
            continue;
        const char *from = at + len + 3;
        const char *to =
            from <= tag->end ? memchr(from, from[-1], (size_t)(tag->end - from)) : NULL;
        if (to == NULL || (size_t)(to - from) >= size)
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

static void name_register(struct gdb_remote *u, const char *name, const struct place *at)
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

static void take_register(struct gdb_remote *u, const struct tag *tag, struct place *at)
{
    char text[ATTRIBUTE_MAX];
    unsigned before = at->number;
    if (attribute(tag, "regnum", text, sizeof(text)))
        at->number = (unsigned)strtoul(text, NULL, 10);
    at->ordered = at->ordered && at->number >= before;
    if (attribute(tag, "name", text, sizeof(text)))
        name_register(u, text, at);
    if (attribute(tag, "bitsize", text, sizeof(text)))
        at->digits += (strtoul(text, NULL, 10) + 7) / 8 * 2;
    else
        at->ordered = false;
    at->number++;
}

static void take_registers(struct gdb_remote *u)
{
    struct place at = {.ordered = true};
    struct tag tag;
    u->at_psr = 0;
    memset(u->at_stack, 0, sizeof(u->at_stack));
    for (const char *from = u->description.data; find_tag(from, REGISTER_START, &tag);
         from = tag.end)
        take_register(u, &tag, &at);
}

static void finish(struct gdb_remote *u)
{
    take_registers(u);
    text_buf_release(&u->description);
    text_buf_release(&u->document);
    gdb_remote_described(u);
}

static void ask_chunk(struct gdb_remote *u);

/* `document` takes the place of the tag that includes it; the first one begins it all. */
static void put_document(struct gdb_remote *u)
{
    struct text_buf all;
    struct tag tag;
    text_buf_init(&all);
    if (u->document_count > 1 && find_tag(u->description.data, INCLUDE, &tag)) {
        text_buf_add(&all, u->description.data, (size_t)(tag.at - u->description.data));
        text_buf_puts(&all, u->document.data);
        text_buf_puts(&all, tag.end + 1);
    } else {
        text_buf_puts(&all, u->document.data);
    }
    text_buf_release(&u->description);
    u->description = all;
}

static bool good_name(const char *name)
{
    return name[0] != '\0' && strpbrk(name, ":;#$}*") == NULL;
}

static void next_document(struct gdb_remote *u)
{
    struct tag tag;
    put_document(u);
    text_buf_clear(&u->document);
    if (u->document_count++ < DOCUMENTS_MAX && text_buf_error(&u->description) == BT_OK &&
        u->description.len < TEXT_MAX && find_tag(u->description.data, INCLUDE, &tag) &&
        attribute(&tag, "href", u->annex, sizeof(u->annex)) && good_name(u->annex))
        ask_chunk(u);
    else
        finish(u);
}

static void got_chunk(void *ctx, const char *reply, size_t len)
{
    struct gdb_remote *u = ctx;
    if (reply == NULL)
        return;
    bool more = len > 1 && reply[0] == 'm';
    if (more || (len > 0 && reply[0] == 'l'))
        text_buf_add(&u->document, reply + 1, len - 1);
    if (more && u->document.len < TEXT_MAX && text_buf_error(&u->document) == BT_OK)
        ask_chunk(u);
    else
        next_document(u);
}

static void ask_chunk(struct gdb_remote *u)
{
    char text[sizeof(u->annex) + 64];
    size_t len = u->packet_size - 4 < CHUNK_MAX ? u->packet_size - 4 : CHUNK_MAX;
    snprintf(text, sizeof(text), "qXfer:features:read:%s:%zx,%zx", u->annex, u->document.len, len);
    gdb_remote_greet_with(u, text, got_chunk);
}

void gdb_remote_describe(struct gdb_remote *u)
{
    text_buf_clear(&u->document);
    text_buf_clear(&u->description);
    u->document_count = 1;
    snprintf(u->annex, sizeof(u->annex), "target.xml");
    ask_chunk(u);
}
