/* SPDX-License-Identifier: BSD-3-Clause */
/* ETMv3 model: data transfers (IHI 0014Q 7.4). */
#include "etmv3_encoder_state.h"
#include "etmv3_packets.h"

/* Address part of the packet of a transfer; the base moves only when one is sent. */
static void make_address(struct etmv3_encoder *e, const struct etmv3_access *a,
                         struct etmv3_data_fields *f)
{
    *f = (struct etmv3_data_fields){.address = a->address, .big_endian = a->big_endian};
    f->has_address_bit = !a->cprt && (!e->data_begun || a->address != e->data_next);
    if (!e->data_address && e->options.plain_data_headers)
        f->has_address_bit = false;
    if (!a->cprt)
        e->data_next = a->address + a->size;
    e->data_begun = true;
    if (!f->has_address_bit || !e->data_address)
        return;
    f->address_bytes = etmv3_data_address_bytes(a->address, e->data_base);
    if (e->data_full || a->big_endian != e->data_be)
        f->address_bytes = 5;
    else if (f->address_bytes < 5 && trace_random_percent(&e->random, e->options.longer_percent))
        f->address_bytes += 1 + trace_random_below(&e->random, 5 - f->address_bytes);
    e->data_base = a->address;
    e->data_be = a->big_endian;
    e->data_full = false;
}

/* True if the transfer leaves no packet of its own because of a full FIFO. */
static int etmv3_data_suppress(struct etmv3_encoder *e, const struct etmv3_access *a)
{
    static const uint8_t header = 0x62;

    if (a->first)
        e->suppressed = false;
    e->suppressed |= e->suppress;
    if (!e->suppressed) {
        e->suppressed_reported = false;
        return 0;
    }
    /* Until v3.2 the decoder loses its base with the packets. */
    if (e->minor < 3)
        e->data_full = true;
    if (e->suppressed_reported || e->data_only)
        return 0;
    e->suppressed_reported = true;
    return etmv3_out_emit(e, ETMV3_PACKET_DATA_SUPPRESSED, &header, 1, 0);
}

static unsigned free_tag(const struct etmv3_encoder *e)
{
    for (unsigned tag = 1; tag < ETMV3_TAGS; tag++)
        if (e->tags[tag] == ETMV3_TAG_FREE)
            return tag;
    return 0;
}

/* A transfer that ViewData leaves out, behind one of the same instruction that it did not. */
static int put_filtered(struct etmv3_encoder *e, const struct etmv3_access *a)
{
    uint8_t bytes[ETMV3_PACKET_MAX];
    struct etmv3_data_fields f;

    if (!e->data_begun || (e->data_only && e->options.no_value_not_traced))
        return 0;
    make_address(e, a, &f);
    return etmv3_out_emit(e, ETMV3_PACKET_NOT_TRACED, bytes, etmv3_put_not_traced(bytes, &f), 0);
}

static int put_ordinary(struct etmv3_encoder *e, const struct etmv3_access *a)
{
    static const uint8_t failed = 0x50;
    uint8_t bytes[ETMV3_PACKET_MAX];
    struct etmv3_data_fields f;

    make_address(e, a, &f);
    f.has_value = e->data_value;
    f.value = a->failed ? 0 : a->value;
    int error = etmv3_out_emit(e, ETMV3_PACKET_DATA, bytes, etmv3_put_data(bytes, &f), 0);
    if (!error && a->failed && e->data_value)
        error = etmv3_out_emit(e, ETMV3_PACKET_STORE_FAILED, &failed, 1, 0);
    return error;
}

int etmv3_encoder_data(struct etmv3_encoder *e, const struct etmv3_access *a)
{
    uint8_t bytes[ETMV3_PACKET_MAX];
    struct etmv3_data_fields f;
    int error;

    if (a->first)
        e->data_begun = false;
    if (!e->on || (!e->data_address && !e->data_value) ||
        (a->cprt && !(e->options.etmcr & ETMV3_CR_CPRT)))
        return 0;
    error = etmv3_atoms_flush(e, false);
    if (!error)
        error = etmv3_data_suppress(e, a);
    if (error || e->suppressed)
        return error;
    unsigned tag = a->late && e->data_value && !a->filtered && !a->failed ? free_tag(e) : 0;
    if (tag) {
        make_address(e, a, &f);
        e->tags[tag] = ETMV3_TAG_OUT;
        size_t size = etmv3_put_placeholder(bytes, tag, &f);
        error = etmv3_out_emit(e, ETMV3_PACKET_DATA_PLACEHOLDER, bytes, size, tag);
    } else if (a->filtered) {
        error = put_filtered(e, a);
    } else {
        error = put_ordinary(e, a);
    }
    if (!error && e->data_only)
        error = etmv3_sync_serve(e);
    return error ? error : (int)tag;
}

int etmv3_encoder_late_value(struct etmv3_encoder *e, unsigned tag, uint32_t value)
{
    uint8_t bytes[ETMV3_PACKET_MAX];
    int error;

    if (tag < 1 || tag >= ETMV3_TAGS || e->tags[tag] == ETMV3_TAG_FREE)
        return 0;
    e->tags[tag] = ETMV3_TAG_FREE;
    if (!e->on)
        return 0;
    error = etmv3_atoms_flush(e, false);
    if (error)
        return error;
    size_t size = etmv3_put_late_data(bytes, tag, value);
    return etmv3_out_emit(e, ETMV3_PACKET_DATA_LATE, bytes, size, tag);
}

void etmv3_encoder_suppress_data(struct etmv3_encoder *e, bool on)
{
    e->suppress = on;
}

bool etmv3_encoder_tag_out(const struct etmv3_encoder *e, unsigned tag)
{
    return tag < ETMV3_TAGS && e->tags[tag] == ETMV3_TAG_OUT;
}
