/* SPDX-License-Identifier: BSD-3-Clause */
#include "perfetto.h"

#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX    2048
#define NAME_MAX_BYTES 512
#define SEQUENCE       1u
#define CLEARED        1u /* sequence_flags: what was interned before is void */
#define NEEDS          2u /* and: this packet needs what is interned */

/* Messages are built in memory: the length of an inner one stands before it. */
struct proto {
    uint8_t bytes[MESSAGE_MAX];
    size_t length;
};

static void proto_varint(struct proto *m, uint64_t value)
{
    for (; value >= 0x80 && m->length + 10 < sizeof m->bytes; value >>= 7)
        m->bytes[m->length++] = (uint8_t)(value | 0x80);
    if (m->length < sizeof m->bytes)
        m->bytes[m->length++] = (uint8_t)value;
}

static void proto_number(struct proto *m, unsigned field, uint64_t value)
{
    proto_varint(m, field << 3);
    proto_varint(m, value);
}

static void proto_bytes(struct proto *m, unsigned field, const void *bytes, size_t length)
{
    if (length + 16 > sizeof m->bytes - m->length)
        return;
    proto_varint(m, field << 3 | 2);
    proto_varint(m, length);
    memcpy(m->bytes + m->length, bytes, length);
    m->length += length;
}

static void proto_message(struct proto *m, unsigned field, const struct proto *inner)
{
    proto_bytes(m, field, inner->bytes, inner->length);
}

static void proto_text(struct proto *m, unsigned field, const char *text)
{
    proto_bytes(m, field, text, strnlen(text, NAME_MAX_BYTES));
}

void perfetto_init(struct perfetto *p, FILE *out)
{
    memset(p, 0, sizeof *p);
    p->out = out;
}

void perfetto_release(struct perfetto *p)
{
    free(p->names);
    p->names = NULL;
}

static void put_packet(struct perfetto *p, struct proto *packet)
{
    struct proto file = {.length = 0};
    proto_number(packet, 10, SEQUENCE);
    proto_number(packet, 13, p->begun ? NEEDS : CLEARED | NEEDS);
    p->begun = true;
    proto_varint(&file, 1 << 3 | 2);
    proto_varint(&file, packet->length);
    fwrite(file.bytes, 1, file.length, p->out);
    fwrite(packet->bytes, 1, packet->length, p->out);
    p->bytes += file.length + packet->length;
}

static void put_descriptor(struct perfetto *p, const struct proto *descriptor)
{
    struct proto packet = {.length = 0};
    proto_message(&packet, 60, descriptor);
    put_packet(p, &packet);
}

void perfetto_process(struct perfetto *p, uint64_t uuid, const char *name)
{
    struct proto descriptor = {.length = 0}, process = {.length = 0};
    proto_number(&process, 1, uuid);
    proto_text(&process, 6, name);
    proto_number(&descriptor, 1, uuid);
    proto_message(&descriptor, 3, &process);
    put_descriptor(p, &descriptor);
}

void perfetto_thread(struct perfetto *p, uint64_t uuid, uint32_t tid, const char *name)
{
    struct proto descriptor = {.length = 0}, thread = {.length = 0};
    proto_number(&thread, 1, 1);
    proto_number(&thread, 2, tid);
    proto_text(&thread, 5, name);
    proto_number(&descriptor, 1, uuid);
    proto_message(&descriptor, 4, &thread);
    put_descriptor(p, &descriptor);
}

void perfetto_track(struct perfetto *p, uint64_t uuid, uint64_t parent, bool counter,
                    const char *name)
{
    struct proto descriptor = {.length = 0};
    proto_number(&descriptor, 1, uuid);
    proto_text(&descriptor, 2, name);
    proto_number(&descriptor, 5, parent);
    if (counter)
        proto_bytes(&descriptor, 8, "", 0);
    put_descriptor(p, &descriptor);
}

static struct perfetto_name *name_place(const struct perfetto *p, uint64_t key)
{
    size_t at = (size_t)(key * 0x9e3779b97f4a7c15u >> 24) & (p->name_max - 1);
    while (p->names[at].key && p->names[at].key != key)
        at = (at + 1) & (p->name_max - 1);
    return &p->names[at];
}

uint32_t perfetto_known(const struct perfetto *p, uint64_t key)
{
    return p->name_max ? name_place(p, key)->iid : 0;
}

/* A number for the name; 0: no memory. */
static uint32_t intern_name(struct perfetto *p, uint64_t key)
{
    if (p->name_count * 2 >= p->name_max) {
        struct perfetto larger = {.name_max = p->name_max ? p->name_max * 2 : 256};
        larger.names = calloc(larger.name_max, sizeof *larger.names);
        if (!larger.names)
            return 0;
        for (size_t i = 0; i < p->name_max; i++)
            if (p->names[i].key)
                *name_place(&larger, p->names[i].key) = p->names[i];
        free(p->names);
        p->names = larger.names;
        p->name_max = larger.name_max;
    }
    struct perfetto_name *n = name_place(p, key);
    n->key = key;
    n->iid = (uint32_t)++p->name_count;
    return n->iid;
}

void perfetto_event(struct perfetto *p, enum perfetto_type type, uint64_t track, uint64_t time,
                    uint64_t key, const char *name)
{
    struct proto packet = {.length = 0}, event = {.length = 0};
    proto_number(&packet, 8, time);
    proto_number(&event, 9, type);
    proto_number(&event, 11, track);
    uint32_t iid = type == PERFETTO_END || !key ? 0 : perfetto_known(p, key);
    if (!key && name)
        proto_text(&event, 23, name);
    if (type != PERFETTO_END && key && !iid && name) {
        struct proto data = {.length = 0}, entry = {.length = 0};
        iid = intern_name(p, key);
        proto_number(&entry, 1, iid);
        proto_text(&entry, 2, name);
        proto_message(&data, 2, &entry);
        if (iid)
            proto_message(&packet, 12, &data);
        else
            proto_text(&event, 23, name);
    }
    if (iid)
        proto_number(&event, 10, iid);
    proto_message(&packet, 11, &event);
    put_packet(p, &packet);
}

void perfetto_value(struct perfetto *p, uint64_t track, uint64_t time, uint64_t value)
{
    struct proto packet = {.length = 0}, event = {.length = 0};
    proto_number(&packet, 8, time);
    proto_number(&event, 9, PERFETTO_COUNTER);
    proto_number(&event, 11, track);
    proto_number(&event, 30, value);
    proto_message(&packet, 11, &event);
    put_packet(p, &packet);
}
